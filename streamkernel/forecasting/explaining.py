"""What `AutoKernelForecaster` has found, in words and as a plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.types import Vector
from ..kernels import Feature
from .trials import Trials

if TYPE_CHECKING:
    from .auto import AutoKernelForecaster

SHOWN_LAGS, SHOWN_EXPERTS = 6, 8
# Values before the forecast in a plot: at least, and in horizons.
SHOWN_VALUES, SHOWN_HORIZONS = 60, 5
DEFAULT_HORIZON = 12


class Facts(NamedTuple):
    """What a forecaster has seen and found."""

    learned: int
    """How many values."""
    values: Vector
    """The newest of them."""
    trials: Trials | None
    features: Sequence[str]
    examined: int
    """The value at which the structure was examined last."""
    shifts: Sequence[tuple[int, float]]
    gaps: int
    given: tuple[int, ...]
    """The seasons that were given."""


def text(model: AutoKernelForecaster, facts: Facts) -> str:
    """Season, transform, lags by relevance, experts by weight, shifts and gaps."""
    lines = [f"AutoKernelForecaster: {facts.learned} values learned."]
    if facts.trials is None:
        return "\n".join([*lines, "Nothing chosen yet: forecasts are the last value."])
    structure, relevance, weights = facts.trials.structure, model.relevance, model.weights
    transform = "logarithm, as the spread grows with the level" if structure.transform.log else "none"
    left_out = facts.trials.pool.left_out
    given = " (given)" if model.season is not None else ""
    if facts.given and not structure.seasons:
        given = f" yet: {facts.given[0]} steps (given) were not seen twice"
    seasons = " and ".join(str(season) for season in structure.seasons)
    lags = sorted(relevance, key=relevance.__getitem__, reverse=True)[:SHOWN_LAGS]
    lines += [
        f"Transform: {transform}.",
        f"Season: {seasons} steps{given}." if seasons else f"Season: none{given}.",
        *(["The series follows from its past without visible noise."] if structure.deterministic else []),
        "Lags by relevance: " + ", ".join(f"{lag} ({relevance[lag]:.2g})" for lag in lags) + ".",
        *([f"Features: {', '.join(facts.features)}."] if facts.features else []),
        f"Examined last at value {facts.examined}.",
        f"Level shifts: {len(facts.shifts)}" + (f", last at value {facts.shifts[-1][0]}." if facts.shifts else "."),
        *([f"Gaps, for which the forecast stands: {facts.gaps}."] if facts.gaps else []),
        *([f"Values beside a leap that a kernel learner left out of late: {left_out}."] if left_out else []),
        f"Experts by weight, one step and {facts.trials.horizon} steps ahead:",
    ]
    best = sorted(weights, key=lambda name: -max(weights[name]))[:SHOWN_EXPERTS]
    lines += [f"  {weights[name][0]:.3f}  {weights[name][1]:.3f}  {name}" for name in best if max(weights[name]) > 0.0]
    return "\n".join(lines)


def plot(
    model: AutoKernelForecaster,
    facts: Facts,
    horizon: int | None,
    xs: Iterable[Mapping[Feature, Any]] | None,
    ax: Any,
) -> Any:
    """The newest values, the forecast and its bands."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'streamkernel[plot]'") from error
    steps = horizon or (facts.trials.horizon if facts.trials is not None else DEFAULT_HORIZON)
    rows = None if xs is None else list(xs)
    levels = sorted({0.5, model.confidence_level}, reverse=True)
    means, bands = model.forecast(steps, rows), model.forecast_intervals(steps, levels, rows)
    ax = pyplot.subplots(layout="constrained")[1] if ax is None else ax
    values = facts.values[-max(SHOWN_VALUES, SHOWN_HORIZONS * steps) :]
    past, ahead = np.arange(facts.learned - len(values), facts.learned), facts.learned + np.arange(steps)
    ax.plot(past, values, color="k", linewidth=1.0, label="observed")
    for level in levels:
        lower, upper = ([getattr(interval, side) for interval in bands[level]] for side in ("lower", "upper"))
        ax.fill_between(ahead, lower, upper, color="C0", alpha=0.25, linewidth=0.0, label=f"{100 * level:g} % interval")
    ax.plot(ahead, means, color="C0", label="forecast")
    ax.set_xlabel("value")
    ax.legend(fontsize="small")
    return ax
