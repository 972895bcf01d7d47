"""KRLS: the least-squares solution of its stream, one sample at a time or many; the paper's theory; stability."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import JIT, Projection, StreamingQR, Table1, least_squares
from scipy import linalg

from streamkernel import KRLS, datasets
from streamkernel.kernels import RBF, Laplacian, Linear, Matern32, Matern52, Polynomial
from streamkernel.learners.recursion import Recursion

jitted = pytest.mark.skipif(not JIT, reason="too slow without numba")


def dicts(X: Any) -> list[dict[int, float]]:
    return [dict(enumerate(row.tolist())) for row in X]


def learn(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    for i, x in enumerate(dicts(X)):
        model.learn_one(x, float(y[i]), **({} if weights is None else {"w": float(weights[i])}))
    return model


def stream(n: int, d: int, seed: int, noise: float = 0.1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, d))
    return X, np.sin(X.sum(axis=1)) + 0.3 * X[:, 0] + noise * rng.standard_normal(n)


def dense(kernel: Any, X: Any, y: Any, threshold: float, ridge: float, test: Any, weights: Any = None) -> Any:
    """Predictions at `test`, and the dictionary, of the dense solve."""
    projected = Projection(kernel(X), threshold)
    u = least_squares(projected.Z, y, ridge, weights)
    return projected.whiten(kernel(X[projected.indices], test)) @ u, projected


CASES = [
    (RBF(1.0), 1e-3, 0.0),
    (RBF(1.0), 1e-3, 0.1),
    (RBF(0.7), 0.3, 0.0),
    (RBF(2.0), 1e-5, 0.0),
    (RBF(2.0), 1e-8, 1e-6),
    (Matern52(1.5), 1e-3, 0.01),
    (Matern32(1.0) + 0.5, 1e-2, 0.0),
    (Laplacian(2.0), 0.1, 0.0),
    (Linear() + 1, 1e-6, 0.0),
    (Polynomial(3), 1e-4, 1e-3),
    (RBF(1.0) * Linear() + 0.2 * RBF(3.0), 1e-3, 0.0),
]


# Exactness ------------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(("kernel", "threshold", "ridge"), CASES if JIT else CASES[:2], ids=repr)
def test_predictions_are_the_dense_solve(kernel: Any, threshold: float, ridge: float) -> None:
    n = 300 if JIT else 30
    X, y = stream(n, 2, seed=1)
    test = stream(50, 2, seed=2)[0]
    model = learn(KRLS(kernel, threshold, ridge), X, y)
    expected, projected = dense(kernel, X, y, threshold, ridge, test)
    np.testing.assert_array_equal([list(x.values()) for x in model.dictionary], X[projected.indices])
    assert model.size == len(projected.indices) == len(model.coefficients)
    scale = np.abs(expected).max()
    one = np.array([model.predict_one(x) for x in dicts(test)])
    np.testing.assert_allclose(one, expected, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(model.predict_many(test), expected, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(
        kernel(test, X[projected.indices]) @ model.coefficients, expected, rtol=1e-8, atol=1e-8 * scale
    )


@jitted
def test_every_prediction_on_the_way_is_the_dense_solve() -> None:
    kernel, X, y = RBF(1.0), *stream(80, 2, seed=3)
    model = KRLS(kernel, 1e-3)
    for t, x in enumerate(dicts(X)):
        if t:
            expected, _ = dense(kernel, X[:t], y[:t], 1e-3, 0.0, X[t : t + 1])
            assert model.predict_one(x) == pytest.approx(expected[0], rel=1e-8, abs=1e-8)
        model.learn_one(x, y[t])


@jitted
def test_it_is_table_1_where_that_is_accurate() -> None:
    kernel, X, y = RBF(0.7), *stream(200, 2, seed=4)
    model, printed = KRLS(kernel, 0.05), Table1(kernel, 0.05)
    for t, x in enumerate(dicts(X)):
        model.learn_one(x, y[t])
        printed.learn(X[t], y[t])
        assert model.size == len(printed.points)
    np.testing.assert_allclose(model.coefficients, printed.alpha, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict_many(X), printed.predict(X), rtol=1e-8, atol=1e-9)


@jitted
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_weights(ridge: float) -> None:
    kernel, X, y = RBF(1.0), *stream(200, 2, seed=5)
    weights = np.random.default_rng(5).uniform(0.2, 5.0, len(X))
    test = stream(50, 2, seed=6)[0]
    expected, _ = dense(kernel, X, y, 1e-3, ridge, test, weights)
    for model in (learn(KRLS(kernel, 1e-3, ridge), X, y, weights), KRLS(kernel, 1e-3, ridge)):
        if not model.size:
            model.learn_many(X, y, weights)
        np.testing.assert_allclose(model.predict_many(test), expected, rtol=1e-8, atol=1e-8)


@jitted
def test_a_sample_of_weight_two_counts_like_two() -> None:
    X, y = stream(60, 2, seed=7)
    twice, doubled = KRLS(RBF(1.0), 1e-3, 0.1), KRLS(RBF(1.0), 1e-3, 0.1)
    for i, x in enumerate(dicts(X)):
        twice.learn_one(x, y[i])
        twice.learn_one(x, y[i])
        doubled.learn_one(x, y[i], w=2.0)
    np.testing.assert_allclose(doubled.predict_many(X), twice.predict_many(X), rtol=1e-8, atol=1e-8)


@jitted
@pytest.mark.parametrize("ratio", [1e4, 1e10, 1e16, 1e22, 1e30])
def test_a_ridge_far_below_the_kernel(ratio: float) -> None:
    """k(x, x)/α beyond the precision of a double: the posterior variance of what is learned must not turn negative."""
    X, y = stream(300, 2, seed=8)
    small, large = KRLS(RBF(1.0), 1e-2, 1.0 / ratio), KRLS(ratio * RBF(1.0), 1e-2 * ratio, 1.0)
    for model in (small, large):
        learn(model, X, y)
    expected, _ = dense(RBF(1.0), X, y, 1e-2, 1.0 / ratio, X)
    for model in (small, large):
        np.testing.assert_allclose(model.predict_many(X), expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())
        assert math.isfinite(model.predict_one({0: 0.1, 1: 0.2}, with_dist=True).sigma)


@jitted
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
def test_a_polynomial_on_unscaled_inputs(ridge: float) -> None:
    """Similarities of 1e15 and more."""
    X, y = stream(200, 2, seed=8)
    kernel = Polynomial(3)
    model = learn(KRLS(kernel, 1e-3, ridge), 300.0 * X, y)
    got = model.predict_many(300.0 * X)
    assert np.isfinite(got).all()
    features = np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(4) for j in range(4 - i)])
    best = features @ np.linalg.lstsq(features, y, rcond=None)[0]
    assert math.sqrt(np.mean((got - y) ** 2)) < 1.05 * math.sqrt(np.mean((best - y) ** 2))


@jitted
@settings(max_examples=60)
@given(st.data())
def test_any_stream_is_solved(data: Any) -> None:
    """Random dimensions, scales, thresholds, ridges, weights; duplicates and constant features."""
    d, n = data.draw(st.integers(1, 5), "features"), data.draw(st.integers(1, 90), "samples")
    seed = data.draw(st.integers(0, 10**6), "seed")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** data.draw(st.integers(-3, 3), "log scale")
    if data.draw(st.booleans(), "constant feature"):
        X[:, 0] = data.draw(st.sampled_from([0.0, 1.0, -7.5]), "constant")
    if data.draw(st.booleans(), "duplicates"):
        X = X[rng.integers(0, max(1, n // 3), n)]
    scale = float(np.abs(X).max()) or 1.0
    kernel = data.draw(
        st.sampled_from([RBF(scale), RBF(0.3 * scale), Laplacian(scale), Matern32(scale), Linear() + scale**2]),
        "kernel",
    )
    size = float(kernel.diagonal(X).max())
    threshold = size * data.draw(st.sampled_from([1e-8, 1e-4, 1e-2, 0.5]), "threshold")
    ridge = size * data.draw(st.sampled_from([0.0, 1e-6, 1e-2, 10.0]), "ridge")
    y = rng.standard_normal(n) * 10.0 ** data.draw(st.integers(-4, 4), "log target")
    weights = rng.uniform(0.1, 3.0, n) if data.draw(st.booleans(), "weights") else None
    one = learn(KRLS(kernel, threshold, ridge), X, y, weights)
    many = KRLS(kernel, threshold, ridge)
    many.learn_many(X, y, weights)
    projected = Projection(kernel(X), threshold)
    u = least_squares(projected.Z, y, ridge, weights)
    expected = projected.whiten(kernel(X[projected.indices], X)) @ u
    assert one.size == many.size == len(projected.indices)
    # |f(x)| <= ‖u‖ √k(x, x): where points are nearly dependent, that norm is the scale of what cancels
    norm = float(np.linalg.norm(u)) * math.sqrt(size)
    tolerance = 1e-8 * max(np.abs(expected).max(), np.abs(y).max()) + 1e-10 * norm
    for model in (one, many):
        np.testing.assert_allclose(model.predict_many(X), expected, rtol=0.0, atol=tolerance)
        got = np.array([model.predict_one(x) for x in dicts(X[:10])])
        np.testing.assert_allclose(got, expected[:10], rtol=0.0, atol=tolerance)


# One after the other, or many -----------------------------------------------------------------------------------------


def late_novelty(n: int, d: int, seed: int) -> tuple[Any, Any]:
    """A stream that widens from time to time, so that samples join in the middle of blocks."""
    rng = np.random.default_rng(seed)
    spread = 0.4 + 0.3 * (np.arange(n) // 150)
    spread[rng.random(n) < 0.01] *= 3.0
    X = rng.uniform(-1.0, 1.0, (n, d)) * spread[:, None]
    return X, np.cos(X.sum(axis=1)) + 0.05 * rng.standard_normal(n)


def assert_same(one: Any, many: Any, test: Any) -> None:
    a, b = one.recursion, many.recursion
    assert a.size == b.size
    assert a.points == b.points
    expected = one.predict_many(test)
    np.testing.assert_allclose(many.predict_many(test), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    for x in dicts(test[:10]):
        left, right = one.predict_one(x, with_dist=True), many.predict_one(x, with_dist=True)
        assert right.mu == pytest.approx(left.mu, rel=1e-10, abs=1e-10)
        assert right.sigma == pytest.approx(left.sigma, rel=1e-8)
    assert a.seen == b.seen
    assert a.model.refused == b.model.refused
    assert b.noise_variance == pytest.approx(a.noise_variance, rel=1e-8)


PARAMETERS: list[dict[str, Any]] = [
    {},
    {"ridge": 0.1},
    {"ridge": 0.1, "forgetting": 0.98},
    {"ridge": 0.1, "forgetting": 0.98, "forget": "walk"},
    {"forgetting": 0.995, "threshold": 0.05},
    {"ridge": 0.1, "max_size": 12},
    {"ridge": 0.1, "max_size": 12, "forgetting": 0.99},
]


@jitted
@pytest.mark.parametrize("parameters", PARAMETERS, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 16, 17, 31, 33, 500, 777])
def test_learn_many_is_the_loop(parameters: dict[str, Any], n: int) -> None:
    X, y = late_novelty(n, 2, seed=n)
    parameters = {"threshold": 1e-3, **parameters}
    one, many = KRLS(RBF(1.0), **parameters), KRLS(RBF(1.0), **parameters)
    learn(one, X, y)
    many.learn_many(X, y)
    assert_same(one, many, X[::13])


@jitted
@pytest.mark.parametrize("kernel", [kernel for kernel, _, _ in CASES], ids=repr)
def test_learn_many_is_the_loop_for_every_kernel(kernel: Any) -> None:
    X, y = late_novelty(400, 3, seed=3)
    one, many = KRLS(kernel, 1e-3, 0.01), KRLS(kernel, 1e-3, 0.01)
    learn(one, X, y)
    many.learn_many(X, y)
    assert_same(one, many, X[::13])


@jitted
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_learn_many_in_pieces_and_with_weights(ridge: float) -> None:
    X, y = late_novelty(700, 2, seed=8)
    weights = np.random.default_rng(8).uniform(0.1, 4.0, len(X))
    one, many, pieces = (KRLS(RBF(1.0), 1e-4, ridge) for _ in range(3))
    learn(one, X, y, weights)
    many.learn_many(X, y, weights)
    cuts = [0, 1, 3, 40, 41, 100, 132, 400, 437, 700]
    for a, b in itertools.pairwise(cuts):
        if b - a == 1:
            learn(pieces, X[a:b], y[a:b], weights[a:b])
        else:
            pieces.learn_many(X[a:b], y[a:b], weights[a:b])
    assert_same(one, many, X[::13])
    assert_same(one, pieces, X[::13])


@jitted
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    d=st.integers(1, 4),
    threshold=st.sampled_from([1e-6, 1e-3, 0.1]),
    ridge=st.sampled_from([0.0, 0.01]),
    max_size=st.sampled_from([None, 1, 2, 9, 20]),
    duplicates=st.booleans(),
)
def test_learn_many_is_the_loop_on_any_stream(
    seed: int, n: int, d: int, threshold: float, ridge: float, max_size: int | None, duplicates: bool
) -> None:
    X, y = late_novelty(n, d, seed)
    if duplicates:
        X = X[np.random.default_rng(seed).integers(0, max(1, n // 2), n)]
    one, many = (KRLS(RBF(1.0), threshold, ridge, max_size=max_size) for _ in range(2))
    learn(one, X, y)
    many.learn_many(X, y)
    assert one.size == many.size <= (max_size or math.inf)
    expected = one.predict_many(X)
    scale = max(np.abs(expected).max(), np.abs(y).max())
    np.testing.assert_allclose(many.predict_many(X), expected, rtol=0.0, atol=1e-8 * scale)


@jitted
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_several_targets_share_a_dictionary(ridge: float) -> None:
    X, y = late_novelty(500, 2, seed=9)
    Y = np.column_stack([y, X[:, 0] ** 2, np.full(len(X), 3.0)])
    kernel, test = RBF(1.0), stream(30, 2, seed=2)[0]
    one, many = (Recursion(kernel, 1e-3, ridge, outputs=3) for _ in range(2))
    errors = []
    for x, targets in zip(dicts(X), Y.tolist(), strict=True):
        one.learn(x, targets)
        errors.append(one.errors.copy())
    result = many.learn_many((0, 1), X, Y)
    np.testing.assert_allclose(result[0], errors, rtol=1e-8, atol=1e-9)
    projected = Projection(kernel(X), 1e-3)
    np.testing.assert_array_equal(result[-1], projected.sizes)
    u = least_squares(projected.Z, Y, ridge)
    expected = projected.whiten(kernel(X[projected.indices], test)) @ u
    for model in (one, many):
        np.testing.assert_allclose(model.predict_many((0, 1), test), expected, rtol=1e-8, atol=1e-8)
        model.predict(dicts(test)[0])
        np.testing.assert_allclose(model.means, expected[0], rtol=1e-8, atol=1e-8)


@jitted
def test_the_order_of_features_does_not_matter() -> None:
    X, y = stream(60, 3, seed=10)
    forward, backward = KRLS(RBF((0.5, 1.0, 2.0)), 1e-3), KRLS(RBF((0.5, 1.0, 2.0)), 1e-3)
    for row, target in zip(X.tolist(), y, strict=True):
        forward.learn_one({"a": row[0], "b": row[1], "c": row[2]}, target)
        backward.learn_one({"c": row[2], "a": row[0], "b": row[1]}, target)
    assert forward.to_bytes() == backward.to_bytes()


# The predictive distribution ------------------------------------------------------------------------------------------


@jitted
@pytest.mark.parametrize("ridge", [0.05, 0.5])
def test_variance_is_that_of_the_gaussian_process(ridge: float) -> None:
    """With threshold 0 and a ridge nothing is projected away: σ²(1 + k(x,x)/α − k'(K + αI)⁻¹k/α)."""
    kernel, X, y = Matern32(1.0), *stream(60, 2, seed=11)
    model = KRLS(kernel, 0.0, ridge)
    model.learn_many(X, y)
    assert model.size == len(X)
    test = stream(20, 2, seed=12)[0]
    K = kernel(X) + ridge * np.eye(len(X))
    k = kernel(X, test)
    variance = kernel.diagonal(test) - np.einsum("ij,ij->j", k, np.linalg.solve(K, k))
    sigma2 = model._model.noise_variance
    for i, x in enumerate(dicts(test)):
        predicted = model.predict_one(x, with_dist=True)
        assert predicted.mu == pytest.approx(model.predict_one(x), rel=1e-12)
        assert predicted.sigma**2 == pytest.approx(sigma2 * (1.0 + variance[i] / ridge), rel=1e-8)


@jitted
def test_intervals_cover_what_they_say() -> None:
    X, y = stream(3000, 2, seed=13, noise=0.2)
    model = KRLS(RBF(1.0), 1e-2, 0.04)
    model.learn_many(X[:2000], y[:2000])
    inside = 0
    for x, target in zip(dicts(X[2000:]), y[2000:], strict=True):
        predicted = model.predict_one(x, with_dist=True)
        inside += abs(target - predicted.mu) < 1.6448536269514722 * predicted.sigma
    assert 0.86 < inside / 1000 < 0.94
    assert model._model.noise_variance == pytest.approx(0.04, rel=0.15)


@jitted
def test_before_anything_is_learned() -> None:
    model = KRLS(RBF(1.0))
    assert model.predict_one({"a": 1.0}) == 0.0
    assert model.predict_one({}) == 0.0
    prior = model.predict_one({"a": 1.0}, with_dist=True)
    assert (prior.mu, prior.sigma) == (0.0, 1.0)
    np.testing.assert_array_equal(model.predict_many(np.ones((3, 2))), np.zeros(3))
    assert (model.size, model.dictionary, model.refused, len(model.coefficients)) == (0, [], 0, 0)


@jitted
def test_far_from_the_data_the_variance_grows() -> None:
    X, y = stream(200, 1, seed=14)
    for ridge in (0.0, 0.05):
        model = KRLS(RBF(0.5), 1e-3, ridge)
        model.learn_many(X, y)
        near, far = (model.predict_one({0: at}, with_dist=True).sigma for at in (0.0, 30.0))
        assert far > 1.5 * near > 0.0


# The paper's theory ---------------------------------------------------------------------------------------------------


@jitted
@pytest.mark.parametrize("threshold", [1e-5, 1e-3, 1e-1, 0.5])
@pytest.mark.parametrize("kernel", [RBF(0.8), Laplacian(1.0), Matern52(1.0), Polynomial(2)], ids=repr)
def test_sparsification_theory(kernel: Any, threshold: float) -> None:
    X, y = stream(150, 2, seed=15)
    model = learn(KRLS(kernel, threshold), X, y)
    D = np.array([list(x.values()) for x in model.dictionary])
    K, KD, C = kernel(X), kernel(D), kernel(D, X)
    t = len(X)
    # Theorem 2.1: dictionary points are √ν-separated in feature space
    squared = np.diag(KD)[:, None] + np.diag(KD)[None] - 2.0 * KD
    assert squared[~np.eye(len(D), dtype=bool)].min(initial=math.inf) > threshold
    # off line: R = K − A K̃ A', positive semi-definite, its diagonal the residuals
    R = K - C.T @ linalg.cho_solve(linalg.cho_factor(KD), C)
    rounding = 1e-9 * np.trace(KD)
    assert np.diag(R).max() <= threshold + rounding
    assert np.diag(R).mean() <= (t - model.size) / t * threshold + rounding
    # Proposition 2.3
    assert np.linalg.norm(R, 2) <= t * threshold + rounding
    # Theorem 2.4: ‖P_D ψ_i‖² = u_i'(K − R)u_i / (tλ_i) ≥ 1 − ν/λ_i
    eigenvalues, vectors = np.linalg.eigh(K)
    for value, u in zip(eigenvalues / t, vectors.T, strict=True):
        if value > 1e-7 * eigenvalues.max() / t:
            assert u @ (K - R) @ u / (t * value) >= 1.0 - threshold / value - rounding / value


@jitted
def test_a_larger_threshold_keeps_fewer_points() -> None:
    X, y = stream(300, 2, seed=16)
    sizes = []
    for threshold in (1e-6, 1e-4, 1e-2, 0.3, 1.0):
        model = KRLS(RBF(1.0), threshold)
        model.learn_many(X, y)
        sizes.append(model.size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0  # no residual exceeds k(x, x) = 1


# Stability ------------------------------------------------------------------------------------------------------------


@jitted
@pytest.mark.parametrize("threshold", [1e-4, 1e-6])
@pytest.mark.parametrize("seed", range(20))
def test_mackey_glass_with_consecutive_lags(seed: int, threshold: float) -> None:
    """The textbook recursion reaches errors of 20 here."""
    X, y = datasets.MackeyGlass(tau=17, lags=20, stride=1, seed=seed).arrays(1200)
    model = KRLS(RBF(0.5), threshold)
    model.learn_many(X[:1000], y[:1000])
    error = y[1000:] - model.predict_many(X[1000:])
    assert math.sqrt(np.mean(error**2)) < 0.002


@jitted
def test_a_million_noisy_steps_end_at_the_batch_solution() -> None:
    n, chunk = 1_000_000, 20_000
    X, y = datasets.MackeyGlass(tau=17, noise=0.05, lags=3, stride=6, seed=1).arrays(n)
    kernel = RBF(1.0)
    model = Recursion(kernel, 1e-6, 0.0)
    sizes = np.concatenate(
        [model.learn_many((0, 1, 2), X[a : a + chunk], y[a : a + chunk, None])[-1] for a in range(0, n, chunk)]
    )
    D = np.array([list(x.values()) for x in model.points])
    L = np.linalg.cholesky(kernel(D))
    batch = StreamingQR(len(D))
    for a in range(0, n, chunk):
        Z = linalg.solve_triangular(L, kernel(D, X[a : a + chunk]), lower=True).T
        Z *= np.arange(len(D)) < sizes[a : a + chunk, None]  # a sample knows the dictionary of its time
        batch.add(Z, y[a : a + chunk])
    test = X[-500:]
    expected = linalg.solve_triangular(L, kernel(D, test), lower=True).T @ batch.solve()
    assert model.seen == n
    np.testing.assert_allclose(model.predict_many((0, 1, 2), test)[:, 0], expected, rtol=0.0, atol=1e-6)
    one = [model.predict(x) for x in dicts(test[:50])]
    np.testing.assert_allclose(one, expected[:50], rtol=0.0, atol=1e-6)
