"""How unusual a number is among recent ones: its tail probability.

Within the bulk of the recent values it is their share that is at least as large. Beyond their 90 % quantile t the
values' excess over t is taken as exponential, so that a value beyond all seen before still has a probability, and the
larger of two is always the less probable one.
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Iterable

# The share of the values that the tail is fitted to.
TAIL = 0.1
# So many values are needed before anything is said.
ENOUGH = 20


class RecentTail:
    """Tail probabilities among the newest values.

    Parameters
    ----------
    memory
        How many values are kept.

    Examples
    --------

    >>> from streamkernel.anomaly.tail import RecentTail
    >>> tail = RecentTail(100)
    >>> for value in range(100):
    ...     tail.learn(float(value))
    >>> tail.probability(50.0)
    0.5
    >>> tail.probability(200.0) < 1e-6
    True

    """

    def __init__(self, memory: int) -> None:
        self.values: deque[float] = deque(maxlen=memory)
        self._sorted: list[float] = []

    def learn(self, value: float) -> None:
        """Take in a value; the oldest leaves where there are too many."""
        if len(self.values) == self.values.maxlen:
            del self._sorted[bisect.bisect_left(self._sorted, self.values[0])]
        self.values.append(value)
        bisect.insort(self._sorted, value)

    def restart(self, values: Iterable[float]) -> None:
        """Have seen just these values."""
        self.values.clear()
        self.values.extend(values)
        self._sorted = sorted(self.values)

    def probability(self, value: float) -> float:
        """The probability of a value at least as large; 1 while too little is known."""
        ordered, count = self._sorted, len(self._sorted)
        if count < ENOUGH:
            return 1.0
        first = count - max(int(TAIL * count), 2)
        start = ordered[first]
        if value <= start:
            return max(count - bisect.bisect_left(ordered, value), count - first) / count
        # The median excess, unlike the mean, is not stretched by the few anomalies among the recent values.
        spread = (ordered[(first + count) // 2] - start) / math.log(2.0)
        if spread <= 0.0:
            spread = (ordered[-1] - start) / math.log(count) or math.ulp(abs(start))
        return (count - first) / count * math.exp(-(value - start) / spread)
