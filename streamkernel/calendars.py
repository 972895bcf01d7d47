"""Dates as numbers: where a moment stands in the day, the week and the year, each as a circle, and the time elapsed."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

DAY, WEEK, YEAR = 86_400.0, 7.0, 365.25
WEEKEND = 5
EPOCH = datetime.datetime(1970, 1, 1)
# What a feature that holds dates becomes, besides the phases.
ELAPSED, WEEKEND_NAME = "days", "weekend"
DATED = (str, datetime.date, np.datetime64)
# The shortest and the longest text that is tried as a date: 20240131 and one with microseconds and a zone.
SHORTEST, LONGEST = 8, 35


def moment(value: datetime.date) -> datetime.datetime:
    """A date as the moment at which it begins; a datetime as it is."""
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime(value.year, value.month, value.day)


def calendar(value: datetime.date) -> dict[str, float]:
    """Where a date stands in the week and the year, and in the day if it has a time.

    Examples
    --------

    >>> import datetime
    >>> from streamkernel.calendars import calendar
    >>> found = calendar(datetime.datetime(2024, 1, 6, 6))
    >>> found["weekend"], round(found["day sine"], 6), round(found["week sine"], 6)
    (1.0, 1.0, -1.0)
    >>> sorted(calendar(datetime.date(2024, 1, 6)))
    ['week cosine', 'week sine', 'weekend', 'year cosine', 'year sine']

    """
    at = moment(value)
    of_day = (at - at.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds() / DAY
    phases = {"week": (at.weekday() + of_day) / WEEK, "year": (at.timetuple().tm_yday - 1 + of_day) / YEAR}
    if isinstance(value, datetime.datetime):
        phases["day"] = of_day
    found = {WEEKEND_NAME: float(at.weekday() >= WEEKEND)}
    for name, phase in phases.items():
        found[f"{name} sine"] = math.sin(2.0 * math.pi * phase)
        found[f"{name} cosine"] = math.cos(2.0 * math.pi * phase)
    return found


def as_date(value: Any) -> datetime.date | None:
    """The date that a value is, an ISO text such as 2024-01-31T12:00 included; None where it is none."""
    if isinstance(value, datetime.date):
        return value if value == value else None  # pandas' NaT is a date that equals nothing
    if isinstance(value, np.datetime64):
        found = value.astype("datetime64[us]").item()
        return found if isinstance(found, datetime.datetime) else None
    if not isinstance(value, str) or not (SHORTEST <= len(value) <= LONGEST and value[:4].isdigit() and "-" in value):
        return None  # digits alone are more often a number of something
    try:
        return datetime.datetime.fromisoformat(value) if len(value) > len("2024-01-31") else _day(value)
    except ValueError:
        return None


def _day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def expanded(x: Mapping[Hashable, Any]) -> Mapping[Hashable, Any]:
    """A sample whose dates are calendar features, `NAME week sine` and so on; one without dates as it is.

    Examples
    --------

    >>> from streamkernel.calendars import expanded
    >>> sorted(expanded({"t": "2024-01-31", "load": 3.0}))
    ['load', 't days', 't week cosine', 't week sine', 't weekend', 't year cosine', 't year sine']

    """
    found: dict[Hashable, Any] | None = None
    for name, value in x.items():
        if type(value) is float or not isinstance(value, DATED):
            continue
        date = as_date(value)
        if date is None and isinstance(value, str):
            continue
        found = dict(x) if found is None else found
        if date is None:
            found[name] = None  # "not a time" is a gap
            continue
        del found[name]
        at = moment(date)
        start = EPOCH if at.tzinfo is None else EPOCH.replace(tzinfo=datetime.UTC)
        parts = {ELAPSED: (at - start).total_seconds() / DAY} | calendar(date)
        for part, number in parts.items():
            column = f"{name} {part}"
            if column in found:
                raise ValueError(f"feature {name!r} is a date, whose column {column!r} another feature has: rename one")
            found[column] = number
    return x if found is None else found


def date_features(columns: Iterable[str]) -> list[str]:
    """The features whose dates became these columns."""
    known = set(columns)
    suffix = f" {ELAPSED}"
    names = (column.removesuffix(suffix) for column in sorted(known) if column.endswith(suffix))
    return [name for name in names if f"{name} week sine" in known]
