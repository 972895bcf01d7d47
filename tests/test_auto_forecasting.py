"""AutoKernelForecaster: structure, experts against plain loops, gaps, shifts, intervals, chaos, checkpoints."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pytest
from reference import JIT
from river import checks, conf, evaluate, metrics
from river import datasets as river_datasets

from streamkernel import KRLS as Learner
from streamkernel import AdaptiveConformal, AutoKernelForecaster, KernelForecaster, datasets, kernels
from streamkernel.cli import plots
from streamkernel.forecasting import autoregression, report
from streamkernel.forecasting.autoregression import Autoregressions, Model, difference, lag_priors
from streamkernel.forecasting.calibration import Calibration
from streamkernel.forecasting.features import going_on
from streamkernel.forecasting.kernel_expert import Embedding, KernelExpert
from streamkernel.forecasting.mixing import Record, bands
from streamkernel.forecasting.smoothing import FAMILIES, Smoothing, first_state
from streamkernel.forecasting.structure import find_seasons, needs_log

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def seasonal(n: int = 120, season: int = 12, noise: float = 0.1, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    pattern = random.standard_normal(season)
    t = np.arange(n)
    return 20.0 + 0.05 * t + 2.0 * pattern[t % season] + noise * random.standard_normal(n)


def learned(values: Any, **options: Any) -> AutoKernelForecaster:
    model = AutoKernelForecaster(**options)
    for value in values:
        model.learn_one(value)
    return model


# Parts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("season", [3, 4, 7, 12, 24])
def test_seasons_are_found(season: int) -> None:
    assert find_seasons(seasonal(8 * season, season)) == (season,)


def test_no_season_is_found_where_there_is_none() -> None:
    random = np.random.default_rng(1)
    assert find_seasons(random.standard_normal(200)) == ()
    assert find_seasons(np.cumsum(random.standard_normal(200))) == ()
    assert find_seasons(np.ones(100)) == ()
    assert find_seasons(np.ones(1)) == ()


def test_two_seasons() -> None:
    random = np.random.default_rng(2)
    day, week = random.standard_normal(8), random.standard_normal(56)
    t = np.arange(56 * 7)
    values = day[t % 8] + week[t % 56] + 0.05 * random.standard_normal(len(t))
    assert 56 in find_seasons(values)


def test_a_kernel_expert_learns_a_value_with_the_features_of_its_time() -> None:
    """Also of those values that it takes in one by one, between two times that it is made anew."""
    x = np.random.default_rng(0).standard_normal(120)[:, None]
    series = 2.0 * x[:, 0]
    expert = KernelExpert(Embedding("", (1, 2), exogenous=True))
    for end in range(1, 121):
        expert.learn(series[:end], x[:end])
    errors = [expert.forecast(series, 1, np.array([[value]]))[0] - 2.0 * value for value in (-1.0, 0.0, 1.0)]
    assert np.abs(errors).max() < 0.3


@pytest.mark.parametrize("count", [0, 1, 3])
def test_experts_see_the_features_that_are_given_and_no_others(count: int) -> None:
    rng = np.random.default_rng(0)
    model = AutoKernelForecaster(season=4)
    for y, x in zip(seasonal(60, 4), rng.standard_normal((60, count)).tolist(), strict=True):
        model.learn_one(y, dict(enumerate(x)) or None)
    assert model._trials is not None
    experts = [expert for expert in model._trials.pool._kernels if expert.embedding.exogenous]
    assert bool(experts) == bool(count)
    for expert in experts:
        assert expert._model is not None
        assert len(expert._model.features) == len(expert.embedding.delays) + count


def test_the_shortest_slow_season_is_seven_blocks() -> None:
    """Of six blocks or fewer one cannot tell a season from a smooth series."""
    rng = np.random.default_rng(0)
    waves = {m: np.sin(2.0 * math.pi * np.arange(560) / m) + 0.7 * rng.standard_normal(560) for m in (28, 24)}
    assert find_seasons(waves[28]) == (28,)
    assert find_seasons(waves[24]) != (24,)


def test_a_slow_season_under_noise() -> None:
    """Of weekly values, a year: single changes are noise, averages over a month are not."""
    random, t = np.random.default_rng(0), np.arange(600)
    phase = 2.0 * np.pi * t / 52.18
    values = 1.2 * np.cos(phase) + 0.5 * np.cos(2.0 * phase + 1.0) + 0.5 * random.standard_normal(600)
    assert find_seasons(values) == (52,)


def test_a_season_is_not_taken_for_its_double() -> None:
    """Their squares are compared at the same values: the first years of this one are harder to predict."""
    random, t = np.random.default_rng(3), np.arange(72)
    values = np.cos(2.0 * np.pi * t / 12.0) + np.where(t < 36, 0.35, 0.1) * random.standard_normal(72)
    assert find_seasons(values) == (12,)


def test_the_logarithm_where_the_spread_grows() -> None:
    t = np.arange(144)
    growing = np.exp(0.02 * t + 0.3 * np.sin(2 * np.pi * t / 12))
    assert needs_log(growing, 12)
    assert not needs_log(growing - 10.0, 12)  # not positive
    assert not needs_log(20.0 + 0.1 * t + np.sin(2 * np.pi * t / 12), 12)


def test_smoothing_is_the_plain_recursion() -> None:
    """Each family against its settings run one by one."""
    values = seasonal(40, 4)
    model = Smoothing((4,), values)
    states = []
    level, slope, profile = first_state(values, 4)
    for family, alpha, beta, phi, gain in zip(model._families, *model._settings):
        states.append([int(family), alpha, beta, phi, gain, level, slope if phi else 0.0, profile.copy(), 0.0])
    for t, value in enumerate(values):
        for state in states:
            _, alpha, beta, phi, gain, ell, b, s, squares = state
            error = value - ell - phi * b - s[t % 4]
            cut = float(np.clip(error, -4.0, 4.0))
            state[5], state[6] = ell + phi * b + alpha * cut, phi * b + alpha * beta * cut
            s[t % 4] += gain * cut
            state[8] = 0.99 * squares + error**2
        model.learn(float(value), 1.0)
    weight = sum(0.99**i for i in range(40))
    rows, _ = model.forecast(6)
    for k in range(len(FAMILIES)):
        chosen = [state for state in states if state[0] == k]
        least = min(state[8] for state in chosen)
        powers = np.array([(state[8] / least) ** (-0.5 * weight) for state in chosen])
        ahead = [
            [s[5] + sum(s[3] ** j for j in range(1, h + 1)) * s[6] + s[7][(40 + h - 1) % 4] for h in range(1, 7)]
            for s in chosen
        ]
        np.testing.assert_allclose(rows[k], powers @ np.array(ahead) / powers.sum(), rtol=1e-6)


@pytest.mark.parametrize(("order", "seasonal_order"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_autoregression_is_ridge_regression(order: int, seasonal_order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no error cut the recursion is the dense solve, weighted by the noise of each step, with the lags' priors."""
    monkeypatch.setattr(autoregression, "LARGEST_ERROR", 1e6)
    values, lags = seasonal(60, 4, noise=0.3) - 21.5, (1, 2, 4)
    model = Autoregressions((Model("", order, seasonal_order, 1.0),), 4, {(order, seasonal_order): 1.0}, lags)
    u = np.concatenate([np.zeros(order + 4 * seasonal_order), difference(values, order, seasonal_order, 4)])
    rows, targets, noises = [], [], []
    for t in range(10, 60):
        model.learn(values[: t + 1])
        noises.append(float(model._noise[0]))
        rows.append([u[t - 1], u[t - 2], u[t - 4], 1.0])
        targets.append(u[t])
    X, weights = np.array(rows), 1.0 / np.array(noises)
    prior = np.append(lag_priors(lags, 4), 0.1)
    dense = np.linalg.solve(X.T * weights @ X + np.diag(prior**-2.0), X.T * weights @ np.array(targets))
    np.testing.assert_allclose(model._coefficients[0], dense, rtol=1e-7, atol=1e-9)
    sizes = model.sizes()
    assert list(sizes) == list(lags) and list(sizes.values()) == pytest.approx(np.abs(dense[:3]).tolist(), rel=1e-6)
    ahead = model.forecast(values, 3)[0]
    extended = list(values)
    for _ in range(3):
        past = np.array(extended)
        w = difference(np.append(past, 0.0), order, seasonal_order, 4)[-1]
        v = np.concatenate([np.zeros(order + 4 * seasonal_order), difference(past, order, seasonal_order, 4)])
        features = np.array([v[-1], v[-2], v[-4], 1.0])
        extended.append(float(features @ model._coefficients[0]) - w)
    np.testing.assert_allclose(ahead, extended[-3:], rtol=1e-8)


def test_the_better_expert_gets_the_weight_in_its_band() -> None:
    record = Record(2, 8)
    for _ in range(60):
        errors = np.ones((2, 8))
        errors[0, :1], errors[1, 4:] = 0.1, 0.1
        record.update(np.arange(8), errors)
    weights = record.weights()
    assert weights[0, 0] > 0.99 and weights[1, 7] > 0.99
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    assert bands(8).tolist() == [0, 1, 1, 2, 2, 2, 2, 3]


def test_few_trials_leave_the_weights_equal() -> None:
    """A season ahead a short series has few trials that do not overlap; without noise one is enough."""
    errors = np.array([[1.0] * 8, [0.5] * 8])
    few, many, exact = Record(2, 8), Record(2, 8), Record(2, 8, exact=True)
    for record, trials in ((few, 2), (many, 200), (exact, 2)):
        for _ in range(trials):
            record.update(np.arange(8), errors)
    assert few.weights()[1, 7] < 0.6 < few.weights()[1, 0] < many.weights()[1, 7]
    assert exact.weights()[1, 7] > few.weights()[1, 0]


def test_calibration_holds_for_any_distribution() -> None:
    random = np.random.default_rng(0)
    calibration, inside = Calibration(4), np.zeros(4)
    for t in range(3000):
        errors = random.standard_t(3, 4) * (1.0 + 3.0 * (t > 1500)) * np.arange(1, 5)
        if t >= 500:
            inside += np.abs(errors) <= calibration.reaches(4, (0.9,))[0]
        calibration.update(np.arange(4), errors)
    np.testing.assert_allclose(inside / 2500, 0.9, atol=0.03)
    half, wide = calibration.reaches(6, (0.5, 0.9))
    assert (half < wide).all() and (np.diff(wide) >= 0.0).all()


# The whole ------------------------------------------------------------------------------------------------------------


def test_river_checks_without_skips() -> None:
    model = AutoKernelForecaster()
    assert not model._unit_test_skips()
    for check in checks.yield_checks(model):
        check(model.clone())


def test_air_passengers_without_an_argument() -> None:
    metric = evaluate.evaluate(river_datasets.AirlinePassengers(), AutoKernelForecaster(), metrics.MAE(), horizon=3)
    assert max(metric.get()) < 30.0  # river's HoltWinters: 41 to 44


def test_a_seasonal_series() -> None:
    values = seasonal(132)
    model = learned(values[:120])
    assert model.seasons == (12,)
    assert np.abs(np.array(model.forecast(12)) - values[120:]).mean() < 0.25
    assert "Season: 12 steps." in model.explain()
    assert learned(values, season=6).seasons == (6,)
    assert learned(values, season=1).seasons == ()
    assert sum(model.relevance.values()) == pytest.approx(1.0)
    for column in zip(*model.weights.values()):
        assert sum(column) == pytest.approx(1.0)


def test_scale_and_level_do_not_matter() -> None:
    values = seasonal(100) - 20.0
    plain, moved = learned(values), learned(1e6 * values + 3e7)
    np.testing.assert_allclose(moved.forecast(12), 1e6 * np.array(plain.forecast(12)) + 3e7, rtol=1e-3)


def test_gaps_keep_the_season() -> None:
    values = seasonal(132).tolist()
    with_gaps = [None if t in (50, 51, 77) else math.nan if t == 90 else y for t, y in enumerate(values[:120])]
    model = learned(with_gaps)
    assert model.seasons == (12,)
    assert np.abs(np.array(model.forecast(12)) - values[120:]).mean() < 0.3
    assert "Gaps, for which the forecast stands: 4." in model.explain()
    late = learned([None, None, 3.0])
    assert late.forecast(2) == [3.0, 3.0]


def test_a_level_shift_is_noticed() -> None:
    random = np.random.default_rng(3)
    values = random.standard_normal(160)
    values[100:] += 60.0
    model = AutoKernelForecaster()
    for value in values[:108]:
        model.learn_one(value)
    assert len(model._shifts) == 1 and abs(model._shifts[0][0] - 101) <= 3
    assert np.abs(np.array(model.forecast(5)) - 60.0).max() < 3.0
    assert "Level shifts: 1, last at value" in model.explain()


def test_mondays_are_no_level_shifts() -> None:
    """Days of 24 hours whose level jumps once a week: a second season, found in the means of the days."""
    random, t = np.random.default_rng(4), np.arange(24 * 7 * 9)
    day, week = random.standard_normal(24), np.array([12.0, 2.0, 0.0, -2.0, -3.0, -4.0, -5.0])
    values = 3.0 * day[t % 24] + week[t // 24 % 7] + 0.3 * random.standard_normal(len(t))
    model = learned(values[:-168].tolist())
    assert model.seasons == (24, 168)
    assert all(at < 2 * 168 for at, _ in model._shifts)  # in the second week it may have been one
    assert np.sqrt(np.mean((np.array(model.forecast(168)) - values[-168:]) ** 2)) < 0.25 * week.std()


@pytest.mark.parametrize(
    "values",
    [[5.0] * 60, [0.0] * 60, list(range(60)), [1.0, 2.0], [7.0], (-np.arange(50.0)).tolist(), [0.0, 1.0] * 40],
    ids=["constant", "zero", "line", "two", "one", "falling", "alternating"],
)
def test_plain_series(values: list[float]) -> None:
    model = learned(values)
    means, intervals = model.forecast(6), model.forecast(6, with_interval=True)
    assert np.isfinite(means).all()
    assert all(interval.lower <= mean <= interval.upper for mean, interval in zip(means, intervals))
    if len(set(values)) == 1 and len(values) > 1:
        np.testing.assert_allclose(means, values[0])
    if len(values) == 60 and values[1] == 1:
        np.testing.assert_allclose(means, np.arange(60, 66), atol=0.5)


def test_a_value_that_has_no_logarithm() -> None:
    t = np.arange(120)
    growing = np.exp(0.03 * t + 0.3 * np.sin(2 * np.pi * t / 12)).tolist()
    model = learned(growing)
    assert model._trials is not None and model._trials.structure.transform.log
    model.learn_one(-1.0)
    assert not model._trials.structure.transform.log
    assert np.isfinite(model.forecast(3)).all()


def test_intervals_cover() -> None:
    random = np.random.default_rng(5)
    values = [0.0]
    for _ in range(700):
        values.append(0.8 * values[-1] + random.standard_normal())
    model, inside, count = AutoKernelForecaster(), np.zeros(4), 0
    for t, value in enumerate(values):
        if t >= 300 and t + 4 <= len(values):
            intervals = model.forecast(4, with_interval=True)
            inside += [interval.lower <= y <= interval.upper for y, interval in zip(values[t:], intervals)]
            count += 1
        model.learn_one(value)
    np.testing.assert_allclose(inside / count, 0.9, atol=0.04)
    levels = model.forecast_intervals(3, (0.5, 0.8, 0.99))
    widths = [[interval.upper - interval.lower for interval in levels[level]] for level in (0.5, 0.8, 0.99)]
    assert (np.diff(widths, axis=0) > 0.0).all()


def test_features_help() -> None:
    random = np.random.default_rng(6)
    drive = random.standard_normal(320)
    values = 3.0 * drive + 0.1 * random.standard_normal(320)
    model = AutoKernelForecaster()
    for value, u in zip(values[:300], drive):
        model.learn_one(value, {"u": u, "kind": "a" if u > 0.0 else "b"})
    xs = [{"u": u, "kind": "a" if u > 0.0 else "b"} for u in drive[300:]]
    errors = np.array(model.forecast(20, xs)) - values[300:]
    assert np.sqrt(np.mean(errors**2)) < 0.3 * values.std()
    with pytest.raises(ValueError, match=r"xs must be given.*'kind', 'u'"):
        model.forecast(3)
    with pytest.raises(ValueError, match="each of the 3 steps, got 1"):
        model.forecast(3, xs[:1])


def test_dates_go_on_by_themselves() -> None:
    start, model = datetime.datetime(2024, 1, 1), AutoKernelForecaster()
    for i in range(100):
        day = start + datetime.timedelta(days=i)
        model.learn_one(10.0 * (day.weekday() >= 5) + 0.01 * i, {"day": day})
    forecast = model.forecast(7)
    weekend = [(start + datetime.timedelta(days=100 + i)).weekday() >= 5 for i in range(7)]
    assert [value > 6.0 for value in forecast] == weekend


def test_months_go_on_by_the_calendar() -> None:
    first, second = datetime.date(2023, 10, 31), datetime.date(2023, 12, 31)
    assert [moment.date().isoformat() for moment in going_on(first, second, 2)] == ["2024-02-29", "2024-04-30"]
    noon = datetime.datetime(2024, 1, 1, 12)
    assert going_on(noon, noon + datetime.timedelta(hours=1), 1) == [noon + datetime.timedelta(hours=2)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("2024-03-31", "2024-04-30", ["2024-05-31", "2024-06-30", "2024-07-31"]),
        ("2023-01-31", "2023-02-28", ["2023-03-31", "2023-04-30", "2023-05-31"]),
        ("2023-06-30", "2023-09-30", ["2023-12-31", "2024-03-31", "2024-06-30"]),
        ("2022-02-28", "2023-02-28", ["2024-02-29", "2025-02-28", "2026-02-28"]),
        ("2023-02-28", "2023-03-28", ["2023-04-28", "2023-05-28", "2023-06-28"]),
        ("2023-02-28", "2024-02-28", ["2025-02-28", "2026-02-28", "2027-02-28"]),
        ("2024-01-30", "2024-03-30", ["2024-05-30", "2024-07-30", "2024-09-30"]),
        ("2024-04-30", "2024-03-31", ["2024-03-01", "2024-01-31", "2024-01-01"]),
        ("2024-03-31T12:00", "2024-04-30T13:00", ["2024-05-30T14:00", "2024-06-29T15:00", "2024-07-29T16:00"]),
    ],
)
def test_ends_of_months_go_on_as_ends(first: str, second: str, expected: list[str]) -> None:
    read = datetime.datetime.fromisoformat
    assert going_on(read(first), read(second), 3) == [read(text) for text in expected]


@pytest.mark.parametrize("zones", [(None, datetime.UTC), (datetime.UTC, None)])
def test_dates_with_and_without_a_zone_are_not_one_series(zones: Any) -> None:
    day, model = datetime.datetime(2024, 1, 1), AutoKernelForecaster()
    for i in range(3):
        model.learn_one(float(i), {"day": (day + datetime.timedelta(days=i)).replace(tzinfo=zones[0])})
    before = model.to_bytes()
    for value in (3.0, None):
        with pytest.raises(ValueError, match=r"feature 'day' is datetime.*2024, 1, 4.*zone, unlike the last"):
            model.learn_one(value, {"day": datetime.datetime(2024, 1, 4, tzinfo=zones[1])})
        assert model.to_bytes() == before
    assert len(model.forecast(3)) == 3


@pytest.mark.parametrize(
    "dates",
    [
        (datetime.date(9999, 12, 29), datetime.date(9999, 12, 30)),
        (datetime.date(9999, 10, 1), datetime.date(9999, 11, 1)),
    ],
    ids=["days", "months"],
)
def test_dates_that_cannot_go_on_must_be_given(dates: Any) -> None:
    model = AutoKernelForecaster()
    for value, day in enumerate(dates):
        model.learn_one(float(value), {"day": day})
    assert len(model.forecast(1)) == 1
    with pytest.raises(ValueError, match=r"xs must be given: the dates 'day' cannot go on for 3 steps.*9999"):
        model.forecast(3)
    assert len(model.forecast(3, [{"day": dates[1]}] * 3)) == 3


def test_names_with_spaces_and_dates_that_are_absent() -> None:
    model = AutoKernelForecaster()
    for i in range(60):
        day = None if i == 30 else datetime.date(2024, 1, 1) + datetime.timedelta(days=i)
        model.learn_one(float(i % 7), {"the day": day})
    assert len(model.forecast(7)) == 7
    model.learn_one(1.0, {"the day": datetime.date(2024, 3, 1), "wind speed": 2.0, "kind of day": "dull"})
    with pytest.raises(ValueError, match=r"the features 'kind of day', 'wind speed'$"):
        model.forecast(2)


@pytest.mark.parametrize(
    "x", [{1: 1.0, "1": 2.0}, {"day": datetime.date(2024, 1, 1), "day weekend": 1.0}, {"a": "b", "a = b": 1.0}]
)
def test_two_features_of_one_column_are_refused_by_name(x: Any) -> None:
    model = AutoKernelForecaster()
    model.learn_one(1.0, {"b": 1.0})
    before = model.to_bytes()
    with pytest.raises(ValueError, match="as another has: rename one"):
        model.learn_one(2.0, x)
    assert model.to_bytes() == before


# Chaos ----------------------------------------------------------------------------------------------------------------


def test_mackey_glass_is_continued() -> None:
    values = datasets.MackeyGlass(tau=17, seed=1).series(1300)
    model = learned(values[:1000].tolist())
    assert "without visible noise" in model.explain()
    forecast = np.array(model.forecast(200))
    assert np.sqrt(np.mean((forecast - values[1000:1200]) ** 2)) < 0.01
    far = np.array(model.forecast(1000))
    reach = 0.5 * np.ptp(values)
    assert far.min() > values.min() - reach and far.max() < values.max() + reach


def test_noise_is_not_taken_for_a_law() -> None:
    random = np.random.default_rng(7)
    for values in (random.standard_normal(300), np.cumsum(random.standard_normal(300)), seasonal(300)):
        model = learned(values.tolist())
        assert model._trials is not None and not model._trials.structure.deterministic


# Checkpoints and bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 3, 20, 70])
def test_a_checkpoint_continues_bit_for_bit(cut: int) -> None:
    values = seasonal(100).tolist()
    whole = AutoKernelForecaster()
    for t, value in enumerate(values[:cut]):
        whole.learn_one(None if t == 15 else value, {"u": math.sin(t), "day": datetime.date(2024, 1, 1 + t % 28)})
    restored = AutoKernelForecaster.from_bytes(whole.to_bytes())
    for t, value in enumerate(values[cut:]):
        for model in (whole, restored):
            model.learn_one(value, {"u": math.cos(t), "day": datetime.date(2024, 1, 1 + t % 28)})
    assert restored.to_bytes() == whole.to_bytes()
    xs = [{"u": 0.1, "day": datetime.date(2024, 3, 1)}] * 5
    assert restored.forecast(5, xs) == whole.forecast(5, xs)
    assert restored.forecast_intervals(5, xs=xs) == whole.forecast_intervals(5, xs=xs)


def test_a_forecast_changes_nothing() -> None:
    model = learned(seasonal(80).tolist())
    before = model.to_bytes()
    model.forecast(30, with_interval=True)
    model.explain()
    assert model.to_bytes() == before


def test_bad_input_changes_nothing() -> None:
    model = learned(seasonal(50).tolist())
    before = model.to_bytes()
    with pytest.raises(TypeError, match="target y is 'x'"):
        model.learn_one("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target y is inf"):
        model.learn_one(math.inf)
    with pytest.raises(ValueError, match="feature 'u' is inf"):
        model.learn_one(1.0, {"u": math.inf})
    with pytest.raises(ValueError, match=r"horizon must.*got 0"):
        model.forecast(0)
    with pytest.raises(ValueError, match=r"confidence_levels must.*1\.5"):
        model.forecast_intervals(2, (1.5,))
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="no value was learned yet"):
        AutoKernelForecaster().forecast(2)
    for options in ({"horizon": 0}, {"season": 0}, {"season": (4, -1)}, {"confidence_level": 2.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            AutoKernelForecaster(**options)  # type: ignore[arg-type]


def test_a_long_series_is_learned_in_bounded_memory() -> None:
    """What is kept of it does not grow; a hundred thousand values are learned by `bench.forecast_long`."""
    random, t = np.random.default_rng(9), np.arange(7000)
    values = (10.0 + np.sin(2.0 * np.pi * t / 24.0) + 0.1 * random.standard_normal(len(t))).tolist()
    model = learned(values[:6200], season=24)
    size = len(model.to_bytes())
    for value in values[6200:-24]:
        model.learn_one(value)
    assert len(model.to_bytes()) < 1.5 * size
    assert np.abs(np.array(model.forecast(24)) - values[-24:]).mean() < 0.15


def test_plot() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    ax = learned(seasonal(60).tolist()).plot(10)
    assert ax.get_legend_handles_labels()[1] == ["observed", "90 % interval", "50 % interval", "forecast"]
    pyplot.close(ax.figure)


# The lagged sibling ---------------------------------------------------------------------------------------------------


def test_one_step_intervals_are_exact() -> None:
    values = (seasonal(80) - 22.0).tolist()
    models = [KernelForecaster(Learner(kernels.Linear() + 1, ridge=0.1), lags=[1, 12], seed=seed) for seed in range(3)]
    for model in models:
        for value in values:
            model.learn_one(value)
    first = [model.forecast(2, with_interval=True)[0] for model in models]
    assert first[0] == first[1] == first[2]
    sample = {"y-1": values[-1], "y-12": values[-12]}
    assert first[0] == models[0].model.predict_one(sample, with_interval=True)


def test_the_conformal_interval_is_respected() -> None:
    model = KernelForecaster(AdaptiveConformal(Learner(kernels.Linear() + 1, ridge=0.1)), lags=1)
    values = (seasonal(80, noise=1.0) - 22.0).tolist()
    for value in values:
        model.learn_one(value)
    (interval,) = model.forecast(1, with_interval=True)
    assert interval == model.model.predict_one({"y-1": values[-1]}, with_interval=True)
    assert len(model.forecast(3, with_interval=True)) == 3
    with pytest.raises(ValueError, match=r"confidence_level must be that of the AdaptiveConformal, 0\.8"):
        KernelForecaster(AdaptiveConformal(Learner(), confidence_level=0.8), lags=1)


def test_raw_values_are_warned_of_once() -> None:
    model = KernelForecaster(Learner(), lags=2)
    values = seasonal(60).tolist()
    with pytest.warns(UserWarning, match="AutoKernelForecaster") as caught:
        model.learn_series(values)
    assert len(caught) == 1


# Files ----------------------------------------------------------------------------------------------------------------


def test_an_empty_line_is_a_gap() -> None:
    rows = list(report.text_rows(["y\n", "1\n", "\n", "3\n"]))
    past = report.past_of(rows, "y", [])
    assert past.values[0] == 1.0 and math.isnan(past.values[1]) and past.values[2] == 3.0
    with pytest.raises(ValueError, match="row 2: column 'y' is 'x'"):
        report.past_of([{"y": "1"}, {"y": "x"}], "y", [])
    with pytest.raises(ValueError, match="row 1: column 'y' is 'inf'; leave the cell of a gap empty"):
        report.past_of([{"y": "inf"}], "y", [])
    with pytest.raises(ValueError, match="no values"):
        report.forecast_series(report.Past([], [], []))
    gaps = report.past_of([{"y": cell} for cell in ("NaN", "NA", " null", None, math.nan, "1")], "y", [])
    assert [math.isnan(value) for value in gaps.values] == [True] * 5 + [False]


@pytest.mark.parametrize("seasons", [(), (3,)])
def test_a_backtest_is_compared_with_the_last_value_or_the_last_season(seasons: Any) -> None:
    values = [1.0, 5.0, 2.0, math.nan, 4.0, 3.0, 7.0, 1.0]
    bands = [conf.interval.Interval(2.5, 6.0)] * 3
    found = report._backtest(values, {5: ([3.5, 6.0, 2.0], bands)}, seasons)
    naive = [5.0, 2.0, 4.0] if seasons else [4.0, 4.0, 4.0]  # over the gap
    assert found is not None and found.origins == [5]
    assert found.rmse == pytest.approx(math.sqrt((0.5**2 + 1.0 + 1.0) / 3.0))
    assert found.naive_rmse == pytest.approx(math.sqrt(np.mean((np.array(naive) - values[5:]) ** 2)))
    assert found.coverage == pytest.approx(1.0 / 3.0)
    assert report._backtest(values, {}, seasons) is None


def test_a_drawing_has_the_past_the_backtests_and_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    past = report.Past(seasonal(48, 4).tolist(), [{}] * 48, [])
    outcome = report.forecast_series(past, horizon=3, backtests=2)
    figures: list[Any] = []
    monkeypatch.setattr(plots, "_save_figure", lambda figure, path: figures.append(figure) or path)
    assert plots.plot_forecasts({"north": (past, outcome), "south": (past, outcome)}, "f.png") == "f.png"
    assert [ax.get_title() for ax in figures[0].axes] == ["north", "south"]
    for ax in figures[0].axes:
        observed, *backtests, forecast = ax.lines
        assert observed.get_ydata().tolist() == past.values
        assert [line.get_ydata().tolist() for line in backtests] == [list(f) for f in outcome.backtest.forecasts]
        assert forecast.get_xdata().tolist() == [48, 49, 50]
        assert forecast.get_ydata().tolist() == [step["mean"] for step in outcome.steps]
        assert len(ax.collections) == 1 and ax.get_legend() is not None


@pytest.mark.parametrize("cell", ["2024-01-{}", "2024-01-{}T06:00:00"])
def test_dates_of_a_file_need_no_rows_of_the_future(cell: str) -> None:
    rows = [{"y": str(t % 7), "when": cell.format(f"{1 + t:02}")} for t in range(28)]
    past = report.past_of(rows, "y", ["when"])
    outcome = report.forecast_series(past, horizon=2, backtests=0)
    assert [step["time"] for step in outcome.steps] == [cell.format("29"), cell.format("30")]
    rows = [row | {"u": "1"} for row in rows]
    with pytest.raises(ValueError, match="with features other than dates, rows with an empty cell"):
        report.forecast_series(report.past_of(rows, "y", ["when", "u"]))


def test_rows_without_a_value_are_the_future() -> None:
    drive = np.random.default_rng(8).standard_normal(130)
    rows = [{"y": str(2.0 * u) if t < 125 else "", "u": str(u)} for t, u in enumerate(drive)]
    past = report.past_of(rows, "y", ["u"])
    outcome = report.forecast_series(past)
    assert len(outcome.steps) == 5
    np.testing.assert_allclose([step["mean"] for step in outcome.steps], 2.0 * drive[125:], atol=1.0)
    assert outcome.backtest is not None and outcome.backtest.rmse < outcome.backtest.naive_rmse


def test_a_series_whose_changes_are_constant_but_for_rounding_may_begin_to_change() -> None:
    """Decay at a constant rate, as the Mackey-Glass equation begins, then another course."""
    model = AutoKernelForecaster()
    for value in datasets.MackeyGlass(tau=30, seed=1).series(300).tolist():
        model.learn_one(value)
    assert all(math.isfinite(value) for value in model.forecast(20))


# Series of any size ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-80, 1e60, 1e98])
@pytest.mark.parametrize("season", [None, 12])
def test_a_series_may_have_any_unit(unit: float, season: int | None) -> None:
    series = seasonal(150) - 20.0
    plain = learned(series.tolist(), season=season)
    scaled = learned((unit * series).tolist(), season=season)
    assert scaled.seasons == plain.seasons == (12,)
    assert np.array(scaled.forecast(12)) / unit == pytest.approx(np.array(plain.forecast(12)), rel=1e-6)


@pytest.mark.parametrize("leap", [1e8, 1e20, 1e49])
@pytest.mark.parametrize("lasting", [False, True])
def test_a_series_goes_on_after_a_leap(leap: float, lasting: bool) -> None:
    series = seasonal(260)
    series[120 : None if lasting else 121] += leap
    model = learned(series.tolist(), horizon=3)
    assert np.isfinite(model.forecast(3)).all()
    assert all(math.isfinite(interval.width) for interval in model.forecast(3, with_interval=True))
    if not lasting:
        assert model.forecast(1)[0] == pytest.approx(30.0, abs=20.0)
    assert AutoKernelForecaster.from_bytes(model.to_bytes()).forecast(3) == model.forecast(3)


@pytest.mark.parametrize("value", [1e120, -1e99])
def test_a_leap_beyond_all_numbers_is_refused(value: float) -> None:
    model = learned(seasonal(60).tolist())
    before = model.to_bytes()
    with pytest.raises(ValueError, match="target y is"):
        model.learn_one(value, {"new": 1.0})
    assert model.to_bytes() == before


def test_values_that_a_kernel_learner_leaves_out_beside_a_leap_are_told() -> None:
    series = np.sin(np.arange(200.0) / 5.0) + 0.1 * np.random.default_rng(0).normal(size=200)
    assert "left out" not in learned(series.tolist()).explain()
    series[120] += 1e12
    model = learned(series.tolist())
    assert "Values beside a leap that a kernel learner left out of late: 13." in model.explain()
    assert AutoKernelForecaster.from_bytes(model.to_bytes()).explain() == model.explain()


def test_an_expert_whose_window_cannot_be_learned_goes_on_with_its_former_model(monkeypatch: Any) -> None:
    def refuse(*arguments: Any) -> None:
        raise ValueError("not these")

    values, nothing, end = np.random.default_rng(0).normal(size=400), np.zeros((400, 0)), 1
    expert = KernelExpert(Embedding("kernel", (1, 2, 3)))
    while expert._model is None or expert._count + 1 < expert._next:
        expert.learn(values[:end], nothing[:end])
        end += 1
    before, units = expert._model, expert._units
    monkeypatch.setattr(Learner, "learn_many", refuse)
    expert.learn(values[:end], nothing[:end])
    assert expert.left_out == 1
    assert expert._model is before and expert._units is units
    expert.set_state(expert.get_state()[:-1])  # of a checkpoint that did not count
    assert expert.left_out == 0


@pytest.mark.parametrize(("unit", "far"), [(1.0, 1e160), (1.0, 1e60), (1e-60, 1e95), (1e-60, 1.0)])
def test_a_feature_with_which_a_series_cannot_go_on_is_refused(unit: float, far: float) -> None:
    rng, series = np.random.default_rng(0), seasonal(120)
    model = AutoKernelForecaster()
    for t, y in enumerate(series.tolist()):
        if t == 60:
            before = model.to_bytes()
            with pytest.raises(ValueError, match=r"feature 'u' is 1e\+?\d+: |feature 'u' is 1: "):
                model.learn_one(y, {"u": far, "new": 1.0})
            assert model.to_bytes() == before
            with pytest.raises(ValueError, match="feature 'u' is"):
                model.forecast(1, [{"u": far}])
        model.learn_one(y, {"u": unit * float(rng.normal())})
    assert math.isfinite(model.forecast(1, [{"u": 0.0}])[0])


# Seasons that are longer than what was seen ---------------------------------------------------------------------------


@pytest.mark.parametrize("count", [8, 60, 102])
@pytest.mark.parametrize("season", [4, 50, 90, 300, (100, 4)])
def test_a_season_that_was_not_seen_twice_makes_no_forecast_surer(season: Any, count: int) -> None:
    """There were no errors on trial before the first season was over, and intervals had no width."""
    values = np.random.default_rng(0).standard_normal(count).tolist()
    first = season[0] if isinstance(season, tuple) else season
    model, plain = learned(values, season=season), learned(values, season=1)
    ahead, known = model.forecast(3, with_interval=True), plain.forecast(3, with_interval=True)
    if count < 2 * first:
        assert (model.forecast(3), ahead) == (plain.forecast(3), known)
        assert model.seasons == ()
        assert f"Season: none yet: {first} steps (given) were not seen twice." in model.explain()
    assert all(interval.width > 0.3 * without.width for interval, without in zip(ahead, known))


def test_a_season_that_was_not_seen_twice_goes_on_from_a_checkpoint_with_gaps_and_shifts() -> None:
    values = [None if t % 20 == 19 else value + 40.0 * (t > 50) for t, value in enumerate(seasonal(180, 60))]
    model = learned(values[:70], season=60)
    again = AutoKernelForecaster.from_bytes(model.to_bytes())
    for value in values[70:]:
        model.learn_one(value)
        again.learn_one(value)
    assert again.to_bytes() == model.to_bytes()
    assert "not seen twice" not in model.explain()
    assert np.abs(np.array(model.forecast(60)) - seasonal(240, 60)[180:] - 40.0).mean() < 3.0
