"""Heteroscedastic kernel ridge regression with the leave-one-out residuals of the mean.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", section 5.
"""

from __future__ import annotations

from ..core.types import Vector
from .heteroscedastic import HeteroscedasticRidge, RidgeWeights
from .system import RidgeSystem

__all__ = ["LOOHKRR"]


class LOOHKRR(HeteroscedasticRidge):
    """Heteroscedastic kernel ridge regression with leave-one-out residuals: an almost unbiased noise.

    As `HKRR`, but log σ is fitted to the leave-one-out residuals (24) of the mean, so that no sample that shaped the
    mean is taken as a witness of its own noise. The result is a fixed point rather than the minimum of one objective:
    `objective_path_` is (5) with leave-one-out residuals and may rise.

    Parameters
    ----------
    kernel, ridge, noise_ridge, noise_kernel, min_noise, tolerance, max_iterations
        As in `HKRR`.

    Attributes
    ----------
    mean_, log_std_, loo_mean_, loo_std_, gradient_norm_, n_iter_
        As in `HKRR`.
    objective_path_
        The objective (5) with leave-one-out residuals at each iteration.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch import LOOHKRR
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(64)
    >>> model = LOOHKRR(kernels.RBF(0.5)).fit(X, y)
    >>> mean, std = model.predict([[0.6], [1.9]], return_std=True)
    >>> std.round(2)
    array([0.14, 1.25])

    References
    ----------
    [^1]: Cawley, G.C., Talbot, N.L.C. and Chapelle, O., 2006. Estimating predictive variances with kernel ridge
    regression. Machine Learning Challenges, LNAI 3944, pp.56-77.

    """

    def _noise_residuals(
        self, system: RidgeSystem, targets: Vector, residuals: Vector, weights: RidgeWeights
    ) -> Vector:
        return weights.one_left_out(system, targets)

    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        return gradient <= last_gradient
