"""Scores of predictive distributions and intervals, as river metrics.

`NLPD` and `CRPS` take river distributions, as `predict_one(x, with_dist=True)` returns them. `IntervalScore` and
`Coverage` take intervals, river's `conf.Interval` or a pair of numbers, and also distributions, whose central interval
they score. river's own evaluation asks a model for a number; `progressive_dist_score` is the same loop with
distributions or intervals.

>>> from river import linear_model, preprocessing
>>> from streamkernel import datasets, metrics

>>> model = preprocessing.StandardScaler() | linear_model.BayesianLinearRegression()
>>> metric = metrics.NLPD() + metrics.CRPS() + metrics.Coverage(0.9)
>>> metrics.progressive_dist_score(datasets.Friedman1(noise=1.0, seed=1).take(500), model, metric)
NLPD: ...
CRPS: ...
Coverage: ...

"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river import base, evaluate, proba
from river import metrics as river_metrics
from river.metrics.base import MeanMetric, RegressionMetric, WrapperMetric
from river.proba.base import ContinuousDistribution as Distribution
from scipy import integrate

from .deprecation import former_attribute, formerly
from .distributions import LEVEL, GaussianMixture, central_interval, check_level, point, quantile

__all__ = [
    "CRPS",
    "NLPD",
    "Coverage",
    "IntervalScore",
    "OnMean",
    "central_interval",
    "point",
    "progressive_dist_score",
    "quantile",
]

# CRPS by integration of a distribution function: the probability left out on each side.
TAIL = 1e-10


class NLPD(MeanMetric, RegressionMetric):
    """The mean negative log predictive density: −log p(y).

    For a Gaussian ½ log(2πσ²) + (y − μ)²/(2σ²). Infinite as soon as one target has density zero, as under a Gaussian
    without variance.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel import metrics

    >>> metric = metrics.NLPD()
    >>> standard = proba.Gaussian._from_state(n=1, m=0.0, var=1.0, ddof=0)
    >>> for y in (0.0, 1.0):
    ...     metric.update(y, standard)
    >>> metric
    NLPD: 1.168939

    """

    def _eval(self, y_true: float, y_pred: Distribution) -> float:
        _check_distribution(self, y_pred)
        if isinstance(y_pred, proba.Gaussian | GaussianMixture):
            try:
                return float(-y_pred.log_pdf(y_true))
            except OverflowError:  # of the squared distance
                return math.inf
        density = float(y_pred(y_true))
        return -math.log(density) if density > 0.0 else math.inf


class CRPS(MeanMetric, RegressionMetric):
    """The mean continuous ranked probability score, ∫ (F(t) − 1{y ≤ t})² dt.

    It has the units of y, and is the absolute error where the distribution is one point. In closed form for a Gaussian,
    σ(z(2Φ(z) − 1) + 2φ(z) − 1/√π) with z = (y − μ)/σ, and for a mixture of Gaussians; for any other distribution by
    integration of its `cdf`.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel import metrics

    >>> metric = metrics.CRPS()
    >>> metric.update(0.0, proba.Gaussian._from_state(n=1, m=0.0, var=1.0, ddof=0))
    >>> metric
    CRPS: 0.233695

    References
    ----------
    [^1]: Gneiting, T. and Raftery, A.E., 2007. Strictly proper scoring rules, prediction, and estimation. Journal of
    the American Statistical Association, 102(477), pp.359-378.
    [^2]: Grimit, E.P., Gneiting, T., Berrocal, V.J. and Johnson, N.A., 2006. The continuous ranked probability score
    for circular variables and its application to mesoscale forecast ensemble verification. Quarterly Journal of the
    Royal Meteorological Society, 132(621C), pp.2925-2942.

    """

    def _eval(self, y_true: float, y_pred: Distribution) -> float:
        _check_distribution(self, y_pred)
        if isinstance(y_pred, proba.Gaussian):
            return _mixture_crps(y_true, [(1.0, float(y_pred.mu), float(y_pred.sigma))])
        if isinstance(y_pred, GaussianMixture):
            return _mixture_crps(y_true, y_pred.parts)
        lower, upper = quantile(y_pred, TAIL), quantile(y_pred, 1.0 - TAIL)
        inside = min(max(y_true, lower), upper)
        below, _ = integrate.quad(lambda t: y_pred.cdf(t) ** 2, lower, inside, limit=200)
        above, _ = integrate.quad(lambda t: (1.0 - y_pred.cdf(t)) ** 2, inside, upper, limit=200)
        return float(below + above + abs(y_true - inside))


class _IntervalMetric(MeanMetric, RegressionMetric):
    """A mean over intervals of one level."""

    @formerly(level="confidence_level")
    def __init__(self, confidence_level: float = LEVEL) -> None:
        super().__init__()
        check_level(confidence_level)
        self.confidence_level: float = confidence_level

    level = former_attribute("confidence_level")


class IntervalScore(_IntervalMetric):
    """The mean interval score of Winkler: the width, and 2/α times the distance of a target outside.

    Smallest, in expectation, for the quantiles ½α and 1 − ½α of the true distribution; α is 1 − `confidence_level`.

    Parameters
    ----------
    confidence_level
        The coverage that the intervals are made for, 1 − α.

    Examples
    --------

    >>> from streamkernel import metrics

    >>> metric = metrics.IntervalScore(0.9)
    >>> metric.update(0.5, (0.0, 1.0))
    >>> metric.update(1.5, (0.0, 1.0))
    >>> metric
    IntervalScore: 6.

    References
    ----------
    [^1]: Winkler, R.L., 1972. A decision-theoretic approach to interval estimation. Journal of the American Statistical
    Association, 67(337), pp.187-191.

    """

    def _eval(self, y_true: float, y_pred: Any) -> float:
        lower, upper = central_interval(y_pred, self.confidence_level)
        outside = max(lower - y_true, y_true - upper, 0.0)
        return upper - lower + 2.0 / (1.0 - self.confidence_level) * outside


class Coverage(_IntervalMetric):
    """The share of targets inside their interval; the best coverage is the one nearest to `confidence_level`.

    Parameters
    ----------
    confidence_level
        The coverage that the intervals are made for.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel import metrics

    >>> metric = metrics.Coverage(0.9)
    >>> standard = proba.Gaussian._from_state(n=1, m=0.0, var=1.0, ddof=0)
    >>> for y in (0.0, 1.0, 1.6, 1.7):
    ...     metric.update(y, standard)
    >>> metric
    Coverage: 75.00%

    """

    _fmt = ".2%"

    def _eval(self, y_true: float, y_pred: Any) -> float:
        lower, upper = central_interval(y_pred, self.confidence_level)
        return float(lower <= y_true <= upper)

    @property
    def bigger_is_better(self) -> bool:
        """Not more coverage, but that nearest to `confidence_level` is better: `is_better_than` compares so."""
        return False

    def is_better_than(self, other: Coverage) -> bool:
        """Whether this coverage is nearer to its level than another."""
        return abs(self.get() - self.confidence_level) < abs(other.get() - other.confidence_level)


class OnMean(WrapperMetric, RegressionMetric):
    """A metric of point predictions, for the mean of a Gaussian or the centre of an interval.

    Of other river distributions, which do not tell their mean, it takes the mode.

    Parameters
    ----------
    metric
        A river regression metric.

    Examples
    --------

    >>> from river import metrics as river_metrics, proba
    >>> from streamkernel import metrics

    >>> metric = metrics.NLPD() + metrics.OnMean(river_metrics.MAE())
    >>> metric.update(1.0, proba.Gaussian._from_state(n=1, m=0.5, var=1.0, ddof=0))
    >>> metric
    NLPD: 1.043939
    OnMean(MAE): 0.5

    """

    def __init__(self, metric: RegressionMetric) -> None:
        self._metric = metric

    @property
    def metric(self) -> RegressionMetric:
        """The wrapped metric."""
        return self._metric

    def update(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Update the wrapped metric."""
        self._metric.update(y_true, point(y_pred), w)

    def revert(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Revert the wrapped metric."""
        self._metric.revert(y_true, point(y_pred), w)


def progressive_dist_score(
    dataset: base.typing.Dataset,
    model: base.Regressor,
    metric: river_metrics.base.Metric,
    predict: Mapping[str, Any] | None = None,
    **options: Any,
) -> river_metrics.base.Metric:
    """`river.evaluate.progressive_val_score` with predictive distributions or intervals in place of point predictions.

    Parameters
    ----------
    dataset
        The stream of observations, as for river's function.
    model
        A regressor, or a pipeline that ends in one.
    metric
        `NLPD`, `CRPS`, `IntervalScore`, `Coverage`, river's own metrics within `OnMean`, or a sum of those.
    predict
        The arguments of `predict_one` beside x: `{"with_dist": True}` when None, `{"with_interval": True}` for river's
        conformal wrappers.
    options
        river's further arguments: `moment`, `delay`, `print_every`, ...

    Examples
    --------

    >>> from river import conf, linear_model, preprocessing
    >>> from streamkernel import datasets, metrics

    >>> model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> jackknife = conf.RegressionJackknife(model, confidence_level=0.9)
    >>> stream = datasets.Friedman1(noise=1.0, seed=1).take(1000)
    >>> metrics.progressive_dist_score(stream, jackknife, metrics.Coverage(0.9), predict={"with_interval": True})
    Coverage: 9...%

    """
    asking = _Asking(model, {"with_dist": True} if predict is None else predict)
    return evaluate.progressive_val_score(dataset, asking, metric, **options)


class _Asking(base.Wrapper, base.Regressor):
    """A model that is asked for its predictions with further arguments."""

    def __init__(self, model: base.Regressor, arguments: Mapping[str, Any]) -> None:
        self.model = model
        self.arguments = arguments

    @property
    def _wrapped_model(self) -> base.Regressor:
        return self.model

    def learn_one(self, x: dict[Any, Any], y: float, **options: Any) -> None:
        self.model.learn_one(x, y, **options)

    def predict_one(self, x: dict[Any, Any], **options: Any) -> Any:
        return self.model.predict_one(x, **self.arguments, **options)


def _mixture_crps(target: float, parts: list[tuple[float, float, float]]) -> float:
    """E|X − y| − ½E|X − X'| for parts (weight, mean, deviation). An integral may miss narrow ones."""
    to_target = sum(w * _expected_distance(target - m, s) for w, m, s in parts)
    between = sum(
        w * v * _expected_distance(m - n, math.hypot(s, t))
        for i, (w, m, s) in enumerate(parts)
        for v, n, t in parts[:i]
    )
    within = sum(w * w * s for w, _, s in parts) / math.sqrt(math.pi)
    return to_target - between - within


def _expected_distance(mean: float, deviation: float) -> float:
    """E|X| of a Gaussian."""
    if deviation == 0.0:
        return abs(mean)
    z = mean / deviation
    return mean * math.erf(z / math.sqrt(2.0)) + 2.0 * deviation * math.exp(-0.5 * z * z) / math.sqrt(math.tau)


def _check_distribution(metric: object, prediction: object) -> None:
    if not isinstance(prediction, Distribution):
        raise TypeError(
            f"{type(metric).__name__} scores a distribution, got {prediction!r}: predict with with_dist=True, or "
            "evaluate with streamkernel.metrics.progressive_dist_score"
        )
