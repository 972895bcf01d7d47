"""Scaling in front of the automatic regressor: a fixed one changes nothing, a running one moves what it has learned."""

from __future__ import annotations

import math
from typing import Any

from river import datasets, preprocessing

from streamkernel import AutoKernelRegressor


def error(model: Any) -> float:
    """The root of the mean squared error over ChickWeights, each sample predicted before it is learned."""
    squares = []
    for x, y in datasets.ChickWeights():
        squares.append((y - model.predict_one(x)) ** 2)
        model.learn_one(x, y)
    return math.sqrt(sum(squares) / len(squares))


class Fixed(preprocessing.StandardScaler):
    """A scaler that has learned before, and learns no more."""

    def learn_one(self, x: Any) -> None:
        """Stay as it is."""


def test_a_scaler_in_front() -> None:
    known = preprocessing.StandardScaler()
    for x, _ in datasets.ChickWeights():
        known.learn_one(x)
    fixed = Fixed()
    fixed.__dict__.update(known.__dict__)
    plain = error(AutoKernelRegressor())
    assert abs(error(fixed | AutoKernelRegressor()) / plain - 1.0) < 1e-3
    # The docstring says "more than twice as large": what it warns of is true, and not much worse.
    running = error(preprocessing.StandardScaler() | AutoKernelRegressor())
    assert 1.5 < running / plain < 4.0
