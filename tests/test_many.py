"""Many samples at once: the same as one after the other, for every learner that takes them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import linear_model

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
    kernels,
)
from streamkernel.filters import KLMS
from streamkernel.targets import TargetScaler

ROWS = 90
NAMES = ["a", "b", "c"]


def inner_product(x: np.ndarray, z: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        return 1.0 + float(x @ z)


def custom() -> kernels.Kernel:
    return kernels.Custom(inner_product) + kernels.RBF(1.0)


REGRESSORS: dict[str, Callable[[], Any]] = {
    "KRLS": lambda: KRLS(kernels.RBF(1.0), 0.01, 0.1),
    "KRLS, no ridge": lambda: KRLS(kernels.RBF(1.0), 0.1),
    "KRLS, full": lambda: KRLS(kernels.RBF(0.5), 0.001, 0.1, max_size=12),
    "KRLS, forgetting": lambda: KRLS(kernels.RBF(1.0), 0.01, 0.1, 0.98, "walk"),
    "KRLS, custom": lambda: KRLS(custom(), 0.01, 0.1),
    "KRLS, kernel learned": lambda: KRLS(ridge=0.1, kernel_learning="refit"),
    "KRR": lambda: KRR(kernels.RBF(1.0), ridge=0.1, threshold=None),
    "KAAR": lambda: KAAR(kernels.RBF(1.0), ridge=0.1),
    "IKAAR": lambda: IKAAR(kernels.RBF(1.0), ridge=0.1),
    "CKAAR": lambda: CKAAR(kernels.RBF(1.0), ridge=0.1),
    "HeteroscedasticKRLS": lambda: HeteroscedasticKRLS(kernels.RBF(1.0), 0.01, 0.1, max_size=12),
    "HeteroscedasticKRLS, custom": lambda: HeteroscedasticKRLS(custom(), 0.01, 0.1),
    "KLMS": lambda: KLMS(kernels.RBF(1.0)),
    "KernelMixture": KernelMixture,
    "KernelMixture, aggregating": lambda: KernelMixture(weighting="aggregating"),
    "KernelMixture, coker": lambda: KernelMixture(weighting="coker"),
    "KernelMixture, full": lambda: KernelMixture([REGRESSORS["KRLS, full"](), REGRESSORS["KRLS, forgetting"]()]),
    "KernelMixture, respawn": lambda: KernelMixture([KRLS(ridge=0.1), KRLS(ridge=9.0)], respawn=5),
    "KernelMixture, no ridge": lambda: KernelMixture([KRLS(threshold=0.1), KRLS(threshold=0.3)]),
    "KernelMixture, custom": lambda: KernelMixture([REGRESSORS["KRLS, custom"](), REGRESSORS["KRLS"]()]),
    "AutoKernelRegressor": AutoKernelRegressor,
    "TargetScaler": lambda: TargetScaler(KRLS(kernels.RBF(1.0), 0.01, 0.1)),
    "TargetScaler of a mixture": lambda: TargetScaler(KernelMixture()),
    "AdaptiveConformal": lambda: AdaptiveConformal(KRLS(kernels.RBF(1.0), 0.01, 0.1)),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "LSSVMClassifier": lambda: LSSVMClassifier(kernels.RBF(1.0), max_size=12),
    "LSSVMClassifier, kernel learned": lambda: LSSVMClassifier(kernel_learning="refit"),
    "KernelMixtureClassifier": KernelMixtureClassifier,
    "KernelMixtureClassifier, aggregating": lambda: KernelMixtureClassifier(weighting="aggregating"),
    "KernelMixtureClassifier, coker": lambda: KernelMixtureClassifier(weighting="coker"),
    "KernelMixtureClassifier, respawn": lambda: KernelMixtureClassifier(
        [LSSVMClassifier(kernels.RBF(1.0)), LSSVMClassifier(kernels.RBF(9.0))], respawn=5
    ),
    "KernelMixtureClassifier, kernel learned": lambda: KernelMixtureClassifier(
        [LSSVMClassifier(kernel_learning="refit"), LSSVMClassifier()]
    ),
    "AutoKernelClassifier": AutoKernelClassifier,
}
LEARNERS = REGRESSORS | CLASSIFIERS | {"MultiTargetKRLS": lambda: MultiTargetKRLS(kernels.RBF(1.0), 0.01, 0.1)}
UNWEIGHTED = ("KLMS",)


def stream(name: str) -> tuple[pd.DataFrame, Any, Any]:
    """A frame of samples, their targets, and the weights of those learners that take them."""
    rng = np.random.default_rng(len(name))
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (ROWS, len(NAMES))), columns=NAMES)
    mean = np.sin(3.0 * X["a"]) + X["b"]
    y: Any = mean + 0.1 * rng.standard_normal(ROWS)
    if name in CLASSIFIERS:
        y = np.where(mean > 0.3, "high", "low").astype(object)
        y[[40, 70]] = "third"  # a class that begins in the middle
        y = pd.Series(y)
    elif name == "MultiTargetKRLS":
        y = pd.DataFrame({"u": y, "v": 1.0 - 2.0 * X["c"]})
    return X, y, None if name in UNWEIGHTED else pd.Series(rng.uniform(0.5, 2.0, ROWS))


def one_by_one(model: Any, X: pd.DataFrame, y: Any, w: Any) -> None:
    targets = y.to_dict("records") if isinstance(y, pd.DataFrame) else y.tolist()
    for i, x in enumerate(X.to_dict("records")):
        model.learn_one(x, targets[i], **({} if w is None else {"w": float(w.iloc[i])}))


def part(w: Any, rows: slice) -> list[Any]:
    return [] if w is None else [w[rows]]


@pytest.mark.parametrize("name", LEARNERS)
def test_learn_many_is_the_loop(name: str) -> None:
    X, y, w = stream(name)
    one, many = LEARNERS[name](), LEARNERS[name]()
    one_by_one(one, X, y, w)
    for rows in (slice(0, 1), slice(1, 30), slice(30, 30), slice(30, ROWS)):
        many.learn_many(X[rows], y[rows], *part(w, rows))
    samples = X.to_dict("records")
    if name in CLASSIFIERS:
        shares = many.predict_proba_many(X)
        wanted = pd.DataFrame([one.predict_proba_one(x) for x in samples])
        np.testing.assert_allclose(shares[wanted.columns], wanted, rtol=1e-10, atol=1e-10)
        assert many.predict_many(X).tolist() == [one.predict_one(x) for x in samples]
    elif name == "MultiTargetKRLS":
        wanted = pd.DataFrame([one.predict_one(x) for x in samples])
        np.testing.assert_allclose(many.predict_many(X)[wanted.columns], wanted, rtol=1e-10, atol=1e-10)
    else:
        np.testing.assert_allclose(many.predict_many(X), [one.predict_one(x) for x in samples], rtol=1e-10, atol=1e-10)
    if "Mixture" in type(one).__name__:
        np.testing.assert_allclose(many.weights, one.weights, rtol=1e-9, atol=1e-12)
    if name == "AdaptiveConformal":
        assert many.predict_one(samples[0], with_interval=True) == one.predict_one(samples[0], with_interval=True)


@pytest.mark.parametrize("name", LEARNERS)
def test_frames_give_frames_and_arrays_give_arrays(name: str) -> None:
    X, y, _ = stream(name)
    framed, plain = LEARNERS[name](), LEARNERS[name]()
    framed.learn_many(X, y)
    plain.learn_many(X.to_numpy(), y.to_numpy())
    X.index = X.index + 1000
    for method in ("predict_many", "predict_proba_many"):
        if hasattr(framed, method):
            found, array = getattr(framed, method)(X), getattr(plain, method)(X.to_numpy())
            assert isinstance(found, pd.Series | pd.DataFrame)
            assert isinstance(array, np.ndarray)
            assert found.index.equals(X.index)
            assert found.shape == array.shape
            np.testing.assert_array_equal(found.to_numpy(), array)


def damaged(X: pd.DataFrame, y: Any, what: str) -> tuple[pd.DataFrame, Any]:
    X, y = X.copy(), y.copy()
    if what == "target":
        y.iloc[-1] = math.nan
    else:
        X.iloc[-1, 1] = {"infinite": math.inf, "huge": 1e200}[what]
    return X, y


BAD_ROWS = [(name, what) for name in LEARNERS for what in ("target", "infinite", "huge")]


@pytest.mark.parametrize(("name", "what"), BAD_ROWS)
@pytest.mark.parametrize("is_new", [False, True])
def test_a_bad_row_changes_nothing(name: str, what: str, is_new: bool) -> None:
    X, y, w = stream(name)
    model = LEARNERS[name]()
    if not is_new:
        model.learn_many(X[:50], y[:50], *part(w, slice(0, 50)))
    untouched = copy.deepcopy(model)
    given = damaged(X[50:], y[50:], what)
    try:
        model.learn_many(*given, *part(w, slice(50, ROWS)))
    except (ValueError, TypeError):
        pass
    else:
        assert what == "huge", "a bad row was learned"  # a distance so large is a similarity of zero to some kernels
        return
    for each in (model, untouched):
        each.learn_many(X[50:60], y[50:60], *part(w, slice(50, 60)))
    samples = X[60:65].to_dict("records")
    assert repr([model.predict_one(x) for x in samples]) == repr([untouched.predict_one(x) for x in samples])


def test_any_regressor_may_be_wrapped() -> None:
    X, y, _ = stream("")
    model = TargetScaler(linear_model.BayesianLinearRegression())
    model.learn_many(X, y)
    wanted = [model.predict_one(x) for x in X.to_dict("records")]
    np.testing.assert_allclose(model.predict_many(X), wanted, rtol=1e-12)


@pytest.mark.parametrize("make", [AutoKernelRegressor, lambda: KRLS(ridge=0.1), lambda: KLMS(kernels.RBF(1.0))])
def test_columns_of_a_frame_may_be_called_by_pairs(make: Callable[[], Any]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "t": rng.normal(size=20)}).rename(columns={"t": ("t", 2)})
    one, many = make(), make()
    many.learn_many(frame, frame["a"].to_numpy())
    for row in frame.to_numpy().tolist():
        one.learn_one({"a": row[0], ("t", 2): row[1]}, row[0])
    assert many.predict_one({"a": 0.3, ("t", 2): 0.1}) == pytest.approx(one.predict_one({"a": 0.3, ("t", 2): 0.1}))
    words = frame.astype({"a": object})
    words.loc[3, "a"] = "red"
    with pytest.raises((TypeError, ValueError), match="red"):
        KRLS().learn_many(words, frame["a"].to_numpy())
