"""The cross-validated squared error of a ridge regression with a bias in closed form, and the search for its minimum.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, §2: eqs. (3) and (4).
Paper -> code: λ ridge, α coefficients.

The models fitted without some samples F cost no refit. With Q the block of the inverse of (3) that takes y to α, their
residuals on F are r_F = Q_FF⁻¹ α_F: leave-one-out when F is one sample, k-fold when it is a fold. Since ∂Q = −Q ∂K Q,

    ∂ ½Σ_F‖r_F‖² = Σ_F v_F' ∂K u_F,   v_F = Q_{·F} Q_FF⁻¹ r_F,   u_F = Q_{·F} r_F − α,

so that one matrix Σ_F v_F u_F' gives the slope of the criterion for every parameter of the kernel and for the ridge.
`criteria` has the same for a model without a bias. There the error is a logarithm, to be weighed against a prior; here
it is the sum of squares itself, and only bounds hold the search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.model_selection import KFold

from .. import criteria
from ..core.types import Matrix, Vector
from .system import RidgeSystem

Folds = Sequence[NDArray[np.intp]]

# The search stays where (K + λI) can be factored: λ in this range, and logarithms of parameters this far from their
# start, down and up.
RIDGE_RANGE = (1e-8, 1e6)
PARAMETER_REACH = (math.log(1e-8), math.log(1e5))
# Ridges and factors on the starting scale from which the search for the best descends.
RIDGE_STARTS = (0.01, 0.3, 10.0)
SCALE_STARTS = (0.1, 1.0, 10.0)
# Relative decrease of the criterion that ends the search.
SEARCH_TOLERANCE = 1e-5


def make_folds(n_samples: int, folds: int, random_state: Any) -> Folds:
    """A random partition of the samples."""
    parts = KFold(min(folds, n_samples), shuffle=True, random_state=random_state)
    return [held_out for _, held_out in parts.split(np.empty(n_samples))]


def press(system: RidgeSystem, targets: Matrix) -> tuple[float, Matrix]:
    """Half the sum of the squared leave-one-out residuals (PRESS) and its slope, ∂/∂(K + λI)."""
    residuals, slope = criteria.left_out(system.inverse, np.asarray(system.solve(targets)[0]))
    return 0.5 * float((residuals**2).sum()), slope


def leave_folds_out(system: RidgeSystem, targets: Matrix, folds: Folds) -> tuple[float, Matrix]:
    """Half the sum of the squared k-fold residuals and its slope, ∂/∂(K + λI)."""
    coefficients = system.solve(targets)[0]
    inverse = system.inverse
    value, slope = 0.0, np.zeros_like(inverse)
    for fold in folds:
        block = linalg.cho_factor(inverse[np.ix_(fold, fold)], lower=True)
        residuals = linalg.cho_solve(block, coefficients[fold])
        value += 0.5 * float((residuals**2).sum())
        slope += (inverse[:, fold] @ linalg.cho_solve(block, residuals)) @ (
            inverse[:, fold] @ residuals - coefficients
        ).T
    return value, slope


def least_error(
    family: criteria.Family,
    targets: Matrix,
    folds: Folds | None,
    ridge: float | None,
    starts: Iterable[tuple[float, float]],
) -> tuple[Vector, float]:
    """The parameters and the ridge of least cross-validated squared error: leave-one-out, or over `folds`.

    The search follows the analytic slope from the best of `starts`, pairs of (factor on the family's start, ridge). A
    `ridge` that is given stays as it is.
    """

    def criterion(noisy: Matrix, columns: Matrix) -> tuple[float, Matrix]:
        system = RidgeSystem(noisy, None, bias=True)
        return press(system, columns) if folds is None else leave_folds_out(system, columns, folds)

    points = [np.append(family.start + math.log(factor), math.log(level)) for factor, level in starts]
    ridge_range = RIDGE_RANGE if ridge is None else (ridge, ridge)
    _, found = criteria.descend(family, targets, criterion, points, ridge_range, SEARCH_TOLERANCE)
    return found[:-1], math.exp(found[-1])
