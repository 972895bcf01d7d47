"""Classifiers on streams, ours beside river's: accuracy, log loss, calibration and time.

Every sample is predicted, then learned, by everybody.

A rival runs over the first quarter of a stream with every setting of its grid (`class_rivals.py`) and keeps the one
with the highest accuracy there; with this it runs over the whole stream from its first sample on, which is what is
reported: in a quarter of it the rival has hindsight. Ours have no setting; `AutoKernelClassifier` gets raw features,
the other two standardized online.

- log loss: minus the logarithm of the probability of the label, which counts as 1/1000 where it is less;
- ECE: the expected calibration error of the likeliest label in ten bins of equal width;
- seconds: processor time of the one reported run.

Designs are chosen on `--development`, which shares no stream with those that are reported (`class_streams.py`).

    python -m bench.classes [--development] [--quick] [--cached] [--only STREAM …] [--models NAME …] [--json]
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
from bench.class_rivals import AUTO, FOREST, OURS, RIVALS
from bench.class_streams import DEVELOPMENT, REPORTED
from bench.contest import Method, Sample, described, numeric
from bench.papers.report import progress, table
from streamkernel.datasets import DatasetError

HEADERS = ["stream", "samples", "classes", "method", "accuracy", "log loss", "ECE", "seconds", "settings", "chosen"]
QUICK_LENGTH = 120
LEAST = 1e-3
BINS = 10


class Scores(NamedTuple):
    """What a run is judged by."""

    accuracy: float
    log_loss: float
    ece: float
    seconds: float


def prequential(model: Any, samples: Sequence[Sample]) -> Scores:
    """Every sample predicted, then learned."""
    right, top, chance = (np.zeros(len(samples)) for _ in range(3))
    began = time.process_time()
    for i, (x, y) in enumerate(samples):
        chances = model.predict_proba_one(x)
        model.learn_one(x, y)
        if chances:
            best = max(chances, key=chances.get)
            right[i], top[i], chance[i] = best == y, chances[best], chances.get(y, 0.0)
    seconds = time.process_time() - began
    loss = -np.log(np.maximum(np.nan_to_num(chance), LEAST)).mean()
    return Scores(float(right.mean()), float(loss), calibration_error(right, np.nan_to_num(top)), seconds)


def calibration_error(right: Any, top: Any) -> float:
    """The mean distance of confidence and accuracy over bins of confidence."""
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=right - top, minlength=BINS)
    return float(np.abs(gaps).sum() / len(right))


def run(method: Method, samples: Sequence[Sample], quick: bool) -> list[Any]:
    """The cells of one method: its scores with the setting that the first quarter chose."""
    settings = method.settings()
    settings = settings[:2] if quick else settings
    best = settings[0]
    if len(settings) > 1:
        quarter = samples[: len(samples) // 4]
        trials = [prequential(method.make(**setting), quarter) for setting in settings]
        best = settings[max(range(len(trials)), key=lambda i: (trials[i].accuracy, -trials[i].log_loss))]
    return [*prequential(method.make(**best), samples), len(settings), described(best)]


def compare(rows: Sequence[dict[str, Any]], ours: str) -> list[list[Any]]:
    """For each stream: ours beside the best rival in accuracy and in log loss, and the seconds beside the forest's."""
    lines = []
    for stream in dict.fromkeys(row["stream"] for row in rows):
        found = {row["method"]: row for row in rows if row["stream"] == stream}
        rivals = [found[name] for name in RIVALS if name in found]
        if ours not in found or not rivals:
            continue
        mine, best = found[ours], max(rivals, key=lambda row: row["accuracy"])
        loss = min(row["log loss"] for row in rivals)
        forest = found[FOREST]["seconds"] if FOREST in found else math.nan
        accuracy = [mine["accuracy"], best["accuracy"], mine["accuracy"] - best["accuracy"], best["method"]]
        lines.append([stream, *accuracy, mine["log loss"], loss, mine["ECE"], mine["seconds"], forest])
    return lines


def verdicts(lines: Sequence[list[Any]]) -> list[str]:
    """What the table shows, beside what was asked: shares of the streams, as 12 and 14 of 16."""
    n = len(lines)
    most, nearly = math.ceil(n * 12 / 16), math.ceil(n * 14 / 16)
    differences = [round(line[3], 9) for line in lines]
    counts = [
        (sum(difference >= 0.0 for difference in differences), most, "accuracy at least the best rival's"),
        (sum(line[5] < line[6] for line in lines), nearly, "log loss below every rival's"),
        (sum(line[7] <= 0.03 for line in lines), nearly, "expected calibration error at most .03"),
    ]
    said = [f"{text}: {count} of {n} (asked {asked}): {_word(count >= asked)}" for count, asked, text in counts]
    worst = min(range(n), key=differences.__getitem__)
    text = f"largest deficit in accuracy: {max(0.0, -differences[worst]):.3f} on {lines[worst][0]} (asked at most .02)"
    said.append(f"{text}: {_word(differences[worst] >= -0.02)}")
    total, longer = (
        sum(line[8] for line in lines) / sum(line[9] for line in lines),
        sum(line[8] > line[9] for line in lines),
    )
    text = f"time over that of river's ARF: {total:.2f} in all (asked at most 1), more on {longer} streams"
    return [*said, f"{text}: {_word(total <= 1.0)}"]


def _word(met: bool) -> str:
    return "yes" if met else "NO"


def stored(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier run."""
    numbers = {"samples": int, "classes": int, "settings": int} | dict.fromkeys(HEADERS[4:8], float)
    return [{key: numbers.get(key, str)(cell) for key, cell in row.items()} for row in record.read(path)]


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.classes", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--development", action="store_true", help="the streams that designs are chosen on")
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples of two streams")
    parser.add_argument("--cached", action="store_true", help="run ours only; the rivals' rows are the stored ones")
    parser.add_argument("--only", nargs="+", metavar="STREAM", help="these streams; other stored rows stay")
    parser.add_argument("--models", nargs="+", choices=[*RIVALS, *OURS], metavar="NAME", help="other stored rows stay")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the CSV file (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(arguments)
    args.streams = DEVELOPMENT if args.development else REPORTED
    for name in args.only or ():
        if name not in args.streams:
            parser.error(f"--only {name!r} is not one of {', '.join(args.streams)}")
    return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; print and store it."""
    args = options(arguments)
    names = args.only or (["Phishing", "ImageSegments"] if args.quick and not args.development else list(args.streams))
    methods = {
        name: m
        for name, m in (OURS if args.cached else RIVALS | OURS).items()
        if name in (args.models or OURS | RIVALS)
    }
    path = args.out / ("classes-development.csv" if args.development else "classes.csv")
    rows = stored(path) if args.cached or args.only or args.models else []
    parts = record.made(path) if rows else {}
    for part, members in (("rivals", RIVALS), ("ours", OURS)):
        if members.keys() & methods.keys():
            parts[part] = record.provenance("python -m bench.classes", "1 run, seed 1", ["river", "scikit-learn"])
    for method in OURS.values():
        prequential(method.make(), [({"x": math.sin(i), "z": i % 7}, i % 3) for i in range(300)])  # compiles
    for name in progress(names, "streams"):
        try:
            samples = args.streams[name]()[: QUICK_LENGTH if args.quick else None]
        except (DatasetError, ModuleNotFoundError) as absent:
            print(f"{name} is left out: {absent}", file=sys.stderr)
            continue
        encoded, classes = numeric(samples), len({y for _, y in samples})
        for label, method in methods.items():
            cells = run(method, samples if label == AUTO else encoded, args.quick)
            rows = [row for row in rows if (row["stream"], row["method"]) != (name, label)]
            rows.append(dict(zip(HEADERS, [name, len(samples), classes, label, *cells], strict=True)))
            rows.sort(
                key=lambda row: (list(args.streams).index(row["stream"]), list(RIVALS | OURS).index(row["method"]))
            )
            record.write(path, HEADERS, [list(row.values()) for row in rows], parts)
    if args.json:
        print(json.dumps(rows))
        return 0
    print(table(HEADERS, [list(row.values()) for row in rows if row["stream"] in names]))
    for ours in OURS:
        if lines := compare(rows, ours):
            headers = ["stream", ours, "best rival", "difference", "which", "log loss", "best", "ECE", "seconds", "ARF"]
            print("", table(headers, lines), "", *verdicts(lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
