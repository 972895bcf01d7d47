"""How much each column matters to a model's predictions, now and at each time that the scales were learned."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..core.types import Matrix
from ..kernels import Feature
from ..learners.recursion import Recursion

# Of a history; the scales are learned anew at sizes that grow geometrically, and after drift.
MOST_REMEMBERED = 100

History = deque[tuple[int, dict[str, float]]]


def new_history() -> History:
    """Sample numbers, and the relevance of each column then; the oldest leave where there are too many."""
    return deque(maxlen=MOST_REMEMBERED)


def change(model: Recursion, columns: tuple[Feature, ...], rows: Matrix, index: int) -> float:
    """The mean change of the prediction over one unit of a column, centered at each of these samples."""
    step = 0.5 * np.eye(len(columns))[index]
    high, low = model.predict_many(columns, rows + step), model.predict_many(columns, rows - step)
    return float(np.abs(high - low).mean())


def shares(columns: tuple[Feature, ...], changes: list[float]) -> dict[str, float]:
    """The changes as parts of their sum."""
    total = sum(changes) or 1.0
    return {str(name): value / total for name, value in zip(columns, changes, strict=True)}
