"""Probabilities that are right as often as they say: one temperature, learned from symbols that were known later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.types import Matrix

# Memory of the curvature, in symbols; a step goes at most a factor e^LARGEST_STEP.
MEMORY = 200.0
LARGEST_STEP = 1.0
# What the curvature starts from: how much the first temperature is trusted.
FIRST_CURVATURE = 1.0


class Temperature:
    """Probabilities proportional to exp(t·score), whose t minimizes the log loss: Newton's steps on ln t."""

    def __init__(self) -> None:
        self._log = 0.0
        self._curvature = FIRST_CURVATURE

    def probabilities(self, scores: Matrix) -> Matrix:
        """One row a decision."""
        powers: Matrix = np.exp(math.exp(self._log) * (scores - scores.max(axis=1, keepdims=True)))
        return powers / powers.sum(axis=1, keepdims=True)

    def learn(self, scores: Matrix, labels: NDArray[np.int64]) -> None:
        """Learn from decisions, made before the labels were known."""
        temperature, rows = math.exp(self._log), np.arange(len(labels))
        shares = self.probabilities(scores)
        means = (shares * scores).sum(axis=1)
        slope = temperature * float((means - scores[rows, labels]).sum())
        spread = temperature**2 * float((shares * (scores - means[:, None]) ** 2).sum())
        self._curvature = self._curvature * (1.0 - 1.0 / MEMORY) ** len(labels) + spread
        self._log -= max(-LARGEST_STEP, min(LARGEST_STEP, slope / self._curvature))

    def get_state(self) -> list[Any]:
        """What was learned."""
        return [self._log, self._curvature]

    def set_state(self, state: list[Any]) -> None:
        """Continue from what `get_state` gave."""
        self._log, self._curvature = map(float, state)
