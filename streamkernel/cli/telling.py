"""What a forecast goes by where the file leaves it open: said, as the numbers do not show it."""

from __future__ import annotations

import collections
import datetime
import itertools
from typing import Any

from ..calendars import moment
from .output import message

# Steps of calendars, whose lengths differ: the shortest and the longest in days.
CALENDAR = ((28, 31), (90, 92), (365, 366))


def tell_of_season(path: str, group: str | None, season: int | None, outcome: Any) -> None:
    """Say so where a season that was given was not seen twice."""
    if season is not None and season > 1 and not outcome.model.seasons:
        message(f"{_where(path, group)}: a season of {season} steps was not seen twice: forecasts are made without it")


def tell_of_dates(path: str, group: str | None, past: Any, column: str) -> None:
    """Say so where forecasts are dated by the last two rows, and these are not apart as most others are."""
    if past.future:
        return
    choose = f"rows at the end with an empty cell of {column!r} and dates choose others"
    for name in past.features[0] if past.features else ():
        dates = [moment(x[name]) for x in past.features if isinstance(x[name], datetime.date)]
        steps = [after - before for before, after in itertools.pairwise(dates)]
        if not steps:
            continue
        ((usual, _),) = collections.Counter(steps).most_common(1)
        if min(steps) <= datetime.timedelta(0):
            message(f"{_where(path, group)}: the dates of {name!r} do not increase: forecasts go on from the last two")
        elif not _are_alike(usual, steps[-1]):
            message(
                f"{_where(path, group)}: the last two dates of {name!r} are {_shown(steps[-1])} apart, most others "
                f"{_shown(usual)}: forecasts go on at the distance of the last two; {choose}"
            )


def _are_alike(usual: datetime.timedelta, last: datetime.timedelta) -> bool:
    return usual == last or any(low <= usual.days <= high and low <= last.days <= high for low, high in CALENDAR)


def _shown(step: datetime.timedelta) -> str:
    return str(step).removesuffix(", 0:00:00")


def _where(path: str, group: str | None) -> str:
    return path if group is None else f"{path}, {group}"
