"""FLKL: a classifier and a regressor that learn the scales of their kernel at the first level of inference.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53. The algorithm is in
`first_level`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from .. import checks
from ..core.types import Matrix, Vector
from ..learners.krls import KRLS
from ..targets import TargetScaler
from . import arguments
from .classifier import KernelClassifier
from .features import arrange, expand, feature_names, read_training, teach
from .first_level import first_level
from .folds import HeldOut, bring_together, read_weighted
from .scales import as_kernel
from .system import RidgeSystem

__all__ = ["FLKL", "FLKLRegressor"]

ARD: Sequence[Any] = (True, False, "auto")


def _fit(estimator: Any, X: Matrix, targets: Matrix, weights: Vector) -> HeldOut:
    """Check the parameters, learn the kernel, set the fitted attributes; return the held-out predictions."""
    e = estimator
    checks.choice("ard", e.ard, ARD)
    arguments.positive_or_none("ridge", e.ridge)
    arguments.positive_or_none("penalty", e.penalty)
    checks.whole("folds", e.folds, low=2)
    arguments.check_moderate("X", X)
    learned = first_level(X, targets, e.ard, e.ridge, e.penalty, e.folds, e.random_state, is_classifier(e), weights)
    names = feature_names(estimator)
    e.kernel_, e.ridge_, e.penalty_ = as_kernel(learned.theta, names), learned.ridge, learned.penalty
    e.relevance_ = dict(zip(names, np.broadcast_to(learned.theta, len(names)).tolist(), strict=True))
    gram = e.kernel_(X, features=names)
    e.dual_coef_, e.intercept_ = RidgeSystem(gram, learned.ridge / weights, bias=True).solve(targets)
    e.X_fit_, e.outer_loss_ = X, learned.losses
    return learned.held_out


class FLKL(KernelClassifier):
    """Least-squares support vector machine that learns the scale of every feature together with its coefficients.

    Scales and coefficients minimize the training criterion of eq. (5), so that k-fold cross-validation has two numbers
    to choose however many features there are, λ and μ, and over-fits little. Features that do not help get the scale
    zero. More than two classes are one against the rest over one kernel. A step of the descent costs one fit, O(n³),
    and a few hundred are taken. Standardize the features first: the penalty compares their scales.

    Parameters
    ----------
    ard
        True: a scale for each feature, eq. (2). False: one scale for all, eq. (1). `"auto"`: the leave-one-out choice
        of one scale (`LSSVM()`), unless a scale for each feature has a squared error in a further k-fold
        cross-validation that is smaller by more than a standard error, and makes fewer wrong decisions there, by more
        than two standard errors.
    ridge
        λ, the penalty on the squared norm of the weights. None is chosen by k-fold cross-validation.
    penalty
        μ, the penalty on the squared norm of the scales. None is chosen by k-fold cross-validation.
    folds
        k.
    random_state
        Seed of the folds.

    Attributes
    ----------
    relevance_
        θ by feature name; zero where a feature is not used.
    kernel_, ridge_, penalty_
        The kernel, λ and μ that are used; μ is 0 where `ard="auto"` kept the one scale.
    outer_loss_
        The mean squared error in the further k-fold cross-validation: "learned" of learned scales, "common" of the
        leave-one-out choice of one scale, and the "standard error" of their difference; "learned wrong", "common wrong"
        and "wrong standard error" are those of the shares of wrong decisions.

    Examples
    --------

    Only the first two of four features matter:

    >>> import numpy as np
    >>> from streamkernel.batch import FLKL
    >>> X = np.random.default_rng(0).normal(size=(120, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> model = FLKL().fit(X, y)
    >>> sorted(sorted(model.relevance_, key=model.relevance_.get)[2:])
    [0, 1]
    >>> model.predict([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0]])
    array(['same', 'opposite'], dtype='<U8')

    References
    ----------
    [^1]: Cawley, G. C. and Talbot, N. L. C., 2014. Kernel learning at the first level of inference. Neural Networks 53.

    """

    def __init__(
        self,
        ard: bool | str = True,
        ridge: float | None = None,
        penalty: float | None = None,
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.ard = ard
        self.ridge = ridge
        self.penalty = penalty
        self.folds = folds
        self.random_state = random_state

    def _learn(self, X: Matrix, targets: Matrix, weights: Vector) -> HeldOut:
        return _fit(self, X, targets, weights)


class FLKLRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel ridge regression that learns the scale of every feature together with its coefficients.

    As `FLKL`, with the targets themselves in eq. (5) in place of ±1. The targets are brought to zero mean and unit
    variance first, so that `ridge` and `penalty` do not depend on their unit.

    Parameters
    ----------
    ard
        As in `FLKL`; for `"auto"` the squared error decides.
    ridge
        λ, the penalty on the squared norm of the weights. None is chosen by k-fold cross-validation.
    penalty
        μ, the penalty on the squared norm of the scales. None is chosen by k-fold cross-validation.
    folds
        k.
    random_state
        Seed of the folds.

    Attributes
    ----------
    relevance_
        θ by feature name; zero where a feature is not used.
    kernel_, ridge_, penalty_
        The kernel, λ and μ that are used.
    outer_loss_
        As in `FLKL`, squared errors in units of the targets' variance.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch import FLKLRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = FLKLRegressor().fit(X, np.sin(2 * X[:, 1]))
    >>> max(model.relevance_, key=model.relevance_.get)
    1
    >>> model.predict([[0.0, 0.5, 0.0]]).round(2)
    array([0.84])

    References
    ----------
    [^1]: Cawley, G. C. and Talbot, N. L. C., 2014. Kernel learning at the first level of inference. Neural Networks 53.

    """

    def __init__(
        self,
        ard: bool | str = True,
        ridge: float | None = None,
        penalty: float | None = None,
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.ard = ard
        self.ridge = ridge
        self.penalty = penalty
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples X and their targets y; one of weight 2 counts like two, one of weight 0 not at all."""
        samples, targets = read_training(self, X, y, fewest=2)
        samples, targets, weights = bring_together(*read_weighted(self, samples, targets, sample_weight))
        total = math.fsum(weights)  # sums that do not depend on the order, as `first_level` does not
        self._center = math.fsum(weights * targets) / total
        self._spread = math.sqrt(math.fsum(weights * (targets - self._center) ** 2) / total) or 1.0
        self._targets, self._weights = targets, weights
        _fit(self, arrange(self, samples), ((targets - self._center) / self._spread)[:, None], weights)
        return self

    def predict(self, X: ArrayLike) -> Vector:
        """f(x) = Σ α_i k(x_i, x) + b, in the unit of the targets."""
        standardized = expand(self, X)[:, 0]
        return np.asarray(self._center + self._spread * standardized)

    def to_stream(self, threshold: float = 1e-4, max_size: int | None = 500, bias: float = 100.0) -> TargetScaler:
        """A `KRLS` with this kernel and ridge that has learned the training samples, and goes on.

        It stands inside a `TargetScaler`, which brings the targets to the scale they had in the fit.
        Features are named as in the fit, or 0, 1, ... if they had no names.

        Parameters
        ----------
        threshold
            ν of `KRLS`.
        max_size
            The largest dictionary; None is no bound.
        bias
            The prior variance of the constant term, which has no prior here.

        """
        check_is_fitted(self)
        learner = KRLS(self.kernel_ + bias, threshold=threshold, ridge=self.ridge_, max_size=max_size)
        stream = TargetScaler(learner, center=self._center, unit=self._spread)
        teach(stream, feature_names(self), self.X_fit_, self._targets, self._weights)
        return stream
