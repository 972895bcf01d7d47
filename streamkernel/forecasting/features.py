"""Exogenous features and calendars as columns of numbers.

A date becomes the phases of the day (if it has a time), of the week and of the year, and whether it is a weekend; a
word becomes a column of its own; a gap is the column's mean so far.
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import calendars
from ..core.types import Matrix, Vector
from ..encoding import is_gap
from ..kernels import Feature
from ..learners import reading

# Words of one feature that get a column of their own; further ones share one.
MOST_WORDS, OTHER_WORD = 30, " is another word"
MONTHS, LONGEST_MONTH = 12, 31
DATED = (datetime.date, np.datetime64)  # words stay words


class FeatureColumns:
    """Which columns there are, in the order in which they appeared, and their means."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._sums: list[float] = []
        self._counts: list[int] = []
        self._dates: list[str] = []  # features that hold dates
        self._last: dict[str, list[datetime.datetime]] = {}  # the last two dates of each

    def learn(self, x: Mapping[Feature, Any] | None) -> Vector:
        """The row of a sample, whose columns are added to the known ones. Nothing changes where a value is refused."""
        cells = {} if x is None else self._cells(x)
        moments = self._moments(x or {})
        for name, value in cells.items():
            if name not in self.names:
                self.names[name] = len(self.names)
                self._sums.append(0.0)
                self._counts.append(0)
            if not math.isnan(value):
                self._sums[self.names[name]] += value
                self._counts[self.names[name]] += 1
        for name, moment in moments.items():
            self._dates += [] if name in self._dates else [name]
            self._last[name] = [*self._last.get(name, [])[-1:], moment]
        return self._row(cells)

    def _moments(self, x: Mapping[Feature, Any]) -> dict[str, datetime.datetime]:
        """The dates of a sample; an error where one has no distance from the last: with a zone, or without one."""
        found = {}
        for feature, value in sorted(x.items(), key=lambda pair: str(pair[0])):
            if (date := _date(value)) is None:
                continue
            name, moment = str(feature), calendars.moment(date)
            for last in self._last.get(name, [])[-1:]:
                if (last.utcoffset() is None) != (moment.utcoffset() is None):
                    zone = "no zone" if moment.utcoffset() is None else "a zone"
                    raise ValueError(f"feature {name!r} is {value!r}: it has {zone}, unlike the last one, {last!r}")
            found[name] = moment
        return found

    def read_many(self, xs: Iterable[Mapping[Feature, Any]] | None, horizon: int) -> Matrix:
        """The rows of the next `horizon` samples; features that were never learned say nothing."""
        if xs is None:
            if not self.names:
                return np.zeros((horizon, 0))
            xs = self._dates_ahead(horizon)
        rows = [self._row(self._cells(x or {})) for x in xs]
        if len(rows) != horizon:
            raise ValueError(f"xs must have one entry for each of the {horizon} steps, got {len(rows)}")
        return np.array(rows).reshape(horizon, len(self.names))

    def _dates_ahead(self, horizon: int) -> list[dict[Feature, Any]]:
        """Dates that go on as the last two did; other features cannot be made up."""
        others = sorted(
            {name.split(" = ")[0].removesuffix(OTHER_WORD) for name in self.names if not self._is_date(name)}
        )
        if others:
            raise ValueError(f"xs must be given: the model learned with the features {', '.join(map(repr, others))}")
        ahead: list[dict[Feature, Any]] = [{} for _ in range(horizon)]
        for name, known in self._last.items():
            try:
                moments = going_on(known[0], known[-1], horizon)
            except (OverflowError, ValueError):  # there is no year 10000
                steps = f"{horizon} steps as they did from {known[0]} to {known[-1]}"
                raise ValueError(f"xs must be given: the dates {name!r} cannot go on for {steps}") from None
            for x, moment in zip(ahead, moments):
                x[name] = moment
        return ahead

    def _is_date(self, column: str) -> bool:
        return any(column.startswith(f"{date} ") for date in self._dates)

    def _cells(self, x: Mapping[Feature, Any]) -> dict[str, float]:
        found: dict[str, float] = {}
        for feature, value in sorted(x.items(), key=lambda pair: str(pair[0])):
            for column, number in self._cells_of(str(feature), value).items():
                if column in found:
                    raise ValueError(f"feature {feature!r} has the column {column!r}, as another has: rename one")
                found[column] = number
        return found

    def _cells_of(self, name: str, value: Any) -> dict[str, float]:
        if (date := _date(value)) is not None:
            return {f"{name} {part}": number for part, number in calendars.calendar(date).items()}
        if isinstance(value, DATED) or is_gap(value):  # a date that is none is pandas' or numpy's "not a time"
            parts = [column for column in self.names if name in self._dates and column.startswith(f"{name} ")]
            return dict.fromkeys(parts or [name], math.nan)
        if isinstance(value, str):
            return {self._word(name, value): 1.0}
        number = reading.number(f"feature {name!r}", value)
        if abs(number) > reading.LARGEST_VALUE:
            largest = f"{reading.LARGEST_VALUE:g}"
            raise ValueError(f"feature {name!r} is {value!r}: it must be at most {largest} either way; rescale it")
        return {name: number}

    def _word(self, name: str, word: str) -> str:
        column = f"{name} = {word}"
        known = sum(other.startswith(f"{name} = ") for other in self.names)
        return column if column in self.names or known < MOST_WORDS else f"{name}{OTHER_WORD}"

    def _row(self, cells: dict[str, float]) -> Vector:
        row = np.zeros(len(self.names))
        for name, place in self.names.items():
            value = cells.get(name, 0.0)
            if math.isnan(value):
                value = self._sums[place] / self._counts[place] if self._counts[place] else 0.0
            row[place] = value
        return row

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        last = {name: [moment.isoformat() for moment in known] for name, known in self._last.items()}
        return [list(self.names), self._sums, self._counts, self._dates, last]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        names, self._sums, self._counts, self._dates, last = state
        self.names = {name: place for place, name in enumerate(names)}
        self._last = {
            name: [datetime.datetime.fromisoformat(moment) for moment in known] for name, known in last.items()
        }


def _date(value: Any) -> datetime.date | None:
    return calendars.as_date(value) if isinstance(value, DATED) else None


def going_on(before: datetime.date, last: datetime.date, count: int) -> list[datetime.datetime]:
    """The next dates: at the distance of the last two, in months where they stand on the same day of their months.

    The last day of every month counts as the same.
    """
    first, second = calendars.moment(before), calendars.moment(last)
    months = MONTHS * (second.year - first.year) + second.month - first.month
    are_ends = all(moment.day == _days(moment.year, moment.month) for moment in (first, second))
    if months > 0 and first.time() == second.time() and (are_ends or first.day == second.day):
        day = LONGEST_MONTH if are_ends else second.day
        return [_months_later(second, months * i, day) for i in range(1, count + 1)]
    return [second + i * (second - first) for i in range(1, count + 1)]


def _months_later(moment: datetime.datetime, months: int, day: int) -> datetime.datetime:
    years, month = divmod(moment.month - 1 + months, MONTHS)
    year = moment.year + years
    return moment.replace(year=year, month=month + 1, day=min(day, _days(year, month + 1)))


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]
