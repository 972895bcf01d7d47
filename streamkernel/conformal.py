"""Intervals whose coverage holds while the stream drifts: adaptive conformal prediction.

Gibbs & Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021, with scores that are normalized
by the model's own standard deviation, so that the width follows the input.
Paper -> code: α `1 − confidence_level`, α_t `_miss_rate`, γ `rate`, S(x, y) the score |y − μ(x)| / σ(x).
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from river import base
from river.conf.interval import Interval

from . import checks
from .checkpoint import Checkpointed
from .deprecation import former_attribute, formerly
from .distributions import predicted_distribution
from .kernels import Feature
from .learners import KRLS, reading


class AdaptiveConformal(base.Wrapper[Any], base.Regressor, Checkpointed):
    """A regressor whose prediction intervals cover the target at the wanted rate, whatever the stream does.

    The interval is μ(x) ± q σ(x), with μ and σ from the wrapped model's predictive distribution and q an empirical
    quantile of the recent scores |y − μ| / σ. Which quantile is adapted after every sample: after a miss the next
    interval is wider, after a hit a little narrower, in the proportion that makes the long-run share of misses α:
    over T samples it differs from that by (α₁ − α_T)/(rate·T), whatever the stream does. α_T stays between about 0 and
    1, and the difference below 1/(rate·T), as long as no score exceeds the largest recent one times the number of
    misses in a row. Who places every target just outside the interval is not covered, as no finite interval would be.

    Parameters
    ----------
    regressor
        A model whose `predict_one(x, with_dist=True)` returns a distribution with `mu` and `sigma`: any streaming
        regressor of this library, or a pipeline that ends in one.
    confidence_level
        1 − α, the wanted coverage.
    rate
        γ, how fast the quantile adapts. Larger keeps the coverage closer to its target in short windows, with less even
        widths.
    window_size
        How many recent scores the quantile is taken from.

    Examples
    --------

    >>> from river import stats
    >>> from streamkernel import AdaptiveConformal, KRLS, datasets, kernels

    >>> model = AdaptiveConformal(KRLS(kernels.RBF(0.5), ridge=0.1), confidence_level=0.9)
    >>> coverage = stats.Mean()
    >>> for x, y in datasets.Heteroscedastic(seed=1).take(2000):
    ...     coverage.update(y in model.predict_one(x, with_interval=True))
    ...     model.learn_one(x, y)
    >>> abs(coverage.get() - 0.9) < 0.02
    True

    References
    ----------
    [^1]: Gibbs, I. and Candès, E., 2021. Adaptive conformal inference under distribution shift. Advances in Neural
        Information Processing Systems, 34, pp.1660-1672.

    """

    @formerly(level="confidence_level")
    def __init__(
        self, regressor: Any, confidence_level: float = 0.9, rate: float = 0.02, window_size: int = 500
    ) -> None:
        checks.regressor("regressor", regressor)
        checks.number("confidence_level", confidence_level, low=0.0, high=1.0, open_low=True)
        checks.number("rate", rate, low=0.0, high=1.0, open_low=True)
        checks.size("window_size", window_size)
        self.regressor = regressor
        self.confidence_level = confidence_level
        self.rate = rate
        self.window_size = window_size
        self._scores: deque[float] = deque(maxlen=window_size)
        self._miss_rate = 1.0 - confidence_level

    level = former_attribute("confidence_level")

    @property
    def _wrapped_model(self) -> Any:
        return self.regressor

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"regressor": KRLS()}

    def learn_one(self, x: Mapping[Feature, Any], y: float, **arguments: Any) -> None:
        """Adapt the quantile to the interval that was predicted for `x`, then let the model learn."""
        target = reading.target(y)
        distribution = predicted_distribution(self.regressor, x)
        score = abs(target - distribution.mu) / distribution.sigma
        missed = score > self._reach()
        self.regressor.learn_one(x, y, **arguments)
        self._miss_rate += self.rate * ((1.0 - self.confidence_level) - missed)
        self._scores.append(score)

    def learn_many(self, X: Any, y: Any, w: Any = None, **arguments: Any) -> None:
        """Learn samples in order, as `learn_one` would one after the other; none where one of them is bad.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample, where the regressor takes them.
        arguments
            Passed to the regressor with every sample.

        """
        names, rows, _ = reading.frame(X)
        targets = reading.column("y", y, len(rows))
        given = [{}] * len(rows) if w is None else [{"w": weight} for weight in reading.column("w", w, len(rows))]
        before = copy.deepcopy((self.regressor, self._scores, self._miss_rate))
        try:
            for row, target, weight in zip(rows, targets.tolist(), given, strict=True):
                self.learn_one(reading.sample(names, row), target, **weight, **arguments)
        except Exception:
            self.regressor, self._scores, self._miss_rate = before
            raise

    def predict_many(self, X: Any, **arguments: Any) -> Any:
        """What the regressor predicts of many samples: a series for a data frame, an array for an array."""
        return reading.predictions(self.regressor, X, **arguments)

    def predict_one(self, x: Mapping[Feature, Any], with_interval: bool = False, **arguments: Any) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features.
        with_interval
            Return the interval, a river `Interval`, instead of the wrapped model's prediction.
        arguments
            Passed to the wrapped model, such as `with_dist`. An `interval_level` must be the `confidence_level`,
            which is what the quantile is adapted to.

        """
        if not with_interval:
            return self.regressor.predict_one(x, **arguments)
        level = self.confidence_level
        wanted = arguments.get("interval_level", level)
        if wanted != level:
            raise ValueError(
                f"interval_level must be the confidence_level that is adapted to, {level!r}, got {wanted!r}"
            )
        distribution = predicted_distribution(self.regressor, x)
        width = self._reach() * distribution.sigma
        return Interval(distribution.mu - width, distribution.mu + width)

    def _reach(self) -> float:
        """q_t, in standard deviations."""
        if not self._scores:
            return 2.0  # nothing is known yet: about 95 % of a Gaussian
        if self._miss_rate >= 1.0:
            return 0.0
        if self._miss_rate > 0.0:
            return float(np.quantile(np.fromiter(self._scores, float), 1.0 - self._miss_rate, method="higher"))
        # Below zero the theory asks for the whole line; growing with every further miss reaches as far and stays
        # finite.
        return max(self._scores) * (1.0 - self._miss_rate / self.rate)

    def _recent_errors(self) -> list[float]:
        return list(self._scores)

    def _get_state(self) -> dict[str, Any]:
        return {"scores": list(self._scores), "miss_rate": self._miss_rate}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._scores.extend(state["scores"])
        self._miss_rate = state["miss_rate"]
