"""How far a forecast errs, by steps ahead: intervals from its own errors on trial, kept right online.

An interval is the forecast ± q·σ_h. σ_h² is the discounted mean square of the errors h steps ahead. q is a quantile of
recent scores |e|/σ_h of the same band of steps, at a miss rate that adapts: it falls after misses and rises otherwise
(Gibbs & Candès, "Adaptive conformal inference under distribution shift", 2021), so that the share of misses is what was
asked for whatever the errors' distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import series
from ..core.types import Indices, Matrix, Vector
from .mixing import bands

LEVEL = 0.9
# Scores that quantiles are taken of, and those that stand there in the beginning: of a Student distribution with five
# degrees of freedom, as the scale is not known well.
SCORES = 200
FIRST_SCORES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.3, 1.7, 2.3)
# Of the next step, and of further ones.
ADAPTATION, FAR_ADAPTATION = 0.1, 0.15
MISS_RANGE = (0.02, 0.3)
SLOWEST = 0.05


class Calibration:
    """Scales and scores of the errors up to a horizon."""

    def __init__(self, horizon: int) -> None:
        self._bands = bands(horizon)
        count = int(self._bands[-1]) + 1
        self._squares, self._counts = np.zeros(horizon), np.zeros(horizon)
        # The newest scores of each band in a ring, and how many were ever written to it.
        self._scores = np.zeros((count, SCORES))
        self._scores[:, : len(FIRST_SCORES)] = FIRST_SCORES
        self._written = np.full(count, len(FIRST_SCORES))
        self._misses = np.full(count, 1.0 - LEVEL)
        # Overlapping forecasts miss together: a band counts like one step.
        self._rates = np.where(np.arange(count) > 0, FAR_ADAPTATION, ADAPTATION) / 2.0 ** np.arange(count)

    def update(self, steps: Indices, errors: Vector) -> None:
        """Take in the errors of forecasts made so many steps before, 0 for the next value."""
        records = self._squares, self._counts, self._bands
        rings = self._scores, self._written, self._misses, self._rates
        series.calibrate(records, rings, steps, errors, (1.0 - LEVEL, *MISS_RANGE, SLOWEST))

    def scales(self) -> Vector:
        """σ_h: averaged over neighboring steps, and never falling with the distance."""
        return series.error_scales(self._squares, self._counts, self._bands)

    def _reaches(self, level: float) -> Vector:
        """q of every band."""
        rates = np.clip(self._misses * (1.0 - level) / (1.0 - LEVEL), 0.0, 1.0) if level < 1.0 else 0.0 * self._misses
        return series.quantiles(self._scores, np.minimum(self._written, SCORES), 1.0 - rates)

    def reaches(self, horizon: int, levels: tuple[float, ...]) -> Matrix:
        """q·σ_h for each level and step; beyond the steps on trial the error grows like that of a random walk."""
        scales = self.scales()
        known = len(scales)
        beyond = np.arange(1, max(horizon - known, 0) + 1)
        scales = np.concatenate([scales, scales[-1] * np.sqrt(1.0 + beyond / known)])[:horizon]
        band = np.concatenate([self._bands, np.full(len(beyond), self._bands[-1])])[:horizon]
        found = np.array([self._reaches(level)[band] * scales for level in levels])
        return np.maximum.accumulate(found, axis=1)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._squares, self._counts, self._scores, self._written, self._misses]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._squares, self._counts, self._scores, self._written, self._misses = state
