"""The bench of the first-level kernel learning paper: its statistics, and a quick run."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest
from scipy import stats

from bench import record
from bench.papers import flkl


def test_ranks_and_friedman_are_those_of_the_paper():
    errors = np.array([[row[METHOD][0] for METHOD in (3, 4, 5)] for row in flkl.PRINTED.values()])
    ranks = flkl.mean_ranks(errors)
    np.testing.assert_allclose(ranks, [2.6429, 2.1429, 1.2143], atol=5e-5)  # the last line of Table 3
    chi_square, _, p_value = flkl.friedman(ranks, len(errors))
    assert chi_square == pytest.approx(stats.friedmanchisquare(*errors.T).statistic)
    assert p_value < 0.001


def test_critical_difference_is_that_of_the_paper():
    assert flkl.critical_difference(3, 14) == pytest.approx(2.052 * np.sqrt(3 * 4 / (6 * 14)), rel=1e-3)


def test_quick_run(data, tmp_path, capsys, monkeypatch):
    data("raetsch/thyroid.npz")
    parser = argparse.ArgumentParser()
    flkl.add_arguments(parser)
    assert flkl.main(parser.parse_args(["--quick", "--json", "--out", str(tmp_path)])) == 0
    sections = json.loads(capsys.readouterr().out)
    table_3 = next(rows for title, rows in sections.items() if title.startswith("Table 3"))
    assert [row["data set"] for row in table_3] == list(flkl.QUICK)
    rows = record.read(tmp_path / "flkl.csv")
    assert len(rows) == 2
    assert all(0.0 <= float(row[method]) < 50.0 for row in rows for method in flkl.METHODS)
    assert (tmp_path / "flkl-ranks.png").stat().st_size > 1000
    assert (tmp_path / "flkl-relevance.png").stat().st_size > 1000

    def never(*_):
        raise AssertionError("a split that is done was run again")

    monkeypatch.setattr(flkl, "run", never)
    assert flkl.main(parser.parse_args(["--quick", "--resume", "--json", "--out", str(tmp_path)])) == 0
    again = json.loads(capsys.readouterr().out)
    assert next(rows for title, rows in again.items() if title.startswith("Table 3")) == table_3


def test_stored_splits_are_restored(tmp_path):
    relevances = {method: {1: 0.5, 2: 0.0, 3: 1.25e-7} for method in flkl.ARD_METHODS}
    numbers = {method: 1.5 * i for i, method in enumerate(flkl.METHODS)}
    splits = [flkl.Split("heart", kind, 3, numbers, numbers, relevances) for kind in ("official", "generated")]
    flkl.store(tmp_path / "flkl.csv", splits, "by hand")
    assert flkl.restore(tmp_path / "flkl.csv") == splits
    assert flkl.restore(tmp_path / "absent.csv") == []


def test_a_run_that_is_stopped_is_balanced(data):
    data("raetsch/thyroid.npz")
    sources = {name: flkl.datasets.Raetsch(name) for name in ("thyroid", "splice", "heart")}
    order = [(name, number) for name, _, number in flkl.rounds(sources, 6, full=False)]
    assert order[:5] == [("thyroid", 0), ("splice", 0), ("heart", 0), ("thyroid", 1), ("heart", 1)]
    assert [name for name, _ in order].count("splice") == 2
    assert [name for name, _ in order].count("heart") == 6
    assert [name for name, *_ in flkl.rounds(sources, 6, full=True)].count("splice") == 20


def test_nonsense_runs_are_refused():
    parser = argparse.ArgumentParser()
    flkl.add_arguments(parser)
    with pytest.raises(ValueError, match="--runs must be at least 1, got 0"):
        flkl.main(parser.parse_args(["--runs", "0"]))
