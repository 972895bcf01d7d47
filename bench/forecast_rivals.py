"""The rivals of the forecasting contest, refitted at every origin, with what they forecast kept on disk.

    python -m bench.forecast_rivals [--series NAME]   # fills the cache; resumes where it was stopped

AutoARIMA takes minutes for one fit where a season is longer than 24: it is given no season there and the others are.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.forecast_series import SERIES, Series, origins

LEVEL = 0.9
CACHE = Path(tempfile.gettempdir()) / "streamkernel-forecast-bench"
LONGEST_ARIMA_SEASON = 24
# River's models choose from their grid by the errors at this many origins of the second third.
CHOOSING = 20


class Forecasts(NamedTuple):
    """What a method forecast at every origin, one origin in a row; without intervals the bounds are NaN."""

    means: Any
    lower: Any
    upper: Any
    seconds: float


def refitted(make: Callable[[Series], Any]) -> Callable[[Series], Forecasts]:
    """A model of statsforecast, fitted anew to all values before each origin."""

    def run(series: Series) -> Forecasts:
        values, parts = series.values, []
        began = time.process_time()
        for origin in origins(len(values), series.horizon, series.most_origins):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = make(series).forecast(values[:origin].copy(), series.horizon, level=[round(100 * LEVEL)])
            parts.append([found[key] for key in ("mean", "lo-90", "hi-90")])
        means, lower, upper = np.array(parts, dtype=np.float64).transpose(1, 0, 2)
        return Forecasts(means, lower, upper, time.process_time() - began)

    return run


def auto_arima(series: Series) -> Any:
    """AutoARIMA."""
    from statsforecast.models import AutoARIMA

    return AutoARIMA(season_length=series.season if series.season <= LONGEST_ARIMA_SEASON else 1)


def auto_ets(series: Series) -> Any:
    """AutoETS; its own limit of a season is 24, beyond it is fitted without one."""
    from statsforecast.models import AutoETS

    return AutoETS(season_length=series.season if series.season <= LONGEST_ARIMA_SEASON else 1)


def auto_theta(series: Series) -> Any:
    """AutoTheta."""
    from statsforecast.models import AutoTheta

    return AutoTheta(season_length=series.season)


def mstl(series: Series) -> Any:
    """MSTL with its default forecaster of the trend."""
    from statsforecast.models import MSTL, AutoETS

    if series.season == 1:  # nothing to decompose: what forecasts the trend is the whole model
        return AutoETS(season_length=1, model="ZZN")
    return MSTL(season_length=[series.season, *series.longer_seasons])


def seasonal_naive(series: Series) -> Any:
    """The value one season ago."""
    from statsforecast.models import SeasonalNaive

    return SeasonalNaive(season_length=max([series.season, *series.longer_seasons]))


def chosen(make: Callable[..., Any], grid: dict[str, Sequence[Any]]) -> Callable[[Series], Forecasts]:
    """A model of river that learns on; its parameters are those that forecast the second third best."""

    def run(series: Series) -> Forecasts:
        values, horizon = series.values.tolist(), series.horizon
        first = origins(len(values), horizon, series.most_origins)
        third = len(values) // 3
        trials = sorted(
            {round(i) for i in np.linspace(third, 2 * third - horizon, CHOOSING)} if third > horizon else []
        )
        began = time.process_time()
        best, least = None, math.inf
        for setting in itertools.product(*grid.values()):
            options = dict(zip(grid, setting))
            error = _error(_online(lambda options=options: make(series, **options), values, trials, horizon), values)
            if error < least or best is None:
                best, least = options, error
        means = _online(lambda: make(series, **best), values, first, horizon)
        rows = np.array([means[origin] for origin in first])
        blank = np.full_like(rows, np.nan)
        return Forecasts(rows, blank, blank, time.process_time() - began)

    return run


def _online(make: Callable[[], Any], values: list[float], at: Sequence[int], horizon: int) -> dict[int, list[float]]:
    model, asked, found = make(), set(at), {}
    for t, value in enumerate([*values, math.nan]):
        if t in asked:
            try:
                found[t] = [float(y) for y in model.forecast(horizon)]
            except (ArithmeticError, ValueError, IndexError, AttributeError):
                found[t] = [math.nan] * horizon
            if len(found) == len(asked):
                break
        try:
            model.learn_one(value)
        except (ArithmeticError, ValueError):
            return {origin: found.get(origin, [math.nan] * horizon) for origin in at}
    return found


def _error(found: dict[int, list[float]], values: list[float]) -> float:
    errors = [abs(y - values[t + i]) for t, forecast in found.items() for i, y in enumerate(forecast)]
    mean = float(np.mean(errors)) if errors else math.inf
    return mean if math.isfinite(mean) else math.inf


def snarimax(series: Series, order: tuple[int, int, int], seasonal: tuple[int, int, int]) -> Any:
    """River's SNARIMAX with its default regressor."""
    from river import time_series

    (p, d, q), (sp, sd, sq) = order, seasonal if series.season > 1 else (0, 0, 0)
    return time_series.SNARIMAX(p=p, d=d, q=q, m=max(series.season, 1), sp=sp, sd=sd, sq=sq)


def holt_winters(series: Series, alpha: float, beta: float, gamma: float, multiplicative: bool) -> Any:
    """River's HoltWinters."""
    from river import time_series

    if series.season == 1:
        return time_series.HoltWinters(alpha=alpha, beta=beta)
    return time_series.HoltWinters(alpha, beta, gamma, seasonality=series.season, multiplicative=multiplicative)


RIVALS: dict[str, Callable[[Series], Forecasts]] = {
    "SeasonalNaive": refitted(seasonal_naive),
    "AutoTheta": refitted(auto_theta),
    "AutoETS": refitted(auto_ets),
    "MSTL": refitted(mstl),
    "river HoltWinters": chosen(
        holt_winters,
        {"alpha": (0.1, 0.3, 0.6), "beta": (0.01, 0.1), "gamma": (0.1, 0.4), "multiplicative": (False, True)},
    ),
    "river SNARIMAX": chosen(
        snarimax,
        {
            "order": ((1, 0, 0), (3, 0, 1), (2, 1, 1), (12, 0, 0)),
            "seasonal": ((1, 0, 0), (1, 1, 0), (0, 1, 1), (2, 0, 1)),
        },
    ),
    "AutoARIMA": refitted(auto_arima),
}


def _path(name: str, method: str) -> Path:
    return CACHE / f"{name}-{method}-{SERIES[name].most_origins}.npz"


def cached(name: str, method: str) -> Forecasts | None:
    """What was kept, if anything."""
    path = _path(name, method)
    if not path.exists():
        return None
    with np.load(path) as kept:
        return Forecasts(kept["means"], kept["lower"], kept["upper"], float(kept["seconds"]))


def forecasts(name: str, method: str) -> Forecasts:
    """What a rival forecasts, from the cache or computed now."""
    found = cached(name, method)
    if found is None:
        found = RIVALS[method](SERIES[name])
        CACHE.mkdir(parents=True, exist_ok=True)
        partial = CACHE / f"partial-{name}-{method}.npz"
        np.savez(partial, **found._asdict())
        partial.replace(_path(name, method))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill the cache, the quick methods first."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast_rivals", description=__doc__)
    parser.add_argument("--series", action="append", choices=list(SERIES), help="one series; may be repeated")
    args = parser.parse_args(arguments)
    names = args.series or list(SERIES)
    quick_first = sorted(names, key=lambda name: len(SERIES[name].values) * min(SERIES[name].season, 12) ** 0.5)
    for method in RIVALS:
        for name in quick_first:
            began = time.perf_counter()
            forecasts(name, method)
            print(f"{name}, {method}: {time.perf_counter() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
