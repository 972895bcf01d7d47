"""Probabilities from several sources made one: weighed, multiplied, and at last brought to what holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.types import Matrix, Vector
from ..ensembles.weighting import Weighting
from .confidence import Confidence
from .links import Links

DISCOUNT, SHARE = 0.99, 0.001
# Sources that know the features: the kernel experts and the plain ones.
SEEING = 2
# Of each row of `Labels.shares` in a product: by Bayes' rule, p(k | x) / p(k) · p(k | last label).
LABEL_EXPONENTS = (-1.0, 0.0, 0.0, 1.0)
# The first weight of each of these sources, where that of one that knows the features is one.
FIRST_LABEL_WEIGHTS = (0.05, 0.05, 1.0, 1.0)
STRENGTH, EXPERTS_STRENGTH, FORGETTING = 5.0, 20.0, 0.999
LEAST = 1e-6


class Sources(NamedTuple):
    """What is said of a sample: probabilities of all classes, in rows."""

    mixed: Matrix
    """By the kernel experts, by the plain ones, and by each of `labels.NAMES`."""
    experts: Matrix
    """By every expert of both kinds, and by labels again."""


class Blend:
    """A mixture of sources and of their products.

    A product has an exponent for each source, learned along the stream: what features say of the classes and what
    the last labels say are different evidence, and count together. One product is of the sources, the other of all
    experts. The mixture, with the products as two more sources, follows whoever has predicted best of late; what it
    says is brought to probabilities that hold (`confidence.py`).

    Parameters
    ----------
    experts
        How many there are of both kinds.

    """

    def __init__(self, experts: int) -> None:
        first = [1.0] * SEEING + [*FIRST_LABEL_WEIGHTS] + [1.0, 1.0]
        self._weighting = Weighting("bma", len(first), DISCOUNT, SHARE, 2.0, first)
        self._product, self._great = (
            Links(np.array([[1.0 / count] * count + [*LABEL_EXPONENTS]]), strength, FORGETTING)
            for count, strength in ((SEEING, STRENGTH), (experts, EXPERTS_STRENGTH))
        )
        self._confidence = Confidence()

    def _parts(self, sources: Sources) -> tuple[Vector, Vector, Matrix]:
        """The features of both products, and all sources with the products."""
        few, all_ = (np.log(np.maximum(rows, LEAST))[None] for rows in sources)
        return few, all_, np.vstack([sources.mixed, self._product.shares(few), self._great.shares(all_)])

    def shares(self, sources: Sources) -> Vector:
        """The probability of every class."""
        mixed = self.weights @ self._parts(sources)[2]
        return self._confidence.shares(mixed, sources.mixed[SEEING])

    def learn(self, sources: Sources, label: int) -> None:
        """Weigh the sources by what they said of the label."""
        few, all_, rows = self._parts(sources)
        self._confidence.learn(self.weights @ rows, sources.mixed[SEEING], label)
        self._product.learn(few, label, rows[-2:-1])
        self._great.learn(all_, label, rows[-1:])
        right = np.maximum(rows[:, label], LEAST)
        self._weighting.update(np.log(right), 1.0 - right)

    @property
    def weights(self) -> Vector:
        """Of each source, and of both products."""
        return self._weighting.weights

    @property
    def exponents(self) -> Vector:
        """Of each source in their product."""
        return self._product.weights[0]

    @property
    def _learned(self) -> tuple[Any, ...]:
        return self._weighting, self._product, self._great, self._confidence

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [part.get_state() for part in self._learned]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        for part, known in zip(self._learned, state, strict=True):
            part.set_state(known)
