"""The one place that says how the core is compiled."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import pickle
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import IndexDataCacheFile

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
DIGEST_SIZE = hashlib.sha256().digest_size


class CacheFile(IndexDataCacheFile):
    """The files of numba's cache for one function, which follow all sources; what is damaged counts as absent.

    numba looks at a function's own file alone, and takes what it finds for machine code as it is.
    """

    @classmethod
    def like(cls, file: Any) -> CacheFile:
        """The same files with the stamp of all sources."""
        return cls(file._cache_path, file._index_name.removesuffix(".nbi"), (file._source_stamp, SOURCES))

    def _dump(self, value: Any) -> Any:
        data = super()._dump(value)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        """What was saved; an OSError, by which numba knows that it has to compile, where the bytes are others."""
        content = pathlib.Path(self._data_path(name)).read_bytes()
        data, digest = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
        if hashlib.sha256(data).digest() != digest:
            raise OSError(f"{name} is damaged")
        return pickle.loads(data)

    def _load_index(self) -> Any:
        with contextlib.suppress(Exception):  # whatever unpickling makes of damaged bytes
            return super()._load_index()
        return {}

    def save(self, key: Any, data: Any) -> None:
        """Save what was compiled; a full disk costs the next process the time to compile."""
        with contextlib.suppress(OSError):
            super().save(key, data)


def _cached(function: Callable[..., Any], **flags: Any) -> Any:
    """Compile on first use, cached on disk; in memory alone where no folder can be written."""
    try:
        dispatcher = numba.njit(cache=True, **FLAGS, **flags)(function)
    except RuntimeError:  # "no locator available"
        return numba.njit(**FLAGS, **flags)(function)
    cache = getattr(dispatcher, "_cache", None)
    if cache is not None and hasattr(cache, "_cache_file"):  # not under NUMBA_DISABLE_JIT
        cache._cache_file = CacheFile.like(cache._cache_file)
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
