"""Kernel least mean squares, and its quantized form.

Liu, Pokharel & Principe, "The Kernel Least-Mean-Square Algorithm", IEEE Transactions on Signal Processing 56(2), 2008.
Chen, Zhao, Zhu & Principe, "Quantized Kernel Least Mean Square Algorithm", IEEE Transactions on Neural Networks and
Learning Systems 23(1), 2012. Paper -> code: η `step`, ε_U `quantization`, a `coefficients`.
"""

from __future__ import annotations

from .. import checks, kernels
from ..core import lms
from .base import KernelFilter


class KLMS(KernelFilter):
    """Kernel least mean squares: every sample joins with its error times the step as coefficient.

    A step costs O(m) for m points. It needs no ridge: the step is the regularization. Where the dictionary is full a
    sample changes the coefficient of its nearest point, as in `QKLMS`.

    Parameters
    ----------
    kernel
        As in `KRLS`; None is `RBF(√d)` for the d features of the first sample.
    step
        η, less than 2 over the largest eigenvalue of the mean kernel matrix.
    max_size
        The most points of the dictionary, which is what a step costs; None keeps every sample.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import KLMS

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(2000)
    >>> predictions, errors, sizes = run(KLMS(kernels.RBF(1.0), step=0.2), X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2)
    True

    References
    ----------
    [^1]: Liu, W., Pokharel, P.P. and Principe, J.C., 2008. The kernel least-mean-square algorithm. IEEE Transactions on
        Signal Processing, 56(2), pp.543-554.

    """

    _step = staticmethod(lms.learn_qklms)

    def __init__(self, kernel: kernels.Kernel | None = None, step: float = 0.2, max_size: int | None = 1000) -> None:
        checks.number("step", step, low=0.0, open_low=True)
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.step = step
        self.max_size = max_size
        self._start(step, 0.0)


class QKLMS(KernelFilter):
    """Quantized kernel least mean squares: a sample near a center changes that center's coefficient.

    A step costs O(m) for m centers, of which a bounded input has few. Where the dictionary is full every sample counts
    for its nearest center.

    Parameters
    ----------
    kernel
        As in `KLMS`.
    step
        η.
    quantization
        ε_U, the distance within which a sample counts for a center, in units of the features.
    max_size
        The most centers.

    Examples
    --------

    >>> from streamkernel import datasets, kernels, run
    >>> from streamkernel.filters import QKLMS

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(2000)
    >>> model = QKLMS(kernels.RBF(1.0), step=0.2, quantization=0.3)
    >>> predictions, errors, sizes = run(model, X, y)
    >>> bool((errors[-500:] ** 2).mean() < 1e-2), model.size < 200
    (True, True)

    References
    ----------
    [^1]: Chen, B., Zhao, S., Zhu, P. and Principe, J.C., 2012. Quantized kernel least mean square algorithm. IEEE
        Transactions on Neural Networks and Learning Systems, 23(1), pp.22-32.

    """

    _step = staticmethod(lms.learn_qklms)

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        step: float = 0.2,
        quantization: float = 0.1,
        max_size: int | None = 1000,
    ) -> None:
        checks.number("step", step, low=0.0, open_low=True)
        checks.number("quantization", quantization, low=0.0)
        checks.size("max_size", max_size)
        self.kernel = kernel
        self.step = step
        self.quantization = quantization
        self.max_size = max_size
        self._start(step, quantization)
