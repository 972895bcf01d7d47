"""From the cells of a row to a sample: numbers, words, dates and gaps, or what is wrong with a cell.

What a column holds is what its first cell that is not empty holds. A word in a column of numbers is an error, not a
new word: nothing is silently another thing than the rows before.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import operator
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..calendars import as_date
from ..gaps import is_gap
from .options import names_given
from .output import CommandError, message
from .tables import BadRow, shown_names

# Larger numbers are errors of whoever wrote them, and their squares overflow.
LARGEST = 1e100

NUMBER, WORD, DATE = "number", "word", "date"
MOST_SHOWN = 60
WATCHED = 20  # cells of a column that its first one made words
CLASSES = "for classes use 'streamkernel classify'"

# A number to whoever wrote it, and a word to Python: 1,5 or 1.234,5 or 12 345.
_SEPARATED = re.compile(r"[+-]?(\d+[.,]\d+|[1-9]\d{0,2}([.,'’\s]\d{3})+([.,]\d+)?)")

# The same with a percent or currency sign, or with the minus of typesetters: 5 %, -€5, −5.
_SIGNS = "%‰$¢-¥\u20a0-\u20cf"
_NUMERAL = rf"(?:[0-9]+|{_SEPARATED.pattern.removeprefix('[+-]?')})"
_SIGNED = re.compile(rf"([+\-−]?([{_SIGNS}]\s*)?|[{_SIGNS}]\s*[+\-−]){_NUMERAL}(\s*[{_SIGNS}])?")

Sample = dict[Hashable, Any]


class BadCell(ValueError):
    """A cell that cannot be used; its message names column and value."""


class Columns:
    """Which cells are the features and which the target, and what they hold.

    Parameters
    ----------
    names
        The columns of the table.
    target
        The column to predict, None if there is none in this table.
    features
        The columns to predict from.
    kinds
        What the columns hold, as far as it is known; it is filled in.
    numbers_only
        Whether the model takes numbers alone.
    labels
        Whether the target is a class.
    point
        The decimal point of the numbers.

    """

    def __init__(
        self,
        names: Sequence[str],
        target: str | None,
        features: Sequence[str],
        kinds: dict[str, str],
        numbers_only: bool,
        labels: bool = False,
        point: str = ".",
    ) -> None:
        self.features = list(features)
        self.target = target
        self.kinds = kinds
        self._known = frozenset(kinds)  # before the first row
        self._watched: dict[str, list[Any]] = {}  # the first cells of columns that became words
        self._numbers_only, self._labels, self._point = numbers_only, labels, point
        places = [names.index(name) for name in self.features]
        self._target = None if target is None else names.index(target)
        self._pick = _picker(places)
        self._learns_numbers = self._target is not None and not labels
        self._pick_numbers = _picker([*places, self._target] if self._learns_numbers else places)
        self._settled = numbers_only

    def read(self, row: list[Any] | BadRow) -> tuple[Sample, Any]:
        """The sample and its target, None where the row has none; a `BadCell` says what is wrong."""
        if isinstance(row, BadRow):
            raise BadCell(row.message)
        if self._settled and self._point == ".":  # numbers alone, at once
            try:
                cells = self._pick_numbers(row)
                values = [*map(float, cells)]
                if math.hypot(*values) <= LARGEST and not _is_odd(cells):
                    y = values.pop() if self._learns_numbers else self._read_target(row)
                    return dict(zip(self.features, values)), y
            except (TypeError, ValueError):
                pass  # what is wrong is found below
        x: Sample = {name: self._value(name, cell) for name, cell in zip(self.features, self._pick(row))}
        y = self._read_target(row)
        if not self._settled:
            self._settle(x)
        return x, y

    def _settle(self, x: Sample) -> None:
        """Remember what the columns hold, when the row is known to be good."""
        for name, value in x.items():
            if value is not None and name not in self.kinds:
                self.kinds[str(name)] = _kind(value)
                if self.kinds[str(name)] == WORD:
                    self._watched[str(name)] = [value]
        self._settled = all(self.kinds.get(name) == NUMBER for name in self.features)

    def _watch(self, name: str, cell: Any) -> None:
        """Say so where the first cell of a column was no word like those after it."""
        cells = self._watched[name]
        cells.append(cell)
        if len(cells) < WATCHED:
            return
        del self._watched[name]
        if (count := sum(as_number(seen, self._point) is not None for seen in cells)) > WATCHED // 2:
            message(
                f"column {name!r} is taken for words, as it begins with {shown(cells[0])}, but {count} of its first "
                f"{WATCHED} cells are numbers: leave the cell of a gap empty, or, if they are names, give --words "
                f"{names_given([name])}"
            )

    def _read_target(self, row: list[Any]) -> Any:
        if self._target is None:
            return None
        cell = row[self._target]
        if is_gap(cell):
            return None
        if self._labels:
            return str(cell).strip()
        value = as_number(cell, self._point)
        if value is None:
            advice = separator_advice(cell, self._point) if is_separated(cell, self._point) else CLASSES
            raise BadCell(f"column {self.target!r}, the target, is {shown(cell)}, not a number; {advice}")
        if not abs(value) <= LARGEST:
            raise BadCell(f"column {self.target!r}, the target, is {shown(cell)}: every value must be finite")
        return value

    def _value(self, name: str, cell: Any) -> Any:
        """A number, a word, a date, or None for a gap."""
        if is_gap(cell):
            if self._numbers_only:
                raise BadCell(f"column {name!r} is {shown(cell)}, a gap, which only --model auto takes")
            return None
        known = NUMBER if self._numbers_only else self.kinds.get(name)
        if known == WORD:
            if name in self._watched:
                self._watch(name, cell)
            return str(cell).strip()
        value = as_number(cell, self._point) if known != DATE else None
        if value is not None:
            if not abs(value) <= LARGEST:
                raise BadCell(f"column {name!r} is {shown(cell)}: numbers up to {LARGEST:g} are taken")
            return value
        if known == NUMBER:
            raise BadCell(f"column {name!r} is {shown(cell)}, not a number{self._advice(name, cell)}")
        if known is None and is_separated(cell, self._point):
            advice = f"{self._advice(name, cell)}; if they are names, give --words {names_given([name])}"
            raise BadCell(f"column {name!r} is {shown(cell)}, not a number{advice}")
        if isinstance(cell, datetime.date):
            return cell
        if isinstance(cell, str):
            text = cell.strip()
            if known == DATE and as_date(text) is None:
                raise BadCell(f"column {name!r} is {shown(cell)}, not a date such as 2024-01-31 or 2024-01-31T12:00")
            return text
        raise BadCell(f"column {name!r} is {shown(cell)}, which is not a number, a word or a date")

    def _advice(self, name: str, cell: Any) -> str:
        if is_separated(cell, self._point):
            return f"; {separator_advice(cell, self._point)}"
        if self._numbers_only:
            return "; choose columns with --features, or --model auto, which takes words"
        names = f"--words {names_given([name])}"
        if name in self._known:
            return f"; this model has learned numbers there: if they are names, learn a new model with {names}"
        return f"; if they are names, give {names}"


def declare_words(kinds: dict[str, str], names: Sequence[str], features: Sequence[str]) -> None:
    """Let these columns hold words; an error where they are no features, or were learned as something else."""
    for name in names:
        given = f"--words {names_given([name])}"
        if name not in features:
            raise CommandError(f"{given}: not among the features, which are {shown_names(features)}")
        if kinds.get(name, WORD) != WORD:
            raise CommandError(f"{given}: the model has learned {kinds[name]}s there; for words learn a new one")
        kinds[name] = WORD


def as_number(cell: Any, point: str = ".") -> float | None:
    """The number that a cell holds, if it is one.

    Examples
    --------

    >>> from streamkernel.cli.columns import as_number
    >>> [as_number("1.5"), as_number("1,5"), as_number("1,5", ","), as_number("1_5"), as_number("red")]
    [1.5, None, 1.5, None, None]

    """
    if isinstance(cell, str):
        if _is_odd((cell,)):
            return None
        if point != ".":
            if "." in cell:
                return None
            cell = cell.replace(point, ".")
    elif not isinstance(cell, numbers.Real | decimal.Decimal):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf
    except ValueError:
        return None


def is_separated(cell: Any, point: str) -> bool:
    """Whether a cell is a number with other separators than this decimal point, or with further signs.

    Examples
    --------

    >>> from streamkernel.cli.columns import is_separated
    >>> [is_separated(cell, ".") for cell in ("1,5", "1,234.5", "12 345", "5.1%", "1.5", "1.2.3", "044 123", "red")]
    [True, True, True, True, False, False, False, False]

    """
    if not isinstance(cell, str) or as_number(cell, point) is not None:
        return False
    text = cell.strip()
    return bool(_SEPARATED.fullmatch(text) or _SIGNED.fullmatch(text))


def separator_advice(cell: str, point: str) -> str:
    """What to do about numbers with other separators or further signs."""
    if re.search(f"[−{_SIGNS}]", cell):
        return "numbers have no percent or currency sign, and an ordinary minus (-)"
    decimal = "decimal commas give --decimal ," if point == "." else "decimal points leave --decimal out"
    return f"for {decimal} and thousands must not be separated"


def _is_odd(cells: Sequence[Any]) -> bool:
    """Whether Python may read a number where nobody meant one: 1_000, or digits of other scripts."""
    try:
        text = "".join(cells)
    except TypeError:  # numbers already
        text = "".join(cell for cell in cells if isinstance(cell, str))
    return "_" in text or not text.isascii()


def _picker(places: Sequence[Any]) -> Callable[[list[Any]], Sequence[Any]]:
    """A fast function from the cells of a row to those at these places."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return (lambda cells: (cells[places[0]],)) if places else lambda cells: ()


def _kind(value: Any) -> str:
    if isinstance(value, float):
        return NUMBER
    return DATE if as_date(value) is not None else WORD


def shown(cell: Any) -> str:
    """A cell in a message, cut where it is long."""
    text = repr(cell)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
