"""Plots of predictions, errors, calibration, relevance, forecasts and equalizers (`pip install streamkernel[plot]`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from river import conf
from river.proba.base import ContinuousDistribution as Distribution

from . import checks
from .core.types import Vector
from .deprecation import formerly
from .distributions import LEVEL, central_interval, normal_reach, point

__all__ = [
    "plot_calibration",
    "plot_constellation",
    "plot_error_rates",
    "plot_errors",
    "plot_forecast",
    "plot_intervals",
    "plot_relevance",
]


@formerly(levels="confidence_levels")
def plot_intervals(
    y: Iterable[float],
    dists: Iterable[Distribution | conf.interval.Interval | tuple[float, float]],
    x: Sequence[Any] | None = None,
    confidence_levels: float | Sequence[float] = (0.5, LEVEL),
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
    confidence_levels
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
    >>> ax = plot_intervals([0.3, 0.9, 4.0], dists, confidence_levels=0.9)
    >>> ax.get_legend_handles_labels()[1]
    ['90 % interval', 'prediction', 'inside', 'outside: 1 of 3']

    """
    targets, predictions = np.array([float(value) for value in y]), list(dists)
    if len(targets) != len(predictions):
        raise ValueError(f"y has {len(targets)} targets but dists has {len(predictions)} predictions")
    positions = np.arange(len(targets)) if x is None else np.asarray(x)
    if len(positions) != len(targets):
        raise ValueError(f"x has {len(positions)} positions but y has {len(targets)} targets")
    order = np.argsort(positions, kind="stable")
    positions, targets, predictions = positions[order], targets[order], [predictions[i] for i in order]
    levels = [confidence_levels] if isinstance(confidence_levels, float | int) else confidence_levels
    widest_first = sorted(levels, reverse=True)
    if not widest_first:
        raise ValueError(f"confidence_levels must name at least one coverage, got {confidence_levels!r}")
    fixed = not all(isinstance(prediction, Distribution) for prediction in predictions)

    ax = _axes("plot_intervals", ax)
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


def plot_errors(
    errors: Iterable[float],
    window: int = 100,
    baseline: Iterable[float] | None = None,
    marks: Iterable[int] = (),
    ax: Any = None,
) -> Any:
    """The root mean square of the newest errors, over time.

    Parameters
    ----------
    errors
        Target minus prediction of each sample.
    window
        How many of the newest errors a point stands for; at the start, all so far.
    baseline
        Errors of something simple beside it, such as those of the last value.
    marks
        Samples at which something happened, such as a model's `drifts`: vertical lines.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.plotting import plot_errors
    >>> ax = plot_errors(np.array([3.0, 4.0, 0.0]), window=2, marks=[2])
    >>> ax.lines[0].get_ydata().round(3).tolist()
    [3.0, 3.536, 2.828]

    """
    checks.size("window", window)
    ax = _axes("plot_errors", ax)
    for values, color, label in ((baseline, "0.6", "baseline"), (errors, "C0", "model")):
        if values is not None:
            rolled = _rolling_root_mean_square(values, window)
            ax.plot(np.arange(1, len(rolled) + 1), rolled, color=color, linewidth=1.4, label=label)
    for i, mark in enumerate(marks):
        ax.axvline(mark, color="C3", linestyle=":", linewidth=1.2, label="_" if i else "drift")
    ax.set(xlabel="sample", ylabel=f"root mean square of {window} errors", ylim=(0.0, None))
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(fontsize="small")
    return ax


def _rolling_root_mean_square(errors: Iterable[float], window: int) -> Vector:
    squares = np.array([float(error) for error in errors]) ** 2
    padded = np.concatenate([np.full(window - 1, np.nan), squares])
    if not len(squares):
        return squares
    return np.sqrt(np.nanmean(np.lib.stride_tricks.sliding_window_view(padded, window), axis=1))


def plot_calibration(y: Iterable[float], dists: Iterable[Distribution], ax: Any = None) -> Any:
    """How many targets lie in intervals of every level: on the diagonal where distributions are right.

    Below it intervals are too narrow, above it too wide. The gray band is what chance does to as many samples as there
    are, of a model that is right.

    Parameters
    ----------
    y
        The targets.
    dists
        For each target the distribution that `predict_one(x, with_dist=True)` gave.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> import numpy as np
    >>> from river import proba
    >>> from streamkernel.plotting import plot_calibration
    >>> dists = [proba.Gaussian._from_state(n=1, m=0.0, var=1.0, ddof=0)] * 1000
    >>> ax = plot_calibration(np.random.default_rng(1).normal(size=1000), dists)
    >>> levels, shares = ax.lines[1].get_data()
    >>> bool(abs(levels - shares).max() < 0.05)
    True

    """
    targets, predictions = np.array([float(value) for value in y]), list(dists)
    _check_lengths("dists", len(predictions), len(targets))
    for prediction in predictions:
        if not isinstance(prediction, Distribution):
            raise TypeError(f"dists must hold distributions, from with_dist=True, got {prediction!r}")
    # P(|Y - median| is smaller), in levels: a target is inside the interval of every level above its own.
    needed = np.array([abs(2.0 * dist.cdf(value) - 1.0) for dist, value in zip(predictions, targets, strict=True)])
    ax = _axes("plot_calibration", ax)
    levels = np.linspace(0.0, 1.0, 101)
    shares = (needed[None, :] <= levels[:, None]).mean(axis=1)
    reach = normal_reach(0.95) * np.sqrt(levels * (1.0 - levels) / len(needed))
    ax.fill_between(levels, levels - reach, levels + reach, color="0.85", linewidth=0.0, label="95 % of chance")
    ax.plot([0.0, 1.0], [0.0, 1.0], color="0.4", linestyle="--", linewidth=1.0, label="as promised")
    ax.plot(levels, shares, color="C0", linewidth=1.8, label="observed")
    ax.set(xlabel="level of the interval", ylabel="share of targets inside", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    ax.set_aspect("equal")
    ax.legend(fontsize="small")
    return ax


def plot_relevance(history: Iterable[tuple[int, Mapping[str, float]]], most: int = 8, ax: Any = None) -> Any:
    """How much each column mattered over time, such as `AutoKernelRegressor.relevance_history` tells.

    Parameters
    ----------
    history
        Pairs of a number of samples and the relevance of each column then. A column that was not there yet is zero.
    most
        How many columns are drawn: those that mattered most at any time.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> from streamkernel.plotting import plot_relevance
    >>> ax = plot_relevance([(10, {"a": 0.5, "b": 0.5}), (20, {"a": 0.1, "b": 0.8, "c": 0.1})], most=2)
    >>> ax.get_legend_handles_labels()[1]
    ['b', 'a']

    """
    checks.size("most", most)
    points = list(history)
    if not points:
        raise ValueError("history is empty: the model has not learned its scales yet")
    names = dict.fromkeys(name for _, relevance in points for name in relevance)
    values = {name: [float(relevance.get(name, 0.0)) for _, relevance in points] for name in names}
    ax = _axes("plot_relevance", ax)
    for name in sorted(names, key=lambda name: -max(values[name]))[:most]:
        ax.plot([count for count, _ in points], values[name], marker=".", linewidth=1.4, label=name)
    ax.set(xlabel="sample", ylabel="relevance", ylim=(0.0, None))
    ax.legend(fontsize="small")
    return ax


def plot_forecast(
    past: Iterable[float],
    mean: Iterable[float],
    intervals: Mapping[float, Sequence[Any]] | None = None,
    truth: Iterable[float] | None = None,
    ax: Any = None,
) -> Any:
    """The end of a series, what is forecast to follow, and the fan of its intervals.

    Parameters
    ----------
    past
        The values before, oldest first; NaN is a gap.
    mean
        The forecast.
    intervals
        For each level the intervals of the steps, as `AutoKernelForecaster.forecast_intervals` gives them.
    truth
        What came, where that is known.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> from streamkernel.plotting import plot_forecast
    >>> ax = plot_forecast([1.0, 2.0, 3.0], [4.0, 5.0], {0.9: [(3.0, 5.0), (3.5, 6.5)]}, truth=[4.2, 5.5])
    >>> ax.get_legend_handles_labels()[1]
    ['observed', '90 % interval', 'forecast', 'what came']

    """
    values, means = ([float(value) for value in part] for part in (past, mean))
    steps = np.arange(len(values), len(values) + len(means))
    ax = _axes("plot_forecast", ax)
    ax.plot(np.arange(len(values)), values, color="k", linewidth=1.0, label="observed")
    for level in sorted(intervals or {}, reverse=True):
        band = np.array([central_interval(interval, level) for interval in (intervals or {})[level]])
        _check_lengths(f"intervals[{level!r}]", len(band), len(means))
        label = f"{100 * level:g} % interval"
        ax.fill_between(steps, band[:, 0], band[:, 1], color="C0", alpha=0.25, linewidth=0.0, label=label)
    ax.plot(steps, means, color="C0", linewidth=1.8, label="forecast")
    if truth is not None:
        came = [float(value) for value in truth]
        ax.plot(steps[: len(came)], came[: len(steps)], "k.", markersize=4.0, label="what came")
    ax.set(xlabel="step")
    ax.legend(fontsize="small")
    return ax


def plot_constellation(values: Iterable[complex], symbols: Iterable[complex], title: str = "", ax: Any = None) -> Any:
    """Values in the plane, colored by the symbol that was sent; real ones over the value before.

    Draw the observations on one axes and what the equalizer makes of them on another.

    Parameters
    ----------
    values
        Observations, or outputs of an equalizer.
    symbols
        What was sent, one for each value.
    title
        What stands above.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> from streamkernel.plotting import plot_constellation
    >>> ax = plot_constellation([1.1 + 0.9j, -1.0 - 1.2j], [1 + 1j, -1 - 1j])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('in phase', 'quadrature')

    """
    from .equalization import plots

    drawn, sent = (np.asarray(list(part)) for part in (values, symbols))
    _check_lengths("values", len(drawn), len(sent), "symbols")
    return plots.plot_constellation(drawn, sent, _axes("plot_constellation", ax), title)


def plot_error_rates(points: Sequence[Any], bits: bool = True, title: str = "", ax: Any = None) -> Any:
    """Error rates against the signal-to-noise ratio with their 95 % intervals, one line an equalizer.

    Parameters
    ----------
    points
        What `equalization.curves` measured.
    bits
        Whether wrong bits are counted, or wrong symbols.
    title
        What stands above.
    ax
        The matplotlib Axes to draw on; new when None.

    Returns
    -------
    The Axes.

    Examples
    --------

    >>> from streamkernel.equalization.curves import Point
    >>> from streamkernel.plotting import plot_error_rates
    >>> points = [Point("kernel", snr, 10_000, errors, errors, 2) for snr, errors in ((8.0, 900), (12.0, 80))]
    >>> ax = plot_error_rates(points)
    >>> ax.get_ylabel(), ax.get_yscale()
    ('bit error rate', 'log')

    """
    from .equalization import plots

    return plots.plot_curves(points, _axes("plot_error_rates", ax), title, bits)


def _axes(name: str, ax: Any) -> Any:
    """The axes to draw on."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib: pip install 'streamkernel[plot]'") from error
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _check_lengths(name: str, count: int, wanted: int, other: str = "y") -> None:
    if count != wanted:
        raise ValueError(f"{name} has {count} values but {other} has {wanted}")
