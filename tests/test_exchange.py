"""Samples that rounding errors would keep out: they take places of points, and a smaller threshold is never worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
from reference import JIT

from bench import thresholds as bench
from streamkernel import KRLS, HeteroscedasticKRLS, datasets
from streamkernel.core import whitened
from streamkernel.kernels import RBF, Kernel, Polynomial
from streamkernel.learners.bank import Bank

# A threshold that admits neighbors in time until K is singular up to rounding errors.
THRESHOLD = 1e-11
SETTINGS = [(10.0, 1.0), (3.0, 0.98), (30.0, 0.97)]  # ridge, forgetting
KERNELS: dict[str, Kernel] = {"stationary": RBF(1.0), "not stationary": RBF(1.0) + Polynomial(2, scale=0.1)}


def approach(count: int) -> tuple[Any, Any]:
    """A point that hardly moves, then goes far away: what comes later is extrapolated by large coefficients."""
    t = np.arange(count)
    X = np.column_stack([0.05 * t + 0.02 * np.maximum(t - 6, 0.0) ** 2])
    return X, np.sin(2.0 * X[:, 0])


# The thresholds -------------------------------------------------------------------------------------------------------

T = np.arange(2010)
SIGNALS = {
    "Lorenz": bench.Signal(datasets.Lorenz(interval=0.01, coordinate="x", seed=11).series),
    "Mackey-Glass": bench.Signal(datasets.MackeyGlass(tau=30, transient=300, seed=7).series, lags=8),
    "sines": bench.Signal(lambda count: np.sin(0.05 * T[:count]) + 0.5 * np.sin(0.0866 * T[:count] + 1.0)),
}


@pytest.mark.skipif(not JIT, reason="too slow without numba")
@pytest.mark.parametrize("name", SIGNALS)
def test_a_smaller_threshold_is_not_worse(name: str) -> None:
    samples = SIGNALS[name].samples(2000)
    found = [bench.decibels(samples, None, threshold, 1e-8) for threshold in bench.THRESHOLDS]
    assert bench.loss([figure for figure, _ in found]) <= 1.0
    last = found[-1][1]
    assert last.recursion.pruned > 20 and last.refused < 0.3 * last.recursion.seen
    assert last.size > found[4][1].size


def test_by_how_much_a_figure_is_above_a_lower_one_before() -> None:
    assert bench.loss([-10.0, -30.0, -25.0, -40.0, -37.0]) == 5.0
    assert bench.loss([-10.0, -11.0]) == -1.0


@pytest.mark.skipif(not JIT, reason="too slow without numba")
def test_the_quick_form_of_the_bench(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(bench, "SIGNALS", dict(list(bench.SIGNALS.items())[-2:]))
    assert bench.main(["--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[0].startswith("1000 samples, ridge 1e-08") and lines[-1] == "allowed 1 dB: yes"
    monkeypatch.setattr(bench, "ALLOWED", -100.0)
    assert bench.main(["--quick"]) == 1


# The exchange ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("rows", [False, True], ids=["samples", "rows"])
def test_leader_and_followers_keep_the_posterior(rows: bool, name: str) -> None:
    """The points are those of the dense rule, the function's posterior there that of a filter without a dictionary."""
    kernel, count = KERNELS[name], 24
    X, y = approach(count)
    bank = Bank([KRLS(kernel, THRESHOLD, *setting) for setting in SETTINGS])
    rule = reference.PrunedFilters(kernel(X), THRESHOLD, count, [(10.0, 1.0, False)])
    exact = [reference.FunctionFilter(kernel(X), *setting) for setting in SETTINGS]
    if rows:
        bank.adopt((0,))
    for t in range(count):
        rule.step(t, y[t])
        if rows:
            before = bank.experts[0].recursion.pruned
            assert bank.learn_row(X[t], y[t], 1.0) == (len(rule.removed) > before)
        else:
            bank.moments({0: X[t, 0]})
            bank.learn({0: X[t, 0]}, y[t], 1.0)
        for expert, each in zip(bank.experts, exact, strict=True):
            each.step(t, y[t])
            model, size = expert.recursion.model, len(rule.indices)
            whitened.settle(model)
            np.testing.assert_array_equal(expert.recursion.point_matrix, X[rule.indices])
            assert (model.leaving, model.pruned) == (0, len(rule.removed))
            here = np.ix_(rule.indices, rule.indices)
            L = reference.unpacked(model.factor, size, symmetric=False)
            P = reference.unpacked(model.covariance, size, symmetric=True)
            np.testing.assert_allclose(L @ L.T, rule.K[here], rtol=0.0, atol=1e-12 * rule.K.max())
            np.testing.assert_allclose(L @ model.weights[0, :size], each.mean[rule.indices], rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(L @ P @ L.T, each.covariance[here], rtol=0.0, atol=1e-8)
    assert len(rule.exchanged) >= 2 and rule.exchanged == rule.removed


@pytest.mark.core
@pytest.mark.parametrize("name", KERNELS)
def test_an_exchange_multiplies_the_determinant(name: str) -> None:
    kernel = KERNELS[name]
    X, y = approach(24)
    model, exchanges = KRLS(kernel, THRESHOLD, 0.1), 0
    for x, target in zip(X[:, 0].tolist(), y.tolist(), strict=True):
        before, left = model.recursion.point_matrix.copy(), model.recursion.pruned
        model.learn_one({0: x}, target)
        if model.recursion.pruned > left:
            after = model.recursion.point_matrix
            assert len(after) == len(before) and after[-1, 0] == x
            logarithms = []
            for points in (before, after):
                K = kernel(points)
                root = np.sqrt(np.diagonal(K))
                logarithms.append(np.linalg.slogdet(K / np.outer(root, root))[1])
            assert logarithms[1] - logarithms[0] > np.log(whitened.EXCHANGE**2) - 1e-3
            exchanges += 1
    assert exchanges >= 2


@pytest.mark.parametrize("limit", [None, 20])
def test_every_form_has_the_same_dictionary(limit: int | None) -> None:
    X, y = SIGNALS["sines"].samples(600)
    samples = [dict(enumerate(x)) for x in X.tolist()]
    kernel = RBF(2.0)
    one, many = (KRLS(kernel, THRESHOLD, 1e-6, max_size=limit) for _ in range(2))
    noise_one, noise_many = (HeteroscedasticKRLS(kernel, THRESHOLD, 1e-3, max_size=limit) for _ in range(2))
    for x, target in zip(samples, y.tolist(), strict=True):
        one.learn_one(x, target)
        noise_one.learn_one(x, target)
    *_, sizes = many.recursion.learn_many(tuple(range(X.shape[1])), X, y[:, None])
    noise_many.learn_many(X, y)
    assert one.recursion.pruned > 10 and sizes[-1] == one.size
    pairs = [(one, many), (noise_one, noise_many)]
    if limit is None:  # who leaves a full dictionary depends on what was learned
        pairs.append((one, noise_one))
    for each, other in pairs:
        np.testing.assert_array_equal(other.recursion.point_matrix, each.recursion.point_matrix)
        assert (other.refused, other.recursion.pruned) == (each.refused, each.recursion.pruned)
    np.testing.assert_allclose(many.predict_many(X), one.predict_many(X), rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(noise_many.predict_many(X), noise_one.predict_many(X), rtol=0.0, atol=1e-6)


def test_a_restored_model_goes_on_bit_for_bit() -> None:
    X, y = SIGNALS["sines"].samples(300)
    model = KRLS(RBF(2.0), THRESHOLD, 1e-6)
    for t, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        if t % 20 == 0:
            copy = KRLS.from_bytes(model.to_bytes())
        for each in (model, copy):
            each.learn_one(dict(enumerate(x)), target)
        assert model.to_bytes() == copy.to_bytes()
    assert model.recursion.pruned > 10


def test_duplicates_take_nobodys_place() -> None:
    X, y = approach(8)
    model = KRLS(RBF(1.0), 0.0, 0.1)
    for x, target in zip(np.tile(X[:, 0], 20).tolist(), np.tile(y, 20).tolist(), strict=True):
        model.learn_one({0: x}, target)
    assert model.recursion.pruned <= 2 and model.size <= 8
