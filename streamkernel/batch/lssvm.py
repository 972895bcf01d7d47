"""Least-squares support vector machines, their kernel and ridge chosen by leave-one-out or k-fold cross-validation.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, §2: eqs. (1) to (4).
Paper -> code: λ ridge, θ theta (scales), α coefficients, b bias, D_r squared differences of feature r, ℓ samples.

The models fitted without some samples F cost no refit. With Q the block of the inverse of (3) that takes y to α, their
residuals on F are r_F = Q_FF⁻¹ α_F: leave-one-out when F is one sample, k-fold when it is a fold. Since ∂Q = −Q ∂K Q,

    ∂ ½Σ_F‖r_F‖² = Σ_F v_F' ∂K u_F,   v_F = Q_{·F} Q_FF⁻¹ r_F,   u_F = Q_{·F} r_F − α,

so that one matrix Σ_F v_F u_F' gives the slope of the criterion for every parameter of the kernel and for the ridge.
"""

from __future__ import annotations

import abc
import itertools
import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, optimize, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernels
from ..core.types import Matrix, Vector
from ..learners.lssvm import LSSVMClassifier
from .system import RidgeSystem

__all__ = ["LSSVM"]

Folds = Sequence[NDArray[np.intp]]

# The search stays where (K + λI) can be factored: λ in this range, parameters within these factors of their start.
RIDGE_RANGE = (1e-8, 1e6)
PARAMETER_RANGE = (1e-8, 1e5)
# Below this fraction of the starting scale an RBF kernel is all but linear, and only the ratio of ridge to scale
# matters: a common scale stops here instead of drifting to zero together with the ridge.
LINEAR_LIMIT = 0.1
# Ridges and factors on the starting scale from which the search for the best descends.
RIDGE_STARTS = (0.01, 0.3, 10.0)
SCALE_STARTS = (0.1, 1.0, 10.0)
# Relative decrease of the criterion that ends the search.
SEARCH_TOLERANCE = 1e-5


# ----------------------------------------------------------------------------------------------------------------------
# The scaled Gaussian kernel of eqs. (1) and (2), and what every parameter's slope has in common


def scaled_gram(theta: Vector, X: Matrix, Z: Matrix | None = None) -> Matrix:
    """exp(−Σ_r θ_r (x_r − z_r)²): eq. (2), or eq. (1) when `theta` has one entry.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.lssvm import scaled_gram
    >>> scaled_gram(np.array([0.5, 0.0]), np.array([[0.0, 3.0]]), np.array([[1.0, 9.0]])).round(4)
    array([[0.6065]])

    """
    left = X * np.sqrt(theta)
    right = left if Z is None else Z * np.sqrt(theta)
    exponents = left @ (2.0 * right).T
    exponents -= np.einsum("ir,ir->i", left, left)[:, None]
    exponents -= np.einsum("ir,ir->i", right, right)
    np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)


def spread(weights: Matrix, X: Matrix) -> Vector:
    """Σ_ij W_ij (x_ir − x_jr)² for every feature r at once, from the one product W X.

    Requires: `weights` is symmetric.
    """
    return np.asarray(2.0 * (weights.sum(axis=1) @ X**2 - np.einsum("ir,ir->r", X, weights @ X)))


class Scales:
    """The kernel of eqs. (1) and (2) on given samples, as a function of ln θ: its matrix and its slopes."""

    def __init__(self, X: Matrix, start: Vector) -> None:
        self._X = X - X.mean(axis=0)  # the kernel does not see the shift, the arithmetic does
        self.start = np.log(start)
        lowest, highest = (LINEAR_LIMIT if len(start) == 1 else PARAMETER_RANGE[0]), PARAMETER_RANGE[1]
        self.bounds = [(value + math.log(lowest), value + math.log(highest)) for value in self.start]

    def gram(self, log_theta: Vector) -> Matrix:
        """K."""
        return scaled_gram(np.exp(log_theta), self._X)

    def slope(self, log_theta: Vector, gram: Matrix, weights: Matrix) -> Vector:
        """Σ_ij W_ij ∂K_ij/∂ln θ_r, where ∂K_ij/∂θ_r = −K_ij (x_ir − x_jr)²."""
        per_feature = -spread(gram * (0.5 * (weights + weights.T)), self._X)
        return np.exp(log_theta) * (per_feature if len(log_theta) > 1 else per_feature.sum(keepdims=True))


class Expression:
    """Any kernel on given samples, as a function of the logarithms of its finite parameters."""

    def __init__(self, X: Matrix, kernel: kernels.Kernel, features: Sequence[Hashable]) -> None:
        self._X, self._kernel, self._features = X, kernel, features
        self._tuned = np.isfinite(kernel.theta)  # an infinite length scale stays infinite
        self.start = np.log(kernel.theta[self._tuned])
        self.bounds = [tuple(value + np.log(PARAMETER_RANGE)) for value in self.start]

    def kernel(self, log_theta: Vector) -> kernels.Kernel:
        """The kernel with these parameters."""
        theta = self._kernel.theta
        theta[self._tuned] = np.exp(log_theta)
        return self._kernel.with_theta(theta)

    def gram(self, log_theta: Vector) -> Matrix:
        """K."""
        return self.kernel(log_theta)(self._X, features=self._features)

    def slope(self, log_theta: Vector, gram: Matrix, weights: Matrix) -> Vector:
        """Σ_ij W_ij ∂K_ij/∂ln θ_p."""
        if not len(log_theta):
            return np.zeros(0)
        slopes = self.kernel(log_theta).gradients(self._X, features=self._features)[self._tuned]
        return np.exp(log_theta) * np.einsum("pij,ij->p", slopes, weights)


# ----------------------------------------------------------------------------------------------------------------------
# Cross-validation in closed form


def leave_one_out(system: RidgeSystem, targets: Matrix) -> tuple[float, Matrix]:
    """Half the sum of the squared leave-one-out residuals (PRESS) and its slope, ∂/∂(K + λI)."""
    coefficients = system.solve(targets)[0]
    inverse = system.inverse
    diagonal = np.diagonal(inverse)[:, None]
    residuals = coefficients / diagonal
    weighted = inverse * np.sqrt((residuals**2 / diagonal).sum(axis=1))
    slope = weighted @ weighted.T - (inverse @ (residuals / diagonal)) @ coefficients.T
    return 0.5 * float((residuals**2).sum()), slope


def leave_folds_out(system: RidgeSystem, targets: Matrix, folds: Folds) -> tuple[float, Matrix]:
    """Half the sum of the squared k-fold residuals and its slope, ∂/∂(K + λI)."""
    coefficients = system.solve(targets)[0]
    inverse = system.inverse
    value, slope = 0.0, np.zeros_like(inverse)
    for fold in folds:
        block = linalg.cho_factor(inverse[np.ix_(fold, fold)], lower=True)
        residuals = linalg.cho_solve(block, coefficients[fold])
        value += 0.5 * float((residuals**2).sum())
        slope += (inverse[:, fold] @ linalg.cho_solve(block, residuals)) @ (
            inverse[:, fold] @ residuals - coefficients
        ).T
    return value, slope


def select(
    family: Scales | Expression,
    targets: Matrix,
    folds: Folds | None,
    ridge: float | None,
    starts: Iterable[tuple[float, float]],
) -> tuple[Vector, float]:
    """The parameters and the ridge of least cross-validated squared error: leave-one-out, or over `folds`.

    The search follows the analytic slope from the best of `starts`, pairs of (factor on the family's start, ridge). A
    `ridge` that is given stays as it is.
    """
    size = len(family.start)

    def criterion(point: Vector) -> tuple[float, Vector]:
        gram, noise = family.gram(point[:size]), math.exp(point[size])
        system = RidgeSystem(gram, noise, bias=True)
        value, slope = leave_one_out(system, targets) if folds is None else leave_folds_out(system, targets, folds)
        return value, np.append(family.slope(point[:size], gram, slope), noise * float(np.trace(slope)))

    points = [np.append(family.start + math.log(factor), math.log(level)) for factor, level in starts]
    start = points[0] if len(points) == 1 else min(points, key=lambda point: criterion(point)[0])
    ridge_range = RIDGE_RANGE if ridge is None else (ridge, ridge)
    bounds = [*family.bounds, tuple(np.log(ridge_range))]
    options = {"ftol": SEARCH_TOLERANCE}
    found = optimize.minimize(criterion, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return found[:size], math.exp(found[size])


# ----------------------------------------------------------------------------------------------------------------------
# Checks and conversions that the estimators share


def feature_names(estimator: Any) -> list[Hashable]:
    """The names of the features that the estimator was fitted on, sorted, or their numbers."""
    return sorted(getattr(estimator, "feature_names_in_", range(estimator.n_features_in_)))


def arrange(estimator: Any, samples: Matrix) -> Matrix:
    """The columns in sorted order of the feature names, as in a stream."""
    names = getattr(estimator, "feature_names_in_", None)
    return samples if names is None else np.ascontiguousarray(samples[:, np.argsort(names)])


def as_kernel(theta: Vector, names: Sequence[Hashable]) -> kernels.RBF:
    """The kernel of eqs. (1) and (2) as a value: ℓ_r = 1/√(2θ_r), infinite where θ_r = 0."""
    with np.errstate(divide="ignore"):
        scales = [float(scale) for scale in 1.0 / np.sqrt(2.0 * theta)]
    if len(scales) == 1 and len(names) != 1:
        return kernels.RBF(scales[0])
    return kernels.RBF(dict(zip(names, scales, strict=True)) if isinstance(names[0], str) else tuple(scales))


def expansion(estimator: Any, X: ArrayLike) -> Matrix:
    """Σ α_i k(x_i, x) + b of a fitted estimator, one column per output."""
    check_is_fitted(estimator)
    samples = arrange(estimator, validate_data(estimator, X, dtype=np.float64, reset=False))
    gram = estimator.kernel_(samples, estimator.X_fit_, feature_names(estimator))
    return np.asarray(gram @ estimator.dual_coef_ + estimator.intercept_)


def start_scale(X: Matrix) -> float:
    """θ₁ for which two samples are one exponent apart on average: 1/(2d) for features of unit variance."""
    total = float(X.var(axis=0).sum())
    return 0.5 / (total if total > 0.0 else X.shape[1])


def make_folds(n_samples: int, folds: int, random_state: Any) -> Folds:
    """A random partition of the samples."""
    parts = KFold(min(folds, n_samples), shuffle=True, random_state=random_state)
    return [held_out for _, held_out in parts.split(np.empty(n_samples))]


def check_positive(estimator: Any, name: str) -> None:
    """An error unless the parameter is None or a positive finite number."""
    value = getattr(estimator, name)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{type(estimator).__name__} {name} must be a number > 0 or None, got {value!r}")
    if not 0.0 < float(value) < math.inf:
        raise ValueError(f"{type(estimator).__name__} {name} must be a finite number > 0 or None, got {value!r}")


def check_choice(estimator: Any, name: str, accepted: tuple[Any, ...]) -> None:
    """An error unless the parameter is one of the accepted values."""
    value = getattr(estimator, name)
    if not any(value is choice or (isinstance(choice, str) and value == choice) for choice in accepted):
        shown = ", ".join(repr(choice) for choice in accepted)
        raise ValueError(f"{type(estimator).__name__} {name} must be one of {shown}, got {value!r}")


def check_folds(estimator: Any) -> None:
    """An error unless `folds` is a whole number of at least two."""
    if isinstance(estimator.folds, bool) or not isinstance(estimator.folds, numbers.Integral) or estimator.folds < 2:
        raise ValueError(f"{type(estimator).__name__} folds must be a whole number >= 2, got {estimator.folds!r}")


def calibrate(decisions: Matrix, labels: NDArray[np.intp]) -> float:
    """The slope s ≥ 0 for which softmax(s · decisions) is the likeliest explanation of held-out labels.

    A common positive slope keeps the most probable class the predicted one.
    """
    rows = np.arange(len(labels))

    def loss(slope: float) -> float:
        return -float(special.log_softmax(slope * decisions, axis=1)[rows, labels].sum())

    # Convex in the slope. Beyond the upper end the probabilities of unit margins are 0 and 1 in double precision.
    return float(optimize.minimize_scalar(loss, bounds=(0.0, 40.0), method="bounded").x)


class KernelClassifier(ClassifierMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """What the least-squares classifiers share: ±1 targets, decisions, calibrated probabilities.

    A fitted one has `kernel_`, `dual_coef_` (α: samples × outputs), `intercept_` (b), `calibration_`.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    kernel_: kernels.Kernel
    dual_coef_: Matrix
    intercept_: Vector
    calibration_: float
    ridge_: float

    @abc.abstractmethod
    def _learn(self, X: Matrix, targets: Matrix) -> Matrix:
        """Set the fitted attributes; return held-out decisions, one column per target."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from samples X and their classes y."""
        samples, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        self.classes_, labels = np.unique(classes, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, got one class {self.classes_[0]!r}"
            )
        samples = arrange(self, samples)
        targets = np.where(labels[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        held_out = self._learn(samples, targets[:, 1:] if len(self.classes_) == 2 else targets)
        self.X_fit_, self._labels = samples, labels
        self.calibration_ = calibrate(per_class(held_out), labels)
        return self

    def decision_function(self, X: ArrayLike) -> Matrix | Vector:
        """f(x) = Σ α_i k(x_i, x) + b; a column per class when there are more than two."""
        decisions = expansion(self, X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest decision."""
        decisions = self.decision_function(X)
        return self.classes_[(decisions > 0.0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Class probabilities: decisions through a logistic curve whose slope was fitted to held-out decisions."""
        decisions = self.decision_function(X)
        return np.asarray(special.softmax(self.calibration_ * per_class(decisions.reshape(len(decisions), -1)), axis=1))

    def to_stream(self, threshold: float = 1e-4, max_size: int | None = 500, bias: float = 100.0) -> LSSVMClassifier:
        """A streaming classifier with this kernel and ridge that has learned the training samples, and goes on.

        Features are named as in the fit, or 0, 1, ... if they had no names.

        Parameters
        ----------
        threshold
            ν of the streaming class.
        max_size
            The largest dictionary; None is no bound.
        bias
            The prior variance of the constant term, which has no prior here.

        """
        check_is_fitted(self)
        stream = LSSVMClassifier(self.kernel_, threshold=threshold, ridge=self.ridge_, bias=bias, max_size=max_size)
        names = feature_names(self)
        for sample, label in zip(self.X_fit_.tolist(), self.classes_[self._labels].tolist(), strict=True):
            stream.learn_one(dict(zip(names, sample, strict=True)), label)
        return stream


def per_class(decisions: Matrix) -> Matrix:
    """Decisions with one column per class: two opposite ones when there are two classes."""
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions


class LSSVM(KernelClassifier):
    """Least-squares support vector machine: regression on ±1 targets in the kernel's feature space, with a bias.

    Fitting solves eq. (3), O(n³). Kernel parameters and ridge are chosen by cross-validated squared error, whose value
    and slope have a closed form: each step of the search costs about one fit. More than two classes are one against
    the rest, with one kernel and one ridge for all. Standardize the features first when all share one scale.

    Parameters
    ----------
    kernel
        The kernel, whose parameters are where the search starts (or stay, with `selection=None`). None is an RBF
        kernel, of the width that fits the features' variance.
    ridge
        λ. None is chosen together with the kernel's parameters; with `selection=None` it is 1.
    ard
        Give every feature its own scale, eq. (2); for RBF kernels. The search starts from the best common scale
        (§2.2). With many features it fits noise in the criterion; `FLKL` does less so.
    selection
        `"loo"` (leave-one-out), `"kfold"`, or None: keep the kernel and ridge that were given.
    folds
        k, for `selection="kfold"`.
    random_state
        Seed of the folds.

    Attributes
    ----------
    kernel_
        The kernel that is used.
    ridge_
        The λ that is used.
    relevance_
        θ by feature name, where the kernel is an RBF: 1/(2ℓ²), zero for a feature without influence.

    Examples
    --------

    >>> from sklearn.datasets import make_moons
    >>> from streamkernel.batch import LSSVM
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = LSSVM().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:])
    0.96
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0.]])

    References
    ----------
    [^1]: Cawley, G. C. and Talbot, N. L. C., 2014. Kernel learning at the first level of inference. Neural Networks 53.
    [^2]: Suykens, J. A. K. et al., 2002. Least squares support vector machines. World Scientific.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        ridge: float | None = None,
        ard: bool = False,
        selection: str | None = "loo",
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.ard = ard
        self.selection = selection
        self.folds = folds
        self.random_state = random_state

    def _learn(self, X: Matrix, targets: Matrix) -> Matrix:
        if not (self.kernel is None or isinstance(self.kernel, kernels.Kernel)):
            raise TypeError(f"LSSVM kernel must be a kernel of streamkernel.kernels or None, got {self.kernel!r}")
        if self.ard and not (self.kernel is None or isinstance(self.kernel, kernels.RBF)):
            raise ValueError(f"LSSVM ard=True needs an RBF kernel, got kernel={self.kernel!r}")
        check_positive(self, "ridge")
        check_choice(self, "ard", (False, True))
        check_choice(self, "selection", ("loo", "kfold", None))
        check_folds(self)

        names = feature_names(self)
        self.kernel_, self.ridge_ = self._choose(X, targets, names)
        system = RidgeSystem(self.kernel_(X, features=names), self.ridge_, bias=True)
        self.dual_coef_, self.intercept_ = system.solve(targets)  # type: ignore[assignment]
        if isinstance(self.kernel_, kernels.RBF):
            theta = 0.5 / np.broadcast_to(length_scales(self.kernel_, names), len(names)) ** 2
            self.relevance_ = dict(zip(names, theta.tolist(), strict=True))
        return targets - system.leave_one_out_residuals(targets)

    def _choose(self, X: Matrix, targets: Matrix, names: list[Hashable]) -> tuple[kernels.Kernel, float]:
        """The kernel and the ridge, selected or as given."""
        kernel = as_kernel(np.array([start_scale(X)]), names) if self.kernel is None else self.kernel
        if self.selection is None:
            return kernel, 1.0 if self.ridge is None else float(self.ridge)
        folds = make_folds(len(X), self.folds, self.random_state) if self.selection == "kfold" else None
        starts = list(itertools.product(SCALE_STARTS, RIDGE_STARTS if self.ridge is None else (self.ridge,)))
        scales = length_scales(kernel, names) if isinstance(kernel, kernels.RBF) else np.array([np.inf])
        if not np.isfinite(scales).all():  # any other kernel, or an RBF with features switched off
            family = Expression(X, kernel, names)
            parameters, ridge = select(family, targets, folds, self.ridge, starts)
            return family.kernel(parameters), ridge
        log_theta, ridge = select(Scales(X, 0.5 / scales**2), targets, folds, self.ridge, starts)
        if self.ard and len(log_theta) < len(names):
            separate = Scales(X, np.full(len(names), math.exp(log_theta[0])))
            log_theta, ridge = select(separate, targets, folds, self.ridge, [(1.0, ridge)])
        return as_kernel(np.exp(log_theta), names), ridge


def length_scales(kernel: kernels.RBF, names: Sequence[Hashable]) -> Vector:
    """The length scales of an RBF kernel: one, or one for each named feature."""
    if isinstance(kernel.length_scale, Mapping):
        return kernel.compile(names).parameters[: len(names)]
    return np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
