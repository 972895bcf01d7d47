"""Followers of a dictionary of bounded size: against dense filters from which the leader's choice is marginalized."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference

from streamkernel import KAAR, KRLS, HeteroscedasticKRLS
from streamkernel.core import whitened
from streamkernel.kernels import RBF, AnovaSpline, Custom, Kernel, Linear, Polynomial
from streamkernel.learners.bank import Bank, is_usual

# The self-similarity of the second differs from sample to sample.
KERNELS: dict[str, Kernel] = {"stationary": RBF(0.8) + 0.5, "not stationary": Polynomial(3, scale=0.3) + RBF(0.8)}
SETTINGS = [(0.1, 1.0, False), (0.02, 0.98, False), (0.3, 0.97, True)]
THRESHOLD = 0.02


def stream(count: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.5, 1.5, (count, 2))
    return X, np.sin(2.0 * X.sum(axis=1)) + 0.1 * rng.standard_normal(count), rng.uniform(0.5, 2.0, count)


def experts(kernel: Kernel, limit: int) -> list[KRLS]:
    return [
        KRLS(kernel, THRESHOLD, ridge, forgetting, "walk" if walk else "prior", max_size=limit)
        for ridge, forgetting, walk in SETTINGS
    ]


def agree(bank: Bank, slow: reference.PrunedFilters, X: Any) -> None:
    """Dictionary, factor, weights and covariances are those of the dense filters."""
    size = len(slow.indices)
    for expert, each in zip(bank.experts, slow.filters, strict=True):
        model = expert.recursion.model
        whitened.settle(model)
        assert model.size == size
        np.testing.assert_array_equal(expert.recursion.point_matrix, X[slow.indices])
        np.testing.assert_allclose(reference.unpacked(model.factor, size, False), slow.L, rtol=1e-8, atol=1e-8)
        own = np.diagonal(slow.K)[slow.indices]
        np.testing.assert_allclose(model.similarities[:size], own, rtol=1e-12)
        assert model.trace == pytest.approx(own.sum(), rel=1e-12)
        np.testing.assert_allclose(model.reciprocals[:size], 1.0 / np.diagonal(slow.L), rtol=1e-8)
        np.testing.assert_allclose(model.weights[0, :size], each.mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(reference.unpacked(model.covariance, size, True), each.P, rtol=1e-8, atol=1e-8)


@pytest.mark.core
@pytest.mark.parametrize("limit", [7, 8, 17])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rows", [False, True], ids=["samples", "rows"])
def test_followers_equal_dense_filters_under_pruning(rows: bool, name: str, limit: int) -> None:
    kernel, count = KERNELS[name], 90
    X, y, weights = stream(count)
    bank = Bank(experts(kernel, limit))
    slow = reference.PrunedFilters(kernel(X), THRESHOLD, limit, SETTINGS)
    assert [len(followers) for _, followers in bank._groups] == [2]
    removed = 0
    if rows:
        bank.adopt((0, 1))
    for t in range(count):
        x = dict(enumerate(X[t].tolist()))
        if slow.indices:
            c = kernel(X[slow.indices], X[t][None])[:, 0]
            z = np.linalg.solve(slow.L, c)
            means, *_ = bank.moments_of_row(X[t]) if rows else bank.moments(x)
            np.testing.assert_allclose(means, [z @ each.mean for each in slow.filters], rtol=1e-8, atol=1e-8)
        slow.step(t, y[t], 1.0 / weights[t])
        if rows:
            left = bank.learn_row(X[t], y[t], weights[t])
            assert left == (len(slow.removed) > removed)
        else:
            bank.learn(x, y[t], weights[t])
        removed = len(slow.removed)
        if t % 10 == 9 or t < 3:
            agree(bank, slow, X)
    assert len(slow.removed) > 15
    agree(bank, slow, X)
    assert bank.experts[0].recursion.model.pruned == len(slow.removed)


@pytest.mark.parametrize("name", KERNELS)
def test_many_rows_equal_dense_filters_under_pruning(name: str) -> None:
    kernel, count, limit = KERNELS[name], 90, 10
    X, y, weights = stream(count)
    bank = Bank(experts(kernel, limit))
    bank.adopt((0, 1))
    slow = reference.PrunedFilters(kernel(X), THRESHOLD, limit, SETTINGS)
    for part in (slice(0, 1), slice(1, 30), slice(30, 90)):
        bank.learn_rows(X[part], y[part], weights[part])
        for t in range(part.start, part.stop):
            slow.step(t, y[t], 1.0 / weights[t])
        agree(bank, slow, X)
    assert len(slow.removed) > 15
    for t in range(5):
        z = np.linalg.solve(slow.L, kernel(X[slow.indices], X[t][None])[:, 0])
        residual = kernel(X[t][None])[0, 0] - z @ z
        means, variances = bank.moments_of_row(X[t])
        for i, (each, expert) in enumerate(zip(slow.filters, bank.experts, strict=True)):
            noise = expert.recursion.model.noise_sum / expert.recursion.model.noise_weight
            assert means[i] == pytest.approx(z @ each.mean, abs=1e-8)
            wanted = noise * (1.0 + z @ each.P @ z + residual / each.ridge)
            assert variances[i] == pytest.approx(wanted, rel=1e-8)


# Rows of numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "is_for_rows"),
    [
        ([], True),
        ([KRLS(RBF(2.0), 0.1, 0.2)], True),
        ([KRLS(RBF(2.0), 0.1, 0.0)], False),
        ([KRLS(Custom(lambda a, b: float(np.dot(a, b))), 0.1, 0.2)], False),
        ([KRLS(AnovaSpline(), 0.1, 0.2)], False),
        ([KRLS(RBF(2.0), 0.1, 0.2, kernel_learning="gradient")], False),
        ([KAAR(RBF(2.0), ridge=0.2)], False),
        ([HeteroscedasticKRLS(RBF(2.0))], False),
    ],
)
def test_rows_are_for_plain_experts_that_have_learned_the_same_features(others: Any, is_for_rows: bool) -> None:
    bank = Bank([KRLS(RBF(0.8), 0.1, 0.1), *others])
    assert bank.names() is None
    bank.learn({0: 0.5, 1: 0.2}, 1.0, 1.0)
    assert bank.names() == ((0, 1) if is_for_rows else None)
    bank.experts[0].learn_one({0: 0.1, 2: 0.2}, 1.0)
    assert bank.names() == ((0, 1, 2) if not others else None)


@pytest.mark.parametrize("weight", [0.5, 1.0, 20.0])
def test_a_sample_is_usual_below_the_similarity_where_its_noise_is_lost(weight: float) -> None:
    """k(x, x) < 1 / (0.01 w) − 1: above, learning may fail, and what is to be undone is copied before."""
    model = KRLS(Linear(), 1e-3, 0.1)
    model.learn_one({0: 1.0}, 1.0)
    limit = 100.0 / weight - 1.0
    for square, is_below in ((0.99 * limit, True), (1.01 * limit, False)):
        x = {0: square**0.5}
        model.predict_one(x)
        assert is_usual(x, 1.0, weight, model.recursion.similarity_of(x)) == is_below
    assert not is_usual({1: 1.0}, 1.0, weight, model.recursion.similarity_of({1: 1.0}))  # a new feature


# A bank that becomes choosier -----------------------------------------------------------------------------------------


def test_the_threshold_doubles_when_points_have_left_so_often() -> None:
    """Once for every so many removals, for leader and followers alike, at the step of the removal and at no other."""
    X, y, _ = stream(120)
    limit, removals = 8, 5
    bank = Bank(experts(KERNELS["stationary"], limit))
    doublings, at = 0, []
    for t in range(120):
        before = bank.experts[0].recursion.model.pruned
        bank.learn(dict(enumerate(X[t].tolist())), y[t], 1.0)
        model = bank.experts[0].recursion.model
        bank.relax(removals)
        if model.pruned > before and model.pruned % removals == 0:
            doublings += 1
            at.append(model.pruned)
        thresholds = {expert.recursion.model.threshold for expert in bank.experts}
        assert thresholds == {THRESHOLD * 2.0**doublings}
    assert doublings >= 2
    assert at == [removals * (i + 1) for i in range(doublings)]


def test_only_a_group_from_which_points_leave_becomes_choosier() -> None:
    X, y, _ = stream(60)
    small, large = KRLS(RBF(0.8), THRESHOLD, 0.1, max_size=5), KRLS(RBF(0.8), THRESHOLD, 0.1, max_size=500)
    bank = Bank([small, large])
    for t in range(60):
        bank.learn(dict(enumerate(X[t].tolist())), y[t], 1.0)
        bank.relax(2)
    assert bank.experts[0].recursion.model.threshold > THRESHOLD
    assert bank.experts[1].recursion.model.threshold == THRESHOLD
    assert bank.experts[1].recursion.model.pruned == 0
