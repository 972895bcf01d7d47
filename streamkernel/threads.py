"""Threads of the dense linear algebra inside learners: one, unless the user asks for more.

A BLAS that spreads a small matrix over several threads lets them wait for each other by spinning. On a machine where
anything else runs that takes tens of times as long as one thread does, and all processors. So learners work under
`one_thread`, which holds the BLAS of the process at one thread and gives it back as it was. The environment variable
STREAMKERNEL_THREADS is the number of threads instead, or "all" to leave the BLAS alone.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
from types import TracebackType
from typing import Any

VARIABLE = "STREAMKERNEL_THREADS"


class _OneThread(contextlib.ContextDecorator):
    """A context, and a decorator: the first who enters sets the number of threads, the last who leaves restores it.

    Where that number belongs to the process (OpenBLAS with threads of its own, MKL), whoever calls the BLAS from
    another thread in the meantime has the limit too; with OpenMP each thread has its own.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.threads import one_thread
    >>> with one_thread:
    ...     float(np.linalg.cholesky(4.0 * np.eye(300))[0, 0])
    2.0

    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._local = threading.local()
        self._inside = 0  # threads
        self._libraries: list[Any] = []
        self._known = 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        depth = getattr(self._local, "depth", 0)
        if depth == 0:
            limit = _asked()
            with self._lock:
                self._find()
                self._local.before = _limited([library for library in self._libraries if _is_own(library)], limit)
                if self._inside == 0:
                    self._before = _limited([library for library in self._libraries if not _is_own(library)], limit)
                self._inside += 1
        self._local.depth = depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._local.depth -= 1
        if self._local.depth == 0:
            with self._lock:
                self._inside -= 1
                _restore(self._local.before)
                if self._inside == 0:
                    _restore(self._before)
                for library in self._libraries:
                    # threadpoolctl lets one thread at a time set what belongs to all: let the next one do it.
                    getattr(library, "clear_controlling_thread", bool)()

    def _find(self) -> None:
        """The libraries of numpy and scipy, which may be two, and that of scipy may come later."""
        known = 1 + ("scipy.linalg" in sys.modules)
        if known != self._known:
            from threadpoolctl import ThreadpoolController

            self._libraries = list(ThreadpoolController().select(user_api="blas").lib_controllers)
            self._known = known


def _is_own(library: Any) -> bool:
    """Whether each thread has a number of its own."""
    return bool(getattr(library, "threading_layer", None) == "openmp")


def _limited(libraries: list[Any], limit: float) -> list[tuple[Any, int]]:
    """Set the limit where there is more; return what there was."""
    before = [(library, library.get_num_threads() or 0) for library in libraries]  # None where there are no threads
    before = [(library, count) for library, count in before if count > limit]
    for library, _ in before:
        library.set_num_threads(limit)
    return before


def _restore(before: list[tuple[Any, int]]) -> None:
    for library, count in before:
        library.set_num_threads(count)
    before.clear()


def _asked() -> float:
    """How many threads the user wants; infinity for as many as the BLAS takes by itself."""
    asked = os.environ.get(VARIABLE, "1")
    if asked == "all":
        return math.inf
    if not asked.isdecimal() or int(asked) < 1:
        raise ValueError(f"{VARIABLE} must be a number of threads or 'all', got {asked!r}")
    return int(asked)


one_thread = _OneThread()
