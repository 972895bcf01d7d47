"""Comparing methods over data sets by their mean ranks: Friedman's test, Nemenyi's critical difference, its figure.

Demsar (2006). Statistical comparisons of classifiers over multiple data sets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

SIGNIFICANT = 0.1  # Cawley & Talbot (2014), section 3.2


def mean_ranks(errors: Floats) -> Floats:
    """The mean rank of every method (columns) over the data sets (rows); 1 is the smallest error, ties share."""
    return np.asarray(stats.rankdata(errors, axis=1).mean(axis=0))


def friedman(ranks: Floats, count: int) -> tuple[float, float, float]:
    """Friedman's χ² of mean ranks over `count` data sets, Iman and Davenport's F, and the p-value of F.

    Cawley & Talbot (2014) print 12N/(k + 1) for the leading factor; it is 12N/(k(k + 1)).
    """
    k = len(ranks)
    chi_square = 12.0 * count / (k * (k + 1)) * float((ranks**2).sum() - k * (k + 1) ** 2 / 4.0)
    room = count * (k - 1) - chi_square
    statistic = (count - 1) * chi_square / room if room > 0.0 else math.inf
    return chi_square, statistic, float(stats.f.sf(statistic, k - 1, (k - 1) * (count - 1)))


def critical_difference(methods: int, count: int, level: float = SIGNIFICANT) -> float:
    """The difference of mean ranks from which on the Nemenyi test finds two methods different."""
    quantile = float(stats.studentized_range.ppf(1.0 - level, methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(methods * (methods + 1) / (6.0 * count))


def plot_critical_difference(axes: Axes, ranks: Mapping[str, float], difference: float, title: str = "") -> Axes:
    """Mean ranks on a line; bars join methods whose ranks differ by less than the critical difference.

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
