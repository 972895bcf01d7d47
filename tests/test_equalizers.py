"""The equalizer that learns the channel, decision feedback, classification, soft outputs, rivals and curves."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from reference import JIT
from river import linear_model

from bench import equalizers as bench
from streamkernel import KRLS, KernelEqualizer, LSSVMClassifier, datasets
from streamkernel.core import states
from streamkernel.datasets.channel import tanh
from streamkernel.equalization import ALPHABETS, BayesDetector, LinearEqualizer, curves
from streamkernel.equalization.channel_model import all_windows, choose, features, projections
from streamkernel.equalization.windows import is_odd, rotations
from streamkernel.kernels import RBF, Linear, Odd

jitted = pytest.mark.skipif(not JIT, reason="too slow without numba")


def rate(decisions: Any, symbols: Any, delay: int, start: int = 1000) -> float:
    made, sent = decisions[start + delay :], symbols[start : len(symbols) - delay]
    return float(np.mean(np.abs(made - sent) > 1e-6))


# The learned channel --------------------------------------------------------------------------------------------------


@jitted
@pytest.mark.parametrize(("name", "snr"), [("cubic", 9), ("notch", 12), ("pam4", 19), ("qpsk", 9), ("qam16", 16)])
def test_without_a_model_it_is_near_the_bound(name: str, snr: float) -> None:
    channel = datasets.named_channel(name, seed=7).at_snr(snr)
    symbols, observations = channel.sequence(31_000)
    equalizer = KernelEqualizer(delay=channel.delay, alphabet=channel.alphabet)
    found = rate(equalizer.equalize_many(observations, symbols, 1000), symbols, channel.delay)
    bound = rate(BayesDetector(channel).decide(observations), symbols, channel.delay)
    linear = LinearEqualizer(channel.lags, channel.delay, channel.alphabet, directed=False)
    assert found < 1.15 * bound
    assert found < 0.8 * rate(linear.equalize_many(observations, symbols, 1000), symbols, channel.delay)
    assert equalizer._receiver.chosen.memory == channel.memory


@jitted
def test_64_qam() -> None:
    """A saturating amplifier: near the bound without a model, where a linear equalizer is lost."""
    channel = datasets.NonlinearChannel("64qam", (1.0, 0.15 - 0.1j), tanh, lags=3, delay=1, seed=7).at_snr(24)
    symbols, observations = channel.sequence(5000)
    equalizer = KernelEqualizer(delay=1, alphabet="64qam")
    equalizer.equalize_many(observations[:1000], symbols[:1000])
    equalizer.reset_errors()
    decisions, ratios = equalizer.equalize_many(observations[1000:], symbols[1000:], 0, soft=True)
    found = equalizer.symbol_error_rate
    assert found < 1.5 * rate(BayesDetector(channel).decide(observations), symbols, 1) < 0.04
    linear = LinearEqualizer(3, 1, "64qam", directed=False)
    assert found < 0.2 * rate(linear.equalize_many(observations, symbols, 1000), symbols, 1)
    # Neighbors differ in one of six bits; the amplifier moves corners near each other, and the exact detector has 1.33
    # wrong bits a symbol here. The ratios' signs are the decisions.
    assert equalizer.bit_errors < 1.5 * equalizer.symbol_errors
    decided = np.abs(decisions[:, None] - np.array(ALPHABETS["64qam"])).argmin(axis=1)
    agree = (ratios < 0) == ((decided[:, None] >> np.arange(5, -1, -1)) & 1)
    assert ratios.shape == (4000, 6) and agree.mean() > 0.999
    model = KernelEqualizer(KRLS(Odd(RBF(3.0)) + 0.2 * Linear(), 1e-4, 1e-3), 3, 1, "64qam", symmetric=True)
    assert rate(model.equalize_many(observations, symbols, 1000), symbols, 1) < 0.1


def test_one_and_many_are_the_same() -> None:
    channel = datasets.named_channel("pam4", seed=1).at_snr(18)
    symbols, observations = channel.sequence(300)
    many, one = (KernelEqualizer(delay=1, alphabet="pam4") for _ in range(2))
    decisions = many.equalize_many(observations, symbols, training=120)
    single = [one.equalize_one(y, u, train=t < 120) for t, (y, u) in enumerate(zip(observations, symbols))]
    np.testing.assert_array_equal(decisions, [math.nan if d is None else d for d in single])
    assert (one.symbol_errors, one.symbols_counted) == (many.symbol_errors, many.symbols_counted)
    assert one.to_bytes() == many.to_bytes()
    assert 0 < many.symbols_counted < 300
    assert sum(many.probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("cut", [0, 10, 150, 290])
def test_a_checkpoint_continues_bit_for_bit(cut: int) -> None:
    channel = datasets.named_channel("qpsk", seed=1).at_snr(12)
    symbols, observations = channel.sequence(400)
    whole = KernelEqualizer(delay=1, alphabet="qpsk")
    whole.equalize_many(observations[:cut], symbols[:cut], training=200)
    restored = KernelEqualizer.from_bytes(whole.to_bytes())
    rest = [e.equalize_many(observations[cut:], symbols[cut:], max(0, 200 - cut)) for e in (whole, restored)]
    np.testing.assert_array_equal(*rest)
    assert whole.to_bytes() == restored.to_bytes()


def test_the_evidence_finds_memory_and_noise() -> None:
    channel = datasets.named_channel("notch", seed=3).at_snr(15)
    symbols, observations = channel.sequence(300)
    labels = (symbols > 0).astype(np.int64)
    model = choose(channel.symbols.astype(complex), labels, observations[:, None], 4096)
    assert model.memory == 2
    assert model.noise == pytest.approx(channel.noise**2, rel=0.3)
    assert choose(channel.symbols.astype(complex), labels, observations[:, None], 4096, memory=3).memory == 3
    assert choose(channel.symbols.astype(complex), labels, observations[:, None], 4, memory=3).memory == 1


@pytest.mark.core
def test_states_are_krls_over_a_table() -> None:
    """The recursion over tabulated projections is `KRLS` with the same kernel and ridge over the same points."""
    rng = np.random.default_rng(0)
    alphabet = np.array(ALPHABETS["pam4"], dtype=complex)
    windows = all_windows(4, 1)
    samples = features(alphabet, windows)
    numbers = rng.integers(0, 16, 60)
    y = np.tanh(samples[numbers].sum(axis=1)) + 0.1 * rng.standard_normal(60)
    kernel = RBF(1.0) + 0.5 * Linear()
    table = projections(kernel, samples, 1e-10, 100)
    np.testing.assert_allclose(table @ table.T, kernel(samples), atol=1e-9)
    weights, covariances = np.zeros((1, 1, table.shape[1])), np.eye(table.shape[1])[None] / 0.1
    errors = np.empty((1, 60, 1))
    states.learn(table, numbers, y[:, None], weights, covariances, np.zeros(1), errors, np.zeros(table.shape[1]))
    model = KRLS(kernel, threshold=0.0, ridge=0.1)
    for t, row in enumerate(samples[numbers].tolist()):
        x = dict(enumerate(row))
        assert y[t] - errors[0, t, 0] == pytest.approx(model.predict_one(x), abs=1e-7)
        model.learn_one(x, y[t])


@jitted
def test_a_burst_is_not_learned() -> None:
    """Noise forty times as strong for 300 symbols: the channel is what it was, and decisions after it are as before."""
    channel = datasets.named_channel("cubic", seed=5).at_snr(12)
    symbols, observations = channel.sequence(20_000)
    burst = slice(5000, 5300)
    observations[burst] += 5.0 * np.random.default_rng(1).standard_normal(300)
    equalizer = KernelEqualizer(delay=1)
    decisions = equalizer.equalize_many(observations, symbols, training=1000)
    after = rate(decisions, symbols, 1, start=5400)
    assert after < 1.3 * rate(BayesDetector(channel).decide(observations), symbols, 1, start=5400)


@jitted
def test_retraining_after_a_switch() -> None:
    rates, lost = bench.lost_windows(bench.switch(101), 42_000, 100)
    assert lost == 0 and rates < 1e-3


@jitted
def test_antennas_and_samples_per_symbol() -> None:
    """Two antennas see more than one, and two samples a symbol are two antennas in turn."""
    first = datasets.NonlinearChannel(taps=(1.0, 0.5), noise=0.5, delay=1, seed=1)
    second = datasets.NonlinearChannel(taps=(0.6, -0.4), nonlinearity=None, noise=0.5, delay=1)
    symbols, one = first.sequence(8000)
    both = np.column_stack([one, second.transmit(symbols, seed=2)])
    single = KernelEqualizer(delay=1).equalize_many(one, symbols, 1000)
    double = KernelEqualizer(delay=1, antennas=2).equalize_many(both, symbols, 1000)
    fractional = KernelEqualizer(delay=1, samples_per_symbol=2).equalize_many(both.ravel(), symbols, 1000)
    assert rate(double, symbols, 1) < 0.7 * rate(single, symbols, 1)
    np.testing.assert_array_equal(double, fractional)
    windowed = KernelEqualizer(KRLS(RBF(1.5), 1e-2, 0.3), 2, 1, antennas=2).equalize_many(both, symbols, 1000)
    assert rate(windowed, symbols, 1) < rate(single, symbols, 1)
    stepwise = KernelEqualizer(delay=1, antennas=2)
    assert [stepwise.equalize_one(row, u) for row, u in zip(both[:3], symbols)] == [None] * 3


# Models of the inverse ------------------------------------------------------------------------------------------------


@jitted
def test_feedback_and_symmetry_help_on_a_notch() -> None:
    channel = datasets.named_channel("notch", seed=9).at_snr(16)
    symbols, observations = channel.sequence(8000)
    rates = {}
    for feedback, symmetric in ((0, False), (2, False)):
        model = KRLS(RBF(2.0), 1e-2, 0.1)
        equalizer = KernelEqualizer(model, 5, 2, feedback=feedback, symmetric=symmetric, directed=False)
        rates[feedback] = rate(equalizer.equalize_many(observations, symbols, 1000), symbols, 2)
    assert rates[2] < 0.5 * rates[0]
    odd = datasets.named_channel("cubic5", seed=9).at_snr(11)
    symbols, observations = odd.sequence(8000)
    both = []
    for symmetric in (False, True):
        equalizer = KernelEqualizer(KRLS(RBF(2.0), 1e-2, 0.1), 5, 2, symmetric=symmetric, directed=False)
        both.append(rate(equalizer.equalize_many(observations, symbols, 500), symbols, 2, start=500))
    assert both[1] < both[0]


@pytest.mark.parametrize("feedback", [0, 2])
@pytest.mark.parametrize("symmetric", [False, True])
def test_arrays_are_one_after_the_other(feedback: int, symmetric: bool) -> None:
    channel = datasets.named_channel("qpsk", seed=2).at_snr(14)
    symbols, observations = channel.sequence(300)
    options: dict[str, Any] = {"alphabet": "qpsk", "feedback": feedback, "symmetric": symmetric}
    many, one = (KernelEqualizer(KRLS(RBF(1.5), 1e-2, 0.1), 3, 1, **options) for _ in range(2))
    decisions = many.equalize_many(observations, symbols, training=200)
    single = [one.equalize_one(y, u, train=t < 200) for t, (y, u) in enumerate(zip(observations, symbols))]
    np.testing.assert_array_equal(decisions, [math.nan if d is None else d for d in single])
    assert many.model.size == one.model.size
    np.testing.assert_allclose(many.model.coefficients, one.model.coefficients, atol=1e-8)


@pytest.mark.parametrize("name", ["cubic5", "qpsk"])
def test_an_odd_kernel_is_training_on_negated_samples(name: str) -> None:
    """With half the ridge: the same estimates from half the samples, and half the points."""
    channel = datasets.named_channel(name, seed=9).at_snr(11)
    symbols, observations = channel.sequence(200)
    both = KRLS(RBF(2.0), 0.0, 0.4), KRLS(Odd(RBF(2.0)), 0.0, 0.2)
    for model in both:
        equalizer = KernelEqualizer(model, channel.lags, channel.delay, channel.alphabet, symmetric=True)
        equalizer.equalize_many(observations[:40], symbols[:40])
    assert both[0].size == 2 * both[1].size
    rows = channel._rows(observations[40:])
    np.testing.assert_allclose(both[0].predict_many(rows), both[1].predict_many(rows), atol=1e-7)
    assert [is_odd(model.kernel, 6) for model in both] == [False, True]
    assert is_odd(Linear() + Odd(RBF(1.0)), 2) and not is_odd(1 + Odd(RBF(1.0)), 2) and not is_odd(None, 2)


def test_both_parts_share_one_recursion() -> None:
    channel = datasets.named_channel("qam16", seed=2).at_snr(25)
    symbols, observations = channel.sequence(700)
    equalizer = KernelEqualizer(KRLS(RBF(2.0), 1e-3, 1e-2), 3, 1, alphabet="16qam")
    decisions = equalizer.equalize_many(observations, symbols, training=500)
    assert rate(decisions, symbols, 1, start=500) < 0.1
    assert equalizer._receiver.models == [equalizer.model]
    assert equalizer.model._model.coefficients.shape == (2, equalizer.model.size)


@pytest.mark.parametrize("kind", ["channel", "regression", "bits", "classification"])
def test_soft_outputs_are_calibrated(kind: str) -> None:
    """Where a bit has the probability p, it is right with about that frequency; the ratios agree with the decisions."""
    channel = datasets.named_channel("pam4", seed=4).at_snr(15)
    n = 6000 if kind == "channel" and JIT else 1500
    symbols, observations = channel.sequence(n)
    model = KRLS(RBF(1.0), 1e-2, 0.1)
    models = {"channel": None, "regression": model, "bits": model, "classification": LSSVMClassifier(RBF(1.0))}
    equalizer = KernelEqualizer(models[kind], 3, 1, alphabet="pam4", directed=False, detector=kind)
    decisions, ratios = equalizer.equalize_many(observations, symbols, training=600, soft=True)
    assert ratios.shape == (n, 2)
    sent = np.abs(symbols[600:-1, None] - np.array(ALPHABETS["pam4"])).argmin(axis=1)
    bits = (sent[:, None] >> np.array([1, 0])) & 1
    probability = 1.0 / (1.0 + np.exp(np.abs(np.clip(ratios[601:], -30, 30))))  # that the likelier value is wrong
    wrong = (ratios[601:] < 0) != bits
    assert wrong.mean() == pytest.approx(probability.mean(), rel=0.5, abs=0.01)
    assert rate(decisions, symbols, 1, start=600) < 0.2


@pytest.mark.parametrize("alphabet", [(-1.0, 1.0), (-1.0, 0.0, 1.0), (-3.0, -1.0, 1.0, 3.0)])
def test_ratios_of_bits_are_those_of_the_symbols_that_have_them(alphabet: tuple[float, ...]) -> None:
    """Symbol k has the bits of the number k, also where their number is no power of two."""
    equalizer, size = KernelEqualizer(alphabet=alphabet), len(alphabet)
    shares = np.random.default_rng(size).dirichlet(np.ones(size), 5)
    found = equalizer._ratios(shares)
    for b in range(found.shape[1]):
        ones = [k for k in range(size) if k >> (found.shape[1] - 1 - b) & 1]
        wanted = np.log(1.0 - shares[:, ones].sum(axis=1)) - np.log(shares[:, ones].sum(axis=1))
        np.testing.assert_allclose(found[:, b], wanted, rtol=1e-9)


@jitted
def test_a_temperature_makes_probabilities_right() -> None:
    """Least squares says little of how sure it is: two symbols were four times as often wrong as they said."""
    channel = datasets.named_channel("cubic", seed=300).at_snr(9)
    symbols, observations = channel.sequence(10_000)
    equalizer = KernelEqualizer(KRLS(RBF(1.0), 1e-2, 0.1), 2, 1, directed=False)
    _, ratios = equalizer.equalize_many(observations, symbols, training=2000, soft=True)
    late, sent = ratios[2001:, 0], symbols[2000:-1] > 0
    doubt = 1.0 / (1.0 + np.exp(np.abs(late)))
    assert ((late < 0) != sent).mean() == pytest.approx(doubt.mean(), rel=0.35)
    loss = np.logaddexp(0.0, np.where(sent, late, -late)).mean()
    for other in (0.5, 2.0):  # neither colder nor warmer ones are better
        assert loss < np.logaddexp(0.0, np.where(sent, other * late, -other * late)).mean()


def test_bits_of_any_regressor() -> None:
    """One recursion for all bits, or a model of river for each; the arrays learn what single symbols do."""
    channel = datasets.named_channel("pam4", seed=4).at_snr(22)
    symbols, observations = channel.sequence(600)
    many, one = (KernelEqualizer(KRLS(RBF(1.0), 1e-2, 0.1), 3, 1, "pam4", detector="bits") for _ in range(2))
    decisions = many.equalize_many(observations, symbols, training=400)
    single = [one.equalize_one(y, u, train=t < 400) for t, (y, u) in enumerate(zip(observations, symbols))]
    np.testing.assert_array_equal(decisions, [math.nan if d is None else d for d in single])
    assert many.model.recursion.outputs == 2 and rate(decisions, symbols, 1, start=400) < 0.1
    river = KernelEqualizer(linear_model.LinearRegression(), 3, 1, "pam4", detector="bits")
    river.equalize_many(observations[:200], symbols[:200])
    assert len(river._receiver.models) == 2
    restored = KernelEqualizer.from_bytes(many.to_bytes())
    np.testing.assert_array_equal(restored.equalize_many(observations), many.equalize_many(observations))
    with pytest.raises(ValueError, match=r"needs 2, 4, 8, .* symbols, got 3"):
        KernelEqualizer(KRLS(), alphabet=(-1.0, 0.0, 1.0), detector="bits")


def test_rotations() -> None:
    assert rotations(np.array(ALPHABETS["bpsk"]), False) == [-1.0]
    assert len(rotations(np.array(ALPHABETS["qpsk"]), True)) == 3
    assert len(rotations(np.array(ALPHABETS["8psk"]), True)) == 7
    assert rotations(np.array([0.0, 1.0]), False) == []
    assert rotations(np.array(ALPHABETS["bpsk"]), False, odd=True) == []
    assert rotations(np.array(ALPHABETS["16qam"]), True, odd=True) == [1j]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback": -1}, "feedback must be a whole number >= 0"),
        ({"feedback": 1}, "feedback and symmetric are for a model"),
        ({"symmetric": True}, "feedback and symmetric are for a model"),
        ({"antennas": 0}, "antennas must be"),
        ({"detector": "none"}, "detector must be one of"),
        ({"detector": "regression"}, "does not go with the model None"),
        ({"model": KRLS(), "detector": "classification"}, "does not go with the model"),
        ({"memory": 12}, "memory must leave at most 4096 states"),
        ({"model": KRLS(), "memory": 1}, "memory must leave"),
    ],
)
def test_bad_parameters(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelEqualizer(**options)


def test_bad_observations_change_nothing() -> None:
    equalizer = KernelEqualizer(delay=1, antennas=2)
    before = equalizer.to_bytes()
    with pytest.raises(ValueError, match="observation must have 2 numbers"):
        equalizer.equalize_one([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2 numbers a symbol"):
        equalizer.equalize_many([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"finite number.*at position 1"):
        equalizer.equalize_many([[1.0, 2.0], [math.nan, 1.0]])
    with pytest.raises(ValueError, match="symbol must be one of"):
        equalizer.equalize_many([[1.0, 2.0]], np.array([0.5]))
    for training in (-1, 2.5, True):
        with pytest.raises(ValueError, match="training must"):
            equalizer.equalize_many([[1.0, 2.0]], [1.0], training=training)  # type: ignore[arg-type]
    for huge in (lambda: equalizer.equalize_one([1.0, 1e200]), lambda: equalizer.equalize_many([[1.0, -1e200]])):
        with pytest.raises(ValueError, match=r"at most 1e\+140 in size"):
            huge()
    assert equalizer.to_bytes() == before


def test_units_and_offsets_do_not_matter() -> None:
    channel = datasets.named_channel("pam4", seed=1).at_snr(18)
    symbols, observations = channel.sequence(1500)
    decisions = KernelEqualizer(delay=1, alphabet="pam4").equalize_many(observations, symbols, 500)
    for unit in (1e-12, 1e12):
        scaled = KernelEqualizer(delay=1, alphabet="pam4").equalize_many(unit * observations, symbols, 500)
        np.testing.assert_array_equal(scaled, decisions)
    moved = KernelEqualizer(delay=1, alphabet="pam4").equalize_many(observations + 100.0, symbols, 500)
    assert rate(moved, symbols, 1, 500) < 1.3 * rate(decisions, symbols, 1, 500)


def test_without_training_it_says_what_it_needs() -> None:
    symbols, observations = datasets.named_channel("cubic", seed=1).at_snr(12).sequence(100)
    equalizer = KernelEqualizer(delay=1)
    with pytest.warns(UserWarning, match="learned from 25 known symbols on"):
        assert np.isnan(equalizer.equalize_many(observations[:50])).all()
    equalizer.equalize_many(observations[50:75], symbols[50:75])
    assert np.isfinite(equalizer.equalize_many(observations[75:])).all()


# Linear equalizers and curves -----------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("step", [0.0, 0.1])
def test_linear_equalizer_is_the_textbook_s(step: float) -> None:
    channel = datasets.named_channel("qpsk", seed=1).at_snr(15)
    symbols, observations = channel.sequence(80)
    alphabet = np.array(ALPHABETS["qpsk"])
    equalizer = LinearEqualizer(3, 1, "qpsk", feedback=2, step=step, forgetting=0.99)
    decisions = equalizer.equalize_many(observations, symbols, training=60)
    weights, P, past = np.zeros(5, dtype=complex), np.eye(5, dtype=complex) / 1e-3, [0j, 0j]
    for t in range(2, 80):
        u = np.array([*observations[t - 2 : t + 1][::-1], *past])
        estimate = weights @ u
        decided = alphabet[np.abs(alphabet - estimate).argmin()]
        assert decisions[t] == decided
        target = symbols[t - 1] if t - 1 < 60 else decided
        if step:
            weights = weights + step * (target - estimate) * u.conj() / (1e-12 + np.linalg.norm(u) ** 2)
        else:
            gain = P @ u.conj() / (0.99 + (u @ P @ u.conj()).real)
            weights = weights + gain * (target - estimate)
            P = (P - np.outer(gain, u @ P)) / 0.99
        past = [target, past[0]]
    np.testing.assert_allclose(equalizer._weights, weights, atol=1e-8)


def test_wilson_and_crossings() -> None:
    low, high = curves.wilson(0, 100)
    assert low == pytest.approx(0.0, abs=1e-12) and high == pytest.approx(0.037, abs=0.001)
    points = [curves.Point("a", snr, 10**6, errors, errors, 1) for snr, errors in ((0.0, 10**5), (10.0, 10**3))]
    assert curves.snr_at(points, 1e-2) == pytest.approx(5.0)
    assert math.isnan(curves.snr_at(points, 1e-6))


@jitted
def test_a_curve_stops_at_its_errors() -> None:
    points = curves.curve(
        lambda seed: datasets.named_channel("cubic", seed), (8, 14), ("RLS", "Bayes"), 20, 4000, run=2000
    )
    found = list(points)
    assert [point.equalizer for point in found] == ["RLS", "Bayes"] * 2
    assert all(point.symbol_errors >= 20 or point.symbols >= 4000 for point in found)
    assert found[0].symbols == 2000 and found[0].interval[0] < found[0].symbol_error_rate < found[0].interval[1]


@jitted
def test_bench_quick(tmp_path: Any, capsys: Any) -> None:
    arguments = ["--quick", "--channel", "cubic", "--json", "--out", str(tmp_path)]
    assert bench.main(arguments) == 0
    first = json.loads(capsys.readouterr().out)["cubic"]
    assert {row["equalizer"] for row in first} == set(curves.EQUALIZERS)
    assert bench.main(["--quick", "--channel", "cubic", "--keep", "--out", str(tmp_path)]) == 0
    assert "kernel below all rivals" in capsys.readouterr().out


@jitted
def test_bench_speed_quick(tmp_path: Any, capsys: Any) -> None:
    assert bench.main(["--quick", "--speed", "--json", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(row["m"] > 20 and row["symbols a second"] > 0 for row in rows)
    assert (tmp_path / "equalizers-speed.csv").exists()
