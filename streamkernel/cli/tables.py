"""Tables: the names of their columns and their rows, from CSV, Parquet and Arrow files or standard input.

A row that is not as the header says is a `BadRow`: whoever reads decides whether to stop or to leave it out.
"""

from __future__ import annotations

import csv
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from .opening import ARROW_STREAM, PARQUET, READ_ERRORS, Bytes, Lines, is_typed
from .output import CommandError

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
BATCH = 4096  # rows of a Parquet or Arrow file that are in memory at a time
MOST_SHOWN = 300  # characters of names in a message
MOST_LINES = 1000  # of one row: where every line has a quote too many, each would be read with all that follow


class BadRow(NamedTuple):
    """What is wrong with a row."""

    message: str


Marked: TypeAlias = "tuple[int, list[Any] | BadRow]"


class Table:
    """The columns and rows of a file.

    Parameters
    ----------
    path
        A file, or `-` for standard input.
    wanted
        Columns that must be there: they also tell the delimiter.
    delimiter
        None is found in the header.
    encoding
        None is found in the first bytes.

    """

    def __init__(
        self, path: str, wanted: Sequence[str] = (), delimiter: str | None = None, encoding: str | None = None
    ) -> None:
        self.path = path
        self._source = Bytes(path)
        self.size, self.position = self._source.size, self._source.position
        self.notes: list[str] = [self._source.note] if self._source.note else []
        self.typed = is_typed(self._source.head)
        try:
            if self.typed:
                self.names, self._rows = _arrow(self._source)
            else:
                self.names, self._rows = self._text(wanted, delimiter, encoding)
        except BaseException:
            self.close()
            raise
        self._check(wanted)

    def _text(
        self, wanted: Sequence[str], delimiter: str | None, encoding: str | None
    ) -> tuple[list[str], Iterator[Marked]]:
        lines = Lines(self._source, encoding)
        if lines.encoding not in ("utf-8", "utf-8-sig"):
            self.notes.append(lines.encoding)
        self._lines = rest = _Reread(lines)
        header = next((line for line in rest if line.strip()), None)
        if header is None:
            return [], iter(())
        rest.restart()
        if delimiter is None:
            delimiter = _delimiter_of(header, wanted, self.path)
            if delimiter != ",":
                self.notes.append(DELIMITERS[delimiter])
        reader = csv.reader(rest, delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            names = [name.strip() for name in next(reader)]
            rest.settle()
        except csv.Error as error:
            raise CommandError(f"{self.path}: cannot read the header: {error}") from error
        return names, _csv_rows(reader, len(names), rest)

    def _check(self, wanted: Sequence[str]) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise CommandError(f"{self.path}: two columns have the name {name!r}; rename one")
            seen.add(name)
        for name in wanted if self.names else ():
            if name not in seen:
                raise CommandError(f"{self.path}: no column {name!r}; it has {shown_names(self.names)}")

    def __iter__(self) -> Iterator[Marked]:
        """The rows, each with the checksum of everything up to it."""
        return self._rows

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


class _Reread:
    """Lines with their checksums; those of a row that turns out to be none can be read again."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._rest = lines, iter(lines)
        self._row: list[tuple[str, int]] = []
        self._again: deque[tuple[str, int]] = deque()
        self.number, self.mark = 1, 0  # of the first line of the row, counted from the header; of the last one

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self._row) >= MOST_LINES:
            raise csv.Error(f"more than {MOST_LINES} lines in one row")
        found = self._again.popleft() if self._again else (next(self._rest), self._lines.mark)
        self._row.append(found)
        self.mark = found[1]
        return found[0]

    def restart(self) -> None:
        """The last line is the first one."""
        self._again.append(self._row[-1])
        self._row.clear()

    def settle(self) -> None:
        """The row is over."""
        self.number += len(self._row)
        self._row.clear()

    def take_back(self) -> bool:
        """Let all lines of the row but its first be read again; whether there are any."""
        self._again.extendleft(reversed(self._row[1:]))
        is_long, self._row = len(self._row) > 1, self._row[:1]
        self.mark = self._row[0][1]
        return is_long


def _csv_rows(reader: Any, width: int, lines: _Reread) -> Iterator[Marked]:
    while True:
        try:
            for cells in reader:
                lines.settle()
                if len(cells) == width:
                    yield lines.mark, cells
                elif cells:
                    yield lines.mark, BadRow(f"{len(cells)} cell{'s' if len(cells) > 1 else ''} instead of {width}")
                elif width == 1:  # of one column, an empty line is an empty cell
                    yield lines.mark, [""]
        except csv.Error as error:  # the reader goes on with the next line
            number = lines.number
            message = f"{error}, line {number} of the file"
            if lines.take_back():  # it would take all rows after it along
                message = f"a quote in line {number} of the file is not closed, or closed too early: {error}"
            lines.settle()
            yield lines.mark, BadRow(message)
        else:
            return


def _delimiter_of(header: str, wanted: Sequence[str], path: str) -> str:
    """The delimiter that finds the wanted columns in the header, or else the most columns.

    Examples
    --------

    >>> from streamkernel.cli.tables import _delimiter_of
    >>> _delimiter_of("time, s;level, m;y", ["y"], "f.csv"), _delimiter_of("a|b", [], "f.csv")
    (';', '|')

    """
    found = {mark: names for mark in DELIMITERS if (names := _split(header, mark))}
    fitting = {mark: names for mark, names in found.items() if set(wanted) <= set(names)} if wanted else found
    counts = {mark: len(names) for mark, names in (fitting or found).items()}
    most = max(counts.values(), default=1)
    if most == 1:
        return ","
    best = [mark for mark, count in counts.items() if count == most]
    if len(best) > 1:
        kinds = " or ".join(DELIMITERS[mark] for mark in best)
        raise CommandError(f"{path}: columns are separated by {kinds}; say which with --delimiter")
    return best[0]


def _split(header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        return []


def _arrow(source: Bytes) -> tuple[list[str], Iterator[Marked]]:
    """The columns and rows of a Parquet or Arrow file; only an Arrow stream can come through a pipe."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise CommandError("Parquet and Arrow files need pyarrow: pip install 'streamkernel[frames]'") from None
    stream = source.head.startswith(ARROW_STREAM)
    if not stream and (source.path == "-" or source.note):
        raise CommandError(f"{source.path}: Parquet and Arrow files cannot come through a pipe: give the file itself")
    try:
        if stream:
            batches: Any = pyarrow.ipc.open_stream(source.file)
            return batches.schema.names, _arrow_rows(iter(batches), source.path)
        if source.head.startswith(PARQUET):
            file = parquet.ParquetFile(source.path)
            return file.schema_arrow.names, _arrow_rows(file.iter_batches(batch_size=BATCH), source.path)
        reader = pyarrow.ipc.open_file(pyarrow.OSFile(source.path))
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        return reader.schema.names, _arrow_rows(batches, source.path)
    except READ_ERRORS as error:
        raise CommandError(f"cannot read {source.path}: {error}") from error


def _arrow_rows(batches: Iterator[Any], path: str) -> Iterator[Marked]:
    mark = 0
    try:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH):
                columns = [column.to_pylist() for column in batch.slice(start, BATCH).columns]
                for row in map(list, zip(*columns, strict=True)):
                    mark = zlib.crc32(repr(row).encode("utf-8", "surrogatepass"), mark)
                    yield mark, row
    except READ_ERRORS as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def shown_names(names: Sequence[str]) -> str:
    """Names in a message, cut where there are too many."""
    text = ", ".join(name if name.isprintable() and name else repr(name) for name in names)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."
