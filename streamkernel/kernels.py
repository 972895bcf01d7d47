"""Kernels: immutable values that add, multiply, print and compile to a program for the jitted code.

A leaf is its formula, its parameters and one opcode. Expressions are built with `+`, `*` and `number *`.

>>> from streamkernel import kernels
>>> kernel = kernels.RBF(1.5) + 0.1 * kernels.Linear()
>>> kernel
RBF(1.5) + 0.1 * Linear()
>>> kernel == kernels.parse("RBF(1.5) + 0.1 * Linear()")
True
>>> kernel([[0.0, 0.0]], [[1.5, 0.0]]).round(4)
array([[0.6065]])

"""

from __future__ import annotations

import abc
import ast
import dataclasses
import math
import numbers
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from river import base

from .core import columns
from .core.triangular import PANEL
from .core.types import Matrix, Program, Vector

__all__ = [
    "RBF",
    "AnovaSpline",
    "Compiled",
    "Constant",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Spline",
    "Sum",
    "default",
    "parse",
]

Feature = Hashable
LengthScale = float | tuple[float, ...] | Mapping[Feature, float]


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A kernel for a list of features, ready for `core.columns`."""

    program: Program
    parameters: Vector
    stack_rows: int
    custom: tuple[Custom, ...]
    nonnegative: bool
    owners: tuple[int, ...]
    """The node that each parameter belongs to."""
    tunable: tuple[tuple[int, ...], ...]
    """For each entry of `Kernel.theta`, the parameters that it stands for."""

    def stack(self, count: int) -> Matrix:
        """Workspace for columns of `count` points."""
        return np.zeros((self.stack_rows, -(-count // PANEL) * PANEL))


class _Assembler:
    """Collects the postfix program while an expression is walked."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.nodes: list[tuple[int, int, int]] = []
        self.parameters: list[float] = []
        self.owners: list[int] = []
        self.tunable: list[tuple[int, ...]] = []
        self.custom: list[Custom] = []
        self.nonnegative = False
        self.depth = 0
        self.rows = 0

    def leaf(self, code: int, extra: int = 0, workspace: int = 1) -> None:
        """Open a leaf; its parameters follow."""
        self.nodes.append((code, len(self.parameters), extra))
        self.depth += 1
        self.rows = max(self.rows, self.depth + workspace)

    def operator(self, code: int) -> None:
        """Combine the two topmost columns."""
        self.nodes.append((code, 0, 0))
        self.depth -= 1

    def parameter(self, *values: float) -> None:
        """Numbers of the current leaf that one entry of theta stands for."""
        first = len(self.parameters)
        self.parameters.extend(values)
        self.owners.extend([len(self.nodes) - 1] * len(values))
        self.tunable.append(tuple(range(first, len(self.parameters))))

    def length_scales(self, kernel: str, scale: LengthScale) -> None:
        """The length scales of the current leaf, one per feature."""
        if isinstance(scale, Mapping):
            missing = [name for name in self.features if name not in scale]
            if missing:
                raise ValueError(
                    f"{kernel} has no length_scale for feature {missing[0]!r}; it names {sorted(scale, key=str)}"
                )
            positions = {name: i for i, name in enumerate(self.features)}
            first = len(self.parameters)
            self.parameters.extend(scale[name] for name in self.features)
            self.owners.extend([len(self.nodes) - 1] * len(self.features))
            self.tunable.extend(() if name not in positions else (first + positions[name],) for name in scale)
        elif isinstance(scale, tuple):
            if self.features and len(scale) != len(self.features):
                raise ValueError(
                    f"{kernel} has {len(scale)} length scales but the data have {len(self.features)} features"
                )
            for value in scale if self.features else ():  # a stream that has not begun has no features
                self.parameter(value)
        else:
            self.parameter(*[scale] * len(self.features))

    def finish(self) -> Compiled:
        """The finished program."""
        return Compiled(
            program=np.array(self.nodes, dtype=np.int64),
            parameters=np.array([*self.parameters, 0.0]),  # never empty, so that every leaf has a slice
            stack_rows=self.rows + len(self.custom),
            custom=tuple(self.custom),
            nonnegative=self.nonnegative,
            owners=tuple(self.owners),
            tunable=tuple(self.tunable),
        )


class Kernel(base.Base, abc.ABC):
    """A positive semi-definite similarity of two samples.

    `kernel(X, Z)` is the matrix of similarities between the rows of X and Z, `kernel(X)` that of X with itself.
    """

    __array_ufunc__ = None  # an array times a kernel is a mistake, not an array of kernels

    @abc.abstractmethod
    def _assemble(self, into: _Assembler) -> None:
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
        """The same kernel with a length scale of its own for each feature wherever there is one for all.

        Examples
        --------

        >>> from streamkernel import kernels
        >>> (kernels.RBF(2.0) + 1.0).per_feature(["a", "b"])
        RBF({'a': 2.0, 'b': 2.0}) + Constant(1.0)

        """
        return self

    def compile(self, features: Sequence[Feature]) -> Compiled:
        """The program for samples with these features, in this order."""
        into = _Assembler(features)
        self._assemble(into)
        return into.finish()

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
        left, names = _as_samples("X", X, features)
        right = left if Z is None else _as_samples("Z", Z, features)[0]
        if right.shape[1] != left.shape[1]:
            raise ValueError(f"X has {left.shape[1]} features but Z has {right.shape[1]}")
        self.check_domain(names, left)
        self.check_domain(names, right)
        compiled = self.compile(names)
        out = np.empty((len(left), len(right)))
        points, stack = np.ascontiguousarray(right.T), compiled.stack(len(right))
        if not compiled.custom:
            columns.gram(compiled.program, compiled.parameters, points, len(right), left, stack, out)
            return out
        for i, x in enumerate(left):
            fill_custom(compiled, stack, right, x)
            columns.column(compiled.program, compiled.parameters, points, len(right), x, stack)
            out[i] = stack[0, : len(right)]
        return out

    def diagonal(self, X: ArrayLike, features: Sequence[Feature] | None = None) -> Vector:
        """The self-similarities k(x_i, x_i)."""
        samples, names = _as_samples("X", X, features)
        self.check_domain(names, samples)
        compiled = self.compile(names)
        if compiled.custom:
            return np.array([self(x[None], features=names)[0, 0] for x in samples])
        out = np.empty(len(samples))
        point = np.zeros((samples.shape[1], PANEL))
        columns.diagonal(compiled.program, compiled.parameters, samples, point, compiled.stack(1), out)
        return out

    def gradients(self, X: ArrayLike, Z: ArrayLike | None = None, features: Sequence[Feature] | None = None) -> Matrix:
        """∂k(x_i, z_j)/∂theta_p, an array indexed [p, i, j]."""
        left, names = _as_samples("X", X, features)
        right = left if Z is None else _as_samples("Z", Z, features)[0]
        self.check_domain(names, left)
        self.check_domain(names, right)
        compiled = self.compile(names)
        out = np.zeros((len(compiled.tunable), len(left), len(right)))
        points, stack = np.ascontiguousarray(right.T), compiled.stack(len(right))
        slopes = np.zeros_like(stack)
        for i, x in enumerate(left):
            fill_custom(compiled, stack, right, x)
            for p, parameters in enumerate(compiled.tunable):
                for parameter in parameters:
                    columns.column_derivative(
                        compiled.program,
                        compiled.parameters,
                        points,
                        len(right),
                        x,
                        stack,
                        slopes,
                        parameter,
                        compiled.owners[parameter],
                    )
                    out[p, i] += slopes[0, : len(right)]
        return out

    def __add__(self, other: Any) -> Sum:
        return Sum(self, _as_kernel(other)) if _is_operand(other) else NotImplemented

    def __radd__(self, other: Any) -> Sum:
        return Sum(_as_kernel(other), self) if _is_operand(other) else NotImplemented

    def __mul__(self, other: Any) -> Product:
        return Product(self, _as_kernel(other)) if _is_operand(other) else NotImplemented

    def __rmul__(self, other: Any) -> Product:
        return Product(_as_kernel(other), self) if _is_operand(other) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._fields() == other._fields()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        values = (frozenset(v.items()) if isinstance(v, Mapping) else v for _, v in self._fields())
        return hash((type(self), *values))

    def __str__(self) -> str:
        return repr(self)


class _Leaf(Kernel):
    """A kernel of its own: a frozen data class whose fields are its parameters."""

    code: ClassVar[int]

    def _fields(self) -> tuple[tuple[str, Any], ...]:
        return tuple((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        shown = []
        for position, field in enumerate(dataclasses.fields(self)):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if position == 0 and not isinstance(value, bool):
                shown.append(_show(value))
            elif value != field.default:
                shown.append(f"{field.name}={_show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def theta(self) -> Vector:
        return np.array([value for name in self._tuned() for value in _numbers(getattr(self, name))])

    def with_theta(self, theta: Sequence[float] | Vector) -> Self:
        values = iter(_as_theta(theta, len(self.theta)))
        return dataclasses.replace(  # type: ignore[type-var]
            self, **{name: _replace_numbers(getattr(self, name), values) for name in self._tuned()}
        )

    def _tuned(self) -> tuple[str, ...]:
        """The names of the positive real parameters."""
        return ()

    def _boolean(self, name: str) -> None:
        if not isinstance(getattr(self, name), bool):
            raise TypeError(f"{type(self).__name__} {name} must be True or False, got {getattr(self, name)!r}")

    def _positive(self, name: str) -> None:
        self._set(name, _number(type(self).__name__, name, getattr(self, name), 0.0, strict=True))


class _Stationary(_Leaf):
    """A function of ((x_r − x'_r) / ℓ_r) over the features r."""

    length_scale: LengthScale

    def __post_init__(self) -> None:
        self._set("length_scale", _length_scale(type(self).__name__, self.length_scale))

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale",)

    def per_feature(self, features: Sequence[Feature]) -> Self:
        if isinstance(self.length_scale, Mapping | tuple):
            return self
        return dataclasses.replace(self, length_scale=dict.fromkeys(features, self.length_scale))  # type: ignore[type-var]

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(self.code, workspace=2)
        into.length_scales(type(self).__name__, self.length_scale)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RBF(_Stationary):
    """exp(−‖x − x'‖² / (2ℓ²)), the Gaussian kernel.

    Parameters
    ----------
    length_scale
        ℓ. A number, a tuple with one number per feature (in sorted order of the feature names), or a mapping from
        feature name to number. An infinite length scale switches a feature off.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.RBF(2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    >>> kernels.RBF({"age": 10.0, "height": 0.2})
    RBF({'age': 10.0, 'height': 0.2})

    """

    code: ClassVar[int] = columns.RBF
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Laplacian(_Stationary):
    """exp(−‖x − x'‖ / ℓ).

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code: ClassVar[int] = columns.LAPLACIAN
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Matern32(_Stationary):
    """(1 + √3 r) exp(−√3 r), r = ‖x − x'‖ / ℓ: functions with one derivative.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code: ClassVar[int] = columns.MATERN32
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Matern52(_Stationary):
    """(1 + √5 r + 5r²/3) exp(−√5 r), r = ‖x − x'‖ / ℓ: functions with two derivatives.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code: ClassVar[int] = columns.MATERN52
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(_Stationary):
    """(1 + r²/(2a))^(−a), r = ‖x − x'‖ / ℓ: a mixture of RBF kernels of many widths.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.
    shape
        a; large values approach the RBF kernel.

    """

    code: ClassVar[int] = columns.RATIONAL_QUADRATIC
    length_scale: LengthScale = 1.0
    shape: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("shape")

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale", "shape")

    def _assemble(self, into: _Assembler) -> None:
        super()._assemble(into)
        into.parameter(self.shape)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Periodic(_Stationary):
    """exp(−2 Σ_r sin²(π (x_r − x'_r) / p) / ℓ_r²).

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.
    period
        p, the distance after which the function repeats itself.

    """

    code: ClassVar[int] = columns.PERIODIC
    length_scale: LengthScale = 1.0
    period: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("period")

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale", "period")

    def _assemble(self, into: _Assembler) -> None:
        super()._assemble(into)
        into.parameter(self.period)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Constant(_Leaf):
    """The same similarity for every pair: a bias term.

    Parameters
    ----------
    value
        The similarity, positive.

    """

    code: ClassVar[int] = columns.CONSTANT
    value: float = 1.0

    def __post_init__(self) -> None:
        self._positive("value")

    def _tuned(self) -> tuple[str, ...]:
        return ("value",)

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(self.code)
        into.parameter(self.value)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Linear(_Leaf):
    """⟨x, x'⟩: linear regression through the origin."""

    code: ClassVar[int] = columns.LINEAR

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(self.code)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Polynomial(_Leaf):
    """(scale·⟨x, x'⟩ + offset)^degree.

    Parameters
    ----------
    degree
        A whole number, at least 1.
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

    code: ClassVar[int] = columns.POLYNOMIAL
    degree: int = 2
    offset: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        self._set("degree", _whole("Polynomial", "degree", self.degree))
        self._set("offset", _number("Polynomial", "offset", self.offset, 0.0, strict=False))
        self._positive("scale")

    def _tuned(self) -> tuple[str, ...]:
        return ("offset", "scale")

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(self.code, extra=self.degree)
        into.parameter(self.offset)
        into.parameter(self.scale)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Spline(_Leaf):
    """The product over features of 1 + xz + xz·m − (x + z)m²/2 + m³/3, m = min(x, z).

    The one-dimensional factor is 1 + xz + ∫₀^m (x − t)(z − t) dt, positive semi-definite for nonnegative inputs only.

    Parameters
    ----------
    two_sided
        Use |x| and |z| in the integral where x and z have the same sign and 1 + xz where they have not: positive
        semi-definite everywhere, and the same kernel on nonnegative inputs.

    """

    code: ClassVar[int] = columns.SPLINE
    two_sided: bool = False

    def __post_init__(self) -> None:
        self._boolean("two_sided")

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(columns.SPLINE_TWO_SIDED if self.two_sided else columns.SPLINE)
        into.nonnegative |= not self.two_sided


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnovaSpline(_Leaf):
    """Σ over all sets of `order` features of the product of their one-dimensional `Spline` kernels.

    Parameters
    ----------
    order
        How many features interact; with as many as there are features it is `Spline`.
    two_sided
        As in `Spline`.

    """

    code: ClassVar[int] = columns.ANOVA
    order: int = 2
    two_sided: bool = False

    def __post_init__(self) -> None:
        self._set("order", _whole("AnovaSpline", "order", self.order))
        self._boolean("two_sided")

    @property
    def depends_on_width(self) -> bool:
        """A further feature changes the values."""
        return True

    def _assemble(self, into: _Assembler) -> None:
        if 0 < len(into.features) < self.order:
            raise ValueError(f"AnovaSpline order is {self.order} but the data have only {len(into.features)} features")
        into.leaf(columns.ANOVA_TWO_SIDED if self.two_sided else columns.ANOVA, self.order, workspace=self.order + 1)
        into.nonnegative |= not self.two_sided


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Custom(_Leaf):
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

    code: ClassVar[int] = columns.CUSTOM
    function: Callable[..., Any]
    vectorized: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom function must be callable, got {self.function!r}")
        self._boolean("vectorized")

    @property
    def depends_on_width(self) -> bool:
        """A further feature changes the values."""
        return True

    def values(self, points: Matrix, x: Vector) -> Vector:
        """The similarities of x to every row of `points`."""
        if self.vectorized:
            values = np.asarray(self.function(points, x), dtype=np.float64)
            if values.shape != (len(points),):
                raise ValueError(f"{self!r} returned shape {values.shape} for {len(points)} points")
            return values
        return np.array([float(self.function(point, x)) for point in points])

    def _assemble(self, into: _Assembler) -> None:
        into.leaf(self.code, extra=len(into.custom))
        into.custom.append(self)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Custom({name if name.isidentifier() else repr(name)}{', vectorized=True' if self.vectorized else ''})"


class _Operator(Kernel):
    """Two kernels combined."""

    left: Kernel
    right: Kernel
    code: ClassVar[int]

    def _fields(self) -> tuple[tuple[str, Any], ...]:
        return (("left", self.left), ("right", self.right))

    def per_feature(self, features: Sequence[Feature]) -> Self:
        return type(self)(self.left.per_feature(features), self.right.per_feature(features))

    @property
    def depends_on_width(self) -> bool:
        return self.left.depends_on_width or self.right.depends_on_width

    @property
    def theta(self) -> Vector:
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta: Sequence[float] | Vector) -> Self:
        split = len(self.left.theta)
        values = _as_theta(theta, len(self.theta))
        left, right = self.left.with_theta(values[:split]), self.right.with_theta(values[split:])
        return type(self)(left, right)  # type: ignore[call-arg]

    def _assemble(self, into: _Assembler) -> None:
        self.left._assemble(into)
        self.right._assemble(into)
        into.operator(self.code)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sum(_Operator):
    """k₁(x, x') + k₂(x, x'); written `k1 + k2`.

    Parameters
    ----------
    left
        k₁.
    right
        k₂.

    """

    code: ClassVar[int] = columns.ADD
    left: Kernel
    right: Kernel

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Product(_Operator):
    """k₁(x, x') · k₂(x, x'); written `k1 * k2`, or `number * k`.

    Parameters
    ----------
    left
        k₁.
    right
        k₂.

    """

    code: ClassVar[int] = columns.MULTIPLY
    left: Kernel
    right: Kernel

    def __repr__(self) -> str:
        left = repr(self.left.value) if isinstance(self.left, Constant) else repr(self.left)
        left = f"({left})" if isinstance(self.left, Sum) else left
        right = f"({self.right!r})" if isinstance(self.right, _Operator) else repr(self.right)
        return f"{left} * {right}"


def check(kernel: Any) -> None:
    """Raise an error where an argument is neither a kernel nor None, which stands for the default one."""
    if kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be one of streamkernel.kernels or None, got {kernel!r}")


def default(n_features: int) -> Kernel:
    """The kernel for inputs of unit variance (after a `StandardScaler`) when none is given: `RBF(√n_features)`.

    Two independent samples then lie about √2 length scales apart, whatever the number of features.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.default(9)
    RBF(3.0)

    """
    return RBF(math.sqrt(max(n_features, 1)))


_LEAVES: dict[str, type[_Leaf]] = {
    cls.__name__: cls
    for cls in (
        AnovaSpline,
        Constant,
        Custom,
        Laplacian,
        Linear,
        Matern32,
        Matern52,
        Periodic,
        Polynomial,
        RBF,
        RationalQuadratic,
        Spline,
    )
}


def parse(text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> Kernel:
    """The kernel that an expression such as `RBF(1.0) + 0.1 * Linear()` describes; nothing is evaluated as code.

    Parameters
    ----------
    text
        What `repr` of a kernel prints, or the same by hand.
    functions
        The functions that `Custom(name)` may refer to.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.parse("Matern52(length_scale=(1, 2)) * Periodic(period=12)")
    Matern52((1.0, 2.0)) * Periodic(1.0, period=12.0)

    """
    try:
        kernel = _parse_node(ast.parse(text.strip(), mode="eval").body, text, functions or {})
    except SyntaxError as error:
        raise ValueError(f"cannot read kernel {text!r}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"cannot read kernel {text[:50]!r}...: the expression is nested too deeply") from None
    if not isinstance(kernel, Kernel):
        raise ValueError(f"cannot read kernel {text!r}: a number alone is no kernel, write Constant({kernel!r})")
    return kernel


def _parse_node(node: ast.expr, text: str, functions: Mapping[str, Callable[..., Any]]) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        left, right = _parse_node(node.left, text, functions), _parse_node(node.right, text, functions)
        if not isinstance(left, Kernel) and not isinstance(right, Kernel):
            raise ValueError(f"cannot read kernel {text!r}: {ast.unparse(node)!r} combines no kernel")
        return left + right if isinstance(node.op, ast.Add) else left * right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LEAVES:
        kind = _LEAVES[node.func.id]
        if kind is Custom:
            return _parse_custom(node, text, functions)
        arguments = [_literal(argument, text) for argument in node.args]
        keywords = {str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords}
        try:
            return kind(*arguments, **keywords)
        except TypeError as error:
            raise ValueError(f"cannot read kernel {text!r}: {error}") from None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    raise ValueError(f"cannot read kernel {text!r}: {ast.unparse(node)!r} is none of {', '.join(sorted(_LEAVES))}")


def _parse_custom(node: ast.Call, text: str, functions: Mapping[str, Callable[..., Any]]) -> Custom:
    given = node.args[0] if node.args else None
    name = str(given.value) if isinstance(given, ast.Constant) else ast.unparse(given) if given else ""
    if name not in functions:
        raise ValueError(
            f"cannot read kernel {text!r}: the function {name!r} is not known; pass it as functions={{{name!r}: ...}}"
        )
    return Custom(functions[name], **{str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords})


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(_Infinity().visit(node))
    except (TypeError, ValueError):
        raise ValueError(
            f"cannot read kernel {text!r}: {ast.unparse(node)!r} is not a number, tuple or mapping"
        ) from None


class _Infinity(ast.NodeTransformer):
    """`inf` as a number: a length scale may be infinite, and `repr` prints it so."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(math.inf), node) if node.id == "inf" else node


class FrozenScales(dict[Feature, float]):
    """Length scales by feature name, as an immutable mapping that compares like a dict."""

    def __setitem__(self, key: Feature, value: float) -> None:
        raise TypeError(f"kernels are immutable: cannot set the length scale of {key!r}")

    def _refuse(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError("kernels are immutable: make a new one")

    __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def fill_custom(compiled: Compiled, stack: Matrix, points: Matrix, x: Vector) -> None:
    """Compute the columns of custom kernels, which the stack machine takes as given."""
    for slot, kernel in enumerate(compiled.custom):
        stack[len(stack) - 1 - slot, : len(points)] = kernel.values(points, x)


def _as_samples(name: str, samples: ArrayLike, features: Sequence[Feature] | None) -> tuple[Matrix, Sequence[Feature]]:
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


def _is_operand(value: Any) -> bool:
    return isinstance(value, Kernel | numbers.Real) and not isinstance(value, bool)


def _as_kernel(value: Any) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(value)


def _show(value: Any) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)


def _number(kernel: str, name: str, value: Any, low: float, strict: bool, finite: bool = True) -> float:
    accepted = f"{'a finite' if finite else 'a'} number {'>' if strict else '>='} {low:g}"
    if isinstance(value, bool | str) or not isinstance(value, numbers.Real | np.generic):
        raise TypeError(f"{kernel} {name} must be {accepted}, got {value!r}")
    number = float(value)
    if math.isnan(number) or (finite and math.isinf(number)) or number < low or (strict and number == low):
        raise ValueError(f"{kernel} {name} must be {accepted}, got {value!r}")
    return number


def _whole(kernel: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{kernel} {name} must be a whole number >= 1, got {value!r}")
    return int(value)


def _length_scale(kernel: str, value: Any) -> LengthScale:
    def check(name: str, number: Any) -> float:
        return _number(kernel, name, number, 0.0, strict=True, finite=False)

    if isinstance(value, Mapping):
        return FrozenScales({k: check(f"length_scale of feature {k!r}", v) for k, v in value.items()})
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(check(f"length_scale[{i}]", v) for i, v in enumerate(value))
    return check("length_scale", value)


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
