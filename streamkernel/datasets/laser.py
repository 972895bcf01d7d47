"""A measured chaotic series as a prediction problem: the laser of the Santa Fe competition."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

from river.datasets import base

from streamkernel import checks
from streamkernel.datasets.base import ArrayDataset, Block, Floats, check_count, embed
from streamkernel.datasets.fetch import Progress, check_folder
from streamkernel.datasets.files import load

__all__ = ["SantaFeLaser"]


class SantaFeLaser(ArrayDataset):
    """The Santa Fe laser (data set A): the intensity of a far-infrared NH3 laser, in integers from 0 to 255.

    The competition's series of 1,000 values ("A") and its continuation of 9,093 ("A.cont"), to be predicted from lagged
    values. By default a row is the KRLS paper's: 40 consecutive lags, with zeros before the start of the series. The
    paper trains on rows 1 to 1000 and tests on rows 1001 to 1100.

    Parameters
    ----------
    part
        "A", "A.cont", or "all" for the two joined.
    rows
        The first and last target, counted from 1 within the part, both included; by default all. Lags reach back
        before the first row, within the part.
    lags
        Number of lags in a row.
    stride
        Samples between two lags.
    horizon
        1 has y(t) as the target, h has y(t + h - 1), t being a row's number.
    normalize
        Whether to map the range of part A, 2 to 255, to [0, 1], as the paper does.
    folder
        Where to look for the data first. See `streamkernel.datasets`.
    progress
        Called with (bytes so far, bytes in all or None) while a file is downloaded.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> test = datasets.SantaFeLaser(part="all", rows=(1001, 1100))
    >>> test.n_samples, test.n_features
    (100, 40)

    References
    ----------
    [^1]: Weigend, A.S. and Gershenfeld, N.A., 1994. Time series prediction: forecasting the future and understanding
    the past. Addison-Wesley.
    [^2]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm, section 5.2.2.

    """

    _PARTS: ClassVar = {"A": (0, 1000), "A.cont": (1000, 10093), "all": (0, 10093)}
    _LOW, _HIGH = 2.0, 255.0

    def __init__(
        self,
        part: str = "A",
        rows: tuple[int, int] | None = None,
        lags: int = 40,
        stride: int = 1,
        horizon: int = 1,
        normalize: bool = False,
        folder: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        checks.choice("part", part, tuple(self._PARTS))
        for name, value in (("lags", lags), ("stride", stride), ("horizon", horizon)):
            check_count(name, value)
        begin, end = self._PARTS[part]
        last_row = end - begin - horizon + 1
        first, last = (1, last_row) if rows is None else self._pair(rows)
        if not 1 <= first <= last <= last_row:
            raise ValueError(f"rows must be (first, last) within 1 to {last_row} of part {part!r}, got {rows!r}")
        super().__init__(task=base.REG, n_features=lags, n_samples=last - first + 1)
        self.part = part
        self.rows = (first, last)
        self.lags = lags
        self.stride = stride
        self.horizon = horizon
        self.normalize = normalize
        self.folder = check_folder(folder)
        self.progress = progress

    @staticmethod
    def _pair(rows: Any) -> tuple[int, int]:
        if not isinstance(rows, (tuple, list)) or len(rows) != 2:
            raise ValueError(f"rows must be (first, last), got {rows!r}")
        for value in rows:
            check_count("rows", value)
        return rows[0], rows[1]

    def series(self) -> Floats:
        """Every value of the part, without regard to `rows`."""
        begin, end = self._PARTS[self.part]
        values = load("santafe", self.folder, self.progress)[1][begin:end]
        return (values - self._LOW) / (self._HIGH - self._LOW) if self.normalize else values

    def _blocks(self) -> Iterator[Block]:
        X, y = embed(self.series(), self.lags, self.stride, self.horizon, pad=True)
        first, last = self.rows
        yield X[first - 1 : last], y[first - 1 : last]
