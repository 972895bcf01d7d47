"""What a series is made of: a transform that steadies its spread, and its seasons.

A season m is found by how much a value's change is predicted by the mean of the changes m, 2m and 3m before, beyond
what the last few changes say: the share of the remaining squares that this feature takes off, which is a comparison
of predictions of values that were not used to make them, at every m at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from ..core.types import Matrix, Vector
from ..threads import one_thread

# Changes right before a value, which the seasons are compared with.
NEAR = 3
# Seasons that are averaged, and how many of them a window must hold before one is looked for.
AVERAGED, FEWEST_SEASONS = 3, 2.4
LONGEST_SEASON = 400
# The share of the squares that a season must take off, growing for short windows; a shorter season is preferred if it
# takes off this part of what the best one does.
SEASON_SHARE, SHARE_SAMPLES, AS_GOOD = 0.1, 8.0, 0.8
# Short seasons must take off this many times what their neighbors do.
SHORT_SEASON, OUTSTANDING = 6, 1.5
# A further season must take off this share of what the first one leaves.
FURTHER_SHARE = 0.1
# The logarithm is taken where the spread grows with this power of the level or more.
LOG_POWER = 0.5
FEWEST_BLOCKS = 4


class Transform(NamedTuple):
    """z = (f(y) − center) / unit, with f the logarithm or the identity."""

    log: bool = False
    center: float = 0.0
    unit: float = 1.0

    @classmethod
    def of(cls, values: Vector, log: bool) -> Self:
        """Scaled to the window's values."""
        bent = np.log(values) if log else values
        unit = float(bent.std())
        return cls(log, float(bent.mean()), unit if unit > 0.0 else max(abs(float(bent.mean())), 1.0))

    def apply(self, values: Vector) -> Vector:
        """From the series' own units."""
        return ((np.log(values) if self.log else values) - self.center) / self.unit

    def apply_one(self, value: float) -> float:
        """From the series' own units, one value."""
        return ((math.log(value) if self.log else value) - self.center) / self.unit

    def invert(self, scaled: Matrix) -> Matrix:
        """Back to the series' own units."""
        bent = self.center + self.unit * scaled
        return np.exp(np.minimum(bent, 700.0)) if self.log else bent


def needs_log(values: Vector, season: int) -> bool:
    """Whether the spread of a positive series grows with its level: the slope of their logarithms over blocks."""
    size = max(season, 8)
    blocks = len(values) // size
    if blocks < FEWEST_BLOCKS or values.min() <= 0.0:
        return False
    table = values[len(values) - blocks * size :].reshape(blocks, size)
    levels = table.mean(axis=1)
    times = np.arange(size) - (size - 1) / 2.0
    slopes = (table * times).sum(axis=1) / (times**2).sum()
    spreads = (table - levels[:, None] - slopes[:, None] * times).std(axis=1)
    if levels.max() < 1.3 * levels.min() or (spreads <= 0.0).any():
        return False
    x, y = np.log(levels), np.log(spreads)
    return bool(np.polyfit(x, y, 1)[0] >= LOG_POWER)


def find_seasons(values: Vector) -> tuple[int, ...]:
    """The seasons of a window, the strongest first; none is an empty tuple."""
    changes = np.diff(values)
    first = _strongest(changes, SEASON_SHARE)
    if first is None:
        return ()
    rest = changes.copy()
    rest[first:] -= _seasonal_mean(changes, first)[first:]
    second = _strongest(rest[first:], FURTHER_SHARE, first + 1, first)
    return (first,) if second is None else (first, second)


def _strongest(changes: Vector, share: float, shortest: int = 2, multiple: int = 1) -> int | None:
    longest = min(LONGEST_SEASON, int((len(changes) + 1) / FEWEST_SEASONS))
    candidates = [m for m in range(max(shortest, 2), longest + 1) if m % multiple == 0]
    if not candidates or not changes.var() > 0.0:
        return None
    shares = np.array([_share(changes, m) for m in candidates])
    if multiple == 1:  # a smooth series repeats its changes at every short distance: a season stands out
        for i, m in enumerate(candidates):
            if m <= SHORT_SEASON:
                beside = [_share(changes, m - 1) if m > 2 else 0.0, _share(changes, m + 1)]
                shares[i] = shares[i] if shares[i] > OUTSTANDING * max(beside) else 0.0
    needed = share + SHARE_SAMPLES / len(changes)
    best = float(shares.max())
    if not best >= needed:
        return None
    return candidates[int(np.argmax(shares >= AS_GOOD * best))]


def _seasonal_mean(changes: Vector, m: int) -> Vector:
    """The mean of the changes m, 2m, ... before each; zero where there is none."""
    total, count = np.zeros(len(changes)), np.zeros(len(changes))
    for j in range(1, AVERAGED + 1):
        if j * m < len(changes):
            total[j * m :] += changes[: -j * m]
            count[j * m :] += 1.0
    return total / np.maximum(count, 1.0)


@one_thread
def _share(changes: Vector, m: int) -> float:
    """The share of the squares, beyond the near changes, that the season takes off; negative slopes take off none."""
    count = min(NEAR, max(1, m - 2))  # m − 1 changes would say the m-th, as those of a season sum to about zero
    start = max(m, count)
    if len(changes) - start < 2 * NEAR:
        return 0.0
    near = np.stack([changes[start - k : len(changes) - k] for k in range(1, count + 1)], axis=1)
    target, season = changes[start:], _seasonal_mean(changes, m)[start:]
    coefficients, *_ = np.linalg.lstsq(near, np.stack([target, season], axis=1), rcond=None)
    target, season = (np.stack([target, season], axis=1) - near @ coefficients).T
    product, square, whole = float(target @ season), float(season @ season), float(target @ target)
    return product**2 / (square * whole) if product > 0.0 and square > 0.0 and whole > 0.0 else 0.0
