"""A server for pages on this machine: one page, its events, its state. It reads request lines and headers, no more.

It listens on the loopback address alone. A request whose `Host` is another name is refused, so that a foreign page
whose name is made to point here (DNS rebinding) gets nothing; so is one that another origin sends. There are no writes.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
# Pages that are served at once; messages that may wait for one; seconds after which it is given up.
MOST_PAGES, MOST_WAITING, PATIENCE = 32, 30, 5.0
# Seconds for which the last message may still be on its way when the server closes.
LAST_WORDS = 0.5
# Nothing from elsewhere, and no page of others around ours.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Reader:
    """A page that is open: what is still to be sent to it."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
        self.dropped = False

    def put(self, message: bytes | None) -> None:
        """Send a message soon, None for the end; a reader that has not read the last ones is dropped."""
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self.dropped = True

    def next(self) -> bytes | None:
        """The next message, empty where it takes long, or None at the end."""
        with contextlib.suppress(queue.Empty):
            return self._waiting.get(timeout=PATIENCE)
        return b""


class Server:
    """Serves one page to this machine, and messages to all who have it open.

    Parameters
    ----------
    page
        The page.
    state
        Everything that a page shows, as JSON: it is sent to each that opens.
    port
        Where to listen; 0 is a free one.

    """

    def __init__(self, page: Callable[[], bytes], state: Callable[[], bytes], port: int = 0) -> None:
        self.page, self.state = page, state
        self._readers: set[Reader] = set()
        self._lock = threading.Lock()
        self.closed = threading.Event()
        handler = type("Handler", (_Handler,), {"served": self})
        self._http = _HTTP((ADDRESS, port), handler)
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.2}, name="streamkernel-live", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.port}/"

    @property
    def readers(self) -> int:
        """How many pages are open."""
        return len(self._readers)

    def publish(self, message: bytes | None) -> None:
        """Send a message to all pages, None for the end; nobody is waited for."""
        with self._lock:
            for reader in [*self._readers]:
                reader.put(message)
                if reader.dropped:
                    self._readers.discard(reader)

    def add_reader(self) -> Reader | None:
        """A new page; None where there are enough."""
        reader = Reader()
        with self._lock:
            if len(self._readers) >= MOST_PAGES:
                return None
            self._readers.add(reader)
        return reader

    def remove_reader(self, reader: Reader) -> None:
        """A page that is gone."""
        with self._lock:
            self._readers.discard(reader)

    def close(self) -> None:
        """Stop serving."""
        if not self.closed.is_set():
            self.closed.set()
            self.publish(None)
            deadline = time.monotonic() + LAST_WORDS
            while self._readers and time.monotonic() < deadline:
                time.sleep(0.01)
            self._http.shutdown()
            self._http.server_close()
            self._thread.join(PATIENCE)


class _HTTP(ThreadingHTTPServer):
    """Threads that end with the program; a page that goes away is no error."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: who reads went away."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    served: Server
    server_version, sys_version = "streamkernel", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """The page, its state, its events; nothing else."""
        if self.served.closed.is_set():  # browsers open connections ahead of time, which outlive the server
            return
        if not self._is_ours():
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"only this machine's own pages are served\n")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", self.served.page())
        elif self.path == "/state":
            self._answer(HTTPStatus.OK, "application/json", self.served.state())
        elif self.path == "/events":
            self._send_events()
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"there is nothing here; the page is at /\n")

    def _is_ours(self) -> bool:
        """Whether the request names this machine, and no page of another origin has sent it."""
        hosts = [f"{name}:{self.served.port}" for name in NAMES]
        origin = self.headers.get("Origin")
        named = self.headers.get("Host", "").lower() in hosts
        own = origin is None or origin in [f"http://{host}" for host in hosts]
        # A link from elsewhere may open the page, but no foreign page may load the numbers.
        foreign = self.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        return named and own and (self.path == "/" or not foreign)

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self) -> None:
        reader = self.served.add_reader()
        if reader is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"too many pages are open\n")
            return
        try:
            # Little is kept for a page that does not read.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self._send(self.served.state())
            while not reader.dropped and (message := reader.next()) is not None:
                self._send(message)
        except OSError:  # it went away, or did not read for too long
            pass
        finally:
            self.served.remove_reader(reader)

    def _send(self, message: bytes) -> None:
        self.wfile.write(b"data: " + message + b"\n\n" if message else b": still here\n\n")
        self.wfile.flush()

    def end_headers(self) -> None:
        """The same headers with every answer."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
