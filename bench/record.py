"""CSV files that say how they came to be: the command, its runs and seeds, the versions, the commit and the date.

The first lines of a file begin with `#`; one line for each part of it that was made in a run of its own:

    # rivals: python -m bench.classes; 1 run, seed 1; streamkernel 0.1.0 at 7e1aea5 (2026-11-18); river 0.26.1; ...
    stream,samples,method,...

`write` makes them and `read` skips them; `made` gives them back.
"""

from __future__ import annotations

import csv
import datetime
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ALWAYS = ("numpy", "numba")


def provenance(command: str, runs: str, packages: Iterable[str] = ()) -> str:
    """One line: the command, runs and seeds in words, the code's version, commit and date, the packages' versions."""
    versions = [f"{name} {version}" for name in (*packages, *ALWAYS) if (version := _version(name))]
    return "; ".join(
        (
            command,
            runs,
            f"streamkernel {_version('streamkernel')} at {_commit()}",
            f"Python {platform.python_version()}",
            *versions,
        )
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit that was run, a plus where files differ from it, and today's date."""
    today = datetime.date.today().isoformat()
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "streamkernel", "bench/*.py")
    except (OSError, subprocess.CalledProcessError):
        return f"no checkout ({today})"
    return f"{commit}{'+' if changed else ''} ({today})"


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


def write(
    path: str | Path, headers: Sequence[str], rows: Iterable[Sequence[Any]], parts: Mapping[str, str] | str
) -> None:
    """Write the file, and the folder it lies in. `parts` is one provenance, or one for each part of the rows.

    None is an empty cell, floats keep every digit.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    named = {"all": parts} if isinstance(parts, str) else parts
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {part}: {line}\n" for part, line in named.items())
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows(rows)


def read(path: str | Path) -> list[dict[str, str]]:
    """The rows of a file, cells as they are; no row where there is no file."""
    if not Path(path).exists():
        return []
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def made(path: str | Path) -> dict[str, str]:
    """The provenance of each part of a file."""
    if not Path(path).exists():
        return {}
    with Path(path).open(encoding="utf-8") as file:
        lines = [line[1:].strip() for line in file if line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)
