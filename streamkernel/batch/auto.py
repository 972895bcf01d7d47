"""The regressor without parameters with the scikit-learn interface: a table is a stream of its rows, in their order."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from .. import auto
from ..core.types import Vector
from ..learners import reading
from . import arguments

__all__ = ["AutoKernelRegressor"]


class AutoKernelRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """`streamkernel.AutoKernelRegressor` for tables: no parameters, no scaling, words, dates and gaps as they are.

    Rows are learned in their order, each once, so that a table that is sorted by time may change as it goes.
    `partial_fit` goes on with further rows.

    Parameters
    ----------
    budget
        As in the streaming class: `"low"`, `"medium"`, `"high"`, or microseconds a row.

    Attributes
    ----------
    stream_
        The streaming model: its `explain()` says what was found, and `to_stream` gives a copy.

    Examples
    --------

    >>> from sklearn.model_selection import cross_val_score
    >>> from streamkernel import datasets
    >>> from streamkernel.batch import AutoKernelRegressor
    >>> X, y = datasets.Friedman1(noise=1.0, seed=1).arrays(400)
    >>> bool(cross_val_score(AutoKernelRegressor("low"), X, y, cv=3).mean() > 0.7)
    True

    """

    def __init__(self, budget: str | float = "medium") -> None:
        self.budget = budget

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rows of X, a data frame or an array, and their targets y, in their order."""
        self.stream_ = auto.AutoKernelRegressor(self.budget)
        return self._learn(X, y, sample_weight, reset=True)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn further rows."""
        if not hasattr(self, "stream_"):
            return self.fit(X, y, sample_weight)
        return self._learn(X, y, sample_weight, reset=False)

    def predict(self, X: Any, return_std: bool = False) -> Vector | tuple[Vector, Vector]:
        """The predictive mean for each row of X, and with `return_std` the standard deviation."""
        check_is_fitted(self)
        rows, names = self._read(X, reset=False)
        found = [self.stream_.predict_one(dict(zip(names, row, strict=True)), with_dist=True) for row in rows]
        means = np.array([prediction.mu for prediction in found], dtype=np.float64)
        return (means, np.array([prediction.sigma for prediction in found])) if return_std else means

    def to_stream(self) -> auto.AutoKernelRegressor:
        """A copy of the streaming model that has learned the rows, and goes on from there."""
        check_is_fitted(self)
        return copy.deepcopy(self.stream_)

    def _learn(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool) -> Self:
        rows, names, targets = self._read(X, reset, y)
        weights = arguments.weights(sample_weight, rows)
        for row, target, weight in zip(rows, targets.tolist(), weights.tolist(), strict=True):
            if weight > 0.0:
                self.stream_.learn_one(dict(zip(names, row, strict=True)), target, weight)
        return self

    def _read(self, X: Any, reset: bool, *y: ArrayLike) -> Any:
        """The rows as lists, the features' names, and the targets if they are given."""
        if hasattr(X, "columns"):
            _check_feature_names(self, X, reset=reset)
            names = list(X.columns)
            if reset:
                self.n_features_in_ = len(names)
            rows = list(map(list, zip(*(_values(X[name]) for name in names), strict=True)))
            return (rows, names, *(reading.column("y", targets, len(rows)) for targets in y))
        given: dict[str, Any] = {"reset": reset, "ensure_all_finite": "allow-nan", "dtype": "numeric"}
        if not y:
            samples = validate_data(self, X, **given)
            return samples.tolist(), range(samples.shape[1])
        samples, targets = validate_data(self, X, *y, **given)
        return samples.tolist(), range(samples.shape[1]), reading.column("y", targets, len(samples))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _values(column: Any) -> list[Any]:
    return list(column.to_list() if hasattr(column, "to_list") else column.to_pylist())
