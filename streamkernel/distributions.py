"""The distribution that a mixture predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from river.proba.base import ContinuousDistribution


class GaussianMixture(ContinuousDistribution):
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
        self._parts = [(float(w), float(m), float(s)) for w, m, s in zip(weights, means, deviations, strict=True)]

    @property
    def mu(self) -> float:
        """The mean."""
        return sum(w * m for w, m, _ in self._parts)

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        center = self.mu
        return math.sqrt(sum(w * (s * s + (m - center) ** 2) for w, m, s in self._parts))

    @property
    def mode(self) -> float:
        """The mean of the part with the highest peak."""
        return max(self._parts, key=lambda part: part[0] / part[2])[1]

    @property
    def n_samples(self) -> int:
        """A prediction is made of none."""
        return 0

    def __call__(self, x: float) -> float:
        """The density at x."""
        scale = math.sqrt(2.0 * math.pi)
        return sum(w * math.exp(-0.5 * ((x - m) / s) ** 2) / (s * scale) for w, m, s in self._parts)

    def cdf(self, x: float) -> float:
        """P(X ≤ x)."""
        return sum(w * 0.5 * math.erfc((m - x) / (s * math.sqrt(2.0))) for w, m, s in self._parts)

    def interval(self, level: float) -> Any:
        """The central interval of this probability, a river `Interval`."""
        from river.conf.interval import Interval

        from .metrics import central_interval

        return Interval(*central_interval(self, level))

    def sample(self) -> float:
        """A random value."""
        ((_, mean, deviation),) = self._rng.choices(self._parts, [w for w, _, _ in self._parts])
        return self._rng.gauss(mean, deviation)

    def update(self, x: Any) -> None:
        """A prediction is not updated."""
        raise NotImplementedError("a predicted distribution does not learn: update the model")

    def revert(self, x: Any) -> None:
        """A prediction is not reverted."""
        raise NotImplementedError("a predicted distribution does not learn: update the model")

    def __repr__(self) -> str:
        return f"GaussianMixture(μ={self.mu:.3f}, σ={self.sigma:.3f})"
