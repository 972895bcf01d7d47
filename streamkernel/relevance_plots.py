"""Figures of Cawley & Talbot (2014): feature relevances, decision surfaces, critical differences, drawn on axes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_critical_difference", "plot_decision_surface", "plot_relevance"]


def plot_relevance(axes: Axes, relevances: Sequence[Mapping[Hashable, float]], title: str = "") -> Axes:
    """Box plots of the scale θ of every feature over several fits (Figures 4 and 5).

    Parameters
    ----------
    axes
        Where to draw.
    relevances
        The `relevance_` of each fit; all name the same features.
    title
        What stands above.

    """
    if not relevances:
        raise ValueError("relevances must hold at least one fit's relevance_, got none")
    names = list(relevances[0])
    if any(set(relevance) != set(names) for relevance in relevances):
        raise ValueError("relevances must all name the same features")
    axes.boxplot([[relevance[name] for relevance in relevances] for name in names], flierprops={"markersize": 3})
    shown = range(0, len(names), -(-len(names) // 15))  # at most fifteen names have room
    axes.set_xticks([i + 1 for i in shown], [str(names[i]) for i in shown])
    axes.set(xlabel="feature", ylabel="θ", title=title)
    return axes


def plot_decision_surface(axes: Axes, model: Any, X: ArrayLike, y: ArrayLike, resolution: int = 200) -> Axes:
    """The decision function of a fitted two-class model on two features, with the training samples (Figure 1(a)).

    Parameters
    ----------
    axes
        Where to draw.
    model
        A classifier with `decision_function`.
    X
        Samples with two features.
    y
        Their classes.
    resolution
        Points along each axis.

    """
    samples, classes = np.asarray(X, dtype=np.float64), np.asarray(y)
    if samples.ndim != 2 or samples.shape[1] != 2:
        raise ValueError(f"X must have two features to be drawn, got shape {samples.shape}")
    low, high = samples.min(axis=0), samples.max(axis=0)
    margin = 0.1 * (high - low)
    grids = np.meshgrid(*(np.linspace(*ends, resolution) for ends in zip(low - margin, high + margin, strict=True)))
    surface = model.decision_function(np.column_stack([grid.ravel() for grid in grids])).reshape(grids[0].shape)
    colors = axes.contourf(*grids, surface, levels=20, cmap="RdBu", vmin=-1.5, vmax=1.5, alpha=0.6)
    axes.figure.colorbar(colors, ax=axes, label="decision")
    lines = axes.contour(*grids, surface, levels=[-1.0, 0.0, 1.0], colors="black", linestyles=["--", "-", "--"])
    axes.clabel(lines)
    for label, marker in zip(np.unique(classes), "ox", strict=False):
        axes.scatter(
            samples[classes == label, 0],
            samples[classes == label, 1],
            s=14,
            marker=marker,
            color="black",
            label=str(label),
        )
    axes.legend(title="class", loc="best")
    axes.set(xlabel="feature 0", ylabel="feature 1")
    return axes


def plot_critical_difference(axes: Axes, ranks: Mapping[str, float], difference: float, title: str = "") -> Axes:
    """Mean ranks on a line; bars join methods whose ranks differ by less than the critical difference (Figures 2 to 8).

    Parameters
    ----------
    axes
        Where to draw.
    ranks
        Mean rank by method, 1 the best.
    difference
        The critical difference of the Nemenyi test.
    title
        What stands above.

    """
    if len(ranks) < 2:
        raise ValueError(f"ranks must name at least two methods, got {list(ranks)}")
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    count = len(ordered)
    values = [rank for _, rank in ordered]
    axes.set_xlim(0.4, count + 0.6)
    depth = -(-count // 2)
    axes.set_ylim(-depth - 1.2, 1.4)
    axes.axis("off")
    axes.plot([1, count], [0, 0], color="black")
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.12], color="black")
        axes.text(tick, 0.2, str(tick), ha="center", va="bottom")
    for position, (name, rank) in enumerate(ordered):
        left = position < depth  # the better half is named on the left
        level = -1.0 - (position if left else count - 1 - position)
        end = 0.75 if left else count + 0.25
        axes.plot([rank, rank, end], [0, level, level], color="black", linewidth=0.8)
        axes.text(end, level, f" {name} {rank:.2f} ", ha="right" if left else "left", va="center")
    axes.plot([1, 1 + difference], [0.9, 0.9], color="black", linewidth=2)
    axes.text(1 + difference / 2, 0.95, f"CD {difference:.2f}", ha="center", va="bottom")
    for level, (first, last) in enumerate(_groups(values, difference)):
        axes.plot([values[first] - 0.03, values[last] + 0.03], [-0.25 - 0.2 * level] * 2, color="black", linewidth=4)
    axes.set_title(title)
    return axes


def _groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of sorted ranks that span less than the critical difference, as first and last position."""
    runs = [(i, max(j for j in range(i, len(ranks)) if ranks[j] - ranks[i] < difference)) for i in range(len(ranks))]
    return [run for i, run in enumerate(runs) if run[0] < run[1] and not any(other[1] >= run[1] for other in runs[:i])]
