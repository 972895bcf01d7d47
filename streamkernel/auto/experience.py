"""How experts that estimate the shares of classes are linked to probabilities and weighed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.types import Matrix, Vector
from ..ensembles.weighting import Weighting
from .links import Links

DISCOUNT, SHARE = 0.997, 0.001
LINK_STRENGTH, LINK_FORGETTING = 5.0, 0.999
# An estimate bends towards zero where it is below this part of an equal share.
BEND = 0.1
# An estimate of a share that is farther from zero says no more: the straight lines go on far from all samples.
FARTHEST = 10.0
LEAST = 1e-6


class Guesses(NamedTuple):
    """What experts say of a sample."""

    features: Vector
    """What the links go by: by expert, feature and class."""
    shares: Matrix
    """The probabilities: a row for each expert."""
    mixed: Vector
    """The probability of every class by all of them."""


class Experience:
    """What has been learned about experts, which outlasts them where others take their roles.

    Parameters
    ----------
    count
        How many there are.
    first
        The weights of the estimated share of a class and of its logarithm, to begin with.

    """

    def __init__(self, count: int, first: tuple[float, float]) -> None:
        self._weighting = Weighting("bma", count, DISCOUNT, SHARE, 2.0)
        self._links = Links(np.array([first] * count), LINK_STRENGTH, LINK_FORGETTING)

    @property
    def weights(self) -> Vector:
        """The weight of each expert."""
        return self._weighting.weights

    def guesses(self, estimates: Matrix) -> Guesses:
        """From estimated shares, a row for each expert, to probabilities."""
        estimates = np.clip(estimates, -FARTHEST, FARTHEST)
        bend = BEND / estimates.shape[-1]
        positive = 0.5 * (estimates + np.sqrt(estimates**2 + 4.0 * bend**2))
        features = np.stack([estimates, np.log(positive)], axis=-2)
        shares = self._links.shares(features)
        return Guesses(features, shares, self.weights @ shares)

    def learn(self, guesses: Guesses, place: int) -> None:
        """Take in what the experts had said of a sample of this class."""
        right = np.maximum(guesses.shares[:, place], LEAST)
        self._weighting.update(np.log(right), 1.0 - right)
        self._links.learn(guesses.features, place, guesses.shares)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._weighting.get_state(), self._links.get_state()]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._weighting.set_state(state[0])
        self._links.set_state(state[1])
