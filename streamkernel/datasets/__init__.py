"""Data sets for online kernel learning, as river data sets and as arrays.

Every data set iterates over (dict of features, target) pairs like river's own, and `arrays()` gives the same rows as
(X, y); endless generators take the number of rows, `arrays(n)`. Features are numbers, ready for a kernel: a nominal
column of a table is one 0/1 feature per level, named `column_level`. The two classes of a classification table are
False and True. Column order is `features`: the names of a table, 0, 1, ... for a generator.

A table is looked for in this order, and nothing is read before its first row is asked for:

1. the folder given as `folder`, then the one the environment variable `STREAMKERNEL_DATA` names: as `NAME.csv` with a
   header and the target last, or as the original file;
2. an installed package that ships it: reservoirpy (Santa Fe), mlxtend (Boston, Auto MPG), scikit-learn (digits);
3. the cache: `STREAMKERNEL_CACHE`, or `streamkernel` in the user's cache folder;
4. its public address, into the cache.

A file with a known checksum must match it, and the parsed content must match the library's own checksum wherever it
came from, so every source gives the same arrays. `catalog.py` lists addresses and checksums,
`raetsch.py` that of its collection.

Examples
--------

>>> from streamkernel import datasets

>>> for x, y in datasets.Friedman1(seed=42).take(1):
...     print(len(x), round(y, 2))
10 15.65

"""

from streamkernel.datasets.base import embed
from streamkernel.datasets.channel import NonlinearChannel
from streamkernel.datasets.fetch import DatasetError, cache_folder
from streamkernel.datasets.laser import SantaFeLaser
from streamkernel.datasets.named_channels import named_channel, read_channel
from streamkernel.datasets.raetsch import Raetsch
from streamkernel.datasets.synthetic import (
    Friedman1,
    Friedman2,
    Friedman3,
    Heteroscedastic,
    MexicanHat,
    SincLinear,
    Step,
)
from streamkernel.datasets.tables import (
    MG,
    WPBC,
    Abalone,
    AutoMPG,
    AutoPrice,
    BostonHousing,
    CompActiv,
    Concrete,
    CPUPerformance,
    Digits,
    GermanCredit,
    LiverDisorders,
    PimaDiabetes,
    Ripley,
    Servo,
    SpaceGA,
    WineRed,
    WineWhite,
)
from streamkernel.datasets.timeseries import Lorenz, MackeyGlass
from streamkernel.datasets.varying_channel import FadingChannel, SwitchingChannel

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
    "DatasetError",
    "Digits",
    "FadingChannel",
    "Friedman1",
    "Friedman2",
    "Friedman3",
    "GermanCredit",
    "Heteroscedastic",
    "LiverDisorders",
    "Lorenz",
    "MackeyGlass",
    "MexicanHat",
    "NonlinearChannel",
    "PimaDiabetes",
    "Raetsch",
    "Ripley",
    "SantaFeLaser",
    "Servo",
    "SincLinear",
    "SpaceGA",
    "Step",
    "SwitchingChannel",
    "WineRed",
    "WineWhite",
    "cache_folder",
    "embed",
    "named_channel",
    "read_channel",
]
