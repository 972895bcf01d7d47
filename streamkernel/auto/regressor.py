"""The regressor itself: samples in, predictions out; what is learned, and when."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from .. import kernels
from ..checkpoint import Checkpointed
from ..core.types import Vector
from ..encoding import Column, Encoder, Scaling
from ..ensembles.weighting import OUTLIER_SQUARE, SMALLEST_VARIANCE, Weighting
from ..kernels import Feature
from ..learners import reading
from ..learners.bank import Bank
from ..learners.base import gaussian, interval
from ..learners.window import Window
from .calibration import Calibration
from .drift import DriftWatch
from .relevance import change, new_history, shares
from .tuning import Tuning, as_budget, tune

# Experts are weighed by their squared errors in units of the mixture's own, a mean over about 30 samples. In units of
# each expert's variance, one that forgets fast would win where the noise changes, as only it knows the noise.
DISCOUNT, SHARE, SQUARE_RATE = 0.99, 0.001, 0.03

# The scales are learned anew when the window has grown to these sizes.
FIRST_TUNING, GROWTH = 8, 1.6
# After this many removals from a full dictionary it becomes choosier.
MOST_REMOVALS = 20

# Predictions stay within the targets seen so far, extended by this part of their range on both sides.
MARGIN = 0.5

# Drift is looked for in errors, in units of those that were usual when the scales were learned.
LARGEST_ERROR = 5.0
RELEVANCE_SAMPLES = 100


class AutoKernelRegressor(base.Regressor, Checkpointed):
    """A kernel regressor without parameters.

    It takes features as they come: of any scale, with long tails, words (one column for each, thirty at most for a
    feature), gaps (None, NaN or absent: the mean, and a column that says so), constant ones, and ones that appear late
    or vanish. It predicts from the first sample on. From a window of recent samples it learns a length scale for every
    feature, the noise, a level and a trend; it does so anew as the stream grows and when its errors show drift. Experts
    that forget at different paces are mixed by how well they predict, so that it follows a function that changes and
    stays put where it does not. Intervals are calibrated online: 90 % of the targets lie inside those of 90 %.

    Predictions stay within the range of the targets seen so far, extended by half on both sides.

    Parameters
    ----------
    budget
        What a step may cost on average: `"low"` (60 points in a dictionary, 1000 samples kept), `"medium"` (150, 4000)
        or `"high"` (400, 10000); or a number of microseconds, from which the size of the dictionary follows. A step at
        which the scales are learned anew takes longer, up to a few seconds at `"high"`.

    Examples
    --------

    >>> from river import evaluate, metrics
    >>> from streamkernel import AutoKernelRegressor, datasets

    >>> model = AutoKernelRegressor()
    >>> evaluate.progressive_val_score(datasets.Friedman1(noise=0.1, seed=1).take(1000), model, metrics.RMSE())
    RMSE: 0.7...

    Five of the ten features matter:

    >>> relevance = model.relevance
    >>> sorted(sorted(relevance, key=relevance.get)[5:])
    ['0', '1', '2', '3', '4']
    >>> model.predict_one(dict.fromkeys(range(10), 0.5), with_interval=True)
    Interval(lower=1..., upper=1...)

    """

    def __init__(self, budget: str | float = "medium") -> None:
        self.budget = budget
        self._budget = as_budget(budget)
        self._encoder = Encoder()
        self._window = Window(self._budget.window, outputs=2, absent=math.nan)  # targets, weights
        self._count = 0
        self._next_tuning = FIRST_TUNING
        self._range = (math.inf, -math.inf)
        self._calibration = Calibration()
        self._watch = DriftWatch()
        self._drifts: list[int] = []
        self._tunings: list[int] = []
        self._history = new_history()
        self._tuning: Tuning | None = None
        self._seen: tuple[dict[Feature, float], Vector, Vector] | None = None

    # River's methods -------------------------------------------------------------------------------------------------

    def predict_one(
        self,
        x: Mapping[Hashable, Any],
        with_dist: bool = False,
        with_interval: bool = False,
        interval_level: float = 0.9,
    ) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).
        with_dist
            Return the predictive distribution, a river `Gaussian`, instead of its mean.
        with_interval
            Return its central interval, a river `Interval`.
        interval_level
            The probability of the interval.

        """
        mean, variance = self._predict(self._encoder.read(x))
        if not (with_dist or with_interval):
            return mean
        distribution = gaussian(mean, self._calibration.stretch**2 * variance)
        return interval(distribution, interval_level) if with_interval else distribution

    def learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).
        y
            The target.
        w
            The sample's weight.

        """
        target = reading.target(y)
        reading.noise(w)
        encoded = self._encoder.read(x)
        mean, variance = self._predict(encoded)
        encoded = self._encoder.learn(x, encoded)
        if self._count > 1:
            self._calibration.update((target - mean) / math.sqrt(variance))
        self._count += 1
        self._window.append(encoded, [target, w])
        self._range = min(self._range[0], target), max(self._range[1], target)
        if self._tuning is not None:
            self._learn_scaled(encoded, self._tuning, target, w)
            if self._has_drifted(min(abs(target - mean) / self._tuning.reference, LARGEST_ERROR)):
                self._next_tuning = len(self._window)
        if self._next_tuning <= len(self._window):
            self._next_tuning = math.ceil(GROWTH * len(self._window))
            self._tune()

    def predict_learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before."""
        prediction = float(self.predict_one(x))
        self.learn_one(x, y, w)
        return prediction

    def _predict(self, encoded: dict[Feature, float]) -> tuple[float, float]:
        """Mean and variance, before calibration."""
        if not self._count:
            return 0.0, 1.0
        low, high = self._range
        if self._tuning is None:
            targets = self._window.targets[:, 0]
            spread = float(targets.var()) or (float(targets.mean()) ** 2 or 1.0)
            return float(targets.mean()), spread * (1.0 + 1.0 / self._count)
        means, variances = self._moments(encoded, self._tuning.scaling)
        weights = self._weighting.weights
        mean = float(weights @ means)
        variance = float(weights @ (variances + (means - mean) ** 2))
        reach = MARGIN * (high - low)
        mean = min(max(self._tuning.center + self._tuning.unit * mean, low - reach), high + reach)
        return mean, max(self._tuning.unit**2 * variance, SMALLEST_VARIANCE)

    def _moments(self, encoded: dict[Feature, float], scaling: Scaling) -> tuple[Vector, Vector]:
        """The experts' means and variances; those of the last sample are remembered, as it is learned next."""
        if self._seen is None or self._seen[0] != encoded:
            means, variances = self._bank.moments(scaling.transform(encoded))
            self._seen = encoded, means, np.maximum(variances, SMALLEST_VARIANCE)
        return self._seen[1], self._seen[2]

    def _learn_scaled(self, encoded: dict[Feature, float], tuning: Tuning, y: float, w: float) -> None:
        """Weigh the experts by their predictions of the sample, then let them learn it."""
        means, _ = self._moments(encoded, tuning.scaling)
        target = (y - tuning.center) / tuning.unit
        losses = (target - means) ** 2
        mixed = float(self._weighting.weights @ means)
        self._square += SQUARE_RATE * ((target - mixed) ** 2 - self._square)
        unit = max(self._square, SMALLEST_VARIANCE)
        self._weighting.update(-0.5 * np.minimum(losses / unit, OUTLIER_SQUARE), losses)
        self._bank.learn(tuning.scaling.transform(encoded), target, w)
        self._bank.relax(MOST_REMOVALS)
        self._seen = None

    # What is learned from the window ---------------------------------------------------------------------------------

    def _has_drifted(self, error: float) -> bool:
        """Whether the errors have grown; if so, the window keeps what came after the change."""
        newest = self._watch.update(error, len(self._window))
        if newest is None:
            return False
        self._window.keep(newest)
        self._drifts.append(self._count)
        return True

    def _tune(self) -> None:
        """Learn units, kernel and experts anew from the window."""
        start = None if self._tuning is None else self._tuning.point
        found = tune(self._window, self._encoder.word_columns(), self._budget, start)
        if found is None:
            return
        self._tuning, self._bank = found
        self._square = self._bank.experts[0].noise_variance
        if not self._tunings:
            self._weighting = Weighting("bma", len(self._bank.experts), DISCOUNT, SHARE, 2.0)
        self._tunings.append(self._count)
        self._history.append((self._count, self.relevance))
        self._seen = None

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary of the learned kernel."""
        return self._bank.experts[0].size if self._tuning is not None else 0

    @property
    def drifts(self) -> list[int]:
        """The numbers of samples learned when drift was detected."""
        return list(self._drifts)

    @property
    def tunings(self) -> list[int]:
        """The numbers of samples learned when the scales were learned anew."""
        return list(self._tunings)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert now, by what it is; empty before the scales were first learned."""
        if self._tuning is None:
            return {}
        return dict(zip(self._expert_names(self._tuning), self._weighting.weights.tolist(), strict=True))

    def _expert_names(self, tuning: Tuning) -> list[str]:
        return [f"{_shape(expert.kernel, tuning.kernel)}, {_pace(expert)}" for expert in self._bank.experts]

    @property
    def relevance(self) -> dict[str, float]:
        """How much each column matters now; they sum to one.

        It is the mean change of the prediction, of the expert with the largest weight, over one standard deviation of
        the column, at the newest samples.
        """
        if self._tuning is None:
            return {}
        scaling = self._tuning.scaling
        names = [str(name) for name in self._window.names]
        rows = scaling.transform_many(names, self._window.samples[-RELEVANCE_SAMPLES:])
        model = self._bank.experts[int(np.argmax(self._weighting.weights))].recursion
        columns = tuple(scaling.names)
        return shares(columns, [change(model, columns, rows, r) for r in range(len(columns))])

    @property
    def relevance_history(self) -> list[tuple[int, dict[str, float]]]:
        """The relevance at each of the newest tunings, at most a hundred: the number of samples learned, and it."""
        return [(count, dict(relevance)) for count, relevance in self._history]

    def explain(self) -> str:
        """What was chosen, and why, as text."""
        lines = [f"AutoKernelRegressor, budget {self.budget!r}: {self._count} samples learned."]
        if self._tuning is None:
            return "\n".join([*lines, "Nothing chosen yet: predictions are the mean of the targets."])
        relevance = self.relevance
        order = sorted(relevance, key=relevance.__getitem__, reverse=True)
        columns = self._tuning.scaling.columns
        used = {column.source for column in columns}
        left_out = [str(name) for name in self._window.names if name not in used]
        bent = [column.name for column in columns if column.bent]
        lines += [
            f"Scales, ridge and trend were learned {len(self._tunings)} times by the evidence of the newest samples, "
            f"last at sample {self._tunings[-1]}.",
            "Columns by relevance: " + ", ".join(f"{name} {relevance[name]:.2g}" for name in order) + ".",
            *([f"Left out, as they did not vary: {', '.join(left_out)}."] if left_out else []),
            *([f"Bent by asinh, as they have long tails: {', '.join(bent)}."] if bent else []),
            *([f"Gaps taken as the mean: {self._encoder.gaps}."] if self._encoder.gaps else []),
            f"Noise variance over that of the function: {self._tuning.ridge:.2g}.",
            f"Dictionary: {self.size} points of at most {self._budget.max_size}; window: {len(self._window)} samples.",
            f"Times that drift was detected: {len(self._drifts)}"
            + (f", last at sample {self._drifts[-1]}." if self._drifts else "."),
            f"Intervals are stretched by {self._calibration.stretch:.2g} so that 90 % of the targets lie inside.",
            "Experts by weight:",
        ]
        lines += [f"  {weight:.3f}  {name}" for name, weight in sorted(self.weights.items(), key=lambda pair: -pair[1])]
        return "\n".join(lines)

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        state = {
            "words": self._encoder.words,
            "gaps": self._encoder.gaps,
            "window": self._window.get_state(),
            "count": self._count,
            "next": self._next_tuning,
            "range": list(self._range),
            "stretch": self._calibration.stretch,
            "errors": self._watch.errors,
            "drifts": self._drifts,
            "tunings": self._tunings,
            "history": list(self._history),
        }
        if self._tuning is not None:
            tuning = self._tuning
            state |= {
                "point": tuning.point,
                "columns": [tuple(column) for column in tuning.scaling.columns],
                "units": [tuning.center, tuning.unit, tuning.ridge, tuning.reference, self._square],
                "kernel": tuning.kernel,
                "experts": self._bank.experts,
                "weighting": self._weighting.get_state(),
            }
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        self._encoder.words, self._encoder.gaps = state["words"], state["gaps"]
        self._window.set_state(state["window"])
        self._count, self._next_tuning = state["count"], state["next"]
        self._calibration.stretch = state["stretch"]
        self._range = (state["range"][0], state["range"][1])
        self._drifts, self._tunings = state["drifts"], state["tunings"]
        self._watch.restart(state["errors"])
        self._history.extend(state.get("history", ()))
        if "point" in state:
            scaling = Scaling([], np.empty((0, 0)))
            scaling.columns = [Column(*column) for column in state["columns"]]
            center, unit, ridge, reference, self._square = state["units"]
            self._tuning = Tuning(scaling, center, unit, state["point"], ridge, state["kernel"], reference)
            self._bank = Bank(state["experts"])
            self._weighting = Weighting("bma", len(self._bank.experts), DISCOUNT, SHARE, 2.0)
            self._weighting.set_state(state["weighting"])


def _shape(kernel: kernels.Kernel | None, learned: kernels.Kernel) -> str:
    if kernel == learned:
        return "learned kernel"
    return "rough kernel" if "Laplacian" in repr(kernel) else "straight line"


def _pace(expert: Any) -> str:
    return "no forgetting" if expert.forgetting == 1.0 else f"forgetting {expert.forgetting:g} ({expert.forget})"
