"""Functions that change: forgetting as a Gaussian process over time, and λ chosen by `tune` and by refits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import kernel_learning as bench
from streamkernel import KRLS, KRR, HeteroscedasticKRLS, LSSVMClassifier, criteria, kernels
from streamkernel.selection import tune

needs_speed = pytest.mark.skipif(not JIT, reason="too slow without numba")


def moving(count: int = 150, turn: float = 150.0, seed: int = 0) -> tuple[Any, Any]:
    """A wave that moves on by a turn in so many samples, beside a feature that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(count, 2))
    return X, np.sin(X[:, 0] + 2.0 * np.pi * np.arange(count) / turn) + 0.05 * rng.normal(size=count)


def still(count: int = 150, seed: int = 0) -> tuple[Any, Any]:
    return moving(count, math.inf, seed)


# Forgetting is a kernel ----------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Matern32(2.0) + 0.3, kernels.Linear() + 1.0])
@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9, 0.5])
def test_the_recursion_that_returns_to_the_prior_is_a_process_over_time(kernel: Any, forgetting: float) -> None:
    X, y = moving(40)
    ridge = 0.05
    model = KRLS(kernel, 0.0, ridge, forgetting, "prior")
    predictions = [model.predict_learn_one(dict(enumerate(x)), t) for x, t in zip(X.tolist(), y.tolist(), strict=True)]
    times = np.arange(len(X))
    K = kernel(X) * forgetting ** (np.abs(times[:, None] - times) / 2.0)
    expected = [K[i, :i] @ np.linalg.solve(K[:i, :i] + ridge * np.eye(i), y[:i]) for i in times]
    np.testing.assert_allclose(predictions, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("criterion", [criteria.evidence, criteria.leave_one_out])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("expression", [False, True])
def test_the_slope_of_drift(criterion: Any, outputs: int, expression: bool) -> None:
    X, y = moving(30)
    targets = np.column_stack([y, X[:, 1]])[:, :outputs]
    kernel = kernels.Matern52((1.0, 2.0)) + 0.5
    family = criteria.Expression(X, (0, 1), kernel) if expression else criteria.Gaussian(X, (0, 1))
    drifting = criteria.Drifting(family, len(X))
    objective = criteria.objective_of(drifting, targets, criterion, criteria.prior_of(drifting))
    point = np.append(drifting.center, math.log(0.1)) + 0.1 * np.random.default_rng(1).normal(
        size=len(family.start) + 2
    )
    step = 1e-5
    numeric = [
        (objective(point + step * u)[0] - objective(point - step * u)[0]) / (2.0 * step) for u in np.eye(len(point))
    ]
    np.testing.assert_allclose(objective(point)[1], numeric, rtol=1e-5, atol=1e-6)


def fitted(X: Any, y: Any, **options: Any) -> criteria.Drift | None:
    family = criteria.Gaussian(X, (0, 1))
    return criteria.fit_drift(family, y[:, None], criteria.fit(family, y[:, None]), 60, **options)


def test_a_drift_is_found_and_where_there_is_none_none() -> None:
    drift = fitted(*moving())
    assert drift is not None and 0.9 < drift.forgetting < 0.9999
    # What changed is not taken for noise.
    family = criteria.Gaussian(moving()[0], (0, 1))
    assert drift.ridge < 0.1 * criteria.fit(family, moving()[1][:, None]).ridge
    for seed in range(3):
        assert fitted(*still(seed=seed)) is None
    faster = fitted(*moving(turn=50.0))
    assert faster is not None and faster.forgetting < drift.forgetting


def test_a_gain_has_to_be_clear() -> None:
    X, y = moving()
    assert fitted(X, y, clear=10.0) is not None
    assert fitted(X, y, clear=1e4) is None


def test_the_known_pace_of_a_random_function() -> None:
    """λ = 0.999 within a factor of two of 1 − λ, from 400 samples."""
    for seed in range(3):
        X, y, _ = bench.moving_weights(400, seed)
        family = criteria.Gaussian(X, (0,))
        drift = criteria.fit_drift(family, y[:, None], criteria.fit(family, y[:, None]), 60)
        assert drift is not None
        assert 0.5 < (1.0 - drift.forgetting) / (1.0 - bench.TRUE_FORGETTING) < 2.0


# Chosen on a window --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["loo", "evidence", "first_level"])
def test_tune_chooses_forgetting(criterion: str) -> None:
    X, y = moving(400)
    model = tune(None, X[:150], y[:150], criterion)
    assert 0.9 < model.forgetting < 1.0
    fixed = tune(None, X[:150], y[:150], criterion, forgetting=False)
    assert (fixed.forgetting, fixed.forget) == (1.0, "prior")
    errors = [np.mean((m.learn_rows((0, 1), X[150:], y[150:])[0] - y[150:]) ** 2) for m in (model, fixed)]
    assert errors[0] < 0.1 * errors[1]


@pytest.mark.parametrize("given", [KRLS(kernels.RBF(1.0), ridge=0.1), HeteroscedasticKRLS(), KRLS(max_size=40)])
def test_learners_that_can_forget(given: Any) -> None:
    X, y = moving()
    assert 0.9 < tune(given, X, y).forgetting < 1.0
    assert given.forgetting == 1.0


def test_a_classifier_forgets() -> None:
    X, y = moving(300)
    labels = ["up" if value > 0.0 else "down" for value in y]
    model, fixed = (
        tune(LSSVMClassifier(), X[:200], labels[:200], forgetting=forgetting) for forgetting in (True, False)
    )
    assert 0.9 < model.forgetting < 1.0 == fixed.forgetting
    right = [0, 0]
    for x, label in zip(X[200:].tolist(), labels[200:], strict=True):
        for i, each in enumerate((model, fixed)):
            right[i] += each.predict_one(dict(enumerate(x))) == label
            each.learn_one(dict(enumerate(x)), label)
    assert right[0] > right[1] + 20


@pytest.mark.parametrize("seed", range(3))
def test_what_does_not_change_is_not_forgotten(seed: int) -> None:
    X, y = still(seed=seed)
    model, fixed = (tune(None, X, y, forgetting=forgetting) for forgetting in (True, False))
    assert model.forgetting == 1.0
    assert model.to_bytes() == fixed.to_bytes()


def test_what_was_given_is_kept() -> None:
    X, y = moving()
    model = tune(KRLS(forgetting=0.97, forget="walk"), X, y)
    assert (model.forgetting, model.forget) == (0.97, "walk")
    assert tune(KRLS(kernel_learning="refit"), X, y).forgetting == 1.0  # it finds its own
    assert isinstance(tune(KRR(ridge=1.0), X, y), KRR)  # it cannot forget


# Learned from the stream ---------------------------------------------------------------------------------------------


def test_a_refit_forgets_and_remembers_again() -> None:
    X, y = moving(400)
    model = KRLS(kernel_learning="refit", ridge=0.1)
    model.learn_many(X, y)
    assert 0.9 < model.recursion.model.forgetting < 1.0 == model.forgetting
    copy = KRLS.from_bytes(model.to_bytes())
    more, targets = still(1100, seed=1)
    for each in (model, copy):
        each.learn_many(more, targets)
    assert model.recursion.model.forgetting == 1.0
    assert copy.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("options", [{"forgetting": 0.97, "forget": "walk"}, {"forgetting": 0.99}])
def test_a_refit_keeps_what_was_given(options: Any) -> None:
    X, y = moving(210)
    model = KRLS(kernel_learning="refit", ridge=0.1, **options)
    model.learn_many(X, y)
    assert model.recursion.model.forgetting == options["forgetting"]


def test_the_gradient_does_not_forget() -> None:
    X, y = moving(400)
    model = KRLS(kernel_learning="gradient", ridge=0.1)
    model.learn_many(X, y)
    assert model.recursion.model.forgetting == 1.0


@needs_speed
@pytest.mark.parametrize("name", bench.DRIFTS)
def test_as_good_as_knowing_how_fast(name: str) -> None:
    """Within a factor of three of the model that was told λ; without forgetting it is more than five."""
    errors = bench.run_drift(bench.DRIFTS[name], 1500, 1)
    for method in ("tune", "refit"):
        assert errors[method][0] < 3.0 * errors["known"][0]
    assert errors["tune, λ = 1"][0] > 5.0 * errors["known"][0]
