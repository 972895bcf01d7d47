"""Channel equalization: symbol decisions around a streaming learner.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", 2004, section 5.3.
Paper -> code: u symbol, y observation, d `lags`, D `delay`.
"""

from __future__ import annotations

import functools
import math
import numbers
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from river import base

from .. import checks
from ..alphabets import is_symbol, symbols_of
from ..checkpoint import Checkpointed
from ..core.types import Matrix
from ..kernels import RBF
from ..learners import KRLS, LSSVMClassifier
from . import version1
from .channel_model import bit_probabilities
from .learned_channel import FEWEST_TRAINING, LearnedChannel
from .windows import NONE, Classification, Labels, Regression, Signal

# Errors are squared where a channel is learned.
LARGEST = 1e140
DETECTORS = ("channel", "regression", "bits", "classification")


class KernelEqualizer(base.Estimator, Checkpointed):
    """Recover the symbols that were sent through a nonlinear channel.

    With every observation y(t) the equalizer decides on the symbol u(t − D), where D = `delay`. While the receiver
    knows the symbols it is trained on them; after that it learns from its own decisions (decision-directed operation).

    Without a model it learns the channel itself: the observation as a function of the last symbols, by kernel least
    squares whose memory, kernel, ridge and noise are those under which the training symbols are most probable. The
    decision is the most probable symbol given all observations so far, as for a known channel, at O(M^(L+1)) a symbol
    for M symbols and a memory of L. It follows a channel that changes, as fast as the errors ask for. It learns a
    decision only where it is sure of it; a burst that it cannot explain is not learned, and what it learned just before
    is undone. Training symbols that it cannot explain say that the channel is another one, and it begins anew.

    With a model it learns the inverse of the channel: the symbol as a function of y(t), y(t − 1), ..., y(t − d + 1),
    where d = `lags`, and of the last `feedback` decisions. A regressor estimates the symbol or its bits, and the
    nearest one is the decision (both parts of a complex symbol share one recursion); a classifier gives the symbols'
    probabilities, which is as good for two symbols and worse for sixteen. All probabilities are calibrated. A
    complex observation is two features, its real part and then its imaginary part. Features are numbered like the
    columns of `datasets.NonlinearChannel`, past decisions after them.

    Parameters
    ----------
    model
        A regressor of this library, or any regressor, classifier or pipeline of river. It is trained in place. None
        learns the channel.
    lags
        d, the number of observations that a model sees. Without a model all are used.
    delay
        D, how many observations after a symbol the decision about it falls.
    alphabet
        "bpsk" (−1 and 1), "qpsk" (the four symbols (±1 ± i)/√2), "pam4", "8psk", "16qam", "64qam" (unit mean energy,
        Gray labels), or a tuple of distinct numbers, whose positions are their bits.
    directed
        Whether to learn from decisions where the symbol is not known.
    margin
        With a model, a decision is learned only if its symbol is nearer to the estimate than every other symbol, or
        more probable, by at least this much.
    feedback
        How many past decisions are features of a model.
    samples_per_symbol
        Observations per symbol (fractionally spaced).
    antennas
        How many receivers observe the same symbols.
    detector
        "channel", "regression", "bits" or "classification"; None for what goes with the model: no model, a regressor
        or a classifier. "bits" lets a regressor estimate each bit of a symbol instead of its place.
    symmetric
        Whether a model learns each sample in all rotations that map the alphabet onto itself (negation for a real
        channel). That is right where the channel has the same symmetry. Negation is for nothing with a kernel that has
        it, `kernels.Odd(k)`: half the samples are learned, and half the points kept, for the same decisions.
    memory
        Without a model: L, how many earlier symbols an observation depends on; None to find it out.

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

    Without a model, through arrays:

    >>> equalizer = KernelEqualizer(delay=1)
    >>> decisions = equalizer.equalize_many(observations[:500], symbols[:500])
    >>> equalizer.reset_errors()
    >>> decisions = equalizer.equalize_many(observations[500:], symbols[500:], training=0)
    >>> round(equalizer.bit_error_rate, 3)
    0.04...

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285, section 5.3.
    [^2]: Sebald, D.J. and Bucklew, J.A., 2000. Support vector machine techniques for nonlinear equalization. IEEE
        Transactions on Signal Processing, 48(11), pp.3217-3226.
    [^3]: Bahl, L., Cocke, J., Jelinek, F. and Raviv, J., 1974. Optimal decoding of linear codes for minimizing symbol
        error rate. IEEE Transactions on Information Theory, 20(2), pp.284-287.

    """

    def __init__(
        self,
        model: base.Regressor | base.Classifier | None = None,
        lags: int = 2,
        delay: int = 0,
        alphabet: str | tuple[complex, ...] = "bpsk",
        directed: bool = True,
        margin: float = 0.0,
        feedback: int = 0,
        samples_per_symbol: int = 1,
        antennas: int = 1,
        detector: str | None = None,
        symmetric: bool = False,
        memory: int | None = None,
    ) -> None:
        if model is not None and not (
            callable(getattr(model, "learn_one", None)) and callable(getattr(model, "predict_one", None))
        ):
            raise TypeError(
                f"model must be a streaming regressor or classifier with learn_one and predict_one, got {model!r}"
            )
        counts = {"lags": (lags, 1), "delay": (delay, 0), "feedback": (feedback, 0)}
        counts |= {"samples_per_symbol": (samples_per_symbol, 1), "antennas": (antennas, 1)}
        counts |= {} if memory is None else {"memory": (memory, 0)}
        for name, (value, least) in counts.items():
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
                raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
        checks.number("margin", margin, low=0.0)
        self._symbols = symbols_of(alphabet)
        self._kind = _detector(detector, model)
        if self._kind == "bits" and not _is_power_of_two(len(self._symbols)):
            raise ValueError(f"detector 'bits' needs 2, 4, 8, ... symbols, got {len(self._symbols)}")
        if self._kind == "channel" and (feedback or symmetric):
            raise ValueError("feedback and symmetric are for a model: without one all past symbols count already")
        if memory is not None and (self._kind != "channel" or len(self._symbols) ** (memory + 1) > 4096):
            raise ValueError(f"memory must leave at most 4096 states without a model, got {memory!r}")
        self.model = model
        self.lags = lags
        self.delay = delay
        self.alphabet = alphabet
        self.directed = directed
        self.margin = margin
        self.feedback = feedback
        self.samples_per_symbol = samples_per_symbol
        self.antennas = antennas
        self.detector = detector
        self.symmetric = symmetric
        self.memory = memory
        self._complex_symbols = any(isinstance(symbol, complex) for symbol in self._symbols)
        self._numbers = np.array(self._symbols)
        self._complex = self._complex_symbols
        self._separate = False  # a model for each part of a symbol: restored from a checkpoint of the first release
        self._receiver: Any = None
        self._sent = np.zeros(0, dtype=np.int64)  # symbols that wait for their decision, to be counted
        self._probabilities = np.full(len(self._symbols), np.nan)
        self.reset_errors()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": KRLS(RBF(1.0), ridge=0.1), "lags": 2, "delay": 1}
        yield {"model": KRLS(RBF(1.0), ridge=0.1), "lags": 2, "alphabet": "qpsk"}
        yield {"model": LSSVMClassifier(RBF(1.0)), "lags": 2, "feedback": 1}
        yield {"model": None, "delay": 1, "alphabet": "pam4"}

    # Observations in, decisions out -----------------------------------------------------------------------------------

    def equalize_one(self, observation: Any, symbol: complex | None = None, train: bool = True) -> complex | None:
        """Receive the next observation; return the decision about the symbol that was sent `delay` observations before.

        The decision is made before anything is learned. It is None for the first `delay` observations, while a model
        has seen fewer than `lags` of them, and while no channel was learned yet, which takes 24 training symbols.

        Parameters
        ----------
        observation
            y(t); the sequence of all samples of all antennas where there are several.
        symbol
            u(t), the symbol sent at the same time, where it is known. The decision about it is compared with it.
        train
            Whether the receiver knows the symbol too and the model may learn it; otherwise it serves for counting only.

        """
        row = self._row(observation)
        sent = np.array([self._index(symbol)])
        decided = self._receive(row, sent, sent if train else np.array([NONE]))[0]
        return None if decided[0] == NONE else self._symbols[decided[0]]

    def equalize_many(
        self,
        observations: Iterable[Any],
        symbols: Iterable[complex] | None = None,
        training: int | None = None,
        soft: bool = False,
    ) -> Any:
        """Receive observations in order; return the decision that falls with each, NaN where there is none.

        The decision at position t is about the symbol at t − `delay`.

        Parameters
        ----------
        observations
            The observations; one row a time and one column an antenna where there are several, and
            `samples_per_symbol` of them for each symbol.
        symbols
            The symbols sent at the same times, where they are known.
        training
            How many of these symbols, from the first, the receiver knows; by default all.
        soft
            Whether to return log-likelihood ratios ln P(bit = 0) / P(bit = 1) too, one column a bit, the most
            significant first.

        """
        checks.whole("training", training, low=0, optional=True)
        rows = self._rows(observations)
        sent = np.full(len(rows), NONE) if symbols is None else self._indices(symbols)
        if len(sent) != len(rows):
            raise ValueError(f"symbols must be as many as the observations ({len(rows)}), got {len(sent)}")
        known = np.where(np.arange(len(sent)) < (len(sent) if training is None else training), sent, NONE)
        decided, probabilities = self._receive(rows, sent, known)
        if self._kind == "channel" and len(rows) and self._receiver.chosen is None and (known == NONE).all():
            needed = FEWEST_TRAINING + self.delay
            warnings.warn(f"no decisions: a channel is learned from {needed} known symbols on", stacklevel=2)
        decisions = np.where(decided == NONE, math.nan, self._numbers[np.maximum(decided, 0)])
        return (decisions, self._ratios(probabilities)) if soft else decisions

    def _receive(self, rows: Signal, sent: Labels, known: Labels) -> tuple[Labels, Matrix]:
        if not len(rows):
            return sent, np.empty((0, len(self._symbols)))
        if self._receiver is None:
            self._receiver = self._new_receiver()
        if self._kind == "channel":
            parts = np.concatenate([rows.real, rows.imag], axis=1) if self._complex else rows.real
            seen = self._receiver.seen
            probabilities = self._receiver.receive(np.ascontiguousarray(parts, dtype=np.float64), known)
            ready = ~np.isnan(probabilities[:, 0]) & (np.arange(len(rows)) + seen >= self.delay)
            decided = np.where(ready, np.nan_to_num(probabilities).argmax(axis=1), NONE)
        else:
            decided, probabilities = self._receiver.receive(rows, known)
        waiting = np.concatenate([self._sent, sent])
        shift = self.delay - len(self._sent)
        about = waiting[: max(0, len(rows) - shift)]
        self._count(decided[len(decided) - len(about) :], about)
        self._sent = waiting[len(about) :]
        self._probabilities = probabilities[-1]
        return decided, probabilities

    def _new_receiver(self) -> Any:
        if self._kind == "channel":
            return LearnedChannel(self._numbers.astype(complex), self.delay, self.directed, self.memory)
        kind: Any = Classification
        if self._kind != "classification":
            kind = functools.partial(Regression, bits=self._kind == "bits", separate=self._separate)
        return kind(
            self.model,
            self.margin,
            symbols=self._numbers,
            lags=self.lags,
            delay=self.delay,
            feedback=self.feedback,
            width=self._width,
            complex_observations=self._complex,
            directed=self.directed,
            symmetric=self.symmetric,
        )

    # Checks -----------------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return self.antennas * self.samples_per_symbol

    def _row(self, observation: Any) -> Signal:
        values = (
            list(np.atleast_1d(np.asarray(observation, dtype=object)).ravel()) if self._width > 1 else [observation]
        )
        if len(values) != self._width:
            raise ValueError(f"observation must have {self._width} numbers, got {observation!r}")
        if not all(map(is_symbol, values)):
            raise ValueError(f"observation must be a finite number, got {observation!r}")
        if self._kind == "channel" and max(map(abs, values)) > LARGEST:
            raise ValueError(f"observation must be at most {LARGEST:g} in size, got {observation!r}")
        self._check_complex(any(not isinstance(value, numbers.Real) for value in values), observation)
        return np.array([[complex(value) for value in values]])

    def _rows(self, observations: Iterable[Any]) -> Signal:
        received = observations if isinstance(observations, np.ndarray) else list(observations)
        values = np.asarray(received)
        if values.dtype.kind not in "biufc":
            raise ValueError(f"observations must be finite numbers, got {received!r}")
        if values.size % self._width or (values.ndim > 1 and values.shape[-1] not in (self.antennas, self._width)):
            raise ValueError(f"observations must have {self._width} numbers a symbol, got shape {values.shape}")
        if not np.isfinite(values).all():
            t = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(f"observation must be a finite number, got {values[t]!r} at position {t}")
        if self._kind == "channel" and np.abs(values).max(initial=0.0) > LARGEST:
            raise ValueError(f"observation must be at most {LARGEST:g} in size, got {np.abs(values).max():g}")
        if len(values):
            self._check_complex(np.iscomplexobj(values), values.ravel()[0])
        return values.reshape(-1, self._width).astype(complex)

    def _check_complex(self, is_complex: bool, observation: Any) -> None:
        if is_complex and not self._complex:
            if self._receiver is not None:
                raise ValueError(f"observation must be real like those before it, got {observation!r}")
            self._complex = True

    def _index(self, symbol: complex | None) -> int:
        """The number of a symbol in the alphabet."""
        if symbol is None:
            return NONE
        # Symbols come from arithmetic: one that is right up to rounding is meant.
        matches = [i for i, other in enumerate(self._symbols) if abs(symbol - other) <= 1e-9 * abs(other)]
        if not matches:
            raise ValueError(f"symbol must be one of {self._symbols}, got {symbol!r}")
        return matches[0]

    def _indices(self, symbols: Iterable[complex]) -> Labels:
        values = symbols if isinstance(symbols, np.ndarray) else list(symbols)
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufc":
            return np.array([self._index(symbol) for symbol in values], dtype=np.int64)
        distances = np.abs(values[:, None] - self._numbers)
        found: Labels = distances.argmin(axis=1)
        wrong = distances[np.arange(len(found)), found] > 1e-9 * np.abs(self._numbers)[found]
        if wrong.any():
            self._index(values[int(wrong.argmax())])
        return found

    # Soft decisions and errors ----------------------------------------------------------------------------------------

    @property
    def probabilities(self) -> dict[complex, float]:
        """The probability of every symbol that the last decision was about; NaN before there is one."""
        return dict(zip(self._symbols, self._probabilities.tolist()))

    def _ratios(self, probabilities: Matrix) -> Matrix:
        """ln P(bit = 0) / P(bit = 1); probabilities below the smallest normal number count as that."""
        ones = bit_probabilities(probabilities)
        zeros = bit_probabilities(probabilities[:, ::-1]) if _is_power_of_two(len(self._symbols)) else 1.0 - ones
        tiny = np.finfo(float).tiny
        return np.log(np.maximum(zeros, tiny)) - np.log(np.maximum(ones, tiny))

    def _count(self, decided: Labels, sent: Labels) -> None:
        counted = (decided != NONE) & (sent != NONE)
        decided, sent = decided[counted], sent[counted]
        self.symbols_counted += len(sent)
        self.symbol_errors += int(np.count_nonzero(decided != sent))
        self.bit_errors += int(np.bitwise_count(decided ^ sent).sum())

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

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        return {
            "receiver": None if self._receiver is None else self._receiver.get_state(),
            "complex": self._complex,
            "separate": self._separate,
            "sent": self._sent,
            "probabilities": self._probabilities,
            "counts": (self.symbols_counted, self.symbol_errors, self.bit_errors),
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        if "known" in state:
            state = version1.state(state, self.delay, self.lags, len(self._symbols))
        self._complex, self._separate = state["complex"], state["separate"]
        self._sent, self._probabilities = state["sent"], state["probabilities"]
        self.symbols_counted, self.symbol_errors, self.bit_errors = state["counts"]
        if state["receiver"] is not None:
            self._receiver = self._new_receiver()
            self._receiver.set_state(state["receiver"])


def _is_power_of_two(value: int) -> bool:
    return value & (value - 1) == 0


def _detector(detector: str | None, model: Any) -> str:
    """The detector that goes with a model, or an error where the one that was asked for does not."""
    if detector is not None:
        checks.choice("detector", detector, DETECTORS)
    fitting: tuple[str, ...] = ("channel",)
    if isinstance(model, base.Classifier):
        fitting = ("classification",)
    elif isinstance(model, base.Regressor):
        fitting = ("regression", "bits")
    elif model is not None:
        fitting = ("regression", "bits", "classification")  # a pipeline does not say what it ends in
    if detector not in (None, *fitting):
        known = " or ".join(map(repr, fitting))
        raise ValueError(f"detector {detector!r} does not go with the model {model!r}, for which it is {known}")
    return detector or fitting[0]
