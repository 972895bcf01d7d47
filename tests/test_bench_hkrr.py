"""The bench of the HKRR paper: its quick form from end to end, and the pieces it adds to the library."""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
import pytest

from bench import record
from bench.papers import hkrr
from streamkernel import datasets, kernels


def arguments(*options):
    parser = argparse.ArgumentParser()
    hkrr.add_arguments(parser)
    return parser.parse_args(options)


def test_quick_form(tmp_path, capsys):
    assert hkrr.main(arguments("--quick", "--out", str(tmp_path))) == 0
    shown = capsys.readouterr()
    assert "LOOHKRR" in shown.out
    assert "0.98-1.02" in shown.out
    assert shown.err == ""
    rows = record.read(tmp_path / "hkrr_williams.csv")
    ratios = {row["method"]: float(row["sigma/conditional sd"]) for row in rows}
    assert ratios["HKRR"] < ratios["LOOHKRR"]
    assert ratios["LOOHKRR"] == pytest.approx(1.0, abs=0.06)
    for name in ("hkrr_figure1.png", "hkrr_figure2.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(hkrr, "QUICK", (2, 1))
    assert hkrr.main(arguments("--quick", "--json", "--out", str(tmp_path))) == 0
    tables = json.loads(capsys.readouterr().out)
    assert tables["step"]["rows"][0][0] == hkrr.OPTIMAL
    assert tables["williams"]["headers"][0] == "method"


def test_bad_runs():
    with pytest.raises(SystemExit, match="--runs and --step-runs must be at least 1, got 0 and 100"):
        hkrr.main(arguments("--runs", "0"))


def test_averages_of_the_truth_are_exact():
    truth = datasets.Heteroscedastic()
    mean, sd = truth.mean(hkrr.GRID), truth.sd(hkrr.GRID)
    curves = hkrr.average(np.array([[mean, sd]]), mean, sd)
    assert curves.ratio == pytest.approx(1)
    assert curves.coverage == pytest.approx(0.95)
    assert curves.nlpd == pytest.approx(np.mean(np.log(sd)) + 0.5 * math.log(math.tau) + 0.5)


def test_evidence_is_minimal_where_it_is_found():
    X, y = datasets.Step(seed=1).arrays()
    kappa, ridge = hkrr.by_evidence(X, y, None)

    def evidence(kappa, ridge):  # (20), dense, with the amplitude in closed form
        matrix = kernels.RBF(1 / math.sqrt(2 * kappa))(X) + ridge * np.eye(100)
        amplitude = y @ np.linalg.solve(matrix, y) / 100
        return np.linalg.slogdet(amplitude * matrix)[1] + y @ np.linalg.solve(amplitude * matrix, y)

    best = evidence(kappa, ridge)
    for factor in (0.8, 1.25):
        assert evidence(factor * kappa, ridge) > best
        assert evidence(kappa, factor * ridge) > best


def test_no_variance_beats_the_optimal_one():
    losses = {name: value[0] for name, value in hkrr.step_once(seed=0).rows.items()}
    assert losses[hkrr.OPTIMAL] < min(losses[hkrr.PROPOSED], losses[hkrr.CHOSEN], losses[hkrr.PROCESS])
