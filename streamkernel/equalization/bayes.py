"""The exact Bayes detector of a known channel: what no equalizer can beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import trellis
from ..core.triangular import PANEL
from ..core.types import Matrix, Vector

# Observations at a time where the centers change with them.
CHUNK = 512


class Trellis:
    """The state of `core.trellis` between calls: messages over all sequences that an observation depends on.

    Parameters
    ----------
    size
        M, the number of symbols in the alphabet.
    memory
        L, how many earlier symbols an observation depends on.
    delay
        D, how many observations after a symbol its posterior is wanted.

    """

    def __init__(self, size: int, memory: int, delay: int) -> None:
        self.size, self.memory, self.delay = size, memory, delay
        self.states = size ** (memory + 1)
        width = -(-self.states // PANEL) * PANEL
        rows = max(0, delay - memory) + 1
        self.messages, self.likelihoods = np.zeros((rows, width)), np.zeros((rows, width))
        self.messages[:, : self.states] = 1.0 / self.states
        self._backward = np.zeros((2, width))
        self.seen = 0

    def advance(self, observations: Matrix, centers: Matrix) -> tuple[Matrix, Vector]:
        """The posteriors of the symbols `delay` before each observation, and how surprising each observation was.

        Observations and centers are in units of the noise; `centers` is (1 or n, components, states).
        """
        posteriors, surprises = np.empty((len(observations), self.size)), np.empty(len(observations))
        trellis.detect(
            observations,
            centers,
            (self.size, self.memory, self.delay),
            (self.messages, self.likelihoods, self._backward),
            self.seen,
            posteriors,
            surprises,
        )
        self.seen += len(observations)
        return posteriors, surprises

    def get_state(self) -> dict[str, Any]:
        """What the next observation needs to know of those before."""
        return {"messages": self.messages.copy(), "likelihoods": self.likelihoods.copy(), "seen": self.seen}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        for name in ("messages", "likelihoods"):
            if state[name].shape != getattr(self, name).shape:
                raise ValueError(f"{name} has shape {state[name].shape} where {getattr(self, name).shape} is needed")
        self.messages, self.likelihoods, self.seen = state["messages"], state["likelihoods"], state["seen"]


class BayesDetector:
    """The symbol posteriors of a channel that is known exactly, from all observations so far.

    The forward-backward algorithm over the channel's states, with the channel's `delay`: the decision about u(t - D)
    falls with y(t). No equalizer of that delay makes fewer errors, whatever number of observations it looks at.

    Parameters
    ----------
    channel
        A channel of `streamkernel.datasets`, with Gaussian noise.
    delay
        D; None for the channel's own.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import datasets
    >>> from streamkernel.equalization import BayesDetector

    >>> channel = datasets.named_channel("cubic", seed=1).at_snr(11)
    >>> symbols, observations = channel.sequence(20_000)
    >>> decisions = BayesDetector(channel).decide(observations)
    >>> float(np.mean(decisions[1:] != symbols[:-1]).round(3))
    0.009

    """

    def __init__(self, channel: Any, delay: int | None = None) -> None:
        if callable(channel.noise) or not channel.noise > 0:
            raise ValueError(f"channel must have Gaussian noise of a positive deviation, got noise={channel.noise!r}")
        self.channel = channel
        self._trellis = Trellis(len(channel.symbols), channel.memory, channel.delay if delay is None else delay)
        self._spread = channel.noise / np.sqrt(2.0) if channel.is_complex else channel.noise
        self._fixed = None if hasattr(channel, "centers_at") else self._scaled(channel.centers()[None])

    def _scaled(self, centers: NDArray[Any]) -> Matrix:
        """Centers as (times, components, states) in units of the noise."""
        parts = [centers.real, centers.imag] if self.channel.is_complex else [centers]
        return np.ascontiguousarray(np.stack(parts, axis=1)) / self._spread

    def posteriors(self, observations: Any) -> Matrix:
        """P(u(t - D) = symbol k) with each observation, one column a symbol; flat where t < D."""
        received = np.asarray(observations)
        parts = [received.real, received.imag] if self.channel.is_complex else [received]
        rows = np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.float64) / self._spread
        if self._fixed is not None:
            return self._trellis.advance(rows, self._fixed)[0]
        found = []
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            centers = self.channel.centers_at(self._trellis.seen, len(part))
            # One observation has one set of centers, which the trellis would take for fixed ones all the same.
            found.append(self._trellis.advance(part, self._scaled(centers))[0])
        return np.concatenate(found) if found else np.empty((0, self._trellis.size))

    def decide(self, observations: Any) -> NDArray[Any]:
        """The most probable symbol u(t - D) with each observation."""
        decisions: NDArray[Any] = self.channel.symbols[self.posteriors(observations).argmax(axis=1)]
        return decisions
