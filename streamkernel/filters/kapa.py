"""Kernel affine projection with the coherence criterion, and its first-order form, kernel normalized LMS.

Richard, Bermudez & Honeine, "Online Prediction of Time Series Data With Kernels", IEEE Transactions on Signal
Processing 57(3), 2009. Paper -> code: η `step`, μ₀ `coherence`, ε `regularization`, p `order`, H the rows of the last
samples, α `coefficients`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import checks, kernels
from ..core import lms
from ..kernels import Feature
from .base import KernelFilter


class KNLMS(KernelFilter):
    """Kernel normalized LMS: a step along the column of similarities, over a dictionary of low coherence.

    A sample joins if its similarity to every point is at most `coherence` (for kernels with k(x, x) = 1; others are
    normalized). A step costs O(m) for m points, of which a bounded input has finitely many; where the dictionary is
    full none joins.

    Parameters
    ----------
    kernel
        As in `KLMS`.
    coherence
        μ₀.
    step
        η, less than 2.
    regularization
        ε.
    max_size
        The most points.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import KNLMS

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(2000)
    >>> model = KNLMS(kernels.RBF(1.0), coherence=0.9, step=0.5)
    >>> predictions, errors, sizes = run(model, X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2), model.size < 100
    (True, True)

    References
    ----------
    [^1]: Richard, C., Bermudez, J.C.M. and Honeine, P., 2009. Online prediction of time series data with kernels. IEEE
        Transactions on Signal Processing, 57(3), pp.1058-1067.

    """

    _step = staticmethod(lms.learn_knlms)

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        coherence: float = 0.9,
        step: float = 0.1,
        regularization: float = 1e-2,
        max_size: int | None = 1000,
    ) -> None:
        _check(coherence, step, regularization, max_size)
        self.kernel = kernel
        self.coherence = coherence
        self.step = step
        self.regularization = regularization
        self.max_size = max_size
        self._start(step, coherence, regularization)


class KAPA(KernelFilter):
    """Kernel affine projection: a step that reduces the errors of the last p samples together.

    The dictionary is that of `KNLMS`. A step costs O(p²m) for m points.

    Parameters
    ----------
    kernel
        As in `KLMS`.
    coherence
        μ₀.
    step
        η, less than 2.
    order
        p.
    regularization
        ε.
    max_size
        The most points.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import KAPA

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(2000)
    >>> predictions, errors, sizes = run(KAPA(kernels.RBF(1.0), coherence=0.9, order=5), X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2)
    True

    References
    ----------
    [^1]: Richard, C., Bermudez, J.C.M. and Honeine, P., 2009. Online prediction of time series data with kernels. IEEE
        Transactions on Signal Processing, 57(3), pp.1058-1067.

    """

    _step = staticmethod(lms.learn_kapa)
    _EXTRA = ("_recent", "_stacks", "_system")
    _WORKSPACE = ("_stacks", "_system")
    _recent: Any
    _stacks: Any

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        coherence: float = 0.9,
        step: float = 0.1,
        order: int = 10,
        regularization: float = 1e-2,
        max_size: int | None = 1000,
    ) -> None:
        _check(coherence, step, regularization, max_size)
        if order is None:
            raise TypeError("order must be a whole number >= 1, got None")
        checks.size("order", order)
        self.kernel = kernel
        self.coherence = coherence
        self.step = step
        self.order = order
        self.regularization = regularization
        self.max_size = max_size
        self._start(step, coherence, regularization)

    def _grow_extra(self, names: tuple[Feature, ...], capacity: int) -> None:
        recent = np.zeros((self.order, 1 + len(names)))
        if self._recent.size:
            recent[:, 0] = self._recent[:, 0]
            for r, name in enumerate(names):
                if name in self._names:
                    recent[:, 1 + r] = self._recent[:, 1 + self._names.index(name)]
        self._recent = recent
        self._stacks = np.zeros((self.order, self._compiled.stack_rows, capacity))
        self._system = np.zeros((self.order, self.order + 1))

    def _complete_own(self) -> None:
        """Columns of the last samples too, the new one among them, to the points with the new one behind."""
        if not self._compiled.custom:
            return
        points = np.vstack([self._points[:, : self.size].T, self._inputs[1:]])
        past = self._recent[: min(self.order - 1, int(self._scalars[lms.COUNT])), 1:]
        for stack, sample in zip(self._stacks, (self._inputs[1:], *past)):
            kernels.fill_custom(self._compiled, stack, points, sample)


def _check(coherence: float, step: float, regularization: float, max_size: int | None) -> None:
    checks.number("coherence", coherence, low=0.0, high=1.0)
    checks.number("step", step, low=0.0, high=2.0, open_low=True)
    checks.number("regularization", regularization, low=0.0)
    checks.size("max_size", max_size)
