"""Raw samples of any kind to numbers of comparable size: words, dates, gaps, constants and long tails.

`Encoder` makes numbers of words, `Scaling` brings the columns to unit spread. A scaling is made from a window of
samples and then stays, so that what a model has learned in its units remains true.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .calendars import expanded
from .core.types import Matrix, Vector
from .kernels import Feature
from .learners import reading
from .learners.intake import UNUSUAL

# A feature may have this many different words; further ones are all the same "other".
MOST_WORDS = 30
# Features beyond this many columns are left out, with a warning.
MOST_COLUMNS = 5000
# A column whose values reach this many standard deviations has a long tail and is bent by asinh.
LONG_TAIL = 5.0
IQR_OF_GAUSSIAN = 1.349
# Spreads below this part of the mean are rounding errors of a constant.
SMALLEST_SPREAD = 1e-12
# In smaller units the squares of ordinary numbers come close to overflow.
SMALLEST_UNIT = 1e-75
HALF = 0.5


PLAIN = (float, int, bool)
# Names of other kinds are taken for what they look like after a checkpoint is restored.
STORED_NAMES = (str, int, float, tuple, type(None), np.generic)


class Encoder:
    """From raw samples to rows of numbers: a word becomes a column of its own, a gap (None, NaN) is NaN.

    A date, datetime or ISO text becomes calendar columns: the time of day, the weekday and the day of the year as
    circles, and the days elapsed.

    The columns of words that a sample does not have are zero. Columns stand in the order in which they appeared.

    Examples
    --------

    >>> from streamkernel.encoding import Encoder
    >>> encoder = Encoder()
    >>> encoder.learn({"t": 3, "color": "red", "gap": None})
    array([3., 1.])
    >>> encoder.learn({"t": True, "color": "blue"})
    array([1., 0., 1.])
    >>> encoder.read({"color": "green", "unknown": 5.0})
    array([nan,  0.,  0.])
    >>> encoder.columns
    ['t', 'color=red', 'color=blue']

    """

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.gaps = 0
        self._words: dict[str, dict[str, str]] = {}  # of a feature, and the columns that stand for them
        self._labels: dict[Hashable, str] = {}
        self._is_full = False
        self._arrange()

    def _arrange(self) -> None:
        """Prepare for samples that hold these columns."""
        index = {column: place for place, column in enumerate(self.columns)}
        self._index, self._taken = index, set(self._labels.values())
        self._word_columns = self.word_columns()
        self._blank = [0.0 if column in self._word_columns else math.nan for column in self.columns]
        self._places: dict[Hashable, int] = {n: index[label] for n, label in self._labels.items() if label in index}
        plain = {place: name for name, place in self._places.items()}
        is_plain = not self._words and len(plain) == len(self.columns) > 0
        self._values = reading.reader([plain[place] for place in range(len(plain))]) if is_plain else None

    def restore(self, columns: Sequence[str], words: dict[str, list[Any]], labels: Sequence[Any]) -> None:
        """Know these columns and words, and how the features are called in them as far as that is known."""
        self.columns, self._labels, self._words = list(columns), dict(labels), {}
        for label, known in words.items():
            pairs = [(word, f"{label}={word}") if isinstance(word, str) else word for word in known]
            self._words[label] = dict(pairs)
        self._arrange()

    def rename(self, names: Mapping[Hashable, Hashable]) -> None:
        """Read features from now on by other names; the columns are called as before."""
        self._labels = {names.get(name, name): label for name, label in self._labels.items()}
        self._arrange()

    @property
    def words(self) -> dict[str, list[Any]]:
        """The words of each feature, for a checkpoint; with its column where that is called otherwise than usual."""
        return {
            label: [word if column == f"{label}={word}" else (word, column) for word, column in known.items()]
            for label, known in self._words.items()
        }

    @property
    def labels(self) -> list[tuple[Hashable, str]]:
        """Features and what they are called in the columns, for a checkpoint."""
        return sorted((pair for pair in self._labels.items() if isinstance(pair[0], STORED_NAMES)), key=str)

    def _label(self, name: Hashable) -> str:
        """What a feature is called in the columns: 1 and "1" are two features, "a=b" is not the word b of "a"."""
        known = self._labels.get(name)
        if known is not None:
            return known
        label = str(name)
        while label in self._taken or label in self._word_columns:
            label = f"{label} ({type(name).__name__})"
        return label

    def _new_column(self, label: str, word: str) -> str:
        """What the column of a word is called; no feature and no other word has it."""
        column = f"{label}={word}"
        while column in self._taken or column in self._word_columns:
            column = f"{column} (word)"
        return column

    def learn(self, x: Mapping[Hashable, Any], row: Vector | None = None) -> Vector:
        """Encode a sample, and remember its features and words; `row` is what `read` made of it, if that is known."""
        row = self.read(x) if row is None else row  # a bad value raises its error before anything changes
        if self._values is not None and len(x) == len(row) and not np.isnan(row).any():
            return row
        columns: list[str] = []
        known_features = len(self._labels)
        for name, value in expanded(x).items():
            if is_gap(value):
                self.gaps += 1
                continue
            label = self._label(name)
            column = label
            if isinstance(value, str):
                known = self._words.setdefault(label, {})
                if value not in known and len(known) < MOST_WORDS:
                    known[value] = self._new_column(label, value)
                    self._word_columns.add(known[value])
                column = known.get(value, "")
            if name not in self._labels:
                self._labels[name] = label
                self._taken.add(label)
                self._places[name] = self._index.get(label, -1)
            if column and column not in self._index:
                columns.append(column)
        room = MOST_COLUMNS - len(self.columns)
        if len(columns) > room and not self._is_full:
            self._is_full = True
            warnings.warn(
                f"column {columns[room]!r} and all new ones are left out: {MOST_COLUMNS} is most", stacklevel=4
            )
        columns = columns[:room]
        self.columns += columns
        if columns or len(self._labels) > known_features:
            self._arrange()
        return self.read(x) if columns else row

    def read(self, x: Mapping[Hashable, Any]) -> Vector:
        """Encode a sample."""
        if self._values is not None and len(x) == len(self.columns) and type(x) is dict:
            try:
                values = self._values(x)
                total = sum(values)
                if not isinstance(total, reading.NO_NUMBERS) and math.isfinite(total):  # nothing but numbers
                    return np.array(values, dtype=np.float64)
            except UNUSUAL:
                pass
        reading.check_mapping(x)
        row, places = list(self._blank), self._places
        for name, value in expanded(x).items():
            kind = type(value)
            if kind is int or kind is bool or (kind is float and value - value == 0.0):
                place = places.get(name, -1)
                if place >= 0:
                    row[place] = value
                    continue
            if value is not None:
                self._read_value(row, name, value)
        try:
            return np.array(row, dtype=np.float64)
        except OverflowError:  # an integer; the error names it
            for name, value in x.items():
                self._read_value(row, name, value)
            raise

    def widened(self, row: Vector) -> Vector:
        """A row that was encoded when there were fewer columns, with all of them."""
        return np.append(row, self._blank[len(row) :])

    def _read_value(self, row: list[float], name: Hashable, value: Any) -> None:
        """Write what is not just a number of a known feature."""
        if isinstance(value, str):
            column, number = self._words.get(self._label(name), {}).get(value, ""), 1.0
        elif is_gap(value):
            return
        else:
            column, number = self._label(name), reading.number(f"feature {name!r}", value)
        place = self._index.get(column)
        if place is not None:
            row[place] = number

    def named(self, row: Vector) -> dict[Feature, float]:
        """An encoded sample by column, without its gaps."""
        values = zip(self.columns, row.tolist(), strict=True)
        return {column: value for column, value in values if value == value}

    def word_columns(self) -> set[str]:
        """The columns that stand for words."""
        return {column for known in self._words.values() for column in known.values()}


def is_gap(value: Any) -> bool:
    """Whether a value says that there is none."""
    return value is None or (type(value) is float and value != value) or _is_other_gap(value)


def _is_other_gap(value: Any) -> bool:
    return type(value) not in (int, float, str, bool) and isinstance(value, numbers.Real) and bool(value != value)


def moments(values: Vector) -> tuple[float, float]:
    """Mean and standard deviation, also where squares of the values are no numbers.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.encoding import moments
    >>> moments(np.array([1e300, 3e300])), moments(np.array([2.0**-1000, 3.0 * 2.0**-1000])) == (2.0**-999, 2.0**-1000)
    ((2e+300, 1e+300), True)

    """
    unit = power_of_two(values)
    scaled = values / unit
    return unit * float(scaled.mean()), unit * float(scaled.std())


def power_of_two(values: Vector) -> float:
    """About the largest of the values, by which they can be divided without rounding; 1 where all are zero."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


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
    >>> scaling.bind(["a", "constant", "b"]).transform(np.array([4.0, 8.0, np.nan]))
    array([2., 1.])

    """

    def __init__(self, names: Sequence[str], samples: Matrix) -> None:
        self.columns: list[Column] = []
        for name, values in zip(names, samples.T, strict=True):
            absent = np.isnan(values)
            present = values[~absent]
            if not len(present):
                continue
            whole = power_of_two(present)  # in which no difference overflows
            scaled, smallest, bent = present / whole, SMALLEST_UNIT / whole, 0.0
            center, unit = float(scaled.mean()), float(scaled.std())
            if max(SMALLEST_SPREAD * abs(center), smallest) < unit:
                if np.abs(scaled - center).max() > LONG_TAIL * unit:
                    quarters = np.percentile(scaled, [25.0, 50.0, 75.0])
                    width = float(quarters[2] - quarters[0]) / IQR_OF_GAUSSIAN
                    if max(SMALLEST_SPREAD * unit, smallest) < width and whole * width < math.inf:
                        center, unit = float(quarters[1]), width
                        bent = float(np.arcsinh((scaled - center) / unit).std())
                self.columns.append(Column(name, name, whole * center, whole * unit, bent))
            if absent.any():
                share = float(absent.mean())
                label = f"{name}=absent"
                while label in names:  # the word "absent", or a feature that is called so
                    label = f"{label} (gap)"
                self.columns.append(Column(label, name, share, math.sqrt(share * (1.0 - share)), is_gap=True))

    @property
    def names(self) -> list[str]:
        """The columns that vary."""
        return [column.name for column in self.columns]

    def bind(self, names: Sequence[str]) -> Self:
        """Take rows in which the features have these places; features that come later do not move them."""
        places = {name: place for place, name in enumerate(names)}
        self._sources = np.array([places[column.source] for column in self.columns], dtype=np.intp)
        # Halves: differences of the largest floats are no numbers.
        self._centers = np.array([HALF * column.center for column in self.columns])
        self._units = np.array([HALF * column.unit for column in self.columns])
        self._gaps = np.flatnonzero([column.is_gap for column in self.columns])
        self._bent = np.flatnonzero([column.bent for column in self.columns])
        self._bends = np.array([self.columns[j].bent for j in self._bent])
        return self

    def transform(self, row: Vector) -> Vector:
        """Scale one sample, a row with the places that were bound."""
        values = HALF * row[self._sources]
        absent = np.isnan(values)
        if absent.any():
            values[absent] = self._centers[absent]
        if len(self._gaps):
            values[self._gaps] = HALF * absent[self._gaps]
        values -= self._centers
        values /= self._units
        if len(self._bent):
            values[self._bent] = np.arcsinh(values[self._bent]) / self._bends
        return values

    def transform_many(self, names: Sequence[str], samples: Matrix) -> Matrix:
        """Scale a window."""
        scaled = np.empty((len(samples), len(self.columns)))
        places = {name: place for place, name in enumerate(names)}
        for j, (_, source, center, unit, bent, is_gap) in enumerate(self.columns):
            raw = samples[:, places[source]]
            values = HALF * (np.isnan(raw) if is_gap else np.where(np.isnan(raw), center, raw)) - HALF * center
            values /= HALF * unit
            scaled[:, j] = np.arcsinh(values) / bent if bent else values
        return scaled
