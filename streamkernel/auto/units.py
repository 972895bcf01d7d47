"""Units of raw columns that are there from the first sample on: the mean and the deviation of each, so far."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.types import Vector

# A sample counts no less than one of so many: units follow a stream that goes on changing.
LONGEST = 10_000.0
# No number is farther from zero, so that squares of squares are finite; no standardized one is.
FARTHEST, FARTHEST_STANDARDIZED = 1e70, 10.0


class RunningUnits:
    """Means and deviations of columns that may still appear; gaps (NaN) are passed over.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.units import RunningUnits
    >>> units = RunningUnits()
    >>> units.widen(np.array([np.nan, np.nan]))
    >>> for row in ([1.0, np.nan], [3.0, 5.0], [np.nan, 7.0]):
    ...     units.learn(np.array(row))
    >>> units.standardized(np.array([3.0, np.nan])), units.inverse
    (array([1., 0.]), array([1., 1.]))

    """

    def __init__(self) -> None:
        self._total = 0
        self._counts, self._means, self._variances = np.empty(0), np.empty(0), np.empty(0)
        self.inverse = np.empty(0)
        """One over the deviation of each column, zero where it has not varied."""
        self.common = 0.0
        """One over the mean deviation of all columns that have: for those that are alike, as those of a picture."""

    def filled(self, row: Vector) -> Vector:
        """A row with the mean where there is a gap."""
        values = np.clip(row, -FARTHEST, FARTHEST)
        absent = np.isnan(values)
        values[absent] = self._means[absent]
        return np.asarray(values)

    def standardized(self, row: Vector) -> Vector:
        """A row in these units."""
        values = (self.filled(row) - self._means) * self.inverse
        return np.asarray(np.clip(values, -FARTHEST_STANDARDIZED, FARTHEST_STANDARDIZED))

    def learn(self, row: Vector) -> None:
        """Take in a row."""
        distances = self.filled(row) - self._means
        self._total += 1
        self._counts += ~np.isnan(row)
        rates = ~np.isnan(row) / np.clip(self._counts, 1.0, LONGEST)
        self._means += rates * distances
        self._variances += rates * ((1.0 - rates) * distances**2 - self._variances)
        varied = self._variances > 0.0
        self.inverse = np.zeros(len(row))
        if varied.any():
            self.inverse[varied] = 1.0 / np.sqrt(self._variances[varied])
            self.common = 1.0 / math.sqrt(float(self._variances[varied].mean()))

    def widen(self, blank: Vector) -> None:
        """Further columns: what each was in every sample so far, zero or a gap."""
        nothing = np.zeros(len(blank))
        self._counts = np.append(self._counts, np.where(np.isnan(blank), 0.0, float(self._total)))
        self._means, self._variances = np.append(self._means, nothing), np.append(self._variances, nothing)
        self.inverse = np.append(self.inverse, nothing)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._total, self._counts, self._means, self._variances, self.inverse, self.common]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._total, self._counts, self._means, self._variances, self.inverse, self.common = state
