"""Kernels of inner products, splines, and functions of your own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from .. import checks
from ..core import columns
from ..core.types import Matrix, Vector
from .base import Leaf
from .program import Assembler, Feature, Function

LARGEST_SETTING = 10_000  # of degrees and orders: an order takes workspace, programs hold machine integers


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Linear(Leaf):
    """⟨x, x'⟩: linear regression through the origin."""

    code = columns.LINEAR

    def _assemble(self, into: Assembler) -> None:
        into.leaf(self.code)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Leaf):
    """(scale·⟨x, x'⟩ + offset)^degree.

    Parameters
    ----------
    degree
        A whole number from 1 to 10,000.
    offset
        Added to the inner product, not negative; 0 leaves the terms of the highest degree alone.
    scale
        Multiplies the inner product.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.Polynomial(3)([[1.0, 2.0]], [[1.0, 0.5]])
    array([[27.]])

    """

    code = columns.POLYNOMIAL
    degree: int = 2
    offset: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._check("degree", checks.whole, int, high=LARGEST_SETTING)
        self._check("offset", checks.number, float, low=0.0)
        self._check_positive("scale")

    def _tuned(self) -> tuple[str, ...]:
        return ("offset", "scale")

    def _assemble(self, into: Assembler) -> None:
        into.leaf(self.code, setting=self.degree)
        into.parameter(self.offset)
        into.parameter(self.scale)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Spline(Leaf):
    """The product over features of 1 + xz + xz·m − (x + z)m²/2 + m³/3, m = min(x, z).

    The one-dimensional factor is 1 + xz + ∫₀^m (x − t)(z − t) dt, positive semi-definite for nonnegative inputs only.

    Parameters
    ----------
    two_sided
        Use |x| and |z| in the integral where x and z have the same sign and 1 + xz where they have not: positive
        semi-definite everywhere, and the same kernel on nonnegative inputs.

    """

    code = columns.SPLINE
    two_sided: bool = False

    def __post_init__(self) -> None:
        self._check("two_sided", checks.boolean, bool)

    def _assemble(self, into: Assembler) -> None:
        into.leaf(self.code)
        into.nonnegative |= not self.two_sided


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnovaSpline(Leaf):
    """Σ over all sets of `order` features of the product of their one-dimensional `Spline` kernels.

    Parameters
    ----------
    order
        How many features interact, at most 10,000; with as many as there are features it is `Spline`.
    two_sided
        As in `Spline`.

    """

    code = columns.ANOVA
    order: int = 2
    two_sided: bool = False

    def __post_init__(self) -> None:
        self._check("order", checks.whole, int, high=LARGEST_SETTING)
        self._check("two_sided", checks.boolean, bool)

    @property
    def depends_on_width(self) -> bool:
        """A further feature changes the values."""
        return True

    def _assemble(self, into: Assembler) -> None:
        if 0 < len(into.features) < self.order:
            raise ValueError(f"AnovaSpline order is {self.order} but the data have only {len(into.features)} features")
        into.leaf(self.code, setting=self.order, workspace=self.order + 1)
        into.nonnegative |= not self.two_sided


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Custom(Leaf):
    """A kernel of your own: a Python function of two samples.

    Parameters
    ----------
    function
        `function(x, z)` for two one-dimensional arrays (features in sorted order of their names) returns a number. It
        must be symmetric and positive semi-definite. A function that is importable by name can be pickled.
    vectorized
        `function(points, x)` takes a two-dimensional array of points instead and returns one number for each.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> def overlap(x, z):
    ...     return float((x == z).mean())
    >>> kernels.Custom(overlap)([[1.0, 2.0]], [[1.0, 3.0]])
    array([[0.5]])

    """

    code = columns.CUSTOM
    function: Function
    vectorized: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom function must be callable, got {self.function!r}")
        self._check("vectorized", checks.boolean, bool)

    @property
    def depends_on_width(self) -> bool:
        """A further feature changes the values."""
        return True

    def renamed(self, names: Sequence[Feature]) -> Custom:
        """Itself, unless the features would reach the function in another order."""
        if list(names) != sorted(names, key=str):
            raise ValueError(f"{self!r} takes features in sorted order of their names, and {list(names)!r} is not")
        return self

    def values(self, points: Matrix, x: Vector) -> Vector:
        """The similarities of x to every row of `points`."""
        if self.vectorized:
            values = np.asarray(self.function(points, x), dtype=np.float64)
            if values.shape != (len(points),):
                raise ValueError(f"{self!r} returned shape {values.shape} for {len(points)} points")
            return values
        return np.array([float(self.function(point, x)) for point in points])

    def _assemble(self, into: Assembler) -> None:
        into.custom(self.code, self)

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        name = self.name if self.name.isidentifier() else repr(self.name)
        return f"Custom({name}{', vectorized=True' if self.vectorized else ''})"
