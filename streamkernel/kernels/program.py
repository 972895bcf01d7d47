"""A kernel expression as a postfix program, assembled once for a list of features and evaluated on arrays."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..core import columns
from ..core.triangular import PANEL
from ..core.types import Matrix, Program, Vector

Feature = Hashable
Function = Callable[..., Any]


class ColumnFunction(Protocol):
    """A leaf whose columns are computed in Python."""

    @property
    def function(self) -> Function:
        """What computes them."""

    def values(self, points: Matrix, x: Vector) -> Vector:
        """The similarities of x to every row of `points`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel for a list of features, ready for `core.columns`.

    The kernel keeps it and gives it to everyone who asks: its arrays are for reading. (They are not marked so: the
    core would be compiled once more for arrays of that type.)
    """

    program: Program
    parameters: Vector
    stack_rows: int
    custom: tuple[ColumnFunction, ...]
    nonnegative: bool
    """Whether the kernel is defined for nonnegative inputs only."""
    tunable: tuple[tuple[int, ...], ...]
    """For each entry of `Kernel.theta`, the parameters that it stands for."""

    def __post_init__(self) -> None:
        columns.require(self.program)

    def stack(self, count: int) -> Matrix:
        """Workspace for columns of `count` points."""
        return np.zeros((self.stack_rows, -(-count // PANEL) * PANEL))

    def gram(self, left: Matrix, right: Matrix) -> Matrix:
        """The matrix k(left[i], right[j])."""
        out = np.empty((len(left), len(right)))
        points, stack = np.ascontiguousarray(right.T), self.stack(len(right))
        if not self.custom:
            columns.gram(self.program, self.parameters, points, len(right), left, stack, out)
            return out
        for i, x in enumerate(left):
            fill_custom(self, stack, right, x)
            columns.column(self.program, self.parameters, points, len(right), x, stack)
            out[i] = stack[0, : len(right)]
        return out

    def diagonal(self, samples: Matrix) -> Vector:
        """The self-similarities k(samples[i], samples[i])."""
        if self.custom:
            return np.array([self.gram(x[None], x[None])[0, 0] for x in samples])
        out = np.empty(len(samples))
        point = np.zeros((samples.shape[1], PANEL))
        columns.diagonal(self.program, self.parameters, samples, point, self.stack(1), out)
        return out

    def gradients(self, left: Matrix, right: Matrix) -> Matrix:
        """∂k(left[i], right[j])/∂theta_p, an array indexed [p, i, j]."""
        out = np.zeros((len(self.tunable), len(left), len(right)))
        points, stack = np.ascontiguousarray(right.T), self.stack(len(right))
        slopes = np.zeros_like(stack)
        arrays = (self.program, self.parameters, points, len(right))
        for i, x in enumerate(left):
            fill_custom(self, stack, right, x)
            for p, parameters in enumerate(self.tunable):
                for parameter in parameters:
                    columns.column_derivative(*arrays, x, stack, slopes, parameter)
                    out[p, i] += slopes[0, : len(right)]
        return out


def fill_custom(compiled: Compiled, stack: Matrix, points: Matrix, x: Vector) -> None:
    """Compute the columns of custom kernels, which the stack machine takes as given."""
    for slot, kernel in enumerate(compiled.custom):
        stack[len(stack) - 1 - slot, : len(points)] = kernel.values(points, x)


def as_samples(name: str, samples: ArrayLike, features: Sequence[Feature] | None) -> tuple[Matrix, Sequence[Feature]]:
    """Samples as a contiguous array of finite numbers, and the names of its columns: 0, 1, ... by default."""
    array = np.ascontiguousarray(samples, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (samples, features), got shape {array.shape}")
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{i}, {j}] is {array[i, j]}: every value must be finite")
    names = range(array.shape[1]) if features is None else features
    if len(names) != array.shape[1]:
        raise ValueError(f"{name} has {array.shape[1]} columns but {len(names)} feature names")
    return array, names


class Assembler:
    """Collects the postfix program while an expression is walked."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.nonnegative = False
        self._nodes: list[tuple[int, int, int]] = []
        self._parameters: list[float] = []
        self._tunable: list[tuple[int, ...]] = []
        self._custom: list[ColumnFunction] = []
        self._depth = 0
        self._rows = 0
        self._mirrored = False

    @contextlib.contextmanager
    def mirror(self) -> Iterator[None]:
        """An expression is appended once more, as it is at −x: the entries of theta stand for both copies."""
        first = len(self._tunable)
        self._mirrored = not self._mirrored
        yield
        self._mirrored = not self._mirrored
        copies = self._tunable[first:]
        del self._tunable[first:]
        for entry, positions in enumerate(copies, first - len(copies)):
            self._tunable[entry] += positions

    def leaf(self, code: int, setting: int = 0, workspace: int = 1) -> None:
        """Open a leaf, which needs `workspace` rows of the stack above its own; its parameters follow."""
        code += columns.MIRRORED if self._mirrored else 0
        self._nodes.append((code, len(self._parameters), setting))
        self._depth += 1
        self._rows = max(self._rows, self._depth + workspace)

    def custom(self, code: int, kernel: ColumnFunction) -> None:
        """A leaf whose column is computed outside."""
        self.leaf(code, setting=len(self._custom))
        self._custom.append(kernel)

    def operator(self, code: int) -> None:
        """Combine the two topmost columns."""
        self._nodes.append((code, 0, 0))
        self._depth -= 1

    def parameter(self, value: float) -> None:
        """A number of the current leaf, an entry of theta."""
        self.parameters([value], [[0]])

    def parameters(self, values: Sequence[float], tunable: Iterable[Iterable[int]]) -> None:
        """Numbers of the current leaf, and for each entry of theta the positions of those that it stands for."""
        first = len(self._parameters)
        self._parameters.extend(values)
        self._tunable.extend(tuple(first + position for position in positions) for positions in tunable)

    def finish(self) -> Compiled:
        """The finished program."""
        return Compiled(
            program=np.array(self._nodes, dtype=np.int64),
            parameters=np.array([*self._parameters, 0.0]),  # never empty, so that every leaf has a slice
            stack_rows=self._rows + len(self._custom),
            custom=tuple(self._custom),
            nonnegative=self.nonnegative,
            tunable=tuple(self._tunable),
        )
