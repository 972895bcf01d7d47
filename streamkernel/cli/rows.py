"""Rows of numbers from CSV files, Parquet files and standard input; what cannot be read is named by its place."""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from .output import CommandError


def read_rows(path: str, target: str, features: Sequence[str] | None) -> Iterator[tuple[dict[Hashable, float], float]]:
    """Features and target of every row of a CSV file, a Parquet file, or standard input (`-`, CSV)."""
    records = _parquet_records(path) if path.endswith((".parquet", ".pq")) else _csv_records(path)
    chosen: list[str] | None = None
    for number, record in enumerate(records, start=1):
        if chosen is None:
            for name in [target, *(features or [])]:
                if name not in record:
                    raise CommandError(f"{path}: no column {name!r}; it has {', '.join(record)}")
            chosen = [name for name in record if name != target] if features is None else list(features)
        x: dict[Hashable, float] = {name: _cell(path, number, name, record[name]) for name in chosen}
        yield x, _cell(path, number, target, record[target])


def _cell(path: str, row: int, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise CommandError(
            f"{path}, row {row}: column {name!r} is {value!r}, not a number; choose columns with --features"
        ) from None


def _csv_records(path: str) -> Iterator[dict[str, Any]]:
    try:
        with contextlib.nullcontext(sys.stdin) if path == "-" else open(path, newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _parquet_records(path: str) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise CommandError("Parquet files need pyarrow: pip install 'streamkernel[frames]'") from None
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=4096):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def text_records(path: str) -> Iterator[dict[str, Any]]:
    """Rows of a file as they stand there, empty ones included."""
    from ..forecasting import report

    if path.endswith((".parquet", ".pq")):
        yield from _parquet_records(path)
        return
    try:
        with contextlib.nullcontext(sys.stdin) if path == "-" else open(path, newline="", encoding="utf-8") as file:
            yield from report.text_rows(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def column_names(text: str | None) -> list[str] | None:
    """Names between commas; None where nothing was given."""
    return [name.strip() for name in text.split(",")] if text else None
