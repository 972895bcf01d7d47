"""New features that change the kernel's values between old samples: the posterior moves to new coordinates.

A feature that is new was zero in all old samples, which most kernels do not notice. Where one does, its kernel matrix
of the dictionary is another, LL' → L'L'', and with f_D = Lw the whitened weights become L'⁻¹L w: the posterior of the
function at the dictionary stays.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.model import Model
from ..core.types import Matrix, Vector
from ..core.whitened import PIVOT_LIMIT
from .storage import pack, unpack


def dependent(gram: Matrix) -> list[int]:
    """The points that are combinations of those before them, as far as rounding errors let one tell."""
    limit = float(np.trace(gram)) / PIVOT_LIMIT
    if _least_pivot(gram) > limit:
        return []
    found = _below(gram, limit)
    while not _least_pivot(np.delete(np.delete(gram, found, axis=0), found, axis=1)) > 0.0:
        limit *= 2.0  # the pivots of what is left are rounding errors all the same
        found = _below(gram, limit)
    return found


def _least_pivot(gram: Matrix) -> float:
    """The least squared element on the diagonal of the Cholesky factor, 0 where there is none."""
    with contextlib.suppress(np.linalg.LinAlgError):
        return float(np.diagonal(np.linalg.cholesky(gram)).min(initial=math.inf)) ** 2
    return 0.0


def _below(gram: Matrix, limit: float) -> list[int]:
    """The points whose pivots, among those before them that stay, are not above a limit."""
    rest, found = gram.copy(), []
    for i in range(len(gram)):
        if rest[i, i] > limit:
            row = rest[i, i:] / math.sqrt(rest[i, i])
            rest[i:, i:] -= np.outer(row, row)
        else:
            found.append(i)
    return found


def rewhiten(old: Model, new: Model, gram: Matrix) -> None:
    """Give a model of the dictionary form the posterior of another at the same points.

    Requires: nothing is pending; `gram` is the kernel matrix under the new kernel, regular; numbers are shared.
    """
    size = old.size
    factor = np.linalg.cholesky(gram)
    change = np.linalg.solve(factor, unpack(old.factor, size))
    weights = old.weights[:, :size] @ change.T
    covariances = [
        _transformed(packed, size, change) for packed in (old.covariance, old.noise_covariance) if len(packed)
    ]
    for source, target in zip(covariances, (new.covariance, new.noise_covariance), strict=False):
        pack(source, target, symmetric=True)
    new.weights[:, :size] = weights
    _take_factor(new, factor)
    new.similarities[:size] = np.diagonal(gram)
    new.trace, new.pruned, new.tracked = float(np.trace(gram)), 0, 0


def refit(old: Model, new: Model, before: Matrix, after: Matrix) -> None:
    """The same for the exact form: targets Lζ and noise diag(LL') − k(x, x) are in the factor; fit them anew.

    Requires: `before` and `after` are the kernel matrices under the two kernels.
    """
    size, lower = old.size, unpack(old.factor, old.size)
    noise = np.maximum((lower**2).sum(axis=1) - np.diagonal(before), 0.0)
    targets = old.weights[:, :size] @ lower.T
    factor = np.linalg.cholesky(after + np.diag(noise))
    new.weights[:, :size] = np.linalg.solve(factor, targets.T).T
    _take_factor(new, factor)


def _take_factor(model: Model, factor: NDArray[Any]) -> None:
    pack(factor, model.factor, symmetric=False)
    model.reciprocals[: len(factor)] = 1.0 / np.diagonal(factor)


def _transformed(packed: Vector, size: int, change: Matrix) -> Matrix:
    """change · P · change' for a packed symmetric P."""
    lower = unpack(packed, size)
    result = change @ (lower + np.tril(lower, -1).T) @ change.T
    return (result + result.T) / 2.0
