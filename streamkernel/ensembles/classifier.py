"""A mixture of classifiers: which kernel is right is learned along with the classes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base, utils

from ..checkpoint import Checkpointed
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import reading
from ..learners.bank import is_robust, is_usual
from ..learners.lssvm import LSSVMClassifier, best_labels, new_classes
from .experts import default_classifiers
from .weighting import SMALLEST_PROBABILITY, Weighting, check_first_weights, check_models, check_weighting


class KernelMixtureClassifier(base.Classifier, Checkpointed):
    """A weighted mixture of kernel classifiers, whose weights follow how well each predicts.

    Parameters
    ----------
    models
        `LSSVMClassifier`s; they are copied, with what they have learned. None is a spread of length scales.
    weighting
        `"bma"`: discounted Bayesian model averaging of the predicted probabilities. `"aggregating"`: the same without
        discount, which is the Aggregating Algorithm for the logarithmic loss: that loss exceeds the best expert's by
        at most ln N. `"coker"`: w ∝ ζ^(−1/(r−1)) of the discounted Brier loss ζ.
    discount
        As in `KernelMixture`.
    share
        As in `KernelMixture`.
    power
        As in `KernelMixture`.
    initial_weights
        As in `KernelMixture`.
    respawn
        As in `KernelMixture`.

    Examples
    --------

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from streamkernel import KernelMixtureClassifier

    >>> model = preprocessing.StandardScaler() | KernelMixtureClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing().take(500), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        models: list[LSSVMClassifier] | None = None,
        weighting: str = "bma",
        discount: float = 0.99,
        share: float = 0.001,
        power: float = 2.0,
        initial_weights: tuple[float, ...] | None = None,
        respawn: int | None = None,
    ) -> None:
        check_weighting(weighting, discount, share, power, respawn)
        check_models(models, LSSVMClassifier)
        check_first_weights(initial_weights, models)
        self.models = None if models is None else list(models)  # the caller's may change
        self.weighting = weighting
        self.discount = discount
        self.share = share
        self.power = power
        self.initial_weights = initial_weights
        self.respawn = respawn
        self._experts: list[LSSVMClassifier] = []
        if models is not None:
            self._start(copy.deepcopy(models))

    def _start(self, experts: list[LSSVMClassifier]) -> None:
        self._experts = experts
        self._weighting = Weighting(
            self.weighting, len(experts), self.discount, self.share, self.power, self.initial_weights
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        for weighting in ("bma", "aggregating", "coker"):
            models = [LSSVMClassifier(max_size=20), LSSVMClassifier(forgetting=0.99, max_size=20)]
            yield {"models": models, "weighting": weighting, "respawn": 50}

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: Mapping[Feature, Any]) -> dict[Any, float]:
        """The probability of every class seen so far."""
        experts = self._experts or default_classifiers(len(x))
        guesses = [expert.predict_proba_one(x) for expert in experts]
        if not guesses[0]:
            return {}
        weights = self._weighting.weights
        return {
            label: float(sum(weight * guess.get(label, 0.0) for weight, guess in zip(weights, guesses, strict=True)))
            for label in guesses[0]
        }

    def learn_one(self, x: Mapping[Feature, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one labeled sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The label.
        w
            The sample's weight.

        """
        reading.check_label(y)
        reading.noise(w)
        experts = self._experts or default_classifiers(len(x))
        guesses = [expert.predict_proba_one(x) for expert in experts]  # an error for a bad sample, before any learns
        similarity = max(expert.recursion.similarity_of(x) for expert in experts)
        will_learn = is_usual(x, 0.0, w, similarity) and all(is_robust(expert.recursion) for expert in experts)
        before = None if will_learn else copy.deepcopy(experts)
        try:
            for expert in experts:
                expert.learn_one(x, y, w)
        except Exception:
            if self._experts and before is not None:
                self._experts[:] = before
            raise
        if not self._experts:
            self._start(experts)
        if y in guesses[0]:
            right = np.array([guess[y] for guess in guesses])
            brier = [sum((p - (label == y)) ** 2 for label, p in guess.items()) for guess in guesses]
            self._weighting.update(w * np.log(np.maximum(right, SMALLEST_PROBABILITY)), w * np.array(brier))
        if self.respawn is not None:
            for i in self._weighting.expire(self.respawn):
                fresh = experts[i].clone()
                fresh.know(experts[i].classes)
                experts[i] = fresh

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn labeled samples in order, as `learn_one` would one after the other; none where one of them is bad.

        Several times faster where no expert learns its kernel and none begins anew.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The labels.
        w
            Weights, one for each sample.

        """
        names, rows, _ = reading.frame(X)
        labels = reading.labels(y, len(rows))
        weights = np.ones(len(rows)) if w is None else reading.column("w", w, len(rows))
        reading.noises(weights, len(rows))
        if not labels:
            return
        before = copy.deepcopy(self._get_state())
        try:
            if not self._experts:
                self._start(default_classifiers(len(names)))
            if self.respawn is not None or any(expert.kernel_learning for expert in self._experts):
                for row, label, weight in zip(rows, labels, weights.tolist(), strict=True):
                    self.learn_one(reading.sample(names, row), label, weight)
                return
            for start, stop in itertools.pairwise([0, *new_classes(self._experts[0].classes, labels), len(rows)]):
                part = slice(start, stop)
                if start < stop:
                    self._learn_rows(names, rows[part], labels[part], weights[part])
        except Exception:
            self._experts = []
            self._set_state(before)
            raise

    def _learn_rows(self, names: tuple[Feature, ...], rows: Matrix, labels: list[Hashable], weights: Vector) -> None:
        """Learn samples of classes that are known, but perhaps for the first one's, which says nothing of experts."""
        guesses = np.array([expert.learn_rows(names, rows, labels, weights) for expert in self._experts])
        known = guesses.shape[1]
        place = {label: k for k, label in enumerate(self._experts[0].classes)}
        places, weights = [place[label] for label in labels[-known:]], weights[len(rows) - known :, None]
        right = guesses[:, np.arange(known), places].T
        brier = (guesses**2).sum(axis=2).T - 2.0 * right + 1.0
        logs, losses = weights * np.log(np.maximum(right, SMALLEST_PROBABILITY)), weights * brier
        for t in range(known):
            self._weighting.update(logs[t], losses[t])

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of every class seen so far, a column each: a frame for a frame, an array for an array."""
        names, rows, data = reading.frame(X)
        experts = self._experts or default_classifiers(len(names))
        classes = experts[0].classes
        given = rows if data is None else X
        guesses = [np.asarray(expert.predict_proba_many(given)) for expert in experts]
        shares = np.tensordot(self._weighting.weights, guesses, 1) if classes else guesses[0]
        if data is None:
            return shares
        return utils.dataframe.to_native_frame(dict(zip(classes, shares.T, strict=True)), like=data)

    def predict_many(self, X: Any) -> Any:
        """The most probable class of every sample: a series for a frame, an array for an array; None before any."""
        _, rows, data = reading.frame(X)
        classes = self._experts[0].classes if self._experts else []
        return best_labels(classes, np.asarray(self.predict_proba_many(rows if data is None else X)), data)

    @property
    def experts(self) -> list[LSSVMClassifier]:
        """The learners; empty before the first sample where `models` is None."""
        return list(self._experts)

    @property
    def weights(self) -> list[float]:
        """The weight of each expert now."""
        return self._weighting.weights.tolist() if self._experts else []

    def _get_state(self) -> dict[str, Any]:
        if not self._experts:
            return {}
        return {"experts": self._experts, "weighting": self._weighting.get_state(), "idle": self._weighting.idle}

    def _set_state(self, state: dict[str, Any]) -> None:
        if state:
            self._start(state["experts"])
            self._weighting.set_state(state["weighting"])
            self._weighting.idle = state["idle"]
