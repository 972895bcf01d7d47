"""Slow, dense, obvious references for what the library computes fast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config
from scipy import linalg, optimize

JIT = not config.DISABLE_JIT
PIVOT_LIMIT = 1e14


# Kernels --------------------------------------------------------------------------------------------------------------


def distance(x: Any, z: Any, scale: Any = 1.0) -> float:
    return math.sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(x, z, np.broadcast_to(scale, len(x)), strict=True)))


def rbf(x: Any, z: Any, scale: Any) -> float:
    return math.exp(-(distance(x, z, scale) ** 2) / 2.0)


def laplacian(x: Any, z: Any, scale: Any) -> float:
    return math.exp(-distance(x, z, scale))


def matern32(x: Any, z: Any, scale: Any) -> float:
    r = math.sqrt(3.0) * distance(x, z, scale)
    return (1.0 + r) * math.exp(-r)


def matern52(x: Any, z: Any, scale: Any) -> float:
    r = math.sqrt(5.0) * distance(x, z, scale)
    return (1.0 + r + r * r / 3.0) * math.exp(-r)


def rational_quadratic(x: Any, z: Any, scale: Any, shape: float) -> float:
    return float((1.0 + distance(x, z, scale) ** 2 / (2.0 * shape)) ** -shape)


def periodic(x: Any, z: Any, scale: Any, period: float) -> float:
    scales = np.broadcast_to(scale, len(x))
    return math.exp(
        -2.0 * sum(math.sin(math.pi * (a - b) / period) ** 2 / s**2 for a, b, s in zip(x, z, scales, strict=True))
    )


def linear(x: Any, z: Any) -> float:
    return float(sum(a * b for a, b in zip(x, z, strict=True)))


def polynomial(x: Any, z: Any, degree: int, offset: float = 1.0, scale: float = 1.0) -> float:
    return float((scale * linear(x, z) + offset) ** degree)


def spline_1d(x: float, z: float) -> float:
    """1 + xz + ∫₀^∞ (x − t)₊ (z − t)₊ dt, the integral by quadrature; on each side of zero its own."""
    value = 1.0 + x * z
    if x * z > 0.0:
        a, b = abs(x), abs(z)
        nodes, weights = np.polynomial.legendre.leggauss(4)
        half = min(a, b) / 2.0
        t = half * (nodes + 1.0)
        value += half * float(weights @ ((a - t) * (b - t)))
    return value


def spline(x: Any, z: Any) -> float:
    return math.prod(spline_1d(a, b) for a, b in zip(x, z, strict=True))


def anova(x: Any, z: Any, order: int) -> float:
    factors = [spline_1d(a, b) for a, b in zip(x, z, strict=True)]
    return sum(math.prod(chosen) for chosen in itertools.combinations(factors, order))


def gram(function: Callable[[Any, Any], float], X: Any, Z: Any) -> Any:
    return np.array([[function(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))


# The dictionary and the least-squares problem -------------------------------------------------------------------------


class Projection:
    """The online ALD projection of a stream in whitened coordinates.

    `K` holds the similarities of all samples. Row t of `Z` is the projection of sample t on the dictionary of its time,
    followed by zeros; K_D = LL'.
    """

    def __init__(self, K: Any, threshold: float) -> None:
        self.indices: list[int] = []
        self.residuals = []
        L = np.zeros((0, 0))
        rows, trace = [], 0.0
        for t in range(len(K)):
            c = K[self.indices, t]
            z = linalg.solve_triangular(L, c, lower=True) if len(c) else c
            residual = max(K[t, t] - z @ z, 0.0)
            self.residuals.append(residual)
            if residual > max(threshold, (trace + K[t, t]) / PIVOT_LIMIT):
                m = len(L)
                L = np.block([[L, np.zeros((m, 1))], [z[None], np.array([[math.sqrt(residual)]])]])
                z = np.append(z, math.sqrt(residual))
                trace += K[t, t]
                self.indices.append(t)
            rows.append(z)
        self.L = L
        self.Z = np.zeros((len(K), len(L)))
        for t, z in enumerate(rows):
            self.Z[t, : len(z)] = z
        self.sizes = np.array([len(z) for z in rows])

    def whiten(self, columns: Any) -> Any:
        """Rows z(x) for similarities `columns[j, i]` of dictionary point j to sample i."""
        return linalg.solve_triangular(self.L, columns, lower=True).T


def least_squares(Z: Any, y: Any, ridge: float = 0.0, weights: Any = None) -> Any:
    """argmin Σ w_t (y_t − z_t'u)² + ridge ‖u‖² by orthogonal factorization."""
    root = np.ones(len(Z)) if weights is None else np.sqrt(weights)
    left, right = root[:, None] * Z, root.reshape(-1, *[1] * (np.ndim(y) - 1)) * y
    if ridge > 0.0:
        left = np.vstack([left, math.sqrt(ridge) * np.eye(Z.shape[1])])
        right = np.concatenate([right, np.zeros((Z.shape[1], *np.shape(y)[1:]))])
    Q, R = np.linalg.qr(left)
    return linalg.solve_triangular(R, Q.T @ right)


class StreamingQR:
    """Least squares over more rows than fit into memory: the triangular factor of [Z, y], updated chunk by chunk."""

    def __init__(self, columns: int) -> None:
        self.R = np.zeros((0, columns + 1))

    def add(self, Z: Any, y: Any) -> None:
        self.R = np.linalg.qr(np.vstack([self.R, np.column_stack([Z, y])]), mode="r")

    def solve(self) -> Any:
        m = self.R.shape[1] - 1
        return linalg.solve_triangular(self.R[:m, :m], self.R[:m, m])


class Table1:
    """The KRLS recursion as printed, with explicit inverses: right where the kernel matrix is well conditioned."""

    def __init__(self, kernel: Callable[[Any, Any], Any], threshold: float) -> None:
        self.kernel, self.threshold = kernel, threshold
        self.points: list[Any] = []

    def learn(self, x: Any, y: float) -> None:
        k_tt = self.kernel([x], [x])[0, 0]
        if not self.points:
            self.points, self.K_inverse = [x], np.array([[1.0 / k_tt]])
            self.alpha, self.P = np.array([y / k_tt]), np.eye(1)
            return
        k = self.kernel(self.points, [x])[:, 0]
        a = self.K_inverse @ k
        delta = k_tt - k @ a
        error = y - k @ self.alpha
        if delta > self.threshold:
            m = len(a)
            self.points.append(x)
            inverse = np.block([[delta * self.K_inverse + np.outer(a, a), -a[:, None]], [-a[None], np.ones((1, 1))]])
            self.K_inverse = inverse / delta  # (3.14)
            self.P = np.block([[self.P, np.zeros((m, 1))], [np.zeros((1, m)), np.ones((1, 1))]])  # (3.15)
            self.alpha = np.append(self.alpha - a / delta * error, error / delta)  # (3.16)
        else:
            q = self.P @ a / (1.0 + a @ self.P @ a)
            self.P = self.P - np.outer(q, a @ self.P)  # (3.12)
            self.alpha = self.alpha + self.K_inverse @ q * error  # (3.13)

    def predict(self, X: Any) -> Any:
        return self.kernel(X, self.points) @ self.alpha


# The Bayesian filter --------------------------------------------------------------------------------------------------


class Filter:
    """A dense Kalman filter on the whitened weights: update with a sample, then let time pass.

    Where ridge is 0 the prior is flat, and the same posterior is a least-squares problem with weights λ^age.
    """

    def __init__(self, ridge: float, forgetting: float = 1.0, walk: bool = False) -> None:
        self.ridge, self.forgetting, self.walk = ridge, forgetting, walk
        self.mean, self.P = np.zeros(0), np.zeros((0, 0))
        self.rows: list[tuple[Any, float, float]] = []

    def step(self, z: Any, y: float, noise: float = 1.0) -> None:
        """Take in target y of a sample with projection z; a longer z than before brings in a new point."""
        m, grown = len(z), len(z) - len(self.mean)
        if self.ridge > 0.0:
            self.mean = np.append(self.mean, np.zeros(grown))
            if grown:
                self.P = linalg.block_diag(self.P, np.eye(grown) / self.ridge)[-m:, -m:]
            gain = self.P @ z / (noise + z @ self.P @ z)
            self.mean = self.mean + gain * (y - z @ self.mean)
            keep = np.eye(m) - np.outer(gain, z)
            self.P = keep @ self.P @ keep.T + noise * np.outer(gain, gain)  # Joseph's form
            drift = (1.0 - self.forgetting) / self.ridge * np.eye(m)
            if self.walk:
                self.P = self.P + drift
            else:
                self.P = self.forgetting * self.P + drift
                self.mean = math.sqrt(self.forgetting) * self.mean
        else:
            self.rows.append((z, y, noise))
            Z = np.array([np.append(row, np.zeros(m - len(row))) for row, _, _ in self.rows])
            ages = np.arange(len(Z))[::-1]
            weights = self.forgetting**ages / np.array([noise for _, _, noise in self.rows])
            self.mean = least_squares(Z, np.array([y for _, y, _ in self.rows]), weights=weights)
            R = np.linalg.qr(np.sqrt(weights)[:, None] * Z, mode="r")
            inverse = linalg.solve_triangular(R, np.eye(m))
            self.P = inverse @ inverse.T / self.forgetting


class NoiseFilter:
    """The mean and the logarithm of the noise, each a dense filter over the same whitened projections."""

    def __init__(
        self, ridge: float, noise_ridge: float, cap: float, forgetting: float = 1.0, walk: bool = False
    ) -> None:
        self.mean, self.noise_ridge, self.cap = Filter(ridge, forgetting, walk), noise_ridge, cap
        self.logarithm, self.S = np.zeros(0), np.zeros((0, 0))
        self.sum = self.weight = 0.0

    def step(self, z: Any, residual: float, joined: bool, y: float, w: float = 1.0) -> None:
        """Take in a target; z is the projection on the dictionary before the sample, extended where it joined."""
        old = z[:-1] if joined else z
        noise = math.exp(min(max(old @ self.logarithm, -30.0), 30.0)) / w
        error = y - old @ self.mean.mean
        level = self.sum / self.weight if self.weight >= 10.0 else 0.0
        unlearned = old @ self.mean.P @ old if len(old) else 0.0
        u = unlearned + residual / self.mean.ridge
        if level > 0.0 and error**2 > self.cap * level * noise:
            noise = max(noise, error**2 / (self.cap * level) - u)
        square = min(error**2 / (level * (noise + u)), self.cap) if level > 0.0 else 1.0
        self.mean.step(z, y, noise)
        keep = self.mean.forgetting * (1.0 - 1.0 / 500.0)
        self.sum = keep * self.sum + error**2 / (noise + (u if joined else unlearned))
        self.weight = keep * self.weight + 1.0
        if joined:
            self.logarithm = np.append(self.logarithm, 0.0)
            self.S = linalg.block_diag(self.S, np.eye(1) / self.noise_ridge)[-len(z) :, -len(z) :]
        v, Sz = z @ self.S @ z, self.S @ z
        d = optimize.brentq(lambda d: d - 0.5 * v * (square * math.exp(-d) - 1.0), -0.5 * v - 1.0, 20.0, xtol=1e-14)
        self.logarithm = self.logarithm + Sz * d / v
        self.S = self.S - np.outer(Sz, Sz) / (v + 2.0)
        drift = (1.0 - self.mean.forgetting) / self.noise_ridge * np.eye(len(z))
        if self.mean.walk:
            self.S = self.S + drift
        else:
            self.S = self.mean.forgetting * self.S + drift
            self.logarithm = math.sqrt(self.mean.forgetting) * self.logarithm


def marginalize(L: Any, mean: Any, P: Any, keep: Any) -> tuple[Any, Any, Any]:
    """Drop points: the factor of what is left of K = LL', and the posterior of f_D = Lu there, whitened again."""
    factor = np.linalg.cholesky((L @ L.T)[np.ix_(keep, keep)])
    change = linalg.solve_triangular(factor, L[keep], lower=True)
    return factor, change @ mean, change @ P @ change.T


def importances(factor: Any, covariance: Any, weights: Any) -> Any:
    """For each point, its squared coefficients over their variance, from the posterior of the whitened weights."""
    back = np.linalg.inv(factor).T
    return ((weights @ back.T) ** 2).sum(axis=0) / np.diagonal(back @ covariance @ back.T)


def coefficient_variances(factor: Any, covariance: Any) -> tuple[Any, Any]:
    """The diagonals of L⁻ᵀPL⁻¹ and of K⁻¹, by dense solves."""
    inverse = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    return np.einsum("ij,ij->j", inverse, covariance @ inverse), np.einsum("ij,ij->j", inverse, inverse)


# Packed matrices ------------------------------------------------------------------------------------------------------


def packed(dense: Any, capacity: int, symmetric: bool) -> Any:
    """A lower triangular or symmetric matrix in panels of eight rows, each as wide as its panel's last row."""
    parts = []
    for i in range(capacity):
        row = np.zeros(8 * (i // 8 + 1))
        if i < len(dense):
            width = min(len(dense), len(row)) if symmetric else i + 1
            row[:width] = dense[i, :width]
        parts.append(row)
    return np.concatenate(parts)


def unpacked(packed_matrix: Any, size: int, symmetric: bool) -> Any:
    """The dense form of `packed`."""
    dense, at = np.zeros((size, size)), 0
    for i in range(size):
        dense[i, : i + 1] = packed_matrix[at : at + i + 1]
        at += 8 * (i // 8 + 1)
    return dense + np.tril(dense, -1).T if symmetric else dense


def random_positive_definite(rng: Any, size: int, scale: float = 1.0) -> Any:
    factor = rng.standard_normal((size, size + 3)) / math.sqrt(size + 3)
    return scale * (factor @ factor.T + 0.05 * np.eye(size))


# What is built around the recursion -----------------------------------------------------------------------------------


class PrunedFilters:
    """Dense filters over one dictionary of bounded size, from which the first one decides who leaves.

    A sample whose residual may be rounding error takes the place of the point with the largest weight in its
    combination, or does not join. `K` holds the similarities of all samples; a setting is (ridge, forgetting, walk).
    """

    def __init__(self, K: Any, threshold: float, limit: int, settings: list[tuple[float, float, bool]]) -> None:
        self.K, self.threshold, self.limit = K, threshold, limit
        self.filters = [Filter(*setting) for setting in settings]
        self.indices: list[int] = []
        self.removed: list[int] = []  # samples in the order in which they left
        self.exchanged: list[int] = []  # those of them whose place was taken
        self.L = np.zeros((0, 0))

    def step(self, t: int, y: float, noise: float = 1.0) -> None:
        """Take in sample t."""
        c = self.K[self.indices, t]
        z = linalg.solve_triangular(self.L, c, lower=True) if len(c) else c
        residual = max(self.K[t, t] - z @ z, 0.0)
        joins, gone = (
            residual > max(self.threshold, (self.K[self.indices, self.indices].sum() + self.K[t, t]) * 1e-14),
            -1,
        )
        if joins and len(c):
            shares = np.abs(linalg.solve_triangular(self.L.T, z)) * np.sqrt(self.K[self.indices, self.indices])
            own = math.sqrt(self.K[t, t])
            if residual <= 2.0**-52 * (own + shares.sum()) ** 2:
                joins = shares.max() > 2.0 * own
                gone = int(np.argmax(shares)) if joins else -1
        if joins:
            m = len(self.L)
            self.L = np.block([[self.L, np.zeros((m, 1))], [z[None], np.array([[math.sqrt(residual)]])]])
            z = np.append(z, math.sqrt(residual))
            self.indices.append(t)
        for each in self.filters:
            each.step(z, y, noise)
        if gone >= 0:
            self.exchanged.append(self.indices[gone])
        elif len(self.indices) > self.limit:
            leader = self.filters[0]
            gone = int(np.argmin(importances(self.L, leader.P, leader.mean[None])))
        if gone >= 0:
            keep = [i for i in range(len(self.indices)) if i != gone]
            posteriors = [marginalize(self.L, each.mean, each.P, keep) for each in self.filters]
            self.L = posteriors[0][0]
            for each, (_, mean, P) in zip(self.filters, posteriors, strict=True):
                each.mean, each.P = mean, P
            self.removed.append(self.indices.pop(gone))


class FunctionFilter:
    """The posterior of a function's values at all samples of a stream, without a dictionary; `"prior"` forgetting."""

    def __init__(self, K: Any, ridge: float, forgetting: float) -> None:
        self.prior, self.forgetting = K / ridge, forgetting
        self.mean, self.covariance = np.zeros(len(K)), self.prior.copy()

    def step(self, t: int, y: float) -> None:
        """Take in the target of sample t, then let time pass."""
        gain = self.covariance[t] / (1.0 + self.covariance[t, t])
        self.mean = math.sqrt(self.forgetting) * (self.mean + gain * (y - self.mean[t]))
        known = self.covariance - np.outer(gain, self.covariance[t])
        self.covariance = self.forgetting * known + (1.0 - self.forgetting) * self.prior


def mixture_weights(
    rule: str, means: Any, variances: Any, y: Any, discount: float, share: float, power: float, first: Any
) -> Any:
    """The weights of experts after each sample: row t of `means` and `variances` is what they said before y_t."""
    w = np.array(first, dtype=float) / np.sum(first)
    n, ages, rows = len(w), 10.0, []
    losses = w ** (1.0 - power)  # as after ten samples with losses that would have led to these weights
    losses = ages * losses / losses.mean() * np.mean((y[0] - means[0]) ** 2)
    for mean, variance, target in zip(means, variances, y, strict=True):
        squares = (target - mean) ** 2
        if rule == "bma":
            capped = np.where(squares < 25.0 * variance, squares / variance, 25.0)
            w = w**discount * np.exp(-0.5 * capped) / np.sqrt(variance)
            w = (1.0 - share) * w / w.sum() + share / n
        else:
            losses = discount * losses + squares
            w = losses ** (-1.0 / (power - 1.0))
        w = w / w.sum()
        rows.append(w)
    return np.array(rows)


class Conformal:
    """Adaptive conformal inference with every quantile from a sorted list."""

    def __init__(self, level: float, rate: float, window: int) -> None:
        self.level, self.rate, self.window = level, rate, window
        self.alpha, self.scores = 1.0 - level, []  # type: ignore[var-annotated]

    def reach(self) -> float:
        """How many standard deviations the interval reaches: the k-th smallest score, k counted from below."""
        ordered = sorted(self.scores[-self.window :])
        if not ordered:
            return 2.0
        if self.alpha >= 1.0:
            return 0.0
        if self.alpha <= 0.0:
            return float(ordered[-1] * (1.0 - self.alpha / self.rate))
        return float(ordered[math.ceil((1.0 - self.alpha) * (len(ordered) - 1) - 1e-12)])

    def step(self, score: float) -> None:
        """Take in |y − μ| / σ."""
        self.alpha += self.rate * ((1.0 - self.level) - (score > self.reach()))
        self.scores.append(score)


class Temperature:
    """The temperature of a softmax: Newton's method on the log loss, one step a sample, of at most a tenth."""

    def __init__(self, temperature: float = 4.0, curvature: float = 1.0) -> None:
        self.value, self.curvature = temperature, curvature

    def step(self, scores: Any, label: int) -> None:
        """Take in the scores of a decision and what was right."""
        scores = np.asarray(scores, dtype=float)
        tiny = 1e-20  # derivatives by complex steps lose no digits
        shift = self.value * scores.max()
        loss = (
            np.log(np.exp((self.value + 1j * tiny) * scores - shift).sum()) - (self.value + 1j * tiny) * scores[label]
        )
        shares = np.exp(self.value * scores - shift)
        shares /= shares.sum()
        self.curvature += float(np.cov(scores, aweights=shares, bias=True))
        step = loss.imag / tiny / self.curvature
        self.value -= float(np.clip(step, -0.1 * self.value, 0.1 * self.value))
