"""Kernels of functions with a symmetry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Self

from ..core import columns
from ..core.types import Vector
from .base import Kernel, Operator
from .leaves import Custom
from .program import Assembler, Feature


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Odd(Kernel):
    """½ (k(x, x') − k(x, −x')): functions with f(−x) = −f(x) only.

    Each sample then counts for its mirror image too. A least-squares model learns what it would from all samples and
    their negatives with `kernel` and twice the ridge, from half the samples and with half the points.

    Parameters
    ----------
    kernel
        k, with k(−x, −x') = k(x, x'), which all kernels but `Custom` and the one-sided splines have.

    Examples
    --------

    >>> from streamkernel import KRLS, kernels
    >>> kernel = kernels.Odd(kernels.RBF(1.0))
    >>> kernel([[0.5]], [[0.5], [-0.5], [0.0]]).round(4)
    array([[ 0.1967, -0.1967,  0.    ]])
    >>> model = KRLS(kernel, ridge=0.01)
    >>> model.learn_one({"x": 0.5}, 1.0)
    >>> model.predict_one({"x": -0.5}) == -model.predict_one({"x": 0.5})
    True

    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Odd kernel must be one of streamkernel.kernels, got {self.kernel!r}")
        for leaf in _leaves(self.kernel):
            if isinstance(leaf, Custom) or not getattr(leaf, "two_sided", True):
                raise ValueError(f"Odd kernel must be defined and symmetric at negated samples, got {leaf!r}")

    def __repr__(self) -> str:
        return f"Odd({self.kernel!r})"

    def _fields(self) -> tuple[tuple[str, Any], ...]:
        return (("kernel", self.kernel),)

    @property
    def theta(self) -> Vector:
        """The positive parameters of the kernel."""
        return self.kernel.theta

    def with_theta(self, theta: Sequence[float] | Vector) -> Self:
        """The same kernel with other parameters."""
        return type(self)(self.kernel.with_theta(theta))

    def per_feature(self, features: Sequence[Feature]) -> Self:
        """The kernel with length scales of its own for each feature."""
        return type(self)(self.kernel.per_feature(features))

    def renamed(self, names: Sequence[Feature]) -> Self:
        """The kernel where the features 0, 1, ... are called by these names."""
        return type(self)(self.kernel.renamed(names))

    @property
    def depends_on_width(self) -> bool:
        """Whether the kernel does."""
        return self.kernel.depends_on_width

    def _assemble(self, into: Assembler) -> None:
        self.kernel._assemble(into)
        with into.mirror():
            self.kernel._assemble(into)
        _multiply(into, -1.0)
        into.operator(columns.ADD)
        _multiply(into, 0.5)


def _multiply(into: Assembler, factor: float) -> None:
    """The topmost column times a number that is no entry of theta."""
    into.leaf(columns.CONSTANT)
    into.parameters([factor], [])
    into.operator(columns.MULTIPLY)


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    """The leaves of an expression."""
    if isinstance(kernel, Operator):
        yield from _leaves(kernel.left)
        yield from _leaves(kernel.right)
    elif isinstance(kernel, Odd):
        yield from _leaves(kernel.kernel)
    else:
        yield kernel
