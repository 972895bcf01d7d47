"""Kernel recursive least squares.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", IEEE Transactions on Signal Processing 52(8),
2004. Paper -> code: ν `threshold`, D `dictionary`, α̃ `coefficients`; the recursion is in `core.whitened`.
"""

from __future__ import annotations

from typing import Any

from .. import checks, kernels
from ..core.forgetting import RULES
from .base import StreamingRegressor
from .kernel_learning import KernelLearning, check_kernel_learning
from .recursion import Recursion

# The ridge of a bounded dictionary, unless another is given. It does most where noise is large, and costs most where
# there is none, as in a chaotic series.
BOUNDED_RIDGE = 1e-2


class KRLS(StreamingRegressor):
    """Kernel recursive least squares with an approximate-linear-dependence dictionary.

    Predicts f(x) = Σ_j α̃_j k(x_j, x) over a dictionary of past samples. A sample joins the dictionary when it cannot
    be written as a combination of the samples that are already there, up to the threshold; every sample is learned,
    exactly, in the least-squares sense. A step costs O(m²) for m points in the dictionary, and nothing else grows with
    the stream.

    With `ridge=0`, `forgetting=1` and no `max_size` this is Table 1 of the paper, computed in the coordinates of the
    dictionary's Cholesky factor instead of with explicit inverses: the same predictions where those are accurate, and
    stable where they are not.

    Parameters
    ----------
    kernel
        k, one of `streamkernel.kernels` or an expression of them. None is `RBF(√d)` for d features: the length scale
        follows the number of features, and suits inputs of unit variance, such as a `StandardScaler` gives.
    threshold
        ν. A sample joins when its squared distance in the kernel's space to the span of the dictionary exceeds it.
        Smaller is slower and as a rule more accurate; far below 1e-9 of k(x, x), without a ridge or with polynomials,
        rounding errors can reverse that. Where the distance may be one of these, a sample takes the place of a point if
        that makes the dictionary less dependent; if not, it is learned but does not join, and is counted in `refused`.
    ridge
        α, the weight of ‖f‖² in the squared error, and the variance of the noise relative to that of the function. None
        is 0, the paper's Table 1, without a `max_size`, and 0.01 with one: where points leave, one that has fitted its
        own noise does lasting harm. Noisy streams want more, up to 0.1, noise-free ones less.
    forgetting
        λ, at most 1. With less, old samples count less and the model follows a function that changes; λ = 0.99
        remembers about 1/(1 − λ) = 100 samples.
    forget
        How: `"prior"` lets the posterior return to the prior (an exponential window); `"walk"` lets the function drift
        like a random walk and keeps the mean. With `ridge=0` both divide the precision by λ. Which is better depends on
        the stream.
    max_size
        The most points that the dictionary may have. When one more joins, the one whose loss changes the posterior
        least leaves.
    kernel_learning
        How the kernel's length scales, one for each feature, are learned from the stream; the kernel must be an `RBF`
        or None. `"gradient"` sums the slopes of the one-step error and takes a step when one is larger than chance.
        `"refit"` chooses scales, ridge and a constant by the evidence of the newest 400 samples, at intervals of up
        to 500; and with `forgetting=1`, where these samples show clearly that the function changes, λ and the rule
        (a forgetting below 1 is kept). Both then rebuild the model from the newest 1000 samples, or from fewer where
        those predict better. `relevance` shows the scales.

    Examples
    --------

    >>> from river import evaluate, metrics
    >>> from streamkernel import KRLS, datasets, kernels

    >>> model = KRLS(kernels.RBF(4.4), threshold=1e-3)
    >>> evaluate.progressive_val_score(datasets.SincLinear(seed=1).take(2000), model, metrics.RMSE())
    RMSE: 0.148...

    65 of the 2000 samples are kept:

    >>> model.size
    65
    >>> model.predict_one({0: 1.0, 1: 2.0}, with_dist=True)
    𝒩(μ=1.01..., σ=0.10...)

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285.
    [^2]: Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for
        time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-3,
        ridge: float | None = None,
        forgetting: float = 1.0,
        forget: str = RULES[0],
        max_size: int | None = None,
        kernel_learning: str | None = None,
    ) -> None:
        kernels.check(kernel)
        checks.number("threshold", threshold, low=0.0)
        ridge = (0.0 if max_size is None else BOUNDED_RIDGE) if ridge is None else ridge
        checks.number("ridge", ridge, low=0.0)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.choice("forget", forget, RULES)
        checks.size("max_size", max_size)
        check_kernel_learning(kernel_learning, kernel)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.forgetting = forgetting
        self.forget = forget
        self.max_size = max_size
        self.kernel_learning = kernel_learning
        self._learning = KernelLearning(kernel_learning, forgetting == 1.0) if kernel_learning else None
        self._model = Recursion(kernel, threshold, ridge, forgetting, forget, max_size)

    def _shrinkage(self, relative_variance: Any) -> None:
        return None
