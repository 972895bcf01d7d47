"""FLKL: the training criterion of the paper, its slope, the scales it learns."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.datasets import make_blobs, make_friedman1
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from bench.papers.ranks import plot_critical_difference
from streamkernel.batch import FLKL, LSSVM, FLKLRegressor
from streamkernel.batch import first_level as flkl
from streamkernel.batch.first_level import predict_folds, training_criterion
from streamkernel.batch.folds import make_folds
from streamkernel.batch.plots import plot_decision_surface, plot_relevance

RIDGE, PENALTY = 0.3, 2.0


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    return X, np.where(rng.normal(size=(40, 3)) + X[:, :3] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def product():
    """Two classes by the sign of the product of the first two of six features."""
    X = np.random.default_rng(1).normal(size=(240, 6))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")


def dense_gram(theta, X, Z):
    """Eqs. (1) and (2) pair by pair: exp(−Σ θ_r (x_r − z_r)²)."""
    scales = np.broadcast_to(theta, X.shape[1])
    return np.array([[math.exp(-sum(t * (a - b) ** 2 for t, a, b in zip(scales, x, z))) for z in Z] for x in X])


def dense_solve(gram, targets, ridge):
    """Eq. (3): coefficients and bias from one linear system."""
    n = len(gram)
    matrix = np.block([[gram + ridge * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(matrix, np.vstack([targets, np.zeros((1, targets.shape[1]))]))
    return solution[:n], solution[n]


def printed_criterion(theta, X, targets, ridge, penalty):
    """Eq. (5) term by term: misfit, ‖w‖², ‖θ‖²."""
    gram = dense_gram(theta, X, X)
    alpha, bias = dense_solve(gram, targets, ridge)
    misfit = 0.5 * ((targets - gram @ alpha - bias) ** 2).sum()
    return misfit + 0.5 * ridge * np.trace(alpha.T @ gram @ alpha) + 0.5 * penalty * (theta**2).sum()


def printed_slope(theta, X, targets, ridge, penalty):
    """§2.1: −α'(K∘D_r)(Δ + λα/2) + μθ_r, Δ = f − y."""
    gram = dense_gram(theta, X, X)
    alpha, bias = dense_solve(gram, targets, ridge)
    delta = gram @ alpha + bias - targets
    squares = [(X[:, [r]] - X[:, r]) ** 2 for r in range(X.shape[1])]
    terms = [-np.trace(alpha.T @ (gram * D) @ (delta + 0.5 * ridge * alpha)) for D in squares]
    return np.array(terms) + penalty * theta


@pytest.mark.parametrize("theta", [[0.5, 0.1, 1.0, 0.2], [0.0, 0.1, 0.0, 0.2], [0.3, 0.3, 0.3, 0.3]])
def test_value_and_slope_are_those_of_the_paper(problem, theta):
    X, targets = problem
    theta = np.array(theta)
    value, slope = training_criterion(theta, X, targets, RIDGE, PENALTY)
    assert value == pytest.approx(printed_criterion(theta, X, targets, RIDGE, PENALTY), rel=1e-12)
    np.testing.assert_allclose(slope, printed_slope(theta, X, targets, RIDGE, PENALTY), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("theta", [[0.5, 0.1, 1.0, 0.2], [0.4]], ids=["ARD", "RBF"])
def test_slope_is_finite_difference(problem, theta):
    X, targets = problem
    theta = np.array(theta)

    def value(t):
        return training_criterion(t, X, targets, RIDGE, PENALTY)[0]

    numeric = (optimize.approx_fprime(theta, value, 1e-6) + optimize.approx_fprime(theta, value, -1e-6)) / 2
    np.testing.assert_allclose(training_criterion(theta, X, targets, RIDGE, PENALTY)[1], numeric, rtol=1e-6, atol=1e-6)


def test_equal_scales_are_the_isotropic_kernel(problem):
    X, targets = problem
    one, one_slope = training_criterion(np.array([0.3]), X, targets, RIDGE, 0.0)
    four, four_slope = training_criterion(np.full(4, 0.3), X, targets, RIDGE, 0.0)
    assert one == pytest.approx(four, rel=1e-13)
    assert one_slope[0] == pytest.approx(four_slope.sum(), rel=1e-12)


def test_learned_scales_are_a_constrained_minimum(product, monkeypatch):
    X, y = product
    targets = np.where(y == "same", 1.0, -1.0)[:, None]
    start, ridge = np.full(6, 0.1), 3.0
    monkeypatch.setattr(flkl, "TOLERANCE", 1e-13)
    theta = flkl.learn_scales(start, X, targets, ridge, PENALTY)
    value, slope = training_criterion(theta, X, targets, ridge, PENALTY)
    assert value < training_criterion(start, X, targets, ridge, PENALTY)[0]
    assert (theta >= 0).all()
    assert (theta == 0).any(), "irrelevant features get exact zeros"
    np.testing.assert_allclose(slope[theta > 0], 0.0, atol=1e-3)
    assert (slope[theta == 0] >= 0).all()
    assert theta[:2].min() > 5 * theta[2:].max()


def test_predictions_of_folds_are_those_of_models_without_them(problem):
    X, targets = problem
    folds = make_folds(40, 4, 0)
    thetas = [np.array([0.1 * (i + 1)]) for i in range(4)]
    found = predict_folds(thetas, X, targets, RIDGE, folds).predictions
    for theta, (fold, *_) in zip(thetas, folds, strict=True):
        kept = [i for i in range(40) if i not in fold]
        alpha, bias = dense_solve(dense_gram(theta, X[kept], X[kept]), targets[kept], RIDGE)
        np.testing.assert_allclose(found[fold], dense_gram(theta, X[fold], X[kept]) @ alpha + bias, atol=1e-12)


def test_relevance_and_error_against_one_scale(product):
    X, y = product
    learned, common = FLKL().fit(X[:120], y[:120]), LSSVM().fit(X[:120], y[:120])
    assert sorted(learned.relevance_, key=learned.relevance_.get)[-2:] in ([0, 1], [1, 0])
    assert learned.score(X[120:], y[120:]) > common.score(X[120:], y[120:]) + 0.03
    assert learned.ridge_ > 0
    assert learned.penalty_ > 0
    np.testing.assert_array_equal(learned.predict(X), learned.classes_[(learned.decision_function(X) > 0).astype(int)])
    again = FLKL(ridge=learned.ridge_, penalty=learned.penalty_).fit(X[:120], y[:120])
    assert again.ridge_ == learned.ridge_
    assert again.penalty_ == learned.penalty_


def test_one_parameter_given_the_other_chosen(product):
    X, y = product
    assert FLKL(ridge=0.5, folds=2).fit(X[:80], y[:80]).ridge_ == pytest.approx(0.5)
    assert FLKL(penalty=3.0, folds=2).fit(X[:80], y[:80]).penalty_ == pytest.approx(3.0)


def test_auto_is_one_of_its_two_candidates(product):
    X, y = product
    learned, auto = FLKL().fit(X[:100], y[:100]), FLKL(ard="auto").fit(X[:100], y[:100])
    assert auto.outer_loss_ == learned.outer_loss_
    assert flkl.learned_is_better(auto.outer_loss_)
    np.testing.assert_array_equal(auto.decision_function(X), learned.decision_function(X))

    rng = np.random.default_rng(3)  # every feature matters alike: one scale is the better model
    labels = np.repeat([-1, 1], 40)
    Z = rng.normal(size=(80, 8)) + 0.5 * labels[:, None]
    auto, common = FLKL(ard="auto").fit(Z, labels), LSSVM().fit(Z, labels)
    assert not flkl.learned_is_better(auto.outer_loss_)
    assert auto.penalty_ == 0.0
    np.testing.assert_allclose(auto.decision_function(Z), common.decision_function(Z), atol=1e-6)


def test_auto_needs_better_targets_and_better_decisions():
    losses = {"common": 0.5, "learned": 0.4, "standard error": 0.05}
    assert flkl.learned_is_better(losses)  # regression: no decisions
    assert not flkl.learned_is_better(losses | {"standard error": 0.2})
    decisions = {"learned wrong": 0.1, "common wrong": 0.2, "wrong standard error": 0.04}
    assert flkl.learned_is_better(losses | decisions)
    assert not flkl.learned_is_better(losses | decisions | {"standard error": 0.2})
    assert not flkl.learned_is_better(losses | decisions | {"wrong standard error": 0.06})


def test_wrong_decisions_are_those_of_the_held_out_samples(product):
    X, y = product
    found = flkl.first_level(X[:80], np.where(y[:80] == y[0], 1.0, -1.0)[:, None], True, 0.3, 1.0, 5, 0, classify=True)
    wrong = np.mean((found.held_out.predictions[:, 0] > 0.0) != (y[:80] == y[0]))
    assert found.losses["learned wrong"] == wrong > 0.0
    assert FLKL(ridge=0.3, penalty=1.0).fit(X[:80], y[:80]).outer_loss_["learned wrong"] == wrong


def test_multiclass_shares_the_kernel():
    X, y = make_blobs(90, centers=3, n_features=2, random_state=1)
    X = StandardScaler().fit_transform(np.hstack([X, np.random.default_rng(0).normal(size=(90, 2))]))
    model = FLKL(folds=3).fit(X, y)
    assert model.decision_function(X).shape == (90, 3)
    assert model.score(X, y) > 0.9
    assert min(model.relevance_[0], model.relevance_[1]) > max(model.relevance_[2], model.relevance_[3])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_probabilities_come_from_held_out_decisions(product):
    X, y = product
    model = FLKL().fit(X[:120], y[:120])
    sure = model.predict_proba(X[120:]).max(axis=1)
    right = model.predict(X[120:]) == y[120:]
    assert sure.mean() == pytest.approx(right.mean(), abs=0.06)


def test_regression_finds_the_relevant_features():
    X, y = make_friedman1(150, n_features=10, noise=0.1, random_state=0)
    Z = StandardScaler().fit_transform(X)
    model = FLKLRegressor(folds=3).fit(Z[:100], 1e3 * y[:100] + 5e4)
    assert sorted(sorted(model.relevance_, key=model.relevance_.get)[-5:]) == [0, 1, 2, 3, 4]
    common = FLKLRegressor(ard=False, folds=3).fit(Z[:100], y[:100])
    assert 1 - model.score(Z[100:], 1e3 * y[100:] + 5e4) < 0.5 * (1 - common.score(Z[100:], y[100:]))
    assert FLKLRegressor(folds=3).fit(Z[:100], y[:100]).penalty_ == pytest.approx(model.penalty_, rel=1e-3)
    assert FLKLRegressor(ard=False, ridge=0.1, penalty=1.0).fit(Z[:50], np.full(50, 3.0)).predict(
        Z[:2]
    ) == pytest.approx(3)


def test_features_by_name(product):
    X, y = product
    frame = pd.DataFrame(X[:80], columns=list("fedcba"))
    model = FLKL(ridge=0.3, penalty=1.0).fit(frame, y[:80])
    assert set(sorted(model.relevance_, key=model.relevance_.get)[-2:]) == {"f", "e"}
    plain = FLKL(ridge=0.3, penalty=1.0).fit(X[:80], y[:80])
    np.testing.assert_allclose(model.decision_function(frame), plain.decision_function(X[:80]), atol=1e-10)


def test_streams_go_on_where_the_batch_ended(product):
    X, y = product
    target = 1e3 * X[:, 0] + 5e4
    regressor = FLKLRegressor(ridge=0.1, penalty=1.0).fit(X[:80], target[:80])
    stream = pickle.loads(pickle.dumps(regressor.to_stream(threshold=1e-10, max_size=None, bias=1e4)))
    classifier = FLKL(ridge=0.3, penalty=1.0).fit(X[:80], y[:80])
    classes = classifier.to_stream()
    samples = [dict(enumerate(x)) for x in X[80:].tolist()]
    found = [stream.predict_one(x) for x in samples]
    np.testing.assert_allclose(found, regressor.predict(X[80:]), rtol=1e-4)
    agree = np.mean(
        [classes.predict_one(x) == label for x, label in zip(samples, classifier.predict(X[80:]), strict=True)]
    )
    assert agree > 0.97
    stream.learn_one(samples[0], 5e4)


@pytest.mark.parametrize("kind", [FLKL, FLKLRegressor])
@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ({"ridge": -1.0}, ValueError, "ridge must be a finite number > 0 or None, got -1.0"),
        ({"penalty": 0}, ValueError, "penalty must be a finite number > 0 or None, got 0"),
        ({"penalty": "x"}, TypeError, "penalty must be a number > 0 or None, got 'x'"),
        ({"ard": "both"}, ValueError, "ard must be one of True, False, 'auto', got 'both'"),
        ({"folds": 2.5}, ValueError, "folds must be a whole number >= 2, got 2.5"),
    ],
)
def test_bad_parameters_are_named(kind, parameters, error, text):
    with pytest.raises(error, match=text):
        kind(**parameters).fit(np.arange(20.0).reshape(10, 2), [0, 1] * 5)


def test_bad_data_is_refused():
    X = np.arange(20.0).reshape(10, 2)
    with pytest.raises(ValueError, match="two classes"):
        FLKL().fit(X, np.ones(10))
    with pytest.raises(ValueError, match="infinity"):
        FLKL().fit(np.where(X > 5, np.inf, X), [0, 1] * 5)
    with pytest.raises(ValueError, match="continuous"):
        FLKL().fit(X, np.linspace(0.0, 1.0, 10))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [FLKL(ridge=0.1, penalty=1.0, folds=2), FLKLRegressor(ridge=0.1, penalty=1.0, folds=2)]
)
def test_scikit_learn_checks(model):
    check_estimator(model, on_skip=None)


def test_plots(product, tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    first, second, third = figure.subplots(1, 3)
    X, y = product
    model = FLKL(ridge=0.3, penalty=1.0).fit(X[:60, :2], y[:60])
    plot_relevance(first, [model.relevance_, model.relevance_])
    assert (first.get_xlabel(), first.get_ylabel()) == ("feature", "θ")
    plot_decision_surface(second, model, X[:60, :2], y[:60], resolution=20)
    plot_critical_difference(third, {"a": 1.2, "b": 1.9, "c": 2.9}, 0.8)
    figure.savefig(tmp_path / "plots.png")
    with pytest.raises(ValueError, match="at least one fit"):
        plot_relevance(first, [])
    with pytest.raises(ValueError, match="same features"):
        plot_relevance(first, [{0: 1.0}, {1: 1.0}])
    with pytest.raises(ValueError, match=r"two features to be drawn, got shape \(240, 6\)"):
        plot_decision_surface(second, model, X, y)
    with pytest.raises(ValueError, match="at least two methods"):
        plot_critical_difference(third, {"a": 1.0}, 0.8)
