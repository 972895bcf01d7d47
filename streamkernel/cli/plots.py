"""The plots of the commands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .output import CommandError

# The most rows of a stream that a plot shows.
PLOTTED_ROWS = 300


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise CommandError("plots need matplotlib: pip install 'streamkernel[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def check_plot(path: str) -> None:
    """An error, at the start, where there could be no plot at the end."""
    kinds = _pyplot().figure().canvas.get_supported_filetypes()
    _pyplot().close("all")
    if _ending(path) not in kinds:
        raise CommandError(f"cannot write {path}: plots end with .{', .'.join(sorted(kinds))}")


def _ending(path: str) -> str:
    return os.path.splitext(path)[1][1:].lower() or "png"


def _save_figure(figure: Any, path: str) -> str:
    try:
        figure.savefig(path, dpi=120, format=_ending(path))  # which adds no ending to the name
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot write {path}: {error}") from error
    _pyplot().close(figure)
    return path


def plot_demo(predictions: list[tuple[float, float, float]], coverage: float, half: int, path: str) -> str | None:
    """Targets, predictions and the reach of their intervals, and the errors; None where there is no matplotlib."""
    try:
        pyplot = _pyplot()
    except CommandError:
        return None
    target, mean, reach = np.array(predictions).T
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 6), constrained_layout=True)
    shown = np.arange(max(0, len(target) - 200), len(target))
    low, high = (mean - reach)[shown], (mean + reach)[shown]
    above.fill_between(shown, low, high, alpha=0.3, label=f"{coverage:.0%} interval")
    above.plot(shown, target[shown], "k.", markersize=3, label="observed")
    above.plot(shown, mean[shown], linewidth=1, label="predicted one step ahead")
    above.set(title="Mackey-Glass, the last 200 samples", xlabel="sample", ylabel="y")
    above.legend(loc="upper right", fontsize=8)
    window = min(50, len(target))
    smooth = np.sqrt(np.convolve((target - mean) ** 2, np.ones(window) / window, mode="valid"))
    below.semilogy(np.arange(len(smooth)) + window, smooth)
    below.axvline(half, color="gray", linestyle=":")
    below.set(title=f"prediction error, root mean square of {window} samples", xlabel="sample", ylabel="RMSE")
    return _save_figure(figure, path)


def plot_run(tail: list[tuple[float, float]], path: str) -> str:
    """The last targets, their predictions, and the errors."""
    pyplot = _pyplot()
    target, prediction = np.array(tail).T
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 6), sharex=True, constrained_layout=True)
    above.plot(target, "k.", markersize=3, label="observed")
    above.plot(prediction, linewidth=1, label="predicted before it was learned")
    above.set(title=f"the last {len(tail)} rows")
    above.legend(fontsize=8)
    below.plot(target - prediction, linewidth=1)
    below.axhline(0.0, color="gray", linewidth=0.5)
    below.set(xlabel="row", ylabel="error")
    return _save_figure(figure, path)


def plot_forecast(values: list[float], steps: list[dict[str, Any]], path: str) -> str:
    """The end of a series, what is forecast to follow, and its intervals."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(9, 4), constrained_layout=True)
    shown = np.arange(max(0, len(values) - PLOTTED_ROWS), len(values))
    ahead = len(values) - 1 + np.array([step["step"] for step in steps])
    axes.plot(shown, np.array(values)[shown], "k", linewidth=1, label="observed")
    axes.plot(ahead, [step["mean"] for step in steps], label="forecast")
    axes.fill_between(ahead, [s["lower"] for s in steps], [s["upper"] for s in steps], alpha=0.3, label="interval")
    axes.set(xlabel="step")
    axes.legend(fontsize=8)
    return _save_figure(figure, path)


def plot_equalizers(points: Sequence[Any], channel: Any, name: str, path: str | None) -> str | None:
    """Error rates against the signal-to-noise ratio, and what the channel makes of the symbols in the middle of it."""
    if path is None:
        return None
    from ..equalization import plots

    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(11, 4.5), constrained_layout=True)
    plots.plot_curves(points, left, name)
    middle = points[len(points) // 2].snr
    symbols, observations = channel.at_snr(middle).sequence(plots.MOST_DRAWN)
    plots.plot_constellation(observations, symbols, right, f"observations at {middle:g} dB")
    return _save_figure(figure, path)


def plot_forecasts(outcomes: Mapping[str | None, tuple[Any, Any]], path: str) -> str:
    """For every group the series, the forecasts of its own end, and what follows."""
    from ..forecasting import report

    figure, axes = _pyplot().subplots(
        len(outcomes), 1, figsize=(9, 4 * len(outcomes)), constrained_layout=True, squeeze=False
    )
    for (group, (past, outcome)), ax in zip(outcomes.items(), axes[:, 0], strict=True):
        report.draw(outcome, past.values, ax, PLOTTED_ROWS)
        ax.set(title=group)
    return _save_figure(figure, path)
