"""Figures of Cawley & Talbot (2014): feature relevances and decision surfaces of fitted models, drawn on axes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_decision_surface", "plot_relevance"]


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
