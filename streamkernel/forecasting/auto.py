"""The forecaster that needs no parameters: it finds transform, seasons and lags in the stream and mixes experts.

What a series is made of (`structure`) is examined as it grows; when that changes, the experts (`pool`) learn the window
anew. `trials` has the rest: forecasts made on trial, the experts' weights by them, and the intervals.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from river import conf, time_series

from .. import checks
from ..checkpoint import Checkpointed
from ..core.types import Matrix, Vector
from ..deprecation import formerly
from ..encoding import power_of_two
from ..kernels import Feature
from ..learners import reading
from . import determinism, explaining
from .features import FeatureColumns
from .pool import Structure
from .structure import USUAL, Transform, find_seasons, needs_log
from .trials import SHIFT_LENGTH, WAIT, Trials

# The structure is examined first at this size, and the values that it is examined on.
FIRST_EXAMINATION, EXAMINED = 8, 3000
# By how much the series grows until the next time, up to each size: soon at first, where a season is just visible.
GROWTH = ((100.0, 1.1), (300.0, 1.25), (math.inf, 1.6))
# Values that the experts learn anew from when the structure has changed.
REPLAYED = 1500
FEWEST_ERRORS = 4  # on trial, before a given season makes forecasts
# Before the first examination an interval has this many times the spread of the values.
FIRST_REACH = 3.0
# Level shifts are looked for once this many values are known.
FEWEST_BEFORE_SHIFT = 30
# In units of the series' spread: squares of larger values overflow in the recursions.
LARGEST_LEAP = 1e50
# A season of which it is told from a shift that comes back with it.
LONG_SEASON = 24


class AutoKernelForecaster(time_series.base.Forecaster, Checkpointed):
    """A forecaster without parameters.

    It takes a series as it comes, value by value: of any level and scale, with trend, seasons, gaps (None or NaN),
    level shifts, zeros and negative values. From a window it finds whether the logarithm steadies the spread, and one
    or two seasons, again as the series grows. Simple experts (naive, drift, exponential smoothing, linear
    autoregressions of the series, of its differences and of what is left without its seasons) and kernel learners
    forecast on trial all along, and are mixed by how they did: the weights for the next step are others than those for
    a season ahead. A series that follows from its past without noise, as chaotic ones do, is noticed and continued by
    kernel learners nearly without ridge. Intervals come from the mixture's own errors at each distance, and adapt
    online.

    A step takes less than a millisecond on average; one at which the structure changes takes longer.

    Parameters
    ----------
    horizon
        How many steps ahead forecasts are tried and weighed; further ones take the weights of the last. None is one
        season, or eight steps.
    season
        The number of steps of a season, or a tuple of several, the shortest first. None finds them; 1 is none. Until
        the first one was seen twice, forecasts are made without it.
    confidence_level
        Of the intervals.

    Examples
    --------

    >>> from river import datasets
    >>> from streamkernel import AutoKernelForecaster

    >>> model = AutoKernelForecaster()
    >>> passengers = [y for _, y in datasets.AirlinePassengers()]
    >>> for y in passengers[:132]:
    ...     model.learn_one(y)
    >>> forecast = model.forecast(12)
    >>> errors = [abs(f - y) / y for f, y in zip(forecast, passengers[132:])]
    >>> bool(sum(errors) / 12 < 0.05)
    True
    >>> model.forecast(2, with_interval=True)
    [Interval(lower=4..., upper=4...), Interval(lower=3..., upper=4...)]
    >>> print(model.explain())
    AutoKernelForecaster: 132 values learned.
    Transform: logarithm, as the spread grows with the level.
    Season: 12 steps.
    ...

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285.
    [^2]: Gibbs, I. and Candès, E., 2021. Adaptive conformal inference under distribution shift. NeurIPS 34.

    """

    def __init__(
        self, horizon: int | None = None, season: int | tuple[int, ...] | None = None, confidence_level: float = 0.9
    ) -> None:
        checks.size("horizon", horizon)
        checks.number("confidence_level", confidence_level, low=0.0, high=1.0, open_low=True)
        self._given = _seasons(season)
        self.horizon = horizon
        self.season = season
        self.confidence_level = confidence_level
        self._columns = FeatureColumns()
        self._values: deque[float] = deque(maxlen=EXAMINED)  # gaps are filled in, shifts taken out
        self._features: deque[Vector] = deque(maxlen=EXAMINED)
        self._count = self._gaps = 0
        self._next = FIRST_EXAMINATION
        self._examined = 0
        self._trials: Trials | None = None
        self._without: Trials | None = None  # the season, while it was not seen twice: these forecast
        self._shifts: list[tuple[int, float]] = []

    # Learning --------------------------------------------------------------------------------------------------------

    def learn_one(self, y: float | None, x: Mapping[Feature, Any] | None = None) -> None:
        """Learn the next value of the series.

        Parameters
        ----------
        y
            The value; None or NaN is a gap.
        x
            Exogenous features of the same time: numbers, words, and dates, from which the time of the day, the week and
            the year are taken.

        """
        gap = y is None or y != y
        value = math.nan if gap else self._checked(y)
        if x:
            self._check_features(self._columns.read_many([x], 1)[0])
        row = self._columns.learn(x)
        self._count += 1
        if gap:
            self._learn_gap(row)
            return
        self._remember(value, row)
        if self._trials is not None:
            if self._trials.structure.transform.log and value <= 0.0:
                self._examine()
            else:
                self._trials.step(value, row)
                self._go_on_without(lambda trials: trials.step(value, row))
                self._look_for_shift()
        if self._count >= self._next:
            self._next = math.ceil(self._count * next(growth for size, growth in GROWTH if self._count < size))
            self._examine()

    def _checked(self, y: Any) -> float:
        """A value with which the series can go on, or an error."""
        value = reading.target(y)
        if self._trials is None:
            return value
        transform = self._trials.structure.transform
        if not transform.log and abs(value - transform.center) > LARGEST_LEAP * transform.unit:
            unit = f"{transform.unit:g}, the spread of the series so far"
            raise ValueError(f"target y is {y!r}: it is farther away than {LARGEST_LEAP:g} times {unit}")
        return value

    def _check_features(self, row: Vector) -> None:
        """Raise an error where an exogenous feature is one with which the series cannot go on."""
        if self._trials is None:
            return
        for place in np.flatnonzero(self._trials.pool.distances(row) > LARGEST_LEAP)[:1]:
            name = list(self._columns.names)[place]
            raise ValueError(f"feature {name!r} is {row[place]:g}: farther away than {LARGEST_LEAP:g} times its spread")

    def _remember(self, value: float, row: Vector) -> None:
        self._values.append(value)
        self._features.append(row)

    def _learn_gap(self, row: Vector) -> None:
        """What would have been forecast stands for the value, and no expert learns it as a target."""
        self._gaps += 1
        if not self._values:
            return  # before the first value there is nothing to go on from
        value = float(self._means(row[None, :])[0])
        self._remember(value, row)
        if self._trials is not None:
            self._trials.skip(value, row)
            self._go_on_without(lambda trials: trials.skip(value, row))

    def _look_for_shift(self) -> None:
        """Move the past to where a sudden change of level has brought the series, so that it is of use there."""
        assert self._trials is not None and self._judged is not None
        shift = self._judged.shift() if self._count > FEWEST_BEFORE_SHIFT else None
        if shift is None:
            return
        size, length = shift
        if self._comes_back(self._count - length + 1, size):
            return
        transform = self._trials.structure.transform
        past = transform.apply(np.array(self._values)[:-length]) + size
        moved = [*transform.invert(past).tolist(), *list(self._values)[-length:]]
        self._values = deque(moved, maxlen=EXAMINED)
        self._shifts.append((self._count - length + 1, float(size) * transform.unit))
        self._begin(self._trials.structure)

    def _comes_back(self, at: int, size: float) -> bool:
        """Whether the series moved like this a long season ago, as it does on Mondays: that is no shift."""
        alike = [at - known for known, moved in self._shifts if moved * size > 0.0]
        usual = [season for season in USUAL if season >= LONG_SEASON]
        assert self._trials is not None
        turns = [season for season in self._trials.structure.seasons if season >= LONG_SEASON]
        return any(
            any(abs(distance - season) <= SHIFT_LENGTH for season in usual)
            or any(abs(distance - season * round(distance / season)) <= SHIFT_LENGTH for season in turns)
            for distance in alike
        )

    # Structure -------------------------------------------------------------------------------------------------------

    def _examine(self) -> None:
        """Find out what the series is made of; where that has changed, learn the window anew."""
        self._examined = self._count
        found = self._structure(np.array(self._values))
        if self._trials is not None:
            known = self._trials.structure
            same = found[1:] == known[1:] and found.transform.log == known.transform.log
            if same and self._trials.features == len(self._columns.names):
                return
        self._begin(found)

    def _structure(self, values: Vector) -> Structure:
        shape = values / power_of_two(values)  # which has squares, whatever the unit of the series
        deterministic = determinism.is_deterministic(shape)
        if self._given is not None:
            log = needs_log(shape, self._given[0] if self._given else 1)
            return Structure(Transform.of(values, log and not deterministic), self._given, deterministic)
        if deterministic:
            return Structure(Transform.of(values, log=False), (), deterministic)
        log = needs_log(shape, 1)
        seasons = find_seasons(np.log(shape) if log else shape, self.seasons)
        if seasons and needs_log(shape, seasons[0]) != log:
            log = not log
            seasons = find_seasons(np.log(shape) if log else shape, self.seasons) or seasons
        return Structure(Transform.of(values, log), seasons, deterministic)

    def _begin(self, structure: Structure) -> None:
        self._trials = self._replayed(structure)
        self._without = None if self._has_seen_season else self._replayed(structure._replace(seasons=()))

    def _replayed(self, structure: Structure) -> Trials:
        values, rows = np.array(self._values)[-REPLAYED:], list(self._features)[-REPLAYED:]
        trials = Trials(structure, values, len(self._columns.names), self.horizon)
        for value, row in zip(values.tolist(), rows):
            trials.step(value, row)
        return trials

    def _go_on_without(self, step: Callable[[Trials], None]) -> None:
        """Let the trials without the season go on until it was seen twice."""
        if self._has_seen_season:
            self._without = None
        elif self._without is not None:
            step(self._without)

    @property
    def _has_seen_season(self) -> bool:
        """Whether a season that was given came twice, with some errors on trial; one that was found did."""
        season = self._given[0] if self._given else 0
        return not season or self._count >= max(2 * season, season + WAIT + FEWEST_ERRORS)

    @property
    def _judged(self) -> Trials | None:
        """The trials that forecast: those of a season that was not seen twice are too few to tell their errors."""
        return self._trials if self._without is None else self._without

    # Forecasting -----------------------------------------------------------------------------------------------------

    def forecast(
        self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None = None, with_interval: bool = False
    ) -> list[Any]:
        """Forecast the next values of the series.

        Parameters
        ----------
        horizon
            How many.
        xs
            Exogenous features, one for each of them. They must be given where the model learned with some, unless these
            are dates alone, which go on by themselves.
        with_interval
            Return a river `Interval` for each, of the `confidence_level`, instead of the value.

        """
        if with_interval:
            return self.forecast_intervals(horizon, (self.confidence_level,), xs)[self.confidence_level]
        return [float(value) for value in self._means(self._future(horizon, xs))]

    @formerly(levels="confidence_levels")
    def forecast_intervals(
        self,
        horizon: int,
        confidence_levels: Sequence[float] = (0.5, 0.9),
        xs: Iterable[Mapping[Feature, Any]] | None = None,
    ) -> dict[float, list[Any]]:
        """Intervals of several levels at once.

        Parameters
        ----------
        horizon
            How many steps.
        confidence_levels
            The probabilities of the intervals.
        xs
            Exogenous features, as `forecast` takes them.

        """
        for level in confidence_levels:
            checks.number("confidence_levels", level, low=0.0, high=1.0, open_low=True)
        future = self._future(horizon, xs)
        bounds = [self._bounds(future, level) for level in confidence_levels]
        return {
            level: [conf.Interval(float(low), float(high)) for low, high in zip(lower, upper)]
            for level, (lower, upper) in zip(confidence_levels, bounds)
        }

    def _future(self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None) -> Matrix:
        if horizon is None:
            raise TypeError("horizon must be a whole number >= 1, got None")
        checks.size("horizon", horizon)
        if not self._values:
            raise ValueError("no value was learned yet: there is nothing to forecast from")
        future = self._columns.read_many(xs, horizon)
        for row in future if future.size else ():
            self._check_features(row)
        return future

    def _means(self, future: Matrix) -> Vector:
        if self._judged is None:
            return np.full(len(future), self._values[-1])
        return self._judged.forecast(future)

    def _bounds(self, future: Matrix, level: float) -> tuple[Vector, Vector]:
        if self._judged is not None:
            return self._judged.interval(future, level)
        values = np.array(self._values)
        spread = float(np.ptp(values)) or (0.0 if len(values) > 1 else abs(float(values[0])) or 1.0)
        reach = FIRST_REACH * level * spread * np.sqrt(np.arange(1, len(future) + 1))
        return values[-1] - reach, values[-1] + reach

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def seasons(self) -> tuple[int, ...]:
        """The seasons that forecasts are made with, in steps, the strongest first."""
        return self._judged.structure.seasons if self._judged is not None else ()

    @property
    def weights(self) -> dict[str, tuple[float, float]]:
        """For each expert its weight one step ahead and at the end of the horizon."""
        return {} if self._judged is None else self._judged.expert_weights()

    @property
    def relevance(self) -> dict[int, float]:
        """How much each lag matters to the linear autoregressions; they sum to one."""
        return {} if self._judged is None else self._judged.pool.relevance()

    def explain(self) -> str:
        """What was found and chosen, as text."""
        return explaining.text(self, self._facts())

    def plot(
        self, horizon: int | None = None, xs: Iterable[Mapping[Feature, Any]] | None = None, ax: Any = None
    ) -> Any:
        """The newest values, the forecast and its intervals of 50 % and of the `confidence_level`.

        Parameters
        ----------
        horizon
            How many steps; None is that of the trials.
        xs
            Exogenous features, as `forecast` takes them.
        ax
            The matplotlib Axes to draw on; new when None.

        Returns
        -------
        The Axes.

        """
        return explaining.plot(self, self._facts(), horizon, xs, ax)

    def _facts(self) -> explaining.Facts:
        found = list(self._columns.names), self._examined, self._shifts, self._gaps
        return explaining.Facts(self._count, np.array(self._values), self._judged, *found, self._given or ())

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        return {
            "columns": self._columns.get_state(),
            "values": list(self._values),
            "features": list(self._features) if self._columns.names else [],
            "counts": [self._count, self._gaps, self._next, self._examined],
            "shifts": self._shifts,
            "trials": None if self._trials is None else self._trials.get_state(),
            **({} if self._without is None else {"without": self._without.get_state()}),
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        self._columns.set_state(state["columns"])
        self._values.extend(state["values"])
        self._features.extend(state["features"] or [np.zeros(0)] * len(state["values"]))
        self._count, self._gaps, self._next, self._examined = state["counts"]
        self._shifts = state["shifts"]
        if state["trials"] is not None:
            self._trials = Trials.restored(state["trials"], self.horizon)
        if "without" in state:
            self._without = Trials.restored(state["without"], self.horizon)


def _seasons(season: Any) -> tuple[int, ...] | None:
    """The seasons that are given; None if they are to be found."""
    if season is None:
        return None
    for one in season if isinstance(season, tuple) else (season,):
        if one is None:
            raise TypeError(f"season must be a whole number >= 1, a tuple of such or None, got {season!r}")
        checks.size("season", one)
    return tuple(one for one in (season if isinstance(season, tuple) else (season,)) if one > 1)
