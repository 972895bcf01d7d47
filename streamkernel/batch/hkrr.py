"""Heteroscedastic kernel ridge regression as published, with the residuals of the fit.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", section 3.
"""

from __future__ import annotations

from ..core.types import Vector
from .heteroscedastic import HeteroscedasticRidge, RidgeWeights
from .log_deviation import ROUNDING
from .system import RidgeSystem

__all__ = ["HKRR"]


class HKRR(HeteroscedasticRidge):
    """Heteroscedastic kernel ridge regression: mean and noise both depend on the input.

    μ(x) = w·φ(x) + b and log σ(x) = w'·φ'(x) + b' minimize the penalized likelihood (5). A weighted ridge regression
    for μ and a Newton step for log σ alternate and lower it at every iteration; an extrapolation of past steps that
    lowers it too replaces the plain one. Each iteration costs two factorizations, O(n³). The noise is estimated from
    the residuals of the samples that the mean was fitted to and comes out too small: see `LOOHKRR`.

    Parameters
    ----------
    kernel
        𝒦ᵘ, the kernel of the mean; `kernels.default` when None, for inputs of unit variance. Where the data have
        feature names, a length scale may name them, and a tuple of length scales follows the sorted names, as in a
        stream.
    ridge
        γᵘ, the regularization of the mean: the diagonal added to the kernel matrix is 2γᵘσ²(xᵢ), as for a function of
        prior variance k(x, x)/(2γᵘ). None is one over the variance of y: the unit of y does not matter then. `select`
        chooses it.
    noise_ridge
        γˢ, the regularization of log σ; large values make the noise constant.
    noise_kernel
        𝒦ˢ, the kernel of log σ; that of the mean when None.
    min_noise
        The smallest standard deviation that a residual counts with, as a fraction of that of y. Without it (5) has no
        lower bound, since the mean can go through every target.
    tolerance
        Iterations end when every derivative of the objective is smaller.
    max_iterations
        Iterations at most; a `ConvergenceWarning` says when they did not suffice.

    Attributes
    ----------
    ridge_
        γᵘ as used.
    mean_, log_std_
        `Expansion`: μ(x) and log σ(x), with `coefficients` and `bias`.
    loo_mean_, loo_std_
        Leave-one-out predictions of the training targets in closed form: (24) for the mean with the noise held fixed,
        and its equivalent at the minimum for log σ.
    objective_path_
        The objective (5) at each iteration.
    gradient_norm_, n_iter_
        The largest derivative by the noise's parameters at the end (those by the mean's are zero, as it is solved for),
        and the number of iterations.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch import HKRR
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(64)
    >>> model = HKRR(kernels.RBF(0.5)).fit(X, y)
    >>> mean, std = model.predict([[0.6], [1.9]], return_std=True)
    >>> std.round(2)
    array([0.12, 1.2 ])

    References
    ----------
    [^1]: Cawley, G.C., Talbot, N.L.C. and Chapelle, O., 2006. Estimating predictive variances with kernel ridge
    regression. Machine Learning Challenges, LNAI 3944, pp.56-77.

    """

    def _noise_residuals(
        self, system: RidgeSystem, targets: Vector, residuals: Vector, weights: RidgeWeights
    ) -> Vector:
        return residuals

    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        return loss <= last_loss + ROUNDING * (1.0 + abs(last_loss))
