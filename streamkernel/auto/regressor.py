"""The regressor itself: samples in, predictions out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from ..core.types import Matrix, Vector
from ..learners import reading
from ..learners.bank import LARGEST_USUAL, Bank
from ..learners.base import gaussian, interval
from .asked import Guess
from .base import AutoKernelModel
from .bounds import Bounds
from .calibration import Calibration
from .many import like, samples_of
from .mixture import Mixture, new_weighting
from .outliers import Outliers, gross
from .targets import Numbers
from .trial import FEWEST_JUDGED, Trial
from .tuning import Tuning

# Gross errors do not enter a window that is shorter than this.
YOUNG = 60

# Drift is looked for in errors, in units of those that were usual when the scales were learned.
LARGEST_ERROR = 5.0


class AutoKernelRegressor(AutoKernelModel, base.Regressor):
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

    Answers may come late. A sample is judged by what was predicted when `predict_one` was first asked for it, as long
    as fewer than a thousand other questions wait: experts' weights, intervals and drift follow the errors of the
    answers that were given. A sample that nobody asked for is predicted just before it is learned. Predictions that are
    never answered, and those of `predict_many`, change nothing that is learned.

    Scales are learned a little with every sample, and experts that have them take over when they have caught up with
    the stream: no step takes long. Gross errors among the targets, fewer than one in a hundred and each on its own, are
    not learned (`outliers` counts them). Of more than 200 columns those are used that go along with the target most.

    Predictions stay within the range of the targets seen so far, extended by half on both sides. Where all experts
    agree they may be a trend and go farther, up to twice the range. Where they do not, a straight line counts the more
    the farther away they are, and the interval is wide.

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

    _has_trials = True

    def __init__(self, budget: str | float = "medium") -> None:
        super().__init__(budget)
        self._mixture: Mixture | None = None
        self._range = Bounds(math.inf, -math.inf)
        self._calibration = Calibration()
        self._outliers = Outliers()

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
        row = self._encoder.read(x)
        guess = self._guess(row)
        self._asked.remember(row, guess)
        if not (with_dist or with_interval):
            return guess.mean
        distribution = gaussian(guess.mean, self._calibration.stretch**2 * guess.variance)
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
        row = self._encoder.read(x)
        guess = self._asked.peek(row) or self._guess(row)
        if self._mixture is not None:
            self._mixture.scaled(target)
        is_usual = abs(target) <= LARGEST_USUAL and self._is_usual(row, w)
        is_usual = is_usual and (self._mixture is None or self._mixture.is_usual(row, target))

        def step() -> None:
            self._asked.take(row, self._count)
            learned = self._encoder.learn(x, row)
            if len(learned) > len(row):
                self._asked.rename(self._encoder.widened)
            self._take_in(learned, target, w, guess)

        try:
            self._attempt(is_usual, step)
        except OverflowError as error:
            raise ValueError(f"target y is {y!r}: its squared error overflows; rescale the target") from error

    def _read_targets(self, y: Any, count: int) -> list[float]:
        return [reading.target(target) for target in reading.column("y", y, count).tolist()]

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        samples, data = samples_of(X)
        rows = [self._encoder.read(x) for x in samples]
        if self._mixture is None or not rows:
            means = np.array([self._guess(row).mean for row in rows])
        else:
            means = self._mixture.predict_rows(np.array(rows))
            for i in np.flatnonzero((means < self._range.low) | (means > self._range.high)):
                means[i] = self._guess(rows[i]).mean
        return like(means, data)

    def _take_in(self, row: Vector, target: float, w: float, guess: Guess) -> None:
        """Learn an encoded sample that was guessed so, unless its target is gross."""
        if self._count > 1:
            self._calibration.update((target - guess.mean) / math.sqrt(guess.variance))
            is_aside = self._outliers.sets_aside(row, target, w, guess.mean, self._window.targets[:, 0])
            for sample in list(self._outliers.released()):
                self._learn_released(self._encoder.widened(sample.row), sample.target, sample.weight)
            if is_aside:
                self._window.adopt(self._encoder.columns)  # from which a restored model knows its columns
                self._count += 1
                return
        self._count += 1
        self._learn(row, target, w, guess)

    def _learn_released(self, row: Vector, target: float, w: float) -> None:
        """Learn a sample that was set aside; where the experts cannot hold it, it stays so."""
        is_usual = self._mixture is None or self._mixture.is_usual(row, target)
        try:
            self._attempt(is_usual, lambda: self._learn(row, target, w, self._guess(row)))
        except (ValueError, OverflowError):
            if is_usual:
                raise

    def _learn(self, row: Vector, target: float, w: float, guess: Guess) -> None:
        """Learn an encoded sample that was guessed so."""
        self._window.append(self._encoder.columns, row, [target, w])
        self._range = Bounds(min(self._range.low, target), max(self._range.high, target))
        error = None
        if self._mixture is not None:
            self._mixture.learn(row, target, w, guess)
            error = min(abs(target - guess.mean) / self._mixture.tuning.reference, LARGEST_ERROR)
        self._tend(error)

    def predict_learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before."""
        prediction = float(self.predict_one(x))
        self.learn_one(x, y, w)
        return prediction

    def _guess(self, row: Vector) -> Guess:
        """What an encoded sample's target will be, before calibration."""
        if not self._count:
            return Guess(0.0, 1.0)
        if self._mixture is None:
            targets = self._window.targets[:, 0]
            targets = np.delete(targets, gross(targets))
            spread = float(targets.var()) or (float(targets.mean()) ** 2 or 1.0)
            return Guess(float(targets.mean()), spread * (1.0 + 1.0 / self._count), self._count)
        guess = self._mixture.predict(row)
        if not self._range.low <= guess.mean <= self._range.high:
            mean, variance = self._range.tempered(guess.mean, guess.variance, *self._mixture.opinions(guess))
            return guess._replace(mean=mean, variance=variance, age=self._count)
        return guess._replace(age=self._count)

    # What is learned from the window ---------------------------------------------------------------------------------

    def _measure(self) -> Numbers:
        """The units of the window's targets; among few of them, those that are gross errors leave first."""
        if len(self._window) < YOUNG and (wrong := gross(self._window.targets[:, 0])):
            self._window.drop(wrong)
            targets = self._window.targets[:, 0]
            self._range = Bounds(float(targets.min()), float(targets.max()))
        return Numbers.of(self._window.targets[:, 0])

    def _measure_from(self, first: int) -> Numbers:
        return Numbers.of(self._window.targets[max(0, first - self._window.first) :, 0])

    def _errors_of(self, trial: Trial) -> tuple[Matrix, Vector] | None:
        """Those of what was said in the trial, and of what was predicted when the samples were asked for."""
        errors = self._outliers.errors(len(trial.said))
        if len(errors) < FEWEST_JUDGED:
            return None
        targets = self._window.targets[-len(errors) :, :1]
        return np.abs(np.array(trial.said[-len(errors) :]) - targets), errors

    def _restored_units(self, state: list[Any]) -> Numbers:
        return Numbers(*state)

    def _take_over(self, tuning: Tuning, bank: Bank) -> None:
        weighting = new_weighting(len(bank.experts)) if self._mixture is None else self._mixture.weighting
        self._mixture = Mixture(tuning, bank, weighting)

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def outliers(self) -> int:
        """How many targets were taken for gross errors, and not learned."""
        return self._outliers.count

    def _told_of_targets(self) -> list[str]:
        count = self._outliers.count
        return [f"Targets not learned, as they were gross errors: {count}."] if count else []

    def _told_of_predictions(self) -> list[str]:
        if self._mixture is None:
            return ["Nothing chosen yet: predictions are the mean of the targets."]
        return [f"Intervals are stretched by {self._calibration.stretch:.2g} so that 90 % of the targets lie inside."]

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        own = {
            "range": list(self._range),
            "stretch": self._calibration.stretch,
            "outliers": self._outliers.get_state(self._stored_row),
        }
        return own | super()._get_state()

    def _set_state(self, state: dict[str, Any]) -> None:
        super()._set_state(state)
        self._calibration.stretch = state["stretch"]
        self._range = Bounds(*state["range"])
        if "outliers" in state:
            self._outliers.set_state(state["outliers"])

    def _restore_mixture(self, state: dict[str, Any]) -> None:
        self._mixture = Mixture.from_state(state, self._encoder.columns)
