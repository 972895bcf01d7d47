"""The experts of one tuning, mixed: rows of encoded numbers in, probabilities of classes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Vector
from ..learners.bank import Bank
from ..learners.recursion import Recursion
from .classes import Classes
from .experience import Experience, Guesses
from .mixture import LARGEST_USUAL, MOST_REMOVALS, names_of
from .tuning import LINEAR_PACES, PACES, ROUGH_PACES, Tuning, scaling_of

EXPERTS = len(PACES) + len(ROUGH_PACES) + len(LINEAR_PACES)
# Of each expert: the weights of the estimated share of a class and of its logarithm.
FIRST_LINK = (2.0, 0.5)


def new_experience() -> Experience:
    """That of experts of which nothing is known yet."""
    return Experience(EXPERTS, FIRST_LINK)


class ClassMixture:
    """Experts over shared dictionaries, each of which estimates the shares of all classes.

    Parameters
    ----------
    tuning
        Units and kernel.
    bank
        The experts.
    experience
        How they are weighed and linked to probabilities.

    """

    def __init__(self, tuning: Tuning, bank: Bank, experience: Experience) -> None:
        self.tuning, self.bank, self.experience = tuning, bank, experience
        self._seen: tuple[bytes, Vector, Guesses] | None = None

    @property
    def targets(self) -> Classes:
        """The units of the classes."""
        targets = self.tuning.targets
        assert isinstance(targets, Classes)
        return targets

    def _look(self, row: Vector) -> tuple[Vector, Guesses]:
        """The scaled sample and what the experts say of it; remembered, as it is learned next."""
        key, seen = row.tobytes(), self._seen  # threads that predict exchange it
        if seen is None or seen[0] != key:
            scaled = self.tuning.scaling.transform(row)
            estimates = self.targets.estimates(self.bank.means_of_rows(scaled[None])[0])
            seen = self._seen = key, scaled, self.experience.guesses(estimates)
        return seen[1:]

    def guesses(self, row: Vector) -> Guesses:
        """The probability of every class."""
        return self._look(row)[1]

    def is_usual(self, row: Vector) -> bool:
        """Whether a sample lies where, in the tuning's units, squares and their products are far from overflow."""
        return bool((np.abs(self._look(row)[0]) <= LARGEST_USUAL).all())  # NaN is not

    def add_class(self) -> None:
        """One class more, of which there was no sample so far."""
        if self.targets.add():
            self.bank.add_outputs(1)
        self._seen = None

    def learn(self, row: Vector, place: int, w: float) -> None:
        """Weigh the experts by their predictions of the sample, then let them learn it."""
        scaled, guesses = self._look(row)
        self.experience.learn(guesses, place)
        targets = self.targets.scaled(np.array([float(place)]))[0]
        if self.bank.learn_row(scaled, targets, w):
            self.bank.relax(MOST_REMOVALS)
        self._seen = None

    @property
    def best(self) -> Recursion:
        """The expert with the largest weight."""
        return self.bank.experts[int(np.argmax(self.experience.weights))].recursion

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert, by what it is."""
        return dict(zip(names_of(self.tuning, self.bank), self.experience.weights.tolist(), strict=True))

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        tuning = self.tuning
        return {
            "point": tuning.point,
            "columns": [tuple(column) for column in tuning.scaling.columns],
            "units": [*tuning.targets.get_state(), tuning.ridge, tuning.reference],
            "kernel": tuning.kernel,
            "experts": self.bank.experts,
            "experience": self.experience.get_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], names: list[str]) -> ClassMixture:
        """From a checkpoint, for rows of these columns."""
        *units, ridge, reference = state["units"]
        scaling = scaling_of(state["columns"], names)
        tuning = Tuning(scaling, Classes(*units), state["point"], ridge, state["kernel"], reference)
        experience = new_experience()
        experience.set_state(state["experience"])
        return cls(tuning, Bank(state["experts"]), experience)
