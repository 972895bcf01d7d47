"""The one place that says how the core is compiled."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered so that loops vectorize; NaN, infinity and the sign of an error stay meaningful.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
# Callees are inlined without exception. Left to itself LLVM keeps some as functions, of which a process that compiles
# runs another copy than one that loads its caller from the cache, and reordered sums then differ in the last bits.
FLAGS = {"fastmath": FASTMATH, "error_model": "numpy", "forceinline": True}


def _digest() -> str:
    """Of all sources of the core."""
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest()


def _cached(function: Callable[..., Any], **flags: Any) -> Any:
    """Compile on first use. numba's cache looks at a function's own file alone: this one follows what it calls too."""
    dispatcher = numba.njit(cache=True, **FLAGS, **flags)(function)
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, SOURCES)
    return dispatcher


def jit(function: Function) -> Function:
    """Compile a function on first use, cached on disk."""
    return cast(Function, _cached(function))


def part(function: Function) -> Function:
    """Compile a function that only jitted functions call: without the wrapper for Python it compiles faster."""
    return cast(Function, _cached(function, no_cpython_wrapper=True))


def plain(function: Function) -> Function:
    """The Python function behind a jitted one: faster to call where it does next to nothing."""
    return cast(Function, getattr(function, "py_func", function))


def inline(function: Function) -> Function:
    """Merge a function into its callers before they are typed: for small pieces of address arithmetic."""
    return cast(Function, numba.njit(inline="always", **FLAGS)(function))
