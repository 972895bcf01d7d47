"""Scores of distributions and intervals, against their definitions and inside river's evaluation."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose, conf, linear_model, preprocessing, proba, utils
from river import metrics as river_metrics
from scipy import integrate, special, stats

from streamkernel import datasets, distributions, metrics


def gaussian(mean=0.0, sd=1.0):
    return proba.Gaussian._from_state(n=1, m=mean, var=sd**2, ddof=0)


class Mixture(proba.base.ContinuousDistribution):
    """Gaussians with weights: a distribution that offers its density and distribution function only."""

    def __init__(self, parts):
        super().__init__(seed=None)
        self.parts = parts

    def __call__(self, x):
        return sum(w * stats.norm.pdf(x, m, s) for w, m, s in self.parts)

    def cdf(self, x):
        return sum(w * stats.norm.cdf(x, m, s) for w, m, s in self.parts)

    @property
    def mode(self):
        return max((m for _, m, _ in self.parts), key=self)

    def update(self, x):
        raise NotImplementedError

    def revert(self, x):
        raise NotImplementedError

    def sample(self):
        raise NotImplementedError

    @property
    def n_samples(self):
        return 0


BIMODAL = Mixture([(0.3, -4.0, 0.1), (0.7, 2.0, 1.5)])
METRICS = [metrics.NLPD(), metrics.CRPS(), metrics.IntervalScore(0.8), metrics.Coverage(0.8)]


def score(metric, y, prediction):
    metric = metric.clone()
    metric.update(y, prediction)
    return metric.get()


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.01, 10))
def test_nlpd_of_a_gaussian(y, mean, sd):
    assert score(metrics.NLPD(), y, gaussian(mean, sd)) == pytest.approx(-stats.norm.logpdf(y, mean, sd), abs=1e-9)


def test_nlpd_of_a_mixture():
    assert score(metrics.NLPD(), 1.0, BIMODAL) == pytest.approx(-math.log(BIMODAL(1.0)))
    assert score(metrics.NLPD(), 1e6, BIMODAL) == math.inf


@pytest.mark.parametrize("y", [-4.05, 1.0, 40.0, 1e6, -1e100])
def test_nlpd_of_a_mixture_where_its_density_underflows(y):
    known = distributions.GaussianMixture(*zip(*BIMODAL.parts, strict=True))
    logs = [math.log(w) + stats.norm.logpdf(y, m, s) for w, m, s in BIMODAL.parts]
    assert score(metrics.NLPD(), y, known) == pytest.approx(-special.logsumexp(logs), rel=1e-12)


def test_nlpd_of_a_mixture_of_one_is_that_of_its_part():
    for y, sd in ((4.0, 0.1), (10.0, 0.1), (0.05, 0.1), (1e-200, 1e-150)):
        one = distributions.GaussianMixture([1.0, 0.0], [0.0, y], [sd, sd])  # and a part that does not count
        assert score(metrics.NLPD(), y, one) == pytest.approx(score(metrics.NLPD(), y, gaussian(0.0, sd)), rel=1e-12)


def test_nlpd_far_out_and_without_variance():
    assert score(metrics.NLPD(), 100.0, gaussian()) == pytest.approx(5000 + 0.5 * math.log(math.tau))
    assert score(metrics.NLPD(), 1.0, gaussian(sd=0.0)) == math.inf


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.01, 10))
def test_crps_of_a_gaussian_is_the_integral(y, mean, sd):
    below = integrate.quad(lambda t: stats.norm.cdf(t, mean, sd) ** 2, mean - 40 * sd, y, points=[mean], limit=500)[0]
    above = integrate.quad(lambda t: stats.norm.sf(t, mean, sd) ** 2, y, mean + 40 * sd, points=[mean], limit=500)[0]
    assert score(metrics.CRPS(), y, gaussian(mean, sd)) == pytest.approx(below + above, abs=1e-6)


def test_crps_of_a_point_is_the_absolute_error():
    assert score(metrics.CRPS(), 3.0, gaussian(1.0, 0.0)) == 2.0


def expected_crps(y, parts):
    """The closed form of Grimit et al. (2006): Σ w A(y − m, s²) − ½ ΣΣ w w' A(m − m', s² + s'²)."""

    def expected_distance(d, s):  # E|N(d, s²)|
        return d * (2 * stats.norm.cdf(d / s) - 1) + 2 * s * stats.norm.pdf(d / s)

    return sum(w * expected_distance(y - m, s) for w, m, s in parts) - 0.5 * sum(
        w * v * expected_distance(m - n, math.hypot(s, t)) for w, m, s in parts for v, n, t in parts
    )


@pytest.mark.parametrize("y", [-50.0, -4.0, 0.0, 3.0, 80.0])
def test_crps_of_a_mixture(y):
    expected = expected_crps(y, BIMODAL.parts)
    assert score(metrics.CRPS(), y, BIMODAL) == pytest.approx(expected, abs=1e-6)
    known = distributions.GaussianMixture(*zip(*BIMODAL.parts, strict=True))
    assert score(metrics.CRPS(), y, known) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("y", [0.2644556, -3.0, 10.0])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_crps_of_a_mixture_with_a_narrow_part_is_the_integral(y, unit):
    weights, means, deviations = (0.76, 0.24), np.array([0.26445563, -0.31392281]), np.array([0.00389138, 2.30308524])
    t = np.linspace(-30.0, 30.0, 2_000_001)
    cdf = sum(w * stats.norm.cdf(t, m, s) for w, m, s in zip(weights, means, deviations, strict=True))
    mixture = distributions.GaussianMixture(weights, unit * means, unit * deviations)
    expected = integrate.trapezoid((cdf - (t >= y)) ** 2, t)
    assert score(metrics.CRPS(), unit * y, mixture) == pytest.approx(unit * expected, rel=1e-3)


def test_general_route_agrees_with_the_gaussian_one():
    same = Mixture([(1.0, 0.5, 2.0)])
    for metric in METRICS:
        for y in (-3.0, 0.4, 9.0):
            assert score(metric, y, same) == pytest.approx(score(metric, y, gaussian(0.5, 2.0)), abs=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("level", [0.001, 0.3, 0.999])
def test_quantile_of_a_mixture(level, scale):
    mixture = Mixture([(w, scale * m, scale * s) for w, m, s in BIMODAL.parts])
    assert mixture.cdf(metrics.quantile(mixture, level)) == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize(
    "form", [lambda a, b: (a, b), lambda a, b: [a, b], conf.interval.Interval], ids=["pair", "list", "river"]
)
def test_interval_score(form):
    metric = metrics.IntervalScore(0.9)
    assert score(metric, 0.5, form(0.0, 2.0)) == pytest.approx(2.0)
    assert score(metric, 2.5, form(0.0, 2.0)) == pytest.approx(2.0 + 2 / 0.1 * 0.5)
    assert score(metric, -1.0, form(0.0, 2.0)) == pytest.approx(2.0 + 2 / 0.1 * 1.0)


@pytest.mark.parametrize("level", [0.5, distributions.LEVEL, 0.999])
def test_the_reach_of_a_normal_interval(level):
    reach = distributions.normal_reach(level)
    assert reach == pytest.approx(stats.norm.interval(level)[1], rel=1e-14)
    assert metrics.central_interval(gaussian(3.0, 2.0), level) == pytest.approx((3.0 - 2.0 * reach, 3.0 + 2.0 * reach))


@pytest.mark.parametrize("level", [0.0, 1.0, "0.9", math.nan])
def test_a_reach_needs_a_probability(level):
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        distributions.normal_reach(level)


def test_interval_score_is_least_for_the_true_quantiles():
    targets = np.random.default_rng(0).normal(size=20_000)
    scores = {}
    for z in (1.2, stats.norm.ppf(0.95), 2.2):
        metric = metrics.IntervalScore(0.9)
        for y in targets:
            metric.update(y, (-z, z))
        scores[z] = metric.get()
    assert min(scores, key=scores.get) == stats.norm.ppf(0.95)


def test_proper_scores_prefer_the_truth():
    targets = np.random.default_rng(1).normal(2.0, 3.0, size=5000)
    for kind in (metrics.NLPD, metrics.CRPS):
        values = []
        for mean, sd in ((2.0, 3.0), (2.0, 2.0), (2.0, 4.5), (3.0, 3.0)):
            metric = kind()
            for y in targets:
                metric.update(y, gaussian(mean, sd))
            values.append(metric.get())
        assert values[0] == min(values)


def test_coverage_is_that_of_the_distribution():
    metric = metrics.Coverage(0.8)
    for y in np.random.default_rng(2).normal(size=5000):
        metric.update(y, gaussian())
    assert metric.get() == pytest.approx(0.8, abs=0.02)
    assert repr(metric).endswith("%")


def test_coverage_near_its_level_is_better():
    exact, much, little = metrics.Coverage(0.5), metrics.Coverage(0.5), metrics.Coverage(0.5)
    for y, a, b, c in ((0.0, 1, 1, 0), (0.0, 0, 1, 0)):
        for metric, wide in ((exact, a), (much, b), (little, c)):
            metric.update(y, (-1.0, 1.0) if wide else (1.0, 2.0))
    assert (exact.get(), much.get(), little.get()) == (0.5, 1.0, 0.0)
    assert exact.is_better_than(much)
    assert exact > little
    assert not much.is_better_than(exact)


# What river asks of a metric


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_river_interface(metric):
    first = metric.clone()
    assert type(first) is type(metric)
    assert first._get_params() == metric._get_params()
    assert not first.bigger_is_better
    assert first.works_with(linear_model.BayesianLinearRegression())
    assert not first.works_with(linear_model.LogisticRegression())
    assert first.works_with_weights
    for y in (0.1, 2.0, -1.0):
        first.update(y, gaussian())
    before = first.get()
    first.update(4.0, gaussian())
    assert first.get() != before
    first.revert(4.0, gaussian())
    assert first.get() == pytest.approx(before)
    assert pickle.loads(pickle.dumps(first)).get() == first.get()
    assert type(first).__name__ in repr(first)


def test_weights_and_rolling_windows():
    metric = metrics.CRPS()
    metric.update(0.0, gaussian(), w=3.0)
    metric.update(2.0, gaussian(), w=1.0)
    alone = [score(metrics.CRPS(), y, gaussian()) for y in (0.0, 2.0)]
    assert metric.get() == pytest.approx(0.75 * alone[0] + 0.25 * alone[1])
    rolling = utils.Rolling(metrics.CRPS, window_size=1)
    rolling.update(0.0, gaussian())
    rolling.update(2.0, gaussian())
    assert rolling.get() == pytest.approx(alone[1])


def test_sum_of_metrics_with_points():
    both = metrics.NLPD() + metrics.OnMean(river_metrics.RMSE())
    both.update(1.0, gaussian(0.5))
    assert both.get() == [pytest.approx(-stats.norm.logpdf(0.5)), 0.5]
    on_mean = both.clone()[1]
    assert on_mean.get() == 0.0
    assert not on_mean.bigger_is_better
    on_mean.update(1.0, BIMODAL)
    assert on_mean.get() == pytest.approx(abs(1.0 - BIMODAL.mode))
    on_mean.revert(1.0, BIMODAL)
    on_mean.update(1.0, conf.interval.Interval(0.0, 1.0))
    on_mean.update(1.0, (1.0, 2.0))
    assert on_mean.get() == pytest.approx(0.5)


# Evaluation


def test_progressive_evaluation_is_the_loop():
    stream = list(datasets.Friedman1(noise=1.0, seed=1).take(300))

    def pipeline():
        return preprocessing.StandardScaler() | linear_model.BayesianLinearRegression()

    metric = metrics.progressive_dist_score(stream, pipeline(), metrics.NLPD() + metrics.Coverage(0.9))
    model, nlpd, coverage = pipeline(), metrics.NLPD(), metrics.Coverage(0.9)
    for x, y in stream:
        prediction = model.predict_one(x, with_dist=True)
        nlpd.update(y, prediction)
        coverage.update(y, prediction)
        model.learn_one(x, y)
    assert metric.get() == [nlpd.get(), coverage.get()]


def test_progressive_evaluation_of_intervals_with_rivers_options(capsys):
    model = conf.RegressionJackknife(preprocessing.StandardScaler() | linear_model.LinearRegression(), 0.9)
    metric = metrics.progressive_dist_score(
        datasets.Friedman1(noise=1.0, seed=1).take(600),
        model,
        metrics.IntervalScore(0.9) + metrics.Coverage(0.9),
        predict={"with_interval": True},
        delay=5,
        print_every=200,
    )
    assert 0.8 < metric.get()[1] < 1.0
    assert capsys.readouterr().out.count("IntervalScore") == 3


def test_models_without_a_distribution_are_named():
    stream = datasets.Friedman1(seed=1).take(5)
    pipeline = preprocessing.StandardScaler() | linear_model.LinearRegression()  # drops the unknown argument
    with pytest.raises(TypeError, match=r"NLPD scores a distribution, got 0\.0: predict with with_dist=True"):
        metrics.progressive_dist_score(stream, pipeline, metrics.NLPD())
    with pytest.raises(TypeError, match="expected an interval, a pair"):
        metrics.progressive_dist_score(stream, pipeline.clone(), metrics.Coverage(0.9))
    with pytest.raises(ValueError, match="not compatible"):
        metrics.progressive_dist_score(stream, pipeline.clone(), river_metrics.Accuracy())


def test_pipelines_are_regressors_for_the_metrics():
    assert metrics.NLPD().works_with(compose.Select(1) | linear_model.BayesianLinearRegression())


# Bad input


@pytest.mark.parametrize("kind", [metrics.IntervalScore, metrics.Coverage])
@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.1, math.nan, "0.9", True, None])
def test_bad_level(kind, level):
    with pytest.raises(ValueError, match="level must be a number between 0 and 1, got"):
        kind(level)


@pytest.mark.parametrize("prediction", [1.0, "ab1", (1.0, 2.0, 3.0), None])
def test_bad_intervals(prediction):
    with pytest.raises(TypeError, match="expected an interval, a pair"):
        metrics.Coverage(0.9).update(0.0, prediction)


@pytest.mark.parametrize("prediction", [(2.0, 1.0), (math.nan, 1.0)])
def test_intervals_the_wrong_way_round(prediction):
    with pytest.raises(ValueError, match="an interval must have lower <= upper"):
        metrics.Coverage(0.9).update(0.0, prediction)


@pytest.mark.parametrize("kind", [metrics.NLPD, metrics.CRPS])
@pytest.mark.parametrize("prediction", [1.0, (0.0, 1.0), None])
def test_bad_distributions(kind, prediction):
    with pytest.raises(TypeError, match=f"{kind.__name__} scores a distribution, got"):
        kind().update(0.0, prediction)


def test_a_target_too_far_to_square_has_no_density() -> None:
    metric = metrics.NLPD()
    metric.update(1e200, proba.Gaussian._from_state(n=1, m=0.0, var=1.0, ddof=0))
    assert metric.get() == math.inf
    far = distributions.GaussianMixture([1.0], [0.0], [1e-60])
    assert far(1e100) == 0.0 and score(metrics.NLPD(), 1e100, far) == math.inf
