"""What the least-squares classifiers share: targets ±1, decisions, probabilities and the way to a stream."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import kernels
from ..core.types import Matrix, Vector
from ..learners.lssvm import LSSVMClassifier
from . import arguments
from .features import arrange, expand, feature_names, teach
from .folds import HeldOut, bring_together
from .parameters import KernelParameters


def per_class(decisions: Matrix) -> Matrix:
    """Decisions with one column per class: two opposite ones when there are two classes."""
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions


def calibrate(decisions: Matrix, labels: NDArray[np.intp], counts: Vector | float = 1.0) -> float:
    """The slope s ≥ 0 for which softmax(s · decisions) is the likeliest explanation of held-out labels.

    A common positive slope keeps the most probable class the predicted one.
    """
    rows = np.arange(len(labels))

    def loss(slope: float) -> float:
        return -float((counts * special.log_softmax(slope * decisions, axis=1)[rows, labels]).sum())

    # Convex in the slope. Beyond the upper end the probabilities of unit margins are 0 and 1 in double precision.
    return float(optimize.minimize_scalar(loss, bounds=(0.0, 40.0), method="bounded").x)


class KernelClassifier(KernelParameters, ClassifierMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
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
    def _learn(self, X: Matrix, targets: Matrix, weights: Vector) -> HeldOut:
        """Set the fitted attributes; return held-out decisions, one column per target."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples X and their classes y; one of weight 2 counts like two, one of weight 0 not at all."""
        samples, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        samples, classes, weights = bring_together(samples, classes, arguments.weights(sample_weight, samples))
        self.classes_, labels = np.unique(classes, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, got one class {self.classes_[0]!r}"
            )
        samples = arrange(self, samples)
        targets = np.where(labels[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        held_out = self._learn(samples, targets[:, 1:] if len(self.classes_) == 2 else targets, weights)
        self.X_fit_, self._labels, self._weights = samples, labels, weights
        self.calibration_ = calibrate(per_class(held_out.predictions), labels[held_out.rows], held_out.counts)
        return self

    def decision_function(self, X: ArrayLike) -> Matrix | Vector:
        """f(x) = Σ α_i k(x_i, x) + b; a column per class when there are more than two."""
        decisions = expand(self, X)
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
        teach(stream, feature_names(self), self.X_fit_, self.classes_[self._labels].tolist(), self._weights)
        return stream
