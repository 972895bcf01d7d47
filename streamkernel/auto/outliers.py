"""Gross errors among the targets: a slipped decimal point must not decide what is learned from a thousand others.

A target is taken for one where it lies far outside those of the window and far from what was predicted, both by
limits that one such target in a hundred does not move. Its sample is set aside. Where the next target is gross too, on
the same side, the targets have changed, and both are learned; where there are more of the kind than one in a hundred
they are common, and all are learned.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.types import Vector

# Beyond so many times the largest common deviation, and so many times the median one.
COMMON_REACH, MEDIAN_REACH = 3.0, 10.0
# Deviations are common but for this share of them, and for so many; in short records for one.
RARE_SHARE, FEWEST_RARE, SHORT = 0.01, 4, 20
FEWEST_TARGETS = 4
ERRORS_KEPT, MOST_ASIDE = 1000, 100
# Limits are found anew after so many samples, in short records after each.
INTERVAL, EAGER = 32, 64
# A target within this part of either limit is not gross; beyond that one makes up for the other, up to this product.
NEAR, CLEAR = 0.5, 1.1
# With so few errors so far the product must be larger by one: what is rare is not known yet.
DOUBT = 200.0
# A target that was not judged when it came is left out later only if it is so many times as far away as it might be.
CERTAIN = 2.0


def reach(deviations: Vector) -> float:
    """How far deviations may go before they are gross, whatever the largest ones are.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.outliers import reach
    >>> deviations = np.abs(np.random.default_rng(0).normal(size=1000))
    >>> reach(deviations)
    7.6...
    >>> reach(np.append(deviations, [1e8, 1e9, 1e10]))
    7.9...

    """
    count = len(deviations)
    if count < FEWEST_TARGETS:
        return math.inf
    rare = 1 if count < SHORT else max(FEWEST_RARE, math.ceil(RARE_SHARE * count))
    ordered = np.partition(deviations, [count // 2, count - 1 - rare])
    common, median = float(ordered[count - 1 - rare]), float(ordered[count // 2])
    # Where almost all are the same there is no telling what is gross.
    return max(COMMON_REACH * common, MEDIAN_REACH * median) or math.inf


class Aside(NamedTuple):
    """A sample that was not learned."""

    row: Vector
    target: float
    weight: float
    error: float
    """Of the prediction."""


class Outliers:
    """Judges targets by those of a window and by the errors made so far.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.outliers import Outliers
    >>> outliers, window = Outliers(), np.random.default_rng(0).normal(size=200)
    >>> row = np.zeros(1)
    >>> any(outliers.sets_aside(row, y, 1.0, 0.0, window) for y in window)
    False
    >>> outliers.sets_aside(row, 3.0, 1.0, 0.0, window), outliers.sets_aside(row, 1e8, 1.0, 0.0, window)
    (False, True)

    Two that follow each other are no errors:

    >>> outliers.count, outliers.sets_aside(row, 1e8, 1.0, 0.0, window), len(outliers.released()), outliers.count
    (1, False, 1, 0)

    """

    def __init__(self) -> None:
        self.count = 0
        self._errors: deque[float] = deque(maxlen=ERRORS_KEPT)
        self._aside: deque[Aside] = deque(maxlen=MOST_ASIDE)
        self._limits = (0.0, math.inf, math.inf)  # center of the targets, reach about it, reach of the errors
        self._side = 0.0  # on which the last target was gross
        self._age = 0
        self._is_new = False  # whether someone may have to be released

    def errors(self, count: int) -> Vector:
        """The newest errors, so many of them where there are."""
        return np.array(self._errors)[max(0, len(self._errors) - count) :]

    def sets_aside(self, row: Vector, target: float, weight: float, mean: float, targets: Vector) -> bool:
        """Whether not to learn a sample now, given what was predicted and the targets of the window."""
        error = abs(target - mean)
        self._age += 1
        if self._age >= INTERVAL or len(self._errors) < EAGER:
            self._renew(targets)
        self._errors.append(error)
        before, self._side = self._side, 0.0
        if not self._is_gross(target, error):
            return False
        self._side = math.copysign(1.0, target - self._limits[0])
        if before == self._side:
            self._age, self._is_new = INTERVAL, True
            return False
        self.count += 1
        self._aside.append(Aside(row, target, weight, error))
        return True

    def _is_gross(self, target: float, error: float) -> bool:
        center, about, limit = self._limits
        outside, beyond = abs(target - center) / about, error / limit
        return min(outside, beyond) > NEAR and outside * beyond > CLEAR + DOUBT / len(self._errors)

    def _renew(self, targets: Vector) -> None:
        """Find the limits: what is set aside counts, so that no target of which there are many is gross."""
        self._age, self._is_new = 0, bool(self._aside)
        if len(targets) >= FEWEST_TARGETS:
            center = float(np.median(targets))
            known = np.append(targets, [sample.target for sample in self._aside])
            self._limits = center, reach(np.abs(known - center)), reach(np.array(self._errors))

    def released(self) -> list[Aside]:
        """Samples that were set aside and are no errors after all; they are to be learned."""
        if not self._is_new:
            return []
        self._is_new = False
        free = [sample for sample in self._aside if not self._is_gross(sample.target, sample.error)]
        if self._side and self._aside and not any(self._aside[-1] is sample for sample in free):
            free.append(self._aside[-1])  # the last target was gross like this one, and believed
        kept = [sample for sample in self._aside if not any(sample is other for other in free)]
        self.count -= len(free)
        self._aside = deque(kept, maxlen=MOST_ASIDE)
        return free

    def get_state(self, stored: Callable[[Vector], Vector]) -> list[Any]:
        """For a checkpoint, in which rows are stored so."""
        aside = [(stored(sample.row), *sample[1:]) for sample in self._aside]
        return [self.count, np.array(self._errors), aside, list(self._limits), self._side, self._age, self._is_new]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.count, errors, aside, limits, self._side, self._age, self._is_new = state
        self._errors.extend(errors.tolist())
        self._aside.extend(Aside(*sample) for sample in aside)
        self._limits = limits[0], limits[1], limits[2]


def gross(targets: Vector) -> list[int]:
    """Which of a few targets are gross errors beside the others."""
    deviations = np.abs(targets - np.median(targets)) if len(targets) else targets
    return np.flatnonzero(deviations > CERTAIN * reach(deviations)).tolist()
