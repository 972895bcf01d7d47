"""Every step by itself: how long the usual ones take, and the slow ones.

A mean hides a slow step, and a stream has to wait for it. Times are the processor's, so that another program's turn
is not taken for a slow step; what asking the clock costs is taken off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

Microseconds = np.ndarray[Any, np.dtype[np.float64]]
CLOCK_CALLS = 1001


class Spread(NamedTuple):
    """Microseconds of the median step, of the slowest in a hundred, and of the slowest."""

    p50: float
    p99: float
    worst: float

    @classmethod
    def of(cls, steps: Microseconds) -> Spread:
        """The spread of single steps."""
        return cls(*np.percentile(steps, [50, 99]).tolist(), float(steps.max()))


def clock_cost() -> float:
    """The microseconds between two looks at the clock."""
    looks = np.array([time.process_time_ns() for _ in range(CLOCK_CALLS)])
    return float(np.median(np.diff(looks))) / 1e3


def each(calls: Iterable[Callable[[], object]]) -> Microseconds:
    """The processor's microseconds of every call."""
    cost, found = clock_cost(), []
    for call in calls:
        began = time.process_time_ns()
        call()
        found.append((time.process_time_ns() - began) / 1e3)
    return np.maximum(np.array(found) - cost, 0.0)


def in_turn(first: Callable[[int], object], second: Callable[[int], object], count: int) -> tuple[Microseconds, ...]:
    """The microseconds of steps 0, 1, ... of two models that take turns."""
    calls = (lambda t=t, step=step: step(t) for t in range(count) for step in (first, second))
    both = each(calls)
    return both[0::2], both[1::2]
