"""Checks of constructor arguments: an error names the argument, the value and what is accepted."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

DIVISION_ERROR = 1e-9  # relative: 0.1 does not divide 1 exactly


class ArgumentTypeError(TypeError, ValueError):
    """An argument of the wrong type; who catches refused values catches it too."""


def number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    finite: bool = True,
    noun: str = "a number",
) -> None:
    """A number from `low` to `high` (themselves excluded if `open_low`, `open_high`), finite if `finite`."""
    is_real = type(value) is float or (isinstance(value, numbers.Real) and not isinstance(value, bool))
    try:
        number = float(value) if is_real else math.nan
    except OverflowError:  # a whole number beyond all floats
        number = math.nan
    above = low < number if open_low else low <= number
    below = number < high if open_high else number <= high
    if above and below and not (finite and math.isinf(number)):
        return
    if open_low and open_high:
        accepted = f"{noun} between {low:g} and {high:g}"
    else:
        lower = f" {'>' if open_low else '>='} {low:g}" if low > -math.inf else ""
        upper = f" {'<' if open_high else '<='} {high:g}" if high < math.inf else ""
        accepted = noun + " and".join(filter(None, (lower, upper))) + ("" if finite else " or inf")
    raise (ValueError if is_real else ArgumentTypeError)(f"{name} must be {accepted}, got {value!r}")


def whole(
    name: str,
    value: Any,
    low: int = 1,
    high: float = math.inf,
    optional: bool = False,
    noun: str = "a whole number",
) -> None:
    """A whole number from `low` to `high`, or None if `optional`."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if (is_whole and low <= value <= high) or (optional and value is None):
        return
    most = f" and <= {high:g}" if high < math.inf else ""
    accepted = f"{noun} >= {low}{most}{' or None' if optional else ''}"
    raise (ValueError if is_whole else ArgumentTypeError)(f"{name} must be {accepted}, got {value!r}")


def size(name: str, value: Any) -> None:
    """A whole number of at least 1, or None."""
    whole(name, value, low=1, optional=True)


def divisor(name: str, value: float, length: float, meaning: str) -> None:
    """A step that divides `length`, which `meaning` describes, into a whole number of steps."""
    steps = length / value
    count = round(steps)
    if count < 1 or abs(steps - count) > DIVISION_ERROR * count:
        raise ValueError(f"{name} must divide {meaning} into a whole number of steps, got {value!r}: {steps:g} steps")


def boolean(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be True or False, got {value!r}")


def choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def regressor(name: str, value: Any) -> None:
    """A streaming regressor, or anything that learns and predicts numbers like one."""
    from river import base

    learns = callable(getattr(value, "learn_one", None)) and callable(getattr(value, "predict_one", None))
    if not learns or isinstance(value, type | base.Classifier | base.MultiTargetRegressor):
        raise ArgumentTypeError(f"{name} must be a streaming regressor with learn_one and predict_one, got {value!r}")


def constructor_arguments(model: Any) -> dict[str, Any]:
    """A model's constructor arguments."""
    return {name: getattr(model, name) for name in _names(type(model).__init__)}


@functools.cache
def _names(constructor: Callable[..., None]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(constructor).parameters if name != "self")
