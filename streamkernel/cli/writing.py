"""Files that are written: what can be known at the start is checked there, and nothing is ever left half written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import Any, Self

from ..checkpoint import Checkpointed, write
from .output import CommandError

PENDING = 1 << 16  # characters of predictions that wait before they are written
BLOCK = 1 << 20


def check_outputs(outputs: dict[str, str | None], inputs: dict[str, str | None]) -> None:
    """Refuse outputs that are an input, or each other, also through links, and those that cannot be written.

    Both are options with their paths; nothing is changed.
    """
    seen = {option: path for option, path in inputs.items() if path is not None and path != "-"}
    if lock := outputs.get("--save"):
        seen["the lock of --save"] = _lock_of(lock)
    for option, path in outputs.items():
        if path is None or (path == "-" and option == "--predictions"):
            continue
        if _is_standard_output(path):
            raise CommandError(f"{option} {path} is standard output, where the result goes: give another name, or -")
        for other, its_path in seen.items():
            if _same(path, its_path):
                raise CommandError(f"{option} {path} would overwrite {other} {its_path}: give another name")
        seen[option] = path
        _check_writable(option, path)


def _same(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    with contextlib.suppress(OSError):
        # A terminal or a null device may be many things at once.
        return os.path.samefile(one, other) and stat.S_ISREG(os.stat(one).st_mode)
    return False


def _is_standard_output(path: str) -> bool:
    """Whether a path is the file or the pipe behind standard output, which would be written from two ends."""
    with contextlib.suppress(OSError):
        there = os.stat(path)
        return os.path.samestat(there, os.fstat(1)) and not stat.S_ISCHR(there.st_mode)
    return False


def _check_writable(option: str, path: str) -> None:
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        existed = os.path.exists(path)
        if existed and not os.path.isfile(path):
            if option == "--save":
                raise CommandError(f"--save {path}: not a regular file")
            return  # whoever reads a pipe takes the end of a trial for the end of all
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666))
        if not existed:
            os.remove(os.path.realpath(path))
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error


def save(model: Checkpointed, path: str | None) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never a part."""
    if path is None:
        return
    try:
        write(path, model.to_bytes())
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error


@contextlib.contextmanager
def locked(path: str | None) -> Iterator[None]:
    """Hold a checkpoint for this process: a second one that would write it is refused at the start."""
    if path is None:
        yield
        return
    name = _lock_of(path)
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    while True:
        try:
            lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise CommandError(f"cannot write {name}: {error.strerror or error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise CommandError(f"{path} is in use by another run: wait for it, or give another --save") from None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(lock), os.stat(name)):
                break
        os.close(lock)  # whoever held it has removed the file meanwhile
    if os.fstat(lock).st_size:  # not by the name, which another run may remove until here
        os.close(lock)
        raise CommandError(f"{name} is not a lock of a run, which is empty: move it, or give another --save")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.remove(name)
        os.close(lock)


def _lock_of(path: str) -> str:
    return f"{os.path.realpath(path)}.lock"


class PredictionLog:
    """Lines of predictions in a file or on standard output, in step with the checkpoint.

    A checkpoint remembers how many bytes of the file belong to it. A restart cuts off what lies beyond them, so that
    the file is at the end what it would have been without the interruption. What another file held stays until
    the first line is written, and the header waits for it: a run that ends before it destroys nothing.

    Parameters
    ----------
    path
        The file, `-` for standard output, None for nothing.
    header
        The names of the columns, None where there is no such line.
    known
        What `state` was when the checkpoint was written, None for a new file.
    live
        Whether every line is written at once.

    """

    def __init__(self, path: str | None, header: str | None, known: dict[str, Any] | None, live: bool) -> None:
        self.path = path
        self._header = f"{header}\n" if header else ""
        self._known = known
        self._live = live or path == "-"
        self._pending: list[str] = []
        self._length = 0
        self._file: Any = None
        self.begins = False  # a file of its own
        self.bytes = 0
        self._mark = 0

    def __enter__(self) -> Self:
        if self.path is None or self.path == "-":
            self._pending.append(self._header)
            return self
        try:
            self._find_end(self.path)
            self._file = open(self.path, "wb", buffering=0, opener=_open_as_it_is)
            self._regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
            self.begins = not self.bytes
            waiting = self._known["pending"] if self._known else ""
            if self.bytes:
                self._file.truncate(self.bytes)
                self._file.seek(self.bytes)
            elif not waiting.startswith(self._header):
                self._pending.append(self._header)
            self._pending.append(waiting)
        except OSError as error:
            raise CommandError(f"cannot write {self.path}: {error.strerror or error}") from error
        return self

    def _find_end(self, path: str) -> None:
        """Go on after the bytes that are known, if there is a file; an error if it is another one."""
        if self._known is None or not os.path.exists(path) or not os.path.getsize(path):
            return
        known, waiting = int(self._known["bytes"]), self._known["pending"].encode()
        left, mark = known, 0
        with open(path, "rb") as file:
            while left and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                mark = zlib.crc32(block, mark)
            # No bytes tell no file: it is ours only if a run ended after these lines and before its checkpoint.
            ours = bool(known) or waiting.startswith(file.read(len(waiting) + 1))
        if left or mark != self._known["mark"] or not ours:
            raise CommandError(f"{path} is not the file of the predictions before: remove it, or give another name")
        self.bytes, self._mark = known, mark

    def __exit__(self, *exception: object) -> None:
        if self._file:
            self._file.close()

    @property
    def active(self) -> bool:
        """Whether there is anything to write to."""
        return self.path is not None

    def add(self, line: str) -> None:
        """Add a line; it is written when there are enough of them."""
        self._pending.append(line)
        self._length += len(line)
        if self._live or self._length > PENDING:
            self.flush()

    def flush(self, to_disk: bool = False) -> None:
        """Write what waits; where that fails it goes on waiting, and the file has whole lines."""
        if self.path == "-":
            _write_out("".join(self._pending))
        elif self._file:
            data = "".join(self._pending).encode()
            try:
                if self._regular and not self.bytes:
                    self._file.truncate(0)
                written = 0
                while written < len(data):
                    written += self._file.write(data[written:])
                if to_disk and self._regular:
                    os.fsync(self._file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    self._file.truncate(self.bytes)
                raise
            self.bytes += len(data)
            self._mark = zlib.crc32(data, self._mark)
        self._pending.clear()
        self._length = 0

    @property
    def state(self) -> dict[str, Any] | None:
        """What a checkpoint remembers: the bytes, their checksum, and lines that could not be written."""
        if not self._file:
            return None
        return {"bytes": self.bytes, "mark": self._mark, "pending": "".join(self._pending)}


def _open_as_it_is(path: str, flags: int) -> int:
    """A descriptor for writing that leaves what the file holds."""
    return os.open(path, flags & ~os.O_TRUNC, 0o666)


def _write_out(text: str) -> None:
    """To standard output; what its encoding does not have is an error, as another text would be wrong."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError as error:
        reason = f"{error.encoding} has no {text[error.start]!r}; PYTHONIOENCODING=utf-8 or a file has"
        raise OSError(errno.EILSEQ, reason) from error
    sys.stdout.write(text)
    sys.stdout.flush()
