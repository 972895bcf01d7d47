"""The search for the parameters of a kernel and the ridge: descents along the slope of a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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


# From a point to a value and its slope.
Objective = Callable[[Vector], tuple[float, Vector]]


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
    objective, limits = objective_of(family, targets, criterion, prior), limits_of(family, ridge_range)
    return least(objective, starts, limits, tolerance, descents, max_evaluations)


def limits_of(family: Family, ridge_range: tuple[float, float]) -> Matrix:
    """The least and the largest value of each logarithm, that of the ridge last."""
    return np.vstack([family.bounds, np.log(ridge_range)])


def objective_of(family: Family, targets: Matrix, criterion: Criterion, prior: Prior | None) -> Objective:
    """What a search minimizes: the criterion minus the log prior, and its slope, at a family's point and ln ρ."""

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
        if not (math.isfinite(value) and np.isfinite(slope).all()):  # so is one where it overflows
            return HOPELESS, np.zeros_like(point)
        if prior is None:
            return value, slope
        surprise, pull = prior(point)
        return value + surprise, slope + pull

    return objective


def least(
    objective: Objective,
    starts: Sequence[Vector],
    limits: Matrix,
    tolerance: float,
    descents: int = 1,
    max_evaluations: int = MOST_EVALUATIONS,
) -> tuple[float, Vector]:
    """The least value of an objective that descents find, and where; the same calls in the same order every time."""
    low, high = limits.T
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
    prior = prior_of(family)
    starts = [*starts_of(family, start, widths), *others]
    value, point = descend(family, targets, criterion, starts, RIDGE_RANGE, TOLERANCE, prior, descents, max_evaluations)
    return Fit(value, point, family.kernel(point[:-1]), math.exp(point[-1]))


def prior_of(family: Family) -> Prior:
    """Of the family's point and the logarithm of the ridge."""
    return Prior(np.append(family.center, math.log(RIDGE_CENTER)), np.append(family.spread, RIDGE_SPREAD))


def starts_of(family: Gaussian | Expression, start: Vector | None, widths: Sequence[float] = (1.0,)) -> list[Vector]:
    """The prior's center and, where it has the right length, a point of an earlier search, each at several widths."""
    center = prior_of(family).center
    origins = [center] if start is None or len(start) != len(center) else [center, start]
    return [family.widened(origin, width) for origin in origins for width in widths]
