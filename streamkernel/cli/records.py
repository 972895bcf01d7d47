"""Rows as dictionaries of what stands in them, empty cells included, for commands that hold a whole table."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .output import CommandError, ReadingBar, message
from .tables import BadRow, Table


def read_records(arguments: argparse.Namespace, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the file that the options name; these columns must be there."""
    path = arguments.file
    with (
        contextlib.closing(Table(path, wanted, arguments.delimiter, arguments.encoding)) as table,
        ReadingBar(table) as bar,
    ):
        if table.notes:
            message(f"{path}: {', '.join(table.notes)}")
        for number, (_, row) in enumerate(bar.rows(table), start=1):
            if isinstance(row, BadRow):
                raise CommandError(f"{path}, row {number}: {row.message}")
            yield dict(zip(table.names, row, strict=True))
