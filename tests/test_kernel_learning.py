"""Learning the kernel's scales from the stream: laws of both ways, and what they find."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import kernel_learning as bench
from streamkernel import KRLS, LSSVMClassifier, datasets, kernels
from streamkernel.learners import kernel_learning as module
from streamkernel.learners.kernel_learning import KernelLearning, thetas, with_thetas
from streamkernel.learners.recursion import Recursion

KINDS = ["gradient", "refit"]
LEARNERS = [KRLS, LSSVMClassifier]


def stream(count: int, seed: int = 0, features: int = 3) -> tuple[list[dict[Any, float]], list[float]]:
    """Only the first feature matters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, features))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=count)
    return [dict(zip("abcdefgh", row, strict=False)) for row in X.tolist()], y.tolist()


def make(learner: Any, kind: str, **options: Any) -> Any:
    return learner(ridge=0.1, max_size=30, kernel_learning=kind, **options)


def targets(learner: Any, y: list[float]) -> list[Any]:
    return [f"{value > 0.0}" for value in y] if learner is LSSVMClassifier else y


def learned(model: Any, X: Any, y: Any) -> Any:
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
    return model


def says(model: Any, x: Any) -> Any:
    return model.decision_function_one(x) if isinstance(model, LSSVMClassifier) else model.predict_one(x)


@pytest.fixture
def rebuilds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models that were rebuilt."""
    made: list[Any] = []
    original = KernelLearning._rebuilt

    def counted(self: Any, *arguments: Any) -> Any:
        made.append(original(self, *arguments))
        return made[-1]

    monkeypatch.setattr(KernelLearning, "_rebuilt", counted)
    return made


# Laws -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [1.0, 2.5])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_slope_is_that_of_the_squared_error(outputs: int, w: float) -> None:
    X, y = stream(40)
    model = Recursion(kernels.RBF(1.5), 1e-4, 0.1, max_size=20, outputs=outputs)
    learning = KernelLearning("gradient", outputs=outputs)
    learning.next = 10**9  # no step
    rows = [[value * (k + 1) + k for k in range(outputs)] for value in y]
    for x, row in zip(X[:-1], rows[:-1], strict=True):
        learning.learn(model, x, row, 1.0)
    before, names = learning.slopes.copy(), model.names
    coefficients, points = model.coefficients, model.point_matrix.copy()
    theta, last = learning.theta, np.array([X[-1][name] for name in names])

    def loss(scales: Any) -> float:
        predicted = coefficients @ np.exp(-((points - last) ** 2) @ scales)
        return 0.5 * w * float(((rows[-1] - predicted) ** 2).sum())

    learning.learn(model, X[-1], rows[-1], w)
    step = 1e-5
    numeric = [(loss(theta + step * unit) - loss(theta - step * unit)) / (2.0 * step) for unit in np.eye(len(names))]
    np.testing.assert_allclose(learning.slopes - module.MEMORY * before, numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_rebuilt_model_has_learned_the_window(learner: Any, kind: str, rebuilds: list[Any]) -> None:
    X, y = stream(130)
    labels = targets(learner, y)
    model = make(learner, kind)
    for x, label in zip(X, labels, strict=True):
        count = len(rebuilds)
        model.learn_one(x, label)
        if len(rebuilds) == count:
            continue
        learning = model._learning
        assert model._model is rebuilds[-1]
        other = model._model.renewed(model._model.kernel)
        window = learning.window
        other.learn_many(window.names, window.samples, window.targets[:, 1:], window.targets[:, 0])
        probe = X[0]
        np.testing.assert_allclose(other.predict(probe), model._model.predict(probe), rtol=1e-9)
        np.testing.assert_allclose(other.means, model._model.means, rtol=1e-9)
        assert model.relevance == pytest.approx(dict(zip(learning.names, learning.theta, strict=True)))
    assert rebuilds
    assert set(model.relevance) == {"a", "b", "c"}
    assert all(theta >= 0.0 for theta in model.relevance.values())
    assert max(model.relevance, key=model.relevance.get) == "a"


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_learned_again(kind: str, rebuilds: list[Any]) -> None:
    X, y = stream(120)
    rng = np.random.default_rng(1)
    w = rng.uniform(0.1, 3.0, size=120)
    model = make(KRLS, kind)
    for x, target, weight in zip(X, y, w.tolist(), strict=True):
        model.learn_one(x, target, weight)
    assert rebuilds
    np.testing.assert_array_equal(model._learning.window.targets[:, 0], w)
    plain = learned(make(KRLS, kind), X, y)
    assert model.predict_one(X[0]) != plain.predict_one(X[0])
    last = model._learning._replayed(model._model, 120, module.Proposal(model._learning.theta))[0]
    by_hand = last.renewed(last.kernel)
    for x, target, weight in zip(X, y, w.tolist(), strict=True):
        by_hand.learn(x, (target,), weight)
    assert by_hand.predict(X[0]) == pytest.approx(last.predict(X[0]), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_learn_many_is_learn_one(kind: str, rebuilds: list[Any]) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y, w = np.sin(2.0 * X[:, 0]), rng.uniform(0.5, 2.0, size=300)
    many, one = make(KRLS, kind), make(KRLS, kind)
    many.learn_many(X[:70], y[:70], w[:70])
    many.learn_many(X[70:], y[70:], w[70:])
    for row, target, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        one.learn_one(dict(enumerate(row)), target, weight)
    assert rebuilds
    assert many.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("y", "w"), [([1.0, 1e200], [1.0, 1.0]), ([1.0, 1.0], [1.0, 0.0])])
def test_a_batch_is_learned_or_not(kind: str, y: list[float], w: list[float]) -> None:
    X, before = stream(60)
    model = learned(make(KRLS, kind), X, before)
    state = model.to_bytes()
    with pytest.raises(ValueError, match=r"is 1e\+200|is 0\.0"):
        model.learn_many(np.ones((2, 3)), y, w)
    assert model.to_bytes() == state


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_made_before_learning(kind: str, rebuilds: list[Any]) -> None:
    X, y = stream(120)
    model = make(KRLS, kind)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        if t == 90:
            x = x | {"z": 1.0}  # a feature is new
        expected = model.predict_one(x)
        assert model.predict_learn_one(x, target) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert rebuilds


# Features and classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_features_that_appear_late(learner: Any, kind: str) -> None:
    X, y = stream(140, features=2)
    labels = targets(learner, y)
    model = learned(make(learner, kind), X[:70], labels[:70])
    wider = [x | {"B": 0.5 * t, "z": 1.0} for t, x in enumerate(X[70:])]
    before = model.to_bytes()
    said = says(model, wider[0])
    assert model.to_bytes() == before and set(model.relevance) == {"a", "b"}
    relevance = model.relevance
    model.learn_one(wider[0], labels[70])
    assert said is not None
    mean = np.mean(list(relevance.values()))
    assert model.relevance == pytest.approx(relevance | {"B": mean, "z": mean}, rel=1e-9)
    learned(model, wider[1:], labels[71:])
    assert set(model.relevance) == {"a", "b", "B", "z"}
    learned(model, X[:60], labels[:60])  # and absent again
    assert model.relevance["a"] > model.relevance["z"]


def test_a_kernel_that_names_its_features() -> None:
    model = KRLS(kernels.RBF({"a": 1.0, "b": 2.0}), kernel_learning="gradient", ridge=0.1)
    with pytest.raises(ValueError, match="no length_scale for feature 'c'"):
        model.learn_one({"a": 1.0, "c": 2.0}, 0.0)
    assert not model.size and not model._learning.names
    model.learn_one({"a": 1.0, "b": 2.0}, 0.0)
    assert model.relevance == pytest.approx({"a": 0.5, "b": 0.125})


@pytest.mark.parametrize("kind", KINDS)
def test_classes_that_appear_late(kind: str) -> None:
    X, y = stream(200)
    labels = ["early" if value < 0.0 else "also early" for value in y]
    labels[100:] = ["late" if value < -0.5 else label for value, label in zip(y[100:], labels[100:], strict=True)]
    model = learned(make(LSSVMClassifier, kind), X, labels)
    assert set(model.classes) == {"early", "also early", "late"}
    assert model._learning.window.targets.shape == (200, 4)
    counts = model._learning.window.targets[:, 1:].sum(axis=0)
    assert counts.tolist() == [labels.count(label) for label in model.classes]
    right = [model.predict_one(x) == label for x, label in zip(X[150:], labels[150:], strict=True)]
    assert np.mean(right) > 0.7


# What must change nothing ---------------------------------------------------------------------------------------------

BAD = [
    ({"a": math.nan, "b": 1.0, "c": 1.0}, 1.0, 1.0),
    ({"a": "text", "b": 1.0, "c": 1.0}, 1.0, 1.0),
    ({"a": None, "b": 1.0, "c": 1.0}, 1.0, 1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0, "new": math.inf}, 1.0, 1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0, "new": "text"}, 1.0, 1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0, 0.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0, "new": 1.0}, 1.0, -1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0, "new": 1.0}, math.nan, 1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0}, math.nan, 1.0),
    ({"a": 1.0, "b": 1.0, "c": 1.0}, "text", 1.0),
]


@pytest.mark.parametrize("count", [0, 30, 49, 120])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_bad_sample_changes_nothing(learner: Any, kind: str, count: int) -> None:
    X, y = stream(121)
    labels = targets(learner, y)
    model = learned(make(learner, kind), X[:count], labels[:count])
    before = model.to_bytes()
    for x, target, w in BAD:
        if learner is LSSVMClassifier:
            if target != 1.0:
                continue  # any label will do
            target = "new label"
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x, target, w)
        assert model.to_bytes() == before
    model.learn_one(X[count], labels[count])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_copies_continue_bit_for_bit(learner: Any, kind: str, rebuilds: list[Any]) -> None:
    X, y = stream(500, features=4)
    labels = targets(learner, y)
    model = learned(make(learner, kind), X[:200], labels[:200])
    assert rebuilds
    copies = [
        learner.from_bytes(model.to_bytes()),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    learned(model, X[200:], labels[200:])
    for other in copies:
        learned(other, X[200:], labels[200:])
        assert other.to_bytes() == model.to_bytes()
        assert other.relevance == model.relevance
    assert len(rebuilds) > 4  # all were rebuilt again


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_clone_knows_nothing(learner: Any, kind: str) -> None:
    X, y = stream(120)
    model = learned(make(learner, kind), X, targets(learner, y))
    fresh = model.clone()
    assert fresh.kernel_learning == kind and not fresh.size and fresh.relevance == {}
    assert learned(fresh, X, targets(learner, y)).to_bytes() == model.to_bytes()
    assert model.kernel is None  # a parameter, which learning leaves alone


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1e-150, 1e-9, 1e9, 1e120, 1e160])
def test_scales_of_any_size(kind: str, factor: float) -> None:
    X, y = stream(120)
    model = make(KRLS, kind)
    for x, target in zip(X, y, strict=True):
        model.learn_one({name: factor * value for name, value in x.items()}, target)
    assert all(math.isfinite(theta) and theta >= 0.0 for theta in model.relevance.values())
    assert math.isfinite(model.predict_one(X[0]))


def test_a_constant_feature_does_not_move_the_level() -> None:
    """The point of a search has no scale for it; the ridge stood where the level was read."""
    X, y = stream(130)
    plain = learned(make(KRLS, "refit"), X, y)
    other = learned(make(KRLS, "refit"), [x | {"d": 1.0} for x in X], y)
    levels = [model.recursion.effective_kernel().right.value for model in (plain, other)]
    assert levels[1] == pytest.approx(levels[0], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_large_targets(kind: str) -> None:
    X, y = stream(120)
    model = learned(make(KRLS, kind), X, [1e99 * value for value in y])
    assert all(math.isfinite(theta) and theta >= 0.0 for theta in model.relevance.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["constant target", "constant features", "no features", "one class"])
def test_nothing_to_learn_from(kind: str, case: str) -> None:
    X, y = stream(120)
    if case == "one class":
        model = learned(make(LSSVMClassifier, kind), X, ["same"] * 120)
        assert model.predict_one(X[0]) == "same"
        return
    samples = {"constant target": X, "constant features": [{"a": 1.0}] * 120, "no features": [{}] * 120}[case]
    model = learned(make(KRLS, kind), samples, [2.0] * 120 if case == "constant target" else y)
    assert math.isfinite(model.predict_one(samples[0]))


def test_parameters_are_checked() -> None:
    for learner in LEARNERS:
        with pytest.raises(ValueError, match="kernel_learning must be None, 'gradient' or 'refit', got 'sgd'"):
            learner(kernel_learning="sgd")
        with pytest.raises(ValueError, match=r"learns the scales of an RBF kernel, not of Linear\(\)"):
            learner(kernels.Linear(), kernel_learning="refit")


def test_scales_of_a_kernel_and_back() -> None:
    theta = {"a": 0.5, "b": 0.0}
    kernel = with_thetas(kernels.RBF(3.0), theta, 0.0)
    assert kernel == kernels.RBF({"a": 1.0, "b": math.inf}) and thetas(kernel, ("a", "b")) == theta
    with_bias = with_thetas(kernels.RBF(3.0) + 2.0, theta, 2.0)  # the model adds the constant itself
    assert with_bias == kernel
    assert with_thetas(kernels.RBF(3.0) + 2.0, theta, 0.0) == kernel + 2.0
    assert thetas(kernels.Linear(), ("a",)) == {}


# What they find -------------------------------------------------------------------------------------------------------

needs_speed = pytest.mark.skipif(not JIT, reason="too slow without numba")


@needs_speed
@pytest.mark.parametrize("kind", KINDS)
def test_irrelevant_features_are_found(kind: str) -> None:
    squares, relevance, _ = bench.run_friedman(kind, 5000, 1)
    isotropic, _, _ = bench.run_friedman(None, 5000, 1)
    assert squares[2500:].mean() <= 0.09
    assert squares[2500:].mean() < isotropic[2500:].mean()
    assert relevance[:5].min() > relevance[5:].max()


@needs_speed
@pytest.mark.parametrize("kind", KINDS)
def test_relevance_follows_a_change(kind: str) -> None:
    _, relevance, _ = bench.run_friedman(kind, 4500, 1, change=2500)
    assert relevance[5:].sum() > relevance[:5].sum()
    assert (relevance[5:] > relevance[:5].max()).sum() >= 2


@needs_speed
def test_splice(data: Any) -> None:
    data("raetsch/splice.npz")
    X, y = datasets.Raetsch("splice").arrays()
    order = np.random.default_rng(0).permutation(len(y))[:1200]
    rows = (X[order] - X[order].mean(axis=0)) / X[order].std(axis=0)
    wrong = {}
    for kind in (None, "refit"):
        model = LSSVMClassifier(max_size=200, kernel_learning=kind)
        errors = []
        for row, label in zip(rows.tolist(), y[order].tolist(), strict=True):
            x = dict(enumerate(row))
            errors.append(model.predict_one(x) != label)
            model.learn_one(x, label)
        wrong[kind] = float(np.mean(errors))
    assert wrong["refit"] <= 0.12 and wrong["refit"] < wrong[None]
