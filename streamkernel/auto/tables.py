"""How often the values of each column fall into each of some parts, by class, the columns taken as independent.

Naive Bayes for columns that count or number things, or whose values come in heaps; `profiles.py` is that for bells.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from ..core.types import Indices, Matrix, Vector
from .bayes import KEPT, MOST_CLASSES, MOST_COLUMNS, posterior

TABLE_NAMES = tuple(f"tables of single columns, forgetting {kept:g}" for kept in KEPT)
# The real line in standard units is cut at quantiles of the normal distribution into so many parts.
PARTS = 16
CUTS = np.array([NormalDist().inv_cdf(i / PARTS) for i in range(1, PARTS)])
# What all classes have in common counts like so many samples of a class.
PRIOR = 2.0


class Tables:
    """Counts by class, column and part, of samples in standard units.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.tables import Tables
    >>> tables, shares = Tables(), np.array([0.5, 0.5])
    >>> tables.widen(columns=1, classes=2)
    >>> for t in range(300):
    ...     tables.learn(np.array([t % 3 - 1.0]), t % 3 % 2)
    >>> tables.estimates(np.array([0.0]), shares)[:, 1].round(2)
    array([1.  , 0.97])

    """

    def __init__(self) -> None:
        self._counts = np.zeros((len(KEPT), 0, 0, PARTS))
        self._totals = np.zeros((len(KEPT), 0))

    def estimates(self, row: Vector, shares: Vector) -> Matrix:
        """The share of every class, by Bayes' rule; classes without tables keep what they have."""
        found = self._counts[:, :, np.arange(self._counts.shape[2]), _parts(row)]
        common = (found.sum(axis=1) + 1.0 / PARTS) / (self._totals.sum(axis=1)[:, None] + 1.0)
        chances = (found + PRIOR * common[:, None]) / (self._totals[:, :, None] + PRIOR)
        return posterior(np.log(chances).sum(axis=2), shares)

    def learn(self, row: Vector, place: int) -> None:
        """Count a sample of a class."""
        if place >= MOST_CLASSES:
            return
        kept = np.array(KEPT)
        self._counts[:, place] *= kept[:, None, None]
        self._counts[:, place, np.arange(self._counts.shape[2]), _parts(row)] += 1.0
        self._totals[:, place] = kept * self._totals[:, place] + 1.0

    def widen(self, columns: int, classes: int) -> None:
        """Make room for so many columns and classes."""
        _, known, width, _ = self._counts.shape
        more = (0, 0), (0, min(classes, MOST_CLASSES) - known), (0, min(columns, MOST_COLUMNS) - width), (0, 0)
        self._counts, self._totals = np.pad(self._counts, more), np.pad(self._totals, more[:2])

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._counts, self._totals]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._counts, self._totals = state


def _parts(row: Vector) -> Indices:
    """The part of each column in which a value lies."""
    return np.searchsorted(CUTS, row[:MOST_COLUMNS])
