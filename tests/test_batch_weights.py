"""Weights of samples in the batch algorithms: a sample of weight w is w equal ones, and one of weight 0 is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from streamkernel import datasets, kernels
from streamkernel.batch import FLKL, LSSVM, CoKER, CoKERClassifier, FLKLRegressor, KernelRidge
from streamkernel.batch.cross_validation import copies_left_out, leave_folds_out, press
from streamkernel.batch.experts import default_kernels, in_sample_loss
from streamkernel.batch.first_level import training_criterion
from streamkernel.batch.folds import bring_together, make_folds, standard_error
from streamkernel.batch.scales import scaled_gram
from streamkernel.batch.system import RidgeSystem

CLASSIFIERS = [
    LSSVM(),
    LSSVM(selection="kfold", folds=3),
    LSSVM(kernels.Matern52(1.3) + 0.5 * kernels.Linear(), selection="kfold"),
    LSSVM(kernels.RBF(1.5), ridge=0.3, selection=None),
    FLKL(folds=3),
    FLKL("auto", folds=3),
    CoKERClassifier(),
]
REGRESSORS = [FLKLRegressor(folds=3), FLKLRegressor("auto", ridge=0.1, folds=3), CoKER(), CoKER(zeta="in_sample")]
RIDGE = 0.3


def problem(model: Any, seed: int = 7, count: int = 40) -> tuple[Any, Any, Any]:
    """Samples, targets or classes, and whole weights of which some are zero."""
    X, y = datasets.Friedman1(noise=1.0, seed=seed).arrays(count)
    X, y = X[:, :3], (y - y.mean()) / y.std()
    weights = np.random.default_rng(seed).integers(0, 4, count)
    return X, np.digitize(y, (-0.4, 0.4)) if is_classifier(model) else 300.0 + 50.0 * y, weights


def outputs(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_whole_weights_are_repetitions(model: Any) -> None:
    X, y, counts = problem(model)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(outputs(weighted, X), outputs(repeated, X), rtol=1e-8, atol=1e-10)
    # In any order, of the samples and of their copies.
    mixed = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), counts))
    shuffled = clone(model).fit(X[mixed], y[mixed])
    np.testing.assert_allclose(outputs(weighted, X), outputs(shuffled, X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variance", ["training", "residual_model"])
def test_deviations_of_whole_weights_are_those_of_repetitions(variance: str) -> None:
    model = KernelRidge(kernels.RBF(1.0), ridge=1.0, variance=variance)
    X, y, counts = problem(model)
    weighted = clone(model).fit(X, y, sample_weight=counts).predict(X, return_std=True)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(X, return_std=True)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-8)


def test_left_out_residuals_count_by_weight() -> None:
    model = KernelRidge(kernels.RBF(1.0), ridge=1.0, variance="loo")
    X, y, counts = problem(model)
    model.fit(X, y, sample_weight=counts)
    expected = np.average(model.leave_one_out_residuals_**2, weights=counts[counts > 0])
    np.testing.assert_allclose(model.predict(X, return_std=True)[1] ** 2, expected, rtol=1e-12)  # type: ignore[index]


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_no_weight_is_absence_and_one_is_presence(model: Any) -> None:
    X, y, counts = problem(model)
    used = counts > 0
    weighted = clone(model).fit(X, y, sample_weight=used.astype(float))
    without = clone(model).fit(X[used], y[used])
    np.testing.assert_array_equal(outputs(weighted, X), outputs(without, X))


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_weights_between_whole_ones(model: Any) -> None:
    X, y, counts = problem(model)
    plain = clone(model).fit(X, y)
    near = clone(model).fit(X, y, sample_weight=1.0 + 1e-9 * counts)
    if isinstance(model, CoKER):
        np.testing.assert_allclose(outputs(near, X), outputs(plain, X), rtol=1e-6)
    half = clone(model).fit(X, y, sample_weight=0.5 + counts)
    assert np.isfinite(outputs(half, X)).all()
    assert np.abs(outputs(half, X) - outputs(plain, X)).max() > 1e-3


@pytest.mark.parametrize("model", [LSSVM(), FLKLRegressor(folds=3), CoKER(), CoKERClassifier()], ids=str)
def test_the_stream_has_learned_the_weights(model: Any) -> None:
    X, y, counts = problem(model)
    fitted = clone(model).fit(X, y, sample_weight=counts)
    stream = fitted.to_stream(threshold=None if isinstance(model, CoKER) else 1e-12)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    found = [stream.predict_one(x) for x in rows]
    if is_classifier(model):
        assert np.mean(found == fitted.predict(X)) > 0.97
    else:
        np.testing.assert_allclose(found, fitted.predict(X), rtol=1e-3)


@pytest.mark.parametrize("model", [LSSVM(), FLKLRegressor(), CoKER(), CoKERClassifier()], ids=str)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(40), "at least one non-zero"),
        (-np.ones(40), "[Nn]egative"),
        (np.full(40, np.nan), "NaN"),
        (np.ones(39), "shape|inconsistent"),
        (np.append(np.ones(39), 1e-200), "sample_weight must be 0 or from 1e-100 to 1e"),
    ],
)
def test_bad_weights(model: Any, weights: Any, message: str) -> None:
    X, y, _ = problem(model)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("model", [FLKLRegressor(), CoKER()], ids=str)
def test_one_sample_cannot_be_held_out(model: Any) -> None:
    X, y, _ = problem(model)
    only = (np.arange(40) == 3).astype(float)
    with pytest.raises(ValueError, match="needs 2 samples of a weight above 0, got one of 1"):
        clone(model).fit(X, y, sample_weight=only)
    np.testing.assert_allclose(clone(model).fit(X, y, sample_weight=2.0 * only).predict(X[:2]), y[3])


@pytest.mark.parametrize("model", [LSSVM(), CoKERClassifier()], ids=str)
def test_a_class_without_weight_is_none(model: Any) -> None:
    X, y, _ = problem(model)
    assert clone(model).fit(X, y, sample_weight=(y != 1).astype(float)).classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        clone(model).fit(X, y, sample_weight=(y == 1).astype(float))


@pytest.mark.parametrize("model", [LSSVM(selection="kfold"), FLKL(), FLKLRegressor()], ids=str)
def test_scikit_learn_agrees(model: Any) -> None:
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, model)


# The mathematics -----------------------------------------------------------------------------------------------------


def dense(gram: Any, targets: Any, ridge: float, weights: Any) -> tuple[Any, Any]:
    """The minimum of Σ w(y − Kα − b)² + λα'Kα by one system of equations."""
    n = len(gram)
    system = np.block([[gram + np.diag(ridge / weights), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return found[:-1], found[-1]


@pytest.fixture
def weighted() -> tuple[Any, Any, Any]:
    X, y, _ = problem(LSSVM(), count=25)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    return X, targets, np.random.default_rng(0).choice([0.3, 1.0, 2.0, 3.7, 11.5], 25)


def held_out(X: Any, targets: Any, weights: Any, removed: Any, theta: Any) -> Any:
    """The residuals of a model whose samples have lost some weight: the obvious way."""
    left = weights - removed
    kept = left > 0.0
    alpha, bias = dense(scaled_gram(theta, X[kept]), targets[kept], RIDGE, left[kept])
    return targets - scaled_gram(theta, X, X[kept]) @ alpha - bias


def test_copies_left_out_are_brute_force(weighted: Any) -> None:
    X, targets, weights = weighted
    theta = np.array([0.5])
    system = RidgeSystem(scaled_gram(theta, X), RIDGE / weights, bias=True)
    residuals, _ = copies_left_out(system, targets, weights)
    for i in range(len(X)):
        removed = np.where(np.arange(len(X)) == i, np.minimum(weights, 1.0), 0.0)
        np.testing.assert_allclose(residuals[i], held_out(X, targets, weights, removed, theta)[i], rtol=1e-9)
    value = 0.5 * float(weights @ (residuals**2).sum(axis=1))
    assert press(system, targets, weights).value == pytest.approx(value, rel=1e-12)


def test_folds_left_out_are_brute_force(weighted: Any) -> None:
    X, targets, weights = weighted
    theta = np.array([0.5])
    folds = make_folds(len(X), 4, 0, weights, X)
    system = RidgeSystem(scaled_gram(theta, X), RIDGE / weights, bias=True)
    value = 0.0
    for fold in folds:
        removed = np.zeros(len(X))
        removed[fold.held] = fold.counts
        residuals = held_out(X, targets, weights, removed, theta)
        value += 0.5 * float(removed @ (residuals**2).sum(axis=1))
    assert leave_folds_out(system, targets, folds, weights).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("kfold", [False, True])
def test_slopes_are_finite_differences(weighted: Any, kfold: bool) -> None:
    X, targets, weights = weighted
    folds = make_folds(len(X), 4, 0, weights, X)
    direction = kernels.Linear()(X)  # a change of K, diagonal and all

    def error(step: float, log_ridge: float) -> Any:
        gram = kernels.RBF(1.5)(X) + step * direction
        system = RidgeSystem(gram, np.exp(log_ridge) / weights, bias=True)
        return leave_folds_out(system, targets, folds, weights) if kfold else press(system, targets, weights)

    found, noise = error(0.0, np.log(RIDGE)), RIDGE / weights
    slope = np.array([float((found.slope * direction).sum()), float(found.noise_slope @ noise)])
    ends = [optimize.approx_fprime([0.0, np.log(RIDGE)], lambda p: error(*p).value, step) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (ends[0] + ends[1]) / 2, rtol=1e-6)


def test_folds_of_weights() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 2)), rng.choice([0.2, 1.0, 3.0, 7.5], 30)
    folds = make_folds(30, 4, 0, weights, X)
    total = np.zeros(30)
    for fold in folds:
        total[fold.held] += fold.counts
        left = np.zeros(30)
        left[fold.kept] = fold.weights
        left[fold.held] += fold.counts
        np.testing.assert_allclose(left, weights)
    np.testing.assert_allclose(total, weights)
    # A sample that counts as several is in as many folds; one that does not is in one.
    assert [sum(i in fold.held for fold in folds) for i in range(30)] == np.clip(np.ceil(weights), 1, 4).tolist()
    order = rng.permutation(30)
    for fold, same in zip(folds, make_folds(30, 4, 0, weights[order], X[order]), strict=True):
        assert sorted(order[same.held]) == sorted(fold.held)


def test_samples_are_brought_together() -> None:
    X = np.array([[2.0, 1.0], [1.0, 1.0], [2.0, 1.0], [2.0, 1.0], [0.0, 5.0]])
    samples, targets, weights = bring_together(
        X, np.array([1.0, 1.0, 1.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.5, 3.0, 0.0])
    )
    assert samples.tolist() == [[2.0, 1.0], [1.0, 1.0], [2.0, 1.0]]
    assert (targets.tolist(), weights.tolist()) == ([1.0, 1.0, 2.0], [1.5, 2.0, 3.0])


def test_criteria_of_repetitions(weighted: Any) -> None:
    X, targets, _ = weighted
    counts = 1 + np.arange(len(X)) % 3
    many, same = np.repeat(X, counts, axis=0), np.repeat(targets, counts, axis=0)
    theta = np.array([0.5, 0.1, 1.0])
    value, slope = training_criterion(theta, X, targets, RIDGE, 2.0, 1.0 * counts)
    expected, expected_slope = training_criterion(theta, many, same, RIDGE, 2.0)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-9)
    pairs = zip(default_kernels(X, 1.0 * counts), default_kernels(many), strict=True)
    assert all(one.theta == pytest.approx(other.theta, rel=1e-12) for one, other in pairs)
    alpha, bias = dense(scaled_gram(theta, X), targets, RIDGE, counts)
    beta, other = dense(scaled_gram(theta, many), same, RIDGE, np.ones(len(many)))
    one = in_sample_loss(scaled_gram(theta, X), alpha, bias, targets, RIDGE, 1.0 * counts)
    assert one == pytest.approx(in_sample_loss(scaled_gram(theta, many), beta, other, same, RIDGE), rel=1e-10)
    values = X[:, 0]
    spread = np.repeat(values, counts).std(ddof=1) / np.sqrt(counts.sum())
    assert standard_error(values, 1.0 * counts) == pytest.approx(spread)
    assert standard_error(values, np.full(len(values), 1e-3)) == np.inf
