"""Interruptions between two rows, so that a row is never left half learned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any, Self, TypeVar

Item = TypeVar("Item")

# Ctrl-C, what `kill` and service managers send, and what a closed terminal sends.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(BaseException):
    """A signal came while nothing was at stake."""


class Interrupts:
    """The first signal ends the run before the next row; a second Ctrl-C ends it at once.

    Examples
    --------

    >>> import os, signal
    >>> from streamkernel.cli.signals import Interrupts
    >>> with Interrupts() as interrupts:
    ...     for row in interrupts.rows(iter("abc")):
    ...         os.kill(os.getpid(), signal.SIGTERM)
    ...         print(row, interrupts.caught == signal.SIGTERM)
    a True

    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._waiting = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others have no signals
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup means it
                    self._previous[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _remember(self, number: int, frame: Any) -> None:
        if self.caught is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.caught = number
        if self._waiting:  # for input that may never come
            self._waiting = False
            raise Stopped

    def rows(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items until a signal comes; waiting for the next one ends at once."""
        try:
            while self.caught is None:
                self._waiting = True
                if self.caught is not None:
                    return
                item = next(items)
                self._waiting = False
                yield item
        except (Stopped, StopIteration):
            return
        finally:
            self._waiting = False
