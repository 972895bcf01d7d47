"""What a view remembers of a stream: the newest rows as they were, the others as sums, and marks. It is bounded."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

# The newest rows, as they were; what came before is summed up in this many bins at most.
ROWS, BINS = 5000, 512
# The newest rows over which errors and coverage are taken, and the steps of which times are kept.
ROLLING, STEPS = 200, 2000
# Marks of a kind that are kept.
MARKS = 100


class Row(NamedTuple):
    """A target, what was predicted, and the ends of the band; NaN where there is none."""

    target: float
    prediction: float
    lower: float = math.nan
    upper: float = math.nan


class Bin:
    """Sums over rows that follow each other: squared errors, those of the last value, targets in their band."""

    __slots__ = ("baseline", "baselines", "errors", "inside", "rows", "size", "squares", "with_band")

    def __init__(self) -> None:
        self.rows = self.errors = self.baselines = self.with_band = self.inside = self.size = 0
        self.squares = self.baseline = 0.0

    def add(self, other: Bin) -> None:
        """Take in the bin that follows."""
        for name in ("rows", "errors", "squares", "baselines", "baseline", "with_band", "inside"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.size = other.size

    def numbers(self) -> list[float]:
        """As pages read it."""
        sums = [self.rows, self.errors, self.squares, self.baselines, self.baseline, self.with_band, self.inside]
        return [*sums, self.size]


class Record:
    """The newest rows, sums over the whole stream in at most `BINS` bins, step times and marks.

    When there are too many bins, neighbors are merged: each then stands for twice as many rows.

    Parameters
    ----------
    kinds
        Of marks.

    Examples
    --------

    >>> from streamkernel.live.record import Record, Row
    >>> record = Record()
    >>> for t in range(2000):
    ...     record.append(Row(float(t % 2), 0.5, 0.0, 0.9), size=3, seconds=1e-5)
    >>> record.count, record.span, len(record.bins)
    (2000, 4, 500)
    >>> numbers = record.numbers()
    >>> numbers["rmse"], numbers["naive"], numbers["coverage"], numbers["size"]
    (0.5, 1.0, 0.5, 3)

    """

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self.count = 0
        self.span = 1
        self.bins: list[Bin] = []
        self.marks: dict[str, deque[int]] = {kind: deque(maxlen=MARKS) for kind in kinds}
        self._rows: deque[Row] = deque(maxlen=ROWS)
        self._steps: deque[float] = deque(maxlen=STEPS)
        self._last = math.nan

    def append(self, row: Row, size: int = 0, seconds: float = math.nan) -> None:
        """Take in one row, the size of the dictionary after it, and what predicting and learning it took."""
        target, prediction, lower, upper = row
        if not self.bins or self.bins[-1].rows == self.span:
            self._next_bin()
        last = self.bins[-1]
        last.rows += 1
        last.size = size
        square = (target - prediction) ** 2
        if square < math.inf:  # and not NaN
            last.errors += 1
            last.squares += square
        square = (target - self._last) ** 2
        if square < math.inf:
            last.baselines += 1
            last.baseline += square
        if lower <= upper and target == target:
            last.with_band += 1
            last.inside += lower <= target <= upper
        if target == target:
            self._last = target
        self._rows.append(row)
        self._steps.append(seconds)
        self.count += 1

    def _next_bin(self) -> None:
        if len(self.bins) == BINS:
            for first, second in zip(self.bins[::2], self.bins[1::2], strict=True):
                first.add(second)
            self.bins, self.span = self.bins[::2], 2 * self.span
        self.bins.append(Bin())

    def mark(self, kind: str) -> None:
        """Something happened at the newest row."""
        self.marks[kind].append(self.count)

    def rows_since(self, count: int) -> list[Row]:
        """The rows after the first `count`, or as many of them as are kept."""
        new = min(self.count - count, len(self._rows))
        return list(itertools.islice(self._rows, len(self._rows) - new, None))

    def numbers(self) -> dict[str, Any]:
        """How the newest rows were predicted, and how long a step takes."""
        rows = np.array(self.rows_since(self.count - ROLLING - 1), float).reshape(-1, 4)
        targets = rows[:, 0]
        rolling = rows[-ROLLING:]
        bands = rolling[rolling[:, 2] <= rolling[:, 3]]
        inside = (bands[:, 2] <= bands[:, 0]) & (bands[:, 0] <= bands[:, 3])
        steps = np.array(self._steps)
        steps = steps[np.isfinite(steps)]
        middle, slow = np.quantile(steps, (0.5, 0.99)).tolist() if len(steps) else (None, None)
        return {
            "rows": self.count,
            "rmse": _root_mean_square(rolling[:, 0] - rolling[:, 1]),
            "naive": _root_mean_square(np.diff(targets)[-ROLLING:]),
            "coverage": float(inside.mean()) if len(bands) else None,
            "size": self.bins[-1].size if self.bins else 0,
            "p50": middle,
            "p99": slow,
        }


def _root_mean_square(errors: Any) -> float | None:
    finite = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else None


def columns(rows: Iterable[Row]) -> list[list[float]]:
    """The rows as four columns."""
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
