"""Linear autoregressions of a series and of its differences, side by side in one recursion.

Every model predicts a differenced series u = (1 − B)^d (1 − B^m)^D z from its own past and a constant. A coefficient's
prior variance falls with its distance, as 1/k² within a season, so that the number of lags need not be chosen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core import series
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
        self, models: tuple[Model, ...], season: int, spreads: dict[tuple[int, int], float], lags: tuple[int, ...]
    ) -> None:
        self.names = [model.name for model in models]
        self._season = season
        self._lags = np.array(lags, dtype=np.int64)
        self._orders = np.array([[model.order, model.seasonal] for model in models], dtype=np.float64)
        self._units = np.array([spreads[model.order, model.seasonal] for model in models])
        self._paces = np.array([model.forgetting for model in models])
        self._prior = np.append(lag_priors(lags, season) ** 2, CONSTANT_PRIOR**2)
        self._coefficients = np.zeros((len(models), len(lags) + 1))
        self._covariance = np.tile(np.diag(self._prior), (len(models), 1, 1))
        self._noise = np.ones(len(models))

    def learn(self, history: Vector) -> None:
        """Take in the last value of the history."""
        beliefs = self._coefficients, self._covariance, self._noise
        series.regress(history, self._models(), beliefs, self._prior, self._paces, LARGEST_ERROR, NOISE_RATE)

    def _models(self) -> series.Lagged:
        return self._orders, self._units, self._lags, self._season

    def forecast(self, history: Vector, horizon: int) -> Matrix:
        """The next values, one model in a row."""
        return series.regress_ahead(history, self._models(), self._coefficients, horizon)

    def sizes(self) -> dict[int, float]:
        """The mean size of each lag's coefficient."""
        return dict(zip(self._lags.tolist(), np.abs(self._coefficients[:, :-1]).mean(axis=0).tolist()))

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
