"""How the values of each column are distributed in each class, the columns taken as independent: naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from .bayes import KEPT, MOST_CLASSES, MOST_COLUMNS, posterior

PROFILE_NAMES = tuple(f"profiles of the classes, forgetting {kept:g}" for kept in KEPT)
# The profile of all classes, of mean zero and variance one, counts like so many samples; no variance is less.
PRIOR, LEAST_VARIANCE = 1.0, 1e-3


class Profiles:
    """Means and variances by class, of samples in standard units.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.profiles import Profiles
    >>> profiles, shares = Profiles(), np.array([0.5, 0.5])
    >>> profiles.widen(columns=1, classes=2)
    >>> for value in np.sin(np.arange(300.0)):
    ...     profiles.learn(np.array([value]), int(abs(value) > 0.5))
    >>> profiles.estimates(np.array([0.1]), shares)[:, 1].round(2)
    array([0.28, 0.27])

    """

    def __init__(self) -> None:
        shape = (len(KEPT), 0, 0)
        self._counts, self._means, self._variances = np.zeros(shape[:2]), np.zeros(shape), np.ones(shape)

    def estimates(self, row: Vector, shares: Vector) -> Matrix:
        """The share of every class, by Bayes' rule; classes without a profile keep what they have."""
        fits = -0.5 * ((row[:MOST_COLUMNS] - self._means) ** 2 / self._variances + np.log(self._variances)).sum(axis=2)
        return posterior(fits, shares)

    def learn(self, row: Vector, place: int) -> None:
        """Take in a sample of a class."""
        if place >= MOST_CLASSES:
            return
        counts = self._counts[:, place] = np.array(KEPT) * self._counts[:, place] + 1.0
        rates = (1.0 / (counts + PRIOR))[:, None]
        distances = row[:MOST_COLUMNS] - self._means[:, place]
        self._means[:, place] += rates * distances
        variances = self._variances[:, place]
        variances += rates * ((1.0 - rates) * distances**2 - variances)
        np.maximum(variances, LEAST_VARIANCE, out=variances)

    def widen(self, columns: int, classes: int) -> None:
        """Make room for so many columns and classes."""
        _, known, width = self._means.shape
        more = (0, 0), (0, min(classes, MOST_CLASSES) - known), (0, min(columns, MOST_COLUMNS) - width)
        self._counts, self._means = np.pad(self._counts, more[:2]), np.pad(self._means, more)
        self._variances = np.pad(self._variances, more, constant_values=1.0)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._counts, self._means, self._variances]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._counts, self._means, self._variances = state
