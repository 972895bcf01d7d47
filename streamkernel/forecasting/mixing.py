"""Weights of experts by how they forecast, for bands of steps ahead.

Forecasts are made on trial while a series is learned; when the values arrive, an expert's squared error counts in units
of the mean one at that step. Weights are a power of the discounted mean: w ∝ (record)^(−power).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import series
from ..core.types import Indices, Matrix

DISCOUNT, POWER = 0.98, 5.0
# Every expert begins as if it had this many trials like the average.
FIRST_RECORD = 3.0
FIRST_FORGETTING = 0.9
# Weights below this share of an equal one are not used.
LEAST_SHARE = 1.0
# One trial counts at most this often the mean.
LARGEST_LOSS = 16.0


def bands(horizon: int) -> Indices:
    """The band of every step: 1, 2–3, 4–7, 8–15, ..."""
    return np.floor(np.log2(np.arange(1, horizon + 1))).astype(np.int64)


class Record:
    """Discounted relative losses of experts, by band."""

    def __init__(self, experts: int, horizon: int) -> None:
        self._bands = bands(horizon)
        count = int(self._bands[-1]) + 1
        self._losses = np.zeros((experts, count))
        self._counts = np.zeros(count)
        self._first = np.full(count, FIRST_RECORD)
        self._sizes = np.bincount(self._bands, minlength=count).astype(np.float64)

    def update(self, steps: Indices, errors: Matrix) -> None:
        """Take in the errors of all experts (in rows) at these steps ahead, 0 the next one."""
        before = self._counts.copy()
        series.record(self._losses, self._counts, self._bands, self._sizes, steps, errors, DISCOUNT, LARGEST_LOSS)
        self._first[self._counts != before] *= FIRST_FORGETTING

    def weights(self) -> Matrix:
        """By expert and step."""
        means = (self._losses + self._first) / (self._counts + self._first)
        powers = np.maximum(means, 1e-12) ** (-POWER)
        shares = powers / powers.sum(axis=0)
        shares[shares < LEAST_SHARE / len(shares)] = 0.0
        return (shares / shares.sum(axis=0))[:, self._bands]

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._losses, self._counts, self._first]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._losses, self._counts, self._first = state
