"""Which rows of a file a session knows already: a file that is continued is recognized by its beginning.

Every row has a checksum of everything up to it. A session remembers those of the first rows of its file, and that of
the row where it stopped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .output import CommandError, message
from .tables import Marked

BEGINNING = 64  # rows that a file is recognized by


class Place:
    """How far a file was read.

    Parameters
    ----------
    known
        What `state` was when the checkpoint was written, None for a new session.

    """

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        known = known or {"rows": 0, "mark": 0, "beginning": []}
        self.rows: int = known["rows"]
        self._mark: int = known["mark"]
        self._beginning: list[int] = known["beginning"]

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint remembers."""
        return {"rows": self.rows, "mark": self._mark, "beginning": self._beginning}

    def passed(self, mark: int) -> None:
        """One more row was taken."""
        self.rows += 1
        self._mark = mark
        if self.rows <= BEGINNING:
            self._beginning.append(mark)

    def restart(self) -> None:
        """What follows is another file."""
        self.rows, self._mark, self._beginning = 0, 0, []

    def unread(self, rows: Iterator[Marked], path: str) -> Iterator[Marked]:
        """The rows that were not read: all of them if the file begins otherwise than the one before.

        A row is held back only while it equals a row that is known, so that a feed is followed as it comes. A file
        without any is an error, and no other file: it may have been emptied a moment ago.
        """
        first = next(rows, None)
        if first is None:
            raise CommandError(f"{path}: no rows")
        rows = itertools.chain([first], rows)
        if not self.rows:
            yield from rows
            return
        held: list[Marked] = []
        # The last row may have been half a line: where all before it are there, it is no other file.
        for expected in self._beginning[: max(self.rows - 1, 1)]:
            row = next(rows, None)
            if row is None:
                raise CommandError(
                    f"{path} has {len(held)} rows and begins like the file of which {self.rows} rows were learned: "
                    "it was cut, and there is nothing to continue; --again learns it as a new file"
                )
            held.append(row)
            if row[0] != expected:
                self.restart()
                message(f"{path} is another file than the one before: all of its rows are new")
                yield from held
                yield from rows
                return
        last, count = held[-1][0], len(held)
        while count < self.rows and (row := next(rows, None)) is not None:
            last, count = row[0], count + 1
        if count < self.rows or last != self._mark:
            raise CommandError(
                f"{path} begins like the file of which {self.rows} rows were learned, but the rows up to there have "
                "changed since; --again learns it as a new file"
            )
        yield from rows
