"""The cross-validated squared error of a ridge regression with a bias in closed form, and the search for its minimum.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, §2: eqs. (3) and (4).
Paper -> code: λ ridge, α coefficients.

The models fitted without some samples F cost no refit. With Q the block of the inverse of (3) that takes y to α, their
residuals on F are r_F = Q_FF⁻¹ α_F: leave-one-out when F is one sample, k-fold when it is a fold. Since ∂Q = −Q ∂K Q,

    ∂ ½Σ_F‖r_F‖² = Σ_F v_F' ∂K u_F,   v_F = Q_{·F} Q_FF⁻¹ r_F,   u_F = Q_{·F} r_F − α,

so that one matrix Σ_F v_F u_F' gives the slope of the criterion for every parameter of the kernel and for the ridge.

A sample of weight w has the noise n = λ/w, and a share s of it may be held out (`folds`) while the rest is learned.
With a = (1 − s)/n, which is zero where a sample is left out whole, and D = diag(a) + Q_FF diag(s), the same steps give

    r_F = D⁻¹ α_F,   ∂ ½Σ_F Σᵢ wᵢsᵢrᵢ² = Σ_F v_F' ∂(K + R) u_F + Σᵢ gᵢrᵢ aᵢ/nᵢ ∂nᵢ,
    g = D⁻ᵀ (w s r),   v_F = Q_{·F} g,   u_F = Q_{·F} (s r) − α.

Leave-one-out holds one of the w copies out, s = min(1, 1/w), w times.

`criteria` has the error for a model without a bias. There it is a logarithm, to be weighed against a prior; here it is
the sum of squares itself, and only bounds hold the search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from .. import criteria
from ..core.types import Matrix, Vector
from .folds import Folds
from .system import RidgeSystem

# The search stays where (K + λI) can be factored: λ in this range, and logarithms of parameters this far from their
# start, down and up.
RIDGE_RANGE = (1e-8, 1e6)
PARAMETER_REACH = (math.log(1e-8), math.log(1e5))
# Ridges and factors on the starting scale from which the search for the best descends.
RIDGE_STARTS = (0.01, 0.3, 10.0)
SCALE_STARTS = (0.1, 1.0, 10.0)
# Relative decrease of the criterion that ends the search.
SEARCH_TOLERANCE = 1e-5


class Error(NamedTuple):
    """Half a sum of squared errors, its slope in K, which is not symmetric, and that in the noise of each sample."""

    value: float
    slope: Matrix
    noise_slope: Vector


def copies_left_out(system: RidgeSystem, targets: Matrix, weights: Vector) -> tuple[Matrix, Vector]:
    """The residuals r of one copy of each sample, left out, and what α is divided by for them, D."""
    shares = np.minimum(1.0, 1.0 / weights)
    divisors = (1.0 - shares) / system.noise + shares * np.diagonal(system.inverse)
    return np.asarray(system.solve(targets)[0]) / divisors[:, None], divisors


def press(system: RidgeSystem, targets: Matrix, weights: Vector | None = None) -> Error:
    """Half the sum of the squared leave-one-out residuals (PRESS)."""
    weights = np.ones(len(targets)) if weights is None else weights
    coefficients, inverse, noise = np.asarray(system.solve(targets)[0]), system.inverse, system.noise
    shares = np.minimum(1.0, 1.0 / weights)
    residuals, divisors = copies_left_out(system, targets, weights)
    squares = weights * (residuals**2).sum(axis=1)
    weighted = inverse * np.sqrt(shares * squares / divisors)
    pull = residuals * (weights / divisors)[:, None]
    slope = weighted @ weighted.T - (inverse @ pull) @ coefficients.T
    return Error(0.5 * float(squares.sum()), slope, np.diagonal(slope) + squares / divisors * (1.0 - shares) / noise**2)


def leave_folds_out(system: RidgeSystem, targets: Matrix, folds: Folds, weights: Vector | None = None) -> Error:
    """Half the sum of the squared k-fold residuals."""
    weights = np.ones(len(targets)) if weights is None else weights
    coefficients, inverse = np.asarray(system.solve(targets)[0]), system.inverse
    value, slope, noise_slope = 0.0, np.zeros_like(inverse), np.zeros(len(inverse))
    for fold in folds:
        held, noise = fold.held, system.noise[fold.held]
        shares = (fold.counts / weights[held])[:, None]
        kept = (1.0 - shares[:, 0]) / noise
        block = inverse[np.ix_(held, held)]
        block[np.diag_indices_from(block)] += kept / shares[:, 0]  # D diag(s)⁻¹, which is symmetric
        factor = linalg.cho_factor(block, lower=True)
        residuals = linalg.cho_solve(factor, coefficients[held]) / shares
        value += 0.5 * float(fold.counts @ (residuals**2).sum(axis=1))
        pull = linalg.cho_solve(factor, weights[held][:, None] * residuals)
        slope += (inverse[:, held] @ pull) @ (inverse[:, held] @ (shares * residuals) - coefficients).T
        noise_slope[held] += (pull * residuals).sum(axis=1) * kept / noise
    return Error(value, slope, np.diagonal(slope) + noise_slope)


def least_error(
    family: criteria.Family,
    targets: Matrix,
    folds: Folds | None,
    ridge: float | None,
    starts: Iterable[tuple[float, float]],
    weights: Vector | None = None,
) -> tuple[Vector, float]:
    """The parameters and the ridge of least cross-validated squared error: leave-one-out, or over `folds`.

    The search follows the analytic slope from the best of `starts`, pairs of (factor on the family's start, ridge). A
    `ridge` that is given stays as it is.
    """
    counts = np.ones(len(targets)) if weights is None else weights

    def objective(point: Vector) -> tuple[float, Vector]:
        gram, shape = family.gram(point[:-1])
        noise = math.exp(point[-1]) / counts
        try:
            system = RidgeSystem(gram, noise, bias=True)
            error = press(system, targets, counts) if folds is None else leave_folds_out(system, targets, folds, counts)
        except linalg.LinAlgError:  # a point where the matrix is singular to rounding is a bad one
            return criteria.HOPELESS, np.zeros_like(point)
        return error.value, np.append(family.slope(point[:-1], shape, error.slope), float(error.noise_slope @ noise))

    points = [np.append(family.start + math.log(factor), math.log(level)) for factor, level in starts]
    limits = criteria.limits_of(family, RIDGE_RANGE if ridge is None else (ridge, ridge))
    _, found = criteria.least(objective, points, limits, SEARCH_TOLERANCE)
    return found[:-1], math.exp(found[-1])
