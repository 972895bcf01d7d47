"""Arrays and frames in, arrays out: a stream run through a model, for scripts that have no use for feature dicts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from river import base, compose, utils

from .core.types import Vector
from .kernels import Feature
from .learners import reading


class Run(NamedTuple):
    """What `run` returns, one number for each sample."""

    predictions: Vector
    """Made before the sample was learned; of a classifier, classes, None before the first."""
    errors: Vector
    """Target minus prediction; of a classifier, 1 where the class was another."""
    sizes: Vector
    """The dictionary's size after the sample was learned; NaN where the model has none."""


def run(model: Any, X: Any, y: ArrayLike) -> Run:
    """Predict, then learn, every sample in order.

    The model is trained in place, exactly as by `predict_one` and `learn_one` one sample after the other; learners and
    filters of this library are several times faster that way.

    Parameters
    ----------
    model
        Any regressor or classifier of this library, alone, wrapped or at the end of a pipeline.
    X
        The inputs, one row a sample. The columns of a data frame are features of their names, those of an array the
        features 0, 1, ... A vector is one feature.
    y
        The targets.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import KRLS, kernels, run
    >>> t = np.arange(500) * 0.1
    >>> signal = np.sin(t) + np.sin(1.7 * t)
    >>> X = np.lib.stride_tricks.sliding_window_view(signal, 4)[:-1]
    >>> predictions, errors, sizes = run(KRLS(kernels.RBF(2.0), threshold=1e-6), X, signal[4:])
    >>> bool(abs(errors[-100:]).max() < 2e-3)
    True

    """
    if not isinstance(model, base.Estimator) or not hasattr(model, "predict_one"):
        raise TypeError(f"model must be a regressor or classifier, got {model!r}")
    is_frame = hasattr(X, "columns")
    samples: Any = X if is_frame else np.asarray(X)
    if not is_frame and not samples.ndim:
        raise TypeError(f"X must be an array or a data frame of samples, got {X!r}")
    samples = samples[:, None] if not is_frame and samples.ndim == 1 else samples
    last = model[-1] if isinstance(model, compose.Pipeline) else model
    if isinstance(last, base.Classifier):
        return _classified(model, samples, y)
    if hasattr(model, "learn_rows"):
        names, rows, _ = reading.frame(samples)
        targets = reading.column("y", y, len(rows))
        predictions, sizes = model.learn_rows(names, rows, targets)
        return Run(predictions, targets - predictions, sizes)
    targets = reading.column("y", y, len(samples))
    predictions, sizes = np.empty(len(targets)), np.empty(len(targets))
    for i, x in enumerate(_dicts(samples)):
        predictions[i] = _step(model, x, float(targets[i]), i)
        sizes[i] = getattr(last, "size", math.nan)
    return Run(predictions, targets - predictions, sizes)


def _classified(model: Any, samples: Any, y: Any) -> Run:
    if hasattr(y, "__len__") and len(y) != len(samples):
        raise ValueError(f"y must hold one class per row of X ({len(samples)}), got {len(y)}")
    classes = reading.labels(y, len(samples))
    last = model[-1] if isinstance(model, compose.Pipeline) else model
    predictions, sizes = np.empty(len(classes), dtype=object), np.empty(len(classes))
    for i, x in enumerate(_dicts(samples)):
        predictions[i] = _step(model, x, classes[i], i)
        sizes[i] = getattr(last, "size", math.nan)
    wrong = [float(p != c) for p, c in zip(predictions, classes, strict=True)]
    return Run(predictions, np.array(wrong), sizes)


def _step(model: Any, x: dict[Feature, Any], y: Any, row: int) -> Any:
    """One prediction, and the sample learned; an error says in which row."""
    try:
        prediction = model.predict_one(x)
        model.learn_one(x, y)
    except Exception as error:
        error.add_note(f"in row {row} of X")
        raise
    return prediction


def _dicts(samples: Any) -> Iterator[dict[Feature, Any]]:
    """The rows as feature dicts."""
    if isinstance(samples, np.ndarray):
        if samples.ndim != 2:
            raise ValueError(f"X must have two dimensions (samples, features), got shape {samples.shape}")
        names: list[Feature] = list(range(samples.shape[1]))
        yield from (dict(zip(names, row, strict=True)) for row in samples.tolist())
    else:
        yield from utils.dataframe.into_frame(samples).iter_rows(named=True)
