"""The Gaussian kernel by its scales: one for all features, or one for each.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, eqs. (1) and (2).
Paper -> code: θ theta (scales), D_r squared differences of feature r.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from .. import kernels
from ..core.types import Matrix, Vector
from ..criteria import Family, gaussian, weighted_squares
from . import arguments
from .cross_validation import PARAMETER_REACH

# Below this fraction of the starting scale an RBF kernel is all but linear, and only the ratio of ridge to scale
# matters: a common scale stops here instead of drifting to zero together with the ridge.
LINEAR_LIMIT = 0.1


def scaled_gram(theta: Vector, X: Matrix, Z: Matrix | None = None) -> Matrix:
    """exp(−Σ_r θ_r (x_r − z_r)²): eq. (2), or eq. (1) when `theta` has one entry.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.scales import scaled_gram
    >>> scaled_gram(np.array([0.5, 0.0]), np.array([[0.0, 3.0]]), np.array([[1.0, 9.0]])).round(4)
    array([[0.6065]])

    """
    left = X * np.sqrt(theta)
    right = left if Z is None else Z * np.sqrt(theta)
    norms, other_norms = (np.einsum("ir,ir->i", rows, rows) for rows in (left, right))
    return gaussian(left @ (2.0 * right).T, norms, other_norms)


class Scales(Family):
    """The kernel of eqs. (1) and (2) on given samples, as a function of ln θ.

    `criteria.Gaussian` is the same shape with a level and a trend, in units of the features' variances, under a prior.

    Parameters
    ----------
    X
        Samples.
    start
        θ to start from: one scale, or one for each feature.

    """

    def __init__(self, X: Matrix, start: Vector) -> None:
        self._X = X - X.mean(axis=0)  # the kernel does not see the shift, the arithmetic does
        self.start = np.log(start)
        lowest, highest = PARAMETER_REACH
        self.reach = np.tile((math.log(LINEAR_LIMIT) if len(start) == 1 else lowest, highest), (len(start), 1))

    def gram(self, point: Vector) -> tuple[Matrix, Matrix]:
        """K, twice."""
        gram = scaled_gram(np.exp(point), self._X)
        return gram, gram

    def slope(self, point: Vector, shape: Matrix, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij/∂ln θ_r, where ∂K_ij/∂θ_r = −K_ij (x_ir − x_jr)²."""
        per_feature = -weighted_squares(shape * (0.5 * (weights + weights.T)), self._X)
        return np.exp(point) * (per_feature if len(point) > 1 else per_feature.sum(keepdims=True))


def start_scale(X: Matrix, weights: Vector | None = None) -> float:
    """θ₁ for which two samples are one exponent apart on average: 1/(2d) for features of unit variance."""
    arguments.check_moderate("X", X)
    center = np.average(X, axis=0, weights=weights)
    total = float(np.average((X - center) ** 2, axis=0, weights=weights).sum())
    return 0.5 / (total if total > 0.0 else X.shape[1])


def as_kernel(theta: Vector, names: Sequence[Hashable]) -> kernels.RBF:
    """The kernel of eqs. (1) and (2) as a value: ℓ_r = 1/√(2θ_r), infinite where θ_r = 0."""
    with np.errstate(divide="ignore"):
        scales = [float(scale) for scale in 1.0 / np.sqrt(2.0 * theta)]
    if len(scales) == 1 and len(names) != 1:
        return kernels.RBF(scales[0])
    return kernels.RBF(dict(zip(names, scales, strict=True)) if isinstance(names[0], str) else tuple(scales))


def length_scales(kernel: kernels.RBF, names: Sequence[Hashable]) -> Vector:
    """The length scales of an RBF kernel: one, or one for each named feature."""
    if isinstance(kernel.length_scale, Mapping):
        return kernel.compile(names).parameters[: len(names)]
    return np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
