"""Samples that count as several, and folds of them for cross-validation.

A sample of weight w counts like w equal ones. So equal samples are brought together, and a fold takes of a sample the
part that it would have of its copies: the first copy is in the fold that the partition gives the sample, the next in
the fold after that, and so on. What a fold leaves of a sample, others learn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold

from ..core.types import Matrix, Vector
from . import arguments

Rows = NDArray[np.intp]


class Fold(NamedTuple):
    """The samples that are held out, each with the weight that is, and those that are kept, with what is left."""

    held: Rows
    counts: Vector
    kept: Rows
    weights: Vector


Folds = Sequence[Fold]


class HeldOut(NamedTuple):
    """Predictions for samples held out: of which samples, and what each counts."""

    predictions: Matrix
    rows: Rows
    counts: Vector


def bring_together(samples: Matrix, targets: NDArray[Any], weights: Vector) -> tuple[Matrix, NDArray[Any], Vector]:
    """Distinct samples with the sum of their weights, in the order in which they come; none of weight zero.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.folds import bring_together
    >>> X, y = np.array([[3.0], [1.0], [3.0], [3.0]]), np.array(["a", "a", "a", "b"])
    >>> bring_together(X, y, np.array([1.0, 0.0, 0.5, 1.0]))
    (array([[3.],
           [3.]]), array(['a', 'b'], dtype='<U1'), array([1.5, 1. ]))

    """
    used = weights > 0.0
    samples, targets, weights = samples[used], targets[used], weights[used]
    codes = np.unique(targets, return_inverse=True)[1]
    table = np.column_stack([samples, codes])
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(samples):
        return samples, targets, weights
    order, sums = np.sort(first), np.asarray(np.bincount(inverse.reshape(-1), weights), dtype=np.float64)
    return samples[order], targets[order], sums[np.argsort(first)]


def read_weighted(
    estimator: Any, samples: Matrix, targets: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Matrix, Vector, Vector]:
    """The samples of a regression that count, their targets and weights; an error where none could be held out."""
    weights = arguments.weights(sample_weight, samples)
    used = weights > 0.0
    samples, targets, weights = samples[used], np.asarray(targets, dtype=np.float64)[used], weights[used]
    if len(samples) == 1 and weights[0] < 2.0:
        raise ValueError(f"{type(estimator).__name__} needs 2 samples of a weight above 0, got one of {weights[0]:g}")
    return samples, targets, weights


def make_folds(
    n_samples: int, folds: int, random_state: Any, weights: Vector | None = None, samples: Matrix | None = None
) -> Folds:
    """A random partition of samples; where they have weights, one that does not depend on their order.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.folds import make_folds
    >>> [fold.held.tolist() for fold in make_folds(4, 2, 0)]
    [[2, 3], [0, 1]]
    >>> for fold in make_folds(2, 2, 0, np.array([1.0, 2.5]), np.array([[1.0], [0.0]])):
    ...     print(fold.held, fold.counts, fold.kept, fold.weights)
    [0 1] [1. 1.] [1] [1.5]
    [1] [1.5] [0 1] [1. 1.]

    """
    weights = np.ones(n_samples) if weights is None else weights
    plain = bool((weights == 1.0).all())
    order = np.arange(n_samples) if plain or samples is None else np.lexsort(samples.T)
    parts = min(folds, max(n_samples, 2))
    first = np.zeros(n_samples, dtype=np.intp)
    if n_samples > 1:
        for number, (_, held) in enumerate(KFold(parts, shuffle=True, random_state=random_state).split(order)):
            first[order[held]] = number
    rounds, rest = np.divmod(weights, parts)
    made = []
    for number in range(parts):
        counts = rounds + np.clip(rest - (number - first) % parts, 0.0, 1.0)
        left = weights - counts
        held, kept = np.flatnonzero(counts > 0.0), np.flatnonzero(left > 0.0)
        made.append(Fold(held, counts[held], kept, left[kept]))
    return made


def standard_error(values: Vector, counts: Vector) -> float:
    """Of the mean of values that count several times each; infinite where they count as one at most."""
    total = float(counts.sum())
    if total <= 1.0:
        return np.inf
    center = float(np.average(values, weights=counts))
    return float(np.sqrt(counts @ (values - center) ** 2 / (total - 1.0) / total))
