"""A stream of rows through a model, with its running score: what `streamkernel run` does, restartable at any row.

A session holds everything that the next row's prediction depends on. Written to bytes after row t and restored, it
continues bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river import preprocessing

from .checkpoint import Checkpointed
from .kernels import Feature
from .learners.base import StreamingRegressor


class Standardizer(Checkpointed):
    """Running mean and variance of every feature; scales a sample to zero mean and unit variance as known so far.

    Examples
    --------

    >>> from streamkernel.session import Standardizer
    >>> scale = Standardizer()
    >>> for value in (1.0, 3.0, 5.0):
    ...     scale.learn_one({"x": value})
    >>> scale.transform_one({"x": 3.0 + 2 * (8 / 3) ** 0.5})
    {'x': 2.0}

    """

    def __init__(self) -> None:
        self._moments: dict[Feature, tuple[int, float, float]] = {}

    def learn_one(self, x: Mapping[Feature, float]) -> None:
        """Take one sample into the moments (Welford's update)."""
        for name, value in x.items():
            count, mean, squares = self._moments.get(name, (0, 0.0, 0.0))
            count += 1
            shift = value - mean
            mean += shift / count
            self._moments[name] = count, mean, squares + shift * (value - mean)

    def transform_one(self, x: Mapping[Feature, float]) -> dict[Feature, float]:
        """The sample in standard units; a feature that has not varied yet is zero."""
        scaled = {}
        for name, value in x.items():
            count, mean, squares = self._moments.get(name, (0, 0.0, 0.0))
            scaled[name] = (value - mean) / math.sqrt(squares / count) if squares > 0.0 else 0.0
        return scaled

    def to_river(self) -> preprocessing.StandardScaler:
        """River's scaler with the same statistics."""
        counts, means, squares = ({name: m[i] for name, m in self._moments.items()} for i in range(3))
        variances = {name: total / counts[name] for name, total in squares.items()}
        return preprocessing.StandardScaler._from_state(counts, means, variances)

    def _get_state(self) -> dict[str, Any]:
        return {"moments": self._moments}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._moments = state["moments"]


class Session(Checkpointed):
    """Predict, score, learn, row by row.

    Parameters
    ----------
    model
        A streaming regressor of this library.
    scale
        Whether features are standardized on the way.

    """

    def __init__(self, model: StreamingRegressor, scale: bool = True) -> None:
        self.model = model
        self.scale = scale
        self.rows = 0
        self._squares = 0.0
        self._absolute = 0.0
        self._standardizer = Standardizer()
        self._target = Standardizer()

    def step(self, x: Mapping[Feature, float], y: float) -> float:
        """The prediction for one row, made before the row is learned."""
        if self.scale:
            self._standardizer.learn_one(x)
            x = self._standardizer.transform_one(x)
        prediction = self.model.predict_learn_one(x, y)
        self.rows += 1
        self._squares += (y - prediction) ** 2
        self._absolute += abs(y - prediction)
        self._target.learn_one({0: y})
        return prediction

    def score(self) -> dict[str, float]:
        """The errors so far, and the share of the targets' variance that was predicted."""
        if not self.rows:
            return {"rmse": math.nan, "mae": math.nan, "r2": math.nan}
        variance = self._target._moments[0][2]
        explained = 1.0 - self._squares / variance if variance > 0.0 else math.nan
        return {"rmse": math.sqrt(self._squares / self.rows), "mae": self._absolute / self.rows, "r2": explained}

    def _opened(self) -> Any:
        return self._standardizer.to_river() | self.model if self.scale else self.model

    def _get_state(self) -> dict[str, Any]:
        sums = [self.rows, self._squares, self._absolute]
        return {"sums": sums, "standardizer": self._standardizer, "target": self._target}

    def _set_state(self, state: dict[str, Any]) -> None:
        self.rows, self._squares, self._absolute = state["sums"]
        self._standardizer, self._target = state["standardizer"], state["target"]
