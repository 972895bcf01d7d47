"""How long the steps of `AutoKernelRegressor` take, the slow ones above all: `python -m bench.auto`.

Eleven features as tables have them: numbers of different scales, one with a long tail, words, gaps, a clock and a
column that numbers stations. A step is `predict_one` and `learn_one`; p50, mean, p99 and the worst are of all steps,
from the first on. Threads are left as they are, and with `--beside` another process keeps a core busy meanwhile: a
stream cannot wait for either. `--spikes` asks another question: what gross errors among the targets do to the error on
the other rows.

    python -m bench.auto [--quick] [--rows 6000] [--budget medium] [--beside] [--spikes] [--json] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import record
from bench.papers.report import progress, table
from streamkernel import AutoKernelRegressor

Sample = tuple[dict[str, Any], float]

ROWS, QUICK_ROWS = 6000, 300
WEATHER = ("clear", "mist", "rain", "snow")
STATIONS = 24
# Of the targets in the trial with gross errors, and how large they are in units of the targets' spread.
SPIKE_SHARE, SPIKE_EXPONENTS = 0.003, (1, 2, 4, 6, 8)


def mixed(count: int, seed: int = 1) -> list[Sample]:
    """Rentals at stations, hour by hour: eleven features of mixed kinds."""
    random = np.random.default_rng(seed)
    level = random.normal(size=STATIONS)
    temperature, rows = 12.0, []
    for t in range(count):
        hour, station = t % 24, int(random.integers(STATIONS))
        weekday = t // 24 % 7
        temperature += 0.1 * (12.0 + 8.0 * math.sin(2.0 * math.pi * t / 2000.0) - temperature) + random.normal()
        humidity = float(np.clip(60.0 + 15.0 * random.normal(), 5.0, 100.0))
        sky = WEATHER[min(int(random.exponential(1.2)), 3)]
        wind = float(random.pareto(2.5))
        pressure = 101325.0 + 800.0 * random.normal()
        busy = math.exp(-((hour - 8.0) ** 2) / 8.0) + math.exp(-((hour - 17.5) ** 2) / 10.0)
        y = 120.0 * busy * (1.0 if weekday < 5 else 0.4) * (1.0 + 0.2 * level[station])
        y += 2.5 * temperature - 0.02 * (temperature - 22.0) ** 2 - 0.3 * humidity - 20.0 * WEATHER.index(sky)
        y += 12.0 * level[station] - 6.0 * math.log1p(wind) + 10.0 * random.normal()
        x: dict[str, Any] = {
            "clock": 1.7e9 + 3600.0 * t,
            "hour": hour,
            "weekday": weekday,
            "station": station,
            "temperature": temperature,
            "felt": temperature - 0.1 * humidity + random.normal() if random.random() > 0.1 else None,
            "humidity": humidity if random.random() > 0.05 else math.nan,
            "wind": wind,
            "pressure": pressure,
            "sky": sky,
            "holiday": bool(random.random() < 0.03),
        }
        rows.append((x, float(y)))
    return rows


@contextlib.contextmanager
def busy(is_wanted: bool) -> Iterator[None]:
    """Another process that computes all the while."""
    if not is_wanted:
        yield
        return
    other = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10**6))"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def steps(rows: Sequence[Sample], budget: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float]:
    """Processor and wall-clock microseconds of each step, and the RMSE."""
    model, squares = AutoKernelRegressor(budget), 0.0
    spent = np.empty((2, len(rows)))
    for t, (x, y) in enumerate(progress(rows, "steps")):
        began = time.process_time_ns(), time.perf_counter_ns()
        prediction = model.predict_one(x)
        model.learn_one(x, y)
        spent[:, t] = time.process_time_ns() - began[0], time.perf_counter_ns() - began[1]
        squares += (y - prediction) ** 2
    return spent[0] / 1e3, spent[1] / 1e3, math.sqrt(squares / len(rows))


def time_steps(count: int, budget: Any, beside: bool) -> list[list[Any]]:
    """One line for each clock."""
    steps(mixed(min(count, 1300), seed=2), budget)  # compiles
    with busy(beside):
        processor, wall, error = steps(mixed(count), budget)
    return [
        [budget, count, clock, *(float(v) for v in (*np.percentile(us, [50, 99]), us.mean(), us.max())), error]
        for clock, us in (("processor", processor), ("wall", wall))
    ]


STEP_HEADERS = ["budget", "rows", "clock", "p50 µs", "p99 µs", "mean µs", "worst µs", "RMSE"]


def spiked(samples: Sequence[Sample], exponent: int, seed: int = 1) -> tuple[list[Sample], np.ndarray[Any, Any]]:
    """The same stream with gross errors among the targets, and which rows they are."""
    random = np.random.default_rng(seed)
    targets = np.array([y for _, y in samples])
    hit = random.random(len(targets)) < SPIKE_SHARE
    size = 10.0**exponent * float(targets.std()) * random.choice([-1.0, 1.0], len(targets))
    return [(x, float(y)) for (x, _), y in zip(samples, np.where(hit, targets + size, targets))], hit


def clean_error(samples: Sequence[Sample], given: Sequence[Sample], hit: np.ndarray[Any, Any]) -> float:
    """The RMSE on rows that are not gross errors, of a model that learns what it is given."""
    model, errors = AutoKernelRegressor(), []
    for (x, y), (_, learned), is_hit in zip(samples, given, hit):
        if not is_hit:
            errors.append(y - model.predict_one(x))
        model.learn_one(x, learned)
    return math.sqrt(float(np.mean(np.square(errors))))


SPIKE_HEADERS = ["stream", "rows", "gross errors", "RMSE without", *(f"10^{e}" for e in SPIKE_EXPONENTS)]


def spike_streams() -> list[tuple[str, list[Sample]]]:
    """Ten streams, none of which is reported elsewhere."""
    from bench.stream_sources import DEVELOPMENT

    names = ("concrete", "auto-mpg", "mg", "Mexican hat", "Lorenz", "Mv", "switching", "trending", "panel")
    return [("mixed", mixed(2000)), *((name, DEVELOPMENT[name]()[:2000]) for name in names)]


def try_spikes(quick: bool) -> list[list[Any]]:
    """For each stream the error without gross errors, and for each size of them the ratio to it."""
    lines = []
    for name, samples in progress(spike_streams()[: 1 if quick else None], "streams"):
        part = samples[: QUICK_ROWS if quick else None]
        _, hit = spiked(part, 1)
        base = clean_error(part, part, hit)
        ratios = [clean_error(part, spiked(part, e)[0], hit) / base for e in SPIKE_EXPONENTS[: 1 if quick else None]]
        lines.append([name, len(part), int(hit.sum()), base, *ratios])
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(prog="python -m bench.auto", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="how many (default %(default)s)")
    parser.add_argument("--budget", default="medium", help="of the regressor, a name or microseconds")
    parser.add_argument("--beside", action="store_true", help="keep a core busy with something else")
    parser.add_argument("--spikes", action="store_true", help="gross errors among the targets instead of times")
    parser.add_argument("--quick", action="store_true", help="does it run: few rows")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(arguments)
    if args.spikes:
        headers, lines, name = SPIKE_HEADERS, try_spikes(args.quick), "auto-spikes.csv"
    else:
        budget = args.budget if args.budget.isalpha() else float(args.budget)
        headers, name = STEP_HEADERS, "auto.csv"
        lines = time_steps(QUICK_ROWS if args.quick else args.rows, budget, args.beside)
    made = record.provenance(f"python -m bench.auto{' --spikes' if args.spikes else ''}", "1 run, fixed seeds")
    record.write(Path(args.out) / name, headers, lines, made)
    print(json.dumps([dict(zip(headers, line)) for line in lines]) if args.json else table(headers, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
