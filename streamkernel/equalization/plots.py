"""Plots of equalizers: error rates against the signal-to-noise ratio, and constellations (`streamkernel[plot]`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .curves import Point, wilson

# In the order in which equalizers come; the kernel equalizer and the bound stand out.
COLORS = ("C7", "C0", "C2", "C1", "C4", "C5", "C6")
STANDING_OUT = {"Bayes": ("k", "--", 1.2), "kernel": ("C3", "-", 2.0)}
# Points of a constellation that are drawn.
MOST_DRAWN = 2000


def plot_curves(points: Sequence[Point], axes: Any, title: str = "", bits: bool = False) -> Any:
    """Symbol or bit error rates with their 95 % intervals, one line an equalizer."""
    names = dict.fromkeys(point.equalizer for point in points)
    for i, name in enumerate(names):
        members = [point for point in points if point.equalizer == name and point.symbol_errors]
        if bits:
            rates = np.array([point.bit_error_rate for point in members])
            intervals = [wilson(point.bit_errors, point.symbols * point.bits) for point in members]
        else:
            rates = np.array([point.symbol_error_rate for point in members])
            intervals = [point.interval for point in members]
        reach = np.array(intervals).reshape(-1, 2).T
        color, line, width = STANDING_OUT.get(name, (COLORS[i % len(COLORS)], "-", 1.2))
        axes.errorbar(
            [point.snr for point in members],
            rates,
            np.abs(reach - rates),
            color=color,
            linestyle=line,
            linewidth=width,
            capsize=2,
            label=name,
        )
    axes.set(yscale="log", xlabel="SNR (dB)", ylabel=f"{'bit' if bits else 'symbol'} error rate", title=title)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small")
    return axes


def plot_constellation(observations: NDArray[Any], symbols: NDArray[Any], axes: Any, title: str = "") -> Any:
    """Observations in the plane, colored by the symbol sent; real ones over the observation before."""
    values, sent = observations[:MOST_DRAWN], symbols[:MOST_DRAWN]
    if np.iscomplexobj(values):
        across, up, names = values.real, values.imag, ("in phase", "quadrature")
    else:
        across, up, names, sent = values[1:], values[:-1], ("y(t)", "y(t − 1)"), sent[1:]
    colors = np.unique(sent, return_inverse=True)[1]
    axes.scatter(across, up, c=colors, s=4, cmap="tab20")
    axes.set(xlabel=names[0], ylabel=names[1], title=title)
    return axes
