"""Probabilities from several sources made one: weighed, multiplied, and at last brought to a right temperature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from ..ensembles.weighting import Weighting
from .links import Links

DISCOUNT, SHARE = 0.99, 0.001
# Of the kernel experts and of each row of `Labels.shares`: by Bayes' rule, p(k | x) / p(k) · p(k | last label).
FIRST_EXPONENTS = (1.0, -1.0, 0.0, 0.0, 1.0)
PRODUCT_STRENGTH, PRODUCT_FORGETTING = 5.0, 0.999
HEAT_STRENGTH, HEAT_FORGETTING = 5.0, 0.998
LEAST = 1e-6


class Blend:
    """A mixture of sources and of their product.

    The product has an exponent for each source, learned along the stream: what features say of the classes and what
    the last labels say are different evidence, and count together. The mixture, with the product as one more source,
    follows whoever has predicted best of late; its temperature is learned, so that probabilities mean what they say.
    """

    def __init__(self) -> None:
        first, count = np.array([FIRST_EXPONENTS]), len(FIRST_EXPONENTS)
        self.weighting = Weighting("bma", count + 1, DISCOUNT, SHARE, 2.0)
        self._product = Links(first, PRODUCT_STRENGTH, PRODUCT_FORGETTING)
        self._heat = Links(np.array([[1.0]]), HEAT_STRENGTH, HEAT_FORGETTING)

    def _parts(self, sources: Matrix) -> tuple[Vector, Matrix, Vector]:
        """The features of the product, all sources with it, and the features of the temperature."""
        logs = np.log(np.maximum(sources, LEAST))[None]
        rows = np.vstack([sources, self._product.shares(logs)])
        mixed = self.weighting.weights @ rows
        return logs, rows, np.log(np.maximum(mixed, LEAST))[None, None]

    def shares(self, sources: Matrix) -> Vector:
        """The probability of every class, of the sources' probabilities, a row each."""
        return self._heat.shares(self._parts(sources)[2])[0]

    def learn(self, sources: Matrix, label: int) -> None:
        """Weigh the sources by what they said of the label."""
        logs, rows, heat = self._parts(sources)
        self._heat.learn(heat, label, self._heat.shares(heat))
        self._product.learn(logs, label, rows[-1:])
        right = np.maximum(rows[:, label], LEAST)
        self.weighting.update(np.log(right), 1.0 - right)

    @property
    def exponents(self) -> Vector:
        """Of each source in the product."""
        return self._product.weights[0]

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.weighting.get_state(), self._product.get_state(), self._heat.get_state()]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.weighting.set_state(state[0])
        self._product.set_state(state[1])
        self._heat.set_state(state[2])
