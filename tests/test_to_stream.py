"""Fitted scikit-learn models that go on as streams: what the pipeline predicts, by the names it was fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import streamkernel
from streamkernel import KRLS, batch, datasets, kernels


def table(n: int = 60) -> tuple[Any, Any]:
    """Names that are not in sorted order, units that differ, a target in hundreds."""
    X, y = datasets.Friedman1(noise=0.5, seed=3).arrays(n)
    frame = pandas.DataFrame({"width": 30.0 * X[:, 0], "age": 1000.0 + X[:, 1], "load": 1e-3 * X[:, 3]})
    return frame, 150.0 + 10.0 * y


def rows(frame: Any) -> list[dict[str, float]]:
    return list(frame.to_dict("records"))


ESTIMATORS = {
    "ridge": batch.KernelRidge(kernels.RBF(1.5), ridge=0.1),
    "aggregating": batch.KernelRidge(kernels.RBF(1.5), ridge=0.1, method="ckaar"),
    "by column": batch.KernelRidge(kernels.RBF((1.0, 50.0, 2.0)) + 0.5, ridge=0.1),
    "odd": batch.KernelRidge(kernels.Odd(kernels.RBF((1.0, 50.0, 2.0))) + 0.5, ridge=0.1),
    "by number": batch.KernelRidge(kernels.Matern52({0: 1.0, 1: 50.0, 2: 2.0}), ridge=0.1),
    "not centered": batch.KernelRidge(kernels.RBF(1.5), ridge=0.1, center=False),
}
SCALERS = {
    "standard": [StandardScaler()],
    "without mean": [StandardScaler(with_mean=False)],
    "range": [MinMaxScaler((-1.0, 1.0))],
    "robust": [RobustScaler()],
    "two": [MaxAbsScaler(), "passthrough", StandardScaler()],
    "none": [],
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scaler", SCALERS)
def test_a_pipeline_becomes_a_stream_with_its_scaling_and_names(scaler: str, estimator: str) -> None:
    X, y = table()
    if scaler == "none" and estimator == "by number":
        pytest.skip("an estimator that sees names is asked for scales by name")
    pipeline = make_pipeline(*SCALERS[scaler], ESTIMATORS[estimator]).fit(X, y)
    stream = streamkernel.to_stream(pipeline)
    np.testing.assert_allclose([stream.predict_one(x) for x in rows(X)], pipeline.predict(X), rtol=1e-8)
    np.testing.assert_allclose(stream.predict_many(X), pipeline.predict(X), rtol=1e-8)
    assert stream.predict_one(rows(X)[0], with_dist=True).sigma > 0.0
    stream.learn_one(rows(X)[0], 500.0)
    assert stream.predict_one(rows(X)[0]) > pipeline.predict(X)[0] + 1.0


def test_the_stream_learns_frames_of_any_kind() -> None:
    polars = pytest.importorskip("polars")
    X, y = table()
    model = streamkernel.to_stream(make_pipeline(StandardScaler(), ESTIMATORS["ridge"]).fit(X, y))
    other = streamkernel.to_stream(make_pipeline(StandardScaler(), ESTIMATORS["ridge"]).fit(X, y))
    model.learn_many(X, y + 5.0)
    other.learn_many(polars.from_pandas(X), polars.Series((y + 5.0).tolist()))
    np.testing.assert_allclose(model.predict_many(X), other.predict_many(X), rtol=1e-9)


@pytest.mark.parametrize("batch_model", [batch.LSSVM(), batch.CoKERClassifier(), batch.FLKL(ridge=1.0, penalty=0.1)])
def test_classifiers(batch_model: Any) -> None:
    X, y = table(40)
    labels = np.where(y > np.median(y), "high", "low")
    pipeline = make_pipeline(StandardScaler(), batch_model).fit(X, labels)
    stream = streamkernel.to_stream(pipeline)
    assert np.mean([stream.predict_one(x) for x in rows(X)] == pipeline.predict(X)) >= 0.95


def test_other_regressors() -> None:
    X, y = table(40)
    for model in (batch.CoKER(), batch.FLKLRegressor(ridge=0.1, penalty=0.1)):
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
        stream = streamkernel.to_stream(pipeline, max_size=None)
        predicted = [stream.predict_one(x) for x in rows(X)]
        assert np.abs(predicted - pipeline.predict(X)).max() < 0.02 * np.std(y)


@pytest.mark.parametrize("kind", [batch.HKRR, batch.LOOHKRR])
def test_scales_by_column_of_a_heteroscedastic_regression(kind: Any) -> None:
    X, y = table()
    pipeline = make_pipeline(StandardScaler(), kind(kernels.RBF((1.0, 50.0, 2.0)))).fit(X, y)
    stream = streamkernel.to_stream(pipeline, threshold=1e-10)
    predicted = np.array([stream.predict_one(x) for x in rows(X)])
    assert np.abs(predicted - pipeline.predict(X)).max() < 1e-4 * np.std(y)


@pytest.mark.parametrize("is_scaled", [False, True])
def test_the_automatic_regressor_goes_on_by_name(is_scaled: bool, tmp_path: Any) -> None:
    X, y = table(100)
    regressor: Any = batch.AutoKernelRegressor("low")
    if is_scaled:
        regressor = TransformedTargetRegressor(regressor, transformer=StandardScaler())
    pipeline = make_pipeline(StandardScaler(), regressor).fit(X, y)
    numbered = streamkernel.to_stream(make_pipeline(StandardScaler(), regressor).fit(X.to_numpy(), y))
    stream, asked = streamkernel.to_stream(pipeline), streamkernel.to_stream(pipeline)
    np.testing.assert_allclose([asked.predict_one(x) for x in rows(X)], pipeline.predict(X), rtol=1e-12)
    streamkernel.save(stream, tmp_path / "model.skm")
    same = streamkernel.load(tmp_path / "model.skm")
    for x, values in zip(rows(X), X.to_numpy().tolist(), strict=True):
        expected = numbered.predict_one(dict(enumerate(values)))
        assert stream.predict_one(x) == same.predict_one(x) == expected
        numbered.learn_one(dict(enumerate(values)), 200.0)
        stream.learn_one(x, 200.0)
        same.learn_one(x, 200.0)


@pytest.mark.parametrize("inside", [False, True])
def test_scaled_targets(inside: bool) -> None:
    X, y = table()
    if inside:
        regressor = make_pipeline(StandardScaler(), ESTIMATORS["not centered"])
        model: Any = TransformedTargetRegressor(regressor, transformer=StandardScaler())
    else:
        regressor = TransformedTargetRegressor(ESTIMATORS["not centered"], transformer=StandardScaler())
        model = make_pipeline(StandardScaler(), regressor)
    model.fit(X, y)
    stream = streamkernel.to_stream(model)
    np.testing.assert_allclose([stream.predict_one(x) for x in rows(X)], model.predict(X), rtol=1e-8)


def test_an_estimator_alone_has_what_every_learner_has(tmp_path: Any) -> None:
    X, y = table()
    scaled = (X - X.mean()) / X.std()
    model = batch.KernelRidge(kernels.RBF(1.5), ridge=0.1).fit(scaled, y)
    stream = streamkernel.to_stream(model, threshold=1e-6)
    assert stream.predict_one(rows(scaled)[0], with_dist=True).sigma > 0.0
    assert rows(scaled)[0] and stream.predict_one(rows(scaled)[0], with_interval=True).lower < 1e9
    stream.learn_many(scaled, y)
    stream.save(tmp_path / "model.skm")
    same = streamkernel.load(tmp_path / "model.skm")
    assert same.predict_one(rows(scaled)[3]) == stream.predict_one(rows(scaled)[3])


def test_a_converted_pipeline_is_saved(tmp_path: Any) -> None:
    X, y = table()
    stream = streamkernel.to_stream(make_pipeline(StandardScaler(), ESTIMATORS["ridge"]).fit(X, y))
    streamkernel.save(stream, tmp_path / "model.skm")
    same = streamkernel.load(tmp_path / "model.skm")
    for x, target in zip(rows(X), y.tolist(), strict=True):
        assert same.predict_one(x) == stream.predict_one(x)
        same.learn_one(x, target)
        stream.learn_one(x, target)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(PCA(2), ESTIMATORS["ridge"]), "the step 'pca' is PCA"),
        (make_pipeline(StandardScaler(), Ridge()), "to_stream takes a fitted estimator of streamkernel.batch"),
        (Ridge(), "got Ridge"),
        (TransformedTargetRegressor(ESTIMATORS["ridge"], func=np.log, inverse_func=np.exp), "func of a Transformed"),
    ],
)
def test_what_cannot_go_on_is_named(model: Any, message: str) -> None:
    X, y = table()
    with pytest.raises(TypeError, match=message):
        streamkernel.to_stream(model.fit(X, y))


def test_samples_by_other_names_are_noticed() -> None:
    X, y = table()
    pipeline = Pipeline([("scale", StandardScaler()), ("model", ESTIMATORS["ridge"])]).fit(X, y)
    with pytest.raises(ValueError, match="the scaler does not know: it was fitted on 'width', 'age', 'load'"):
        streamkernel.to_stream(pipeline).predict_one({0: 1.0})
    with pytest.warns(UserWarning, match=r"the model knows none of the features \['width', 'age', 'load'\]"):
        pipeline[-1].to_stream().predict_one(rows(X)[0])
    model = KRLS(ridge=0.1)
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.warns(UserWarning, match=r"none of the features \['b'\]: it has learned \['a'\]") as caught:
        model.predict_one({"b": 1.0})
    assert caught[0].filename == __file__  # where the wrong names come from
    with pytest.warns(UserWarning, match=r"none of the features \[0, 1\]"):
        model.predict_many(np.ones((3, 2)))
    model.predict_one({})
    model.predict_one({"a": 1.0, "b": 1.0})
