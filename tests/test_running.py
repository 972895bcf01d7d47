"""`run` on arrays, and sessions that restart at any row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from river import preprocessing

import streamkernel
from streamkernel import KRLS, HeteroscedasticKRLS, LSSVMClassifier, run
from streamkernel.checkpoint import loads
from streamkernel.kernels import RBF, Custom
from streamkernel.session import Session, Standardizer


def series(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(n)


def overlap(x, z):
    return float(np.minimum(x + 1.0, z + 1.0).sum())


@pytest.mark.parametrize(
    "make",
    [
        lambda: KRLS(RBF(0.7), 1e-3, 0.01),
        lambda: KRLS(RBF(0.7), 1e-3, 0.01, max_size=12),
        lambda: KRLS(RBF(0.7), 1e-3, 0.01, forgetting=0.99),
        lambda: KRLS(Custom(overlap), 1e-3, 0.01),
        lambda: HeteroscedasticKRLS(RBF(0.7)),
    ],
)
def test_predictions_are_made_before_learning(make):
    X, y = series()
    one, many = make(), make()
    predictions, sizes = [], []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        predictions.append(one.predict_one(dict(enumerate(x))))
        one.learn_one(dict(enumerate(x)), target)
        sizes.append(one.size)
    result = run(many, X, y)
    np.testing.assert_allclose(result.predictions, predictions, atol=1e-9)
    np.testing.assert_allclose(result.errors, y - np.array(predictions), atol=1e-9)
    np.testing.assert_array_equal(result.sizes, sizes)


def test_a_vector_is_one_feature():
    X, y = series()
    a, b = run(KRLS(RBF(1.0), ridge=0.1), X[:, 0], y), run(KRLS(RBF(1.0), ridge=0.1), X[:, :1], y)
    np.testing.assert_array_equal(a.predictions, b.predictions)
    assert run(KRLS(), np.zeros((0, 2)), []).sizes.shape == (0,)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [math.nan]], [1.0, 2.0], "feature 0 is nan in row 1"),
        ([[1.0], [2.0]], [1.0], "one number per row"),
        ([[1.0], [2.0]], [1.0, math.inf], "y is inf in row 1"),
        (np.zeros((2, 2, 2)), [1.0, 2.0], "two dimensions"),
    ],
)
def test_bad_arrays(X, y, message):
    model = KRLS()
    before = model.to_bytes()
    with pytest.raises(ValueError, match=message):
        run(model, X, y)
    assert model.to_bytes() == before


def test_standardizer():
    rng = np.random.default_rng(1)
    X = rng.normal(1e6, 3.0, (500, 1))
    scale = Standardizer()
    assert scale.transform_one({"a": 5.0}) == {"a": 0.0}
    for x in X[:, 0].tolist():
        scale.learn_one({"a": x, "constant": 2.0})
    assert scale.transform_one({"a": X.mean() + X.std(), "constant": 2.0}) == {"a": pytest.approx(1.0), "constant": 0.0}


@pytest.mark.parametrize("scale", [True, False])
def test_a_session_restarts_at_any_row(scale):
    X, y = series(120)
    rows = [({"a": a, "b": b}, t) for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    whole = Session(KRLS(RBF(1.0), ridge=0.01), scale=scale)
    predictions = [whole.step(*row) for row in rows]
    assert math.isnan(Session(KRLS()).score()["rmse"])
    for cut in (1, 17, 80):
        session = Session(KRLS(RBF(1.0), ridge=0.01), scale=scale)
        for row in rows[:cut]:
            session.step(*row)
        session = loads(session.to_bytes())
        assert [session.step(*row) for row in rows[cut:]] == predictions[cut:]
        assert session.score() == whole.score()
        assert session.to_bytes() == whole.to_bytes()
    assert whole.rows == 120
    assert whole.score()["rmse"] == pytest.approx(np.sqrt(np.mean((y - predictions) ** 2)))


def frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=["b", "a"])


MODELS = {
    "KRLS": KRLS(RBF(0.7), ridge=0.1),
    "filter": streamkernel.filters.KLMS(RBF(0.7)),
    "auto": streamkernel.AutoKernelRegressor(),
    "mixture": streamkernel.KernelMixture([KRLS(ridge=0.1)]),
    "conformal": streamkernel.AdaptiveConformal(KRLS(ridge=0.1)),
    "scaler": streamkernel.TargetScaler(KRLS(ridge=0.1)),
    "pipeline": preprocessing.StandardScaler() | KRLS(ridge=0.1),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_learner_runs_over_a_frame_by_its_names(name):
    X, y = series(60)
    one, many = MODELS[name].clone(), MODELS[name].clone()
    predictions = []
    for (b, a), target in zip(X.tolist(), y.tolist(), strict=True):
        predictions.append(one.predict_one({"a": a, "b": b}))
        one.learn_one({"a": a, "b": b}, target)
    result = run(many, frame(X), y)
    np.testing.assert_allclose(result.predictions, predictions, atol=1e-9)
    np.testing.assert_allclose(result.errors, y - result.predictions)
    assert many.predict_one({"b": 0.1, "a": 0.2}) == pytest.approx(one.predict_one({"b": 0.1, "a": 0.2}), abs=1e-9)


@pytest.mark.parametrize("model", [LSSVMClassifier(), preprocessing.StandardScaler() | LSSVMClassifier()])
def test_classifiers_run(model):
    X, y = series(80)
    labels = np.where(y > 0.0, "up", "down")
    result = run(model.clone(), frame(X), labels)
    assert result.predictions[0] is None
    assert set(result.predictions[1:]) <= {"up", "down"}
    np.testing.assert_array_equal(result.errors[1:], result.predictions[1:] != labels[1:])
    assert result.errors[40:].mean() < 0.2


def test_frames_of_words_and_gaps_run_through_the_automatic_model():
    X, y = series(40)
    table = frame(X)
    table["word"] = ["red", None] * 20
    assert np.isfinite(run(streamkernel.AutoKernelRegressor(), table, y).predictions).all()
    with pytest.raises(TypeError, match="feature 'word' is 'red'") as caught:
        run(streamkernel.AdaptiveConformal(KRLS()), table, y)
    assert "in row 0 of X" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="model must be a regressor or classifier, got 3"):
        run(3, X, y)
    with pytest.raises(ValueError, match=r"one class per row of X \(40\), got 3"):
        run(LSSVMClassifier(), X, ["a", "b", "c"])


@pytest.mark.parametrize("X", [None, 3.0, "rows"])
@pytest.mark.parametrize("model", [streamkernel.AutoKernelRegressor, streamkernel.LSSVMClassifier, KRLS])
def test_what_holds_no_rows_is_refused(model, X):
    with pytest.raises(TypeError, match="X must be an array or a data frame of samples, got"):
        run(model(), X, [1.0])
    with pytest.raises(TypeError, match="got <generator"):
        run(model(), (row for row in [[1.0]]), [1.0])


@pytest.mark.parametrize("classes", [["a", None, "b"], ["a", float("nan"), "b"]])
def test_a_row_without_a_class_is_refused_before_any_is_learned(classes):
    model = streamkernel.LSSVMClassifier()
    before = model.to_bytes()
    with pytest.raises(ValueError, match="a sample without a class cannot be learned"):
        run(model, [[1.0], [2.0], [3.0]], classes)
    assert model.to_bytes() == before
    with pytest.raises(TypeError, match="y must hold one label per row of X"):
        run(model, [[1.0]], None)
