"""The search for the parameters of a kernel and the ridge: descents along the slope of a criterion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from .. import kernels
from ..core.types import Matrix, Vector
from .families import Expression, Family, Gaussian
from .values import Criterion, evidence

RIDGE_RANGE = (1e-9, 30.0)
# The prior of the logarithm of the ridge: where it is likely and how widely. Those of the kernel are the family's.
RIDGE_CENTER, RIDGE_SPREAD = 0.05, 3.0
TOLERANCE = 1e-6
HOPELESS = 1e30
# Of the criterion in a descent without a budget: what scipy takes by itself.
MOST_EVALUATIONS = 15000


class Prior(NamedTuple):
    """Independent normal distributions of the logarithms."""

    center: Vector
    spread: Vector

    def __call__(self, point: Vector) -> tuple[float, Vector]:
        """Minus the logarithm of the density, up to a constant, and its slope."""
        precision, away = self.spread**-2.0, point - self.center
        return 0.5 * float(precision @ away**2), precision * away


def descend(
    family: Family,
    targets: Matrix,
    criterion: Criterion,
    starts: Sequence[Vector],
    ridge_range: tuple[float, float],
    tolerance: float,
    prior: Prior | None = None,
    descents: int = 1,
    max_evaluations: int = MOST_EVALUATIONS,
) -> tuple[float, Vector]:
    """The least value of a criterion minus the log prior that descents find, and where: a family's point and ln ρ.

    Parameters
    ----------
    family
        The kernel as a function of a point of logarithms.
    targets
        One column per output.
    criterion
        What is minimized.
    starts
        Points to start from, each with the logarithm of the ridge at its end.
    ridge_range
        Bounds of the ridge.
    tolerance
        The relative decrease that ends a descent.
    prior
        Of the point and ln ρ.
    descents
        From how many of the starts, the best ones, to descend.
    max_evaluations
        The most evaluations of the criterion in a descent; each is O(n³).

    """
    low, high = np.vstack([family.bounds, np.log(ridge_range)]).T

    def objective(point: Vector) -> tuple[float, Vector]:
        ridge = math.exp(point[-1])
        gram, shape = family.gram(point[:-1])
        gram = gram.copy() if gram is shape else gram
        gram[np.diag_indices_from(gram)] += ridge
        try:
            value, weights = criterion(gram, targets)
        except linalg.LinAlgError:  # a point where the matrix is singular to rounding is a bad one
            return HOPELESS, np.zeros_like(point)
        slope = np.append(family.slope(point[:-1], shape, weights), ridge * float(np.trace(weights)))
        if prior is None:
            return value, slope
        surprise, pull = prior(point)
        return value + surprise, slope + pull

    points = [np.clip(point, low, high) for point in starts]
    if len(points) > descents:
        points = sorted(points, key=lambda point: objective(point)[0])[:descents]
    found = [
        optimize.minimize(
            objective,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": tolerance, "maxfun": max_evaluations},
        )
        for point in points
    ]
    best = min(found, key=lambda result: float(result.fun))
    return float(best.fun), np.asarray(best.x)


class Fit(NamedTuple):
    """Where a search ended."""

    value: float
    point: Vector
    kernel: kernels.Kernel
    ridge: float


def fit(
    family: Gaussian | Expression,
    targets: Matrix,
    criterion: Criterion = evidence,
    start: Vector | None = None,
    widths: Sequence[float] = (1.0,),
    descents: int = 1,
    max_evaluations: int = 60,
    others: Sequence[Vector] = (),
) -> Fit:
    """The kernel and the ridge that minimize a criterion minus the log prior.

    Parameters
    ----------
    family
        The kernel as a function of a point of logarithms.
    targets
        One column per output.
    criterion
        `evidence` or `leave_one_out`.
    start
        A point to start from besides the prior's center: the kernel's logarithms and that of the ridge.
    widths
        Factors on the length scales of both, to start from.
    descents
        From how many of these, the best ones, to descend.
    max_evaluations
        The most evaluations of the criterion in a descent; each is O(n³).
    others
        Further points to start from, as they are.

    """
    prior = Prior(np.append(family.center, math.log(RIDGE_CENTER)), np.append(family.spread, RIDGE_SPREAD))
    origins = [prior.center] if start is None or len(start) != len(prior.center) else [prior.center, start]
    starts = [*(family.widened(origin, width) for origin in origins for width in widths), *others]
    value, point = descend(family, targets, criterion, starts, RIDGE_RANGE, TOLERANCE, prior, descents, max_evaluations)
    return Fit(value, point, family.kernel(point[:-1]), math.exp(point[-1]))
