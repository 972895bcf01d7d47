"""One model per key on Apache Spark: millions of keyed streams, in Structured Streaming or on a batch DataFrame.

A model is a few kilobytes in Spark's own state store (RocksDB), under its key; Spark brings the rows of a key to its
model, checkpoints both together and replays what a failure interrupted. What a row does to a model is in `keyed`, and
is the same in one process. The policies, sizing and recovery are described in docs/distributed.md.
"""

from __future__ import annotations

import datetime
import importlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

try:
    for _needed in ("google.protobuf", "pyarrow"):  # by Spark's state API, which would miss them in the first batch
        importlib.import_module(_needed)
    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
except ImportError as _error:
    raise ImportError(
        f'streamkernel.distributed.spark needs PySpark 4.1 or newer ({_error}): pip install "streamkernel[spark]"'
    ) from _error

from ..checkpoint import Checkpointed
from .keyed import KeyedModel, Models, Outcome, in_order, restore

__all__ = ["SETTINGS", "export_models", "import_models", "learn_stream", "predict_stream"]

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROWS_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

SETTINGS = {
    _PROVIDER: _ROCKSDB,
    # Write what a batch changed, and not the whole store after every batch.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With a time to live Spark otherwise runs empty batches without end, and a job with `availableNow` does not stop.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # No limit in rows; that in bytes stays. Where models are given, Spark passes so many rows of a key on at a time in
    # the first batch, and the key's model with the last of them.
    _ROWS_AT_ONCE: "0",
    # One thread for each Python worker: there are as many workers as cores.
    **{f"spark.executorEnv.{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")},
}
"""What a session should be configured with; the first is required."""

_STATE = "model"
COUNTS = ("learned", "late", "duplicate", "failed")
_RESULTS = (("prediction", T.DoubleType()), ("standard_deviation", T.DoubleType()), ("error", T.StringType()))
ORDER, TARGET, _FEATURES = "__order", "__target", "__features"
_KEY_TYPES = (T.StringType, T.IntegralType, T.BooleanType, T.BinaryType, T.DateType, T.DecimalType)
FIRST = operator.itemgetter(0)
NULL_KEY = "the key is null"
WHOLE, REAL = T.IntegralType, (T.FloatType, T.DoubleType)


def learn_stream(
    df: DataFrame,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order_by: str,
    model: Any,
    models: DataFrame | None = None,
    time_to_live: datetime.timedelta | None = None,
    max_size: int | None = None,
) -> DataFrame:
    """Predict every row with its key's model, then let that model learn it.

    The result has the key, `order_by`, `target` (as double), `prediction`, `standard_deviation` and `error`, one row
    for each row of `df`. A row that cannot be learned has its reason in `error`, is counted (see `export_models`) and
    changes no model: a null key, order, feature or target, a value that is not finite, and by `order_by` a row that is
    late or a duplicate. Late and duplicate rows are not predicted either; a row that lacks only its target is.

    Parameters
    ----------
    df
        A streaming DataFrame, or a batch one, which is learned from its first row to its last.
    key
        The column, or columns, that say which model a row belongs to: strings, whole numbers, decimals, dates,
        booleans or binary.
    features, target
        Numeric columns. Text is not parsed: decode it before, with `from_json` or `try_cast`, which give null for what
        is not a number.
    order_by
        The column by which rows of one key follow each other: whole numbers, floats, strings, dates or timestamps.
        Rows are sorted within a micro-batch; a row that a later batch brings must come after those learned before.
    model
        What every key starts with, for example `KRLS(kernels.RBF(1.0), ridge=0.1, max_size=50)`; a trained model is a
        warm start. A restart from a checkpoint must give the same model; only its `max_size` may differ.
    models
        Models to begin with, from `export_models` or `import_models`; they are read in the first batch.
    time_to_live
        Forget the model of a key that had no row for so long. Streaming only.
    max_size
        The most points that a key's dictionary may have, in place of the model's own `max_size`: larger ones are
        pruned.

    """
    keys = key_columns(df, key)
    checked_columns(df, "order_by", [order_by], (WHOLE, *REAL, T.StringType, T.DateType, T.TimestampType))
    _numeric(df, features, target)
    distinct([*keys, order_by, target, *(name for name, _ in _RESULTS)])
    check_session(df.sparkSession)
    kind = df.schema[order_by].dataType
    rows = df.select(
        *map(F.col, map(quoted, keys)),
        encoded(F.col(quoted(order_by)), kind).alias(ORDER),
        F.col(quoted(target)).cast("double").alias(TARGET),
        _vector(features),
    )
    processor = _Learner(
        Models(model, features, max_size), tuple(features), schema_of_state(rows), lifetime_of(df, time_to_live)
    )
    learned = _transform(rows, keys, processor, [ORDER, TARGET], models)
    return learned.select(
        *map(F.col, map(quoted, keys)),
        decoded(F.col(ORDER), kind).alias(order_by),
        F.col(TARGET).alias(target),
        *(name for name, _ in _RESULTS),
    )


def predict_stream(
    df: DataFrame,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    models: DataFrame | str,
    keep: Sequence[str] = (),
    functions: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Predict every row with its key's model; nothing is learned.

    The result has the key, the columns to keep, `prediction`, `standard_deviation` and `error`, one row for each row of
    `df`. A key without a model is an error of its rows.

    Parameters
    ----------
    df
        A streaming or a batch DataFrame.
    key, features
        As in `learn_stream`.
    models
        The checkpoint folder of a `learn_stream` job, or what `export_models` or `import_models` gave. A streaming job
        reads the models once, in its first batch, into its own checkpoint.
    keep
        Columns that are passed through, such as the row's identifier: strings, numbers, booleans, binary, dates or
        timestamps.
    functions
        The functions of `Custom` kernels by name.

    """
    keys = key_columns(df, key)
    checked_columns(df, "keep", keep, (*_KEY_TYPES, *REAL, T.TimestampType))
    _numeric(df, features, None)
    distinct([*keys, *keep, *(name for name, _ in _RESULTS)])
    check_session(df.sparkSession)
    given = export_models(df.sparkSession, models) if isinstance(models, str) else models
    kinds = [df.schema[name].dataType for name in keep]
    names = [f"__keep{i}" for i in range(len(keep))]
    rows = df.select(
        *map(F.col, map(quoted, keys)),
        *(encoded(F.col(quoted(n)), kind).alias(name) for n, kind, name in zip(keep, kinds, names, strict=True)),
        _vector(features),
    )
    processor = _Predictor(tuple(features), dict(functions or {}), tuple(names))
    predicted = _transform(rows, keys, processor, names, given)
    return predicted.select(
        *map(F.col, map(quoted, keys)),
        *(decoded(F.col(name), kind).alias(n) for n, kind, name in zip(keep, kinds, names, strict=True)),
        *(name for name, _ in _RESULTS),
    )


def export_models(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The models of a `learn_stream` job as they stand after its last complete batch: one row for each key.

    Columns: the key, `model` (bytes for `from_bytes` or `streamkernel.checkpoint.loads`), `position` (the order of the
    last row that was learned; timestamps in microseconds, dates in days since 1970), and how many rows were `learned`,
    `late`, `duplicate` or `failed`.

    Parameters
    ----------
    spark
        The session.
    checkpoint
        The job's `checkpointLocation`. The job may be running.

    """
    state = spark.read.format("statestore").option("stateVarName", _STATE).load(checkpoint)
    # With a time to live Spark wraps the value once more.
    wrapped = "value" in state.schema["value"].dataType.fieldNames()
    return state.select("key.*", "value.value.*" if wrapped else "value.*")


def import_models(spark: SparkSession, models: Mapping[Any, Checkpointed], *, key: str) -> DataFrame:
    """Models of this process as a DataFrame like that of `export_models`, for `learn_stream` and `predict_stream`.

    Parameters
    ----------
    spark
        The session.
    models
        The model of each key; a key of several columns is a tuple.
    key
        The key's columns and their types, as `"sensor STRING"` or `"plant INT, sensor STRING"`.

    """
    columns = T.StructType.fromDDL(key)
    rows = []
    for name, model in models.items():
        parts = name if len(columns) > 1 else (name,)
        if not isinstance(parts, tuple) or len(parts) != len(columns):
            raise ValueError(f"key {name!r} must be a tuple of {len(columns)} values, for the columns {key!r}")
        if not isinstance(model, Checkpointed):
            raise TypeError(f"the model of key {name!r} must be a model of streamkernel, got {model!r}")
        rows.append((*parts, bytearray(model.to_bytes()), 0, 0, 0, 0))
    fields = [*columns.fields, T.StructField("model", T.BinaryType())]
    counts = [T.StructField(name, T.LongType()) for name in COUNTS]
    return spark.createDataFrame(rows, T.StructType([*fields, *counts]))


# What runs in the workers ---------------------------------------------------------------------------------------------


class Result(Row):
    """A row of the result. Spark asks each for a dict, and Row would look for further rows among its plain values."""

    def asDict(self, recursive: bool = False) -> dict[str, Any]:
        return dict(zip(self.__fields__, self, strict=True))


class Processor(StatefulProcessor):
    """What learning and predicting share: the state, the shape of the rows."""

    columns: Sequence[str] = ()
    """Those of the result."""

    def __init__(self, features: tuple[str, ...], state: T.StructType, lifetime: int | None) -> None:
        self.features = features
        self.state_schema = state
        self.lifetime = lifetime

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState(_STATE, self.state_schema, self.lifetime)
        self.result = type(Result.__name__, (Result,), {"__fields__": self.columns})
        self._latest: Any = None  # the key whose rows came last

    def begin(self, key: Any) -> None:
        """Note that all rows of a key come now; an error where some came before."""
        self._check_whole(key)
        self._latest = key

    def _check_whole(self, key: Any) -> None:
        if key == self._latest:
            raise ValueError(
                f"Spark passes the rows of key {key!r} on in parts, the first before the key's model: configure the "
                f"session with streamkernel.distributed.spark.SETTINGS ({_ROWS_AT_ONCE!r} says how many come at once)"
            )

    def _x(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.features, values, strict=True))

    def handleInitialState(self, key: Any, row: Row, timer: Any) -> None:
        self._check_whole(key)
        self._state.update(tuple(row[name] for name in self.state_schema.fieldNames()))

    def close(self) -> None:
        pass


class _Learner(Processor):
    """All rows of one key in one micro-batch."""

    def __init__(self, models: Models, features: tuple[str, ...], state: T.StructType, lifetime: int | None) -> None:
        super().__init__(features, state, lifetime)
        self.models = models

    def handleInputRows(self, key: Any, rows: Iterator[Row], timer: Any) -> Iterator[Row]:
        self.begin(key)
        stored = self._state.get()
        keyed = self.models.new() if stored is None else self.models.load(key, *stored)
        before = keyed.learned
        results = [
            self.result(*key, order, target, *outcome) for order, target, outcome in self._outcomes(keyed, key, rows)
        ]
        data = keyed.model.to_bytes() if stored is None or keyed.learned > before else bytes(stored[0])
        self._state.update((data, keyed.position, *(getattr(keyed, name) for name in COUNTS)))
        return iter(results)

    def _outcomes(self, keyed: KeyedModel, key: Any, rows: Iterator[Row]) -> Iterator[tuple[Any, Any, Outcome]]:
        """Order, target and outcome of every row."""
        is_null = None in key
        for order, target, values in in_order(columns_of(rows, ORDER, TARGET, _FEATURES), FIRST):
            yield order, target, keyed.fail(NULL_KEY) if is_null else keyed.step(order, self._x(values), target)

    def handleInitialState(self, key: Any, row: Row, timer: Any) -> None:
        self._check_whole(key)
        keyed = self.models.load(key, row["model"])  # an error here names the key before the job has done anything
        values = [row[name] for name in self.state_schema.fieldNames()[1:]]
        self._state.update((keyed.model.to_bytes(), *values))


class _Predictor(Processor):
    """All rows of one key in one micro-batch; the state is read only."""

    def __init__(self, features: tuple[str, ...], functions: dict[str, Any], keep: tuple[str, ...]) -> None:
        super().__init__(features, T.StructType([T.StructField("model", T.BinaryType())]), None)
        self.functions = functions
        self.keep = keep

    def handleInputRows(self, key: Any, rows: Iterator[Row], timer: Any) -> Iterator[Row]:
        self.begin(key)
        stored = None if None in key else self._state.get()
        keyed = None if stored is None else KeyedModel(restore(key, stored[0], self.functions, self.features))
        none = Outcome(None, None, "there is no model for this key")
        return iter(
            [
                self.result(*key, *kept, *(keyed.predict(self._x(values)) if keyed else none))
                for *kept, values in columns_of(rows, *self.keep, _FEATURES)
            ]
        )


def columns_of(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    """Some columns of rows that have the same columns, as plain tuples: a Row searches for a name at every access."""
    rows = list(rows)
    values = list(zip(*rows, strict=True))  # by column
    return list(zip(*(values[rows[0].__fields__.index(name)] for name in names), strict=True)) if rows else []


def _transform(
    rows: DataFrame, keys: list[str], processor: Processor, passed: list[str], models: DataFrame | None
) -> DataFrame:
    """Every row of every key through the processor, which passes some columns on and adds the results."""
    fields = [rows.schema[name] for name in (*keys, *passed)]
    schema = T.StructType(
        [T.StructField(field.name, field.dataType) for field in fields]
        + [T.StructField(name, kind) for name, kind in _RESULTS]
    )
    processor.columns = schema.fieldNames()
    grouped = map(quoted, keys)
    initial = None if models is None else initial_state(models, rows, keys, processor.state_schema)
    time_mode = "None" if processor.lifetime is None else "ProcessingTime"
    return rows.groupBy(*grouped).transformWithState(
        processor, schema, outputMode="Append", timeMode=time_mode, initialState=initial
    )


def initial_state(models: DataFrame, rows: DataFrame, keys: list[str], state: T.StructType) -> Any:
    """The given models, grouped by key, with the columns of the state."""
    missing = [name for name in (*keys, "model") if name not in models.columns]
    if missing:
        raise ValueError(f"models must have the columns {[*keys, 'model']}, it lacks {missing}")
    for name in keys:
        given, wanted = models.schema[name].dataType, rows.schema[name].dataType
        if given != wanted:
            raise TypeError(f"key {name!r} is {wanted.simpleString()} in df and {given.simpleString()} in models")
    columns = []
    for field in state.fields:
        default = F.lit(0 if field.name in COUNTS else None)
        column = F.col(field.name) if field.name in models.columns else default
        columns.append(column.cast(field.dataType).alias(field.name))
    return models.select(*map(quoted, keys), *columns).groupBy(*map(quoted, keys))


# Columns --------------------------------------------------------------------------------------------------------------


def schema_of_state(rows: DataFrame) -> T.StructType:
    fields = [T.StructField("model", T.BinaryType()), T.StructField("position", rows.schema[ORDER].dataType)]
    return T.StructType(fields + [T.StructField(name, T.LongType()) for name in COUNTS])


def encoded(column: Column, kind: T.DataType) -> Column:
    """A value that Python and Spark order and print alike: moments as whole numbers, whatever the time zone."""
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("long")
    if isinstance(kind, WHOLE):
        return column.cast("long")
    return column.cast("double") if isinstance(kind, REAL) else column


def decoded(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.TimestampType):
        return F.timestamp_micros(column)
    if isinstance(kind, T.DateType):
        return F.date_from_unix_date(column.cast("int"))
    return column.cast(kind)


def _vector(features: Sequence[str]) -> Column:
    return F.array(*(F.col(quoted(name)).cast("double") for name in features)).alias(_FEATURES)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def key_columns(df: DataFrame, key: str | Sequence[str]) -> list[str]:
    keys = [key] if isinstance(key, str) else list(key)
    if not keys:
        raise ValueError("key must name at least one column")
    checked_columns(df, "key", keys, _KEY_TYPES)
    distinct([*keys, "model", "position", *COUNTS, ORDER, TARGET, _FEATURES])
    return keys


def _numeric(df: DataFrame, features: Sequence[str], target: str | None) -> None:
    if isinstance(features, str) or not features:
        raise ValueError(f"features must be a list of one or more column names, got {features!r}")
    distinct(list(features))
    numbers = (T.NumericType, T.BooleanType)
    checked_columns(df, "features", features, numbers)
    if target is not None:
        checked_columns(df, "target", [target], numbers)


def checked_columns(df: DataFrame, argument: str, names: Sequence[str], kinds: tuple[Any, ...]) -> None:
    """Raise an error that says which column is absent or of a type that does not go."""
    for name in names:
        if name not in df.columns:
            raise ValueError(f"{argument}: df has no column {name!r}, it has {df.columns}")
        kind = df.schema[name].dataType
        if not isinstance(kind, kinds):
            accepted = ", ".join(known.__name__.removesuffix("Type").lower() for known in kinds)
            raise TypeError(
                f"{argument}: column {name!r} is {kind.simpleString()}, and must be one of {accepted}; "
                "cast it before (try_cast gives null for what does not parse)"
            )


def distinct(names: list[str]) -> None:
    """Spark's column names do not distinguish upper and lower case."""
    repeated = sorted({name for name in names if sum(name.lower() == other.lower() for other in names) > 1})
    if repeated:
        raise ValueError(f"columns must have different names, {repeated} would appear more than once")


def lifetime_of(df: DataFrame, time_to_live: datetime.timedelta | None) -> int | None:
    """Milliseconds, or None."""
    if time_to_live is None:
        return None
    if not isinstance(time_to_live, datetime.timedelta):
        raise TypeError(f"time_to_live must be a datetime.timedelta or None, got {time_to_live!r}")
    milliseconds = time_to_live // datetime.timedelta(milliseconds=1)
    if milliseconds < 1:
        raise ValueError(f"time_to_live must be positive, got {time_to_live!r}")
    if not df.isStreaming:
        raise ValueError("time_to_live needs a streaming df: a batch has no idle keys")
    return milliseconds


def check_session(spark: SparkSession) -> None:
    provider = spark.conf.get(_PROVIDER, "")
    if provider != _ROCKSDB:
        raise ValueError(
            f"the session keeps state with {provider!r}, and models need RocksDB: configure it with "
            "streamkernel.distributed.spark.SETTINGS"
        )
