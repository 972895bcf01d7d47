"""The regressors of `bench.streams` beside ours: river's, gradient boosting fitted anew, streaming gradient boosting.

Words are columns of zeros and ones, inputs are standardized online for all of them; a target that is standardized
online is one of the settings of trees, and usual for linear models. LightGBM and CapyMOA belong to the extra `rivals`;
CapyMOA needs Java too. What cannot be imported is left out.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from river import base, ensemble, forest, linear_model, neighbors, optim, preprocessing, rules, tree

from bench.contest import Method

FOREST = "river ARF"
EVERY, EARLY = 100, (20, 50)
BOOSTING = {31: (0.1, 100), 8: (0.05, 300)}  # leaves: learning rate and rounds


def scaled(model: Any, target: bool = True) -> Any:
    """The model on standardized inputs, and on a standardized target."""
    return preprocessing.StandardScaler() | (preprocessing.TargetStandardScaler(regressor=model) if target else model)


def knn(n_neighbors: int, window: int) -> Any:
    """Nearest neighbors in a window."""
    engine = neighbors.LazySearch(window_size=window)
    return scaled(neighbors.KNNRegressor(n_neighbors=n_neighbors, engine=engine), target=False)


class Refitted(base.Regressor):
    """LightGBM, fitted anew every hundred samples on the past, or on the last ones of it.

    The first fits come earlier; before them the prediction is the mean. Features get columns when they are first seen;
    LightGBM knows that what is not a number is absent.
    """

    def __init__(self, window: int | None, leaves: int) -> None:
        self.window, self.leaves = window, leaves
        self.columns: dict[Any, int] = {}
        self.rows: deque[dict[Any, float]] = deque(maxlen=window)
        self.targets: deque[float] = deque(maxlen=window)
        self.seen, self.booster, self.width = 0, None, 0

    def predict_one(self, x: dict[Any, float]) -> float:
        """By the last fit."""
        if self.booster is None:
            return float(np.mean(self.targets)) if self.targets else 0.0
        return float(self.booster.predict(self.table([x]), num_threads=1)[0])

    def learn_one(self, x: dict[Any, float], y: float) -> None:
        """Keep the sample; fit when it is time."""
        for name in x:
            self.columns.setdefault(name, len(self.columns))
        self.rows.append(x)
        self.targets.append(y)
        self.seen += 1
        if self.seen % EVERY == 0 or self.seen in EARLY:
            self.width = len(self.columns)
            self.booster = self.fitted()

    def table(self, rows: Sequence[dict[Any, float]]) -> Any:
        """Rows as an array of the features that the last fit knew."""
        names = list(self.columns)[: self.width]
        return np.array([[x.get(name, np.nan) for name in names] for x in rows])

    def fitted(self) -> Any:
        """A model of what is kept."""
        import lightgbm

        rate, rounds = BOOSTING[self.leaves]
        least = 20 if self.seen >= 10 * self.leaves else 5
        setting = {"num_leaves": self.leaves, "learning_rate": rate, "min_data_in_leaf": least}
        always = {"objective": "regression", "verbosity": -1, "num_threads": 1, "seed": 1, "deterministic": True}
        return lightgbm.train(setting | always, lightgbm.Dataset(self.table(self.rows), np.array(self.targets)), rounds)


class StreamingBoosting(base.Regressor):
    """CapyMOA's streaming gradient boosted regression, as it comes, on the features of the first sample."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.names: list[Any] = []
        self.model: Any = None

    def instance(self, x: dict[Any, float], y: float) -> Any:
        """A sample in CapyMOA's form; the first one makes the model."""
        from capymoa.core import RegressionInstance
        from capymoa.regressor import StreamingGradientBoostedRegression
        from capymoa.stream import Schema

        if self.model is None:
            self.names = list(x)
            self.schema = Schema.from_custom([*(f"x{i}" for i in range(len(x))), "target"], "target")
            self.model = StreamingGradientBoostedRegression(self.schema, random_seed=self.seed)
        row = np.array([x.get(name, np.nan) for name in self.names])
        return RegressionInstance.from_array(self.schema, row, y)

    def predict_one(self, x: dict[Any, float]) -> float:
        """CapyMOA's prediction; zero where it has none."""
        sample = self.instance(x, 0.0)
        found = self.model.predict(sample)
        return 0.0 if found is None or not np.isfinite(found) else float(found)

    def learn_one(self, x: dict[Any, float], y: float) -> None:
        """One sample."""
        sample = self.instance(x, y)
        self.model.train(sample)


RIVALS: dict[str, Method] = {
    "river linear": Method(
        lambda rate, l2: scaled(linear_model.LinearRegression(optim.SGD(rate), l2=l2, intercept_lr=rate)),
        {"rate": (0.003, 0.01, 0.03, 0.1), "l2": (0.0, 0.001)},
    ),
    "river Bayesian linear": Method(
        lambda alpha, smoothing: scaled(linear_model.BayesianLinearRegression(alpha, 1.0, smoothing)),
        {"alpha": (0.1, 1.0), "smoothing": (None, 0.99, 0.999)},
    ),
    "river KNN": Method(knn, {"n_neighbors": (3, 10), "window": (100, 1000)}),
    "river Hoeffding": Method(
        lambda grace_period, leaf_prediction: scaled(
            tree.HoeffdingAdaptiveTreeRegressor(grace_period=grace_period, leaf_prediction=leaf_prediction, seed=1)
        ),
        {"grace_period": (50, 200), "leaf_prediction": ("adaptive", "model")},
    ),
    "river AMRules": Method(
        lambda n_min, target: scaled(rules.AMRules(n_min=n_min), target),
        {"n_min": (50, 200), "target": (True, False)},
    ),
    FOREST: Method(
        lambda max_features, target: scaled(
            forest.ARFRegressor(n_models=25, max_features=max_features, seed=1), target
        ),
        {"max_features": ("sqrt", None), "target": (True, False)},
    ),
    "river SRP": Method(
        lambda grace_period, target: scaled(
            ensemble.SRPRegressor(tree.HoeffdingTreeRegressor(grace_period=grace_period), n_models=10, seed=1), target
        ),
        {"grace_period": (50, 200), "target": (True, False)},
    ),
}
if importlib.util.find_spec("lightgbm"):
    RIVALS["LightGBM, all"] = Method(partial(Refitted, None), {"leaves": tuple(BOOSTING)}, hindsight=True)
    RIVALS["LightGBM, last 1000"] = Method(partial(Refitted, 1000), {"leaves": tuple(BOOSTING)}, hindsight=True)
if importlib.util.find_spec("capymoa") and shutil.which("java"):
    RIVALS["CapyMOA boosting"] = Method(
        lambda seed, target: scaled(StreamingBoosting(seed), target), {"target": (True, False)}, seeds=(1, 2, 3, 4, 5)
    )
