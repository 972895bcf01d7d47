"""Classes as targets: a column for each, one where a sample is of that class and zero where it is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.types import Indices, Matrix, Vector
from .targets import Targets

# Scales are chosen by the evidence of so many classes, the most frequent ones.
MOST_SEARCHED = 20
# So many classes have columns: the most frequent ones of a window, and then those that come.
MOST_COLUMNS = 500


class Classes(Targets):
    """Indicators of classes about the classes' shares, in units of their mean deviation.

    The values are numbers of classes, from zero. A class that is new was absent from every sample so far: its
    share was zero, and so is its column, which costs nothing to add.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.classes import Classes
    >>> targets = Classes.of(np.array([0.0, 1.0, 1.0, 1.0]), count=2)
    >>> targets.shares, targets.scaled(np.array([1.0])).round(3)
    (array([0.25, 0.75]), array([[-0.577,  0.577]]))
    >>> targets.add()
    True
    >>> targets.columns(np.array([2.0]))
    array([[0., 0., 1.]])

    """

    center: Vector

    def __init__(self, shares: Vector, places: Indices, unit: float) -> None:
        self.shares, self.places, self.unit = shares, places, unit
        self.center = shares[places]

    @classmethod
    def of(cls, values: Vector, count: int) -> Classes:
        """Those of a window, of so many classes."""
        shares = np.bincount(values.astype(np.intp), minlength=count) / len(values)
        places = np.sort(np.argsort(-shares, kind="stable")[:MOST_COLUMNS]).astype(np.int64)
        unit = math.sqrt(float((shares * (1.0 - shares)).sum()) / max(1, int(np.count_nonzero(shares))))
        return cls(shares, places, unit)

    def add(self) -> bool:
        """One class more; whether it has a column."""
        has_column = len(self.places) < MOST_COLUMNS
        if has_column:
            self.places, self.center = np.append(self.places, len(self.shares)), np.append(self.center, 0.0)
        self.shares = np.append(self.shares, 0.0)
        return has_column

    def columns(self, values: Vector) -> Matrix:
        """One row a sample, one column a class."""
        return (values[:, None] == self.places).astype(np.float64)

    def estimates(self, means: Vector) -> Vector:
        """Means in units as shares of all classes; those without a column keep what they had."""
        result = np.empty((*means.shape[:-1], len(self.shares)))
        result[...] = self.shares
        result[..., self.places] = self.center + self.unit * means
        return result

    def searched(self, values: Vector) -> Matrix:
        """The columns of the most frequent classes; of two classes one, as the other says the same."""
        order = np.argsort(-self.center, kind="stable")
        varied = [place for place in order.tolist() if 0.0 < self.center[place] < 1.0]
        chosen = varied[:1] if len(varied) == 2 else varied[:MOST_SEARCHED]
        return self.scaled(values)[:, chosen]

    @property
    def outputs(self) -> int:
        """The number of columns."""
        return len(self.places)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.shares, self.places, self.unit]
