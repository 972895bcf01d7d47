"""The comparison with river's classifiers: its quick form, and what it counts."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from reference import JIT
from river import base

from bench import classifiers_river

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_quick_form(tmp_path: Any, capsys: Any) -> None:
    streams = ("Phishing", "ImageSegments")  # two classes, and more
    options = [option for name in streams for option in ("--stream", name)]
    assert classifiers_river.main(["--quick", "--json", *options, "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["stream"], row["method"]) for row in rows] == [
        (stream, method) for stream in streams for method in classifiers_river.METHODS
    ]
    chance = {row["stream"]: 100.0 / row["classes"] for row in rows}
    assert all(chance[row["stream"]] < row["accuracy"] <= 100.0 for row in rows)
    with (tmp_path / "classifiers-river.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)


def test_the_sample_is_predicted_before_it_is_learned() -> None:
    class Parrot:
        said: Any = None

        def predict_one(self, x: Any) -> Any:
            return self.said

        def learn_one(self, x: Any, y: Any) -> None:
            self.said = y

    right, _ = classifiers_river.prequential(Parrot(), [({}, "a"), ({}, "a"), ({}, "b"), ({}, "b")])
    assert right == [False, True, False, True]


def test_the_first_quarter_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Always(base.Classifier):
        def __init__(self, answer: str) -> None:
            self.answer = answer

        def predict_one(self, x: Any) -> str:
            return self.answer

        def learn_one(self, x: Any, y: Any) -> None:
            pass

    methods = {"always": (lambda task, answer: Always(answer), {"answer": ("late", "early")})}
    monkeypatch.setattr(classifiers_river, "METHODS", methods)
    samples = [({"x": 0.0}, "early")] * 25 + [({"x": 0.0}, "late")] * 75
    (row,) = classifiers_river.contest("made up", samples, quick=False)
    found = dict(zip(classifiers_river.HEADERS, row, strict=True))
    assert (found["chosen"], found["accuracy"], found["whole"]) == ("answer=early", 0.0, 25.0)
