"""Fixed-budget kernel recursive least squares.

Van Vaerenbergh, Santamaria, Liu & Principe, "Fixed-budget kernel recursive least-squares", ICASSP 2010.
Paper -> code: λ `ridge`, μ `step`, M `max_size`, α `coefficients`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import checks, kernels
from ..core import inverses
from ..kernels import Feature
from .base import KernelFilter


class FixedBudgetKRLS(KernelFilter):
    """Kernel ridge regression on a fixed number of samples, those whose loss would be felt most.

    Every sample joins; beyond `max_size` the one with the smallest error after the fact leaves, |α_j|/(K + λI)⁻¹_jj.
    With a `step` the labels of all points move toward that of a new sample in proportion to their similarity, which
    follows a function that changes. A step costs O(m²).

    Parameters
    ----------
    kernel
        As in `KLMS`.
    ridge
        λ.
    step
        μ, from 0 to 1.
    max_size
        M.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import FixedBudgetKRLS

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(1000)
    >>> predictions, errors, sizes = run(FixedBudgetKRLS(kernels.RBF(1.0), ridge=1e-3, max_size=50), X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2)
    True

    References
    ----------
    [^1]: Van Vaerenbergh, S., Santamaria, I., Liu, W. and Principe, J.C., 2010. Fixed-budget kernel recursive
        least-squares. IEEE International Conference on Acoustics, Speech and Signal Processing, pp.1882-1885.

    """

    _step = staticmethod(inverses.learn_fixed_budget)
    _EXTRA = ("_inverse", "_solved", "_targets")
    _WORKSPACE = ("_solved",)
    _inverse: Any
    _targets: Any

    def __init__(
        self, kernel: kernels.Kernel | None = None, ridge: float = 0.01, step: float = 0.0, max_size: int | None = 100
    ) -> None:
        checks.number("ridge", ridge, low=0.0, open_low=True)
        checks.number("step", step, low=0.0, high=1.0)
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.ridge = ridge
        self.step = step
        self.max_size = max_size
        self._start(step, ridge)

    def _grow_extra(self, names: tuple[Feature, ...], capacity: int) -> None:
        size = self.size
        inverse, targets = np.zeros((capacity, capacity)), np.zeros(capacity)
        if size:
            inverse[:size, :size], targets[:size] = self._inverse[:size, :size], self._targets[:size]
        self._inverse, self._solved, self._targets = inverse, np.zeros(capacity), targets
