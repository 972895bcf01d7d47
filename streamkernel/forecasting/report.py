"""A series from a file to a forecast with a backtest: what the command line shows.

Rows are read as dictionaries of text. An empty cell of the series, or one that says NA, is a gap; where features are
read too, empty cells at the end are the future, and their features those of the steps to forecast. Dates go on by
themselves.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..gaps import is_gap
from ..kernels import Feature
from .auto import AutoKernelForecaster
from .features import going_on

DEFAULT_HORIZON = 10
Progress = Callable[[Sequence[Any], str], Iterable[Any]]
# Lets a model learn a value with its features.
Learn = Callable[[Any, float, Any], None]


class Past(NamedTuple):
    """A series and its features."""

    values: list[float]
    """A gap is NaN."""
    features: list[dict[Feature, Any]]
    future: list[dict[Feature, Any]]


class Backtest(NamedTuple):
    """What forecasts from earlier origins would have been."""

    origins: list[int]
    forecasts: list[list[float]]
    rmse: float
    naive_rmse: float
    """Of the last value, or that of one season ago, repeated."""
    coverage: float


class Outcome(NamedTuple):
    """A forecast, and how good it may be."""

    model: AutoKernelForecaster
    steps: list[dict[str, Any]]
    backtest: Backtest | None


def text_rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The rows of a CSV file; unlike `csv.DictReader` an empty line of a file with one column is a row: a gap."""
    reader = csv.reader(lines)
    names: list[str] | None = None
    for cells in reader:
        if names is None:
            names = cells or None
        elif cells or len(names) == 1:
            yield dict(zip(names, cells or [""]))


def past_of(rows: Sequence[Mapping[str, Any]], column: str, features: Sequence[str]) -> Past:
    """The series in a column, with its features; a ValueError names the row and the column of what is not a number."""
    values: list[float] = []
    xs: list[dict[Feature, Any]] = []
    for number, row in enumerate(rows, start=1):
        for name in [column, *features]:
            if name not in row:
                has = f"it has {', '.join(map(str, row))}" if number == 1 else f"row {number} has too few cells"
                raise ValueError(f"no column {name!r}; {has}")
        values.append(_cell(number, column, row[column]))
        xs.append({name: _feature(row[name]) for name in features})
    end = len(values)
    while features and end and math.isnan(values[end - 1]):
        end -= 1
    return Past(values[:end], xs[:end], xs[end:])


def _cell(number: int, name: str, value: Any) -> float:
    if is_gap(value):
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"row {number}: column {name!r} is {value!r}, not a number") from None
    if not math.isfinite(found):
        raise ValueError(f"row {number}: column {name!r} is {value!r}; leave the cell of a gap empty")
    return found


def _feature(value: Any) -> Any:
    """A number, a gap, a date, or a word."""
    if is_gap(value):
        return None
    if isinstance(value, datetime.date):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    try:
        moment = datetime.datetime.fromisoformat(value.strip())
    except (AttributeError, ValueError):
        return value
    return moment.date() if len(value.strip()) == len("2024-01-31") else moment


def groups_of(rows: Sequence[Mapping[str, Any]], group: str | None) -> dict[str | None, list[Mapping[str, Any]]]:
    """The rows of every group in their order; all of them under None without a column that names groups."""
    if group is None:
        return {None: list(rows)}
    found: dict[str | None, list[Mapping[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        if group not in row:
            raise ValueError(f"no column {group!r}; row {number} has {', '.join(map(str, row))}")
        found.setdefault(str(row[group]), []).append(row)
    return found


def forecast_series(
    past: Past,
    horizon: int | None = None,
    season: int | None = None,
    confidence_level: float = 0.9,
    backtests: int = 5,
    progress: Progress = lambda items, label: items,
    learn: Learn | None = None,
) -> Outcome:
    """Learn a series in one pass, forecast what follows, and on the way what came at its own end.

    Of the rows that are the future, a `horizon` takes the first. `learn` takes the model, a value and its features, and
    lets the model learn them.
    """
    learn = learn or _learn
    rows_ahead = len(past.future)
    if horizon is not None and 0 < rows_ahead < horizon:
        rows_said = f"{rows_ahead} rows with an empty cell of the series follow"
        raise ValueError(f"the horizon is {horizon}, but {rows_said}: add rows, or give {rows_ahead} steps at most")
    if not any(not math.isnan(value) for value in past.values):
        raise ValueError("no values")
    others = {name for x in past.features for name, value in x.items() if value is not None and not _is_date(value)}
    if others and not past.future:
        raise ValueError(
            "with features other than dates, rows with an empty cell of the series must follow, with the features of "
            "the steps to forecast"
        )
    model = AutoKernelForecaster(season=season, confidence_level=confidence_level)
    wanted = horizon or rows_ahead
    count = len(past.values)
    span = wanted or DEFAULT_HORIZON
    # Half a span apart, and never more than there are values.
    origins = {origin for i in range(min(backtests, count)) if (origin := count - span * (i + 2) // 2) > count // 2}
    made: dict[int, tuple[list[float], list[Any]]] = {}
    rows = list(zip(past.values, past.features))
    for t, (value, x) in enumerate(progress(rows, "learning")):
        if t in origins:
            xs = past.features[t : t + span] if x else None
            xs = xs if xs is None or len(xs) == span else [*xs, *[xs[-1]] * (span - len(xs))]
            made[t] = model.forecast(span, xs), model.forecast(span, xs, with_interval=True)
        learn(model, value, x)
    steps = wanted or max([DEFAULT_HORIZON, *model.seasons[:1]])
    future = past.future[:steps] or None
    means, bands = model.forecast(steps, future), model.forecast(steps, future, with_interval=True)
    times = _times(past, steps)
    table = [
        {"step": i + 1, **time, "mean": mean, "lower": band.lower, "upper": band.upper}
        for i, (time, mean, band) in enumerate(zip(times, means, bands))
    ]
    return Outcome(model, table, _backtest(past.values, made, model.seasons))


def _times(past: Past, steps: int) -> list[dict[str, str]]:
    """When the steps are, by the first feature that is a date; nothing where there is none."""
    dates = [name for name, value in (past.features[-1] if past.features else {}).items() if _is_date(value)]
    if not dates or len(past.features) < 2 or not _is_date(past.features[-2][dates[0]]):
        return [{}] * steps
    before, last = (x[dates[0]] for x in past.features[-2:])
    ahead = [x[dates[0]] for x in past.future[:steps]] or going_on(before, last, steps)
    if not isinstance(last, datetime.datetime):
        ahead = [moment.date() if isinstance(moment, datetime.datetime) else moment for moment in ahead]
    return [{"time": moment.isoformat()} if _is_date(moment) else {"time": ""} for moment in ahead]


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date)


def _learn(model: AutoKernelForecaster, value: float, x: Any) -> None:
    model.learn_one(value, x or None)


def _backtest(values: list[float], made: dict[int, Any], seasons: tuple[int, ...]) -> Backtest | None:
    if not made:
        return None
    series, squares, naive, inside = np.array(values), [], [], []
    season = seasons[0] if seasons else 1
    for origin, (means, bands) in made.items():
        truth = series[origin : origin + len(means)]
        known = ~np.isnan(truth)
        last = series[:origin][~np.isnan(series[:origin])][-season:]
        squares += ((np.array(means)[: len(truth)] - truth)[known] ** 2).tolist()
        naive += ((np.resize(last, len(truth)) - truth)[known] ** 2).tolist()
        inside += [band.lower <= y <= band.upper for band, y in zip(bands, truth) if not math.isnan(y)]
    if not squares:
        return None
    rmse, naive_rmse = math.sqrt(float(np.mean(squares))), math.sqrt(float(np.mean(naive)))
    return Backtest(list(made), [means for means, _ in made.values()], rmse, naive_rmse, float(np.mean(inside)))


def draw(outcome: Outcome, values: Sequence[float], ax: Any, shown: int = 300) -> None:
    """History, backtest and forecast with its band."""
    past = np.array(values)
    first = max(0, len(past) - shown)
    ax.plot(np.arange(first, len(past)), past[first:], "k", linewidth=1, label="observed")
    if outcome.backtest is not None:
        label = "backtest"
        for origin, means in zip(outcome.backtest.origins, outcome.backtest.forecasts):
            ax.plot(origin + np.arange(len(means)), means, "C1", linewidth=1, alpha=0.6, label=label)
            label = "_"
    ahead = len(past) + np.arange(len(outcome.steps))
    ax.plot(ahead, [step["mean"] for step in outcome.steps], "C0", label="forecast")
    lower, upper = ([step[side] for step in outcome.steps] for side in ("lower", "upper"))
    label = f"{outcome.model.confidence_level:.0%} interval"
    ax.fill_between(ahead, lower, upper, color="C0", alpha=0.3, linewidth=0.0, label=label)
    ax.set(xlabel="step")
    ax.legend(fontsize=8)
