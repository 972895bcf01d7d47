"""What a step of `AutoKernelForecaster()` costs: mean processor time of `learn_one`, forecasts of 48, a long series.

Half-hourly values with a day, a week, a trend and noise (`seasonal`), a random walk (`walk`), Mackey-Glass (`chaotic`).
Times are of one thread, compilation excluded; the long series is what `--values` says, and nothing that is kept of it
grows.

    python -m bench.forecast_long [--quick] [--json] [--values N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import record
from bench.papers.report import progress, table

HEADERS = ["series", "values", "learn_one, ms", "forecast of 48, ms", "with intervals, ms", "bytes", "RMSE / noise"]
AHEAD, REPEATED, LONG, SHORT = 48, 10, 100_000, 2_000
DAY, WEEK = 48, 336


def seasonal(count: int) -> tuple[Any, float]:
    """Values, and the standard deviation of what cannot be forecast."""
    t, random = np.arange(count), np.random.default_rng(0)
    day, week = random.standard_normal(DAY), random.standard_normal(WEEK // DAY)
    return 50.0 + 1e-4 * t + 5.0 * day[t % DAY] + 3.0 * week[t // DAY % 7] + random.standard_normal(count), 1.0


def walk(count: int) -> tuple[Any, float]:
    """A random walk, whose error 48 steps ahead has this root mean square over the steps."""
    return np.cumsum(np.random.default_rng(1).standard_normal(count)), float(np.sqrt((AHEAD + 1) / 2.0))


def chaotic(count: int) -> tuple[Any, float]:
    """No noise: in units of the series' own spread."""
    from streamkernel import datasets

    values = datasets.MackeyGlass(tau=17, seed=1).series(count)
    return values, float(values.std())


SERIES: dict[str, Callable[[int], tuple[Any, float]]] = {"seasonal": seasonal, "walk": walk, "chaotic": chaotic}


def measure(name: str, count: int) -> list[Any]:
    """Learn all but the last 48 values, and forecast these."""
    from streamkernel import AutoKernelForecaster

    values, noise = SERIES[name](count)
    model = AutoKernelForecaster()
    began = time.process_time()
    for value in values[:-AHEAD].tolist():
        model.learn_one(value)
    learning = time.process_time() - began
    times = []
    for with_interval in (False, True):
        began = time.process_time()
        for _ in range(REPEATED):
            model.forecast(AHEAD, with_interval=with_interval)
        times.append(1e3 * (time.process_time() - began) / REPEATED)
    rmse = float(np.sqrt(np.mean((np.array(model.forecast(AHEAD)) - values[-AHEAD:]) ** 2)))
    return [name, count, 1e3 * learning / (count - AHEAD), *times, len(model.to_bytes()), rmse / noise]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; print and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast_long", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run: 400 values")
    parser.add_argument("--values", type=int, default=LONG, help="of the long series (default %(default)s)")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    args = parser.parse_args(arguments)
    jobs = [("seasonal", 400)] if args.quick else [*((name, SHORT) for name in SERIES), ("seasonal", args.values)]
    measure("chaotic", 400)  # compiles
    rows = [measure(*job) for job in progress(jobs, "series")]
    made = record.provenance("python -m bench.forecast_long", f"1 run, forecasts {REPEATED} times")
    record.write(Path(args.out) / "forecast_long.csv", HEADERS, rows, made)
    if args.json:
        print(json.dumps([dict(zip(HEADERS, row)) for row in rows]))
    else:
        print(table(HEADERS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
