"""The variances that a full dictionary keeps, and the choices it makes by them, against dense solves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from reference import coefficient_variances, importances, unpacked

from bench import pruning as bench
from streamkernel import KRLS, HeteroscedasticKRLS
from streamkernel.core.variances import flush
from streamkernel.kernels import RBF, Kernel, Linear, Matern32
from streamkernel.learners.bank import Bank
from streamkernel.learners.recursion import Recursion
from streamkernel.threads import one_thread

STREAMS = ("uniform", "drifting", "heavy", "repeating", "walk")


def stream(kind: str, n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    if kind == "drifting":
        X += np.linspace(0.0, 4.0, n)[:, None]
    elif kind == "heavy":
        X = rng.standard_t(2.0, (n, 3)).clip(-20.0, 20.0)
    elif kind == "repeating":
        X = X[rng.integers(n, size=n)] + 1e-3 * rng.standard_normal((n, 3))
    elif kind == "walk":
        X = np.cumsum(0.3 * rng.standard_normal((n, 3)), axis=0)
    return X, np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(n)


def settled(recursion: Recursion) -> tuple[Any, Any]:
    """The factor and the covariance, what is pending included, of a model that stays as it is."""
    model, size = recursion.model, recursion.size
    pending = model.pending[:size]
    stored = unpacked(model.covariance, size, symmetric=True) - np.outer(pending, pending)
    covariance = model.pending_scale * stored + model.pending_diagonal * np.eye(size)
    return unpacked(model.factor, size, symmetric=False), covariance


class Watched(Recursion):
    """Compares every choice with the exact one."""

    checked = 0

    @one_thread
    def shrink(self) -> int:
        scores = importances(*settled(self), self.model.weights[: self.outputs, : self.size])
        index = super().shrink()
        assert scores[index] <= scores.min() * (1.0 + 1e-9)
        self.checked += 1
        return index


def watched(learner: Any) -> Watched:
    learner._model.__class__ = Watched
    return learner._model  # type: ignore[no-any-return]


def errors_of(recursion: Recursion) -> float:
    """The largest relative error of the kept numbers."""
    model, size = recursion.model, recursion.size
    expected = coefficient_variances(*settled(recursion))
    flush(model)
    assert model.tracked == size
    known = np.isfinite(model.coefficient_variances[:size])
    found = model.coefficient_variances[:size], model.inverse_diagonal[:size]
    return max(
        float(np.abs(kept / exact - 1.0)[known].max(initial=0.0)) for kept, exact in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("forgetting", [(1.0, "prior"), (0.99, "prior"), (0.99, "walk")], ids=str)
@pytest.mark.parametrize("size", [20, 60, 200])
@pytest.mark.parametrize("kind", STREAMS)
def test_every_choice_is_the_exact_one(kind: str, size: int, forgetting: tuple[float, str]) -> None:
    X, y = stream(kind, {20: 150, 60: 170, 200: 240 if kind != "repeating" else 380}[size], seed=size)
    model = KRLS(RBF(0.5), 1e-4, 0.01, *forgetting, max_size=size)
    recursion = watched(model)
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    assert recursion.checked > 20
    assert errors_of(recursion) < 1e-9


@pytest.mark.parametrize("ridge", [0.0, 1e-6])
@pytest.mark.parametrize("kernel", [RBF(2.0), Matern32(1.0), RBF(1.0) + 0.1 * Linear()], ids=repr)
def test_ill_conditioned_dictionaries(kernel: Kernel, ridge: float) -> None:
    X, y = stream("uniform", 400, seed=1)
    model = KRLS(kernel, 1e-8, ridge, max_size=30)
    recursion = watched(model)
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    assert recursion.checked > 20
    assert errors_of(recursion) < 1e-6


def test_noise_that_depends_on_the_input() -> None:
    X, y = stream("uniform", 200, seed=2)
    model = HeteroscedasticKRLS(RBF(0.7), 1e-3, 0.05, max_size=25)
    recursion = watched(model)
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    assert recursion.checked > 50


def test_the_leader_of_others_chooses_exactly_and_they_pay_nothing() -> None:
    X, y = stream("uniform", 200, seed=3)
    bank = Bank([KRLS(RBF(0.7), 1e-3, ridge, max_size=25) for ridge in (0.01, 0.1, 1.0)])
    recursion = watched(bank.experts[0])
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        sample = dict(enumerate(x))
        bank.moments(sample)
        bank.learn(sample, target, 1.0)
    assert recursion.checked > 50
    assert [expert.recursion.model.tracked for expert in bank.experts] == [25, 0, 0]


def test_many_samples_at_once_and_several_targets() -> None:
    X, y = stream("repeating", 2000, seed=4)
    model = Watched(RBF(0.8), 1e-3, 0.1, max_size=60, outputs=2)
    model.learn_many((0, 1, 2), X, np.column_stack([y, np.cos(y)]))
    assert model.checked > 20
    assert len(model.model.block)
    assert errors_of(model) < 1e-9


def test_many_samples_are_learned_as_one_by_one() -> None:
    X, y = stream("uniform", 600, seed=7)
    X[100:] = X[:100][np.random.default_rng(7).integers(100, size=500)]
    X[200::90] += 0.7
    many, one = (KRLS(RBF(0.6), 1e-3, 0.05, max_size=90) for _ in range(2))
    many.learn_many(X, y)
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        one.learn_one(dict(enumerate(x)), target)
    assert one.recursion.pruned > 12
    assert many.dictionary == one.dictionary
    np.testing.assert_allclose(many.predict_many(X), one.predict_many(X), rtol=1e-8, atol=1e-8)


def test_who_has_no_limit_or_is_not_full_pays_nothing() -> None:
    X, y = stream("uniform", 60, seed=5)
    for model in (KRLS(RBF(0.5), 1e-3, 0.1), KRLS(RBF(0.5), 1e-3, 0.1, max_size=100)):
        for x, target in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(enumerate(x)), target)
        assert 50 < model.size < 75
        assert model.recursion.model.tracked == 0
    for x, target in zip((X + 5.0).tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    assert model.recursion.model.tracked == model.size == 100
    model.limit(None)
    assert model.recursion.model.tracked == 0


@pytest.mark.parametrize("many", [False, True])
def test_a_copy_goes_on_bit_for_bit(many: bool) -> None:
    """Updates that are collected, and numbers that are unknown, are part of the state."""
    X, y = stream("uniform", 300, seed=6)
    X[1::4] = X[2::4] = X[3::4] = X[::4]  # three of four samples are no news
    model = KRLS(RBF(0.5), 1e-3, 0.01, 0.999, max_size=30)
    collected = set()
    for at, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        model.learn_one(dict(enumerate(x)), target)
        if at in (100, 141, 142, 143, 220):
            collected.add(model.recursion.model.collected)
            copy = KRLS.from_bytes(model.to_bytes())
            assert copy.to_bytes() == model.to_bytes()
            for each in (copy, twin := KRLS.from_bytes(model.to_bytes())):
                if many:
                    each.learn_many(X[at + 1 :], y[at + 1 :])
                else:
                    for row, value in zip(X[at + 1 :].tolist(), y[at + 1 :].tolist(), strict=True):
                        each.learn_one(dict(enumerate(row)), value)
            assert copy.to_bytes() == twin.to_bytes()
            later = copy.to_bytes()
    assert len(collected) > 1
    if not many:
        assert later == model.to_bytes()


def test_an_infinite_variance_ends_the_search() -> None:
    """Similarities of 1e-160: a variance beyond all numbers leaves first, and no call hangs."""
    model = KRLS(Linear(), threshold=0.0, max_size=1)
    for x in (1e-80, -3e-80, 2e-80):
        model.learn_one({0: x, 1: x * x}, 1.0)
        assert model.size <= 1


def test_bench_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    assert "largest relative error" in printed


def test_a_model_that_has_lost_its_limit_while_updates_wait_is_copied_and_restored() -> None:
    random, model = np.random.default_rng(0), KRLS(RBF(1.0), 1e-3, 1e-2, max_size=8)
    while not model.recursion.model.collected:
        model.learn_one({"a": float(random.normal(0.0, 2.0))}, float(random.normal()))
    model.limit(None)
    others = [copy.deepcopy(model), KRLS.from_bytes(model.to_bytes())]
    for x, y in random.normal(size=(20, 2)).tolist():
        for learner in (model, *others):
            learner.learn_one({"a": x}, y)
        assert len({learner.predict_one({"a": y}) for learner in (model, *others)}) == 1
