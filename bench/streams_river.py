"""KRLS beside river's regressors, prequentially: every sample is predicted, then learned.

Each method is tuned over the small grid of `METHODS` on the first quarter of a stream, by its prequential error there.
The chosen model then runs over the whole stream from the start; its RMSE is that of the other three quarters, its
seconds are those of the whole run, feature scaling included. Inputs are standardized online for every method.

Two smaller grids of KRLS, one with a linear and one with a quadratic trend, were run on these streams before this one,
which has both, so that the first quarter of a stream decides. It has more settings than the other methods have.

    python -m bench.streams_river [--quick] [--full] [--json] [--out FOLDER] [--stream NAME]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from river import datasets as river_datasets
from river import feature_extraction, forest, linear_model, neighbors, optim, preprocessing, rules

from bench import record
from bench.papers.report import progress, table
from streamkernel import KRLS, datasets, kernels

Sample = tuple[dict[Any, float], float]

DEFAULT_LENGTH, FULL_LENGTH, QUICK_LENGTH = 2000, 10_000, 120
TUNING_SHARE = 4  # one quarter
WATER_LAGS = 6
MAX_SIZE = 400  # the dictionary's limit, so that a noisy stream of many features cannot fill the memory


def water_flow() -> Iterator[Sample]:
    """river's WaterFlow with what a model can use: the last values and the time of day."""
    past: deque[float] = deque(maxlen=WATER_LAGS)
    for x, y in river_datasets.WaterFlow():
        angle = 2.0 * math.pi * (x["Time"].hour + x["Time"].minute / 60.0) / 24.0
        if len(past) == WATER_LAGS:
            features: dict[Any, float] = {f"y-{i + 1}": value for i, value in enumerate(past)}
            yield features | {"sin": math.sin(angle), "cos": math.cos(angle)}, y
        past.appendleft(y)


STREAMS: dict[str, Callable[[], Iterable[Any]]] = {
    "Sinc-Linear": lambda: datasets.SincLinear(seed=1),
    "Friedman-1": lambda: datasets.Friedman1(noise=0.1, seed=1),
    "Friedman-2": lambda: datasets.Friedman2(noise=0.1, seed=1),
    "Friedman-3": lambda: datasets.Friedman3(noise=0.1, seed=1),
    "MG(17)": lambda: datasets.MackeyGlass(tau=17, transient=100, seed=1),
    "MG(30)": lambda: datasets.MackeyGlass(tau=30, transient=100, seed=1),
    "TrumpApproval": lambda: list(river_datasets.TrumpApproval()),  # read to the end: that closes the file
    "ChickWeights": lambda: list(river_datasets.ChickWeights()),
    "WaterFlow": lambda: list(water_flow()),
}


def krls(features: int, trend: int, scale: float, ridge: float, forgetting: float) -> Any:
    """An RBF kernel for the shape, a linear or quadratic one for level and trend."""
    kernel = kernels.RBF(scale * math.sqrt(features)) + 0.1 * kernels.Polynomial(trend)
    return KRLS(kernel, threshold=1e-4, ridge=ridge, forgetting=forgetting, max_size=MAX_SIZE)


def knn(features: int, n_neighbors: int, window: int) -> Any:
    """Nearest neighbors in a window."""
    return neighbors.KNNRegressor(n_neighbors=n_neighbors, engine=neighbors.LazySearch(window_size=window))


def adaptive_forest(features: int, n_models: int, max_features: str | None) -> Any:
    """Adaptive random forest."""
    return forest.ARFRegressor(n_models=n_models, max_features=max_features, seed=1)


def amrules(features: int, n_min: int, delta: float) -> Any:
    """Adaptive model rules."""
    return rules.AMRules(n_min=n_min, delta=delta)


def polynomial(features: int, degree: int, rate: float) -> Any:
    """Polynomial features, linear regression by stochastic gradient descent."""
    regressor = linear_model.LinearRegression(optimizer=optim.SGD(rate), intercept_lr=rate)
    target = preprocessing.TargetStandardScaler(regressor=regressor)
    extender = feature_extraction.PolynomialExtender(degree=degree)
    return extender | preprocessing.StandardScaler() | target if degree > 1 else target


def bayesian(features: int, alpha: float, smoothing: float | None) -> Any:
    """Bayesian linear regression."""
    regressor = linear_model.BayesianLinearRegression(alpha=alpha, smoothing=smoothing)
    return preprocessing.TargetStandardScaler(regressor=regressor)


METHODS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "streamkernel KRLS": (
        krls,
        {"trend": (1, 2), "scale": (0.5, 1.0, 2.0), "ridge": (1e-4, 1e-2, 0.3), "forgetting": (1.0, 0.999)},
    ),
    "river KNN": (knn, {"n_neighbors": (3, 10, 20), "window": (200, 1000)}),
    "river ARF": (adaptive_forest, {"n_models": (10,), "max_features": ("sqrt", None)}),
    "river AMRules": (amrules, {"n_min": (50, 200), "delta": (0.01, 0.1)}),
    "river polynomial + SGD": (polynomial, {"degree": (1, 2), "rate": (0.001, 0.01, 0.03)}),
    "river Bayesian linear": (bayesian, {"alpha": (0.1, 1.0), "smoothing": (None, 0.99)}),
}


def prequential(model: Any, samples: Sequence[Sample], skip: int) -> tuple[float, float]:
    """RMSE of the predictions after the first `skip`, and the seconds of all of them."""
    squares, began = 0.0, time.process_time()
    for i, (x, y) in enumerate(samples):
        prediction = model.predict_one(x)
        model.learn_one(x, y)
        if i >= skip:
            squares += (y - (prediction or 0.0)) ** 2
    seconds = time.process_time() - began
    error = math.sqrt(squares / max(1, len(samples) - skip))
    return (error if math.isfinite(error) else math.inf), seconds


def contest(stream: str, samples: Sequence[Sample], quick: bool) -> list[list[Any]]:
    """Tune and run every method on a stream: rows for the table."""
    tuning = len(samples) // TUNING_SHARE
    rows = []
    for method, (make, grid) in METHODS.items():
        settings = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
        settings = settings[:2] if quick else settings
        build = [
            lambda setting=setting, make=make: preprocessing.StandardScaler() | make(len(samples[0][0]), **setting)
            for setting in settings
        ]
        errors = [_guarded(model, samples[:tuning], tuning // 4)[0] for model in build]
        best = min(range(len(errors)), key=errors.__getitem__)
        error, seconds = _guarded(build[best], samples, tuning)
        chosen = ", ".join(f"{name}={value}" for name, value in settings[best].items())
        rows.append([stream, len(samples), method, error, seconds, len(settings), chosen])
    return rows


def _guarded(build: Callable[[], Any], samples: Sequence[Sample], skip: int) -> tuple[float, float]:
    """Gradient descent may overflow on some settings: that is an infinite error, not a crash."""
    try:
        return prequential(build(), samples, skip)
    except (OverflowError, FloatingPointError):
        return math.inf, math.nan


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; print and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams_river", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples of three streams")
    parser.add_argument("--full", action="store_true", help=f"up to {FULL_LENGTH} samples a stream")
    parser.add_argument("--stream", action="append", choices=list(STREAMS), help="one stream; may be repeated")
    parser.add_argument("--out", default="bench/results", help="folder for the CSV file (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    args = parser.parse_args(arguments)
    length = QUICK_LENGTH if args.quick else FULL_LENGTH if args.full else DEFAULT_LENGTH
    names = args.stream or (["Sinc-Linear", "ChickWeights", "WaterFlow"] if args.quick else list(STREAMS))
    prequential(krls(2, 1, 1.0, 0.01, 0.999), list(itertools.islice(STREAMS["Sinc-Linear"](), 20)), 0)  # compiles
    rows = []
    for name in progress(names, "streams"):
        rows += contest(name, list(itertools.islice(STREAMS[name](), length)), args.quick)
    headers = ["stream", "samples", "method", "RMSE", "seconds", "settings", "chosen"]
    made = record.provenance("python -m bench.streams_river", "1 run, seed 1", ["river"])
    record.write(Path(args.out) / "streams-river.csv", headers, rows, made)
    if args.json:
        print(json.dumps([dict(zip(headers, row)) for row in rows]))
        return 0
    print(*(__doc__ or "").split("\n\n")[1:3], sep="\n\n", end="\n\n")
    print(table(headers, rows))
    wins = sum(min(group, key=lambda row: row[3])[2].startswith("streamkernel") for group in _groups(rows))
    print(f"\nstreamkernel has the least error on {wins} of {len(names)} streams.")
    return 0


def _groups(rows: Sequence[list[Any]]) -> list[list[list[Any]]]:
    return [list(group) for _, group in itertools.groupby(rows, key=lambda row: row[0])]


if __name__ == "__main__":
    sys.exit(main())
