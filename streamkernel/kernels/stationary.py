"""Kernels that depend on the difference of two samples, with length scales."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .. import checks
from ..core import columns
from .base import Kernel, Leaf
from .program import Assembler, Feature

KEPT_DEFAULTS = 64  # numbers of features; a kernel that is kept keeps its programs
LengthScale = float | tuple[float, ...] | Mapping[Feature, float]


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


class Stationary(Leaf):
    """A function of ((x_r − x'_r) / ℓ_r) over the features r."""

    length_scale: LengthScale

    def __post_init__(self) -> None:
        object.__setattr__(self, "length_scale", _length_scale(type(self).__name__, self.length_scale))

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale",)

    def per_feature(self, features: Sequence[Feature]) -> Self:
        """The same kernel with a length scale of its own for each feature, unless it has them already."""
        if isinstance(self.length_scale, Mapping | tuple):
            return self
        return dataclasses.replace(self, length_scale=dict.fromkeys(features, self.length_scale))

    def renamed(self, names: Sequence[Feature]) -> Self:
        """The same kernel where the features 0, 1, ... are called by these names."""
        scale = self.length_scale
        if isinstance(scale, Mapping):
            return dataclasses.replace(
                self, length_scale={name: scale[i] for i, name in enumerate(names) if i in scale}
            )
        if isinstance(scale, tuple):
            return dataclasses.replace(self, length_scale=dict(zip(names, scale, strict=True)))
        return self

    def _assemble(self, into: Assembler) -> None:
        into.leaf(self.code, workspace=2)
        scale, names, kind = self.length_scale, into.features, type(self).__name__
        if isinstance(scale, Mapping):
            missing = [name for name in names if name not in scale]
            if missing:
                raise ValueError(
                    f"{kind} has no length_scale for feature {missing[0]!r}; it names {sorted(scale, key=str)}"
                )
            places = {name: place for place, name in enumerate(names)}
            into.parameters([scale[name] for name in names], ([places[n]] if n in places else [] for n in scale))
        elif isinstance(scale, tuple):
            if not names:  # a stream that has not begun
                return
            if len(scale) != len(names):
                raise ValueError(f"{kind} has {len(scale)} length scales but the data have {len(names)} features")
            into.parameters(scale, ([place] for place in range(len(scale))))
        else:
            into.parameters([scale] * len(names), [range(len(names))])


def _name(feature: Feature) -> Feature:
    """A feature's name as Python has it: numpy's numbers and words are equal to those, but not printed so."""
    if isinstance(feature, str):
        return str(feature)
    return feature.item() if isinstance(feature, np.generic) else feature


def _length_scale(kernel: str, value: Any) -> LengthScale:
    def checked(name: str, number: Any) -> float:
        checks.number(f"{kernel} {name}", number, low=0.0, open_low=True, finite=False)
        return float(number)

    if isinstance(value, Mapping):
        return FrozenScales({_name(k): checked(f"length_scale of feature {k!r}", v) for k, v in value.items()})
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(checked(f"length_scale[{i}]", v) for i, v in enumerate(value))
    return checked("length_scale", value)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RBF(Stationary):
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

    code = columns.RBF
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Laplacian(Stationary):
    """exp(−‖x − x'‖ / ℓ).

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code = columns.LAPLACIAN
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Matern32(Stationary):
    """(1 + √3 r) exp(−√3 r), r = ‖x − x'‖ / ℓ: functions with one derivative.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code = columns.MATERN32
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Matern52(Stationary):
    """(1 + √5 r + 5r²/3) exp(−√5 r), r = ‖x − x'‖ / ℓ: functions with two derivatives.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.

    """

    code = columns.MATERN52
    length_scale: LengthScale = 1.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Stationary):
    """(1 + r²/(2a))^(−a), r = ‖x − x'‖ / ℓ: a mixture of RBF kernels of many widths.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.
    shape
        a; large values approach the RBF kernel.

    """

    code = columns.RATIONAL_QUADRATIC
    length_scale: LengthScale = 1.0
    shape: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_positive("shape")

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale", "shape")

    def _assemble(self, into: Assembler) -> None:
        super()._assemble(into)
        into.parameter(self.shape)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Periodic(Stationary):
    """exp(−2 Σ_r sin²(π (x_r − x'_r) / p) / ℓ_r²).

    Features beyond 1e10 periods are refused: of their phase, rounding errors leave little.

    Parameters
    ----------
    length_scale
        ℓ, as in `RBF`.
    period
        p, the distance after which the function repeats itself.

    """

    code = columns.PERIODIC
    length_scale: LengthScale = 1.0
    period: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_positive("period")

    def _tuned(self) -> tuple[str, ...]:
        return ("length_scale", "period")

    def _assemble(self, into: Assembler) -> None:
        super()._assemble(into)
        into.parameter(self.period)


@functools.lru_cache(maxsize=KEPT_DEFAULTS)
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
