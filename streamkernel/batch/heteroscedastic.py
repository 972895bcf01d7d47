"""Predictive variances for kernel ridge regression: heteroscedastic models, and variances from residuals.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression".

Paper -> code: γᵘ ridge_mean, γˢ ridge_noise, 𝒦ᵘ kernel, 𝒦ˢ noise_kernel, z log_std, 2ξ squared, β weight, η target.

Three prints are put right here. The weights of the iteratively re-weighted least squares for log σ are β = 2ξe^{−2z}
with targets η = z − 1/(2β) + ½, as derived above (16) and not as in (16), whose σ is low by √2. The likelihood term
of (5) carries an extra ½, so the diagonal of the mean's system is γᵘZ with Z = 2σ². And (5) has no lower bound, as
the paper says: a floor under the squared residuals gives it one.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import math
import numbers
import warnings
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernels
from ..core.types import Matrix, Vector
from ..learners.heteroscedastic import HeteroscedasticKRLS
from .system import RidgeSystem

__all__ = ["HKRR", "LOOHKRR", "VARIANCES", "Expansion", "LogDeviation", "Selection", "VarianceModel", "nlpd", "select"]

# Newton weights below this are raised to it, as they are divided by. The step changes, not the minimum it leads to.
SMALLEST_WEIGHT = 1e-6
# Line search (Armijo): the part of the predicted decrease that a step must reach, and the shortest step tried.
SUFFICIENT_DECREASE, SHORTEST_STEP = 1e-4, 1e-10
# Differences of the objective that are rounding: relative to its size.
ROUNDING = 1e-13
# How many past steps the alternation is extrapolated from, and the relative size at which their differences are noise.
MEMORY, NEGLIGIBLE = 5, 1e-10
# The noise has collapsed where it is less than this many times the floor.
COLLAPSED = 10.0
# The grid of `select`, as factors of the estimator's own parameters, and the first step of the search after it (log).
RIDGE_FACTORS = (0.01, 0.1, 1.0, 10.0)
SCALE_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIMPLEX_STEP = 0.5
SEARCH_TOLERANCE, SEARCH_ITERATIONS = 1e-5, 100
SWEEPS, SWEEP_FACTORS = 2, (0.25, 0.5, 2.0, 4.0)


@dataclasses.dataclass(frozen=True)
class Expansion:
    """The function Σᵢ αᵢ k(xᵢ, ·) + b.

    Parameters
    ----------
    kernel
        k.
    points
        The rows xᵢ.
    coefficients
        α.
    bias
        b.
    features
        Names of the columns, for kernels that name their features.

    """

    kernel: kernels.Kernel
    points: Matrix
    coefficients: Vector
    bias: float
    features: Sequence[Hashable] | None = None

    def __call__(self, X: Matrix) -> Vector:
        """The values at the rows of X."""
        return self.kernel(X, self.points, features=self.features) @ self.coefficients + self.bias


class LogDeviation:
    """A model of z = log σ on the training inputs, z = Kα + b1, that minimizes (14) for given squared residuals.

    ½γ α'Kα + ½ Σᵢ (zᵢ + ½ rᵢ² e^{−2zᵢ}) is convex in (α, b). A step is a Newton step, which is a weighted ridge
    regression, under a line search, followed by the exact minimum over b: mean r²/σ² = 1.

    Parameters
    ----------
    gram
        K, the kernel matrix of the training inputs.
    ridge
        γˢ, positive.
    start
        The constant standard deviation to begin with, positive.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.heteroscedastic import LogDeviation
    >>> noise = LogDeviation(np.eye(3), ridge=0.5, start=1.0)
    >>> squared = np.array([1.0, 4.0, 9.0])
    >>> noise.fit(squared)
    >>> noise.std.round(3)
    array([1.271, 1.954, 2.598])
    >>> float(np.mean(squared / noise.std**2).round(9))
    1.0

    """

    def __init__(self, gram: Matrix, ridge: float, start: float) -> None:
        self.gram = gram
        self.ridge = ridge
        self.coefficients: Vector = np.zeros(len(gram))
        self.bias = math.log(start)

    @property
    def parameters(self) -> Vector:
        """(α, b) as one vector."""
        return np.append(self.coefficients, self.bias)

    @parameters.setter
    def parameters(self, values: Vector) -> None:
        self.coefficients, self.bias = values[:-1], float(values[-1])

    @property
    def log_std(self) -> Vector:
        """z at the training inputs."""
        return self.gram @ self.coefficients + self.bias

    @property
    def std(self) -> Vector:
        """σ at the training inputs."""
        return np.exp(self.log_std)

    def loss(self, squared: Vector) -> float:
        """The terms of (5) that hold z: γˢ times (14)."""
        log_std = self.log_std
        with np.errstate(over="ignore"):  # a trial step may go too far: its loss is then infinite
            likelihood = 0.5 * np.sum(log_std + 0.5 * squared * np.exp(-2.0 * log_std))
        return float(0.5 * self.ridge * self.coefficients @ self.gram @ self.coefficients + likelihood)

    def gradient(self, squared: Vector) -> Vector:
        """γˢα + ∂l/∂z: the loss's derivatives by (α, b) are K times this vector, and its sum."""
        return self.ridge * self.coefficients + 0.5 * (1.0 - self._weight(squared))

    def step(self, squared: Vector) -> None:
        """A Newton step for these squared residuals under a line search; it never raises the loss."""
        self._shift(squared)
        log_std, weight = self.log_std, self._weight(squared)
        floored = np.maximum(weight, SMALLEST_WEIGHT)
        target = log_std + 0.5 * (weight - 1.0) / floored  # η, from the line above (15)
        coefficients, bias = RidgeSystem(self.gram, self.ridge / floored, bias=True).solve(target)
        old, old_bias, old_loss = self.coefficients, self.bias, self.loss(squared)
        direction = coefficients - old
        slope = min(0.0, float(self.gradient(squared) @ self.gram @ direction))
        length = 1.0
        while length > SHORTEST_STEP:
            self.coefficients = old + length * direction
            self.bias = old_bias + length * (float(bias) - old_bias)
            self._shift(squared)
            if self.loss(squared) <= old_loss + SUFFICIENT_DECREASE * length * slope + ROUNDING * (1.0 + abs(old_loss)):
                return
            length /= 2.0
        self.coefficients, self.bias = old, old_bias

    def fit(self, squared: Vector, tolerance: float = 1e-10, max_iterations: int = 100) -> None:
        """Newton steps until the derivatives of the loss are below `tolerance`."""
        for _ in range(max_iterations):
            gradient = self.gradient(squared)
            if steepest(self.gram, gradient) < tolerance:
                return
            self.step(squared)
        _warn_not_converged("LogDeviation", max_iterations, steepest(self.gram, self.gradient(squared)))

    def leave_one_out(self, squared: Vector) -> Vector:
        """zᵢ of the model without sample i, to first order: eq. (24) for the weighted regression at the minimum."""
        noise = self.ridge / np.maximum(self._weight(squared), SMALLEST_WEIGHT)
        inverse = np.diagonal(RidgeSystem(self.gram, noise, bias=True).inverse)
        return self.log_std - self.coefficients * (1.0 / inverse - noise)

    def _weight(self, squared: Vector) -> Vector:
        """β = 2ξe^{−2z}, the curvature of the likelihood."""
        with np.errstate(over="ignore"):
            return np.asarray(squared * np.exp(-2.0 * self.log_std))

    def _shift(self, squared: Vector) -> None:
        """Minimize over b alone: mean β = 1."""
        with np.errstate(divide="ignore"):  # a residual of zero has no part in the mean
            logarithms = np.log(squared) - 2.0 * self.log_std
        largest = logarithms.max()
        self.bias += 0.5 * float(largest + np.log(np.mean(np.exp(logarithms - largest))))


class Extrapolation:
    """Anderson's acceleration of a fixed-point iteration: the combination of the last steps whose movement is least."""

    def __init__(self) -> None:
        self._images: deque[Vector] = deque(maxlen=MEMORY + 1)
        self._movements: deque[Vector] = deque(maxlen=MEMORY + 1)

    def extrapolate(self, point: Vector, image: Vector) -> Vector:
        """Where to go on, after a plain step led from `point` to `image`."""
        self._images.append(image)
        self._movements.append(image - point)
        if len(self._images) == 1:
            return image
        movements, images = np.diff(self._movements, axis=0), np.diff(self._images, axis=0)
        mixture = np.linalg.lstsq(movements.T, self._movements[-1], rcond=NEGLIGIBLE)[0]
        return image - mixture @ images


def steepest(gram: Matrix, gradient: Vector) -> float:
    """The largest derivative by (α, b), K times `gradient` and its sum; K counts relative to its diagonal above 1."""
    scale = max(1.0, float(np.diagonal(gram).max()))
    return max(float(np.abs(gram @ gradient).max()) / scale, abs(float(gradient.sum())))


class _Heteroscedastic(RegressorMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """The alternation of section 3, for any way to take residuals."""

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        ridge_mean: float = 1.0,
        ridge_noise: float = 1.0,
        noise_kernel: kernels.Kernel | None = None,
        min_noise: float = 1e-6,
        tolerance: float = 1e-9,
        max_iterations: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.ridge_mean = ridge_mean
        self.ridge_noise = ridge_noise
        self.noise_kernel = noise_kernel
        self.min_noise = min_noise
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    @abc.abstractmethod
    def _noise_residuals(self, system: RidgeSystem, targets: Vector, residuals: Vector) -> Vector:
        """The residuals that the noise is estimated from."""

    @abc.abstractmethod
    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        """Whether an extrapolated step may stay."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit mean and noise to samples X and targets y."""
        for name in ("ridge_mean", "ridge_noise", "min_noise", "tolerance"):
            check_positive(name, getattr(self, name))
        if not isinstance(self.max_iterations, numbers.Integral) or self.max_iterations < 1:
            raise ValueError(f"max_iterations must be a whole number >= 1, got {self.max_iterations!r}")
        samples, targets = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        spread = float(np.std(targets))
        if spread == 0.0:
            raise ValueError(f"y is constant ({targets[0]!r}): there is no noise to estimate")
        kernel = kernels.default(samples.shape[1]) if self.kernel is None else self.kernel
        noise_kernel = kernel if self.noise_kernel is None else self.noise_kernel
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        self._order: list[int] = sorted(range(len(names)), key=names.__getitem__)
        samples, features = samples[:, self._order], [names[i] for i in self._order]
        gram = kernel(samples, features=features)
        noise_gram = gram if noise_kernel == kernel else noise_kernel(samples, features=features)
        floor = self.min_noise * spread

        noise = LogDeviation(noise_gram, self.ridge_noise, start=spread)
        history = Extrapolation()
        plain: Vector | None = None  # where the plain step led, while an extrapolated one is on trial
        path: list[float] = []
        gradients: list[float] = []
        while True:
            variance = noise.std**2
            system = RidgeSystem(gram, 2.0 * self.ridge_mean * variance, bias=True)  # (13) with Z = 2σ²
            coefficients, bias = system.solve(targets)
            residuals = targets - gram @ coefficients - bias
            squared = self._noise_residuals(system, targets, residuals) ** 2 + floor**2
            loss = 0.5 * self.ridge_mean * float(coefficients @ gram @ coefficients) + noise.loss(squared)  # (5)
            gradient = steepest(noise_gram, noise.gradient(squared))  # the mean's own is zero
            if plain is not None and not self._improves(loss, gradient, path[-1], gradients[-1]):
                noise.parameters, plain = plain, None
                history = Extrapolation()
                continue
            path.append(loss)
            gradients.append(gradient)
            if gradient < self.tolerance:
                break
            if variance.min() < (COLLAPSED * floor) ** 2:
                warnings.warn(
                    f"the noise falls to min_noise={self.min_noise!r}, as where the mean goes through the targets: "
                    "take a larger ridge_mean, ridge_noise or length scale",
                    ConvergenceWarning,
                    stacklevel=2,
                )
                break
            if len(path) == self.max_iterations:
                _warn_not_converged(type(self).__name__, self.max_iterations, gradient)
                break
            before = noise.parameters
            noise.step(squared)
            plain = noise.parameters
            noise.parameters = history.extrapolate(before, plain)
        self.objective_path_: Vector = np.array(path)
        self.gradient_norm_, self.n_iter_ = gradients[-1], len(path)
        self.mean_: Expansion = Expansion(kernel, samples, np.asarray(coefficients), float(bias), features)
        self.log_std_: Expansion = Expansion(noise_kernel, samples, noise.coefficients, noise.bias, features)
        self.loo_mean_ = targets - system.leave_one_out_residuals(targets)
        self.loo_std_ = np.exp(noise.leave_one_out(squared))
        self._targets: Vector = targets
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Vector | tuple[Vector, Vector]:
        """The predictive mean at each row of X, and with `return_std` the predictive standard deviation."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=np.float64)[:, self._order]
        mean = self.mean_(samples)
        return (mean, np.exp(self.log_std_(samples))) if return_std else mean

    def to_stream(self, threshold: float = 1e-4, max_size: int | None = None, bias: float = 100.0) -> Any:
        """A `HeteroscedasticKRLS` that has learned the training samples, in their order, and goes on from there.

        It estimates the noise as it goes, so that it agrees with this model in kind and not in every digit. Features
        are named as in the fit, or 0, 1, ... if they had no names.

        Parameters
        ----------
        threshold
            ν of the streaming class.
        max_size
            As in the streaming class.
        bias
            The prior variance of the constant terms of mean and noise, which have none here.

        """
        check_is_fitted(self)
        if self.log_std_.kernel != self.mean_.kernel:
            raise ValueError("noise_kernel must be the kernel of the mean for to_stream: they share a dictionary there")
        samples, names = self.mean_.points, tuple(self.mean_.features or ())
        # The ridge of a stream is relative to the noise, and ln σ² has four times the prior variance of ln σ.
        variance = float(np.mean(np.exp(2.0 * self.log_std_(samples))))
        stream = HeteroscedasticKRLS(
            self.mean_.kernel + bias,
            threshold=threshold,
            ridge=2.0 * self.ridge_mean * variance,
            noise_ridge=0.25 * self.ridge_noise,
            max_size=max_size,
        )
        stream.learn_rows(names, samples, self._targets)
        return stream


class HKRR(_Heteroscedastic):
    """Heteroscedastic kernel ridge regression: mean and noise both depend on the input.

    μ(x) = w·φ(x) + b and log σ(x) = w'·φ'(x) + b' minimize the penalized likelihood (5). A weighted ridge regression
    for μ and a Newton step for log σ alternate and lower it at every iteration; an extrapolation of past steps that
    lowers it too replaces the plain one. Each iteration costs two factorizations, O(n³). The noise is estimated from
    the residuals of the samples that the mean was fitted to and comes out too small: see `LOOHKRR`.

    Parameters
    ----------
    kernel
        𝒦ᵘ, the kernel of the mean; `kernels.default` when None, for inputs of unit variance. Where the data have
        feature names, a length scale may name them, and a tuple of length scales follows the sorted names, as in a
        stream.
    ridge_mean
        γᵘ, the regularization of the mean: the diagonal added to the kernel matrix is 2γᵘσ²(xᵢ), as for a function of
        prior variance k(x, x)/(2γᵘ). It changes with the units of y; `select` chooses it.
    ridge_noise
        γˢ, the regularization of log σ; large values make the noise constant.
    noise_kernel
        𝒦ˢ, the kernel of log σ; that of the mean when None.
    min_noise
        The smallest standard deviation that a residual counts with, as a fraction of that of y. Without it (5) has no
        lower bound, since the mean can go through every target.
    tolerance
        Iterations end when every derivative of the objective is smaller.
    max_iterations
        Iterations at most; a `ConvergenceWarning` says when they did not suffice.

    Attributes
    ----------
    mean_, log_std_
        `Expansion`: μ(x) and log σ(x), with `coefficients` and `bias`.
    loo_mean_, loo_std_
        Leave-one-out predictions of the training targets in closed form: (24) for the mean with the noise held fixed,
        and its equivalent at the minimum for log σ.
    objective_path_
        The objective (5) at each iteration.
    gradient_norm_, n_iter_
        The largest derivative by the noise's parameters at the end (those by the mean's are zero, as it is solved for),
        and the number of iterations.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch.heteroscedastic import HKRR
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(64)
    >>> model = HKRR(kernels.RBF(0.5)).fit(X, y)
    >>> mean, std = model.predict([[0.6], [1.9]], return_std=True)
    >>> std.round(2)
    array([0.12, 1.19])

    References
    ----------
    [^1]: Cawley, G.C., Talbot, N.L.C. and Chapelle, O., 2006. Estimating predictive variances with kernel ridge
    regression. Machine Learning Challenges, LNAI 3944, pp.56-77.

    """

    def _noise_residuals(self, system: RidgeSystem, targets: Vector, residuals: Vector) -> Vector:
        return residuals

    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        return loss <= last_loss + ROUNDING * (1.0 + abs(last_loss))


class LOOHKRR(_Heteroscedastic):
    """Heteroscedastic kernel ridge regression with leave-one-out residuals: an almost unbiased noise.

    As `HKRR`, but log σ is fitted to the leave-one-out residuals (24) of the mean, so that no sample that shaped the
    mean is taken as a witness of its own noise. The result is a fixed point rather than the minimum of one objective:
    `objective_path_` is (5) with leave-one-out residuals and may rise.

    Parameters
    ----------
    kernel
        𝒦ᵘ, the kernel of the mean; `kernels.default` when None, for inputs of unit variance. Where the data have
        feature names, a length scale may name them, and a tuple of length scales follows the sorted names, as in a
        stream.
    ridge_mean
        γᵘ, the regularization of the mean: the diagonal added to the kernel matrix is 2γᵘσ²(xᵢ), as for a function of
        prior variance k(x, x)/(2γᵘ). It changes with the units of y; `select` chooses it.
    ridge_noise
        γˢ, the regularization of log σ; large values make the noise constant.
    noise_kernel
        𝒦ˢ, the kernel of log σ; that of the mean when None.
    min_noise
        The smallest standard deviation that a residual counts with, as a fraction of that of y. Without it (5) has no
        lower bound, since the mean can go through every target.
    tolerance
        Iterations end when every derivative of the objective is smaller.
    max_iterations
        Iterations at most; a `ConvergenceWarning` says when they did not suffice.

    Attributes
    ----------
    mean_, log_std_
        `Expansion`: μ(x) and log σ(x), with `coefficients` and `bias`.
    loo_mean_, loo_std_
        Leave-one-out predictions of the training targets in closed form: (24) for the mean with the noise held fixed,
        and its equivalent at the minimum for log σ.
    objective_path_
        The objective (5) at each iteration.
    gradient_norm_, n_iter_
        The largest derivative by the noise's parameters at the end (those by the mean's are zero, as it is solved for),
        and the number of iterations.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch.heteroscedastic import LOOHKRR
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(64)
    >>> model = LOOHKRR(kernels.RBF(0.5)).fit(X, y)
    >>> mean, std = model.predict([[0.6], [1.9]], return_std=True)
    >>> std.round(2)
    array([0.14, 1.24])

    References
    ----------
    [^1]: Cawley, G.C., Talbot, N.L.C. and Chapelle, O., 2006. Estimating predictive variances with kernel ridge
    regression. Machine Learning Challenges, LNAI 3944, pp.56-77.

    """

    def _noise_residuals(self, system: RidgeSystem, targets: Vector, residuals: Vector) -> Vector:
        return np.asarray(system.leave_one_out_residuals(targets))

    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        return gradient <= last_gradient


VARIANCES = ("training", "loo", "residual_model", "loo_residual_model")


class VarianceModel:
    """A predictive variance for a kernel ridge regression, from its residuals: sections 2.1 and 7.

    `variance(X)` is the variance at each row of X.

    Parameters
    ----------
    kind
        `"training"`: constant, the mean squared residual. `"loo"`: constant, the mean squared leave-one-out residual.
        `"residual_model"`: a second kernel ridge regression of the squared residuals. `"loo_residual_model"`: the
        same of the squared leave-one-out residuals.
    samples
        The training inputs.
    residuals
        The residuals of the mean at the training inputs.
    loo_residuals
        Its leave-one-out residuals (24).
    kernel
        The kernel of the second model.
    ridge
        The ridge of the second model.
    floor
        The second model's output can be negative: the variance is at least this fraction of the mean squared residual.
    features
        Names of the columns, for kernels that name their features.

    Attributes
    ----------
    leave_one_out
        The variance at each training input of the estimate without that sample's residual.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch.heteroscedastic import VARIANCES, VarianceModel
    >>> from streamkernel.batch.system import RidgeSystem
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(64)
    >>> kernel = kernels.RBF(0.5)
    >>> system = RidgeSystem(kernel(X), 0.1, bias=True)
    >>> coefficients, bias = system.solve(y)
    >>> residuals, loo_residuals = y - kernel(X) @ coefficients - bias, system.leave_one_out_residuals(y)
    >>> for kind in VARIANCES:
    ...     variance = VarianceModel(kind, X, residuals, loo_residuals, kernel, ridge=1.0)
    ...     print(kind, np.sqrt(variance(np.array([[0.6], [1.9]]))).round(2))
    training [0.61 0.61]
    loo [0.69 0.69]
    residual_model [0.06 1.15]
    loo_residual_model [0.07 1.29]

    """

    def __init__(
        self,
        kind: str,
        samples: Matrix,
        residuals: Vector,
        loo_residuals: Vector,
        kernel: kernels.Kernel,
        ridge: float = 1.0,
        floor: float = 0.01,
        features: Sequence[Hashable] | None = None,
    ) -> None:
        if kind not in VARIANCES:
            raise ValueError(f"variance must be one of {', '.join(map(repr, VARIANCES))}, got {kind!r}")
        check_positive("ridge_noise", ridge)
        check_positive("floor", floor)
        squared = (loo_residuals if kind.startswith("loo") else residuals) ** 2
        count, average = len(squared), float(squared.mean())
        self.smallest = floor * average
        if kind.endswith("model"):
            second = RidgeSystem(kernel(samples, features=features), ridge, bias=True)
            coefficients, bias = second.solve(squared)
            self.expansion = Expansion(kernel, samples, np.asarray(coefficients), float(bias), features)
            without = squared - second.leave_one_out_residuals(squared)
        else:
            self.expansion = Expansion(kernel, samples[:0], np.zeros(0), average, features)
            without = (count * average - squared) / (count - 1)
        self.leave_one_out: Vector = np.maximum(without, self.smallest)

    def __call__(self, X: Matrix) -> Vector:
        """The variances at the rows of X."""
        return np.maximum(self.expansion(X), self.smallest)


def nlpd(targets: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """The mean negative log density of targets under Gaussians: half of loss (2), and ½ log 2π.

    Examples
    --------

    >>> from streamkernel.batch.heteroscedastic import nlpd
    >>> round(nlpd([0.0, 1.0], mean=[0.0, 0.0], std=[1.0, 1.0]), 4)
    1.1689

    """
    errors, scales = np.subtract(targets, mean), np.asarray(std, dtype=np.float64)
    return float(np.mean(np.log(scales) + 0.5 * (errors / scales) ** 2)) + 0.5 * math.log(math.tau)


class Selection(NamedTuple):
    """What `select` found."""

    estimator: Any
    """The estimator with the best parameters, fitted to all samples."""
    nlpd: float
    """Its cross-validated negative log predictive density."""
    evaluations: int
    """How many settings were tried."""


def select(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    cv: Any = "loo",
    ard: bool = False,
    method: str = "Nelder-Mead",
    max_evaluations: int = 300,
    seed: int = 0,
) -> Selection:
    """Choose kernel parameters and ridges by the cross-validated negative log predictive density (section 4).

    A logarithmic grid over one common factor of the kernel parameters and over each ridge comes first, then a search
    over the logarithms of all of them from its best point. Tuned are the kernel parameters in `kernel` and
    `noise_kernel` and every number whose name begins with `ridge`.

    Parameters
    ----------
    estimator
        A regressor with `predict(X, return_std=True)`, such as `HKRR` or `LOOHKRR`; not changed. Its parameters are the
        centre of the grid.
    X
        Samples.
    y
        Targets.
    cv
        `"loo"` for the closed-form leave-one-out prediction that the estimator offers as `loo_mean_` and `loo_std_`, a
        number of folds (shuffled), or a scikit-learn splitter.
    ard
        Whether to go on from the grid to one length scale for each feature; one parameter after the other is then tried
        at some factors before the search over all of them.
    method
        Any derivative-free method of `scipy.optimize.minimize`.
    max_evaluations
        How many settings the search may try at most, after those of the grid.
    seed
        Of the shuffled folds.

    Examples
    --------

    >>> from streamkernel import datasets
    >>> from streamkernel.batch.heteroscedastic import LOOHKRR, select
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(40)
    >>> best = select(LOOHKRR(), X, y, max_evaluations=20)
    >>> round(best.nlpd, 1)
    0.4

    """
    samples, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    base = clone(estimator)
    if base.kernel is None:
        base.set_params(kernel=kernels.default(samples.shape[1]))
    folds = _folds(cv, samples, targets, seed)
    search = _Search(base, X, targets, folds)

    best = min(search.grid(), key=search)
    if ard:
        best_kernels = {name: with_ard(kernel, samples.shape[1]) for name, kernel in search.kernels(best).items()}
        wide = _Search(clone(base).set_params(**search.ridges(best), **best_kernels), X, targets, folds)
        wide.evaluations = search.evaluations
        search, best = wide, wide.sweep(wide.centre)
    best = search.minimize(best, method, max_evaluations)
    fitted = clone(estimator).set_params(**search.ridges(best), **search.kernels(best)).fit(X, targets)
    return Selection(fitted, search(best), search.evaluations)


def with_ard(kernel: kernels.Kernel, n_features: int) -> kernels.Kernel:
    """The kernel with one length scale for each feature wherever it has one for all.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> from streamkernel.batch.heteroscedastic import with_ard
    >>> with_ard(kernels.RBF(2.0) + 0.1 * kernels.Linear(), 2)
    RBF((2.0, 2.0)) + 0.1 * Linear()

    """
    if isinstance(kernel, kernels.Sum | kernels.Product):
        return type(kernel)(with_ard(kernel.left, n_features), with_ard(kernel.right, n_features))
    scale = getattr(kernel, "length_scale", None)
    if not isinstance(scale, float):
        return kernel
    return dataclasses.replace(kernel, length_scale=(scale,) * n_features)  # type: ignore[type-var]


class _Search:
    """The criterion as a function of the logarithms of the ridges and of the kernel parameters."""

    def __init__(self, base: Any, X: ArrayLike, targets: Vector, folds: list[tuple[Any, Any]] | None) -> None:
        parameters = base.get_params(deep=False)
        if isinstance(base, _Heteroscedastic):  # the criterion needs no more
            base = clone(base).set_params(tolerance=SEARCH_TOLERANCE, max_iterations=SEARCH_ITERATIONS)
        self.base, self.X, self.targets, self.folds = base, X, targets, folds
        self.ridge_names = sorted(
            name for name, value in parameters.items() if name.startswith("ridge") and isinstance(value, numbers.Real)
        )
        self.base_kernels: dict[str, kernels.Kernel] = {
            name: parameters[name] for name in ("kernel", "noise_kernel") if parameters.get(name) is not None
        }
        theta = np.concatenate([kernel.theta for kernel in self.base_kernels.values()])
        # Zero (an offset) and infinity (a feature that is switched off) have no logarithm to move: they stay.
        self.theta, self.tuned = theta, np.isfinite(theta) & (theta > 0.0)
        self.centre: Vector = np.log([*(parameters[name] for name in self.ridge_names), *theta[self.tuned]])
        self.evaluations = 0
        self._known: dict[bytes, float] = {}

    def ridges(self, point: Vector) -> dict[str, float]:
        """The ridges that a point stands for."""
        return dict(zip(self.ridge_names, np.exp(point).tolist(), strict=False))

    def kernels(self, point: Vector) -> dict[str, kernels.Kernel]:
        """The kernels that a point stands for."""
        theta = self.theta.copy()
        theta[self.tuned] = np.exp(point[len(self.ridge_names) :])
        found, first = {}, 0
        for name, kernel in self.base_kernels.items():
            found[name] = kernel.with_theta(theta[first : first + len(kernel.theta)])
            first += len(kernel.theta)
        return found

    def estimator(self, point: Vector) -> Any:
        """A fresh estimator with the parameters that a point stands for."""
        return clone(self.base).set_params(**self.ridges(point), **self.kernels(point))

    def __call__(self, point: Vector) -> float:
        """The criterion; infinite where the system cannot be solved."""
        key = point.tobytes()
        if key not in self._known:
            self.evaluations += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    value = self._evaluate(self.estimator(point))
                except (linalg.LinAlgError, FloatingPointError):
                    value = math.inf
            self._known[key] = value if math.isfinite(value) else math.inf
        return self._known[key]

    def _evaluate(self, estimator: Any) -> float:
        if self.folds is None:
            estimator.fit(self.X, self.targets)
            return nlpd(self.targets, estimator.loo_mean_, estimator.loo_std_)
        scores = []
        for train, test in self.folds:
            estimator.fit(_safe_indexing(self.X, train), self.targets[train])
            mean, std = estimator.predict(_safe_indexing(self.X, test), return_std=True)
            scores.append(nlpd(self.targets[test], mean, std))
        return float(np.mean(scores))

    def grid(self) -> Iterator[Vector]:
        """Every combination of a factor of each ridge and one of all kernel parameters."""
        for factors in itertools.product(*[RIDGE_FACTORS] * len(self.ridge_names), SCALE_FACTORS):
            shift = np.full(len(self.centre), factors[-1])
            shift[: len(self.ridge_names)] = factors[:-1]
            yield self.centre + np.log(shift)

    def sweep(self, point: Vector) -> Vector:
        """The best of some factors for one parameter after the other, repeatedly."""
        for _, i, factor in itertools.product(range(SWEEPS), range(len(point)), SWEEP_FACTORS):
            shift = np.zeros(len(point))
            shift[i] = math.log(factor)
            point = min((point, point + shift), key=self)
        return point

    def minimize(self, start: Vector, method: str, max_evaluations: int) -> Vector:
        """The best point of a search from `start`, which is as good as `start` or better."""
        if max_evaluations == 0:
            return start
        options: dict[str, Any] = {"maxfev": max_evaluations}
        if method == "Nelder-Mead":
            steps = np.vstack([np.zeros(len(start)), SIMPLEX_STEP * np.eye(len(start))])
            options |= {"initial_simplex": start + steps, "xatol": 1e-2, "fatol": 1e-4, "adaptive": len(start) > 4}
        found = optimize.minimize(self, start, method=method, options=options)
        return min((start, np.asarray(found.x)), key=self)


def check_positive(name: str, value: Any) -> None:
    """Raise an error that names the argument unless `value` is a finite positive number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value) or value <= 0.0:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")


def _folds(cv: Any, samples: Matrix, targets: Vector, seed: int) -> list[tuple[Any, Any]] | None:
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be 'loo', a number of folds or a splitter, got {cv!r}")
        return None
    splitter = KFold(cv, shuffle=True, random_state=seed) if isinstance(cv, numbers.Integral) else check_cv(cv)
    return list(splitter.split(samples, targets))


def _warn_not_converged(name: str, iterations: int, gradient: float) -> None:
    warnings.warn(
        f"{name} has not converged in {iterations} iterations: the gradient is {gradient:.2g}",
        ConvergenceWarning,
        stacklevel=3,
    )
