"""Raw samples of any kind to numbers of comparable size: words, gaps, constants and long tails.

`Encoder` makes numbers of words, `Scaling` brings the columns to unit spread. A scaling is made from a window of
samples and then stays, so that what a model has learned in its units remains true.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .core.types import Matrix
from .kernels import Feature
from .learners import reading

# A feature may have this many different words; further ones are all the same "other".
MOST_WORDS = 30
# A column whose values reach this many standard deviations has a long tail and is bent by asinh.
LONG_TAIL = 5.0
IQR_OF_GAUSSIAN = 1.349
# Spreads below this part of the mean are rounding errors of a constant.
SMALLEST_SPREAD = 1e-12


class Encoder:
    """From raw samples to numbers by name: a word becomes a column of its own, a gap (None, NaN) is left out.

    The columns of words that a sample does not have are zero.

    Examples
    --------

    >>> from streamkernel.encoding import Encoder
    >>> encoder = Encoder()
    >>> encoder.learn({"t": 3, "color": "red", "gap": None})
    {'color=red': 1.0, 't': 3.0}
    >>> encoder.learn({"t": True, "color": "blue"})
    {'color=red': 0.0, 'color=blue': 1.0, 't': 1.0}
    >>> encoder.read({"color": "green"})
    {'color=red': 0.0, 'color=blue': 0.0}

    """

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}
        self.gaps = 0

    def learn(self, x: Mapping[Hashable, Any], encoded: dict[Feature, float] | None = None) -> dict[Feature, float]:
        """Encode a sample, and remember its words; `encoded` is what `read` made of it, if that is known."""
        encoded = self.read(x) if encoded is None else encoded  # a bad value raises its error before anything changes
        new = False
        for name, value in x.items():
            if isinstance(value, str):
                known = self.words.setdefault(str(name), [])
                if value not in known and len(known) < MOST_WORDS:
                    known.append(value)
                    new = True
            self.gaps += is_gap(value)
        return self.read(x) if new else encoded

    def read(self, x: Mapping[Hashable, Any]) -> dict[Feature, float]:
        """Encode a sample."""
        encoded: dict[Feature, float] = {f"{name}={word}": 0.0 for name, words in self.words.items() for word in words}
        for name, value in x.items():
            if isinstance(value, str):
                if value in self.words.get(str(name), ()):
                    encoded[f"{name}={value}"] = 1.0
            elif not is_gap(value):
                encoded[str(name)] = reading.number(f"feature {name!r}", value)
        return encoded

    def word_columns(self) -> set[str]:
        """The columns that stand for words."""
        return {f"{name}={word}" for name, words in self.words.items() for word in words}


def is_gap(value: Any) -> bool:
    """Whether a value says that there is none."""
    return value is None or (isinstance(value, numbers.Real) and value != value)


class Column(NamedTuple):
    """How a column is scaled."""

    name: str
    source: str
    """The feature it is made from."""
    center: float
    unit: float
    bent: float = 0.0
    """The spread after asinh; 0 where that is not applied."""
    is_gap: bool = False
    """Whether the column says that the feature is absent."""


class Scaling:
    """Columns of a window to zero mean and unit spread; those that do not vary in the window are left out.

    A gap is at the center of its column. Where a feature is there in some samples of the window and absent from others,
    a further column tells which.

    Parameters
    ----------
    names
        The columns' names.
    samples
        A window of samples, NaN where there was a gap.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.encoding import Scaling
    >>> scaling = Scaling(["a", "constant", "b"], np.array([[1.0, 7.0, 2.0], [3.0, 7.0, np.nan]]))
    >>> scaling.names
    ['a', 'b=absent']
    >>> scaling.transform({"a": 4.0, "constant": 8.0, "new": 1.0})
    {'a': 2.0, 'b=absent': 1.0}

    """

    def __init__(self, names: Sequence[str], samples: Matrix) -> None:
        self.columns: list[Column] = []
        for name, values in zip(names, samples.T, strict=True):
            absent = np.isnan(values)
            present = values[~absent]
            if not len(present):
                continue
            center, unit, bent = float(present.mean()), float(present.std()), 0.0
            if SMALLEST_SPREAD * abs(center) < unit < math.inf:
                quarters = np.percentile(present, [25.0, 50.0, 75.0])
                width = float(quarters[2] - quarters[0]) / IQR_OF_GAUSSIAN
                if width > 0.0 and np.abs(present - center).max() > LONG_TAIL * unit:
                    center, unit = float(quarters[1]), width
                    bent = float(np.arcsinh((present - center) / unit).std())
                self.columns.append(Column(name, name, center, unit, bent))
            if absent.any():
                share = float(absent.mean())
                column = Column(f"{name}=absent", name, share, math.sqrt(share * (1.0 - share)), is_gap=True)
                self.columns.append(column)

    @property
    def names(self) -> list[str]:
        """The columns that vary."""
        return [column.name for column in self.columns]

    def transform(self, x: Mapping[Feature, float]) -> dict[Feature, float]:
        """Scale one sample."""
        scaled: dict[Feature, float] = {}
        for name, source, center, unit, bent, is_gap in self.columns:
            value = (float(source not in x) if is_gap else x.get(source, center)) - center
            scaled[name] = math.asinh(value / unit) / bent if bent else value / unit
        return scaled

    def transform_many(self, names: Sequence[str], samples: Matrix) -> Matrix:
        """Scale a window."""
        scaled = np.empty((len(samples), len(self.columns)))
        for j, (_, source, center, unit, bent, is_gap) in enumerate(self.columns):
            raw = samples[:, list(names).index(source)]
            values = (np.isnan(raw) if is_gap else np.where(np.isnan(raw), center, raw)) - center
            scaled[:, j] = np.arcsinh(values / unit) / bent if bent else values / unit
        return scaled
