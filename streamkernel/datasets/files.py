"""A published table: found, read, encoded, and checked against what it must be."""

from __future__ import annotations

import functools
import gzip
import hashlib
import inspect
import os
import pathlib
import textwrap
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from river.datasets import base

from streamkernel.datasets import fetch, parse
from streamkernel.datasets.base import ArrayDataset, Block, Floats
from streamkernel.datasets.catalog import TABLES, Entry
from streamkernel.datasets.fetch import DatasetError, Progress, check_folder

__all__ = ["Table", "digest", "download", "load", "published"]

# Significant digits that enter the content checksum: enough to tell any two published files apart, few enough that a
# float printed by another program gives the same text.
DIGITS = 6
# Where a publisher has rounded further, column means are compared instead, to this relative tolerance.
MEAN_TOLERANCE = 1e-4


def digest(X: Floats, y: NDArray[Any]) -> str:
    """The checksum of a table's content: sha256 of its shape and of every number at `DIGITS` significant digits."""
    numbers = np.column_stack([X, y.astype(np.float64)]) + 0.0  # + 0.0: a negative zero is a zero
    text = f"{numbers.shape}" + ",".join(f"{value:.{DIGITS}g}" for value in numbers.ravel().tolist())
    return hashlib.sha256(text.encode()).hexdigest()


def _encode(entry: Entry, rows: parse.Rows) -> Block:
    """Cells to numbers: a nominal column becomes one 0/1 column per level, a class target becomes a boolean."""
    width = len(entry.columns) + 1
    if any(len(row) != width for row in rows):
        raise ValueError(f"a row has {next(len(row) for row in rows if len(row) != width)} cells instead of {width}")
    columns: list[Floats] = []
    for j, name in enumerate(entry.columns):
        cells = [row[j] for row in rows]
        if name not in entry.levels:
            columns.append(np.array(cells, dtype=np.float64))
            continue
        unknown = set(cells) - set(entry.levels[name])
        if unknown:
            raise ValueError(f"column {name} has unknown values {sorted(unknown)}")
        columns += [np.array([cell == level for cell in cells], dtype=np.float64) for level in entry.levels[name]]
    X = np.column_stack(columns) if columns else np.empty((len(rows), 0))
    targets = [row[-1] for row in rows]
    if entry.positive is not None:
        return X, np.array([target == entry.positive for target in targets])
    return X, np.array(targets, dtype=np.float64).astype(float if entry.n_classes is None else int)


def _verify(entry: Entry, X: Floats, y: NDArray[Any]) -> None:
    """ValueError unless the content is the data set the table of checksums describes."""
    if X.shape != (entry.n_samples, len(entry.features)):
        raise ValueError(f"its shape is {X.shape} instead of {(entry.n_samples, len(entry.features))}")
    if entry.digest is not None and digest(X, y) != entry.digest:
        raise ValueError(f"its content has checksum {digest(X, y)} instead of {entry.digest}")
    if entry.means is not None and not np.allclose(
        np.column_stack([X, y]).mean(axis=0), entry.means, MEAN_TOLERANCE, 0
    ):
        raise ValueError("its column means are not those of the data set")


def _finish(name: str, source: object, read: Callable[[], parse.Rows]) -> Block:
    """Read, encode and verify; whatever is wrong with the content is one DatasetError that names the source."""
    entry = TABLES[name]
    try:
        X, y = _encode(entry, read())
        _verify(entry, X, y)
    except (ValueError, IndexError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetError(f"{source}: not the {name} data, {error}") from error
    return X, y


def load(name: str, folder: pathlib.Path | None = None, progress: Progress | None = None) -> Block:
    """The (X, y) of a table, from the first place that has it: folder, installed package, cache, network."""
    entry = TABLES[name]
    folders = fetch.data_folders(folder)
    for place in folders:
        path = place / f"{name}.csv"
        if path.is_file():
            return _finish(name, path, partial(parse.table, path.read_bytes(), (*entry.columns, entry.target)))
        found = fetch.local(entry.originals, place)
        if found is not None:
            return _finish(name, place / entry.originals[0].name, partial(entry.parse, found))
    for packaged, packaged_parse in entry.packaged:
        data = packaged.read()
        if data is not None:
            return _finish(name, f"{packaged.package}/{packaged.path}", partial(packaged_parse, [data]))
    contents = [download(name, original, folders, progress) for original in entry.originals]
    try:
        return _finish(name, entry.originals[0].url, partial(entry.parse, contents))
    except DatasetError:
        for original in entry.originals:
            fetch.discard(original)  # so that the next call asks the address again
        raise


def download(name: str, original: fetch.Original, folders: Sequence[pathlib.Path], progress: Progress | None) -> bytes:
    """An original file; a failure says what was searched and what a user without a network can do."""
    try:
        return fetch.download(original, progress)
    except DatasetError as error:
        searched = ", ".join(str(place) for place in (*folders, fetch.cache_folder()))
        raise DatasetError(
            f"the {name} data could not be had from {error}; searched {searched}; "
            f"put {original.name} in a folder and pass folder= or set STREAMKERNEL_DATA"
        ) from error


class Table(ArrayDataset):
    """A published table. Nothing is read before the first row or array is asked for."""

    _name: ClassVar[str]

    def __init__(self, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> None:
        entry = TABLES[self._name]
        task, n_classes = base.REG, entry.n_classes
        if entry.positive is not None:
            task, n_classes = base.BINARY_CLF, 2
        elif n_classes is not None:
            task = base.MULTI_CLF
        super().__init__(task, len(entry.features), n_samples=entry.n_samples, n_classes=n_classes)
        self.folder = check_folder(folder)
        self.progress = progress

    @property
    def features(self) -> tuple[str, ...]:
        """The feature names, in the column order of `arrays`."""
        return TABLES[self._name].features

    @functools.cached_property
    def _table(self) -> Block:
        return load(self._name, self.folder, self.progress)

    def _blocks(self) -> Iterator[Block]:
        X, y = self._table
        yield X.copy(), y.copy()


Class = TypeVar("Class", bound=type[Table])

# What the documentation of every table says alike.
DOCUMENTATION = """\
{description}

Parameters
----------
folder
    Where to look for the data first. See `streamkernel.datasets`.
progress
    Called with (bytes so far, bytes in all or None) while a file is downloaded.

Examples
--------

>>> from streamkernel import datasets

>>> dataset = datasets.{name}()
>>> dataset.n_samples, dataset.n_features
({n_samples}, {n_features})

References
----------
{references}
"""


def published(name: str) -> Callable[[Class], Class]:
    """Make a class the table of this name in the catalog, and complete its documentation.

    Requires: the docstring says what the table holds, then has the section References. What all tables share, the
    parameters and an example, is added; river prints parts of it as the data set's `repr`.
    """

    def complete(table: Class) -> Class:
        table._name = name
        if table.__doc__:  # Python may be told to leave docstrings out
            description, references = inspect.cleandoc(table.__doc__).split("\n\nReferences\n----------\n")
            text = DOCUMENTATION.format(
                description=description,
                references=references,
                name=table.__name__,
                n_samples=TABLES[name].n_samples,
                n_features=len(TABLES[name].features),
            )
            table.__doc__ = textwrap.indent(text, "    ").strip() + "\n\n    "  # river looks for this indentation
        return table

    return complete
