"""The classifiers of `bench.classes`: river's with their settings, ours as they come.

river's models get words as columns of zeros and ones. Scaling is one of the settings where it matters; trees do not
notice it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from river import ensemble, forest, linear_model, multiclass, neighbors, optim, preprocessing, tree

import streamkernel
from bench.contest import Method

FOREST = "river ARF"


def scaled(model: Any, scale: bool = True) -> Any:
    """The model on standardized features, or on raw ones."""
    return preprocessing.StandardScaler() | model if scale else model


def knn(n_neighbors: int, window: int, scale: bool) -> Any:
    """Nearest neighbors in a window."""
    engine = neighbors.LazySearch(window_size=window)
    return scaled(neighbors.KNNClassifier(n_neighbors=n_neighbors, engine=engine), scale)


def logistic(rate: float, scale: bool) -> Any:
    """Logistic regression by stochastic gradient descent, one class against the rest."""
    model = linear_model.LogisticRegression(optimizer=optim.SGD(rate), intercept_lr=rate)
    return scaled(multiclass.OneVsRestClassifier(model), scale)


class LastLabel:
    """The last label again, as often as labels repeated so far."""

    def __init__(self) -> None:
        self.last: Hashable = None
        self.labels: Counter[Hashable] = Counter()
        self.repeats = 0

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Hashable, float]:
        """The last label, first and never less likely than another, and the others evenly."""
        if not self.labels:
            return {}
        classes = len(self.labels)
        stay = max((self.repeats + 1) / (self.labels.total() + 1), 1.0 / classes)
        rest = (1.0 - stay) / max(classes - 1, 1)
        return {self.last: stay} | {label: rest for label in self.labels if label != self.last}

    def predict_one(self, x: dict[Any, Any]) -> Hashable:
        """The last label."""
        return self.last

    def learn_one(self, x: dict[Any, Any], y: Hashable) -> None:
        """Count the label, and whether it is the last one again."""
        self.repeats += bool(self.labels) and y == self.last
        self.labels[y] += 1
        self.last = y


RIVALS: dict[str, Method] = {
    "last label": Method(LastLabel, {}),
    "river logistic": Method(logistic, {"rate": (0.003, 0.01, 0.03, 0.1), "scale": (True, False)}),
    "river KNN": Method(knn, {"n_neighbors": (3, 10), "window": (200, 1000), "scale": (True, False)}),
    "river Hoeffding": Method(
        lambda grace_period, leaf_prediction: tree.HoeffdingAdaptiveTreeClassifier(
            grace_period=grace_period, leaf_prediction=leaf_prediction, seed=1
        ),
        {"grace_period": (50, 200), "leaf_prediction": ("nba", "mc")},
    ),
    FOREST: Method(
        lambda n_models, grace_period: forest.ARFClassifier(n_models=n_models, grace_period=grace_period, seed=1),
        {"n_models": (10, 25), "grace_period": (20, 50)},
    ),
    "river leveraging bagging": Method(
        lambda grace_period, w: ensemble.LeveragingBaggingClassifier(
            tree.HoeffdingTreeClassifier(grace_period=grace_period), n_models=10, w=w, seed=1
        ),
        {"grace_period": (20, 100), "w": (2, 6)},
    ),
    "river SRP": Method(
        lambda grace_period, subspace_size: ensemble.SRPClassifier(
            tree.HoeffdingTreeClassifier(grace_period=grace_period), n_models=10, subspace_size=subspace_size, seed=1
        ),
        {"grace_period": (20, 100), "subspace_size": (0.4, 0.8)},
    ),
}

AUTO = "AutoKernelClassifier"
OURS: dict[str, Method] = {
    "LSSVMClassifier": Method(lambda: scaled(streamkernel.LSSVMClassifier()), {}),
    "KernelMixtureClassifier": Method(lambda: scaled(streamkernel.KernelMixtureClassifier()), {}),
}
if hasattr(streamkernel, AUTO):
    OURS[AUTO] = Method(lambda: getattr(streamkernel, AUTO)(), {})
