"""What the parameters of a kernel are chosen by: the evidence and the leave-one-out error, with analytic slopes.

With A = K + ρI, Q = A⁻¹ and coefficients α = Qy, both criteria are functions of A alone, and their slope in every
parameter is Σ_ij M_ij ∂A_ij for one matrix M:

    evidence       ½n ln(y'α/n) + ½ ln det A          M = ½Q − ½n αα'/y'α
    leave one out  ½n ln(Σe²/n), e_i = α_i/Q_ii       M = n/Σe² · (Q diag(e²/Q_ii) Q − Q(e/Q_ii) α')

The amplitude of the kernel does not appear: the evidence is at its maximum over it, the leave-one-out error does not
depend on it. Both are logarithms of a likelihood, so that a prior can be added: Rasmussen & Williams (2006), "Gaussian
Processes for Machine Learning", §5.4. Several targets share the kernel: their sums replace those above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize
from scipy.linalg import lapack

from . import kernels
from .core.types import Matrix, Vector
from .kernels import Feature

# A squared error below this share of the targets' is rounding: it ends the race to interpolate noise-free samples.
SMALLEST_SHARE = 1e-14
RIDGE_RANGE = (1e-9, 30.0)
# The prior of the logarithms: where they are likely (the ridge's center; others are the family's) and how widely.
RIDGE_CENTER, RIDGE_SPREAD = 0.05, 3.0
SCALE_SPREAD, TREND_SPREAD, PARAMETER_SPREAD = 2.0, 2.5, 3.0
# How far a logarithm may go from its center.
SCALE_REACH, TREND_REACH, PARAMETER_REACH = (-12.0, 9.0), (-10.0, 6.0), (-8.0, 8.0)
TOLERANCE = 1e-6
HOPELESS = 1e30

Criterion = Callable[[Matrix, Matrix], tuple[float, Matrix]]


def evidence(noisy: Matrix, targets: Matrix) -> tuple[float, Matrix]:
    """Minus the logarithm of the evidence at the best amplitude, and its slope M, for A = `noisy`.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import evidence
    >>> value, slope = evidence(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-1.0]]))
    >>> round(value, 4), slope.round(4)
    (0.5493, array([[-0.1667,  0.3333],
           [ 0.3333, -0.1667]]))

    """
    factor, inverse = _invert(noisy)
    coefficients = inverse @ targets
    count = targets.size
    product = max(float(np.vdot(targets, coefficients)), SMALLEST_SHARE * float(np.vdot(targets, targets)))
    outputs = targets.shape[1]
    value = 0.5 * count * math.log(product / count) + outputs * float(np.log(np.diagonal(factor)).sum())
    return value, 0.5 * outputs * inverse - (0.5 * count / product) * (coefficients @ coefficients.T)


def leave_one_out(noisy: Matrix, targets: Matrix) -> tuple[float, Matrix]:
    """Half the logarithm of the mean squared leave-one-out error, times the number of targets, and its slope M.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import leave_one_out
    >>> value, slope = leave_one_out(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-1.0]]))
    >>> round(value, 4), slope.round(4)
    (0.8109, array([[-0.1667,  0.3333],
           [ 0.3333, -0.1667]]))

    """
    _, inverse = _invert(noisy)
    coefficients = inverse @ targets
    diagonal = np.diagonal(inverse)[:, None]
    residuals = coefficients / diagonal
    squares = max(float(np.vdot(residuals, residuals)), SMALLEST_SHARE * float(np.vdot(targets, targets)))
    weighted = inverse * np.sqrt((residuals**2 / diagonal).sum(axis=1))
    slope = weighted @ weighted.T - (inverse @ (residuals / diagonal)) @ coefficients.T
    count = targets.size
    return 0.5 * count * math.log(squares / count), (0.5 * count / squares) * (slope + slope.T)


def _invert(noisy: Matrix) -> tuple[Matrix, Matrix]:
    """The Cholesky factor and the inverse of a symmetric positive definite matrix."""
    factor = linalg.cholesky(noisy, lower=True, check_finite=False)
    lower = lapack.dpotri(factor, lower=True)[0]  # what is above its diagonal is zero, as in the factor
    inverse = lower + lower.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return factor, inverse


class Gaussian:
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
        self._alive = np.ptp(X, axis=0) > 0.0
        varying = X[:, self._alive]
        self._units = varying.std(axis=0)
        self._X = (varying - varying.mean(axis=0)) / self._units
        self._products = X @ X.T if trend else np.zeros((1, 1))
        size = float(np.trace(self._products)) / len(X) or 1.0
        self._scales = self._X.shape[1] if per_feature else 1
        features = max(1, self._X.shape[1])
        centers = [(0.5 / features, SCALE_SPREAD, SCALE_REACH)] * self._scales
        centers += [(0.3, TREND_SPREAD, TREND_REACH), (0.3 / size, TREND_SPREAD, TREND_REACH)][: 1 + trend]
        self.center = np.log([center for center, _, _ in centers])
        self.spread = np.array([spread for _, spread, _ in centers])
        self.reach = np.array([reach for _, _, reach in centers])

    def gram(self, point: Vector) -> tuple[Matrix, Matrix]:
        """K, and the part of it that the slope needs."""
        theta, level, trend = self._unpack(point)
        scaled = self._X * np.sqrt(theta)
        shape = scaled @ (2.0 * scaled).T
        norms = 0.5 * np.diagonal(shape)
        shape -= norms[:, None]
        shape -= norms
        np.exp(np.minimum(shape, 0.0, out=shape), out=shape)
        return shape + level + trend * self._products, shape

    def slope(self, point: Vector, shape: Matrix, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter; Σ_ij W_ij (x_ir − x_jr)² for all r comes from the one product W X."""
        theta, level, trend = self._unpack(point)
        pairs = weights * shape
        squares = 2.0 * (pairs.sum(axis=1) @ self._X**2 - np.einsum("ir,ir->r", self._X, pairs @ self._X))
        scales = -theta * squares
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


class Expression:
    """Any kernel on given samples, as a function of the logarithms of its finite parameters."""

    def __init__(self, X: Matrix, names: Sequence[Feature], kernel: kernels.Kernel) -> None:
        self._X, self._names, self._kernel = X, names, kernel
        self._tuned = np.isfinite(kernel.theta)  # an infinite length scale stays infinite
        self.center = np.log(kernel.theta[self._tuned])
        self.spread = np.full(len(self.center), PARAMETER_SPREAD)
        self.reach = np.tile(PARAMETER_REACH, (len(self.center), 1))

    def kernel(self, point: Vector) -> kernels.Kernel:
        """The kernel with these parameters, as a value."""
        theta = self._kernel.theta
        theta[self._tuned] = np.exp(point)
        return self._kernel.with_theta(theta)

    def widened(self, point: Vector, factor: float) -> Vector:
        """The same point with parameters that are larger by a factor."""
        return np.append(point[:-1] + math.log(factor), point[-1])

    def gram(self, point: Vector) -> tuple[Matrix, Matrix]:
        """K, and the part of it that the slope needs."""
        gram = self.kernel(point)(self._X, features=self._names)
        return gram, gram

    def slope(self, point: Vector, shape: Matrix, weights: Matrix) -> Vector:
        """Σ_ij M_ij ∂K_ij for every parameter."""
        if not len(point):
            return np.zeros(0)
        slopes = self.kernel(point).gradients(self._X, features=self._names)[self._tuned]
        return np.exp(point) * np.einsum("pij,ij->p", slopes, weights)


class Fit(NamedTuple):
    """Where a search ended."""

    value: float
    point: Vector
    kernel: kernels.Kernel
    ridge: float


def fit(
    family: Gaussian | Expression,
    targets: Matrix,
    criterion: Criterion = evidence,
    start: Vector | None = None,
    widths: Sequence[float] = (1.0,),
    descents: int = 1,
    max_evaluations: int = 60,
    others: Sequence[Vector] = (),
) -> Fit:
    """The kernel and the ridge that minimize a criterion minus the log prior.

    Parameters
    ----------
    family
        The kernel as a function of a point of logarithms.
    targets
        One column per output.
    criterion
        `evidence` or `leave_one_out`.
    start
        A point to start from besides the prior's center: the kernel's logarithms and that of the ridge.
    widths
        Factors on the length scales of both, to start from.
    descents
        From how many of these, the best ones, to descend.
    max_evaluations
        The most evaluations of the criterion in a descent; each is O(n³).
    others
        Further points to start from, as they are.

    """
    center = np.append(family.center, math.log(RIDGE_CENTER))
    precision = np.append(family.spread, RIDGE_SPREAD) ** -2.0
    low, high = np.vstack([family.center[:, None] + family.reach, np.log(RIDGE_RANGE)]).T

    def objective(point: Vector) -> tuple[float, Vector]:
        ridge = math.exp(point[-1])
        gram, shape = family.gram(point[:-1])
        gram = gram.copy() if gram is shape else gram
        gram[np.diag_indices_from(gram)] += ridge
        try:
            value, weights = criterion(gram, targets)
        except linalg.LinAlgError:  # a point where the matrix is singular to rounding is a bad one
            return HOPELESS, np.zeros_like(point)
        slope = np.append(family.slope(point[:-1], shape, weights), ridge * float(np.trace(weights)))
        away = point - center
        return value + 0.5 * float(precision @ away**2), slope + precision * away

    origins = [center] if start is None or len(start) != len(center) else [center, start]
    points = [family.widened(origin, width) for origin in origins for width in widths]
    points = [np.clip(point, low, high) for point in (*points, *others)]
    if len(points) > descents:
        points = sorted(points, key=lambda point: objective(point)[0])[:descents]
    found = [
        optimize.minimize(
            objective,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": TOLERANCE, "maxfun": max_evaluations},
        )
        for point in points
    ]
    best = min(found, key=lambda result: float(result.fun))
    point = np.asarray(best.x)
    return Fit(float(best.fun), point, family.kernel(point[:-1]), math.exp(point[-1]))


def fit_dictionary(gram: Matrix, threshold: float, size: int) -> tuple[float, float]:
    """A threshold, at least the given one, with which about `size` samples join, and the mean residual that they leave.

    The samples with this kernel matrix are taken greedily, the one that is least explained first (a pivoted Cholesky
    factorization).

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.criteria import fit_dictionary
    >>> fit_dictionary(np.diag([9.0, 9.0, 4.0, 1.0]), 0.1, 2)
    (4.0, 1.25)

    """
    if size >= len(gram):
        return threshold, 0.0
    factor, pivots, rank, _ = lapack.dpstrf(gram, lower=True, tol=threshold)
    if rank <= size:
        return threshold, 0.0
    explained = (np.tril(factor)[:, :size] ** 2).sum(axis=1)
    residuals = np.diagonal(gram)[pivots - 1] - explained
    return max(threshold, float(factor[size, size]) ** 2), float(np.maximum(residuals, 0.0).mean())
