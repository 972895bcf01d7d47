"""How much each column matters to a model's predictions, now and at each time that the scales were learned."""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

import numpy as np

from ..core.types import Matrix
from ..kernels import Feature
from ..learners.recursion import Recursion
from .tuning import Tuning
from .window import RowWindow

# The samples that a part of the history is found by.
PORTRAIT_SAMPLES = 20
# Of a history; the scales are learned anew at sizes that grow geometrically, and after drift.
MOST_REMEMBERED = 100

History = deque[tuple[int, dict[str, float]]]


class Learned(Protocol):
    """What a mixture tells of what it has learned."""

    tuning: Tuning

    @property
    def best(self) -> Recursion:
        """The kernel expert with the largest weight."""


def new_history() -> History:
    """Sample numbers, and the relevance of each column then; the oldest leave where there are too many."""
    return deque(maxlen=MOST_REMEMBERED)


def change(model: Recursion, columns: tuple[Feature, ...], rows: Matrix, index: int) -> float:
    """The mean change of the prediction over one unit of a column, centered at each of these samples."""
    step = 0.5 * np.eye(len(columns))[index]
    high, low = model.predict_many(columns, rows + step), model.predict_many(columns, rows - step)
    return float(np.abs(high - low).mean())


def relevance(mixture: Learned, window: RowWindow, count: int) -> dict[str, float]:
    """The mean change of the prediction of the expert with the largest weight over one unit of each column.

    At the newest `count` samples; they sum to one.
    """
    model, columns, rows = _subject(mixture, window, count)
    return _shares(columns, [change(model, columns, rows, r) for r in range(len(columns))])


def _subject(mixture: Learned, window: RowWindow, count: int) -> tuple[Recursion, tuple[Feature, ...], Matrix]:
    scaling = mixture.tuning.scaling
    samples = window.rows(max(0, len(window) - count), len(window))
    return mixture.best, tuple(scaling.names), scaling.transform_many(window.names, samples)


def _shares(columns: tuple[Feature, ...], changes: list[float]) -> dict[str, float]:
    """The changes as parts of their sum."""
    total = sum(changes) or 1.0
    return {str(name): value / total for name, value in zip(columns, changes, strict=True)}


class Portrait:
    """The relevance of all columns, found for some of them at a time.

    Parameters
    ----------
    count
        The number of samples learned when the scales were.

    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._changes: list[float] = []

    def advance(self, time: float, mixture: Learned, window: RowWindow) -> dict[str, float] | None:
        """Work for about so many microseconds, on one column at least; the relevance, when it is found."""
        model, columns, rows = _subject(mixture, window, PORTRAIT_SAMPLES)
        while len(self._changes) < len(columns) and time > 0.0:
            self._changes.append(change(model, columns, rows, len(self._changes)))
            time -= 100.0 + 2.0 * len(rows) * (2.0 + 5e-4 * model.size**2 + 1e-3 * model.size * len(columns))
        return _shares(columns, self._changes) if len(self._changes) == len(columns) else None

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.count, self._changes]

    @classmethod
    def from_state(cls, state: list[Any]) -> Portrait:
        """From a checkpoint."""
        portrait = cls(state[0])
        portrait._changes = state[1]
        return portrait
