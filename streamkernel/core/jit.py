"""The one place that says how the core is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered so that loops vectorize; NaN, infinity and the sign of an error stay meaningful.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


def jit(function: Function) -> Function:
    """Compile a function on first use, cached on disk."""
    return cast(Function, numba.njit(cache=True, fastmath=FASTMATH, error_model="numpy")(function))


def part(function: Function) -> Function:
    """Compile a function that only jitted functions call: without the wrapper for Python it compiles faster."""
    flags = {"cache": True, "fastmath": FASTMATH, "error_model": "numpy", "no_cpython_wrapper": True}
    return cast(Function, numba.njit(**flags)(function))


def inline(function: Function) -> Function:
    """Compile a function into its callers: for small pieces that a hot loop is made of."""
    return cast(Function, numba.njit(fastmath=FASTMATH, error_model="numpy", inline="always")(function))
