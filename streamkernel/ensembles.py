"""Mixtures of kernel learners: which kernel is right is learned along with the function.

Three rules weigh the experts, each by how well it predicted samples before it learned them:

    bma          discounted Bayesian model averaging, ln w_i ← d·ln w_i + ln p_i(y), p_i the expert's own distribution
    aggregating  Vovk's Aggregating Algorithm for squared loss on [Y1, Y2]: w_i ← w_i e^{−η(y−ξ_i)²}, η = 2/(Y2 − Y1)²,
                 G(y) = −(1/η) ln Σ w_i e^{−η(y−ξ_i)²}, prediction (Y1 + Y2)/2 − (G(Y2) − G(Y1)) / (2(Y2 − Y1))
    coker        w_i ∝ ζ_i^{−1/(r−1)}, the minimizer of Σ w_i^r ζ_i, ζ the discounted mean squared loss

The last is eq. (13) of coupled kernel ensemble regression as it should read (it is printed right for r = 2 only).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from river import base

from . import checks, kernels
from .checkpoint import Checkpointed
from .core.types import Vector
from .kernels import Feature
from .learners import reading
from .learners.bank import Bank
from .learners.base import StreamingRegressor
from .learners.krls import KRLS
from .learners.lssvm import LSSVMClassifier

__all__ = ["KernelMixture", "KernelMixtureClassifier"]

# An error of more than five standard deviations counts like one of five: one outlier does not decide.
LARGEST_SQUARE = 25.0
SMALLEST_VARIANCE = 1e-300
SMALLEST_PROBABILITY = 1e-12
# First weights of `"coker"` count like this many samples.
FIRST_RECORD = 10.0
# An expert matters as long as its weight is above this share of an equal one.
IDLE_SHARE = 0.1
# The default experts: length scales relative to √d, and how they forget.
WIDTHS = (0.25, 0.5, 1.0, 2.0)
MAX_SIZE = 100
PACES = ((0.999, "walk"), (0.99, "walk"), (0.99, "prior"))


class Weighting:
    """Weights of experts from their losses."""

    def __init__(self, rule: str, count: int, discount: float, share: float, power: float) -> None:
        self.rule, self.discount, self.share, self.power = rule, discount, share, power
        self.logs = np.zeros(count)  # ln w, up to a constant
        self.losses, self.age = np.zeros(count), 0.0  # discounted sums

    @property
    def weights(self) -> Vector:
        """The weights; they sum to one."""
        if self.rule == "coker" and self.age:
            return coupled_weights(self.losses, self.power)
        powers = np.exp(self.logs - self.logs.max())
        return powers / powers.sum()

    def begin(self, weights: Vector) -> None:
        """Start from these weights."""
        self.logs = np.log(np.maximum(weights / weights.sum(), SMALLEST_PROBABILITY))

    def update(self, logs: Vector, losses: Vector) -> None:
        """Take in the log likelihood (or −η times the loss) and the squared loss of each expert."""
        keep = 1.0 if self.rule == "aggregating" else self.discount
        if not self.age:  # the first weights are a record of losses like the first ones
            record = np.exp((1.0 - self.power) * (self.logs - self.logs.max()))
            self.age = FIRST_RECORD
            self.losses = record * (self.age * float(losses.mean()) / float(record.mean()))
        self.losses = keep * self.losses + losses
        self.age = keep * self.age + 1.0
        self.logs = keep * self.logs + logs
        if self.rule == "bma" and self.share:
            self.logs = np.log((1.0 - self.share) * self.weights + self.share / len(self.logs))
        else:
            self.logs -= self.logs.max()

    def expire(self, idle: list[int], patience: int) -> list[int]:
        """Count for how long each expert has not mattered; who has not for too long is named and starts over."""
        expired = []
        for i, weight in enumerate(self.weights):
            idle[i] = 0 if weight * len(idle) > IDLE_SHARE else idle[i] + 1
            if idle[i] >= patience:
                idle[i] = 0
                self._restart(i)
                expired.append(i)
        return expired

    def _restart(self, index: int) -> None:
        """Give an expert that begins anew a small weight and a middling record."""
        self.logs[index] = np.log(self.share / len(self.logs) or SMALLEST_PROBABILITY) + self.logs.max()
        self.losses[index] = np.median(self.losses)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.logs, self.losses, self.age]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.logs, self.losses, self.age = state[0], state[1], state[2]


def coupled_weights(losses: ArrayLike, r: float) -> Vector:
    """W_i ∝ ζ_i^(−1/(r−1)), the minimum of Σ W_i^r ζ_i over ΣW_i = 1; experts without any loss share all the weight.

    Examples
    --------

    >>> from streamkernel.ensembles import coupled_weights
    >>> coupled_weights([1.0, 2.0, 4.0], r=2.0).round(3)
    array([0.571, 0.286, 0.143])
    >>> coupled_weights([1.0, 2.0, 4.0], r=1.01).round(3)
    array([1., 0., 0.])
    >>> coupled_weights([1.0, 2.0, 4.0], r=1000.0).round(3)
    array([0.334, 0.333, 0.333])

    """
    losses = np.asarray(losses, dtype=np.float64)
    least = losses.min()
    # Ratios to the least loss are at most 1, so that no power of them overflows however near r is to 1.
    relative = (least / losses) ** (1.0 / (r - 1.0)) if least > 0.0 else (losses <= 0.0).astype(np.float64)
    return np.asarray(relative / relative.sum())


def substitution(predictions: Vector, logs: Vector, low: float, high: float) -> float:
    """The Aggregating Algorithm's prediction for experts with log weights `logs` on the range [low, high]."""
    if high <= low:
        return low
    rate = 2.0 / (high - low) ** 2

    def generalized(y: float) -> float:
        terms = logs - rate * (y - predictions) ** 2
        largest = float(terms.max())
        return -(largest + math.log(float(np.exp(terms - largest).sum()))) / rate

    return (low + high) / 2.0 - (generalized(high) - generalized(low)) / (2.0 * (high - low))


def check_weighting(weighting: str, discount: float, share: float, power: float, respawn: int | None) -> None:
    """The parameters that both mixtures have."""
    checks.choice("weighting", weighting, ("bma", "aggregating", "coker"))
    checks.number("discount", discount, low=0.0, high=1.0, open_low=True)
    checks.number("share", share, low=0.0, high=1.0)
    checks.number("power", power, low=1.0, open_low=True)
    checks.size("respawn", respawn)


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
        (Y1, Y2) of `"aggregating"`. None tracks the targets seen so far; the guarantee then holds from the last time
        that the range grew.
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
        _check_models(models, StreamingRegressor)
        _check_range(target_range)
        _check_weights(initial_weights, models)
        self.models = models
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

    def _start(self, experts: list[StreamingRegressor]) -> None:
        self._bank = Bank(experts)
        self._weighting = Weighting(self.weighting, len(experts), self.discount, self.share, self.power)
        if self.initial_weights is not None:
            self._weighting.begin(np.array(self.initial_weights))
        self._idle = [0] * len(experts)
        self._seen: tuple[dict[Feature, Any], Vector, Vector] | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        for weighting in ("bma", "aggregating", "coker"):
            models = [KRLS(ridge=0.1, max_size=20), KRLS(ridge=0.1, forgetting=0.99, max_size=20), KRLS(threshold=0.1)]
            yield {"models": models, "weighting": weighting, "respawn": 50}

    def _moments(self, x: Mapping[Feature, Any]) -> tuple[Vector, Vector]:
        """The means and variances of the experts; those of the last sample are remembered, as it is learned next."""
        assert self._bank is not None
        if self._seen is None or self._seen[0] != x:
            means, variances = self._bank.moments(x)
            self._seen = dict(x), means, np.maximum(variances, SMALLEST_VARIANCE)
        return self._seen[1], self._seen[2]

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
            self._start(default_experts(len(x)))
            try:
                return self.predict_one(x, with_dist, with_interval, interval_level)
            finally:
                self._bank = None
        means, variances = self._moments(x)
        weights = self._weighting.weights
        if with_dist or with_interval:
            from .distributions import GaussianMixture

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
        if self.weighting == "aggregating" and self.target_range and not self._low <= target <= self._high:
            raise ValueError(f"target y is {y!r}, outside target_range {self.target_range!r}")
        fresh = self._bank is None
        if fresh:
            self._start(default_experts(len(x)))
        try:
            means, variances = self._moments(x)
        except Exception:
            self._bank = None if fresh else self._bank
            raise
        assert self._bank is not None
        self._low, self._high = min(self._low, target), max(self._high, target)
        if self.weighting == "aggregating":
            low, high = self._range
            losses = (target - np.clip(means, low, high)) ** 2
            logs = -2.0 * losses / (high - low) ** 2 if high > low else np.zeros(len(losses))
        else:
            losses = (target - means) ** 2
            logs = -0.5 * (np.log(variances) + np.minimum(losses / variances, LARGEST_SQUARE))
        self._weighting.update(w * logs, w * losses)
        self._bank.learn(x, target, w)
        self._seen = None
        if self.respawn is not None:
            self._renew(self.respawn)

    def _renew(self, patience: int) -> None:
        """Let experts that have not mattered for long begin anew."""
        assert self._bank is not None
        expired = self._weighting.expire(self._idle, patience)
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
        record = self._weighting.get_state()
        limits = [self._low, self._high]
        return {"experts": self._bank.experts, "weighting": record, "idle": self._idle, "range": limits}

    def _set_state(self, state: dict[str, Any]) -> None:
        if state:
            self._start(state["experts"])
            self._weighting.set_state(state["weighting"])
            self._idle = state["idle"]
            self._low, self._high = state["range"]


def default_experts(n_features: int) -> list[StreamingRegressor]:
    """A spread of length scales, a rough kernel, and ways of forgetting that share one dictionary."""
    middle = math.sqrt(max(n_features, 1))
    smooth = [KRLS(kernels.RBF(width * middle) + 1.0, 1e-3, 0.01, max_size=MAX_SIZE) for width in WIDTHS]
    rough = KRLS(kernels.Laplacian(2.0 * middle) + 1.0, threshold=0.03, ridge=0.1, max_size=MAX_SIZE)
    kernel = kernels.RBF(middle) + 1.0
    forgetful = [KRLS(kernel, 1e-3, 0.01, pace, way, max_size=MAX_SIZE) for pace, way in PACES]
    return [*smooth, rough, *forgetful]


class KernelMixtureClassifier(base.Classifier, Checkpointed):
    """A weighted mixture of kernel classifiers, whose weights follow how well each predicts.

    Parameters
    ----------
    models
        `LSSVMClassifier`s; they are copied, with what they have learned. None is a spread of length scales.
    weighting
        `"bma"`: discounted Bayesian model averaging of the predicted probabilities. `"aggregating"`: the same without
        discount, which is the Aggregating Algorithm for the logarithmic loss: that loss exceeds the best expert's by
        at most ln N. `"coker"`: w ∝ ζ^(−1/(r−1)) of the discounted Brier loss ζ.
    discount
        As in `KernelMixture`.
    share
        As in `KernelMixture`.
    power
        As in `KernelMixture`.
    initial_weights
        As in `KernelMixture`.
    respawn
        As in `KernelMixture`.

    Examples
    --------

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from streamkernel import KernelMixtureClassifier

    >>> model = preprocessing.StandardScaler() | KernelMixtureClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing().take(500), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        models: list[LSSVMClassifier] | None = None,
        weighting: str = "bma",
        discount: float = 0.99,
        share: float = 0.001,
        power: float = 2.0,
        initial_weights: tuple[float, ...] | None = None,
        respawn: int | None = None,
    ) -> None:
        check_weighting(weighting, discount, share, power, respawn)
        _check_models(models, LSSVMClassifier)
        _check_weights(initial_weights, models)
        self.models = models
        self.weighting = weighting
        self.discount = discount
        self.share = share
        self.power = power
        self.initial_weights = initial_weights
        self.respawn = respawn
        self._experts: list[LSSVMClassifier] = []
        if models is not None:
            self._start(copy.deepcopy(models))

    def _start(self, experts: list[LSSVMClassifier]) -> None:
        self._experts = experts
        self._weighting = Weighting(self.weighting, len(experts), self.discount, self.share, self.power)
        if self.initial_weights is not None:
            self._weighting.begin(np.array(self.initial_weights))
        self._idle = [0] * len(experts)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        for weighting in ("bma", "aggregating", "coker"):
            models = [LSSVMClassifier(max_size=20), LSSVMClassifier(forgetting=0.99, max_size=20)]
            yield {"models": models, "weighting": weighting, "respawn": 50}

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: Mapping[Feature, Any]) -> dict[Any, float]:
        """The probability of every class seen so far."""
        experts = self._experts or default_classifiers(len(x))
        guesses = [expert.predict_proba_one(x) for expert in experts]
        if not guesses[0]:
            return {}
        weights = self._weighting.weights
        return {
            label: float(sum(weight * guess.get(label, 0.0) for weight, guess in zip(weights, guesses, strict=True)))
            for label in guesses[0]
        }

    def learn_one(self, x: Mapping[Feature, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one labeled sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The label.
        w
            The sample's weight.

        """
        reading.noise(w)
        experts = self._experts or default_classifiers(len(x))
        guesses = [expert.predict_proba_one(x) for expert in experts]  # an error for a bad sample, before any learns
        if not self._experts:
            self._start(experts)
        if y in guesses[0]:
            right = np.array([guess[y] for guess in guesses])
            brier = [sum((p - (label == y)) ** 2 for label, p in guess.items()) for guess in guesses]
            self._weighting.update(w * np.log(np.maximum(right, SMALLEST_PROBABILITY)), w * np.array(brier))
        for expert in experts:
            expert.learn_one(x, y, w)
        if self.respawn is not None:
            for i in self._weighting.expire(self._idle, self.respawn):
                fresh = experts[i].clone()
                fresh.know(experts[i].classes)
                experts[i] = fresh

    @property
    def experts(self) -> list[LSSVMClassifier]:
        """The learners; empty before the first sample where `models` is None."""
        return list(self._experts)

    @property
    def weights(self) -> list[float]:
        """The weight of each expert now."""
        return self._weighting.weights.tolist() if self._experts else []

    def _get_state(self) -> dict[str, Any]:
        if not self._experts:
            return {}
        return {"experts": self._experts, "weighting": self._weighting.get_state(), "idle": self._idle}

    def _set_state(self, state: dict[str, Any]) -> None:
        if state:
            self._start(state["experts"])
            self._weighting.set_state(state["weighting"])
            self._idle = state["idle"]


def default_classifiers(n_features: int) -> list[LSSVMClassifier]:
    """A spread of length scales."""
    middle = math.sqrt(max(n_features, 1))
    return [LSSVMClassifier(kernels.RBF(width * middle), max_size=MAX_SIZE) for width in WIDTHS]


def _check_models(models: Sequence[Any] | None, kind: type) -> None:
    if models is None:
        return
    if isinstance(models, str) or not isinstance(models, Sequence) or not models:
        raise TypeError(f"models must be a list of {kind.__name__}s, got {models!r}")
    for model in models:
        if not isinstance(model, kind):
            raise TypeError(f"models must be a list of {kind.__name__}s, but {model!r} is a {type(model).__name__}")


def _check_range(target_range: Any) -> None:
    if target_range is None:
        return
    try:
        low, high = (reading.number("target_range", value) for value in target_range)
    except (TypeError, ValueError):
        raise ValueError(f"target_range must be two finite numbers, got {target_range!r}") from None
    if not low < high:
        raise ValueError(f"target_range must be (low, high) with low < high, got {target_range!r}")


def _check_weights(weights: Any, models: Sequence[Any] | None) -> None:
    if weights is None:
        return
    values = np.asarray(weights, dtype=np.float64)
    if models is None or values.shape != (len(models),):
        raise ValueError(f"initial_weights must hold one number for each of models, got {weights!r}")
    if not (np.isfinite(values).all() and (values >= 0.0).all() and values.sum() > 0.0):
        raise ValueError(f"initial_weights must be nonnegative and not all zero, got {weights!r}")
