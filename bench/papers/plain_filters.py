"""Kernel adaptive filters as their papers write them, in plain numpy: what other toolboxes compute, on the same data.

Van Vaerenbergh, Lázaro-Gredilla & Santamaría, "Kernel Recursive Least-Squares Tracker for Time-Varying Regression",
2012; Van Vaerenbergh, Vía & Santamaría, "A Sliding-Window Kernel RLS Algorithm", 2006. The kernel is Gaussian.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def gauss(left: Floats, right: Floats, width: float) -> Floats:
    """exp(−‖x − z‖² / 2σ²) of all pairs."""
    squares = ((left[:, None] - right[None]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-squares / (2.0 * width**2)))


class PlainKRLST:
    """KRLS-T with back-to-prior forgetting; the point whose loss changes the mean least leaves (section III.C).

    `jitter` is what the toolboxes add to k(x, x) against rounding errors.
    """

    def __init__(
        self, width: float, ridge: float, forgetting: float, max_size: int, features: int, jitter: float = 1e-6
    ) -> None:
        self._width, self._ridge, self._forgetting, self._max_size = width, ridge, forgetting, max_size
        self._jitter = jitter
        self._points = np.zeros((0, features))
        self._inverse, self._mean, self._covariance = np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))

    def predict_many(self, X: Floats) -> Floats:
        """The means."""
        return np.asarray(gauss(X, self._points, self._width) @ (self._inverse @ self._mean))

    def learn_one(self, x: Mapping[Any, float], y: float) -> None:
        """Forget, learn, and prune one point if there are too many."""
        sample = np.array([list(x.values())])
        size = len(self._points)
        self._covariance *= self._forgetting
        self._covariance += (1.0 - self._forgetting) * gauss(self._points, self._points, self._width)
        self._mean *= np.sqrt(self._forgetting)
        column = gauss(self._points, sample, self._width)[:, 0]
        projection = self._inverse @ column
        residual = 1.0 + self._jitter - column @ projection
        spread = self._covariance @ projection
        variance = residual + projection @ spread
        before, error = self._inverse, y - projection @ self._mean

        direction = np.append(projection, -1.0)
        self._inverse = _bordered(self._inverse, np.zeros(size), 0.0) + np.outer(direction, direction) / residual
        gain = np.append(spread, variance)
        grown = _bordered(self._covariance, spread, variance)
        self._mean = np.append(self._mean, y - error) + gain * error / (self._ridge + variance)
        self._covariance = grown - np.outer(gain, gain) / (self._ridge + variance)
        self._points = np.vstack([self._points, sample])
        redundant = residual < self._jitter
        if size + 1 > self._max_size or redundant:
            losses = np.abs(self._inverse @ self._mean) / np.diag(self._inverse)
            self._remove(size if redundant else int(losses.argmin()), before)

    def _remove(self, leaving: int, before: Floats) -> None:
        stay = np.delete(np.arange(len(self._points)), leaving)
        row = self._inverse[stay, leaving]
        smaller = self._inverse[np.ix_(stay, stay)] - np.outer(row, row) / self._inverse[leaving, leaving]
        self._inverse = before if leaving == len(stay) else smaller
        self._mean, self._covariance = self._mean[stay], self._covariance[np.ix_(stay, stay)]
        self._points = self._points[stay]


def _bordered(matrix: Floats, column: Floats, corner: float) -> Floats:
    return np.block([[matrix, column[:, None]], [column[None], np.array([[corner]])]])


class PlainSlidingWindow:
    """SW-KRLS: ridge regression on the last `max_size` samples, solved anew whenever it is asked."""

    def __init__(self, width: float, ridge: float, max_size: int, features: int) -> None:
        self._width, self._ridge, self._max_size = width, ridge, max_size
        self._points, self._targets = np.zeros((0, features)), np.zeros(0)

    def predict_many(self, X: Floats) -> Floats:
        """The means."""
        gram = gauss(self._points, self._points, self._width) + self._ridge * np.eye(len(self._points))
        return np.asarray(gauss(X, self._points, self._width) @ np.linalg.solve(gram, self._targets))

    def learn_one(self, x: Mapping[Any, float], y: float) -> None:
        """Slide the window."""
        self._points = np.vstack([self._points, list(x.values())])[-self._max_size :]
        self._targets = np.append(self._targets, y)[-self._max_size :]
