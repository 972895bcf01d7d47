"""The regressor itself: samples in, predictions out; what is learned, and when."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from .. import kernels
from ..calendars import date_features
from ..checkpoint import Checkpointed
from ..core.types import Vector
from ..encoding import Encoder
from ..learners import reading
from ..learners.bank import LARGEST_USUAL, LARGEST_USUAL_WEIGHT, Bank
from ..learners.base import gaussian, interval
from .calibration import Calibration
from .drift import DriftWatch
from .many import like, samples_of
from .mixture import Mixture, new_weighting
from .outliers import Outliers, gross
from .relevance import Portrait, new_history, relevance
from .tuning import Renewal, Tuning, as_budget, expected_time, scaling_of
from .window import RowWindow

# The scales are learned anew when this many samples have come since the last drift, and at sizes that grow so.
FIRST_TUNING, GROWTH = 8, 1.6
# About how many microseconds a step may spend on that.
TUNING_TIME = 10_000.0
# A tuning begins at most so many samples ahead of its time, in order to be done then.
MOST_AHEAD = 100
# Gross errors do not enter a window that is shorter than this.
YOUNG = 60

# Of a target: squares of errors in units of small ones stay finite.
LARGEST_TARGET = 1e100
# Predictions stay within the targets seen so far, extended by this part of their range on both sides.
MARGIN = 0.5

# Drift is looked for in errors, in units of those that were usual when the scales were learned.
LARGEST_ERROR = 5.0
RELEVANCE_SAMPLES = 100


class AutoKernelRegressor(base.Regressor, Checkpointed):
    """A kernel regressor without parameters.

    It takes features as they come: of any scale, with long tails, words (one column for each, thirty at most for a
    feature), dates (a date, datetime or ISO text: time of day, weekday, day of the year, days elapsed), gaps (None, NaN
    or absent: the mean, and a column that says so), constant ones, and ones that appear late or vanish. Do not scale
    them on the way: behind river's `StandardScaler` the same value is another number at every step, and errors are
    larger, more than twice as large on `ChickWeights`.

    It predicts from the first sample on. From a window of recent samples it learns a length scale for every
    feature, the noise, a level and a trend; it does so anew as the stream grows and when its errors show drift. Experts
    that forget at different paces are mixed by how well they predict, so that it follows a function that changes and
    stays put where it does not. Intervals are calibrated online: 90 % of the targets lie inside those of 90 %.

    Scales are learned a little with every sample, and experts that have them take over when they have caught up with
    the stream: no step takes long. Gross errors among the targets, fewer than one in a hundred and each on its own, are
    not learned (`outliers` counts them). Predictions stay within the range of the targets seen so far, extended by half
    on both sides. Of more than 200 columns those are used that go along with the target most.

    Parameters
    ----------
    budget
        What a step (`predict_one` and `learn_one`) may cost: `"low"` (60 points in a dictionary, 1000 samples kept),
        `"medium"` (150, 4000) or `"high"` (400, 10000); or how many microseconds a usual step, the median one, may take
        on one core of a current machine, from which the size of the dictionary follows. While scales are learned, for
        some dozens of steps at a time, a step takes up to ten milliseconds more, at `"high"` twenty: over thousands of
        samples that makes the mean two or three times the median.

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
        self._window = RowWindow(self._budget.window, outputs=2)  # targets, weights
        self._count = 0
        self._next_tuning = FIRST_TUNING
        self._range = (math.inf, -math.inf)
        self._calibration = Calibration()
        self._watch = DriftWatch()
        self._outliers = Outliers()
        self._drifts: list[int] = []
        self._tunings: list[int] = []
        self._history = new_history()
        self._mixture: Mixture | None = None
        self._renewal: Renewal | None = None
        self._portrait: Portrait | None = None

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
        if abs(target) > LARGEST_TARGET:
            raise ValueError(f"target y is {y!r}: it must be at most {LARGEST_TARGET:g} either way; rescale the target")
        reading.noise(w)
        row = self._encoder.read(x)
        mean, variance = self._predict(row)
        if self._mixture is not None:
            self._mixture.scaled(target)
        is_usual = abs(target) <= LARGEST_USUAL and w <= LARGEST_USUAL_WEIGHT
        is_usual &= self._mixture is None or self._mixture.is_usual(row, target)
        before = None if is_usual and not (np.abs(row) > LARGEST_USUAL).any() else copy.deepcopy(self.__dict__)
        try:
            self._take_in(self._encoder.learn(x, row), target, w, mean, variance)
        except Exception as error:
            self.__dict__.update(before or {})
            if isinstance(error, OverflowError):
                raise ValueError(f"target y is {y!r}: its squared error overflows; rescale the target") from error
            raise

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn samples in order, as `learn_one` would one after the other; none where one of them is bad.

        Parameters
        ----------
        X
            A data frame, in which there may be words and gaps, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample.

        """
        samples, _ = samples_of(X)
        targets = reading.column("y", y, len(samples)).tolist()
        weights = [1.0] * len(samples) if w is None else reading.column("w", w, len(samples)).tolist()
        for x, target, weight in zip(samples, targets, weights, strict=True):
            self._encoder.read(x)
            reading.target(target)
            reading.noise(weight)
        for x, target, weight in zip(samples, targets, weights, strict=True):
            self.learn_one(x, target, weight)

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        samples, data = samples_of(X)
        rows = [self._encoder.read(x) for x in samples]
        if self._mixture is None or not rows:
            means = np.array([self._predict(row)[0] for row in rows])
        else:
            reach = MARGIN * (self._range[1] - self._range[0])
            means = self._mixture.predict_rows(np.array(rows))
            means = np.clip(means, self._range[0] - reach, self._range[1] + reach)
        return like(means, data)

    def _take_in(self, row: Vector, target: float, w: float, mean: float, variance: float) -> None:
        """Learn an encoded sample that was predicted to have this mean and variance, unless its target is gross."""
        if self._count > 1:
            self._calibration.update((target - mean) / math.sqrt(variance))
            is_aside = self._outliers.sets_aside(row, target, w, mean, self._window.targets[:, 0])
            for sample in list(self._outliers.released()):
                self._learn_released(self._encoder.widened(sample.row), sample.target, sample.weight)
                mean = self._predict(row)[0]
            if is_aside:
                self._count += 1
                return
        self._count += 1
        self._learn(row, target, w, mean)

    def _learn_released(self, row: Vector, target: float, w: float) -> None:
        """Learn a sample that was set aside; where the experts cannot hold it, it stays so."""
        is_usual = self._mixture is None or self._mixture.is_usual(row, target)
        before = None if is_usual else copy.deepcopy(self.__dict__)
        try:
            self._learn(row, target, w, self._predict(row)[0])
        except (ValueError, OverflowError):
            if before is None:
                raise
            self.__dict__.update(before)

    def _learn(self, row: Vector, target: float, w: float, mean: float) -> None:
        """Learn an encoded sample that was predicted to be this."""
        self._window.append(self._encoder.columns, row, [target, w])
        self._range = min(self._range[0], target), max(self._range[1], target)
        if self._mixture is not None:
            self._mixture.learn(row, target, w)
            if self._has_drifted(min(abs(target - mean) / self._mixture.tuning.reference, LARGEST_ERROR)):
                self._next_tuning = self._window.length
        if (self._renewal is None and self._is_due()) or self._next_tuning <= self._window.length:
            self._begin_tuning()
        if self._renewal is not None:
            self._advance_tuning(self._renewal)
        elif self._portrait is not None:
            self._advance_portrait(self._portrait)

    def predict_learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before."""
        prediction = float(self.predict_one(x))
        self.learn_one(x, y, w)
        return prediction

    def _predict(self, row: Vector) -> tuple[float, float]:
        """Mean and variance, before calibration."""
        if not self._count:
            return 0.0, 1.0
        if self._mixture is None:
            targets = self._window.targets[:, 0]
            targets = np.delete(targets, gross(targets))
            spread = float(targets.var()) or (float(targets.mean()) ** 2 or 1.0)
            return float(targets.mean()), spread * (1.0 + 1.0 / self._count)
        mean, variance = self._mixture.predict(row)
        low, high = self._range
        reach = MARGIN * (high - low)
        return min(max(mean, low - reach), high + reach), variance

    # What is learned from the window ---------------------------------------------------------------------------------

    def _has_drifted(self, error: float) -> bool:
        """Whether the errors have grown; if so, the window keeps what came after the change."""
        newest = self._watch.update(error, len(self._window))
        if newest is None:
            return False
        self._window.keep(newest)
        self._drifts.append(self._count)
        return True

    def _is_due(self) -> bool:
        """Whether a tuning that begins now would end when the next one is planned."""
        ahead = self._next_tuning - self._window.length
        if ahead > MOST_AHEAD:
            return False
        return ahead <= expected_time(len(self._window), len(self._window.columns), self._budget) // TUNING_TIME

    def _begin_tuning(self) -> None:
        """Begin to learn units, kernel and experts anew from the window; what was under way is given up."""
        self._next_tuning = math.ceil(GROWTH * max(self._next_tuning, self._window.length))
        if len(self._window) < YOUNG and (wrong := gross(self._window.targets[:, 0])):
            self._window.drop(wrong)
            targets = self._window.targets[:, 0]
            self._range = float(targets.min()), float(targets.max())
        start = None if self._mixture is None else self._mixture.tuning.point
        renewal = Renewal(self._window, self._encoder, self._budget, start)
        self._renewal = renewal if renewal.is_possible else None

    def _advance_tuning(self, renewal: Renewal) -> None:
        """Go on with that; where it is done, the new experts take over."""
        found = renewal.advance(TUNING_TIME)
        if found is None:
            return
        tuning, bank = found
        weighting = new_weighting(len(bank.experts)) if self._mixture is None else self._mixture.weighting
        self._mixture, self._renewal = Mixture(tuning, bank, weighting), None
        self._tunings.append(self._count)
        self._portrait = Portrait(self._count)

    def _advance_portrait(self, portrait: Portrait) -> None:
        """Go on with finding the relevance for the history."""
        assert self._mixture is not None
        found = portrait.advance(TUNING_TIME, self._mixture, self._window)
        if found is not None:
            self._history.append((portrait.count, found))
            self._portrait = None

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary of the learned kernel."""
        return self._mixture.bank.experts[0].size if self._mixture is not None else 0

    @property
    def drifts(self) -> list[int]:
        """The numbers of samples learned when drift was detected."""
        return list(self._drifts)

    @property
    def tunings(self) -> list[int]:
        """The numbers of samples learned when the scales were learned anew."""
        return list(self._tunings)

    @property
    def outliers(self) -> int:
        """How many targets were taken for gross errors, and not learned."""
        return self._outliers.count

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert now, by what it is; empty before the scales were first learned."""
        if self._mixture is None:
            return {}
        learned, experts = self._mixture.tuning.kernel, self._mixture.bank.experts
        names = [f"{_shape(expert.kernel, learned)}, {_pace(expert)}" for expert in experts]
        return dict(zip(names, self._mixture.weighting.weights.tolist(), strict=True))

    @property
    def relevance(self) -> dict[str, float]:
        """How much each column matters now; they sum to one.

        It is the mean change of the prediction, of the expert with the largest weight, over one standard deviation of
        the column, at the newest samples.
        """
        return {} if self._mixture is None else relevance(self._mixture, self._window, RELEVANCE_SAMPLES)

    @property
    def relevance_history(self) -> list[tuple[int, dict[str, float]]]:
        """The relevance at each of the newest tunings, at most a hundred: the number of samples learned, and it."""
        return [(count, dict(relevance)) for count, relevance in self._history]

    def explain(self) -> str:
        """What was chosen, and why, as text."""
        lines = [f"AutoKernelRegressor, budget {self.budget!r}: {self._count} samples learned."]
        if self._mixture is None:
            return "\n".join([*lines, "Nothing chosen yet: predictions are the mean of the targets."])
        relevance = self.relevance
        order = sorted(relevance, key=relevance.__getitem__, reverse=True)
        tuning = self._mixture.tuning
        columns = tuning.scaling.columns
        used = {column.source for column in columns}
        left_out = [str(name) for name in self._window.names if name not in used]
        bent = [column.name for column in columns if column.bent]
        dates = ", ".join(date_features(map(str, self._window.names)))
        lines += [
            f"Scales, ridge and trend were learned {len(self._tunings)} times by the evidence of the newest samples, "
            f"last at sample {self._tunings[-1]}.",
            "Columns by relevance: " + ", ".join(f"{name} {relevance[name]:.2g}" for name in order) + ".",
            *([f"Left out, as they did not vary: {', '.join(left_out)}."] if left_out else []),
            *([f"Bent by asinh, as they have long tails: {', '.join(bent)}."] if bent else []),
            *([f"Dates taken as time of day, weekday, day of the year and days elapsed: {dates}."] if dates else []),
            *([f"Gaps taken as the mean: {self._encoder.gaps}."] if self._encoder.gaps else []),
            *(
                [f"Targets not learned, as they were gross errors: {self._outliers.count}."]
                if self._outliers.count
                else []
            ),
            f"Noise variance over that of the function: {tuning.ridge:.2g}.",
            f"Dictionary: {self.size} points of at most {self._budget.max_size}; window: {len(self._window)} samples.",
            f"Times that drift was detected: {len(self._drifts)}"
            + (f", last at sample {self._drifts[-1]}." if self._drifts else "."),
            f"Intervals are stretched by {self._calibration.stretch:.2g} so that 90 % of the targets lie inside.",
            "Experts by weight:",
        ]
        lines += [f"  {weight:.3f}  {name}" for name, weight in sorted(self.weights.items(), key=lambda pair: -pair[1])]
        return "\n".join(lines)

    def _recent_errors(self) -> list[float]:
        return self._watch.errors

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        state = {
            "words": self._encoder.words,
            "gaps": self._encoder.gaps,
            "labels": self._encoder.labels,
            "window": self._window.get_state(),
            "count": self._count,
            "next": self._next_tuning,
            "range": list(self._range),
            "stretch": self._calibration.stretch,
            "errors": self._watch.errors,
            "outliers": self._outliers.get_state(),
            "drifts": self._drifts,
            "tunings": self._tunings,
            "history": list(self._history),
            "renewal": None if self._renewal is None else self._renewal.get_state(),
            "portrait": None if self._portrait is None else self._portrait.get_state(),
        }
        if self._mixture is not None:
            tuning = self._mixture.tuning
            state |= {
                "point": tuning.point,
                "columns": [tuple(column) for column in tuning.scaling.columns],
                "units": [tuning.center, tuning.unit, tuning.ridge, tuning.reference, self._mixture.square],
                "kernel": tuning.kernel,
                "experts": self._mixture.bank.experts,
                "weighting": self._mixture.weighting.get_state(),
            }
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        self._window.set_state(state["window"])
        self._encoder.restore(self._window.columns, state["words"], state.get("labels", ()))
        self._encoder.gaps = state["gaps"]
        self._count, self._next_tuning = state["count"], state["next"]
        self._calibration.stretch = state["stretch"]
        self._range = (state["range"][0], state["range"][1])
        self._drifts, self._tunings = state["drifts"], state["tunings"]
        self._watch.restart(state["errors"])
        self._history.extend(state.get("history", ()))
        if "outliers" in state:
            self._outliers.set_state(state["outliers"])
        if "point" in state:
            center, unit, ridge, reference, square = state["units"]
            scaling = scaling_of(state["columns"], self._encoder.columns)
            tuning = Tuning(scaling, center, unit, state["point"], ridge, state["kernel"], reference)
            bank = Bank(state["experts"])
            weighting = new_weighting(len(bank.experts))
            weighting.set_state(state["weighting"])
            self._mixture = Mixture(tuning, bank, weighting, square)
        if state.get("renewal") is not None:
            self._renewal = Renewal.from_state(state["renewal"], self._window, self._encoder, self._budget)
        if state.get("portrait") is not None:
            self._portrait = Portrait.from_state(state["portrait"])


def _shape(kernel: kernels.Kernel | None, learned: kernels.Kernel) -> str:
    if kernel == learned:
        return "learned kernel"
    return "rough kernel" if "Laplacian" in repr(kernel) else "straight line"


def _pace(expert: Any) -> str:
    return "no forgetting" if expert.forgetting == 1.0 else f"forgetting {expert.forgetting:g} ({expert.forget})"
