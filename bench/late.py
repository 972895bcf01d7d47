"""`AutoKernelRegressor` when answers come late: river's delayed progressive validation.

Every stream is predicted sample by sample, and each sample is learned only when as many further ones were predicted.
Beside the model that judges itself by what it said when it was asked stands one that predicts each sample anew just
before it learns it, and `KRLS` with the best of sixteen settings on the same delayed stream. RMSE of the answers given.

    python -m bench.late [--quick] [--delay 10] [--only STREAM …] [--json] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from river import compose, evaluate, metrics, preprocessing

from bench import record
from bench.contest import Sample, first
from bench.papers.report import progress, table
from bench.stream_sources import DEVELOPMENT
from streamkernel import KRLS, AutoKernelRegressor, datasets, kernels

LENGTH, QUICK_LENGTH = 2000, 100
HEADERS = ["stream", "samples", "at once", "late", "late, judged anew", "late, best KRLS"]
WIDTHS, RIDGES, MAX_SIZE = (1.0, 2.0, 4.0, 8.0), (1e-8, 1e-6, 1e-4, 1e-2), 300

STREAMS: dict[str, Callable[[], list[Sample]]] = {
    "Lorenz": lambda: list(datasets.Lorenz(seed=1).take(LENGTH)),
    "MG(17)": lambda: list(datasets.MackeyGlass(tau=17, seed=1).take(LENGTH)),
    "Lorenz, 10 ahead": lambda: list(datasets.Lorenz(interval=0.01, horizon=10, seed=1).take(LENGTH)),
    "MG(17), 10 ahead": lambda: list(datasets.MackeyGlass(tau=17, horizon=10, stride=1, lags=6, seed=1).take(LENGTH)),
} | {
    name: (lambda load=load: load()[:LENGTH])  # type: ignore[misc]
    for name, load in DEVELOPMENT.items()
    if name in ("laser", "WaterFlow", "wandering", "switching", "trending", "drift gra 9", "Mexican hat")
}


class JudgedAnew(AutoKernelRegressor):
    """The same without a memory of what it said."""

    def learn_one(self, x: Any, y: float, w: float = 1.0) -> None:
        """Learn one sample, judged by what would be said of it now."""
        self._asked.take(self._encoder.read(x), self._count)
        super().learn_one(x, y, w)


def rmse(model: Any, samples: Sequence[Sample], delay: int) -> float:
    """Of the answers given."""
    found = evaluate.progressive_val_score(samples, model, metrics.RMSE(), delay=delay or None)
    return float(found.get())


def best_krls(samples: Sequence[Sample], delay: int) -> float:
    """The best of all settings, with hindsight."""
    if any(isinstance(value, str) for x, _ in samples for value in x.values()):
        return math.nan
    middle = math.sqrt(len(samples[0][0]))
    return min(
        rmse(
            compose.Pipeline(
                preprocessing.StandardScaler(),
                KRLS(kernels.RBF(width * middle) + 1.0, max(ridge / 10.0, 1e-8), ridge, max_size=MAX_SIZE),
            ),
            samples,
            delay,
        )
        for width, ridge in itertools.product(WIDTHS, RIDGES)
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and store."""
    parser = argparse.ArgumentParser(prog="python -m bench.late", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples of two streams")
    parser.add_argument("--delay", type=int, default=10, help="samples between question and answer (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=STREAMS, metavar="STREAM", help="these streams")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for the CSV (%(default)s)")
    args = parser.parse_args(arguments)
    names = args.only or (["MG(17)", "trending"] if args.quick else list(STREAMS))
    rows = []
    for name in progress(names, "streams"):
        samples = first(QUICK_LENGTH if args.quick else LENGTH, STREAMS[name])()
        found = [rmse(AutoKernelRegressor(), samples, delay) for delay in (0, args.delay)]
        found += [rmse(JudgedAnew(), samples, args.delay), best_krls(samples, args.delay)]
        rows.append([name, len(samples), *found])
    path = args.out / "late.csv"
    record.write(path, HEADERS, rows, {"all": record.provenance("python -m bench.late", "1 run", ["river"])})
    print(json.dumps([dict(zip(HEADERS, row)) for row in rows]) if args.json else table(HEADERS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
