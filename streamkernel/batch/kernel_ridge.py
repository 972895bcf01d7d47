"""Kernel ridge regression and the kernel aggregating algorithm in batch: KRR, KAAR, IKAAR and CKAAR.

Busuttil, Kalnishkan & Gammerman (2006), Two new kernel least squares based methods for regression.
Paper -> code: K gram, k column, α ridge_, γ_KRR plain, s = u/(1 + u) of eq. (17), n iterations, β control.

The paper adds the pair (x, 0) to the training set and solves a system for every new signal x. With p the KRR
prediction, v = k(x, x) − k'(K + αI)⁻¹k and u = v/α, all four methods are p times one factor, from the one
factorization of the fit:

    KRR 1 (9),   KAAR 1/(1 + u) (10),   IKAAR 1 − sⁿ (23),   CKAAR 1/(1 + βu) (28)
"""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import checks, kernels
from ..core.types import Matrix, Vector
from ..deprecation import formerly
from ..learners import CKAAR, IKAAR, KAAR, KRR
from ..learners.kaar import controlled, iterated
from ..targets import TargetScaler
from . import arguments
from .features import arrange, feature_names, read_samples, read_training, teach
from .parameters import KernelParameters
from .ridges import choose
from .system import RidgeSystem, check_similarities
from .variances import VARIANCES, VarianceModel

Method = Literal["krr", "kaar", "ikaar", "ckaar"]
RidgeScale = Literal["absolute", "relative"]


def shrinkage(method: str, u: Vector, iterations: Any, control: Any) -> Vector:
    """The factor on the KRR prediction, where u = v/α is the variance of the prediction over the ridge.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.kernel_ridge import shrinkage
    >>> for method in ("krr", "kaar", "ikaar", "ckaar"):
    ...     print(method, shrinkage(method, np.array([0.0, 1.0, 3.0]), iterations=2, control=1 / 3))
    krr [1. 1. 1.]
    kaar [1.   0.5  0.25]
    ikaar [1.     0.75   0.4375]
    ckaar [1.   0.75 0.5 ]

    """
    if method == "krr":
        return np.ones_like(u)
    if method == "ikaar":
        return iterated(u, iterations)
    return controlled(u, control if method == "ckaar" else 1.0)


def without_each(values: Vector) -> Vector:
    """The sums of all values but one: added up from both sides, as a large one subtracted would take the rest along.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.kernel_ridge import without_each
    >>> without_each(np.array([1.0, 1e30, 2.0]))
    array([1.e+30, 3.e+00, 1.e+30])

    """
    before, after = np.cumsum(values), np.cumsum(values[::-1])[::-1]
    return np.append(0.0, before[:-1]) + np.append(after[1:], 0.0)


class KernelRidge(KernelParameters, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression, and its three forms with the extra regularization of the aggregating algorithm.

    A fit factors one n × n matrix; a prediction costs n² because of the variance, or n with method "krr".
    Predictions of KAAR are drawn towards zero where the training data say little, so targets are centered by default.

    Parameters
    ----------
    kernel
        The kernel k. None is an RBF whose width has the least leave-one-out error, for features of a common unit. Where
        the data have feature names, a length scale may name them, and a tuple of length scales follows the sorted
        names, as in a stream.
    method
        "krr" (kernel ridge regression), "kaar" (the aggregating algorithm: the most regularization), "ikaar" and
        "ckaar" (between the two, by `iterations` and by `control`).
    ridge
        α, greater than 0. None is the one with the least leave-one-out error of KRR.
    ridge_scale
        "absolute", or "relative" where α is `ridge` times the mean of the diagonal of K (section 4.1).
    iterations
        n of IKAAR, any number greater than 0: 1 is KAAR, and KRR is the limit. The paper's n are whole numbers.
    control
        β of CKAAR, not negative: 0 is KRR, 1 is KAAR. The paper's β are at most 1.
    center
        Whether the mean of the training targets is subtracted, and added to predictions.
    bias
        Whether the model has a constant term b without a penalty: the limit of a large constant added to the kernel.
    variance
        What `predict(X, return_std=True)` is the root of, one of `variances.VARIANCES`: constant from the
        "training" or leave-one-out ("loo") residuals, or a second model of their squares ("residual_model",
        "loo_residual_model"). Squared residuals count by the samples' weights; to leave a sample out is to leave out
        all that it counts for. `HKRR` and `LOOHKRR` fit mean and variance together.
    noise_kernel
        The kernel of the second model; None is that of the mean.
    noise_ridge
        The ridge of the second model.

    Attributes
    ----------
    dual_coef_
        The coefficients (K + αI)⁻¹(y − mean − b).
    ridge_
        α as used.
    mean_
        The mean that was subtracted from the targets, 0.0 without centering.
    bias_
        b, 0.0 without a bias.
    kernel_
        The kernel as used.
    X_fit_
        The training samples.
    leave_one_out_residuals_
        y_i minus the prediction for sample i of the same model fitted without it, in closed form.

    Examples
    --------

    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch import KernelRidge
    >>> X, y = datasets.MexicanHat(noise=0.2, seed=1).arrays(80)
    >>> model = KernelRidge(kernels.RBF(1.5), method="ckaar", ridge=0.1, control=0.2).fit(X, y)
    >>> model.predict([[0.1], [3.0], [30.0]]).round(2)
    array([0.83, 0.01, 0.14])
    >>> for method, predictions in model.predict_all([[12.0]]).items():
    ...     print(method, predictions.round(3))
    krr [0.035]
    kaar [0.128]
    ikaar [0.067]
    ckaar [0.099]
    >>> stream = model.to_stream()
    >>> stream.learn_one({0: 3.0}, 0.1)

    References
    ----------
    [^1]: Busuttil, S., Kalnishkan, Y. and Gammerman, A., 2006. Two new kernel least squares based methods for
    regression. Technical report CLRC-TR-06-01, Royal Holloway, University of London.
    [^2]: Gammerman, A., Kalnishkan, Y. and Vovk, V., 2004. On-line prediction with kernels and the complexity
    approximation principle. In UAI 2004, pp. 170-176.

    """

    @formerly(ridge_noise="noise_ridge")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        method: Method = "krr",
        ridge: float | None = None,
        ridge_scale: RidgeScale = "absolute",
        iterations: float = 10.0,
        control: float = 0.1,
        center: bool = True,
        bias: bool = False,
        variance: str = "loo",
        noise_kernel: kernels.Kernel | None = None,
        noise_ridge: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.ridge = ridge
        self.ridge_scale = ridge_scale
        self.iterations = iterations
        self.control = control
        self.center = center
        self.bias = bias
        self.variance = variance
        self.noise_kernel = noise_kernel
        self.noise_ridge = noise_ridge

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the samples X and targets y; a sample of weight 2 counts like two, one of weight 0 not at all."""
        self._check_parameters()
        samples, targets = read_training(self, X, y)
        weights = arguments.weights(sample_weight, samples)
        samples, targets, weights = samples[weights > 0.0], targets[weights > 0.0], weights[weights > 0.0]
        self._features = feature_names(self)
        self.X_fit_ = arrange(self, samples)
        self._targets, self._weights = targets, weights
        self.kernel_, ridge = choose(self.kernel, self.ridge, self.X_fit_, self._targets, weights, self._features)
        gram = self.kernel_(self.X_fit_, features=self._features)
        is_relative = self.ridge_scale == "relative" and self.ridge is not None
        scale = float(np.diagonal(gram).mean()) if is_relative else 1.0
        self.ridge_ = float(ridge) * scale
        if not self.ridge_ > 0.0:
            raise ValueError(
                f"ridge {self.ridge!r} is relative to the mean diagonal of {self.kernel_!r}, which is {scale!r}"
            )
        self._system = RidgeSystem(gram, self.ridge_ / weights, self.bias)
        # The variance of b, 1/(1'(K + αI)⁻¹1): the bias that belongs to the targets (K + αI)1, over n.
        self._bias_variance = self._system.solve(gram.sum(axis=1) + self.ridge_ / weights)[1] / len(gram)
        self.mean_ = float(np.average(self._targets, weights=weights)) if self.center else 0.0
        self.dual_coef_, self.bias_ = self._system.solve(self._targets - self.mean_)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Vector | tuple[Vector, Vector]:
        """The predictions of `method`.

        With `return_std`, their standard deviations too, by `variance`.
        """
        samples = read_samples(self, X)
        column, diagonal = self._similarities(samples)
        mean = self._plain(column)
        if self.method != "krr":
            mean = mean * self._factor(self.method, self._u(column, diagonal))
        mean = self.mean_ + mean
        if not return_std:
            return mean
        return mean, np.sqrt(self._variance_model()(samples))

    def _variance_model(self) -> VarianceModel:
        """The variance that the residuals of the fit give."""
        column, diagonal = self._similarities(self.X_fit_)
        fitted = self.mean_ + self._plain(column) * self._factor(self.method, self._u(column, diagonal))
        kernel = self.kernel_ if self.noise_kernel is None else self.noise_kernel
        left_out = self.leave_one_out_residuals_
        residuals = self._targets - fitted
        return VarianceModel(
            self.variance,
            self.X_fit_,
            residuals,
            left_out,
            kernel,
            self.noise_ridge,
            features=self._features,
            weights=self._weights,
        )

    def predict_all(self, X: ArrayLike) -> dict[str, Vector]:
        """The predictions of the four methods by name, from one solve."""
        column, diagonal = self._similarities(read_samples(self, X))
        plain, u = self._plain(column), self._u(column, diagonal)
        return {method: self.mean_ + plain * self._factor(method, u) for method in get_args(Method)}

    @property
    def leave_one_out_residuals_(self) -> Vector:
        """y_i minus the prediction for sample i of the same model fitted without it, in closed form.

        The mean is taken without sample i; the ridge stays that of the whole fit. With Q the matrix from targets to
        coefficients, v + α without sample i is 1/Q_ii, so that u is known and the four methods cost the same.
        """
        check_is_fitted(self)
        y, count = self._targets, len(self._targets)
        if count < 2:
            raise ValueError(f"leave-one-out residuals need at least 2 samples, got {count}")
        weights = self._weights
        means = without_each(weights * y) / without_each(weights) if self.center else np.zeros(count)
        of_y, of_ones = self._system.leave_one_out_residuals(np.column_stack([y, np.ones(count)])).T
        plain = (y - of_y) - means * (1.0 - of_ones)  # the prediction is linear in its targets y − mean
        # 1/Q_ii is v + α/w without sample i.
        u = np.maximum(1.0 / (self.ridge_ * np.diagonal(self._system.inverse)) - 1.0 / weights, 0.0)
        return y - means - plain * self._factor(self.method, u)

    def to_stream(self, threshold: float | None = None, max_size: int | None = None) -> Any:
        """A streaming model of the same method that has learned the training samples, and goes on from there.

        Centered targets stay centered by `mean_`: the learner is then inside a `TargetScaler`, as its `regressor`.
        Features are named as in the fit, or 0, 1, ... if they had no names.

        Parameters
        ----------
        threshold
            As in the streaming class: None keeps every sample and predicts what this model predicts.
        max_size
            As in the streaming class.

        """
        check_is_fitted(self)
        if self.bias:
            raise ValueError("bias must be False for to_stream: use center=True, or add a Constant to the kernel")
        own: dict[str, Any] = {
            "kernel": self.kernel_,
            "ridge": self.ridge_,
            "threshold": threshold,
            "max_size": max_size,
        }
        stream: KRR | KAAR | IKAAR | CKAAR
        match self.method:
            case "krr":
                stream = KRR(**own)
            case "kaar":
                stream = KAAR(**own)
            case "ikaar":
                stream = IKAAR(iterations=self.iterations, **own)
            case "ckaar":
                stream = CKAAR(control=self.control, **own)
        model = TargetScaler(stream, center=self.mean_, unit=1.0) if self.center else stream
        teach(model, self._features, self.X_fit_, self._targets, self._weights)
        return model

    def _similarities(self, samples: Matrix) -> tuple[Matrix, Vector]:
        """The rows k' of similarities to the training samples, and k(x, x)."""
        column = self.kernel_(samples, self.X_fit_, features=self._features)
        check_similarities(column)
        return column, self.kernel_.diagonal(samples, features=self._features)

    def _plain(self, column: Matrix) -> Vector:
        """γ_KRR for the centered targets, eq. (9)."""
        return column @ self.dual_coef_ + self.bias_

    def _u(self, column: Matrix, diagonal: Vector) -> Vector:
        """u = v/α, not below zero: rounding could take it there where a sample is known exactly."""
        weights, bias = self._system.solve(column.T)
        variance = diagonal - (column * weights.T).sum(axis=1)  # type: ignore[union-attr]
        if self.bias:  # with the bias's own uncertainty, (1 − 1'(K + αI)⁻¹k)² / 1'(K + αI)⁻¹1
            variance += self._bias_variance - 2.0 * bias
        return np.maximum(variance, 0.0) / self.ridge_

    def _factor(self, method: str, u: Vector) -> Vector:
        return shrinkage(method, u, float(self.iterations), float(self.control))

    def _check_parameters(self) -> None:
        arguments.kernel("kernel", self.kernel)
        checks.choice("method", self.method, get_args(Method))
        if self.ridge is not None:
            checks.number("ridge", self.ridge, low=0.0, open_low=True)
        checks.choice("ridge_scale", self.ridge_scale, get_args(RidgeScale))
        checks.number("iterations", self.iterations, low=0.0, open_low=True)
        checks.number("control", self.control, low=0.0)
        checks.choice("variance", self.variance, VARIANCES)
        arguments.kernel("noise_kernel", self.noise_kernel)
        checks.number("noise_ridge", self.noise_ridge, low=0.0, open_low=True)
