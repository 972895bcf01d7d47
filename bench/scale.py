"""What a row and a key cost in one process, on Spark and on Ray, on the same job.

    python -m bench.scale [--quick] [--full] [--json] [--out FOLDER]

Jobs. `keys`: events of many keys, one KRLS per key, every event predicted with its standard deviation and then learned;
Ray runs the same as a single candidate. `candidates`: four such settings at once. `arrays`: one model on an array. On
Spark alone, `sparse`: micro-batches that bring every key one event, so that a key's share of a batch is all there is;
`large`: the same for models of 300 KB; `few`: the same for two keys, which is what a batch costs by itself; `rows`: as
`keys`, when Java has compiled what it will, with few and with many events, whose difference is what a row costs;
`restored`: a batch of one event per key, the first after Java and the workers were started anew from the checkpoint.

CPU seconds are those of all processes that the engine started (Java, Python workers, Ray's daemons), user and system,
sampled from /proc; elsewhere than on Linux there are none. Engines are started and warmed by a small job before the
clock, and what that took is a line of its own. Spark runs `local[2]` with two state partitions, Ray has two processors.
An engine that is not installed is left out, with the reason in its line.
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
)

import argparse
import copy
import dataclasses
import importlib.util
import json
import logging
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from river import base, metrics

from bench import record
from bench.papers.report import progress, table
from streamkernel import KRLS, kernels, run
from streamkernel.distributed.candidates import Contest

FEATURES = ["a", "b", "c"]
MODEL = KRLS(kernels.RBF(4.0), threshold=1e-2, ridge=0.01, max_size=20)
LARGE = KRLS(kernels.RBF(0.2), threshold=1e-6, ridge=0.01, max_size=190)  # 300 KB
KNOWN = 300  # events that every sparse or large key has learned before
SCHEMA = "key LONG, t LONG, a DOUBLE, b DOUBLE, c DOUBLE, y DOUBLE"
SPARSE_BATCHES = 2
MORE_ROWS = 4  # times as many events in the longer job of `rows`
SAMPLE_SECONDS = 0.2  # of a process's life may be missed at its end


@dataclass(frozen=True)
class Size:
    """How large the jobs are."""

    events: int
    keys: int
    sparse_keys: int
    large_keys: int


SIZES = {
    "quick": Size(400, 10, 30, 2),
    "default": Size(20_000, 100, 2_000, 50),
    "full": Size(20_000, 100, 50_000, 200),
}


@dataclass
class Line:
    """One measurement."""

    job: str
    engine: str
    keys: int
    events: int
    seconds: float | None = None
    cpu_seconds: float | None = None
    note: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """What is printed and stored."""
        rate = None if self.seconds is None else self.events / self.seconds
        cpu = None if self.cpu_seconds is None else self.cpu_seconds / self.events
        return {**dataclasses.asdict(self), "events_per_second": rate, "cpu_seconds_per_event": cpu}


HEADERS = ["job", "engine", "keys", "events", "seconds", "cpu_seconds", "events_per_second", "cpu_seconds_per_event"]


class PerKey(base.Regressor):
    """One model per key as one river regressor, the key being a feature: what `learn_stream` does, in one process."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._models: dict[Any, Any] = {}

    def learn_one(self, x: dict[str, Any], y: float) -> None:
        """Let the key's model learn."""
        self._of(x).learn_one({name: x[name] for name in FEATURES}, y)

    def predict_one(self, x: dict[str, Any]) -> float:
        """The key's model's prediction, made with its standard deviation."""
        return float(self._of(x).predict_one({name: x[name] for name in FEATURES}, with_dist=True).mu)

    def _of(self, x: dict[str, Any]) -> Any:
        if x["key"] not in self._models:
            self._models[x["key"]] = copy.deepcopy(self.model)
        return self._models[x["key"]]


def events(count: int, keys: Any, first: int = 0, seed: int = 0) -> list[tuple[Any, ...]]:
    """Rows of `SCHEMA`: of random keys, or of the given ones."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, keys, count) if isinstance(keys, int) else np.asarray(keys)
    xs, noise = rng.uniform(-2.0, 2.0, (count, 3)), rng.normal(0.0, 0.05, count)
    ys = xs[:, 0] * xs[:, 1] + xs[:, 2] + noise
    order = range(first, first + count)
    return [(k, t, *x, y) for k, t, x, y in zip(chosen.tolist(), order, xs.tolist(), ys.tolist(), strict=True)]


def samples(rows: Sequence[tuple[Any, ...]]) -> list[tuple[dict[str, Any], float]]:
    """The same for river."""
    return [({"key": key, "a": a, "b": b, "c": c}, y) for key, _, a, b, c, y in rows]


# Clocks ---------------------------------------------------------------------------------------------------------------


class Processor:
    """User and system time of this process and all below it from here on, those that end meanwhile included."""

    def __init__(self) -> None:
        self._ticks: dict[int, int] = {}
        self._sample()
        self._before = sum(self._ticks.values())
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float | None:
        """The seconds; None without /proc."""
        self._done.set()
        self._thread.join()
        self._sample()
        used = sum(self._ticks.values()) - self._before
        return used / os.sysconf("SC_CLK_TCK") if self._ticks else None

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        parents, ticks = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            process = int(path.parent.name)
            parents[process], ticks[process] = int(fields[1]), int(fields[11]) + int(fields[12])
        family = [process for process in {os.getpid(), *self._ticks} if process in ticks]
        for one in family:
            family += [child for child, parent in parents.items() if parent == one and child not in family]
        self._ticks |= {one: ticks[one] for one in family}


@contextmanager
def timed(line: Line) -> Iterator[None]:
    """Write into a line what the block took."""
    processor, began = Processor(), time.perf_counter()
    yield
    line.seconds = time.perf_counter() - began
    line.cpu_seconds = processor.stop()


# One process ----------------------------------------------------------------------------------------------------------


def settings(model: Any = MODEL) -> dict[float, Any]:
    """Four candidates."""
    parameters = model._parameters()
    return {scale: PerKey(KRLS(**{**parameters, "kernel": kernels.RBF(scale)})) for scale in (0.5, 1.0, 2.0, 4.0)}


def one_process(size: Size) -> Iterator[Line]:
    """The jobs in a plain loop."""
    rows = samples(events(size.events, size.keys))
    Contest({0: PerKey(MODEL)}, metrics.MAE()).learn(rows[:200])  # compiles
    for job, models in (("keys", {0: PerKey(MODEL)}), ("candidates", settings())):
        line = Line(job, "one process", size.keys, len(rows) * len(models))
        contest = Contest(models, metrics.MAE())
        with timed(line):
            contest.learn(rows)
        yield line
    X, y = np.array([[x[name] for name in FEATURES] for x, _ in rows]), np.array([y for _, y in rows])
    run(MODEL.clone(), X[:200], y[:200])
    line = Line("arrays", "one process", 1, len(rows), note="one model, learned in blocks")
    with timed(line):
        run(MODEL.clone(), X, y)
    yield line


# Spark ----------------------------------------------------------------------------------------------------------------


def session(folder: Path) -> Any:
    """Two cores on this machine."""
    from pyspark.sql import SparkSession

    from streamkernel.distributed.spark import SETTINGS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        **SETTINGS,
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.python.authenticate.socketTimeout": "5m",  # a busy machine starts workers slowly
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write(folder: Path, rows: list[tuple[Any, ...]]) -> None:
    """One more file for a stream to read."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    names = [part.split()[0] for part in SCHEMA.split(", ")]
    path = folder / f"{len(list(folder.iterdir())):04}.parquet"
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, zip(*rows), strict=True))), path)


def learn(spark: Any, folder: Path, model: Any) -> Any:
    """What lies in the folder and was not learned yet, a file at a time; returns Spark's reports of the batches."""
    from streamkernel.distributed.spark import learn_stream

    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    result = learn_stream(df, key="key", features=FEATURES, target="y", order_by="t", model=model)
    writer = result.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query.recentProgress


def on_spark(size: Size) -> Iterator[Line]:
    """The keyed job in one micro-batch, then sparse and large keys."""
    reason = absent("pyspark", "streamkernel[spark]") or (None if shutil.which("java") else "skipped: there is no Java")
    if reason:
        yield Line("keys", "Spark", size.keys, size.events, note=reason)
        return
    from pyspark.sql import SparkSession

    borrowed = SparkSession.getActiveSession() is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = Line("start", "Spark", 0, 1, note="session, workers, a first small job")
        with timed(line):
            spark = session(folder)
            write(folder / "warm" / "in", events(200, 10))
            learn(spark, folder / "warm", MODEL)
        yield line
        write(folder / "keys" / "in", events(size.events, size.keys))
        line = Line("keys", "Spark", size.keys, size.events, note="one micro-batch")
        with timed(line):
            learn(spark, folder / "keys", MODEL)
        yield line
        small, large = trained(MODEL), trained(LARGE)
        yield sparse(spark, folder / "few", "few", 2, small)
        yield sparse(spark, folder / "sparse", "sparse", size.sparse_keys, small)
        yield sparse(spark, folder / "large", "large", size.large_keys, large)
        for count in (size.events, MORE_ROWS * size.events):
            write(folder / f"rows{count}" / "in", events(count, size.keys))
            line = Line("rows", "Spark", size.keys, count, note="one micro-batch")
            with timed(line):
                learn(spark, folder / f"rows{count}", MODEL)
            yield line
        if borrowed:  # a session that is not ours is not stopped
            return
        spark = restart(spark, folder)
        for job, count, model in (("sparse", size.sparse_keys, small), ("large", size.large_keys, large)):
            write(folder / job / "in", events(count, range(count), first=10**8))
            line = Line("restored", "Spark", count, count, note=f"{job} keys")
            with timed(line):
                learn(spark, folder / job, model)
            yield line
        spark.stop()


def trained(model: Any) -> Any:
    """A model to start with, so that a key's state has its full size from the first event."""
    rows = events(KNOWN, 1, seed=1)
    model = model.clone()
    for _, _, a, b, c, y in rows:
        model.learn_one({"a": a, "b": b, "c": c}, y)
    return model


def sparse(spark: Any, folder: Path, job: str, count: int, model: Any) -> Line:
    """Batches of one event per key, all keys being known."""
    write(folder / "in", events(count, range(count)))
    learn(spark, folder, model)
    for batch in range(SPARSE_BATCHES):
        write(folder / "in", events(count, range(count), first=(batch + 1) * 10**7, seed=batch))
    line = Line(job, "Spark", count, count * SPARSE_BATCHES)
    with timed(line):
        reports = learn(spark, folder, model)
    disk = sum(path.stat().st_size for path in (folder / "checkpoint" / "state").rglob("*") if path.is_file())
    batch = statistics.median(report["durationMs"]["triggerExecution"] for report in reports) / 1e3
    sizes = f"{len(model.to_bytes()) / 1000:.0f} KB a model, {disk / count / 1000:.0f} KB of checkpoint a key"
    line.note = f"{sizes}, {batch:.1f} s a batch"
    return line


def restart(spark: Any, folder: Path) -> Any:
    """Another Java process and other workers, as after a failure."""
    from pyspark import SparkContext

    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None
    spark = session(folder)
    write(folder / "again" / "in", events(200, 10))
    learn(spark, folder / "again", MODEL)
    return spark


# Ray ------------------------------------------------------------------------------------------------------------------


def on_ray(size: Size) -> Iterator[Line]:
    """The same jobs as candidates of one search."""
    reason = absent("ray", "streamkernel[ray]")
    if reason:
        yield Line("keys", "Ray", size.keys, size.events, note=reason)
        return
    import ray

    from streamkernel.distributed.ray import evaluate_candidates

    rows = samples(events(size.events, size.keys))
    line = Line("start", "Ray", 0, 1, note="daemons, a first small job")
    borrowed = ray.is_initialized()
    with timed(line):
        if not borrowed:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        evaluate_candidates(rows[:200], settings(), metrics.MAE())
    yield line
    for job, models in (("keys", {0: PerKey(MODEL)}), ("candidates", settings())):
        line = Line(job, "Ray", size.keys, len(rows) * len(models), note="actors start anew")
        with timed(line):
            evaluate_candidates(rows, models, metrics.MAE())
        yield line
    if not borrowed:
        ray.shutdown()


def absent(module: str, extra: str) -> str | None:
    """Why a line is skipped, or None."""
    return None if importlib.util.find_spec(module) else f'skipped: pip install "{extra}"'


ENGINES: dict[str, Callable[[Size], Iterator[Line]]] = {"one process": one_process, "Spark": on_spark, "Ray": on_ray}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs; print and store what they cost."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run: a few keys")
    parser.add_argument("--full", action="store_true", help=f"{SIZES['full'].sparse_keys} sparse keys")
    parser.add_argument("--only", action="append", choices=list(ENGINES), help="one engine; may be repeated")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    args = parser.parse_args(arguments)
    size = SIZES["quick" if args.quick else "full" if args.full else "default"]
    lines = [line.values for name in progress(args.only or list(ENGINES), "engines") for line in ENGINES[name](size)]
    rows = [[line[h] for h in [*HEADERS, "note"]] for line in lines]
    command = f"python -m bench.scale{' --full' if args.full else ''}"
    made = record.provenance(command, "1 run, fixed seeds", ["pyspark", "ray"])
    record.write(Path(args.out) / "scale.csv", [*HEADERS, "note"], rows, made)
    if args.json:
        print(json.dumps(lines))
        return 0
    print(table([*HEADERS, "note"], rows))
    fixed = next((line["cpu_seconds"] for line in lines if line["job"] == "few"), None)
    for line in lines:
        if line["job"] in ("sparse", "large") and fixed is not None:
            cost = 1e3 * (line["cpu_seconds"] - fixed) / line["events"]
            print(f"{line['job']}: {cost:.2f} ms of CPU for a key in a batch")
    if fixed is not None:
        short, long = (line for line in lines if line["job"] == "rows")
        cost = 1e3 * (long["cpu_seconds"] - short["cpu_seconds"]) / (long["events"] - short["events"])
        print(f"rows: {cost:.3f} ms of CPU for a row beyond that")
        print(f"a batch by itself: {fixed / SPARSE_BATCHES:.2f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
