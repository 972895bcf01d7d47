"""Detectors that decide from a window of observations: regression to the symbol or its bits, or classification."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import Matrix
from ..kernels import Kernel
from .calibration import Temperature
from .outputs import Outputs

Labels = NDArray[np.int64]
Signal = NDArray[Any]

NONE = -1  # no decision, or a symbol that is not known
# Training symbols in a row from which on arrays are worth their while.
FEWEST_ROWS = 128
# Symbols from which a temperature is learned at a time, where they come in arrays.
COUNTED = 16


def rotations(symbols: Signal, complex_features: bool, odd: bool = False) -> list[complex]:
    """The rotations other than none that map the alphabet onto itself, by multiples of an eighth of a turn.

    Where the features are real a signal can be negated only. With `odd` those up to half a turn: the others are their
    negatives.
    """
    turns = [4] if not complex_features else list(range(1, 8))
    turns = [turn for turn in turns if turn < 4] if odd else turns
    found = []
    for turn in turns:
        factor = complex(round(math.cos(math.pi * turn / 4), 15), round(math.sin(math.pi * turn / 4), 15))
        distances = np.abs(symbols[:, None] * factor - symbols)
        if (distances.min(axis=1) <= 1e-9 * np.abs(symbols)).all():
            found.append(factor)
    return found


def is_odd(kernel: Any, columns: int) -> bool:
    """Whether the kernel's functions all have f(−x) = −f(x), which a few samples tell."""
    if not isinstance(kernel, Kernel) or kernel.compile(range(columns)).nonnegative:
        return False
    samples = np.cos(np.arange(4.0 * columns)).reshape(4, columns)
    return bool(np.allclose(kernel(samples, -samples), -kernel(samples), rtol=1e-9, atol=0.0))


class WindowDetector(abc.ABC):
    """What regression and classification share: windows of observations and past decisions, and the wait of `delay`.

    Parameters
    ----------
    model
        What learns.
    symbols
        The alphabet.
    lags, delay, feedback
        d, D, and the number of past decisions that are features.
    width
        How many numbers an observation has.
    complex_observations
        Whether these are complex.
    directed
        Whether to learn from decisions.
    symmetric
        Whether each sample is learned in all rotations that map the alphabet onto itself, but for negation where the
        model's kernel is odd.

    """

    def __init__(
        self,
        model: Any,
        symbols: Signal,
        lags: int,
        delay: int,
        feedback: int,
        width: int,
        complex_observations: bool,
        directed: bool,
        symmetric: bool,
    ) -> None:
        self.symbols, self.lags, self.delay, self.feedback = symbols, lags, delay, feedback
        self.directed = directed
        self._complex_features, self._complex_symbols = complex_observations, bool(np.iscomplexobj(symbols))
        self._history = np.zeros((0, width), dtype=complex)  # the last lags − 1 observations, the oldest first
        self._waiting = np.zeros(0, dtype=np.int64)  # what is known of the symbols that wait, the oldest first
        self._past = np.zeros(feedback, dtype=complex)  # past decisions, the newest first
        self._seen = 0
        parts = 2 if self._complex_features else 1
        self.columns = lags * width * parts + feedback * (2 if self._complex_symbols else 1)
        odd = symmetric and is_odd(getattr(model, "kernel", None), self.columns)
        self._rotations = rotations(symbols, complex_observations, odd) if symmetric else []

    def receive(self, rows: Signal, known: Labels) -> tuple[Labels, Matrix]:
        """The decisions that fall with these observations, −1 where there is none, and the symbols' probabilities."""
        count = len(rows)
        stream = np.concatenate([self._history, rows])
        labels = np.concatenate([self._waiting, known])
        decided = np.full(count, NONE)
        probabilities = np.full((count, len(self.symbols)), np.nan)
        first = max(0, self.lags - 1 - len(self._history), self.delay - self._seen)
        # Labels begin with the symbols that wait, of which there are fewer than `delay` at the start of the stream.
        shift = self.delay - len(self._waiting)
        t = first
        while t < count:
            until = t
            while until < count and labels[until - shift] != NONE:
                until += 1
            if until - t >= FEWEST_ROWS and self._takes_arrays:
                part = slice(t, until)
                windows = self._stack(stream, t, until)
                decided[part], probabilities[part] = self._train(windows, labels[t - shift : until - shift])
                t = until
            else:
                window = stream[t + len(self._history) - self.lags + 1 : t + len(self._history) + 1][::-1]
                decided[t], probabilities[t] = self._step(window.ravel(), int(labels[t - shift]))
                t += 1
        self._history = stream[max(0, len(stream) - self.lags + 1) :]
        self._waiting = labels[max(0, len(labels) - self.delay) :]
        self._seen += count
        return decided, probabilities

    def _stack(self, stream: Signal, start: int, until: int) -> Signal:
        """The windows of observations number start, ..., until − 1, the latest observation first."""
        offset = len(self._history) - self.lags + 1
        part = stream[start + offset : until + offset + self.lags - 1]
        windows = np.lib.stride_tricks.sliding_window_view(part, self.lags, axis=0)[:, :, ::-1]
        return windows.transpose(0, 2, 1).reshape(until - start, -1)

    def _features(self, windows: Signal, past: Signal) -> Matrix:
        """Rows of numbers: observations, then past decisions; complex ones as two parts."""
        parts = [_parts(windows, self._complex_features), _parts(past, self._complex_symbols)]
        return np.concatenate(parts, axis=1)

    def _step(self, window: Signal, label: int) -> tuple[int, Any]:
        """Decide on one symbol, then learn it or the decision."""
        row = self._features(window[None], self._past[None])[0]
        decided, probabilities, sure = self._decide(dict(enumerate(row.tolist())))
        learned = label if label != NONE else decided if self.directed and sure else NONE
        if learned != NONE:
            for factor in (1.0, *self._rotations):
                turned = self._features(factor * window[None], factor * self._past[None])[0]
                self._learn(dict(enumerate(turned.tolist())), self._turned(learned, factor), label != NONE)
        if self.feedback:
            self._past = np.concatenate([[self.symbols[label if label != NONE else decided]], self._past[:-1]])
        return decided, probabilities

    def _turned(self, label: int, factor: complex) -> int:
        """The number of a rotated symbol."""
        return int(np.abs(self.symbols - factor * self.symbols[label]).argmin())

    def _train(self, windows: Signal, labels: Labels) -> tuple[Labels, Matrix]:
        """Decide and learn symbols that are all known, through arrays: the same as one after the other."""
        values = self.symbols[labels]
        pasts = np.concatenate([self._past[::-1], values])
        past = (
            np.lib.stride_tricks.sliding_window_view(pasts[:-1], self.feedback)[:, ::-1]
            if self.feedback
            else np.zeros((len(labels), 0), dtype=complex)
        )
        factors = np.array([1.0, *self._rotations])
        rows = np.stack([self._features(factor * windows, factor * past) for factor in factors], axis=1)
        turned = np.abs(self.symbols - (values[:, None] * factors)[:, :, None]).argmin(axis=2)
        group = len(factors)
        result = self._learn_rows(rows.reshape(-1, rows.shape[2]), turned.ravel(), group)
        if self.feedback:
            self._past = np.ascontiguousarray(pasts[::-1][: self.feedback])
        return result

    @property
    @abc.abstractmethod
    def _takes_arrays(self) -> bool:
        """Whether `_learn_rows` is there."""

    @abc.abstractmethod
    def _decide(self, x: dict[int, float]) -> tuple[int, Any, bool]:
        """The decision, the probabilities, and whether the decision may be learned."""

    @abc.abstractmethod
    def _learn(self, x: dict[int, float], label: int, known: bool) -> None:
        """Learn one sample, whose label was known or decided."""

    @abc.abstractmethod
    def _learn_rows(self, rows: Matrix, labels: Labels, group: int) -> tuple[Labels, Matrix]:
        """Decisions and probabilities before learning for every `group`-th row, and learn all."""

    _PLAIN = ("_waiting", "_seen")

    def get_state(self) -> dict[str, Any]:
        """What waits and what is remembered."""
        state = {name: getattr(self, name) for name in self._PLAIN}
        return state | {name: _split(getattr(self, name)) for name in ("_history", "_past")}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        for name in self._PLAIN:
            setattr(self, name, state[name])
        self._history, self._past = _join(state["_history"]), _join(state["_past"])


def _parts(values: Signal, is_complex: bool) -> Matrix:
    if not is_complex:
        return np.ascontiguousarray(values.real, dtype=np.float64)
    return np.stack([values.real, values.imag], axis=2).reshape(len(values), -1)


def _split(values: Signal) -> Matrix:
    return np.stack([values.real, values.imag]).astype(np.float64)


def _join(parts: Matrix) -> Signal:
    return parts[0] + 1j * parts[1]


class Regression(WindowDetector):
    """The nearest symbol to a least-squares estimate of its parts, or of its bits.

    Probabilities are those of normal errors of a size that symbols which were known have shown. With `separate`, as
    in the first release: a model for each part, and one sample at a time.
    """

    def __init__(self, model: Any, margin: float, bits: bool = False, separate: bool = False, **options: Any) -> None:
        super().__init__(model, **options)
        self._margin = margin
        # What is estimated of each symbol: its parts, or its bits as corners of a cube.
        self._places = corners(len(self.symbols)) if bits else _parts(self.symbols[:, None], self._complex_symbols)
        outputs = self._places.shape[1]
        self._shared = None if separate else Outputs.of(model, outputs, self.columns)
        # A model of river, or one that learns its kernel: one for each output.
        clones = 0 if self._shared is not None else outputs - 1
        self.models = [model, *(model.clone() for _ in range(clones))]
        self._unit = 0.5 * outputs / float((self._places**2).mean(axis=0).sum())
        self._temperature = Temperature()
        self._last: Matrix | None = None  # squared distances of the decision that was made last

    @property
    def _takes_arrays(self) -> bool:
        return self._shared is not None

    def _estimate(self, x: dict[int, float]) -> list[float]:
        if self._shared is not None:
            return self._shared.predict(x)[: self._places.shape[1]]
        return [float(model.predict_one(x)) for model in self.models]

    def _decide(self, x: dict[int, float]) -> tuple[int, Any, bool]:
        self._last = squares = self._squares(np.array([self._estimate(x)]))
        nearest, second = np.sqrt(np.partition(squares[0], 1)[:2]).tolist()
        probabilities = self._temperature.probabilities(self._scores(squares))[0]
        return int(squares[0].argmin()), probabilities, bool(second - nearest >= self._margin)

    def _learn(self, x: dict[int, float], label: int, known: bool) -> None:
        targets = self._places[label].tolist()
        if known and self._last is not None:  # of the sample itself, not of its rotations
            self._count(self._last, np.array([label]))
            self._last = None
        if self._shared is not None:
            self._shared.learn(x, targets)
        else:
            for model, part in zip(self.models, targets):
                model.learn_one(x, part)

    def _learn_rows(self, rows: Matrix, labels: Labels, group: int) -> tuple[Labels, Matrix]:
        assert self._shared is not None
        squares = self._squares(self._shared.learn_many(rows, self._places[labels])[::group])
        probabilities = self._temperature.probabilities(self._scores(squares))
        self._count(squares, labels[::group])
        return squares.argmin(axis=1), probabilities

    def _squares(self, estimates: Matrix) -> Matrix:
        """Squared distances of estimates from what is right for each symbol."""
        squares: Matrix = ((estimates[:, None] - self._places) ** 2).sum(axis=2)
        return squares

    def _scores(self, squares: Matrix) -> Matrix:
        """Logarithms of the likelihoods of the symbols, if nothing was known of them."""
        return -self._unit * squares

    def _count(self, squares: Matrix, labels: Labels) -> None:
        """Learn how sure decisions can be."""
        for start in range(0, len(labels), COUNTED):
            part = slice(start, start + COUNTED)
            self._temperature.learn(self._scores(squares[part]), labels[part])

    def get_state(self) -> dict[str, Any]:
        """What waits, what is remembered, and the models of all outputs but the first."""
        return super().get_state() | {"models": self.models[1:], "temperature": self._temperature.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        super().set_state(state)
        self.models[1:] = state["models"]
        self._temperature.set_state(state["temperature"])


def corners(size: int) -> Matrix:
    """The bits of the numbers below `size`, the most significant first: 1 where a bit is 0, and −1 where it is 1."""
    bits = (size - 1).bit_length()
    ones = (np.arange(size)[:, None] >> np.arange(bits - 1, -1, -1)) & 1
    return 1.0 - 2.0 * ones.astype(np.float64)


class Classification(WindowDetector):
    """The most probable symbol of a classifier."""

    def __init__(self, model: Any, margin: float, **options: Any) -> None:
        super().__init__(model, **options)
        self._model, self._margin = model, margin
        if callable(getattr(model, "know", None)):
            model.know(range(len(self.symbols)))

    @property
    def _takes_arrays(self) -> bool:
        return False

    def _decide(self, x: dict[int, float]) -> tuple[int, Any, bool]:
        shares = self._model.predict_proba_one(x)
        probabilities = np.array([float(shares.get(k, 0.0)) for k in range(len(self.symbols))])
        total = probabilities.sum()
        probabilities = probabilities / total if total > 0.0 else np.full(len(probabilities), 1.0 / len(probabilities))
        second, first = np.partition(probabilities, -2)[-2:]
        return int(probabilities.argmax()), probabilities, bool(first - second >= self._margin)

    def _learn(self, x: dict[int, float], label: int, known: bool) -> None:
        self._model.learn_one(x, label)

    def _learn_rows(self, rows: Matrix, labels: Labels, group: int) -> tuple[Labels, Matrix]:
        raise NotImplementedError
