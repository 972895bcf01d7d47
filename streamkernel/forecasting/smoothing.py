"""Exponential smoothing whose constants are not chosen but averaged: a grid of recursions side by side.

Level ℓ, trend b damped by φ, and one row of seasonal terms s for each season, in the form of the error e = z − ẑ:

    ẑ = ℓ + φb + Σ s,   ℓ ← ℓ + φb + αe,   b ← φb + αβe,   s ← s + γ(1 − α)e

Settings are weighed by the likelihood of their discounted one-step errors. Each family (how the trend is treated) is an
expert of its own, since which of them is best depends on how far ahead one looks.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..core import series
from ..core.types import Matrix, Vector
from ..threads import one_thread

LEVELS = (0.02, 0.1, 0.25, 0.5, 0.8)
SEASONALS = (0.03, 0.15, 0.4)
# For each family the trend's rates β and damping φ.
FAMILIES: dict[str, tuple[tuple[float, float], ...]] = {
    "smoothed level": ((0.0, 0.0),),
    "smoothed damped trend": ((0.05, 0.9), (0.2, 0.9), (0.1, 0.97), (0.4, 0.8)),
    "smoothed trend": ((0.0, 1.0), (0.03, 1.0), (0.15, 1.0)),
}
DISCOUNT = 0.99
# Errors count as at most this many standard deviations in a step, so that one outlier does not move the level alone.
LARGEST_ERROR = 4.0
# Values that the first state is taken from, in seasons, and at least.
FIRST_SEASONS, FIRST_VALUES = 4, 8


class Smoothing:
    """The recursions, started from the first values of a series."""

    def __init__(self, seasons: tuple[int, ...], first: Vector) -> None:
        grid = [
            (family, alpha, beta, phi, gamma)
            for family, trends in enumerate(FAMILIES.values())
            for (beta, phi), alpha, gamma in itertools.product(trends, LEVELS, SEASONALS if seasons else (0.0,))
        ]
        family, alpha, beta, phi, gamma = np.array(grid).T
        self._families = family.astype(np.int64)
        self._settings = np.stack([alpha, beta, phi, gamma * (1.0 - alpha)])
        level, slope, profile = first_state(first, seasons[0] if seasons else 1)
        self._periods = np.array(seasons or (1,), dtype=np.int64)
        self._level = np.full(len(grid), level)
        self._trend = np.where(phi > 0.0, slope, 0.0)
        self._seasonal = np.zeros((len(grid), int(self._periods.sum())))
        self._seasonal[:, : len(profile)] = profile
        if len(seasons) > 1:
            self._seasonal[:, len(profile) :] = second_profile(first, profile, seasons[1])
        self._squares = np.zeros(len(grid))
        self._weight, self._time = 0.0, 0

    def learn(self, value: float, spread: float) -> None:
        """Take in the next value; errors beyond a few times the `spread` are cut."""
        limit = LARGEST_ERROR * spread
        series.smooth(self._settings, self._state(), self._squares, value, limit, DISCOUNT, self._time)
        self._weight = DISCOUNT * self._weight + 1.0
        self._time += 1

    def _state(self) -> series.Smoothed:
        return self._level, self._trend, self._seasonal, self._periods

    def skip(self) -> None:
        """Go on over a gap."""
        self._trend *= self._settings[series.PHI]
        self._level += self._trend
        self._time += 1

    def forecast(self, horizon: int) -> tuple[Matrix, Vector]:
        """The next values, one family in a row, and the seasonal terms in them, averaged over all settings."""
        weights = series.setting_weights(self._squares, self._families, len(FAMILIES), self._weight)
        rows = series.smooth_ahead(weights, self._settings, self._state(), horizon, self._time)
        return rows[:-1], rows[-1]

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._level, self._trend, self._seasonal, self._squares, self._weight, self._time]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._level, self._trend, self._seasonal, self._squares, self._weight, self._time = state


@one_thread
def first_state(values: Vector, season: int) -> tuple[float, float, Vector]:
    """Level before the first value, slope, and seasonal profile, by least squares on the first seasons."""
    count = min(len(values), max(FIRST_SEASONS * season, FIRST_VALUES))
    if count < 2 * season or count < 3:
        return float(values[0]) if len(values) else 0.0, 0.0, np.zeros(season)
    times = np.arange(count)
    centered = times - (count - 1) / 2.0
    phases = (times[:, None] % season == np.arange(season)).astype(np.float64)
    # A little ridge keeps the slope of a short start small.
    design = np.vstack([np.column_stack([centered, phases]), np.zeros((1, season + 1))])
    design[-1, 0] = np.sqrt((centered**2).mean())
    solution, *_ = np.linalg.lstsq(design, np.append(values[:count], 0.0), rcond=None)
    slope, terms = float(solution[0]), solution[1:]
    level = float(terms.mean())
    return level - slope * (count + 1) / 2.0, slope, terms - level


def second_profile(values: Vector, profile: Vector, season: int) -> Vector:
    """The terms of a second season: mean deviations, by its phases, of the whole windows from their own means."""
    turns = len(values) // season
    if turns < 2:
        return np.zeros(season)
    rest = values[: turns * season] - np.resize(profile, turns * season)
    table = rest.reshape(turns, season)
    return np.asarray((table - table.mean(axis=1, keepdims=True)).mean(axis=0))
