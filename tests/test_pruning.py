"""A bounded dictionary: what a removal keeps, which point goes, and how much memory there is."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest
from reference import coefficient_variances, importances, unpacked

from streamkernel import KRLS, kernels
from streamkernel.core import whitened
from streamkernel.core.model import NO_LIMIT
from streamkernel.core.variances import UNKNOWN, flush
from streamkernel.kernels import RBF, Matern32
from streamkernel.learners.recursion import Recursion


def stream(n: int, d: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, d))
    return X, np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(n)


def posterior(model: Recursion, kernel: kernels.Kernel) -> tuple[Any, Any]:
    """Mean and covariance of the function at the dictionary, f_D = Lu."""
    whitened.settle(model.model)
    L = unpacked(model.model.factor, model.size, symmetric=False)
    P = unpacked(model.model.covariance, model.size, symmetric=True)
    return L @ model.model.weights[0, : model.size], L @ P @ L.T


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("kernel", [RBF(1.0), Matern32(1.0)], ids=repr)
def test_a_removal_keeps_the_posterior_at_all_other_points(kernel: Any, ridge: float) -> None:
    X, y = stream(300, 2, seed=1)
    model = Recursion(kernel, 1e-2, ridge)
    model.learn_many((0, 1), X, y[:, None])
    rng = np.random.default_rng(1)
    while model.size > 3:
        index = int(rng.integers(model.size))
        points = model.points
        mean, covariance = posterior(model, kernel)
        model.remove(index)
        keep = [i for i in range(len(points)) if i != index]
        assert model.points == [points[i] for i in keep]
        new_mean, new_covariance = posterior(model, kernel)
        np.testing.assert_allclose(new_mean, mean[keep], rtol=1e-8, atol=1e-8)
        expected = covariance[np.ix_(keep, keep)]
        np.testing.assert_allclose(new_covariance, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        # and so are the predictions at those points
        for i, x in zip(keep, model.points, strict=True):
            assert model.predict(x) == pytest.approx(mean[i], rel=1e-7, abs=1e-7)


def importances_of(model: Recursion) -> Any:
    whitened.settle(model.model)
    size = model.size
    factor = unpacked(model.model.factor, size, symmetric=False)
    return importances(factor, unpacked(model.model.covariance, size, symmetric=True), model.model.weights[:, :size])


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize(("limit", "width"), [(10, 1.0), (75, 0.3)])
def test_the_least_important_point_leaves(limit: int, width: float, ridge: float, forgetting: float) -> None:
    """Against an unbounded twin that is restored from the bounded model before each step."""
    X, y = stream(250, 2, seed=2)
    bounded = KRLS(RBF(width), 0.05, ridge, forgetting, max_size=limit)
    pruned = 0
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        sample = dict(enumerate(x))
        free = KRLS(RBF(width), 0.05, ridge, forgetting)
        free._set_state(bounded._get_state())
        free._model.model.max_size = NO_LIMIT
        free.learn_one(sample, target)
        bounded.learn_one(sample, target)
        assert bounded.size <= limit
        if free.size > limit:
            scores = importances_of(free._model)
            gone = [i for i, point in enumerate(free.dictionary) if point not in bounded.dictionary]
            assert len(gone) == 1
            assert scores[gone[0]] <= scores.min() * (1.0 + 1e-6)
            pruned += 1
    assert pruned > 20


def test_the_choice_stays_right_after_removals_by_hand() -> None:
    """`remove` may be called at any time; a later pruning must not trust what it left behind."""
    X, y = stream(300, 2, seed=3)
    kernel = RBF(1.0)
    for removals in (1, 3):
        model = Recursion(kernel, 0.05, 0.1, max_size=10)
        at = 0
        while model.size < 10:
            model.learn(dict(enumerate(X[at].tolist())), (y[at],))
            at += 1
        for _ in range(removals):
            model.remove(2)
        checked = 0
        for x, target in zip(X[at:].tolist(), y[at:].tolist(), strict=True):
            free = Recursion(kernel, 0.05, 0.1)
            free.__setstate__(model.__getstate__())
            free.model.max_size = NO_LIMIT
            for each in (free, model):
                each.learn(dict(enumerate(x)), (target,))
            if free.size > 10:
                scores = importances_of(free)
                (gone,) = (i for i, point in enumerate(free.points) if point not in model.points)
                assert scores[gone] <= scores.min() * (1.0 + 1e-6)
                checked += 1
        assert checked > 5


@pytest.mark.core
@pytest.mark.parametrize("forgotten", [(), (0,), (0, 3), range(9)])
def test_a_choice_knows_all_variances_and_counts_none_as_unknown(forgotten: Any) -> None:
    """Whatever had lost its digits: it is computed anew, once, also the point whose turn it is."""
    X, y = stream(60, 2, seed=3)
    model = Recursion(RBF(0.5), 0.05, 0.1, max_size=8)
    checked = 0
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        core = model.model
        if core.tracked == 8:
            flush(core)
            lost = [i for i in forgotten if i < 8 and core.coefficient_variances[i] < UNKNOWN]
            core.coefficient_variances[lost] = UNKNOWN
            core.unknown += len(lost)
        model.learn(dict(enumerate(x)), (target,))
        core = model.model
        if core.pruned > checked:
            flush(core)
            size, checked = core.size, core.pruned
            factor, covariance = (
                unpacked(matrix, size, is_symmetric)
                for matrix, is_symmetric in ((core.factor, False), (core.covariance, True))
            )
            covariance = core.pending_scale * (covariance - np.outer(core.pending[:size], core.pending[:size]))
            variances, inverses = coefficient_variances(factor, covariance)
            assert core.unknown == np.count_nonzero(~(core.coefficient_variances[:size] < UNKNOWN))
            known = core.coefficient_variances[:size] < UNKNOWN
            np.testing.assert_allclose(core.coefficient_variances[:size][known], variances[known], rtol=1e-9)
            np.testing.assert_allclose(core.inverse_diagonal[:size][known], inverses[known], rtol=1e-9)
    assert checked > 8


@pytest.mark.parametrize("max_size", [1, 2, 8, 16, 17])
@pytest.mark.parametrize("many", [False, True])
def test_never_more_points_than_allowed(max_size: int, many: bool) -> None:
    X, y = stream(400, 3, seed=4)
    model = Recursion(RBF(0.5), 1e-3, 0.1, max_size=max_size)
    if many:
        sizes = model.learn_many((0, 1, 2), X, y[:, None])[-1]
        assert sizes.max() == max_size
    else:
        for x, target in zip(X.tolist(), y.tolist(), strict=True):
            model.learn(dict(enumerate(x)), (target,))
            assert model.size <= max_size
    assert model.size == max_size
    assert model.seen == 400


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_a_pruned_stream_stays_accurate(ridge: float) -> None:
    X, y = stream(6000, 2, seed=5)
    unlimited, model = KRLS(RBF(1.0), 1e-3, ridge), KRLS(RBF(1.0), 1e-3, ridge, max_size=35)
    for each in (unlimited, model):
        each.learn_many(X[:5000], y[:5000])
    truth = np.sin(X[5000:].sum(axis=1))
    error, best = (np.sqrt(np.mean((m.predict_many(X[5000:]) - truth) ** 2)) for m in (model, unlimited))
    assert unlimited.size > 40 > model.size == 35
    assert best < 0.02
    assert error < 0.1


def test_a_full_dictionary_moves_to_where_the_data_are() -> None:
    rng = np.random.default_rng(6)
    model = KRLS(RBF(0.5), 1e-3, 0.05, max_size=20)
    for center in (0.0, 5.0, 10.0):
        X = center + rng.uniform(-1.0, 1.0, (1000, 1))
        model.learn_many(X, 2.0 + np.sin(3.0 * X[:, 0]))
        error = model.predict_many(X[-200:]) - 2.0 - np.sin(3.0 * X[-200:, 0])
        assert np.sqrt(np.mean(error**2)) < 0.15


def test_pruning_thousands_of_times_does_not_lose_the_factor() -> None:
    """Thousands of additions and removals: the factor is still that of the dictionary's kernel matrix."""
    X, y = stream(20_000, 3, seed=7)
    kernel = RBF(0.8)
    model = Recursion(kernel, 1e-2, 0.1, max_size=30)
    model.learn_many((0, 1, 2), X, y[:, None])
    assert model.model.pruned > 3000
    D = np.array([list(p.values()) for p in model.points])
    L = unpacked(model.model.factor, model.size, symmetric=False)
    np.testing.assert_allclose(L @ L.T, kernel(D), rtol=1e-9, atol=1e-9)
    assert model.model.trace == pytest.approx(model.size, rel=1e-9)
    eigenvalues = np.linalg.eigvalsh(posterior(model, kernel)[1])
    assert eigenvalues.min() > 0.0
    assert np.linalg.eigvalsh(unpacked(model.model.covariance, model.size, symmetric=True)).max() <= 1.0 / 0.1 * (
        1.0 + 1e-9
    )


# The guard of the condition number ------------------------------------------------------------------------------------


def test_dependent_points_are_refused_and_counted() -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1.0, 1.0, (500, 1))
    model = KRLS(RBF(3.0), threshold=0.0)  # a smooth kernel: a dozen points say everything in double precision
    one = KRLS(RBF(3.0), threshold=0.0)
    model.learn_many(X, X[:, 0] ** 2)
    for x in X[:, 0].tolist():
        one.learn_one({0: x}, x**2)
    for each in (model, one):
        assert each.size < 20
        assert each.refused > 0
        D = np.array([list(p.values()) for p in each.dictionary])
        L = unpacked(each._model.model.factor, each.size, symmetric=False)
        np.testing.assert_allclose(L @ L.T, RBF(3.0)(D), atol=1e-12)
        np.testing.assert_allclose(each.predict_many(X), X[:, 0] ** 2, atol=1e-4)
    assert KRLS(RBF(1.0), threshold=0.1).refused == 0


@pytest.mark.parametrize("length_scale", [0.5, 1.0, 3.0, 10.0])
def test_the_pivots_stay_above_what_the_documentation_says(length_scale: float) -> None:
    X = np.random.default_rng(8).uniform(-1.0, 1.0, (500, 1))
    model = KRLS(RBF(length_scale), threshold=0.0)
    model.learn_many(X, X[:, 0] ** 2)
    pivots = np.diagonal(unpacked(model._model.model.factor, model.size, symmetric=False)) ** 2
    assert (pivots > np.arange(1, model.size + 1) / 1e14).all()
    assert model.size < 40


def test_exact_duplicates_never_join_twice() -> None:
    model = KRLS(Matern32(1.0), threshold=0.0)
    for i in range(200):
        model.learn_one({"a": float(i % 7), "b": 0.5}, float(i % 7))
    assert model.size == 7
    for i in range(7):
        assert model.predict_one({"a": float(i), "b": 0.5}) == pytest.approx(i, abs=1e-9)


# Memory ---------------------------------------------------------------------------------------------------------------


def array_bytes(model: Recursion) -> int:
    return sum(value.nbytes for value in vars(model.model).values() if isinstance(value, np.ndarray))


def test_memory_is_bounded_and_constant() -> None:
    rng = np.random.default_rng(9)
    model = Recursion(RBF(0.12), 0.1, 0.1, max_size=200)
    names, chunk = (0, 1), 2000

    def learn() -> Any:
        X = rng.uniform(-1.0, 1.0, (chunk, 2)) * rng.uniform(0.9, 1.1)
        return model.learn_many(names, X, np.sin(X.sum(axis=1))[:, None])[-1]

    while model.size < 200:
        learn()
    learn()
    gc.collect()
    held = array_bytes(model)
    assert held < 2_000_000
    tracemalloc.start()
    learn()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100_000 // chunk - 1):
        assert learn().max() == 200
        assert array_bytes(model) == held
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert model.seen > 100_000
