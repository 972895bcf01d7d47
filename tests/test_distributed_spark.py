"""Keyed streams on Spark do what one process does, to the last bit: restarted, poisoned, killed."""

from __future__ import annotations

import copy
import datetime
import doctest
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason='needs pyspark: pip install "streamkernel[spark]"')

from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamkernel import KRLS, HeteroscedasticKRLS, kernels
from streamkernel.checkpoint import CheckpointError, loads
from streamkernel.distributed import spark as distributed
from streamkernel.distributed.keyed import Models
from streamkernel.distributed.spark import SETTINGS, export_models, import_models, learn_stream, predict_stream

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]

ROOT = pathlib.Path(__file__).parents[1]
MODEL = KRLS(kernels.RBF(1.0), ridge=0.01, max_size=12)
FEATURES = ["a", "b", "c"]
SCHEMA = "sensor STRING, t LONG, a DOUBLE, b DOUBLE, c DOUBLE, y DOUBLE"
COLUMNS: dict[str, Any] = {"key": "sensor", "features": FEATURES, "target": "y", "order_by": "t"}

Event = dict[str, Any]


def session(folder: pathlib.Path) -> SparkSession:
    """Two cores, started as quickly as Java lets it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("streamkernel")
    options = {
        **SETTINGS,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.python.authenticate.socketTimeout": "5m",  # a busy machine starts workers slowly
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "America/New_York",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def java_version() -> int:
    """0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr if java else ""
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if java_version() < 17:
        pytest.skip("needs Java 17 or newer")
    started = session(tmp_path_factory.mktemp("spark"))
    yield started
    started.stop()


# The job and what one process makes of it -----------------------------------------------------------------------------


def events(count: int, keys: int, seed: int = 0) -> list[Event]:
    rng = np.random.default_rng(seed)
    xs, noise = rng.uniform(-2.0, 2.0, (count, 3)).tolist(), rng.normal(0.0, 0.05, count).tolist()
    return [
        {"sensor": f"s{k}", "t": t, "a": x[0], "b": x[1], "c": x[2], "y": x[0] * x[1] + x[2] + e}
        for t, (k, x, e) in enumerate(zip(rng.integers(0, keys, count).tolist(), xs, noise, strict=True))
    ]


def write(folder: pathlib.Path, rows: list[Event], files: int) -> str:
    """JSON lines, in files of increasing time and, within a file, in no order. `repr` of a float is exact."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for i, part in enumerate(np.array_split(np.arange(len(rows)), files)):
        lines = [json.dumps(rows[j]) for j in rng.permutation(part)]
        path = folder / f"{i:03}.json"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_600_000_000 + i, 1_600_000_000 + i))  # Spark takes files by their age
    return str(folder)


def one_process(rows: list[Event], model: Any = MODEL) -> tuple[dict[Any, tuple[float, float]], dict[str, Any]]:
    """(key, order) to mean and standard deviation, and the models: the obvious loop."""
    models: dict[str, Any] = {}
    predictions = {}
    for row in rows:
        x = {name: row[name] for name in FEATURES}
        mine = models.setdefault(row["sensor"], copy.deepcopy(model))
        distribution = mine.predict_one(x, with_dist=True)
        predictions[row["sensor"], row["t"]] = distribution.mu, distribution.sigma
        mine.learn_one(x, row["y"])
    return predictions, models


def read(spark: SparkSession, folder: str, files: int = 1) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).json(folder)


def run(result: DataFrame, folder: pathlib.Path) -> Any:
    """The streaming job to the end of its input, from its checkpoint if there is one."""
    writer = result.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def output(spark: SparkSession, folder: pathlib.Path) -> list[Any]:
    """What the job committed: Spark reads the sink's log (`_spark_metadata`), not what files lie about."""
    assert (folder / "out" / "_spark_metadata").is_dir()
    return spark.read.parquet(str(folder / "out")).collect()


def compare(rows: list[Any], expected: dict[Any, tuple[float, float]]) -> tuple[int, int, int]:
    """How many predictions are missing, more than once there, and different in any bit."""
    found: dict[Any, list[tuple[float, float]]] = {}
    for row in rows:
        found.setdefault((row.sensor, row.t), []).append((row.prediction, row.standard_deviation))
    missing = sum(key not in found for key in expected)
    repeated = sum(len(values) - 1 for values in found.values())
    different = sum(key not in expected or values[0] != expected[key] for key, values in found.items())
    return missing, repeated, different


def stored(spark: SparkSession, folder: pathlib.Path) -> dict[str, Any]:
    return {row.sensor: row for row in export_models(spark, str(folder / "checkpoint")).collect()}


# Equal to one process -------------------------------------------------------------------------------------------------

MANY = events(20_000, 100)


@pytest.fixture(scope="module")
def expected() -> tuple[dict[Any, tuple[float, float]], dict[str, Any]]:
    return one_process(MANY)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("many") / "in", MANY, files=4)


def test_twenty_thousand_events_of_a_hundred_keys(
    spark: SparkSession, many: str, expected: Any, tmp_path: pathlib.Path
) -> None:
    predictions, models = expected
    query = run(learn_stream(read(spark, many), **COLUMNS, model=MODEL), tmp_path)
    assert [progress["numInputRows"] for progress in query.recentProgress] == [5000] * 4
    rows = output(spark, tmp_path)
    assert compare(rows, predictions) == (0, 0, 0)
    assert all(row.error is None for row in rows)
    assert {(row.sensor, row.t, row.y) for row in rows} == {(e["sensor"], e["t"], e["y"]) for e in MANY}
    states = stored(spark, tmp_path)
    assert states.keys() == models.keys()
    for name, row in states.items():
        assert bytes(row.model) == models[name].to_bytes()
        mine = [e["t"] for e in MANY if e["sensor"] == name]
        assert (row.position, row.learned, row.late, row.duplicate, row.failed) == (max(mine), len(mine), 0, 0, 0)


JOB = """
import pathlib, sys, time
sys.path.insert(0, {tests!r})
from test_distributed_spark import COLUMNS, MODEL, F, learn_stream, read, run, session
folder = pathlib.Path({folder!r})
spark = session(folder)
spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")  # so that rows leave while others are learned

def hang(t):
    if t == {hang}:
        (folder / "reached").touch()
        time.sleep(600)
    return t

result = learn_stream(read(spark, {many!r}), **COLUMNS, model=MODEL)
run(result.withColumn("t", F.udf(hang, "long")("t")), folder)
"""


def descendants(process: int) -> list[int]:
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the job's processes in /proc")
def test_killed_in_the_middle_of_a_batch(spark: SparkSession, many: str, expected: Any, tmp_path: pathlib.Path) -> None:
    code = JOB.format(tests=str(ROOT / "tests"), folder=str(tmp_path), many=many, hang=12_500)  # in the third batch
    job = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "reached").exists():
        assert job.poll() is None, "the job ended before it could be killed"
        time.sleep(0.1)
    for process in descendants(job.pid):
        os.kill(process, signal.SIGKILL)
    job.wait()
    checkpoint = tmp_path / "checkpoint"
    begun, done = ({path.name for path in (checkpoint / name).glob("[0-9]*")} for name in ("offsets", "commits"))
    assert (begun, done) == ({"0", "1", "2"}, {"0", "1"})
    predictions, models = expected
    assert len(output(spark, tmp_path)) == 10_000
    run(learn_stream(read(spark, many), **COLUMNS, model=MODEL), tmp_path)
    rows = output(spark, tmp_path)
    assert compare(rows, predictions) == (0, 0, 0)
    assert len(rows) == len(MANY)
    assert {name: bytes(row.model) for name, row in stored(spark, tmp_path).items()} == {
        name: model.to_bytes() for name, model in models.items()
    }


# Rows that cannot be learned ------------------------------------------------------------------------------------------


def test_poisoned_rows_stop_nothing_and_change_no_model(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    rows = events(4000, 40, seed=2)
    rng = np.random.default_rng(3)
    poisoned = sorted(rng.choice(len(rows), 40, replace=False).tolist())
    kinds = [("a", float("nan")), ("b", None), ("c", "text"), ("y", None), ("y", float("inf")), ("t", None), ("a", ...)]
    text = dict(enumerate(rows))
    for i, (name, value) in zip(poisoned, kinds * 6):
        text[i] = {**rows[i], name: value}
        if value is ...:  # the column is not there at all
            del text[i][name]
    gone = [{k: v for k, v in row.items() if k != "b"} for row in events(20, 40, seed=4)]  # a file without a column
    lines = [text[i] for i in range(len(rows))]
    write(tmp_path / "in", lines, files=2)
    late_file = tmp_path / "in" / "999.json"
    late_file.write_text("\n".join(json.dumps({**row, "t": row["t"] + 10**6}) for row in gone) + "\n")
    good = [row for i, row in enumerate(rows) if i not in set(poisoned)]
    predictions, models = one_process(good)
    query = run(learn_stream(read(spark, str(tmp_path / "in")), **COLUMNS, model=MODEL), tmp_path)
    assert query.exception() is None
    out = output(spark, tmp_path)
    assert len(out) == len(rows) + len(gone)
    bad = [row for row in out if row.error is not None]
    assert len(bad) == len(poisoned) + len(gone)
    assert all(row.prediction is None or "target" in row.error for row in bad)
    assert compare([row for row in out if row.error is None], predictions) == (0, 0, 0)
    for name, row in stored(spark, tmp_path).items():
        assert bytes(row.model) == models[name].to_bytes()
        assert row.learned == sum(event["sensor"] == name for event in good)
        assert row.failed == sum(event.sensor == name for event in bad)
        assert (row.late, row.duplicate) == (0, 0)
    errors = " ".join(row.error for row in bad)
    for words in (
        "feature 'a' is nan",
        "feature 'b' is None",
        "target y is None",
        "target y is inf",
        "the order is None",
    ):
        assert words in errors


def test_late_duplicate_and_keyless_rows(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    """By timestamp, across an hour that the session's time zone has twice; with a key of two columns."""
    hour = [f"2024-11-03T{h:02}:30:00Z" for h in (4, 5, 6, 7)]  # 05:30Z and 06:30Z are both 01:30 in New York
    row = {"plant": 1, "sensor": "s", "a": 0.5, "y": 1.0}
    first = [{**row, "at": hour[2]}, {**row, "at": hour[0]}, {**row, "at": hour[1]}, {**row, "at": hour[1]}]
    second = [
        {**row, "at": hour[3]},
        {**row, "at": hour[1]},
        {**row, "at": hour[2]},
        {**row, "at": hour[0], "sensor": None},
    ]
    folder = tmp_path / "in"
    folder.mkdir()
    for i, rows in enumerate((first, second)):
        (folder / f"{i}.json").write_text("\n".join(map(json.dumps, rows)))
        os.utime(folder / f"{i}.json", (1_600_000_000 + i,) * 2)
    schema = "plant SHORT, sensor STRING, at TIMESTAMP, a DOUBLE, y DOUBLE"
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    result = learn_stream(df, key=["plant", "sensor"], features=["a"], target="y", order_by="at", model=MODEL)
    assert result.schema.simpleString() == (
        "struct<plant:smallint,sensor:string,at:timestamp,y:double,"
        "prediction:double,standard_deviation:double,error:string>"
    )
    run(result, tmp_path)
    errors: dict[Any, list[str | None]] = {}
    for row in spark.read.parquet(str(tmp_path / "out")).withColumn("at", F.unix_micros("at")).collect():
        errors.setdefault((row.sensor, row.at), []).append(row.error)
    micros = [int(datetime.datetime.fromisoformat(at).timestamp()) * 10**6 for at in hour]
    assert errors["s", micros[0]] == errors["s", micros[3]] == [None]
    assert errors[None, micros[0]] == ["the key is null"]
    duplicate, late = (
        f"duplicate: order {micros[1]} is learned already",
        f"late: order {micros[1]} comes after {micros[2]}",
    )
    assert sorted(map(str, errors["s", micros[1]])) == sorted(["None", duplicate, late])
    assert sorted(map(str, errors["s", micros[2]])) == ["None", f"duplicate: order {micros[2]} is learned already"]
    states = {row.sensor: row for row in export_models(spark, str(tmp_path / "checkpoint")).collect()}
    counts = ("position", "learned", "late", "duplicate", "failed")
    assert [states["s"][name] for name in counts] == [micros[3], 4, 1, 2, 0]
    assert [states[None][name] for name in counts] == [None, 0, 0, 0, 1]
    assert states["s"].plant == 1


def test_a_restart_with_another_model_is_refused(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    rows = events(60, 2, seed=5)
    folder = write(tmp_path / "in", rows[:40], files=1)
    run(learn_stream(read(spark, folder), **COLUMNS, model=MODEL), tmp_path)
    write(tmp_path / "more", rows[40:], files=1)
    (tmp_path / "more" / "000.json").rename(tmp_path / "in" / "001.json")
    other = KRLS(kernels.RBF(2.0), ridge=0.01, max_size=12)
    with pytest.raises(StreamingQueryException, match=r"stored model of key [\s\S]*go on with the same model"):
        run(learn_stream(read(spark, folder), **COLUMNS, model=other), tmp_path)
    columns = {**COLUMNS, "features": ["a", "b"]}
    with pytest.raises(StreamingQueryException, match=r"knows the features \['c'\]"):
        run(learn_stream(read(spark, folder), **columns, model=MODEL), tmp_path)
    run(learn_stream(read(spark, folder), **COLUMNS, model=MODEL, max_size=5), tmp_path)  # a limit may change
    assert {loads(row.model).size for row in stored(spark, tmp_path).values()} == {5}
    assert sum(row.learned for row in stored(spark, tmp_path).values()) == 60


# Between Spark and one process ----------------------------------------------------------------------------------------


def test_models_move_between_one_process_and_spark(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    rows = events(600, 6, seed=6)
    predictions, models = one_process(rows)
    _, early = one_process(rows[:300])
    given = import_models(spark, early, key="sensor STRING")
    batch = spark.createDataFrame([tuple(row.values()) for row in rows[300:]], SCHEMA)
    learned = learn_stream(batch, **COLUMNS, model=MODEL, models=given).collect()
    rest = {key: value for key, value in predictions.items() if key[1] >= 300}
    assert compare(learned, rest) == (0, 0, 0)  # a batch, begun with models that one process trained
    folder = write(tmp_path / "in", rows[300:], files=1)
    stream = learn_stream(
        read(spark, folder), **COLUMNS, model=MODEL, models=given, time_to_live=datetime.timedelta(days=1)
    )
    run(stream, tmp_path)
    assert compare(output(spark, tmp_path), rest) == (0, 0, 0)  # a stream
    exported = {name: loads(row.model) for name, row in stored(spark, tmp_path).items()}
    assert {name: model.to_bytes() for name, model in exported.items()} == {
        name: model.to_bytes() for name, model in models.items()
    }
    again = learn_stream(batch, **COLUMNS, model=MODEL, models=export_models(spark, str(tmp_path / "checkpoint")))
    assert {row.error.partition(":")[0] for row in again.collect()} == {"late", "duplicate"}  # positions move along
    renamed = read(spark, folder).withColumn("sensor", F.when(F.col("t") != 300, F.col("sensor")).otherwise("new"))
    checkpoint = str(tmp_path / "checkpoint")
    scores = predict_stream(renamed, key="sensor", features=FEATURES, models=checkpoint, keep=["t"])
    run(scores, tmp_path / "scores")
    scored = output(spark, tmp_path / "scores")
    assert len(scored) == 300
    for row, event in zip(sorted(scored, key=lambda row: row.t), rows[300:], strict=True):
        if row.t == 300:
            assert (row.prediction, row.error) == (None, "there is no model for this key")
            continue
        distribution = models[row.sensor].predict_one({name: event[name] for name in FEATURES}, with_dist=True)
        assert (row.prediction, row.standard_deviation, row.error) == (distribution.mu, distribution.sigma, None)


def test_a_key_has_its_model_before_its_first_row(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    """More rows of one key in the first batch, in no order, than a session passes on at once by default."""
    rows = [{**row, "sensor": "rare" if i % 1000 == 7 else "often"} for i, row in enumerate(events(11_000, 1, seed=10))]
    predictions, models = one_process(rows)
    _, early = one_process(rows[:20])
    given = import_models(spark, early, key="sensor STRING")
    folder = write(tmp_path / "in", rows[20:], files=1)
    run(learn_stream(read(spark, folder), **COLUMNS, model=MODEL, models=given), tmp_path)
    rest = {key: value for key, value in predictions.items() if key[1] >= 20}
    assert compare(output(spark, tmp_path), rest) == (0, 0, 0)
    assert {name: bytes(row.model) for name, row in stored(spark, tmp_path).items()} == {
        name: model.to_bytes() for name, model in models.items()
    }


@pytest.mark.parametrize("count", [10, 11, 25])
def test_rows_that_come_in_parts_stop_the_job(spark: SparkSession, count: int) -> None:
    """The model comes with the last part, or alone after it."""
    rows = events(20 + count, 1, seed=11)
    given = import_models(spark, one_process(rows[:20])[1], key="sensor STRING")
    batch = spark.createDataFrame([tuple(row.values()) for row in rows[20:]], SCHEMA)
    jobs = [
        learn_stream(batch, **COLUMNS, model=MODEL, models=given),
        predict_stream(batch, key="sensor", features=FEATURES, models=given),
    ]
    at_once = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(at_once, "10")
    try:
        for job in jobs:
            with pytest.raises(PythonException, match=r"rows of key \('s0',\) on in parts.*maxRecordsPerBatch"):
                job.collect()
    finally:
        spark.conf.set(at_once, SETTINGS[at_once])


def test_idle_keys_are_dropped(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    rows = [{**row, "sensor": "idle" if i < 20 else "busy"} for i, row in enumerate(events(40, 1, seed=7))]
    folder = write(tmp_path / "in", rows[:20], files=1)
    arguments: dict[str, Any] = {**COLUMNS, "model": MODEL, "time_to_live": datetime.timedelta(milliseconds=1)}
    run(learn_stream(read(spark, folder), **arguments), tmp_path)
    write(tmp_path / "more", rows[20:], files=1)
    (tmp_path / "more" / "000.json").rename(tmp_path / "in" / "001.json")
    run(learn_stream(read(spark, folder), **arguments), tmp_path)
    assert stored(spark, tmp_path).keys() == {"busy"}


def test_three_hundred_kilobytes_of_state(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    """Other learners and large models: 150 points in each of four keys."""
    model = HeteroscedasticKRLS(kernels.RBF(0.3), threshold=1e-6, max_size=150)
    rows = events(1200, 4, seed=8)
    predictions, models = one_process(rows, model)
    folder = write(tmp_path / "in", rows, files=2)
    run(learn_stream(read(spark, folder), **COLUMNS, model=model), tmp_path)
    assert compare(output(spark, tmp_path), predictions) == (0, 0, 0)
    for name, row in stored(spark, tmp_path).items():
        assert len(row.model) > 300_000
        assert bytes(row.model) == models[name].to_bytes()


# What is refused at once ----------------------------------------------------------------------------------------------


def test_arguments(spark: SparkSession) -> None:
    df = spark.createDataFrame([("s", 1, 0.1, 0.2, 0.3, 1.0)], SCHEMA)

    def learn(**changes: Any) -> DataFrame:
        return learn_stream(df, **{**COLUMNS, "model": MODEL, **changes})

    for changes, words in (
        ({"key": "nothing"}, "key: df has no column 'nothing'"),
        ({"key": []}, "at least one column"),
        ({"features": ["a", "z"]}, "features: df has no column 'z'"),
        ({"features": "a"}, "features must be a list"),
        ({"features": ["a", "A"]}, "different names"),
        ({"features": []}, "features must be a list"),
        ({"target": "z"}, "target: df has no column 'z'"),
        ({"order_by": "z"}, "order_by: df has no column 'z'"),
        ({"order_by": "y"}, r"\['y'\] would appear more than once"),
        ({"time_to_live": datetime.timedelta(0)}, "time_to_live must be positive"),
        ({"time_to_live": datetime.timedelta(hours=1)}, "needs a streaming df"),
        ({"max_size": 0}, "max_size must be a whole number >= 1"),
        ({"models": df}, r"it lacks \['model'\]"),
    ):
        with pytest.raises(ValueError, match=words):
            learn(**changes)
    for changes, words in (
        ({"features": ["sensor"]}, "column 'sensor' is string, and must be one of numeric, boolean"),
        ({"key": "a"}, "key: column 'a' is double"),
        ({"model": "KRLS"}, "model must be a streaming regressor"),
        ({"time_to_live": 3}, "datetime.timedelta"),
        ({"models": import_models(spark, {1: MODEL}, key="sensor INT")}, "'sensor' is string in df and int in models"),
    ):
        with pytest.raises(TypeError, match=words):
            learn(**changes)
    with pytest.raises(ValueError, match=r"\['learned'\] would appear more than once"):
        learn_stream(df.withColumnRenamed("sensor", "learned"), **{**COLUMNS, "key": "learned", "model": MODEL})
    with pytest.raises(TypeError, match="the model of key 's' must be a model of streamkernel"):
        import_models(spark, {"s": b"bytes"}, key="sensor STRING")  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="must be a tuple of 2 values"):
        import_models(spark, {"s": MODEL}, key="plant INT, sensor STRING")
    name = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(name, SETTINGS[name].replace("RocksDB", "HDFSBacked"))
    try:
        with pytest.raises(ValueError, match=r"need RocksDB.*SETTINGS"):
            learn()
    finally:
        spark.conf.set(name, SETTINGS[name])


def test_damaged_models_stop_the_job_with_the_key_in_the_message(spark: SparkSession) -> None:
    df = spark.createDataFrame([("s", 1, 0.1, 0.2, 0.3, 1.0)], SCHEMA)
    models = import_models(spark, {"s": MODEL}, key="sensor STRING")
    damaged = models.withColumn("model", F.expr("substring(model, 1, 200)"))
    with pytest.raises(Exception, match=r"the model of key \('s',\) cannot be restored.*truncated or altered"):
        learn_stream(df, **COLUMNS, model=MODEL, models=damaged).collect()
    assert issubclass(CheckpointError, ValueError)


def test_an_empty_batch(spark: SparkSession) -> None:
    assert learn_stream(spark.createDataFrame([], SCHEMA), **COLUMNS, model=MODEL).collect() == []


# Without Java ---------------------------------------------------------------------------------------------------------


class Store:
    """A key's place in the state store."""

    value: tuple[Any, ...] | None = None

    def getValueState(self, name: str, schema: Any, lifetime: int | None) -> Store:
        return self

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value


def test_what_a_worker_does_with_the_rows_of_a_key() -> None:
    rows = events(60, 1, seed=9)
    predictions, models = one_process(rows)
    given = [Row(__order=row["t"], __target=row["y"], __features=[row[name] for name in FEATURES]) for row in rows]
    schema = T.StructType([T.StructField(name, T.LongType()) for name in ("model", "position", *distributed.COUNTS)])
    learner = distributed._Learner(Models(MODEL, FEATURES), tuple(FEATURES), schema, None)
    learner.columns = ["sensor", "t", "y", "prediction", "standard_deviation", "error"]
    store = Store()
    learner.init(store)
    out = [*learner.handleInputRows(("s0",), iter(given[:30][::-1]), None)]
    with pytest.raises(ValueError, match="in parts"):
        learner.handleInputRows(("s0",), iter(given[30:]), None)
    with pytest.raises(ValueError, match="in parts"):
        learner.handleInitialState(("s0",), Row(model=b""), None)
    learner.init(store)  # the next batch
    out += learner.handleInputRows(("s0",), iter(given[30:]), None)
    assert compare(out, predictions) == (0, 0, 0)
    assert out[7].asDict(True) == Row(*learner.columns)(*out[7]).asDict(True)  # as Spark makes it
    data = models["s0"].to_bytes()
    assert store.value == (data, 59, 60, 0, 0, 0)
    learner.init(store)
    again = [*learner.handleInputRows(("s0",), iter(given[:2]), None)]
    assert [row.error[:4] for row in again] == ["late", "late"]
    assert store.value == (data, 59, 60, 2, 0, 0)
    assert next(learner.handleInputRows((None,), iter(given[:1]), None)).error == "the key is null"
    learner.handleInitialState(("s0",), Row(**dict(zip(schema.names, (data, 7, 1, 2, 3, 4)))), None)
    assert store.value == (data, 7, 1, 2, 3, 4)
    learner.close()

    predictor = distributed._Predictor(tuple(FEATURES), {}, ())
    predictor.columns = ["sensor", "prediction", "standard_deviation", "error"]
    predictor.init(store)
    predictor.handleInitialState(("s0",), Row(model=data), None)
    (row,) = predictor.handleInputRows(("s0",), iter(given[:1]), None)
    with pytest.raises(ValueError, match="in parts"):
        predictor.handleInitialState(("s0",), Row(model=data), None)
    assert row.prediction == models["s0"].predict_one({name: rows[0][name] for name in FEATURES})
    with pytest.raises(ValueError, match=r"stored model of key \('s0',\) knows the features \['b', 'c'\]"):
        distributed.restore(("s0",), data, {}, ["a"])
    assert next(predictor.handleInputRows((None,), iter(given[:1]), None)).error == "there is no model for this key"


# The documentation and the bench --------------------------------------------------------------------------------------


def test_the_page_runs(spark: SparkSession) -> None:
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8").partition("## Candidates on Ray")[0]
    test = doctest.DocTestParser().get_doctest(page, {}, "distributed.md", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).attempted > 20
    assert runner.failures == 0


def test_the_bench_runs(
    spark: SparkSession, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quick form, in this session; Ray's part is in test_distributed_ray.py."""
    monkeypatch.syspath_prepend(str(ROOT))  # bench/ is not part of the installed package
    from bench import record, scale

    arguments = ["--quick", "--json", "--only", "one process", "--only", "Spark", "--out", str(tmp_path)]
    assert scale.main(arguments) == 0
    lines = {(line["job"], line["engine"]): line for line in json.loads(capsys.readouterr().out)}
    assert {job for job, engine in lines if engine == "one process"} == {"keys", "candidates", "arrays"}
    assert {job for job, engine in lines if engine == "Spark"} == {
        "start",
        "keys",
        "few",
        "sparse",
        "large",
        "rows",
    }
    for line in lines.values():
        assert line["events_per_second"] == line["events"] / line["seconds"]
    assert list(record.read(tmp_path / "scale.csv")[0]) == [*scale.HEADERS, "note"]
    assert spark.range(3).count() == 3  # the session that it borrowed is still there
