"""Weights of experts by how they forecast, for bands of steps ahead.

Forecasts are made on trial while a series is learned; when the values arrive, an expert's squared error counts in units
of the mean one at that step. Weights are a power of the discounted mean: w ∝ (record)^(−power). The power grows with
the trials behind the record: few of them, as a season ahead in a short series, say little, and equal weights do better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import series
from ..core.types import Indices, Matrix

DISCOUNT, POWER = 0.98, 4.0
# Every expert begins as if it had this many trials like the average.
FIRST_RECORD = 3.0
FIRST_FORGETTING = 0.9
# So many trials that do not overlap bring half of the power.
EVIDENCE = 8.0
# Weights below this share of an equal one are not used; of a series without noise, of which one trial says enough, the
# second.
LEAST_SHARE, EXACT_SHARE = 0.1, 1.0
# One trial counts at most this often the mean.
LARGEST_LOSS = 16.0


def bands(horizon: int) -> Indices:
    """The band of every step: 1, 2–3, 4–7, 8–15, ..."""
    return np.floor(np.log2(np.arange(1, horizon + 1))).astype(np.int64)


class Record:
    """Discounted relative losses of experts, by band; `pace` is how often further steps are on trial."""

    def __init__(self, experts: int, horizon: int, pace: int = 1, exact: bool = False) -> None:
        self._bands = bands(horizon)
        count = int(self._bands[-1]) + 1
        self._losses = np.zeros((experts, count))
        self._counts = np.zeros(count)
        self._first = np.full(count, FIRST_RECORD)
        self._sizes = np.bincount(self._bands, minlength=count).astype(np.float64)
        # Trials that do not overlap are evidence of their own; the next step is on trial at every value.
        self._unit = np.where(np.arange(count) > 0, pace, 1.0) / (2.0 ** np.arange(count) * self._sizes)
        self._evidence = np.zeros(count)
        self._exact = exact

    def update(self, steps: Indices, errors: Matrix) -> None:
        """Take in the errors of all experts (in rows) at these steps ahead, 0 the next one."""
        before = self._counts.copy()
        series.record(self._losses, self._counts, self._bands, self._sizes, steps, errors, DISCOUNT, LARGEST_LOSS)
        self._first[self._counts != before] *= FIRST_FORGETTING
        np.add.at(self._evidence, self._bands[steps], self._unit[self._bands[steps]])

    def weights(self) -> Matrix:
        """By expert and step."""
        means = (self._losses + self._first) / (self._counts + self._first)
        sure = 1.0 if self._exact else self._evidence / (self._evidence + EVIDENCE)
        powers = np.maximum(means, 1e-12) ** (-POWER * sure)
        shares = powers / powers.sum(axis=0)
        shares[shares < (EXACT_SHARE if self._exact else LEAST_SHARE) / len(shares)] = 0.0
        return (shares / shares.sum(axis=0))[:, self._bands]

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._losses, self._counts, self._first, self._evidence]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._losses, self._counts, self._first, *evidence = state
        # Before 0.2 the trials were not counted: their discounted number stands for it.
        self._evidence = evidence[0] if evidence else self._counts * self._sizes * self._unit
