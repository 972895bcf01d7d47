"""Channel equalization: symbol decisions around a streaming regressor.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", 2004, section 5.3.
Paper -> code: u symbol, y observation, d `lags`, D `delay`.
"""

from __future__ import annotations

import cmath
import math
import numbers
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from .. import checks
from ..alphabets import ALPHABETS, NAMES
from ..checkpoint import Checkpointed
from ..kernels import RBF
from ..learners import KRLS


class KernelEqualizer(base.Estimator, Checkpointed):
    """Recover the symbols that were sent through a nonlinear channel.

    With every observation y(t) the model estimates the symbol u(t − D) from y(t), y(t − 1), ..., y(t − d + 1), where
    d = `lags` and D = `delay`, and the nearest symbol of the alphabet is the decision. While the receiver knows the
    symbols the model is trained on them; after that it learns from its own decisions (decision-directed operation), and
    follows a channel that changes if it forgets.

    A complex observation is two features, its real part and then its imaginary part; a complex symbol has two models,
    one for each part. Features are numbered like the columns of `datasets.NonlinearChannel`.

    Parameters
    ----------
    model
        A regressor of this library, or any regressor or pipeline of river. It is trained in place.
    lags
        d, the number of observations that a decision is based on.
    delay
        D, how many observations after a symbol the decision about it falls.
    alphabet
        "bpsk" (−1 and 1), "qpsk" (the four symbols (±1 ± i)/√2), or a tuple of distinct numbers, whose positions are
        their bits.
    directed
        Whether to learn from decisions where the symbol is not known.
    margin
        A decision is learned only if its symbol is nearer to the estimate than every other symbol, by at least this
        much.

    Examples
    --------

    >>> from streamkernel import KRLS, KernelEqualizer, datasets, kernels

    >>> channel = datasets.NonlinearChannel(seed=1)
    >>> symbols, observations = channel.sequence(5500)
    >>> equalizer = KernelEqualizer(KRLS(kernels.RBF(1.0), threshold=0.01, ridge=1.0), lags=2, delay=1)

    500 symbols for training, then its own decisions:

    >>> for y, u in zip(observations[:500], symbols[:500]):
    ...     decision = equalizer.equalize_one(y, u)
    >>> equalizer.reset_errors()
    >>> for y, u in zip(observations[500:], symbols[500:]):
    ...     decision = equalizer.equalize_one(y, u, train=False)
    >>> round(equalizer.bit_error_rate, 3)
    0.06...

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285, section 5.3.
    [^2]: Sebald, D.J. and Bucklew, J.A., 2000. Support vector machine techniques for nonlinear equalization. IEEE
        Transactions on Signal Processing, 48(11), pp.3217-3226.

    """

    def __init__(
        self,
        model: base.Regressor,
        lags: int = 2,
        delay: int = 0,
        alphabet: str | tuple[complex, ...] = "bpsk",
        directed: bool = True,
        margin: float = 0.0,
    ) -> None:
        if not callable(getattr(model, "learn_one", None)) or not callable(getattr(model, "predict_one", None)):
            raise TypeError(f"model must be a streaming regressor with learn_one and predict_one, got {model!r}")
        for name, value, least in (("lags", lags, 1), ("delay", delay, 0)):
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
                raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
        checks.number("margin", margin, low=0.0)
        self._symbols = _alphabet(alphabet)
        self.model = model
        self.lags = lags
        self.delay = delay
        self.alphabet = alphabet
        self.directed = directed
        self.margin = margin
        self._complex_symbols = any(isinstance(symbol, complex) for symbol in self._symbols)
        self._models = [model, model.clone()] if self._complex_symbols else [model]
        self._complex = self._complex_symbols
        self._observations: deque[complex] = deque(maxlen=lags)  # the latest first
        # What is known about the symbols that wait for their decision, the oldest first: their number in the alphabet,
        # and whether they are for training.
        self._known: deque[tuple[int | None, bool]] = deque(maxlen=delay + 1)
        self.reset_errors()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": KRLS(RBF(1.0), ridge=0.1), "lags": 2, "delay": 1}
        yield {"model": KRLS(RBF(1.0), ridge=0.1), "lags": 2, "alphabet": "qpsk"}

    def equalize_one(self, observation: complex, symbol: complex | None = None, train: bool = True) -> complex | None:
        """Receive the next observation; return the decision about the symbol that was sent `delay` observations before.

        The decision is made before anything is learned. It is None while there are fewer than `lags` observations, and
        for the first `delay` of them.

        Parameters
        ----------
        observation
            y(t).
        symbol
            u(t), the symbol sent at the same time, where it is known. The decision about it is compared with it.
        train
            Whether the receiver knows the symbol too and the model may learn it; otherwise it serves for counting only.

        """
        self._receive(observation, symbol, train)
        if len(self._observations) < self.lags or len(self._known) <= self.delay:
            return None
        sample = self._sample()
        estimate = self._estimate(sample)
        distances = [abs(estimate - other) for other in self._symbols]
        decided = min(range(len(distances)), key=distances.__getitem__)
        sent, for_training = self._known[0]
        if sent is not None:
            self.symbols_counted += 1
            self.symbol_errors += decided != sent
            self.bit_errors += (decided ^ sent).bit_count()
        nearest, second = sorted(distances)[:2]
        if sent is not None and for_training:
            self._learn(sample, self._symbols[sent])
        elif self.directed and second - nearest >= self.margin:
            self._learn(sample, self._symbols[decided])
        return self._symbols[decided]

    def equalize_many(
        self, observations: Iterable[complex], symbols: Iterable[complex] | None = None, training: int | None = None
    ) -> NDArray[Any]:
        """Receive observations in order; return the decision that falls with each, NaN where there is none.

        The decision at position t is about the symbol at t − `delay`.

        Parameters
        ----------
        observations
            The observations.
        symbols
            The symbols sent at the same times, where they are known.
        training
            How many of these symbols, from the first, the receiver knows; by default all.

        """
        received = list(observations)
        sent: list[Any] = list(repeat(None, len(received)) if symbols is None else symbols)
        if len(sent) != len(received):
            raise ValueError(f"symbols must be as many as the observations ({len(received)}), got {len(sent)}")
        known = len(sent) if training is None else training
        decisions = [self.equalize_one(y, u, train=t < known) for t, (y, u) in enumerate(zip(received, sent))]
        dtype = np.complex128 if self._complex_symbols else np.float64
        return np.array([math.nan if decision is None else decision for decision in decisions], dtype=dtype)

    def _receive(self, observation: complex, symbol: complex | None, train: bool) -> None:
        if not _is_finite(observation):
            raise ValueError(f"observation must be a finite number, got {observation!r}")
        if not isinstance(observation, numbers.Real):
            if self._observations and not self._complex:
                raise ValueError(f"observation must be real like those before it, got {observation!r}")
            self._complex = True
        index = None
        if symbol is not None:
            # Symbols come from arithmetic: one that is right up to rounding is meant.
            matches = [i for i, other in enumerate(self._symbols) if abs(symbol - other) <= 1e-9 * abs(other)]
            if not matches:
                raise ValueError(f"symbol must be one of {self._symbols}, got {symbol!r}")
            index = matches[0]
        self._observations.appendleft(complex(observation))
        self._known.append((index, bool(train)))

    def _sample(self) -> dict[int, float]:
        """(y(t), y(t − 1), ..., y(t − d + 1)), a complex one as its two parts."""
        if not self._complex:
            return {i: y.real for i, y in enumerate(self._observations)}
        return dict(enumerate(part for y in self._observations for part in (y.real, y.imag)))

    def _estimate(self, sample: dict[int, float]) -> complex:
        parts = [float(model.predict_one(sample)) for model in self._models]
        return complex(*parts) if self._complex_symbols else parts[0]

    def _learn(self, sample: dict[int, float], symbol: complex) -> None:
        for model, part in zip(self._models, (symbol.real, symbol.imag)):
            model.learn_one(sample, part)

    # Errors ----------------------------------------------------------------------------------------------------------

    def reset_errors(self) -> None:
        """Begin to count errors anew."""
        self.symbols_counted = self.symbol_errors = self.bit_errors = 0

    @property
    def symbol_error_rate(self) -> float:
        """The share of wrong decisions among those whose symbol is known; NaN before the first."""
        return self.symbol_errors / self.symbols_counted if self.symbols_counted else math.nan

    @property
    def bit_error_rate(self) -> float:
        """The share of wrong bits among those whose symbol is known; NaN before the first."""
        bits = (len(self._symbols) - 1).bit_length()
        return self.bit_errors / (bits * self.symbols_counted) if self.symbols_counted else math.nan

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        return {
            "models": self._models[1:],
            "complex": self._complex,
            "observations": [(y.real, y.imag) for y in self._observations],
            "known": list(self._known),
            "counts": (self.symbols_counted, self.symbol_errors, self.bit_errors),
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        self._models[1:] = state["models"]
        self._complex = state["complex"]
        self._observations.extend(complex(*parts) for parts in state["observations"])
        self._known.extend(state["known"])
        self.symbols_counted, self.symbol_errors, self.bit_errors = state["counts"]


def _is_finite(value: Any) -> bool:
    return isinstance(value, numbers.Complex) and cmath.isfinite(complex(value))


def _alphabet(alphabet: Any) -> tuple[complex, ...]:
    symbols = ALPHABETS.get(alphabet, ()) if isinstance(alphabet, str) else alphabet
    good = isinstance(symbols, tuple) and all(map(_is_finite, symbols))
    if not good or len(set(symbols)) != len(symbols) or len(symbols) < 2:
        raise ValueError(f"alphabet must be {NAMES} or a tuple of distinct numbers, got {alphabet!r}")
    return symbols
