"""Targets of any level and unit: a learner that sees them centered and in units of their spread."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from river import base, proba
from river.conf.interval import Interval

from . import checks
from .checkpoint import Checkpointed
from .core.stream import LARGEST_SQUARE
from .core.types import Matrix, Vector
from .distributions import GaussianMixture
from .kernels import Feature
from .learners import KRLS, reading
from .learners.base import gaussian


class TargetScaler(base.Wrapper[Any], base.Regressor, Checkpointed):
    """A regressor whose targets are brought to zero mean and unit variance on the way in, and back on the way out.

    Kernel learners predict zero where they know nothing, so a target far from zero costs them many samples. Here they
    predict the mean of the targets there. Distributions and intervals are brought back too, and `learn_many` is as fast
    as without.

    Parameters
    ----------
    regressor
        Any regressor of this library, or a pipeline that ends in one.
    center
        What is subtracted from the targets. None is the mean of the targets so far.
    unit
        What they are then divided by. None is the standard deviation of the targets so far.

    Examples
    --------

    >>> from river import evaluate, metrics, preprocessing
    >>> from streamkernel import KRLS, TargetScaler, datasets

    >>> stream = [(x, 100.0 + y) for x, y in datasets.SincLinear(seed=1).take(500)]
    >>> plain = preprocessing.StandardScaler() | KRLS(ridge=0.1)
    >>> evaluate.progressive_val_score(stream, plain, metrics.MAE())
    MAE: 2.2...
    >>> model = preprocessing.StandardScaler() | TargetScaler(KRLS(ridge=0.1))
    >>> evaluate.progressive_val_score(stream, model, metrics.MAE())
    MAE: 0.4...
    >>> model.predict_one({0: 1.0, 1: 2.0}, with_dist=True)
    𝒩(μ=100..., σ=0...)

    """

    def __init__(self, regressor: Any, center: float | None = None, unit: float | None = None) -> None:
        if not isinstance(regressor, base.Estimator) or isinstance(regressor, base.Classifier):
            raise checks.ArgumentTypeError(f"regressor must be a regressor, got {regressor!r}")
        checks.regressor("regressor", regressor)
        if center is not None:
            checks.number("center", center)
            reading.target(center, "center")
        if unit is not None:
            checks.number("unit", unit, low=0.0, open_low=True)
            checks.number("unit", unit, low=1.0 / reading.LARGEST_VALUE, high=reading.LARGEST_VALUE)
        self.regressor = regressor
        self.center = center
        self.unit = unit
        self._moments = (0, 0.0, 0.0)  # count, mean and sum of squares of the targets

    @property
    def _wrapped_model(self) -> Any:
        return self.regressor

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"regressor": KRLS(ridge=0.1)}
        yield {"regressor": KRLS(ridge=0.1), "center": 3.0, "unit": 2.0}

    @property
    def scale(self) -> tuple[float, float]:
        """The center and the unit in use."""
        count, mean, squares = self._moments
        center = mean if self.center is None else float(self.center)
        if self.unit is not None:
            return center, float(self.unit)
        return center, math.sqrt(squares / count) if squares > 0.0 else 1.0

    @property
    def size(self) -> int:
        """The number of points in the regressor's dictionary."""
        return int(self.regressor.size)

    def learn_one(self, x: Mapping[Feature, Any], y: float, **arguments: Any) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.
        arguments
            Passed to the regressor, such as the weight `w`.

        """
        before, target = self._moments, reading.target(y)
        self._moments = _observed(before, target)
        center, unit = self.scale
        try:
            self.regressor.learn_one(x, (target - center) / unit, **arguments)
        except Exception:
            self._moments = before
            raise

    def predict_one(self, x: Mapping[Feature, Any], **arguments: Any) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features.
        arguments
            Passed to the regressor, such as `with_dist`, `with_interval` and `interval_level`.

        """
        return _brought_back(self.regressor.predict_one(x, **arguments), *self.scale)

    def predict_learn_one(self, x: Mapping[Feature, Any], y: float, **arguments: Any) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before."""
        prediction = float(self.predict_one(x))
        self.learn_one(x, y, **arguments)
        return prediction

    def learn_many(self, X: Any, y: Any, w: Any = None, **arguments: Any) -> None:
        """Learn samples in order, as `learn_one` would one after the other.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample, where the regressor takes them.
        arguments
            None are known.

        """
        if arguments:
            raise TypeError(f"learn_many takes X, y and w, got {', '.join(arguments)}")
        names, rows, _ = reading.frame(X)
        targets = reading.column("y", y, len(rows))
        self.learn_rows(names, rows, targets, *([] if w is None else [reading.column("w", w, len(rows))]))

    def predict_many(self, X: Any, **arguments: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        center, unit = self.scale
        return center + unit * reading.predictions(self.regressor, X, **arguments)

    def learn_rows(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, *weights: Vector
    ) -> tuple[Vector, Vector]:
        """Learn samples in order: the predictions made before each was learned, and the sizes after each."""
        if not hasattr(self.regressor, "learn_rows"):
            return self._learn_each(names, rows, targets, *weights)
        if len(targets):
            reading.target(float(targets[np.abs(targets).argmax()]))
        before, scales = self._moments, [self.scale]
        for target in targets.tolist():
            self._moments = _observed(self._moments, target)
            scales.append(self.scale)
        centers, units = np.array(scales).T
        try:
            scaled = (targets - centers[1:]) / units[1:]
            predictions, sizes = self.regressor.learn_rows(names, rows, scaled, *weights)
        except Exception:
            self._moments = before
            raise
        return centers[:-1] + units[:-1] * predictions, sizes

    def _learn_each(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, *weights: Vector
    ) -> tuple[Vector, Vector]:
        predictions, sizes = np.empty(len(rows)), np.full(len(rows), math.nan)
        before = copy.deepcopy((self.regressor, self._moments))
        try:
            for i, row in enumerate(rows):
                given = {"w": float(weights[0][i])} if weights else {}
                predictions[i] = self.predict_learn_one(reading.sample(names, row), float(targets[i]), **given)
                sizes[i] = getattr(self.regressor, "size", math.nan)
        except Exception:  # all or nothing is learned
            self.regressor, self._moments = before
            raise
        return predictions, sizes

    def _get_state(self) -> dict[str, Any]:
        return {"moments": self._moments}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._moments = state["moments"]


def _observed(moments: tuple[int, float, float], target: float) -> tuple[int, float, float]:
    """Welford's update."""
    count, mean, squares = moments
    count += 1
    shift = target - mean
    mean += shift / count
    return count, mean, squares + shift * (target - mean)


def _brought_back(prediction: Any, center: float, unit: float) -> Any:
    """A number, interval or distribution in the targets' own unit."""
    if isinstance(prediction, Interval):
        return Interval(center + unit * prediction.lower, center + unit * prediction.upper)
    if isinstance(prediction, proba.Gaussian):
        deviation = unit * prediction.sigma
        if not deviation * deviation <= LARGEST_SQUARE:
            raise ValueError(f"the deviation {deviation:g} of the prediction has no square: rescale target or features")
        return gaussian(center + unit * prediction.mu, deviation**2)
    if isinstance(prediction, GaussianMixture):
        means = [center + unit * mean for mean in prediction.means]
        return GaussianMixture(prediction.weights, means, [unit * deviation for deviation in prediction.deviations])
    return float(center + unit * prediction)
