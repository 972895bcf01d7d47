"""Predictions that wait for their answers: a sample is judged by what was said of it when it was asked for.

Where targets come late, or are values some steps ahead, a model that predicts a sample once more just before it learns
it knows its neighbors by then, and would think better of itself than those do who were given the answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.types import Vector

# Predictions that are remembered; the oldest is forgotten for a further one.
MOST_WAITING = 1000
# How much of the longest wait for an answer counts after one more answer, and how many answers tell how long it is.
WAIT_KEPT, FIRST_ANSWERS = 0.99, 30

NO_MEANS = np.empty(0)


class Guess(NamedTuple):
    """What was predicted of a target."""

    mean: float
    variance: float
    age: int = 0
    """How many samples had been learned."""
    center: float = 0.0
    unit: float = 1.0
    means: Vector = NO_MEANS
    """What each expert said, in this unit about this center; empty where there were none yet."""

    def means_in(self, center: float, unit: float) -> Vector:
        """What each expert said, in another unit about another center."""
        if (center, unit) == (self.center, self.unit):
            return self.means
        return np.asarray((self.means * self.unit + (self.center - center)) / unit)


class Asked:
    """The guesses about samples that were asked for and not learned yet, by their rows of numbers.

    A sample that is asked for several times has its first guess, unless that has waited for more questions than
    answers usually take, which the first thirty tell: then nobody waits for it, and the question is a new one. So where
    each sample is learned as soon as it was predicted, no other predictions make a difference, whatever they are of.
    What was said before anything was learned is not remembered.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.asked import Asked, Guess
    >>> asked, row = Asked(), np.array([1.0])
    >>> asked.remember(row, Guess(5.0, 1.0, age=1))
    >>> asked.remember(row, Guess(6.0, 1.0, age=3))
    >>> asked.take(row, age=4).mean
    5.0
    >>> asked.take(row, age=5) is None
    True

    """

    def __init__(self) -> None:
        self._guesses: dict[bytes, tuple[int, Guess]] = {}  # with the number of the question
        self._count = self._answered = 0  # questions, answers
        # The longest of late between question and answer, in further questions and in samples learned meanwhile.
        self._patience = self._wait = 0.0
        self._writing = threading.Lock()  # threads that predict remember

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_writing"} | {
            "_guesses": dict(self._guesses)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _writing=threading.Lock())

    def __len__(self) -> int:
        return len(self._guesses)

    @property
    def wait(self) -> int:
        """How many samples are learned between a question and its answer."""
        return int(self._wait)

    def remember(self, row: Vector, guess: Guess) -> None:
        """Keep the guess about a sample until it is learned."""
        if not guess.age:
            return
        key = row.tobytes()
        waiting = self._guesses.get(key)
        is_young = self._answered < FIRST_ANSWERS
        if waiting is not None and (is_young or self._count - waiting[0] <= self._patience):
            return
        with self._writing:
            self._guesses.pop(key, None)  # the order is that of the questions
            self._count += 1
            self._guesses[key] = self._count, guess
            if len(self._guesses) > MOST_WAITING:
                del self._guesses[next(iter(self._guesses))]

    def peek(self, row: Vector) -> Guess | None:
        """The guess that was made about a sample."""
        found = self._guesses.get(row.tobytes())
        return None if found is None else found[1]

    def take(self, row: Vector, age: int) -> Guess | None:
        """The guess that was made about a sample which is learned now, after `age` others."""
        with self._writing:
            found = self._guesses.pop(row.tobytes(), None)
        if found is None:
            return None
        number, guess = found
        self._answered += 1
        self._patience = max(float(self._count - number), WAIT_KEPT * self._patience)
        self._wait = max(float(age - guess.age), WAIT_KEPT * self._wait)
        return guess

    def rename(self, changed: Callable[[Vector], Vector]) -> None:
        """Know samples by their rows of other columns."""
        with self._writing:
            self._guesses = {changed(np.frombuffer(key)).tobytes(): found for key, found in self._guesses.items()}

    def get_state(self, stored: Callable[[Vector], Vector]) -> list[Any]:
        """For a checkpoint, in which rows are stored so."""
        guesses = [(stored(np.frombuffer(key)), number, *guess) for key, (number, guess) in self._guesses.items()]
        return [self._count, self._answered, self._patience, self._wait, guesses]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._count, self._answered, self._patience, self._wait, guesses = state
        self._guesses = {row.tobytes(): (number, Guess(*guess)) for row, number, *guess in guesses}
