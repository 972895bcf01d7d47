"""Extended kernel recursive least squares: a linear state model in the kernel's space.

Liu, Park, Wang & Principe, "Extended Kernel Recursive Least Squares Algorithm", IEEE Transactions on Signal Processing
57(10), 2009, the tracking model (Algorithm 2). Paper -> code: α `state`, β `forgetting`, λ `ridge`, q `drift`, a
`coefficients`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import checks, kernels
from ..core import inverses
from ..kernels import Feature
from .base import KernelFilter


class ExKRLS(KernelFilter):
    """Extended KRLS for tracking: the function shrinks by α and drifts with variance q between samples.

    Every sample joins; a step costs O(m²) for m points. In the paper the dictionary grows without end; here the oldest
    point is eliminated beyond `max_size`. The weight of the ridge is β^i at time i, so that the model of a long stream
    is regularized by the drift alone. `KRLS(forget="walk")` is its numerically safer relative with a sparse dictionary.

    Parameters
    ----------
    kernel
        As in `KLMS`.
    state
        α, the factor of the function from one sample to the next.
    forgetting
        β, the weight of a sample that is one older.
    ridge
        λ.
    drift
        q, the variance of the function's change between samples, relative to the noise.
    max_size
        The most points.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import ExKRLS

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(1000)
    >>> model = ExKRLS(kernels.RBF(1.0), ridge=1e-2, drift=1e-3, max_size=100)
    >>> predictions, errors, sizes = run(model, X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2)
    True

    References
    ----------
    [^1]: Liu, W., Park, I., Wang, Y. and Principe, J.C., 2009. Extended kernel recursive least squares algorithm. IEEE
        Transactions on Signal Processing, 57(10), pp.3801-3814.

    """

    _step = staticmethod(inverses.learn_exkrls)
    _EXTRA = ("_inverse", "_solved", "_settings")
    _WORKSPACE = ("_solved",)
    _inverse: Any

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        state: float = 0.999,
        forgetting: float = 1.0,
        ridge: float = 0.01,
        drift: float = 1e-3,
        max_size: int | None = 200,
    ) -> None:
        checks.number("state", state, low=0.0, open_low=True)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.number("ridge", ridge, low=0.0, open_low=True)
        checks.number("drift", drift, low=0.0)
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.state = state
        self.forgetting = forgetting
        self.ridge = ridge
        self.drift = drift
        self.max_size = max_size
        self._start(0.0, 0.0)

    def _grow_extra(self, names: tuple[Feature, ...], capacity: int) -> None:
        size = self.size
        inverse = np.zeros((capacity, capacity))
        inverse[:size, :size] = self._inverse[:size, :size]
        self._inverse, self._solved = inverse, np.zeros(capacity)
        self._settings = np.array([self.state, self.forgetting, self.ridge, self.drift], dtype=np.float64)
