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

from ..core.types import Matrix, Vector

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
# Values that the first state is taken from, in seasons.
FIRST_SEASONS = 3


class Smoothing:
    """The recursions, started from the first values of a series."""

    def __init__(self, seasons: tuple[int, ...], first: Vector) -> None:
        grid = [
            (family, alpha, beta, phi, gamma)
            for family, trends in enumerate(FAMILIES.values())
            for (beta, phi), alpha, gamma in itertools.product(trends, LEVELS, SEASONALS if seasons else (0.0,))
        ]
        table = np.array(grid)
        self._family, self._alpha, self._beta, self._phi, self._gamma = table.T
        self._groups = [np.flatnonzero(self._family == k) for k in range(len(FAMILIES))]
        self._gain = self._gamma * (1.0 - self._alpha)
        level, slope, profile = first_state(first, seasons[0] if seasons else 1)
        count = len(grid)
        self._level = np.full(count, level)
        self._trend = np.where(self._phi > 0.0, slope, 0.0)
        self._seasonal = [np.tile(profile, (count, 1)), *(np.zeros((count, m)) for m in seasons[1:])]
        self._squares = np.zeros(count)
        self._weight, self._time = 0.0, 0

    @property
    def names(self) -> list[str]:
        """Of the experts."""
        return list(FAMILIES)

    def predict(self) -> Vector:
        """The next value, by each setting."""
        return self._level + self._phi * self._trend + sum(s[:, self._time % s.shape[1]] for s in self._seasonal)

    def learn(self, value: float, spread: float) -> None:
        """Take in the next value; errors beyond a few times the `spread` are cut."""
        errors = value - self.predict()
        self._squares = DISCOUNT * self._squares + errors**2
        self._weight = DISCOUNT * self._weight + 1.0
        cut = np.clip(errors, -LARGEST_ERROR * spread, LARGEST_ERROR * spread)
        step = self._phi * self._trend
        self._level = self._level + step + self._alpha * cut
        self._trend = step + self._alpha * self._beta * cut
        for s in self._seasonal:
            if s.shape[1] > 1:
                s[:, self._time % s.shape[1]] += self._gain * cut
        self._time += 1

    def skip(self) -> None:
        """Go on over a gap."""
        step = self._phi * self._trend
        self._level, self._trend = self._level + step, step
        self._time += 1

    def weights(self, group: Vector) -> Vector:
        """Of the settings of a family."""
        if not self._weight:
            return np.full(len(group), 1.0 / len(group))
        squares = np.maximum(self._squares[group], 1e-300)
        logs = -0.5 * self._weight * np.log(squares / squares.min())
        powers = np.exp(logs)
        return powers / powers.sum()

    def seasonal(self, horizon: int) -> Vector:
        """The seasonal terms of the next values, averaged over all settings."""
        weights, steps = self.weights(np.arange(len(self._level))), np.arange(horizon)
        return sum((weights @ s)[(self._time + steps) % s.shape[1]] for s in self._seasonal)

    def forecast(self, horizon: int) -> Matrix:
        """The next values, one family in a row."""
        steps = np.arange(horizon)
        rows = []
        for group in self._groups:
            weights = self.weights(group)
            damped = np.cumsum(self._phi[group, None] ** (steps + 1.0), axis=1)
            row = weights @ self._level[group] + (weights * self._trend[group]) @ damped
            for s in self._seasonal:
                row = row + (weights @ s[group])[(self._time + steps) % s.shape[1]]
            rows.append(row)
        return np.array(rows)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._level, self._trend, self._seasonal, self._squares, self._weight, self._time]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._level, self._trend, self._seasonal, self._squares, self._weight, self._time = state


def first_state(values: Vector, season: int) -> tuple[float, float, Vector]:
    """Level before the first value, slope, and seasonal profile, by least squares on the first seasons."""
    count = min(len(values), max(FIRST_SEASONS * season, 8))
    if count < 2 * season or count < 3:
        return float(values[0]) if len(values) else 0.0, 0.0, np.zeros(season)
    times = np.arange(count)
    dummies = (times[:, None] % season == np.arange(season)).astype(np.float64)
    design = np.column_stack([times - (count - 1) / 2.0, dummies]) if season > 1 else np.column_stack(
        [times - (count - 1) / 2.0, np.ones(count)]
    )
    # A slope is only worth its while over more than one season: a little ridge keeps that of short starts small.
    penalty = np.zeros((1, design.shape[1]))
    penalty[0, 0] = np.sqrt((design[:, 0] ** 2).mean())
    solution, *_ = np.linalg.lstsq(np.vstack([design, penalty]), np.append(values[:count], 0.0), rcond=None)
    slope, terms = float(solution[0]), solution[1:]
    level = float(terms.mean())
    profile = terms - level if season > 1 else np.zeros(1)
    return level - slope * (count - 1) / 2.0 - slope, slope, profile
