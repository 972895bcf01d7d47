"""What eight targets cost beside one: `python -m bench.targets`.

Two `MultiTargetKRLS` with dictionaries of exactly m points, one with a single target and one with eight, learn the same
samples in turns; the line is the median over rounds of the ratio of processor times. None of the samples joins.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamkernel import MultiTargetKRLS, kernels

FEATURES, SEED, RIDGE, THRESHOLD, NEARNESS = 10, 1, 1e-2, 1e-3, 1e-6
ASKED = 1.5


def ratio(size: int, samples: int, rounds: int, targets: int = 8) -> float:
    """The time of a step with so many targets over that with one."""
    random = np.random.default_rng(SEED)
    points = random.normal(size=(size, FEATURES))
    names = [f"x{i}" for i in range(FEATURES)]
    visits = points[random.integers(size, size=samples)] + NEARNESS * random.normal(size=(samples, FEATURES))
    models: list[Any] = [MultiTargetKRLS(kernels.RBF(1.0), threshold=THRESHOLD, ridge=RIDGE) for _ in range(2)]
    answers = [[f"y{k}" for k in range(count)] for count in (1, targets)]

    def rows(values: np.ndarray, labels: list[str]) -> list[Any]:
        sums = np.sin(values.sum(axis=1)[:, None] + np.arange(len(labels)))
        return [(dict(zip(names, x)), dict(zip(labels, y))) for x, y in zip(values.tolist(), sums.tolist())]

    for model, labels in zip(models, answers, strict=True):
        for x, y in rows(points, labels):
            model.learn_one(x, y)
    data = [rows(visits, labels) for labels in answers]
    ratios = []
    for _ in range(rounds):
        seconds = []
        for model, stream in zip(models, data, strict=True):
            began = time.process_time()
            for x, y in stream:
                model.learn_one(x, y)
            seconds.append(time.process_time() - began)
        ratios.append(seconds[1] / seconds[0])
    if any(model.size != size for model in models):
        raise RuntimeError(f"the dictionaries have {[model.size for model in models]} points instead of {size}")
    return statistics.median(ratios)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the ratio beside what was asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.targets", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="does it run: a small dictionary, one round")
    quick = parser.parse_args(arguments).quick
    size = 20 if quick else 200
    found = ratio(size, 50 if quick else 1000, 1 if quick else 15)
    print(f"eight targets over one, m = {size}: {found:.2f} (asked at most {ASKED} at m = 200)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
