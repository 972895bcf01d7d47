"""Noise that depends on the input, while points join and leave: against dense filters for the mean and its noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference

from streamkernel import HeteroscedasticKRLS
from streamkernel.core import noise, whitened
from streamkernel.kernels import RBF, Kernel, Polynomial

RULES = [(1.0, "prior"), (0.97, "prior"), (0.97, "walk")]
KERNELS: dict[str, Kernel] = {"stationary": RBF(0.8), "not stationary": Polynomial(2, scale=0.4) + RBF(0.8)}


def stream(count: int, features: int = 2) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1.5, 1.5, (count, features))
    y = np.sin(2.0 * X[:, 0]) + np.exp(X[:, 1] - 1.0) * rng.standard_normal(count)
    y[count // 2] += 40.0  # beyond the cap
    return X, y, rng.uniform(0.5, 2.0, count)


class Dense:
    """`reference.NoiseFilter` with a dictionary from which points leave, as the model says which."""

    def __init__(self, kernel: Kernel, X: Any, threshold: float, slow: reference.NoiseFilter) -> None:
        self.kernel, self.X, self.threshold, self.slow = kernel, X, threshold, slow
        self.indices: list[int] = []
        self.L = np.zeros((0, 0))

    def step(self, t: int, y: float, w: float) -> None:
        c = self.kernel(self.X[self.indices], self.X[t][None])[:, 0] if self.indices else np.zeros(0)
        z = np.linalg.solve(self.L, c) if len(c) else c
        residual = float(self.kernel(self.X[t][None])[0, 0] - z @ z)
        joined = residual > self.threshold
        if joined:
            m = len(self.L)
            self.L = np.block([[self.L, np.zeros((m, 1))], [z[None], np.array([[math.sqrt(residual)]])]])
            z = np.append(z, math.sqrt(residual))
            self.indices.append(t)
        self.slow.step(z, residual, joined, y, w)

    def leave(self, points: Any) -> int:
        """Let those leave that are no longer among the points; how many were they."""
        held = {tuple(point) for point in points.tolist()}
        keep = [i for i, t in enumerate(self.indices) if tuple(self.X[t].tolist()) in held]
        gone = len(self.indices) - len(keep)
        if gone:
            slow = self.slow
            _, logarithm, S = reference.marginalize(self.L, slow.logarithm, slow.S, keep)
            factor, mean, P = reference.marginalize(self.L, slow.mean.mean, slow.mean.P, keep)
            self.L, slow.logarithm, slow.S, slow.mean.mean, slow.mean.P = factor, logarithm, S, mean, P
            self.indices = [self.indices[i] for i in keep]
        return gone


def agree(model: HeteroscedasticKRLS, dense: Dense, check_all: bool = True) -> None:
    core, size, slow = model.recursion.model, len(dense.indices), dense.slow
    assert model.size == size
    np.testing.assert_allclose(core.weights[0, :size], slow.mean.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(core.weights[1, :size], slow.logarithm, rtol=1e-8, atol=1e-8)
    own = dense.kernel.diagonal(dense.X[dense.indices])
    np.testing.assert_allclose(core.similarities[:size], own, rtol=1e-12)
    assert core.trace == pytest.approx(own.sum(), rel=1e-12)
    if check_all:
        whitened.settle(core)
        noise.settle_noise(core)
        np.testing.assert_allclose(reference.unpacked(core.covariance, size, True), slow.mean.P, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(reference.unpacked(core.noise_covariance, size, True), slow.S, rtol=1e-8, atol=1e-8)
        assert model.noise_variance == pytest.approx(slow.sum / slow.weight, rel=1e-8)


@pytest.mark.core
@pytest.mark.parametrize("limit", [None, 8, 17])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("forgetting", "forget"), RULES)
def test_both_recursions_equal_dense_filters(forgetting: float, forget: str, name: str, limit: int | None) -> None:
    count, threshold, ridge, noise_ridge, cap = 70, 0.03, 0.1, 0.7, 9.0
    X, y, weights = stream(count)
    kernel = KERNELS[name]
    model = HeteroscedasticKRLS(kernel, threshold, ridge, noise_ridge, cap, forgetting, forget, limit)
    dense = Dense(kernel, X, threshold, reference.NoiseFilter(ridge, noise_ridge, cap, forgetting, forget == "walk"))
    left = 0
    for t in range(count):
        model.learn_one(dict(enumerate(X[t].tolist())), y[t], weights[t])
        dense.step(t, y[t], weights[t])
        left += dense.leave(model.recursion.point_matrix)
        agree(model, dense, check_all=t % 7 == 0)
    agree(model, dense)
    assert (left > 8) == (limit is not None)


@pytest.mark.core
def test_a_variance_that_is_not_positive_teaches_nothing_about_the_noise() -> None:
    """It is rounding error, and so is the gain: neither weights nor covariance of the logarithm move by it."""
    X, y, _ = stream(30)
    model = HeteroscedasticKRLS(RBF(0.8), 0.03)
    for t in range(29):
        model.learn_one(dict(enumerate(X[t].tolist())), y[t])
    core = model.recursion.model
    noise.settle_noise(core)
    core.noise_covariance[:] *= -1e-3
    before, size = core.noise_covariance.copy(), model.size
    weights = core.weights[1].copy()
    model.learn_one(dict(enumerate(X[28].tolist())), y[29])  # where a point is already
    noise.settle_noise(core)
    assert model.size == size and weights.any()
    np.testing.assert_array_equal(core.weights[1], weights)
    np.testing.assert_array_equal(core.noise_covariance, before)


@pytest.mark.parametrize(("forgetting", "forget"), RULES)
def test_many_samples_at_once_outgrow_the_arrays(forgetting: float, forget: str) -> None:
    """Nearly every sample joins: the arrays are made larger again and again, and no sample is lost."""
    X, y, weights = stream(200, features=3)
    kernel, threshold = RBF(0.3), 1e-3
    model = HeteroscedasticKRLS(kernel, threshold, 0.1, 0.7, 12.0, forgetting, forget)
    before = model.recursion.capacity
    dense = Dense(kernel, X, threshold, reference.NoiseFilter(0.1, 0.7, 12.0, forgetting, forget == "walk"))
    for part in (slice(0, 3), slice(3, 120), slice(120, 200)):
        model.learn_many(X[part], y[part], weights[part])
        for t in range(part.start, part.stop):
            dense.step(t, y[t], weights[t])
        agree(model, dense)
    assert model.size > 150 and model.recursion.capacity >= 4 * max(before, 8)
    assert model.recursion.seen == 200


@pytest.mark.parametrize("limit", [8, 17])
def test_many_samples_at_once_while_points_leave(limit: int) -> None:
    X, y, weights = stream(150)
    one, many = (HeteroscedasticKRLS(RBF(0.6), 0.02, forgetting=0.99, max_size=limit) for _ in range(2))
    for t in range(150):
        one.learn_one(dict(enumerate(X[t].tolist())), y[t], weights[t])
    many.learn_many(X, y, weights)
    assert one.recursion.seen == many.recursion.seen == 150
    assert one.recursion.model.pruned == many.recursion.model.pruned > 10
    np.testing.assert_array_equal(one.recursion.point_matrix, many.recursion.point_matrix)
    for row in (0, 1):
        np.testing.assert_allclose(
            one.recursion.model.weights[row, :limit], many.recursion.model.weights[row, :limit], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": -1.0}, "threshold must be a number >= 0, got -1.0"),
        ({"threshold": "small"}, "threshold must be a number >= 0, got 'small'"),
        ({"threshold": math.nan}, "threshold must be"),
        ({"ridge": 0.0}, "ridge must be a number > 0, got 0.0"),
        ({"noise_ridge": 0.0}, "noise_ridge must be a number > 0, got 0.0"),
        ({"cap": 0.5}, "cap must be a number >= 1, got 0.5"),
        ({"forgetting": 1.5}, "forgetting must be"),
        ({"forgetting": 0.0}, "forgetting must be"),
        ({"forget": "all"}, "forget must be one of"),
        ({"max_size": 0}, "max_size must be"),
        ({"kernel": 3.0}, "kernel must be"),
    ],
)
def test_every_parameter_is_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        HeteroscedasticKRLS(**arguments)
