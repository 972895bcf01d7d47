"""The criteria: a value of the matrix A = K + ρI and the targets, and its slope M.

The formulas are in the docstring of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ..core.types import Matrix

# A squared error below this share of the targets' is rounding: it ends the race to interpolate noise-free samples.
SMALLEST_SHARE = 1e-14

# From A and the targets to the value and its slope M. A is symmetric: only the symmetric part of M counts.
Criterion = Callable[[Matrix, Matrix], tuple[float, Matrix]]


def evidence(noisy: Matrix, targets: Matrix) -> tuple[float, Matrix]:
    """Minus the logarithm of the evidence at the best amplitude, and its slope M, for A = `noisy`.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import evidence
    >>> value, slope = evidence(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-1.0]]))
    >>> round(value, 4), slope.round(4)
    (0.5493, array([[-0.1667,  0.3333],
           [ 0.3333, -0.1667]]))

    """
    factor, inverse = _invert(noisy)
    coefficients = inverse @ targets
    count = targets.size
    product = max(float(np.vdot(targets, coefficients)), SMALLEST_SHARE * float(np.vdot(targets, targets)))
    outputs = targets.shape[1]
    value = 0.5 * count * math.log(product / count) + outputs * float(np.log(np.diagonal(factor)).sum())
    return value, 0.5 * outputs * inverse - (0.5 * count / product) * (coefficients @ coefficients.T)


def leave_one_out(noisy: Matrix, targets: Matrix) -> tuple[float, Matrix]:
    """Half the logarithm of the mean squared leave-one-out error, times the number of targets, and its slope M.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import leave_one_out
    >>> value, slope = leave_one_out(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-1.0]]))
    >>> round(value, 4), slope.round(4)
    (0.8109, array([[-0.1667,  0.3333],
           [ 0.3333, -0.1667]]))

    """
    _, inverse = _invert(noisy)
    residuals, slope = left_out(inverse, inverse @ targets)
    squares = max(float(np.vdot(residuals, residuals)), SMALLEST_SHARE * float(np.vdot(targets, targets)))
    count = targets.size
    return 0.5 * count * math.log(squares / count), (0.5 * count / squares) * (slope + slope.T)


def left_out(inverse: Matrix, coefficients: Matrix) -> tuple[Matrix, Matrix]:
    """The errors e = α_i/Q_ii of the samples left out, and the slope of ½Σe² in A, which is not symmetric.

    Requires: α = Qy and ∂Q = −Q ∂A Q. Q is A⁻¹, or with a bias the block of the system's inverse that takes y to α.
    """
    diagonal = np.diagonal(inverse)[:, None]
    residuals = coefficients / diagonal
    weighted = inverse * np.sqrt((residuals**2 / diagonal).sum(axis=1))
    return residuals, weighted @ weighted.T - (inverse @ (residuals / diagonal)) @ coefficients.T


def _invert(noisy: Matrix) -> tuple[Matrix, Matrix]:
    """The Cholesky factor and the inverse of a symmetric positive definite matrix."""
    factor = linalg.cholesky(noisy, lower=True, check_finite=False)
    lower = lapack.dpotri(factor, lower=True)[0]  # what is above its diagonal is zero, as in the factor
    inverse = lower + lower.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return factor, inverse
