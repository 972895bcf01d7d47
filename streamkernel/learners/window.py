"""The newest samples of a stream, as rows over features that may still appear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.types import Matrix
from ..kernels import Feature
from .reading import sort_names


class Window:
    """Up to `capacity` samples, the oldest first.

    Parameters
    ----------
    capacity
        The most samples that are kept.
    outputs
        Targets per sample.
    absent
        What stands for a feature that a sample does not have.

    Examples
    --------

    >>> from streamkernel.learners.window import Window
    >>> window = Window(2)
    >>> for t in range(3):
    ...     window.append({"a": float(t)}, [10.0 * t])
    >>> window.samples.tolist(), window.targets.tolist()
    ([[1.0], [2.0]], [[10.0], [20.0]])
    >>> window.append({"b": 5.0}, [30.0])
    >>> window.names, window.samples.tolist()
    (('a', 'b'), [[2.0, 0.0], [0.0, 5.0]])

    """

    def __init__(self, capacity: int, outputs: int = 1, absent: float = 0.0) -> None:
        self.capacity, self.absent = capacity, absent
        self.names: tuple[Feature, ...] = ()
        self._rows = np.empty((2 * capacity, 0))
        self._targets = np.empty((2 * capacity, outputs))
        self._first = self._last = 0

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def samples(self) -> Matrix:
        """One row a sample, one column a feature, in the order of `names`."""
        return self._rows[self._first : self._last]

    @property
    def targets(self) -> Matrix:
        """One row a sample."""
        return self._targets[self._first : self._last]

    def append(self, x: Mapping[Feature, Any], targets: Sequence[float]) -> None:
        """Take in a sample; the oldest leaves where there are too many."""
        if any(name not in self.names for name in x):
            self._adopt(sort_names({*self.names, *x}))
        if self._last == len(self._rows):
            count = len(self)
            self._rows[:count], self._targets[:count] = self.samples.copy(), self.targets.copy()
            self._first, self._last = 0, count
        self._rows[self._last] = [x.get(name, self.absent) for name in self.names]
        self._targets[self._last] = targets
        self._last += 1
        self._first += len(self) > self.capacity

    def keep(self, count: int) -> None:
        """Drop all but the newest samples."""
        self._first = max(self._first, self._last - count)

    def add_output(self) -> None:
        """One more target, zero so far."""
        self._targets = np.hstack([self._targets, np.zeros((len(self._targets), 1))])

    def _adopt(self, names: tuple[Feature, ...]) -> None:
        rows = np.full((len(self._rows), len(names)), self.absent)
        for r, name in enumerate(self.names):
            rows[:, names.index(name)] = self._rows[:, r]
        self.names, self._rows = names, rows

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"names": self.names, "samples": self.samples, "targets": self.targets}

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        count, outputs = state["targets"].shape
        self.names = state["names"]
        self._rows = np.empty((2 * self.capacity, len(self.names)))
        self._targets = np.empty((2 * self.capacity, outputs))
        self._rows[:count], self._targets[:count] = state["samples"], state["targets"]
        self._first, self._last = 0, count
