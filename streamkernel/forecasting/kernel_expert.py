"""A kernel learner that predicts a series from some of its past values, scaled by itself.

The scales are those of all samples so far, taken at sizes that grow geometrically; the learner is then made anew from
the series' history, since a running scaler would move the points of its dictionary.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..core.types import Matrix, Vector
from ..learners import KRLS

FIRST_SIZE, GROWTH = 12, 1.6
# Forecasts stay within the values seen so far, extended by this part of their range on both sides.
MARGIN = 0.5
LINEAR_PART = 0.5
# What spreads by less than this part of the series is constant but for rounding, and no unit.
ROUNDING = 1e-12


class Embedding(NamedTuple):
    """What a kernel expert sees and how smooth it takes the function to be."""

    name: str
    delays: tuple[int, ...]
    relative: bool = False
    """Whether it predicts the next change from changes, instead of values from values."""
    adjusted: bool = False
    """Whether it sees the series without its seasonal terms."""
    ridge: float = 0.3
    width: float = 1.5
    """The length scale over √d."""
    threshold: float = 0.01
    max_size: int = 100
    linear: float = LINEAR_PART
    curved: bool = True
    exogenous: bool = False
    """Whether it sees the features given beside the series."""
    exact: bool = False
    """Whether it is for series without noise."""

    def learner(self, features: int) -> KRLS:
        """A fresh one."""
        parts: list[kernels.Kernel] = [kernels.RBF(self.width * math.sqrt(features))] if self.curved else []
        if self.linear:
            parts.append(kernels.Constant(self.linear) * kernels.Linear() + kernels.Constant(1.0))
        kernel = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return KRLS(kernel, self.threshold, self.ridge, max_size=self.max_size)


class KernelExpert:
    """The learner over a history that its owner keeps."""

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        self._delays = np.array(embedding.delays)
        self._extra = 1 if embedding.relative else 0
        self.reach = int(self._delays.max()) + self._extra
        self._model: KRLS | None = None
        self._count, self._next = 0, FIRST_SIZE
        self._units = np.array([0.0, 1.0, 0.0, 1.0])
        self._scales: Matrix = np.zeros((2, 0))
        self.retired = False
        self.left_out = 0  # values that it could not learn

    def _sample(self, series: Vector, end: int) -> tuple[Vector, float]:
        """The features of the value at `end`, and what is added to the prediction."""
        if not self.embedding.relative:
            return series[end - self._delays], 0.0
        return series[end - self._delays] - series[end - self._delays - 1], float(series[end - 1])

    def _row(self, sample: Vector, x: Vector) -> dict[Any, float]:
        scaled = (sample - self._units[0]) / self._units[1]
        if self.embedding.exogenous:
            scaled = np.concatenate([scaled, self._padded(x)])
        return dict(enumerate(scaled.tolist()))

    def _padded(self, x: Vector) -> Vector:
        """Exogenous features in their scale; one that appeared after the scales were taken waits for the next time."""
        known = np.zeros(self._scales.shape[1])
        known[: min(len(x), len(known))] = x[: len(known)]
        return (known - self._scales[0]) / self._scales[1]

    def distances(self, x: Vector) -> Vector:
        """How many spreads away from their means the exogenous features lie, those whose spread is known."""
        return np.abs(self._padded(x)) if self.embedding.exogenous else np.zeros(0)

    def learn(self, series: Vector, exogenous: Matrix) -> None:
        """Take in the last value of the series; `exogenous` has the features of each of its times."""
        end = len(series) - 1
        if end < self.reach or self.retired:
            return
        self._count += 1
        try:
            if self._count >= self._next:
                self._next = math.ceil(GROWTH * self._count)
                self._remake(series, exogenous)
            elif self._model is not None:
                sample, base = self._sample(series, end)
                target = (series[end] - base - self._units[2]) / self._units[3]
                self._model.learn_one(self._row(sample, exogenous[-1]), float(target))
        except ValueError:  # a leap that drowns the rest in rounding errors: the series goes on, others learn it
            self.left_out += 1

    def _remake(self, series: Vector, exogenous: Matrix) -> None:
        ends = np.arange(self.reach, len(series))
        rows = series[ends[:, None] - self._delays]
        targets = series[ends]
        if self.embedding.relative:
            rows, targets = rows - series[ends[:, None] - self._delays - 1], targets - series[ends - 1]
        least = ROUNDING * float(np.abs(series).max())
        spreads = [float(part.std()) if part.std() > least else 1.0 for part in (rows, targets)]
        units, scales = np.array([rows.mean(), spreads[0], targets.mean(), spreads[1]]), self._scales
        rows = (rows - units[0]) / units[1]
        if self.embedding.exogenous:
            x = exogenous[ends]
            spread = x.std(axis=0)
            scales = np.stack([x.mean(axis=0), np.where(spread > 0.0, spread, 1.0)])
            rows = np.concatenate([rows, (x - scales[0]) / scales[1]], axis=1)
        model = self.embedding.learner(rows.shape[1])
        model.learn_many(rows, (targets - units[2]) / units[3])  # where it refuses, the former model goes on
        self._model, self._units, self._scales = model, units, scales

    def forecast(self, series: Vector, horizon: int, exogenous: Matrix) -> Vector:
        """The next values, each from those before it."""
        if self._model is None or self.retired or len(series) <= self.reach:
            return np.full(horizon, series[-1])
        low, high = float(series.min()), float(series.max())
        low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
        center, unit, base, scale = self._units.tolist()
        # Lists: a step at a time numpy would take several times as long.
        values = series[-self.reach - 1 :].tolist()
        relative, delays = self.embedding.relative, self.embedding.delays
        features = [self._padded(x).tolist() for x in exogenous] if self.embedding.exogenous else [[]] * horizon
        for extra in features:
            if relative:
                sample = [(values[-k] - values[-k - 1] - center) / unit for k in delays]
            else:
                sample = [(values[-k] - center) / unit for k in delays]
            mean = base + scale * self._model.predict_one(dict(enumerate(sample + extra)))
            values.append(min(max(mean + values[-1] if relative else mean, low), high))
        return np.array(values[-horizon:])

    def retire(self) -> None:
        """Learn no more: the last value stands for the forecast."""
        self.retired, self._model = True, None

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._model, self._count, self._next, self._units, self._scales, self.retired, self.left_out]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._model, self._count, self._next, self._units, self._scales, self.retired, *others = state
        self.left_out = others[0] if others else 0
