"""Channels that change while symbols pass: fading taps and abrupt switches.

Jakes, "Microwave Mobile Communications", 1974, in the sum-of-sinusoids form of Zheng & Xiao, "Simulation models with
correct statistical properties for Rayleigh fading channels", IEEE Transactions on Communications 51(6), 2003.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from streamkernel.datasets.base import BLOCK, check_count, check_number
from streamkernel.datasets.channel import MAX_SEQUENCES, PAPER_NOISE, NonlinearChannel, Signal, cubic

__all__ = ["FadingChannel", "SwitchingChannel", "VaryingChannel"]

SINUSOIDS = 16


class VaryingChannel(NonlinearChannel, abc.ABC):
    """A channel whose taps depend on the time; everything else is as in `NonlinearChannel`."""

    @abc.abstractmethod
    def responses(self, start: int, n: int) -> Signal:
        """The taps at the times start, ..., start + n - 1, one row each."""

    def _distorted_at(self, start: int, sent: Signal) -> Signal:
        """The noise-free observations of every symbol that has the whole memory before it, the first at time `start`"""
        windows = np.lib.stride_tricks.sliding_window_view(sent, self.memory + 1)[:, ::-1]
        filtered = (windows * self.responses(start, len(windows))).sum(axis=1)
        return filtered if self.nonlinearity is None else np.asarray(self.nonlinearity(filtered))

    def centers_at(self, start: int, n: int) -> Signal:
        """The noise-free observations of every sequence (see `centers`) at `n` times, one row a time."""
        size, count = len(self._symbols), len(self._symbols) ** (self.memory + 1)
        if count > MAX_SEQUENCES:
            raise ValueError(f"taps must leave at most {MAX_SEQUENCES} states, {self.memory + 1} give {count}")
        digits = np.array(np.unravel_index(np.arange(count), (size,) * (self.memory + 1)))
        filtered = self.responses(start, n) @ self._symbols[digits]
        return filtered if self.nonlinearity is None else np.asarray(self.nonlinearity(filtered))

    def transmit(self, symbols: Sequence[complex] | Signal, seed: int | None = None) -> Signal:
        """Send symbols of your own from time 0; the channel's memory starts at zero. `seed` draws the noise."""
        sent = np.concatenate([np.zeros(self.memory), np.asarray(symbols)])
        distorted = self._distorted_at(0, sent)
        return distorted + self._noise(np.random.default_rng(seed), len(distorted))

    def _stream(self) -> Iterator[tuple[Signal, Signal]]:
        draw, noise = self._random(stream=0), self._random(stream=1)
        before, start = draw.choice(self._symbols, self.memory), 0
        while True:
            symbols = draw.choice(self._symbols, BLOCK)
            sent = np.concatenate([before, symbols])
            distorted = self._distorted_at(start, sent)
            yield symbols, distorted + self._noise(noise, len(distorted))
            before, start = sent[len(sent) - self.memory :], start + BLOCK

    def bayes_error(self, samples: int = 200_000, seed: int = 0) -> float:
        """Not defined: the least error changes with the channel. `equalization.BayesDetector` follows it."""
        raise ValueError(f"{type(self).__name__} changes with time and has no one Bayes error; see BayesDetector")


class FadingChannel(VaryingChannel):
    """A channel whose taps fade: tap k is taps_k (1 + depth g_k(t)), each g_k a Jakes process of its own.

    The spectrum of g is that of a receiver that moves among many reflections: unit mean square, real for a real
    channel and complex otherwise, with no frequency above `doppler`. With `depth` 1 or more the path can vanish and its
    sign turn over, after which no receiver can tell a symbol from its negative without training.

    Parameters
    ----------
    alphabet, taps, nonlinearity, noise, lags, delay, seed
        As in `NonlinearChannel`.
    doppler
        The highest frequency of the taps, in cycles per symbol.
    depth
        Standard deviation of a tap in units of its mean.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> channel = datasets.FadingChannel(taps=(1.0, 0.5), doppler=1e-3, depth=0.3, seed=1)
    >>> symbols, observations = channel.sequence(1000)
    >>> channel.responses(0, 1000).shape
    (1000, 2)

    """

    def __init__(
        self,
        alphabet: str | Sequence[complex] = "bpsk",
        taps: Sequence[complex] = (1.0, 0.5),
        nonlinearity: Callable[[Signal], Signal] | None = cubic,
        noise: float | Callable[[np.random.Generator, int], Signal] = PAPER_NOISE,
        lags: int = 2,
        delay: int = 0,
        seed: int | None = None,
        doppler: float = 1e-4,
        depth: float = 0.3,
    ) -> None:
        check_number("doppler", doppler, low=0, open_low=True)
        check_number("depth", depth, low=0)
        super().__init__(alphabet, taps, nonlinearity, noise, lags, delay, seed)
        self.doppler = doppler
        self.depth = depth
        random = self._random(stream=2)
        shape = (len(self._response), SINUSOIDS)
        offsets = random.uniform(-math.pi, math.pi, (shape[0], 1))
        arrivals = (2 * math.pi * np.arange(1, SINUSOIDS + 1) - math.pi + offsets) / (4 * SINUSOIDS)
        self._rates = 2 * math.pi * doppler * np.stack([np.cos(arrivals), np.sin(arrivals)])
        self._phases = random.uniform(-math.pi, math.pi, (2, *shape))

    def responses(self, start: int, n: int) -> Signal:
        """The taps at the times start, ..., start + n - 1, one row each."""
        times = np.arange(start, start + n)[:, None, None]
        parts = [np.cos(rate * times + phase).sum(axis=2) for rate, phase in zip(self._rates, self._phases)]
        fading = (parts[0] + 1j * parts[1]) / math.sqrt(SINUSOIDS) if self.is_complex else parts[0]
        if not self.is_complex:
            fading *= math.sqrt(2 / SINUSOIDS)
        return self._response * (1 + self.depth * fading)


class SwitchingChannel(VaryingChannel):
    """A channel that changes abruptly: its impulse response is another one from every multiple of `period` on.

    Parameters
    ----------
    alphabet, taps, nonlinearity, noise, lags, delay, seed
        As in `NonlinearChannel`.
    others
        The impulse responses that follow `taps`, as long as those; then it begins anew.
    period
        How many symbols an impulse response lasts.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> channel = datasets.SwitchingChannel(taps=(1.0, 0.5), others=((0.5, 1.0),), period=500, seed=1)
    >>> channel.responses(499, 2).tolist()
    [[1.0, 0.5], [0.5, 1.0]]

    """

    def __init__(
        self,
        alphabet: str | Sequence[complex] = "bpsk",
        taps: Sequence[complex] = (1.0, 0.5),
        nonlinearity: Callable[[Signal], Signal] | None = cubic,
        noise: float | Callable[[np.random.Generator, int], Signal] = PAPER_NOISE,
        lags: int = 2,
        delay: int = 0,
        seed: int | None = None,
        others: Sequence[Sequence[complex]] = ((0.5, 1.0),),
        period: int = 10_000,
    ) -> None:
        check_count("period", period)
        super().__init__(alphabet, taps, nonlinearity, noise, lags, delay, seed)
        if not others or any(len(response) != len(self._response) for response in others):
            raise ValueError(f"others must hold impulse responses of {len(self._response)} taps, got {others!r}")
        self.others = others
        self.period = period
        self._responses = np.array([self._response, *others])
        if np.iscomplexobj(self._responses) and not self.is_complex:
            raise ValueError("others must be real where alphabet and taps are")

    def responses(self, start: int, n: int) -> Signal:
        """The taps at the times start, ..., start + n - 1, one row each."""
        return self._responses[np.arange(start, start + n) // self.period % len(self._responses)]
