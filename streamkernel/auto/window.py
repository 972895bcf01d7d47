"""The newest samples of a stream, as rows of encoded numbers over columns that may still appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector

# A window of very many columns holds fewer rows, but no fewer than this.
MOST_CELLS, FEWEST_ROWS = 4_000_000, 300
FIRST_ROWS = 64


class RowWindow:
    """Up to `capacity` samples, the oldest first, each with a number of its own that counts all samples so far.

    Rows and columns are made room for by doubling, so that neither long streams nor features that keep appearing make
    a step slow.

    Parameters
    ----------
    capacity
        The most samples that are kept.
    outputs
        Numbers beside each sample: targets and its weight.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.window import RowWindow
    >>> window = RowWindow(2, outputs=1)
    >>> for t in range(3):
    ...     window.append(["b"], np.array([float(t)]), [10.0 * t])
    >>> window.append(["b", "a"], np.array([5.0, 7.0]), [30.0])
    >>> window.names, window.samples.tolist(), window.targets.tolist(), window.first
    (('a', 'b'), [[nan, 2.0], [7.0, 5.0]], [[20.0], [30.0]], 2)

    """

    def __init__(self, capacity: int, outputs: int) -> None:
        self._capacity = capacity
        self.columns: list[str] = []
        self._order: list[int] = []
        self._rows, self._targets = np.empty((0, 0)), np.empty((0, outputs))
        self._first = self._last = 0
        self.end = 0
        """How many samples have been appended."""
        self._cut = 0

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def capacity(self) -> int:
        """The most samples that are kept of so many columns."""
        return min(self._capacity, max(FEWEST_ROWS, MOST_CELLS // max(1, len(self.columns))))

    @property
    def first(self) -> int:
        """The number of the oldest sample, where the first of all has the number 0."""
        return self.end - len(self)

    @property
    def length(self) -> int:
        """How many samples have been appended since the last time that older ones were dropped."""
        return self.end - self._cut

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in sorted order."""
        return tuple(self.columns[place] for place in self._order)

    @property
    def samples(self) -> Matrix:
        """One row a sample, one column for each of `names`, NaN where there was nothing."""
        return self.rows(0, len(self))

    def rows(self, start: int, stop: int) -> Matrix:
        """Some of `samples`, counted from the oldest."""
        return self._rows[self._first + start : self._first + stop, self._order]

    @property
    def targets(self) -> Matrix:
        """One row a sample."""
        return self._targets[self._first : self._last]

    def append(self, columns: Sequence[str], row: Vector, targets: Sequence[float]) -> None:
        """Take in a sample; the oldest leaves where there are too many.

        Parameters
        ----------
        columns
            Those of the row. They begin with all columns so far.
        row
            The numbers.
        targets
            What stands beside it.

        """
        self.adopt(columns)
        if self._last == len(self._rows):
            self._make_room()
        self._rows[self._last, : len(row)] = row
        self._rows[self._last, len(row) :] = np.nan
        self._targets[self._last] = targets
        self._last += 1
        self.end += 1
        self._first = max(self._first, self._last - self.capacity)

    def adopt(self, columns: Sequence[str]) -> None:
        """Know these columns, which begin with all so far, before a sample has them."""
        if len(columns) <= len(self.columns):
            return
        self.columns = list(columns)
        self._order = sorted(range(len(columns)), key=columns.__getitem__)
        if len(columns) > self._rows.shape[1]:
            width = min(max(len(columns), 2 * self._rows.shape[1]), max(len(columns), MOST_CELLS))
            rows = np.full((len(self._rows), width), np.nan)
            rows[self._first : self._last, : self._rows.shape[1]] = self._rows[self._first : self._last]
            self._rows = rows

    def _make_room(self) -> None:
        """Move the samples to the beginning, into more memory while there are fewer than may be."""
        count = len(self)
        length = min(max(FIRST_ROWS, 2 * count), 2 * self.capacity)
        rows, targets = np.full((length, self._rows.shape[1]), np.nan), np.empty((length, self._targets.shape[1]))
        rows[:count], targets[:count] = self._rows[self._first : self._last], self.targets
        self._rows, self._targets, self._first, self._last = rows, targets, 0, count

    def keep(self, count: int) -> None:
        """Drop all but the newest samples."""
        self._first = max(self._first, self._last - count)
        self._cut = self.first

    def drop(self, indices: Sequence[int]) -> None:
        """Drop some samples, counted from the oldest."""
        kept = np.delete(np.arange(self._first, self._last), indices)
        count = len(kept)
        self._rows[:count], self._targets[:count] = self._rows[kept], self._targets[kept]
        self._first, self._last = 0, count
        self._cut += len(indices)

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        numbers = {"end": self.end, "cut": self._cut}
        return {"names": self.names, "samples": self.samples, "targets": self.targets} | numbers

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        count = len(state["targets"])
        self.columns, self._order = list(state["names"]), list(range(len(state["names"])))
        self._rows, self._targets = state["samples"].copy(), state["targets"].copy()
        self._first, self._last, self.end, self._cut = 0, count, state.get("end", count), state.get("cut", 0)
