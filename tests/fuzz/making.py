"""Random kernels, learners and streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from river import base

from streamkernel import (
    CKAAR,
    IKAAR,
    KAAR,
    KRLS,
    KRR,
    AdaptiveConformal,
    AutoKernelClassifier,
    AutoKernelRegressor,
    HeteroscedasticKRLS,
    KernelMixture,
    KernelMixtureClassifier,
    LSSVMClassifier,
    MultiTargetKRLS,
    TargetScaler,
    filters,
    kernels,
)

AUTOMATIC = (AutoKernelClassifier, AutoKernelRegressor)
Random = np.random.Generator
Sample = dict[Any, float]

NAMES: tuple[Any, ...] = ("a", "b", "c", 0, 1, ("t", 2))


def number(rng: Random, low: float, high: float) -> float:
    """Log-uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def leaf(rng: Random) -> kernels.Kernel:
    scale = number(rng, 0.3, 5.0)
    return [
        lambda: kernels.RBF(scale),
        lambda: kernels.Laplacian(scale),
        lambda: kernels.Matern32(scale),
        lambda: kernels.Matern52(scale),
        lambda: kernels.RationalQuadratic(scale, number(rng, 0.2, 1e4)),
        lambda: kernels.Periodic(scale, number(rng, 1.0, 10.0)),
        lambda: kernels.Linear(),
        lambda: kernels.Polynomial(int(rng.integers(1, 4)), rng.uniform(0.0, 2.0), number(rng, 0.1, 1.0)),
        lambda: kernels.Spline(two_sided=True),
        lambda: kernels.AnovaSpline(1, two_sided=True),
        lambda: kernels.Odd(leaf(rng)),
    ][rng.integers(11)]()


def kernel(rng: Random, depth: int = 2) -> kernels.Kernel:
    """A leaf, or an expression of a few, whose products have one factor at most that grows with the distance."""
    if depth == 0 or rng.random() < 0.5:
        return leaf(rng)
    left, right = kernel(rng, depth - 1), kernel(rng, depth - 1)
    bounded = kernels.Matern52(number(rng, 0.3, 5.0)) + 0.1
    return [left + right, left * bounded, left + number(rng, 0.1, 2.0), number(rng, 0.1, 2.0) * left][rng.integers(4)]


def named_kernel(rng: Random) -> kernels.Kernel:
    """One with a length scale for each feature that a `Stream` may have."""
    scales = {name: np.inf if rng.random() < 0.1 else number(rng, 0.3, 5.0) for name in (*NAMES, "never seen")}
    kinds = (kernels.RBF, kernels.Laplacian, kernels.Matern32, kernels.Matern52, kernels.RationalQuadratic)
    given: kernels.Kernel = (*kinds, kernels.Periodic)[rng.integers(6)](scales)
    return given if rng.random() < 0.5 else given + kernel(rng, 1)


def maybe_kernel(rng: Random) -> kernels.Kernel | None:
    return None if rng.random() < 0.3 else kernel(rng)


def _sizes(rng: Random) -> int | None:
    return None if rng.random() < 0.6 else int(rng.integers(1, 15))


def _forgetting(rng: Random) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {}
    return {"forgetting": float(rng.uniform(0.9, 1.0)), "forget": str(rng.choice(["prior", "walk"]))}


def krls(rng: Random, make_kernel: Callable[[Random], Any] = maybe_kernel) -> KRLS:
    ridge = 0.0 if rng.random() < 0.2 else number(rng, 1e-4, 1.0)
    return KRLS(make_kernel(rng), number(rng, 1e-3, 0.3), ridge, max_size=_sizes(rng), **_forgetting(rng))


def ridge_family(rng: Random) -> Any:
    threshold = None if rng.random() < 0.5 else number(rng, 1e-3, 0.3)
    common = {
        "kernel": maybe_kernel(rng),
        "ridge": number(rng, 1e-3, 1.0),
        "threshold": threshold,
        "max_size": _sizes(rng),
    }
    return [
        lambda: KRR(**common),
        lambda: KAAR(**common),
        lambda: IKAAR(iterations=number(rng, 0.5, 5.0), **common),
        lambda: CKAAR(control=rng.uniform(0.0, 2.0), **common),
    ][rng.integers(4)]()


def heteroscedastic(rng: Random) -> HeteroscedasticKRLS:
    given = {"max_size": _sizes(rng), **_forgetting(rng)}
    return HeteroscedasticKRLS(maybe_kernel(rng), number(rng, 1e-3, 0.3), number(rng, 0.01, 1.0), **given)


def learning(rng: Random) -> KRLS:
    way = str(rng.choice(["gradient", "refit"]))
    return KRLS(None, number(rng, 1e-3, 0.1), number(rng, 0.01, 1.0), kernel_learning=way)


def mixture(rng: Random) -> KernelMixture:
    shared, threshold = maybe_kernel(rng), number(rng, 1e-3, 0.3)
    limit = _sizes(rng)
    models: list[Any] = [
        KRLS(shared, threshold, number(rng, 1e-3, 1.0), max_size=limit, **_forgetting(rng)) for _ in range(2)
    ]
    models += [[krls, ridge_family, heteroscedastic][rng.integers(3)](rng)] if rng.random() < 0.5 else []
    return KernelMixture(models, str(rng.choice(["bma", "aggregating", "coker"])), respawn=int(rng.integers(5, 60)))


def classifier(rng: Random) -> LSSVMClassifier:
    given = {"max_size": _sizes(rng), "bias": number(rng, 0.1, 10.0), **_forgetting(rng)}
    return LSSVMClassifier(maybe_kernel(rng), number(rng, 1e-3, 0.3), number(rng, 0.01, 1.0), **given)


def learning_classifier(rng: Random) -> LSSVMClassifier:
    return LSSVMClassifier(None, number(rng, 1e-3, 0.1), number(rng, 0.01, 1.0), kernel_learning="gradient")


def several_targets(rng: Random) -> MultiTargetKRLS:
    given = {"max_size": _sizes(rng), **_forgetting(rng)}
    return MultiTargetKRLS(maybe_kernel(rng), number(rng, 1e-3, 0.3), number(rng, 1e-3, 1.0), **given)


def inner(rng: Random) -> Any:
    """A regressor for what is built around one."""
    makers = [krls, ridge_family, heteroscedastic, mixture, lambda rng: TargetScaler(krls(rng))]
    return makers[rng.integers(len(makers))](rng)


def kernel_filter(rng: Random) -> Any:
    given, size = leaf(rng), int(rng.integers(2, 20))
    while given.depends_on_width:  # filters with an inverse refuse features that change it
        given = leaf(rng)
    return [
        lambda: filters.KLMS(given, step=0.1),
        lambda: filters.QKLMS(given, step=0.1),
        lambda: filters.NORMA(given, max_size=size),
        lambda: filters.KNLMS(given, step=0.1, max_size=size),
        lambda: filters.FixedBudgetKRLS(given, max_size=size),
        lambda: filters.KAPA(given, order=int(rng.integers(1, 6)), max_size=size),
        lambda: filters.ExKRLS(given, forgetting=float(rng.uniform(0.99, 1.0)), max_size=size),
    ][rng.integers(7)]()


REGRESSORS: dict[str, Callable[[Random], Any]] = {
    "KRLS": krls,
    "KRLS, scales by name": lambda rng: krls(rng, named_kernel),
    "ridge family": ridge_family,
    "HeteroscedasticKRLS": heteroscedastic,
    "kernel learning": learning,
    "KernelMixture": mixture,
    "filters": kernel_filter,
    "AutoKernelRegressor": lambda rng: AutoKernelRegressor("low"),
    "AdaptiveConformal": lambda rng: AdaptiveConformal(inner(rng)),
    "TargetScaler": lambda rng: TargetScaler(inner(rng)),
}
CLASSIFIERS: dict[str, Callable[[Random], Any]] = {
    "LSSVMClassifier": classifier,
    "learning classifier": learning_classifier,
    "KernelMixtureClassifier": lambda rng: KernelMixtureClassifier([classifier(rng), classifier(rng)]),
    "AutoKernelClassifier": lambda rng: AutoKernelClassifier("low"),
}
LEARNERS: dict[str, Callable[[Random], Any]] = {
    **REGRESSORS,
    **CLASSIFIERS,
    "MultiTargetKRLS": several_targets,
}


def learner(rng: Random, kinds: dict[str, Callable[[Random], Any]]) -> Any:
    """One of these kinds, with random parameters."""
    return list(kinds.values())[rng.integers(len(kinds))](rng)


def takes_weights(model: Any) -> bool:
    return not isinstance(model, AdaptiveConformal | filters.base.KernelFilter)


class Stream:
    """Samples of a smooth function with noise; features come and go."""

    def __init__(self, rng: Random, width: int | None = None, steady: bool = False) -> None:
        self.rng, self.steady = rng, steady
        self.names = list(NAMES[: width or rng.integers(1, 5)])
        self.unit = number(rng, 0.1, 3.0)
        self.slopes = rng.normal(size=len(NAMES))
        self.last: Sample = {}

    def x(self) -> Sample:
        """The next sample; now and then the last one again."""
        if self.steady or self.rng.random() > 0.05:
            self.last = self._new()
        return dict(self.last)

    def _new(self) -> Sample:
        if not self.steady and self.rng.random() < 0.02 and len(self.names) < len(NAMES):
            self.names.append(NAMES[len(self.names)])
        names = self.names
        if not self.steady and self.rng.random() < 0.1:
            names = [name for name in names if self.rng.random() < 0.7]
        return {name: float(self.unit * self.rng.normal()) for name in names}

    def y(self, x: Sample) -> float:
        total = sum(self.slopes[NAMES.index(name)] * value for name, value in x.items())
        return float(np.sin(total) + 0.3 * total + 0.1 * self.rng.normal())

    def target(self, model: Any, x: Sample) -> Any:
        """A target of the kind that a model learns."""
        y = self.y(x)
        if isinstance(model, base.Classifier):
            return ["low", "middle", "high"][int(np.digitize(y, [-0.5, 0.5]))]
        return {"first": y, "second": y * y} if isinstance(model, MultiTargetKRLS) else y

    def sample(self, model: Any) -> tuple[Any, Any]:
        """A sample and its target; of an automatic model raw now and then: words, gaps, dates, gross errors."""
        x: Any = self.x()
        y = self.target(model, x)
        if isinstance(model, AUTOMATIC):
            for name in x:
                if self.rng.random() < 0.05:
                    x[name] = ["red", "blue", None, "2026-01-05"][self.rng.integers(4)]
            if isinstance(y, float) and self.rng.random() < 0.03:
                y *= 1e6
        return x, y

    def weight(self, model: Any) -> dict[str, float]:
        is_weighted = takes_weights(model) and self.rng.random() < 0.3
        return {"w": number(self.rng, 0.1, 10.0)} if is_weighted else {}

    def teach(self, model: Any, count: int) -> None:
        for _ in range(count):
            x, y = self.sample(model)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.learn_one(x, y, **self.weight(model))


def answer(model: Any, x: Sample) -> Any:
    """A prediction, as plain values that can be compared."""
    if hasattr(model, "predict_proba_one"):
        return list(model.predict_proba_one(x).items())
    return model.predict_one(x)


def wide_answer(model: Any, x: Sample) -> Any:
    """The widest prediction that a model has: with its distribution, where it gives one."""
    if hasattr(model, "predict_proba_one") or isinstance(model, filters.base.KernelFilter):
        return answer(model, x)
    found = model.predict_one(x, with_dist=True)
    if isinstance(found, dict):
        return [(name, value.mu, value.sigma) for name, value in found.items()]
    if hasattr(found, "means"):
        return list(found.weights), list(found.means), list(found.deviations)
    return found.mu, found.sigma


def numbers(model: Any, x: Sample) -> list[float]:
    """The numbers of a prediction, those of classes and targets in the order of their names."""
    found = model.predict_proba_one(x) if hasattr(model, "predict_proba_one") else model.predict_one(x)
    return [found[name] for name in sorted(found)] if isinstance(found, dict) else [found]


def targets(model: Any, values: list[Any]) -> Any:
    """Targets of many samples, as `learn_many` takes them."""
    if isinstance(model, MultiTargetKRLS):
        return pd.DataFrame(values, columns=["first", "second"])
    return values if isinstance(model, base.Classifier) else np.array(values, dtype=np.float64)
