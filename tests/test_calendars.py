"""Dates in the automatic models: calendar features, whichever way the date is written."""

from __future__ import annotations

import datetime
import fractions
import math
from typing import Any

import numpy as np
import pytest

import streamkernel
from streamkernel import AutoKernelForecaster, AutoKernelRegressor
from streamkernel.calendars import as_date, calendar, date_features, expanded

START = datetime.datetime(2024, 1, 1)


def hours(n: int) -> list[tuple[datetime.datetime, float]]:
    """A load that follows the time of day and the weekend."""
    rng = np.random.default_rng(0)
    moments = [START + datetime.timedelta(hours=i) for i in range(n)]
    return [
        (t, 100.0 + 20.0 * math.sin(2.0 * math.pi * t.hour / 24.0) - 15.0 * (t.weekday() > 4) + 0.5 * rng.normal())
        for t in moments
    ]


def test_a_feed_with_a_time_stamp_is_learned() -> None:
    model, errors, rows = AutoKernelRegressor(), [], hours(24 * 21)
    for t, y in rows:
        errors.append(model.predict_one({"time": t}) - y)
        model.learn_one({"time": t}, y)
    assert np.sqrt(np.mean(np.square(errors[-24 * 7 :]))) < 0.25 * np.std([y for _, y in rows])
    assert "Dates taken as time of day, weekday, day of the year and days elapsed: time." in model.explain()
    assert model.relevance["time day sine"] > 0.2
    same = AutoKernelRegressor.from_bytes(model.to_bytes())
    assert same.predict_one({"time": rows[5][0]}) == model.predict_one({"time": rows[5][0]})


WRITINGS = {
    "iso": lambda t: t.isoformat(),
    "space": lambda t: t.isoformat(" "),
    "numpy": lambda t: np.datetime64(t),
    "pandas": lambda t: pytest.importorskip("pandas").Timestamp(t),
}


@pytest.mark.parametrize("name", WRITINGS)
def test_every_writing_of_a_moment_is_the_same(name: str) -> None:
    one, other = AutoKernelRegressor(), AutoKernelRegressor()
    for t, y in hours(40):
        assert other.predict_one({"t": WRITINGS[name](t), "b": 1.0}) == one.predict_one({"t": t, "b": 1.0})
        one.learn_one({"t": t, "b": 1.0}, y)
        other.learn_one({"t": WRITINGS[name](t), "b": 1.0}, y)


def test_a_day_is_a_date_without_a_time() -> None:
    assert expanded({"t": "2024-02-29"}) == expanded({"t": datetime.date(2024, 2, 29)})
    assert "t day sine" not in expanded({"t": "2024-02-29"})
    assert expanded({"t": "2024-02-29T00:00"})["t days"] == expanded({"t": "2024-02-29"})["t days"]
    assert expanded({"t": "1970-01-02"})["t days"] == 1.0
    assert calendar(datetime.date(2024, 6, 1))["weekend"] == 1.0


def test_zones_are_a_matter_of_elapsed_time() -> None:
    there, here = expanded({"t": "2024-01-01T12:00+02:00"}), expanded({"t": "2024-01-01T10:00+00:00"})
    assert there["t days"] == here["t days"]
    assert there["t day sine"] != here["t day sine"]


@pytest.mark.parametrize(
    "value", ["2024-13-01", "20240131", "abcd-01-01", "2024", "1999-red", "", "x" * 50, "12345678", 7, None, True, 3.5]
)
def test_what_is_no_date_stays(value: Any) -> None:
    assert as_date(value) is None
    x = {"t": value}
    assert expanded(x) is x


def test_a_moment_that_is_missing_is_a_gap() -> None:
    pandas = pytest.importorskip("pandas")
    model = AutoKernelRegressor()
    for i, (t, y) in enumerate(hours(30)):
        model.learn_one({"t": (t, pandas.NaT, np.datetime64("NaT"), None)[i % 4], "n": float(i)}, y)
    assert math.isfinite(model.predict_one({"t": pandas.NaT}))
    assert date_features(["t days", "t week sine", "load days", "color=red"]) == ["t"]


def test_a_frame_with_dates_runs() -> None:
    pandas = pytest.importorskip("pandas")
    rows = hours(60)
    frame = pandas.DataFrame({"time": [t for t, _ in rows], "n": range(60)})
    result = streamkernel.run(AutoKernelRegressor(), frame, [y for _, y in rows])
    assert np.isfinite(result.predictions).all()


@pytest.mark.parametrize(("year", "zone"), [(1, 5), (9999, -5)])
def test_a_date_at_the_end_of_time_in_a_zone(year: int, zone: int) -> None:
    month, day, hour = (1, 1, 1) if year == 1 else (12, 31, 22)
    moment = datetime.datetime(year, month, day, hour, tzinfo=datetime.timezone(datetime.timedelta(hours=zone)))
    days = expanded({"t": moment})["t days"] - expanded({"t": moment.replace(tzinfo=None)})["t days"]
    assert days == pytest.approx(-zone / 24.0, abs=1e-6)


@pytest.mark.parametrize("missing", [np.datetime64("NaT"), None, math.nan, np.float64("nan")])
def test_a_forecaster_reads_dates_of_numpy_and_gaps_among_them(missing: Any) -> None:
    model, dated = AutoKernelForecaster(), AutoKernelForecaster()
    for i, (t, load) in enumerate(hours(60)):
        gap = i % 7 == 3
        model.learn_one(load, {"t": missing if gap else np.datetime64(t)})
        dated.learn_one(load, {"t": None if gap else t})
    assert model.forecast(3) == dated.forecast(3)


def test_what_pandas_calls_not_a_time_is_a_gap() -> None:
    pandas = pytest.importorskip("pandas")
    model = AutoKernelForecaster()
    for i, (t, load) in enumerate(hours(30)):
        model.learn_one(load, {"t": pandas.NaT if i % 7 == 3 else pandas.Timestamp(t)})
    assert all(math.isfinite(value) for value in model.forecast(3))


@pytest.mark.parametrize("value", [10**400, fractions.Fraction(10**400, 3)])
def test_a_forecaster_names_a_feature_that_is_no_float(value: Any) -> None:
    model = AutoKernelForecaster()
    before = model.to_bytes()
    with pytest.raises(ValueError, match="feature 'u' is too large for a float"):
        model.learn_one(1.0, {"u": value})
    assert model.to_bytes() == before
