"""Variances of a kernel ridge regression from its residuals: constant, or a second regression of their squares.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", sections 2.1 and 7.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .. import checks, kernels
from ..core.types import Matrix, Vector
from . import arguments
from .system import Expansion, RidgeSystem

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
    weights
        What each sample counts, None is one: its squared residual counts so in the mean and in the second model. A
        leave-one-out residual is that of the sample as a whole, all that it stands for left out together.

    Attributes
    ----------
    leave_one_out
        The variance at each training input of the estimate without that sample's residual.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import datasets, kernels
    >>> from streamkernel.batch.variances import VARIANCES, VarianceModel
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
        weights: Vector | None = None,
    ) -> None:
        checks.choice("variance", kind, VARIANCES)
        arguments.positive("noise_ridge", ridge)
        arguments.positive("floor", floor)
        squared = (loo_residuals if kind.startswith("loo") else residuals) ** 2
        counts = np.ones(len(squared)) if weights is None else weights
        average = float(np.average(squared, weights=counts))
        self.smallest = floor * average
        if kind.endswith("model"):
            second = RidgeSystem(kernel(samples, features=features), ridge / counts, bias=True)
            coefficients, bias = second.solve(squared)
            self.expansion = Expansion(kernel, samples, np.asarray(coefficients), float(bias), features)
            without = squared - second.leave_one_out_residuals(squared)
        else:
            self.expansion = Expansion(kernel, samples[:0], np.zeros(0), average, features)
            without = _others(counts * squared) / _others(counts)
        self.leave_one_out: Vector = np.maximum(without, self.smallest)

    def __call__(self, X: Matrix) -> Vector:
        """The variances at the rows of X."""
        return np.maximum(self.expansion(X), self.smallest)


def _others(values: Vector) -> Vector:
    """The sum of all others, for each of several numbers; not by a difference, where a large one takes all digits."""
    before, after = np.cumsum(values), np.cumsum(values[::-1])[::-1]
    return np.asarray(np.append(0.0, before[:-1]) + np.append(after[1:], 0.0))
