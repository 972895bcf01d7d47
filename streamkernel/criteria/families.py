"""Families of kernels: the kernel matrix of given samples as a function of the logarithms of its parameters."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..core.types import Matrix, Vector
from ..kernels import Feature

# The prior of the logarithms: how widely they spread about their center, and how far they may go from it.
SCALE_SPREAD, TREND_SPREAD, PARAMETER_SPREAD = 2.0, 2.5, 3.0
SCALE_REACH, TREND_REACH, PARAMETER_REACH = (-12.0, 9.0), (-10.0, 6.0), (-8.0, 8.0)
# Of a sample or a spread, squared: what is divided by a smaller one overflows.
SMALLEST_SIZE = 1e-290


class Family(abc.ABC):
    """A kernel on given samples as a function of a point, the logarithms of its parameters.

    Attributes
    ----------
    start
        The point from which a search begins.
    center, spread
        The prior of the logarithms, where the family has one.
    reach
        How far each logarithm may go from there, down and up: one row for each.

    """

    start: Vector
    center: Vector
    spread: Vector
    reach: Matrix

    @property
    def bounds(self) -> Matrix:
        """The least and the largest value of each logarithm."""
        return np.asarray(self.start[:, None] + self.reach)

    @abc.abstractmethod
    def gram(self, point: Vector) -> tuple[Matrix, Any]:
        """K, and the part of it that the slope needs."""

    @abc.abstractmethod
    def slope(self, point: Vector, shape: Any, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter; `weights` is M, and `shape` what `gram` gave beside K."""


def gaussian(products: Matrix, norms: Vector, other_norms: Vector) -> Matrix:
    """exp(−‖x − z‖²), written over `products`: 2⟨x, z⟩ for each pair, beside the squared norms of x and of z."""
    products -= norms[:, None]
    products -= other_norms
    np.minimum(products, 0.0, out=products)
    return np.exp(products, out=products)


def weighted_squares(weights: Matrix, X: Matrix) -> Vector:
    """Σ_ij W_ij (x_ir − x_jr)² for every feature r at once, from the one product W X.

    Requires: `weights` is symmetric.
    """
    return np.asarray(2.0 * (weights.sum(axis=1) @ X**2 - np.einsum("ir,ir->r", X, weights @ X)))


class Gaussian(Family):
    """exp(−Σ_r θ_r (x_r − z_r)²) + c + l⟨x, z⟩ on given samples, as a function of (ln θ_1 ... ln θ_d, ln c, ln l).

    A shape, a level and, if asked for, a trend. θ is in units of the features' variances, so that one prior suits all;
    features that are constant in the samples take no part.

    Parameters
    ----------
    X
        Samples.
    names
        The features' names.
    per_feature
        A scale for each feature; otherwise they share one.
    trend
        Whether there is a linear part.

    """

    def __init__(self, X: Matrix, names: Sequence[Feature], per_feature: bool = True, trend: bool = True) -> None:
        self._names, self._trend = names, trend
        self._alive = np.ptp(X, axis=0) > math.sqrt(SMALLEST_SIZE)
        varying = X[:, self._alive]
        self._units = varying.std(axis=0)
        self._X = (varying - varying.mean(axis=0)) / self._units
        self._products = X @ X.T if trend else np.zeros((1, 1))
        size = float(np.trace(self._products)) / len(X)
        size = size if size > SMALLEST_SIZE else 1.0
        self._scales = self._X.shape[1] if per_feature else 1
        features = max(1, self._X.shape[1])
        centers = [(0.5 / features, SCALE_SPREAD, SCALE_REACH)] * self._scales
        centers += [(0.3, TREND_SPREAD, TREND_REACH), (0.3 / size, TREND_SPREAD, TREND_REACH)][: 1 + trend]
        self.start = self.center = np.log([center for center, _, _ in centers])
        self.spread = np.array([spread for _, spread, _ in centers])
        self.reach = np.array([reach for _, _, reach in centers])

    def gram(self, point: Vector) -> tuple[Matrix, Matrix]:
        """K, and its first part, the shape."""
        theta, level, trend = self._unpack(point)
        scaled = self._X * np.sqrt(theta)
        products = scaled @ (2.0 * scaled).T
        norms = 0.5 * np.diagonal(products)
        shape = gaussian(products, norms, norms)
        return shape + level + trend * self._products, shape

    def slope(self, point: Vector, shape: Matrix, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter.

        Requires: `weights` is symmetric, as those of `evidence` and `leave_one_out` are.
        """
        theta, level, trend = self._unpack(point)
        scales = -theta * weighted_squares(weights * shape, self._X)
        if self._scales == 1:
            scales = scales.sum(keepdims=True)
        trends = [trend * float(np.vdot(weights, self._products))] if self._trend else []
        return np.concatenate([scales, [level * float(weights.sum())], trends])

    def widened(self, point: Vector, factor: float) -> Vector:
        """The same point with length scales that are larger by a factor."""
        return np.append(point[: self._scales] - 2.0 * math.log(factor), point[self._scales :])

    def _unpack(self, point: Vector) -> tuple[Vector, float, float]:
        theta = np.broadcast_to(np.exp(point[: self._scales]), self._X.shape[1])
        return theta, math.exp(point[self._scales]), math.exp(point[self._scales + 1]) if self._trend else 0.0

    def kernel(
        self, point: Vector, leaf: type[kernels.RBF] | type[kernels.Laplacian] = kernels.RBF, width: float = 1.0
    ) -> kernels.Kernel:
        """The kernel with these parameters, as a value; or another shape with length scales larger by a factor."""
        theta, level, trend = self._unpack(point)
        scales = np.full(len(self._names), math.inf)
        scales[self._alive] = width * self._units / np.sqrt(2.0 * theta)
        kernel = leaf(dict(zip(self._names, scales.tolist(), strict=True))) + level
        return kernel + trend * kernels.Linear() if self._trend else kernel

    def straight(self, point: Vector) -> kernels.Kernel:
        """The level and the trend alone."""
        _, level, trend = self._unpack(point)
        return kernels.Constant(level) + trend * kernels.Linear()


class Expression(Family):
    """Any kernel on given samples, as a function of the logarithms of its finite parameters that are not zero.

    Parameters
    ----------
    X
        Samples.
    names
        The features' names.
    kernel
        The kernel; its own parameters are the prior's center.
    reach
        How far the logarithms may go from there.

    """

    def __init__(
        self,
        X: Matrix,
        names: Sequence[Feature],
        kernel: kernels.Kernel,
        reach: tuple[float, float] = PARAMETER_REACH,
    ) -> None:
        self._X, self._names, self._kernel = X, names, kernel
        # An infinite length scale stays infinite, an offset of zero zero.
        self._tuned = np.isfinite(kernel.theta) & (kernel.theta > 0.0)
        self.start = self.center = np.log(kernel.theta[self._tuned])
        self.spread = np.full(len(self.center), PARAMETER_SPREAD)
        self.reach = np.tile(reach, (len(self.center), 1))

    def kernel(self, point: Vector) -> kernels.Kernel:
        """The kernel with these parameters, as a value."""
        theta = self._kernel.theta
        theta[self._tuned] = np.exp(point)
        return self._kernel.with_theta(theta)

    def widened(self, point: Vector, factor: float) -> Vector:
        """The same point with parameters that are larger by a factor."""
        return np.append(point[:-1] + math.log(factor), point[-1])

    def gram(self, point: Vector) -> tuple[Matrix, Matrix]:
        """K, twice."""
        gram = self.kernel(point).compile(self._names).gram(self._X, self._X)
        return gram, gram

    def slope(self, point: Vector, shape: Matrix, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter."""
        if not len(point):
            return np.zeros(0)
        slopes = self.kernel(point).gradients(self._X, features=self._names)[self._tuned]
        return np.exp(point) * np.einsum("pij,ij->p", slopes, weights)
