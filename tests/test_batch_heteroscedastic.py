"""HKRR, LOOHKRR and the variances from residuals, against slow dense references and the paper's identities."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from streamkernel import datasets, kernels
from streamkernel.batch import HKRR, LOOHKRR, KernelRidge, select
from streamkernel.batch.log_deviation import LogDeviation
from streamkernel.batch.nlpd_search import nlpd, with_ard
from streamkernel.batch.system import RidgeSystem
from streamkernel.batch.variances import VARIANCES, VarianceModel

KERNEL = kernels.RBF(0.5)
MODELS = [HKRR, LOOHKRR]
# Settings: a plain one, k(x, x) ≠ 1, two kernels, length scales per feature.
SETTINGS = [
    (1, {"kernel": KERNEL}),
    (1, {"kernel": 2.5 * kernels.Matern52(0.8), "ridge": 0.3, "noise_ridge": 3.0}),
    (1, {"kernel": kernels.RBF(0.4), "noise_kernel": kernels.RBF(1.0), "noise_ridge": 0.2}),
    (3, {"kernel": kernels.RBF((0.7, 2.0, 5.0)), "ridge": 0.5}),
]


def williams(count=64, seed=0, features=1):
    """Williams' problem, with further features that say nothing."""
    X, y = datasets.Heteroscedastic(seed=seed).arrays(count)
    noise = np.random.default_rng(seed).normal(size=(count, features - 1))
    return np.hstack([X, noise]), y


def grams(model, X):
    return model.mean_.kernel(X), model.log_std_.kernel(X)


def objective(model, X, y, parameters):
    """(5), entry by entry, as a function of (αᵘ, bᵘ, αˢ, bˢ)."""
    gram, noise_gram = grams(model, X)
    n = len(y)
    alpha, bias, noise_alpha, noise_bias = np.split(parameters, [n, n + 1, 2 * n + 1])
    mean, std = gram @ alpha + bias, np.exp(noise_gram @ noise_alpha + noise_bias)
    likelihood = sum(math.log(std[i]) + (mean[i] - y[i]) ** 2 / (2 * std[i] ** 2) for i in range(n))
    penalty = model.ridge_ * alpha @ gram @ alpha + model.noise_ridge * noise_alpha @ noise_gram @ noise_alpha
    return 0.5 * penalty + 0.5 * likelihood


def parameters_of(model):
    return np.concatenate(
        [model.mean_.coefficients, [model.mean_.bias], model.log_std_.coefficients, [model.log_std_.bias]]
    )


def gradient(model, X, y):
    """The derivatives of (5) by all parameters, written out."""
    gram, noise_gram = grams(model, X)
    mean, std = model.mean_(X), np.exp(model.log_std_(X))
    by_mean = (mean - y) / (2 * std**2)
    by_log_std = 0.5 * (1 - (mean - y) ** 2 / std**2)
    return np.concatenate(
        [
            gram @ (model.ridge_ * model.mean_.coefficients + by_mean),
            [by_mean.sum()],
            noise_gram @ (model.noise_ridge * model.log_std_.coefficients + by_log_std),
            [by_log_std.sum()],
        ]
    )


@pytest.mark.parametrize(("features", "setting"), SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_objective_falls_to_a_zero_gradient(features, setting, seed):
    X, y = williams(seed=seed, features=features)
    model = HKRR(**setting).fit(X, y)
    path = model.objective_path_
    assert len(path) == model.n_iter_ > 3
    assert (np.diff(path) <= 1e-13 * (1 + np.abs(path[1:]))).all()
    assert model.gradient_norm_ < 1e-8
    assert np.abs(gradient(model, X, y)).max() < 1e-8
    assert np.mean((y - model.predict(X)) ** 2 / model.predict(X, return_std=True)[1] ** 2) == pytest.approx(
        1, abs=1e-8
    )


def test_gradient_and_objective_are_those_of_equation_5():
    X, y = williams(20)
    model = HKRR(KERNEL, max_iterations=3)
    with pytest.warns(ConvergenceWarning, match="3 iterations"):
        model.fit(X, y)
    at = parameters_of(model)
    numeric = optimize.approx_fprime(at, lambda p: objective(model, X, y, p), 1e-7)
    np.testing.assert_allclose(gradient(model, X, y), numeric, atol=1e-5)
    assert np.abs(numeric).max() > 1e-3  # three iterations are not enough for a zero
    assert model.objective_path_[-1] == pytest.approx(objective(model, X, y, at), abs=1e-9)


def test_no_lower_objective_nearby():
    X, y = williams(24, seed=2)
    model = HKRR(KERNEL).fit(X, y)
    at = parameters_of(model)
    assert objective(model, X, y, at) == pytest.approx(model.objective_path_[-1], abs=1e-9)
    random = np.random.default_rng(0)
    for size in (1e-3, 1e-2):
        for _ in range(50):
            assert objective(model, X, y, at + size * random.normal(size=len(at))) > model.objective_path_[-1]


@pytest.mark.parametrize(("features", "setting"), SETTINGS)
def test_leave_one_out_with_weights_and_bias_is_exact(features, setting):
    """Equation (24) against fits without each sample, the noise held fixed."""
    X, y = williams(40, features=features)
    model = LOOHKRR(**setting).fit(X, y)
    gram, weights = model.mean_.kernel(X), 2 * model.ridge_ * np.exp(2 * model.log_std_(X))
    n = len(y)
    matrix = np.block([[gram + np.diag(weights), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    for i in range(n):
        rest = np.delete(np.arange(n + 1), i)
        solution = np.linalg.solve(matrix[np.ix_(rest, rest)], np.append(np.delete(y, i), 0.0))
        prediction = np.delete(gram[i], i) @ solution[:-1] + solution[-1]
        assert model.loo_mean_[i] == pytest.approx(prediction, abs=1e-10)


@pytest.mark.parametrize(("features", "setting"), SETTINGS)
def test_loohkrr_is_the_fixed_point(features, setting):
    """The mean minimizes (6) for its own noise, the noise (14) for the leave-one-out residuals of its own mean."""
    X, y = williams(features=features, seed=1)
    model = LOOHKRR(**setting).fit(X, y)
    gram, noise_gram = grams(model, X)
    std = np.exp(model.log_std_(X))
    system = RidgeSystem(gram, 2 * model.ridge_ * std**2, bias=True)
    coefficients, bias = system.solve(y)
    np.testing.assert_allclose(model.mean_.coefficients, coefficients, atol=1e-8)
    assert model.mean_.bias == pytest.approx(bias, abs=1e-8)
    loo = system.leave_one_out_residuals(y)
    assert np.mean(loo**2 / std**2) == pytest.approx(1, abs=1e-8)
    slope = model.noise_ridge * model.log_std_.coefficients + 0.5 * (1 - loo**2 / std**2)
    assert np.abs(noise_gram @ slope).max() < 1e-8
    assert (np.abs(loo) >= np.abs(y - model.predict(X))).all()  # the hat matrix lies in [0, 1]


def test_log_deviation_against_a_general_minimizer():
    n = 12
    X, y = williams(n)
    gram, squared, ridge = KERNEL(X), y**2, 0.5

    def loss(parameters):  # (14) times γ, entry by entry
        alpha, bias = parameters[:-1], parameters[-1]
        z = gram @ alpha + bias
        return 0.5 * ridge * alpha @ gram @ alpha + 0.5 * sum(
            z[i] + squared[i] / 2 * math.exp(-2 * z[i]) for i in range(n)
        )

    noise = LogDeviation(gram, ridge, start=1.0)
    noise.fit(squared)
    slow = optimize.minimize(
        loss, np.zeros(n + 1), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15}
    )
    assert noise.loss(squared) == pytest.approx(loss(np.append(noise.coefficients, noise.bias)), abs=1e-12)
    assert noise.loss(squared) <= slow.fun + 1e-12
    np.testing.assert_allclose(noise.log_std, gram @ slow.x[:-1] + slow.x[-1], atol=1e-3)


@pytest.mark.parametrize("start", [1e-4, 1.0, 1e4])
def test_log_deviation_from_any_start(start):
    X, y = williams(50)
    gram = KERNEL(X)
    noise, reference = LogDeviation(gram, 0.1, start), LogDeviation(gram, 0.1, 0.5)
    noise.fit(y**2)
    reference.fit(y**2)
    np.testing.assert_allclose(noise.log_std, reference.log_std, atol=1e-7)


def test_log_deviation_says_when_it_has_not_converged():
    X, y = williams(50)
    noise = LogDeviation(KERNEL(X), 1e-3, 1.0)
    with pytest.warns(ConvergenceWarning, match="LogDeviation has not converged in 1 iterations"):
        noise.fit(y**2, max_iterations=1)


def test_residuals_of_zero_are_no_obstacle():
    squared = np.array([0.0, 1.0, 4.0, 1e-30])
    noise = LogDeviation(np.eye(4), 0.5, 1.0)
    noise.fit(squared)
    assert np.mean(squared / noise.std**2) == pytest.approx(1)


@pytest.mark.parametrize(
    ("weight", "target", "factor"),
    [
        (lambda s, z: s * np.exp(-2 * z), lambda z, b: z - 1 / (2 * b) + 0.5, 1.0),  # above (16): as derived
        (lambda s, z: 2 * s * np.exp(-2 * z), lambda z, b: z - 2 / b + 0.5, math.sqrt(0.5)),  # (16): as printed
    ],
    ids=["derived", "printed"],
)
def test_equation_16_as_printed_is_low_by_the_root_of_two(weight, target, factor):
    """The weighted regressions (15), repeated until they stand still; a large ridge leaves a constant log σ."""
    X, y = williams(100)
    gram, squared, ridge = KERNEL(X), (y - y.mean()) ** 2 + 1e-3, 1e8
    z = np.zeros(100)
    for _ in range(200):
        beta = weight(squared, z)
        alpha, bias = RidgeSystem(gram, ridge / beta, bias=True).solve(target(z, beta))
        z = gram @ alpha + bias
    np.testing.assert_allclose(np.exp(z), factor * math.sqrt(squared.mean()), rtol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_large_noise_ridge_is_homoscedastic(kind):
    X, y = williams()
    model = kind(KERNEL, noise_ridge=1e9).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    residuals = y - (mean if kind is HKRR else model.loo_mean_)
    np.testing.assert_allclose(std, math.sqrt(np.mean(residuals**2)), rtol=1e-6)
    variance = 2 * model.ridge_ * std[0] ** 2
    coefficients, bias = RidgeSystem(KERNEL(X), variance, bias=True).solve(y)
    np.testing.assert_allclose(mean, KERNEL(X) @ coefficients + bias, atol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_shift_and_scale_of_the_targets(kind):
    X, y = williams()
    mean, std = kind(KERNEL).fit(X, y).predict(X, return_std=True)
    shifted_mean, shifted_std = kind(KERNEL).fit(X, y + 100).predict(X, return_std=True)
    np.testing.assert_allclose(shifted_mean, mean + 100, atol=1e-6)
    np.testing.assert_allclose(shifted_std, std, atol=1e-7)
    for unit in (100.0, 1e-3):  # of y
        given = kind(KERNEL, ridge=1.0).fit(X, y).predict(X)
        rescaled = kind(KERNEL, ridge=1.0 / unit**2).fit(X, unit * y).predict(X)
        np.testing.assert_allclose(rescaled, unit * given, atol=1e-7 * unit)
        scaled_mean, scaled_std = kind(KERNEL).fit(X, unit * y).predict(X, return_std=True)
        np.testing.assert_allclose(scaled_mean, unit * mean, atol=1e-7 * unit)
        np.testing.assert_allclose(scaled_std, unit * std, atol=1e-7 * unit)


@pytest.mark.parametrize("kind", MODELS)
def test_loo_noise_is_near_that_of_refits(kind):
    """To first order only: the score is within a quarter of what the training score lacks."""
    X, y = williams(60, seed=3)
    model = kind(KERNEL).fit(X, y)
    means, stds = [], []
    for i in range(60):
        mean, std = clone(model).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1], return_std=True)
        means.append(mean[0])
        stds.append(std[0])
    brute = nlpd(y, means, stds)
    train = nlpd(y, *model.predict(X, return_std=True))
    assert abs(nlpd(y, model.loo_mean_, model.loo_std_) - brute) < 0.25 * (brute - train)
    assert np.corrcoef(np.log(model.loo_std_), np.log(stds))[0, 1] > 0.99


def test_one_mean_system_and_bias():
    X, y = williams()
    assert np.sum(HKRR(KERNEL).fit(X, y).mean_.coefficients) == pytest.approx(0, abs=1e-9)  # (11)


@pytest.mark.parametrize("kind", MODELS)
def test_feature_names_give_length_scales(kind):
    X, y = williams(50, features=2)
    frame = pd.DataFrame(X, columns=["z", "a"])
    named = kind(kernels.RBF({"z": 0.5, "a": 3.0})).fit(frame, y)
    plain = kind(kernels.RBF((0.5, 3.0))).fit(X, y)
    by_sorted_name = kind(kernels.RBF((3.0, 0.5))).fit(frame, y)
    np.testing.assert_allclose(named.predict(frame), plain.predict(X), atol=1e-8)
    np.testing.assert_allclose(by_sorted_name.predict(frame), plain.predict(X), atol=1e-8)


def test_two_ways_of_the_paper_differ_as_it_says():
    """HKRR's noise is too small, LOOHKRR's is not: the mean over a few sets of section 5.2."""
    grid = np.linspace(0.1, 3.0, 30)[:, None]
    truth = datasets.Heteroscedastic()
    ratios = {}
    for kind in MODELS:
        pairs = [kind(KERNEL).fit(*williams(seed=seed)).predict(grid, return_std=True) for seed in range(30)]
        means, stds = np.array(pairs).transpose(1, 0, 2)
        conditional = np.sqrt(np.mean((means - truth.mean(grid)) ** 2, axis=0) + truth.sd(grid) ** 2)
        ratios[kind] = np.mean(stds.mean(axis=0) / conditional)
    assert 0.8 < ratios[HKRR] < 0.95 < ratios[LOOHKRR] < 1.1


# Variances from residuals


@pytest.fixture(scope="module")
def ridge_regression():
    X, y = williams(50)
    system = RidgeSystem(KERNEL(X), 0.1, bias=True)
    coefficients, bias = system.solve(y)
    return X, y - KERNEL(X) @ coefficients - bias, system.leave_one_out_residuals(y)


@pytest.mark.parametrize("kind", VARIANCES)
def test_variances_from_residuals(ridge_regression, kind):
    X, residuals, loo = ridge_regression
    used = loo if kind.startswith("loo") else residuals
    new = np.linspace(0, 3, 7)[:, None]
    variance = VarianceModel(kind, X, residuals, loo, KERNEL, ridge=0.5)
    if kind.endswith("model"):
        second = np.linalg.solve(
            np.block([[KERNEL(X) + 0.5 * np.eye(50), np.ones((50, 1))], [np.ones((1, 50)), np.zeros((1, 1))]]),
            np.append(used**2, 0.0),
        )
        expected = np.maximum(KERNEL(new, X) @ second[:-1] + second[-1], 0.01 * np.mean(used**2))
        assert len(set(variance(new))) > 3
    else:
        expected = np.full(7, np.mean(used**2))
    np.testing.assert_allclose(variance(new), expected, atol=1e-12)


@pytest.mark.parametrize("kind", VARIANCES)
def test_variance_without_one_residual(ridge_regression, kind):
    X, residuals, loo = ridge_regression
    variance = VarianceModel(kind, X, residuals, loo, KERNEL, ridge=0.5, floor=1e-12)
    for i in range(0, 50, 7):
        rest = np.delete(np.arange(50), i)
        without = VarianceModel(kind, X[rest], residuals[rest], loo[rest], KERNEL, ridge=0.5, floor=1e-12)
        smallest = max(without.smallest, variance.smallest)
        assert max(variance.leave_one_out[i], smallest) == pytest.approx(
            max(without(X[i : i + 1])[0], smallest), abs=1e-10
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "bootstrap"}, "variance must be one of 'training', 'loo'.*got 'bootstrap'"),
        ({"ridge": 0.0}, "noise_ridge must be a finite number > 0, got 0.0"),
        ({"floor": -1.0}, "floor must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_variance_arguments(ridge_regression, arguments, message):
    X, residuals, loo = ridge_regression
    with pytest.raises(ValueError, match=message):
        VarianceModel(
            **{"kind": "loo", "samples": X, "residuals": residuals, "loo_residuals": loo, "kernel": KERNEL} | arguments
        )


# Selection


@pytest.mark.parametrize(
    ("kind", "cv"),
    [(HKRR, "loo"), (LOOHKRR, "loo"), (HKRR, 3), (LOOHKRR, KFold(2, shuffle=True, random_state=1))],
    ids=["HKRR-loo", "LOOHKRR-loo", "HKRR-3", "LOOHKRR-splitter"],
)
def test_select_lowers_the_test_nlpd(kind, cv):
    X, y = williams(60, seed=4)
    new_X, new_y = williams(1000, seed=5)
    poor = kind(kernels.RBF(4.0), ridge=1.0)
    best = select(poor, X, y, cv=cv, max_evaluations=10)
    before = nlpd(new_y, *clone(poor).fit(X, y).predict(new_X, return_std=True))
    after = nlpd(new_y, *best.estimator.predict(new_X, return_std=True))
    assert after < before - 0.1
    assert best.evaluations > 80
    assert poor.kernel == kernels.RBF(4.0)
    assert not hasattr(poor, "mean_")


def test_select_finds_the_feature_that_matters():
    X, y = williams(60, seed=4, features=2)
    best = select(LOOHKRR(kernels.RBF(1.0)), X, y, ard=True, max_evaluations=10)
    relevant, irrelevant = best.estimator.kernel.length_scale
    assert irrelevant > 2 * relevant


def test_select_tunes_each_kernel_and_keeps_what_has_no_logarithm():
    X, y = williams(30, features=2)
    start = HKRR(kernels.RBF((0.5, math.inf)), noise_kernel=kernels.RBF(1.0) + kernels.Linear())
    best = select(start, X, y, max_evaluations=20).estimator
    assert best.kernel.length_scale[1] == math.inf
    assert best.kernel.length_scale[0] != 0.5
    assert best.noise_kernel.left.length_scale != 1.0


def test_select_without_search_is_the_grid():
    X, y = williams(30)
    best = select(HKRR(KERNEL), X, y, max_evaluations=0)
    assert best.evaluations == 80
    assert best.estimator.ridge * y.var() in (pytest.approx(v) for v in (0.01, 0.1, 1.0, 10.0))


@pytest.mark.parametrize("cv", ["kfold", "LOO"])
def test_bad_cv(cv):
    with pytest.raises(ValueError, match=f"cv must be 'loo', a number of folds or a splitter, got '{cv}'"):
        select(HKRR(), *williams(20), cv=cv)


def test_with_ard_leaves_other_kernels():
    kernel = kernels.RBF(2.0) * kernels.Linear() + kernels.Matern32((1.0, 2.0))
    assert repr(with_ard(kernel, 2)) == "RBF((2.0, 2.0)) * Linear() + Matern32((1.0, 2.0))"


# Input


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # some checks have noise-free targets
@parametrize_with_checks([HKRR(), LOOHKRR()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": 0.0}, "ridge must be a finite number > 0, got 0.0"),
        ({"noise_ridge": math.nan}, "noise_ridge must be a finite number > 0, got nan"),
        ({"noise_ridge": "1"}, "noise_ridge must be a finite number > 0, got '1'"),
        ({"min_noise": -1}, "min_noise must be a finite number > 0, got -1"),
        ({"tolerance": math.inf}, "tolerance must be a finite number > 0, got inf"),
        ({"max_iterations": 0}, "max_iterations must be a whole number >= 1, got 0"),
        ({"max_iterations": 2.5}, "max_iterations must be a whole number >= 1, got 2.5"),
        ({"kernel": kernels.RBF((1.0, 2.0))}, "2 length scales but the data have 1 features"),
    ],
)
def test_bad_parameters(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        kind(**arguments).fit(*williams(20))


@pytest.mark.parametrize("kind", [*MODELS, KernelRidge])
@pytest.mark.parametrize("name", ["kernel", "noise_kernel"])
def test_what_is_not_a_kernel_is_named(kind, name):
    with pytest.raises(TypeError, match=f"^{name} must be one of streamkernel.kernels or None, got 'rbf'"):
        kind(**{name: "rbf"}).fit(*williams(20))


@pytest.mark.parametrize("kind", MODELS)
def test_constant_targets(kind):
    with pytest.raises(ValueError, match=r"y is constant \(.*3.0.*\)"):
        kind().fit(np.arange(5.0)[:, None], np.full(5, 3.0))


def test_targets_that_can_be_interpolated_are_reported():
    X = np.linspace(-1, 1, 30)[:, None]
    with pytest.warns(ConvergenceWarning, match="the noise falls to min_noise=1e-06"):
        HKRR(kernels.RBF(0.3), ridge=0.01).fit(X, np.sin(5 * X[:, 0]))


def test_a_fixed_point_that_repels_plain_steps_is_reached_by_extrapolation():
    X, y = datasets.Friedman1(noise=1.0, seed=3).arrays(100)
    model = LOOHKRR(kernels.RBF(0.25 * math.sqrt(10)), noise_ridge=0.01).fit(X, (y - y.mean()) / y.std())
    assert model.gradient_norm_ < 1e-8


@pytest.mark.parametrize("kind", [HKRR, LOOHKRR])
def test_a_stream_goes_on_where_the_batch_ended(kind):
    random = np.random.default_rng(0)
    X = random.uniform(0.0, np.pi, (300, 1))
    y = 5.0 + np.sin(2.0 * X[:, 0]) + (0.05 + 0.3 * X[:, 0] / np.pi) * random.normal(size=300)
    model = kind(kernels.RBF(1.0), ridge=0.1, noise_ridge=0.1).fit(X, y)
    stream = model.to_stream()
    grid = np.linspace(0.3, 2.9, 20)
    mean, deviation = model.predict(grid[:, None], return_std=True)
    predicted = [stream.predict_one({0: x}, with_dist=True) for x in grid.tolist()]
    np.testing.assert_allclose([p.mu for p in predicted], mean, atol=2e-3)
    np.testing.assert_allclose([p.sigma for p in predicted], deviation, rtol=0.05)
    exact = model.to_stream(threshold=0.0)
    np.testing.assert_allclose([exact.predict_one({0: x}) for x in grid.tolist()], mean, atol=1e-5)
    stream.learn_one({0: 1.0}, 5.0)
    with pytest.raises(ValueError, match="noise_kernel must be the kernel of the mean"):
        kind(kernels.RBF(1.0), noise_kernel=kernels.RBF(2.0)).fit(X, y).to_stream()
