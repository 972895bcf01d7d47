"""Coupled kernel ensemble regression: one ridge regression for each of L kernels, weighted by their losses.

Wornyo, Ocquaye & Bediako-Kyeremeh, "Coupled kernel ensemble regression", section 3.2: eqs. (9) to (14).
Paper -> code: λ ridge, ζ_i loss, W_i weight, r r, L the number of kernels.

Three equations are not used as they are printed:

- (11) and (12), the coefficients of one regression: see `experts`.
- (13) has the exponent r − 1. The minimum of Σ W_i^r ζ_i over ΣW_i = 1 is W_i ∝ ζ_i^(−1/(r−1)); the two agree at r = 2
  only. r → 1 leaves the best kernel alone, as the text says of r = 1, and r → ∞ weighs all the same; the print does
  the opposite.
- ζ_i is printed as the loss on the samples that were fitted, which favors kernels that fit noise. The default here is
  the squared leave-one-out error, which has a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import checks
from ..core.types import Matrix, Vector
from ..ensembles import KernelMixture, KernelMixtureClassifier, coupled_weights
from ..kernels import Kernel
from ..learners import KRR, LSSVMClassifier
from .classifier import KernelClassifier
from .experts import Experts, default_kernels
from .features import arrange, feature_names, read_samples, read_training, teach
from .folds import HeldOut, read_weighted

__all__ = ["CoKER", "CoKERClassifier"]

Zeta = Literal["loo", "in_sample"]


def combine(weights: Vector, values: Matrix) -> Matrix:
    """Eq. (14): Σ W_i f_i."""
    return np.asarray(np.tensordot(weights, values, axes=1))


def check_arguments(kernels: Any, ridge: Any, r: Any, zeta: Any) -> None:
    """An error that names the argument and the value."""
    if kernels is not None:
        if not isinstance(kernels, Sequence) or isinstance(kernels, str):
            raise TypeError(f"kernels must be a sequence of streamkernel.kernels or None, got {kernels!r}")
        if not kernels:
            raise ValueError(f"kernels must hold at least one kernel, got {kernels!r}")
        for i, kernel in enumerate(kernels):
            if not isinstance(kernel, Kernel):
                raise TypeError(f"kernels[{i}] must be one of streamkernel.kernels, got {kernel!r}")
    checks.number("ridge", ridge, low=0.0, open_low=True)
    checks.number("r", r, low=1.0, open_low=True)
    checks.choice("zeta", zeta, get_args(Zeta))


class CoKER(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Coupled kernel ensemble regression: kernel ridge regressions with different kernels, weighted by their losses.

    No kernel has to be chosen: those that predict well get the weight. A fit costs L times that of one kernel, O(n³), a
    prediction O(Ln).

    Parameters
    ----------
    kernels
        The L kernels. The default is `experts.default_kernels`: RBF, Laplacian, Matern and polynomial ones, whose
        widths follow the features' variance. Standardize features that have different units.
    ridge
        λ, greater than 0, the same for every kernel; the paper's is 0.1.
    r
        How evenly the weights are spread, greater than 1: near 1 the best kernel stands alone, a large r is the plain
        mean. The paper's is 2.
    zeta
        The loss ζ that the weights come from: "loo" is the squared leave-one-out error; "in_sample" is the regularized
        loss on the training samples, as printed, which favors kernels that fit noise.

    Attributes
    ----------
    weights_
        W, one for each kernel; they are not negative and sum to one.
    losses_
        ζ of each kernel.
    kernels_
        The kernels as used.
    dual_coef_
        α, one row for each kernel.
    intercept_
        b of each kernel.
    X_fit_
        The training samples, columns in sorted order of their names.
    leave_one_out_residuals_
        y_i minus the ensemble of the kernels' predictions without sample i, or without one of it where it counts as
        several; the weights are those of all samples.

    Examples
    --------

    >>> from streamkernel import datasets
    >>> from streamkernel.batch import CoKER
    >>> X, y = datasets.MexicanHat(noise=0.2, seed=1).arrays(80)
    >>> model = CoKER(r=1.2).fit(X, y)
    >>> model.predict([[0.1], [3.0]]).round(2)
    array([0.83, 0.02])
    >>> for weight, kernel in sorted(zip(model.weights_, model.kernels_), key=lambda pair: -pair[0])[:3]:
    ...     print(round(float(weight), 2), kernel)
    0.25 RBF(2.8...)
    0.22 Matern32(5.7...)
    0.2 Laplacian(23.1...)

    References
    ----------
    [^1]: Wornyo, D. K., Ocquaye, E. N. N. and Bediako-Kyeremeh, B. Coupled kernel ensemble regression.

    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        ridge: float = 0.1,
        r: float = 2.0,
        zeta: Zeta = "loo",
    ) -> None:
        self.kernels = kernels
        self.ridge = ridge
        self.r = r
        self.zeta = zeta

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the samples X and targets y; a sample of weight 2 counts like two, one of weight 0 not at all."""
        check_arguments(self.kernels, self.ridge, self.r, self.zeta)
        # A sample left out leaves none of one.
        samples, targets = read_training(self, X, y, fewest=2)
        samples, self._targets, weights = read_weighted(self, samples, targets, sample_weight)
        self.X_fit_, self._weights = arrange(self, samples), weights
        self.kernels_ = default_kernels(self.X_fit_, weights) if self.kernels is None else tuple(self.kernels)
        names = feature_names(self)
        self._experts = Experts(self.kernels_, self.X_fit_, names, self._targets[:, None], float(self.ridge), weights)
        self.losses_ = self._experts.losses[self.zeta]
        self.weights_ = coupled_weights(self.losses_, float(self.r))
        self.dual_coef_, self.intercept_ = self._experts.coefficients[:, :, 0], self._experts.biases[:, 0]
        return self

    def predict(self, X: ArrayLike) -> Vector:
        """The weighted mean of the kernels' predictions, eq. (14)."""
        predictions = self.predict_all(X)
        return combine(self.weights_, predictions)

    def predict_all(self, X: ArrayLike) -> Matrix:
        """The predictions of each kernel alone, one row for each."""
        samples = read_samples(self, X)
        return self._experts(samples)[:, :, 0]

    @property
    def leave_one_out_residuals_(self) -> Vector:
        """y_i minus the ensemble of the kernels' predictions without sample i, or one of it; the weights stay."""
        check_is_fitted(self)
        return combine(self.weights_, self._experts.left_out)[:, 0]

    def to_stream(
        self, threshold: float | None = None, max_size: int | None = None, bias: float = 1e4, **options: Any
    ) -> Any:
        """A `KernelMixture` of streaming ridge regressions that have learned the training samples, and goes on.

        Its experts have these kernels and this ridge, it weighs them by the paper's rule, and it starts with these
        weights. Features are named as in the fit, or 0, 1, ... if they had no names.

        Parameters
        ----------
        threshold
            As in `KRR`: None keeps every sample and predicts what this model predicts.
        max_size
            As in `KRR`.
        bias
            The prior variance of the constant term of each expert, which has no prior here.
        options
            Further arguments of `KernelMixture`, or others for its `weighting`, `power` and `initial_weights`.

        """
        check_is_fitted(self)
        checks.number("bias", bias, low=0.0, open_low=True)
        names, models = feature_names(self), []
        for kernel in self.kernels_:
            stream = KRR(kernel + bias, ridge=float(self.ridge), threshold=threshold, max_size=max_size)
            teach(stream, names, self.X_fit_, self._targets, self._weights)
            models.append(stream)
        start = tuple(self.weights_.tolist())
        own: dict[str, Any] = {"weighting": "coker", "power": float(self.r), "initial_weights": start}
        return KernelMixture(models=models, **(own | options))


class CoKERClassifier(KernelClassifier):
    """Coupled kernel ensemble for classification: `CoKER` on targets ±1.

    More than two classes are one against the rest, with one weight for each kernel, whose loss is summed over them.

    Parameters
    ----------
    kernels
        As in `CoKER`.
    ridge
        As in `CoKER`.
    r
        As in `CoKER`.
    zeta
        As in `CoKER`.

    Attributes
    ----------
    weights_
        W, one for each kernel; they are not negative and sum to one.
    losses_
        ζ of each kernel.
    kernels_
        The kernels as used.
    dual_coef_
        α, indexed [kernel, sample, output].
    intercept_
        b, indexed [kernel, output].
    calibration_
        The slope from decisions to probabilities, fitted to leave-one-out decisions.
    X_fit_
        The training samples, columns in sorted order of their names.

    Examples
    --------

    >>> from sklearn.datasets import make_moons
    >>> from streamkernel.batch import CoKERClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = CoKERClassifier().fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:])
    0.95
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.99, 0.01]])

    References
    ----------
    [^1]: Wornyo, D. K., Ocquaye, E. N. N. and Bediako-Kyeremeh, B. Coupled kernel ensemble regression.

    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        ridge: float = 0.1,
        r: float = 2.0,
        zeta: Zeta = "loo",
    ) -> None:
        self.kernels = kernels
        self.ridge = ridge
        self.r = r
        self.zeta = zeta

    def _learn(self, X: Matrix, targets: Matrix, weights: Vector) -> HeldOut:
        check_arguments(self.kernels, self.ridge, self.r, self.zeta)
        self.kernels_ = default_kernels(X, weights) if self.kernels is None else tuple(self.kernels)
        self._experts = Experts(self.kernels_, X, feature_names(self), targets, float(self.ridge), weights)
        self.losses_ = self._experts.losses[self.zeta]
        self.weights_ = coupled_weights(self.losses_, float(self.r))
        self.dual_coef_, self.intercept_ = self._experts.coefficients, self._experts.biases
        return HeldOut(targets - combine(self.weights_, self._experts.left_out), np.arange(len(X)), weights)

    def decision_function(self, X: ArrayLike) -> Matrix | Vector:
        """The weighted mean of the kernels' decisions, eq. (14); a column per class when there are more than two."""
        samples = read_samples(self, X)
        decisions = combine(self.weights_, self._experts(samples))
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def to_stream(  # type: ignore[override]
        self, threshold: float = 1e-4, max_size: int | None = 500, bias: float = 100.0, **options: Any
    ) -> Any:
        """A `KernelMixtureClassifier` of `LSSVMClassifier`s that have learned the training samples, and goes on.

        It weighs them by the paper's rule and starts with these weights. Features are named as in the fit, or 0, 1, ...
        if they had no names.

        Parameters
        ----------
        threshold
            ν of the streaming class.
        max_size
            The largest dictionary of each; None is no bound.
        bias
            The prior variance of the constant term of each, which has no prior here.
        options
            Further arguments of `KernelMixtureClassifier`, or others for its `weighting`, `power` and
            `initial_weights`.

        """
        check_is_fitted(self)
        names, models = feature_names(self), []
        labels = self.classes_[self._labels].tolist()
        for kernel in self.kernels_:
            stream = LSSVMClassifier(kernel, threshold=threshold, ridge=float(self.ridge), bias=bias, max_size=max_size)
            teach(stream, names, self.X_fit_, labels, self._weights)
            models.append(stream)
        start = tuple(self.weights_.tolist())
        own: dict[str, Any] = {"weighting": "coker", "power": float(self.r), "initial_weights": start}
        return KernelMixtureClassifier(models=models, **(own | options))
