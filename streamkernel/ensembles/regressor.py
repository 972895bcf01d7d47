"""A mixture of regressors: which kernel is right, and how fast to forget, is learned along with the function."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from river import base, utils

from ..checkpoint import Checkpointed
from ..core.stream import LARGEST_SQUARE
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import reading
from ..learners.bank import Bank, Moments
from ..learners.base import StreamingRegressor
from ..learners.krls import KRLS
from .experts import default_experts
from .weighting import (
    OUTLIER_SQUARE,
    SMALLEST_VARIANCE,
    Weighting,
    check_first_weights,
    check_models,
    check_weighting,
    substitution,
)


class KernelMixture(base.Regressor, Checkpointed):
    """A weighted mixture of kernel regressors, whose weights follow how well each predicts.

    Every expert learns every sample. Experts with the same kernel, threshold and `max_size` share their dictionary, its
    column of similarities and its triangular solve, so that a further way of forgetting costs half a learner.

    Parameters
    ----------
    models
        Learners of this library; they are copied, with what they have learned. None is a spread of length scales about
        that of `kernels.default`, a rough kernel, and for the middle one three ways of forgetting.
    weighting
        `"bma"`: discounted Bayesian model averaging with the experts' own variances. `"aggregating"`: the Aggregating
        Algorithm, whose squared loss exceeds that of the best expert by at most (Y2 − Y1)²/2·ln N on any stream with
        targets in [Y1, Y2]; predictions of experts are clipped to that range. `"coker"`: w ∝ ζ^(−1/(r−1)) of the
        discounted loss ζ.
    discount
        How much of the record counts after one more sample (`"bma"`, `"coker"`): 0.99 remembers about 100.
    share
        The part of all weight that is shared out evenly at every step (`"bma"`), so that an expert can come back.
    power
        r of `"coker"`, above 1: near 1 the best expert takes all, large values weigh all alike.
    target_range
        (Y1, Y2) of `"aggregating"`. None is the range of the targets seen so far: the bound then holds with the last
        range, plus the mixture's own losses on those samples at which the range grew.
    initial_weights
        The first weights, one for each model. None is equal ones.
    respawn
        An expert whose weight stayed below a tenth of an equal share for this many samples begins anew. None never.

    Examples
    --------

    >>> from river import evaluate, metrics, preprocessing
    >>> from streamkernel import KernelMixture, datasets

    >>> model = preprocessing.StandardScaler() | KernelMixture()
    >>> evaluate.progressive_val_score(datasets.SincLinear(seed=1).take(500), model, metrics.RMSE())
    RMSE: 0.2...

    What the mixture has settled on:

    >>> mixture = model["KernelMixture"]
    >>> best = max(range(len(mixture.experts)), key=mixture.weights.__getitem__)
    >>> mixture.experts[best].kernel
    RBF(0.7...) + Constant(1.0)

    References
    ----------
    [^1]: Raftery, A.E., Kárný, M. and Ettler, P., 2010. Online prediction under model uncertainty via dynamic model
        averaging. Technometrics, 52(1), pp.52-66.
    [^2]: Vovk, V., 2001. Competitive on-line statistics. International Statistical Review, 69(2), pp.213-248.

    """

    def __init__(
        self,
        models: list[StreamingRegressor] | None = None,
        weighting: str = "bma",
        discount: float = 0.99,
        share: float = 0.001,
        power: float = 2.0,
        target_range: tuple[float, float] | None = None,
        initial_weights: tuple[float, ...] | None = None,
        respawn: int | None = None,
    ) -> None:
        check_weighting(weighting, discount, share, power, respawn)
        check_models(models, StreamingRegressor)
        _check_range(target_range)
        check_first_weights(initial_weights, models)
        self.models = None if models is None else list(models)  # the caller's may change
        self.weighting = weighting
        self.discount = discount
        self.share = share
        self.power = power
        self.target_range = target_range
        self.initial_weights = initial_weights
        self.respawn = respawn
        self._bank: Bank | None = None
        self._low, self._high = target_range or (math.inf, -math.inf)
        if models is not None:
            self._start(copy.deepcopy(models))

    def _start(self, experts: list[StreamingRegressor], leaders: list[int] | None = None) -> None:
        self._bank = Bank(experts, leaders)
        self._weighting = Weighting(
            self.weighting, len(experts), self.discount, self.share, self.power, self.initial_weights
        )
        self._seen: tuple[dict[Feature, Any], Moments] | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        for weighting in ("bma", "aggregating", "coker"):
            models = [KRLS(ridge=0.1, max_size=20), KRLS(ridge=0.1, forgetting=0.99, max_size=20), KRLS(threshold=0.1)]
            yield {"models": models, "weighting": weighting, "respawn": 50}

    def _moments(self, x: Mapping[Feature, Any]) -> Moments:
        """What `Bank.moments` says of a sample; that of the last one is remembered, as it is learned next."""
        assert self._bank is not None
        seen = self._seen  # threads that predict exchange it
        if seen is None or seen[0] != x:
            means, variances, similarity = self._bank.moments(x)
            seen = self._seen = dict(x), Moments(means, np.maximum(variances, SMALLEST_VARIANCE), similarity)
        return seen[1]

    def predict_one(
        self,
        x: Mapping[Feature, Any],
        with_dist: bool = False,
        with_interval: bool = False,
        interval_level: float = 0.9,
    ) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features.
        with_dist
            Return the mixture of the experts' distributions, a `distributions.GaussianMixture`, instead of the mean.
        with_interval
            Return its central interval, a river `Interval`.
        interval_level
            The probability of the interval.

        """
        if self._bank is None:
            fresh = self.clone({"models": default_experts(len(x))})
            return fresh.predict_one(x, with_dist, with_interval, interval_level)
        means, variances, _ = self._moments(x)
        weights = self._weighting.weights
        if with_dist or with_interval:
            from ..distributions import GaussianMixture

            mixture = GaussianMixture(weights.tolist(), means.tolist(), np.sqrt(variances).tolist())
            return mixture.interval(interval_level) if with_interval else mixture
        if self.weighting == "aggregating":
            low, high = self._range
            return substitution(np.clip(means, low, high), self._weighting.logs, low, high)
        return float(weights @ means)

    @property
    def _range(self) -> tuple[float, float]:
        return (self._low, self._high) if self._low <= self._high else (0.0, 0.0)

    def learn_one(self, x: Mapping[Feature, Any], y: float, w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.
        w
            The sample's weight: it counts as often for the experts, and for their record too.

        """
        target = reading.target(y)
        reading.noise(w)
        self._check_in_range(np.array([target]))
        fresh = self._bank is None
        if fresh:
            self._start(default_experts(len(x)))
        try:
            moments = self._moments(x)
            limits = min(self._low, target), max(self._high, target)
            logs, losses = self._record(target, moments.means, moments.variances, *limits)
            if not float(losses.sum()) <= LARGEST_SQUARE / max(w, 1.0):
                raise ValueError(
                    f"target y is {y!r} with weight {w!r}: its squared error overflows; rescale the target"
                )
            assert self._bank is not None
            self._bank.learn(x, target, w, moments)
        except Exception:
            self._bank = None if fresh else self._bank
            raise
        self._rescale(self._low, self._high, *limits)
        self._low, self._high = limits
        self._weighting.update(w * logs, w * losses)
        self._seen = None
        if self.respawn is not None:
            self._renew(self.respawn)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn samples in order, as `learn_one` would one after the other; none where one of them is bad.

        Several times faster where the experts are plain (with a ridge, no columns computed in Python, no kernel
        learning) and none begins anew.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample.

        """
        names, rows, _ = reading.frame(X)
        targets = reading.column("y", y, len(rows))
        weights = np.ones(len(rows)) if w is None else reading.column("w", w, len(rows))
        reading.check_targets(targets[:, None])
        reading.noises(weights, len(rows))
        self._check_in_range(targets)
        if self._can_learn_rows(names, rows, targets, weights):
            self._learn_rows(names, rows, targets, weights)
            return
        before, limits = copy.deepcopy(self._get_state()), (self._low, self._high)
        try:
            for i, row in enumerate(rows):
                # The first sample tells new experts of the features.
                if i == 1 and self._can_learn_rows(names, rows[1:], targets[1:], weights[1:]):
                    self._learn_rows(names, rows[1:], targets[1:], weights[1:])
                    return
                self.learn_one(reading.sample(names, row), float(targets[i]), float(weights[i]))
        except Exception:
            self._bank, (self._low, self._high) = None, limits
            self._set_state(before)
            raise

    def _can_learn_rows(self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, weights: Vector) -> bool:
        """Whether all experts learn these samples in one call, for sure; an error where one surely cannot."""
        if self._bank is None or self.respawn is not None:
            return False
        known = self._bank.names()
        if known is None or not set(names) <= set(known):
            return False
        return self._bank.screen(reading.arranged(names, rows, known), targets, weights)

    def _learn_rows(self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, weights: Vector) -> None:
        assert self._bank is not None
        known = self._bank.names()
        assert known is not None
        rows = reading.arranged(names, rows, known)
        means, variances = self._bank.predict_learn_rows(rows, targets, weights)
        lows = np.minimum.accumulate(np.append(self._low, targets))
        highs = np.maximum.accumulate(np.append(self._high, targets))
        limits = lows[1:, None], highs[1:, None]
        logs, losses = self._record(targets[:, None], means, np.maximum(variances, SMALLEST_VARIANCE), *limits)
        logs, losses = weights[:, None] * logs, weights[:, None] * losses
        for t in range(len(rows)):
            self._rescale(lows[t], highs[t], lows[t + 1], highs[t + 1])
            self._weighting.update(logs[t], losses[t])
        self._low, self._high = float(lows[-1]), float(highs[-1])
        self._seen = None

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        names, rows, data = reading.frame(X)
        if self._bank is None:
            means = np.array([self.predict_one(reading.sample(names, row)) for row in rows])
        else:
            each = np.array([np.asarray(expert.predict_many(X)) for expert in self._bank.experts])
            means = self._weighting.weights @ each
            if self.weighting == "aggregating":
                low, high = self._range
                clipped, logs = np.clip(each, low, high), self._weighting.logs
                means = np.array([substitution(column, logs, low, high) for column in clipped.T])
        return means if data is None else utils.dataframe.to_native_series(means, name=None, like=data)

    def _check_in_range(self, targets: Vector) -> None:
        if self.weighting == "aggregating" and self.target_range:
            outside = (targets < self._low) | (targets > self._high)
            if outside.any():
                y = float(targets[int(np.argmax(outside))])
                raise ValueError(f"target y is {y!r}, outside target_range {self.target_range!r}")

    def _rescale(self, low: float, high: float, next_low: float, next_high: float) -> None:
        """Let η of `"aggregating"` follow the range, for the past too."""
        if self.weighting == "aggregating" and low < high:
            self._weighting.rescale(((high - low) / (next_high - next_low)) ** 2)

    def _record(self, target: Any, means: Vector, variances: Vector, low: Any, high: Any) -> tuple[Vector, Vector]:
        """What the weights learn from the experts' predictions: logarithms of likelihoods, and squared losses.

        Of one sample, or of many: then the target and the limits have a row each.
        """
        with np.errstate(over="ignore"):
            if self.weighting == "aggregating":
                errors = target - np.clip(means, low, high)
                # Errors in units of the range: its square may be zero where it is not.
                shares = np.divide(errors, high - low, out=np.zeros_like(errors), where=high > low)
                return -2.0 * shares**2, errors**2
            losses = (target - means) ** 2
            return -0.5 * (np.log(variances) + np.minimum(losses / variances, OUTLIER_SQUARE)), losses

    def _renew(self, patience: int) -> None:
        """Let experts that have not mattered for long begin anew."""
        assert self._bank is not None
        expired = self._weighting.expire(patience)
        for i in expired:
            self._bank.experts[i] = self._bank.experts[i].clone()
        if expired:
            self._bank.regroup()

    @property
    def experts(self) -> list[StreamingRegressor]:
        """The learners; empty before the first sample where `models` is None."""
        return [] if self._bank is None else list(self._bank.experts)

    @property
    def weights(self) -> list[float]:
        """The weight of each expert now."""
        return [] if self._bank is None else self._weighting.weights.tolist()

    @property
    def size(self) -> int:
        """The number of points in all dictionaries."""
        return sum(expert.size for expert in self.experts)

    def _get_state(self) -> dict[str, Any]:
        if self._bank is None:
            return {}
        return {
            "experts": self._bank.experts,
            "leaders": self._bank.leaders,
            "weighting": self._weighting.get_state(),
            "idle": self._weighting.idle,
            "range": [self._low, self._high],
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        if state:
            self._start(state["experts"], state.get("leaders"))
            self._weighting.set_state(state["weighting"])
            self._weighting.idle = state["idle"]
            self._low, self._high = state["range"]


def _check_range(target_range: Any) -> None:
    if target_range is None:
        return
    try:
        low, high = (reading.target(value, "target_range") for value in target_range)
    except (TypeError, ValueError):
        largest = f"{reading.LARGEST_VALUE:g}"
        raise ValueError(f"target_range must be two numbers up to {largest} either way, got {target_range!r}") from None
    if not low < high:
        raise ValueError(f"target_range must be (low, high) with low < high, got {target_range!r}")
