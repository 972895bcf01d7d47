"""`AutoKernelForecaster()` with no argument on chaotic series: the next value, and iterated forecasts of 200.

A series is learned value by value; the next value is forecast at every one of the last 300 (its mean squared error in
units of the series' variance), and 200 values at a few origins, all after `--values`. How far these leave the range of
the values learned is given as a part of that range: iterated kernel forecasts may explode.

    python -m bench.forecast_chaos [--quick] [--json] [--values N] [--out FOLDER]
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

HEADERS = ["series", "values", "NMSE, next", "RMSE, 200", "worst RMSE, 200", "spread", "beyond range", "seconds"]
AHEAD, JUDGED, ORIGINS = 200, 300, 4
TRANSIENT = 100


def henon(length: int) -> Any:
    """x of the Hénon map, a = 1.4, b = 0.3."""
    x, y, found = 0.1, 0.1, []
    for _ in range(length + TRANSIENT):
        x, y = 1.0 - 1.4 * x * x + y, 0.3 * x
        found.append(x)
    return np.array(found[TRANSIENT:])


def mackey_glass(tau: int, seed: int) -> Callable[[int], Any]:
    """The Mackey-Glass series of a delay."""
    from streamkernel import datasets

    return lambda length: datasets.MackeyGlass(tau=tau, seed=seed).series(length)


def lorenz(length: int) -> Any:
    """x of the Lorenz system, every 0.05."""
    from streamkernel import datasets

    return datasets.Lorenz(seed=1).series(length)


SERIES: dict[str, Callable[[int], Any]] = {
    "Mackey-Glass 17": mackey_glass(17, 1),
    "Mackey-Glass 17, another start": mackey_glass(17, 2),
    "Mackey-Glass 30": mackey_glass(30, 1),
    "Lorenz": lorenz,
    "Henon": henon,
}


def judge(name: str, count: int) -> list[Any]:
    """Learn `count` values, then go on learning while forecasts are judged."""
    from streamkernel import AutoKernelForecaster

    values = SERIES[name](count + JUDGED + AHEAD)
    origins = np.linspace(count, count + JUDGED - 1, ORIGINS).astype(int).tolist()
    model, errors, squares, beyond = AutoKernelForecaster(), [], [], []
    began = time.process_time()
    for t, value in enumerate(values[: count + JUDGED].tolist()):
        if t >= count:
            errors.append(model.forecast(1)[0] - value)
        if t in origins:
            ahead, low, high = np.array(model.forecast(AHEAD)), values[:t].min(), values[:t].max()
            squares.append(float(np.mean((ahead - values[t : t + AHEAD]) ** 2)))
            beyond.append(max(float(ahead.max() - high), float(low - ahead.min()), 0.0) / float(high - low))
        model.learn_one(value)
    seconds = time.process_time() - began
    nmse = float(np.mean(np.square(errors)) / values.var())
    return [
        name, count, nmse, *(float(np.sqrt(f(squares))) for f in (np.median, np.max)),
        float(values.std()), max(beyond), seconds,
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every series; print and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast_chaos", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run: two series, 300 values")
    parser.add_argument("--values", type=int, default=1000, help="learned before the first forecast (%(default)s)")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    args = parser.parse_args(arguments)
    names = ["Mackey-Glass 17", "Henon"] if args.quick else list(SERIES)
    rows = [judge(name, 300 if args.quick else args.values) for name in progress(names, "series")]
    record.write(
        Path(args.out) / "forecast_chaos.csv",
        HEADERS,
        rows,
        record.provenance("python -m bench.forecast_chaos", "1 run"),
    )
    if args.json:
        print(json.dumps([dict(zip(HEADERS, row)) for row in rows]))
    else:
        print(table(HEADERS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
