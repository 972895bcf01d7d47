"""The temperature of a softmax, learned decision by decision."""

from __future__ import annotations

import math

from .jit import jit
from .types import Indices, Matrix, Vector


@jit
def calibrate(scores: Matrix, labels: Indices, largest_step: float, record: Vector, shares: Matrix) -> None:
    """Newton steps of a temperature on the log loss of decisions, one after the other.

    Requires: one row of `scores` a decision, made before its label was known; `record` is the temperature and the sum
    of curvatures.
    Ensures: `record` has followed; a step changes the temperature by at most the share `largest_step`; `shares` are the
    probabilities of each decision, with the temperature that it was made with.
    """
    for t in range(len(scores)):
        temperature, largest = record[0], scores[t, 0]
        for k in range(1, scores.shape[1]):
            largest = max(largest, scores[t, k])
        total, mean = 0.0, 0.0
        for k in range(scores.shape[1]):
            power = math.exp(temperature * (scores[t, k] - largest))
            total += power
            mean += power * scores[t, k]
        mean /= total
        for k in range(scores.shape[1]):
            share = math.exp(temperature * (scores[t, k] - largest)) / total
            record[1] += share * (scores[t, k] - mean) ** 2
            shares[t, k] = share
        step = (mean - scores[t, labels[t]]) / record[1] / temperature
        record[0] *= 1.0 - max(-largest_step, min(largest_step, step))
