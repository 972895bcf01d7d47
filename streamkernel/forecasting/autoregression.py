"""Linear autoregressions of a series and of its differences, side by side in one recursion.

Every model predicts a differenced series u = (1 − B)^d (1 − B^m)^D z from its own past and a constant. A coefficient's
prior variance falls with its distance, as 1/k² within a season, so that the number of lags need not be chosen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.types import Matrix, Vector


class Model(NamedTuple):
    """One autoregression."""

    name: str
    order: int
    """d"""
    seasonal: int
    """D"""
    forgetting: float


FORGETTING = 0.98
NEAR_LAGS = 12
# Prior standard deviations of coefficients: at distance one; at whole seasons; beside them.
NEAR_PRIOR, SEASON_PRIOR, BESIDE_PRIOR = 0.5, 0.35, 0.2
CONSTANT_PRIOR = 0.1
LARGEST_ERROR = 4.0
NOISE_RATE = 0.02
# Forecasts stay within the values seen so far, extended by this part of their range on both sides.
MARGIN = 0.5
SEASON_TURNS = 2


PLAIN = (
    Model("autoregression", 0, 0, 1.0),
    Model("autoregression of differences", 1, 0, 1.0),
)
SEASONAL = (
    Model("autoregression of seasonal differences", 0, 1, 1.0),
    Model("autoregression of seasonal and plain differences", 1, 1, 1.0),
)
ADJUSTED = (
    Model("autoregression, seasonally adjusted", 0, 0, 1.0),
    Model("autoregression of differences, seasonally adjusted", 1, 0, 1.0),
    Model("forgetting autoregression of differences, seasonally adjusted", 1, 0, FORGETTING),
)
FAST = (
    Model("forgetting autoregression", 0, 0, FORGETTING),
    Model("forgetting autoregression of differences", 1, 0, FORGETTING),
)


class Autoregressions:
    """The recursions; `spreads` are the standard deviations of the differenced series."""

    def __init__(
        self,
        models: tuple[Model, ...],
        season: int,
        spreads: dict[tuple[int, int], float],
        lags: tuple[int, ...],
    ) -> None:
        self._season = season
        self._models = models
        self._lags = np.array(lags)
        self._units = np.array([max(spreads[m.order, m.seasonal], 1e-12) for m in self._models])
        self._paces = np.array([m.forgetting for m in self._models])
        count, size = len(self._models), len(lags) + 1
        self._reach = int(self._lags.max()) + self._season + 2
        prior = np.append(lag_priors(lags, self._season) ** 2, CONSTANT_PRIOR**2)
        self._prior = np.tile(np.diag(prior), (count, 1, 1))
        self._coefficients = np.zeros((count, size))
        self._covariance = self._prior.copy()
        self._noise = np.full(count, 1.0)

    @property
    def names(self) -> list[str]:
        """Of the experts."""
        return [model.name for model in self._models]

    def differences(self, values: Vector) -> Matrix:
        """The differenced series of every model in its unit; zero where the past is unknown."""
        rows = np.zeros((len(self._models), len(values)))
        for row, model, unit in zip(rows, self._models, self._units):
            u = difference(values, model.order, model.seasonal, self._season) / unit
            row[len(values) - len(u) :] = u
        return rows

    def learn(self, history: Vector) -> None:
        """Take in the last value of the history, of which `reach` values are looked at."""
        tail = history[-self._reach - 1 :]
        series = self.differences(tail)
        x = self._features(series[:, :-1])
        target = series[:, -1]
        errors = target - (self._coefficients * x).sum(axis=1)
        spread = np.sqrt(self._noise)
        cut = np.clip(errors, -LARGEST_ERROR * spread, LARGEST_ERROR * spread)
        self._noise += NOISE_RATE * (np.minimum(errors**2, (LARGEST_ERROR * spread) ** 2) - self._noise)
        gain = (self._covariance @ x[:, :, None])[:, :, 0]
        scale = self._noise + (x * gain).sum(axis=1)
        self._coefficients += gain * (cut / scale)[:, None]
        self._covariance -= gain[:, :, None] * (gain / scale[:, None])[:, None, :]
        slow = self._paces[:, None, None]
        self._covariance = slow * self._covariance + (1.0 - slow) * self._prior

    def _features(self, series: Matrix) -> Matrix:
        size = series.shape[1]
        at = size - self._lags
        x = np.where(at >= 0, series[:, np.maximum(at, 0)], 0.0)
        return np.concatenate([x, np.ones((len(series), 1))], axis=1)

    def forecast(self, history: Vector, horizon: int) -> Matrix:
        """The next values, one model in a row."""
        tail = history[-self._reach :]
        known = self.differences(tail)
        size = known.shape[1]
        pad = max(0, int(self._lags.max()) - size)
        series = np.zeros((len(known), pad + size + horizon))
        series[:, pad : pad + size] = known
        slopes, constants = self._coefficients[:, :-1], self._coefficients[:, -1]
        at = pad + size - self._lags
        for step in range(horizon):
            series[:, pad + size + step] = (slopes * series[:, at + step]).sum(axis=1) + constants
        ahead = series[:, pad + size :] * self._units[:, None]
        found = [integrate(u, tail, model.order, model.seasonal, self._season) for u, model in zip(ahead, self._models)]
        low, high = float(history.min()), float(history.max())
        return np.clip(np.array(found), low - MARGIN * (high - low), high + MARGIN * (high - low))

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._coefficients, self._covariance, self._noise]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._coefficients, self._covariance, self._noise = state


def difference(values: Vector, order: int, seasonal: int, season: int) -> Vector:
    """(1 − B)^d (1 − B^m)^D of the values; shorter than they are."""
    for _ in range(seasonal):
        values = values[season:] - values[:-season] if len(values) > season else values[:0]
    return np.diff(values, order) if order else values


def integrate(ahead: Vector, past: Vector, order: int, seasonal: int, season: int) -> Vector:
    """The series whose differences go on as `ahead`: the inverse of `difference` after `past`."""
    if seasonal:
        inner = difference(past, 0, 1, season)
        if len(past) < season or len(inner) < order:
            return np.full(len(ahead), past[-1] if len(past) else 0.0)
        w = (inner[-1] + np.cumsum(ahead)) if order else ahead
        values = np.concatenate([past[-season:], np.zeros(len(ahead))])
        for i in range(0, len(ahead), season):
            block = slice(i, min(i + season, len(ahead)))
            values[season + block.start : season + block.stop] = values[block] + w[block]
        return values[season:]
    return past[-1] + np.cumsum(ahead) if order and len(past) else ahead


def choose_lags(length: int, season: int) -> tuple[int, ...]:
    """Near ones, and whole seasons with their neighbors."""
    near = range(1, min(NEAR_LAGS, max(2, length // 6)) + 1)
    around = [j * season + k for j in range(1, SEASON_TURNS + 1) for k in (-1, 0, 1)] if season > 1 else []
    return tuple(sorted({lag for lag in [*near, *around] if lag >= 1}))


def lag_priors(lags: tuple[int, ...], season: int) -> Vector:
    """Prior standard deviations of the lags' coefficients."""
    found = []
    for lag in lags:
        prior = NEAR_PRIOR / lag
        if season > 1:
            turns, off = divmod(lag + 1, season)
            if turns and off <= 2:
                prior = max(prior, (SEASON_PRIOR if off == 1 else BESIDE_PRIOR) / turns)
        found.append(prior)
    return np.array(found)


def spreads(values: Vector, season: int) -> dict[tuple[int, int], float]:
    """The standard deviation of every differenced series, robust against its first values."""
    found = {}
    for order in (0, 1):
        for seasonal in (0, 1):
            u = difference(values, order, seasonal, season)
            found[order, seasonal] = float(u.std()) if len(u) > 2 else math.nan
    fallback = found[0, 0] if found[0, 0] > 0.0 else 1.0
    return {key: spread if spread > 0.0 else fallback for key, spread in found.items()}
