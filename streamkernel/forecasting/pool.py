"""All experts of a series whose structure is known, over one history.

The smoothing recursions see the values as they are, and their seasonal terms, as they were before each value, give the
seasonally adjusted series on which further experts work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.types import Matrix, Vector
from . import autoregression
from .autoregression import Autoregressions
from .kernel_expert import Embedding, KernelExpert
from .smoothing import FAMILIES, Smoothing
from .structure import Transform

# Values that experts look back on; the seasonal recursions remember more in their terms.
WINDOW = 3000
NEAR, FAR = (1, 2, 3, 4), tuple(range(1, 14))
SPREAD_RATE = 0.05


class Structure(NamedTuple):
    """What was found out about a series."""

    transform: Transform
    seasons: tuple[int, ...] = ()
    deterministic: bool = False
    """Whether the next value follows from the past ones without visible noise."""

    @property
    def season(self) -> int:
        """The strongest season, or 1."""
        return self.seasons[0] if self.seasons else 1


def embeddings(structure: Structure, exogenous: bool) -> list[Embedding]:
    """The kernel experts of a structure."""
    adjusted = bool(structure.seasons)
    tail = ", seasonally adjusted" if adjusted else ""
    found = [
        Embedding(f"kernel on values{tail}", NEAR, adjusted=adjusted),
        Embedding(f"kernel on changes{tail}", NEAR, relative=True, adjusted=adjusted, ridge=1.0),
        Embedding("kernel on many values", FAR, ridge=0.1),
    ]
    if exogenous:
        found += [
            Embedding(f"kernel on values and features{tail}", NEAR, adjusted=adjusted, exogenous=True),
            Embedding(f"line on values and features{tail}", NEAR, adjusted=adjusted, exogenous=True, curved=False),
        ]
    if structure.deterministic:
        found += [exact(stride, count) for stride, count in EXACT]
    return found


# Strides and numbers of values from which a series without noise is continued. Short strides are best for the next
# value; with longer ones errors grow more slowly when the forecast is iterated.
EXACT = ((1, 3), (1, 12), (2, 8), (3, 8), (4, 8))
EXACT_SIZE = 400


def exact(stride: int, count: int) -> Embedding:
    """A kernel expert for a series without noise."""
    delays = tuple(stride * k for k in range(1, count + 1))
    name = f"exact kernel on {count} values {stride} apart"
    return Embedding(name, delays, ridge=1e-10, width=1.0, threshold=1e-9, max_size=EXACT_SIZE, linear=0.0, exact=True)


class Pool:
    """The experts; `first` are the values that their scales and first states are taken from."""

    def __init__(self, structure: Structure, first: Vector, exogenous: int) -> None:
        self.structure, self.first = structure, first
        season = structure.season
        spreads = autoregression.spreads(first, season)
        lags = autoregression.choose_lags(len(first), season)
        self._smoothing = Smoothing(structure.seasons, first)
        models = autoregression.PLAIN + (autoregression.SEASONAL if structure.seasons else autoregression.FAST)
        self._plain = Autoregressions(models, season, spreads, lags)
        self._adjusted: Autoregressions | None = None
        if structure.seasons:
            near = autoregression.choose_lags(len(first), 1)
            steady = {(0, 0): spreads[0, 0], (1, 0): spreads[0, 1] / np.sqrt(2.0)}
            self._adjusted = Autoregressions(autoregression.ADJUSTED, 1, steady, near)
        self._kernels = [KernelExpert(embedding) for embedding in embeddings(structure, exogenous > 0)]
        # Rows: values, seasonally adjusted values, then exogenous features.
        self._table = np.zeros((2 + exogenous, 2 * WINDOW))
        self._size = 0
        self._start = 0.0
        self._spread = spreads[1, 0]
        self._count = 0
        self.names = [*FAMILIES, *self._plain.names, *(self._adjusted.names if self._adjusted else [])]
        self.names += [expert.embedding.name for expert in self._kernels]
        naive = ["seasonal naive", "seasonal naive with drift"] if structure.seasons else ["naive"]
        self.names += [*naive, "drift"]
        self._naive = len(naive) + 1

    def distances(self, x: Vector) -> Vector:
        """How many spreads away each exogenous feature lies, by the learner for which that is most."""
        found = np.zeros(len(x))
        for expert in self._kernels:
            own = expert.distances(x)
            found[: len(own)] = np.maximum(found[: len(own)], own[: len(found)])
        return found

    @property
    def left_out(self) -> int:
        """The most values that one of the kernel learners could not learn since the structure last changed."""
        return max((expert.left_out for expert in self._kernels), default=0)

    @property
    def history(self) -> Vector:
        """The values of the window."""
        return self._table[0, : self._size]

    def learn(self, value: float, x: Vector) -> None:
        """Take in the next value."""
        season = self.structure.season
        self._append(value, x)
        self._smoothing.learn(value, max(self._spread, 1e-12))
        values, adjusted = self._table[:2, : self._size]
        features = self._table[2:, : self._size].T
        if self._size > 1:
            self._spread += SPREAD_RATE * (abs(value - values[-2]) * 1.25 - self._spread)
        if self._size > season + 3:
            self._plain.learn(values)
            if self._adjusted is not None:
                self._adjusted.learn(adjusted)
            for expert in self._kernels:
                expert.learn(adjusted if expert.embedding.adjusted else values, features)

    def skip(self, value: float, x: Vector) -> None:
        """Go on over a gap, in which `value` stands for what is not known: no expert learns it as a target."""
        self._append(value, x)
        self._smoothing.skip()

    def _append(self, value: float, x: Vector) -> None:
        if self._size == self._table.shape[1]:
            self._table[:, :WINDOW] = self._table[:, self._size - WINDOW :].copy()
            self._size = WINDOW
        if not self._count:
            self._start = value
        column = self._table[:, self._size]
        column[0], column[1] = value, value - self._smoothing.forecast(1)[1][0]
        column[2 : 2 + len(x)] = x[: len(column) - 2]
        self._size += 1
        self._count += 1

    def forecast(self, horizon: int, future: Matrix) -> Matrix:
        """The next values, one expert in a row; `future` has their exogenous features."""
        values, adjusted = self._table[:2, : self._size]
        season, steps = self.structure.season, np.arange(1, horizon + 1)
        smoothed, terms = self._smoothing.forecast(horizon)
        rows = [*smoothed, *self._plain.forecast(values, horizon)]
        if self._adjusted is not None:
            rows += list(self._adjusted.forecast(adjusted, horizon) + terms)
        for expert in self._kernels:
            if expert.embedding.adjusted:
                rows.append(expert.forecast(adjusted, horizon, future) + terms)
            else:
                rows.append(expert.forecast(values, horizon, future))
        slope = (values[-1] - self._start) / max(self._count - 1, 1)
        if self.structure.seasons:
            last = np.resize(values[-season:], horizon)
            known = len(values) >= 2 * season
            change = float((values[-season:] - values[-2 * season : -season]).mean()) if known else 0.0
            rows += [last, last + change * (1 + (steps - 1) // season)]
        else:
            rows.append(np.full(horizon, values[-1]))
        rows.append(values[-1] + slope * steps)
        return np.array(rows)

    def with_late(self, rows: Matrix, length: int) -> Matrix:
        """Trial forecasts of the last values, with those of the experts that needed features known only now.

        These are asked now, from the series as it was then. That they have learned the values meanwhile is a small
        advantage: one sample of many.
        """
        values, adjusted = self._table[:2, : self._size]
        features = self._table[2:, : self._size].T
        rows = rows.copy()
        for name, expert in zip(self.names[-len(self._kernels) - self._naive : -self._naive], self._kernels):
            if expert.embedding.exogenous:
                series, terms = (adjusted, values - adjusted) if expert.embedding.adjusted else (values, 0.0 * values)
                ahead = expert.forecast(series[:-length], length, features[-length:])
                rows[self.names.index(name)] = ahead + terms[-length:]
        return rows

    def retire(self, useless: list[str]) -> None:
        """Let kernel experts for series without noise that are of no use rest: they are the expensive ones."""
        for expert in self._kernels:
            if expert.embedding.name in useless and expert.embedding.exact:
                expert.retire()

    def relevance(self) -> dict[int, float]:
        """How much each lag matters to the autoregressions of the series."""
        sizes = self._plain.sizes()
        total = sum(sizes.values()) or 1.0
        return {lag: size / total for lag, size in sizes.items()}

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "smoothing": self._smoothing.get_state(),
            "plain": self._plain.get_state(),
            "adjusted": self._adjusted.get_state() if self._adjusted else None,
            "kernels": [expert.get_state() for expert in self._kernels],
            "table": self._table[:, : self._size],
            "numbers": [self._start, self._spread, self._count],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        self._smoothing.set_state(state["smoothing"])
        self._plain.set_state(state["plain"])
        if self._adjusted is not None:
            self._adjusted.set_state(state["adjusted"])
        for expert, kept in zip(self._kernels, state["kernels"]):
            expert.set_state(kept)
        self._size = state["table"].shape[1]
        self._table[:, : self._size] = state["table"]
        self._start, self._spread, self._count = state["numbers"]
