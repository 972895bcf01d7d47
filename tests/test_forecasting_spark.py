"""One forecaster per key on Spark: the same forecasts as in one process, gaps, refused rows, restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from reference import JIT

pytest.importorskip("pyspark")

from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T
from test_distributed_spark import Store, java_version, session

from streamkernel import KRLS, AutoKernelForecaster
from streamkernel.distributed import spark as engine
from streamkernel.forecasting import spark as forecasting
from streamkernel.forecasting.spark import forecast_stream

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.skipif(not JIT, reason="too slow without numba"),
]

SCHEMA = "shop STRING, t LONG, y DOUBLE"
COLUMNS: dict[str, Any] = {"key": "shop", "target": "y", "order_by": "t", "horizon": 3}


def value(shop: str, t: int) -> float | None:
    if t == 20:
        return None
    return {"a": 10.0, "b": 300.0}[shop] * (1.0 + 0.1 * math.sin(2.0 * math.pi * t / 12.0)) + 0.01 * t


def expected(shop: str, count: int) -> list[tuple[float, float, float]]:
    model = AutoKernelForecaster()
    for t in range(count):
        model.learn_one(value(shop, t))
    bands = model.forecast(3, with_interval=True)
    return [(mean, band.lower, band.upper) for mean, band in zip(model.forecast(3), bands)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if java_version() < 17:
        pytest.skip("needs Java 17 or newer")
    started = session(tmp_path_factory.mktemp("spark"))
    yield started
    started.stop()


def test_a_table_of_series(spark: SparkSession) -> None:
    rows = [(shop, t, value(shop, t)) for t in range(60) for shop in ("a", "b")]
    df = spark.createDataFrame([*rows[::-1], ("a", 3, value("a", 3)), ("c", 1, None)], SCHEMA)
    found: dict[str, list[Any]] = {}
    for row in forecast_stream(df, **COLUMNS).collect():
        found.setdefault(row.shop, []).append(row)
    for shop in ("a", "b"):
        steps = [row for row in found[shop] if row.error is None]
        assert [(row.t, row.step) for row in steps] == [(59, 1), (59, 2), (59, 3)]
        assert [(row.forecast, row.lower, row.upper) for row in steps] == expected(shop, 60)
    assert [row.error[:9] for row in found["a"] if row.error is not None] == ["duplicate"]
    assert "no value was learned yet" in found["c"][0].error


def test_what_a_worker_does() -> None:
    state = T.StructType([T.StructField(name, T.LongType()) for name in ("model", "position", *engine.COUNTS)])
    worker = forecasting._Forecaster(AutoKernelForecaster(), 3, state, None)
    worker.columns = ["shop", "t", *(name for name, _ in forecasting._RESULTS)]
    store = Store()
    worker.init(store)
    given = [Row(__order=t, __target=value("a", t)) for t in range(40)]
    worker.handleInputRows(("a",), iter(given[:25]), None)
    with pytest.raises(ValueError, match="in parts"):
        worker.handleInputRows(("a",), iter(given[25:]), None)
    worker.init(store)  # the next batch
    out = list(worker.handleInputRows(("a",), iter([*given[25:], Row(__order=99, __target=math.inf)]), None))
    assert [(row.forecast, row.lower, row.upper) for row in out[:3]] == expected("a", 40)
    assert "inf" in out[3].error and out[3].step is None
    assert store.value is not None and store.value[1:] == (39, 40, 0, 0, 1)
    assert next(worker.handleInputRows((None,), iter(given[:1]), None)).error is None  # what was stored goes on
    other = forecasting._Forecaster(AutoKernelForecaster(season=7), 3, state, None)
    other.init(store)
    with pytest.raises(ValueError, match=r"(?s)stored forecaster of key \('a',\).*season=7"):
        other.handleInputRows(("a",), iter(given[:1]), None)


def test_arguments(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, 1.0)], SCHEMA)
    for changes, message in (
        ({"model": KRLS()}, "model must be a forecaster of streamkernel"),
        ({"horizon": 0}, "horizon must be"),
        ({"target": "z"}, "df has no column 'z'"),
        ({"target": "shop"}, "column 'shop' is string"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            forecast_stream(df, **(COLUMNS | changes))
