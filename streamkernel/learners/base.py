"""What every streaming regressor of the library offers: river's methods around a `Recursion`.

A learner is its parameters, its documentation and, where its prediction is not the plain least-squares one, a factor on
it.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from river import base, utils

from .. import checks
from ..checkpoint import Checkpointed
from ..core import stream
from ..core.types import Matrix, Vector
from ..kernels import Feature
from . import reading
from .kernel_learning import KernelLearning, thetas
from .recursion import Recursion
from .widening import warn_of_strangers


class StreamingRegressor(base.Regressor, Checkpointed, abc.ABC):
    """A kernel regressor that learns sample by sample."""

    max_size: int | None
    _model: Recursion
    _learning: KernelLearning | None = None

    @abc.abstractmethod
    def _shrinkage(self, relative_variance: Any) -> Any:
        """The factor on the least-squares prediction where its relative variance is u; None if it is always 1."""

    def learn_one(self, x: Mapping[Feature, Any], y: float, w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.
        w
            The sample's weight: a sample of weight 2 counts like two.

        """
        if self._learning is None:
            self._model.learn(x, (y,), w)
        else:
            self._model = self._learning.learn(self._model, x, (y,), w)

    def predict_one(
        self,
        x: Mapping[Feature, Any],
        with_dist: bool = False,
        with_interval: bool = False,
        interval_level: float = 0.9,
    ) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features.
        with_dist
            Return the predictive distribution, a river `Gaussian`, instead of its mean. Its variance is that of the
            model plus that of the noise, which is estimated from the errors made on samples before they were learned.
        with_interval
            Return the central interval of that distribution, a river `Interval`.
        interval_level
            The probability of the interval.

        """
        if with_interval:
            return interval(self.predict_one(x, with_dist=True), interval_level)
        if not with_dist and self._shrinkage(0.0) is None:
            return self._knowing(x).predict(x)
        mean, variance = self.predict_moments(x)
        return gaussian(mean, variance) if with_dist else mean

    def predict_moments(self, x: Mapping[Feature, Any]) -> tuple[float, float]:
        """Mean and variance of the predictive distribution of the target of `x`."""
        model = self._knowing(x)
        with model.reading:
            mean, variance = self.moments(*model.predict_variance(x))
            if not math.isfinite(variance):
                model.refuse(x, (), 1.0, stream.BAD_SIMILARITY)
            return mean, variance

    def _knowing(self, names: Iterable[Feature]) -> Recursion:
        """The model; where it learns its kernel, one that has scales for all of these features."""
        return self._model if self._learning is None else self._learning.knowing(self._model, names)

    def moments(self, mean: float, residual: float, unlearned: float) -> tuple[float, float]:
        """Mean and variance of the prediction, from what `Recursion.predict_variance` returns."""
        model = self._model
        factor = self._shrinkage(model.relative_variance(residual, unlearned))
        return mean if factor is None else float(mean * factor), predictive_variance(model, residual, unlearned)

    def predict_learn_one(self, x: Mapping[Feature, Any], y: float, w: float = 1.0) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before: one solve for both."""
        model = self._model
        self.learn_one(x, y, w)
        mean = float(model.means[0])
        factor = self._shrinkage(float(model.model.relative_variance))
        return mean if factor is None else float(mean * factor)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn samples in order, as `learn_one` would one after the other, several times faster.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.
        w
            Weights, one for each sample.

        """
        if w is None and reading.is_one_row(X, y):
            self.learn_one(dict(enumerate(X[0].tolist())), y.item())
            return
        names, rows, _ = reading.frame(X)
        targets = reading.column("y", y, len(rows))
        self.learn_rows(names, rows, targets, None if w is None else reading.column("w", w, len(rows)))

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        names, rows, data = reading.frame(X)
        warn_of_strangers(self._model.names, names)
        model = self._knowing(names)
        if self._shrinkage(0.0) is None:
            means = model.predict_many(names, rows)[:, 0]
        else:
            plain, residuals, unlearned = model.predict_variances(names, rows)
            means = plain[:, 0] * self._shrinkage(model.relative_variance(residuals, unlearned))
        return means if data is None else utils.dataframe.to_native_series(means, name=None, like=data)

    def learn_rows(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, weights: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Learn samples in order: the predictions made before each was learned, and the sizes after each.

        Parameters
        ----------
        names
            The features.
        rows
            Finite numbers, one row a sample, one column a feature.
        targets
            One for each sample.
        weights
            One for each sample, 1 if they are not given.

        """
        if self._learning is not None:
            return self._learn_each(names, rows, targets, np.ones(len(rows)) if weights is None else weights)
        means, relative_variances, sizes = self._model.predict_learn_many(names, rows, targets[:, None], weights)
        plain = means[:, 0]
        factors = self._shrinkage(relative_variances)
        return plain if factors is None else plain * factors, sizes

    def _learn_each(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, weights: Vector
    ) -> tuple[Vector, Vector]:
        """`learn_rows` for a model whose kernel may change after any sample."""
        predictions, sizes = np.empty(len(rows)), np.empty(len(rows))
        before = copy.deepcopy(self._get_state())
        try:
            for i, row in enumerate(rows.tolist()):
                x = dict(zip(names, row, strict=True))
                predictions[i], sizes[i] = self.predict_learn_one(x, float(targets[i]), float(weights[i])), self.size
        except Exception:  # all or nothing is learned
            self._set_state(before)
            raise
        return predictions, sizes

    @property
    def recursion(self) -> Recursion:
        """What was learned: the least-squares model behind the predictions."""
        return self._model

    @property
    def learns_kernel(self) -> bool:
        """Whether the kernel is learned from the stream."""
        return self._learning is not None

    @property
    def is_plain(self) -> bool:
        """Whether the prediction is the least-squares one, with noise of one variance."""
        return self._shrinkage(0.0) is None and not self._model.form.has_noise

    def renew(self) -> None:
        """Forget everything that was learned."""
        self._model = self._model.renewed(self._model.kernel)

    def limit(self, max_size: int | None) -> None:
        """Set the most points that the dictionary may have, and let those leave that are too many."""
        checks.size("max_size", max_size)
        self.max_size = max_size
        self._model.limit(max_size)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features seen so far, in order."""
        return self._model.names

    @property
    def noise_variance(self) -> float:
        """σ², the variance of the noise as the errors made before learning show it."""
        return self._model.noise_variance

    @property
    def size(self) -> int:
        """The number of points in the samples."""
        return self._model.size

    @property
    def dictionary(self) -> list[dict[Feature, float]]:
        """The points of the dictionary as feature dicts, in the order in which they joined."""
        return self._model.points

    @property
    def coefficients(self) -> Vector:
        """α̃, one for each point: the least-squares prediction is Σ_j α̃_j k(x_j, x)."""
        return self._model.coefficients[0]

    @property
    def refused(self) -> int:
        """How many novel samples were learned without joining, to keep the kernel matrix well conditioned."""
        return self._model.model.refused

    @property
    def relevance(self) -> dict[Feature, float]:
        """θ_r = 1/(2ℓ_r²) of every feature: how much it matters to the Gaussian part of the kernel."""
        return thetas(self._model.effective_kernel(), self._model.names)

    def _get_state(self) -> dict[str, Any]:
        state = self._model.__getstate__()
        return state if self._learning is None else {"model": state, "learning": self._learning.get_state()}

    def _set_state(self, state: dict[str, Any]) -> None:
        if self._learning is not None:
            self._learning.set_state(state["learning"])
            state = state["model"]
        self._model.__setstate__(state)


def predictive_variance(model: Recursion, residual: float, unlearned: float) -> float:
    """σ²(1 + z'Pz) plus what the dictionary cannot see; the kernel's own prior before anything was learned."""
    if not model.seen:
        return residual
    return model.noise_variance * (model.relative_noise + unlearned) + model.prior_variance * residual


def interval(distribution: Any, level: float) -> Any:
    """The central interval of a Gaussian, a river `Interval`."""
    from river.conf.interval import Interval
    from scipy.special import ndtri

    checks.number("interval_level", level, low=0.0, high=1.0)
    reach = float(ndtri((1.0 + level) / 2.0)) * distribution.sigma
    return Interval(distribution.mu - reach, distribution.mu + reach)


def gaussian(mean: float, variance: float) -> Any:
    """A river Gaussian with this mean and variance."""
    from river import proba  # imports scipy.stats, which takes longer than everything else together

    return proba.Gaussian._from_state(n=1, m=mean, var=max(variance, math.ulp(0.0)), ddof=0)


def standard_deviation(variance: float) -> float:
    """The `sigma` of the `gaussian` with this variance, without making one, which takes longer than a prediction."""
    deviation: float = max(variance, math.ulp(0.0)) ** 0.5  # as river takes the root, to the last bit
    return deviation
