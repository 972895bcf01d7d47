"""What labels alone say about the next one: how frequent each is, of late and in all, and what follows what."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..core.types import Matrix

# How much of the counts remains after one more sample: of shares in all and of late, of repetitions.
SLOW, FAST, REPEATING = 0.999, 0.95, 0.99
# Successors are counted among so many classes, the first ones.
MOST_FOLLOWED = 100
# The shares of all count like so many samples where a faster count has seen few.
PRIOR = 2.0

NAMES = ("class frequencies", "recent class frequencies", "the last label again", "what followed the last label")


class Labels:
    """The classes met so far, and experts that predict the next label from the ones before.

    Examples
    --------

    >>> from streamkernel.auto.labels import Labels
    >>> labels = Labels()
    >>> for label in "aaabbbaaabbbaaabbb":
    ...     labels.learn(labels.place(label))
    >>> labels.classes
    ['a', 'b']
    >>> labels.shares().round(2)
    array([[0.5 , 0.5 ],
           [0.47, 0.53],
           [0.31, 0.69],
           [0.26, 0.74]])

    """

    def __init__(self) -> None:
        self.classes: list[Hashable] = []
        self._places: dict[Hashable, int] = {}
        self._counts = np.empty((2, 0))  # slow, fast
        self._following = np.empty((0, 0))
        self._repeats = np.array([1.0, 2.0])  # repetitions, all
        self._last = -1

    def place(self, label: Hashable) -> int:
        """The number of a class, which is new where it was not there."""
        found = self._places.get(label)
        if found is None:
            found = self._places[label] = len(self.classes)
            self.classes.append(label)
            self._counts = np.pad(self._counts, ((0, 0), (0, 1)))
            if found < MOST_FOLLOWED:
                self._following = np.pad(self._following, ((0, 1), (0, 1)))
        return found

    def knows(self, label: Hashable) -> bool:
        """Whether the class is one of those met so far."""
        return label in self._places

    def learn(self, place: int) -> None:
        """Count a label."""
        last, followed = self._last, len(self._following)
        self._counts *= np.array([[SLOW], [FAST]])
        self._counts[:, place] += 1.0
        if last >= 0:
            self._repeats = REPEATING * self._repeats + np.array([place == last, 1.0])
            if last < followed and place < followed:
                self._following[last] *= SLOW
                self._following[last, place] += 1.0
        self._last = place

    def shares(self) -> Matrix:
        """The probability of every class: a row for each of `NAMES`."""
        slow, fast = self._counts
        count = len(slow)
        result = np.empty((len(NAMES), count))
        result[0] = (slow + 1.0 / count) / (slow.sum() + 1.0)
        result[1] = (fast + PRIOR * result[0]) / (fast.sum() + PRIOR)
        last, again = self._last, float(self._repeats[0] / self._repeats[1])
        rest = 1.0 - result[0, last]
        result[2] = result[0] * ((1.0 - again) / rest if rest > 0.0 else 0.0)
        result[2, last] = again if rest > 0.0 else 1.0
        result[3] = result[2]
        if last < (followed := len(self._following)):
            known = self._following[last]
            result[3] *= PRIOR
            result[3, :followed] += known
            result[3] /= PRIOR + known.sum()
        return result

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.classes, self._counts, self._following, self._repeats, self._last]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.classes, self._counts, self._following, self._repeats, self._last = state
        self._places = {label: place for place, label in enumerate(self.classes)}
