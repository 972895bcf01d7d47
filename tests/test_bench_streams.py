"""The contest with river's regressors, in its quick form, and what it makes of its rows."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from reference import JIT

from bench import streams

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_quick(tmp_path: Path, capsys: Any) -> None:
    assert streams.main(["--quick", "--stream", "Sinc", "--stream", "ChickWeights", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "time / ARF" in text and "Lower error on" in text
    assert (tmp_path / "streams-published.png").stat().st_size > 1000
    with (tmp_path / "streams-published.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (1 + len(streams.METHODS))
    assert all(math.isfinite(float(row["RMSE"])) for row in rows)
    before = [row for row in rows if row["method"] == streams.FOREST]
    assert streams.main(["--quick", "--only", "auto", "--stream", "Sinc", "--json", "--out", str(tmp_path)]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [row["RMSE"] for row in again if row["method"] == streams.FOREST] == [float(row["RMSE"]) for row in before]


@pytest.mark.parametrize("name", ["wandering", "switching", "trending", "growing", "panel", "herd", "Mv"])
def test_made_streams_are_what_they_were(name: str) -> None:
    first, second = streams.DEVELOPMENT[name](), streams.DEVELOPMENT[name]()
    assert first[:50] == second[:50] and len(first) >= 500


def test_numeric_encodes_words() -> None:
    assert streams.numeric([({"a": "red", 1: 2.0}, 3.0)]) == [({"a=red": 1.0, "1": 2.0}, 3.0)]


def test_an_unknown_stream_is_named(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        streams.main(["--stream", "nonsense"])
    assert "'nonsense' is not one of Sinc" in capsys.readouterr().err


def test_the_summary_takes_the_best_river_model() -> None:
    rows = [
        ["s", 10, streams.AUTO, 1.0, 2.0, 0.9, 1, ""],
        ["s", 10, streams.FOREST, 4.0, 8.0, None, 2, ""],
        ["s", 10, "river KNN", 2.0, 1.0, None, 2, ""],
        ["t", 10, streams.AUTO, 1.0, 2.0, 0.9, 1, ""],
    ]
    assert streams.summarize(rows) == [["s", 10, 1.0, 2.0, "river KNN", 0.5, 0.25, 0.9]]
