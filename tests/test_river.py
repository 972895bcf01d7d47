"""river's own checks of every estimator, and the frames that river accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import base, checks, compose, evaluate, metrics, preprocessing

from streamkernel import KRLS, datasets
from streamkernel.kernels import RBF, Laplacian, Linear, Matern52, Polynomial, Spline

MODELS: dict[str, Any] = {
    "default": KRLS(),
    "RBF": KRLS(RBF(10.0), 1e-2),
    "Matern52": KRLS(Matern52(20.0), 1e-2, 0.1),
    "Laplacian": KRLS(Laplacian(30.0), 0.1),
    "linear": KRLS(Linear() + 1, 1e-2, 1.0),
    "polynomial": KRLS(Polynomial(2, scale=1e-6), 1e-3, 0.1),
    "spline": KRLS(1e-12 * Spline(), 1e-2, 0.1),
    "ridge": KRLS(RBF(10.0), 1e-3, 0.5),
    "prior": KRLS(RBF(10.0), 1e-2, 0.1, 0.99),
    "walk": KRLS(RBF(10.0), 1e-2, 0.1, 0.99, "walk"),
    "bounded": KRLS(RBF(10.0), 1e-2, 0.1, max_size=20),
    "default bounded": KRLS(max_size=15, ridge=0.1),
    "gradient": KRLS(RBF(10.0), 1e-2, 0.1, max_size=30, kernel_learning="gradient"),
    "refit": KRLS(threshold=1e-2, ridge=0.1, max_size=30, kernel_learning="refit"),
    "scaled refit": preprocessing.StandardScaler() | KRLS(ridge=0.1, max_size=30, kernel_learning="refit"),
    "scaled": compose.Pipeline(preprocessing.StandardScaler(), KRLS(RBF(1.0), 1e-3)),
    "scaled default": preprocessing.StandardScaler() | KRLS(ridge=0.1),
    "scaled polynomial": preprocessing.StandardScaler() | KRLS(Polynomial(2), 1e-4, 0.1),
    "scaled linear": preprocessing.StandardScaler() | KRLS(Linear() + 1, 1e-4),
}


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")
        for name, model in MODELS.items()
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_check(model: Any, check: Any) -> None:
    check(model.clone())


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_skipped(name: str) -> None:
    assert not MODELS[name]._unit_test_skips()
    names = {check.__name__ for check in checks.yield_checks(MODELS[name])}
    assert {"check_learn_one", "check_emerging_features", "check_bounded_memory_growth"} <= names


class MiniBatch(KRLS, base.MiniBatchRegressor):
    """KRLS as river's mini-batch checks want it declared.

    Declared so, a pipeline with a StandardScaler would be held to row-by-row equality, which river's own cannot meet.
    """


@pytest.mark.parametrize("name", [name for name in MODELS if type(MODELS[name]) is KRLS])
def test_mini_batches(name: str) -> None:
    model = MiniBatch(**MODELS[name]._parameters())
    many = [check for check in checks.yield_checks(model) if "_many_" in check.__name__]
    assert {check.__name__ for check in many} == {
        "check_learn_many_matches_learn_one",
        "check_predict_many_matches_predict_one",
    }
    for check in many:
        check(model.clone())


def test_kernels_are_river_values() -> None:
    model = KRLS(RBF(1.0) + Linear())
    changed = model.clone({"threshold": 0.5})
    assert changed.threshold == 0.5
    assert changed.kernel == model.kernel
    assert "RBF(1.0) + Linear()" in repr(model)


def test_progressive_validation() -> None:
    model = preprocessing.StandardScaler() | KRLS(threshold=0.1, ridge=0.1)
    metric = evaluate.progressive_val_score(datasets.SincLinear(seed=1).take(800), model, metrics.RMSE())
    assert metric.get() < 0.5


# Frames ---------------------------------------------------------------------------------------------------------------


def table(seed: int = 0, n: int = 120) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 2]


def as_pandas(X: Any, y: Any) -> tuple[Any, Any]:
    pandas = pytest.importorskip("pandas")
    index = np.arange(100, 100 + len(X))
    return pandas.DataFrame(X, columns=["c", "a", "b"], index=index), pandas.Series(y, index=index)


def as_polars(X: Any, y: Any) -> tuple[Any, Any]:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(X, schema=["c", "a", "b"]), polars.Series("y", y)


def as_pyarrow(X: Any, y: Any) -> tuple[Any, Any]:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({name: X[:, i] for i, name in enumerate(["c", "a", "b"])}), pyarrow.chunked_array(
        [y[:50], y[50:]]
    )


FRAMES = {"pandas": as_pandas, "polars": as_polars, "pyarrow": as_pyarrow}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind: str) -> None:
    X, y = table()
    frame, target = FRAMES[kind](X, y)
    model, loop = KRLS(RBF((0.5, 1.0, 2.0)), 1e-3), KRLS(RBF((0.5, 1.0, 2.0)), 1e-3)
    model.learn_many(frame, target)
    for row, value in zip(X.tolist(), y.tolist(), strict=True):
        loop.learn_one(dict(zip(["c", "a", "b"], row, strict=True)), value)
    assert model.dictionary == loop.dictionary
    assert set(model.dictionary[0]) == {"a", "b", "c"}
    predictions = model.predict_many(frame)
    expected = [loop.predict_one(dict(zip(["c", "a", "b"], row, strict=True))) for row in X.tolist()]
    np.testing.assert_allclose(np.asarray(predictions), expected, rtol=1e-9, atol=1e-9)
    if kind == "pandas":
        import pandas

        assert isinstance(predictions, pandas.Series)
        assert predictions.index.equals(frame.index)
    elif kind == "polars":
        import polars

        assert isinstance(predictions, polars.Series)
    else:
        import pyarrow

        assert isinstance(predictions, pyarrow.ChunkedArray | pyarrow.Array)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_other_numbers(kind: str) -> None:
    X = np.random.default_rng(0).integers(0, 3, (40, 3))
    frame, target = FRAMES[kind](X.astype(np.float32), X[:, 0].astype(np.float32))
    whole, _ = FRAMES[kind](X, X[:, 0])
    models = [KRLS(RBF(1.0)) for _ in range(2)]
    models[0].learn_many(frame, target)
    models[1].learn_many(whole, X[:, 0])
    np.testing.assert_array_equal(np.asarray(models[0].predict_many(frame)), np.asarray(models[1].predict_many(whole)))


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_before_learning_and_without_rows(kind: str) -> None:
    X, y = table()
    frame, target = FRAMES[kind](X, y)
    model = KRLS(RBF(1.0))
    np.testing.assert_array_equal(np.asarray(model.predict_many(frame)), np.zeros(len(X)))
    before = model.to_bytes()
    model.learn_many(frame[:0], target[:0])
    assert len(np.asarray(model.predict_many(frame[:0]))) == 0
    assert model.to_bytes() == before


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_bad_frames_name_the_column(kind: str) -> None:
    X, y = table(n=5)
    frame, target = FRAMES[kind](X, y)
    model = KRLS(RBF(1.0))
    if kind == "pandas":
        text, gap = frame.assign(a=["u"] * 5), frame.assign(a=[1.0, None, 2.0, 3.0, 4.0])
    else:
        import polars

        text = frame.with_columns(polars.Series("a", ["u"] * 5))
        gap = frame.with_columns(polars.Series("a", [1.0, None, 2.0, 3.0, 4.0]))
    before = model.to_bytes()
    for call in (lambda X: model.learn_many(X, target), model.predict_many):
        with pytest.raises((TypeError, ValueError), match=r"'a'.*'u'|'u'.*'a'"):
            call(text)
        with pytest.raises((TypeError, ValueError), match="'a' is nan"):
            call(gap)
    assert model.to_bytes() == before


def test_mini_batches_in_a_pipeline() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = preprocessing.StandardScaler() | KRLS(RBF(1.0), 1e-3)
    for start in range(0, len(X), 30):
        model.learn_many(frame[start : start + 30], pandas.Series(y[start : start + 30]))
    assert np.sqrt(np.mean((np.asarray(model.predict_many(frame)) - y) ** 2)) < 0.2
