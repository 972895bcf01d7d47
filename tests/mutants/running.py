"""Trying mutants: a copy of the checkout, and a process that has imported what all tests need and forks for each.

The copy stays where it is from one mutant to the next, so that compiled code is found in the cache again. Mutants of
the core run without the compiler, by the plain twins; where only compiled code reaches a line, everything is compiled.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time
import traceback
from typing import IO, Any

from .choosing import mode_of

NOTICED, TIMED_OUT, SURVIVED, UNTESTED = "noticed", "timed out", "survived", "untested"
LARGEST_MEMORY = 12 * 2**30
WAITING = (
    4.0  # limits are of processor time, which other processes do not change; the clock may show this many times as much
)
# Imported once, before the first fork; the package itself is not among them.
COMMON = [
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.stats",
    "scipy.special",
    "numba",
    "pandas",
    "polars",
    "sklearn.base",
    "sklearn.datasets",
    "sklearn.utils.estimator_checks",
    "pytest",
    "doctest",
    "river.checks",
    "river.compose",
    "river.conf",
    "river.datasets",
    "river.evaluate",
    "river.linear_model",
    "river.metrics",
    "river.preprocessing",
    "river.proba",
    "river.stats",
    "river.utils",
]


def copy_checkout(root: pathlib.Path, target: pathlib.Path) -> None:
    """Bring the copy up to date: files under version control and new ones, without what is ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {name for name in listed if (root / name).is_file()}
    for name in wanted:
        source, place = root / name, target / name
        if not place.exists() or place.read_bytes() != source.read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            write(place, source.read_bytes())
    for folder in ("tests", "streamkernel"):
        for place in (target / folder).rglob("*.py"):
            if place.relative_to(target).as_posix() not in wanted:
                place.unlink()


def write(path: pathlib.Path, content: bytes) -> None:
    """Write a file and forget its bytecode, which python would take for that of a text of equal length and second."""
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink()
    path.write_bytes(content)


@contextlib.contextmanager
def mutated(path: pathlib.Path, source: str) -> Any:
    """Another text in a file for a while."""
    before = path.read_bytes()
    write(path, source.encode())
    try:
        yield
    finally:
        write(path, before)


class Runner:
    """A process of one mode that runs tests in forks of itself."""

    def __init__(self, copy: pathlib.Path, mode: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.running"],
            cwd=copy,
            env=os.environ | mode_of(mode, copy),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, tests: list[str], limit: float) -> dict[str, Any]:
        """The outcome of the tests: `status` is pytest's exit code, None where time ran out; `output` its end."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"tests": tests, "limit": limit}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def serve(orders: IO[str], answers: IO[str]) -> None:
    """Read orders line by line; fork, run, answer."""
    for name in COMMON:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    log = pathlib.Path.cwd().parent / f"output-{os.getpid()}.txt"
    for line in orders:
        order = json.loads(line)
        began = time.monotonic()
        child = os.fork()
        if not child:
            _run(order["tests"], log, order["limit"])
        status = _wait(child, WAITING * order["limit"])
        output = log.read_text(errors="replace")[-3000:]
        print(json.dumps({"status": status, "output": output, "seconds": time.monotonic() - began}), file=answers)
        answers.flush()
    log.unlink(missing_ok=True)


def _run(tests: list[str], log: pathlib.Path, limit: float) -> None:
    """In the fork: run the tests and leave with pytest's exit code, or be ended after `limit` seconds of work."""
    code = 3
    try:
        os.setsid()
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(file, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        import pytest

        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--tb=short", "--no-header", *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int, limit: float) -> int | None:
    """The exit code of the fork; None where it took too long and was ended with all that it had started."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
