"""The one place that says how the core is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered so that loops vectorize; NaN, infinity and the sign of an error stay meaningful.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
# Callees are inlined without exception. Left to itself LLVM keeps some as functions, of which a process that compiles
# runs another copy than one that loads its caller from the cache, and reordered sums then differ in the last bits.
FLAGS = {"fastmath": FASTMATH, "error_model": "numpy", "forceinline": True}


def jit(function: Function) -> Function:
    """Compile a function on first use, cached on disk."""
    return cast(Function, numba.njit(cache=True, **FLAGS)(function))


def part(function: Function) -> Function:
    """Compile a function that only jitted functions call: without the wrapper for Python it compiles faster."""
    return cast(Function, numba.njit(cache=True, no_cpython_wrapper=True, **FLAGS)(function))


def plain(function: Function) -> Function:
    """The Python function behind a jitted one: faster to call where it does next to nothing."""
    return cast(Function, getattr(function, "py_func", function))


def inline(function: Function) -> Function:
    """Merge a function into its callers before they are typed: for small pieces of address arithmetic."""
    return cast(Function, numba.njit(inline="always", **FLAGS)(function))
