"""KernelForecaster: samples, iterated and direct forecasts and the paper's passes against plain loops; intervals."""

from __future__ import annotations

import copy
import math
import statistics
import warnings
from typing import Any

import numpy as np
import pytest
from reference import JIT
from river import base, checks, compose, evaluate, linear_model, metrics, optim
from river import datasets as river_datasets

from streamkernel import KAAR, KRLS, KRR, datasets, kernels, run
from streamkernel.checkpoint import CheckpointError
from streamkernel.datasets import embed
from streamkernel.forecasting import KernelForecaster
from streamkernel.kernels import RBF

jitted = pytest.mark.skipif(not JIT, reason="too slow without numba")


def series(n: int = 120, seed: int = 0, noise: float = 0.05) -> list[float]:
    random = np.random.default_rng(seed)
    t = np.arange(n)
    values: list[float] = (np.sin(0.3 * t) + 0.5 * np.sin(0.71 * t) + noise * random.standard_normal(n)).tolist()
    return values


def small(**options: Any) -> KRLS:
    return KRLS(RBF(1.5), **{"threshold": 1e-3, "ridge": 1e-3} | options)


class Recorder(linear_model.LinearRegression):  # type: ignore[misc]
    """A regressor that keeps what it learns and predicts a fixed function of its features."""

    def learn_one(self, x: Any, y: Any) -> None:
        self.__dict__.setdefault("samples", []).append((dict(x), y))

    def predict_one(self, x: Any) -> float:
        return 0.9 * float(sum(x.values())) / max(len(x), 1) + 0.01


# river ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", list(KernelForecaster._unit_test_params()), ids=str)
def test_river_checks_without_skips(params: Any) -> None:
    model = KernelForecaster(**params)
    assert not model._unit_test_skips()
    for check in checks.yield_checks(model):
        check(model.clone())


@pytest.mark.parametrize("horizon", [1, 3])
def test_river_evaluation(horizon: int) -> None:
    regressor = KRLS(kernels.Linear() + 1, ridge=1.0)
    model = compose.Discard("month") | KernelForecaster(regressor, lags=12, horizon=horizon)
    metric = evaluate.evaluate(river_datasets.AirlinePassengers(), model, metrics.MAE(), horizon=3)
    assert len(metric.get()) == 3
    assert max(metric.get()) < 41.0  # river's HoltWinters: 41 to 44
    mean = evaluate.evaluate(
        river_datasets.AirlinePassengers(), model.clone(), metrics.MAE(), horizon=3, agg_func=statistics.mean
    )
    assert mean.get() == pytest.approx(np.mean(metric.get()))


# Samples --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize(("lags", "stride"), [(3, 1), (2, 4), (1, 1)])
def test_samples_are_the_delay_embedding(lags: int, stride: int, horizon: int, pad: bool) -> None:
    values = series(40)
    model = KernelForecaster(Recorder(), lags, stride, horizon, pad=pad)
    for value in values:
        model.learn_one(value)
    for step, learned in enumerate(model._models):
        X, y = embed(values, lags, stride, step + 1, pad=pad)
        # Padded, the model of a later step also learns the values that precede its first whole forecast.
        samples = learned.samples[-len(y) :]  # type: ignore[attr-defined]
        names = [f"y-{stride * (k + 1)}" for k in range(lags)]
        np.testing.assert_array_equal([[x[name] for name in names] for x, _ in samples], X)
        np.testing.assert_array_equal([target for _, target in samples], y)
        assert len(learned.samples) == (len(values) if pad else len(y))  # type: ignore[attr-defined]


def test_lags_as_a_tuple_of_distances() -> None:
    model = KernelForecaster(Recorder(), lags=(1, 12), stride=2)
    for value in range(30):
        model.learn_one(float(value))
    x, y = model.model.samples[-1]
    assert (x, y) == ({"y-2": 27.0, "y-24": 5.0}, 29.0)


@jitted
def test_the_paper_setting_equals_run_on_arrays() -> None:
    """Ten lags four apart: the forecaster trains the same model as `run` on the data set's rows."""
    dataset = datasets.MackeyGlass(tau=17, seed=3)
    X, y = dataset.arrays(400)
    arrays = KRLS(RBF(0.5), threshold=1e-4)
    run(arrays, X, y)
    model = KernelForecaster(KRLS(RBF(0.5), threshold=1e-4), lags=10, stride=4)
    for value in dataset.series(440):
        model.learn_one(value)
    assert model.model.size == arrays.size
    last = dataset.series(440)
    row = {f"y-{4 * k}": last[-4 * k] for k in range(1, 11)}
    expected = arrays.predict_one({k - 1: last[-4 * k] for k in range(1, 11)})
    assert model.model.predict_one(row) == pytest.approx(expected, rel=1e-9)


# Forecasts ------------------------------------------------------------------------------------------------------------


def test_iterated_forecast_is_the_loop() -> None:
    values = series()
    model = KernelForecaster(small(), lags=5, stride=2)
    for value in values:
        model.learn_one(value)
    extended = list(values)
    for _ in range(25):
        extended.append(model.model.predict_one({f"y-{2 * k}": extended[-2 * k] for k in range(1, 6)}))
    assert model.forecast(25) == extended[-25:]


def test_direct_forecast_is_one_model_per_step_and_goes_on_in_blocks() -> None:
    values = series()
    model = KernelForecaster(small(), lags=4, horizon=3)
    for value in values:
        model.learn_one(value)
    separate = []
    for step in range(3):
        learner = small()
        X, y = embed(values, 4, 1, step + 1)
        for row, target in zip(X, y):
            learner.learn_one({f"y-{k + 1}": v for k, v in enumerate(row)}, target)
        separate.append(learner)
    extended = list(values)
    for _ in range(3):
        sample = {f"y-{k}": extended[-k] for k in range(1, 5)}
        extended += [learner.predict_one(sample) for learner in separate]
    np.testing.assert_allclose(model.forecast(7), extended[len(values) :][:7], rtol=1e-9)


@jitted
def test_direct_beats_iterated_where_one_step_says_nothing() -> None:
    """y(t) = f(y(t − 3)) + noise: three steps ahead the direct model sees the value that matters."""
    random = np.random.default_rng(0)
    values = [0.5, -0.3, 0.1]
    for _ in range(900):
        values.append(math.cos(2.5 * values[-3]) + 0.05 * random.standard_normal())
    errors = {}
    for horizon in (1, 3):
        model = KernelForecaster(KRLS(RBF(1.0), ridge=0.01), lags=2, horizon=horizon)
        squares = 0.0
        for t, value in enumerate(values):
            if t >= 600:
                squares += (values[t + 2] - model.forecast(3)[2]) ** 2 if t + 2 < len(values) else 0.0
            model.learn_one(value)
        errors[horizon] = squares
    assert errors[3] < 0.6 * errors[1]


def test_exogenous_features_belong_to_the_time_of_the_target() -> None:
    for horizon in (1, 2):
        model = KernelForecaster(Recorder(), lags=2, horizon=horizon)
        for t in range(12):
            model.learn_one(float(t), {"hour": 100.0 + t})
        for step, learned in enumerate(model._models):
            x, y = learned.samples[-1]  # type: ignore[attr-defined]
            assert (x, y) == ({"hour": 111.0, "y-1": 10.0 - step, "y-2": 9.0 - step}, 11.0)


def test_exogenous_features_help() -> None:
    random = np.random.default_rng(1)
    drive = random.choice([-1.0, 1.0], 300)
    values = [0.0]
    for u in drive[1:]:
        values.append(0.5 * values[-1] + u)
    model = KernelForecaster(KRLS(kernels.Linear() + 1, ridge=1e-6), lags=1)
    for value, u in zip(values[:250], drive):
        model.learn_one(value, {"u": u})
    forecast = model.forecast(50, xs=[{"u": u} for u in drive[250:]])
    np.testing.assert_allclose(forecast, values[250:], atol=1e-4)


@pytest.mark.parametrize(
    ("mean", "spread", "is_far"),
    [(0.0, 1.0, False), (4.9, 1.0, False), (-5.1, 1.0, True), (0.0, 4.9, False), (0.0, 5.1, True), (0.0, 0.19, True)],
)
def test_the_default_kernel_warns_of_values_far_from_its_scale_once(mean: float, spread: float, is_far: bool) -> None:
    model = KernelForecaster(KRLS(ridge=0.1), lags=2)
    values = [mean + spread * (-1.0) ** t for t in range(60)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t, value in enumerate(values):
            model.learn_one(value)
            assert len(caught) == (is_far and t >= 19)
    assert all("scale the series" in str(warning.message) for warning in caught)


def test_forecast_before_anything_was_learned() -> None:
    assert KernelForecaster(small(), lags=3).forecast(4) == [0.0] * 4
    model = KernelForecaster(small(), lags=3, pad=True)
    model.learn_one(1.0)
    assert len(model.forecast(4)) == 4


# Rolling out ----------------------------------------------------------------------------------------------------------


def paper_passes(values: Any, lags: int, n: int, model: Any) -> Any:
    """Section 5.2.2 written out: pass i over x_t = (ŷ^{i−1}_{t−1}, ..., ŷ¹_{t−i+1}, y_{t−i}, ..., y_{t−d})."""
    estimates: list[list[float]] = []
    for i in range(1, n + 1):
        samples = []
        for t in range(len(values)):
            x = {}
            for k in range(1, lags + 1):
                source = values if k >= i else estimates[i - k - 1]
                x[f"y-{k}"] = source[t - k] if t - k >= 0 else 0.0
            samples.append(x)
        for x, y in zip(samples, values):
            model.learn_one(x, y)
        estimates.append([model.predict_one(x) for x in samples])
    return model


@pytest.mark.parametrize(("lags", "n"), [(4, 1), (4, 3), (2, 4), (3, 4)])
def test_learn_series_is_the_passes_of_the_paper(lags: int, n: int) -> None:
    values = series(60)
    expected = paper_passes(values, lags, n, small())
    model = KernelForecaster(small(), lags, rollout=n, pad=True)
    model.learn_series(values)
    x = {f"y-{k}": values[-k] for k in range(1, lags + 1)}
    assert model.model.size == expected.size
    assert model.forecast(1)[0] == pytest.approx(expected.predict_one(x), rel=1e-7)


def test_online_rollout_takes_the_samples_of_a_step_together() -> None:
    values, lags, n = series(30), 3, 3
    model = KernelForecaster(Recorder(), lags, rollout=n, pad=True)
    for value in values:
        model.learn_one(value)
    predict = Recorder().predict_one
    estimates: dict[tuple[int, int], float] = {}
    expected = []
    for t, value in enumerate(values):
        for i in range(1, n + 1):
            x = {}
            for k in range(1, lags + 1):
                known = values[t - k] if t - k >= 0 else 0.0
                x[f"y-{k}"] = estimates.get((t - k, i - k), 0.0) if k < i else known
            expected.append((x, value))
            estimates[t, i] = predict(x)
    assert model.model.samples == expected


def test_series_in_two_parts_and_then_online() -> None:
    """With a fixed predictor the passes see the same samples however the series is cut."""
    values = series(50)

    def samples(cuts: tuple[int, int]) -> Any:
        model = KernelForecaster(Recorder(), lags=2, rollout=3)
        model.learn_series(values[: cuts[0]])
        model.learn_series(values[cuts[0] : cuts[1]])
        for value in values[cuts[1] :]:
            model.learn_one(value)
        return sorted(((tuple(sorted(x.items())), y) for x, y in model.model.samples), key=repr)

    assert samples((50, 50)) == samples((20, 35)) == samples((0, 0)) == samples((1, 2))


def test_intervals_after_the_passes_are_made_of_the_errors_of_the_first_one() -> None:
    rolled, plain = (KernelForecaster(linear_model.LinearRegression(), lags=2, rollout=n) for n in (3, 1))
    for model in (rolled, plain):
        model.learn_series(series(25))
    assert rolled._errors == plain._errors
    for interval in rolled.forecast(3, with_interval=True):
        assert interval.upper - interval.lower > 0.1
    rolled.learn_series(series(15))
    assert rolled._errors[0][0] == 38


def test_the_passes_warn_of_values_far_from_the_scale_of_the_default_kernel() -> None:
    model = KernelForecaster(KRLS(ridge=0.1), lags=2, rollout=2)
    with pytest.warns(UserWarning, match="scale the series") as caught:
        model.learn_series([100.0 + value for value in series(30)])
    assert [warning.filename for warning in caught] == [__file__]
    model.learn_series([100.0 + value for value in series(30)])  # which warns no more


@pytest.mark.parametrize("rollout", [1, 2])
@pytest.mark.parametrize("lags", [2, (5,)])
def test_a_series_does_not_end_in_a_value_from_which_it_cannot_go_on(lags: Any, rollout: int) -> None:
    model = KernelForecaster(KRLS(kernels.Polynomial(3), ridge=0.1), lags, rollout=rollout)
    model.learn_series(series(20))
    before = model.to_bytes()
    with pytest.raises(ValueError, match="no finite similarity"):
        model.learn_series([0.1, 1e60])
    assert model.to_bytes() == before


@pytest.mark.parametrize("count", [0, 3, 5])
def test_the_passes_over_a_series_without_samples(count: int) -> None:
    """Too short a series is remembered, as `learn_one` remembers it."""
    values = series(12)
    model, one = (KernelForecaster(small(), lags=5, rollout=2, seed=1) for _ in range(2))
    model.learn_series(values[:count])
    for value in values[:count]:
        one.learn_one(value)
    assert model.to_bytes() == one.to_bytes()


def test_the_passes_learn_features_that_some_samples_do_not_have() -> None:
    """An absent feature is zero."""
    values = series(20)
    some, all_ = (KernelForecaster(small(), lags=2, rollout=3) for _ in range(2))
    some.learn_series(values, [{"a": 1.0}, {"b": 1.0}] * 10)
    all_.learn_series(values, [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}] * 10)
    xs = [{"a": 0.5}] * 3
    assert some.forecast(3, xs) == pytest.approx(all_.forecast(3, xs), rel=1e-9)


@pytest.mark.parametrize("value", ["x", "1.5", 10**400, 1j, [1.0], None, math.nan], ids=lambda value: str(value)[:5])
def test_the_passes_name_a_feature_that_is_no_number_as_learn_one_does(value: Any) -> None:
    messages = []
    for rollout in (1, 3):
        model = KernelForecaster(small(), lags=2, rollout=rollout)
        model.learn_series(series(10), [{"a": 0.1}] * 10)
        before = model.to_bytes()
        with pytest.raises((TypeError, ValueError), match="feature 'a' is ") as caught:
            model.learn_series(series(20), [{"a": 1.0}] * 19 + [{"a": value}])
        assert model.to_bytes() == before
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@jitted
def test_rollout_steadies_the_laser(data: Any) -> None:
    """On the paper's first hold-out (rows 701 to 800) both ways of rolling out lower the iterated forecast's error."""
    data("santafe.csv")
    values = datasets.SantaFeLaser(normalize=True).series()
    truth = values[700:800]

    def nmse(rollout: int, online: bool) -> float:
        model = KernelForecaster(KRLS(RBF(0.9), threshold=0.01), lags=40, rollout=rollout, pad=True)
        if online:
            for value in values[:700]:
                model.learn_one(value)
        else:
            model.learn_series(values[:700])
        return float(np.mean((model.forecast(100) - truth) ** 2) / truth.var())

    naive = nmse(1, online=False)
    assert nmse(6, online=False) < 0.6 * naive
    assert nmse(6, online=True) < 0.6 * naive


# Intervals ------------------------------------------------------------------------------------------------------------


def autoregression(n: int, seed: int) -> list[float]:
    random = np.random.default_rng(seed)
    values = [0.0]
    for _ in range(n - 1):
        values.append(0.9 * values[-1] + random.standard_normal())
    return values


@jitted
@pytest.mark.parametrize(
    ("regressor", "horizon"),
    [
        (KRLS(kernels.Linear() + 1, ridge=1e-3), 1),
        (KRLS(kernels.Linear() + 1, ridge=1e-3), 5),
        (linear_model.BayesianLinearRegression(), 1),  # direct, it takes the noise of every step to be the same
        (linear_model.LinearRegression(optimizer=optim.SGD(0.002), intercept_lr=0.002), 1),  # gives no distribution
        (linear_model.LinearRegression(optimizer=optim.SGD(0.002), intercept_lr=0.002), 5),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, base.Regressor) else str(value),
)
def test_intervals_cover(regressor: Any, horizon: int) -> None:
    """An autoregression of known variance: h steps ahead it is (1 − 0.81ʰ)/(1 − 0.81)."""
    values = autoregression(1400, seed=2)
    model = KernelForecaster(regressor.clone(), lags=1, horizon=horizon, confidence_level=0.9, n_paths=60, seed=1)
    inside, widths, count = np.zeros(5), np.zeros(5), 0
    for t, value in enumerate(values):
        if t > 500 and t % 8 == 0 and t + 5 <= len(values):
            intervals = model.forecast(5, with_interval=True)
            inside += [y in interval for y, interval in zip(values[t:], intervals)]
            widths += [interval.width for interval in intervals]
            count += 1
        model.learn_one(value)
    exact = 2 * 1.645 * np.sqrt((1 - 0.81 ** np.arange(1, 6)) / (1 - 0.81))
    np.testing.assert_allclose(inside / count, 0.9, atol=0.08)
    np.testing.assert_allclose(widths / count, exact, rtol=0.15)


def test_paths_are_seeded_and_forecasts_change_nothing() -> None:
    values = series()
    model, other = (KernelForecaster(small(), lags=3, seed=seed) for seed in (7, 8))
    unseeded = KernelForecaster(small(), lags=3)
    for value in values:
        for forecaster in (model, other, unseeded):
            forecaster.learn_one(value)
    first = model.forecast_paths(6, n_paths=20)
    assert first.shape == (20, 6)
    np.testing.assert_array_equal(first, model.forecast_paths(6, n_paths=20))
    assert not np.array_equal(first, other.forecast_paths(6, n_paths=20))
    np.testing.assert_array_equal(unseeded.forecast_paths(6), unseeded.forecast_paths(6))
    before = model.forecast(6)
    model.forecast(40, with_interval=True)
    assert model.forecast(6) == before
    model.learn_one(values[0])
    assert not np.array_equal(first, model.forecast_paths(6, n_paths=20))


def test_paths_scatter_around_the_forecast() -> None:
    model = KernelForecaster(KRLS(kernels.Linear(), ridge=1e-3), lags=2, seed=1)
    for value in autoregression(400, seed=3):
        model.learn_one(value)
    paths = model.forecast_paths(3, n_paths=4000)
    np.testing.assert_allclose(paths.mean(axis=0), model.forecast(3), atol=0.1)


# Copies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        KernelForecaster(small(), lags=3, stride=2),
        KernelForecaster(KAAR(RBF(1.0), ridge=0.1), lags=(1, 5), horizon=3, seed=4),
        KernelForecaster(small(max_size=10), lags=4, rollout=4, pad=True),
        KernelForecaster(KRR(RBF(1.0), ridge=0.1), lags=2, rollout=5),
    ],
    ids=repr,
)
def test_a_checkpoint_continues_bit_for_bit(model: Any) -> None:
    values = series(80)
    model = model.clone()
    for cut in (0, 2, 40):
        whole = model.clone()
        for value in values[:cut]:
            whole.learn_one(value, {"a": value**2})
        restored = KernelForecaster.from_bytes(whole.to_bytes())
        for value in values[cut:]:
            whole.learn_one(value, {"a": value**2})
            restored.learn_one(value, {"a": value**2})
        xs = [{"a": 0.1}] * 9
        assert restored.forecast(9, xs) == whole.forecast(9, xs)
        np.testing.assert_array_equal(restored.forecast_paths(4, xs[:4]), whole.forecast_paths(4, xs[:4]))
        assert copy.deepcopy(whole).forecast(9, xs) == whole.forecast(9, xs)


def test_a_checkpoint_needs_a_model_of_the_library() -> None:
    with pytest.raises(TypeError, match="cannot write"):
        KernelForecaster(linear_model.LinearRegression(), lags=2).to_bytes()
    with pytest.raises(CheckpointError):
        KernelForecaster.from_bytes(small().to_bytes())


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lags": 0}, "lags must be a whole number >= 1.*got 0"),
        ({"lags": ()}, "lags must be"),
        ({"lags": (1, 1)}, r"distinct.*\(1, 1\)"),
        ({"lags": 2, "stride": 0}, "stride must"),
        ({"lags": 2, "horizon": -1}, "horizon must"),
        ({"lags": 2, "rollout": 0}, "rollout must"),
        ({"lags": 2, "rollout": 2, "horizon": 2}, "rollout must be 1 where horizon is 2"),
        ({"lags": 2, "n_paths": 0}, "n_paths must"),
        ({"lags": 2, "confidence_level": 1.5}, "confidence_level must.*1.5"),
        ({"lags": 2, "seed": -1}, "seed must.*-1"),
    ],
)
def test_bad_parameters(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelForecaster(small(), **options)


def test_bad_calls() -> None:
    with pytest.raises(TypeError, match="model must be a streaming regressor"):
        KernelForecaster(RBF(1.0), lags=2)
    model = KernelForecaster(small(), lags=2)
    for value in series(20):
        model.learn_one(value, {"a": 1.0})
    before = model.to_bytes()
    with pytest.raises(ValueError, match="y is nan"):
        model.learn_one(math.nan, {"a": 1.0})
    with pytest.raises(ValueError, match="feature 'a' is nan"):
        model.learn_one(1.0, {"a": math.nan})
    with pytest.raises(ValueError, match="feature 'y-1'"):
        model.learn_one(1.0, {"y-1": 0.0})
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="xs must be given"):
        model.forecast(3)
    with pytest.raises(ValueError, match="each of the 3 steps, got 2"):
        model.forecast(3, xs=[{}, {}])
    with pytest.raises(ValueError, match=r"horizon must.*got 0"):
        model.forecast(0, xs=[])
    with pytest.raises(ValueError, match="one entry for each of the 2 values, got 1"):
        model.learn_series([1.0, 2.0], xs=[{}])
