"""The probabilities of the streaming LS-SVM: their temperature against a dense reference, and their calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference

from streamkernel import LSSVMClassifier
from streamkernel.core.softmaxes import calibrate
from streamkernel.kernels import RBF
from streamkernel.learners.lssvm import softmax


@pytest.mark.core
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ridge", [0.05, 2.0])
def test_the_temperature_is_that_of_dense_solves(classes: int, ridge: float) -> None:
    """Scores by a dense solve over all samples so far, then the reference's step; a new class does not move it."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(60, 2))
    y = ((X[:, 0] + 0.5 * rng.normal(size=60)) > np.linspace(-0.5, 0.5, classes - 1)[:, None]).sum(axis=0)
    kernel, bias = RBF(1.5), 1.0
    model = LSSVMClassifier(kernel, threshold=1e-12, ridge=ridge, bias=bias)
    slow, known, moved = reference.Temperature(), [], []
    gram = kernel(X) + bias
    for t in range(60):
        label = int(y[t])
        if label in known:
            targets = np.array([[float(y[i] == k) for k in known] for i in range(t)])
            scores = gram[t, :t] @ np.linalg.solve(gram[:t, :t] + ridge * np.eye(t), targets)
            slow.step(scores, known.index(label))
            moved.append(slow.value)
        else:
            known.append(label)
        model.learn_one(dict(enumerate(X[t].tolist())), label)
        assert model._temperature == pytest.approx(slow.value, rel=1e-8)
        assert model._curvature == pytest.approx(slow.curvature, rel=1e-8)
        probabilities = model.predict_proba_one({0: 0.3, 1: -0.2})
        scores = [slow.value * score for score in model.decision_function_one({0: 0.3, 1: -0.2}).values()]
        wanted = np.exp(scores) / np.exp(scores).sum()
        assert list(probabilities.values()) == pytest.approx(wanted.tolist(), rel=1e-7)
    assert np.ptp(moved) > 0.1


@pytest.mark.core
@pytest.mark.parametrize("classes", [2, 5])
def test_many_decisions_are_one_after_the_other(classes: int) -> None:
    """Also where a score that is not the first is so large that its power alone overflows."""
    rng = np.random.default_rng(classes)
    scores, labels = rng.normal(size=(40, classes)), rng.integers(classes, size=40)
    scores[20:, -1] += 300.0
    record, slow = np.array([4.0, 1.0]), reference.Temperature()
    for t in range(40):
        shares, powers = np.empty((1, classes)), np.exp(record[0] * (scores[t] - scores[t].max()))
        calibrate(scores[t : t + 1], labels[t : t + 1], 0.1, record, shares)
        np.testing.assert_allclose(shares[0], powers / powers.sum(), rtol=1e-12)
        slow.step(scores[t], labels[t])
        assert record == pytest.approx([slow.value, slow.curvature], rel=1e-8)
    again = np.array([4.0, 1.0])
    calibrate(scores, labels, 0.1, again, np.empty_like(scores))
    np.testing.assert_array_equal(again, record)


def test_a_step_is_at_most_a_tenth() -> None:
    """Decisions that are always right by far make the temperature grow, and wrong ones make it fall, slowly."""
    model, slow = LSSVMClassifier(RBF(1.0)), reference.Temperature()
    model.know(["a", "b"])
    for targets, sign in (([1.0, 0.0], 1.0), ([0.0, 1.0], -1.0)):
        for _ in range(4):
            before = model._temperature
            errors = np.array(targets) - np.array([30.0, 0.0])  # the scores were 30 and 0
            model._calibrate(targets, errors)
            slow.step([30.0, 0.0], targets.index(1.0))
            assert model._temperature == pytest.approx(slow.value, rel=1e-12)
            assert sign * (model._temperature - before) <= 0.1 * before + 1e-12
        if sign < 0.0:
            assert model._temperature == pytest.approx(before * 0.9)


def chance(x: Any, classes: int) -> Any:
    """The probability of every class at x: smooth, and far from certain in the middle."""
    centers = np.linspace(-1.5, 1.5, classes)
    return np.array(softmax((-(0.2 if classes == 2 else 0.5) * (x - centers) ** 2).tolist()))


BINS, FEWEST, LARGEST_ERROR = 5, 150, 0.06


def is_calibrated(table: Any) -> bool:
    """Whether every bin is covered, and none of them is off."""
    number, said, came = table.T
    return bool(number.min() >= FEWEST and (np.abs(came - said) < LARGEST_ERROR * number).all())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("first", [4.0, 40.0, 0.4])
def test_every_bin_of_the_probabilities_is_calibrated(classes: int, first: float) -> None:
    """Of all predictions near p for a class, that class comes in about p of the cases: in every fifth from 0 to 1.

    Four is where the temperature starts by default, and is too high here; ten times and a tenth of that are far off.
    Where it stays there, the same test fails.
    """
    rng = np.random.default_rng(3)
    model = LSSVMClassifier(RBF(1.0), ridge=1.0)
    model._temperature = first
    model.know(range(classes))
    counts = np.zeros((BINS, 3))
    frozen = np.zeros((BINS, 3))
    for t in range(3500):
        x = float(rng.uniform(-3.0, 3.0))
        label = int(rng.choice(classes, p=chance(x, classes)))
        if t >= 1000:
            scores = model.decision_function_one({0: x})
            shares = model.predict_proba_one({0: x})
            others = dict(zip(scores, softmax([first * score for score in scores.values()]), strict=True))
            for table, said in ((counts, shares), (frozen, others)):
                for kind, share in said.items():
                    table[min(int(share * BINS), BINS - 1)] += [1.0, share, kind == label]
        model.learn_one({0: x}, label)
    assert is_calibrated(counts) and not is_calibrated(frozen)
