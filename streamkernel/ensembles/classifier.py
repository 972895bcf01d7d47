"""A mixture of classifiers: which kernel is right is learned along with the classes."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base

from ..checkpoint import Checkpointed
from ..kernels import Feature
from ..learners import reading
from ..learners.bank import is_usual
from ..learners.lssvm import LSSVMClassifier
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
        self.models = models
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
        before = None if is_usual([expert.recursion for expert in experts], x, 0.0, w) else copy.deepcopy(experts)
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
