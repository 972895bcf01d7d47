"""Checkpoints that are read: the session of a run, or a model that was saved from Python."""

from __future__ import annotations

from typing import Any

from ..checkpoint import CheckpointError, loads
from ..session import Session
from .output import CommandError


def read_checkpoint(path: str) -> tuple[Any, int]:
    """What a checkpoint holds, and its size in bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        return loads(data), len(data)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from error
    except CheckpointError as error:
        raise CommandError(f"{path}: {error}") from error


def load_session(path: str) -> Session:
    """The session that a checkpoint holds."""
    session, _ = read_checkpoint(path)
    if not isinstance(session, Session):
        raise CommandError(f"{path}: holds a {type(session).__name__}, not a session of 'streamkernel run'")
    return session
