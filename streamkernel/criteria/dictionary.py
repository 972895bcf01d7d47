"""The dictionary that a kernel and a threshold will make of a stream, foreseen from a window of its samples."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..core.types import Matrix


def fit_dictionary(gram: Matrix, threshold: float, size: int) -> tuple[float, float]:
    """A threshold, at least the given one, with which about `size` samples join, and the mean residual that they leave.

    The samples with this kernel matrix are taken greedily, the one that is least explained first (a pivoted Cholesky
    factorization).

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import fit_dictionary
    >>> fit_dictionary(np.diag([9.0, 9.0, 4.0, 1.0]), 0.1, 2)
    (4.0, 1.25)

    """
    if size >= len(gram):
        return threshold, 0.0
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=True, tol=threshold)
    if rank <= size:
        return threshold, 0.0
    explained = (np.tril(factor)[:, :size] ** 2).sum(axis=1)
    residuals = np.diagonal(gram)[pivots - 1] - explained
    return max(threshold, float(factor[size, size]) ** 2), float(np.maximum(residuals, 0.0).mean())
