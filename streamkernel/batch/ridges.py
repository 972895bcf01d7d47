"""The width and the ridge of a kernel ridge regression that were left open, by the leave-one-out error."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from .. import kernels
from ..core.types import Matrix, Vector
from . import arguments
from .system import check_similarities

# They are chosen on this many samples at most: a width costs their number to the third power.
MOST_SAMPLES = 600
# Widths that are tried, in units of the root of the features' total variance.
WIDTHS = 2.0 ** np.arange(-3.0, 4.0)
# Ridges that are tried, in units of the mean self-similarity.
RIDGES = np.logspace(-8.0, 3.0, 23)
# Ridges whose errors differ by less are equally good, and the largest is taken.
INDIFFERENCE = 1e-3
# Where there is nothing to choose by.
PLAIN_RIDGE = 0.01


def choose(
    kernel: kernels.Kernel | None,
    ridge: float | None,
    samples: Matrix,
    targets: Vector,
    weights: Vector,
    names: Sequence[Hashable],
) -> tuple[kernels.Kernel, float]:
    """The kernel and the ridge, chosen where they are None. Of many samples every k-th counts."""
    arguments.check_moderate("X", samples)
    step = -(-len(samples) // MOST_SAMPLES)
    samples, targets, weights = samples[::step], targets[::step], weights[::step]
    center = np.average(samples, axis=0, weights=weights)
    width = math.sqrt(float(np.average((samples - center) ** 2, axis=0, weights=weights).sum()))
    centered = targets - np.average(targets, weights=weights)
    if len(samples) < 3 or not centered.any() or width == 0.0:
        plain = kernels.RBF(width or math.sqrt(samples.shape[1])) if kernel is None else kernel
        return plain, PLAIN_RIDGE if ridge is None else ridge
    candidates = [kernels.RBF(float(width * factor)) for factor in WIDTHS] if kernel is None else [kernel]
    found = [
        (*best_ridge(candidate(samples, features=names), centered, weights, ridge), candidate)
        for candidate in candidates
    ]
    _, best, choice = min(found, key=lambda item: item[0])
    return choice, best


def best_ridge(gram: Matrix, targets: Vector, weights: Vector, ridge: float | None = None) -> tuple[float, float]:
    """The least leave-one-out error and its ridge.

    One decomposition of W½KW½ serves all ridges λ. A sample of weight w counts as w samples, one of which is left out:
    with e the residual and v the posterior variance there, the residual without it is e / (1 − min(w, 1) v/λ).
    """
    check_similarities(gram)
    roots = np.sqrt(weights)
    values, vectors = np.linalg.eigh(roots[:, None] * gram * roots)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ (roots * targets)
    squares = vectors**2
    left_out = np.minimum(1.0, 1.0 / weights)  # of the weight, relative
    ridges = RIDGES * (float(np.diagonal(gram).mean()) or 1.0) if ridge is None else np.array([ridge])
    losses = np.empty(len(ridges))
    for i, candidate in enumerate(ridges):
        shrinkage = candidate / (values + candidate)
        residuals = vectors @ (shrinkage * rotated)  # √w e
        leverage = squares @ (1.0 - shrinkage)  # w v/λ
        losses[i] = np.sum((residuals / np.maximum(1.0 - left_out * leverage, np.finfo(float).eps)) ** 2)
    equal = np.flatnonzero(losses <= (1.0 + INDIFFERENCE) * losses.min())
    return float(losses.min()), float(ridges[equal[-1]])
