"""What is learned of a sample besides its features, as columns of numbers in units in which experts learn."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector


class Targets(abc.ABC):
    """The units of targets: columns of what the window holds beside each sample, a center for each and one unit."""

    center: Any
    """Of each column; a number where there is one column."""
    unit: float
    """Of all columns."""

    @abc.abstractmethod
    def columns(self, values: Vector) -> Matrix:
        """The columns that stand for the values of a window."""

    def scaled(self, values: Vector) -> Matrix:
        """The columns in units."""
        return np.asarray((self.columns(values) - self.center) / self.unit)

    @abc.abstractmethod
    def searched(self, values: Vector) -> Matrix:
        """Of the scaled columns those by whose evidence scales are chosen."""

    def add(self) -> bool:
        """A class is new; whether it has a column, which was zero in every sample so far."""
        raise TypeError(f"{type(self).__name__} have no classes")

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """How many columns there are."""

    @property
    def is_varied(self) -> bool:
        """Whether there is anything to be learned."""
        return self.unit > 0.0

    @abc.abstractmethod
    def get_state(self) -> list[Any]:
        """For a checkpoint."""


class Numbers(Targets):
    """Numbers, in units of their standard deviation about their mean.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.targets import Numbers
    >>> targets = Numbers.of(np.array([1.0, 3.0]))
    >>> targets.scaled(np.array([1.0, 3.0, 5.0])).tolist()
    [[-1.0], [1.0], [3.0]]

    """

    def __init__(self, center: float, unit: float) -> None:
        self.center, self.unit = center, unit

    @classmethod
    def of(cls, values: Vector) -> Numbers:
        """Those of a window."""
        return cls(float(values.mean()), float(values.std()))

    def columns(self, values: Vector) -> Matrix:
        """The numbers themselves."""
        return values[:, None]

    def searched(self, values: Vector) -> Matrix:
        """The numbers themselves."""
        return self.scaled(values)

    @property
    def outputs(self) -> int:
        """One."""
        return 1

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.center, self.unit]
