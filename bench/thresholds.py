"""Whether a smaller threshold is ever worse: `python -m bench.thresholds`.

Oversampled signals without noise are hard for a dictionary: neighbors in time are nearly equal, a small threshold
admits many of them early, and rounding errors could keep out all that comes later. `KRLS` predicts six such signals
from their last values, one step ahead, at thresholds from 1e-3 to 1e-12. A figure is the mean squared error of the last
fifth of the samples, each predicted before it was learned, over the variance of these targets, in dB. The length scale
is the standard deviation of the values times the root of the number of lags, unless a signal has its own.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from streamkernel import KRLS, datasets, kernels
from streamkernel.datasets.base import embed

COUNT, QUICK_COUNT = 5000, 1000
THRESHOLDS = [10.0**-power for power in range(3, 13)]
RIDGE = 1e-8
TRANSIENT = 1000  # samples of a flow before the first one
ALLOWED = 1.0  # dB by which a smaller threshold may be worse
Sample = tuple[Any, Any]


@dataclasses.dataclass(frozen=True)
class Signal:
    """A series of so many values and how it is predicted."""

    values: Callable[[int], Any]
    lags: int = 6
    length_scale: float | None = None

    def samples(self, count: int) -> Sample:
        """Rows of lags, and targets."""
        return embed(self.values(count + self.lags), self.lags)


def flow(slope: Callable[[float, Any], Sequence[float]], start: Sequence[float], interval: float) -> Any:
    """The first coordinate of a differential equation's solution, sampled at an interval."""

    def values(count: int) -> Any:
        times = interval * np.arange(count + TRANSIENT)
        solved = solve_ivp(slope, (0.0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-12)
        return solved.y[0, TRANSIENT:]

    return values


def roessler(_: float, state: Any) -> Sequence[float]:
    """Rössler's system."""
    x, y, z = state
    return -y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)


def henon_heiles(_: float, state: Any) -> Sequence[float]:
    """A star in the potential of Hénon and Heiles."""
    x, y, u, v = state
    return u, v, -x - 2.0 * x * y, -y - x * x + y * y


def chirp(count: int) -> Any:
    """A sine whose period goes from 200 samples to 30 over 5000 samples."""
    t = np.arange(count)
    return np.sin(2.0 * math.pi * t * (1.0 / 200.0 + (1.0 / 30.0 - 1.0 / 200.0) * t / 1e4))


SIGNALS = {
    "Lorenz z, 0.01": Signal(datasets.Lorenz(interval=0.01, coordinate="z", seed=1).series, length_scale=32.0),
    "Lorenz y, 0.005": Signal(datasets.Lorenz(interval=0.005, coordinate="y", seed=2).series),
    "Mackey-Glass 17": Signal(datasets.MackeyGlass(tau=17, transient=300, seed=3).series, lags=10),
    "Roessler x, 0.1": Signal(flow(roessler, (0.0, -5.0, 0.0), 0.1)),
    "Henon-Heiles, 0.1": Signal(flow(henon_heiles, (0.0, -0.15, 0.48, 0.0), 0.1), lags=8),
    "Chirp": Signal(chirp),
}


def decibels(samples: Sample, length_scale: float | None, threshold: float, ridge: float) -> tuple[float, KRLS]:
    """The error of the last fifth, and the model."""
    X, y = samples
    scale = float(np.std(X) * math.sqrt(X.shape[1])) if length_scale is None else length_scale
    model = KRLS(kernels.RBF(scale), threshold, ridge)
    errors, *_ = model.recursion.learn_many(tuple(range(X.shape[1])), X, y[:, None])
    late = slice(-len(y) // 5, None)
    return 10.0 * math.log10(np.mean(errors[late] ** 2) / np.var(y[late])), model


def loss(figures: Sequence[float]) -> float:
    """By how much a figure is above the lowest one before it, at most."""
    return max(later - min(figures[:i]) for i, later in enumerate(figures) if i)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each signal; 1 where a smaller threshold is worse than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ridge", type=float, default=RIDGE)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    count, worst = QUICK_COUNT if options.quick else COUNT, 0.0
    print(f"{count} samples, ridge {options.ridge:g}; dB, and at the smallest threshold points/exchanged/refused")
    print(f"{'threshold':18s}", *(f"{threshold:6.0e}" for threshold in THRESHOLDS), "  worse by")
    for name, signal in SIGNALS.items():
        samples = signal.samples(count)
        found = [decibels(samples, signal.length_scale, threshold, options.ridge) for threshold in THRESHOLDS]
        figures, last = [figure for figure, _ in found], found[-1][1]
        worst = max(worst, loss(figures))
        text = f"{max(loss(figures), 0.0):8.2f}  {last.size}/{last.recursion.pruned}/{last.refused}"
        print(f"{name:18s}", *(f"{figure:6.1f}" for figure in figures), text, flush=True)
    print(f"allowed {ALLOWED:g} dB: {'yes' if worst <= ALLOWED else 'no'}")
    return int(worst > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
