"""Straight boundaries between classes: softmax regression by stochastic gradient descent, at several rates at once."""

from __future__ import annotations

import numpy as np

from ..core.types import Matrix, Vector

RATES = (0.003, 0.01, 0.03, 0.1)
BOUNDARY_NAMES = tuple(f"straight boundaries, rate {rate:g}" for rate in RATES)
# Boundaries are found between the first classes and by the first columns, so many of each.
MOST_CLASSES, MOST_COLUMNS = 50, 200


class Boundaries:
    """The regressions, of samples in standard units.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.boundaries import Boundaries
    >>> boundaries, shares = Boundaries(), np.array([0.5, 0.5])
    >>> boundaries.widen(columns=1, classes=2)
    >>> for value in np.sin(np.arange(300.0)):
    ...     row = np.array([value])
    ...     boundaries.learn(row, int(value > 0.0), boundaries.estimates(row, shares))
    >>> boundaries.estimates(np.array([0.5]), shares)[:, 1].round(2)
    array([0.56, 0.66, 0.79, 0.91])

    """

    def __init__(self) -> None:
        self._weights = np.zeros((len(RATES), 0, 1))

    def estimates(self, row: Vector, shares: Vector) -> Matrix:
        """The share of every class by each regression; classes without boundaries keep what they have."""
        sample = _sample(row)
        scores = self._weights @ sample
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        result = np.empty((len(RATES), len(shares)))
        result[...] = shares
        count = powers.shape[1]
        result[:, :count] = powers * (shares[:count].sum() / powers.sum(axis=1, keepdims=True))
        return result

    def learn(self, row: Vector, place: int, estimates: Matrix) -> None:
        """A step along the slope of the log loss of a sample, of which these were the estimates."""
        slopes = -estimates[:, : self._weights.shape[1]]
        if place < MOST_CLASSES:
            slopes[:, place] += 1.0
        self._weights += np.array(RATES)[:, None, None] * slopes[:, :, None] * _sample(row)

    def widen(self, columns: int, classes: int) -> None:
        """Make room for so many columns and classes."""
        _, known, width = self._weights.shape
        more = min(classes, MOST_CLASSES) - known, 1 + min(columns, MOST_COLUMNS) - width
        self._weights = np.pad(self._weights, ((0, 0), (0, more[0]), (0, more[1])))

    def get_state(self) -> Vector:
        """For a checkpoint."""
        return self._weights

    def set_state(self, state: Vector) -> None:
        """From a checkpoint."""
        self._weights = state


def _sample(row: Vector) -> Vector:
    """One, and the columns that count."""
    return np.append(1.0, row[:MOST_COLUMNS])
