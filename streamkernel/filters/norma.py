"""Online learning with kernels by stochastic gradient descent on the regularized risk.

Kivinen, Smola & Williamson, "Online Learning with Kernels", IEEE Transactions on Signal Processing 52(8), 2004.
Paper -> code: η `step`, λ `ridge`, τ `max_size`, α `coefficients`.
"""

from __future__ import annotations

from .. import checks, kernels
from ..core import lms
from .base import KernelFilter


class NORMA(KernelFilter):
    """Naive online regularized risk minimization with the squared loss.

    All coefficients shrink by 1 − ηλ before a sample joins with its error times the step. A step costs O(m) for m
    points; beyond `max_size` the oldest leaves, whose coefficient has shrunk most.

    Parameters
    ----------
    kernel
        As in `KLMS`.
    step
        η; ηλ must be less than 1.
    ridge
        λ.
    max_size
        τ.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import NORMA

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(2000)
    >>> predictions, errors, sizes = run(NORMA(kernels.RBF(1.0), step=0.2, ridge=1e-2), X, y)
    >>> bool((errors[-500:] ** 2).mean() < 2e-2)
    True

    References
    ----------
    [^1]: Kivinen, J., Smola, A.J. and Williamson, R.C., 2004. Online learning with kernels. IEEE Transactions on Signal
        Processing, 52(8), pp.2165-2176.

    """

    _step = staticmethod(lms.learn_norma)

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        step: float = 0.2,
        ridge: float = 0.01,
        max_size: int | None = 500,
    ) -> None:
        checks.number("step", step, low=0.0, open_low=True)
        checks.number("ridge", ridge, low=0.0)
        if not step * ridge < 1.0:
            raise ValueError(f"step times ridge must be less than 1, got {step!r} and {ridge!r}")
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.step = step
        self.ridge = ridge
        self.max_size = max_size
        self._start(step, ridge)
