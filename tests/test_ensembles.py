"""Mixtures: experts that share a dictionary, the three rules of weighing, their guarantees and limits."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, metrics, preprocessing
from scipy import stats

from streamkernel import (
    KAAR,
    KRLS,
    KRR,
    HeteroscedasticKRLS,
    KernelMixture,
    KernelMixtureClassifier,
    LSSVMClassifier,
    datasets,
    kernels,
)
from streamkernel.distributions import GaussianMixture
from streamkernel.learners.bank import Bank

KERNEL = kernels.RBF(1.5) + 1.0


def samples(count: int, seed: int = 0, features: int = 3) -> list[tuple[dict[Any, float], float]]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, features))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * random.normal(size=count)
    return [(dict(enumerate(row)), target) for row, target in zip(X.tolist(), y.tolist())]


def paces(limit: int | None = None) -> list[KRLS]:
    return [
        KRLS(KERNEL, 1e-2, 0.01, max_size=limit),
        KRLS(KERNEL, 1e-2, 0.01, 0.99, "walk", max_size=limit),
        KRLS(KERNEL, 1e-2, 0.1, 0.995, max_size=limit),
        KRLS(kernels.RBF(0.7), 1e-2, 0.01, max_size=limit),
        KRLS(KERNEL, 1e-2, 0.0, max_size=limit),
    ]


# A shared dictionary ------------------------------------------------------------------------------------------


@pytest.mark.core
def test_experts_that_share_a_dictionary_learn_what_each_would_alone() -> None:
    alone, bank = paces(), Bank(paces())
    assert [len(followers) for _, followers in bank._groups] == [3, 0]
    for x, y in samples(80):
        means, variances, _ = bank.moments(x)
        for i, expert in enumerate(alone):
            distribution = expert.predict_one(x, with_dist=True)
            assert means[i] == distribution.mu
            assert variances[i] == pytest.approx(distribution.sigma**2, rel=1e-12)
            expert.learn_one(x, y, 2.0)
        bank.learn(x, y, 2.0)
    for expert, other in zip(alone, bank.experts):
        assert expert.size == other.size > 8
        np.testing.assert_array_equal(expert.coefficients, other.coefficients)


@pytest.mark.core
def test_the_leader_decides_which_point_leaves() -> None:
    """Afterwards every follower has the posterior of a model from which the same points were removed."""
    stream = samples(60)
    bank = Bank(paces(limit=12)[:3])
    alone = paces()[:3]
    for x, y in stream:
        bank.learn(x, y, 1.0)
        for expert in alone:
            expert.learn_one(x, y)
        points = bank.experts[0].dictionary
        for expert in alone:
            for index in reversed(range(expert.size)):
                if expert.dictionary[index] not in points:
                    expert._model.remove(index)
    assert bank.experts[0]._model.pruned > 10
    for expert, other in zip(alone, bank.experts):
        assert expert.size == other.size == 12
        for x, _ in stream[:10]:
            ours, theirs = other.predict_one(x, with_dist=True), expert.predict_one(x, with_dist=True)
            assert ours.mu == pytest.approx(theirs.mu, abs=1e-8)
            assert other._model.predict_variance(x)[1:] == pytest.approx(
                expert._model.predict_variance(x)[1:], abs=1e-8
            )


@pytest.mark.core
def test_a_group_outgrows_its_arrays_and_adopts_features() -> None:
    alone, bank = paces(), Bank(paces())
    random = np.random.default_rng(1)
    for t in range(60):
        x = {name: float(random.normal()) for name in ("a", "b", "c")[: 1 + t // 20]}
        bank.moments(x)
        bank.learn(x, x["a"], 1.0)
        for expert in alone:
            expert.learn_one(x, x["a"])
    for expert, other in zip(alone, bank.experts):
        np.testing.assert_array_equal(expert.coefficients, other.coefficients)


def test_exact_heteroscedastic_and_learning_experts_keep_to_themselves() -> None:
    experts = [
        KRR(KERNEL, ridge=0.1, threshold=None),
        KAAR(KERNEL, ridge=0.1, threshold=None),
        KRR(KERNEL, ridge=0.1, threshold=1e-2),
        KAAR(KERNEL, ridge=0.1, threshold=1e-2),
        HeteroscedasticKRLS(KERNEL, 1e-2),
        KRLS(kernels.RBF(1.0), 1e-2, kernel_learning="gradient"),
        KRLS(kernels.RBF(1.0), 1e-2),
    ]
    bank = Bank(experts)
    assert [len(followers) for _, followers in bank._groups] == [0, 0, 1, 0, 0, 0]
    twins = [expert.clone() for expert in experts]
    for x, y in samples(60):
        means, *_ = bank.moments(x)
        for twin, mean in zip(twins, means):
            assert twin.predict_one(x) == pytest.approx(mean, abs=1e-9)
            twin.learn_one(x, y)
        bank.learn(x, y, 1.0)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda bank: pickle.loads(pickle.dumps(bank))])
def test_copies_share_among_themselves(duplicate: Any) -> None:
    bank = Bank(paces(limit=20))
    for x, y in samples(40):
        bank.learn(x, y, 1.0)
    other = duplicate(bank)
    for x, y in samples(60, seed=1):
        np.testing.assert_array_equal(bank.moments(x)[:2], other.moments(x)[:2])
        bank.learn(x, y, 1.0)
        other.learn(x, y, 1.0)
    assert other.experts[1].recursion.model.factor is other.experts[0].recursion.model.factor
    assert other.experts[0].recursion.model.factor is not bank.experts[0].recursion.model.factor


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.deepcopy,
        lambda mixture: pickle.loads(pickle.dumps(mixture)),
        lambda mixture: type(mixture).from_bytes(mixture.to_bytes()),
    ],
)
def test_dictionaries_that_have_come_to_be_equal_are_not_shared_by_copies(duplicate: Any) -> None:
    first, last = KRLS(KERNEL, 1e-2, 0.01, max_size=1), KRLS(KERNEL, 1e-2, 1.0, 0.9, max_size=1)
    mixture = KernelMixture([first, KRLS(KERNEL, 1e-2, 0.1), last], respawn=1000)
    for x, y in samples(30):
        mixture.learn_one(x, y)
    mixture._bank.experts[2] = last.clone()  # as one that begins anew
    mixture._bank.regroup()
    x = {0: 9.0, 1: 9.0, 2: 9.0}
    mixture.learn_one(x, 50.0)
    assert mixture.experts[0].dictionary == mixture.experts[2].dictionary == [x]
    assert mixture._bank.leaders == [0, 1, 2]
    other = duplicate(mixture)
    assert other._bank.leaders == [0, 1, 2]
    for x, y in samples(40, seed=1):
        assert other.predict_one(x) == mixture.predict_one(x)
        mixture.learn_one(x, y), other.learn_one(x, y)
    assert other.to_bytes() == mixture.to_bytes()


def test_experts_that_do_not_fit_together_are_refused_before_the_core_writes() -> None:
    """As those of a damaged checkpoint: it would write beyond its arrays."""
    row = np.array([0.1, 0.2])
    bank = Bank([KRLS(KERNEL, 1e-2, 0.1), KRLS(kernels.RBF(0.7), 1e-2, 0.1)])
    bank.adopt((0, 1))
    bank.learn_row(row, 1.0, 1.0)
    for wrong in (row[:1], np.append(row, np.ones(40))):
        for use in (bank.moments_of_row, lambda row: bank.learn_row(row, 1.0, 1.0)):
            with pytest.raises(ValueError, match=r"rows have \d+ numbers where the experts have 2 features"):
                use(wrong)
    with pytest.raises(ValueError, match="3 targets are given where the experts have 1"):
        bank.learn_row(row, np.ones(3), 1.0)
    bank.experts[1].recursion.add_output(20)
    with pytest.raises(ValueError, match="do not have the same features and targets"):
        bank.moments_of_row(row)


@pytest.mark.parametrize("leaders", [[0], [1, 1, 2, 3, 0], [0, 0, 0, 0, 0], [0, 0, 1, 3, 0], [0, "0", 2, 3, 4]])
def test_leaders_that_nobody_can_follow_are_refused(leaders: Any) -> None:
    with pytest.raises(ValueError, match=r"leader|cannot use the dictionary"):
        Bank(paces(), leaders)


@pytest.mark.parametrize("limit", [None, 20])
def test_many_samples_at_once(limit: int | None) -> None:
    stream = samples(150)
    one, many = Bank(paces(limit)), Bank(paces(limit))
    for x, y in stream:
        one.learn(x, y, 1.0)
    rows = np.array([list(x.values()) for x, _ in stream])
    many.adopt((0, 1, 2))
    targets, weights = np.array([y for _, y in stream]), np.ones(150)
    for part in (slice(0, 1), slice(1, 90), slice(90, 150)):
        many.learn_rows(rows[part], targets[part], weights[part])
    assert [len(followers) for _, followers in many._groups] == [3, 0]
    x, y = samples(1, seed=5)[0]
    for _ in range(2):
        np.testing.assert_allclose(one.moments(x)[0], many.moments(x)[0], atol=1e-8)
        one.learn(x, y, 1.0), many.learn(x, y, 1.0)


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["bma", "aggregating", "coker"])
def test_one_expert_is_that_expert(weighting: str) -> None:
    mixture, expert = KernelMixture([KRLS(KERNEL, ridge=0.1)], weighting), KRLS(KERNEL, ridge=0.1)
    low, high = math.inf, -math.inf
    for x, y in samples(60):
        wanted = expert.predict_one(x)
        if weighting == "aggregating":  # predictions of experts are clipped to the range
            wanted = min(max(wanted, low), high) if low <= high else 0.0
        assert mixture.predict_one(x) == pytest.approx(wanted, abs=1e-9)
        mixture.learn_one(x, y)
        expert.learn_one(x, y)
        low, high = min(low, y), max(high, y)
    assert mixture.weights == [1.0]


def adversary(mixture: KernelMixture, x: dict[Any, float]) -> float:
    """The end of the range that is farther from the prediction."""
    return -1.0 if mixture.predict_one(x) > 0.0 else 1.0


def best_hurts(mixture: KernelMixture, x: dict[Any, float]) -> float:
    """The end that is farther from the leading expert."""
    if not mixture.experts:
        return 1.0
    leader = mixture.experts[int(np.argmax(mixture.weights))]
    return -1.0 if leader.predict_one(x) > 0.0 else 1.0


def smooth(mixture: KernelMixture, x: dict[Any, float]) -> float:
    return math.tanh(x[0] * x[1])


def alternating(mixture: KernelMixture, x: dict[Any, float]) -> float:
    return 1.0 if x[0] > 0.0 else -1.0


@pytest.mark.parametrize("target", [adversary, best_hurts, smooth, alternating])
@pytest.mark.parametrize("seed", range(3))
def test_the_aggregating_algorithm_keeps_its_promise(target: Any, seed: int) -> None:
    models = [KRLS(kernels.RBF(width), 1e-2, 0.1) for width in (0.3, 1.0, 3.0)] + [KRLS(KERNEL, 1e-2, 0.1, 0.9)]
    mixture = KernelMixture(models, "aggregating", target_range=(-1.0, 1.0))
    random = np.random.default_rng(seed)
    ours, theirs = 0.0, np.zeros(len(models))
    for _ in range(250):
        x = dict(enumerate(random.normal(size=2).tolist()))
        y = target(mixture, x)
        guesses = np.clip([expert.predict_one(x) for expert in mixture.experts], -1.0, 1.0)
        ours += (y - mixture.predict_one(x)) ** 2
        theirs += (y - guesses) ** 2
        mixture.learn_one(x, y)
        assert ours <= theirs.min() + 2.0 * math.log(len(models)) + 1e-9


@pytest.mark.parametrize("target", [smooth, alternating, best_hurts])
@pytest.mark.parametrize("seed", range(3))
def test_the_aggregating_algorithm_keeps_its_promise_while_the_range_grows(target: Any, seed: int) -> None:
    models = [KRLS(kernels.RBF(width), 1e-2, 0.1) for width in (0.3, 1.0, 3.0)] + [KRLS(KERNEL, 1e-2, 0.1, 0.9)]
    mixture = KernelMixture(models, "aggregating")
    random = np.random.default_rng(seed)
    ours, at_growth, theirs = 0.0, 0.0, np.zeros(len(models))
    low = high = 0.0
    for t in range(300):
        x = dict(enumerate(random.normal(size=2).tolist()))
        y = target(mixture, x) * (1.0 + t // 60) ** 2  # the range grows five times, the errors with it
        loss = (y - mixture.predict_one(x)) ** 2
        ours += loss
        at_growth += loss if t == 0 or not low <= y <= high else 0.0
        low, high = (min(low, y), max(high, y)) if t else (y, y)
        theirs += (y - np.clip([expert.predict_one(x) for expert in mixture.experts], low, high)) ** 2
        mixture.learn_one(x, y)
        assert ours <= theirs.min() + (high - low) ** 2 / 2.0 * math.log(len(models)) + at_growth + 1e-9


def test_the_aggregating_algorithm_refuses_targets_outside_its_range() -> None:
    mixture = KernelMixture(weighting="aggregating", target_range=(0.0, 1.0))
    mixture.learn_one({"a": 1.0}, 0.5)
    before = mixture.to_bytes()
    with pytest.raises(ValueError, match=r"target y is 1\.5, outside target_range \(0\.0, 1\.0\)"):
        mixture.learn_one({"a": 1.0}, 1.5)
    assert mixture.to_bytes() == before


def scores(stream: Any, models: list[Any], mixture: Any) -> tuple[float, list[float]]:
    """Mean squared errors from the hundredth sample on."""
    squares = np.zeros(1 + len(models))
    count = 0
    for t, (x, y) in enumerate(stream):
        if t >= 100:
            count += 1
            squares += [(y - model.predict_one(x)) ** 2 for model in (mixture, *models)]
        for model in (mixture, *models):
            model.learn_one(x, y)
    return squares[0] / count, (squares[1:] / count).tolist()


STATIONARY = {
    "sinc": lambda: datasets.SincLinear(seed=3).take(800),
    "friedman": lambda: datasets.Friedman3(noise=0.1, seed=3).take(800),
    "mackey-glass": lambda: datasets.MackeyGlass(tau=17, transient=100, noise=0.05, seed=3).take(800),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_averaging_is_within_two_percent_of_the_best_expert(name: str) -> None:
    models = [KRLS(kernels.RBF(width) + 1.0, 1e-3, 0.03, max_size=60) for width in (0.3, 1.0, 3.0, 10.0)]
    ours, theirs = scores(list(STATIONARY[name]()), models, KernelMixture(models))
    assert math.sqrt(ours) <= 1.02 * math.sqrt(min(theirs))


def test_averaging_beats_every_expert_where_the_regime_switches() -> None:
    random = np.random.default_rng(0)

    def stream() -> Any:
        for t in range(2400):
            x = random.uniform(-2.0, 2.0, size=2)
            fast = (t // 600) % 2  # calm for 600 samples, then a function that moves quickly
            phase = 0.05 * t if fast else 0.0
            yield {0: x[0], 1: x[1]}, math.sin(2.0 * x[0] + phase) + 0.3 * x[1] + 0.1 * random.normal()

    models = [
        KRLS(kernels.RBF(1.0) + 1.0, 1e-2, 0.05, pace, way, max_size=60)
        for pace, way in ((1.0, "prior"), (0.999, "walk"), (0.97, "walk"), (0.9, "prior"))
    ]
    ours, theirs = scores(list(stream()), models, KernelMixture(models))
    assert ours < min(theirs)


# The mixture as a river model -----------------------------------------------------------------------------------------

MODELS: dict[str, Any] = {
    **{f"regressor {i}": KernelMixture(**p) for i, p in enumerate(KernelMixture._unit_test_params())},
    **{
        f"classifier {i}": KernelMixtureClassifier(**p)
        for i, p in enumerate(KernelMixtureClassifier._unit_test_params())
    },
    "scaled": preprocessing.StandardScaler() | KernelMixture(),
    "scaled classifier": preprocessing.StandardScaler() | KernelMixtureClassifier(),
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


def test_models_are_copied_with_what_they_know() -> None:
    expert = KRLS(KERNEL)
    for x, y in samples(30):
        expert.learn_one(x, y)
    mixture = KernelMixture([expert, KRLS(KERNEL)], initial_weights=(1.0, 0.0))
    x = samples(1, seed=9)[0][0]
    assert mixture.predict_one(x) == pytest.approx(expert.predict_one(x), abs=1e-9)
    mixture.learn_one(x, 0.0)
    assert expert.size == mixture.models[0].size < mixture.experts[0].size + 1
    assert mixture.clone().predict_one(x) == pytest.approx(expert.predict_one(x), abs=1e-9)


@pytest.mark.parametrize("weighting", ["bma", "aggregating", "coker"])
def test_checkpoints_continue_bit_for_bit(weighting: str) -> None:
    stream = samples(120)
    mixture = KernelMixture(paces(limit=15), weighting, respawn=20)
    for x, y in stream[:70]:
        mixture.learn_one(x, y)
    other = KernelMixture.from_bytes(mixture.to_bytes())
    for x, y in stream[70:]:
        assert other.predict_one(x) == mixture.predict_one(x)
        other.learn_one(x, y)
        mixture.learn_one(x, y)
    assert other.weights == mixture.weights
    assert other.to_bytes() == mixture.to_bytes()
    assert KernelMixture.from_bytes(KernelMixture().to_bytes()).weights == []


def test_an_expert_that_does_not_matter_begins_anew() -> None:
    useless = KRLS(kernels.RBF(1e-3), 1e-2, 0.01, max_size=10)
    mixture = KernelMixture([KRLS(KERNEL, 1e-2, 0.01), useless], respawn=40)
    for t, (x, y) in enumerate(samples(120)):
        mixture.learn_one(x, y)
        if t == 100:
            assert mixture.experts[1]._model.seen < 90
    assert mixture.experts[0]._model.seen == 120
    never = KernelMixture([KRLS(KERNEL, 1e-2, 0.01), useless])
    for x, y in samples(120):
        never.learn_one(x, y)
    assert never.experts[1]._model.seen == 120


def test_the_distribution_is_a_mixture() -> None:
    mixture = KernelMixture(paces())
    for x, y in samples(60):
        mixture.learn_one(x, y)
    x = samples(1, seed=4)[0][0]
    distribution = mixture.predict_one(x, with_dist=True)
    assert isinstance(distribution, GaussianMixture)
    assert distribution.mu == pytest.approx(mixture.predict_one(x))
    parts = [expert.predict_one(x, with_dist=True) for expert in mixture.experts]
    for point in (-1.0, 0.0, 0.7):
        wanted = sum(w * stats.norm.cdf(point, part.mu, part.sigma) for w, part in zip(mixture.weights, parts))
        assert distribution.cdf(point) == pytest.approx(wanted, abs=1e-9)
        wanted = sum(w * stats.norm.pdf(point, part.mu, part.sigma) for w, part in zip(mixture.weights, parts))
        assert distribution(point) == pytest.approx(wanted, rel=1e-9)
    interval = mixture.predict_one(x, with_interval=True, interval_level=0.8)
    assert distribution.cdf(interval.upper) - distribution.cdf(interval.lower) == pytest.approx(0.8, abs=1e-9)


def test_draws_of_a_mixture_have_its_moments() -> None:
    mixture = GaussianMixture([0.25, 0.75], [-3.0, 1.0], [0.5, 0.8], seed=1)
    huge = GaussianMixture([0.25, 0.75], [-3e200, 1e200], [0.5e200, 0.8e200])  # whose variance is no number
    assert huge.sigma == pytest.approx(1e200 * mixture.sigma, rel=1e-12)
    draws = np.array([mixture.sample() for _ in range(4000)])
    assert draws.mean() == pytest.approx(mixture.mu, abs=0.1)
    assert draws.std() == pytest.approx(mixture.sigma, rel=0.05)
    assert mixture.mode == 1.0 and mixture.n_samples == 0
    with pytest.raises(NotImplementedError, match="does not learn"):
        mixture.update(1.0)
    with pytest.raises(NotImplementedError, match="does not learn"):
        mixture.revert(1.0)


@pytest.mark.parametrize(
    "bad",
    [
        ({"a": math.nan}, 1.0),
        ({"a": "word"}, 1.0),
        ({"a": 1.0}, math.nan),
        ({"a": 1.0}, None),
        ({"a": 1.0, "b": None}, 1.0),
    ],
)
def test_a_bad_sample_changes_nothing(bad: Any) -> None:
    for mixture in (KernelMixture(), KernelMixture(paces())):
        for count in (0, 20):
            for x, y in samples(count, features=2):
                mixture.learn_one({"a": x[0], "c": x[1]}, y)
            before = mixture.to_bytes()
            with pytest.raises((TypeError, ValueError)):
                mixture.learn_one(*bad)
            assert mixture.to_bytes() == before
    with pytest.raises(ValueError, match="weight w is 0"):
        mixture.learn_one({"a": 1.0}, 1.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weighting": "best"}, "weighting must be one of 'bma', 'aggregating', 'coker', got 'best'"),
        ({"discount": 0.0}, "discount must be"),
        ({"share": 2.0}, "share must be"),
        ({"power": 1.0}, "power must be"),
        ({"respawn": 0}, "respawn must be"),
        ({"models": []}, "models must be a list"),
        ({"models": [3]}, "but 3 is a int"),
        ({"target_range": (1.0, 1.0)}, "target_range must be"),
        ({"target_range": (1.0, "x")}, "target_range must be"),
        ({"target_range": (-1e308, 1e308)}, "target_range must be two numbers up to 1e"),
        ({"initial_weights": (1.0,)}, "initial_weights must hold one number for each"),
        ({"models": [KRLS(), KRLS()], "initial_weights": (-1.0, 2.0)}, "initial_weights must be nonnegative"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        KernelMixture(**arguments)


# Classification ------------------------------------------------------------------------------------------


def rings(count: int, seed: int = 0) -> list[tuple[dict[Any, float], str]]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 2))
    radius = np.hypot(*X.T)
    return [
        (dict(enumerate(row)), "in" if r < 0.8 else "out" if r < 1.6 else "far")
        for row, r in zip(X.tolist(), radius.tolist())
    ]


@pytest.mark.parametrize("weighting", ["bma", "aggregating", "coker"])
def test_classifiers_are_mixed(weighting: str) -> None:
    models = [LSSVMClassifier(kernels.RBF(width), max_size=60) for width in (0.05, 0.7, 50.0)]
    mixture = KernelMixtureClassifier(models, weighting)
    right = metrics.Accuracy()
    for t, (x, label) in enumerate(rings(500)):
        guess = mixture.predict_proba_one(x)
        assert not guess or sum(guess.values()) == pytest.approx(1.0)
        if t > 100:
            right.update(label, mixture.predict_one(x))
        mixture.learn_one(x, label)
    assert right.get() > 0.85
    assert mixture.weights[1] == max(mixture.weights)
    other = KernelMixtureClassifier.from_bytes(mixture.to_bytes())
    assert other.predict_proba_one(x) == mixture.predict_proba_one(x)


def test_the_logarithmic_loss_stays_within_ln_n_of_the_best() -> None:
    models = [LSSVMClassifier(kernels.RBF(width), max_size=40) for width in (0.05, 0.7, 50.0)]
    mixture = KernelMixtureClassifier(models, "aggregating")
    for label in ("in", "out", "far"):
        for expert in mixture._experts:
            expert.know([label])
    ours, theirs = 0.0, np.zeros(3)
    for x, label in rings(300, seed=2):
        ours -= math.log(max(mixture.predict_proba_one(x)[label], 1e-12))
        theirs -= [math.log(max(expert.predict_proba_one(x)[label], 1e-12)) for expert in mixture.experts]
        mixture.learn_one(x, label)
        assert ours <= theirs.min() + math.log(3.0) + 1e-6


def test_classifiers_begin_anew_and_know_the_classes() -> None:
    models = [LSSVMClassifier(kernels.RBF(0.7), max_size=40), LSSVMClassifier(kernels.RBF(1e-3), max_size=10)]
    mixture = KernelMixtureClassifier(models, respawn=30)
    for x, label in rings(150):
        mixture.learn_one(x, label)
    assert mixture.experts[1]._model.seen < 150
    assert sorted(mixture.experts[1].classes) == ["far", "in", "out"]


def test_default_experts() -> None:
    mixture = KernelMixture()
    assert mixture.experts == [] and mixture.weights == [] and mixture.size == 0
    assert mixture.predict_one({"a": 1.0, "b": 2.0}) == 0.0
    assert mixture.experts == []
    mixture.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    assert len(mixture.experts) == len(mixture.weights) == 8 == mixture.size
    classifier = KernelMixtureClassifier()
    assert classifier.predict_proba_one({"a": 1.0}) == {} and classifier.weights == []
    for first, second in itertools.pairwise(kernels.default(d) for d in (1, 4)):
        assert first != second


@pytest.mark.parametrize("weighting", ["bma", "aggregating", "coker"])
@pytest.mark.parametrize("is_frame", [False, True])
def test_many_samples_are_as_one_after_the_other(weighting: str, is_frame: bool) -> None:
    stream = samples(60)
    X, y = np.array([list(x.values()) for x, _ in stream]), np.array([y for _, y in stream])
    given = pd.DataFrame(X) if is_frame else X
    one, many = (KernelMixture(paces(20), weighting=weighting) for _ in range(2))
    for x, target in stream:
        one.learn_one(x, target, 2.0)
    many.learn_many(given[:25], y[:25], np.full(25, 2.0))
    many.learn_many(given[25:], y[25:], np.full(35, 2.0))
    assert one.to_bytes() == many.to_bytes()
    predictions = many.predict_many(given)
    assert type(predictions) is (pd.Series if is_frame else np.ndarray)
    np.testing.assert_allclose(predictions, [one.predict_one(x) for x, _ in stream], rtol=1e-10, atol=1e-10)
    before = many.to_bytes()
    with pytest.raises(ValueError, match="y is nan in row 1"):
        many.learn_many(given[:2], np.array([1.0, math.nan]))
    with pytest.raises(ValueError, match="weight w is -1"):
        many.learn_many(given[:2], y[:2], np.array([1.0, -1.0]))
    assert many.to_bytes() == before


@pytest.mark.parametrize(
    ("kind", "expert"), [(KernelMixture, KRLS(ridge=0.1)), (KernelMixtureClassifier, LSSVMClassifier())]
)
def test_a_list_that_its_owner_empties_does_not_spoil_the_checkpoint(kind: Any, expert: Any) -> None:
    models = [expert, expert]
    mixture = kind(models)
    mixture.learn_one({"a": 1.0}, 1)
    models.clear()
    restored = kind.from_bytes(mixture.to_bytes())
    assert restored.predict_one({"a": 1.0}) == mixture.predict_one({"a": 1.0})
