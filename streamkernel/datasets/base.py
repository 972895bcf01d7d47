"""What every data set shares: arrays beside iteration, seeding, and the delay embedding of a series."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.datasets import base

from streamkernel import checks

__all__ = ["BLOCK", "ArrayDataset", "Generator", "Regression", "check_count", "check_number", "embed"]

Floats = NDArray[np.float64]
Block = tuple[Floats, NDArray[Any]]

# Rows drawn at a time. The random stream is consumed block by block, so changing it changes every seeded sequence.
BLOCK = 1024


# The checks of the package, in the words of a data set.
check_number = functools.partial(checks.number, noun="a finite number")
check_count = functools.partial(checks.whole, noun="an integer")


def embed(
    series: Sequence[float] | Floats, lags: int, stride: int = 1, horizon: int = 1, pad: bool = False
) -> tuple[Floats, Floats]:
    """Delay embedding of a series: the target y(t + horizon - 1) and its lags y(t - stride), ..., y(t - lags * stride).

    Row order is time order. Column 0 is the most recent lag.

    Parameters
    ----------
    series
        The values y(0), y(1), ...
    lags
        How many past values a row holds (the embedding dimension).
    stride
        Samples between two lags (the embedding delay), and between y(t) and the most recent lag.
    horizon
        1 pairs the lags with y(t); h pairs them with the value h - 1 samples later.
    pad
        Whether the series is taken as zero before its start, so that the first target is y(horizon - 1). By default
        the rows begin where every lag exists.

    Examples
    --------

    >>> from streamkernel.datasets import embed

    >>> X, y = embed([1, 2, 3, 4, 5], lags=2)
    >>> X.tolist(), y.tolist()
    ([[2.0, 1.0], [3.0, 2.0], [4.0, 3.0]], [3.0, 4.0, 5.0])

    """
    for name, value in (("lags", lags), ("stride", stride), ("horizon", horizon)):
        check_count(name, value)
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"series must be one-dimensional, got shape {values.shape}")
    reach = lags * stride
    if pad:
        values = np.concatenate([np.zeros(reach), values])
    n_rows = max(0, len(values) - reach - horizon + 1)
    times = np.arange(n_rows)[:, None] + reach
    return values[times - stride * np.arange(1, lags + 1)], values[reach + horizon - 1 :][:n_rows]


class ArrayDataset(base.Dataset, abc.ABC):
    """A river data set whose rows come in blocks of arrays; iteration and `arrays` are two views of the same blocks."""

    def __init__(self, task: str, n_features: int, **description: Any) -> None:
        initialize: Any = super().__init__  # river's is not annotated
        initialize(task=task, n_features=n_features, **description)

    @property
    def features(self) -> tuple[Any, ...]:
        """The feature names, in the column order of `arrays`: 0, 1, ... unless the data set names its columns."""
        return tuple(range(self.n_features))

    @abc.abstractmethod
    def _blocks(self) -> Iterator[Block]:
        """The rows from the beginning, as (X, y) of any lengths."""

    def __iter__(self) -> Iterator[tuple[dict[Any, float], Any]]:
        names = self.features
        for X, y in self._blocks():
            for row, target in zip(X.tolist(), y.tolist(), strict=True):
                yield dict(zip(names, row, strict=True)), target

    def arrays(self, n: int | None = None) -> Block:
        """The first `n` rows as (X, y): X float64 with one column a feature, y one-dimensional.

        Row i is what the i-th step of the iteration yields, exactly. `n` defaults to every row, and has to be given for
        an endless generator.
        """
        if n is None and self.n_samples is None and isinstance(self, base.SyntheticDataset):
            raise ValueError(f"n must be given: {type(self).__name__} is endless")
        if n is not None:
            check_count("n", n, low=0)
        taken: list[Block] = []
        missing = math.inf if n is None else n
        for X, y in self._blocks():
            taken.append((X, y) if missing >= len(y) else (X[: int(missing)], y[: int(missing)]))
            missing -= len(taken[-1][1])
            if missing <= 0:
                break
        if n is not None and missing > 0:
            raise ValueError(f"n must be at most the {n - int(missing)} rows of {type(self).__name__}, got {n}")
        if len(taken) == 1:
            return taken[0]
        return np.concatenate([X for X, _ in taken]), np.concatenate([y for _, y in taken])


class Generator(ArrayDataset, base.SyntheticDataset, abc.ABC):
    """A seeded generator. Without a seed it draws one when created, so iterating again still gives the same rows."""

    def __init__(self, n_features: int, seed: int | None, task: str = base.REG, **description: Any) -> None:
        super().__init__(task=task, n_features=n_features, **description)
        if seed is not None:
            check_count("seed", seed, low=0)
        self.seed = seed
        self._entropy = np.random.SeedSequence(seed).entropy

    def _random(self, stream: int = 0) -> np.random.Generator:
        """The generator of one independent random stream, at its start."""
        return np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=(stream,)))


class Regression(Generator, abc.ABC):
    """Independent rows with y = mean(x) + sd(x) * e, e standard normal."""

    def __init__(self, n_features: int, noise: float, seed: int | None, **description: Any) -> None:
        super().__init__(n_features, seed, **description)
        check_number("noise", noise, low=0)
        self.noise = noise

    @abc.abstractmethod
    def _inputs(self, random: np.random.Generator, n: int) -> Floats:
        """Draw `n` rows of inputs."""

    @abc.abstractmethod
    def _mean(self, X: Floats) -> Floats:
        """The noise-free target of each row."""

    def _rows(self, X: Floats) -> Floats:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have shape (rows, {self.n_features}), got {rows.shape}")
        return rows

    def mean(self, X: Floats) -> Floats:
        """The true conditional mean of the target at each row of `X`."""
        return self._mean(self._rows(X))

    def sd(self, X: Floats) -> Floats:
        """The true conditional standard deviation of the target at each row of `X`."""
        return np.full(len(self._rows(X)), float(self.noise))

    def _blocks(self) -> Iterator[Block]:
        random = self._random()
        n = BLOCK if self.n_samples is None else self.n_samples
        while True:
            X = self._inputs(random, n)
            yield X, self.mean(X) + self.sd(X) * random.standard_normal(n)
            if self.n_samples is not None:
                return
