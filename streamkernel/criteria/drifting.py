"""Kernels of functions that change: the correlation in time that the recursion's forgetting stands for.

With the rule "prior" the recursion's weights are wₜ₊₁ = √λ wₜ + √((1−λ)/α) ε between two samples. The function is then
a Gaussian process over inputs and time, and KRLS with every sample in the dictionary predicts as that process does:

    cov(f_i(x), f_j(z)) = k(x, z) λ^(|i−j|/2) / α = k(x, z) exp(−φ|i−j|) / α,    φ = −½ ln λ

So ln φ is one more parameter with a slope. Scales and ridge are found together with it: without it all change looks
like noise. The rule "walk" adds the same variance (1−λ)/α in every step.

Van Vaerenbergh, Santamaría & Lázaro-Gredilla (2012), "Estimation of the forgetting factor in kernel recursive least
squares", IEEE International Workshop on Machine Learning for Signal Processing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .. import kernels
from ..core.types import Matrix, Vector
from .families import Expression, Family, Gaussian
from .search import RIDGE_RANGE, TOLERANCE, Fit, least, limits_of, objective_of, prior_of
from .values import evidence

# The prior of ln φ: λ = 0.99 is likely, what lies between 1 − 1e-6 and 0.3 is possible.
PACE_CENTER, PACE_SPREAD, PACE_REACH = 0.005, 3.0, (-9.2, 4.8)
# Where a descent may begin: 1/φ as shares of the window, and a factor on the ridge found as if nothing changed.
MEMORIES, CALMER = (50.0, 1.0), 0.03
# How much more likely change must make the targets, in logarithms. Of 728 windows without change 3 gained as much, all
# with noise of heavy tails.
CLEAR = 8.0


class Drifting(Family):
    """A family times exp(−φ|i−j|), as a function of its point with ln φ at the end; samples stand in order of time."""

    def __init__(self, family: Gaussian | Expression, count: int) -> None:
        self._family = family
        self._times = np.arange(count, dtype=float)
        self.ages = linalg.toeplitz(self._times)
        self.start = self.center = np.append(family.center, math.log(PACE_CENTER))
        self.spread = np.append(family.spread, PACE_SPREAD)
        self.reach = np.vstack([family.reach, PACE_REACH])

    def gram(self, point: Vector) -> tuple[Matrix, Any]:
        """K, and its factors."""
        still, shape = self._family.gram(point[:-1])
        fading = linalg.toeplitz(np.exp(-math.exp(point[-1]) * self._times))
        return still * fading, (still, shape, fading)

    def slope(self, point: Vector, shape: Any, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter."""
        still, inner, fading = shape
        faded = weights * fading
        pace = -math.exp(point[-1]) * float(np.vdot(faded * still, self.ages))
        return np.append(self._family.slope(point[:-1], inner, faded), pace)


class Drift(NamedTuple):
    """A function that changes: its kernel's point, kernel and ridge, and how fast it is forgotten."""

    point: Vector
    kernel: kernels.Kernel
    ridge: float
    forgetting: float


def fit_drift(
    family: Gaussian | Expression, targets: Matrix, still: Fit, max_evaluations: int, clear: float = CLEAR
) -> Drift | None:
    """Kernel, ridge and λ by the evidence, where it is clear that the function changes; otherwise None.

    Parameters
    ----------
    family
        The kernel as a function of a point of logarithms, on samples in order of time.
    targets
        One column per output.
    still
        Where the evidence is largest for a function that does not change.
    max_evaluations
        The most evaluations of the evidence in the descent; each is O(n³).
    clear
        The gain in log evidence from which change is clear.

    """
    drifting = Drifting(family, len(targets))
    objective = objective_of(drifting, targets, evidence, prior_of(drifting))
    limits = limits_of(drifting, RIDGE_RANGE)
    starts = [np.clip(point, *limits.T) for point in _starts(family, still, len(targets))]
    values = [objective(point)[0] for point in starts]
    # Most functions do not change: for those the search ends here.
    if min(values) > still.value and not _gains_at_once(family, drifting.ages, targets, still):
        return None
    best = starts[values.index(min(values))]
    value, point = least(objective, [best], limits, TOLERANCE, max_evaluations=max_evaluations)
    if not still.value - value > clear:
        return None
    return Drift(point[:-2], family.kernel(point[:-2]), math.exp(point[-1]), math.exp(-2.0 * math.exp(point[-2])))


def _starts(family: Gaussian | Expression, still: Fit, count: int) -> list[Vector]:
    """Hardly any change; and at several paces, with the scales found or the prior's, less noise than was found."""
    ridge = float(still.point[-1])
    paces = [-math.log(memory * count) for memory in MEMORIES]
    calm = [(origin, pace) for origin in (still.point[:-1], family.center) for pace in paces]
    first = np.append(still.point[:-1], [paces[0], ridge])
    return [first, *(np.append(origin, [pace, ridge + math.log(CALMER)]) for origin, pace in calm)]


def _gains_at_once(family: Gaussian | Expression, ages: Matrix, targets: Matrix, still: Fit) -> bool:
    """Whether the evidence increases with φ at φ = 0."""
    gram, _ = family.gram(still.point[:-1])
    try:
        _, weights = evidence(gram + still.ridge * np.eye(len(gram)), targets)
    except linalg.LinAlgError:
        return False
    return float(np.vdot(weights * gram, ages)) > 0.0
