"""Channels and their exact detectors: alphabets, states, SNR, fading, posteriors against all sequences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from streamkernel import datasets
from streamkernel.alphabets import ALPHABETS
from streamkernel.datasets.channel import cubic, quadratic_cubic, saleh, tanh
from streamkernel.datasets.named_channels import CHANNELS
from streamkernel.equalization import BayesDetector

pytestmark = pytest.mark.core


@pytest.mark.parametrize("name", ALPHABETS)
def test_neighbors_differ_in_one_bit(name: str) -> None:
    symbols = np.array(ALPHABETS[name])
    assert np.mean(np.abs(symbols) ** 2) == pytest.approx(1.0)
    distances = np.abs(symbols[:, None] - symbols) + 10.0 * np.eye(len(symbols))
    for i, j in np.argwhere(distances < 1.01 * distances.min()):
        assert (int(i) ^ int(j)).bit_count() == 1


def brute_force(channel: Any, observations: Any) -> Any:
    """P(u(t − delay) | y(0..t)) by a sum over all symbol sequences, those before the first observation included."""
    n, size, memory = len(observations), len(channel.symbols), channel.memory
    spread = channel.noise / math.sqrt(2.0) if channel.is_complex else channel.noise
    logs = np.full((n, size), -np.inf)
    for digits in itertools.product(range(size), repeat=n + memory):
        sent = channel.symbols[list(digits)]
        clean = channel._distorted_at(0, sent) if hasattr(channel, "responses") else channel._distort(sent)
        weights = np.cumsum(-(np.abs(observations - clean) ** 2) / (2.0 * spread**2))
        for t in range(channel.delay, n):
            decided = digits[memory + t - channel.delay]
            logs[t, decided] = np.logaddexp(logs[t, decided], weights[t])
    logs[: channel.delay] = 0.0
    probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
    return probabilities / probabilities.sum(axis=1, keepdims=True)


CASES = [
    datasets.NonlinearChannel(seed=3),
    datasets.NonlinearChannel(delay=1, seed=3),
    datasets.NonlinearChannel(delay=3, seed=3),
    datasets.NonlinearChannel(taps=(0.407, 0.815, 0.407), nonlinearity=quadratic_cubic, delay=2, seed=4),
    datasets.NonlinearChannel(taps=(1.0,), delay=2, seed=4),
    datasets.NonlinearChannel(taps=(1.0, 0.5j), nonlinearity=saleh, delay=1, seed=5),
    datasets.NonlinearChannel("pam4", (1.0, 0.3), tanh, 0.3, delay=1, seed=5),
    datasets.NonlinearChannel("qpsk", (1.0, 0.3 - 0.2j), cubic, 0.4, delay=1, seed=6),
    datasets.FadingChannel(doppler=0.02, depth=0.5, delay=1, seed=7),
    datasets.FadingChannel("qpsk", (1.0, 0.3j), doppler=0.02, depth=0.5, delay=2, seed=7),
    datasets.SwitchingChannel(period=3, delay=1, seed=8),
]


@pytest.mark.parametrize(
    "channel", CASES, ids=lambda channel: f"{type(channel).__name__}-{channel.alphabet}-{channel.delay}-{channel.seed}"
)
def test_posteriors_are_those_of_all_sequences(channel: Any) -> None:
    n = 4 if len(channel.symbols) > 2 else 8
    symbols, observations = channel.sequence(n)
    expected = brute_force(channel, observations)
    np.testing.assert_allclose(BayesDetector(channel).posteriors(observations), expected, rtol=1e-9, atol=1e-12)
    parts = BayesDetector(channel)
    one_by_one = np.concatenate([parts.posteriors(observations[t : t + 1]) for t in range(n)])
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-9, atol=1e-12)
    decisions = BayesDetector(channel).decide(observations)
    assert decisions.shape == (n,) and set(decisions.tolist()) <= set(channel.symbols.tolist())
    assert len(symbols) == n


def test_the_whole_past_is_worth_more_than_a_window() -> None:
    """From five observations on, the window's Bayes error is that of the whole past."""
    channel = datasets.named_channel("cubic5", seed=1).at_snr(8)
    symbols, observations = channel.sequence(40_000)
    decisions = BayesDetector(channel).decide(observations)
    rate = np.mean(decisions[2:] != symbols[:-2])
    assert rate == pytest.approx(channel.bayes_error(40_000), rel=0.15)


@pytest.mark.parametrize("name", CHANNELS)
def test_snr(name: str) -> None:
    channel = datasets.named_channel(name, seed=1)
    clean = datasets.NonlinearChannel(channel.alphabet, channel.taps, channel.nonlinearity, 0.0, seed=1)
    power = np.mean(np.abs(clean.sequence(20_000)[1]) ** 2)
    assert channel.at_snr(10.0).noise ** 2 == pytest.approx(power / 10.0, rel=0.03)
    states, memory = clean.centers(), clean.memory
    symbols, observations = clean.sequence(200)
    index = np.array([np.argmin(np.abs(clean.symbols - u)) for u in symbols])
    numbers = sum(index[memory - k : len(index) - k] * len(clean.symbols) ** (memory - k) for k in range(memory + 1))
    np.testing.assert_allclose(observations[memory:], states[numbers], atol=1e-12)


def test_fading_statistics() -> None:
    """Unit mean square over seeds, the Bessel correlation of Jakes, and no jumps."""
    gains = np.array(
        [
            datasets.FadingChannel(taps=(1.0,), doppler=0.01, depth=1.0, seed=seed).responses(0, 51)[:, 0] - 1.0
            for seed in range(2000)
        ]
    )
    assert np.mean(gains**2) == pytest.approx(1.0, abs=0.05)
    from scipy.special import j0

    assert np.mean(gains[:, 0] * gains[:, 20]) == pytest.approx(j0(2 * math.pi * 0.01 * 20), abs=0.07)
    assert np.abs(np.diff(gains, axis=1)).max() < 2 * math.pi * 0.01 * math.sqrt(2 * 16)
    complex_gains = datasets.FadingChannel("qpsk", (1.0,), doppler=0.01, depth=1.0, seed=1).responses(0, 5)
    assert complex_gains.dtype == np.complex128


def test_a_stream_and_its_pieces_agree() -> None:
    channel = datasets.FadingChannel(doppler=1e-3, noise=0.0, seed=3)
    symbols, observations = channel.sequence(3000)
    taps = channel.responses(0, 3000)
    expected = cubic(taps[1:, 0] * symbols[1:] + taps[1:, 1] * symbols[:-1])
    np.testing.assert_allclose(observations[1:], expected, atol=1e-12)
    np.testing.assert_allclose(channel.transmit(symbols)[1:], expected, atol=1e-12)
    switching = datasets.SwitchingChannel(nonlinearity=None, noise=0.0, period=2, seed=1)
    assert switching.transmit([1.0, 1.0, 1.0, -1.0]).tolist() == [1.0, 1.5, 1.5, 0.5]


BAD = [
    (lambda: datasets.named_channel("none"), "name must be one of 'cubic'.*'none'"),
    (lambda: datasets.FadingChannel(doppler=0.0), "doppler must be"),
    (lambda: datasets.FadingChannel(depth=-1.0), "depth must be"),
    (lambda: datasets.SwitchingChannel(period=0), "period must be"),
    (lambda: datasets.SwitchingChannel(others=((1.0,),)), "others must hold impulse responses of 2 taps"),
    (lambda: datasets.SwitchingChannel(others=((1.0, 1j),)), "others must be real"),
    (lambda: datasets.FadingChannel().bayes_error(), "has no one Bayes error"),
    (lambda: datasets.NonlinearChannel().at_snr(math.nan), "snr must be"),
    (lambda: datasets.NonlinearChannel(taps=[1.0] * 30).centers(), "taps must leave at most"),
    (lambda: datasets.FadingChannel(taps=[1.0] * 30).centers_at(0, 1), "taps must leave at most"),
    (lambda: BayesDetector(datasets.NonlinearChannel(noise=0.0)), "channel must have Gaussian noise"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_arguments(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_complex_nonlinearities_keep_the_real_line() -> None:
    signal = np.linspace(0.1, 2.0, 7)
    for function in (cubic, quadratic_cubic, tanh):
        np.testing.assert_allclose(function(signal + 0j), function(signal), atol=1e-15)
        turned = np.exp(0.7j)
        np.testing.assert_allclose(function(turned * signal), turned * function(signal), atol=1e-14)
