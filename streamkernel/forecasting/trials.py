"""Forecasts on trial: how every expert would have forecast the values that then came.

Their errors weigh the experts (`mixing`), and those of the mixture itself give the intervals (`calibration`). The next
value is always on trial; further ones as often as keeps a few long trials under way.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple, Self

import numpy as np

from ..core.types import Matrix, Vector
from .calibration import Calibration
from .mixing import Record
from .pool import Pool, Structure
from .structure import Transform

# How far ahead: without a season, at most, and for a series without noise; how many are under way.
SHORTEST, LONGEST, LONGEST_EXACT, UNDER_WAY = 8, 60, 128, 6
# Values after the first season before the first trial.
WAIT = 3
# How often it is asked which experts for series without noise are of use.
REVIEW = 300
# A level shift: this many values in a row lie to one side of their forecast by more than this many scales of its error,
# and by about the same.
SHIFT_LENGTH, SHIFT_ERROR, SHIFT_LIKENESS = 4, 4.0, 0.6


class Trial(NamedTuple):
    """Forecasts made when `origin` values were known."""

    origin: int
    rows: Matrix
    """One expert in a row."""
    mixed: Vector
    scales: Vector
    """Of the mixture's errors, as far as they tell a level shift."""


class Trials:
    """A pool of experts that is judged while it learns."""

    def __init__(self, structure: Structure, first: Vector, features: int, horizon: int | None) -> None:
        self.structure, self.features = structure, features
        self.pool = Pool(structure, structure.transform.apply(first), features)
        longest = LONGEST_EXACT if structure.deterministic else LONGEST
        usual = longest if structure.deterministic else max(structure.season, SHORTEST)
        self.horizon = min(horizon or usual, longest)
        self._pace = math.ceil(self.horizon / UNDER_WAY)
        self.record = Record(len(self.pool.names), self.horizon, self._pace, structure.deterministic)
        self.calibration = Calibration(self.horizon)
        self._open: deque[Trial] = deque()
        self._time = 0

    def step(self, value: float, x: Vector) -> None:
        """Judge what was on trial by the value, learn it, and forecast on trial what comes next."""
        scaled = self.structure.transform.apply_one(value)
        row = self._row(x)
        if not self.features:
            self._judge(scaled)
        self.pool.learn(scaled, row)
        self._time += 1
        if self.features:
            self._judge_late()
        self._close()
        if self.structure.deterministic and self._time % REVIEW == 0:
            weights = self.record.weights()
            self.pool.retire([name for name, row in zip(self.pool.names, weights) if not row.any()])
        if self._time > self.structure.season + WAIT:
            horizon = self.horizon if self._time % self._pace == 0 else 1
            rows = self.pool.forecast(horizon, np.tile(row, (horizon, 1)))
            self._open.append(Trial(self._time, rows, self._mix(rows), self.calibration.scales()[:SHIFT_LENGTH]))

    def _row(self, x: Vector) -> Vector:
        """The columns known when the experts were made; later ones wait for the next examination."""
        row = np.zeros(self.features)
        row[: min(len(x), self.features)] = x[: self.features]
        return row

    def _close(self) -> None:
        while self._open and self._time - self._open[0].origin >= len(self._open[0].mixed):
            self._open.popleft()
        if any(self._time - trial.origin >= len(trial.mixed) for trial in self._open):
            self._open = deque(trial for trial in self._open if self._time - trial.origin < len(trial.mixed))

    def _judge(self, value: float) -> None:
        """By the errors of the newest value, of all trials that reach it."""
        due = [(self._time - trial.origin, trial) for trial in self._open]
        if due:
            steps = np.array([ahead for ahead, _ in due], dtype=np.int64)
            rows = np.array([trial.rows[:, ahead] for ahead, trial in due]).T
            self.record.update(steps, rows - value)
            self.calibration.update(steps, np.array([trial.mixed[ahead] for ahead, trial in due]) - value)

    def _judge_late(self) -> None:
        """By whole trials, once the features of all their steps are known, for which experts are asked now."""
        for trial in self._open:
            length = len(trial.mixed)
            if self._time - trial.origin == length:
                rows = self.pool.with_late(trial.rows, length)
                truth, steps = self.pool.history[-length:], np.arange(length)
                mixed = self._mix(rows)
                self.record.update(steps, rows - truth)
                self.calibration.update(steps, mixed - truth)

    def skip(self, value: float, x: Vector) -> None:
        """Go on over a gap, for which `value` stands."""
        self.pool.skip(self.structure.transform.apply_one(value), self._row(x))
        self._time += 1
        # Trials that a gap falls into are judged by no value there; with features they cannot be judged as a whole.
        if self.features:
            self._open.clear()
        self._close()

    def _mix(self, rows: Matrix) -> Vector:
        weights = self.record.weights()
        beyond = rows.shape[1] - weights.shape[1]
        if beyond > 0:
            weights = np.concatenate([weights, np.repeat(weights[:, -1:], beyond, axis=1)], axis=1)
        return (weights[:, : rows.shape[1]] * rows).sum(axis=0)

    def shift(self) -> tuple[float, int] | None:
        """The size of a level shift in the newest values, scaled, and their number; None if there is none."""
        for trial in self._open:
            if self._time - trial.origin == SHIFT_LENGTH:
                rows = trial.rows[:, :SHIFT_LENGTH]
                rows = self.pool.with_late(rows, SHIFT_LENGTH) if self.features else rows
                errors = self.pool.history[-SHIFT_LENGTH:] - self._mix(rows)
                scores = errors / np.maximum(trial.scales, 1e-12)
                sizes = np.abs(errors)
                sided = (scores > SHIFT_ERROR).all() or (scores < -SHIFT_ERROR).all()
                if sided and sizes.min() > SHIFT_LIKENESS * sizes.max():
                    return float(np.median(errors)), SHIFT_LENGTH
        return None

    def forecast(self, future: Matrix) -> Vector:
        """The next values in the series' own units."""
        return self.structure.transform.invert(self._ahead(future))

    def interval(self, future: Matrix, level: float) -> tuple[Vector, Vector]:
        """Bounds of the next values."""
        mixed = self._ahead(future)
        (reach,) = self.calibration.reaches(len(future), (level,))
        return self.structure.transform.invert(mixed - reach), self.structure.transform.invert(mixed + reach)

    def _ahead(self, future: Matrix) -> Vector:
        return self._mix(self.pool.forecast(len(future), future[:, : self.features]))

    def expert_weights(self) -> dict[str, tuple[float, float]]:
        """Of the next step and of the last on trial."""
        weights = self.record.weights()
        return {name: (float(row[0]), float(row[-1])) for name, row in zip(self.pool.names, weights)}

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        transform, seasons, deterministic = self.structure
        return {
            "structure": [list(transform), list(seasons), deterministic],
            "first": self.pool.first,
            "features": self.features,
            "pool": self.pool.get_state(),
            "record": self.record.get_state(),
            "calibration": self.calibration.get_state(),
            "open": [list(trial) for trial in self._open],
            "time": self._time,
        }

    @classmethod
    def restored(cls, state: dict[str, Any], horizon: int | None) -> Self:
        """From a checkpoint."""
        (log, center, unit), seasons, deterministic = state["structure"]
        structure = Structure(Transform(log, center, unit), tuple(seasons), deterministic)
        made = cls(structure, structure.transform.invert(np.zeros(1)), state["features"], horizon)
        made.pool = Pool(structure, state["first"], state["features"])
        made.pool.set_state(state["pool"])
        made.record.set_state(state["record"])
        made.calibration.set_state(state["calibration"])
        made._open = deque(Trial(*kept) for kept in state["open"])
        made._time = state["time"]
        return made
