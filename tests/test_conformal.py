"""Adaptive conformal intervals, step by step against sorted scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference

from streamkernel import KRLS, AdaptiveConformal, HeteroscedasticKRLS
from streamkernel.kernels import RBF


@pytest.mark.parametrize("make", [KRLS, HeteroscedasticKRLS])
@pytest.mark.parametrize(("level", "rate", "window"), [(0.9, 0.02, 500), (0.8, 0.1, 30), (0.5, 0.4, 7)])
def test_intervals_are_those_of_sorted_scores(make: Any, level: float, rate: float, window: int) -> None:
    rng = np.random.default_rng(1)
    model = AdaptiveConformal(make(RBF(0.7), ridge=0.1), level, rate, window)
    slow, reaches = reference.Conformal(level, rate, window), []
    for t in range(250):
        x = {"a": float(rng.normal())}
        # Heavy tails: the quantiles of the scores are not those of a Gaussian.
        y = math.sin(x["a"]) + 0.2 * float(rng.standard_t(2.5)) * (1.0 + t / 100.0)
        distribution = model.predict_one(x, with_dist=True)
        interval = model.predict_one(x, with_interval=True)
        reach = slow.reach()
        assert interval.lower == pytest.approx(distribution.mu - reach * distribution.sigma, rel=1e-9, abs=1e-9)
        assert interval.upper == pytest.approx(distribution.mu + reach * distribution.sigma, rel=1e-9, abs=1e-9)
        reaches.append(reach)
        slow.step(abs(y - distribution.mu) / distribution.sigma)
        model.learn_one(x, y)
    assert len({round(reach, 9) for reach in reaches}) > 20  # the quantile has moved


def test_the_width_follows_the_scores_and_not_only_the_level() -> None:
    """Two streams with the same misses and other sizes of scores have other intervals."""
    reaches = []
    for size in (1.0, 5.0):
        model = AdaptiveConformal(KRLS(), confidence_level=0.75, rate=0.001, window_size=50)
        model._scores.extend(size * k for k in range(1, 42))
        reaches.append(model._reach())
    assert reaches == pytest.approx([31.0, 155.0])
    assert AdaptiveConformal(KRLS())._reach() == 2.0


def test_only_the_window_counts() -> None:
    model = AdaptiveConformal(KRLS(), confidence_level=0.5, window_size=3)
    for score in (100.0, 1.0, 2.0, 3.0):
        model._scores.append(score)
    assert model._reach() == 2.0
    model._scores.extend([7.0, 8.0])
    assert model._reach() == 7.0
