"""Forgetting: each form is its Bayesian filter, and each follows a function that changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference import Filter, Projection

from streamkernel import KRLS
from streamkernel.kernels import RBF, Matern32

FORMS: list[tuple[str, float, float]] = [
    ("prior", 0.1, 0.99),
    ("prior", 1.0, 0.9),
    ("prior", 1e-3, 0.999),
    ("walk", 0.1, 0.99),
    ("walk", 1.0, 0.9),
    ("walk", 1e-3, 0.9999),
    ("prior", 0.0, 0.995),
    ("walk", 0.0, 0.995),
]


def widening(n: int, seed: int) -> tuple[Any, Any]:
    """A stream that reaches new places all the time, so that the dictionary grows through it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 1)) * (0.5 + 3.0 * np.arange(n)[:, None] / n)
    return X, np.sin(2.0 * X[:, 0] + np.arange(n) / 200.0) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("kernel", [RBF(0.6), Matern32(1.0)], ids=repr)
@pytest.mark.parametrize(("forget", "ridge", "forgetting"), FORMS)
def test_each_form_is_its_dense_filter(kernel: Any, forget: str, ridge: float, forgetting: float) -> None:
    n, threshold = (500, 1e-2) if ridge == 0.0 else (1500, 1e-3)
    X, y = widening(n, seed=2)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, n)
    model = KRLS(kernel, threshold, ridge, forgetting, forget)
    projected, dense = Projection(kernel(X), threshold), Filter(ridge, forgetting, forget == "walk")
    test = np.linspace(-2.5, 2.5, 7)[:, None]
    for t in range(n):
        model.learn_one({0: X[t, 0]}, y[t], w=weights[t])
        m = projected.sizes[t]
        if ridge == 0.0 and t % 50 and t > 50:
            dense.rows.append((projected.Z[t, :m], y[t], 1.0 / weights[t]))
            continue
        dense.step(projected.Z[t, :m], y[t], 1.0 / weights[t])
        if t % 50 == 0 or t == n - 1:
            L = projected.L[:m, :m]
            Z = np.linalg.solve(L, kernel(X[projected.indices[:m]], test)).T
            expected = Z @ dense.mean
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(model.predict_many(test), expected, rtol=1e-8, atol=1e-8 * scale)
            for z, at in zip(Z, test[:, 0], strict=True):
                _, _, explained = model._model.predict_variance({0: at})
                # Relative to P: where the dictionary is left behind, one unit in the last place of the similarities
                # moves z'Pz by 2e-8 of itself.
                assert explained == pytest.approx(z @ dense.P @ z, rel=1e-8, abs=1e-8 * np.abs(dense.P).max())
    assert model.size == len(projected.indices) > 8


@pytest.mark.parametrize(("forget", "ridge"), [("prior", 0.1), ("walk", 0.1), ("prior", 0.0)])
@pytest.mark.parametrize("forgetting", [0.95, 0.98])
def test_the_error_returns_to_its_old_level(forget: str, ridge: float, forgetting: float) -> None:
    """After an abrupt change, within a few times the memory 1/(1 − λ) that λ stands for."""
    change, memory = 600, 1.0 / (1.0 - forgetting)
    # what is left of the old function, λ^n, has to fall below a tenth of the noise
    recovered = change + int(memory * math.log(2.0 / (0.1 * 0.1)))
    squares = {"tracking": np.zeros(recovered + 400), "fixed": np.zeros(recovered + 400)}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1.0, 1.0, recovered + 400)
        # f(x) becomes f(−x), as far from zero as before and as hard to learn: the old level is the new one
        side = np.where(np.arange(len(x)) < change, 1.0, -1.0)
        y = np.sin(3.0 * side * x + 0.5) + 0.1 * rng.standard_normal(len(x))
        for name, model in [
            ("tracking", KRLS(RBF(0.7), 1e-2, ridge, forgetting, forget)),
            ("fixed", KRLS(RBF(0.7), 1e-2, ridge)),
        ]:
            for t in range(len(x)):
                squares[name][t] += (y[t] - model.predict_one({"x": x[t]})) ** 2
                model.learn_one({"x": x[t]}, y[t])
    level = {name: math.sqrt(values[200:change].mean()) for name, values in squares.items()}
    after = {name: math.sqrt(values[recovered:].mean()) for name, values in squares.items()}
    assert after["tracking"] <= 1.1 * level["tracking"]
    assert math.sqrt(squares["tracking"][change]) > 2.0 * level["tracking"]  # the change is felt
    assert after["fixed"] > 1.5 * level["fixed"]  # and without forgetting it stays


def test_without_forgetting_both_forms_are_the_same() -> None:
    X, y = widening(200, seed=4)
    models = [KRLS(RBF(0.6), 1e-3, 0.1, 1.0, forget) for forget in ("prior", "walk")]
    for model in models:
        model.learn_many(X, y)
    np.testing.assert_array_equal(models[0].predict_many(X), models[1].predict_many(X))


@pytest.mark.parametrize(("forget", "ridge"), [("prior", 0.1), ("walk", 0.1), ("prior", 0.0)])
def test_a_long_stream_with_forgetting_stays_finite(forget: str, ridge: float) -> None:
    """Also where most of the dictionary is never visited again."""
    X, y = widening(300, seed=5)
    model = KRLS(RBF(0.4), 1e-4, ridge, 0.97, forget)
    model.learn_many(X, y)
    rng = np.random.default_rng(6)
    near = rng.uniform(-0.2, 0.2, (20_000, 1))
    model.learn_many(near, np.sin(near[:, 0]))
    assert np.isfinite(model.predict_many(X)).all()
    np.testing.assert_allclose(model.predict_many(near[:50]), np.sin(near[:50, 0]), atol=0.05)
    for at in (0.0, 2.5):
        predicted = model.predict_one({0: at}, with_dist=True)
        assert math.isfinite(predicted.mu)
        assert 0.0 <= predicted.sigma < math.inf
    if ridge:  # the posterior far away is the prior again (prior), or wider than it (walk), never narrower
        _, residual, explained = model._model.predict_variance({0: 2.5})
        assert explained + residual / ridge >= (1.0 - 1e-6) / ridge * (1.0 if forget == "walk" else 0.999)
