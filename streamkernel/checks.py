"""Checks of constructor arguments: an error names the argument, the value and what is accepted."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any


def number(name: str, value: Any, low: float, high: float = math.inf, open_low: bool = False) -> None:
    """A finite number from `low` (itself excluded if `open_low`) to `high`."""
    accepted = f"a number {'>' if open_low else '>='} {low:g}" + (f" and <= {high:g}" if high < math.inf else "")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {accepted}, got {value!r}")
    number = float(value)
    if not math.isfinite(number) or not low <= number <= high or (open_low and number == low):
        raise ValueError(f"{name} must be {accepted}, got {value!r}")


def choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def size(name: str, value: Any) -> None:
    """A whole number of at least 1, or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number >= 1 or None, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be a whole number >= 1 or None, got {value!r}")


def constructor_arguments(model: Any) -> dict[str, Any]:
    """A model's constructor arguments."""
    return {name: getattr(model, name) for name in _names(type(model).__init__)}


@functools.cache
def _names(constructor: Callable[..., None]) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(constructor).parameters if name != "self")
