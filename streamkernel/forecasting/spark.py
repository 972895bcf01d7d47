"""One forecaster per key on Apache Spark: the next values of many series, on a batch DataFrame or as a stream.

The engine's part is that of `distributed.spark`: Spark brings the rows of a key to its forecaster and keeps its bytes,
under the same policy for rows that are late, duplicates or cannot be learned.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from river import time_series

from .. import checks
from ..checkpoint import Checkpointed, dumps
from ..distributed import spark as engine  # says what to install where PySpark is absent
from ..distributed.keyed import KeyedModel, Outcome, in_order, restore
from .auto import AutoKernelForecaster

from pyspark.sql import DataFrame, Row  # isort: skip
from pyspark.sql import functions as F  # isort: skip
from pyspark.sql import types as T  # isort: skip

__all__ = ["forecast_stream"]

_RESULTS = (
    ("step", T.LongType()), ("forecast", T.DoubleType()), ("lower", T.DoubleType()), ("upper", T.DoubleType()),
    ("error", T.StringType()),
)  # fmt: skip


def forecast_stream(
    df: DataFrame,
    *,
    key: str | Sequence[str],
    target: str,
    order_by: str,
    horizon: int,
    model: Any = None,
    models: DataFrame | None = None,
    time_to_live: datetime.timedelta | None = None,
) -> DataFrame:
    """Learn the series of every key and forecast what follows.

    For every key with new rows the result has `horizon` rows: the key, `order_by` (that of the last row learned),
    `step`, `forecast`, `lower`, `upper` and `error`. A null or NaN target is a gap. A row that cannot be learned (a
    null key or order, an infinite target, and by `order_by` a row that is late or a duplicate) changes no forecaster;
    it has a row of its own with the reason in `error`, and is counted (see `export_models`).

    Parameters
    ----------
    df
        A streaming DataFrame, or a batch one, which is learned from its first row to its last.
    key
        The column, or columns, that say which series a row belongs to.
    target
        The numeric column with the values.
    order_by
        The column by which the values of one key follow each other, one step apart.
    horizon
        How many steps to forecast.
    model
        What every key starts with; `AutoKernelForecaster()` when None. A restart from a checkpoint must give the same.
    models
        Forecasters to begin with, from `export_models` or `import_models` of `streamkernel.distributed.spark`.
    time_to_live
        Forget the forecaster of a key that had no row for so long. Streaming only.

    """
    first = AutoKernelForecaster() if model is None else model
    if not isinstance(first, time_series.base.Forecaster) or not isinstance(first, Checkpointed):
        raise TypeError(f"model must be a forecaster of streamkernel, such as AutoKernelForecaster(), got {model!r}")
    checks.whole("horizon", horizon)
    keys = engine.key_columns(df, key)
    orders = (engine.WHOLE, *engine.REAL, T.StringType, T.DateType, T.TimestampType)
    engine.checked_columns(df, "order_by", [order_by], orders)
    engine.checked_columns(df, "target", [target], (T.NumericType, T.BooleanType))
    engine.distinct([*keys, order_by, *(name for name, _ in _RESULTS)])
    engine.check_session(df.sparkSession)
    kind = df.schema[order_by].dataType
    rows = df.select(
        *map(F.col, map(engine.quoted, keys)),
        engine.encoded(F.col(engine.quoted(order_by)), kind).alias(engine.ORDER),
        F.col(engine.quoted(target)).cast("double").alias(engine.TARGET),
    )
    lifetime = engine.lifetime_of(df, time_to_live)
    processor = _Forecaster(first, horizon, engine.schema_of_state(rows), lifetime)
    fields = [T.StructField(name, rows.schema[name].dataType) for name in (*keys, engine.ORDER)]
    schema = T.StructType(fields + [T.StructField(name, kind) for name, kind in _RESULTS])
    processor.columns = schema.fieldNames()
    initial = None if models is None else engine.initial_state(models, rows, keys, processor.state_schema)
    made = rows.groupBy(*map(engine.quoted, keys)).transformWithState(
        processor,
        schema,
        outputMode="Append",
        timeMode="None" if lifetime is None else "ProcessingTime",
        initialState=initial,
    )
    return made.select(
        *map(F.col, map(engine.quoted, keys)),
        engine.decoded(F.col(engine.ORDER), kind).alias(order_by),
        *(name for name, _ in _RESULTS),
    )


class _Series(KeyedModel):
    """A key's forecaster under the policy for rows: no row is predicted, and the target is all that is learned."""

    def step(self, order: Any, x: Any, target: Any) -> Outcome:
        """Learn a value."""
        return super().step(order, target, x)

    def predict(self, x: Any) -> Outcome:
        """Nothing."""
        return Outcome(None, None, None)


class _Forecaster(engine.Processor):
    """All rows of one key in one micro-batch."""

    def __init__(self, first: Any, horizon: int, state: T.StructType, lifetime: int | None) -> None:
        super().__init__((), state, lifetime)
        self.first, self.horizon = first, horizon

    def handleInputRows(self, key: Any, rows: Iterator[Row], timer: Any) -> Iterator[Row]:
        self.begin(key)
        stored = self._state.get()
        model = copy.deepcopy(self.first) if stored is None else self._load(key, stored[0])
        keyed = _Series(model, *(() if stored is None else stored[1:]))
        refused = []
        is_null = None in key
        for order, target in in_order(engine.columns_of(rows, engine.ORDER, engine.TARGET), engine.FIRST):
            error = (keyed.fail(engine.NULL_KEY) if is_null else keyed.step(order, {}, target)).error
            if error is not None:
                refused.append(self.result(*key, order, None, None, None, None, error))
        counts = (getattr(keyed, name) for name in engine.COUNTS)
        self._state.update((model.to_bytes(), keyed.position, *counts))
        return iter([*self._ahead(key, keyed.position, model), *refused])

    def _ahead(self, key: Any, position: Any, model: Any) -> list[Row]:
        if position is None:
            return []
        try:
            means, bands = model.forecast(self.horizon), model.forecast(self.horizon, with_interval=True)
        except ValueError as error:  # so far there were gaps alone
            return [self.result(*key, position, None, None, None, None, str(error))]
        return [
            self.result(*key, position, step, float(mean), float(band.lower), float(band.upper), None)
            for step, (mean, band) in enumerate(zip(means, bands, strict=True), start=1)
        ]

    def _load(self, key: Any, data: bytes) -> Any:
        model = restore(key, bytes(data), {}, ())
        if type(model) is not type(self.first) or dumps(model.clone()) != dumps(self.first.clone()):
            raise ValueError(
                f"the stored forecaster of key {key!r} is {model!r}, the job was started with {self.first!r}: "
                "go on with the same, or start a new checkpoint"
            )
        return model
