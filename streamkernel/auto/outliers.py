"""Gross errors among the targets: a slipped decimal point must not decide what is learned from a thousand others.

A target is taken for one where it lies far outside those of the window and far from what was predicted, both by
limits that one such target in a hundred does not move. It is not left out, as it may be true after all: it is learned
as if its error were as large as the limit. Where several follow each other the targets have changed, and are believed.
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
ERRORS_KEPT = 500
# Limits are found anew after so many samples, in short records after each.
INTERVAL, EAGER = 32, 64
# So many in a row are no errors.
LONGEST_RUN = 3


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
    >>> for y in window:
    ...     believed = outliers.believed(y, 0.0, window)
    >>> outliers.believed(3.0, 0.0, window)
    3.0
    >>> outliers.believed(1e8, 0.0, window)
    6.9...
    >>> outliers.count
    1

    """

    def __init__(self) -> None:
        self.count = 0
        self._errors: deque[float] = deque(maxlen=ERRORS_KEPT)
        self._limits = (0.0, math.inf, math.inf)  # center of the targets, reach about it, reach of the errors
        self._run = self._age = 0

    def believed(self, target: float, mean: float, targets: Vector) -> float:
        """The target to learn, given what was predicted and the targets of the window."""
        error = abs(target - mean)
        self._age += 1
        if self._age >= INTERVAL or len(self._errors) < EAGER:
            self._renew(targets)
        self._errors.append(error)
        center, about, limit = self._limits
        if error <= limit or abs(target - center) <= about:
            self._run = 0
            return target
        self._run += 1
        if self._run > LONGEST_RUN:
            return target
        self.count += 1
        return mean + math.copysign(limit, target - mean)

    def _renew(self, targets: Vector) -> None:
        self._age = 0
        if len(targets) >= FEWEST_TARGETS:
            center = float(np.median(targets))
            self._limits = center, reach(np.abs(targets - center)), reach(np.array(self._errors))

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.count, np.array(self._errors), list(self._limits), self._run, self._age]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.count, errors, limits, self._run, self._age = state
        self._errors.extend(errors.tolist())
        self._limits = limits[0], limits[1], limits[2]


def gross(targets: Vector) -> list[int]:
    """Which of a few targets are gross errors beside the others."""
    deviations = np.abs(targets - np.median(targets)) if len(targets) else targets
    return np.flatnonzero(deviations > reach(deviations)).tolist()
