"""Streams that break careless recursions, made here: each has the difficulty that its name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from streamkernel import kernels


class HardStream(NamedTuple):
    """Samples in the order in which they are learned, others to predict, and the model's kernel and threshold."""

    X: Any
    y: Any
    test: Any
    truth: Any
    kernel: kernels.Kernel
    threshold: float


def waves(X: Any) -> Any:
    return np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1]) * X[:, -1]


def duplicates(threshold: float, distance: float = 0.0, noise: float = 0.1) -> HardStream:
    """Thirty points, twenty times each, at a distance of one another that is nothing to the kernel."""
    rng = np.random.default_rng(1)
    points = rng.uniform(0.0, 1.0, (30, 4))
    X = np.repeat(points, 20, axis=0) + distance * rng.standard_normal((600, 4))
    X = X[rng.permutation(600)]
    y = waves(X) + noise * rng.standard_normal(600)
    test = np.repeat(points, 5, axis=0)
    return HardStream(X, y, test, waves(test), kernels.RBF(0.5), threshold)


def sinc(count: int, threshold: float, offset: float = 0.0, noise: float = 0.1) -> HardStream:
    """sinc(x₀) + x₁/10 on a wide square, with a target that may be far from zero."""
    rng = np.random.default_rng(2)
    X, test = rng.uniform(-10.0, 10.0, (count, 2)), rng.uniform(-10.0, 10.0, (300, 2))
    y, truth = (np.sinc(Z[:, 0] / np.pi) + Z[:, 1] / 10.0 + offset for Z in (X, test))
    return HardStream(X, y + noise * rng.standard_normal(count), test, truth, kernels.RBF(4.25), threshold)


def unscaled() -> HardStream:
    """A third feature in the thousands: every sample is alone."""
    stream = sinc(400, 1e-3, noise=0.0)
    rng = np.random.default_rng(3)
    X, test = (np.column_stack([Z, rng.uniform(0.0, 6000.0, len(Z))]) for Z in (stream.X, stream.test))
    return stream._replace(X=X, test=np.vstack([X[:100], test[:100]]), truth=np.append(stream.y[:100], np.zeros(100)))


def polynomial() -> HardStream:
    """Inputs in the hundreds under a polynomial of degree three: similarities from one to 10¹³."""
    stream = sinc(500, 1e-3)
    scaled = stream._replace(X=10.0 * stream.X, test=10.0 * stream.test)
    return scaled._replace(kernel=kernels.Polynomial(3, offset=1.0))


def smooth() -> HardStream:
    """One dimension and a threshold near what rounding leaves."""
    rng = np.random.default_rng(4)
    X, test = rng.uniform(-1.0, 1.0, (600, 1)), rng.uniform(-1.0, 1.0, (200, 1))
    y = np.sin(3.0 * X[:, 0]) + 1e-3 * rng.standard_normal(600)
    return HardStream(X, y, test, np.sin(3.0 * test[:, 0]), kernels.RBF(1.0), 1e-8)


def chaotic() -> HardStream:
    """Mackey–Glass in coarse steps, ten lags that nearly repeat one another."""
    series, history = [0.9], 34
    for t in range(1400):
        late = series[t - history] if t >= history else 0.0
        series.append(series[t] + 0.5 * (0.2 * late / (1.0 + late**10) - 0.1 * series[t]))
    values = np.array(series)
    rows = np.arange(60, 1260)
    X = np.column_stack([values[rows - 6 * lag] for lag in range(10)])
    y = values[rows + 1]
    return HardStream(X[:1000], y[:1000], X[1000:], y[1000:], kernels.RBF(0.5), 1e-4)


STREAMS: dict[str, Callable[[], HardStream]] = {
    "exact duplicates, no threshold": lambda: duplicates(0.0),
    "exact duplicates": lambda: duplicates(1e-4),
    "near duplicates": lambda: duplicates(1e-4, distance=1e-7, noise=0.0),
    "near duplicates, no threshold": lambda: duplicates(0.0, distance=1e-9),
    "chaotic": chaotic,
    "polynomial": polynomial,
    "long": lambda: sinc(2000, 1e-6),
    "far from zero": lambda: sinc(1500, 1e-3, offset=1e6),
    "smooth": smooth,
    "unscaled": unscaled,
}
