"""What a row does to its key's model, without any engine."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from river import metrics

from streamkernel import (
    KAAR,
    KRLS,
    KRR,
    AdaptiveConformal,
    AutoKernelRegressor,
    HeteroscedasticKRLS,
    KernelMixture,
    LSSVMClassifier,
    kernels,
)
from streamkernel.checkpoint import CheckpointError
from streamkernel.distributed.candidates import Contest
from streamkernel.distributed.keyed import KeyedModel, Models, Outcome, in_order
from streamkernel.learners.base import gaussian, standard_deviation

MODEL = KRLS(kernels.RBF(1.0), ridge=0.1)


def samples(count: int) -> list[tuple[dict[str, float], float]]:
    rng = np.random.default_rng(0)
    return [({"a": a, "b": b}, math.sin(3.0 * a) + b) for a, b in rng.uniform(-2.0, 2.0, (count, 2)).tolist()]


def trained(model: Any, count: int = 60) -> Any:
    model = model.clone()
    for x, y in samples(count):
        model.learn_one(x, y)
    return model


def test_predictions_are_made_before_learning() -> None:
    keyed, alone = Models(MODEL, ["a", "b"]).new(), MODEL.clone()
    for t, (x, y) in enumerate(samples(50)):
        expected = alone.predict_one(x, with_dist=True)
        assert keyed.step(t, x, y) == Outcome(expected.mu, expected.sigma, None)
        alone.learn_one(x, y)
    assert keyed.model.to_bytes() == alone.to_bytes()
    assert keyed == KeyedModel(keyed.model, position=49, learned=50)


def test_a_standard_deviation_is_that_of_the_distribution_to_the_last_bit() -> None:
    variances = [0.0, math.ulp(0.0), *np.random.default_rng(0).lognormal(0.0, 30.0, 2000).tolist()]
    assert [standard_deviation(v) for v in variances] == [gaussian(1.0, v).sigma for v in variances]


@pytest.mark.parametrize(
    "model",
    [
        KAAR(kernels.RBF(1.0)),
        HeteroscedasticKRLS(kernels.RBF(1.0), max_size=9),
        KernelMixture([KRLS(kernels.RBF(scale), ridge=0.1) for scale in (0.5, 2.0)]),
        AutoKernelRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_regressor_goes_through_bytes_at_any_row(model: Any) -> None:
    models, alone = Models(model, ["a", "b"]), model.clone()
    keyed = models.new()
    for t, (x, y) in enumerate(samples(40)):
        expected = alone.predict_one(x, with_dist=True)
        assert keyed.step(t, x, y) == Outcome(expected.mu, expected.sigma, None)
        alone.learn_one(x, y)
        if t % 7 == 0:  # the end of a batch
            keyed = models.load("key", keyed.model.to_bytes(), keyed.position, keyed.learned)
    assert keyed.model.to_bytes() == alone.to_bytes()
    assert keyed.learned == 40


@pytest.mark.parametrize(
    ("order", "x", "y", "counter", "predicted", "words"),
    [
        (4, {"a": 1.0, "b": 1.0}, 1.0, "late", False, "late: order 4 comes after 5"),
        (5, {"a": 1.0, "b": 1.0}, 1.0, "duplicate", False, "duplicate: order 5 is learned already"),
        (None, {"a": 1.0, "b": 1.0}, 1.0, "failed", False, "the order is None"),
        (math.nan, {"a": 1.0, "b": 1.0}, 1.0, "failed", False, "the order is nan"),
        (6, {"a": None, "b": 1.0}, 1.0, "failed", False, "TypeError: feature 'a' is None"),
        (6, {"a": math.nan, "b": 1.0}, 1.0, "failed", False, "ValueError: feature 'a' is nan"),
        (6, {"a": "text", "b": 1.0}, 1.0, "failed", False, "TypeError: feature 'a' is 'text'"),
        (6, {"a": 1.0, "b": 1.0}, None, "failed", True, "TypeError: target y is None"),
        (6, {"a": 1.0, "b": 1.0}, math.inf, "failed", True, "ValueError: target y is inf"),
        (6, {"a": 1.0, "b": 1.0}, 1e300, "failed", True, "ValueError: target y is 1e+300"),
        (6, {"a": 1.0, "b": 1.0}, "text", "failed", True, "TypeError: target y is 'text'"),
    ],
)
def test_what_cannot_be_learned_changes_no_model(
    order: Any, x: Any, y: Any, counter: str, predicted: bool, words: str
) -> None:
    keyed = KeyedModel(trained(MODEL), position=5, learned=60)
    before = keyed.model.to_bytes()
    outcome = keyed.step(order, x, y)
    assert outcome.error is not None
    assert outcome.error.startswith(words)
    assert (outcome.prediction is not None) == (outcome.standard_deviation is not None) == predicted
    assert keyed.model.to_bytes() == before
    assert (keyed.position, keyed.learned) == (5, 60)
    assert {name: getattr(keyed, name) for name in ("late", "duplicate", "failed")} == {
        "late": 0,
        "duplicate": 0,
        "failed": 0,
        counter: 1,
    }
    assert keyed.step(6, {"a": 1.0, "b": 1.0}, 1.0).error is None  # a corrected row is learned


def test_rows_come_in_an_order_that_depends_on_them_alone() -> None:
    rows = [(2, "b"), (1, "z"), (2, "a"), (None, "q"), (3, "c"), (2, "a")]
    ordered = in_order(rows, order=lambda row: row[0])
    assert ordered == [(1, "z"), (2, "a"), (2, "a"), (2, "b"), (3, "c"), (None, "q")]
    for permuted in itertools.islice(itertools.permutations(rows), 0, None, 7):
        assert in_order(permuted, order=lambda row: row[0]) == ordered
    assert in_order(iter([(1.5,), (math.nan,), (-1.0,)]), order=lambda row: row[0])[:2] == [(-1.0,), (1.5,)]
    assert in_order([], order=lambda row: row) == []


def test_a_new_key_starts_with_a_copy() -> None:
    first = trained(MODEL)
    models = Models(first, ["a", "b"])
    one, two = models.new(), models.new()
    one.step(1, {"a": 0.1, "b": 0.2}, 9.0)
    assert two.model.to_bytes() == first.to_bytes() != one.model.to_bytes()


@pytest.mark.parametrize("model", [MODEL, KRR(kernels.RBF(1.0), threshold=None), HeteroscedasticKRLS(kernels.RBF(1.0))])
def test_models_above_the_limit_are_pruned(model: Any) -> None:
    large = trained(model)
    assert large.size > 8
    keyed = Models(model, ["a", "b"], max_size=8).load("key", large.to_bytes(), 7, 60)
    assert (keyed.model.size, keyed.model.max_size, keyed.position, keyed.learned) == (8, 8, 7, 60)
    for t, (x, y) in enumerate(samples(200)):
        assert keyed.step(100 + t, x, y).error is None
        assert keyed.model.size <= 8
    wide = Models(model, ["a", "b"]).load("key", keyed.model.to_bytes()).model  # and the limit can be lifted
    assert (wide.size, wide.max_size) == (8, None)
    for x, y in samples(60):
        wide.learn_one(x, y)
    assert wide.size > 8


def test_a_limit_that_is_not_exceeded_changes_nothing() -> None:
    bounded = KRLS(kernels.RBF(1.0), ridge=0.1, max_size=9)
    data = trained(bounded).to_bytes()
    assert Models(bounded, ["a", "b"]).load("key", data).model.to_bytes() == data
    assert Models(MODEL, ["a", "b"], max_size=9).load("key", data).model.to_bytes() == data


def test_another_model_is_refused() -> None:
    data = trained(MODEL).to_bytes()
    for other in (KRLS(kernels.RBF(2.0), ridge=0.1), KRLS(kernels.RBF(1.0), ridge=0.2), KRR(kernels.RBF(1.0))):
        with pytest.raises(ValueError, match=r"stored model of key 'pump'[\s\S]*start a new checkpoint"):
            Models(other, ["a", "b"]).load("pump", data)
    with pytest.raises(ValueError, match=r"knows the features \['b'\], which are not among features=\['a', 'c'\]"):
        Models(MODEL, ["a", "c"]).load("pump", data)
    with pytest.raises(ValueError, match=r"the model knows the features \['a', 'b'\]"):
        Models(trained(MODEL), ["x"])
    assert Models(MODEL, ["a", "b", "c"]).load("pump", data).model.to_bytes() == data  # a feature more may come
    with pytest.raises(CheckpointError, match="the model of key 'pump' cannot be restored"):
        Models(MODEL, ["a", "b"]).load("pump", data[:-1])


def test_custom_kernels_bring_their_functions() -> None:
    model = KRLS(kernels.Custom(lambda x, z: float(np.exp(-np.abs(x - z).sum()))) + kernels.Linear(), ridge=0.1)
    data = trained(model, 20).to_bytes()
    assert Models(model, ["a", "b"]).load("key", data).model.to_bytes() == data


@pytest.mark.parametrize(
    "model",
    ["KRLS", KRLS, None, LSSVMClassifier(), AdaptiveConformal(KRLS()), random.Random(0)],
    ids=lambda model: type(model).__name__,
)
def test_what_is_no_model_for_a_key(model: Any) -> None:
    with pytest.raises(TypeError, match="model must"):
        Models(model, ["a"])


def test_a_limit_needs_a_model_that_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unbounded(KRLS):
        """A model without a limit."""

        def __init__(self, ridge: float = 0.1) -> None:
            super().__init__(ridge=ridge)

    with pytest.raises(TypeError, match="Unbounded has none"):
        Models(Unbounded(), ["a"], max_size=3)
    with pytest.raises(ValueError, match="max_size must be a whole number"):
        Models(MODEL, ["a"], max_size=0)
    data = trained(Unbounded()).to_bytes()
    assert Models(Unbounded(), ["a", "b"]).load("key", data).model.to_bytes() == data


def test_a_model_that_learns_its_kernel_keeps_its_own_limit():
    model = KRLS(ridge=0.1, max_size=10, kernel_learning="refit")
    models = Models(model, ["a"])
    keyed = models.new()
    for t in range(80):
        assert keyed.step(t, {"a": float(t % 13)}, float(t % 5)).error is None
    other = models.load("k", keyed.model.to_bytes())
    assert other.model.size <= 10 and other.model.relevance == keyed.model.relevance
    with pytest.raises(TypeError, match="max_size=5 needs a model"):
        Models(model, ["a"], max_size=5)


def test_a_contest_refuses_a_metric_of_another_task() -> None:
    models = {"a": MODEL.clone(), "b": LSSVMClassifier()}
    with pytest.raises(ValueError, match=r"metric MAE.* does not go with candidate 'b'"):
        Contest(models, metrics.MAE())
    with pytest.raises(ValueError, match=r"metric Accuracy.* does not go with candidate 'a'"):
        Contest(models, metrics.Accuracy())
