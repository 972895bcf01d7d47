"""What a new user does first: defaults that serve, targets in any unit, tables of scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas
import pytest
from river import evaluate, metrics, preprocessing
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import streamkernel
from streamkernel import KRLS, batch, datasets, kernels


def standardized(stream: Any, n: int) -> tuple[Any, Any]:
    X, y = stream.arrays(n)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


# A bounded dictionary ------------------------------------------------------------------------------------------------


def test_a_bounded_dictionary_has_a_ridge_unless_it_is_told_otherwise() -> None:
    assert KRLS(max_size=50).ridge == 1e-2
    assert KRLS().ridge == KRLS(max_size=50, ridge=0.0).ridge == 0.0
    assert KRLS(max_size=50).clone().ridge == 1e-2

    def error(**arguments: Any) -> float:
        model = preprocessing.StandardScaler() | KRLS(max_size=50, **arguments)
        rows = datasets.Friedman1(noise=1.0, seed=5).take(1500)
        return float(evaluate.progressive_val_score(rows, model, metrics.RMSE()).get())

    assert error() < 0.9 * error(ridge=0.0)


# Batch estimators ----------------------------------------------------------------------------------------------------

UNIT_FREE = [batch.KernelRidge(), batch.HKRR(), batch.LOOHKRR(), batch.FLKLRegressor(ridge=0.1, penalty=0.1)]


@pytest.mark.parametrize("model", UNIT_FREE, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(("level", "unit"), [(0.0, 300.0), (5000.0, 1.0), (-2e4, 1e-2)])
def test_the_unit_of_the_target_does_not_matter(model: Any, level: float, unit: float) -> None:
    X, y = standardized(datasets.MexicanHat(noise=0.2, seed=7), 80)
    plain = model.fit(X, y).predict(X)
    assert np.mean((plain - y) ** 2) < np.var(y)
    np.testing.assert_allclose(model.fit(X, level + unit * y).predict(X), level + unit * plain, rtol=1e-5)


@pytest.mark.parametrize("kind", [batch.HKRR, batch.LOOHKRR])
def test_a_heteroscedastic_stream_predicts_what_the_batch_predicts(kind: Any) -> None:
    X, y = standardized(datasets.MexicanHat(noise=0.2, seed=7), 80)
    y = 100.0 + 10.0 * y
    model = kind().fit(X, y)
    stream = model.to_stream(threshold=0.0)
    rows = [dict(enumerate(row)) for row in X.tolist()]
    mean, deviation = model.predict(X, return_std=True)
    predicted = [stream.predict_one(x, with_dist=True) for x in rows]
    np.testing.assert_allclose([p.mu for p in predicted], mean, atol=1e-6 * np.std(y))
    assert ((deviation < [p.sigma for p in predicted]) & ([p.sigma for p in predicted] < 1.6 * deviation)).all()
    for x, target in zip(rows, y.tolist(), strict=True):
        stream.learn_one(x, target)
    again = [stream.predict_one(x) for x in rows]
    assert np.mean((again - y) ** 2) < np.mean((mean - y) ** 2)
    assert np.mean((again - mean) ** 2) < 0.1 * np.var(y)


def test_kernel_ridge_finds_its_width_and_ridge() -> None:
    for scale in (1e-3, 1.0, 50.0):
        X, y = standardized(datasets.Friedman1(noise=1.0, seed=7), 400)
        model = batch.KernelRidge().fit(scale * X[:200], 200.0 + 50.0 * y[:200])
        assert model.score(scale * X[200:], 200.0 + 50.0 * y[200:]) > 0.75
    given = batch.KernelRidge(kernels.RBF(2.0), ridge=0.3).fit(X, y)
    assert (given.kernel_, given.ridge_) == (kernels.RBF(2.0), 0.3)
    assert batch.KernelRidge(kernels.RBF(2.0)).fit(X, y).kernel_ == kernels.RBF(2.0)
    assert batch.KernelRidge(ridge=0.3).fit(X, y).ridge_ == 0.3


def test_the_chosen_ridge_has_the_least_leave_one_out_error() -> None:
    X, y = standardized(datasets.Friedman1(noise=1.0, seed=7), 60)
    kernel = kernels.RBF(3.0)
    chosen = batch.KernelRidge(kernel).fit(X, y).ridge_

    def error(ridge: float) -> float:
        return float(np.mean(batch.KernelRidge(kernel, ridge=ridge).fit(X, y).leave_one_out_residuals_ ** 2))

    assert error(chosen) <= 1.02 * min(error(ridge) for ridge in np.logspace(-6, 2, 30))


@pytest.mark.parametrize("method", ["krr", "ckaar"])
@pytest.mark.parametrize("arguments", [{}, {"kernel": kernels.RBF(3.0), "ridge": 0.2}, {"bias": True}])
def test_weights_are_repetitions(method: Any, arguments: Any) -> None:
    X, y = standardized(datasets.Friedman1(noise=1.0, seed=7), 50)
    counts = np.arange(50) % 4
    weighted = batch.KernelRidge(method=method, **arguments).fit(X, y, sample_weight=counts)
    repeated = batch.KernelRidge(method=method, **arguments).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    if "kernel" in arguments:
        stream = weighted.to_stream()
        np.testing.assert_allclose([stream.predict_one(dict(enumerate(x))) for x in X], weighted.predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match="at least one non-zero"):
        batch.KernelRidge().fit(X, y, sample_weight=np.zeros(50))


@pytest.mark.parametrize("kind", [batch.HKRR, batch.LOOHKRR])
def test_weights_are_repetitions_where_the_noise_is_learned(kind: Any) -> None:
    X, y = standardized(datasets.MexicanHat(noise=0.2, seed=7), 60)
    counts = np.arange(60) % 3
    weighted = kind().fit(X, y, sample_weight=counts)
    repeated = kind().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for one, other in zip(weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    stream = weighted.to_stream(threshold=0.0)
    np.testing.assert_allclose([stream.predict_one(dict(enumerate(x))) for x in X], weighted.predict(X), atol=1e-5)


def test_a_weighted_left_out_sample_is_left_out_whole() -> None:
    X, y = standardized(datasets.Friedman1(noise=1.0, seed=7), 20)
    weights = 0.5 + np.arange(20) % 3
    model = batch.KernelRidge(kernels.RBF(3.0), method="ckaar", ridge=0.2).fit(X, y, sample_weight=weights)
    for i in (0, 5, 19):
        rest = np.arange(20) != i
        without = batch.KernelRidge(kernels.RBF(3.0), method="ckaar", ridge=0.2).fit(X[rest], y[rest], weights[rest])
        assert y[i] - without.predict(X[i : i + 1])[0] == pytest.approx(model.leave_one_out_residuals_[i])


@pytest.mark.parametrize("kind", [batch.HKRR, batch.LOOHKRR, batch.KernelRidge])
def test_former_names_are_understood(kind: Any) -> None:
    with pytest.warns(DeprecationWarning, match="'ridge_noise' is called 'noise_ridge' now"):
        assert kind(ridge_noise=0.5).noise_ridge == 0.5
    assert streamkernel.KRLS(ridge=0.5).ridge == 0.5


# Grids, and the regressor without parameters -------------------------------------------------------------------------


def test_kernel_parameters_in_a_grid() -> None:
    X, y = standardized(datasets.Friedman1(noise=1.0, seed=7), 60)
    kernel = kernels.RBF(1.0) + 0.5 * kernels.Linear()
    pipeline = make_pipeline(StandardScaler(), batch.KernelRidge(kernel, ridge=0.1))
    grid = {"kernelridge__kernel__left__length_scale": [0.01, 3.0], "kernelridge__ridge": [0.1, 1e4]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernelridge__kernel__left__length_scale": 3.0, "kernelridge__ridge": 0.1}
    assert search.best_estimator_[-1].kernel == kernels.RBF(3.0) + 0.5 * kernels.Linear()
    assert pipeline[-1].kernel is kernel
    assert kernel == kernels.RBF(1.0) + 0.5 * kernels.Linear()


@pytest.mark.parametrize("model", [batch.KernelRidge(), batch.HKRR(), batch.LOOHKRR(), batch.LSSVM()])
def test_a_shared_kernel_is_never_changed(model: Any) -> None:
    kernel = kernels.RBF(2.0)
    one, other = clone(model).set_params(kernel=kernel), clone(model).set_params(kernel=kernel)
    assert one.get_params()["kernel__length_scale"] == 2.0
    one.set_params(kernel__length_scale=5.0)
    assert (one.kernel, other.kernel, kernel) == (kernels.RBF(5.0), kernels.RBF(2.0), kernels.RBF(2.0))
    assert clone(one).kernel == one.kernel
    assert clone(model).set_params(kernel=kernel, kernel__length_scale=7.0).kernel == kernels.RBF(7.0)
    with pytest.raises(ValueError, match="kernel is None, give a kernel"):
        clone(model).set_params(kernel__length_scale=1.0)
    with pytest.raises(ValueError, match=r"RBF\(5.0\) has no parameter 'width'; it has length_scale"):
        one.set_params(kernel__width=1.0)


def test_the_automatic_regressor_passes_scikit_learn_s_checks() -> None:
    reason = "a row of weight two is one sample that counts twice, and two rows are two steps of the stream"
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    check_estimator(batch.AutoKernelRegressor("low"), on_skip=None, expected_failed_checks=dict.fromkeys(names, reason))


def test_the_automatic_regressor_takes_a_frame_as_it_is() -> None:
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "color": rng.choice(["red", "blue"], 300),
            "size": 1000.0 + 50.0 * rng.normal(size=300),
            "day": pandas.date_range("2024-01-01", periods=300),
        }
    )
    frame.loc[5, "size"] = np.nan
    y = 100.0 * (frame["color"] == "red") + 0.5 * frame["size"].fillna(1000.0)
    model = batch.AutoKernelRegressor("low").fit(frame[:200], y[:200])
    mean, deviation = model.predict(frame[200:], return_std=True)
    assert model.score(frame[200:], y[200:]) > 0.9
    assert (deviation > 0.0).all()
    stream = model.to_stream()
    rows = frame[200:].to_dict("records")
    np.testing.assert_allclose([stream.predict_one(x) for x in rows], mean)
    model.partial_fit(frame[200:], y[200:])
    for x, target in zip(rows, y[200:].tolist(), strict=True):
        stream.learn_one(x, target)
    assert stream.predict_one(rows[0]) == model.predict(frame[200:201])[0]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "color"]])


# Names of arguments --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [streamkernel.KRR, streamkernel.KAAR])
def test_arguments_by_position_mean_what_they_meant(kind: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"{kind.__name__}: name the argument: ridge=0.5"):
        model = kind(kernels.RBF(1.0), 0.5)
    assert (model.ridge, model.threshold) == (0.5, kind().threshold)
    with pytest.warns(DeprecationWarning, match="name the argument"):
        assert kind(None, 0.5, None, 7)._parameters() == kind(ridge=0.5, threshold=None, max_size=7)._parameters()
    with (
        pytest.raises(TypeError, match="two values for 'ridge'"),
        pytest.warns(DeprecationWarning, match="name the argument"),
    ):
        kind(None, 0.5, ridge=0.1)
    with pytest.raises(TypeError, match="arguments by position"):
        kind(None, 0.5, None, 7, 8)
    assert [*inspect.signature(kind).parameters] == ["kernel", "threshold", "ridge", "max_size"]


def test_one_number_of_iterations() -> None:
    assert streamkernel.IKAAR().iterations == batch.KernelRidge().iterations


# Mistakes -------------------------------------------------------------------------------------------------------------

PIPELINE = preprocessing.StandardScaler() | KRLS()
MISTAKES: dict[str, tuple[Any, str]] = {
    "a pipeline in a mixture": (
        lambda: streamkernel.KernelMixture([PIPELINE]),
        "models must be a list of StreamingRegressors(.|\n)*is a Pipeline: put the mixture at the end of a pipeline",
    ),
    "a pipeline to be tuned": (
        lambda: streamkernel.selection.tune(PIPELINE, np.ones((30, 2)), np.ones(30)),
        "model must be a learner, a kernel or None, got Pipeline",
    ),
    "a class that runs": (lambda: streamkernel.run(KRLS, np.ones((3, 1)), np.ones(3)), "model must be a regressor"),
    "a forecaster that runs": (
        lambda: streamkernel.run(streamkernel.AutoKernelForecaster(), np.ones((3, 1)), np.ones(3)),
        "model must be a regressor or classifier",
    ),
    "a list of features": (lambda: KRLS().learn_one([1.0], 1.0), r"x must be a dict of features by name, got \[1.0\]"),  # type: ignore[arg-type]
    "an array of features": (lambda: KRLS().predict_one(np.ones(2)), "x must be a dict of features by name"),  # type: ignore[arg-type]
    "no features": (lambda: streamkernel.TargetScaler(KRLS()).learn_one(None, 1.0), "x must be a dict"),  # type: ignore[arg-type]
    "a list of raw features": (
        lambda: streamkernel.AutoKernelRegressor().predict_one([1.0]),  # type: ignore[arg-type]
        "x must be a dict of features by name",
    ),
    "a word to be saved": (lambda: streamkernel.save("model", "model.skm"), "model must be a model of this library"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_in_the_user_s_words(name: str) -> None:
    call, message = MISTAKES[name]
    with pytest.raises(TypeError, match=message):
        call()
