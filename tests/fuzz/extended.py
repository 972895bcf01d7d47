"""Kernels and the whitened recursion in extended precision, dense; somebody else chooses the dictionary."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from streamkernel import kernels

Real = np.longdouble


def in_order(kernel: kernels.Kernel, names: tuple[Any, ...]) -> kernels.Kernel:
    """The same kernel with the length scales of named features in the order of these."""
    parts = {field: getattr(kernel, field) for field in ("left", "right", "kernel") if hasattr(kernel, field)}
    scale = getattr(kernel, "length_scale", None)
    if isinstance(scale, dict):
        parts["length_scale"] = tuple(scale[name] for name in names)
    else:
        parts = {field: in_order(part, names) for field, part in parts.items()}
    return dataclasses.replace(kernel, **parts) if parts else kernel  # type: ignore[type-var]


def similarity(kernel: kernels.Kernel, x: Any, Z: Any) -> Any:
    """k(x, z) for every row z; length scales are a number or stand in the order of the features."""
    if isinstance(kernel, kernels.Sum):
        return similarity(kernel.left, x, Z) + similarity(kernel.right, x, Z)
    if isinstance(kernel, kernels.Product):
        return similarity(kernel.left, x, Z) * similarity(kernel.right, x, Z)
    if isinstance(kernel, kernels.Odd):
        return (similarity(kernel.kernel, x, Z) - similarity(kernel.kernel, -x, Z)) / 2
    if isinstance(kernel, kernels.Constant):
        return np.full(len(Z), kernel.value, dtype=Real)
    if isinstance(kernel, kernels.Linear):
        return Z @ x
    if isinstance(kernel, kernels.Polynomial):
        return (Real(kernel.scale) * (Z @ x) + Real(kernel.offset)) ** kernel.degree
    if isinstance(kernel, kernels.Spline):
        value = np.ones(len(Z), dtype=Real)
        for a, column in zip(x, Z.T, strict=True):
            value = value * _spline(a, column)
        return value
    if isinstance(kernel, kernels.AnovaSpline):
        factors = [_spline(a, column) for a, column in zip(x, Z.T, strict=True)]
        return sum(map(math.prod, itertools.combinations(factors, kernel.order)), np.zeros(len(Z), dtype=Real))
    scale = np.array(kernel.length_scale, dtype=Real)  # type: ignore[attr-defined]
    if isinstance(kernel, kernels.Periodic):
        angles = Real("3.14159265358979323846264338327950288") * (Z - x) / Real(kernel.period)
        return np.exp(-2 * ((np.sin(angles) / scale) ** 2).sum(axis=1))
    squares = (((Z - x) / scale) ** 2).sum(axis=1)
    if isinstance(kernel, kernels.RBF):
        return np.exp(-squares / 2)
    if isinstance(kernel, kernels.Laplacian):
        return np.exp(-np.sqrt(squares))
    if isinstance(kernel, kernels.Matern32):
        r = np.sqrt(3 * squares)
        return (1 + r) * np.exp(-r)
    if isinstance(kernel, kernels.Matern52):
        r = np.sqrt(5 * squares)
        return (1 + r + r * r / 3) * np.exp(-r)
    assert isinstance(kernel, kernels.RationalQuadratic)
    shape = Real(kernel.shape)
    return np.exp(-shape * np.log1p(squares / (2 * shape)))


def _spline(x: Any, z: Any) -> Any:
    a, b = np.abs(x), np.abs(z)
    m = np.minimum(a, b)
    return 1 + x * z + np.where(x * z > 0, a * b * m - (a + b) * m * m / 2 + m**3 / 3, 0)


def gram(kernel: kernels.Kernel, Z: Any) -> Any:
    return np.array([similarity(kernel, z, Z) for z in Z], dtype=Real).reshape(len(Z), len(Z))


def solve(lower: Any, right: Any) -> Any:
    """lower⁻¹ right, for one right side or for the columns of several."""
    out = np.array(right, dtype=Real)
    for i in range(len(lower)):
        out[i] = (out[i] - lower[i, :i] @ out[:i]) / lower[i, i]
    return out


def cholesky(matrix: Any) -> Any:
    lower = np.zeros_like(matrix)
    for i in range(len(matrix)):
        lower[i, :i] = solve(lower[:i, :i], matrix[i, :i])
        lower[i, i] = np.sqrt(matrix[i, i] - lower[i, :i] @ lower[i, :i])
    return lower


class Recursion:
    """f_D ~ (Lw, LPL'): update, grow, forget, drop, rewhiten, as ARCHITECTURE has them."""

    def __init__(self, ridge: float, forgetting: float, walk: bool) -> None:
        self.ridge, self.forgetting, self.walk = Real(ridge), Real(forgetting), walk
        self.points = np.zeros((0, 0), dtype=Real)
        self.lower = self.P = np.zeros((0, 0), dtype=Real)
        self.w = np.zeros(0, dtype=Real)

    def project(self, kernel: kernels.Kernel, x: Any) -> tuple[Any, Any]:
        """z and δ."""
        z = solve(self.lower, similarity(kernel, x, self.points))
        return z, max(similarity(kernel, x, x[None])[0] - z @ z, Real(0))

    def predict(self, kernel: kernels.Kernel, x: Any) -> tuple[float, float, float]:
        """Mean, δ, z'Pz."""
        z, residual = self.project(kernel, x)
        return float(self.w @ z), float(residual), float(z @ self.P @ z)

    def learn(self, kernel: kernels.Kernel, x: Any, y: float, noise: float, joins: bool) -> None:
        z, residual = self.project(kernel, x)
        gain = self.P @ z
        spread, error, size = Real(noise) + z @ gain, Real(y) - self.w @ z, len(z)
        if joins:
            total, length = self.ridge * spread + residual, np.sqrt(residual)
            lower, P = np.zeros((2, size + 1, size + 1), dtype=Real)
            lower[:size, :size], lower[size, :size], lower[size, size] = self.lower, z, length
            P[:size, :size] = self.P - np.outer(gain, gain) * (self.ridge / total)
            P[size, :size] = P[:size, size] = -gain * length / total
            P[size, size] = spread / total
            self.w = np.append(self.w + gain * self.ridge * error / total, length * error / total)
            self.lower, self.P, self.points = lower, P, np.vstack([self.points, x])
        else:
            self.w = self.w + gain * error / spread
            self.P = self.P - np.outer(gain, gain) / spread
        if self.forgetting < 1:
            self._forget()

    def _forget(self) -> None:
        keep, identity = self.forgetting, np.eye(len(self.w), dtype=Real)
        if self.ridge == 0:
            self.P = self.P / keep
        elif self.walk:
            self.P = self.P + (1 - keep) / self.ridge * identity
        else:
            self.P, self.w = keep * self.P + (1 - keep) / self.ridge * identity, np.sqrt(keep) * self.w

    def change(self, kernel: kernels.Kernel, keep: list[int], points: Any) -> None:
        """Keep some of the points, which may have more features now and another kernel."""
        values, covariance = self.lower @ self.w, self.lower @ self.P @ self.lower.T
        self.points = points
        self.lower = cholesky(gram(kernel, points))
        self.w = solve(self.lower, values[keep])
        self.P = solve(self.lower, solve(self.lower, covariance[np.ix_(keep, keep)]).T)


class Exact:
    """Kernel ridge regression on the samples of a window, anew each time."""

    def __init__(self, ridge: float) -> None:
        self.ridge = Real(ridge)
        self.points = np.zeros((0, 0), dtype=Real)
        self.y = self.noise = np.zeros(0, dtype=Real)

    def predict(self, kernel: kernels.Kernel, x: Any) -> tuple[float, float, float]:
        """Mean, variance, 0."""
        lower = cholesky(gram(kernel, self.points) + np.diag(self.ridge * self.noise))
        z = solve(lower, similarity(kernel, x, self.points))
        return float(z @ solve(lower, self.y)), float(similarity(kernel, x, x[None])[0] - z @ z), 0.0
