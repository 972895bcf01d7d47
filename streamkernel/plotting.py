"""Plots of predictive distributions (`pip install streamkernel[plot]`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from river import conf
from river.proba.base import ContinuousDistribution as Distribution

from .distributions import central_interval, point

__all__ = ["plot_intervals"]


def plot_intervals(
    y: Iterable[float],
    dists: Iterable[Distribution | conf.interval.Interval | tuple[float, float]],
    x: Sequence[Any] | None = None,
    levels: float | Sequence[float] = (0.5, 0.9),
    ax: Any = None,
) -> Any:
    """Targets over bands of their predictive distributions or intervals; targets outside the widest band stand out.

    Parameters
    ----------
    y
        The targets.
    dists
        For each target the distribution that `predict_one(x, with_dist=True)` gave, or an interval: river's, or a pair
        (lower, upper), drawn as it is.
    x
        Positions along the horizontal axis, such as times or one feature, in any order; 0, 1, ... when None.
    levels
        The coverage of each band, or of one, for distributions.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> from river import proba
    >>> from streamkernel.plotting import plot_intervals

    >>> dists = [proba.Gaussian._from_state(n=1, m=m, var=1.0, ddof=0) for m in (0.0, 1.0, 2.0)]
    >>> ax = plot_intervals([0.3, 0.9, 4.0], dists, levels=0.9)
    >>> ax.get_legend_handles_labels()[1]
    ['90 % interval', 'prediction', 'inside', 'outside: 1 of 3']

    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_intervals needs matplotlib: pip install 'streamkernel[plot]'") from error
    targets, predictions = np.array([float(value) for value in y]), list(dists)
    if len(targets) != len(predictions):
        raise ValueError(f"y has {len(targets)} targets but dists has {len(predictions)} predictions")
    positions = np.arange(len(targets)) if x is None else np.asarray(x)
    if len(positions) != len(targets):
        raise ValueError(f"x has {len(positions)} positions but y has {len(targets)} targets")
    order = np.argsort(positions, kind="stable")
    positions, targets, predictions = positions[order], targets[order], [predictions[i] for i in order]
    widest_first = sorted([levels] if isinstance(levels, float | int) else levels, reverse=True)
    if not widest_first:
        raise ValueError(f"levels must name at least one coverage, got {levels!r}")
    fixed = not all(isinstance(prediction, Distribution) for prediction in predictions)

    ax = pyplot.subplots(layout="constrained")[1] if ax is None else ax
    bands = [
        np.array([central_interval(prediction, level) for prediction in predictions]).reshape(-1, 2)
        for level in (widest_first[:1] if fixed else widest_first)
    ]
    for level, band in zip(widest_first, bands, strict=False):
        label = "interval" if fixed else f"{100 * level:g} % interval"
        ax.fill_between(positions, band[:, 0], band[:, 1], color="C0", alpha=0.25, linewidth=0.0, label=label)
    ax.plot(positions, [point(prediction) for prediction in predictions], color="C0", linewidth=1.2, label="prediction")
    inside = (bands[0][:, 0] <= targets) & (targets <= bands[0][:, 1])
    ax.plot(positions[inside], targets[inside], "k.", markersize=4.0, label="inside")
    label = f"outside: {np.count_nonzero(~inside)} of {len(targets)}"
    ax.plot(positions[~inside], targets[~inside], "x", color="C3", markersize=5.0, label=label)
    ax.legend(fontsize="small")
    return ax
