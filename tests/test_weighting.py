"""The rules of weighing against their formulas: what is capped, discounted and shared, and where it begins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference

from streamkernel import KRLS, KernelMixture, KernelMixtureClassifier, LSSVMClassifier, kernels
from streamkernel.ensembles.weighting import Weighting

MODELS = [KRLS(kernels.RBF(width), 1e-2, 0.1) for width in (0.3, 1.0, 3.0)]
FIRST = (0.5, 0.3, 0.2)


def stream(count: int) -> list[tuple[dict[int, float], float]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=count)
    y[15] += 30.0  # beyond the cap for all experts
    y[40] -= 8.0
    return [(dict(enumerate(x)), target) for x, target in zip(X.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("rule", "discount", "share", "power"),
    [
        ("bma", 0.9, 0.0, 2.0),
        ("bma", 0.9, 0.05, 2.0),
        ("bma", 1.0, 0.001, 2.0),
        ("coker", 0.9, 0.0, 2.0),
        ("coker", 0.97, 0.0, 1.5),
        ("coker", 1.0, 0.0, 3.0),
    ],
)
@pytest.mark.parametrize("first", [None, FIRST])
def test_weights_are_those_of_the_formulas(rule: str, discount: float, share: float, power: float, first: Any) -> None:
    mixture = KernelMixture(MODELS, rule, discount, share, power, initial_weights=first)
    assert mixture.weights == pytest.approx(first or (1 / 3,) * 3, abs=1e-15)
    means, variances, targets, found = [], [], [], []
    for x, y in stream(60):
        distributions = [expert.predict_one(x, with_dist=True) for expert in mixture.experts]
        means.append([distribution.mu for distribution in distributions])
        variances.append([distribution.sigma**2 for distribution in distributions])
        targets.append(y)
        mixture.learn_one(x, y)
        found.append(mixture.weights)
    start = first or (1.0, 1.0, 1.0)
    wanted = reference.mixture_weights(
        rule, np.array(means), np.array(variances), np.array(targets), discount, share, power, start
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert np.ptp(found, axis=0).max() > 0.05  # they have moved
    if rule == "bma":
        squares = (np.array(targets)[:, None] - means) ** 2 / variances
        assert squares.max() > 25.0 and squares.min() < 1.0  # the cap was in use


def test_a_weighted_sample_counts_so_often() -> None:
    once, often = (KernelMixture(MODELS, discount=1.0, share=0.0) for _ in range(2))
    for x, y in stream(50)[:12]:
        before = np.log(often.weights)
        distributions = [expert.predict_one(x, with_dist=True) for expert in often.experts]
        logs = [-0.5 * (math.log(d.sigma**2) + min((y - d.mu) ** 2 / d.sigma**2, 25.0)) for d in distributions]
        often.learn_one(x, y, 3.0)
        once.learn_one(x, y)
        wanted = np.exp(before + 3.0 * np.array(logs))
        np.testing.assert_allclose(often.weights, wanted / wanted.sum(), rtol=1e-9)
    assert np.abs(np.subtract(once.weights, often.weights)).max() > 0.01


@pytest.mark.parametrize(("discount", "share"), [(0.9, 0.0), (0.9, 0.05), (1.0, 0.0)])
def test_classifiers_are_weighed_by_their_log_loss(discount: float, share: float) -> None:
    models = [LSSVMClassifier(kernels.RBF(width)) for width in (0.3, 1.0, 3.0)]
    for model in models:
        model.know([False, True])
    mixture = KernelMixtureClassifier(models, discount=discount, share=share)
    brier = KernelMixtureClassifier(models, "coker", discount=discount, power=1.5)
    w, losses = np.full(3, 1 / 3), None
    for x, y in stream(60):
        label = y > 0.0
        guesses = [expert.predict_proba_one(x) for expert in mixture.experts]
        mixture.learn_one(x, label)
        brier.learn_one(x, label)
        w = w**discount * np.array([guess[label] for guess in guesses])
        w = (1.0 - share) * w / w.sum() + share / 3
        np.testing.assert_allclose(mixture.weights, w, rtol=1e-9)
        squares = np.array([sum((p - (kind == label)) ** 2 for kind, p in guess.items()) for guess in guesses])
        losses = discount * (np.full(3, 10.0 * squares.mean()) if losses is None else losses) + squares
        np.testing.assert_allclose(brier.weights, losses**-2.0 / (losses**-2.0).sum(), rtol=1e-9)


def test_the_sum_of_the_classes_of_a_mixture_is_that_of_its_experts() -> None:
    mixture = KernelMixtureClassifier([LSSVMClassifier(kernels.RBF(width)) for width in (0.3, 3.0)])
    for x, y in stream(50):
        mixture.learn_one(x, y > 0.0)
    guesses = [expert.predict_proba_one(x) for expert in mixture.experts]
    for label, found in mixture.predict_proba_one(x).items():
        wanted = sum(w * guess[label] for w, guess in zip(mixture.weights, guesses, strict=True))
        assert found == pytest.approx(wanted, rel=1e-12)


def test_a_mixture_of_one_is_its_expert() -> None:
    mixture, alone = KernelMixtureClassifier([LSSVMClassifier(kernels.RBF(1.0))]), LSSVMClassifier(kernels.RBF(1.0))
    for x, y in stream(50):
        assert mixture.predict_proba_one(x) == alone.predict_proba_one(x)
        mixture.learn_one(x, y > 0.0)
        alone.learn_one(x, y > 0.0)
    assert mixture.weights == pytest.approx([1.0])


def record(weights: list[float], share: float = 0.0) -> Weighting:
    weighting = Weighting("bma", len(weights), 1.0, share, 2.0, weights)
    weighting.losses = np.arange(1.0, len(weights) + 1.0)
    return weighting


def test_an_expert_is_idle_below_a_tenth_of_an_equal_share() -> None:
    equal = 0.1 / 4.0
    for weight, is_idle in ((equal * 1.01, False), (equal * 0.99, True)):
        rest = (1.0 - weight) / 3.0
        weighting = record([rest, weight, rest, rest])
        expired = [weighting.expire(3) for _ in range(3)]
        assert expired == ([[], [], [1]] if is_idle else [[], [], []])
        assert weighting.idle == [0, 0, 0, 0]


def test_who_matters_again_is_counted_anew() -> None:
    weighting = record([0.99, 0.01])
    assert weighting.expire(3) == weighting.expire(3) == []
    assert weighting.idle == [0, 2]
    weighting.logs[:] = 0.0
    weighting._weights = None
    assert weighting.expire(3) == [] and weighting.idle == [0, 0]


@pytest.mark.parametrize("share", [0.0, 0.03])
def test_who_begins_anew_has_a_small_weight_and_a_middling_record(share: float) -> None:
    weighting = record([0.98, 0.01, 0.01], share)
    best = weighting.logs.max()
    assert weighting.expire(1) == [1, 2]
    small = share / 3.0 if share else 1e-12
    np.testing.assert_allclose(weighting.logs, [best, best + math.log(small), best + math.log(small)], rtol=1e-12)
    np.testing.assert_array_equal(weighting.losses, [1.0, 2.0, 2.0])
    np.testing.assert_allclose(weighting.weights, np.array([1.0, small, small]) / (1.0 + 2.0 * small), rtol=1e-9)
