"""How experts are weighed: each by how well it predicted samples before it learned them, by one of three rules.

    bma          discounted Bayesian model averaging, ln w_i ← d·ln w_i + ln p_i(y), p_i the expert's own distribution
    aggregating  Vovk's Aggregating Algorithm for squared loss on [Y1, Y2]: w_i ← w_i e^{−η(y−ξ_i)²}, η = 2/(Y2 − Y1)²,
                 G(y) = −(1/η) ln Σ w_i e^{−η(y−ξ_i)²}, prediction (Y1 + Y2)/2 − (G(Y2) − G(Y1)) / (2(Y2 − Y1))
    coker        w_i ∝ ζ_i^{−1/(r−1)}, the minimizer of Σ w_i^r ζ_i, ζ the discounted mean squared loss

The last is eq. (13) of coupled kernel ensemble regression as it should read (it is printed right for r = 2 only).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..core.types import Vector

# An error of more than five standard deviations counts like one of five: one outlier does not decide.
OUTLIER_SQUARE = 25.0
SMALLEST_VARIANCE = 1e-300
SMALLEST_PROBABILITY = 1e-12
# First weights of `"coker"` count like this many samples.
FIRST_RECORD = 10.0
# An expert matters as long as its weight is above this share of an equal one.
IDLE_SHARE = 0.1


class Weighting:
    """Weights of experts from their losses.

    Parameters
    ----------
    rule
        `"bma"`, `"aggregating"` or `"coker"`.
    count
        The number of experts.
    discount
        How much of the record counts after one more sample.
    share
        The part of all weight that `"bma"` shares out evenly at every step.
    power
        r of `"coker"`.
    first
        The first weights. None is equal ones.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.ensembles.weighting import Weighting
    >>> weighting = Weighting("aggregating", count=2, discount=1.0, share=0.0, power=2.0)
    >>> weighting.weights
    array([0.5, 0.5])
    >>> weighting.update(np.log([0.2, 0.6]), losses=np.array([9.0, 1.0]))
    >>> weighting.weights
    array([0.25, 0.75])

    """

    def __init__(
        self,
        rule: str,
        count: int,
        discount: float,
        share: float,
        power: float,
        first: Sequence[float] | None = None,
    ) -> None:
        self.rule, self.discount, self.share, self.power = rule, discount, share, power
        self._weights: Vector | None = None  # as far as they are known
        self.logs = np.zeros(count)  # ln w, up to a constant
        if first is not None:
            self.logs = np.log(np.maximum(np.array(first) / np.sum(first), SMALLEST_PROBABILITY))
        self.losses, self.age = np.zeros(count), 0.0  # discounted sums
        self.idle = [0] * count  # for how many samples each expert has not mattered

    @property
    def weights(self) -> Vector:
        """The weights; they sum to one."""
        if self._weights is None:
            if self.rule == "coker" and self.age:
                self._weights = coupled_weights(self.losses, self.power)
            else:
                powers = np.exp(self.logs - self.logs.max())
                self._weights = powers / powers.sum()
        return self._weights

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
        self._weights = None
        if self.rule == "bma" and self.share:
            self.logs = np.log((1.0 - self.share) * self.weights + self.share / len(self.logs))
        else:
            self.logs -= self.logs.max()
        self._weights = None

    def rescale(self, factor: float) -> None:
        """Take the record as if every loss had counted by this factor: at another rate of `"aggregating"`."""
        self.logs = factor * self.logs
        self._weights = None

    def expire(self, patience: int) -> list[int]:
        """Count for how long each expert has not mattered; who has not for too long is named and starts over."""
        expired = []
        for i, weight in enumerate(self.weights):
            self.idle[i] = 0 if weight * len(self.idle) > IDLE_SHARE else self.idle[i] + 1
            if self.idle[i] >= patience:
                self.idle[i] = 0
                self._restart(i)
                expired.append(i)
        return expired

    def _restart(self, index: int) -> None:
        """Give an expert that begins anew a small weight and a middling record."""
        self.logs[index] = np.log(self.share / len(self.logs) or SMALLEST_PROBABILITY) + self.logs.max()
        self.losses[index] = np.median(self.losses)
        self._weights = None

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.logs, self.losses, self.age]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.logs, self.losses, self.age = state[0], state[1], state[2]
        self._weights = None


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
    places = (predictions - low) / (high - low)  # on [0, 1] η is 2, and nothing of it under- or overflows

    def generalized(y: float) -> float:
        terms = logs - 2.0 * (y - places) ** 2
        largest = float(terms.max())
        return -(largest + math.log(float(np.exp(terms - largest).sum()))) / 2.0

    return low + (high - low) * (1.0 - generalized(1.0) + generalized(0.0)) / 2.0


def check_weighting(weighting: str, discount: float, share: float, power: float, respawn: int | None) -> None:
    """The parameters that both mixtures have."""
    checks.choice("weighting", weighting, ("bma", "aggregating", "coker"))
    checks.number("discount", discount, low=0.0, high=1.0, open_low=True)
    checks.number("share", share, low=0.0, high=1.0)
    checks.number("power", power, low=1.0, open_low=True)
    checks.size("respawn", respawn)


def check_models(models: Any, kind: type) -> None:
    """The experts that both mixtures are given."""
    if models is None:
        return
    if isinstance(models, str) or not isinstance(models, Sequence) or not models:
        raise TypeError(f"models must be a list of {kind.__name__}s, got {models!r}")
    for model in models:
        if not issubclass(type(model), kind):  # river calls a pipeline an instance of the class of its last step
            raise TypeError(
                f"models must be a list of {kind.__name__}s, but {model!r} is a {type(model).__name__}"
                + (": put the mixture at the end of a pipeline instead" if isinstance(model, kind) else "")
            )


def check_first_weights(weights: Any, models: Sequence[Any] | None) -> None:
    """The first weights that both mixtures are given."""
    if weights is None:
        return
    values = np.asarray(weights, dtype=np.float64)
    if models is None or values.shape != (len(models),):
        raise ValueError(f"initial_weights must hold one number for each of models, got {weights!r}")
    if not (np.isfinite(values).all() and (values >= 0.0).all() and values.sum() > 0.0):
        raise ValueError(f"initial_weights must be nonnegative and not all zero, got {weights!r}")
