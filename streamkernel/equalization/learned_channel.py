"""A detector that learns the channel and decides by Bayes' rule.

The observation is learned as a function of the last symbols, by kernel recursive least squares over the channel's few
states; the posterior of every symbol then follows from the trellis (`core.trellis`), as for a known channel. While
symbols are known it is trained on them; after that on its own decisions, where it is sure of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import Matrix, Vector
from . import channel_model
from .bayes import Trellis
from .channel_model import ChannelModel
from .outputs import Outputs

# Observations between two updates of the channel: the table of its states is computed once for each.
BLOCK = 32
MOST_STATES = 4096
MOST_TRAINING = 1024
FEWEST_TRAINING = 24
LARGEST_DICTIONARY = 200
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
        self.chosen: ChannelModel | None = None
        self._models: list[Outputs] = []
        self._trellis: Trellis | None = None
        self._scores = np.zeros(len(WALKS))
        self._covariance = self._whiten = np.zeros((0, 0))
        self._centers = np.zeros((1, 0, 0))
        self._reference = 1.0  # mean squared error of a good block, in units of the noise
        self._before: list[dict[str, Any]] = []  # the models before the last block that was learned
        self._held = False
        # Observations and what is known of their symbols, for those that are not learned yet and the memory before.
        self._rows = np.zeros((0, 0))
        self._labels = np.zeros(0, dtype=np.int64)
        self._training = np.zeros(0, dtype=bool)
        self._learned = 0  # how many of them were learned
        self._seen = 0
        self._buffer: tuple[Matrix, NDArray[np.int64]] = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        self._next_choice = FEWEST_TRAINING
        self._was_training = False

    # Observations in, posteriors out ----------------------------------------------------------------------------------

    def receive(self, rows: Matrix, known: NDArray[np.int64]) -> Matrix:
        """The posterior of the symbol `delay` before each observation; NaN while no channel is known.

        Parameters
        ----------
        rows
            The observations, one column a component.
        known
            The numbers of the symbols sent at the same times where the receiver knows them; −1 elsewhere.

        """
        posteriors = np.full((len(rows), len(self._symbols)), np.nan)
        start = 0
        while start < len(rows):
            training = known[start] >= 0
            if self._was_training and not training:
                self._end_training()
            elif training and not self._was_training:
                self._begin_training()
            self._was_training = bool(training)
            end = min(start + BLOCK - self._seen % BLOCK, len(rows))
            change = np.flatnonzero((known[start:end] >= 0) != training)
            end = start + int(change[0]) if len(change) else end
            part = slice(start, end)
            posteriors[part] = self._decide(rows[part])
            self._remember(rows[part], known[part], posteriors[part])
            self._seen += end - start
            if self._seen % BLOCK == 0:
                self._end_block()
            start = end
        return posteriors

    def _decide(self, rows: Matrix) -> Matrix:
        if self._trellis is None:
            return np.full((len(rows), len(self._symbols)), np.nan)
        return self._trellis.advance(rows @ self._whiten.T, self._centers)[0]

    def _remember(self, rows: Matrix, known: NDArray[np.int64], posteriors: Matrix) -> None:
        """Append observations, and label the symbols that are known or decided."""
        if not self._rows.shape[1]:
            self._rows = np.zeros((0, rows.shape[1]))
            self._buffer = np.zeros((0, rows.shape[1])), self._buffer[1]
        first = len(self._labels) - self._delay  # the symbol that the first of these decisions is about
        self._rows = np.concatenate([self._rows, rows])
        self._labels = np.concatenate([self._labels, known])
        self._training = np.concatenate([self._training, known >= 0])
        if self._directed and self._trellis is not None:
            for i, posterior in enumerate(posteriors):
                if first + i >= 0 and self._labels[first + i] < 0:
                    decided = int(posterior.argmax())
                    if posterior[decided] >= SURE:
                        self._labels[first + i] = decided

    # Learning --------------------------------------------------------------------------------------------------------

    def _windows(self, memory: int) -> tuple[Matrix, NDArray[np.int64]]:
        """The observations that wait to be learned and all of whose symbols are decided, with those symbols."""
        until = len(self._labels) - self._delay
        start = max(self._learned, memory)
        if until <= start:
            return self._rows[:0], np.zeros((0, memory + 1), dtype=np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(self._labels[start - memory : until], memory + 1)[:, ::-1]
        good = (windows >= 0).all(axis=1)
        return self._rows[start:until][good], windows[good]

    def _forget_old(self) -> None:
        """Drop what was learned, but for the memory before it."""
        until = max(self._learned, len(self._labels) - self._delay)
        drop = max(0, until - channel_model.LONGEST_MEMORY - (self._given_memory or 0))
        self._rows, self._labels, self._training = self._rows[drop:], self._labels[drop:], self._training[drop:]
        self._learned = until - drop

    def _end_block(self) -> None:
        """Learn what can be learned, choose a channel where training symbols have become twice as many."""
        self._extend_buffer()
        if self._was_training and len(self._buffer[1]) >= self._next_choice:
            self._choose()
        elif self.chosen is not None:
            rows, windows = self._windows(self.chosen.memory)
            if len(rows):
                self._learn(rows, windows)
        self._forget_old()

    def _extend_buffer(self) -> None:
        """Take training symbols over into the buffer from which a channel is chosen."""
        until = max(self._learned, len(self._labels) - self._delay)
        part = slice(self._learned, until)
        if self._training[part].any():
            rows = np.concatenate([self._buffer[0], self._rows[part]])
            labels = np.concatenate([self._buffer[1], np.where(self._training[part], self._labels[part], -1)])
            self._buffer = rows[-MOST_TRAINING:], labels[-MOST_TRAINING:]

    def _begin_training(self) -> None:
        """Symbols are known (again): the channel may be another one than before."""
        self._buffer = self._buffer[0][:0], self._buffer[1][:0]
        if self.chosen is None:
            self._next_choice = FEWEST_TRAINING
        else:
            self._next_choice = 4 * MOST_TRAINING  # the channel that is known is kept while it predicts

    def _end_training(self) -> None:
        """The last training symbols wait for their delay; choose once more if there are more than at the last choice."""
        self._extend_buffer()
        fresh = self.chosen is None or self._next_choice <= 2 * MOST_TRAINING
        if fresh and len(self._buffer[1]) >= min(FEWEST_TRAINING, self._next_choice):
            self._choose()
            self._forget_old()
        self._buffer = self._buffer[0][:0], self._buffer[1][:0]

    def _choose(self) -> None:
        """Choose memory and kernel from the training symbols, and learn them from the first."""
        rows, labels = self._buffer
        self.chosen = choice = channel_model.choose(self._symbols, labels, rows, MOST_STATES, self._given_memory)
        width, outputs = channel_model.features(self._symbols, np.zeros((1, choice.memory + 1), int)).shape[1], 0
        outputs = rows.shape[1]
        threshold = channel_model.THRESHOLD_SHARE * choice.ridge
        self._models = [
            Outputs.new(
                choice.kernel, outputs, width, threshold, choice.ridge, 1.0 - walk * choice.ridge, LARGEST_DICTIONARY
            )
            for walk in WALKS
        ]
        windows = np.lib.stride_tricks.sliding_window_view(labels, choice.memory + 1)[:, ::-1]
        good = (windows >= 0).all(axis=1)
        samples, targets = channel_model.features(self._symbols, windows[good]), rows[choice.memory :][good]
        self._covariance = choice.noise * np.eye(outputs)
        for i, model in enumerate(self._models):
            errors = targets - model.learn_many(samples, targets)
            self._scores[i] = float((errors[-len(errors) // 2 :] ** 2).mean())
        self._reference, self._held = 1.0, False
        self._before = [model.get_state() for model in self._models]
        self._refresh(renewed=True)
        self._next_choice = 2 * len(labels) if len(labels) < MOST_TRAINING else 4 * MOST_TRAINING

    def _learn(self, rows: Matrix, windows: NDArray[np.int64]) -> None:
        """Learn a block, unless its errors say that something is wrong with it or with the channel that is known."""
        assert self.chosen is not None
        samples = channel_model.features(self._symbols, windows)
        lead = int(self._scores.argmin())
        errors = rows - self._models[lead].predict_many(samples)
        size = float(((errors @ self._whiten.T) ** 2).mean())
        if size > SURPRISE * self._reference:
            if self._was_training:
                # Training symbols do not lie: the channel is another one.
                self._next_choice = FEWEST_TRAINING
                self._keep_newest_buffer(len(rows))
                return
            if not self._held:
                for model, state in zip(self._models, self._before):
                    model.set_state(state)
                self._refresh()
            self._held = True
            return
        self._held = False
        share = len(rows) / NOISE_MEMORY
        self._reference += min(share, 1.0) * (size - self._reference)
        self._before = [model.get_state() for model in self._models]
        for i, model in enumerate(self._models):
            errors = rows - model.learn_many(samples, rows)
            share = min(len(rows) / SCORE_MEMORY, 1.0)
            self._scores[i] += share * (float((errors**2).mean()) - self._scores[i])
            if i == lead:
                share = min(len(rows) / NOISE_MEMORY, 1.0)
                self._covariance = (1.0 - share) * self._covariance + share * (errors.T @ errors) / len(errors)
        self._refresh()

    def _keep_newest_buffer(self, count: int) -> None:
        rows, labels = self._buffer
        self._buffer = rows[-count:], labels[-count:]

    def _refresh(self, renewed: bool = False) -> None:
        """The table of the states' means, and the trellis over them."""
        assert self.chosen is not None
        memory, size = self.chosen.memory, len(self._symbols)
        states = channel_model.features(self._symbols, channel_model.all_windows(size, memory))
        means = self._models[int(self._scores.argmin())].predict_many(states)
        self._whiten = channel_model.whitening(self._covariance)
        self._centers = np.ascontiguousarray((means @ self._whiten.T).T)[None]
        if renewed or self._trellis is None:
            recent = self._rows[-BLOCK:]
            if self._trellis is None or self._trellis.memory != memory:
                self._trellis = Trellis(size, memory, self._delay)
            # The messages of another channel mean nothing: begin anew, from the observations that are still here.
            self._trellis = Trellis(size, memory, self._delay)
            self._trellis.advance(recent @ self._whiten.T, self._centers)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._models[int(self._scores.argmin())].size if self._models else 0
