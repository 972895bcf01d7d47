"""Raetsch's collection of two-class benchmarks: one archive, with the splits that published results are means over."""

from __future__ import annotations

import functools
import importlib
import io
import os
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.datasets import base

from streamkernel.datasets import fetch
from streamkernel.datasets.base import ArrayDataset, Block
from streamkernel.datasets.fetch import DatasetError, Original, Progress, check_folder
from streamkernel.datasets.files import download

__all__ = ["Raetsch"]


@dataclass(frozen=True)
class Benchmark:
    """The sizes of one benchmark. Its number of rows is not fixed: sources differ in how they treat duplicate rows."""

    n_features: int
    n_train: int
    n_test: int


# Its checksum is published by another open project.
ARCHIVE = Original(
    "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat",
    "benchmarks.mat",
    "47c19e4bc4716edc4077cfa5ea61edf4d02af4ec51a0ecfe035626ae8b561c75",
)

BENCHMARKS = {
    "banana": Benchmark(2, 400, 4900),
    "breast_cancer": Benchmark(9, 200, 77),
    "diabetis": Benchmark(8, 468, 300),
    "flare_solar": Benchmark(9, 666, 400),
    "german": Benchmark(20, 700, 300),
    "heart": Benchmark(13, 170, 100),
    "image": Benchmark(18, 1300, 1010),
    "ringnorm": Benchmark(20, 400, 7000),
    "splice": Benchmark(60, 1000, 2175),
    "synthetic": Benchmark(2, 250, 1000),
    "thyroid": Benchmark(5, 140, 75),
    "titanic": Benchmark(3, 150, 2051),
    "twonorm": Benchmark(20, 400, 7000),
    "waveform": Benchmark(21, 400, 4600),
}

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


class Raetsch(ArrayDataset):
    """A two-class benchmark of Raetsch's collection, with its training and test splits.

    The target is True for the class +1. Published results are means over the official splits (realizations). A data
    folder may hold only some of them, completed by random partitions of the same sizes: `splits` gives each kind
    apart, and results on them should be reported apart. The downloaded archive has official splits only, and no
    "synthetic" (see `Ripley`); the order and number of its rows need not be those of a data folder, so row
    numbers belong to one source.

    Parameters
    ----------
    name
        One of `Raetsch.names`.
    folder
        Where to look for the data first: `raetsch/NAME.npz`, or `benchmarks.mat`. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> datasets.Raetsch("banana").n_features
    2

    References
    ----------
    [^1]: Raetsch, G., Onoda, T. and Mueller, K.R., 2001. Soft margins for AdaBoost. Machine Learning, 42(3).
    [^2]: Diethe, T., 2015. 13 benchmark datasets derived from the UCI, DELVE and STATLOG repositories.
    doi:10.5281/zenodo.18110

    """

    names = tuple(BENCHMARKS)

    def __init__(
        self, name: str, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> None:
        if name not in BENCHMARKS:
            raise ValueError(f"name must be one of {', '.join(BENCHMARKS)}, got {name!r}")
        super().__init__(task=base.BINARY_CLF, n_features=BENCHMARKS[name].n_features, n_classes=2)
        self.name = name
        self.folder = check_folder(folder)
        self.progress = progress

    @functools.cached_property
    def _content(self) -> dict[str, NDArray[Any]]:
        """X, y in {-1, +1}, and the index arrays, one row per split."""
        folders = fetch.data_folders(self.folder)
        for place in folders:
            path = place / "raetsch" / f"{self.name}.npz"
            if path.is_file():
                return self._checked(path, partial(self._from_npz, path))
            found = fetch.local((ARCHIVE,), place)
            if found is not None:
                return self._checked(place / ARCHIVE.name, partial(self._from_archive, found[0]))
        if self.name == "synthetic":
            searched = ", ".join(map(str, folders)) or "no folder"
            raise DatasetError(f"raetsch/synthetic.npz is in no data folder (searched {searched}); see Ripley")
        archive = download(f"Raetsch {self.name}", ARCHIVE, folders, self.progress)
        return self._checked(ARCHIVE.url, partial(self._from_archive, archive))

    @staticmethod
    def _from_npz(path: pathlib.Path) -> dict[str, NDArray[Any]]:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    def _from_archive(self, data: bytes) -> dict[str, NDArray[Any]]:
        record = importlib.import_module("scipy.io").loadmat(io.BytesIO(data))[self.name][0, 0]
        X, y, train, test = (np.asarray(record[i]) for i in range(4))
        # MATLAB counts from 1.
        return {"X": X, "y": y.ravel(), "train_idx": train.astype(np.int64) - 1, "test_idx": test.astype(np.int64) - 1}

    def _checked(self, source: object, read: Callable[[], dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
        shape = BENCHMARKS[self.name]
        try:
            content = read()
            X, y = content["X"], content["y"]
            if X.ndim != 2 or X.shape[1] != shape.n_features or len(y) != len(X):
                raise ValueError(f"its shape is {X.shape} instead of {len(y)} rows of {shape.n_features}")
            if set(np.unique(y).tolist()) != {-1, 1}:
                raise ValueError("its classes are not -1 and +1")
            sizes = content["train_idx"].shape[1], content["test_idx"].shape[1]
            if sizes != (shape.n_train, shape.n_test):
                raise ValueError(f"its splits have {sizes} rows instead of {(shape.n_train, shape.n_test)}")
            for name, indices in content.items():
                if name.endswith("_idx") and indices.size and not 0 <= indices.min() <= indices.max() < len(X):
                    raise ValueError(f"{name} names rows it does not have")
        except (ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise DatasetError(f"{source}: not the Raetsch {self.name} data, {error}") from error
        return content

    def splits(self, kind: str = "official") -> list[Split]:
        """The (training rows, test rows) of every split of a kind: "official" or "generated". May be empty."""
        prefixes = {"official": "", "generated": "gen_"}
        if kind not in prefixes:
            raise ValueError(f"kind must be 'official' or 'generated', got {kind!r}")
        train, test = (self._content.get(f"{prefixes[kind]}{part}_idx", np.empty((0, 0))) for part in ("train", "test"))
        return [(a.astype(np.int64), b.astype(np.int64)) for a, b in zip(train, test, strict=True)]

    @property
    def realizations(self) -> tuple[int, ...]:
        """The number, in the collection, of each official split."""
        numbers = self._content.get("realisation")
        return tuple(range(1, len(self.splits()) + 1)) if numbers is None else tuple(numbers.tolist())

    def _blocks(self) -> Iterator[Block]:
        yield self._content["X"].astype(np.float64), self._content["y"] > 0
