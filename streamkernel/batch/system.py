"""The one linear system of the batch algorithms: kernel ridge regression, with or without a bias, factored once.

    (K + R) α + b 1 = y,   1'α = 0 (with a bias; without one b = 0),   R diagonal and positive

Its closed-form leave-one-out residuals are y_i − f₋ᵢ(x_i) = α_i / Q_ii, where Q is the block of the system's inverse
that takes y to α: Cawley, Talbot, Foxall, Dorling & Mandic (2004), eq. (24). What it solves for is an `Expansion`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.linalg import lapack

from .. import kernels
from ..core.types import Matrix, Vector


class RidgeSystem:
    """(K + R) α + b 1 = y for one kernel matrix and one diagonal R.

    Parameters
    ----------
    gram
        K, symmetric and positive semi-definite.
    noise
        The diagonal of R: a positive number, or one for each sample.
    bias
        Whether the model has a constant term b.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.system import RidgeSystem
    >>> system = RidgeSystem(np.eye(3), 1.0, bias=True)
    >>> coefficients, bias = system.solve(np.array([1.0, 2.0, 6.0]))
    >>> coefficients.round(3), round(bias, 3)
    (array([-1. , -0.5,  1.5]), 3.0)
    >>> system.leave_one_out_residuals(np.array([1.0, 2.0, 6.0]))
    array([-3. , -1.5,  4.5])

    """

    def __init__(self, gram: Matrix, noise: ArrayLike, bias: bool) -> None:
        check_similarities(gram)
        matrix = np.array(gram, dtype=np.float64)
        self.noise = np.broadcast_to(np.asarray(noise, dtype=np.float64), len(matrix))
        if not (self.noise > 0.0).all():
            raise ValueError(f"noise must be positive, got {self.noise.min()!r}")
        matrix[np.diag_indices_from(matrix)] += self.noise
        # LAPACK works in columns: the transpose of a symmetric matrix is itself, and is factored where it stands.
        try:
            self._factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True)
        except linalg.LinAlgError:
            raise ValueError(
                f"the ridge, {self.noise.min():g} of a sample, is lost among the rounding errors of similarities up to "
                f"{np.abs(gram).max():g}: take a larger ridge or rescale the features"
            ) from None
        self._ones = self._divide(np.ones(len(matrix))) if bias else None

    def solve(self, targets: Matrix | Vector) -> tuple[Matrix | Vector, float | Vector]:
        """The coefficients α and the bias b; one column of each per column of `targets`."""
        plain = self._divide(targets)
        if self._ones is None:
            return plain, 0.0 if plain.ndim == 1 else np.zeros(plain.shape[1])
        bias = plain.sum(axis=0) / self._ones.sum()
        coefficients = plain - np.multiply.outer(self._ones, bias)
        return coefficients, float(bias) if plain.ndim == 1 else bias

    @functools.cached_property
    def inverse(self) -> Matrix:
        """Q, the matrix that takes targets to coefficients."""
        lower = np.tril(lapack.dpotri(self._factor[0], lower=True)[0])
        inverse = np.asarray(lower + np.tril(lower, -1).T)
        if self._ones is not None:
            inverse -= np.outer(self._ones, self._ones) / self._ones.sum()
        return inverse

    def leave_one_out_residuals(self, targets: Matrix | Vector) -> Matrix | Vector:
        """y_i minus the prediction for sample i of the model fitted without it."""
        coefficients = self.solve(targets)[0]
        diagonal = np.diagonal(self.inverse)
        return coefficients / (diagonal if coefficients.ndim == 1 else diagonal[:, None])

    def _divide(self, targets: Matrix | Vector) -> Matrix | Vector:
        return linalg.cho_solve(self._factor, targets, check_finite=False)

    @functools.cached_property
    def log_determinant(self) -> float:
        """ln det(K + R)."""
        return 2.0 * float(np.log(np.diagonal(self._factor[0])).sum())


@dataclasses.dataclass(frozen=True)
class Expansion:
    """The function Σᵢ αᵢ k(xᵢ, ·) + b.

    Parameters
    ----------
    kernel
        k.
    points
        The rows xᵢ.
    coefficients
        α, one column for each output where there are several.
    bias
        b, one for each output.
    features
        Names of the columns, for kernels that name their features.

    """

    kernel: kernels.Kernel
    points: Matrix
    coefficients: Matrix | Vector
    bias: float | Vector
    features: Sequence[Hashable] | None = None

    def __call__(self, X: ArrayLike) -> Any:
        """The values at the rows of X."""
        similarities = self.kernel(X, self.points, features=self.features)
        check_similarities(similarities)
        return similarities @ self.coefficients + self.bias


def check_similarities(similarities: Matrix) -> None:
    """Raise an error where a kernel overflows."""
    if not np.isfinite(similarities).all():
        row = int(np.argwhere(~np.isfinite(similarities))[0, 0])
        raise ValueError(f"the kernel gives no finite similarity to row {row} of the samples: rescale the features")
