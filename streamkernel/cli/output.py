"""What a user sees: results, tables, progress, errors and exit codes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

Item = TypeVar("Item")

# As shells have it: 128 and the number of the signal, here Ctrl-C and a reader that went away.
OK, WRONG, INTERRUPTED, BROKEN_PIPE = 0, 2, 130, 141
SIGNALED = 128


class CommandError(Exception):
    """What the user asked for cannot be done; shown as one line."""


def message(text: str) -> None:
    """One line on standard error, if it can be written there."""
    try:
        print(f"streamkernel: {text}", file=sys.stderr, flush=True)
    except OSError:
        leave(sys.stderr)


def leave(stream: Any) -> None:
    """What is still to be written goes nowhere, so that the interpreter does not try again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Iterate with a progress bar on a terminal, quietly elsewhere."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, leave=False, file=sys.stderr)


class ReadingBar:
    """Rows read so far, on a terminal; with the time that is left where the file's size is known.

    Parameters
    ----------
    table
        What is read: it has a path, a size and a position.
    hidden
        Whether there is none, as standard output is on the same terminal.

    """

    def __init__(self, table: Any, hidden: bool = False) -> None:
        self._table = table
        self._bar: Any = None
        self._rows = 0
        if hidden or not sys.stderr.isatty():
            return
        from tqdm import tqdm

        left = "{percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"
        form = f"{{desc}} {left if table.size else '[{elapsed}]'}"
        self._bar = tqdm(
            desc=table.path, total=table.size, bar_format=form, leave=False, file=sys.stderr, dynamic_ncols=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def rows(self, items: Iterable[Item]) -> Iterable[Item]:
        """The items, counted."""
        return items if self._bar is None else self._counted(items)

    def _counted(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            self._rows += 1
            read = self._table.position() if self._table.size else 0
            self._bar.set_description_str(f"{self._table.path}: {self._rows} rows", refresh=False)
            self._bar.update(max(read - self._bar.n, 0) if self._table.size else 1)


def print_json(result: Mapping[str, Any] | Sequence[Mapping[str, Any]], file: Any = None) -> None:
    """The result as one line."""
    print(as_json(result), file=file)


def as_json(result: Any) -> str:
    """One line of JSON; what is not a finite number is null."""
    return json.dumps(plain(result), allow_nan=False)


def plain(value: Any) -> Any:
    """A value as JSON can hold it.

    Examples
    --------

    >>> from streamkernel.cli.output import plain
    >>> plain({"r2": float("nan"), "steps": [1.0, float("inf")]})
    {'r2': None, 'steps': [1.0, None]}

    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return plain(value.item()) if hasattr(value, "item") else str(value)


def print_result(result: Mapping[str, Any], as_json: bool, file: Any = None) -> None:
    """The result as one line of JSON, or as a table of what there is."""
    if as_json:
        print_json(result, file)
    else:
        rows = [[name, shown(value)] for name, value in result.items() if value is not None]
        print(table(["", "value"], rows), file=file)


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
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
