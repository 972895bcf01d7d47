"""The view itself: rows in, a page out."""

from __future__ import annotations

import json
import math
import pathlib
import threading
import time
from collections import deque
from collections.abc import Iterable
from importlib import resources
from typing import Any

from .. import checks
from ..deprecation import formerly
from ..distributions import LEVEL, check_level
from . import facts
from .record import ROLLING, Record, Row, columns
from .server import Server

# Seconds between two messages to open pages, and between two readings of the model where no page is open.
PACE, SLOW_PACE = 0.1, 1.0
# A message, or a reading of the model, that took t seconds is followed by at least t times this without one: what it
# costs the stream stays below a twentieth.
REST = 40.0
# Rows in one message; of more, the newest.
MOST_SENT = 1000


class View:
    """A page on this machine that shows a stream while it is learned.

    It is served at `url` from the moment of its making, to this machine alone, by a thread of the standard library's
    server. Memory is bounded: the newest 5000 rows are kept as they are, the others as sums. A page that reads slowly
    is dropped and not waited for.

    Parameters
    ----------
    model
        The model that learns, or a pipeline that ends in one: its dictionary, experts, relevances, drifts and tunings
        are shown where it has them. None shows the rows alone.
    title
        What the page calls the stream.
    port
        Where to listen, on 127.0.0.1; 0 is a free port.
    confidence_level
        The probability of the band.

    Examples
    --------

    >>> from streamkernel import KRLS, datasets, live
    >>> model = KRLS(ridge=0.1)
    >>> with live.View(model, title="sinc") as view:
    ...     for x, y in datasets.SincLinear(seed=1).take(300):
    ...         mean, variance = model.predict_moments(x)
    ...         model.learn_one(x, y)
    ...         view.observe(y, mean, mean - 1.645 * variance**0.5, mean + 1.645 * variance**0.5)
    ...     view.url
    'http://127.0.0.1:...'
    >>> view.numbers()["rows"], view.numbers()["size"] == model.size
    (300, True)

    """

    @formerly(level="confidence_level")
    def __init__(self, model: Any = None, title: str = "", port: int = 0, confidence_level: float = LEVEL) -> None:
        checks.number("port", port, low=0, high=65535)
        check_level(confidence_level)
        self._level = confidence_level
        self._model = None if model is None else facts.innermost(model)
        self._title = title or ("" if model is None else type(self._model).__name__)
        self._size = facts.reader_of(self._model, "size")
        self._kinds = {k: r for k, name in facts.KINDS.items() if (r := facts.reader_of(self._model, name)) is not None}
        self._known = {kind: _last(read()) for kind, read in self._kinds.items()}
        self._record = Record(self._kinds)
        self._lock = threading.Lock()
        self._ended = False
        self._ahead: list[Row] = []
        self._run = time.time_ns()  # tells pages that the stream is another than before
        self._sent = 0, 0, 1  # rows, bins, rows of a bin
        self._began = self._newest = time.perf_counter()
        self._due, self._relevance_due = 0.0, 0.0
        self._paces: deque[tuple[float, int]] = deque([(self._began, 0)], maxlen=20)
        self._weights: dict[str, float] = {}
        self._relevance: dict[str, float] = {}
        try:
            self._server = Server(self._page, self._state, port)
        except OSError as error:
            raise OSError(f"port {port} of 127.0.0.1 cannot be listened on: {error.strerror or error}") from error
        threading.Thread(target=self._publish, name="streamkernel-live-news", daemon=True).start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return self._server.url

    @property
    def pages(self) -> int:
        """How many pages are open now."""
        return self._server.readers

    def observe(
        self,
        y: float,
        prediction: float,
        lower: float = math.nan,
        upper: float = math.nan,
        seconds: float = math.nan,
    ) -> None:
        """Show one more row.

        Call it from the thread in which the model learns, after the row was learned.

        Parameters
        ----------
        y
            The target; NaN is a gap.
        prediction
            Made before the row was learned.
        lower, upper
            The ends of its interval.
        seconds
            What predicting and learning the row took.

        """
        size = 0 if self._size is None else self._size()
        with self._lock:
            self._record.append(Row(y, prediction, lower, upper), size, seconds)
            for kind, read in self._kinds.items():
                newest = _last(read())
                if newest != self._known[kind]:
                    self._known[kind] = newest
                    self._record.mark(kind)
        self._newest = time.perf_counter()
        if self._newest >= self._due:
            self._read_model()

    def foresee(self, means: Iterable[float], lower: Iterable[float], upper: Iterable[float]) -> None:
        """Show what is forecast to follow the newest row."""
        ahead = [Row(math.nan, m, low, high) for m, low, high in zip(means, lower, upper, strict=True)]
        with self._lock:
            self._ahead = ahead

    def numbers(self) -> dict[str, Any]:
        """What the page says in numbers: errors, coverage, size, step times, rows a second."""
        with self._lock:
            found = self._record.numbers()
            now = self._newest if self._ended else time.perf_counter()
            (then, before) = self._paces[0]
        if self._size is None:
            found["size"] = None  # a model without a dictionary, as far as can be seen
        found["limit"] = None if self._model is None else facts.limit(self._model)
        found["rate"] = (found["rows"] - before) / (now - then) if now > then else None
        found["idle"] = now - self._newest
        return found

    def end(self) -> None:
        """Say that no more rows come. Pages keep what they show."""
        if not self._ended:
            self._read_model(everything=True)
            self._paces = deque([(self._began, 0)])  # the rate is that of the whole stream then
            self._ended = True
            self._server.publish(self._state())

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page as one file that opens without a server."""
        self._read_model(everything=True)
        pathlib.Path(path).write_bytes(_page(self._state()))

    def close(self) -> None:
        """End, and stop serving."""
        self.end()
        self._server.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # What is read from the model, in the stream's own thread ---------------------------------------------------------

    def _read_model(self, everything: bool = False) -> None:
        """Read what takes longer than a row may, as often as it may."""
        began = time.perf_counter()
        self._paces.append((began, self._record.count))
        if self._model is not None:
            self._weights = facts.weights(self._model)
            if everything or began >= self._relevance_due:
                self._relevance = facts.relevances(self._model)
                self._relevance_due = self._after(began, SLOW_PACE)
        self._due = self._after(began, PACE if self._server.readers else SLOW_PACE)

    def _after(self, began: float, pace: float) -> float:
        """When to go on: after the pace, or later where it took long."""
        now = time.perf_counter()
        return now + max(pace, REST * (now - began))

    # What is sent ----------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Send news while pages are open."""
        wait = PACE
        while not self._server.closed.wait(wait):
            if self._server.readers:
                began = time.perf_counter()
                self._server.publish(self._news())
                wait = self._after(began, PACE) - time.perf_counter()
            else:
                wait = PACE

    def _news(self) -> bytes:
        """What has come since the last message."""
        with self._lock:
            rows, bins, span = self._sent
            first = bins if span == self._record.span else 0
            self._sent = self._record.count, max(0, len(self._record.bins) - 1), self._record.span
            message = self._message(max(rows, self._record.count - MOST_SENT), first)
        return _json(message | {"numbers": self.numbers()})

    def _state(self) -> bytes:
        """Everything."""
        with self._lock:
            message = self._message(0, 0)
        fixed = {"title": self._title, "rolling": ROLLING, "level": self._level}
        return _json(message | fixed | {"numbers": self.numbers()})

    def _message(self, rows: int, bins: int) -> dict[str, Any]:
        """Rows and bins from these on, and everything that is short."""
        record = self._record
        new = record.rows_since(rows)
        return {
            "run": self._run,
            "ended": self._ended,
            "first": record.count - len(new),
            "rows": columns(new),
            "span": record.span,
            "from": bins,
            "bins": [one.numbers() for one in record.bins[bins:]],
            "marks": {kind: list(marks) for kind, marks in record.marks.items()},
            "weights": [*self._weights.items()],
            "relevance": [*self._relevance.items()],
            "ahead": columns(self._ahead),
        }

    def _page(self) -> bytes:
        return _page(b"null")


def _last(marks: Any) -> Any:
    return marks[-1] if marks else None


def _page(state: bytes) -> bytes:
    """The page as one file, with the state in it."""
    folder = resources.files(__package__) / "page"
    page = (folder / "page.html").read_bytes()
    parts = {b"/*style*/": (folder / "page.css").read_bytes(), b"/*state*/": state.replace(b"<", b"\\u003c")}
    parts[b"/*script*/"] = b"\n".join((folder / name).read_bytes() for name in ("charts.js", "page.js"))
    for place, part in parts.items():
        page = page.replace(place, part)
    return page


def _json(message: dict[str, Any]) -> bytes:
    """As JSON, in which a number that is not finite is null."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return json.dumps(_finite(message), allow_nan=False, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value
