"""LSSVM: the linear system of the paper, its closed-form cross-validation and the slopes of the criteria."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

from streamkernel import kernels
from streamkernel.batch import LSSVM
from streamkernel.batch.classifier import calibrate
from streamkernel.batch.cross_validation import RIDGE_STARTS, SCALE_STARTS, leave_folds_out
from streamkernel.batch.cross_validation import least_error as select
from streamkernel.batch.cross_validation import press as leave_one_out
from streamkernel.batch.folds import make_folds
from streamkernel.batch.scales import Scales, scaled_gram, start_scale
from streamkernel.batch.system import RidgeSystem
from streamkernel.criteria import Expression
from streamkernel.criteria import weighted_squares as spread

RIDGE = 0.3


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    return X, np.where(rng.normal(size=(40, 3)) + X[:, :3] > 0, 1.0, -1.0)


def dense(gram, targets, ridge):
    """Eq. (3), as printed."""
    n = len(gram)
    matrix = np.block([[gram + ridge * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(matrix, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return solution[:n], solution[n]


def held_out_residuals(theta, X, targets, ridge, folds):
    """Fit without each fold, predict it: the obvious way."""
    residuals = np.empty_like(targets)
    for fold, *_ in folds:
        kept = np.setdiff1d(np.arange(len(X)), fold)
        alpha, bias = dense(scaled_gram(theta, X[kept]), targets[kept], ridge)
        residuals[fold] = targets[fold] - scaled_gram(theta, X[fold], X[kept]) @ alpha - bias
    return residuals


def test_kernel_and_its_special_case(problem):
    X, _ = problem
    theta = np.array([0.5, 0.0, 1.0, 0.2])
    slow = [[np.exp(-sum(theta[r] * (a[r] - b[r]) ** 2 for r in range(4))) for b in X] for a in X]
    np.testing.assert_allclose(scaled_gram(theta, X), slow, atol=1e-14)
    np.testing.assert_allclose(scaled_gram(np.full(4, 0.3), X), scaled_gram(np.array([0.3]), X), atol=1e-14)
    np.testing.assert_allclose(scaled_gram(np.array([0.3]), X), kernels.RBF(1 / np.sqrt(0.6))(X), atol=1e-13)


def test_spread_is_the_sum_over_pairs(problem):
    X, _ = problem
    weights = scaled_gram(np.array([0.5]), X)
    slow = [sum(weights[i, j] * (X[i, r] - X[j, r]) ** 2 for i in range(40) for j in range(40)) for r in range(4)]
    np.testing.assert_allclose(spread(weights, X), slow, rtol=1e-12)


def test_fit_solves_the_printed_system(problem):
    X, targets = problem
    y = targets[:, 0]
    model = LSSVM(kernels.RBF(1.5), ridge=RIDGE, selection=None).fit(X, y)
    alpha, bias = dense(kernels.RBF(1.5)(X), targets[:, :1], RIDGE)
    np.testing.assert_allclose(model.dual_coef_, alpha, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, bias, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), (kernels.RBF(1.5)(X) @ alpha + bias)[:, 0], atol=1e-12)


def test_the_matrix_that_is_given_stays_as_it_is(problem):
    X, targets = problem
    gram = kernels.RBF(1.5)(X)
    before = gram.copy()
    alpha, bias = RidgeSystem(gram, RIDGE, bias=True).solve(targets)
    expected, expected_bias = dense(gram, targets, RIDGE)
    np.testing.assert_allclose(alpha, expected, atol=1e-12)
    np.testing.assert_allclose(bias, expected_bias, atol=1e-12)
    np.testing.assert_array_equal(gram, before)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_closed_form_cross_validation_is_brute_force(problem, k):
    X, targets = problem
    theta = np.array([0.5, 0.1, 1.0, 0.2])
    folds = make_folds(len(X), k, 0)
    system = RidgeSystem(scaled_gram(theta, X), RIDGE, bias=True)
    slow = held_out_residuals(theta, X, targets, RIDGE, folds)
    value, slope, _ = leave_folds_out(system, targets, folds)
    assert value == pytest.approx(0.5 * (slow**2).sum(), rel=1e-11)
    if k == len(X):
        one_value, one_slope, _ = leave_one_out(system, targets)
        assert one_value == pytest.approx(value, rel=1e-11)
        np.testing.assert_allclose(one_slope, slope, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(system.leave_one_out_residuals(targets), slow, atol=1e-11)


FAMILIES = {
    "isotropic": lambda X: Scales(X, np.array([0.2])),
    "ARD": lambda X: Scales(X, np.array([0.5, 0.1, 1.0, 0.2])),
    "any kernel": lambda X: Expression(X, range(4), kernels.Matern52(1.3) + 0.5 * kernels.Linear()),
    "feature switched off": lambda X: Expression(X, range(4), kernels.RBF((1.0, np.inf, 2.0, 1.0))),
    "no parameter": lambda X: Expression(X, range(4), kernels.Linear()),
}


@pytest.mark.parametrize("folds", [None, 5], ids=["loo", "kfold"])
@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_are_finite_differences(problem, name, folds):
    X, targets = problem
    family = FAMILIES[name](X)
    parts = make_folds(len(X), folds, 0) if folds else None
    size = len(family.start)

    def criterion(point):
        gram, _ = family.gram(point[:size])
        system = RidgeSystem(gram, np.exp(point[size]), bias=True)
        value, slope, noise = leave_folds_out(system, targets, parts) if folds else leave_one_out(system, targets)
        return value, np.append(family.slope(point[:size], gram, slope), np.exp(point[size]) * noise.sum())

    point = np.append(family.start + 0.1, np.log(RIDGE))
    numeric = optimize.approx_fprime(point, lambda p: criterion(p)[0], 1e-6)
    numeric = (numeric + optimize.approx_fprime(point, lambda p: criterion(p)[0], -1e-6)) / 2  # central
    np.testing.assert_allclose(criterion(point)[1], numeric, rtol=1e-6, atol=1e-6)


def test_equal_scales_have_the_slope_of_the_common_one(problem):
    X, targets = problem
    common, separate = Scales(X, np.array([0.2])), Scales(X, np.full(4, 0.2))
    gram, _ = common.gram(common.start)
    slope = leave_one_out(RidgeSystem(gram, RIDGE, bias=True), targets)[1]
    np.testing.assert_allclose(
        common.slope(common.start, gram, slope)[0], separate.slope(separate.start, gram, slope).sum(), rtol=1e-10
    )


@pytest.mark.parametrize("folds", [None, 5], ids=["loo", "kfold"])
def test_selection_is_no_worse_than_a_grid(problem, folds):
    X, targets = problem
    parts = make_folds(len(X), folds, 0) if folds else None
    family = Scales(X, np.array([start_scale(X)]))

    def value(log_theta, ridge):
        system = RidgeSystem(family.gram(np.atleast_1d(log_theta))[0], ridge, bias=True)
        return (leave_folds_out(system, targets, parts) if folds else leave_one_out(system, targets))[0]

    found, ridge = select(family, targets, parts, None, itertools.product(SCALE_STARTS, RIDGE_STARTS))
    grid = [value(family.start[0] + s, np.exp(r)) for s in np.linspace(-2, 4, 13) for r in np.linspace(-6, 6, 13)]
    assert value(found, ridge) <= min(grid) + 1e-6

    kept = select(family, targets, parts, 0.7, [(1.0, 0.7)])[1]
    assert kept == pytest.approx(0.7, rel=1e-14)


def test_ard_criterion_is_no_worse_than_the_common_scale():
    X, y = make_moons(80, noise=0.2, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(80, 3))])
    targets = np.where(y == 1, 1.0, -1.0)[:, None]

    def press(model):
        return leave_one_out(RidgeSystem(model.kernel_(X), model.ridge_, bias=True), targets)[0]

    common, separate = LSSVM().fit(X, y), LSSVM(ard=True).fit(X, y)
    assert press(separate) <= press(common)
    assert min(separate.relevance_[0], separate.relevance_[1]) > 3 * max(separate.relevance_[r] for r in (2, 3, 4))
    assert len(set(common.relevance_.values())) == 1


def test_multiclass_is_one_against_the_rest():
    X, y = make_blobs(90, centers=3, n_features=2, random_state=1)
    names = np.array(["a", "b", "c"])[y]
    model = LSSVM(kernels.RBF(2.0), ridge=RIDGE, selection=None).fit(X, names)
    for j, name in enumerate("abc"):
        single = LSSVM(kernels.RBF(2.0), ridge=RIDGE, selection=None).fit(X, names == name)
        np.testing.assert_allclose(model.decision_function(X)[:, j], single.decision_function(X), atol=1e-10)
    assert model.score(X, names) > 0.9
    assert LSSVM().fit(X, names).score(X, names) > 0.9


def test_probabilities_are_calibrated_on_held_out_decisions():
    X, y = make_moons(1200, noise=0.35, random_state=0)
    model = LSSVM().fit(X[:200], y[:200])
    probabilities = model.predict_proba(X[200:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X[200:]))
    truth, sure = y[200:], probabilities[:, 1]
    for low in (0.0, 0.5, 0.8):
        bin_ = (sure >= low) & (sure < low + 0.2 if low else sure < 0.2)
        assert sure[bin_].mean() == pytest.approx(truth[bin_].mean(), abs=0.1)
    raw = np.clip((1 + model.decision_function(X[200:])) / 2, 1e-3, 1 - 1e-3)
    assert log_loss(truth, probabilities) < log_loss(truth, raw)


def test_calibration_finds_the_slope():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=(20000, 1))
    labels = (rng.random(20000) < 1 / (1 + np.exp(-6.0 * decisions[:, 0]))).astype(int)
    assert calibrate(np.hstack([-decisions, decisions]), labels) == pytest.approx(3.0, rel=0.05)


def test_features_by_name():
    X, y = make_moons(60, noise=0.2, random_state=0)
    frame = pd.DataFrame(X, columns=["v", "u"])
    model = LSSVM(ard=True).fit(frame, y)
    plain = LSSVM(ard=True).fit(X, y)
    assert [model.relevance_["v"], model.relevance_["u"]] == pytest.approx([plain.relevance_[0], plain.relevance_[1]])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X), atol=1e-8)
    given = LSSVM(kernels.RBF({"u": 0.5, "v": 2.0}), ridge=1.0, selection=None).fit(frame, y)
    other = LSSVM(kernels.RBF((2.0, 0.5)), ridge=1.0, selection=None).fit(X, y)
    np.testing.assert_allclose(given.decision_function(frame), other.decision_function(X), atol=1e-12)
    in_sorted_order = LSSVM(kernels.RBF((0.5, 2.0)), ridge=1.0, selection=None).fit(frame, y)
    np.testing.assert_allclose(in_sorted_order.decision_function(frame), other.decision_function(X), atol=1e-12)


def test_stream_goes_on_where_the_batch_ended():
    X, y = make_blobs(120, centers=3, n_features=2, cluster_std=2.0, random_state=1)
    frame = pd.DataFrame(X, columns=["v", "u"])
    labels = np.array(["a", "b", "c"])[y]
    model = LSSVM(ard=True).fit(frame[:100], labels[:100])
    stream = model.to_stream(threshold=1e-10, max_size=None, bias=1e4)
    for x, decisions in zip(frame[100:].to_dict("records"), model.decision_function(frame[100:]), strict=True):
        found = stream.decision_function_one(x)
        assert [2 * found[label] - 1 for label in "abc"] == pytest.approx(list(decisions), abs=1e-3)
    stream.learn_one(x, "d")
    assert set(stream.predict_proba_one(x)) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("kernel", [kernels.Laplacian(1.0), kernels.Polynomial(3), kernels.RBF((1.0, np.inf))])
def test_any_kernel_can_be_selected(kernel):
    X, y = make_moons(40, noise=0.1, random_state=0)
    targets = np.where(y == 1, 1.0, -1.0)[:, None]

    def press(model):
        return leave_one_out(RidgeSystem(model.kernel_(X), model.ridge_, bias=True), targets)[0]

    model = LSSVM(kernel).fit(X, y)
    assert type(model.kernel_) is type(kernel)
    assert press(model) < press(LSSVM(kernel, selection=None).fit(X, y))


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"ridge": 0.0}, ValueError, "ridge must be a finite number > 0 or None, got 0.0"),
        ({"ridge": "a"}, TypeError, "ridge must be a number > 0 or None, got 'a'"),
        ({"kernel": "rbf"}, TypeError, "kernel must be a kernel"),
        ({"kernel": kernels.Linear(), "ard": True}, ValueError, "ard=True needs an RBF kernel"),
        ({"ard": "yes"}, ValueError, "ard must be one of False, True, got 'yes'"),
        ({"selection": "cv"}, ValueError, "selection must be one of 'loo', 'kfold', None, got 'cv'"),
        ({"folds": 1}, ValueError, "folds must be a whole number >= 2, got 1"),
    ],
)
def test_bad_parameters_are_named(parameters, error, text):
    X, y = make_moons(20, random_state=0)
    with pytest.raises(error, match=text):
        LSSVM(**parameters).fit(X, y)


def test_bad_data_is_refused():
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match="two classes, got one class"):
        LSSVM().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="NaN"):
        LSSVM().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="features"):
        LSSVM().fit(X, y).predict(X[:, :1])


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks():
    check_estimator(LSSVM(), on_skip=None)
