"""What the nearest of the newest samples were: votes about the class.

Where classes lie in many small places, or the places move, the newest samples themselves know more than a dictionary
of a fixed size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector

# Who votes: so many nearest of so many newest samples.
VOTES = ((3, 200), (10, 200), (3, 1000), (10, 1000))
METRICS = ("in units of each column", "in one unit")
NEIGHBOR_NAMES = tuple(f"{count} nearest of {newest} {metric}" for metric in METRICS for count, newest in VOTES)
# Of very many columns fewer samples are kept, but no fewer than this.
MOST_CELLS, FEWEST = 100_000, 50
# A squared distance counts as larger by this with every further sample: of equal ones the newest vote.
AGE = 1e-6
# The frequencies of the classes count like so many votes.
PRIOR = 1.0


class Neighbors:
    """The newest samples and their classes.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.neighbors import Neighbors
    >>> neighbors = Neighbors()
    >>> neighbors.widen(np.array([np.nan]))
    >>> for value in range(10):
    ...     neighbors.learn(np.array([float(value)]), int(value >= 5))
    >>> neighbors.estimates(np.array([4.0]), [1.0], np.array([0.5, 0.5])).round(2)
    array([[0.62, 0.38],
           [0.5 , 0.5 ],
           [0.62, 0.38],
           [0.5 , 0.5 ]])

    """

    def __init__(self) -> None:
        self._rows, self._places = np.empty((0, 0)), np.empty(0, dtype=np.int64)
        self._end = 0
        self._has_gaps = False

    def _newest(self, columns: int) -> int:
        """How many samples of so many columns are kept."""
        return min(max(newest for _, newest in VOTES), max(FEWEST, MOST_CELLS // max(1, columns)))

    def estimates(self, row: Vector, units: Sequence[Vector | float], shares: Vector) -> Matrix:
        """The votes as shares: a row for each of `VOTES`, by distances with each of the units, which multiply."""
        first = max(0, self._end - self._newest(len(row)))
        places = self._places[first : self._end]
        differences = self._rows[first : self._end] - row
        ages = AGE * np.arange(len(places), 0, -1)
        result = []
        for unit in units:
            distances = ages + ((differences * unit) ** 2).sum(axis=1)
            for count, newest in VOTES:
                near, voters = distances[-newest:], places[-newest:]
                if len(near) > count:
                    voters = voters[np.argpartition(near, count)[:count]]
                votes = np.bincount(voters, minlength=len(shares))
                result.append((votes + PRIOR * shares) / (len(voters) + PRIOR))
        return np.array(result)

    def learn(self, row: Vector, place: int) -> None:
        """Keep a sample, which has no gaps; where older ones have them they were as this one."""
        if self._has_gaps:
            self._rows, self._has_gaps = np.where(np.isnan(self._rows), row, self._rows), False
        if self._end == len(self._rows):
            self._make_room(self._newest(len(row)))
        self._rows[self._end], self._places[self._end] = row, place
        self._end += 1

    def widen(self, blank: Vector) -> None:
        """Further columns: what each was in every sample so far, zero or a gap."""
        self._rows = np.hstack([self._rows, np.tile(blank, (len(self._rows), 1))])
        self._has_gaps = True

    def _make_room(self, newest: int) -> None:
        first = max(0, self._end - newest)
        count = self._end - first
        rows = np.zeros((min(2 * count + 1, 2 * newest), self._rows.shape[1]))
        places = np.zeros(len(rows), dtype=np.int64)
        rows[:count], places[:count] = self._rows[first : self._end], self._places[first : self._end]
        self._rows, self._places, self._end = rows, places, count

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        first = max(0, self._end - self._newest(self._rows.shape[1]))
        return [self._rows[first : self._end], self._places[first : self._end]]

    def set_state(self, state: list[Any], classes: int) -> None:
        """From a checkpoint, with so many classes."""
        self._rows, self._places = (part.copy() for part in state)
        self._end = len(self._places)
        if len(self._rows) != self._end or not np.isin(self._places, np.arange(classes)).all():
            raise ValueError(f"{len(self._rows)} samples do not go with classes {self._places} of {classes}")
