"""What a check of stored results yields: numbers as stored and as measured again, and how far chance moves them."""

from __future__ import annotations

import math
from typing import NamedTuple

EXACT = 1e-3
RUNS = 10  # repeated of a mean over more


class Row(NamedTuple):
    """One number, as stored and as measured again."""

    file: str
    row: str
    measure: str
    stored: float
    now: float
    noise: float

    @property
    def stale(self) -> bool:
        """Whether the two are farther apart than chance moves them; what is not a number is stale."""
        return not abs(self.now - self.stored) <= self.noise


def of_no_chance(value: float) -> float:
    """The noise of what has no chance in it: rounding, that of another machine's processor included."""
    return EXACT * abs(value)


def of_rmse(error: float, count: int) -> float:
    """The noise of an RMSE: its standard error over so many samples."""
    return error / math.sqrt(2 * count)


def of_share(share: float, count: int) -> float:
    """The noise of a share of so many samples: its standard error, or one sample where that is smaller."""
    return math.sqrt(max(share * (1.0 - share), 1.0 / count) / count)


def of_mean(sd: float, runs: int = RUNS) -> float:
    """The noise of a mean over fewer runs than were stored: three standard errors."""
    return 3.0 * sd / math.sqrt(runs)
