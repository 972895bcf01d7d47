"""The formats data sets are published in, each read to rows of text cells: the features, then the target."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamkernel.datasets.fetch import LARGEST

__all__ = ["Delimited", "Parser", "arff", "libsvm", "npy_series", "ripley", "table"]

Rows = list[list[str]]
Parser = Callable[[Sequence[bytes]], Rows]

MISSING = "?"


def _text(data: bytes) -> str:
    """The text of a file, gzipped or not."""
    if data.startswith(b"\x1f\x8b"):
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"it unpacks to more than {LARGEST} bytes")
    return data.decode("utf-8-sig")


def table(data: bytes, names: Sequence[str]) -> Rows:
    """A CSV file with a header: the named columns, in that order."""
    reader = csv.DictReader(io.StringIO(_text(data)))
    absent = [name for name in names if name not in (reader.fieldnames or ())]
    if absent:
        raise ValueError(f"no column {', '.join(absent)}")
    return [[row[name] for name in names] for row in reader]


@dataclass(frozen=True)
class Delimited:
    """A delimited text file, gzipped or not: `order` picks the columns, features first and target last.

    Rows with a missing cell anywhere are left out. A delimiter of None is any white space.
    """

    order: tuple[int, ...]
    delimiter: str | None = ","
    header: bool = False

    def __call__(self, files: Sequence[bytes]) -> Rows:
        """The rows of the file, its columns in the wanted order."""
        (data,) = files
        lines = [line for line in _text(data).splitlines() if line.strip()][int(self.header) :]
        rows = csv.reader(lines, delimiter=self.delimiter) if self.delimiter else (line.split() for line in lines)
        return [[row[i].strip() for i in self.order] for row in rows if MISSING not in map(str.strip, row)]


def libsvm(files: Sequence[bytes]) -> Rows:
    """The sparse text format "target 1:value 3:value ...": what a row leaves out is zero."""
    (data,) = files
    lines = [line.split() for line in _text(data).splitlines() if line.strip()]
    cells = [{int(key): value for key, value in (pair.split(":") for pair in line[1:])} for line in lines]
    width = max((max(row, default=0) for row in cells), default=0)
    return [[row.get(i, "0") for i in range(1, width + 1)] + [line[0]] for row, line in zip(cells, lines, strict=True)]


def arff(files: Sequence[bytes]) -> Rows:
    """Weka's ARFF with the target last: the lines after @data."""
    (data,) = files
    lines = [line for line in _text(data).splitlines() if line.strip() and not line.startswith("%")]
    start = next((i for i, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if start is None:
        raise ValueError("no @data line")
    return [[cell.strip() for cell in row] for row in csv.reader(lines[start + 1 :], quotechar="'")]


def npy_series(files: Sequence[bytes]) -> Rows:
    """A series in numpy's array format: no features, only the target."""
    (data,) = files
    return [[str(value)] for value in np.load(io.BytesIO(data), allow_pickle=False).ravel().tolist()]


def ripley(files: Sequence[bytes]) -> Rows:
    """Ripley's training and test files, one after the other, each with a header line."""
    return [row for data in files for row in Delimited((0, 1, 2), delimiter=None, header=True)([data])]
