"""Predictive distributions: their quantiles, central intervals and means, and the distribution of a mixture."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from river import conf, proba
from river.proba.base import ContinuousDistribution as Distribution
from scipy import optimize, special

from . import checks
from .deprecation import formerly

__all__ = ["LEVEL", "GaussianMixture", "central_interval", "normal_reach", "point", "quantile"]

# The probability of an interval, unless another is asked for.
LEVEL = 0.9
ROOT_TAU = math.sqrt(math.tau)


@formerly(level="confidence_level")
def normal_reach(confidence_level: float = LEVEL) -> float:
    """How many standard deviations the central interval of a Gaussian extends to either side.

    Examples
    --------

    >>> from streamkernel import distributions
    >>> round(distributions.normal_reach(), 4), round(distributions.normal_reach(0.95), 4)
    (1.6449, 1.96)

    """
    check_level(confidence_level)
    return float(special.ndtri(0.5 * (1.0 + confidence_level)))


def quantile(distribution: Distribution, level: float) -> float:
    """The value that a distribution stays below with probability `level`.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel import distributions

    >>> round(distributions.quantile(proba.Gaussian._from_state(n=1, m=1.0, var=4.0, ddof=0), 0.975), 2)
    4.92

    """
    if isinstance(distribution, proba.Gaussian):
        return float(distribution.mu + distribution.sigma * special.ndtri(level))
    center, step = float(distribution.mode), 1.0
    while distribution.cdf(center - step) > level or distribution.cdf(center + step) < level:
        step *= 2.0
        if math.isinf(step):
            raise ValueError(f"the cdf of {distribution!r} does not reach {level!r}")
    root = optimize.brentq(
        lambda t: distribution.cdf(t) - level, center - step, center + step, xtol=sys.float_info.min, maxiter=2000
    )
    return float(root)


@formerly(level="confidence_level")
def central_interval(prediction: Any, confidence_level: float) -> tuple[float, float]:
    """The ends of an interval: those of an interval or pair as it is, of a distribution at the given coverage.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel import distributions

    >>> lower, upper = distributions.central_interval(proba.Gaussian._from_state(n=1, m=1.0, var=4.0, ddof=0), 0.95)
    >>> round(lower, 2), round(upper, 2)
    (-2.92, 4.92)

    """
    check_level(confidence_level)
    if isinstance(prediction, Distribution):
        tail = 0.5 * (1.0 - confidence_level)
        return quantile(prediction, tail), quantile(prediction, 1.0 - tail)
    is_interval = isinstance(prediction, conf.interval.Interval)
    try:
        lower, upper = (prediction.lower, prediction.upper) if is_interval else prediction
    except (TypeError, ValueError):
        raise TypeError(
            f"expected an interval, a pair (lower, upper) or a distribution, got {prediction!r}: "
            "predict with with_interval=True or with_dist=True"
        ) from None
    if not lower <= upper:
        raise ValueError(f"an interval must have lower <= upper, got ({lower!r}, {upper!r})")
    return lower, upper


def point(prediction: Any) -> float:
    """The mean of a distribution, where it has none its mode, the middle of an interval."""
    if isinstance(prediction, Distribution):
        return float(getattr(prediction, "mu", prediction.mode))
    return 0.5 * sum(central_interval(prediction, 0.5))


def predicted_distribution(regressor: Any, x: Any) -> Any:
    """What a regressor predicts as a distribution with `mu` and `sigma`, or an error where it has none."""
    try:
        distribution = regressor.predict_one(x, with_dist=True)
    except TypeError as error:
        if "with_dist" not in str(error):
            raise
        distribution = None
    if not (hasattr(distribution, "mu") and hasattr(distribution, "sigma")):
        raise TypeError(
            f"regressor must predict distributions, with_dist=True, as the regressors of this library do, "
            f"got {regressor}"
        )
    return distribution


def check_level(confidence_level: Any) -> None:
    """Raise an error unless it is a probability between 0 and 1, both excluded."""
    checks.number("confidence_level", confidence_level, low=0.0, high=1.0, open_low=True, open_high=True)


class GaussianMixture(Distribution):
    """A weighted mixture of Gaussians, with the interface of river's distributions.

    Parameters
    ----------
    weights
        They sum to one.
    means
        Of the parts.
    deviations
        Standard deviations of the parts.
    seed
        For `sample`.

    Examples
    --------

    >>> from streamkernel.distributions import GaussianMixture
    >>> mixture = GaussianMixture([0.5, 0.5], [-1.0, 1.0], [0.5, 0.5], seed=1)
    >>> mixture
    GaussianMixture(μ=0.000, σ=1.118)
    >>> round(mixture.cdf(1.0), 4), round(mixture(0.0), 4)
    (0.75, 0.108)

    """

    def __init__(
        self, weights: Sequence[float], means: Sequence[float], deviations: Sequence[float], seed: int | None = None
    ) -> None:
        super().__init__(seed)
        self.weights = weights
        self.means = means
        self.deviations = deviations
        self.parts = [(float(w), float(m), float(s)) for w, m, s in zip(weights, means, deviations, strict=True)]

    @property
    def mu(self) -> float:
        """The mean."""
        return sum(w * m for w, m, _ in self.parts)

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        center = self.mu
        variance = sum(w * (s * s + (m - center) * (m - center)) for w, m, s in self.parts)
        if variance < math.inf:
            return math.sqrt(variance)
        return math.hypot(*(math.sqrt(w) * part for w, m, s in self.parts for part in (s, m - center)))

    @property
    def mode(self) -> float:
        """The mean of the part with the highest peak."""
        return max(self.parts, key=lambda part: part[0] / part[2])[1]

    @property
    def n_samples(self) -> int:
        """A prediction is made of none."""
        return 0

    def __call__(self, x: float) -> float:
        """The density at x."""
        return sum(w * math.exp(-0.5 * (z := (x - m) / s) * z) / (s * ROOT_TAU) for w, m, s in self.parts)

    def log_pdf(self, x: float) -> float:
        """The logarithm of the density at x, a number where the density itself underflows."""
        logs = [math.log(w) - math.log(s) - 0.5 * (z := (x - m) / s) * z for w, m, s in self.parts if w > 0.0]
        largest = max(logs)
        if math.isinf(largest):
            return largest
        return largest + math.log(sum(math.exp(log - largest) for log in logs) / ROOT_TAU)

    def cdf(self, x: float) -> float:
        """P(X ≤ x)."""
        return sum(w * 0.5 * math.erfc((m - x) / (s * math.sqrt(2.0))) for w, m, s in self.parts)

    @formerly(level="confidence_level")
    def interval(self, confidence_level: float) -> Any:
        """The central interval of this probability, a river `Interval`."""
        return conf.interval.Interval(*central_interval(self, confidence_level))

    def sample(self) -> float:
        """A random value."""
        ((_, mean, deviation),) = self._rng.choices(self.parts, [w for w, _, _ in self.parts])
        return self._rng.gauss(mean, deviation)

    def update(self, x: Any) -> None:
        """A prediction is not updated."""
        raise NotImplementedError("a predicted distribution does not learn: update the model")

    def revert(self, x: Any) -> None:
        """A prediction is not reverted."""
        raise NotImplementedError("a predicted distribution does not learn: update the model")

    def __repr__(self) -> str:
        return f"GaussianMixture(μ={self.mu:.3f}, σ={self.sigma:.3f})"
