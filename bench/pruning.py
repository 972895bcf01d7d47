"""How exact the variances stay that a full dictionary keeps: `python -m bench.pruning`.

A stream in which nearly every sample joins and another point leaves, a million times. From time to time the kept
variances of the coefficients, and the diagonal of K⁻¹, are compared with dense solves.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg

from streamkernel import KRLS, kernels
from streamkernel.core.variances import flush
from streamkernel.core.whitened import settle
from streamkernel.learners.storage import unpack

SIZE, FEATURES, SEED = 20, 3, 1
# Threshold, ridge, forgetting and its rule.
SETTINGS: list[tuple[float, float, float, str]] = [
    (1e-2, 1e-2, 1.0, "prior"),
    (1e-6, 1e-4, 1.0, "prior"),
    (1e-3, 1e-2, 0.999, "prior"),
    (1e-3, 1e-2, 0.999, "walk"),
    (1e-3, 0.0, 1.0, "prior"),
]


def largest_error(model: Any) -> float:
    """Of what is kept, relative to dense solves."""
    settle(model)
    flush(model)
    size = model.size
    inverse = linalg.solve_triangular(unpack(model.factor, size), np.eye(size), lower=True)
    lower = unpack(model.covariance, size)
    covariance = lower + np.tril(lower, -1).T
    exact = np.einsum("ij,ij->j", inverse, covariance @ inverse), np.einsum("ij,ij->j", inverse, inverse)
    kept = model.coefficient_variances[:size], model.inverse_diagonal[:size]
    known = np.isfinite(kept[0])
    return max(float(np.abs(a / b - 1.0)[known].max(initial=0.0)) for a, b in zip(kept, exact, strict=True))


def run(setting: tuple[float, float, float, str], prunes: int, chunk: int) -> tuple[int, float, float]:
    """How many points left, the largest relative error, and the seconds that a sample took."""
    rng = np.random.default_rng(SEED)
    learner = KRLS(kernels.RBF(1.0), *setting, max_size=SIZE)
    worst, seconds, samples = 0.0, 0.0, 0
    while learner.recursion.pruned < prunes:
        X = rng.standard_normal((chunk, FEATURES)) + 3.0 * np.sin(1e-4 * samples)
        y = np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(chunk)
        began = time.process_time()
        learner.learn_many(X, y)
        seconds += time.process_time() - began
        samples += chunk
        if learner.recursion.model.tracked:
            worst = max(worst, largest_error(learner.recursion.model))
    return learner.recursion.pruned, worst, seconds / samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prunes", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    prunes, chunk = (2000, 500) if options.quick else (options.prunes, 2500)
    print(f"RBF, {FEATURES} features, {SIZE} points")
    for setting in SETTINGS:
        pruned, worst, seconds = run(setting, prunes, chunk)
        error = f"largest relative error {worst:.1e}, {1e6 * seconds:.1f} µs a sample"
        print(f"{setting!s:32s} {pruned:8d} points left, {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
