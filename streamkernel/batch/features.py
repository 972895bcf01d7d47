"""The features of the samples: columns in sorted order of their names, as in a stream, and streams that learn them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.types import Matrix, Vector
from ..learners.base import StreamingRegressor
from ..targets import TargetScaler
from . import arguments
from .system import Expansion


def feature_names(estimator: Any) -> list[Hashable]:
    """The names of the features that the estimator was fitted on, sorted, or their numbers."""
    return sorted(getattr(estimator, "feature_names_in_", range(estimator.n_features_in_)))


def arrange(estimator: Any, samples: Matrix) -> Matrix:
    """The columns in sorted order of the feature names, as in a stream."""
    names = getattr(estimator, "feature_names_in_", None)
    return samples if names is None else np.ascontiguousarray(samples[:, np.argsort(names)])


def read_samples(estimator: Any, X: ArrayLike) -> Matrix:
    """The samples that a fitted estimator is asked about, checked, their columns arranged as in the fit."""
    check_is_fitted(estimator)
    return arrange(estimator, validate_data(estimator, X, dtype=np.float64, reset=False))


def read_training(estimator: Any, X: ArrayLike, y: ArrayLike, fewest: int = 1) -> tuple[Matrix, Vector]:
    """The samples and targets that a regression is fitted to, or an error."""
    samples, given = validate_data(estimator, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=fewest)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"y must hold numbers, got {given[0]!r} ({given.dtype})")
    targets = given.astype(np.float64)
    arguments.check_moderate("y", targets)
    return samples, targets


def expand(estimator: Any, X: ArrayLike) -> Matrix:
    """Σ α_i k(x_i, x) + b of a fitted estimator at the rows of X, one column per output."""
    samples, names = read_samples(estimator, X), feature_names(estimator)
    function = Expansion(estimator.kernel_, estimator.X_fit_, estimator.dual_coef_, estimator.intercept_, names)
    return np.asarray(function(samples))


def teach(
    stream: Any,
    names: Sequence[Hashable],
    samples: Matrix,
    targets: Sequence[Any] | Vector,
    weights: Vector | None = None,
) -> None:
    """Let a streaming model learn samples in order; a regressor of this library learns them in blocks."""
    if isinstance(stream, StreamingRegressor | TargetScaler):
        stream.learn_rows(tuple(names), samples, np.asarray(targets), *([] if weights is None else [weights]))
        return
    counts = np.ones(len(samples)) if weights is None else weights
    for row, target, weight in zip(samples.tolist(), targets, counts.tolist(), strict=True):
        stream.learn_one(dict(zip(names, row, strict=True)), target, weight)
