"""Numbers: what once was silently wrong is right, or refused without a trace."""

from __future__ import annotations

import collections
import math
import warnings
from typing import Any

import numpy as np
import pytest

from streamkernel import (
    KAAR,
    KRLS,
    KRR,
    AdaptiveConformal,
    HeteroscedasticKRLS,
    KernelForecaster,
    KernelMixture,
    LSSVMClassifier,
    filters,
    kernels,
    run,
    selection,
)
from streamkernel.kernels import RBF, Linear, Periodic, Polynomial, RationalQuadratic


def taught(model: Any, n: int = 60, width: int = 2, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    for row in rng.normal(size=(n, width)).tolist():
        model.learn_one(dict(enumerate(row)), math.sin(2.0 * row[0]) + sum(row))
    return model


# Rounding errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [KRR, KAAR])
@pytest.mark.parametrize(("kernel", "scale"), [(Linear() + 1.0, 1.7e9), (Linear() + 1.0, 5e6), (Polynomial(2), 1e5)])
def test_the_exact_form_refuses_a_ridge_that_is_lost_among_rounding_errors(
    learner: Any, kernel: kernels.Kernel, scale: float
) -> None:
    model = learner(kernel, threshold=None)
    learned = 0
    for i in range(10):
        before, x = model.to_bytes(), {"t": scale + 60.0 * i}
        try:
            model.learn_one(x, float(i % 3))
            learned += 1
        except ValueError as error:
            found = str(error)
            assert model.to_bytes() == before
        assert abs(model.predict_one(x)) < 3.0
    assert learned < 10
    assert "ridge 0.1 is lost among the rounding errors" in found


@pytest.mark.parametrize("model", [KRR(Periodic(1.9, 7.0), threshold=None), KRLS(Periodic(1.9, 7.0)), KAAR(Periodic())])
def test_a_phase_that_is_rounding_error_is_refused(model: Any) -> None:
    """One such sample, and the exact form predicted -1e250."""
    taught(model)
    before = model.to_bytes()
    for place in (8e10, -1e20, 1e151):
        for call in (lambda x: model.learn_one(x, 1.0), model.predict_one):
            with pytest.raises(ValueError, match="rescale the features"):
                call({0: place, 1: 0.5})  # type: ignore[no-untyped-call]
    assert model.to_bytes() == before
    model.learn_one({0: 1e9, 1: 0.5}, 1.0)


def test_the_exact_form_refuses_similarities_that_are_not_positive_definite() -> None:
    rng, refused = np.random.default_rng(0), 0
    model = KRR(kernels.Custom(_not_positive), ridge=0.01, threshold=None)
    for row in rng.normal(size=(60, 2)).tolist():
        before = model.to_bytes()
        try:
            model.learn_one(dict(enumerate(row)), row[0])
        except ValueError as error:
            refused += "not positive definite" in str(error) and model.to_bytes() == before
        assert abs(model.predict_one({0: 0.1, 1: 0.2})) < 30.0
    assert 0 < refused == 60 - model.size


def _not_positive(x: Any, z: Any) -> float:
    return float(1.0 - ((x - z) ** 2).sum())


def test_the_exact_form_is_exact_where_the_ridge_counts() -> None:
    """Against the two coefficients of a straight line, which have no large kernel matrix."""
    model, x = KRR(Linear() + 1.0, ridge=0.1, threshold=None), 1e3 * np.arange(40.0)
    y, design = np.sin(x), np.column_stack([x, np.ones(40)])
    model.learn_many(x[:, None], y)
    line = np.linalg.solve(design.T @ design + 0.1 * np.eye(2), design.T @ y)
    np.testing.assert_allclose(model.predict_many(x[:, None]), design @ line, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("kernel", "width"), [(RBF(10.0) * Linear() + 1.0, 1), (Polynomial(5), 3)])
def test_noise_that_depends_on_the_input_stays_finite(kernel: kernels.Kernel, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = HeteroscedasticKRLS(kernel, max_size=10 if width == 1 else None)
    for _ in range(300):
        row = rng.uniform(0.0, 100.0, 1) if width == 1 else rng.normal(size=width)
        model.learn_one(dict(enumerate(row.tolist())), float(np.sin(row).sum() + rng.normal()))
    found = model.predict_one(dict.fromkeys(range(width), 0.5), with_dist=True)
    assert math.isfinite(found.mu) and math.isfinite(found.sigma)


@pytest.mark.parametrize("ridge", [1e-9, 1e-12, 0.0])
def test_weights_that_rounding_errors_would_drown_are_refused_by_name(ridge: float) -> None:
    rng, model, refused = np.random.default_rng(0), KRLS(RBF(1.0), ridge=ridge), 0
    for i in range(600):
        row, before = rng.normal(size=2).tolist(), model.to_bytes()
        try:
            model.learn_one(dict(enumerate(row)), math.sin(row[0]) + row[1], w=1e-8 if i % 2 else 1e8)
        except ValueError as error:
            refused, message = refused + 1, str(error)
            assert model.to_bytes() == before
    assert "weight w is" in message
    found = model.predict_one({0: 0.5, 1: 0.0}, with_dist=True)
    assert refused and abs(found.mu - math.sin(0.5)) < 0.01 and math.isfinite(found.sigma)
    model, X = KRLS(RBF(1.0), ridge=ridge), rng.normal(size=(60, 2))
    before = model.to_bytes()
    with pytest.raises(ValueError, match="weight w is"):
        model.learn_many(X, X[:, 0], np.where(np.arange(60) % 2, 1e8, 1e-8))
    assert model.to_bytes() == before


def test_a_rational_quadratic_kernel_of_large_shape_is_a_gaussian() -> None:
    for shape in (1e8, 1e16, 1e100):
        assert RationalQuadratic(1.0, shape=shape)([[0.0]], [[1.0]])[0, 0] == pytest.approx(math.exp(-0.5), rel=1e-7)
    for shape in (99.9, 100.1):
        expected = math.exp(-shape * math.log1p(4.0 / (2.0 * shape)))
        assert RationalQuadratic(1.0, shape=shape)([[0.0]], [[2.0]])[0, 0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("make", [KRLS, lambda: KRLS(ridge=0.1), KAAR, lambda: KRR(threshold=None)])
@pytest.mark.parametrize("y", [1e20, -1e100])
def test_a_prediction_before_learning_does_not_depend_on_the_target(make: Any, y: float) -> None:
    one, many, x = taught(make()), taught(make()), {0: 0.1, 1: 0.2}
    expected = one.predict_one(x)
    assert one.predict_learn_one(x, y) == expected
    X = np.array([[0.1, 0.2], [5.0, 5.0]])
    assert run(many, X, np.array([y, 0.0])).predictions[0] == pytest.approx(expected, rel=1e-12)


def test_the_prediction_of_a_filter_does_not_depend_on_the_target() -> None:
    model = taught(filters.KLMS(RBF(1.0)))
    expected = model.predict_one({0: 0.1, 1: 0.2})
    assert run(model, np.array([[0.1, 0.2]]), np.array([1e20])).predictions[0] == expected


# What cannot be handled -----------------------------------------------------------------------------------------------


def test_a_batch_is_refused_where_its_samples_are() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), 1e10 * rng.normal(size=50)
    X[20] = 5e76
    model = KRLS(Polynomial(2), 1e-6, 1e-3)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="overflows"):
        model.learn_many(X, y)
    assert model.to_bytes() == before
    model.learn_many(X[:20], y[:20])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="overflows"):
        model.learn_one(dict(enumerate(X[20].tolist())), float(y[20]))
    assert model.to_bytes() == before


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("ridge", [0.0, 1e-9, 0.1])
def test_what_is_accepted_at_any_magnitude_has_a_finite_deviation(kernel: kernels.Kernel, ridge: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        model = KRLS(kernel, ridge=ridge)
        for _ in range(12):
            x = {"a": float(rng.normal() * 10.0 ** rng.integers(0, 150)), "b": float(rng.normal())}
            y = float(rng.normal() * 10.0 ** rng.integers(0, 149))
            before = model.to_bytes()
            try:
                model.learn_one(x, y)
            except ValueError:
                assert model.to_bytes() == before
                continue
            found = model.predict_one({"a": 0.3, "b": 0.1}, with_dist=True)
            assert math.isfinite(found.mu) and math.isfinite(found.sigma)


@pytest.mark.parametrize("kind", [KRLS, HeteroscedasticKRLS, KRR])
def test_a_target_where_the_kernel_is_small_has_a_finite_deviation_where_it_is_large(kind: Any) -> None:
    model = kind(Linear(), ridge=0.01)
    with pytest.raises(ValueError, match=r"target y is 1e\+149: it must be at most 1e\+100"):
        model.learn_one({"a": 1e-3}, 1e149)
    model.learn_one({"a": 1e-3}, 1e100)
    assert math.isfinite(model.predict_one({"a": 1e20}, with_dist=True).sigma)


def test_without_a_ridge_a_target_is_refused_whose_variances_overflow_where_weights_are_small() -> None:
    model = KRLS(kernels.RBF(1.0), threshold=1e-3, ridge=0.0, forgetting=0.9)
    model.learn_one({"a": 0.4}, 0.1, w=1e-12)
    model.learn_one({"a": -2.3}, 0.8)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="rescale the target"):
        model.learn_one({"a": 1e149}, -1e149)
    assert model.to_bytes() == before
    model.learn_one({"a": 3.0}, -1e99)
    assert math.isfinite(model.predict_one({"a": 1.4}, with_dist=True).sigma)


def test_a_refused_target_leaves_a_mixture_as_it_was() -> None:
    for weighting in ("bma", "coker", "aggregating"):
        model = KernelMixture([KRLS(RBF(1.0), ridge=0.1), KRLS(Linear(), ridge=0.1)], weighting)
        taught(model, 30)
        for x, y, w in (
            ({0: 1.0, 1: 0.0}, 1e150, 1e10),
            ({0: 1e149, 1: 1.0}, 1e149, 1.0),
            ({0: 1.0, 1: 1.0}, 1.0, 1e90),
        ):
            before = model.to_bytes()
            with pytest.raises(ValueError, match=r"target|weight"):
                model.learn_one(x, y, w)
            assert model.to_bytes() == before
            assert sum(model.weights) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ridge", "far"),
    [(1e-100, ({"a": 0.1}, 1e100)), (1e-303, ({"a": 1e-3}, 1e-3))],
    ids=["a prediction is far away", "a ridge is tiny"],
)
def test_an_ordinary_sample_that_one_expert_refuses_leaves_a_mixture_as_it_was(ridge: float, far: Any) -> None:
    model = KernelMixture([KRLS(RBF(1.0), ridge=0.1), KRLS(Linear(), ridge=ridge)])
    model.learn_one(*far)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="rescale the target"):
        model.learn_one({"a": 9.9}, 1.0)
    assert model.to_bytes() == before


@pytest.mark.parametrize("meanwhile", ["refused", "predict_many"])
def test_a_mixture_that_is_offered_a_bad_sample_again_stays_as_it_was(meanwhile: str) -> None:
    """Its prediction is remembered; that of which no trace is left in the experts must not be relied on."""
    model = KernelMixture([KRLS(RBF(1.0), ridge=0.1, forgetting=0.9), KRLS(Linear(), ridge=1e-9)])
    taught(model, 30, width=1)
    before, x = model.to_bytes(), {0: -1e20}
    model.predict_one(x)
    if meanwhile == "predict_many":
        model.predict_many(np.array([[0.1], [0.2]]))
    for _ in range(2):
        with pytest.raises(ValueError, match="weight w is"):
            model.learn_one(x, 1.0)
        assert model.to_bytes() == before


def test_a_mixture_weighs_experts_where_squares_of_targets_are_zero() -> None:
    """The aggregating algorithm does not depend on the unit."""
    predictions = []
    for unit in (1.0, 1e-170, 1e-310):
        model = KernelMixture([KRLS(RBF(1.0), ridge=0.1), KRLS(Linear(), ridge=0.1)], "aggregating")
        for x, y in ((0.0, 0.0), (0.5, 0.7), (1.0, 1.0), (2.0, 0.5), (-1.0, -1.0)):
            model.learn_one({"a": x}, unit * y)
        assert sum(model.weights) == pytest.approx(1.0)
        predictions.append(model.predict_one({"a": 0.4}) / unit)
    assert predictions[1:] == pytest.approx([predictions[0]] * 2, rel=1e-6)


def test_a_refused_sample_with_a_new_feature_leaves_no_trace() -> None:
    rng, refused = np.random.default_rng(0), 0
    for _ in range(30):
        model = KRLS(threshold=1e-12)
        for i in range(30):
            row = rng.normal(size=2)
            x = dict(enumerate((0.1 * row).tolist())) | ({"new": float(row[0])} if i > 20 else {})
            before, features = model.to_bytes(), model.features
            try:
                model.learn_one(x, 1e150 * (-1.0) ** i)
            except ValueError:
                refused += 1
                assert model.to_bytes() == before
                assert model.features == features
        before = model.to_bytes()
        X = np.vstack([rng.normal(size=(2, 2)), 1e-3 * rng.normal(size=(58, 2))])
        try:
            model.learn_many(X, 1e150 * (-1.0) ** np.arange(60))
        except ValueError:
            refused += 1
            assert model.to_bytes() == before
    assert refused


def test_a_refused_sample_does_not_make_room() -> None:
    model = KRLS(RBF(0.1))
    refused = 0
    for i in range(70):
        before = model.to_bytes()
        for x, y in (({"a": float(i)}, math.nan), ({"a": math.inf}, 1.0)):
            with pytest.raises(ValueError, match="finite"):
                model.learn_one(x, y)
            refused += model.to_bytes() == before
        model.learn_one({"a": float(i)}, 1.0)
    assert refused == 140


def test_a_class_of_a_refused_sample_stays_unknown() -> None:
    model = LSSVMClassifier(Linear() * Linear())
    model.learn_one({"a": 1.0}, "low")
    before = model.to_bytes()
    for x, w in (({"a": 1e77}, 1.0), ({"a": 1.0}, 1e200), ({"a": math.nan}, 1.0)):
        with pytest.raises(ValueError, match=r"weight w|feature|similarity"):
            model.learn_one(x, "high", w)
        assert model.to_bytes() == before
        assert model.classes == ["low"]


def test_a_value_from_which_a_series_cannot_go_on_is_refused() -> None:
    model = KernelForecaster(KRLS(Polynomial(3), ridge=0.1), lags=3)
    for t in range(20):
        model.learn_one(math.sin(t))
    for value in (1e200, 1e120, -1e60, math.nan):
        before = model.to_bytes()
        with pytest.raises(ValueError, match=r"y is|similarity|target"):
            model.learn_one(value)
        assert model.to_bytes() == before
    model.learn_one(0.5)
    assert math.isfinite(model.forecast(1)[0])


def test_lags_that_overflow_together_are_refused_one_by_one() -> None:
    model = KernelForecaster(KRLS(kernels.Spline(two_sided=True), 1e-3, 0.1), lags=3)
    for value in (-1e95, 1.0):
        model.learn_one(value)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="no finite similarity"):
        model.learn_one(-1e9)
    assert model.to_bytes() == before
    assert math.isfinite(model.forecast(1)[0])
    with pytest.raises(ValueError, match=r"y is 1e\+101: it must be at most 1e\+100"):
        model.learn_one(1e101)


def test_a_series_goes_on_where_a_leap_makes_its_lags_unlearnable() -> None:
    kernel = 0.87 * (Polynomial(1, offset=0.57, scale=0.393) + Periodic(0.618, period=5.48))
    model = KernelForecaster(KRLS(kernel, 1e-3, 0.606), lags=3)
    values = [-0.21, 0.69, 0.0, 1.02, 1e8, 0.21, -0.74, 1e8, -0.96, -0.3, 0.0, 0.57, -0.2, 0.4, -1.0]
    with pytest.warns(UserWarning, match=r"not learned from its lags, of which the largest is 1e\+08") as warned:
        model.learn_series(values)
    assert f"({len(warned)} values left out so far)" in str(warned[-1].message)
    assert KernelForecaster.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
    assert math.isfinite(model.forecast(1)[0])


def test_a_value_is_learned_by_the_first_of_several_models_or_by_none() -> None:
    """Where the model refuses it from its own estimates, it goes on without and the user is told."""
    rng, refused, told = np.random.default_rng(785), 0, 0
    model = KernelForecaster(KRLS(Polynomial(2) * Linear(), 1e-3, 1e-6, 0.95), lags=2, rollout=3)
    for _ in range(30):
        before, value = model.to_bytes(), 100.0 * float(rng.normal())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.learn_one(value)
            except ValueError:
                refused += 1
                assert model.to_bytes() == before
        told += any("not learned from its lags" in str(warning.message) for warning in caught)
    assert refused and told


def test_a_later_model_that_refuses_a_value_does_not_hold_the_others_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise ValueError("not this one")

    model = KernelForecaster(KRLS(ridge=0.1), lags=2, horizon=2)
    model.learn_series([math.sin(t) for t in range(10)])
    first, second = model._models
    with monkeypatch.context() as patch:
        patch.setattr(second, "learn_one", refuse)
        with pytest.warns(UserWarning, match=r"0\.5 was not learned from its lags.*\(1 values left out"):
            model.learn_one(0.5)
    assert (first.recursion.seen, second.recursion.seen) == (9, 7)
    with monkeypatch.context() as patch:
        patch.setattr(first, "learn_one", refuse)
        before = model.to_bytes()
        with pytest.raises(ValueError, match="not this one"):
            model.learn_one(0.5)
        assert model.to_bytes() == before


@pytest.mark.parametrize("settings", [{}, {"horizon": 2}, {"rollout": 2}], ids=str)
def test_a_series_is_learned_whole_or_not_at_all(settings: dict[str, int]) -> None:
    model = KernelForecaster(KRLS(Polynomial(3), 1e-3, 1e-9), lags=2, **settings)
    model.learn_series([math.sin(t) for t in range(10)])
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"w is|y is|similarity"):
        model.learn_series([0.1, 0.2, 1e30, 0.3, 0.4])
    assert model.to_bytes() == before
    model.learn_series([0.1, 0.2])
    assert math.isfinite(model.forecast(1)[0])


# Samples --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: KRLS(Linear(), ridge=1e-6),
        lambda: KernelMixture([KRLS(Linear(), ridge=1e-6)]),
        lambda: AdaptiveConformal(KRLS(Linear(), ridge=1e-6)),
        lambda: filters.KLMS(Linear(), step=0.01),
        lambda: KRLS(kernel_learning="refit"),
    ],
)
def test_mappings_of_other_kinds_are_read_and_left_alone(make: Any) -> None:
    plain, other = make(), make()
    for i in range(60):
        x, y = {"a": float(1 + i % 7), "b": float(i % 3)}, 2.0 * (1 + i % 7) + i % 3
        plain.learn_one(x, y)
        sample = collections.defaultdict(float, x) if i % 2 else collections.Counter({k: int(v) for k, v in x.items()})
        given = dict(sample)
        other.learn_one(sample, y)
        assert dict(sample) == given
    for query in ({"a": 2.0, "b": 1.0}, {"a": 2.0}, {"z": 3.0}, {}):
        expected = plain.predict_one(query)
        for sample in (
            collections.defaultdict(float, query),
            collections.Counter({k: int(v) for k, v in query.items()}),
        ):
            assert other.predict_one(sample) == pytest.approx(expected, rel=1e-12)
            assert dict(sample) == query


def test_a_mapping_that_makes_up_values_is_not_asked_for_them() -> None:
    model = filters.KLMS(Linear(), step=0.01)
    for _ in range(5):
        model.learn_one({"a": 1.0, "b": 1.0}, 3.0)
    sample = collections.defaultdict(float, {"a": 2.0, "q": 1.0})
    model.learn_one(sample, 4.0)
    assert sample == {"a": 2.0, "q": 1.0}
    assert model.dictionary[-1] == {"a": 2.0, "b": 0.0, "q": 1.0}


# Messages -------------------------------------------------------------------------------------------------------------


def test_features_that_make_points_dependent_are_adopted() -> None:
    for seed in range(8):
        rng, model = np.random.default_rng(seed), KRLS(threshold=1e-15, ridge=1e-6)
        for row in rng.normal(size=(300, 2)).tolist():
            model.learn_one(dict(enumerate(row)), sum(row))
        before = model.size
        model.learn_one({0: 1.0, 1: 1.0, "new": 1.0}, 2.0)
        assert before / 2 < model.size <= before + 1
        assert model.predict_one({0: 0.5, 1: 0.5}) == pytest.approx(1.0, abs=0.05)


def test_an_unknown_feature_costs_one_factorization(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[int] = []
    solve = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: solved.append(len(a)) or solve(a, b))
    model, X = KRLS(ridge=0.01, threshold=1e-6), 2.0 * np.random.default_rng(0).normal(size=(400, 5))
    model.learn_many(X, X.sum(axis=1))
    assert model.size > 300
    model.predict_one({0: 1.0, "new": 1.0})
    assert len(solved) <= 2


@pytest.mark.parametrize("threshold", [1e-8, 1e-12])
def test_a_follower_that_adopts_features_is_what_it_would_be_alone(threshold: float) -> None:
    rng = np.random.default_rng(0)
    alone = [KRLS(threshold=threshold, ridge=ridge) for ridge in (0.01, 0.1)]
    mixture = KernelMixture([KRLS(threshold=threshold, ridge=ridge) for ridge in (0.01, 0.1)])
    samples = [dict(enumerate(row)) for row in rng.normal(size=(600, 2)).tolist()]
    for x in [*samples, {0: 0.1, 1: 0.2, "new": 1.0}]:
        for model in (*alone, mixture):
            model.learn_one(x, math.sin(2.0 * x[0]) + x[1])
    query = {0: 0.3, 1: 0.1, "new": 0.4}
    for expert, own in zip(mixture.experts, alone, strict=True):
        assert expert.size == own.size
        assert expert.predict_one(query) == pytest.approx(own.predict_one(query), abs=1e-9)


@pytest.mark.parametrize("criterion", ["loo", "evidence", "first_level"])
def test_tune_with_targets_that_vary_only_at_the_end(criterion: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.zeros(50)
    y[40:] = rng.normal(size=10)
    assert math.isfinite(selection.tune(None, X, y, criterion=criterion).predict_one({0: 1.0, 1: 1.0}))


@pytest.mark.parametrize("ard", [True, False, "auto"])
def test_first_level_learning_where_targets_hardly_vary(ard: Any) -> None:
    batch = pytest.importorskip("streamkernel.batch")
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.zeros(40)
    labels[3] = 1.0
    assert set(batch.FLKL(ard=ard).fit(X, labels).predict(X)) <= {0.0, 1.0}
    np.testing.assert_allclose(batch.FLKLRegressor(ard=ard).fit(X, np.ones(40)).predict(X), 1.0)


def test_relevance_of_a_model_that_has_learned_nothing_and_of_extreme_scales() -> None:
    for kernel in (None, RBF(1.0), RBF((1.0, 2.0)), RBF({"a": 1.0})):
        assert KRLS(kernel).relevance == {}
        assert LSSVMClassifier(kernel).relevance == {}
    for scale, expected in ((1e-200, math.inf), (1e200, 0.0), (1e300, 0.0), (math.inf, 0.0), (0.5, 2.0)):
        model = KRLS(RBF(scale))
        model.learn_one({"a": 1.0}, 1.0)
        assert model.relevance == {"a": expected}
    with pytest.raises(ValueError, match="1e-200"):
        KRLS(RBF(1e-200), kernel_learning="refit")


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 1e301])
def test_a_periodic_kernel_refuses_what_its_angles_cannot_hold(value: float) -> None:
    model = KRLS(kernels.Periodic(1.0, period=5.0))
    model.learn_one({"a": 1.0}, 1.0)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="no finite similarity"):
        model.learn_one({"a": value}, 1.0)
    assert model.to_bytes() == before
    assert math.isfinite(model.predict_one({"a": 0.5}))
