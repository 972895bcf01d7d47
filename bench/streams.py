"""`AutoKernelRegressor()` with no argument beside river's regressors, each tuned: prequential error, time, coverage.

Every sample is predicted, then learned; RMSE and the coverage of 90 % intervals are those of the whole stream, from its
first sample on. A river model is run with every setting of its grid (`METHODS`) and keeps the best final RMSE, seconds
are those of that run: it is given hindsight that AutoKernelRegressor does not have. Inputs are standardized online for
the river models, the target too for the linear ones. Tables are shuffled with a fixed seed, series come in their order.

The design was made on the streams of `--set development` and on the first halves of the published ones.

    python -m bench.streams [--set published|development] [--quick] [--json] [--out FOLDER] [--stream NAME]
                            [--only auto|river] [--method NAME]
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets as river_datasets
from river import ensemble, forest, linear_model, neighbors, optim, preprocessing, rules, tree
from river.datasets import synth

from bench.papers.report import figure, progress, table, write_csv
from bench.streams_river import water_flow
from streamkernel import AutoKernelRegressor, datasets

Sample = tuple[dict[Any, Any], float]

LEVEL = 0.9
QUICK_LENGTH = 150
AUTO = "AutoKernelRegressor"
FOREST = "river ARF"


def shuffled(kind: Callable[[], Any]) -> Callable[[], list[Sample]]:
    """The rows of a table in a random order that is always the same."""

    def load() -> list[Sample]:
        samples = list(kind())
        return [samples[i] for i in np.random.default_rng(1).permutation(len(samples))]

    return load


def first(count: int, make: Callable[[], Iterable[Any]]) -> Callable[[], list[Sample]]:
    """The first samples of a stream."""
    return lambda: list(itertools.islice(make(), count))


def drift(kind: str, position: tuple[int, ...], seed: int) -> Callable[[], list[Sample]]:
    """River's Friedman stream with drift, 6000 samples."""
    return first(6000, lambda: synth.FriedmanDrift(kind, position=position, transition_window=1000, seed=seed))


PUBLISHED: dict[str, Callable[[], list[Sample]]] = {
    "Sinc": first(2000, lambda: datasets.SincLinear(seed=1)),
    "Friedman 1": first(2000, lambda: datasets.Friedman1(noise=1.0, seed=1)),
    "Friedman 2": first(2000, lambda: datasets.Friedman2(noise=125.0, seed=1)),
    "Friedman 3": first(2000, lambda: datasets.Friedman3(noise=0.1, seed=1)),
    "MG(17)": first(2000, lambda: datasets.MackeyGlass(tau=17, transient=100, seed=1)),
    "MG(30)": first(2000, lambda: datasets.MackeyGlass(tau=30, transient=100, seed=1)),
    "drift lea": drift("lea", (1500, 3000, 4500), 1),
    "drift gra": drift("gra", (2000, 4000), 1),
    "drift gsg": drift("gsg", (2000, 4000), 1),
    "boston": shuffled(datasets.BostonHousing),
    "abalone": shuffled(datasets.Abalone),
    "cpu-small": shuffled(datasets.CompActiv),
    "winequality-red": shuffled(datasets.WineRed),
    "space-ga": shuffled(datasets.SpaceGA),
    "TrumpApproval": lambda: list(river_datasets.TrumpApproval()),  # read to the end: that closes the file
    "ChickWeights": lambda: list(river_datasets.ChickWeights()),
}


def wandering(seed: int = 3) -> Iterator[Sample]:
    """A nonlinear function of five features whose coefficients walk at random."""
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=5)
    while True:
        coefficients = 0.999 * coefficients + 0.04 * random.normal(size=5)
        x = random.normal(size=8)
        y = coefficients @ np.tanh(x[:5]) + 0.5 * x[0] * x[1] + 0.2 * random.normal()
        yield dict(enumerate(x.tolist())), float(y)


def switching(seed: int = 4) -> Iterator[Sample]:
    """Two functions of three features that take turns every 700 samples."""
    random = np.random.default_rng(seed)
    for t in itertools.count():
        x = random.uniform(-2.0, 2.0, size=3)
        y = math.sin(2.0 * x[0]) + x[1] if (t // 700) % 2 == 0 else x[0] * x[1] - x[2]
        yield dict(enumerate(x.tolist())), float(y + 0.1 * random.normal())


def trending(seed: int = 5) -> Iterator[Sample]:
    """A slow random walk seen through polls that follow it with noise, and a clock: like an approval rate."""
    random = np.random.default_rng(seed)
    level, bias = 0.0, random.normal(size=3)
    for t in itertools.count():
        level += 0.05 * random.normal()
        bias = 0.995 * bias + 0.02 * random.normal(size=3)
        polls = level + bias + 0.3 * random.normal(size=3)
        features: dict[Any, Any] = {f"poll {i}": float(poll) for i, poll in enumerate(polls)}
        yield features | {"day": 7e5 + t}, float(40.0 + 5.0 * (level + bias[0]))


def growing(seed: int = 6) -> list[Sample]:
    """Sixty growth curves, one after the other, each at its own pace; features are age and a group."""
    random = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(60):
        group = int(random.integers(4))
        rate, size = 0.12 + 0.02 * random.normal(), 150.0 + 40.0 * group + 30.0 * random.normal()
        for age in range(0, 24, 2):
            weight = 40.0 + size * age / 24.0 * math.exp(rate * (age / 24.0 - 1.0) * 5.0) + random.normal() * 4.0
            samples.append(({"age": float(age), "group": float(group)}, weight))
    return samples


def panel(seed: int = 7) -> list[Sample]:
    """Forty stations hour by hour, each with a level and a slope of its own; the station is a number."""
    random = np.random.default_rng(seed)
    level, slope = 2.0 * random.normal(size=40), 1.0 + 0.5 * random.normal(size=40)
    samples: list[Sample] = []
    for hour, station in itertools.product(range(16), range(40)):
        y = 50.0 + level[station] + 0.75 * slope[station] * hour**1.3 + 0.5 * random.normal() + station % 4
        samples.append(({"hour": float(hour), "station": float(station), "kind": float(station % 4)}, float(y)))
    return samples


def herd(seed: int = 9) -> list[Sample]:
    """Fifty animals weighed in turn as they grow, some missing at times; the animal is a number."""
    random = np.random.default_rng(seed)
    rate = 0.16 + 0.035 * random.normal(size=50)
    samples: list[Sample] = []
    for age, animal in itertools.product(range(12), range(50)):
        feed = animal // 13
        weight = 40.0 * math.exp((rate[animal] + 0.01 * feed) * age) * (1.0 + 0.03 * random.normal())
        if random.random() > 0.03:
            samples.append(({"age": float(age), "animal": float(animal), "feed": float(feed)}, weight))
    return samples


def laser() -> list[Sample]:
    """Santa Fe laser intensities, eight lags."""
    series = np.asarray(datasets.SantaFeLaser().arrays()[1])[:3000]
    X, y = datasets.embed(series, 8, 1)
    return [(dict(enumerate(row)), target) for row, target in zip(X.tolist(), y.tolist())]


DEVELOPMENT: dict[str, Callable[[], list[Sample]]] = {
    "concrete": shuffled(datasets.Concrete),
    "winequality-white": shuffled(datasets.WineWhite),
    "auto-mpg": shuffled(datasets.AutoMPG),
    "auto-price": shuffled(datasets.AutoPrice),
    "mg": shuffled(datasets.MG),
    "servo": shuffled(datasets.Servo),
    "cpu-performance": shuffled(datasets.CPUPerformance),
    "Mexican hat": first(1500, lambda: datasets.MexicanHat(seed=2)),
    "Lorenz": first(2000, lambda: datasets.Lorenz(seed=2)),
    "laser": laser,
    "Mv": first(3000, lambda: synth.Mv(seed=2)),
    "Planes2D": first(3000, lambda: synth.Planes2D(seed=2)),
    "WaterFlow": lambda: list(water_flow()),
    "wandering": first(4000, wandering),
    "switching": first(4200, switching),
    "trending": first(1000, trending),
    "growing": growing,
    "panel": panel,
    "herd": herd,
    "drift gra 9": drift("gra", (1200, 3300), 9),
    "drift gsg 9": drift("gsg", (2500, 4000), 9),
    "heteroscedastic": first(2000, lambda: datasets.Heteroscedastic(seed=2)),
}


def standardized(regressor: Any) -> Any:
    """A linear model on a standardized target."""
    return preprocessing.TargetStandardScaler(regressor=regressor)


METHODS: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]] = {
    "river linear": (
        lambda rate, l2: standardized(linear_model.LinearRegression(optim.SGD(rate), l2=l2, intercept_lr=rate)),
        {"rate": (0.003, 0.01, 0.03, 0.1), "l2": (0.0, 0.001)},
    ),
    "river Bayesian linear": (
        lambda alpha, smoothing: standardized(linear_model.BayesianLinearRegression(alpha, 1.0, smoothing)),
        {"alpha": (0.1, 1.0), "smoothing": (None, 0.99, 0.999)},
    ),
    "river KNN": (
        lambda n_neighbors, window: neighbors.KNNRegressor(
            n_neighbors=n_neighbors, engine=neighbors.LazySearch(window_size=window)
        ),
        {"n_neighbors": (3, 10), "window": (100, 1000)},
    ),
    "river Hoeffding": (
        lambda grace_period, leaf_prediction: tree.HoeffdingAdaptiveTreeRegressor(
            grace_period=grace_period, leaf_prediction=leaf_prediction, seed=1
        ),
        {"grace_period": (50, 200), "leaf_prediction": ("adaptive", "model")},
    ),
    FOREST: (
        lambda n_models, max_features: forest.ARFRegressor(n_models=n_models, max_features=max_features, seed=1),
        {"n_models": (10,), "max_features": ("sqrt", None)},
    ),
    "river AMRules": (
        lambda n_min, delta: rules.AMRules(n_min=n_min, delta=delta),
        {"n_min": (50, 200), "delta": (0.01, 0.1)},
    ),
    "river SRP": (
        lambda n_models, grace_period: ensemble.SRPRegressor(
            model=tree.HoeffdingTreeRegressor(grace_period=grace_period), n_models=n_models, seed=1
        ),
        {"n_models": (5,), "grace_period": (50, 200)},
    ),
}


def numeric(samples: Sequence[Sample]) -> list[Sample]:
    """Words one-hot encoded, for models that cannot read them."""
    return [
        ({(f"{k}={v}" if isinstance(v, str) else str(k)): (1.0 if isinstance(v, str) else v) for k, v in x.items()}, y)
        for x, y in samples
    ]


def prequential(model: Any, samples: Sequence[Sample]) -> tuple[float, float]:
    """RMSE over the stream, and seconds."""
    squares, began = 0.0, time.process_time()
    for x, y in samples:
        prediction = model.predict_one(x)
        model.learn_one(x, y)
        squares += (y - (prediction or 0.0)) ** 2
    seconds = time.process_time() - began
    error = math.sqrt(squares / len(samples))
    return (error if math.isfinite(error) else math.inf), seconds


def covered(model: Any, samples: Sequence[Sample]) -> float:
    """The share of targets inside their 90 % interval."""
    inside = 0
    for x, y in samples:
        interval = model.predict_one(x, with_interval=True, interval_level=LEVEL)
        inside += interval.lower <= y <= interval.upper
        model.learn_one(x, y)
    return inside / len(samples)


def run_auto(samples: Sequence[Sample]) -> list[list[Any]]:
    """AutoKernelRegressor's row."""
    error, seconds = prequential(AutoKernelRegressor(), samples)
    return [[AUTO, error, seconds, covered(AutoKernelRegressor(), samples), 1, ""]]


def run_river(samples: Sequence[Sample], quick: bool, methods: Sequence[str]) -> list[list[Any]]:
    """The row of each river model with its best setting."""
    rows: list[list[Any]] = []
    encoded = numeric(samples)
    for method in methods:
        make, grid = METHODS[method]
        settings = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
        best: tuple[float, float, dict[str, Any]] = (math.inf, math.nan, {})
        for setting in settings[:1] if quick else settings:
            try:
                error, seconds = prequential(preprocessing.StandardScaler() | make(**setting), encoded)
            except (OverflowError, FloatingPointError):  # gradient descent may diverge
                error, seconds = math.inf, math.nan
            if error < best[0]:
                best = error, seconds, setting
        chosen = ", ".join(f"{name}={value}" for name, value in best[2].items())
        rows.append([method, best[0], best[1], None, len(settings), chosen])
    return rows


HEADERS = ["stream", "samples", "method", "RMSE", "seconds", "coverage", "settings", "chosen"]


def summarize(rows: Sequence[list[Any]]) -> list[list[Any]]:
    """For each stream: our error, the best river model's and their ratio, time over the forest's, coverage."""
    lines = []
    for stream, group in itertools.groupby(rows, key=lambda row: row[0]):
        by_method = {row[2]: row for row in group}
        if AUTO not in by_method or FOREST not in by_method:
            continue
        auto = by_method.pop(AUTO)
        best = min(by_method.values(), key=lambda row: row[3])
        time_ratio = auto[4] / by_method[FOREST][4]
        lines.append([stream, auto[1], auto[3], best[3], best[2], auto[3] / best[3], time_ratio, auto[5]])
    return lines


def draw(path: Path, lines: Sequence[list[Any]]) -> None:
    """Bars of the ratio of errors; left of 1 is ours."""
    with figure(path, 8.0, 0.35 * len(lines) + 1.2) as canvas:
        axes = canvas.subplots()
        ratios = [line[5] for line in lines]
        axes.barh(range(len(lines)), ratios, color=["#2a7f62" if ratio < 1.0 else "#b5533c" for ratio in ratios])
        axes.set_yticks(range(len(lines)), [f"{line[0]} ({line[4].removeprefix('river ')})" for line in lines])
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.axvline(1.2, color="black", linewidth=0.8, linestyle=":")
        axes.invert_yaxis()
        axes.set_xlabel("RMSE over that of the best tuned river model (in brackets)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; print, draw and store it."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__)
    parser.add_argument("--set", default="published", choices=("published", "development"), help="which streams")
    parser.add_argument("--quick", action="store_true", help=f"does it run: {QUICK_LENGTH} samples of three streams")
    parser.add_argument("--stream", action="append", help="one stream; may be repeated")
    parser.add_argument("--only", choices=("auto", "river"), help="keep the other rows of the CSV file as they are")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="of river's; may be repeated")
    parser.add_argument("--out", default="bench/results", help="folder for CSV and PNG (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args(arguments)
    streams = PUBLISHED if args.set == "published" else DEVELOPMENT
    names = args.stream or (list(streams)[:1] + list(streams)[-2:] if args.quick else list(streams))
    for name in names:
        if name not in streams:
            parser.error(f"--stream {name!r} is not one of {', '.join(streams)}")
    path = Path(args.out) / f"streams-{args.set}.csv"
    rows = read(path) if args.only or args.stream or args.method else []
    prequential(AutoKernelRegressor(), first(300, lambda: datasets.SincLinear(seed=9))())  # compiles
    for name in progress(names, "streams"):
        samples = streams[name]()[: QUICK_LENGTH if args.quick else None]
        new = run_auto(samples) if args.only != "river" else []
        new += run_river(samples, args.quick, args.method or list(METHODS)) if args.only != "auto" else []
        replaced = {(name, row[0]) for row in new}
        rows = [row for row in rows if (row[0], row[2]) not in replaced]
        rows += [[name, len(samples), *row] for row in new]
        rows.sort(key=lambda row: list(streams).index(row[0]))
        write_csv(path, HEADERS, rows)
    if args.json:
        print(json.dumps([dict(zip(HEADERS, row)) for row in rows]))
        return 0
    print(table(HEADERS, rows))
    lines = summarize(rows)
    if lines:
        draw(path.with_suffix(".png"), lines)
        print()
        headers = ["stream", "samples", "ours", "best of river", "which", "ratio", "time / ARF", "coverage"]
        print(table(headers, lines))
        ratios, times = [line[5] for line in lines], [line[6] for line in lines]
        inside = sum(0.86 <= line[7] <= 0.94 for line in lines)
        wins = sum(ratio < 1.0 for ratio in ratios)
        print(f"\nLower error on {wins} of {len(lines)} streams, worst ratio {max(ratios):.3g};")
        print(f"less time than ARF on {sum(t <= 1.0 for t in times)}; 90 % intervals cover 86-94 % on {inside}.")
    return 0


def read(path: Path) -> list[list[Any]]:
    """The rows of an earlier run."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [
        [stream, int(count), method, float(error), float(seconds), float(share) if share else None, int(tried), chosen]
        for stream, count, method, error, seconds, share, tried, chosen in rows
    ]


if __name__ == "__main__":
    sys.exit(main())
