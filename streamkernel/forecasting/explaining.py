"""What `AutoKernelForecaster` has found, in words and as a plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import Feature

if TYPE_CHECKING:
    from .auto import AutoKernelForecaster

SHOWN_LAGS, SHOWN_EXPERTS = 6, 8
# Values before the forecast in a plot: at least, and in horizons.
SHOWN_VALUES, SHOWN_HORIZONS = 60, 5
DEFAULT_HORIZON = 12


def text(model: AutoKernelForecaster) -> str:
    """Season, transform, lags by relevance, experts by weight, shifts and gaps."""
    lines = [f"AutoKernelForecaster: {model._count} values learned."]
    if model._trials is None:
        return "\n".join([*lines, "Nothing chosen yet: forecasts are the last value."])
    structure, relevance, weights = model._trials.structure, model.relevance, model.weights
    transform = "logarithm, as the spread grows with the level" if structure.transform.log else "none"
    given = " (given)" if model.season is not None else ""
    seasons = " and ".join(str(season) for season in structure.seasons)
    lags = sorted(relevance, key=relevance.__getitem__, reverse=True)[:SHOWN_LAGS]
    lines += [
        f"Transform: {transform}.",
        f"Season: {seasons} steps{given}." if seasons else f"Season: none{given}.",
        *(["The series follows from its past without visible noise."] if structure.deterministic else []),
        "Lags by relevance: " + ", ".join(f"{lag} ({relevance[lag]:.2g})" for lag in lags) + ".",
        *([f"Features: {', '.join(model._columns.names)}."] if model._columns.names else []),
        f"Examined last at value {model._examined}.",
        f"Level shifts: {len(model._shifts)}" + (f", last at value {model._shifts[-1][0]}." if model._shifts else "."),
        *([f"Gaps, for which the forecast stands: {model._gaps}."] if model._gaps else []),
        f"Experts by weight, one step and {model._trials.horizon} steps ahead:",
    ]
    best = sorted(weights, key=lambda name: -max(weights[name]))[:SHOWN_EXPERTS]
    lines += [f"  {weights[name][0]:.3f}  {weights[name][1]:.3f}  {name}" for name in best if max(weights[name]) > 0.0]
    return "\n".join(lines)


def plot(model: AutoKernelForecaster, horizon: int | None, xs: Iterable[Mapping[Feature, Any]] | None, ax: Any) -> Any:
    """The newest values, the forecast and its bands."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'streamkernel[plot]'") from error
    steps = horizon or (model._trials.horizon if model._trials is not None else DEFAULT_HORIZON)
    rows = None if xs is None else list(xs)
    levels = sorted({0.5, model.confidence_level}, reverse=True)
    means, bands = model.forecast(steps, rows), model.forecast_intervals(steps, levels, rows)
    ax = pyplot.subplots(layout="constrained")[1] if ax is None else ax
    values = np.array(model._values)[-max(SHOWN_VALUES, SHOWN_HORIZONS * steps) :]
    past, ahead = np.arange(model._count - len(values), model._count), model._count + np.arange(steps)
    ax.plot(past, values, color="k", linewidth=1.0, label="observed")
    for level in levels:
        lower, upper = ([getattr(interval, side) for interval in bands[level]] for side in ("lower", "upper"))
        ax.fill_between(ahead, lower, upper, color="C0", alpha=0.25, linewidth=0.0, label=f"{100 * level:g} % interval")
    ax.plot(ahead, means, color="C0", label="forecast")
    ax.set_xlabel("value")
    ax.legend(fontsize="small")
    return ax
