"""A detector that learns the channel and decides by Bayes' rule.

The observation is learned as a function of the last symbols, by kernel recursive least squares over the channel's few
states; the posterior of every symbol then follows from the trellis (`core.trellis`), as for a known channel. While
symbols are known it is trained on them; after that on its own decisions, where it is sure of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..core import states
from ..core.types import Matrix
from . import channel_model
from .bayes import Trellis
from .channel_model import ChannelModel

Labels = NDArray[np.int64]

# Observations between two updates of the channel: the table of its states is computed once for each.
BLOCK = 32
MOST_STATES = 4096
MOST_TRAINING = 1024
FEWEST_TRAINING = 24
LARGEST_DICTIONARY = 100
# How fast the channel may walk, as variance per symbol in units of the noise: not at all, slowly, fast. Which is right
# shows in the errors.
WALKS = (0.0, 3e-5, 1e-3)
# A decision is learned where its posterior reaches this.
SURE = 0.9
# Memory of the errors by which walks are compared, and of the noise, in symbols.
SCORE_MEMORY, NOISE_MEMORY = 150.0, 500.0
# A block is not learned where its mean squared error is so many times that of the blocks before, and after such a block
# the one before it is forgotten too.
SURPRISE = 3.0


class StateModel:
    """The means of all states of a channel: one dictionary, and a model for each speed at which the channel may walk.

    Parameters
    ----------
    choice
        Memory, kernel, ridge and noise.
    symbols
        The alphabet.
    components
        How many numbers an observation has.

    """

    def __init__(self, choice: ChannelModel, symbols: NDArray[np.complex128], components: int) -> None:
        self.choice = choice
        self.windows = channel_model.all_windows(len(symbols), choice.memory)
        samples = channel_model.features(symbols, self.windows)
        threshold = channel_model.THRESHOLD_SHARE * choice.ridge
        self.projections = channel_model.projections(choice.kernel, samples, threshold, LARGEST_DICTIONARY)
        rank = self.projections.shape[1]
        self.weights = np.zeros((len(WALKS), components, rank))
        self.covariances = np.repeat(np.eye(rank)[None] / choice.ridge, len(WALKS), axis=0)
        self.scores = np.zeros(len(WALKS))
        self._places = len(symbols) ** np.arange(choice.memory, -1, -1)
        self._gain = np.zeros(rank)

    @property
    def lead(self) -> int:
        """The model that has predicted best."""
        return int(self.scores.argmin())

    def means(self) -> Matrix:
        """The mean observation of every state, one row each."""
        return self.projections @ self.weights[self.lead].T

    def number(self, windows: Labels) -> Labels:
        """The states' numbers of windows of symbols."""
        return windows @ self._places

    def learn(self, numbers: Labels, rows: Matrix) -> Matrix:
        """Learn observations in order; the errors of every model before."""
        errors = np.empty((len(WALKS), *rows.shape))
        walks = np.array(WALKS)
        states.learn(self.projections, numbers, rows, self.weights, self.covariances, walks, errors, self._gain)
        return errors

    def copy_state(self) -> dict[str, Any]:
        """What was learned."""
        return {name: getattr(self, name).copy() for name in ("weights", "covariances", "scores")}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `copy_state` gave."""
        for name in ("weights", "covariances", "scores"):
            if state[name].shape != getattr(self, name).shape:
                raise ValueError(f"{name} has shape {state[name].shape} where {getattr(self, name).shape} is needed")
            setattr(self, name, state[name].copy())


class LearnedChannel:
    """The channel as far as it is known, and the messages of its trellis.

    Parameters
    ----------
    symbols
        The alphabet.
    delay
        D, how many observations after a symbol the decision about it falls.
    directed
        Whether to learn from decisions.
    memory
        L, how many earlier symbols an observation depends on; None to choose it from the training symbols.

    """

    def __init__(
        self, symbols: NDArray[np.complex128], delay: int, directed: bool = True, memory: int | None = None
    ) -> None:
        self._symbols, self._delay, self._directed, self._given_memory = symbols, delay, directed, memory
        self._reach = channel_model.LONGEST_MEMORY if memory is None else memory
        self._model: StateModel | None = None
        self._trellis: Trellis | None = None
        self._covariance = self._whiten = np.zeros((0, 0))
        self._centers = np.zeros((1, 0, 0))
        self._reference = 1.0  # mean squared error of a good block, in units of the noise
        self._before: dict[str, Any] = {}  # the models before the last block that was learned
        self._held = False
        # Observations and what is known of their symbols: those that are not learned yet, and the memory before.
        self._rows = np.zeros((0, 0))
        self._labels = np.zeros(0, dtype=np.int64)
        self._training = np.zeros(0, dtype=bool)
        self._learned = 0  # how many of them were learned
        self._seen = 0
        self._buffer_rows, self._buffer_labels = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        self._next_choice = FEWEST_TRAINING
        self._was_training = False

    @property
    def chosen(self) -> ChannelModel | None:
        """What was chosen from the training symbols."""
        return None if self._model is None else self._model.choice

    @property
    def seen(self) -> int:
        """How many observations were received."""
        return self._seen

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return 0 if self._model is None else self._model.projections.shape[1]

    # Observations in, posteriors out ----------------------------------------------------------------------------------

    def receive(self, rows: Matrix, known: Labels) -> Matrix:
        """The posterior of the symbol `delay` before each observation; NaN while no channel is known.

        Parameters
        ----------
        rows
            The observations, one column a component.
        known
            The numbers of the symbols sent at the same times where the receiver knows them; −1 elsewhere.

        """
        if not self._rows.shape[1]:
            self._rows = self._buffer_rows = np.zeros((0, rows.shape[1]))
        posteriors = np.full((len(rows), len(self._symbols)), np.nan)
        start = 0
        while start < len(rows):
            training = bool(known[start] >= 0)
            if training != self._was_training:
                self._switch(training)
            end = min(start + BLOCK - self._seen % BLOCK, len(rows))
            change = np.flatnonzero((known[start:end] >= 0) != training)
            end = start + int(change[0]) if len(change) else end
            part = slice(start, end)
            if self._trellis is not None:
                posteriors[part] = self._trellis.advance(rows[part] @ self._whiten.T, self._centers)[0]
            self._remember(rows[part], known[part], posteriors[part])
            self._seen += end - start
            if self._seen % BLOCK == 0:
                self._end_block()
            start = end
        return posteriors

    def _remember(self, rows: Matrix, known: Labels, posteriors: Matrix) -> None:
        """Append observations, and label the symbols that are known or decided."""
        first = len(self._labels) - self._delay  # the symbol that the first of these decisions is about
        self._rows = np.concatenate([self._rows, rows])
        self._labels = np.concatenate([self._labels, known])
        self._training = np.concatenate([self._training, known >= 0])
        if self._directed and self._trellis is not None:
            skip = max(0, -first)
            decided = posteriors[skip:].argmax(axis=1)
            sure = posteriors[skip:].max(axis=1, initial=0.0) >= SURE
            labels = self._labels[first + skip : first + len(rows)]
            labels[:] = np.where((labels < 0) & sure, decided, labels)

    # Training ---------------------------------------------------------------------------------------------------------

    def _switch(self, training: bool) -> None:
        """Training begins or ends."""
        self._was_training = training
        if training:
            self._buffer_rows, self._buffer_labels = self._buffer_rows[:0], self._buffer_labels[:0]
            # A channel that is known is kept while it predicts.
            self._next_choice = FEWEST_TRAINING if self._model is None else 4 * MOST_TRAINING
        else:
            self._fill_buffer()
            if self._next_choice < 4 * MOST_TRAINING and len(self._buffer_labels) >= FEWEST_TRAINING:
                self._choose()
            self._shift()

    def _fill_buffer(self) -> None:
        """Take training symbols over into the buffer from which a channel is chosen."""
        part = slice(self._learned, max(self._learned, len(self._labels) - self._delay))
        if self._training[part].any():
            labels = np.where(self._training[part], self._labels[part], -1)
            self._buffer_rows = np.concatenate([self._buffer_rows, self._rows[part]])[-MOST_TRAINING:]
            self._buffer_labels = np.concatenate([self._buffer_labels, labels])[-MOST_TRAINING:]

    def _choose(self) -> None:
        """Choose memory and kernel from the training symbols, and learn those from the first."""
        rows, labels = self._buffer_rows, self._buffer_labels
        choice = channel_model.choose(self._symbols, labels, rows, MOST_STATES, self._given_memory, self._delay)
        self._model = model = StateModel(choice, self._symbols, rows.shape[1])
        windows = np.lib.stride_tricks.sliding_window_view(labels, choice.memory + 1)[:, ::-1]
        good = (windows >= 0).all(axis=1)
        errors = model.learn(model.number(windows[good]), rows[choice.memory :][good])
        model.scores = (errors[:, -(errors.shape[1] // 2) :] ** 2).mean(axis=(1, 2))
        self._covariance = choice.noise * np.eye(rows.shape[1])
        self._reference, self._held, self._before = 1.0, False, model.copy_state()
        self._next_choice = 4 * len(labels) if 2 * len(labels) < MOST_TRAINING else 4 * MOST_TRAINING
        self._refresh()
        # The messages of another channel mean nothing: begin anew, from the observations that are still here.
        self._trellis = Trellis(len(self._symbols), choice.memory, self._delay)
        self._trellis.advance(self._rows[-BLOCK:] @ self._whiten.T, self._centers)

    # Learning ---------------------------------------------------------------------------------------------------------

    def _end_block(self) -> None:
        """Learn what can be learned; choose a channel anew where training symbols have become four times as many."""
        self._fill_buffer()
        if self._was_training and len(self._buffer_labels) >= self._next_choice:
            self._choose()
        elif self._model is not None:
            self._learn(self._model)
        self._shift()

    def _shift(self) -> None:
        """Drop what was learned, but for the memory before what is not."""
        until = max(self._learned, len(self._labels) - self._delay)
        drop = max(0, until - self._reach)
        self._rows, self._labels, self._training = self._rows[drop:], self._labels[drop:], self._training[drop:]
        self._learned = until - drop

    def _learn(self, model: StateModel) -> None:
        """Learn a block, unless its errors say that something is wrong with it or with the channel that is known."""
        memory = model.choice.memory
        start, until = max(self._learned, memory), len(self._labels) - self._delay
        if until <= start:
            return
        windows = np.lib.stride_tricks.sliding_window_view(self._labels[start - memory : until], memory + 1)[:, ::-1]
        good = (windows >= 0).all(axis=1)
        numbers, rows = model.number(windows[good]), self._rows[start:until][good]
        if not len(rows):
            return
        errors = (rows - model.means()[numbers]) @ self._whiten.T
        size = float((errors**2).mean())
        if size > SURPRISE * self._reference:
            self._doubt(model, len(rows))
            return
        self._held, self._before = False, model.copy_state()
        share = min(len(rows) / NOISE_MEMORY, 1.0)
        self._reference += share * (size - self._reference)
        found = model.learn(numbers, rows)
        led = found[model.lead]
        self._covariance = (1.0 - share) * self._covariance + share * (led.T @ led) / len(led)
        model.scores += min(len(rows) / SCORE_MEMORY, 1.0) * ((found**2).mean(axis=(1, 2)) - model.scores)
        self._refresh()

    def _doubt(self, model: StateModel, count: int) -> None:
        """A block that the channel does not explain: training symbols say that it has changed, decisions do not."""
        if self._was_training:
            self._buffer_rows, self._buffer_labels = self._buffer_rows[-count:], self._buffer_labels[-count:]
            self._next_choice = min(self._next_choice, FEWEST_TRAINING)
        elif not self._held:
            model.set_state(self._before)  # the block before may have held the first of the wrong decisions
            self._held = True
            self._refresh()

    def _refresh(self) -> None:
        """The table of the states' means, in units of the noise."""
        assert self._model is not None
        self._whiten = channel_model.whitening(self._covariance)
        self._centers = np.ascontiguousarray((self._model.means() @ self._whiten.T).T)[None]

    # Checkpoints ------------------------------------------------------------------------------------------------------

    _PLAIN = (
        "_covariance", "_whiten", "_centers", "_reference", "_before", "_held", "_rows", "_labels", "_training",
        "_learned", "_seen", "_buffer_rows", "_buffer_labels", "_next_choice", "_was_training",
    )  # fmt: skip

    def get_state(self) -> dict[str, Any]:
        """What was learned and what waits."""
        state = {name: getattr(self, name) for name in self._PLAIN}
        if self._model is not None and self._trellis is not None:
            choice = self._model.choice._asdict()
            state |= {"choice": choice, "model": self._model.copy_state(), "trellis": self._trellis.get_state()}
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        for name in self._PLAIN:
            setattr(self, name, state[name])
        if "choice" in state:
            choice = ChannelModel(**state["choice"])
            if not isinstance(choice.kernel, kernels.Kernel):
                raise ValueError(f"the channel's kernel must be a kernel, got {choice.kernel!r}")
            self._model = StateModel(choice, self._symbols, self._rows.shape[1])
            self._model.set_state(state["model"])
            self._trellis = Trellis(len(self._symbols), choice.memory, self._delay)
            self._trellis.set_state(state["trellis"])
