"""Scores of unusual inputs and targets: what they mean, what they see, what they refuse."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from river import anomaly, checks, compose, datasets, linear_model, preprocessing

from bench import anomalies
from streamkernel import KRLS, KernelAnomalyDetector, SupervisedKernelAnomalyDetector
from streamkernel import datasets as own_datasets
from streamkernel.anomaly.tail import ENOUGH, RecentTail
from streamkernel.kernels import RBF, Polynomial

# Tail probabilities ---------------------------------------------------------------------------------------------------


def test_tail_probabilities_are_those_of_the_values() -> None:
    rng, tail = np.random.default_rng(0), RecentTail(2000)
    for value in rng.exponential(size=2000):
        tail.learn(float(value))
    for value in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        assert math.log(tail.probability(value)) == pytest.approx(-value, rel=0.1)


def test_a_larger_value_is_never_more_probable() -> None:
    for seed in range(5):
        rng, tail = random.Random(seed), RecentTail(50)
        values = [round(rng.gauss(0.0, 1.0), seed % 3) for _ in range(120)]
        for value in values:
            tail.learn(value)
        assert sorted(tail.values) == tail._sorted == sorted(values[-50:])
        found = [tail.probability(value) for value in np.linspace(-5.0, 9.0, 300)]
        assert found == sorted(found, reverse=True)
        assert found[0] == 1.0 and 0.0 < found[-1] < 1e-2


def test_constant_values() -> None:
    tail = RecentTail(50)
    for _ in range(ENOUGH - 1):
        tail.learn(1.0)
    assert tail.probability(5.0) == 1.0  # too little is known
    tail.learn(1.0)
    assert tail.probability(1.0) == 1.0 and tail.probability(1.1) < 1e-3


# Inputs ---------------------------------------------------------------------------------------------------------------


def ring(n: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Points of a ring in raw units, with a word and gaps."""
    rng = random.Random(seed)
    for _ in range(n):
        angle, radius = rng.uniform(0.0, 2.0 * math.pi), rng.gauss(1.0, 0.05)
        x = {"x": 5e3 + 200.0 * radius * math.cos(angle), "y": 1e-3 * radius * math.sin(angle), "word": "day"}
        yield x if rng.random() > 0.05 else x | {"y": None}


def test_inputs_of_thin_and_empty_regions() -> None:
    model = KernelAnomalyDetector()
    scores = []
    for t, x in enumerate(ring(1500)):
        if t >= 500:
            scores.append(model.score_one(x))
        model.learn_one(x)
    # A score is a rank among recent samples: uniform for samples like these.
    for level in (0.25, 0.5, 0.75, 0.9):
        assert np.mean(np.array(scores) < level) == pytest.approx(level, abs=0.07)
    inside, outside = {"x": 5e3, "y": 0.0, "word": "day"}, {"x": 6e3, "y": 0.0, "word": "day"}
    for x in (inside, outside, next(ring(1)) | {"word": "night"}, {"x": 1e12, "y": 0.0, "word": "day"}):
        assert model.score_one(x) > 0.999
    assert model.size <= 100


def test_what_has_not_been_seen_for_long_is_new_again() -> None:
    def score(forgetting: float) -> float:
        model, rng = KernelAnomalyDetector(forgetting=forgetting), random.Random(0)
        for t in range(2000):
            model.learn_one({"a": rng.gauss(0.0 if t < 1000 else 3.0, 0.3)})
        return model.score_one({"a": 0.0})

    assert score(0.99) > 0.99 > score(1.0)


def test_few_and_constant_samples() -> None:
    model = KernelAnomalyDetector()
    assert model.score_one({}) == model.score_one({"a": 1.0}) == 0.0
    for _ in range(100):
        model.learn_one({"a": 1.0})
    assert model.score_one({"a": 1.0}) == 0.0


def test_rules_that_held_for_all_samples() -> None:
    model, rng = KernelAnomalyDetector(), random.Random(0)
    for _ in range(300):
        model.learn_one({"a": rng.gauss(0.0, 1.0), "status": 0})
    assert model.score_one({"a": 0.0, "status": 0}) < 0.9
    for x in ({"a": 0.0, "status": 1}, {"a": 0.0}, {"status": 0}, {"a": None, "status": 0}):
        assert model.score_one(x) > 0.999


# Inputs and targets ---------------------------------------------------------------------------------------------------


def test_targets_and_inputs() -> None:
    model, scores = SupervisedKernelAnomalyDetector(KRLS(RBF(1.0), ridge=0.1)), []
    rng = random.Random(2)
    for t in range(1200):
        x = {"a": rng.gauss(0.0, 1.0), "b": rng.gauss(0.0, 1.0)}
        y = math.sin(2.0 * x["a"]) + rng.gauss(0.0, 0.1)
        if t >= 600:
            scores.append(model.score_one(x, y))
        model.learn_one(x, y)
    # Which share of usual samples gets an alarm is what the score says.
    assert np.mean(np.array(scores) > 0.9) == pytest.approx(0.1, abs=0.04)
    assert model.score_one({"a": 0.5, "b": 0.0}, math.sin(1.0)) < 0.9
    assert model.score_one({"a": 0.5, "b": 0.0}, -1.0) > 0.999
    assert model.score_one({"a": 0.5, "b": 9.0}, math.sin(1.0)) > 0.99


def test_the_bench_and_its_rivals(capsys: pytest.CaptureFixture[str]) -> None:
    assert anomalies.main(["--quick"]) == 0
    assert "streamkernel in" in capsys.readouterr().out
    rows = anomalies.run({"noisy": lambda: own_datasets.Friedman1(noise=2.0, seed=5).take(700)}, quick=True)
    assert [row["kind"] for row in rows] == list(anomalies.KINDS)
    for row in rows[:2]:
        assert row["streamkernel"] > max(row["river HalfSpaceTrees"], row["river GaussianScorer"])


# River ----------------------------------------------------------------------------------------------------------------


class CreditCard:
    """In place of river's set of this name, which it downloads: as many columns, one fraud in fifty."""

    def take(self, count: int) -> Iterator[tuple[dict[str, float], int]]:
        rng = np.random.default_rng(4)
        for t in range(count):
            fraud = int(t > 50 and rng.random() < 0.02)
            x = {f"V{i}": float(value) for i, value in enumerate(rng.normal(4.0 * fraud, 1.0, 28))}
            yield {"Time": float(t), **x, "Amount": float(rng.lognormal(3.0))}, fraud


MODELS = {
    "inputs": KernelAnomalyDetector(),
    "inputs, forgetting": KernelAnomalyDetector(RBF(5.0), forgetting=0.99, max_size=20, memory=100),
    "inputs, scaled": preprocessing.StandardScaler() | KernelAnomalyDetector(),
    "targets": SupervisedKernelAnomalyDetector(KRLS(ridge=0.1)),
}


@pytest.mark.parametrize("name", MODELS)
def test_river(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "CreditCard", CreditCard)
    model = MODELS[name]
    assert not model._unit_test_skips()
    found = list(checks.yield_checks(model))
    assert len(found) > 10
    for check in found:
        check(model.clone())


@pytest.mark.parametrize("detector", [KernelAnomalyDetector(), SupervisedKernelAnomalyDetector(KRLS(ridge=0.1))])
def test_river_filters(detector: Any) -> None:
    """A sample that is let through is learned, one that is not is kept from the model behind."""
    rng = random.Random(3)
    for filter_ in (anomaly.ThresholdFilter(detector.clone(), 0.999), anomaly.QuantileFilter(detector.clone(), 0.99)):
        model = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LinearRegression())
        for t in range(400):
            x = {"a": rng.gauss(0.0, 1.0)}
            y = x["a"] + (1e6 if t == 350 else 0.0)
            arguments = (x,) if isinstance(detector, KernelAnomalyDetector) else (x, y)
            score = filter_.score_one(*arguments)
            assert 0.0 <= score <= 1.0
            if not filter_.classify(score):
                model.learn_one(x, y)
            filter_.learn_one(*arguments)
        if isinstance(detector, SupervisedKernelAnomalyDetector):
            assert abs(model.predict_one({"a": 1.0}) - 1.0) < 0.5


def test_checkpoints_continue_bit_for_bit() -> None:
    rng = np.random.default_rng(5)
    samples = [({"a": float(a), "w": "uvw"[int(b) % 3]}, float(a * b)) for a, b in rng.normal(0.0, 2.0, (300, 2))]
    for model in (KernelAnomalyDetector(max_size=10), SupervisedKernelAnomalyDetector(memory=50)):
        supervised = isinstance(model, SupervisedKernelAnomalyDetector)
        for x, y in samples[:170]:
            model.learn_one(*((x, y) if supervised else (x,)))
        other = type(model).from_bytes(model.to_bytes())
        for x, y in samples[170:]:
            sample = (x, y) if supervised else (x,)
            assert other.score_one(*sample) == model.score_one(*sample)
            other.learn_one(*sample)
            model.learn_one(*sample)
        assert other.to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": 0.0}, "ridge must be"),
        ({"memory": 3}, "memory must be"),
        ({"max_size": 0}, "max_size must be"),
        ({"forgetting": 2.0}, "forgetting must be"),
        ({"kernel": 3.0}, "kernel"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        KernelAnomalyDetector(**arguments)


def test_bad_samples_change_nothing() -> None:
    model = SupervisedKernelAnomalyDetector(KRLS(ridge=0.1))
    for t in range(60):
        model.learn_one({"a": math.sin(t)}, math.cos(t))
    before = model.to_bytes()
    for x, y in (({"a": math.inf}, 1.0), ({"a": 1.0}, math.nan), ({"a": 1.0}, "x"), ({"a": object()}, 1.0)):
        for method in (model.learn_one, model.score_one):
            with pytest.raises((TypeError, ValueError)):
                method(x, y)  # type: ignore[arg-type]
        assert model.to_bytes() == before
    with pytest.raises(TypeError, match="novelty must be"):
        SupervisedKernelAnomalyDetector(novelty=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1e7, 1e10, 1e120, 1e300])
def test_a_gross_anomaly_is_scored_and_learned(value: float) -> None:
    rng, model = np.random.default_rng(0), KernelAnomalyDetector()
    rows = rng.normal(size=(300, 2)).tolist()
    for a, b in rows:
        model.learn_one({"a": a, "b": b})
    scores = [model.score_one({"a": size, "b": 0.0}) for size in (3.0, 1e3, value)]
    assert scores == sorted(scores)
    assert 0.999 < scores[-1] <= 1.0
    model.learn_one({"a": value, "b": 0.0})
    for a, b in rows + rows:
        model.learn_one({"a": a, "b": b})
    assert model.score_one({"a": 0.0, "b": 0.0}) < 0.9
    assert model.score_one({"a": value, "b": 0.0}) > 0.99


def test_a_refused_sample_leaves_a_detector_as_it_was() -> None:
    model = KernelAnomalyDetector(Polynomial(2))
    for i in range(40):
        model.learn_one({"a": math.sin(i), "b": math.cos(3 * i)})
    before = model.to_bytes()
    with pytest.raises(ValueError, match="lost among rounding errors"):
        model.learn_one({"a": 1e4, "b": 1e4, "new": 1.0})
    assert model.to_bytes() == before


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_largest_floats_are_scored_and_learned_in_any_unit(unit: float) -> None:
    """In small units they are infinite."""
    rng = np.random.default_rng(0)
    model = SupervisedKernelAnomalyDetector(KRLS(ridge=0.1), KernelAnomalyDetector())
    for row in (unit * rng.normal(size=(60, 2))).tolist():
        model.learn_one(dict(enumerate(row)), row[0])
    for value in (1.7e308, -1.7e308):
        assert model._novelty.score_one({0: value, 1: 0.0}) > 0.98
        model.learn_one({0: value, 1: 0.0}, 0.0)
    assert 0.0 <= model.score_one({0: 0.0, 1: 0.0}, 0.0) <= 1.0


def test_a_refused_target_leaves_no_question_behind() -> None:
    model = SupervisedKernelAnomalyDetector()
    for i in range(20):
        model.learn_one({"a": float(i % 7)}, float(i % 3))
    before = model.to_bytes()
    for y in (math.nan, 1e200, "red"):
        with pytest.raises((ValueError, TypeError), match="target y is"):
            model.learn_one({"a": 0.5}, y)
        assert model.to_bytes() == before
