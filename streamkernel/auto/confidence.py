"""Probabilities that mean what they say.

p'_k = (1 − ε) s_k + ε q_k, s_k ∝ exp(a ln p_k + b p_k): a is a temperature, b bends the middle without the ends, and
ε is the share of labels that come regardless of the features, with the frequencies q of the classes. Several ε stand
beside each other, each with a and b of its own, learned by Newton's method with the share of a sample that it would not
be such a label (a step of EM), and are weighed by their log loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from ..ensembles.weighting import Weighting
from .links import Links

REGARDLESS = (0.0, 0.02, 0.05, 0.1, 0.2)
FIRST_WEIGHTS = (0.9, 0.025, 0.025, 0.025, 0.025)
# Where so many labels come regardless, those that do not are known better than it seems: a begins at 1 + 10 ε.
FIRST_CURVES = tuple((1.0 + 10.0 * share, 0.0) for share in REGARDLESS)
STRENGTH, FORGETTING, SHARE = 5.0, 0.9995, 0.001
LEAST = 1e-6


class Confidence:
    """The curve from probabilities to ones that hold.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.confidence import Confidence
    >>> confidence, even, rng = Confidence(), np.array([0.5, 0.5]), np.random.default_rng(0)
    >>> for _ in range(2000):
    ...     confidence.learn(np.array([0.01, 0.99]), even, int(rng.random() < 0.9))
    >>> confidence.shares(np.array([0.01, 0.99]), even).round(1)
    array([0.1, 0.9])

    """

    def __init__(self) -> None:
        self._regardless = np.array(REGARDLESS)[:, None]
        self._links = Links(np.array(FIRST_CURVES), STRENGTH, FORGETTING)
        self._weighting = Weighting("bma", len(REGARDLESS), FORGETTING, SHARE, 2.0, FIRST_WEIGHTS)

    def _parts(self, mixed: Vector, frequencies: Vector) -> tuple[Vector, Matrix, Matrix]:
        """The curves' features, what they say, and that with labels that come regardless."""
        features = np.array([[np.log(np.maximum(mixed, LEAST)), mixed]] * len(REGARDLESS))
        curved = self._links.shares(features)
        return features, curved, (1.0 - self._regardless) * curved + self._regardless * frequencies

    def shares(self, mixed: Vector, frequencies: Vector) -> Vector:
        """The probability of every class, from those of a mixture and the frequencies."""
        result = self._weighting.weights @ self._parts(mixed, frequencies)[2]
        return np.asarray(result / result.sum())  # none is above one by a rounding error

    def learn(self, mixed: Vector, frequencies: Vector, label: int) -> None:
        """Take in the label of which the mixture had said this."""
        features, curved, rows = self._parts(mixed, frequencies)
        right = np.maximum(rows[:, label], LEAST)
        self._links.learn(features, label, curved, (1.0 - self._regardless[:, 0]) * curved[:, label] / right)
        self._weighting.update(np.log(right), 1.0 - right)

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self._links.get_state(), self._weighting.get_state()]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self._links.set_state(state[0])
        self._weighting.set_state(state[1])
