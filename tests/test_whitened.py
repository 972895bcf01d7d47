"""The recursion on plain arrays: any positive definite matrix stands for a kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference import JIT, Filter, Projection, importances, least_squares, marginalize, packed, unpacked

from streamkernel import kernels
from streamkernel.core import pruning, symmetric
from streamkernel.core import whitened as core
from streamkernel.core.model import NO_LIMIT, Model
from streamkernel.learners import storage
from streamkernel.learners.forms import Dictionary

pytestmark = pytest.mark.core

SIZES = [1, 2, 7, 8, 9, 16, 17, 33, 60] if JIT else [1, 8, 9]
STEPS = 120 if JIT else 24


class State:
    """A model without a kernel, fed with columns of a given matrix of similarities."""

    def __init__(
        self, capacity: int, threshold: float = 0.0, ridge: float = 0.0, forgetting: float = 1.0, walk: bool = False
    ) -> None:
        compiled = kernels.Constant(1.0).compile(())
        self.model = storage.allocate(Dictionary(), compiled, 0, capacity, 2, Model.new_numbers())
        self.model.threshold, self.model.ridge, self.model.forgetting = threshold, ridge, forgetting
        self.model.forget, self.model.max_size, self.model.pending_scale = int(walk), NO_LIMIT, 1.0
        self.factor, self.covariance, self.weights = self.model.factor, self.model.covariance, self.model.weights
        self.indices: list[int] = []

    @property
    def size(self) -> int:
        return self.model.size

    def project(self, K: Any, t: int) -> float:
        self.model.column[: self.size + 1] = [*K[self.indices, t], K[t, t]]
        return float(core.project(self.model))

    def means(self) -> Any:
        return self.weights[:, : self.size] @ self.model.projection[: self.size]

    def learn(self, K: Any, t: int, y: Any, noise: float = 1.0) -> bool:
        residual = self.project(K, t)
        self.model.errors[:] = np.asarray(y) - self.means()
        before = self.size
        core.learn(self.model, residual, noise)
        if self.size > before:
            self.indices.append(t)
        return self.size > before

    def settle(self) -> Any:
        core.settle(self.model)
        return unpacked(self.covariance, self.size, symmetric=True)


def problem(seed: int, steps: int = STEPS, rank: int = 10, rest: float = 1e-4) -> tuple[Any, Any, Any]:
    """Similarities of a stream that lies in `rank` dimensions, up to the rest; two targets; noise variances."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((steps, rank)) / math.sqrt(rank)
    K = A @ A.T + rest * np.eye(steps)
    return K, rng.standard_normal((steps, 2)), rng.uniform(0.3, 3.0, steps)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("scale", "diagonal"), [(1.0, 0.0), (0.9, 0.3), (1.25, 0.0), (1.0, 0.4)])
def test_sweep(size: int, scale: float, diagonal: float) -> None:
    rng = np.random.default_rng(size)
    capacity = 8 * (size // 8 + 1)
    P = rng.standard_normal((size, size))
    P = P @ P.T + np.eye(size)
    pending, direction = np.zeros((2, capacity))
    pending[:size], direction[:size] = rng.standard_normal((2, size)) * 0.3
    matrix, out = packed(P, capacity, symmetric=True), np.full(capacity, 5.0)
    symmetric.sweep(matrix, size, pending, scale, diagonal, direction, out)
    expected = scale * (P - np.outer(pending[:size], pending[:size])) + diagonal * np.eye(size)
    got = unpacked(matrix, size, symmetric=True)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(out[:size], expected @ direction[:size], rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(matrix, packed(got, capacity, symmetric=True))  # mirrored exactly, padding zero


@pytest.mark.parametrize("size", SIZES)
def test_quadratic(size: int) -> None:
    rng = np.random.default_rng(size)
    P = rng.standard_normal((size, size))
    P = P @ P.T
    direction = np.zeros(8 * (size // 8 + 1))
    direction[:size] = rng.standard_normal(size)
    value = symmetric.quadratic(packed(P, len(direction), symmetric=True), size, direction)
    assert value == pytest.approx(direction[:size] @ P @ direction[:size], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_projection_and_residual(seed: int) -> None:
    K, Y, _ = problem(seed)
    state, expected = State(STEPS + 8, threshold=1e-3), Projection(K, 1e-3)
    for t in range(STEPS):
        residual = state.project(K, t)
        assert residual == pytest.approx(expected.residuals[t], rel=1e-8, abs=1e-12)
        size = state.size
        np.testing.assert_allclose(state.model.projection[:size], expected.Z[t, :size], rtol=1e-9, atol=1e-11)
        state.learn(K, t, Y[t])
        assert state.size == expected.sizes[t]
    assert state.indices == expected.indices
    np.testing.assert_allclose(unpacked(state.factor, state.size, symmetric=False), expected.L, rtol=1e-9, atol=1e-11)
    assert state.model.trace == pytest.approx(np.trace(K[np.ix_(state.indices, state.indices)]), rel=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_weights_and_covariance_solve_the_least_squares_problem(seed: int, ridge: float) -> None:
    K, Y, noise = problem(seed)
    state, projected = State(STEPS + 8, threshold=1e-3, ridge=ridge), Projection(K, 1e-3)
    for t in range(STEPS):
        state.learn(K, t, Y[t], noise[t])
        m = state.size
        if t % 7 == 0:
            expected = least_squares(projected.Z[: t + 1, :m], Y[: t + 1], ridge, 1.0 / noise[: t + 1])
            np.testing.assert_allclose(state.weights[:, :m], expected.T, rtol=1e-8, atol=1e-8)
    P = state.settle()
    Z = projected.Z / np.sqrt(noise)[:, None]
    expected = np.linalg.inv(Z.T @ Z + ridge * np.eye(state.size))
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(
        state.covariance, packed(P, state.weights.shape[1], symmetric=True)
    )  # symmetric exactly


@pytest.mark.parametrize(("ridge", "walk"), [(0.0, False), (0.0, True), (0.3, False), (0.3, True), (3.0, True)])
@pytest.mark.parametrize("forgetting", [0.9, 0.99])
def test_forgetting_is_the_dense_filter(ridge: float, walk: bool, forgetting: float) -> None:
    # Without a ridge the window of 1/(1 − λ) samples must excite every direction, or the problem itself is ill posed.
    K, Y, noise = problem(5) if ridge > 0.0 else problem(5, rank=5, rest=1e-8)
    state, projected = State(STEPS + 8, 1e-3, ridge, forgetting, walk), Projection(K, 1e-3)
    filters = [Filter(ridge, forgetting, walk) for _ in range(2)]
    for t in range(STEPS):
        state.learn(K, t, Y[t], noise[t])
        m = state.size
        for output, dense in enumerate(filters):
            dense.step(projected.Z[t, :m], Y[t, output], noise[t])
            scale = np.abs(dense.mean).max(initial=0.0)
            np.testing.assert_allclose(state.weights[output, :m], dense.mean, rtol=1e-8, atol=1e-8 * scale)
        state.project(K, (7 * t) % STEPS)
        z = state.model.projection[:m]
        explained = core.unlearned_variance(state.model)
        assert explained == pytest.approx(z @ filters[0].P @ z, rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(state.settle(), filters[0].P, rtol=1e-8, atol=1e-10 * np.abs(filters[0].P).max())
    assert state.model.is_pending == 0.0


def test_settling_changes_nothing_that_is_seen() -> None:
    K, Y, _ = problem(6)
    one, two = (State(STEPS + 8, 1e-3, 0.1, 0.97) for _ in range(2))
    for t in range(STEPS):
        one.learn(K, t, Y[t])
        two.learn(K, t, Y[t])
        if t % 3 == 0:
            two.settle()
            two.settle()
    np.testing.assert_allclose(one.weights, two.weights, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.settle(), two.settle(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_remove_marginalizes_and_keeps_the_padding_clean(seed: int, ridge: float) -> None:
    K, Y, noise = problem(seed, rank=14)
    state = State(STEPS + 8, 1e-3, ridge)
    for t in range(STEPS):
        state.learn(K, t, Y[t], noise[t])
    rng = np.random.default_rng(seed)
    for _ in range(5):
        m = state.size
        P, w = state.settle(), state.weights[:, :m].copy()
        L = unpacked(state.factor, m, symmetric=False)
        index = int(rng.integers(m))
        keep = [i for i in range(m) if i != index]
        pruning.remove(state.model, index)
        state.indices.pop(index)
        factor, first, expected = marginalize(L, w[0], P, keep)
        got = unpacked(state.covariance, m - 1, symmetric=True)
        np.testing.assert_allclose(unpacked(state.factor, m - 1, symmetric=False), factor, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(state.weights[0, : m - 1], first, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
        np.testing.assert_array_equal(state.covariance, packed(got, state.weights.shape[1], symmetric=True))
        for row in (*state.weights, state.model.reciprocals, state.model.pending):
            np.testing.assert_array_equal(row[m - 1 : 8 * ((m + 7) // 8)], 0.0)
        assert state.model.trace == pytest.approx(np.trace(factor @ factor.T), rel=1e-10)
        # and the stream goes on
        t = int(rng.integers(STEPS))
        state.learn(K, t, Y[t])
        state.settle()


def test_least_important_is_the_brute_force_choice_through_many_removals() -> None:
    K, Y, _ = problem(9, rank=20)
    state = State(STEPS + 8, 1e-3, 0.1)
    state.model = storage.with_blocks(state.model)
    limit = 12 if JIT else 6
    pruned = 0
    for t in range(STEPS):
        if state.learn(K, t, Y[t]) and state.size > limit:
            state.settle()
            m = state.size
            L = unpacked(state.factor, m, symmetric=False)
            P = unpacked(state.covariance, m, symmetric=True)
            scores = importances(L, P, state.weights[:, :m])
            index = int(pruning.prune(state.model))
            assert scores[index] <= scores.min() * (1.0 + 1e-9)
            state.indices.pop(index)
            pruned += 1
    assert pruned > limit


def test_the_condition_guard_refuses_and_counts() -> None:
    """A point that is dependent up to rounding is learned without being admitted, whatever the threshold."""
    A = np.random.default_rng(0).standard_normal((12, 3))
    K = A @ A.T  # rank 3
    state = State(16, threshold=0.0)
    for t in range(12):
        state.learn(K, t, [1.0, 2.0])
    assert state.size == 3
    assert np.isfinite(state.weights).all()
    nearly = np.diag([1.0, 1.0])
    nearly[0, 1] = nearly[1, 0] = 1.0 - 5e-15
    state = State(16, threshold=0.0)
    state.learn(nearly, 0, [1.0, 1.0])
    assert not state.learn(nearly, 1, [1.0, 1.0])
    assert state.model.refused == 1.0


def test_inflation_pauses_where_nothing_is_learned() -> None:
    """Without a ridge, P/λ would overflow in directions that no sample excites."""
    K = np.eye(2)
    state = State(8, 0.0, 0.0, forgetting=0.5)
    state.learn(K, 0, [1.0, 1.0])
    state.learn(K, 1, [1.0, 1.0])
    for _ in range(300 if JIT else 100):
        state.learn(K, 0, [2.0, 2.0])
    P = state.settle()
    assert np.isfinite(P).all()
    assert 1e11 < P[1, 1] <= 4.0 * core.VARIANCE_LIMIT
    np.testing.assert_allclose(state.weights[0, :2], [2.0, 1.0], rtol=1e-6)
