"""AutoKernelRegressor: any stream, from the first sample on, without a parameter."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, preprocessing

from streamkernel import AutoKernelClassifier, AutoKernelRegressor, KernelForecaster, datasets
from streamkernel.auto.bounds import Bounds
from streamkernel.encoding import Encoder, Scaling

MODELS: dict[str, Any] = {
    "default": AutoKernelRegressor(),
    "low": AutoKernelRegressor("low"),
    "microseconds": AutoKernelRegressor(80.0),
    "scaled": preprocessing.StandardScaler() | AutoKernelRegressor("low"),
}


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")
        for name, model in MODELS.items()
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_river(model: Any, check: Any) -> None:
    check(model.clone())


def test_nothing_is_skipped() -> None:
    assert not any(model._unit_test_skips() for model in MODELS.values())


def run(model: Any, stream: Any) -> np.ndarray[Any, Any]:
    """The errors made before each sample was learned."""
    errors = []
    for x, y in stream:
        errors.append(y - model.predict_one(x))
        model.learn_one(x, y)
    return np.array(errors)


def friedman(count: int, seed: int = 1, noise: float = 1.0) -> list[tuple[dict[Any, Any], float]]:
    return list(datasets.Friedman1(noise=noise, seed=seed).take(count))


def test_the_first_predictions() -> None:
    model = AutoKernelRegressor()
    assert model.predict_one({"a": 1.0}) == 0.0
    assert model.relevance == {} and model.size == 0 and "Nothing chosen yet" in model.explain()
    model.learn_one({"a": 1.0}, 5.0)
    assert model.predict_one({"a": 1.0}) == model.predict_one({"b": "word"}) == 5.0
    model.learn_one({"a": 2.0}, 7.0)
    assert model.predict_one({}) == 6.0


def test_friedman_is_learned_and_explained() -> None:
    model = AutoKernelRegressor()
    errors = run(model, friedman(600, noise=0.1))
    assert np.sqrt(np.mean(errors[300:] ** 2)) < 0.25  # the target's standard deviation is 5
    relevance = model.relevance
    assert set(sorted(relevance, key=relevance.__getitem__)[5:]) == {"0", "1", "2", "3", "4"}
    text = model.explain()
    for part in ("600 samples learned", "Columns by relevance", "Dictionary:", "Experts by weight", "no forgetting"):
        assert part in text


def test_what_it_has_found_can_be_read() -> None:
    model = AutoKernelRegressor("low")
    assert model.drifts == model.tunings == model.relevance_history == [] and model.weights == {}
    run(model, friedman(100))
    assert model.tunings[0] == 8 and model.tunings == sorted(set(model.tunings)) and model.drifts == []
    weights = model.weights
    assert len(weights) == 11 and sum(weights.values()) == pytest.approx(1.0)
    assert {"learned kernel, no forgetting", "rough kernel, no forgetting", "straight line, no forgetting"} < set(
        weights
    )
    assert [count for count, _ in model.relevance_history] == model.tunings
    for _, relevance in model.relevance_history:
        assert sum(relevance.values()) == pytest.approx(1.0) and set(relevance) == {str(i) for i in range(10)}
    assert AutoKernelRegressor.from_bytes(model.to_bytes()).relevance_history == model.relevance_history
    for found in (model.drifts, model.tunings, model.weights, model.relevance_history):
        found.clear()  # what is given is a copy
    assert model.tunings and model.weights and model.relevance_history


def awkward(count: int) -> list[tuple[dict[str, Any], float]]:
    """A constant feature, one of scale 1e9, one that appears late and one that vanishes."""
    random = np.random.default_rng(3)
    stream = []
    for t in range(count):
        a, b, c, d = random.normal(size=4)
        x = {"a": a, "constant": 7.0, "huge": 1e9 * (5.0 + b)}
        if t > count // 3:
            x["late"] = c
        if t < count // 2:
            x["vanishing"] = 100.0 + d
        y = math.sin(2.0 * a) + 0.5 * b + (0.5 * c if t > count // 3 else 0.0) + (0.5 * d if t < count // 2 else 0.0)
        stream.append((x, 1000.0 + y + 0.1 * random.normal()))
    return stream


def test_ten_thousand_awkward_samples() -> None:
    model = AutoKernelRegressor("low")
    stream = awkward(10_000)
    errors = run(model, stream)
    assert np.isfinite(errors).all()
    assert np.abs(errors[10:]).max() < 10.0  # the targets span about 8
    deviation = np.std([y for _, y in stream])
    for start in range(0, 10_000, 1000):
        part = errors[max(start, 100) : start + 1000]
        assert np.sqrt(np.mean(part**2)) < 0.75 * deviation
    for stop in (3300, 5000, 10_000):  # settled again before the next thing happens
        assert np.sqrt(np.mean(errors[stop - 500 : stop] ** 2)) < 0.3 * deviation
    assert "Left out, as they did not vary: constant" in model.explain()


def test_words_and_gaps() -> None:
    random = np.random.default_rng(0)
    effect = {"red": 0.0, "green": 2.0, "blue": -3.0}
    stream = []
    for _ in range(500):
        color, a = random.choice(list(effect)), float(random.normal())
        x = {"color": str(color), "a": [a, None, math.nan][random.choice(3, p=[0.9, 0.05, 0.05])]}
        stream.append((x, effect[str(color)] + a + 0.05 * random.normal()))
    model = AutoKernelRegressor()
    errors = run(model, stream)
    there = [x["a"] is not None and x["a"] == x["a"] for x, _ in stream]
    late = np.arange(500) > 250
    assert np.sqrt(np.mean(errors[late & there] ** 2)) < 0.4
    assert "Gaps taken as the mean" in model.explain()
    assert {"color=red", "color=green", "color=blue", "a", "a=absent"} == set(model.relevance)
    assert math.isfinite(model.predict_one({"color": "a word it has never seen", "a": 1.0, "new": 3.0}))
    sparse = AutoKernelRegressor()  # river's way: the columns of other words are absent
    errors = run(sparse, [({f"color={x['color']}": 1}, y) for x, y in stream])
    assert np.sqrt(np.mean(errors[250:] ** 2)) < 1.2


def test_many_words_share_one_place() -> None:
    encoder = Encoder()
    for i in range(100):
        encoder.learn({"id": f"user {i}"})
    assert len(encoder.read({"id": "user 99"})) == 30
    assert encoder.read({"id": "user 99"}).sum() == 0.0


def test_scaling_one_and_many_agree() -> None:
    random = np.random.default_rng(0)
    samples = np.column_stack([random.normal(5.0, 2.0, 200), random.standard_cauchy(200), np.full(200, 3.0)])
    samples[::7, 0] = math.nan
    names = ["plain", "tailed", "constant"]
    scaling = Scaling(names, samples).bind(names)
    assert scaling.names == ["plain", "plain=absent", "tailed"]
    assert [column.bent > 0.0 for column in scaling.columns] == [False, False, True]
    many = scaling.transform_many(names, samples)
    for row, scaled in zip(samples, many):
        np.testing.assert_array_equal(scaling.transform(row), scaled)
    np.testing.assert_allclose(many.mean(axis=0)[:2], 0.0, atol=1e-12)
    assert many.std(axis=0)[2] == pytest.approx(1.0)
    assert np.abs(many[:, 2]).max() < 10.0 < np.abs(samples[:, 1]).max()


def test_units_are_not_so_small_that_ordinary_numbers_overflow_in_them() -> None:
    tiny = np.where(np.arange(60) % 3, 1e-320, 0.0)  # varies, by next to nothing
    mostly_tiny = np.where(np.arange(60) % 30, tiny, 1.0)  # as its quartiles do
    names = ["tiny", "mostly tiny"]
    scaling = Scaling(names, np.column_stack([tiny, mostly_tiny])).bind(names)
    assert scaling.names == ["mostly tiny"]
    assert np.abs(scaling.transform(np.array([0.5, 0.5]))) < 10.0


@pytest.mark.parametrize("others", [2, 60])
def test_the_largest_floats_have_finite_distances(others: int) -> None:
    samples = np.array([1.7e308, 1.7e308, 1.7e308, -1.7e308, *range(others)])[:, None]
    scaling = Scaling(["a"], samples).bind(["a"])
    rows = scaling.transform_many(["a"], samples)
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal([scaling.transform(sample) for sample in samples], rows)


def test_scaled_samples_are_those_of_the_formula_to_the_last_bit() -> None:
    samples = np.random.default_rng(0).standard_t(3, size=(200, 4)) * [1e-3, 1.0, 1e5, 1e80] + [0.0, 1e3, 1.0, 0.0]
    names = ["a", "b", "c", "d"]
    scaling = Scaling(names, samples).bind(names)
    for column, raw, scaled in zip(scaling.columns, samples.T, scaling.transform_many(names, samples).T, strict=True):
        values = (raw - column.center) / column.unit
        np.testing.assert_array_equal(scaled, np.arcsinh(values) / column.bent if column.bent else values)
    assert any(column.bent for column in scaling.columns)


@pytest.mark.parametrize("seed", range(3))
def test_features_as_large_as_floats_are_learned(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for model in (AutoKernelRegressor("low"), AutoKernelClassifier("low")):
        for t in range(40):
            x = {"a": 1.7e308 * float(rng.integers(-1, 2)), "b": float(rng.normal())}
            model.learn_one(x, float(t % 2))
            model.predict_one(x)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_sample_that_was_set_aside_and_cannot_be_predicted_any_more_is_not_usual() -> None:
    model = AutoKernelRegressor("low")
    for x, y in friedman(30):
        model.learn_one({"a": next(iter(x.values()))}, y)
    assert model._mixture is not None
    assert model._mixture.is_usual(np.array([0.5]), 10.0)
    assert not model._mixture.is_usual(np.array([1.7e308]), 10.0)


@pytest.mark.parametrize("seed", range(2))
def test_intervals_cover(seed: int) -> None:
    model, inside = AutoKernelRegressor("low"), 0
    stream = friedman(800, seed)
    for x, y in stream:
        interval = model.predict_one(x, with_interval=True)
        distribution = model.predict_one(x, with_dist=True)
        assert interval.lower < distribution.mu < interval.upper
        inside += interval.lower <= y <= interval.upper
        model.learn_one(x, y)
    assert 0.87 <= inside / len(stream) <= 0.93


def test_drift_is_noticed_and_followed() -> None:
    stream = friedman(1600)
    changed = [(x, y if t < 800 else 40.0 - 2.0 * y) for t, (x, y) in enumerate(stream)]
    model = AutoKernelRegressor()
    errors = run(model, changed)
    assert any(800 <= at < 1100 for at in model.drifts)
    before, after = (np.sqrt(np.mean(errors[s] ** 2)) for s in (slice(600, 800), slice(1400, 1600)))
    assert after < 2.0 * 1.25 * before  # the noise is twice as large


@pytest.mark.parametrize("count", [0, 3, 8, 300, 900])
def test_checkpoints_continue_bit_for_bit(count: int) -> None:
    stream = [(x | {"word": "ab"[t % 2], "gap": None}, y if t < 700 else -y) for t, (x, y) in enumerate(friedman(1000))]
    model = AutoKernelRegressor("low")
    run(model, stream[:count])
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    copied = copy.deepcopy(model)
    rest = stream[count : count + 120]
    expected = run(model, rest)
    np.testing.assert_array_equal(expected, run(other, rest))
    np.testing.assert_array_equal(expected, run(copied, rest))
    assert other.to_bytes() == model.to_bytes() == copied.to_bytes()


def test_a_tuning_is_taken_up_where_it_was_left() -> None:
    """The scales are learned in pieces: at any of them the model can be written, restored and copied."""
    stream = [(x | {"word": "ab"[t % 2]}, y) for t, (x, y) in enumerate(friedman(420))]
    model, stages = AutoKernelRegressor(), set()
    others: list[AutoKernelRegressor] = []
    for t, sample in enumerate(stream):
        expected = run(model, [sample])
        for other in others:
            np.testing.assert_array_equal(run(other, [sample]), expected)
            assert other.to_bytes() == model.to_bytes()
        others = []
        if model._renewal is not None and t > 200:
            state = model._renewal.get_state()
            stages.add("experts" if state["experts"] else "plans" if state["plans"] else "search")
            data = model.to_bytes()
            others = [AutoKernelRegressor.from_bytes(data), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
            assert others[0].to_bytes() == data
    assert {"search", "experts"} <= stages
    assert 340 < model.tunings[-1] < 420


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": math.inf}, 1.0, "feature 'a' is inf"),
        ({"a": [1]}, 1.0, r"feature 'a' is \[1\]"),
        ({"a": 1.0}, math.nan, "target y is nan"),
        ({"a": 1.0}, "high", "target y is 'high'"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(x: Any, y: Any, message: str) -> None:
    for count in (0, 60):
        model = AutoKernelRegressor()
        run(model, [({"a": x[0], "b": x[1]}, y) for x, y in friedman(count)])
        before = model.to_bytes()
        with pytest.raises((TypeError, ValueError), match=message):
            model.learn_one(x, y)
        with pytest.raises(ValueError, match="weight w is -1"):
            model.learn_one({"a": 1.0}, 1.0, -1)
        assert model.to_bytes() == before


def test_predictions_change_nothing_that_is_learned() -> None:
    model = AutoKernelRegressor()
    run(model, friedman(100))
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    for x, _ in friedman(20, seed=5):
        model.predict_one(x | {"new": "word"})
        model.predict_one(x, with_dist=True)
    rest = friedman(150)[100:]
    np.testing.assert_array_equal(run(model, rest), run(other, rest))
    assert model.explain() == other.explain()


def test_nothing_varies() -> None:
    model = AutoKernelRegressor()
    run(model, [({"a": 1.0, "b": "same"}, 3.0)] * 200)
    assert model.predict_one({"a": 1.0}) == 3.0
    run(model, [({}, 3.0)] * 20)
    errors = run(model, [({"a": float(t % 5)}, float(t % 5)) for t in range(700)])
    assert np.abs(errors[-50:]).max() < 0.2


def test_predictions_stay_near_the_targets() -> None:
    model = AutoKernelRegressor()
    run(model, [({"a": t / 100}, t / 100) for t in range(100)])
    assert model.predict_one({"a": 1e12}) <= 1.5
    assert model.predict_one({"a": -1e12}) >= -0.51


def test_budgets() -> None:
    assert AutoKernelRegressor(100.0)._budget.max_size < AutoKernelRegressor(1000.0)._budget.max_size
    for bad, message in (
        ("huge", "budget must be one of 'low', 'medium', 'high'"),
        (1.0, "budget must be a number > "),
    ):
        with pytest.raises(ValueError, match=message):
            AutoKernelRegressor(bad)
    model = AutoKernelRegressor("low")
    run(model, [(x, y) for x, y in datasets.MackeyGlass(tau=17, transient=50, seed=1).take(1500)])
    assert all(expert.size <= 60 for expert in model._mixture.bank.experts)
    assert 900 < len(model._window) <= 1000


@pytest.mark.parametrize("count", [50, 54])  # at 55 samples the model is made anew from the window
def test_a_heavy_weight_counts(count: int) -> None:
    stream = friedman(count, noise=3.0)
    x = stream[-1][0]
    predictions = []
    for weight in (0.01, 1.0, 1000.0):
        model = AutoKernelRegressor()
        run(model, stream)
        model.learn_one(x, 30.0, weight)
        predictions.append(model.predict_one(x))
    assert predictions == sorted(predictions)
    assert predictions[2] > 25.0 > predictions[0]


# What must not spoil it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10.0, 1e4, 1e8])
def test_gross_errors_among_the_targets_spoil_nothing(size: float) -> None:
    stream = friedman(500)
    spread = float(np.std([y for _, y in stream]))
    wrong = {100, 150, 311, 480} | ({3} if size > 10.0 else set())  # early on it must be clear
    spiked = [(x, y + size * spread * (-1.0) ** t if t in wrong else y) for t, (x, y) in enumerate(stream)]
    clean = [t for t in range(500) if t not in wrong]
    plain, robust = AutoKernelRegressor("low"), AutoKernelRegressor("low")
    expected, errors = (np.sqrt(np.mean(run(m, s)[clean] ** 2)) for m, s in ((plain, stream), (robust, spiked)))
    assert errors < 1.15 * expected
    assert plain.outliers == 0 and robust.outliers >= 3
    assert f"gross errors: {robust.outliers}" in robust.explain()


def test_a_new_level_is_no_gross_error() -> None:
    stream = [(x, y if t < 200 else 1000.0 + y) for t, (x, y) in enumerate(friedman(300))]
    model = AutoKernelRegressor("low")
    errors = run(model, stream)
    assert model.outliers == 0
    assert np.sqrt(np.mean(errors[-50:] ** 2)) < 100.0


def test_what_is_set_aside_is_remembered_in_a_checkpoint() -> None:
    model = AutoKernelRegressor("low")
    stream = friedman(120)
    run(model, stream[:100])
    model.learn_one(stream[100][0], 1e6)
    assert model.outliers == 1
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    rest = [(stream[101][0] | {"new": 1.0}, 1e6), *stream[102:]]
    np.testing.assert_array_equal(run(model, rest), run(other, rest))
    assert model.outliers == other.outliers == 0 and model.to_bytes() == other.to_bytes()


def test_a_number_and_its_digits_are_two_features() -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=(120, 2))
    model = AutoKernelRegressor("low")
    errors = run(model, [({1: a, "1": b}, a - 2.0 * b) for a, b in values.tolist()])
    assert np.abs(errors[-40:]).max() < 0.2
    assert set(model.relevance) == {"1", "1 (str)"}
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    x = {"1": 0.3, 1: -0.5}
    assert other.predict_one(x) == model.predict_one(x) == pytest.approx(-1.1, abs=0.1)


@pytest.mark.parametrize("names", [("color", "color=red"), ("color=red", "color")])
def test_a_word_and_a_feature_that_is_called_like_its_column_are_two_columns(names: tuple[str, str]) -> None:
    random = np.random.default_rng(1)
    stream = []
    for a, is_red in zip(random.normal(size=200).tolist(), random.integers(2, size=200).tolist(), strict=True):
        sample = {"color": "red" if is_red else "blue", "color=red": a}
        stream.append(({name: sample[name] for name in names}, a + 3.0 * is_red))
    model = AutoKernelRegressor("low")
    errors = run(model, stream)
    assert np.abs(errors[-40:]).max() < 0.1
    assert len(model.relevance) == 3
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    x = {"color=red": 0.5, "color": "red"}
    assert other.predict_one(x) == model.predict_one(x) == pytest.approx(3.5, abs=0.1)


def test_every_word_of_every_feature_has_a_column_of_its_own() -> None:
    encoder = Encoder()
    samples: list[dict[Any, Any]] = [
        {"a": "b=c", "a=b": "d", "color=red": 0.5},
        {"a": "b=d", "a=b": "c", "color": "red"},
        {"color": "red (word)", "color=red (word)": 0.25},
    ]
    for sample in samples:
        encoder.learn(sample)
    rows = [encoder.read({name: value}) for sample in samples for name, value in sample.items()]
    assert len(encoder.columns) == len(set(encoder.columns)) == len(rows) == 8
    assert sorted(int(np.nanargmax(row)) for row in rows) == list(range(8))
    other = Encoder()
    other.restore(encoder.columns, encoder.words, encoder.labels)
    for sample in samples:
        np.testing.assert_array_equal(other.read(sample), encoder.read(sample))


def test_columns_that_are_too_many_are_left_out_with_a_warning() -> None:
    encoder = Encoder()
    for begin in range(0, 5000, 500):
        encoder.learn(dict.fromkeys(range(begin, begin + 500), 1.0))
    with pytest.warns(UserWarning, match="column '5000' and all new ones are left out: 5000 is most"):
        encoder.learn(dict.fromkeys(range(4990, 5010), 1.0))
    encoder.learn(dict.fromkeys(range(5010, 5020), 1.0))  # told once: a second warning would be an error here
    assert len(encoder.columns) == 5000


def test_a_gap_and_the_word_absent_are_two_columns() -> None:
    names = ["b", "b=absent"]
    scaling = Scaling(names, np.array([[1.0, 0.0], [math.nan, 1.0], [math.nan, 0.0], [2.0, 0.0]]))
    assert scaling.names == ["b", "b=absent (gap)", "b=absent"]


@pytest.mark.parametrize("model", [AutoKernelRegressor("low"), AutoKernelClassifier("low")])
def test_a_date_and_a_feature_that_is_called_like_its_column_are_refused_by_name(model: Any) -> None:
    before = model.to_bytes()
    with pytest.raises(ValueError, match="feature 't' is a date, whose column 't days' another feature has: rename"):
        model.learn_one({"t": "2026-01-31", "t days": 3.0}, 1.0)
    assert model.to_bytes() == before


@pytest.mark.parametrize("x", [{}, {"a": None}, {"a": math.nan, "b": None}])
def test_nothing_but_gaps(x: Any) -> None:
    model = AutoKernelRegressor()
    run(model, [(x, float(t % 3)) for t in range(40)])
    assert model.predict_one(x) == pytest.approx(1.0, abs=0.1)


def test_a_new_name_in_every_sample() -> None:
    model = AutoKernelRegressor("low")
    random = np.random.default_rng(2)
    stream = [({"a": float(a), f"only here {t}": 1.0}, float(a)) for t, a in enumerate(random.normal(size=400))]
    errors = run(model, stream)
    assert np.sqrt(np.mean(errors[-100:] ** 2)) < 0.5
    assert len(model.relevance) <= 200  # those that say most take part


def test_many_features() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(150, 1000))
    model = AutoKernelRegressor("low")
    errors = run(model, [(dict(enumerate(row)), 2.0 * row[7] - row[500]) for row in X.tolist()])
    assert np.sqrt(np.mean(errors[-30:] ** 2)) < 1.5  # the targets' deviation is 2.2
    assert "7" in sorted(model.relevance, key=model.relevance.__getitem__)[-3:]


def test_many_samples_are_as_one_after_the_other() -> None:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.normal(size=(150, 3)), columns=list("abc"))
    frame.loc[::7, "b"] = math.nan
    frame["word"] = random.choice(["x", "y"], 150)
    y = frame["a"] + (frame["word"] == "x") + 0.1 * random.normal(size=150)
    one, many = AutoKernelRegressor("low"), AutoKernelRegressor("low")
    for x, target in zip(frame.to_dict("records"), y):
        one.learn_one(x, target)
    assert many.predict_many(frame[:2]).tolist() == [0.0, 0.0]
    many.learn_many(frame[:60], y[:60])
    many.learn_many(frame[60:], y[60:])
    before = many.to_bytes()
    assert one.to_bytes() == before
    predictions = many.predict_many(frame)
    assert type(predictions) is pd.Series and predictions.index.equals(frame.index)
    np.testing.assert_allclose(predictions, [one.predict_one(x) for x in frame.to_dict("records")], rtol=1e-10)
    with pytest.raises(TypeError, match="feature 'a' is"):
        many.learn_many(pd.DataFrame({"a": [1.0, (2, 3)]}), [1.0, 2.0])
    with pytest.raises(ValueError, match="two dimensions"):
        many.predict_many(np.ones(3))
    assert many.to_bytes() == before
    X = frame[["a", "c"]].to_numpy()
    numeric = AutoKernelRegressor("low")
    numeric.learn_many(X, y.to_numpy(), np.ones(150))
    assert isinstance(numeric.predict_many(X), np.ndarray) and len(numeric.predict_many(X[:0])) == 0


def test_a_trend_goes_on_and_becomes_uncertain() -> None:
    series = [100.0 + 10.0 * math.sin(2.0 * math.pi * i / 12.0) + i for i in range(240)]
    forecaster = KernelForecaster(AutoKernelRegressor("low"), lags=13, seed=1)
    for value in series[:120]:
        forecaster.learn_one(value)
    ahead = forecaster.forecast(120)
    assert np.abs(np.array(ahead) - series[120:]).max() < 1.0
    intervals = forecaster.forecast(120, with_interval=True)
    for step in (59, 89, 119):
        assert intervals[step].lower < series[120 + step] < intervals[step].upper
    widths = [interval.upper - interval.lower for interval in intervals]
    assert widths[0] < widths[59] < widths[119] < 30.0


def test_where_experts_disagree_beyond_the_targets_nothing_is_certain() -> None:
    random = np.random.default_rng(0)
    model = AutoKernelRegressor("low")
    run(model, [({"x": x}, x**3) for x in random.uniform(-1.0, 2.0, 200).tolist()])
    low, high = -1.0, 8.0
    for x in (-8.0, 12.0, 40.0):
        distribution = model.predict_one({"x": x}, with_dist=True)
        assert low - 4.5 <= distribution.mu <= high + 4.5
        assert distribution.sigma > 1.0
    assert model.predict_many(np.array([[0.0]])).shape == (1,)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_the_targets(sign: float) -> None:
    bounds = Bounds(-10.0, 10.0)
    inside = bounds.tempered(sign * 10.0, 4.0, line=0.0, spread=100.0)
    near = bounds.tempered(sign * 20.0, 4.0, line=0.0, spread=100.0)
    far = bounds.tempered(sign * 30.0, 4.0, line=sign * 5.0, spread=100.0)
    agreed = bounds.tempered(sign * 40.0, 4.0, line=0.0, spread=1.0)
    too_far = bounds.tempered(sign * 1e9, 4.0, line=sign * 1e9, spread=1.0)
    assert inside == (sign * 10.0, 4.0)
    assert near == pytest.approx((sign * 20.0, 4.0 + (0.03 * 10.0) ** 2))
    assert far == (sign * (20.0 - 15.0 * 0.5), 4.0 + 2.5**2 + 15.0**2)  # half a range beyond: half of the way back
    assert agreed == pytest.approx((sign * 40.0, 4.0 + 0.9**2))
    assert too_far == (sign * 20.0, 4.0 + 10.0**2 + 30.0**2)
    assert Bounds(3.0, 3.0).tempered(5.0, 1.0, line=4.0, spread=1.0) == (3.0, 1.0)


def test_features_whose_squares_overflow_have_a_unit() -> None:
    rng = np.random.default_rng(0)
    samples = 1e300 * rng.normal(size=(200, 2))
    scaling = Scaling(["a", "b"], samples).bind(["a", "b"])
    assert scaling.names == ["a", "b"]
    assert scaling.transform_many(["a", "b"], samples).std(axis=0) == pytest.approx(1.0)
    model = AutoKernelRegressor()
    for a, b in samples.tolist():
        model.learn_one({"a": a, "b": b}, a / 1e300)
    assert model.predict_one({"a": 5e299, "b": 0.0}) == pytest.approx(0.5, abs=0.1)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("value", [np.complex128(1 + 2j), np.complex64(1 + 2j), np.timedelta64(1, "D")])
def test_numbers_of_numpy_that_are_none_to_a_model(value: Any) -> None:
    model = AutoKernelRegressor()
    for known in (0, 5):
        for i in range(known):
            model.learn_one({"a": float(i)}, float(i))
        before = model.to_bytes()
        with pytest.raises(TypeError, match=r"feature 'a' is .*, not a number"):
            model.learn_one({"a": value}, 1.0)
        assert model.to_bytes() == before


def test_a_column_of_a_sample_that_was_set_aside_is_restored() -> None:
    rng = np.random.default_rng(0)
    model = AutoKernelRegressor("low")
    for _ in range(40):
        a, b = rng.normal(size=2).tolist()
        model.learn_one({"b": a, "c": b}, a + b)
    model.learn_one({"a": "red", "b": 0.3, "c": 0.1}, 1e8)
    assert model._outliers.count == 1
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    for i in range(30):
        a, b = rng.normal(size=2).tolist()
        x = {"a": "red", "b": a, "c": b} if i % 3 else {"b": a, "c": b}
        assert other.predict_one(x) == model.predict_one(x)
        model.learn_one(x, a + b), other.learn_one(x, a + b)
        assert other.to_bytes() == model.to_bytes()
