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
from ..encoding import moments
from ..threads import one_thread

# Changes right before a value, which the seasons are compared with.
NEAR = 3
# Seasons that are averaged, and how many of them a window must hold before one is looked for.
AVERAGED, FEWEST_SEASONS = 3, 2.4
LONGEST_SEASON = 400
# The share of the squares that a season must take off, growing for short windows; a shorter season is preferred if it
# takes off this part of what the best one does.
SEASON_SHARE, SHARE_SAMPLES, AS_GOOD = 0.1, 8.0, 0.8
# Quarters, weekdays, months, hours, half hours, weeks, days of the year: these need less evidence.
USUAL, USUAL_SAMPLES = (4, 7, 12, 24, 48, 52, 96, 168, 288, 336, 365), 3.0
# They are preferred if they take off this part of what the best one does; one that was found before is kept while it
# takes off this share.
USUAL_GOOD, KEPT_SHARE = 0.5, 0.05
# Short seasons must take off this many times what their neighbors do.
SHORT_SEASON, OUTSTANDING = 6, 1.5
# A season of averages over blocks of values must take off this share.
BLOCK, BLOCK_SHARE = 4, 0.15
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
        center, unit = moments(np.log(values) if log else values)
        return cls(log, center, unit if unit > 0.0 else max(abs(center), 1.0))

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


@one_thread
def find_seasons(values: Vector, known: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The seasons of a window, the strongest first; none is an empty tuple. A usual one that is `known` is kept."""
    changes = np.diff(values)
    first = _strongest(changes, SEASON_SHARE)
    if known and known[0] in USUAL and first not in known and _holds(changes, known[0], first):
        first = known[0]
    if first is None:
        slow = _slow_season(values)
        return () if slow is None else (slow,)
    rest = changes.copy()
    rest[first:] -= _seasonal_mean(changes, first)[first:]
    second = _strongest(rest[first:], FURTHER_SHARE, first + 1, first)
    if second is None:
        slow = _slow_season(values, first)
        second = slow if slow in USUAL else None
    return (first,) if second is None else (first, second)


def _holds(changes: Vector, known: int, found: int | None) -> bool:
    """Whether a season that was found before still takes off squares, and about as many as the one `found` now."""
    share = _share(changes, known, found or 0)
    return share >= KEPT_SHARE and (found is None or share >= USUAL_GOOD * _share(changes, found, known))


def _slow_season(values: Vector, block: int = BLOCK) -> int | None:
    """A long season whose single changes are lost in the noise: that of averages over blocks, if these have one."""
    count = len(values) // block
    if count < FEWEST_BLOCKS:
        return None
    means = values[len(values) - count * block :].reshape(count, block).mean(axis=1)
    found = _strongest(np.diff(means), BLOCK_SHARE, SHORT_SEASON + 1, unit=block)
    if found is None:
        return None
    return block * found if block != BLOCK else _usual(found, block) or block * found


def _usual(m: int, unit: int) -> int | None:
    """The usual season that m units may be; None if there is none."""
    return next((season for season in USUAL if abs(season - m * unit) <= unit // 2), None)


def _near_usual(m: int, other: int) -> bool:
    """Whether m is a usual season for which its neighbor may be mistaken."""
    return m in USUAL and m > SHORT_SEASON and other == m + 1


def _strongest(changes: Vector, share: float, shortest: int = 2, multiple: int = 1, unit: int = 1) -> int | None:
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
    predicted = len(changes) - np.array(candidates)
    samples = np.array([USUAL_SAMPLES if multiple == 1 and _usual(m, unit) else SHARE_SAMPLES for m in candidates])
    shares[shares < share + samples / np.maximum(predicted, 1)] = 0.0
    best = int(shares.argmax())
    if not shares[best] > 0.0:
        return None
    longest = candidates[best]
    # The squares are compared at the values that both predict.
    for m, one in zip(candidates[:best], shares):
        good = USUAL_GOOD if multiple == 1 and _near_usual(m, longest) else AS_GOOD
        if one > 0.0 and _share(changes, m, longest) >= good * shares[best]:
            return m
    return longest


def _seasonal_mean(changes: Vector, m: int) -> Vector:
    """The mean of the changes m, 2m, ... before each; zero where there is none."""
    total, count = np.zeros(len(changes)), np.zeros(len(changes))
    for j in range(1, AVERAGED + 1):
        if j * m < len(changes):
            total[j * m :] += changes[: -j * m]
            count[j * m :] += 1.0
    return total / np.maximum(count, 1.0)


def _share(changes: Vector, m: int, start: int = 0) -> float:
    """The share of the squares, beyond the near changes, that the season takes off; negative slopes take off none."""
    count = min(NEAR, max(1, m - 2))  # m − 1 changes would say the m-th, as those of a season sum to about zero
    start = max(m, count, start)
    if len(changes) - start < 2 * NEAR:
        return 0.0
    near = np.stack([changes[start - k : len(changes) - k] for k in range(1, count + 1)], axis=1)
    target, season = changes[start:], _seasonal_mean(changes, m)[start:]
    coefficients, *_ = np.linalg.lstsq(near, np.stack([target, season], axis=1), rcond=None)
    target, season = (np.stack([target, season], axis=1) - near @ coefficients).T
    product, square, whole = float(target @ season), float(season @ season), float(target @ target)
    return (product / square) * (product / whole) if product > 0.0 and square > 0.0 and whole > 0.0 else 0.0
