"""Targets far from zero, and in any unit: `TargetScaler`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from river import base, checks, compose, evaluate, linear_model, metrics, preprocessing

import streamkernel
from streamkernel import KAAR, KRLS, AdaptiveConformal, HeteroscedasticKRLS, KernelMixture, TargetScaler, datasets
from streamkernel.filters import KLMS
from streamkernel.kernels import RBF, Linear
from streamkernel.learners import reading

INNER: dict[str, Any] = {
    "KRLS": KRLS(ridge=0.1),
    "KAAR": KAAR(),
    "noise": HeteroscedasticKRLS(),
    "mixture": KernelMixture([KRLS(ridge=0.1), KRLS(RBF(3.0), ridge=0.1)]),
    "conformal": AdaptiveConformal(KRLS(ridge=0.1)),
    "filter": KLMS(RBF(1.0)),
}


def samples(n: int = 300, level: float = 1000.0, unit: float = 50.0) -> list[tuple[dict[Any, float], float]]:
    return [(x, level + unit * y) for x, y in datasets.SincLinear(seed=2).take(n)]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")
        for name, model in {
            "alone": TargetScaler(KRLS(RBF(10.0), 1e-2, 0.1)),
            "fixed": TargetScaler(KRLS(RBF(10.0), 1e-2, 0.1), center=3.0, unit=2.0),
            "piped": preprocessing.StandardScaler() | TargetScaler(KRLS(ridge=0.1)),
        }.items()
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_river_s_checks(model: Any, check: Any) -> None:
    check(model.clone())


def test_nothing_is_skipped() -> None:
    assert not TargetScaler(KRLS())._unit_test_skips()


@pytest.mark.parametrize("name", INNER)
def test_level_and_unit_of_the_target_do_not_matter(name: str) -> None:
    """a + b y instead of y gives a + b times the predictions, from the first sample on."""
    near, far = TargetScaler(INNER[name].clone()), TargetScaler(INNER[name].clone())
    for (x, y), (_, z) in zip(samples(150, 0.0, 1.0), samples(150, 1000.0, 50.0), strict=True):
        if near._moments[0] > 1:
            assert far.predict_one(x) == pytest.approx(1000.0 + 50.0 * near.predict_one(x), abs=1e-5)
        near.learn_one(x, y)
        far.learn_one(x, z)


def test_a_target_far_from_zero_is_learned_as_well_as_one_near_it() -> None:
    def error(model: Any, level: float) -> float:
        pipeline, metric, rows = preprocessing.StandardScaler() | model, metrics.MAE(), samples(500, level, 1.0)
        pipeline.learn_one(*rows[0])  # before, every level is a surprise
        return float(evaluate.progressive_val_score(rows[1:], pipeline, metric).get())

    assert error(TargetScaler(KRLS(ridge=0.1)), 100.0) < 1.2 * error(KRLS(ridge=0.1), 0.0)
    assert error(KRLS(ridge=0.1), 100.0) > 5.0 * error(TargetScaler(KRLS(ridge=0.1)), 100.0)


@pytest.mark.parametrize("name", [name for name in INNER if name != "filter"])
def test_distributions_and_intervals_are_kept(name: str) -> None:
    model = preprocessing.StandardScaler() | TargetScaler(INNER[name].clone())
    inside, rows = 0, samples(400)
    for x, y in rows:
        distribution = model.predict_one(x, with_dist=True)
        assert distribution.mu == pytest.approx(model.predict_one(x), rel=1e-9)
        assert distribution.sigma > 0.0
        inside += y in model.predict_one(x, with_interval=True)
        model.learn_one(x, y)
    assert inside > 0.8 * len(rows)


def test_an_interval_of_another_level() -> None:
    model = TargetScaler(KRLS(ridge=0.1))
    for x, y in samples(100):
        model.learn_one(x, y)
    x = samples(101)[-1][0]
    narrow, wide = (model.predict_one(x, with_interval=True, interval_level=level) for level in (0.5, 0.95))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


@pytest.mark.parametrize("name", INNER)
def test_many_are_as_one_after_the_other(name: str) -> None:
    one, many = TargetScaler(INNER[name].clone()), TargetScaler(INNER[name].clone())
    X, y = datasets.SincLinear(seed=2).arrays(150)
    y = 1000.0 + 50.0 * y
    predictions = []
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        predictions.append(one.predict_one(dict(enumerate(row))))
        one.learn_one(dict(enumerate(row)), target)
    result = streamkernel.run(many, X, y)
    np.testing.assert_allclose(result.predictions, predictions, rtol=1e-9)
    np.testing.assert_allclose(many.predict_many(X), [one.predict_one(dict(enumerate(row))) for row in X.tolist()])


def test_frames_and_weights() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = datasets.SincLinear(seed=2).arrays(60)
    frame = pandas.DataFrame(X, columns=["a", "b"], index=range(7, 67))
    heavy, twice = TargetScaler(KRLS(ridge=0.1), 5.0, 2.0), TargetScaler(KRLS(ridge=0.1), 5.0, 2.0)
    heavy.learn_many(frame, y, w=np.full(60, 2.0))
    for row, target in zip(frame.to_dict("records"), y.tolist(), strict=True):
        twice.learn_one(row, target, w=2.0)
    predicted = heavy.predict_many(frame)
    assert list(predicted.index) == list(frame.index)
    np.testing.assert_allclose(predicted, twice.predict_many(frame), atol=1e-9)


@pytest.mark.parametrize("name", [*INNER, "linear"])
def test_checkpoints(name: str, tmp_path: Any) -> None:
    if name == "linear":
        model = TargetScaler(linear_model.LinearRegression())
        with pytest.raises(TypeError, match="LinearRegression"):
            model.to_bytes()
        return
    model = TargetScaler(INNER[name].clone())
    rows = samples(80)
    for x, y in rows[:40]:
        model.learn_one(x, y)
    model.save(tmp_path / "m.skm")
    same = streamkernel.load(tmp_path / "m.skm")
    for x, y in rows[40:]:
        assert same.predict_learn_one(x, y) == model.predict_learn_one(x, y)


def test_a_bad_sample_changes_nothing() -> None:
    model = TargetScaler(KRLS(ridge=0.1))
    for x, y in samples(20):
        model.learn_one(x, y)
    before = model.to_bytes()
    for x, y in [({0: math.nan, 1: 1.0}, 1.0), ({0: 1.0, 1: 1.0}, math.nan), ({0: "red", 1: 1.0}, 1.0)]:
        with pytest.raises((TypeError, ValueError)):
            model.learn_one(x, y)
        with pytest.raises((TypeError, ValueError)):
            model.learn_many(np.array([[x[0], x[1]]], dtype=object), [y])
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regressor": 3}, "regressor must be a regressor, got 3"),
        ({"regressor": KRLS(), "unit": 0.0}, "unit must be a number > 0, got 0.0"),
        ({"regressor": KRLS(), "center": math.nan}, "center must be a number, got nan"),
        ({"regressor": streamkernel.LSSVMClassifier()}, "regressor must be a regressor"),
    ],
)
def test_bad_arguments(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TargetScaler(**arguments)


# Labels and intervals, whose errors say what is wrong ----------------------------------------------------------------

CLASSIFIERS: list[base.Classifier] = [streamkernel.LSSVMClassifier(), streamkernel.KernelMixtureClassifier()]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("label", [None, math.nan, np.float64("nan"), np.datetime64("NaT"), "NA"])
def test_a_missing_label_is_an_error(model: Any, label: Any) -> None:
    model = model.clone()
    label = pytest.importorskip("pandas").NA if isinstance(label, str) else label
    with pytest.raises(ValueError, match="label y is"):
        model.learn_one({"x": 1.0}, label)
    assert model.predict_proba_one({"x": 1.0}) == {}
    model.learn_one({"x": 1.0}, "a")
    model.learn_one({"x": 2.0}, "b")
    before = model.to_bytes()
    with pytest.raises(ValueError, match="leave it out"):
        model.learn_one({"x": 3.0}, label)
    with pytest.raises(TypeError, match="hashable"):
        reading.check_label(["a"])
    assert model.to_bytes() == before
    assert set(model.predict_proba_one({"x": 1.0})) == {"a", "b"}


def test_adaptive_conformal_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match="regressor must predict distributions"):
        AdaptiveConformal(linear_model.LinearRegression()).learn_one({"x": 1.0}, 1.0)
    with pytest.raises(TypeError, match="regressor must predict distributions"):
        AdaptiveConformal(preprocessing.StandardScaler() | KLMS(RBF(1.0))).predict_one({"x": 1.0}, with_interval=True)
    model = AdaptiveConformal(KRLS(ridge=0.1), confidence_level=0.8)
    model.learn_one({"x": 1.0}, 1.0)
    with pytest.raises(
        ValueError, match=r"interval_level must be the confidence_level that is adapted to, 0\.8, got 0\.5"
    ):
        model.predict_one({"x": 1.0}, with_interval=True, interval_level=0.5)
    assert model.predict_one({"x": 1.0}, with_interval=True, interval_level=0.8)
    assert isinstance(compose.Pipeline(model).predict_one({"x": 1.0}), float)


def test_targets_whose_deviations_could_not_be_squared_are_refused() -> None:
    model = TargetScaler(KRLS())
    model.learn_one({"a": 1.0}, 2.0)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"target y is 1e\+101: it must be at most 1e\+100"):
        model.learn_one({"a": 1.0}, 1e101)
    with pytest.raises(ValueError, match=r"target y is -1e\+120: it must be at most 1e\+100"):
        model.learn_many(np.ones((3, 1)), [1.0, -1e120, 2.0])
    assert model.to_bytes() == before


@pytest.mark.parametrize("wrong", [{"center": 1e300}, {"unit": 1e300}, {"unit": 1e-300}, {"unit": 0.0}])
def test_a_center_or_unit_whose_squares_are_no_numbers_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} (must be|is 1e)"):
        TargetScaler(KRLS(), **wrong)


def test_many_samples_are_learned_by_a_pipeline_or_none() -> None:
    model = TargetScaler(preprocessing.StandardScaler() | KRLS(ridge=0.1))
    model.learn_one({0: 1.0}, 1.0)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"target y is 1e\+120"):
        model.learn_many(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 1e120]))
    assert model.to_bytes() == before


def test_a_deviation_without_a_square_is_refused_by_name() -> None:
    model = TargetScaler(KRLS(Linear(), ridge=0.1), center=0.0, unit=1e100)
    model.learn_one({"a": 1.0}, 1e100)
    with pytest.raises(ValueError, match="has no square: rescale target or features"):
        model.predict_one({"b": 1e60}, with_dist=True)
