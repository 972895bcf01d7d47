"""Least-squares support vector machines, their kernel and ridge chosen by leave-one-out or k-fold cross-validation.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, §2: eqs. (1) to (4).
Paper -> code: λ ridge, θ theta (scales), α coefficients, b bias.

The kernel of eqs. (1) and (2) is in `scales`, the criteria and the search in `cross_validation`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .. import checks, kernels
from ..core.types import Matrix, Vector
from ..criteria import Expression
from . import arguments
from .classifier import KernelClassifier
from .cross_validation import PARAMETER_REACH, RIDGE_STARTS, SCALE_STARTS, copies_left_out, least_error
from .features import feature_names
from .folds import HeldOut, make_folds
from .scales import Scales, as_kernel, length_scales, start_scale
from .system import RidgeSystem

__all__ = ["LSSVM"]

ARD: Sequence[Any] = (False, True)
SELECTIONS: Sequence[Any] = ("loo", "kfold", None)


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

    def _learn(self, X: Matrix, targets: Matrix, weights: Vector) -> HeldOut:
        if not (self.kernel is None or isinstance(self.kernel, kernels.Kernel)):
            raise TypeError(f"kernel must be a kernel of streamkernel.kernels or None, got {self.kernel!r}")
        if self.ard and not (self.kernel is None or isinstance(self.kernel, kernels.RBF)):
            raise ValueError(f"ard=True needs an RBF kernel, got kernel={self.kernel!r}")
        arguments.positive_or_none("ridge", self.ridge)
        checks.choice("ard", self.ard, ARD)
        checks.choice("selection", self.selection, SELECTIONS)
        checks.whole("folds", self.folds, low=2)

        names = feature_names(self)
        self.kernel_, self.ridge_ = self._choose(X, targets, weights, names)
        system = RidgeSystem(self.kernel_(X, features=names), self.ridge_ / weights, bias=True)
        self.dual_coef_, self.intercept_ = system.solve(targets)  # type: ignore[assignment]
        if isinstance(self.kernel_, kernels.RBF):
            theta = 0.5 / np.broadcast_to(length_scales(self.kernel_, names), len(names)) ** 2
            self.relevance_ = dict(zip(names, theta.tolist(), strict=True))
        residuals, _ = copies_left_out(system, targets, weights)
        return HeldOut(targets - residuals, np.arange(len(X)), weights)

    def _choose(
        self, X: Matrix, targets: Matrix, weights: Vector, names: list[Hashable]
    ) -> tuple[kernels.Kernel, float]:
        """The kernel and the ridge, selected or as given."""
        kernel = as_kernel(np.array([start_scale(X, weights)]), names) if self.kernel is None else self.kernel
        if self.selection is None:
            return kernel, 1.0 if self.ridge is None else float(self.ridge)
        folds = None
        if self.selection == "kfold":
            folds = make_folds(len(X), self.folds, self.random_state, weights, np.hstack([X, targets]))
        starts = list(itertools.product(SCALE_STARTS, RIDGE_STARTS if self.ridge is None else (self.ridge,)))
        scales = length_scales(kernel, names) if isinstance(kernel, kernels.RBF) else np.array([np.inf])
        if not np.isfinite(scales).all():  # any other kernel, or an RBF with features switched off
            family = Expression(X, names, kernel, reach=PARAMETER_REACH)
            parameters, ridge = least_error(family, targets, folds, self.ridge, starts, weights)
            return family.kernel(parameters), ridge
        log_theta, ridge = least_error(Scales(X, 0.5 / scales**2), targets, folds, self.ridge, starts, weights)
        if self.ard and len(log_theta) < len(names):
            separate = Scales(X, np.full(len(names), math.exp(log_theta[0])))
            log_theta, ridge = least_error(separate, targets, folds, self.ridge, [(1.0, ridge)], weights)
        return as_kernel(np.exp(log_theta), names), ridge
