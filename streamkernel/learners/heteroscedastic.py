"""Kernel recursive least squares with noise that depends on the input.

Cawley, Talbot, Foxall, Dorling & Mandic, "Heteroscedastic kernel ridge regression", Neurocomputing 57, 2004, made
recursive; the mathematics is in `core.noise`, the batch form in `batch.heteroscedastic`.
"""

from __future__ import annotations

from typing import Any

from .. import checks, kernels
from ..core.forgetting import RULES
from .base import StreamingRegressor
from .forms import InputNoise
from .recursion import Recursion


class HeteroscedasticKRLS(StreamingRegressor):
    """`KRLS` whose noise variance is a function of the input, learned beside the mean.

    Mean and logarithm of the noise variance are kernel expansions over one dictionary; each is learned by a recursion
    of its own, from errors made before a sample was learned. A step costs O(m²), less than twice that of `KRLS`.
    Samples are weighted by their noise, and errors beyond the cap count as if they were at it, so outliers do
    little harm.

    Parameters
    ----------
    kernel
        As in `KRLS`.
    threshold
        ν, as in `KRLS`.
    ridge
        The variance of the noise relative to that of the function, where the noise is average.
    noise_ridge
        The same for the logarithm of the noise variance: larger is smoother. Its prior variance is k(x, x)/noise_ridge.
    cap
        The largest squared standardized error that is believed. Gaussian noise exceeds 12 once in 2000 samples.
    forgetting
        λ, as in `KRLS`, for both recursions.
    forget
        As in `KRLS`.
    max_size
        As in `KRLS`.

    Examples
    --------

    >>> from streamkernel import HeteroscedasticKRLS, datasets, kernels

    >>> model = HeteroscedasticKRLS(kernels.RBF(0.5))
    >>> for x, y in datasets.Heteroscedastic(seed=1).take(2000):
    ...     model.learn_one(x, y)

    The noise of this stream is largest where x is large:

    >>> model.predict_one({0: 0.5}, with_dist=True)
    𝒩(μ=..., σ=...)
    >>> model.predict_one({0: 2.5}, with_dist=True)
    𝒩(μ=..., σ=...)

    References
    ----------
    [^1]: Cawley, G.C., Talbot, N.L.C., Foxall, R.J., Dorling, S.R. and Mandic, D.P., 2004. Heteroscedastic kernel ridge
        regression. Neurocomputing, 57, pp.105-124.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-3,
        ridge: float = 0.1,
        noise_ridge: float = 1.0,
        cap: float = 12.0,
        forgetting: float = 1.0,
        forget: str = RULES[0],
        max_size: int | None = None,
    ) -> None:
        kernels.check(kernel)
        checks.number("threshold", threshold, low=0.0)
        checks.number("ridge", ridge, low=0.0, open_low=True)
        checks.number("noise_ridge", noise_ridge, low=0.0, open_low=True)
        checks.number("cap", cap, low=1.0)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.choice("forget", forget, RULES)
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.noise_ridge = noise_ridge
        self.cap = cap
        self.forgetting = forgetting
        self.forget = forget
        self.max_size = max_size
        form = InputNoise(noise_ridge, cap)
        self._model = Recursion(kernel, threshold, ridge, forgetting, forget, max_size, form=form)

    def _shrinkage(self, relative_variance: Any) -> None:
        return None
