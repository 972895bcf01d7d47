"""Kernel ridge regression and the aggregating algorithm, on line.

KRR, KAAR, IKAAR and CKAAR share one state and differ by one factor on the prediction. With p the prediction of KRR, v
its variance, u = v/a and s = u/(1 + u):

    KRR    p                          kernel ridge regression
    KAAR   p / (1 + u) = p (1 − s)    the kernel aggregating algorithm for regression
    IKAAR  p (1 − sⁿ)                 its n-th iterate: n = 1 is KAAR, n → ∞ is KRR
    CKAAR  p / (1 + βu)               controlled: β = 1 is KAAR, β = 0 is KRR

Paper -> code: a `ridge`, n `iterations`, β `control`, k(x, x) − k'(K + aI)⁻¹k the variance v.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import checks, kernels
from ..deprecation import formerly
from ..kernels import Feature
from .base import StreamingRegressor
from .forms import Dictionary, Exact
from .recursion import Recursion


class _RidgeFamily(StreamingRegressor, abc.ABC):
    """The state and the parameters that the four methods share."""

    kernel: kernels.Kernel | None
    ridge: float
    threshold: float | None
    max_size: int | None

    def _start(self) -> None:
        """Check the shared parameters and create the empty state."""
        kernels.check(self.kernel)
        checks.number("ridge", self.ridge, low=0.0, open_low=True)
        if self.threshold is not None:
            checks.number("threshold", self.threshold, low=0.0)
        checks.size("max_size", self.max_size)
        form = Exact() if self.threshold is None else Dictionary()
        self._model = Recursion(self.kernel, self.threshold or 0.0, self.ridge, max_size=self.max_size, form=form)

    def predict_all_one(
        self, x: Mapping[Feature, Any], iterations: float = 10.0, control: float = 0.5
    ) -> dict[str, float]:
        """The predictions of all four methods from one solve.

        Parameters
        ----------
        x
            A dictionary of features.
        iterations
            n of IKAAR.
        control
            β of CKAAR.

        """
        checks.number("iterations", iterations, low=0.0, open_low=True)
        checks.number("control", control, low=0.0)
        mean, residual, unlearned = self._model.predict_variance(x)
        u = self._model.relative_variance(residual, unlearned)
        factors = {
            "krr": 1.0,
            "kaar": controlled(u, 1.0),
            "ikaar": iterated(u, iterations),
            "ckaar": controlled(u, control),
        }
        return {name: float(mean * factor) for name, factor in factors.items()}

    def regret_bound(self, Y: float) -> float:
        """A bound on the cumulative squared loss of KAAR over the stream so far, if every target had |y| ≤ Y.

        M + Y² Σ ln(1 + u), where M = Σ (y − p)²/(1 + u). In the exact form (`threshold=None`, no `max_size`, unit
        weights) M is the least regularized loss min_f Σ (y − f(x))² + ridge·‖f‖² that any function could have had in
        hindsight, and the sum is ln det(I + K/ridge): the regret grows only with the logarithm of the stream. Kept in
        O(1) a step.

        Parameters
        ----------
        Y
            The largest absolute target.

        """
        checks.number("Y", Y, low=0.0)
        return self._model.model.regularized_loss + float(Y) ** 2 * self._model.model.log_determinant


def iterated(u: Any, iterations: float) -> Any:
    """1 − sⁿ with s = u/(1 + u): the factor of IKAAR, eq. (23)."""
    with np.errstate(divide="ignore"):  # s = 0 where nothing is uncertain
        return -np.expm1(iterations * np.log1p(-1.0 / (1.0 + u)))


def controlled(u: Any, control: float) -> Any:
    """1/(1 + βu): the factor of CKAAR, eq. (28), and of KAAR with β = 1."""
    return 1.0 / (1.0 + control * u)


class KRR(_RidgeFamily):
    """Kernel ridge regression, on line.

    Minimizes Σ (y − f(x))² + ridge·‖f‖² over all samples so far, exactly, at every step. A step costs O(m²): with a
    threshold m is the size of the dictionary, without one it is the number of samples.

    Parameters
    ----------
    kernel
        As in `KRLS`.
    threshold
        As in `KRLS`. None keeps every sample: the exact form, whose step costs O(t²) at sample t.
    ridge
        a, the weight of ‖f‖²: the variance of the noise relative to that of the function.
    max_size
        The most points that are kept. With a threshold the least important point leaves; in the exact form the oldest
        does, which makes it exact ridge regression on a sliding window.

    Examples
    --------

    >>> from river import evaluate, metrics
    >>> from streamkernel import KRR, datasets, kernels

    >>> model = KRR(kernels.RBF(4.4), ridge=0.01)
    >>> evaluate.progressive_val_score(datasets.SincLinear(seed=1).take(2000), model, metrics.RMSE())
    RMSE: 0.130...

    The other three methods from the same solve:

    >>> [*model.predict_all_one({0: 1.0, 1: 2.0}, iterations=3)]
    ['krr', 'kaar', 'ikaar', 'ckaar']

    """

    @formerly("ridge", "threshold", "max_size")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        *,
        threshold: float | None = 1e-3,
        ridge: float = 0.1,
        max_size: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.threshold = threshold
        self.max_size = max_size
        self._start()

    def _shrinkage(self, relative_variance: Any) -> None:
        return None


class KAAR(_RidgeFamily):
    """The kernel aggregating algorithm for regression: `KRR` with the guarantee of `regret_bound`.

    Shrinks the prediction of ridge regression where it is uncertain, as if the sample to be predicted had been seen
    with target zero, eq. (10). Its cumulative squared loss exceeds that of the best function in hindsight by a
    logarithm only, whatever the stream.

    Parameters
    ----------
    kernel
        As in `KRLS`.
    threshold
        As in `KRR`; None is the exact form.
    ridge
        a, as in `KRR`.
    max_size
        As in `KRR`.

    Examples
    --------

    >>> from streamkernel import KAAR, kernels
    >>> model = KAAR(kernels.RBF(1.0), ridge=1.0, threshold=None)
    >>> loss = 0.0
    >>> for t in range(50):
    ...     x, y = {"t": t % 7}, (-1.0) ** t
    ...     loss += (y - model.predict_one(x)) ** 2
    ...     model.learn_one(x, y)
    >>> loss <= model.regret_bound(Y=1.0)
    True

    """

    @formerly("ridge", "threshold", "max_size")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        *,
        threshold: float | None = 1e-3,
        ridge: float = 0.1,
        max_size: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.threshold = threshold
        self.max_size = max_size
        self._start()

    def _shrinkage(self, relative_variance: Any) -> Any:
        return controlled(relative_variance, 1.0)


class IKAAR(_RidgeFamily):
    """The iterated kernel aggregating algorithm: between `KAAR` (one iteration) and `KRR` (infinitely many).

    Parameters
    ----------
    kernel
        As in `KRLS`.
    iterations
        n, any positive number. 10, as in `batch.KernelRidge`: with 2, errors were up to 2.7 times as large on seven
        streams, where u is large.
    threshold
        As in `KRR`; None is the exact form.
    ridge
        a, as in `KRR`.
    max_size
        As in `KRR`.

    Examples
    --------

    >>> from streamkernel import IKAAR
    >>> model = IKAAR(iterations=2)
    >>> model.learn_one({"x": 0.0}, 1.0)
    >>> round(model.predict_one({"x": 0.0}), 4)
    0.7029

    """

    @formerly("ridge", "threshold", "max_size")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        iterations: float = 10.0,
        *,
        threshold: float | None = 1e-3,
        ridge: float = 0.1,
        max_size: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.iterations = iterations
        self.ridge = ridge
        self.threshold = threshold
        self.max_size = max_size
        self._start()
        checks.number("iterations", iterations, low=0.0, open_low=True)

    def _shrinkage(self, relative_variance: Any) -> Any:
        return iterated(relative_variance, self.iterations)


class CKAAR(_RidgeFamily):
    """The controlled kernel aggregating algorithm: between `KRR` (control 0) and `KAAR` (control 1), and beyond.

    Parameters
    ----------
    kernel
        As in `KRLS`.
    control
        β, not negative.
    threshold
        As in `KRR`; None is the exact form.
    ridge
        a, as in `KRR`.
    max_size
        As in `KRR`.

    Examples
    --------

    >>> from streamkernel import CKAAR
    >>> model = CKAAR(control=0.5)
    >>> model.learn_one({"x": 0.0}, 1.0)
    >>> round(model.predict_one({"x": 0.0}), 4)
    0.625

    """

    @formerly("ridge", "threshold", "max_size")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        control: float = 0.5,
        *,
        threshold: float | None = 1e-3,
        ridge: float = 0.1,
        max_size: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.control = control
        self.ridge = ridge
        self.threshold = threshold
        self.max_size = max_size
        self._start()
        checks.number("control", control, low=0.0)

    def _shrinkage(self, relative_variance: Any) -> Any:
        return controlled(relative_variance, self.control)
