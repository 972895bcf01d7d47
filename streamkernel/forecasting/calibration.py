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
from ..core.types import Matrix, Vector
from .mixing import bands

LEVEL = 0.9
# Scores that quantiles are taken of, and those that stand there in the beginning: of a Student distribution with five
# degrees of freedom, as the scale is not known well.
SCORES = 300
FIRST_SCORES = (0.1, 0.3, 0.5, 0.7, 1.0, 1.3, 1.7, 2.3)
ADAPTATION = 0.02
MISS_RANGE = (0.02, 0.3)
SLOWEST = 0.02


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

    def update(self, steps: Vector, errors: Vector) -> None:
        """Take in the errors of forecasts made so many steps before, 0 for the next value."""
        scales = self.scales()[steps]
        known = scales > 0.0
        if known.any():
            band, scores = self._bands[steps[known]], np.abs(errors[known]) / scales[known]
            missed = scores > self._reaches(LEVEL)[band]
            # Overlapping forecasts miss together: a band counts like one step.
            np.add.at(self._misses, band, ADAPTATION / 2.0**band * ((1.0 - LEVEL) - missed))
            np.clip(self._misses, *MISS_RANGE, out=self._misses)
            for b, score in zip(band.tolist(), scores.tolist()):
                self._scores[b, self._written[b] % SCORES] = score
                self._written[b] += 1
        self._counts[steps] += 1.0
        rates = np.maximum(1.0 / self._counts[steps], SLOWEST)
        self._squares[steps] += rates * (errors**2 - self._squares[steps])

    def scales(self) -> Vector:
        """σ_h: averaged over neighboring steps, and never falling with the distance."""
        squares = self._squares.copy()
        for band in range(int(self._bands[-1]) + 1):
            of = self._bands == band
            weights = self._counts[of]
            if weights.sum() > 0.0 and of.sum() > 2:
                line = _line(np.flatnonzero(of).astype(np.float64), squares[of], weights)
                squares[of] = 0.5 * squares[of] + 0.5 * np.maximum(line, 0.0)
        known = np.maximum.accumulate(squares)
        if self._counts[0] > 0.0:  # what was never tried yet errs like a random walk
            walk = self._squares[0] * np.arange(1, len(squares) + 1)
            known = np.where(self._counts > 0.0, known, np.maximum(known, walk))
        return np.sqrt(known)

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
        return np.array([self._reaches(level)[band] * scales for level in levels])

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._squares, self._counts, self._scores, self._written, self._misses]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._squares, self._counts, self._scores, self._written, self._misses = state


def _line(x: Vector, y: Vector, weights: Vector) -> Vector:
    """The weighted least squares line at `x`."""
    total = weights.sum()
    center, mean = float(weights @ x) / total, float(weights @ y) / total
    spread = float(weights @ (x - center) ** 2)
    slope = float(weights @ ((x - center) * (y - mean))) / spread if spread > 0.0 else 0.0
    return mean + slope * (x - center)
