"""Plain experts: what the nearest samples, straight boundaries and single columns say of the classes.

They need no tuning, so they are there from the second sample on and outlast every drift. They know samples in units of
the columns' deviations so far (`units.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Indices, Vector
from .boundaries import BOUNDARY_NAMES, Boundaries
from .experience import Experience, Guesses
from .neighbors import NEIGHBOR_NAMES, Neighbors
from .profiles import PROFILE_NAMES, Profiles
from .tables import TABLE_NAMES, Tables
from .units import RunningUnits

PLAIN_NAMES = (*NEIGHBOR_NAMES, *BOUNDARY_NAMES, *PROFILE_NAMES, *TABLE_NAMES)
# What they estimate are probabilities already.
FIRST_LINK = (0.0, 1.0)


class PlainExperts:
    """The experts, weighed.

    Columns stand in the order in which they came, whatever their order in a model that was restored: sums are then
    the same to the last bit.
    """

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._classes = 0
        self._order: Indices = np.empty(0, dtype=np.intp)
        self._units, self._neighbors = RunningUnits(), Neighbors()
        self._boundaries, self._profiles, self._tables = Boundaries(), Profiles(), Tables()
        self._experience = Experience(len(PLAIN_NAMES), FIRST_LINK)
        self._seen: tuple[bytes, Guesses] | None = None

    def guesses(self, row: Vector, shares: Vector) -> Guesses:
        """What they say of a row; `shares` are the frequencies of the classes."""
        key, seen = row.tobytes(), self._seen  # threads that predict exchange it
        if seen is None or seen[0] != key:
            values = row[self._order]
            sample = self._units.standardized(values)
            estimates = [
                self._neighbors.estimates(
                    self._units.filled(values), (self._units.inverse, self._units.common), shares
                ),
                self._boundaries.estimates(sample, shares),
                self._profiles.estimates(sample, shares),
                self._tables.estimates(sample, shares),
            ]
            seen = self._seen = key, self._experience.guesses(np.vstack(estimates))
        return seen[1]

    def adopt(self, columns: Sequence[str], blank: Vector, classes: int) -> None:
        """Know these columns, which begin with all so far, what they were in samples without them, and the classes."""
        known = len(self._columns)
        if len(columns) > known:
            self._columns += columns[known:]
            self._order = np.append(self._order, np.arange(known, len(columns)))
            self._units.widen(blank[known:])
            self._neighbors.widen(blank[known:])
        elif classes == self._classes:
            return
        self._classes = classes
        for part in (self._boundaries, self._profiles, self._tables):
            part.widen(len(columns), classes)
        self._seen = None

    def learn(self, row: Vector, place: int, shares: Vector, is_known: bool) -> None:
        """Learn a sample; whether its class was known before. Requires: `adopt` was told of its columns and class."""
        if is_known:
            self._experience.learn(self.guesses(row, shares), place)
        values = row[self._order]
        self._units.learn(values)
        sample = self._units.standardized(values)
        self._neighbors.learn(self._units.filled(values), place)
        self._boundaries.learn(sample, place, self._boundaries.estimates(sample, shares))
        self._profiles.learn(sample, place)
        self._tables.learn(sample, place)
        self._seen = None

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each."""
        return dict(zip(PLAIN_NAMES, self._experience.weights.tolist(), strict=True))

    @property
    def _parts(self) -> tuple[Any, ...]:
        seeing = self._boundaries, self._profiles, self._tables
        return self._units, self._neighbors, *seeing, self._experience

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._columns, self._classes, *(part.get_state() for part in self._parts)]

    def set_state(self, state: list[Any], columns: Sequence[str]) -> None:
        """From a checkpoint, for rows of these columns."""
        self._columns, self._classes = list(state[0]), state[1]
        places = {name: place for place, name in enumerate(columns)}
        self._order = np.array([places[name] for name in self._columns], dtype=np.intp)
        for part, known in zip(self._parts, state[2:], strict=True):
            part.set_state(known, *([self._classes] if part is self._neighbors else []))
