"""Anomalies put into streams, and who ranks them first: ROC AUC of the detectors beside river's.

One row in a hundred, from row 300 on, is made unusual in one of three ways:

- *target*: the target jumps by 1.5 to 3 of its standard deviations, up or down;
- *far*: one feature leaves its range, by 4 to 8 of its standard deviations;
- *mixed*: every feature is taken from another row: each value is usual, their combination is not.

A sample is scored, then learned, by everybody. river's detectors see scaled features, those of inputs alone the target
as one more feature; ours sees raw ones. Settings were chosen on the development streams, which are made; the reported
ones are real tables.

    python -m bench.anomalies [--quick] [--development] [--json] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from river import anomaly, linear_model, preprocessing
from river import datasets as river_datasets
from sklearn.metrics import roc_auc_score

from bench import record
from bench.papers.report import progress, table
from streamkernel import SupervisedKernelAnomalyDetector, datasets

Sample = tuple[dict[Any, float], float]

DEVELOPMENT: dict[str, Callable[[], Any]] = {
    "Friedman1": lambda: datasets.Friedman1(noise=0.5, seed=1).take(3000),
    "MackeyGlass": lambda: lagged(datasets.MackeyGlass(seed=1)),
    "SincLinear": lambda: datasets.SincLinear(seed=1).take(3000),
    "noisy Friedman1": lambda: datasets.Friedman1(noise=2.5, seed=2).take(3000),
    "Friedman3": lambda: datasets.Friedman3(seed=2).take(3000),
    "noisy SincLinear": lambda: datasets.SincLinear(noise=1.0, seed=3).take(3000),
}
STREAMS: dict[str, Callable[[], Any]] = {
    "Abalone": lambda: datasets.Abalone().take(3000),
    "Concrete": lambda: datasets.Concrete().take(3000),
    "CompActiv": lambda: datasets.CompActiv().take(3000),
    "SpaceGA": lambda: datasets.SpaceGA().take(3000),
    "TrumpApproval": lambda: river_datasets.TrumpApproval(),
    "WineWhite": lambda: datasets.WineWhite().take(3000),
}
KINDS = ("target", "far", "mixed")
FIRST, EVERY, SEED = 300, 100, 1
QUICK_LENGTH = 700


def lagged(series: Any, lags: int = 6, count: int = 3000) -> Iterator[Sample]:
    """The values before, six steps apart, and the next one."""
    values = [float(y) for _, y in series.take(count + 6 * lags)]
    for t in range(6 * lags, len(values)):
        yield {i: values[t - 6 * (i + 1)] for i in range(lags)}, values[t]


def numeric(stream: Any) -> list[Sample]:
    """The samples of a stream, numbers only."""
    rows = [({str(k): float(v) for k, v in x.items() if isinstance(v, int | float)}, float(y)) for x, y in stream]
    order = np.random.default_rng(SEED).permutation(len(rows)) if len(rows) else []
    return [rows[i] for i in order]


def disturbed(samples: Sequence[Sample], kind: str) -> tuple[list[Sample], list[bool]]:
    """The samples with anomalies of one kind, and which they are."""
    rng = np.random.default_rng(SEED)
    spread = float(np.std([y for _, y in samples]))
    names = list(samples[0][0])
    columns = {name: np.array([x.get(name, 0.0) for x, _ in samples]) for name in names}
    varying = [name for name in names if columns[name].std() > 0.0]
    found, labels = [], []
    for t, (x, y) in enumerate(samples):
        unusual = t >= FIRST and rng.random() < 1.0 / EVERY
        sign, amount = rng.choice([-1.0, 1.0]), rng.random()
        if unusual and kind == "target":
            y += sign * (1.5 + 1.5 * amount) * spread
        elif unusual and kind == "far":
            name = varying[rng.integers(len(varying))]
            edge = columns[name].max() if sign > 0 else columns[name].min()
            x = x | {name: float(edge + sign * (4.0 + 4.0 * amount) * columns[name].std())}
        elif unusual:
            x = {name: float(columns[name][rng.integers(len(samples))]) for name in names}
        found.append((x, y))
        labels.append(bool(unusual))
    return found, labels


class WithTarget:
    """A detector of inputs that sees the target as one more feature."""

    def __init__(self, detector: Any, scaler: Any) -> None:
        self.detector, self.scaler = detector, scaler

    def score_one(self, x: dict[Any, float], y: float) -> float:
        """Scale, and score."""
        x = {**x, "target": y}
        self.scaler.learn_one(x)
        return float(self.detector.score_one(self.scaler.transform_one(x)))

    def learn_one(self, x: dict[Any, float], y: float) -> None:
        """Learn the scaled sample."""
        self.detector.learn_one(self.scaler.transform_one({**x, "target": y}))


class OfTarget:
    """A detector of targets alone."""

    def __init__(self) -> None:
        self.detector = anomaly.GaussianScorer(window_size=None, grace_period=50)

    def score_one(self, x: dict[Any, float], y: float) -> float:
        """Score the target; both tails are unusual."""
        score = self.detector.score_one(None, y)
        return abs(score - 0.5) if score else 0.0

    def learn_one(self, x: dict[Any, float], y: float) -> None:
        """Learn the target."""
        self.detector.learn_one(None, y)


DETECTORS: dict[str, Callable[[], Any]] = {
    "streamkernel": SupervisedKernelAnomalyDetector,
    "river HalfSpaceTrees": lambda: WithTarget(anomaly.HalfSpaceTrees(seed=SEED), preprocessing.MinMaxScaler()),
    "river LODA": lambda: WithTarget(anomaly.LODA(seed=SEED), preprocessing.StandardScaler()),
    "river GaussianScorer": OfTarget,
    "river Predictive, linear": lambda: anomaly.PredictiveAnomalyDetection(
        preprocessing.StandardScaler() | linear_model.LinearRegression(), warmup_period=50
    ),
}


def scores(detector: Any, samples: Sequence[Sample]) -> list[float]:
    """Every sample scored before it is learned."""
    found = []
    for x, y in samples:
        score = float(detector.score_one(x, y))
        found.append(score if math.isfinite(score) else 0.0)
        detector.learn_one(x, y)
    return found


def run(streams: dict[str, Callable[[], Any]], quick: bool) -> list[dict[str, Any]]:
    """A row for every stream and kind."""
    rows = []
    for name in progress(list(streams), "streams"):
        samples = numeric(streams[name]())[: QUICK_LENGTH if quick else None]
        for kind in KINDS:
            given, labels = disturbed(samples, kind)
            row: dict[str, Any] = {"stream": name, "kind": kind, "rows": len(given), "anomalies": sum(labels)}
            for who, make in DETECTORS.items():
                row[who] = round(float(roc_auc_score(labels[FIRST:], scores(make(), given)[FIRST:])), 4)
            rows.append(row)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it as CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short stream")
    parser.add_argument("--development", action="store_true", help="the streams that settings were chosen on")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args(arguments)
    streams = DEVELOPMENT if options.development or options.quick else STREAMS
    if options.quick:
        streams = {"Friedman1": streams["Friedman1"]}
    rows = run(streams, options.quick)
    if options.json:
        print(json.dumps(rows))
    else:
        columns = ["stream", "kind", *DETECTORS]
        print(table(columns, [[row[column] for column in columns] for row in rows]))
        best = sum(row["streamkernel"] >= max(row[who] for who in list(DETECTORS)[1:]) for row in rows)
        print(f"\nHighest area under the ROC curve: streamkernel in {best} of {len(rows)} rows.")
    if not options.quick and not options.development:
        made = record.provenance("python -m bench.anomalies", f"1 run, seed {SEED}", ["river", "scikit-learn"])
        record.write(options.out / "anomalies.csv", list(rows[0]), [list(row.values()) for row in rows], made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
