"""From feature dicts and data frames to rows of numbers, and what may be wrong with a sample.

Columns stand in sorted order of the feature names, so the order within a dict does not matter. A feature that is absent
from a sample is zero, as elsewhere in river.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator
import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import utils

from ..core.stream import LARGEST_TARGET_SQUARE
from ..core.types import Matrix, Vector
from ..kernels import Feature

# Of a target, and of a feature whose squares are needed in any unit.
LARGEST_VALUE = math.sqrt(LARGEST_TARGET_SQUARE)
# Of 1/w: what is computed from the noise stays finite.
SMALLEST_NOISE, LARGEST_NOISE = 1e-100, 1e100
# Numbers to numpy's types, but not to a model: complex ones, and lengths of time in whatever unit they are.
NO_NUMBERS = (np.complexfloating, np.timedelta64)


def sort_names(names: Iterable[Feature]) -> tuple[Feature, ...]:
    """Feature names in sorted order; names of different types are grouped by type."""
    try:
        return tuple(sorted(names))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(names, key=lambda name: (type(name).__name__, repr(name))))


def reader(names: Sequence[Feature]) -> Callable[[Mapping[Feature, Any]], tuple[Any, ...]]:
    """A fast function from a dict that holds these features to their values."""
    if not names:
        return _none
    if len(names) == 1:
        return functools.partial(_single, names[0])
    return operator.itemgetter(*names)


def _none(x: Mapping[Feature, Any]) -> tuple[Any, ...]:
    return ()


def _single(name: Feature, x: Mapping[Feature, Any]) -> tuple[Any, ...]:
    return (x[name],)


@functools.cache
def packer(count: int) -> Callable[..., None]:
    """A fast function that writes `count` numbers into a buffer: `pack(buffer, offset, *numbers)`."""
    return struct.Struct(f"={count}d").pack_into


def values(names: Sequence[Feature], x: Mapping[Feature, Any]) -> Vector:
    """The values of the named features, absent ones zero, or an error that names the feature and the value."""
    return np.array([number(f"feature {name!r}", x.get(name, 0.0)) for name in names], dtype=np.float64)


def check_mapping(x: Any) -> None:
    """Raise an error unless a sample holds its features by name."""
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dict of features by name, got {x!r} ({type(x).__name__})")


def number(what: str, value: Any) -> float:
    """A finite float, or an error that says what it was meant to be."""
    if not _is_number(value):
        hint = "impute it" if value is None else "encode it, for example with river's OneHotEncoder"
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}), not a number: {hint}")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        shown = (
            repr(value) if abs(result) < math.inf or isinstance(value, float | np.floating) else "too large for a float"
        )
        raise ValueError(f"{what} is {shown}: every value must be finite")
    return result


def target(value: Any, what: str = "target y") -> float:
    """A target that can be learned, or an error."""
    result = number(what, value)
    if abs(result) > LARGEST_VALUE:
        raise ValueError(f"{what} is {value!r}: it must be at most {LARGEST_VALUE:g} either way; rescale the target")
    return result


def noise(weight: Any) -> float:
    """The relative noise variance 1/w of a sample of weight w > 0."""
    result = number("weight w", weight)
    if result <= 0.0:
        raise ValueError(f"weight w is {weight!r}: it must be positive (leave samples of weight zero out)")
    if not SMALLEST_NOISE <= 1.0 / result <= LARGEST_NOISE:
        raise ValueError(f"weight w is {weight!r}: it must be between {SMALLEST_NOISE:g} and {LARGEST_NOISE:g}")
    return 1.0 / result


def check_label(value: Any) -> None:
    """Raise an error unless this can be a class: None and NaN say that there is none."""
    if not isinstance(value, Hashable):
        raise TypeError(f"label y is {value!r} ({type(value).__name__}): a class must be hashable, such as a word")
    try:
        is_missing = value is None or bool(value != value)
    except TypeError:  # pandas' NA is not even unequal to itself
        is_missing = True
    if is_missing:
        raise ValueError(f"label y is {value!r}: a sample without a class cannot be learned, leave it out")


def labels(values: Any, length: int) -> list[Any]:
    """One class for each of `length` samples, as Python values, or an error."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"y must hold one label per row of X ({length}), got {values!r}")
    found = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(found) != length:
        raise ValueError(f"y must hold one label per row of X ({length}), got {len(found)}")
    found = [value.item() if isinstance(value, np.generic) else value for value in found]
    for value in found:
        check_label(value)
    return found


def check_targets(values: Matrix) -> None:
    """Raise an error where one of these finite targets cannot be learned."""
    if np.abs(values).max(initial=0.0) > LARGEST_VALUE:
        target(float(values.flat[np.abs(values).argmax()]))


def noises(weights: Vector | None, count: int) -> Vector:
    """The relative noise variances of samples with these finite weights, 1 without any."""
    if weights is None:
        return np.ones(count)
    for weight in weights[~((weights >= SMALLEST_NOISE) & (weights <= LARGEST_NOISE))][:1]:
        noise(float(weight))
    return 1.0 / weights


def is_one_row(X: Any, y: Any) -> bool:
    """Whether these are arrays of one sample, of which a dict is sooner made than all is checked."""
    return (
        isinstance(X, np.ndarray)
        and isinstance(y, np.ndarray)
        and X.ndim == 2
        and len(X) == 1
        and y.shape == (1,)
        and X.dtype == y.dtype == np.float64
    )


def frame(X: Any, name: str = "X", what: str = "feature") -> tuple[tuple[Feature, ...], Matrix, Any]:
    """The column names, the numbers and the narwhals frame (None for an array) of what `learn_many` takes."""
    if isinstance(X, np.ndarray | list | tuple):
        array = _floats(name, X, lambda index: f"in {name} {what} {index[-1]!r}" if index else name)
        if array.ndim != 2:
            raise ValueError(f"{name} must have two dimensions (samples, {what}s), got shape {array.shape}")
        return _checked(tuple(range(array.shape[1])), array, None, what)
    data = utils.dataframe.into_frame(X)
    for column_name, kind in data.schema.items():
        if not (kind.is_numeric() or kind == nw.Boolean):
            for value in sorted(data.get_column(column_name).to_list(), key=_is_complex, reverse=True):
                number(f"{what} {column_name!r}", value)
    return _checked(tuple(data.columns), utils.dataframe.to_numpy(data), data, what)


def _checked(
    names: tuple[Feature, ...], array: Matrix, data: Any, what: str
) -> tuple[tuple[Feature, ...], Matrix, Any]:
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{what} {names[j]!r} is {array[i, j]} in row {i}: every value must be finite")
    return names, array, data


def arranged(names: tuple[Feature, ...], rows: Matrix, known: tuple[Feature, ...]) -> Matrix:
    """Samples with one column for each known feature, zero where they do not have it."""
    if names == known:
        return np.ascontiguousarray(rows)
    wide = np.zeros((len(rows), len(known)))
    for j, name in enumerate(names):
        wide[:, known.index(name)] = rows[:, j]
    return wide


def sample(names: tuple[Feature, ...], row: Vector) -> dict[Feature, float]:
    """A row as a feature dict."""
    return dict(zip(names, row.tolist(), strict=True))


def predictions(model: Any, X: Any, **arguments: Any) -> Any:
    """What any regressor predicts of many samples: by its `predict_many`, or one after the other."""
    if hasattr(model, "predict_many"):
        return model.predict_many(X, **arguments)
    names, rows, data = frame(X)
    means = np.array([model.predict_one(sample(names, row)) for row in rows], dtype=np.float64)
    return means if data is None else utils.dataframe.to_native_series(means, name=None, like=data)


def column(name: str, values: Any, length: int) -> Vector:
    """A one-dimensional array of `length` finite numbers."""
    array = _floats(name, values)
    if array.shape != (length,):
        raise ValueError(f"{name} must hold one number per row of X ({length}), got shape {array.shape}")
    if not np.isfinite(array).all():
        i = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise ValueError(f"{name} is {array[i]} in row {i}: every value must be finite")
    return array


def _floats(name: str, values: Any, what: Callable[[tuple[int, ...]], str] | None = None) -> Matrix:
    """An array of floats; text and complex numbers are refused, whatever numpy would make of them."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"{name} must hold numbers in a regular shape: {error}") from None
    if array.dtype.kind not in "biuf":
        table = np.asarray(values, dtype=object)
        order = np.argsort(~np.array([_is_complex(value) for value in table.flat], dtype=bool), kind="stable")
        for index in (np.unravel_index(at, table.shape) for at in order):  # what is truly complex is shown first
            number(what(tuple(map(int, index))) if what else name, table[index])
    return array.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.number | np.bool_) and not isinstance(value, NO_NUMBERS)


def _is_complex(value: Any) -> bool:
    return isinstance(value, complex) and value.imag != 0.0
