"""The published tables, one class each: what a table holds and where it comes from.

Its columns, its size, its addresses and its checksums are in `catalog`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from streamkernel.datasets.base import Block
from streamkernel.datasets.fetch import Progress
from streamkernel.datasets.files import Table, published

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
    "Ripley",
    "Servo",
    "SpaceGA",
    "WineRed",
    "WineWhite",
]


@published("abalone")
class Abalone(Table):
    """The age of abalone (rings) from eight measurements.

    The nominal sex (F, I, M) is three 0/1 features, so there are ten.

    References
    ----------
    [^1]: [Abalone, UCI 1](https://archive.ics.uci.edu/dataset/1/abalone)

    """


@published("auto-mpg")
class AutoMPG(Table):
    """Miles per gallon of 392 cars from seven attributes.

    The six cars of the original 398 without a known horsepower are left out. The origin stays a number.

    References
    ----------
    [^1]: [Auto MPG, UCI 9](https://archive.ics.uci.edu/dataset/9/auto+mpg)

    """


@published("auto-price")
class AutoPrice(Table):
    """The price of 159 cars of 1985 from fifteen numeric attributes.

    The complete rows of the original 205, without its nominal columns.

    References
    ----------
    [^1]: [Automobile, UCI 10](https://archive.ics.uci.edu/dataset/10/automobile)

    """


@published("boston")
class BostonHousing(Table):
    """The median value of homes in 506 tracts of Boston, in 1000 dollars.

    Kept because the papers report on it. The feature B is a transform of the share of Black residents and assumes that
    segregation has a price; do not use the set for anything but a comparison with published figures.

    References
    ----------
    [^1]: Harrison, D. and Rubinfeld, D.L., 1978. Hedonic housing prices and the demand for clean air. Journal of
    Environmental Economics and Management, 5, pp.81-102.

    """


@published("cpu-small")
class CompActiv(Table):
    """The share of time a computer's processors run in user mode, from twelve measures of activity.

    Delve's Comp-activ in its cpuSmall form.

    References
    ----------
    [^1]: [cpusmall, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """


@published("concrete")
class Concrete(Table):
    """The compressive strength of concrete from its seven ingredients and its age.

    References
    ----------
    [^1]: [Concrete Compressive Strength, UCI 165](https://archive.ics.uci.edu/dataset/165)

    """


@published("cpu-performance")
class CPUPerformance(Table):
    """The relative performance of 209 processors from six characteristics.

    The vendor and the model name are left out, and so is the published estimate.

    References
    ----------
    [^1]: [Computer Hardware, UCI 29](https://archive.ics.uci.edu/dataset/29/computer+hardware)

    """


@published("german-credit")
class GermanCredit(Table):
    """Good and bad credit risks: the target is True for a bad one.

    Seven numeric attributes and thirteen nominal ones, each of which is one 0/1 feature per level, named
    `attribute_level`.

    References
    ----------
    [^1]: [Statlog (German Credit Data), UCI 144](https://archive.ics.uci.edu/dataset/144)

    """


@published("liver-disorders")
class LiverDisorders(Table):
    """The BUPA liver data: five blood tests and the daily drinks; the target is True for selector 2.

    The selector is what papers classify, as here. Its donors made it to split the rows into training and test: it is
    not a diagnosis.

    References
    ----------
    [^1]: [Liver Disorders, UCI 60](https://archive.ics.uci.edu/dataset/60/liver+disorders)

    """


@published("mg")
class MG(Table):
    """A Mackey-Glass series embedded in six dimensions, as LIBSVM distributes it.

    For a series of any length see `MackeyGlass`.

    References
    ----------
    [^1]: [mg, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """


@published("pima-diabetes")
class PimaDiabetes(Table):
    """Diabetes among 768 Pima women from eight attributes: the target is True for a positive test.

    Some attributes are 0 where the value was not measured, as in the original.

    References
    ----------
    [^1]: [diabetes, OpenML 37](https://www.openml.org/d/37)

    """


@published("servo")
class Servo(Table):
    """The rise time of a servomechanism from two gains and two nominal choices.

    The motor and the screw (A to E) are five 0/1 features each, so there are twelve. The target is in seconds.

    References
    ----------
    [^1]: [Servo, UCI 87](https://archive.ics.uci.edu/dataset/87/servo)

    """


@published("space-ga")
class SpaceGA(Table):
    """The votes cast in the 1980 presidential election, by county (log of the proportion).

    The coordinates are in millionths of a degree: scale the features before a kernel sees them.

    References
    ----------
    [^1]: [space_ga, LIBSVM data](https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression.html)

    """


@published("wpbc")
class WPBC(Table):
    """The time to recurrence, or without disease, of breast cancer from 32 features.

    The four rows of the original 198 without a known lymph node status are left out, and so is the outcome.

    References
    ----------
    [^1]: [Breast Cancer Wisconsin (Prognostic), UCI 16](https://archive.ics.uci.edu/dataset/16)

    """


@published("winequality-red")
class WineRed(Table):
    """The quality of red wine, graded by tasters, from eleven chemical measurements.

    References
    ----------
    [^1]: [Wine Quality, UCI 186](https://archive.ics.uci.edu/dataset/186/wine+quality)

    """


@published("winequality-white")
class WineWhite(Table):
    """The quality of white wine, graded by tasters, from eleven chemical measurements.

    References
    ----------
    [^1]: [Wine Quality, UCI 186](https://archive.ics.uci.edu/dataset/186/wine+quality)

    """


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


@published("digits")
class Digits(Table):
    """Handwritten digits, 1,797 images of 8 x 8 pixels from 0 to 16; the target is the digit.

    They come with scikit-learn; without it the file is downloaded.

    References
    ----------
    [^1]: [Optical Recognition of Handwritten Digits, UCI 80](https://archive.ics.uci.edu/dataset/80)

    """
