"""What every kernel can do: add, multiply, compile, compare, and be evaluated on samples."""

from __future__ import annotations

import abc
import dataclasses
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from river import base

from .. import checks
from ..core import columns
from ..core.types import Matrix, Vector
from .program import Assembler, Compiled, Feature, as_samples

KEPT_PROGRAMS = 4  # a model that meets new features alternates between a few lists of them


class Kernel(base.Base, abc.ABC):
    """A positive semi-definite similarity of two samples.

    `kernel(X, Z)` is the matrix of similarities between the rows of X and Z, `kernel(X)` that of X with itself.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernel = kernels.RBF(2.0) + 1.0
    >>> kernel([[0.0]], [[0.0], [2.0]]).round(4)
    array([[2.    , 1.6065]])
    >>> kernel.per_feature(["a", "b"])
    RBF({'a': 2.0, 'b': 2.0}) + Constant(1.0)
    >>> kernel.with_params(left__length_scale=3.0, right__value=0.5)
    RBF(3.0) + Constant(0.5)

    """

    __array_ufunc__ = None  # an array times a kernel is a mistake, not an array of kernels
    # The latest programs, (features, program) each, and the text of a kernel without functions, once it was asked for.
    # A slot is no part of what river clones or dataclasses compare.
    __slots__ = ("_programs", "_text")

    @abc.abstractmethod
    def _assemble(self, into: Assembler) -> None:
        """Append this expression's postfix program."""

    @abc.abstractmethod
    def _fields(self) -> tuple[tuple[str, Any], ...]:
        """Constructor arguments by name."""

    @property
    @abc.abstractmethod
    def theta(self) -> Vector:
        """The positive parameters that may be tuned, in the order of the expression."""

    @abc.abstractmethod
    def with_theta(self, theta: Sequence[float] | Vector) -> Kernel:
        """The same expression with other parameters."""

    @property
    def depends_on_width(self) -> bool:
        """Whether a further feature that is zero everywhere changes the kernel's values."""
        return False

    def per_feature(self, features: Sequence[Feature]) -> Kernel:
        """The same kernel with a length scale of its own for each feature wherever there is one for all."""
        return self

    def renamed(self, names: Sequence[Feature]) -> Kernel:
        """The same kernel where the features 0, 1, ... are called by these names."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as scikit-learn asks for them; those of the parts are `left__NAME`, `right__NAME`."""
        found = dict(self._fields())
        if deep:
            parts = {name: value for name, value in found.items() if isinstance(value, Kernel)}
            for name, part in parts.items():
                found |= {f"{name}__{inner}": value for inner, value in part.get_params().items()}
        return found

    def with_params(self, **changes: Any) -> Self:
        """The same expression with other parameters, by the names of `get_params`; this one stays as it is."""
        own = dict(self._fields())
        nested: dict[str, dict[str, Any]] = {}
        for key, value in changes.items():
            name, separator, inner = key.partition("__")
            if name not in own or (separator and not isinstance(own[name], Kernel)):
                raise ValueError(f"{self!r} has no parameter {key!r}; it has {', '.join(self.get_params())}")
            if separator:
                nested.setdefault(name, {})[inner] = value
            else:
                own[name] = value
        for name, inner_changes in nested.items():
            own[name] = own[name].with_params(**inner_changes)
        return type(self)(**own)

    def __sklearn_clone__(self) -> Self:
        return self  # a value that never changes is its own copy

    def compile(self, features: Sequence[Feature]) -> Compiled:
        """The program for samples with these features, in this order: the same object again for the same features."""
        names = tuple(features)
        kept: tuple[tuple[tuple[Feature, ...], Compiled], ...] = getattr(self, "_programs", ())
        for known, compiled in kept:
            if known == names:
                return compiled
        into = Assembler(names)
        self._assemble(into)
        compiled = into.finish()
        # A new tuple, and no list that changes: threads may share a kernel.
        object.__setattr__(self, "_programs", ((names, compiled), *kept[: KEPT_PROGRAMS - 1]))
        return compiled

    def leaves(self) -> Iterator[Leaf]:
        """The kernels of which the expression is made, from left to right."""
        stack: list[Any] = [self]
        while stack:
            kernel = stack.pop()
            if isinstance(kernel, Operator):
                stack += (kernel.right, kernel.left)
            else:
                yield kernel

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # without the programs

    def check_domain(self, features: Sequence[Feature], samples: Matrix) -> None:
        """Raise an error that names the first feature and value on which the kernel is not defined."""
        if not self.compile(features).nonnegative:
            return
        bad = np.argwhere(samples < 0.0)
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"feature {features[j]!r} is {float(samples[i, j])!r}, but {self!r} needs nonnegative inputs: "
                "rescale them to [0, 1] or use the two-sided spline (two_sided=True)"
            )

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None, features: Sequence[Feature] | None = None) -> Matrix:
        """The matrix k(x_i, z_j)."""
        left, right, names = self._samples(X, Z, features)
        return self.compile(names).gram(left, right)

    def diagonal(self, X: ArrayLike, features: Sequence[Feature] | None = None) -> Vector:
        """The self-similarities k(x_i, x_i)."""
        samples, _, names = self._samples(X, None, features)
        return self.compile(names).diagonal(samples)

    def gradients(self, X: ArrayLike, Z: ArrayLike | None = None, features: Sequence[Feature] | None = None) -> Matrix:
        """∂k(x_i, z_j)/∂theta_p, an array indexed [p, i, j]."""
        left, right, names = self._samples(X, Z, features)
        return self.compile(names).gradients(left, right)

    def _samples(
        self, X: ArrayLike, Z: ArrayLike | None, features: Sequence[Feature] | None
    ) -> tuple[Matrix, Matrix, Sequence[Feature]]:
        """Both sets of samples, checked, and the names of their features."""
        left, names = as_samples("X", X, features)
        self.check_domain(names, left)
        if Z is None:
            return left, left, names
        right, _ = as_samples("Z", Z, features)
        if right.shape[1] != left.shape[1]:
            raise ValueError(f"X has {left.shape[1]} features but Z has {right.shape[1]}")
        self.check_domain(names, right)
        return left, right, names

    def __add__(self, other: Any) -> Sum:
        return NotImplemented if (operand := _as_kernel(other)) is None else Sum(self, operand)

    def __radd__(self, other: Any) -> Sum:
        return NotImplemented if (operand := _as_kernel(other)) is None else Sum(operand, self)

    def __mul__(self, other: Any) -> Product:
        return NotImplemented if (operand := _as_kernel(other)) is None else Product(self, operand)

    def __rmul__(self, other: Any) -> Product:
        return NotImplemented if (operand := _as_kernel(other)) is None else Product(operand, self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._fields() == other._fields()

    def __hash__(self) -> int:
        values = (frozenset(v.items()) if isinstance(v, Mapping) else v for _, v in self._fields())
        return hash((type(self), *values))

    def __str__(self) -> str:
        return repr(self)


class Leaf(Kernel):
    """A kernel of its own: a frozen data class whose fields are its parameters, with an opcode of the stack machine."""

    code: ClassVar[int]
    kinds: ClassVar[dict[str, type[Leaf]]] = {}
    """Every leaf by the name that an expression calls it."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "code" in vars(cls):
            Leaf.kinds[cls.__name__] = cls

    def _fields(self) -> tuple[tuple[str, Any], ...]:
        return tuple((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))

    def __repr__(self) -> str:
        shown = []
        for position, field in enumerate(dataclasses.fields(self)):
            value = getattr(self, field.name)
            if position == 0 and not isinstance(value, bool):
                shown.append(_show(value))
            elif value != field.default:
                shown.append(f"{field.name}={_show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def theta(self) -> Vector:
        """The positive parameters, those of each field in the order of the fields."""
        return np.array([value for name in self._tuned() for value in _numbers(getattr(self, name))])

    def with_theta(self, theta: Sequence[float] | Vector) -> Self:
        """The same leaf with other parameters."""
        values = iter(_as_theta(theta, len(self.theta)))
        return dataclasses.replace(
            self, **{name: _replace_numbers(getattr(self, name), values) for name in self._tuned()}
        )

    def _tuned(self) -> tuple[str, ...]:
        """The names of the positive real parameters."""
        return ()

    def _check(self, name: str, check: Callable[..., None], convert: Callable[[Any], Any], **limits: Any) -> None:
        """Check the parameter and store it as the type that it is compared and printed in."""
        value = getattr(self, name)
        check(f"{type(self).__name__} {name}", value, **limits)
        object.__setattr__(self, name, convert(value))

    def _check_positive(self, name: str) -> None:
        self._check(name, checks.number, float, low=0.0, open_low=True)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Constant(Leaf):
    """The same similarity for every pair: a bias term.

    Parameters
    ----------
    value
        The similarity, positive.

    """

    code = columns.CONSTANT
    value: float = 1.0

    def __post_init__(self) -> None:
        self._check_positive("value")

    def _tuned(self) -> tuple[str, ...]:
        return ("value",)

    def _assemble(self, into: Assembler) -> None:
        into.leaf(self.code)
        into.parameter(self.value)


class Operator(Kernel):
    """Two kernels combined."""

    left: Kernel
    right: Kernel
    code: ClassVar[int]

    def _fields(self) -> tuple[tuple[str, Any], ...]:
        return (("left", self.left), ("right", self.right))

    def per_feature(self, features: Sequence[Feature]) -> Self:
        """Both kernels with length scales of their own for each feature."""
        return self._with(self.left.per_feature(features), self.right.per_feature(features))

    def renamed(self, names: Sequence[Feature]) -> Self:
        """Both kernels where the features 0, 1, ... are called by these names."""
        return self._with(self.left.renamed(names), self.right.renamed(names))

    @property
    def depends_on_width(self) -> bool:
        """Whether either kernel does."""
        return self.left.depends_on_width or self.right.depends_on_width

    @property
    def theta(self) -> Vector:
        """The positive parameters of the left kernel, then those of the right."""
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta: Sequence[float] | Vector) -> Self:
        """The same combination with other parameters."""
        split = len(self.left.theta)
        values = _as_theta(theta, len(self.theta))
        return self._with(self.left.with_theta(values[:split]), self.right.with_theta(values[split:]))

    def _with(self, left: Kernel, right: Kernel) -> Self:
        return type(self)(left, right)

    def _assemble(self, into: Assembler) -> None:
        self.left._assemble(into)
        self.right._assemble(into)
        into.operator(self.code)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sum(Operator):
    """k₁(x, x') + k₂(x, x'); written `k1 + k2`.

    Parameters
    ----------
    left
        k₁.
    right
        k₂.

    """

    code = columns.ADD
    left: Kernel
    right: Kernel

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Product(Operator):
    """k₁(x, x') · k₂(x, x'); written `k1 * k2`, or `number * k`.

    Parameters
    ----------
    left
        k₁.
    right
        k₂.

    """

    code = columns.MULTIPLY
    left: Kernel
    right: Kernel

    def __repr__(self) -> str:
        left = repr(self.left.value) if isinstance(self.left, Constant) else repr(self.left)
        left = f"({left})" if isinstance(self.left, Sum) else left
        right = f"({self.right!r})" if isinstance(self.right, Operator) else repr(self.right)
        return f"{left} * {right}"


def check(kernel: Any) -> None:
    """Raise an error where an argument is neither a kernel nor None, which stands for the default one."""
    if kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be one of streamkernel.kernels or None, got {kernel!r}")


def _as_kernel(value: Any) -> Kernel | None:
    """An operand as a kernel; None where it is neither a kernel nor a number."""
    if isinstance(value, Kernel):
        return value
    return Constant(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else None


def _show(value: Any) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, tuple):
        yield from value
    else:
        yield value


def _replace_numbers(old: Any, values: Iterator[float]) -> Any:
    if isinstance(old, Mapping):
        return {name: next(values) for name in old}
    if isinstance(old, tuple):
        return tuple(next(values) for _ in old)
    return next(values)


def _as_theta(theta: Sequence[float] | Vector, length: int) -> list[float]:
    values = [float(value) for value in theta]
    if len(values) != length:
        raise ValueError(f"theta must have {length} numbers, got {len(values)}")
    return values
