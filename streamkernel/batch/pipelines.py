"""From fitted scikit-learn pipelines to streams: the scaling, the names and the model go on together."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..core.types import Vector
from ..scaling import FixedScaler
from ..targets import TargetScaler
from .system import Expansion

__all__ = ["to_stream"]


def to_stream(model: Any, **options: Any) -> Any:
    """A fitted scikit-learn model as a stream: it predicts what the model predicts, and goes on learning.

    Parameters
    ----------
    model
        A fitted estimator of `streamkernel.batch`; a scikit-learn `Pipeline` of scalers (`StandardScaler`,
        `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`) that ends in one; or a `TransformedTargetRegressor` around
        either, with one of these scalers or none. A pipeline becomes a river pipeline: the scaling as it was fitted,
        which stays, and the streaming learner. Features have the names that they had in the fit, or 0, 1, ...; an
        `AutoKernelRegressor` behind scalers has learned columns without names, and explains itself by their numbers.
    options
        Arguments of the estimator's own `to_stream`, such as `max_size`.

    Examples
    --------

    >>> import pandas as pd
    >>> import streamkernel
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = pd.DataFrame({"hour": [1.0, 5.0, 9.0, 14.0, 20.0], "load": [300.0, 500.0, 900.0, 800.0, 400.0]})
    >>> y = [141.0, 180.0, 260.0, 230.0, 160.0]
    >>> pipeline = make_pipeline(StandardScaler(), streamkernel.batch.KernelRidge(ridge=0.1)).fit(X, y)
    >>> model = streamkernel.to_stream(pipeline)
    >>> print(round(model.predict_one({"hour": 9.0, "load": 900.0}), 6) == round(pipeline.predict(X)[2], 6))
    True
    >>> model.learn_one({"hour": 10.0, "load": 950.0}, 270.0)

    """
    if isinstance(model, TransformedTargetRegressor):
        check_is_fitted(model)
        return _with_target(model, **options)
    if not isinstance(model, Pipeline):
        return _learner(model).to_stream(**options)
    check_is_fitted(model)
    steps = [(name, step) for name, step in model.steps[:-1] if step is not None and step != "passthrough"]
    last = model.steps[-1][1]
    first = steps[0][1] if steps else last
    names = list(getattr(first, "feature_names_in_", range(first.n_features_in_)))
    center, unit = np.zeros(len(names)), np.ones(len(names))
    for name, step in steps:
        own_center, own_unit = _affine(f"the step {name!r}", step)
        center, unit = center + unit * own_center, unit * own_unit
    if isinstance(last, TransformedTargetRegressor):
        stream = _with_target(last, names, **options)
    else:
        stream = named(_learner(last), names).to_stream(**options)
    if not steps:
        return stream
    scaler = FixedScaler(*(dict(zip(names, values.tolist(), strict=True)) for values in (center, unit)))
    return scaler | stream


def _with_target(model: TransformedTargetRegressor, names: Sequence[Any] | None = None, **options: Any) -> Any:
    """The regressor inside, with the targets scaled as they were."""
    inner = model.regressor_
    if isinstance(inner, Pipeline):
        stream = to_stream(inner, **options)
    else:
        stream = (_learner(inner) if names is None else named(_learner(inner), names)).to_stream(**options)
    if model.func is not None or model.inverse_func is not None:
        raise TypeError("func of a TransformedTargetRegressor cannot become part of a stream: give it a transformer")
    if model.transformer is None:
        return stream
    center, unit = _affine("transformer", model.transformer_)
    return TargetScaler(stream, center=float(center[0]), unit=float(unit[0]))


def _learner(model: Any) -> Any:
    if not hasattr(model, "to_stream"):
        raise TypeError(
            f"to_stream takes a fitted estimator of streamkernel.batch, or a scikit-learn pipeline that ends in one, "
            f"got {model!r}"
        )
    check_is_fitted(model)
    return model


def _affine(what: str, step: Any) -> tuple[Vector, Vector]:
    """Center and unit of a fitted scaler: it gives (x − center) / unit."""
    if isinstance(step, StandardScaler):
        center, unit = (step.mean_ if step.with_mean else None), step.scale_
    elif isinstance(step, RobustScaler):
        center, unit = step.center_, step.scale_
    elif isinstance(step, MaxAbsScaler):
        center, unit = None, step.scale_
    elif isinstance(step, MinMaxScaler) and not step.clip:
        center, unit = -step.min_ / step.scale_, 1.0 / step.scale_
    else:
        raise TypeError(
            f"{what} is {step!r}, which to_stream cannot take along: it takes StandardScaler, MinMaxScaler (without "
            "clip), RobustScaler and MaxAbsScaler; apply others before the pipeline"
        )
    count = step.n_features_in_
    return (np.zeros(count) if center is None else center), (np.ones(count) if unit is None else unit)


def named(estimator: Any, names: Sequence[Any]) -> Any:
    """A fitted estimator as if its samples had had these names; one that has names already stays as it is."""
    if hasattr(estimator, "feature_names_in_") or list(names) == list(range(len(names))):
        return estimator
    order = sorted(range(len(names)), key=list(names).__getitem__)
    known = copy.copy(estimator)
    known.feature_names_in_ = np.asarray(names, dtype=object)
    for attribute, value in _renamed(estimator, names, order):
        setattr(known, attribute, value)
    return known


def _renamed(estimator: Any, names: Sequence[Any], order: list[int]) -> Iterator[tuple[str, Any]]:
    """What of a fitted estimator depends on the names and the order of its features."""
    for attribute, value in vars(estimator).items():
        if attribute == "X_fit_":
            yield attribute, np.ascontiguousarray(value[:, order])
        elif attribute == "_features":
            yield attribute, [names[i] for i in order]
        elif attribute in ("kernel_", "stream_"):
            yield attribute, value.renamed(names)
        elif attribute == "kernels_":
            yield attribute, tuple(kernel.renamed(names) for kernel in value)
        elif isinstance(value, Expansion):
            points, features = np.ascontiguousarray(value.points[:, order]), [names[i] for i in order]
            kernel = value.kernel.renamed(names)
            yield attribute, dataclasses.replace(value, points=points, kernel=kernel, features=features)
