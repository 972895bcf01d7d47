"""What survives an interruption: checkpoints, the log of predictions, and a row that is never left half learned."""

from __future__ import annotations

import os
import signal
from typing import Any, Self

from ..checkpoint import Checkpointed, CheckpointError, loads
from ..session import Session
from .output import CommandError


def load_session(path: str) -> Session:
    """The session that a checkpoint holds."""
    try:
        session = loads(_read_bytes(path))
    except CheckpointError as error:
        raise CommandError(f"{path}: {error}") from error
    if not isinstance(session, Session):
        raise CommandError(f"{path}: holds a {type(session).__name__}, not a session of 'streamkernel run'")
    return session


def _read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def save(session: Checkpointed, path: str | None) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never a part."""
    if path is None:
        return
    partial = f"{path}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(session.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error}") from error


class PredictionLog:
    """row,target,prediction as CSV, if there is a path; a restart cuts off what lies beyond the checkpoint."""

    def __init__(self, path: str | None, rows: int) -> None:
        self._path, self._rows = path, rows
        self._file: Any = None

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        try:
            kept = self._kept(self._path)
            self._file = open(self._path, "w", encoding="utf-8")
            self._file.writelines(kept)
        except OSError as error:
            raise CommandError(f"cannot write {self._path}: {error}") from error
        return self

    def _kept(self, path: str) -> list[str]:
        if not self._rows:
            return ["row,target,prediction\n"]
        with open(path, encoding="utf-8") as file:
            kept = [line for _, line in zip(range(self._rows + 1), file)]
        if len(kept) != self._rows + 1:
            raise CommandError(f"{path}: has fewer rows than the checkpoint ({len(kept) - 1} of {self._rows})")
        return kept

    def __exit__(self, *exception: object) -> None:
        if self._file:
            self._file.close()

    def write(self, row: int, target: float, prediction: float) -> None:
        """Add one row."""
        if self._file:
            self._file.write(f"{row},{target!r},{prediction!r}\n")

    def flush(self) -> None:
        """Make sure that everything so far is in the file."""
        if self._file:
            self._file.flush()


class Interrupts:
    """Ctrl-C between two rows: the first is remembered, so that a row is never left half learned."""

    def __init__(self) -> None:
        self.caught = False

    def __enter__(self) -> Self:
        self._previous = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _remember(self, number: int, frame: Any) -> None:
        if self.caught:
            raise KeyboardInterrupt
        self.caught = True
