"""`--live`: a page that shows a stream while a command learns it."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .options import port
from .output import CommandError, message

if TYPE_CHECKING:
    from ..live import View


def add_live(parser: argparse.ArgumentParser) -> None:
    """Whether there is a page, where, and whether it is kept."""
    group = parser.add_argument_group("live view")
    group.add_argument("--live", action="store_true", help="show the stream on a page of this machine as it is learned")
    group.add_argument("--port", type=port, help="of 127.0.0.1, where the page is (default: a free one)")
    group.add_argument("--live-save", metavar="HTML", help="with --live: write the page as one file at the end")


def check_live(arguments: argparse.Namespace) -> None:
    """Refuse options of a page where there is none."""
    for option in ("port", "live_save"):
        if getattr(arguments, option) is not None and not arguments.live:
            raise CommandError(f"--{option.replace('_', '-')} needs --live")


def open_view(arguments: argparse.Namespace, model: Any, column: str) -> View | None:
    """The page of a model, where one is asked for."""
    if not arguments.live:
        return None
    from ..live import View

    try:
        view = View(model, f"{arguments.file}: {column}", arguments.port or 0, arguments.confidence_level)
    except OSError as error:
        raise CommandError(f"--port {arguments.port}: {error}") from error
    message(f"live at {view.url} (Ctrl-C ends it)")
    return view


def finish(view: View | None, arguments: argparse.Namespace, linger: bool) -> None:
    """Keep the last state; on a terminal, show it until Ctrl-C."""
    if view is None:
        return
    view.end()
    if arguments.live_save:
        try:
            view.save(arguments.live_save)
        except OSError as error:
            raise CommandError(f"cannot write {arguments.live_save}: {error.strerror or error}") from error
    if linger and sys.stderr.isatty():
        message(f"the stream has ended; the page stays at {view.url} until Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


class SeriesView:
    """A page for a forecaster that is made on the way: each value is forecast, learned and shown.

    Parameters
    ----------
    arguments
        The options of the command.

    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.view: View | None = None
        self._predict: Callable[[Any], tuple[float, float, float]] | None = None

    def learn(self, model: Any, value: float, x: Any) -> None:
        """Learn the next value of the series."""
        from ..live.watching import predictor

        if self.view is None or self._predict is None:
            self.view = open_view(self.arguments, model, self.arguments.column)
            self._predict = predictor(model)
        assert self.view is not None
        began = time.perf_counter()
        found = self._predict(x)
        model.learn_one(value, x or None)
        self.view.observe(value, *found, time.perf_counter() - began)

    def foresee(self, steps: list[dict[str, Any]]) -> None:
        """Show what is forecast."""
        if self.view is not None:
            self.view.foresee(*([step[name] for step in steps] for name in ("mean", "lower", "upper")))


@contextlib.contextmanager
def series_view(arguments: argparse.Namespace) -> Iterator[SeriesView | None]:
    """A page for a series, where one is asked for; at the end it stays until Ctrl-C on a terminal."""
    shown = SeriesView(arguments) if arguments.live else None
    try:
        yield shown
        finish(None if shown is None else shown.view, arguments, linger=True)
    finally:
        if shown is not None and shown.view is not None:
            shown.view.close()
