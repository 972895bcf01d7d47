"""The base regressors of coupled kernel ensemble regression: one ridge regression for each kernel, and its losses.

Wornyo, Ocquaye & Bediako-Kyeremeh, "Coupled kernel ensemble regression", section 3.2: eqs. (9) to (12).
Paper -> code: K_i gram, λ ridge, α_i coefficients, b_i bias, ζ_i loss, L the number of kernels.

(11) and (12) are not used as they are printed: they take α without the bias, then b from what is left. The minimum of
(9) over both, with A = K + λI, is b = 1'A⁻¹y / 1'A⁻¹1 and α = A⁻¹(y − b1): the slope −2·1'(y − Kα − b1) is then zero,
since 1'α = 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels as kernel_types
from ..core.types import Matrix, Vector
from ..kernels import Kernel
from .cross_validation import copies_left_out
from .scales import start_scale
from .system import Expansion, RidgeSystem

# The default kernels: widths in units of the root of the features' total variance, and degrees of polynomials. Rough
# kernels are given the larger widths, where they differ most from smooth ones.
RBF_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
ROUGH_WIDTHS = (1.0, 4.0)
DEGREES = (1, 2, 3)


def default_kernels(X: Matrix, weights: Vector | None = None) -> tuple[Kernel, ...]:
    """Twelve kernels of four types for samples X: narrow to wide, rough to smooth, local to global.

    Widths follow the features' variance and polynomials their mean square, so a common unit of the features is of no
    consequence. Features of different units should be standardized.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.experts import default_kernels
    >>> for kernel in default_kernels(np.array([[-2.0], [2.0]])):
    ...     print(kernel, end="; ")
    RBF(0.5); RBF(1.0); RBF(2.0); RBF(4.0); RBF(8.0); Laplacian(2.0); Laplacian(8.0); Matern32(2.0); Matern32(8.0);
    Polynomial(1, scale=0.25); Polynomial(2, scale=0.25); Polynomial(3, scale=0.25);

    """
    width = 1.0 / math.sqrt(2.0 * start_scale(X, weights))
    level = float(np.average(np.square(X).sum(axis=1), weights=weights))
    return (
        *(kernel_types.RBF(factor * width) for factor in RBF_WIDTHS),
        *(kernel_types.Laplacian(factor * width) for factor in ROUGH_WIDTHS),
        *(kernel_types.Matern32(factor * width) for factor in ROUGH_WIDTHS),
        *(kernel_types.Polynomial(degree, scale=1.0 / level if level > 0.0 else 1.0) for degree in DEGREES),
    )


def is_lost(ridge: float, diagonal: Vector) -> bool:
    """Whether λ vanishes in the rounding of a kernel matrix with this diagonal."""
    return not ridge > np.finfo(np.float64).eps * len(diagonal) * float(diagonal.max())


def factored(kernel: Kernel, gram: Matrix, ridge: float, weights: Vector) -> RidgeSystem:
    """K + λW⁻¹ with a bias, factored; an error that names the kernel where λ would be lost."""
    diagonal = np.diagonal(gram)
    if is_lost(ridge / float(weights.max()), diagonal):
        raise ValueError(
            f"ridge {ridge!r} is lost in the rounding of {kernel!r}, which is up to {float(diagonal.max()):.3g} on "
            "these samples: scale the features, or raise ridge"
        )
    return RidgeSystem(gram, ridge / weights, bias=True)


class Experts:
    """The L base regressors of eq. (9) on one training set, and their losses.

    Parameters
    ----------
    kernels
        One kernel for each expert.
    X
        The training samples.
    features
        The names of its columns.
    targets
        One column for each output.
    ridge
        λ.
    weights
        What each sample counts; None is one.

    Attributes
    ----------
    coefficients
        α, indexed [expert, sample, output].
    biases
        b, indexed [expert, output].
    left_out
        Residuals of the sample by the expert fitted without it, or without one of it where it counts as several,
        indexed as `coefficients`.
    losses
        ζ summed over the outputs, one for each expert, by either rule.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import kernels
    >>> from streamkernel.batch.experts import Experts
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> experts = Experts([kernels.Linear(), kernels.RBF(0.1)], X, ["x"], 2.0 * X, ridge=0.1)
    >>> experts([[3.0]]).round(2)[:, 0, 0]
    array([5.81, 2.  ])
    >>> {rule: losses.round(2) for rule, losses in experts.losses.items()}
    {'loo': array([ 0.5, 18. ]), 'in_sample': array([0.38, 0.73])}

    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Matrix,
        features: Sequence[Hashable],
        targets: Matrix,
        ridge: float,
        weights: Vector | None = None,
    ) -> None:
        weights = np.ones(len(X)) if weights is None else weights
        self._kernels, self._X, self._features = kernels, X, features
        shape = (len(kernels), *targets.shape)
        self.coefficients, self.left_out = np.empty(shape), np.empty(shape)
        self.biases = np.empty((len(kernels), targets.shape[1]))
        in_sample = np.empty(len(kernels))
        for i, kernel in enumerate(kernels):
            gram = kernel(X, features=features)
            system = factored(kernel, gram, ridge, weights)
            self.coefficients[i], self.biases[i] = system.solve(targets)
            self.left_out[i], _ = copies_left_out(system, targets, weights)
            in_sample[i] = in_sample_loss(gram, self.coefficients[i], self.biases[i], targets, ridge, weights)
        left_out = np.einsum("i,kij->k", weights, np.square(self.left_out))
        self.losses: dict[str, Vector] = {"loo": left_out, "in_sample": in_sample}

    def __call__(self, X: ArrayLike) -> Matrix:
        """The predictions of every expert, indexed [expert, sample, output]."""
        return np.array(
            [
                Expansion(kernel, self._X, coefficients, bias, self._features)(X)
                for kernel, coefficients, bias in zip(self._kernels, self.coefficients, self.biases, strict=True)
            ]
        )


def in_sample_loss(
    gram: Matrix, coefficients: Matrix, bias: Vector, targets: Matrix, ridge: float, weights: Vector | None = None
) -> float:
    """ζ = ‖Kα + b − y‖² + λα'Kα, as printed below eq. (13), summed over the outputs; weights count the squares."""
    smooth = gram @ coefficients
    squares = np.square(smooth + bias - targets).sum(axis=1)
    return float(squares @ (np.ones(len(gram)) if weights is None else weights) + ridge * (coefficients * smooth).sum())
