"""Gross errors among the targets: a slipped decimal point must not decide what is learned from a thousand others.

A target is taken for one where it lies far outside those of the window and far from what was predicted, both by
limits that one such target in a hundred does not move. It is set aside until the next sample: where that is one too,
on the same side, the targets have changed and both are learned. Otherwise it is not learned.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from ..core.types import Vector

# Beyond so many times the largest common deviation, and so many times the median one.
COMMON_REACH, MEDIAN_REACH = 3.0, 10.0
# Deviations are common but for this share of them, and for so many; in short records for one.
RARE_SHARE, FEWEST_RARE, SHORT = 0.01, 2, 20
FEWEST_TARGETS = 4
ERRORS_KEPT, TARGETS_KEPT = 500, 100
# Limits are found anew after so many samples, in short records after each.
INTERVAL, EAGER = 32, 64
# A target within this part of either limit is not gross; beyond that one makes up for the other.
NEAR = 0.5
# With so few errors so far a target must be twice as far beyond both together.
DOUBT = 60.0
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


class Outliers:
    """Judges targets by those of a window and by the errors made so far.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.outliers import Outliers
    >>> outliers, window = Outliers(), np.random.default_rng(0).normal(size=200)
    >>> sum(outliers.sets_aside(y, 0.0, window) for y in window)
    0
    >>> outliers.sets_aside(3.0, 0.0, window), outliers.sets_aside(1e8, 0.0, window)
    (False, True)

    Two that follow each other are no errors:

    >>> outliers.sets_aside(1e8, 0.0, window)
    False

    """

    def __init__(self) -> None:
        self.count = 0
        self._errors: deque[float] = deque(maxlen=ERRORS_KEPT)
        self._aside: deque[float] = deque(maxlen=TARGETS_KEPT)
        self._limits = (0.0, math.inf, math.inf)  # center of the targets, reach about it, reach of the errors
        self._side = 0.0  # on which the last target was gross
        self._age = 0

    def sets_aside(self, target: float, mean: float, targets: Vector) -> bool:
        """Whether not to learn a target now, given what was predicted and the targets of the window.

        Where the one before it was set aside and this one is not, though it is as gross, neither is an error.
        """
        error = abs(target - mean)
        self._age += 1
        if self._age >= INTERVAL or len(self._errors) < EAGER:
            self._renew(targets)
        self._errors.append(error)
        center, about, limit = self._limits
        outside, beyond = abs(target - center) / about, error / limit
        before, self._side = self._side, 0.0
        if min(outside, beyond) <= NEAR or outside * beyond <= 1.0 + DOUBT / len(self._errors):
            return False
        self._side = math.copysign(1.0, target - center)
        if before == self._side:
            self._age = INTERVAL
            return False
        self.count += 1
        self._aside.append(target)
        return True

    @property
    def is_followed(self) -> bool:
        """Whether the last target was gross, but believed."""
        return self._side != 0.0 and self._age == INTERVAL

    def believe(self) -> None:
        """The last target that was set aside is no error after all."""
        self.count -= 1
        self._aside.pop()

    def _renew(self, targets: Vector) -> None:
        """Find the limits: what is set aside counts, so that no target of which there are many is gross."""
        self._age = 0
        if len(targets) >= FEWEST_TARGETS:
            center = float(np.median(targets))
            share = math.ceil(RARE_SHARE * len(targets))
            all_targets = np.append(targets, list(self._aside)[-2 * share :])
            self._limits = center, reach(np.abs(all_targets - center)), reach(np.array(self._errors))

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        record = [np.array(self._errors), np.array(self._aside)]
        return [self.count, *record, list(self._limits), self._side, self._age]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.count, errors, aside, limits, self._side, self._age = state
        self._errors.extend(errors.tolist())
        self._aside.extend(aside.tolist())
        self._limits = limits[0], limits[1], limits[2]


def gross(targets: Vector) -> list[int]:
    """Which of a few targets are gross errors beside the others."""
    deviations = np.abs(targets - np.median(targets)) if len(targets) else targets
    return np.flatnonzero(deviations > CERTAIN * reach(deviations)).tolist()
