"""The published tables, one class each."""

from __future__ import annotations

import functools
import importlib
import io
import os
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river.datasets import base

from streamkernel.datasets import fetch
from streamkernel.datasets.base import ArrayDataset, Block
from streamkernel.datasets.catalog import RAETSCH, RAETSCH_ARCHIVE
from streamkernel.datasets.fetch import DatasetError, Progress, check_folder
from streamkernel.datasets.files import Table, download

__all__ = [
    "MG",
    "WPBC",
    "Abalone",
    "AutoMPG",
    "AutoPrice",
    "BostonHousing",
    "CPUPerformance",
    "CompActiv",
    "Concrete",
    "Digits",
    "GermanCredit",
    "LiverDisorders",
    "PimaDiabetes",
    "Raetsch",
    "Ripley",
    "Servo",
    "SpaceGA",
    "WineRed",
    "WineWhite",
]


class Abalone(Table):
    """The age of abalone (rings) from eight measurements.

    The nominal sex (F, I, M) is three 0/1 features, so there are ten.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.Abalone()
    >>> dataset.n_samples, dataset.n_features
    (4177, 10)

    References
    ----------
    [^1]: [Abalone, UCI 1](https://archive.ics.uci.edu/dataset/1/abalone)

    """

    _name = "abalone"


class AutoMPG(Table):
    """Miles per gallon of 392 cars from seven attributes.

    The six cars of the original 398 without a known horsepower are left out. The origin stays a number.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.AutoMPG()
    >>> dataset.n_samples, dataset.n_features
    (392, 7)

    References
    ----------
    [^1]: [Auto MPG, UCI 9](https://archive.ics.uci.edu/dataset/9/auto+mpg)

    """

    _name = "auto-mpg"


class AutoPrice(Table):
    """The price of 159 cars of 1985 from fifteen numeric attributes.

    The complete rows of the original 205, without its nominal columns.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.AutoPrice()
    >>> dataset.n_samples, dataset.n_features
    (159, 15)

    References
    ----------
    [^1]: [Automobile, UCI 10](https://archive.ics.uci.edu/dataset/10/automobile)

    """

    _name = "auto-price"


class BostonHousing(Table):
    """The median value of homes in 506 tracts of Boston, in 1000 dollars.

    Kept because the papers report on it. The feature B is a transform of the share of Black residents and assumes that
    segregation has a price; do not use the set for anything but a comparison with published figures.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.BostonHousing()
    >>> dataset.n_samples, dataset.n_features
    (506, 13)

    References
    ----------
    [^1]: Harrison, D. and Rubinfeld, D.L., 1978. Hedonic housing prices and the demand for clean air. Journal of
    Environmental Economics and Management, 5, pp.81-102.

    """

    _name = "boston"


class CompActiv(Table):
    """The share of time a computer's processors run in user mode, from twelve measures of activity.

    Delve's Comp-activ in its cpuSmall form.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.CompActiv()
    >>> dataset.n_samples, dataset.n_features
    (8192, 12)

    References
    ----------
    [^1]: [cpusmall, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """

    _name = "cpu-small"


class Concrete(Table):
    """The compressive strength of concrete from its seven ingredients and its age.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.Concrete()
    >>> dataset.n_samples, dataset.n_features
    (1030, 8)

    References
    ----------
    [^1]: [Concrete Compressive Strength, UCI 165](https://archive.ics.uci.edu/dataset/165)

    """

    _name = "concrete"


class CPUPerformance(Table):
    """The relative performance of 209 processors from six characteristics.

    The vendor and the model name are left out, and so is the published estimate.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.CPUPerformance()
    >>> dataset.n_samples, dataset.n_features
    (209, 6)

    References
    ----------
    [^1]: [Computer Hardware, UCI 29](https://archive.ics.uci.edu/dataset/29/computer+hardware)

    """

    _name = "cpu-performance"


class GermanCredit(Table):
    """Good and bad credit risks: the target is True for a bad one.

    Seven numeric attributes and thirteen nominal ones, each of which is one 0/1 feature per level, named
    `attribute_level`.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.GermanCredit()
    >>> dataset.n_samples, dataset.n_features
    (1000, 61)

    References
    ----------
    [^1]: [Statlog (German Credit Data), UCI 144](https://archive.ics.uci.edu/dataset/144)

    """

    _name = "german-credit"


class LiverDisorders(Table):
    """The BUPA liver data: five blood tests and the daily drinks; the target is True for selector 2.

    The selector is what papers classify, as here. Its donors made it to split the rows into training and test: it is
    not a diagnosis.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.LiverDisorders()
    >>> dataset.n_samples, dataset.n_features
    (345, 6)

    References
    ----------
    [^1]: [Liver Disorders, UCI 60](https://archive.ics.uci.edu/dataset/60/liver+disorders)

    """

    _name = "liver-disorders"


class MG(Table):
    """A Mackey-Glass series embedded in six dimensions, as LIBSVM distributes it.

    For a series of any length see `MackeyGlass`.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.MG()
    >>> dataset.n_samples, dataset.n_features
    (1385, 6)

    References
    ----------
    [^1]: [mg, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """

    _name = "mg"


class PimaDiabetes(Table):
    """Diabetes among 768 Pima women from eight attributes: the target is True for a positive test.

    Some attributes are 0 where the value was not measured, as in the original.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.PimaDiabetes()
    >>> dataset.n_samples, dataset.n_features
    (768, 8)

    References
    ----------
    [^1]: [diabetes, OpenML 37](https://www.openml.org/d/37)

    """

    _name = "pima-diabetes"


class Servo(Table):
    """The rise time of a servomechanism from two gains and two nominal choices.

    The motor and the screw (A to E) are five 0/1 features each, so there are twelve. The target is in seconds.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.Servo()
    >>> dataset.n_samples, dataset.n_features
    (167, 12)

    References
    ----------
    [^1]: [Servo, UCI 87](https://archive.ics.uci.edu/dataset/87/servo)

    """

    _name = "servo"


class SpaceGA(Table):
    """The votes cast in the 1980 presidential election, by county (log of the proportion).

    The coordinates are in millionths of a degree: scale the features before a kernel sees them.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.SpaceGA()
    >>> dataset.n_samples, dataset.n_features
    (3107, 6)

    References
    ----------
    [^1]: [space_ga, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """

    _name = "space-ga"


class WPBC(Table):
    """The time to recurrence, or without disease, of breast cancer from 32 features.

    The four rows of the original 198 without a known lymph node status are left out, and so is the outcome.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.WPBC()
    >>> dataset.n_samples, dataset.n_features
    (194, 32)

    References
    ----------
    [^1]: [Breast Cancer Wisconsin (Prognostic), UCI 16](https://archive.ics.uci.edu/dataset/16)

    """

    _name = "wpbc"


class WineRed(Table):
    """The quality of red wine, graded by tasters, from eleven chemical measurements.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.WineRed()
    >>> dataset.n_samples, dataset.n_features
    (1599, 11)

    References
    ----------
    [^1]: [Wine Quality, UCI 186](https://archive.ics.uci.edu/dataset/186/wine+quality)

    """

    _name = "winequality-red"


class WineWhite(Table):
    """The quality of white wine, graded by tasters, from eleven chemical measurements.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.WineWhite()
    >>> dataset.n_samples, dataset.n_features
    (4898, 11)

    References
    ----------
    [^1]: [Wine Quality, UCI 186](https://archive.ics.uci.edu/dataset/186/wine+quality)

    """

    _name = "winequality-white"


class Ripley(Table):
    """Ripley's synthetic two-class problem: two Gaussian pairs in the plane, 250 training and 1,000 test rows.

    The Bayes error is 8 %.

    Parameters
    ----------
    part
        "train", "test", or "all" for the two joined.
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> datasets.Ripley("test").n_samples
    1000

    References
    ----------
    [^1]: Ripley, B.D., 1996. Pattern recognition and neural networks. Cambridge University Press.

    """

    _name = "ripley"
    _PARTS: ClassVar = {"train": slice(0, 250), "test": slice(250, 1250), "all": slice(0, 1250)}

    def __init__(
        self, part: str = "all", folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> None:
        if part not in self._PARTS:
            raise ValueError(f"part must be 'train', 'test' or 'all', got {part!r}")
        super().__init__(folder, progress)
        self.part = part
        self.n_samples = self._PARTS[part].stop - self._PARTS[part].start

    def _blocks(self) -> Iterator[Block]:
        for X, y in super()._blocks():
            yield X[self._PARTS[self.part]], y[self._PARTS[self.part]]


class Digits(Table):
    """Handwritten digits, 1,797 images of 8 x 8 pixels from 0 to 16; the target is the digit.

    They come with scikit-learn; without it the file is downloaded.

    Parameters
    ----------
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.Digits()
    >>> dataset.n_samples, dataset.n_features
    (1797, 64)

    References
    ----------
    [^1]: [Optical Recognition of Handwritten Digits, UCI 80](https://archive.ics.uci.edu/dataset/80)

    """

    _name = "digits"

    def __init__(self, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> None:
        super().__init__(folder, progress)
        self.task, self.n_classes = base.MULTI_CLF, 10


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

    names = tuple(RAETSCH)

    def __init__(
        self, name: str, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> None:
        if name not in RAETSCH:
            raise ValueError(f"name must be one of {', '.join(RAETSCH)}, got {name!r}")
        super().__init__(task=base.BINARY_CLF, n_features=RAETSCH[name].n_features, n_classes=2)
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
            found = fetch.local((RAETSCH_ARCHIVE,), place)
            if found is not None:
                return self._checked(place / RAETSCH_ARCHIVE.name, partial(self._from_archive, found[0]))
        if self.name == "synthetic":
            searched = ", ".join(map(str, folders)) or "no folder"
            raise DatasetError(f"raetsch/synthetic.npz is in no data folder (searched {searched}); see Ripley")
        archive = download(f"Raetsch {self.name}", RAETSCH_ARCHIVE, folders, self.progress)
        return self._checked(RAETSCH_ARCHIVE.url, partial(self._from_archive, archive))

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
        shape = RAETSCH[self.name]
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
