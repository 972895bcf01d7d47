"""Error rates against the signal-to-noise ratio: simulated until there are enough errors, with Wilson intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..alphabets import symbols_of
from .bayes import BayesDetector
from .equalizer import KernelEqualizer
from .learned_channel import MOST_STATES
from .linear import LinearEqualizer

TRAINING = 1000
NORMAL_95 = 1.959963984540054
# Decisions in one run; a further run has another seed, so that a rate is also one over training sequences.
RUN = 50_000
MOST_POINTS = 1000  # of a curve


class Point(NamedTuple):
    """One equalizer at one signal-to-noise ratio."""

    equalizer: str
    snr: float
    symbols: int
    symbol_errors: int
    bit_errors: int
    bits: int
    """Bits a symbol."""

    @property
    def symbol_error_rate(self) -> float:
        """The share of wrong symbols."""
        return self.symbol_errors / self.symbols

    @property
    def bit_error_rate(self) -> float:
        """The share of wrong bits."""
        return self.bit_errors / (self.symbols * self.bits)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the symbol error rate."""
        return wilson(self.symbol_errors, self.symbols)


def wilson(errors: int, count: int, quantile: float = NORMAL_95) -> tuple[float, float]:
    """The Wilson score interval of a share.

    Examples
    --------

    >>> from streamkernel.equalization.curves import wilson
    >>> [round(bound, 4) for bound in wilson(200, 10_000)]
    [0.0174, 0.0229]

    """
    share, square = errors / count, quantile**2 / count
    center = (share + square / 2) / (1 + square)
    reach = quantile * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, center - reach), min(1.0, center + reach)


Decide = Callable[[Any, NDArray[Any], NDArray[Any]], NDArray[Any]]
"""From a channel, observations and symbols (of which the first TRAINING may be used) to decisions."""


def _linear(**options: Any) -> Decide:
    def decide(channel: Any, observations: NDArray[Any], symbols: NDArray[Any]) -> NDArray[Any]:
        chosen = {name: value(channel) if callable(value) else value for name, value in options.items()}
        # Learning from decisions makes these worse on most channels (LMS loses lock): they keep what training gave.
        equalizer = LinearEqualizer(channel.lags, channel.delay, channel.alphabet, directed=False, **chosen)
        return equalizer.equalize_many(observations, symbols, TRAINING)

    return decide


def _kernel(channel: Any, observations: NDArray[Any], symbols: NDArray[Any]) -> NDArray[Any]:
    equalizer = KernelEqualizer(delay=channel.delay, alphabet=channel.alphabet)
    decisions: NDArray[Any] = equalizer.equalize_many(observations, symbols, TRAINING)
    return decisions


def _bayes(channel: Any, observations: NDArray[Any], symbols: NDArray[Any]) -> NDArray[Any]:
    return BayesDetector(channel).decide(observations)


def _feedback(channel: Any) -> int:
    """As many past decisions as the channel remembers."""
    return int(channel.memory)


# The equalizers of a curve, in the order in which they are drawn.
EQUALIZERS: dict[str, Decide] = {
    "LMS": _linear(step=0.05),
    "RLS": _linear(),
    "RLS, feedback": _linear(feedback=_feedback),
    "Volterra RLS": _linear(degree=3),
    "Volterra RLS, feedback": _linear(degree=3, feedback=_feedback),
    "kernel": _kernel,
    "Bayes": _bayes,
}


def measure(
    name: str,
    channel: Callable[[int], Any],
    snr: float,
    decide: Decide,
    errors: int = 200,
    most: int = 4_000_000,
    seed: int = 0,
    run: int = RUN,
) -> Point:
    """The error rate of one equalizer at one signal-to-noise ratio, after training.

    Parameters
    ----------
    name
        Of the equalizer.
    channel
        From a seed to a channel.
    snr
        dB.
    decide
        The equalizer.
    errors
        Symbol errors after which it stops.
    most
        Symbols after which it stops in any case.
    seed
        Of the first run; run i has seed + i.
    run
        Decisions in a run.

    """
    symbols = symbol_errors = bit_errors = bits = 0
    while symbol_errors < errors and symbols < most:
        drawn = channel(seed).at_snr(snr)
        seed += 1
        alphabet = np.array(symbols_of(drawn.alphabet))
        bits = (len(alphabet) - 1).bit_length()
        sent, observations = drawn.sequence(TRAINING + run + drawn.delay)
        decisions = decide(drawn, observations, sent)[TRAINING + drawn.delay :]
        about = np.abs(sent[TRAINING : TRAINING + len(decisions), None] - alphabet).argmin(axis=1)
        decided = np.abs(decisions[:, None] - alphabet).argmin(axis=1)
        symbols += len(about)
        symbol_errors += int(np.count_nonzero(decided != about))
        bit_errors += int(np.bitwise_count(decided ^ about).sum())
    return Point(name, snr, symbols, symbol_errors, bit_errors, bits)


def curve(
    channel: Callable[[int], Any],
    snrs: Sequence[float],
    equalizers: Sequence[str] = tuple(EQUALIZERS),
    errors: int = 200,
    most: int = 4_000_000,
    seed: int = 0,
    run: int = RUN,
) -> Iterator[Point]:
    """The points of all equalizers; one that has met `most` symbols is not simulated at higher ratios."""
    done: set[str] = set()
    for snr in snrs:
        for name in equalizers:
            if name not in done:
                point = measure(name, channel, snr, EQUALIZERS[name], errors, most, seed, run)
                if point.symbol_errors < errors:
                    done.add(name)
                yield point


def snr_at(points: Sequence[Point], rate: float) -> float:
    """The signal-to-noise ratio at which a curve has this symbol error rate, between its points; NaN beyond them."""
    pairs = sorted((point.snr, point.symbol_error_rate) for point in points if point.symbol_errors)
    for (low, first), (high, second) in itertools.pairwise(pairs):
        if first >= rate >= second and first > second:
            share = (math.log(first) - math.log(rate)) / (math.log(first) - math.log(second))
            return low + share * (high - low)
    return math.nan


def snr_range(text: str) -> list[float]:
    """Signal-to-noise ratios from "from:to:step", both ends included, or from one number.

    Examples
    --------

    >>> from streamkernel.equalization.curves import snr_range
    >>> snr_range("0:6:2")
    [0.0, 2.0, 4.0, 6.0]

    """
    try:
        numbers = [float(part) for part in text.split(":")]
        first, last, step = (numbers * 2 + [1.0])[:3] if len(numbers) == 1 else numbers
    except ValueError:
        raise ValueError(f"snr must be FROM:TO:STEP in dB, got {text!r}") from None
    if not (step > 0.0 and last >= first and math.isfinite(last - first)):
        raise ValueError(f"snr must rise from FROM to TO by a positive STEP, got {text!r}")
    count = (last - first) / step + 1e-9
    if count >= MOST_POINTS:
        raise ValueError(f"snr may have {MOST_POINTS} points at most, got {text!r}")
    return [first + i * step for i in range(int(count) + 1)]


def affordable(channel: Any) -> list[str]:
    """The equalizers that can be simulated on a channel: the Bayes detector needs a trellis that is not too large."""
    states = len(channel.symbols) ** (channel.memory + 1)
    return [name for name in EQUALIZERS if name != "Bayes" or states <= MOST_STATES]
