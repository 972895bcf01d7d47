"""What the models without parameters share: samples of any kind in, and what is learned of them, when.

A model keeps a window of encoded samples. It learns units, kernel and experts from it (`tuning`) at sizes that grow
geometrically and after drift, a little with every sample, and can say what it has found.
"""

from __future__ import annotations

import abc
import copy
import math
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from river import base

from ..calendars import date_features
from ..checkpoint import Checkpointed
from ..core.types import Matrix, Vector
from ..encoding import Encoder
from ..learners import reading
from ..learners.bank import LARGEST_USUAL, LARGEST_USUAL_WEIGHT, Bank
from .asked import Asked
from .drift import DriftWatch
from .many import samples_of
from .relevance import Portrait, new_history, relevance
from .targets import Targets
from .trial import BELIEVED, DOUBTED, Trial, relative_error
from .tuning import Renewal, Tuning, as_budget, expected_time
from .window import RowWindow

# The scales are learned anew when this many samples have come since the last drift, and at sizes that grow so.
FIRST_TUNING, GROWTH = 8, 1.6
# About how many microseconds a step may spend on that.
TUNING_TIME = 10_000.0
# A tuning begins at most so many samples ahead of its time, in order to be done then.
MOST_AHEAD = 100
RELEVANCE_SAMPLES = 100
# Numbers that are refused by no tuning, wherever among many samples they stand.
ORDINARY = 1e12


class AutoKernelModel(base.Estimator, Checkpointed):
    """A model that learns scales, ridge, noise and pace from the stream itself.

    A subclass says what its targets are, how its experts are mixed and what there is to tell of both.
    """

    def __init__(self, budget: str | float = "medium") -> None:
        self.budget = budget
        self._budget = as_budget(budget)
        self._encoder = Encoder()
        self._window = RowWindow(self._budget.window, outputs=2)  # targets, weights
        self._count = 0
        self._next_tuning = FIRST_TUNING
        self._asked = Asked()
        self._watch = DriftWatch()
        self._drifts: list[int] = []
        self._tunings: list[int] = []
        self._history = new_history()
        self._mixture: Any = None
        self._renewal: Renewal | None = None
        self._doubt: Trial | None = None  # that said too little so far
        self._portrait: Portrait | None = None

    # What a subclass adds --------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _read_targets(self, y: Any, count: int) -> list[Any]:
        """The targets of so many samples, or an error that names a bad one."""

    @abc.abstractmethod
    def _measure(self) -> Targets:
        """Make the window ready for a tuning; the units of its targets."""

    @abc.abstractmethod
    def _restored_units(self, state: list[Any]) -> Targets:
        """Units from what their `get_state` gave."""

    @abc.abstractmethod
    def _take_over(self, tuning: Tuning, bank: Bank) -> None:
        """Predict by new experts from now on."""

    @abc.abstractmethod
    def _restore_mixture(self, state: dict[str, Any]) -> None:
        """The mixture from what its `get_state` gave."""

    @abc.abstractmethod
    def _told_of_targets(self) -> list[str]:
        """Lines of `explain` about targets."""

    @abc.abstractmethod
    def _told_of_predictions(self) -> list[str]:
        """Lines of `explain` about predictions."""

    # What a subclass adds that tries out whether drift is one

    _has_trials = False

    def _measure_from(self, first: int) -> Targets:
        """The units of the window's targets from one sample's number on."""
        raise NotImplementedError

    def _errors_of(self, trial: Trial) -> tuple[Matrix, Vector] | None:
        """The errors of each expert of a trial, and those of its rivals; None where there are too few."""
        raise NotImplementedError

    # A sample --------------------------------------------------------------------------------------------------------

    def _is_usual(self, row: Vector, w: float) -> bool:
        """Whether a sample is one that nothing refuses after others have learned it."""
        return w <= LARGEST_USUAL_WEIGHT and not (np.abs(row) > LARGEST_USUAL).any()

    def _attempt(self, is_usual: bool, step: Callable[[], None]) -> None:
        """Take a step; where one that is not usual fails, the model is as before."""
        before = None if is_usual else copy.deepcopy(self.__dict__)
        try:
            step()
        except Exception:
            self.__dict__.update(before or {})
            raise

    @abc.abstractmethod
    def learn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one sample."""

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
        targets = self._read_targets(y, len(samples))
        weights = [1.0] * len(samples) if w is None else reading.column("w", w, len(samples)).tolist()
        for x, weight in zip(samples, weights, strict=True):
            self._encoder.read(x)
            reading.noise(weight)
        values = [*targets, *(value for x in samples for value in x.values())]
        largest = max((abs(float(value)) for value in values if isinstance(value, numbers.Real)), default=0.0)
        is_usual = largest <= ORDINARY and max(weights, default=0.0) <= LARGEST_USUAL_WEIGHT

        def learn_all() -> None:
            for x, target, weight in zip(samples, targets, weights, strict=True):
                self.learn_one(x, target, weight)

        self._attempt(is_usual, learn_all)

    def _tend(self, error: float | None) -> None:
        """Go on with what is learned from the window, after a sample that was predicted with this error."""
        newest = None if error is None else self._watch.update(error, len(self._window))
        self._look_for_drift(newest)
        is_trial = self._renewal is not None and self._renewal.trial is not None
        is_late = self._next_tuning <= self._window.length and not is_trial
        if is_late or (self._renewal is None and self._is_due()):
            self._begin_tuning()
        if self._renewal is not None:
            self._advance_tuning(self._renewal)
        elif self._portrait is not None:
            self._advance_portrait(self._portrait)

    # What is learned from the window ---------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether a tuning that begins now would end when the next one is planned."""
        ahead = self._next_tuning - self._window.length
        if ahead > MOST_AHEAD:
            return False
        size = len(self._window), len(self._window.columns)
        return ahead <= expected_time(*size, self._budget, self._outputs) // TUNING_TIME

    @property
    def _outputs(self) -> int:
        """How many columns stand for the targets."""
        return 1 if self._mixture is None else int(self._mixture.tuning.targets.outputs)

    def _begin_tuning(self) -> None:
        """Begin to learn units, kernel and experts anew from the window; what was under way is given up."""
        self._next_tuning = math.ceil(GROWTH * max(self._next_tuning, self._window.length))
        self._begin(self._measure())

    def _begin(self, units: Targets, trial: Trial | None = None) -> None:
        start = None if self._mixture is None else self._mixture.tuning.point
        renewal = Renewal(self._window, self._encoder, self._budget, start, units, trial)
        self._renewal = renewal if renewal.is_possible else None

    def _advance_tuning(self, renewal: Renewal) -> None:
        """Go on with that; where it is done, the new experts take over, unless they were tried out and failed."""
        found = renewal.advance(TUNING_TIME)
        if found is None:
            return
        self._renewal = None
        if renewal.trial is None or self._passes(renewal.trial):
            self._take_over(*found)
            self._tunings.append(self._count)
            self._portrait = Portrait(self._count)

    # Drift -----------------------------------------------------------------------------------------------------------

    def _look_for_drift(self, newest: int | None) -> None:
        """Where errors have grown within so many of the newest samples, find out whether the past is over."""
        if self._renewal is not None and self._renewal.trial is not None:
            return
        end, wait = self._window.end, self._asked.wait
        if newest is not None:
            trial = Trial(end - newest, end, wait)
            self._drifts.append(self._count)
            if self._has_trials:
                self._begin_trial(trial)
            else:
                self._forget_before(trial)
                self._next_tuning = self._window.length
        elif self._doubt is not None and self._renewal is None and (again := self._doubt.again(end, wait)) is not None:
            self._begin_trial(again)

    def _begin_trial(self, trial: Trial) -> None:
        self._doubt = None
        self._begin(self._measure_from(trial.first), trial)

    def _passes(self, trial: Trial) -> bool:
        """Whether the experts of a trial take over; then the past is forgotten, and otherwise perhaps later."""
        errors = self._errors_of(trial)
        ratio = 0.0 if errors is None else relative_error(*errors)
        if ratio < BELIEVED:
            self._forget_before(trial)
        elif ratio < DOUBTED and trial.is_short:
            self._doubt = trial
        return ratio < BELIEVED

    def _forget_before(self, trial: Trial) -> None:
        """Drift it was: the window keeps what came after the change, and tunings follow its growth again."""
        self._window.keep(self._window.end - trial.first)
        self._next_tuning = math.ceil(GROWTH * (trial.end - trial.first))

    def _advance_portrait(self, portrait: Portrait) -> None:
        """Go on with finding the relevance for the history."""
        found = portrait.advance(TUNING_TIME, self._mixture, self._window)
        if found is not None:
            self._history.append((portrait.count, found))
            self._portrait = None

    def renamed(self, names: Sequence[Hashable]) -> Self:
        """A copy whose features 0, 1, ... are called by these names; what it tells of its columns keeps the numbers."""
        known = copy.deepcopy(self)
        known._encoder.rename(dict(enumerate(names)))
        return known

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary of the learned kernel."""
        return self._mixture.bank.experts[0].size if self._mixture is not None else 0

    @property
    def drifts(self) -> list[int]:
        """The numbers of samples learned when drift was detected: errors had grown. The past may have stayed in use."""
        return list(self._drifts)

    @property
    def tunings(self) -> list[int]:
        """The numbers of samples learned when the scales were learned anew."""
        return list(self._tunings)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert now, by what it is; empty before the scales were first learned."""
        return {} if self._mixture is None else self._mixture.weights

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
        lines = [f"{type(self).__name__}, budget {self.budget!r}: {self._count} samples learned."]
        if self._mixture is None:
            return "\n".join([*lines, *self._told_of_predictions()])
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
            *self._told_of_targets(),
            f"Noise variance over that of the function: {tuning.ridge:.2g}.",
            f"Dictionary: {self.size} points of at most {self._budget.max_size}; window: {len(self._window)} samples.",
            f"Times that drift was detected: {len(self._drifts)}"
            + (f", last at sample {self._drifts[-1]}." if self._drifts else "."),
            *self._told_of_predictions(),
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
            "asked": self._asked.get_state(self._stored_row),
            "count": self._count,
            "next": self._next_tuning,
            "errors": self._watch.errors,
            "drifts": self._drifts,
            "tunings": self._tunings,
            "history": list(self._history),
            "renewal": None if self._renewal is None else self._renewal.get_state(),
            "doubt": None if self._doubt is None else self._doubt.get_state(),
            "portrait": None if self._portrait is None else self._portrait.get_state(),
        }
        return state if self._mixture is None else state | self._mixture.get_state()

    def _stored_row(self, row: Vector) -> Vector:
        """A row with the columns that the window has, in the order in which a restored model will have them."""
        places = {column: place for place, column in enumerate(self._window.columns)}
        return self._encoder.widened(row)[[places[name] for name in self._window.names]]

    def _set_state(self, state: dict[str, Any]) -> None:
        self._window.set_state(state["window"])
        self._encoder.restore(self._window.columns, state["words"], state.get("labels", ()))
        self._encoder.gaps = state["gaps"]
        self._count, self._next_tuning = state["count"], state["next"]
        self._drifts, self._tunings = state["drifts"], state["tunings"]
        self._watch.restart(state["errors"])
        if "asked" in state:
            self._asked.set_state(state["asked"])
        self._history.extend(state.get("history", ()))
        if "point" in state:
            self._restore_mixture(state)
        if (renewal := state.get("renewal")) is not None:
            units = self._restored_units(renewal["units"])
            self._renewal = Renewal.from_state(renewal, self._window, self._encoder, self._budget, units)
        if state.get("doubt") is not None:
            self._doubt = Trial.from_state(state["doubt"])
        if state.get("portrait") is not None:
            self._portrait = Portrait.from_state(state["portrait"])
