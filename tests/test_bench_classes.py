"""The contest with river's classifiers: its quick form, what it counts, and what its stored rows say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import class_streams, classes, record
from bench.class_rivals import OURS, RIVALS, LastLabel
from bench.contest import Method, numeric

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")

COLUMNS = [name for name in classes.HEADERS if name != "seconds"]


def test_quick_form(tmp_path: Path, capsys: Any) -> None:
    assert classes.main(["--quick", "--json", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    streams = ("Phishing", "ImageSegments")  # two classes, and more
    assert [(row["stream"], row["method"]) for row in rows] == [(s, m) for s in streams for m in RIVALS | OURS]
    learned = [row for row in rows if row["method"] != "last label"]
    assert all(1.0 / row["classes"] < row["accuracy"] <= 1.0 and 0.0 <= row["ECE"] < 0.5 for row in learned)
    assert record.made(tmp_path / "classes.csv").keys() == {"rivals", "ours"}
    assert classes.main(["--quick", "--cached", "--only", "Phishing", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "log loss below every rival's: " in text and "river SRP" in text
    again = classes.stored(tmp_path / "classes.csv")
    assert [[row[name] for name in COLUMNS] for row in again] == [[row[name] for name in COLUMNS] for row in rows]


def test_the_sample_is_predicted_before_it_is_learned() -> None:
    found = classes.prequential(LastLabel(), [({}, "a"), ({}, "a"), ({}, "b"), ({}, "b")])
    assert found.accuracy == 0.5  # nothing, right, wrong, right
    expected = [1e-3, 1.0, 1e-3, 1.0 / 2.0]  # one repeat in three, smoothed
    assert found.log_loss == pytest.approx(-sum(map(math.log, expected)) / 4.0)


def test_calibration_error_by_hand() -> None:
    right = np.array([1.0, 0.0, 1.0, 1.0])
    top = np.array([0.95, 0.95, 1.0, 0.55])
    assert classes.calibration_error(right, top) == pytest.approx((abs(2.0 - 2.9) + 0.45) / 4.0)


def test_the_first_quarter_chooses() -> None:
    class Always(LastLabel):
        def __init__(self, answer: str) -> None:
            super().__init__()
            self.answer = answer

        def predict_proba_one(self, x: Any) -> Any:
            return {self.answer: 1.0}

    samples = [({"x": 0.0}, "early")] * 25 + [({"x": 0.0}, "late")] * 75
    accuracy, *_, chosen = classes.run(Method(Always, {"answer": ("late", "early")}), samples, quick=False)
    assert (accuracy, chosen) == (0.25, "answer=early")


def test_verdicts_count_what_they_say() -> None:
    lines = [["s", 0.9, 0.9, 0.0, "KNN", 0.2, 0.3, 0.03, 1.0, 2.0]] * 15
    lines += [["t", 0.7, 0.75, -0.05, "KNN", 0.5, 0.4, 0.04, 9.0, 2.0]]
    said = classes.verdicts(lines)
    assert [text.split(": ")[1][:2] for text in said[:3]] == ["15", "15", "15"]
    assert [text.split(": ")[-1] for text in said] == ["yes", "yes", "yes", "NO", "yes"]
    assert "0.050 on t" in said[3] and "more on 1 streams" in said[4]


def test_no_stream_is_in_both_lists() -> None:
    reported, development = class_streams.REPORTED, class_streams.DEVELOPMENT
    assert len(reported) >= 18 and len(development) >= 10
    assert not {name.lower() for name in reported} & {name.lower() for name in development}


@pytest.mark.parametrize("name", ["Agrawal", "Waveform", "LED", "persisting", "regions", "seasonal"])
def test_made_streams_are_what_they_were(name: str) -> None:
    load = (class_streams.REPORTED | class_streams.DEVELOPMENT)[name]
    samples = load()
    assert samples[::500] == load()[::500] and 2900 < len(samples) <= class_streams.ROWS


def test_the_persisting_labels_persist() -> None:
    samples = class_streams.DEVELOPMENT["persisting"]()
    assert classes.prequential(LastLabel(), samples).accuracy == pytest.approx(0.9 + 0.1 / 3.0, abs=0.015)


def test_words_become_columns() -> None:
    samples = [({"a": "red", 1: 2.0}, "x"), ({"a": "blue", 1: True}, "y"), ({}, "z")]
    assert numeric(samples) == [
        ({"a=blue": 0.0, "a=red": 1.0, "1": 2.0}, "x"),
        ({"a=blue": 1.0, "a=red": 0.0, "1": 1.0}, "y"),
        ({}, "z"),
    ]


def test_an_unknown_stream_is_named(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        classes.main(["--only", "nonsense"])
    assert "'nonsense' is not one of Phishing" in capsys.readouterr().err


def test_stored_rows_are_whole() -> None:
    rows = classes.stored(Path(record.ROOT) / "bench" / "results" / "classes.csv")
    found = {(row["stream"], row["method"]) for row in rows}
    assert found >= {(stream, method) for stream in class_streams.REPORTED for method in RIVALS}
    assert all(row["settings"] >= 4 for row in rows if row["method"] in RIVALS and row["method"] != "last label")


def test_tables_of_the_data_folder(data: Any) -> None:
    data("raetsch/splice.npz")
    assert len(class_streams.REPORTED["splice"]()[0][0]) == 60
