"""KernelEqualizer: decisions against the rows of the channel, error counting, learning from decisions, changes."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from reference import JIT
from river import checks, linear_model

from streamkernel import KRLS, datasets, kernels, run
from streamkernel.datasets import channel as channels
from streamkernel.equalization import ALPHABETS, KernelEqualizer
from streamkernel.kernels import RBF

jitted = pytest.mark.skipif(not JIT, reason="too slow without numba")
QPSK_TAPS = (1.0, 0.3 - 0.2j)


def rbf(**options: Any) -> KRLS:
    return KRLS(RBF(1.0), **{"threshold": 0.01, "ridge": 1.0} | options)


@pytest.mark.parametrize("params", list(KernelEqualizer._unit_test_params()), ids=str)
def test_river_checks_without_skips(params: Any) -> None:
    model = KernelEqualizer(**params)
    assert not model._unit_test_skips()
    for check in checks.yield_checks(model):
        check(model.clone())


def test_alphabets_are_those_of_the_channel() -> None:
    assert ALPHABETS == channels.ALPHABETS


@pytest.mark.parametrize("delay", [0, 1, 2, 4])
@pytest.mark.parametrize("lags", [1, 2, 3])
def test_decisions_are_those_on_the_rows_of_the_channel(lags: int, delay: int) -> None:
    channel = datasets.NonlinearChannel(lags=lags, delay=delay, seed=5)
    X, u = channel.arrays(150)
    arrays = rbf()
    expected = np.sign(run(arrays, X, u).predictions)
    expected[expected == 0.0] = -1.0  # the first symbol of the alphabet wins a tie
    first = max(0, lags - 1 - delay)
    symbols, observations = channel.sequence(first + len(u) + delay)
    equalizer = KernelEqualizer(rbf(), lags, delay)
    decisions = equalizer.equalize_many(observations, symbols)
    made = decisions[~np.isnan(decisions)]
    np.testing.assert_array_equal(made, expected)
    assert equalizer.symbols_counted == len(u)
    assert equalizer.symbol_errors == equalizer.bit_errors == np.count_nonzero(expected != u)
    assert np.isnan(decisions[: len(decisions) - len(u)]).all()


def test_complex_decisions_are_those_of_two_models() -> None:
    channel = datasets.NonlinearChannel("qpsk", taps=QPSK_TAPS, nonlinearity=None, noise=0.3, delay=1, seed=5)
    X, u = channel.arrays(200)
    models = rbf(), rbf()
    parts = [run(model, X, part).predictions for model, part in zip(models, (u.real, u.imag))]
    expected = np.where(parts[0] > 0, 1, -1) + 1j * np.where(parts[1] > 0, 1, -1)
    symbols, observations = channel.sequence(201)
    equalizer = KernelEqualizer(rbf(), lags=2, delay=1, alphabet="qpsk")
    decisions = equalizer.equalize_many(observations, symbols)[1:]
    np.testing.assert_allclose(decisions, expected / math.sqrt(2))
    wrong = np.abs(decisions - u) > 1e-9
    bits = (decisions.real * u.real < 0).sum() + (decisions.imag * u.imag < 0).sum()
    assert (equalizer.symbol_errors, equalizer.bit_errors) == (wrong.sum(), bits)
    assert equalizer.bit_error_rate == bits / 400
    assert equalizer.symbol_error_rate == wrong.sum() / 200


def test_a_real_alphabet_over_a_complex_channel() -> None:
    channel = datasets.NonlinearChannel(taps=(1.0, 0.5j), nonlinearity=None, noise=0.1, delay=0, seed=1)
    symbols, observations = channel.sequence(300)
    equalizer = KernelEqualizer(rbf(ridge=0.01), lags=2)
    decisions = equalizer.equalize_many(observations, symbols)
    assert decisions.dtype == np.float64
    assert (decisions[100:] == symbols[100:]).all()
    assert len(equalizer.model.dictionary[0]) == 4


def test_four_levels() -> None:
    levels = (-3.0, -1.0, 1.0, 3.0)
    channel = datasets.NonlinearChannel(levels, taps=(1.0, 0.2), nonlinearity=None, noise=0.05, seed=1)
    symbols, observations = channel.sequence(400)
    equalizer = KernelEqualizer(KRLS(kernels.Linear() + 1, ridge=1e-3), lags=4, delay=1, alphabet=levels)
    equalizer.equalize_many(observations[:200], symbols[:200])
    equalizer.reset_errors()
    decisions = equalizer.equalize_many(observations[200:], symbols[200:])
    assert equalizer.symbols_counted == 200
    assert equalizer.symbol_errors == 0
    np.testing.assert_array_equal(decisions[1:], symbols[200:-1])


@jitted
@pytest.mark.parametrize(("delay", "printed", "bound"), [(0, 0.279, 0.154), (1, 0.070, 0.055), (2, 0.043, 0.038)])
def test_bit_error_rate_of_the_paper_and_beyond(delay: int, printed: float, bound: float) -> None:
    """Table 5 (polynomial kernel), and an RBF kernel between it and the Bayes bound."""
    rates: dict[str, list[float]] = {"poly": [], "rbf": []}
    for seed in range(8):
        symbols, observations = datasets.NonlinearChannel(seed=seed).sequence(3500)
        for name, model in (("poly", KRLS(kernels.Polynomial(3), threshold=1e-3)), ("rbf", rbf())):
            equalizer = KernelEqualizer(model, lags=2, delay=delay, directed=False)
            equalizer.equalize_many(observations[:500], symbols[:500])
            equalizer.reset_errors()
            equalizer.equalize_many(observations[500:], symbols[500:], training=0)
            rates[name].append(equalizer.bit_error_rate)
            if name == "poly":
                assert model.size <= 10  # 2.0 % of the training set
    assert np.mean(rates["poly"]) < 1.1 * printed
    assert 0.95 * bound < np.mean(rates["rbf"]) < min(1.15 * bound, printed)


def test_training_ends_where_symbols_are_no_longer_known() -> None:
    symbols, observations = datasets.NonlinearChannel(delay=1, seed=2).sequence(300)
    trained = KernelEqualizer(rbf(), 2, 1, directed=False)
    trained.equalize_many(observations, symbols, training=100)
    other = KernelEqualizer(rbf(), 2, 1, directed=False)
    other.equalize_many(observations[:100], symbols[:100])
    # The symbol of the last observation waits for its decision, and is still trained on.
    other.equalize_many(observations[100:])
    assert trained.model.to_bytes() == other.model.to_bytes()
    assert (trained.symbols_counted, other.symbols_counted) == (299, 100)


def test_decision_directed_learns_its_own_decisions() -> None:
    symbols, observations = datasets.NonlinearChannel(seed=2).sequence(200)
    model, learned = rbf(), KRLS(RBF(1.0), 0.01, 1.0)
    equalizer = KernelEqualizer(model)
    decisions = equalizer.equalize_many(observations, symbols, training=100)
    targets = np.where(np.arange(200) < 100, symbols, decisions)
    for t in range(1, 200):
        learned.learn_one({0: observations[t], 1: observations[t - 1]}, targets[t])
    assert model.to_bytes() == learned.to_bytes()


def test_margin_keeps_doubtful_decisions_out() -> None:
    symbols, observations = datasets.NonlinearChannel(seed=2).sequence(400)
    seen = {}
    for margin in (0.0, 1.0, 10.0):
        equalizer = KernelEqualizer(rbf(), margin=margin)
        equalizer.equalize_many(observations, symbols, training=200)
        seen[margin] = equalizer.model._model.seen
    assert seen[0.0] == 399
    assert 199 < seen[1.0] < 399
    assert seen[10.0] == 199


# A channel that changes -----------------------------------------------------------------------------------------------


@jitted
def test_forgetting_converges_again_after_a_switch() -> None:
    """The two taps change places under training symbols: with forgetting 500 of them are enough."""
    before = datasets.NonlinearChannel(noise=0.2, seed=2).sequence(2000)
    after = datasets.NonlinearChannel(taps=(0.5, 1.0), noise=0.2, seed=3).sequence(1000)
    rates = {}
    for forgetting in (1.0, 0.99):
        equalizer = KernelEqualizer(rbf(ridge=0.01, forgetting=forgetting), lags=2, delay=1)
        equalizer.equalize_many(before[1], before[0])
        equalizer.reset_errors()
        equalizer.equalize_many(after[1][:500], after[0][:500])
        equalizer.reset_errors()
        equalizer.equalize_many(after[1][500:], after[0][500:])
        rates[forgetting] = equalizer.bit_error_rate
    assert rates[0.99] < 0.02
    assert rates[1.0] > 0.15


@jitted
def test_decisions_follow_a_rotating_channel() -> None:
    """QPSK through a channel whose phase turns more than once: learning from decisions, with forgetting, keeps up."""
    random = np.random.default_rng(0)
    count, turn = 4000, 2e-3
    symbols = random.choice(ALPHABETS["qpsk"], count)
    noise = 0.05 * (random.standard_normal(count) + 1j * random.standard_normal(count))
    linear = symbols + 0.3j * np.concatenate([[0], symbols[:-1]])
    observations = linear * np.exp(1j * turn * np.arange(count)) + noise
    rates = {}
    for forgetting in (1.0, 0.98):
        model = KRLS(kernels.Linear(), threshold=1e-6, ridge=0.01, forgetting=forgetting)
        equalizer = KernelEqualizer(model, lags=3, delay=1, alphabet="qpsk")
        equalizer.equalize_many(observations, symbols, training=200)
        rates[forgetting] = equalizer.bit_error_rate
    assert rates[0.98] < 1e-3
    assert rates[1.0] > 0.25


# Copies and bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alphabet", ["bpsk", "qpsk", (-3.0, -1.0, 1.0, 3.0)])
def test_a_checkpoint_continues_bit_for_bit(alphabet: Any) -> None:
    taps = QPSK_TAPS if alphabet == "qpsk" else (1.0, 0.5)
    symbols, observations = datasets.NonlinearChannel(alphabet, taps=taps, seed=1).sequence(200)
    for cut in (0, 1, 100):
        whole = KernelEqualizer(rbf(), lags=3, delay=2, alphabet=alphabet)
        whole.equalize_many(observations[:cut], symbols[:cut])
        restored = KernelEqualizer.from_bytes(whole.to_bytes())
        rest = [model.equalize_many(observations[cut:], symbols[cut:], training=50) for model in (whole, restored)]
        np.testing.assert_array_equal(*rest)
        assert restored.to_bytes() == whole.to_bytes()
        assert restored.bit_error_rate == whole.bit_error_rate


def test_any_river_regressor() -> None:
    channel = datasets.NonlinearChannel(nonlinearity=None, noise=0.1, seed=1)
    symbols, observations = channel.sequence(500)
    equalizer = KernelEqualizer(linear_model.LinearRegression(), lags=3)
    equalizer.equalize_many(observations, symbols)
    assert equalizer.bit_error_rate < 0.05


def test_rates_before_the_first_decision() -> None:
    equalizer = KernelEqualizer(rbf(), lags=2, delay=1)
    assert equalizer.equalize_one(0.3, 1.0) is None
    assert math.isnan(equalizer.bit_error_rate)
    assert math.isnan(equalizer.symbol_error_rate)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lags": 0}, "lags must be a whole number >= 1, got 0"),
        ({"delay": -1}, "delay must be a whole number >= 0, got -1"),
        ({"alphabet": "9psk"}, "alphabet must be.*'9psk'"),
        ({"alphabet": (1.0, 1.0)}, "distinct"),
        ({"alphabet": (1.0,)}, "alphabet must be"),
        ({"alphabet": (1.0, math.inf)}, "alphabet must be"),
        ({"margin": -1.0}, "margin must"),
    ],
)
def test_bad_parameters(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelEqualizer(rbf(), **options)


def test_bad_calls() -> None:
    with pytest.raises(TypeError, match="model must be a streaming regressor"):
        KernelEqualizer(RBF(1.0))
    equalizer = KernelEqualizer(rbf())
    equalizer.equalize_one(0.1)
    before = equalizer.to_bytes()
    for observation in (math.nan, cmath.inf, "1", None):
        with pytest.raises(ValueError, match="observation must be a finite number"):
            equalizer.equalize_one(observation)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="observation must be real"):
        equalizer.equalize_one(1j)
    with pytest.raises(ValueError, match=r"symbol must be one of \(-1.0, 1.0\), got 0.5"):
        equalizer.equalize_one(0.1, 0.5)
    with pytest.raises(ValueError, match="as many as the observations"):
        equalizer.equalize_many([0.1, 0.2], [1.0])
    assert equalizer.to_bytes() == before


@pytest.mark.parametrize("observation", [10**400, np.timedelta64(1, "s")], ids=["large", "time"])
def test_an_observation_that_is_no_float_is_named(observation: Any) -> None:
    model = KernelEqualizer()
    before = model.to_bytes()
    with pytest.raises(ValueError, match="observation must be a finite number, got"):
        model.equalize_one(observation, 1.0)
    assert model.to_bytes() == before
