"""The equalizers that receivers have: linear, with decision feedback, or a polynomial (Volterra) of the observations.

Paper -> code (Haykin, Adaptive Filter Theory): w `weights`, P `covariance`, λ `forgetting`, μ `step`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..alphabets import symbols_of
from ..core import linear

# The prior precision of the weights of recursive least squares, for observations of unit order.
SMALL = 1e-3


class LinearEqualizer:
    """Recursive least squares or normalized LMS on windows of observations: what kernel equalizers are compared with.

    Parameters
    ----------
    lags, delay, alphabet, directed, feedback
        As in `KernelEqualizer`.
    degree
        1 is linear; 3 adds all products of up to three observations (Volterra; with conjugates where they are complex).
    forgetting
        λ of recursive least squares.
    step
        μ of normalized LMS; 0 is recursive least squares.

    Examples
    --------

    >>> from streamkernel import datasets
    >>> from streamkernel.equalization import LinearEqualizer

    >>> channel = datasets.named_channel("cubic", seed=1).at_snr(11)
    >>> symbols, observations = channel.sequence(11_000)
    >>> equalizer = LinearEqualizer(lags=2, delay=1)
    >>> decisions = equalizer.equalize_many(observations, symbols, training=1000)
    >>> float((decisions[1001:] != symbols[1000:-1]).mean().round(3))
    0.05...

    """

    def __init__(
        self,
        lags: int = 2,
        delay: int = 0,
        alphabet: str | tuple[complex, ...] = "bpsk",
        directed: bool = True,
        feedback: int = 0,
        degree: int = 1,
        forgetting: float = 1.0,
        step: float = 0.0,
    ) -> None:
        for name, value, least in (("lags", lags, 1), ("delay", delay, 0), ("feedback", feedback, 0)):
            checks.number(name, value, low=least)
        if degree not in (1, 2, 3):
            raise ValueError(f"degree must be 1, 2 or 3, got {degree!r}")
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.number("step", step, low=0.0, high=2.0)
        self.lags, self.delay, self.alphabet, self.directed = lags, delay, alphabet, directed
        self.feedback, self.degree, self.forgetting, self.step = feedback, degree, forgetting, step
        self._symbols = np.array(symbols_of(alphabet), dtype=complex)
        self._real = not any(isinstance(symbol, complex) for symbol in symbols_of(alphabet))
        self._weights = np.zeros(0, dtype=complex)
        self._covariance = np.zeros((0, 0), dtype=complex)
        self._past = np.zeros(feedback, dtype=complex)

    def equalize_many(
        self, observations: NDArray[Any], symbols: NDArray[Any] | None = None, training: int | None = None
    ) -> NDArray[Any]:
        """Receive a whole stream; return the decision that falls with each observation, NaN where there is none."""
        received = np.asarray(observations)
        count = len(received)
        known = np.full(count, -1)
        if symbols is not None:
            until = count if training is None else min(training, count)
            distances = np.abs(np.asarray(symbols)[:until, None] - self._symbols)
            known[:until] = distances.argmin(axis=1)
        first = max(self.lags - 1, self.delay)
        decisions = np.full(count, math.nan, dtype=float if self._real else complex)
        if count <= first:
            return decisions
        windows = np.lib.stride_tricks.sliding_window_view(received, self.lags)[first - self.lags + 1 :, ::-1]
        rows = volterra(windows, self.degree)
        width = rows.shape[1] + self.feedback
        if not len(self._weights):
            self._weights = np.zeros(width, dtype=complex)
            self._covariance = np.eye(width, dtype=complex) / SMALL
        decided = np.empty(len(rows), dtype=np.int64)
        linear.equalize(
            np.ascontiguousarray(rows, dtype=complex),
            known[first - self.delay : count - self.delay],
            self._symbols,
            self.feedback,
            (self._weights, self._covariance, self._past),
            (float(self.forgetting), float(self.step), self.directed),
            (np.empty(width, dtype=complex), np.empty(width, dtype=complex)),
            decided,
        )
        decisions[first:] = self._symbols[decided].real if self._real else self._symbols[decided]
        return decisions


def volterra(windows: NDArray[Any], degree: int) -> NDArray[Any]:
    """All products of up to `degree` entries of each row, a constant included if degree > 1.

    Complex entries enter the products of a bandpass channel: x_i x_j conj(x_k), and no even ones.
    """
    columns = [windows[:, i] for i in range(windows.shape[1])]
    found = list(columns)
    if np.iscomplexobj(windows):
        if degree >= 3:
            pairs = itertools.combinations_with_replacement(columns, 2)
            found += [a * b * c.conj() for (a, b), c in itertools.product(list(pairs), columns)]
    elif degree > 1:
        found.append(np.ones(len(windows)))
        for order in range(2, degree + 1):
            groups = itertools.combinations_with_replacement(columns, order)
            found += [np.prod(group, axis=0) for group in groups]
    return np.stack(found, axis=1)
