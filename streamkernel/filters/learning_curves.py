"""How fast a filter learns: mean squared errors in dB against the number of samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import reading
from ..learners.base import StreamingRegressor
from .base import KernelFilter


class LearningCurve(NamedTuple):
    """What `learning_curve` returns, one number a point."""

    samples: NDArray[np.int64]
    """How many were learned before."""
    decibels: Vector
    """10 log₁₀ of the mean squared error."""


def decibels(mean_square: ArrayLike) -> Any:
    """10 log₁₀; −inf where there is no error.

    Examples
    --------

    >>> from streamkernel.filters import decibels
    >>> float(decibels(0.01))
    -20.0

    """
    with np.errstate(divide="ignore"):
        return 10.0 * np.log10(mean_square)


def learning_curve(
    model: Any, X: ArrayLike, y: ArrayLike, X_test: ArrayLike | None = None, y_test: ArrayLike | None = None,
    every: int = 25,
) -> LearningCurve:  # fmt: skip
    """Train a model and say how well it predicted along the way.

    The model is trained in place and may have learned before: for a system that changes, call it once for each of its
    states.

    Parameters
    ----------
    model
        A filter or learner of this library, or any regressor of river, which sees the features 0, 1, ...
    X, y
        The samples to learn, in order.
    X_test, y_test
        Samples whose mean squared error is a point of the curve. Without them a point is that of the next `every`
        predictions, each made before its sample was learned.
    every
        How many samples are learned from one point to the next.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.filters import KLMS, learning_curve

    >>> X, y = datasets.MackeyGlass(seed=1).arrays(1200)
    >>> samples, decibels = learning_curve(KLMS(kernels.RBF(1.0)), X[:1000], y[:1000], X[1000:], y[1000:], every=250)
    >>> samples.tolist(), bool(decibels[-1] < decibels[0] - 10.0)
    ([0, 250, 500, 750, 1000], True)

    """
    checks.whole("every", every)
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given both or neither")
    names, rows, _ = reading.frame(np.asarray(X))
    targets = reading.column("y", y, len(rows))
    starts = np.arange(0, len(rows), every, dtype=np.int64)
    errors = []
    for start in starts:
        if X_test is not None:
            errors.append(_test_error(model, X_test, y_test))
        part = slice(start, start + every)
        predictions = _learn(model, names, rows[part], targets[part])
        if X_test is None:
            errors.append(float(np.mean((targets[part] - predictions) ** 2)))
    if X_test is not None:
        starts = np.append(starts, len(rows))
        errors.append(_test_error(model, X_test, y_test))
    return LearningCurve(starts, decibels(np.array(errors)))


def _learn(model: Any, names: tuple[Feature, ...], rows: Matrix, targets: Vector) -> Vector:
    """Predictions made before each sample was learned."""
    if isinstance(model, KernelFilter | StreamingRegressor):
        return model.learn_rows(names, rows, targets)[0]
    predictions = np.empty(len(rows))
    for i, (row, target) in enumerate(zip(rows.tolist(), targets.tolist())):
        x = dict(zip(names, row))
        predictions[i] = model.predict_one(x)
        model.learn_one(x, target)
    return predictions


def _test_error(model: Any, X: Any, y: Any) -> float:
    names, rows, _ = reading.frame(np.asarray(X))
    if isinstance(model, KernelFilter | StreamingRegressor):
        predictions = model.predict_many(rows)
    else:
        predictions = np.array([model.predict_one(dict(zip(names, row))) for row in rows.tolist()])
    return float(np.mean((reading.column("y_test", y, len(rows)) - predictions) ** 2))
