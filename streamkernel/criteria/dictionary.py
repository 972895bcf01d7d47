"""The dictionary that a kernel and a threshold will make of a stream, foreseen from a window of its samples."""

from __future__ import annotations

import math

import numpy as np

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
    residuals, factor = np.diagonal(gram).copy(), np.empty((size, len(gram)))
    for step in range(size):
        pivot = int(np.argmax(residuals))
        if residuals[pivot] <= threshold:
            return threshold, 0.0
        row = gram[pivot] - factor[:step, pivot] @ factor[:step]
        row /= math.sqrt(residuals[pivot])
        factor[step] = row
        residuals -= row * row
        residuals[pivot] = 0.0
    largest = float(residuals.max())
    return (largest, float(np.maximum(residuals, 0.0).mean())) if largest > threshold else (threshold, 0.0)
