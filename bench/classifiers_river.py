"""The LS-SVM beside river's classifiers, prequentially: every sample is predicted, then learned.

Each method is tuned over the small grid of `METHODS` on the first quarter of a stream, by its prequential accuracy
there. The chosen model then runs over the whole stream from the start; its accuracy is that of the other three
quarters, beside that of the whole stream, its seconds are those of the whole run, feature scaling included. Inputs are
standardized online for every method. The LS-SVM runs with its default parameters too, which are tuned on nothing.

    python -m bench.classifiers_river [--quick] [--json] [--out FOLDER] [--stream NAME]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from river import datasets as river_datasets
from river import forest, linear_model, multiclass, neighbors, optim, preprocessing

from bench.papers.report import progress, table, write_csv
from streamkernel import LSSVMClassifier, kernels

Sample = tuple[dict[Any, float], Hashable]

STREAMS: dict[str, Callable[[], Any]] = {
    "Phishing": river_datasets.Phishing,
    "ImageSegments": river_datasets.ImageSegments,
    "Bananas": river_datasets.Bananas,
}
QUICK_LENGTH = 240
TUNING_SHARE = 4  # one quarter


class Task(NamedTuple):
    """What a method may know of a stream before it begins."""

    features: int
    multiclass: bool


def lssvm(task: Task, **parameters: float) -> Any:
    """The LS-SVM, its width in units of the default one, √d."""
    if not parameters:
        return LSSVMClassifier()
    kernel = kernels.RBF(parameters["scale"] * math.sqrt(task.features))
    return LSSVMClassifier(kernel, threshold=parameters["threshold"], ridge=parameters["ridge"])


def logistic(task: Task, rate: float, l2: float) -> Any:
    """Logistic regression by stochastic gradient descent; one against the rest."""
    model = linear_model.LogisticRegression(optimizer=optim.SGD(rate), l2=l2, intercept_lr=rate)
    return multiclass.OneVsRestClassifier(model) if task.multiclass else model


def knn(task: Task, n_neighbors: int, window: int) -> Any:
    """Nearest neighbors in a window."""
    return neighbors.KNNClassifier(n_neighbors=n_neighbors, engine=neighbors.LazySearch(window_size=window))


def adaptive_forest(task: Task, n_models: int, max_features: str | None) -> Any:
    """Adaptive random forest."""
    return forest.ARFClassifier(n_models=n_models, max_features=max_features, seed=1)


METHODS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "streamkernel LSSVM, defaults": (lssvm, {}),
    "streamkernel LSSVM": (lssvm, {"scale": (0.25, 0.5, 1.0), "ridge": (0.03, 0.3), "threshold": (1e-2, 1e-3)}),
    "river logistic regression": (logistic, {"rate": (0.003, 0.01, 0.03, 0.1), "l2": (0.0, 0.001)}),
    "river KNN": (knn, {"n_neighbors": (1, 3, 10), "window": (200, 1000)}),
    "river ARF": (adaptive_forest, {"n_models": (10, 30), "max_features": ("sqrt", None)}),
}
HEADERS = ("stream", "samples", "classes", "method", "accuracy", "whole", "seconds", "settings", "chosen")


def prequential(model: Any, samples: Sequence[Sample]) -> tuple[list[bool], float]:
    """Whether each prediction was right, and the seconds of all of them."""
    right, began = [], time.process_time()
    for x, y in samples:
        right.append(model.predict_one(x) == y)  # no prediction before the first label: wrong
        model.learn_one(x, y)
    return right, time.process_time() - began


def contest(stream: str, samples: Sequence[Sample], quick: bool) -> list[list[Any]]:
    """Tune and run every method on a stream: rows for the table."""
    tuning = len(samples) // TUNING_SHARE
    classes = len({y for _, y in samples})
    task = Task(len(samples[0][0]), classes > 2)
    rows = []
    for method, (make, grid) in METHODS.items():
        settings = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
        settings = settings[:2] if quick else settings

        def run(setting: dict[str, Any], part: Sequence[Sample], make: Any = make) -> tuple[list[bool], float]:
            return prequential(preprocessing.StandardScaler() | make(task, **setting), part)

        best = settings[0]
        if len(settings) > 1:
            best = max(settings, key=lambda setting: sum(run(setting, samples[:tuning])[0]))
        right, seconds = run(best, samples)
        chosen = ", ".join(f"{name}={value}" for name, value in best.items()) or "-"
        after, whole = (100.0 * sum(part) / len(part) for part in (right[tuning:], right))
        rows.append([stream, len(samples), classes, method, after, whole, seconds, len(settings), chosen])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; print and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.classifiers_river", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples, two settings each")
    parser.add_argument("--stream", action="append", choices=list(STREAMS), help="one stream; may be repeated")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    args = parser.parse_args(arguments)
    names = args.stream or list(STREAMS)
    prequential(LSSVMClassifier(), [({"x": 0.1 * i}, i % 3) for i in range(20)])  # compiles
    rows = []
    for name in progress(names, "streams"):
        samples = list(STREAMS[name]())  # read to the end: that closes the file
        rows += contest(name, samples[:QUICK_LENGTH] if args.quick else samples, args.quick)
    write_csv(Path(args.out) / "classifiers-river.csv", HEADERS, rows)
    if args.json:
        print(json.dumps([dict(zip(HEADERS, row)) for row in rows]))
        return 0
    print((__doc__ or "").split("\n\n")[1], end="\n\n")
    print(table(HEADERS, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
