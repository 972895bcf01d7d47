"""Exogenous features and calendars as columns of numbers.

A date becomes the phases of the day (if it has a time), of the week and of the year, and whether it is a weekend; a
word becomes a column of its own; a gap is the column's mean so far.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..calendars import calendar, moment
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import reading

# Words of one feature that get a column of their own; further ones share one.
MOST_WORDS = 30


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
        for name, value in cells.items():
            if name not in self.names:
                self.names[name] = len(self.names)
                self._sums.append(0.0)
                self._counts.append(0)
            if not math.isnan(value):
                self._sums[self.names[name]] += value
                self._counts[self.names[name]] += 1
        for feature, value in sorted((x or {}).items(), key=lambda pair: str(pair[0])):
            if isinstance(value, datetime.date):
                name = str(feature)
                self._dates += [] if name in self._dates else [name]
                self._last[name] = [*self._last.get(name, [])[-1:], moment(value)]
        return self._row(cells)

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
        others = sorted({name.split(" ")[0] for name in self.names} - set(self._dates))
        if others:
            raise ValueError(f"xs must be given: the model learned with the features {', '.join(map(repr, others))}")
        ahead: list[dict[Feature, Any]] = [{} for _ in range(horizon)]
        for name, known in self._last.items():
            step = known[-1] - known[0]
            for i, x in enumerate(ahead):
                x[name] = known[-1] + (i + 1) * step
        return ahead

    def _cells(self, x: Mapping[Feature, Any]) -> dict[str, float]:
        found: dict[str, float] = {}
        for feature, value in sorted(x.items(), key=lambda pair: str(pair[0])):
            name = str(feature)
            if isinstance(value, datetime.date):
                found |= {f"{name} {part}": number for part, number in calendar(value).items()}
            elif value is None or (isinstance(value, numbers.Real) and math.isnan(float(value))):
                found[name] = math.nan
            elif isinstance(value, str):
                found[self._word(name, value)] = 1.0
            else:
                found[name] = reading.number(f"feature {name!r}", value)
        return found

    def _word(self, name: str, word: str) -> str:
        column = f"{name} = {word}"
        known = sum(other.startswith(f"{name} = ") for other in self.names)
        return column if column in self.names or known < MOST_WORDS else f"{name} is another word"

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
