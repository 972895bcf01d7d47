"""The experts of one tuning, mixed: rows of encoded numbers in, probabilities of classes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from ..ensembles.weighting import Weighting
from ..learners.bank import Bank
from ..learners.recursion import Recursion
from .classes import Classes
from .links import Links
from .mixture import LARGEST_USUAL, MOST_REMOVALS, names_of
from .tuning import Tuning, scaling_of

DISCOUNT, SHARE = 0.99, 0.001
# Of each expert: the weights of the estimated share of a class and of its logarithm.
FIRST_LINK, LINK_STRENGTH, LINK_FORGETTING = (2.0, 0.5), 5.0, 0.999
# An estimate bends towards zero where it is below this part of an equal share.
BEND = 0.1
# An estimate of a share that is farther from zero says no more: the straight lines go on far from all samples.
FARTHEST = 10.0
LEAST = 1e-6


class Experience:
    """What a mixture has learned about its experts that outlasts them: the next ones have the same roles."""

    def __init__(self, count: int) -> None:
        self.weighting = Weighting("bma", count, DISCOUNT, SHARE, 2.0)
        self.links = Links(np.array([FIRST_LINK] * count), LINK_STRENGTH, LINK_FORGETTING)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.weighting.get_state(), self.links.get_state()]

    @classmethod
    def from_state(cls, state: list[Any]) -> Experience:
        """From a checkpoint."""
        experience = cls(len(state[0][0]))
        experience.weighting.set_state(state[0])
        experience.links.set_state(state[1])
        return experience


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
        self._seen: tuple[bytes, Vector, Vector, Matrix] | None = None

    @property
    def targets(self) -> Classes:
        """The units of the classes."""
        targets = self.tuning.targets
        assert isinstance(targets, Classes)
        return targets

    def _features(self, means: Vector) -> Vector:
        """What the links go by, from the experts' means: by expert, feature and class."""
        estimates = np.clip(self.targets.estimates(means), -FARTHEST, FARTHEST)
        bend = BEND / estimates.shape[-1]
        positive = 0.5 * (estimates + np.sqrt(estimates**2 + 4.0 * bend**2))
        return np.stack([estimates, np.log(positive)], axis=-2)

    def _guesses(self, row: Vector) -> tuple[Vector, Vector, Matrix]:
        """The scaled sample, the links' features and the experts' probabilities; remembered, as it is learned next."""
        key, seen = row.tobytes(), self._seen  # threads that predict exchange it
        if seen is None or seen[0] != key:
            scaled = self.tuning.scaling.transform(row)
            features = self._features(self.bank.means_of_rows(scaled[None])[0])
            seen = self._seen = key, scaled, features, self.experience.links.shares(features)
        return seen[1:]

    def predict(self, row: Vector) -> Vector:
        """The probability of every class."""
        return self.experience.weighting.weights @ self._guesses(row)[2]

    def is_usual(self, row: Vector) -> bool:
        """Whether a sample lies where, in the tuning's units, squares and their products are far from overflow."""
        return bool((np.abs(self._guesses(row)[0]) <= LARGEST_USUAL).all())  # NaN is not

    def add_class(self) -> None:
        """One class more, of which there was no sample so far."""
        if self.targets.add():
            self.bank.add_outputs(1)
        self._seen = None

    def learn(self, row: Vector, place: int, w: float) -> None:
        """Weigh the experts by their predictions of the sample, then let them learn it."""
        scaled, features, shares = self._guesses(row)
        experience = self.experience
        right = np.maximum(shares[:, place], LEAST)
        experience.weighting.update(np.log(right), 1.0 - right)
        experience.links.learn(features, place, shares)
        targets = self.targets.scaled(np.array([float(place)]))[0]
        if self.bank.learn_row(scaled, targets, w):
            self.bank.relax(MOST_REMOVALS)
        self._seen = None

    @property
    def best(self) -> Recursion:
        """The expert with the largest weight."""
        return self.bank.experts[int(np.argmax(self.experience.weighting.weights))].recursion

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert, by what it is."""
        weights = self.experience.weighting.weights.tolist()
        return dict(zip(names_of(self.tuning, self.bank), weights, strict=True))

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
        return cls(tuning, Bank(state["experts"]), Experience.from_state(state["experience"]))
