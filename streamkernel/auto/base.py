"""What the models without parameters share: samples of any kind in, and what is learned of them, when.

A model keeps a window of encoded samples. It learns units, kernel and experts from it (`tuning`) at sizes that grow
geometrically and after drift, a little with every sample, and can say what it has found.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from river import base

from ..calendars import date_features
from ..checkpoint import Checkpointed
from ..core.types import Vector
from ..encoding import Encoder
from ..learners import reading
from ..learners.bank import LARGEST_USUAL, LARGEST_USUAL_WEIGHT, Bank
from .drift import DriftWatch
from .many import samples_of
from .relevance import Portrait, new_history, relevance
from .targets import Targets
from .tuning import Renewal, Tuning, as_budget, expected_time
from .window import RowWindow

# The scales are learned anew when this many samples have come since the last drift, and at sizes that grow so.
FIRST_TUNING, GROWTH = 8, 1.6
# About how many microseconds a step may spend on that.
TUNING_TIME = 10_000.0
# A tuning begins at most so many samples ahead of its time, in order to be done then.
MOST_AHEAD = 100
RELEVANCE_SAMPLES = 100


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
        self._watch = DriftWatch()
        self._drifts: list[int] = []
        self._tunings: list[int] = []
        self._history = new_history()
        self._mixture: Any = None
        self._renewal: Renewal | None = None
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
        for x, target, weight in zip(samples, targets, weights, strict=True):
            self.learn_one(x, target, weight)

    def _tend(self, error: float | None) -> None:
        """Go on with what is learned from the window, after a sample that was predicted with this error."""
        if error is not None and self._has_drifted(error):
            self._next_tuning = self._window.length
        if (self._renewal is None and self._is_due()) or self._next_tuning <= self._window.length:
            self._begin_tuning()
        if self._renewal is not None:
            self._advance_tuning(self._renewal)
        elif self._portrait is not None:
            self._advance_portrait(self._portrait)

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
        size = len(self._window), len(self._window.columns)
        return ahead <= expected_time(*size, self._budget, self._outputs) // TUNING_TIME

    @property
    def _outputs(self) -> int:
        """How many columns stand for the targets."""
        return 1 if self._mixture is None else int(self._mixture.tuning.targets.outputs)

    def _begin_tuning(self) -> None:
        """Begin to learn units, kernel and experts anew from the window; what was under way is given up."""
        self._next_tuning = math.ceil(GROWTH * max(self._next_tuning, self._window.length))
        start = None if self._mixture is None else self._mixture.tuning.point
        renewal = Renewal(self._window, self._encoder, self._budget, start, self._measure())
        self._renewal = renewal if renewal.is_possible else None

    def _advance_tuning(self, renewal: Renewal) -> None:
        """Go on with that; where it is done, the new experts take over."""
        found = renewal.advance(TUNING_TIME)
        if found is None:
            return
        self._take_over(*found)
        self._renewal = None
        self._tunings.append(self._count)
        self._portrait = Portrait(self._count)

    def _advance_portrait(self, portrait: Portrait) -> None:
        """Go on with finding the relevance for the history."""
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
            "count": self._count,
            "next": self._next_tuning,
            "errors": self._watch.errors,
            "drifts": self._drifts,
            "tunings": self._tunings,
            "history": list(self._history),
            "renewal": None if self._renewal is None else self._renewal.get_state(),
            "portrait": None if self._portrait is None else self._portrait.get_state(),
        }
        return state if self._mixture is None else state | self._mixture.get_state()

    def _set_state(self, state: dict[str, Any]) -> None:
        self._window.set_state(state["window"])
        self._encoder.restore(self._window.columns, state["words"], state.get("labels", ()))
        self._encoder.gaps = state["gaps"]
        self._count, self._next_tuning = state["count"], state["next"]
        self._drifts, self._tunings = state["drifts"], state["tunings"]
        self._watch.restart(state["errors"])
        self._history.extend(state.get("history", ()))
        if "point" in state:
            self._restore_mixture(state)
        if (renewal := state.get("renewal")) is not None:
            units = self._restored_units(renewal["units"])
            self._renewal = Renewal.from_state(renewal, self._window, self._encoder, self._budget, units)
        if state.get("portrait") is not None:
            self._portrait = Portrait.from_state(state["portrait"])
