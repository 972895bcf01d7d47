"""Kernel recursive least squares.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", IEEE Transactions on Signal Processing 52(8), 2004.
Paper -> code: ν `threshold`, D `dictionary`, α̃ `coefficients`; the recursion is in `core.whitened`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from river import base, proba, utils

from .. import kernels
from ..checkpoint import Checkpointed
from ..kernels import Feature
from . import dictionary, parameters
from .recursion import Recursion


class KRLS(base.Regressor, Checkpointed):
    """Kernel recursive least squares with an approximate-linear-dependence dictionary.

    Predicts f(x) = Σ_j α̃_j k(x_j, x) over a dictionary of past samples. A sample joins the dictionary when it cannot be
    written as a combination of the samples that are already there, up to the threshold; every sample is learned, exactly, in the
    least-squares sense. A step costs O(m²) for m points in the dictionary, and nothing else grows with the stream.

    With `ridge=0`, `forgetting=1` and no `max_size` this is Table 1 of the paper, computed in the coordinates of the
    dictionary's Cholesky factor instead of with explicit inverses: the same predictions where those are accurate, and stable
    where they are not.

    Parameters
    ----------
    kernel
        k, one of `streamkernel.kernels` or an expression of them. None is `RBF(√d)` for d features: the length scale follows
        the number of features, and suits inputs of unit variance, such as a `StandardScaler` gives.
    threshold
        ν. A sample joins when its squared distance in the kernel's space to the span of the dictionary exceeds it. Smaller is
        more accurate and slower. An admission that would take the condition number of the kernel matrix beyond 1e14 is refused
        (the sample is learned all the same) and counted in `refused`.
    ridge
        α, the weight of ‖f‖² in the squared error, and the variance of the noise relative to that of the function.
    forgetting
        λ, at most 1. With less, old samples count less and the model follows a function that changes; λ = 0.99 remembers about
        1/(1 − λ) = 100 samples.
    forget
        How: `"prior"` lets the posterior return to the prior (an exponential window); `"walk"` lets the function drift like a
        random walk and keeps the mean. With `ridge=0` both divide the precision by λ. Which is better depends on the
        stream.
    max_size
        The most points that the dictionary may have. When one more joins, the one whose loss changes the function least leaves.

    Examples
    --------

    >>> from river import evaluate, metrics, preprocessing
    >>> from streamkernel import KRLS, datasets, kernels

    >>> model = preprocessing.StandardScaler() | KRLS(kernels.RBF(1.0), threshold=1e-4)
    >>> evaluate.progressive_val_score(datasets.SincLinear(seed=1).take(500), model, metrics.RMSE())
    RMSE: ...

    >>> krls = model["KRLS"]
    >>> krls.size < 60
    True
    >>> model.predict_one({0: 1.0}, with_dist=True)
    𝒩(μ=..., σ=...)

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on Signal
        Processing, 52(8), pp.2275-2285.
    [^2]: Van Vaerenbergh, S., Lázaro-Gredilla, M. and Santamaría, I., 2012. Kernel recursive least-squares tracker for
        time-varying regression. IEEE Transactions on Neural Networks and Learning Systems, 23(8), pp.1313-1326.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-3,
        ridge: float = 0.0,
        forgetting: float = 1.0,
        forget: str = "prior",
        max_size: int | None = None,
    ) -> None:
        parameters.check_kernel(kernel)
        parameters.check_number("threshold", threshold, low=0.0)
        parameters.check_number("ridge", ridge, low=0.0)
        parameters.check_number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        parameters.check_choice("forget", forget, ("prior", "walk"))
        parameters.check_size("max_size", max_size)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.forgetting = forgetting
        self.forget = forget
        self.max_size = max_size
        self._model = Recursion(kernel, threshold, ridge, forgetting, forget == "walk", max_size)

    def learn_one(self, x: Mapping[Feature, Any], y: float, w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.
        w
            The sample's weight: a sample of weight 2 counts like two.

        """
        self._model.learn(x, (y,), w)

    def predict_one(self, x: Mapping[Feature, Any], with_dist: bool = False) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features.
        with_dist
            Return the predictive distribution, a river `Gaussian`, instead of its mean. Its variance is that of the model plus
            that of the noise, which is estimated from the errors made on samples before they were learned.

        """
        if not with_dist:
            return self._model.predict(x)
        mean, residual, explained = self._model.predict_variance(x)
        return gaussian(mean, predictive_variance(self._model, residual, explained))

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn samples in order, as `learn_one` would one after the other, several times faster.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample.

        """
        names, samples, _ = dictionary.frame(X)
        targets = dictionary.column("y", y, len(samples))
        weights = None if w is None else dictionary.column("w", w, len(samples))
        self._model.learn_many(names, samples, targets[:, None], weights)

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        names, samples, data = dictionary.frame(X)
        means = self._model.predict_many(names, samples)[:, 0]
        return means if data is None else utils.dataframe.to_native_series(means, name=None, like=data)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._model.size

    @property
    def dictionary(self) -> list[dict[Feature, float]]:
        """The points of the dictionary as feature dicts, in the order in which they joined."""
        return self._model.points

    @property
    def coefficients(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """α̃: f(x) = Σ_j α̃_j k(x_j, x)."""
        return self._model.coefficients[0]

    @property
    def refused(self) -> int:
        """How many novel samples were learned without joining, to keep the kernel matrix well conditioned."""
        return self._model.refused

    def _parameters(self) -> dict[str, Any]:
        return parameters.of(self)

    def _get_state(self) -> dict[str, Any]:
        return self._model.__getstate__()

    def _set_state(self, state: dict[str, Any]) -> None:
        self._model.__setstate__(state)


def predictive_variance(model: Recursion, residual: float, explained: float) -> float:
    """σ²(1 + z'Pz) plus what the dictionary cannot see; the kernel's own prior before anything was learned."""
    if not model.seen:
        return residual
    return model.noise_variance * (1.0 + explained) + model.prior_variance * residual


def gaussian(mean: float, variance: float) -> proba.Gaussian:
    """A river Gaussian with this mean and variance."""
    return proba.Gaussian._from_state(n=1, m=mean, var=max(variance, math.ulp(0.0)), ddof=0)
