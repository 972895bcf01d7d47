"""Several targets over one dictionary: equal to separate models, cheaper, and careful with what it is given."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from river import checks, preprocessing

from streamkernel import KRLS, MultiTargetKRLS
from streamkernel.kernels import RBF, Linear, Matern52

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"kernel": RBF(1.0), "threshold": 1e-2},
    "ridge": {"kernel": RBF(1.0), "ridge": 0.1},
    "prior": {"kernel": Matern52(1.0), "threshold": 1e-2, "ridge": 0.1, "forgetting": 0.98},
    "walk": {"kernel": RBF(1.0), "threshold": 1e-2, "ridge": 0.1, "forgetting": 0.98, "forget": "walk"},
    "linear": {"kernel": Linear() + 1, "ridge": 1e-3},
    "default": {"ridge": 0.1},
}
TARGETS = ("a", 1, "much larger")


def stream(n: int = 150, seed: int = 0) -> list[tuple[dict[Any, float], dict[Any, float], float]]:
    rng = np.random.default_rng(seed)
    samples = []
    for u, v in rng.uniform(-2.0, 2.0, (n, 2)).tolist():
        y = (math.sin(2.0 * u) + 0.1 * rng.normal(), u * v + rng.normal(), 1e3 * math.cos(v) + 5.0 * rng.normal())
        samples.append(({"u": u, "v": v}, dict(zip(TARGETS, y, strict=True)), float(rng.uniform(0.5, 2.0))))
    return samples


@pytest.mark.parametrize("name", SETTINGS)
def test_equals_separate_models(name: str) -> None:
    model, separate = MultiTargetKRLS(**SETTINGS[name]), {target: KRLS(**SETTINGS[name]) for target in TARGETS}
    for t, (x, y, w) in enumerate(stream()):
        if t > 2:
            found, distributions = model.predict_one(x), model.predict_one(x, with_dist=True)
            for target, one in separate.items():
                assert found[target] == pytest.approx(one.predict_one(x), rel=1e-9, abs=1e-9)
                expected = one.predict_one(x, with_dist=True)
                assert distributions[target].mu == pytest.approx(expected.mu, rel=1e-9, abs=1e-9)
                assert distributions[target].sigma == pytest.approx(expected.sigma, rel=1e-9)
        model.learn_one(x, y, w)
        for target, one in separate.items():
            one.learn_one(x, y[target], w)
    assert all(one.size == model.size for one in separate.values())
    x = stream()[0][0]
    for target, found in model.predict_one(x, with_interval=True, interval_level=0.5).items():
        expected = separate[target].predict_one(x, with_interval=True, interval_level=0.5)
        assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper), rel=1e-9)


@pytest.mark.parametrize("name", SETTINGS)
def test_many_equal_one_by_one(name: str) -> None:
    settings = SETTINGS[name] | {"max_size": 25, "ridge": max(SETTINGS[name].get("ridge", 0.0), 0.01)}
    one, many = MultiTargetKRLS(**settings), MultiTargetKRLS(**settings)
    samples = stream(300)
    for x, y, w in samples:
        one.learn_one(x, y, w)
    pandas = pytest.importorskip("pandas")
    X, Y = pandas.DataFrame([x for x, _, _ in samples]), pandas.DataFrame([y for _, y, _ in samples])
    weights = np.array([w for _, _, w in samples])
    for part in (slice(0, 100), slice(100, 101), slice(101, 300)):
        many.learn_many(X[part], Y[part], weights[part])
    assert many.size == one.size <= 25
    found = many.predict_many(X)
    assert list(found.columns) == list(TARGETS)
    for i in range(0, 300, 17):
        expected = one.predict_one(samples[i][0])
        assert found.iloc[i].to_dict() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert one.noise_variances == pytest.approx(many.noise_variances, rel=1e-9)


def test_arrays() -> None:
    model = MultiTargetKRLS(RBF(1.0), ridge=0.01)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 2))
    assert model.predict_many(X).shape == (50, 0)
    model.learn_many(X, np.column_stack([X.sum(axis=1), X[:, 0] * X[:, 1]]))
    assert model.targets == (0, 1)
    single = KRLS(RBF(1.0), ridge=0.01)
    single.learn_many(X, X[:, 0] * X[:, 1])
    np.testing.assert_allclose(model.predict_many(X)[:, 1], single.predict_many(X), rtol=1e-9)


@pytest.mark.parametrize("how", ["refit", "gradient"])
def test_kernel_learning(how: str) -> None:
    model = MultiTargetKRLS(ridge=0.01, max_size=40, kernel_learning=how)
    rng = np.random.default_rng(3)
    for row in rng.uniform(-2.0, 2.0, (700, 2)).tolist():
        x = dict(zip("uv", row, strict=True))
        model.learn_one(x, {"a": math.sin(2.0 * x["u"]), "b": math.cos(2.0 * x["u"])})
    assert model.relevance["u"] > 3.0 * model.relevance["v"]
    assert model.predict_one({"u": 1.0, "v": 0.3})["a"] == pytest.approx(math.sin(2.0), abs=0.1)


MODELS = {
    "default": MultiTargetKRLS(ridge=0.1),
    "bounded": MultiTargetKRLS(RBF(10.0), 1e-2, 0.1, max_size=10),
    "scaled": preprocessing.StandardScaler() | MultiTargetKRLS(ridge=0.1),
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
    assert not model._unit_test_skips()
    check(model.clone())


def moments(model: MultiTargetKRLS, x: Any) -> dict[Any, tuple[float, float]]:
    return {target: (found.mu, found.sigma) for target, found in model.predict_one(x, with_dist=True).items()}


def test_checkpoints_continue_bit_for_bit() -> None:
    for settings in [*SETTINGS.values(), {"ridge": 0.1, "max_size": 10, "kernel_learning": "refit"}]:
        model = MultiTargetKRLS(**settings)
        samples = stream()
        for x, y, w in samples[:100]:
            model.learn_one(x, y, w)
        others = [MultiTargetKRLS.from_bytes(model.to_bytes()), copy.deepcopy(model)]
        for x, y, w in samples[100:]:
            for other in others:
                assert moments(other, x) == moments(model, x)
                other.learn_one(x, y, w)
            model.learn_one(x, y, w)
        assert others[0].to_bytes() == model.to_bytes()
    fresh = MultiTargetKRLS.from_bytes(MultiTargetKRLS().to_bytes())
    assert fresh.predict_one({"u": 1.0}) == {}


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        ({"u": 1.0}, {"a": 1.0}, 1.0, "lacks the target 1"),
        ({"u": 1.0}, {"a": 1.0, 1: 2.0, "b": 3.0}, 1.0, "lacks the target 'much larger'"),
        ({"u": 1.0}, dict.fromkeys([*TARGETS, "new"], 1.0), 1.0, "new target 'new'"),
        ({"u": 1.0}, {"a": math.nan, 1: 1.0, "much larger": 1.0}, 1.0, "target 'a' is nan"),
        ({"u": 1.0}, {"a": 1.0, 1: "x", "much larger": 1.0}, 1.0, "target 1 is 'x'"),
        ({"u": 1.0}, {"a": 1.0, 1: 1e200, "much larger": 1.0}, 1.0, "target 1 is 1e\\+200"),
        ({"u": math.inf}, dict.fromkeys(TARGETS, 1.0), 1.0, "feature 'u' is inf"),
        ({"u": 1.0, "z": "w"}, dict.fromkeys(TARGETS, 1.0), 1.0, "feature 'z' is 'w'"),
        ({"u": 1.0}, dict.fromkeys(TARGETS, 1.0), 0.0, "weight w is 0.0"),
        ({"u": 1.0}, 3.0, 1.0, "y must be a dict"),
        ({"u": 1.0}, {}, 1.0, "lacks the target 'a'"),
    ],
)
def test_bad_samples_change_nothing(x: Any, y: Any, w: float, message: str) -> None:
    model = MultiTargetKRLS(RBF(1.0), ridge=0.1)
    for sample in stream(20):
        model.learn_one(*sample)
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError), match=message):
        model.learn_one(x, y, w)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("y", "message"), [({}, "dict of targets"), (1.0, "dict of targets"), ({"a": 1.0, "b": None}, "target 'b' is None")]
)
def test_a_bad_first_sample(y: Any, message: str) -> None:
    model = MultiTargetKRLS()
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError), match=message):
        model.learn_one({"u": 1.0}, y)
    with pytest.raises(ValueError, match="feature 'u' is nan"):
        model.learn_one({"u": math.nan}, {"a": 1.0, "b": 2.0})
    assert model.to_bytes() == before


def test_bad_tables_change_nothing() -> None:
    model = MultiTargetKRLS(RBF(1.0), ridge=0.1)
    X, Y = np.ones((3, 2)), np.ones((3, 2))
    with pytest.raises(ValueError, match=r"y must have one row per row of X \(3\), got 2"):
        model.learn_many(X, Y[:2])
    with pytest.raises(ValueError, match="y must have two dimensions"):
        model.learn_many(X, Y[:, 0])
    with pytest.raises(ValueError, match="y must have a column"):
        model.learn_many(X, Y[:, :0])
    with pytest.raises(ValueError, match="target 1 is nan in row 0"):
        model.learn_many(X, np.array([[1.0, np.nan]] * 3))
    assert model.targets == ()
    model.learn_many(X, Y)
    with pytest.raises(ValueError, match="new target 2"):
        model.learn_many(X, np.ones((3, 3)))
    assert model.recursion.seen == 3
