"""Kernel parameters and ridges by the cross-validated negative log predictive density (NLPD).

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", section 4.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing

from .. import kernels
from ..core.types import Matrix, Vector
from .heteroscedastic import HeteroscedasticRidge

__all__ = ["Selection", "nlpd", "select", "with_ard"]

# The grid, as factors of the estimator's own parameters, and the first step of the search after it (log).
RIDGE_FACTORS = (0.01, 0.1, 1.0, 10.0)
SCALE_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIMPLEX_STEP = 0.5
SEARCH_TOLERANCE, SEARCH_ITERATIONS = 1e-5, 100
SWEEPS, SWEEP_FACTORS = 2, (0.25, 0.5, 2.0, 4.0)


def nlpd(targets: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """The mean negative log density of targets under Gaussians: half of loss (2), and ½ log 2π.

    Examples
    --------

    >>> from streamkernel.batch.nlpd_search import nlpd
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
    `noise_kernel`, `ridge` and `noise_ridge`.

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
    >>> from streamkernel.batch import LOOHKRR, select
    >>> X, y = datasets.Heteroscedastic(seed=1).arrays(40)
    >>> best = select(LOOHKRR(), X, y, max_evaluations=20)
    >>> round(best.nlpd, 1)
    0.4

    """
    samples, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    base = clone(estimator)
    if base.kernel is None:
        base.set_params(kernel=kernels.default(samples.shape[1]))
    if base.ridge is None:
        base.set_params(ridge=1.0 / (float(targets.var()) or 1.0) if isinstance(base, HeteroscedasticRidge) else 0.01)
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
    >>> from streamkernel.batch.nlpd_search import with_ard
    >>> with_ard(kernels.RBF(2.0) + 0.1 * kernels.Linear(), 2)
    RBF((2.0, 2.0)) + 0.1 * Linear()

    """
    if isinstance(kernel, kernels.Sum | kernels.Product):
        return type(kernel)(with_ard(kernel.left, n_features), with_ard(kernel.right, n_features))
    if isinstance(kernel, kernels.Odd):
        return kernels.Odd(with_ard(kernel.kernel, n_features))
    scale = getattr(kernel, "length_scale", None)
    if not isinstance(scale, float):
        return kernel
    return dataclasses.replace(kernel, length_scale=(scale,) * n_features)  # type: ignore[type-var]


class _Search:
    """The criterion as a function of the logarithms of the ridges and of the kernel parameters."""

    def __init__(self, base: Any, X: ArrayLike, targets: Vector, folds: list[tuple[Any, Any]] | None) -> None:
        parameters = base.get_params(deep=False)
        if isinstance(base, HeteroscedasticRidge):  # the criterion needs no more
            base = clone(base).set_params(tolerance=SEARCH_TOLERANCE, max_iterations=SEARCH_ITERATIONS)
        self.base, self.X, self.targets, self.folds = base, X, targets, folds
        self.ridge_names = sorted(
            name for name, value in parameters.items() if "ridge" in name.split("_") and isinstance(value, numbers.Real)
        )[::-1]
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


def _folds(cv: Any, samples: Matrix, targets: Vector, seed: int) -> list[tuple[Any, Any]] | None:
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be 'loo', a number of folds or a splitter, got {cv!r}")
        return None
    splitter = KFold(cv, shuffle=True, random_state=seed) if isinstance(cv, numbers.Integral) else check_cv(cv)
    return list(splitter.split(samples, targets))
