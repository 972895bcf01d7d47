"""Kernel recursive least squares for several targets at once.

The targets of Engel, Mannor & Meir's recursion meet nothing but the weights: dictionary, factor, projection, covariance
and gain are those of the inputs alone. So any number of targets shares them, and each adds O(m) to a step of O(m²).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from river import base, utils

from .. import checks, kernels
from ..checkpoint import Checkpointed
from ..core import stream
from ..core.forgetting import RULES
from ..core.types import Vector
from ..kernels import Feature
from . import reading
from .base import gaussian, interval
from .kernel_learning import KernelLearning, check_kernel_learning, thetas
from .recursion import Recursion


class MultiTargetKRLS(base.MultiTargetRegressor, Checkpointed):
    """`KRLS` for several targets over one dictionary and one covariance.

    The predictions are those of one `KRLS` for each target, for little more than the price of one: a step costs O(m²)
    for the dictionary and O(m) for each target. The first sample says which targets there are; each has a noise
    variance of its own, and so a predictive distribution of its own.

    Parameters
    ----------
    kernel
        As in `KRLS`.
    threshold
        ν, as in `KRLS`.
    ridge
        α, as in `KRLS`, for every target.
    forgetting
        As in `KRLS`.
    forget
        As in `KRLS`.
    max_size
        As in `KRLS`. The point whose loss changes the posterior of all targets together least leaves: bring targets of
        different units to one scale.
    kernel_learning
        As in `KRLS`; the scales are those of all targets together.

    Examples
    --------

    >>> import math
    >>> from streamkernel import MultiTargetKRLS, kernels

    >>> model = MultiTargetKRLS(kernels.RBF(1.0), ridge=1e-3)
    >>> for i in range(200):
    ...     t = 0.1 * (i % 63)
    ...     model.learn_one({"t": t}, {"sine": math.sin(t), "cosine": math.cos(t)})

    >>> model.predict_one({"t": 1.0})
    {'sine': 0.84..., 'cosine': 0.53...}
    >>> model.predict_one({"t": 1.0}, with_dist=True)["cosine"]
    𝒩(μ=0.539, σ=...)

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-3,
        ridge: float = 0.0,
        forgetting: float = 1.0,
        forget: str = RULES[0],
        max_size: int | None = None,
        kernel_learning: str | None = None,
    ) -> None:
        kernels.check(kernel)
        checks.number("threshold", threshold, low=0.0)
        checks.number("ridge", ridge, low=0.0)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.choice("forget", forget, RULES)
        checks.size("max_size", max_size)
        check_kernel_learning(kernel_learning, kernel)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.forgetting = forgetting
        self.forget = forget
        self.max_size = max_size
        self.kernel_learning = kernel_learning
        self._learning = KernelLearning(kernel_learning, forgetting == 1.0) if kernel_learning else None
        self._targets: tuple[Feature, ...] = ()
        self._model = Recursion(kernel, threshold, ridge, forgetting, forget, max_size)

    def learn_one(self, x: Mapping[Feature, Any], y: Mapping[Feature, Any], w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A dictionary of targets; all samples have the same.
        w
            The sample's weight.

        """
        if not self._targets:
            self._begin(x, y, w)
            try:
                self.learn_one(x, y, w)
            except Exception:
                self._restart()
                raise
            return
        try:
            targets = [y[target] for target in self._targets]
        except (KeyError, TypeError):
            self._refuse(y)
        if len(targets) != len(y):
            self._refuse(y)
        try:
            if self._learning is None:
                self._model.learn(x, targets, w)
            else:
                self._model = self._learning.learn(self._model, x, targets, w)
        except (TypeError, ValueError):
            check_values(y)  # names the target, where one is to blame
            raise

    def _begin(self, x: Mapping[Feature, Any], y: Any, w: float) -> None:
        """Take note of the targets, once the first sample is known to be good."""
        if not isinstance(y, Mapping) or not y:
            raise TypeError(f"y must be a dict of targets, got {y!r}")
        check_values(y)
        self._knowing(x).check(x, w)
        self._prepare(tuple(y))

    def _restart(self) -> None:
        """Be as new: the first sample was refused after all."""
        fresh = type(self)(**self._parameters())
        self._model, self._learning, self._targets = fresh._model, fresh._learning, ()

    def _prepare(self, targets: tuple[Feature, ...]) -> None:
        """Make room for these targets."""
        for _ in targets[1:]:
            self._model.add_output()
            if self._learning is not None:
                self._learning.window.add_output()
        self._targets = targets

    def _refuse(self, y: Any) -> NoReturn:
        """Say how these targets differ from those of the first sample."""
        if not isinstance(y, Mapping):
            raise TypeError(f"y must be a dict of targets, got {y!r}")
        if missing := [target for target in self._targets if target not in y]:
            raise ValueError(f"y lacks the target {missing[0]!r}: all samples have the targets {list(self._targets)}")
        new = next(target for target in y if target not in self._targets)
        raise ValueError(f"y has the new target {new!r}: the first sample had {list(self._targets)}")

    def predict_one(
        self,
        x: Mapping[Feature, Any],
        with_dist: bool = False,
        with_interval: bool = False,
        interval_level: float = 0.9,
    ) -> dict[Feature, Any]:
        """Predict all targets of `x`; an empty dict before the first sample.

        Parameters
        ----------
        x
            A dictionary of features.
        with_dist
            Return predictive distributions, river's `Gaussian`, instead of their means.
        with_interval
            Return the central intervals of these distributions, river's `Interval`.
        interval_level
            The probability of the intervals.

        """
        model = self._knowing(x)
        if not with_dist and not with_interval:
            return dict(zip(self._targets, model.predict_all(x), strict=False))
        checks.number("interval_level", interval_level, low=0.0, high=1.0)
        with model.reading:
            _, residual, unlearned = model.predict_variance(x)
            means = model.means.tolist()
        variances = self._variances(model, residual, unlearned)
        if not np.isfinite(variances).all():
            model.refuse(x, (), 1.0, stream.BAD_SIMILARITY)
        found = {}
        for target, mean, variance in zip(self._targets, means, variances.tolist(), strict=False):
            distribution = gaussian(mean, variance)
            found[target] = interval(distribution, interval_level) if with_interval else distribution
        return found

    def _variances(self, model: Recursion, residual: float, unlearned: float) -> Vector:
        """σ²(1 + z'Pz) plus what the dictionary cannot see, for every target."""
        if not model.seen:
            return np.full(model.outputs, residual)
        noise = self._noise_variances()
        if self.ridge > 0.0:
            prior = noise / model.model.ridge
        elif model.size:
            prior = np.mean(model.model.weights[:, : model.size] ** 2, axis=1)
        else:
            prior = np.ones(model.outputs)
        return noise * (1.0 + unlearned) + prior * residual

    def _noise_variances(self) -> Vector:
        model = self._model.model
        if self._model.outputs == 1:
            return np.array([self._model.noise_variance])
        if model.noise_weight > 0.0:
            return model.noise_sums / model.noise_weight
        return model.squares.copy()

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn samples in order, as `learn_one` would one after the other, several times faster.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets: a data frame, or an array whose columns are the targets 0, 1, ...
        w
            Weights, one for each sample.

        """
        names, rows, _ = reading.frame(X)
        targets, values, _ = reading.frame(y, "y", "target")
        if len(values) != len(rows):
            raise ValueError(f"y must have one row per row of X ({len(rows)}), got {len(values)}")
        weights = None if w is None else reading.column("w", w, len(rows))
        reading.check_targets(values)
        reading.noises(weights, len(rows))
        if not len(rows):
            return
        if not self._targets:
            if not targets:
                raise ValueError("y must have a column for every target, got none")
            self._knowing(names).check(reading.sample(names, rows[0]))
            self._prepare(targets)
            try:
                self.learn_many(X, y, w)
            except Exception:
                self._restart()
                raise
            return
        if set(targets) != set(self._targets) or len(targets) != len(self._targets):
            self._refuse(dict.fromkeys(targets))
        values = np.ascontiguousarray(values[:, [targets.index(target) for target in self._targets]])
        if self._learning is None:
            self._model.learn_many(names, rows, values, weights)
            return
        each = np.ones(len(rows)) if weights is None else weights
        before = copy.deepcopy(self._get_state())
        try:
            for row, own, weight in zip(rows, values, each.tolist(), strict=True):
                self._model = self._learning.learn(self._model, reading.sample(names, row), own.tolist(), weight)
        except Exception:  # all or nothing is learned
            self._set_state(before)
            raise

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a data frame for a data frame, an array for an array."""
        names, rows, data = reading.frame(X)
        means = self._knowing(names).predict_many(names, rows)[:, : len(self._targets)]
        if data is None:
            return means
        return utils.dataframe.to_native_frame(means, like=data, columns=list(self._targets))

    def _knowing(self, names: Iterable[Feature]) -> Recursion:
        """The model; where it learns its kernel, one that has scales for all of these features."""
        return self._model if self._learning is None else self._learning.knowing(self._model, names)

    @property
    def targets(self) -> tuple[Feature, ...]:
        """The targets, in the order of the first sample."""
        return self._targets

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features seen so far, in order."""
        return self._model.names

    @property
    def noise_variances(self) -> dict[Feature, float]:
        """σ² of every target, the variance of the noise as the errors made before learning show it."""
        return dict(zip(self._targets, self._noise_variances().tolist(), strict=False))

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._model.size

    @property
    def dictionary(self) -> list[dict[Feature, float]]:
        """The points of the dictionary as feature dicts, in the order in which they joined."""
        return self._model.points

    @property
    def coefficients(self) -> dict[Feature, Vector]:
        """α̃ of every target."""
        return dict(zip(self._targets, self._model.coefficients, strict=False))

    @property
    def relevance(self) -> dict[Feature, float]:
        """θ_r = 1/(2ℓ_r²) of every feature: how much it matters to the Gaussian part of the kernel."""
        return thetas(self._model.effective_kernel(), self._model.names)

    @property
    def recursion(self) -> Recursion:
        """What was learned: the least-squares model behind the predictions."""
        return self._model

    def _get_state(self) -> dict[str, Any]:
        state = {"targets": self._targets, "model": self._model.__getstate__()}
        return state if self._learning is None else state | {"learning": self._learning.get_state()}

    def _set_state(self, state: dict[str, Any]) -> None:
        if self._learning is not None:
            self._learning.set_state(state["learning"])
        self._model.__setstate__(state["model"])
        self._targets = state["targets"]


def check_values(y: Mapping[Feature, Any]) -> None:
    """Raise an error that names the target where one is no number that can be learned."""
    for name, value in y.items():
        reading.target(value, f"target {name!r}")
