"""What a user sees: results, tables, progress, errors and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")

OK, WRONG, INTERRUPTED = 0, 2, 130


class CommandError(Exception):
    """What the user asked for cannot be done; shown as one line."""


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Iterate with a progress bar on a terminal, quietly elsewhere."""
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, disable=not sys.stderr.isatty(), leave=False, file=sys.stderr)


def print_json(result: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """The result as one line."""
    print(json.dumps(result))


def print_result(result: Mapping[str, Any], as_json: bool) -> None:
    """The result as one line of JSON, or as a table of what there is."""
    if as_json:
        print_json(result)
    else:
        print(table(["", "value"], [[name, shown(value)] for name, value in result.items() if value is not None]))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned under their headers, the first to the left and the others to the right.

    Examples
    --------

    >>> from streamkernel.cli.output import table
    >>> print(table(["model", "RMSE"], [["KRLS", "0.01"], ["linear", "0.5"]]))
    model   RMSE
    ------------
    KRLS    0.01
    linear   0.5

    """
    lines = [list(headers), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
    aligned = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    ]
    return "\n".join([aligned[0], "-" * len(aligned[0]), *aligned[1:]])


def shown(value: Any) -> str:
    """A value in a table: six digits of a number."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
