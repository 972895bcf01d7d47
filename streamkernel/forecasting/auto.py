"""The forecaster that needs no parameters: it finds transform, seasons and lags in the stream and mixes experts.

Experts (`pool`) forecast on trial while the series is learned, and are weighed by how they did, for each band of steps
ahead (`mixing`). The errors of the mixture itself give the intervals (`calibration`). What the series is made of
(`structure`) is examined again as it grows; when that changes, the experts learn the window anew.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from river import conf, time_series

from .. import checks
from ..checkpoint import Checkpointed
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import dictionary
from . import determinism
from .calibration import Calibration
from .features import FeatureColumns
from .mixing import Record
from .pool import Pool, Structure
from .structure import Transform, find_seasons, needs_log

# The structure is examined when the series has grown to these sizes, and the values that it is examined on.
FIRST_EXAMINATION, GROWTH, EXAMINED = 8, 1.25, 3000
# Once this long it is examined more rarely.
LONG, LONG_GROWTH = 300, 1.6
# Values that the experts learn anew from when the structure has changed.
REPLAYED = 1500
# Forecasts on trial: how far ahead without a season, at most, and for a series without noise; how many are under way.
SHORTEST_TRIAL, LONGEST_TRIAL, EXACT_TRIAL, UNDER_WAY = 8, 60, 128, 6
MARGIN = 0.5
# A level shift: this many values in a row err to one side by more than this many of their standard deviations.
SHIFT_LENGTH, SHIFT_ERROR, FEWEST_BEFORE_SHIFT = 4, 4.0, 20


class _Trial(NamedTuple):
    """Forecasts made when `count` values were known."""

    count: int
    rows: Matrix
    """One expert in a row."""
    mixed: Vector


class AutoKernelForecaster(time_series.base.Forecaster, Checkpointed):
    """A forecaster without parameters."""

    def __init__(
        self, horizon: int | None = None, season: int | tuple[int, ...] | None = None, confidence_level: float = 0.9
    ) -> None:
        checks.size("horizon", horizon)
        self.horizon = horizon
        self.season = season
        self.confidence_level = confidence_level
        self._given = _seasons(season)
        checks.number("confidence_level", confidence_level, low=0.0, high=1.0, open_low=True)
        self._columns = FeatureColumns()
        self._values: deque[float] = deque(maxlen=EXAMINED)  # gaps are filled in
        self._features: deque[Vector] = deque(maxlen=EXAMINED)
        self._count = self._gaps = 0
        self._next = FIRST_EXAMINATION
        self._pool: Pool | None = None
        self._shifts: list[int] = []
        self._examinations: list[int] = []
        self._range = (math.inf, -math.inf)

    # Learning --------------------------------------------------------------------------------------------------------

    def learn_one(self, y: float | None, x: Mapping[Feature, Any] | None = None) -> None:
        """Learn the next value of the series; None or NaN is a gap."""
        gap = y is None or (isinstance(y, float | np.floating) and math.isnan(y))
        value = math.nan if gap else dictionary.target(y)
        row = self._columns.learn(x)
        if gap:
            self._learn_gap(row)
            return
        self._count += 1
        self._range = min(self._range[0], value), max(self._range[1], value)
        self._values.append(value)
        self._features.append(row)
        if self._pool is not None:
            transform = self._pool.structure.transform
            if transform.log and value <= 0.0:
                self._examine()
            else:
                self._step(transform.apply_one(value), row)
        if self._count >= self._next:
            self._next = math.ceil((GROWTH if self._count < LONG else LONG_GROWTH) * self._count)
            self._examine()

    def _learn_gap(self, row: Vector) -> None:
        self._gaps += 1
        if not self._values:
            return
        value = self.forecast_array(1, row[None, :])[0]
        self._values.append(float(value))
        self._features.append(row)
        if self._pool is not None:
            scaled = self._pool.structure.transform.apply_one(float(value))
            self._pool.skip(scaled, row)
            self._time += 1
            self._trials = deque(t for t in self._trials if self._time - t.count < self._horizon)

    def _step(self, value: float, row: Vector) -> None:
        """Judge the forecasts on trial by the value, learn it, and make the next forecasts on trial."""
        assert self._pool is not None
        due = [(self._time - trial.count, trial) for trial in self._trials]
        if due:
            steps = np.array([ahead for ahead, _ in due])
            rows = np.array([trial.rows[:, ahead] for ahead, trial in due]).T
            self._record.update(steps, rows - value)
            self._calibration.update(steps, np.array([trial.mixed[ahead] for ahead, trial in due]) - value)
        self._pool.learn(value, row)
        self._time += 1
        self._trials = deque(t for t in self._trials if self._time - t.count < len(t.mixed))
        if self._time <= self._pool.structure.season + 3:
            return
        # Every value is forecast one step ahead; further ahead as often as the horizon allows.
        whole = self._time % self._pace == 0
        horizon = self._horizon if whole else 1
        rows = self._pool.forecast(horizon, self._still(row, horizon))
        self._trials.append(_Trial(self._time, rows, self._mix(rows)))

    def _still(self, row: Vector, horizon: int) -> Matrix:
        return np.tile(row, (horizon, 1))

    def _mix(self, rows: Matrix) -> Vector:
        weights = self._record.weights()
        beyond = rows.shape[1] - weights.shape[1]
        if beyond > 0:
            weights = np.concatenate([weights, np.repeat(weights[:, -1:], beyond, axis=1)], axis=1)
        return (weights[:, : rows.shape[1]] * rows).sum(axis=0)

    # Structure -------------------------------------------------------------------------------------------------------

    def _examine(self) -> None:
        """Find out what the series is made of; where that has changed, learn the window anew."""
        values = np.array(self._values)
        self._examinations.append(self._count)
        structure = self._found(values)
        if self._pool is not None:
            before = self._pool.structure
            same = structure[1:] == before[1:] and structure.transform.log == before.transform.log
            if same and len(self._features[-1]) == self._known_features and not self._poor_scale(values):
                return
        self._begin(structure)

    def _poor_scale(self, values: Vector) -> bool:
        assert self._pool is not None
        return False

    def _found(self, values: Vector) -> Structure:
        seasons = self._given
        log = needs_log(values, seasons[0] if seasons else 1)
        if seasons is None:
            bent = np.log(values) if log else values
            seasons = find_seasons(bent)
            if seasons and needs_log(values, seasons[0]) != log:
                log = not log
                seasons = find_seasons(np.log(values) if log else values) or seasons
        deterministic = determinism.is_deterministic(values)
        return Structure(Transform.of(values, log and not deterministic), seasons, deterministic)

    def _begin(self, structure: Structure) -> None:
        values = np.array(self._values)[-REPLAYED:]
        features = list(self._features)[-REPLAYED:]
        self._known_features = len(features[-1])
        scaled = structure.transform.apply(values)
        self._pool = Pool(structure, scaled, self._known_features)
        longest = EXACT_TRIAL if structure.deterministic else LONGEST_TRIAL
        wanted = self.horizon or (longest if structure.deterministic else max(structure.season, SHORTEST_TRIAL))
        self._horizon = min(wanted, longest)
        self._pace = math.ceil(self._horizon / UNDER_WAY)
        self._record = Record(len(self._pool.names), self._horizon)
        self._calibration = Calibration(self._horizon)
        self._trials: deque[_Trial] = deque()
        self._time = 0
        for value, row in zip(scaled.tolist(), features):
            padded = np.zeros(self._known_features)
            padded[: len(row)] = row
            self._step(value, padded)

    # Forecasting -----------------------------------------------------------------------------------------------------

    def forecast_array(self, horizon: int, future: Matrix) -> Vector:
        """The means."""
        if self._pool is None:
            return np.full(horizon, self._values[-1] if self._values else 0.0)
        rows = self._pool.forecast(horizon, future)
        return self._pool.structure.transform.invert(self._mix(rows))

    def forecast(
        self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None = None, with_interval: bool = False
    ) -> list[Any]:
        """Forecast the next values of the series."""
        future = self._columns.read_many(xs, horizon)
        if not with_interval:
            return [float(value) for value in self.forecast_array(horizon, future)]
        if self._pool is None:
            return [conf.Interval(-math.inf, math.inf)] * horizon
        mixed = self._mix(self._pool.forecast(horizon, future))
        (reach,) = self._calibration.reaches(horizon, (self.confidence_level,))
        transform = self._pool.structure.transform
        lower, upper = transform.invert(mixed - reach), transform.invert(mixed + reach)
        return [conf.Interval(a, b) for a, b in zip(lower.tolist(), upper.tolist())]

    def _get_state(self) -> dict[str, Any]:
        return {}

    def _set_state(self, state: dict[str, Any]) -> None:
        return


def _seasons(season: Any) -> tuple[int, ...] | None:
    return None if season is None else (season if isinstance(season, tuple) else (season,))
