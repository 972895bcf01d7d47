"""The learners' core calls on small streams, jitted and (by the mark `core`) as plain Python, against dense solves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import unpacked

from streamkernel import KAAR, KRLS, KRR, HeteroscedasticKRLS
from streamkernel.kernels import RBF, Polynomial
from streamkernel.learners.forms import Dictionary, Exact
from streamkernel.learners.many import SAFE_VARIANCE, screen
from streamkernel.learners.recursion import Recursion

# In plain Python an overflow is a warning; jitted it is an infinity, which is what the core looks for.
pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def learn(model, X, y):
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    return model


def test_the_exact_form_one_by_one_and_in_blocks():
    X, y = stream(100)
    kernel, ridge = RBF(1.0), 0.2
    one = learn(KAAR(kernel, ridge=ridge, threshold=None), X, y)
    many = KAAR(kernel, ridge=ridge, threshold=None)
    many.learn_many(X, y)
    A = kernel(X) + ridge * np.eye(100)
    column = kernel(X, X[:5])
    u = (1.0 - np.einsum("ij,ij->j", column, np.linalg.solve(A, column))) / ridge
    expected = column.T @ np.linalg.solve(A, y) / (1.0 + u)
    for model in (one, many):
        np.testing.assert_allclose(model.predict_many(X[:5]), expected, atol=1e-10)
        np.testing.assert_allclose(
            [model.predict_one(dict(enumerate(x))) for x in X[:5].tolist()], expected, atol=1e-10
        )
        factor = unpacked(model.recursion.model.factor, 100, symmetric=False)
        np.testing.assert_allclose(factor, np.linalg.cholesky(A), atol=1e-12)
    assert many.regret_bound(1.0) == pytest.approx(one.regret_bound(1.0), rel=1e-10)


def test_the_sliding_window():
    X, y = stream(30, seed=1)
    kernel = RBF(1.0)
    models = [learn(KRR(kernel, ridge=0.2, threshold=None, max_size=9), X, y)]
    models.append(KRR(kernel, ridge=0.2, threshold=None, max_size=9))
    models[1].learn_many(X, y)
    expected = kernel(X[:4], X[-9:]) @ np.linalg.solve(kernel(X[-9:]) + 0.2 * np.eye(9), y[-9:])
    for model in models:
        np.testing.assert_allclose(model.predict_many(X[:4]), expected, atol=1e-10)


@pytest.mark.parametrize("limit", [1, 2])
def test_the_smallest_dictionaries_go_on_after_a_checkpoint(limit):
    X, y = stream(20, seed=6)
    model = learn(KRLS(RBF(0.5), 1e-3, 0.1, max_size=limit), X[:10], y[:10])
    restored = learn(KRLS.from_bytes(model.to_bytes()), X[10:], y[10:])
    assert restored.to_bytes() == learn(model, X[10:], y[10:]).to_bytes()
    assert restored.size == limit


def test_blocks_of_a_calm_dictionary():
    X, y = stream(70, seed=2)
    one = learn(KRLS(Polynomial(1), 1e-6, 0.1), X, y)
    many = KRLS(Polynomial(1), 1e-6, 0.1)
    many.learn_many(X, y)
    design = np.column_stack([np.ones(70), X])
    expected = design @ np.linalg.solve(design.T @ design + 0.1 * np.eye(3), design.T @ y)
    for model in (one, many):
        assert model.size == 3
        np.testing.assert_allclose(model.predict_many(X), expected, atol=1e-8)


@pytest.mark.parametrize("threshold", [1e-6, None])
def test_blocks_report_what_single_steps_report(threshold):
    """Errors before learning, relative variances and sizes, of every sample and output."""
    X, y = stream(120, seed=5)
    targets, noise = np.column_stack([y, X[:, 0] ** 2]), np.random.default_rng(5).uniform(0.5, 2.0, 120)
    form = Exact() if threshold is None else Dictionary()
    one, many = (Recursion(Polynomial(1), threshold or 0.0, 0.1, outputs=2, form=form) for _ in range(2))
    found = many.learn_many((0, 1), X, targets, 1.0 / noise)
    for t in range(120):
        one.learn(dict(enumerate(X[t].tolist())), targets[t].tolist(), 1.0 / noise[t])
        np.testing.assert_allclose(found[0][t], one.errors, atol=1e-10)
        assert found[1][t] == pytest.approx(one.model.relative_variance, abs=1e-9)
        assert found[2][t] == one.size


def test_rows_are_ordinary_below_the_bound_of_their_variance():
    """(1 + y²) (1 + (1 + k) / ridge) over the least noise, which is that of the largest weight."""
    X, _ = stream(5)
    model, names, weights = Recursion(RBF(1.0), 1e-3, 0.5), (0, 1), np.ones(5)
    targets = np.zeros((5, 1))
    for target, weight, is_ordinary in (
        (1e98, 10.0, True),
        (1e98, 1e4, False),
        (1e98, 1e-4, True),
        (1e100, 1.0, False),
    ):
        targets[2], weights[3] = target, weight
        assert ((1.0 + target**2) * 5.0 * max(weight, 1.0) <= SAFE_VARIANCE) == is_ordinary
        assert screen(model, names, X, targets, weights)[1] == is_ordinary


def test_a_bounded_dictionary_and_several_outputs():
    X, y = stream(40, seed=3)
    model = Recursion(RBF(0.5), 1e-3, 0.1, max_size=6, outputs=2)
    errors, relative, sizes = model.learn_many((0, 1), X, np.column_stack([y, 2.0 * y]))
    np.testing.assert_allclose(errors[:, 1], 2.0 * errors[:, 0], atol=1e-9)
    assert sizes.max() == model.size == 6
    assert (relative >= 0.0).all()
    means, residuals, explained = model.predict_variances((0, 1), X[:3])
    assert means.shape == (3, 2)
    assert (residuals >= 0.0).all()
    assert (explained >= 0.0).all()


@pytest.mark.parametrize("forget", ["prior", "walk"])
def test_noise_that_depends_on_the_input(forget):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (120, 1))
    y = X[:, 0] + np.where(X[:, 0] > 0.0, 0.5, 0.02) * rng.standard_normal(120)
    y[60] = 1e3  # an outlier
    options = {"threshold": 1e-2, "forgetting": 0.999, "forget": forget, "max_size": 5}
    one = learn(HeteroscedasticKRLS(RBF(0.4), **options), X, y)
    many = HeteroscedasticKRLS(RBF(0.4), **options)
    many.learn_many(X, y)
    assert one.size == many.size == 5
    for x in (-0.6, 0.6):
        a, b = (model.predict_one({0: x}, with_dist=True) for model in (one, many))
        assert a.mu == pytest.approx(b.mu, abs=1e-9)
        assert a.sigma == pytest.approx(b.sigma, rel=1e-9)


def test_what_cannot_be_learned_is_reported_by_every_core():
    for model in (KRLS(Polynomial(2)), KRR(Polynomial(2), threshold=None), HeteroscedasticKRLS(Polynomial(2))):
        model.learn_one({0: 1.0}, 1.0)
        before = model.to_bytes()
        for x, y in (({0: 1e200}, 1.0), ({0: math.nan}, 1.0), ({0: 1.0}, 1e200)):
            with pytest.raises(ValueError, match=r"0|y"):
                model.learn_one(x, y)
        with pytest.raises(ValueError, match="1e"):
            model.predict_one({0: 1e200})
        with pytest.raises(ValueError, match="1e"):
            model.predict_many([[1.0], [1e200]])
        assert model.to_bytes() == before
