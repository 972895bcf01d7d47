"""The automatic classifier: raw features, classes that come and go, labels that persist, checkpoints, bounds."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, evaluate, metrics, preprocessing

import streamkernel
from streamkernel import AutoKernelClassifier
from streamkernel.auto.classes import MOST_COLUMNS, Classes
from streamkernel.auto.experience import Experience
from streamkernel.auto.neighbors import Neighbors

Sample = tuple[dict[Any, Any], Hashable]


def blobs(count: int, classes: int = 3, seed: int = 0, noise: float = 0.25) -> Iterator[Sample]:
    random = np.random.default_rng(seed)
    places = 2.0 * random.normal(size=(classes, 2))
    for _ in range(count):
        label = int(random.integers(classes))
        x = places[label] + noise * random.normal(size=2)
        yield {"a": 1000.0 * x[0], "b": 0.001 * x[1]}, f"class {label}"


def markov(count: int, seed: int, stay: float = 0.9, signal: float = 0.4) -> Iterator[Sample]:
    """Labels that persist, with weak features."""
    random = np.random.default_rng(seed)
    label = 0
    for _ in range(count):
        label = label if random.random() < stay else int(random.integers(3))
        yield {"x": signal * label + random.normal(), "z": random.normal()}, label


def scores(model: AutoKernelClassifier, stream: Iterator[Sample]) -> tuple[float, float, float]:
    """Accuracy, log loss, and the accuracy of the last label again."""
    right, loss, repeated, last = [], [], [], None
    for x, y in stream:
        chances = model.predict_proba_one(x)
        model.learn_one(x, y)
        right.append(bool(chances) and max(chances, key=chances.__getitem__) == y)
        loss.append(-math.log(max(chances.get(y, 0.0), 1e-3)))
        repeated.append(y == last)
        last = y
    return float(np.mean(right)), float(np.mean(loss)), float(np.mean(repeated))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param((model, check), id=f"{name}-{check.__name__}-{number}")
        for name, model in {
            "alone": AutoKernelClassifier("low"),
            "scaled": compose.Pipeline(preprocessing.StandardScaler(), AutoKernelClassifier("low")),
        }.items()
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_river(check: tuple[Any, Any]) -> None:
    model, judge = check
    judge(model.clone())


def test_nothing_is_skipped() -> None:
    assert not AutoKernelClassifier()._unit_test_skips()


def test_blobs_of_any_scale_are_told_apart() -> None:
    model = AutoKernelClassifier("low")
    accuracy, loss, _ = scores(model, blobs(400))
    assert accuracy > 0.9
    assert loss < 0.3
    assert sum(model.relevance.values()) == pytest.approx(1.0)
    assert model.relevance_history
    text = model.explain()
    assert "class 0" in text and "Columns by relevance" in text and "Experts by weight" in text
    assert sum(model.weights.values()) == pytest.approx(1.0)
    assert sum(model.source_weights.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_persist_are_predicted_as_well_as_by_the_last_one(seed: int) -> None:
    accuracy, loss, repeated = scores(AutoKernelClassifier("low"), markov(1500, seed))
    assert accuracy >= repeated
    assert loss < 0.45  # repeating with the true probabilities has about .31, features alone above 1


def test_features_and_persistence_count_together() -> None:
    accuracy, _, repeated = scores(AutoKernelClassifier("low"), markov(1500, 5, stay=0.6, signal=1.5))
    alone, _, _ = scores(AutoKernelClassifier("low"), markov(1500, 5, stay=0.0, signal=1.5))
    assert accuracy > max(repeated, alone) + 0.03


def test_probabilities_are_calibrated() -> None:
    """Where the label is noise in one case of five, a confidence of .9 and more would be wrong."""
    random = np.random.default_rng(0)
    model = AutoKernelClassifier("low")
    right, top = [], []
    for _ in range(2000):
        x = random.normal(size=2)
        y = bool(x[0] + 0.3 * x[1] ** 2 > 0.0) ^ bool(random.random() < 0.2)
        chances = model.predict_proba_one({"a": x[0], "b": x[1]})
        model.learn_one({"a": x[0], "b": x[1]}, y)
        if chances:
            right.append(max(chances, key=chances.__getitem__) == y)
            top.append(max(chances.values()))
    confidence, hits = np.array(top[300:]), np.array(right[300:], dtype=float)
    assert abs(confidence.mean() - hits.mean()) < 0.03
    assert hits.mean() > 0.75


def test_a_class_may_be_alone() -> None:
    model = AutoKernelClassifier("low")
    for t in range(60):
        model.learn_one({"x": float(t)}, "only")
    assert model.predict_proba_one({"x": 3.0}) == {"only": pytest.approx(1.0)}
    assert model.predict_one({"x": 3.0}) == "only"
    assert "Nothing chosen yet" in model.explain()


def test_new_classes_are_learned_at_any_time_and_vanish() -> None:
    model = AutoKernelClassifier("low")
    stream = list(blobs(1200, classes=4, seed=3, noise=0.3))
    early = [(x, y) for x, y in stream[:400] if y != "class 3"]
    late = [(x, y) for x, y in stream[400:] if y != "class 0"]
    for x, y in early:
        model.learn_one(x, y)
    assert "class 3" not in model.classes
    hits = []
    for x, y in late:
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert np.mean(hits[-200:]) > 0.9
    assert len(model.classes) == 4
    assert model.predict_proba_one(late[-1][0])["class 0"] < 0.05


def test_five_hundred_classes() -> None:
    model, random = AutoKernelClassifier("low"), np.random.default_rng(0)
    labels = [*range(500), *random.integers(500, size=300).tolist()]
    hits = []
    for label in labels:
        x = {"x": label + 0.1 * random.normal()}
        hits.append(model.predict_one(x) == label)
        model.learn_one(x, label)
    chances = model.predict_proba_one({"x": 250.0})
    assert len(chances) == 500
    assert sum(chances.values()) == pytest.approx(1.0)
    assert all(0.0 <= chance <= 1.0 for chance in chances.values())


def test_of_very_many_classes_the_frequent_ones_have_columns() -> None:
    values = np.array([*range(MOST_COLUMNS + 50), 545.0, 545.0])
    targets = Classes.of(values, MOST_COLUMNS + 50)
    assert targets.outputs == MOST_COLUMNS
    assert 545 in targets.places
    assert not targets.add()
    assert targets.columns(np.array([float(MOST_COLUMNS + 50)])).sum() == 0.0
    assert targets.estimates(np.zeros((2, MOST_COLUMNS))).shape == (2, MOST_COLUMNS + 51)


@pytest.mark.parametrize(
    "labels", [("yes", "no"), (1, 2), (True, False), (("a", 1), ("a", 2)), (1.5, "one"), ("None", "nan")]
)
def test_labels_of_any_kind(labels: tuple[Hashable, Hashable]) -> None:
    model = AutoKernelClassifier("low")
    for t in range(120):
        x = math.sin(t)
        model.learn_one({"x": x}, labels[x > 0.0])
    assert model.predict_one({"x": 0.9}) == labels[1]
    assert set(model.predict_proba_one({"x": 0.9})) == set(labels)
    same = AutoKernelClassifier.from_bytes(model.to_bytes())
    assert same.predict_proba_one({"x": 0.9}) == model.predict_proba_one({"x": 0.9})


@pytest.mark.parametrize("label", [None, math.nan, np.nan, pd.NA, [1], {"a": 1}])
def test_what_is_no_label_is_refused(label: Any) -> None:
    model = AutoKernelClassifier("low")
    for x, y in blobs(50):
        model.learn_one(x, y)
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError), match="label y is"):
        model.learn_one({"a": 1.0, "b": 2.0}, label)
    with pytest.raises((TypeError, ValueError), match="label y is"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 0.0]}), ["class 0", label])
    assert model.to_bytes() == before


@pytest.mark.parametrize(("x", "w"), [({"a": "inf"}, -1.0), ({"a": math.inf}, 1.0), ({"a": 1.0}, math.nan), (3, 1.0)])
def test_bad_samples_change_nothing(x: Any, w: float) -> None:
    model = AutoKernelClassifier("low")
    for sample, y in blobs(50):
        model.learn_one(sample, y)
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError)):
        model.learn_one(x, "new", w)
    assert model.to_bytes() == before


def awkward(count: int) -> Iterator[tuple[dict[Any, Any], Hashable, float]]:
    """Words, gaps, dates, huge and tiny numbers, constant and late features, rare classes, weights."""
    random = np.random.default_rng(1)
    day = datetime.date(2024, 1, 1)
    for t in range(count):
        size = 10.0 ** random.integers(-3, 4)
        x: dict[Any, Any] = {
            "number": float(random.normal() * size),
            "tail": float(random.standard_cauchy()),
            "word": str(random.choice(list("abcdefgh"))) if random.random() < 0.9 else None,
            "day": (day + datetime.timedelta(days=t % 900)).isoformat(),
            "constant": 7,
            "gap": float("nan") if random.random() < 0.5 else 1.0,
            3: bool(random.random() < 0.5),
        }
        if t > count // 2:
            x["late"] = float(t % 50)
            del x["constant"]
        if t % 997 == 0:
            x["number"] = 1e80
        y = ("b" if x["word"] == "b" else "rest") if t % 500 else f"rare {t}"
        yield x, y, 1.0 if t % 10 else float(random.choice([0.01, 5.0, 300.0]))


def test_awkward_samples_raise_nothing() -> None:
    model = AutoKernelClassifier("low")
    hits = []
    for x, y, w in awkward(10_000):
        chances = model.predict_proba_one(x)
        if chances:
            assert math.isfinite(sum(chances.values()))
            hits.append(max(chances, key=chances.__getitem__) == y)
        model.learn_one(x, y, w)
    assert np.mean(hits) > 0.95
    assert len(model._window) <= 1000
    assert all(expert.size <= 60 for expert in model._mixture.bank.experts)


def frame(count: int) -> tuple[pd.DataFrame, list[Hashable]]:
    samples = list(awkward(count))
    return pd.DataFrame([x for x, _, _ in samples]).rename(columns=str), [y for _, y, _ in samples]


def test_learn_many_is_the_loop() -> None:
    X, y = frame(300)
    one, many = AutoKernelClassifier("low"), AutoKernelClassifier("low")
    for x, label in zip(X.to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    many.learn_many(X[:100], y[:100])
    many.learn_many(X[100:], pd.Series(y[100:]))
    assert one.to_bytes() == many.to_bytes()


def test_predict_many_is_the_loop() -> None:
    X, y = frame(200)
    model = AutoKernelClassifier("low")
    assert model.predict_many(X).tolist() == [None] * len(X)
    model.learn_many(X, y)
    chances = model.predict_proba_many(X)
    assert list(chances.columns) == model.classes
    assert list(chances.index) == list(X.index)
    loop = [model.predict_proba_one(x) for x in X.to_dict("records")]
    np.testing.assert_array_equal(chances.to_numpy(), [list(chance.values()) for chance in loop])
    assert model.predict_many(X).tolist() == [max(chance, key=chance.__getitem__) for chance in loop]


def test_arrays_have_numbered_columns() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = AutoKernelClassifier("low")
    model.learn_many(X, X[:, 0] > 0.0)
    assert model.predict_proba_many(X).shape == (80, 2)
    assert model.predict_many(X[:1])[0] == model.predict_one({0: X[0, 0], 1: X[0, 1]})
    with pytest.raises(ValueError, match="one label per row"):
        model.learn_many(X, [True])


def test_a_checkpoint_in_the_middle_of_a_tuning_goes_on_bit_for_bit(tmp_path: Any) -> None:
    model, stages, copies = AutoKernelClassifier("low"), set(), []
    for t, (x, y, w) in enumerate(awkward(1100)):
        for copy in copies:
            assert copy.predict_proba_one(x) == model.predict_proba_one(x)
            copy.learn_one(x, y, w)
        model.learn_one(x, y, w)
        if model._renewal is not None and t > 200:
            state = model._renewal.get_state()
            stage = (len(state["records"][0]) > 0, state["point"] is not None, state["experts"] is not None)
            if stage not in stages:
                stages.add(stage)
                model.save(tmp_path / "model.skm")
                copies.append(streamkernel.load(tmp_path / "model.skm"))
    assert len(stages) >= 2
    assert all(copy.to_bytes() == model.to_bytes() for copy in copies)
    assert all(copy.explain() == model.explain() for copy in copies)


def test_drift_is_noticed_and_followed() -> None:
    model, random = AutoKernelClassifier("low"), np.random.default_rng(0)
    hits = []
    for t in range(1600):
        x = random.normal(size=2)
        y = bool(x[0] > 0.0) if t < 1000 else bool(x[0] <= 0.0)
        hits.append(model.predict_one({"a": x[0], "b": x[1]}) == y)
        model.learn_one({"a": x[0], "b": x[1]}, y)
    assert any(1000 < drift < 1200 for drift in model.drifts)
    assert not any(drift <= 1000 for drift in model.drifts)
    assert np.mean(hits[-400:]) > 0.93


def test_it_is_a_river_classifier() -> None:
    model = preprocessing.StandardScaler() | AutoKernelClassifier("low")
    accuracy = evaluate.progressive_val_score(blobs(300), model, metrics.Accuracy())
    assert accuracy.get() > 0.85
    assert "AutoKernelClassifier" in AutoKernelClassifier("low")._repr_html_()


def test_bad_budget() -> None:
    with pytest.raises(ValueError, match="budget"):
        AutoKernelClassifier("huge")


@pytest.mark.parametrize("value", [1e8, 1e20, 1e75])
def test_a_sample_far_from_all_others_leaves_probabilities_that_are_numbers(value: float) -> None:
    random, model = np.random.default_rng(1), AutoKernelClassifier("low")
    for a, b in random.normal(size=(60, 2)).tolist():
        model.learn_one({"a": a, "b": b}, a * b > 0.0)
    model.learn_one({"a": value, "b": 1.0}, True)
    for x in ({"a": 0.1, "b": 0.2}, {"a": -value, "b": 0.0}):
        chances = model.predict_proba_one(x)
        assert sum(chances.values()) == pytest.approx(1.0) and min(chances.values()) >= 0.0


def test_neighbors_of_classes_that_do_not_exist_are_refused() -> None:
    for rows, places in (
        (np.zeros((1, 2)), np.array([3])),
        (np.zeros((1, 2)), np.array([-1])),
        (np.zeros((2, 2)), [0]),
    ):
        with pytest.raises(ValueError, match="samples do not go with classes"):
            Neighbors().set_state([rows, np.asarray(places, dtype=np.int64)], classes=3)


def test_an_estimate_of_zero_bends_to_a_tenth_of_an_equal_share() -> None:
    features = Experience(2, (2.0, 0.5)).guesses(np.array([[0.0, 0.9, 0.1, 0.0], [-0.5, 1.5, 0.0, 0.0]])).features
    assert features[0, 1, 0] == pytest.approx(math.log(0.1 / 4))
    bent = 0.5 * (features[1, 0] + np.sqrt(features[1, 0] ** 2 + 4.0 * (0.1 / 4) ** 2))
    np.testing.assert_allclose(np.exp(features[1, 1]), bent)
