"""From scores of classes to probabilities: softmax of a few features of each class with weights that are learned.

p_k ∝ exp(Σ_f a_f φ_fk): the weights a are the same for all classes, so classes may come and go. They are learned online
by Newton's method on the log loss, with a record that forgets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.types import Matrix, Vector


class Links:
    """Several such softmaxes beside each other, each with weights of its own.

    Parameters
    ----------
    first
        The weights to begin with, one row for each softmax.
    strength
        How strongly they are believed: the precision of each.
    forgetting
        How much of what was learned counts after one more sample.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.links import Links
    >>> links, rng = Links(np.array([[1.0]]), strength=1.0, forgetting=1.0), np.random.default_rng(0)
    >>> for _ in range(500):
    ...     scores = rng.normal(size=2)
    ...     label = int(rng.random() < 1.0 / (1.0 + np.exp(3.0 * (scores[0] - scores[1]))))
    ...     links.learn(scores[None, None], label, links.shares(scores[None, None]))
    >>> links.weights.round(1)
    array([[2.5]])

    """

    def __init__(self, first: Matrix, strength: float, forgetting: float) -> None:
        self.first, self.weights = first, first.copy()
        self._prior = strength * np.eye(first.shape[1])
        self._precision = np.array([self._prior] * len(first))
        self._forgetting = forgetting

    def shares(self, features: Vector) -> Matrix:
        """Probabilities: a row for each softmax, a column for each class, of features by softmax, feature and class."""
        scores = np.einsum("ef,efk->ek", self.weights, features)
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores, out=scores)
        powers /= powers.sum(axis=1, keepdims=True)
        return powers

    def learn(self, features: Vector, label: int, shares: Matrix, counts: Vector | None = None) -> None:
        """A step towards weights with which the label would have been likelier than by these shares.

        `counts` is by how much the sample counts for each softmax; None is one.
        """
        means = np.einsum("efk,ek->ef", features, shares)
        centered = features - means[:, :, None]
        curvature = np.matmul(centered * shares[:, None, :], centered.transpose(0, 2, 1))
        slope = centered[:, :, label]
        if counts is not None:
            curvature, slope = curvature * counts[:, None, None], slope * counts[:, None]
        keep = self._forgetting
        self._precision = keep * self._precision + (1.0 - keep) * self._prior + curvature
        slope = slope + (1.0 - keep) * (self.first - self.weights) @ self._prior
        self.weights = self.weights + np.linalg.solve(self._precision, slope[:, :, None])[:, :, 0]

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.weights, self._precision]

    def set_state(self, state: list[Any]) -> None:
        """From a checkpoint."""
        self.weights, self._precision = state
