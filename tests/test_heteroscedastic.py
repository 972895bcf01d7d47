"""Predictive distributions of streaming learners: calibration, input-dependent noise, outliers, conformal coverage."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import reference
from river import checks, conf, preprocessing

from streamkernel import KAAR, KRLS, KRR, AdaptiveConformal, HeteroscedasticKRLS, datasets
from streamkernel.core import noise
from streamkernel.kernels import RBF, Matern52, Polynomial
from streamkernel.metrics import NLPD, Coverage, IntervalScore


def scores(model, X, y, skip, learn=None):
    """NLPD, interval score and coverage of predictions made before learning, after `skip` samples."""
    density, width, coverage = NLPD(), IntervalScore(0.9), Coverage(0.9)
    for t, x in enumerate(X.tolist()):
        sample = dict(enumerate(x))
        if t >= skip:
            distribution = model.predict_one(sample, with_dist=True)
            for metric in (density, width, coverage):
                metric.update(y[t], distribution)
        model.learn_one(sample, (y if learn is None else learn)[t])
    return density.get(), width.get(), coverage.get()


@pytest.fixture(scope="module")
def williams():
    data = datasets.Heteroscedastic(seed=3)
    X, y = data.arrays(2400)
    sd = data.sd(X)[400:]
    errors = (y - data.mean(X))[400:] / sd
    oracle = float(np.mean(0.5 * np.log(2.0 * math.pi * sd**2) + 0.5 * errors**2))
    return X, y, oracle


def test_williams_stream(williams):
    X, y, oracle = williams
    density, _, coverage = scores(HeteroscedasticKRLS(RBF(0.5)), X, y, 400)
    assert density <= oracle + 0.027  # .36 where the oracle has .333
    assert 0.88 <= coverage <= 0.92
    constant = scores(KRLS(RBF(0.5), ridge=0.1), X, y, 400)[0]
    assert constant > density + 0.4


def test_gross_outliers_cost_little(williams):
    X, y, _ = williams
    rng = np.random.default_rng(0)
    spoiled = y + (rng.random(len(y)) < 0.01) * rng.normal(0.0, 20.0, len(y))
    clean = scores(HeteroscedasticKRLS(RBF(0.5)), X, y, 400)[0]
    assert scores(HeteroscedasticKRLS(RBF(0.5)), X, y, 400, learn=spoiled)[0] < clean + 0.1


def test_constant_noise_costs_nothing():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (3000, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(3000)
    constant = scores(KRLS(RBF(0.5), ridge=0.1), X, y, 1000)[0]
    assert abs(scores(HeteroscedasticKRLS(RBF(0.5)), X, y, 1000)[0] - constant) < 0.01


MODELS = {
    "KRLS": lambda: KRLS(RBF(0.5), ridge=0.1),
    "KRLS, flat": lambda: KRLS(RBF(0.5)),
    "KRR, exact window": lambda: KRR(RBF(0.5), ridge=0.1, threshold=None, max_size=150),
    "KAAR": lambda: KAAR(RBF(0.5), ridge=0.1),
    "HeteroscedasticKRLS": lambda: HeteroscedasticKRLS(RBF(0.5)),
}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("name", MODELS)
def test_every_learner_is_calibrated_whatever_the_unit_of_the_target(name, scale):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2.0, 2.0, (1500, 1))
    y = scale * (np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(1500))
    assert 0.87 <= scores(MODELS[name](), X, y, 300)[2] <= 0.93


def test_intervals_are_those_of_the_distribution():
    model = KRLS(RBF(1.0), ridge=0.1)
    for t in range(50):
        model.learn_one({"x": t / 10}, math.sin(t / 10))
    distribution = model.predict_one({"x": 9.0}, with_dist=True)
    interval = model.predict_one({"x": 9.0}, with_interval=True, interval_level=0.95)
    assert interval.center == pytest.approx(distribution.mu)
    assert interval.width == pytest.approx(2.0 * 1.959964 * distribution.sigma, rel=1e-6)
    with pytest.raises(ValueError, match=r"interval_level must be .* got 1\.5"):
        model.predict_one({"x": 9.0}, with_interval=True, interval_level=1.5)


def test_far_away_the_prior_returns():
    for model in (KRLS(2.0 * RBF(1.0), ridge=0.1), HeteroscedasticKRLS(2.0 * RBF(1.0), ridge=0.1)):
        assert model.predict_one({"x": 0.0}, with_dist=True).sigma == pytest.approx(math.sqrt(2.0))
        rng = np.random.default_rng(3)
        for x in rng.uniform(-1.0, 1.0, 200).tolist():
            model.learn_one({"x": x}, math.sin(3.0 * x) + 0.1 * rng.standard_normal())
        far, near = (model.predict_one({"x": x}, with_dist=True) for x in (100.0, 0.1))
        assert far.mu == 0.0
        assert far.sigma > 2.0 * near.sigma


@pytest.mark.parametrize("kernel", [2.5 * RBF(1.5) + 0.3, Matern52((1.0, 2.0, 1.0, 3.0, 1.0)), Polynomial(2)], ids=repr)
def test_with_fixed_noise_the_stream_is_the_weighted_batch_solve(kernel):
    rng = np.random.default_rng(4)
    X, ridge = rng.normal(size=(80, 5)), 0.2
    relative = rng.uniform(0.2, 4.0, 80)
    y = X[:, 0] * X[:, 1] + rng.standard_normal(80)
    model = KRLS(kernel, threshold=1e-13, ridge=ridge)
    for x, target, r in zip(X.tolist(), y.tolist(), relative.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target, w=1.0 / r)
    A = kernel(X) + ridge * np.diag(relative)
    for x in rng.normal(size=(20, 5)):
        column = kernel(X, x[None])[:, 0]
        mean, residual, explained = model._model.predict_variance(dict(enumerate(x.tolist())))
        assert mean == pytest.approx(column @ np.linalg.solve(A, y), rel=1e-8, abs=1e-8)
        expected = kernel(x[None])[0, 0] - column @ np.linalg.solve(A, column)
        assert residual + ridge * explained == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("noise_ridge", [0.05, 1.0])
@pytest.mark.parametrize(
    ("forgetting", "forget"), [(1.0, "prior"), (0.99, "prior"), (0.99, "walk"), (0.97, "prior"), (0.97, "walk")]
)
def test_both_recursions_equal_dense_filters(noise_ridge, forgetting, forget):
    rng = np.random.default_rng(8)
    X = rng.uniform(-2.0, 2.0, (160, 2))
    y = np.sin(2.0 * X[:, 0]) + np.exp(X[:, 1] - 1.0) * rng.standard_normal(160)
    y[[60, 90]] += [30.0, -200.0]  # beyond the cap
    weights = rng.uniform(0.5, 2.0, 160)
    kernel, threshold = RBF(1.0), 0.05
    dense = reference.NoiseFilter(0.1, noise_ridge, 12.0, forgetting, forget == "walk")
    model = HeteroscedasticKRLS(kernel, threshold, 0.1, noise_ridge, forgetting=forgetting, forget=forget)
    projection = reference.Projection(kernel(X), threshold)
    for t, x in enumerate(X.tolist()):
        size, joined = projection.sizes[t], t in projection.indices
        z = projection.Z[t, :size]
        dense.step(z, projection.residuals[t], joined, y[t], weights[t])
        model.learn_one(dict(enumerate(x)), y[t], weights[t])
        assert model.size == size
        found = model.recursion.model.weights[:, :size]
        np.testing.assert_allclose(found[0], dense.mean.mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found[1], dense.logarithm, rtol=1e-8, atol=1e-8)
    assert model.noise_variance == pytest.approx(dense.sum / dense.weight, rel=1e-8)


@pytest.mark.parametrize("variance", [1e-6, 0.1, 3.0, 50.0, 120.0, 1e4, 1e8])
@pytest.mark.parametrize("square", [0.0, 1e-30, 1e-3, 0.01, 1.0, 12.0, 1e6])
def test_the_mode_solves_its_equation(variance, square):
    mode = getattr(noise._mode, "py_func", noise._mode)
    d = mode(variance, square)
    if square == 0.0:
        assert d == -0.5 * variance
    elif variance <= 100.0:
        assert d == pytest.approx(0.5 * variance * (square * math.exp(-d) - 1.0), abs=1e-9)
    else:  # the equation in logarithms
        assert math.log(d + 0.5 * variance) + d == pytest.approx(math.log(0.5 * variance * square), abs=1e-9)


def test_both_recursions_survive_pruning_forgetting_and_checkpoints():
    X, y = datasets.Heteroscedastic(seed=5).arrays(600)
    model = HeteroscedasticKRLS(RBF(0.3), forgetting=0.995, max_size=9)
    model.learn_many(X[:300], y[:300])
    assert model.size == 9
    copies = [HeteroscedasticKRLS.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        for x, target in zip(X[300:, 0].tolist(), y[300:].tolist(), strict=True):
            each.learn_one({0: x}, target)
    for each in copies:
        assert each.to_bytes() == model.to_bytes()
    many = HeteroscedasticKRLS(RBF(0.3), forgetting=0.995, max_size=9)
    many.learn_many(X, y)
    np.testing.assert_allclose(many.predict_many(X[:50]), model.predict_many(X[:50]), atol=1e-9)
    sds = [many.predict_one({0: x}, with_dist=True).sigma for x in (0.6, 2.5)]
    assert all(math.isfinite(sd) and sd > 0.0 for sd in sds)


@pytest.mark.parametrize(("forget", "forgetting"), [("prior", 0.99), ("walk", 0.9995)])
def test_the_noise_is_tracked(forget, forgetting):
    """Where the noise was small it becomes large, and the reverse."""
    rng = np.random.default_rng(6)
    model = HeteroscedasticKRLS(RBF(0.5), forgetting=forgetting, forget=forget)
    for phase in range(2):
        for x in rng.uniform(-1.0, 1.0, 1500).tolist():
            sd = 0.05 if (x > 0.0) == bool(phase) else 0.5
            model.learn_one({"x": x}, x + sd * rng.standard_normal())
        low, high = (model.predict_one({"x": x}, with_dist=True).sigma for x in ((0.6, -0.6) if phase else (-0.6, 0.6)))
        assert low < 0.5 * high


# Against river's own intervals ----------------------------------------------------------------------------------------


def jackknife_scores(model, X, y, skip):
    """The same scores of river's jackknife around a model: its interval, read as a Gaussian of the same width."""
    wrapped = conf.RegressionJackknife(model, confidence_level=0.9)
    total, density, count = 0.0, 0.0, 0
    for t, x in enumerate(X.tolist()):
        sample = dict(enumerate(x))
        if t >= skip:
            interval = wrapped.predict_one(sample, with_interval=True)
            lower, upper = interval.lower, interval.upper
            total += upper - lower + 20.0 * (max(lower - y[t], 0.0) + max(y[t] - upper, 0.0))
            sd = max((upper - lower) / 2.0 / 1.6448536, 1e-12)
            density += 0.5 * math.log(2.0 * math.pi * sd**2) + 0.5 * ((y[t] - interval.center) / sd) ** 2
            count += 1
        wrapped.learn_one(sample, y[t])
    return density / count, total / count


def drifting():
    rng = np.random.default_rng(7)
    X = rng.uniform(-2.0, 2.0, (2500, 1))
    t = np.arange(2500)
    sd = 0.05 + 0.3 * (X[:, 0] > 0.0) * (1.0 + np.sin(t / 400.0))
    return X, np.sin(2.0 * X[:, 0] + t / 500.0) + sd * rng.standard_normal(2500)


def table(data):
    X, y = data.arrays()
    order = np.random.default_rng(8).permutation(len(X))[:2000]
    X, y = X[order], y[order]
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    ("name", "file"), [("drifting", None), ("Abalone", "abalone.csv"), ("BostonHousing", "boston.csv")]
)
def test_better_than_the_jackknife_around_the_same_model(name, file, data):
    if file is None:
        X, y = drifting()
        options = {"forgetting": 0.995, "ridge": 0.1}
    else:
        data(file)
        X, y = table(getattr(datasets, name)())
        options = {"ridge": 0.3, "threshold": 1e-2}
    kernel = RBF(math.sqrt(X.shape[1]))
    density, width, _ = scores(HeteroscedasticKRLS(kernel, **options), X, y, 100)
    river_density, river_width = jackknife_scores(KRLS(kernel, **options), X, y, 100)
    assert density < river_density
    assert width < river_width


# Adaptive conformal intervals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("forgetting", [1.0, 0.995])
@pytest.mark.parametrize("kind", [KRLS, HeteroscedasticKRLS])
def test_coverage_holds_in_every_window_while_the_stream_drifts(kind, forgetting):
    rng = np.random.default_rng(9)
    model = AdaptiveConformal(kind(RBF(0.5), ridge=0.1, forgetting=forgetting), confidence_level=0.9)
    hits = []
    for t in range(6000):
        x = rng.uniform(-2.0, 2.0)
        mean = math.sin(2.0 * x) if t < 2500 else 1.0 - math.sin(2.0 * x)  # an abrupt drift
        sd = 0.1 + 0.2 * abs(x)
        if t >= 4000:  # a gradual one
            mean, sd = mean + (t - 4000) / 1000 * math.cos(x), sd * (1.0 + (t - 4000) / 1000)
        y = mean + sd * rng.standard_normal()
        hits.append(y in model.predict_one({0: x}, with_interval=True))
        model.learn_one({0: x}, y)
    windows = np.convolve(hits, np.ones(1000) / 1000.0, mode="valid")
    assert windows.min() >= 0.86
    assert windows.max() <= 0.94


def test_a_conformal_model_is_restored_bit_for_bit():
    rng = np.random.default_rng(10)
    model = AdaptiveConformal(KRLS(RBF(1.0), ridge=0.1), confidence_level=0.8, rate=0.05, window_size=50)
    x, y = rng.normal(size=200).tolist(), rng.normal(size=200).tolist()
    for a, b in zip(x[:120], y[:120], strict=True):
        model.learn_one({"a": a}, b)
    restored = AdaptiveConformal.from_bytes(model.to_bytes())
    for each in (model, restored):
        for a, b in zip(x[120:], y[120:], strict=True):
            each.learn_one({"a": a}, b)
    assert restored.to_bytes() == model.to_bytes()
    assert restored.predict_one({"a": 0.1}) == model.predict_one({"a": 0.1})


@pytest.mark.parametrize("rate", [0.02, 0.5])
@pytest.mark.parametrize("stream", ["usual", "bounded adversary", "escalating adversary"])
def test_the_share_of_misses_is_what_the_theorem_says(stream, rate):
    rng = np.random.default_rng(6)
    model = AdaptiveConformal(KRLS(RBF(1.0), ridge=0.1), confidence_level=0.9, rate=rate, window_size=50)
    first, misses = model._miss_rate, 0
    count = 15 if stream == "escalating adversary" else 400
    for _ in range(count):
        x = {"a": float(rng.normal())}
        interval = model.predict_one(x, with_interval=True)
        y = float(rng.normal())
        if stream != "usual":
            y = interval.upper + 0.1 * interval.width
        if stream == "bounded adversary":
            y = min(y, 3.0)
        misses += y not in interval
        model.learn_one(x, y)
    assert misses / count == pytest.approx(0.1 + (first - model._miss_rate) / (rate * count), abs=1e-9)
    if stream == "escalating adversary":
        assert misses == count
    else:
        assert abs(misses / count - 0.1) <= 1.5 / (rate * count)


def test_an_interval_grows_while_it_keeps_missing_and_stays_finite():
    model = AdaptiveConformal(KRLS(RBF(1.0), ridge=0.1), confidence_level=0.9, rate=0.5, window_size=10)
    widths = []
    for t in range(12):
        model.learn_one({"a": 0.0}, 10.0**t)
        widths.append(model._reach())
    assert max(widths) > 5.0
    assert all(map(math.isfinite, widths))
    model._miss_rate = 1.5
    assert model.predict_one({"a": 0.0}, with_interval=True).width == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaptiveConformal(KRLS(), confidence_level=0.0), "level must be"),
        (lambda: AdaptiveConformal(KRLS(), rate=2.0), "rate must be"),
        (lambda: AdaptiveConformal(KRLS(), window_size=0), "window_size must be"),
        (lambda: HeteroscedasticKRLS(ridge=0.0), "ridge must be a number > 0"),
        (lambda: HeteroscedasticKRLS(noise_ridge=-1.0), "noise_ridge must be"),
        (lambda: HeteroscedasticKRLS(cap=0.5), "cap must be"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("y", [math.nan, "x", 1e200])
def test_bad_targets_change_nothing(y):
    model = HeteroscedasticKRLS(RBF(1.0))
    model.learn_one({"a": 1.0}, 2.0)
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError), match="y"):
        model.learn_one({"a": 1.0}, y)
    assert model.to_bytes() == before


RIVER = [
    HeteroscedasticKRLS(),
    HeteroscedasticKRLS(RBF(10.0), max_size=20, forgetting=0.99),
    AdaptiveConformal(KRLS()),
    preprocessing.StandardScaler() | HeteroscedasticKRLS(),
    AdaptiveConformal(preprocessing.StandardScaler() | KRLS(ridge=0.1)),
]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{model}-{check.__name__}-{number}")
        for model in RIVER
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_river(model, check):
    check(model.clone())
