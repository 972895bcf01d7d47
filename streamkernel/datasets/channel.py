"""A nonlinear communication channel: symbols in, observations out, and the symbol to recover from them.

Engel, Mannor & Meir (2004), section 5.3.
Paper -> code: u symbols, x filtered, y observations, d lags, D delay.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.datasets import base

from streamkernel.alphabets import ALPHABETS, NAMES
from streamkernel.datasets.base import BLOCK, Block, Generator, check_count, check_number

__all__ = ["ALPHABETS", "NonlinearChannel", "compressive", "cubic", "quadratic_cubic", "saleh", "tanh"]

Signal = NDArray[Any]

PAPER_NOISE = math.sqrt(0.2)

# Above this many symbol sequences `bayes_error` would take more memory than it is worth.
MAX_SEQUENCES = 2**16


def cubic(signal: Signal) -> Signal:
    """The paper's nonlinearity x - 0.9 x^3; for a complex signal x - 0.9 |x|^2 x, the same on the real line."""
    return signal - 0.9 * np.abs(signal) ** 2 * signal


def compressive(signal: Signal) -> Signal:
    """x - 0.3 |x|^2 x: an amplifier that is driven hard."""
    return signal - 0.3 * np.abs(signal) ** 2 * signal


def quadratic_cubic(signal: Signal) -> Signal:
    """x + 0.2 x^2 - 0.1 x^3, a loudspeaker or an amplifier that is not symmetric; |x|x and |x|^2 x if complex."""
    size = np.abs(signal)
    square = size * signal if np.iscomplexobj(signal) else signal**2
    return signal + 0.2 * square - 0.1 * size**2 * signal


def tanh(signal: Signal) -> Signal:
    """An amplifier that saturates: the amplitude becomes its hyperbolic tangent, the phase stays."""
    if not np.iscomplexobj(signal):
        return np.tanh(signal)
    size = np.abs(signal)
    return signal * np.where(size > 0, np.tanh(size) / np.where(size > 0, size, 1.0), 1.0)


def saleh(signal: Signal) -> Signal:
    """A satellite's traveling-wave tube: amplitude 2.1587 r / (1 + 1.1517 r^2), phase + 4.0033 r^2 / (1 + 9.1040 r^2).

    Saleh, A.A.M., 1981. Frequency-independent and frequency-dependent nonlinear models of TWT amplifiers. IEEE
    Transactions on Communications, 29(11), pp.1715-1720.
    """
    square = np.abs(signal) ** 2
    return signal * (2.1587 / (1 + 1.1517 * square)) * np.exp(4.0033j * square / (1 + 9.1040 * square))


class NonlinearChannel(Generator):
    """Equalization of a nonlinear channel: recover a symbol from the observations around it.

    Symbols u are independent and equally likely, and the channel observes

    $$x_t = \\sum_k taps_k u_{t-k}, y_t = f(x_t) + n_t$$

    A row is (y[i+D], y[i+D-1], ..., y[i+D-d+1]) and its target is the symbol u[i], with d = `lags` and D = `delay`.
    For a complex channel each observation gives two features, its real part and then its imaginary part, and the target
    is the complex symbol. The defaults are the KRLS paper's channel. The symbols before the first one are random too:
    the stream has no start-up effect.

    Parameters
    ----------
    alphabet
        "bpsk" (-1 and 1), "qpsk" (the four unit symbols (+-1 +- i) / sqrt 2), "pam4", "8psk", "16qam", "64qam" (unit
        mean energy), or a sequence of distinct symbols.
    taps
        The impulse response, real or complex; its length less one is the channel's memory.
    nonlinearity
        A function of an array of filtered symbols, applied to each; None for a linear channel.
    noise
        Standard deviation of white Gaussian noise (the paper's variance is 0.2), split evenly between the two parts of
        a complex observation; or a function of (numpy random generator, count) that returns that many noise values.
    lags
        Number of observations in a row, d.
    delay
        How many observations later than its symbol a row begins, D.
    seed
        Random seed number used for reproducibility.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> channel = datasets.NonlinearChannel(delay=1, seed=1)
    >>> X, y = channel.arrays(500)
    >>> X.shape, sorted(set(y.tolist()))
    ((500, 2), [-1.0, 1.0])

    No equalizer that sees two observations makes fewer errors than this:

    >>> round(channel.bayes_error(), 3)
    0.055

    >>> x, symbol = next(iter(datasets.NonlinearChannel("qpsk", taps=(1, 0.3 - 0.2j), seed=1)))
    >>> len(x), type(symbol).__name__
    (4, 'complex')

    References
    ----------
    [^1]: Sebald, D.J. and Bucklew, J.A., 2000. Support vector machine techniques for nonlinear equalization. IEEE
    Transactions on Signal Processing, 48(11), pp.3217-3226.
    [^2]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm, section 5.3.

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
    ) -> None:
        self._symbols = self._alphabet(alphabet)
        response = np.atleast_1d(np.asarray(taps))
        if response.ndim != 1 or not len(response) or response.dtype.kind not in "iufc":
            raise ValueError(f"taps must be a non-empty sequence of numbers, got {taps!r}")
        if not np.isfinite(response).all():
            raise ValueError(f"taps must be finite, got {taps!r}")
        if not callable(noise):
            check_number("noise", noise, low=0)
        check_count("lags", lags)
        check_count("delay", delay, low=0)
        self._response = response
        self.is_complex = bool(np.iscomplexobj(self._symbols) or np.iscomplexobj(response))
        super().__init__(
            n_features=2 * lags if self.is_complex else lags,
            seed=seed,
            task=base.BINARY_CLF if len(self._symbols) == 2 else base.MULTI_CLF,
            n_classes=len(self._symbols),
        )
        self.alphabet = alphabet
        self.taps = taps
        self.nonlinearity = nonlinearity
        self.noise = noise
        self.lags = lags
        self.delay = delay

    @staticmethod
    def _alphabet(alphabet: str | Sequence[complex]) -> Signal:
        if isinstance(alphabet, str) and alphabet not in ALPHABETS:
            raise ValueError(f"alphabet must be {NAMES} or a sequence of symbols, got {alphabet!r}")
        symbols = np.asarray(ALPHABETS[alphabet] if isinstance(alphabet, str) else alphabet)
        if symbols.ndim != 1 or symbols.dtype.kind not in "iufc" or len(np.unique(symbols)) != symbols.size:
            raise ValueError(f"alphabet must be a sequence of distinct numbers, got {alphabet!r}")
        if len(symbols) < 2 or not np.isfinite(symbols).all():
            raise ValueError(f"alphabet must hold at least two finite symbols, got {alphabet!r}")
        return symbols.astype(np.complex128 if np.iscomplexobj(symbols) else np.float64)

    @property
    def memory(self) -> int:
        """How many earlier symbols an observation depends on."""
        return len(self._response) - 1

    def _distort(self, symbols: Signal) -> Signal:
        """The noise-free observations of every symbol that has the whole memory before it."""
        filtered = np.convolve(symbols, self._response, mode="valid")
        if self.nonlinearity is None:
            return filtered
        distorted = np.asarray(self.nonlinearity(filtered))
        if distorted.shape != filtered.shape:
            raise ValueError(f"nonlinearity must keep the shape {filtered.shape}, it returned {distorted.shape}")
        return distorted

    def _noise(self, random: np.random.Generator, n: int) -> Signal:
        if callable(self.noise):
            noise = np.asarray(self.noise(random, n))
            if noise.shape != (n,):
                raise ValueError(f"noise must return {n} values, it returned shape {noise.shape}")
            return noise
        if not self.is_complex:
            return self.noise * random.standard_normal(n)
        parts = random.standard_normal((n, 2))
        return self.noise / math.sqrt(2) * (parts[:, 0] + 1j * parts[:, 1])

    def _receive(self, sent: Signal, random: np.random.Generator) -> Signal:
        distorted = self._distort(sent)
        observations = distorted + self._noise(random, len(distorted))
        if np.iscomplexobj(observations) and not self.is_complex:
            raise ValueError("nonlinearity and noise must be real for a real alphabet and real taps")
        return observations

    @property
    def symbols(self) -> Signal:
        """The alphabet as numbers; the bits of a symbol are those of its position."""
        return self._symbols

    def centers(self) -> Signal:
        """The noise-free observation of every sequence (u[t], u[t-1], ..., u[t-memory]).

        The sequences are numbered in base M for M symbols, the newest symbol first.
        """
        count = len(self._symbols) ** (self.memory + 1)
        if count > MAX_SEQUENCES:
            raise ValueError(f"taps must leave at most {MAX_SEQUENCES} states, {self.memory + 1} give {count}")
        digits = np.array(np.unravel_index(np.arange(count), (len(self._symbols),) * (self.memory + 1)))
        return np.concatenate([self._distort(sequence) for sequence in self._symbols[digits[::-1]].T])

    def at_snr(self, snr: float) -> NonlinearChannel:
        """The same channel with white Gaussian noise `snr` dB below the power of the noise-free observations."""
        check_number("snr", snr)
        noise = math.sqrt(float(np.mean(np.abs(self.centers()) ** 2)) * 10 ** (-snr / 10))
        return NonlinearChannel(self.alphabet, self.taps, self.nonlinearity, noise, self.lags, self.delay, self.seed)

    def transmit(self, symbols: Sequence[complex] | Signal, seed: int | None = None) -> Signal:
        """Send symbols of your own through the channel; return as many observations.

        Nothing is sent before the first symbol: the channel's memory starts at zero. `seed` draws the noise.
        """
        sent = np.asarray(symbols)
        if sent.ndim != 1 or not len(sent):
            raise ValueError(f"symbols must be a non-empty sequence, got shape {sent.shape}")
        if np.iscomplexobj(sent) and not self.is_complex:
            raise ValueError("symbols must be real: the channel's alphabet and taps are")
        silence = np.zeros(self.memory, sent.dtype)
        return self._receive(np.concatenate([silence, sent]), np.random.default_rng(seed))

    def _stream(self) -> Iterator[tuple[Signal, Signal]]:
        draw, noise = self._random(stream=0), self._random(stream=1)
        before = draw.choice(self._symbols, self.memory)
        while True:
            symbols = draw.choice(self._symbols, BLOCK)
            sent = np.concatenate([before, symbols])
            yield symbols, self._receive(sent, noise)
            before = sent[len(sent) - self.memory :]

    def sequence(self, n: int) -> tuple[Signal, Signal]:
        """The first `n` symbols of the stream and their observations.

        Row 0 of `arrays` belongs to the first symbol that has all its observations, number max(0, lags - 1 - delay).
        """
        check_count("n", n, low=0)
        blocks = list(itertools.islice(self._stream(), -(-n // BLOCK) or 1))
        return np.concatenate([u for u, _ in blocks])[:n], np.concatenate([y for _, y in blocks])[:n]

    def _rows(self, observations: Signal) -> NDArray[np.float64]:
        """Each window of `lags` observations, the latest first."""
        windows = np.lib.stride_tricks.sliding_window_view(observations, self.lags)[:, ::-1]
        if not self.is_complex:
            return np.ascontiguousarray(windows)
        return np.stack([windows.real, windows.imag], axis=2).reshape(len(windows), -1)

    def _blocks(self) -> Iterator[Block]:
        # Row i needs observations i + delay - lags + 1 ... i + delay. The first symbol with all of them is `first`;
        # symbols wait in a queue until their latest observation is there.
        first = max(0, self.lags - 1 - self.delay)
        skip = max(0, self.delay - self.lags + 1)
        symbols = np.empty(0, self._symbols.dtype)
        observations = np.empty(0)
        for new_symbols, new_observations in self._stream():
            symbols = np.concatenate([symbols, new_symbols[first:]])
            observations = np.concatenate([observations, new_observations[skip:]])
            first, skip = max(0, first - BLOCK), max(0, skip - BLOCK)
            if len(observations) >= self.lags:
                X = self._rows(observations)
                yield X, symbols[: len(X)]
                symbols, observations = symbols[len(X) :], observations[len(X) :]

    def bayes_error(self, samples: int = 200_000, seed: int = 0) -> float:
        """The least symbol error rate that any equalizer of this `lags` and `delay` can have, for Gaussian noise.

        The posterior of every symbol is exact (a sum over all symbol sequences that reach the row); its mean over rows
        is estimated from `samples` draws, the same number for each sequence, to about 0.3 / sqrt(samples).
        """
        check_count("samples", samples)
        if callable(self.noise) or self.noise == 0:
            raise ValueError(f"noise must be a positive number for the Bayes error, got {self.noise!r}")
        length, size = self.lags + self.memory, len(self._symbols)
        if self.delay >= length:
            return 1 - 1 / size  # The row has not met the symbol.
        if size**length > MAX_SEQUENCES:
            raise ValueError(
                f"lags must leave at most {MAX_SEQUENCES} symbol sequences, {self.lags} gives {size**length}"
            )
        labels = np.array(list(itertools.product(range(size), repeat=length)))
        observed = np.array([self._distort(self._symbols[sequence]) for sequence in labels])
        centers = np.concatenate([self._rows(row) for row in observed])
        label = labels[:, length - 1 - self.delay]
        spread = self.noise / math.sqrt(2) if self.is_complex else self.noise
        random = np.random.default_rng(seed)
        per_center = -(-samples // len(centers))
        chunk = max(1, 2**20 // len(centers))
        correct = 0.0
        for center in centers:
            for start in range(0, per_center, chunk):
                rows = center + spread * random.standard_normal((min(chunk, per_center - start), centers.shape[1]))
                distance = ((rows[:, None, :] - centers) ** 2).sum(axis=2)
                weight = np.exp(-(distance - distance.min(axis=1, keepdims=True)) / (2 * spread**2))
                mass = np.stack([weight[:, label == k].sum(axis=1) for k in range(size)])
                correct += float((mass.max(axis=0) / mass.sum(axis=0)).sum())
        return 1 - correct / (per_center * len(centers))
