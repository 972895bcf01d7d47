"""The Santa Fe laser of section 5.2.2: 100 steps from row 1000, iterated.

Everything is chosen on rows 1-1000 by the paper's three hold-outs (train on rows 1-700, 1-800, 1-900; forecast the 100
that follow). Rows 1001 onward are read after the choice is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import streamkernel
from bench.papers.report import progress
from streamkernel import KRLS, datasets, kernels

Floats = NDArray[np.float64]

HORIZON = 100
TRAINING = 1000
HOLD_OUTS = (700, 800, 900)
OTHER_STARTS = (2000, 3500, 5000, 6500, 8000)


class Model(NamedTuple):
    """One set of parameters."""

    lags: int
    sigma: float
    threshold: float
    ridge: float
    rollout: int


PAPER = Model(lags=40, sigma=0.9, threshold=0.01, ridge=0.0, rollout=6)
ROLLOUTS = (1, 2, 4, 6, 8, 10)
GRID = tuple(
    Model(lags, sigma, 1e-3, ridge, rollout)
    for lags in (20, 30, 40, 50)
    for sigma in (0.4, 0.6, 0.8, 1.0)
    for ridge in (1e-4, 1e-3, 1e-2)
    for rollout in ROLLOUTS
)
QUICK_GRID = tuple(Model(20, sigma, 1e-2, 1e-2, rollout) for sigma in (0.6, 0.8) for rollout in (1, 2))
COMBINED = (1, 3, 5, 10, 20, 40)


@dataclasses.dataclass(frozen=True)
class Result:
    """What the experiment found."""

    paper: Floats
    """The forecast of rows 1001-1100 with the paper's parameters."""
    best: Floats
    """With the best parameters of the hold-outs."""
    combined: Floats
    """The mean forecast of the chosen ones."""
    chosen: tuple[Model, ...]
    hold_outs: dict[int, list[float]]
    """For each K the errors of the mean forecast on the three hold-outs."""
    truth: Floats
    elsewhere: dict[int, tuple[float, float]]
    """For each other start the errors with the paper's parameters and with the chosen ones."""


def nmse(forecast: Floats, truth: Floats) -> float:
    """Mean squared error over the variance of the values to forecast."""
    return float(np.mean((forecast - truth) ** 2) / truth.var())


def passes(series: Floats, model: Model) -> Iterator[tuple[int, KRLS]]:
    """The passes of section 5.2.2 on arrays, zeros before the start: (i, the model after pass i), up to i = n.

    The same as `KernelForecaster.learn_series` with every rollout up to n, for the price of the longest.
    """
    learner = KRLS(kernels.RBF(model.sigma), threshold=model.threshold, ridge=model.ridge)
    samples, targets = datasets.embed(series, model.lags, pad=True)
    estimates: list[Floats] = []
    for ahead in range(1, model.rollout + 1):
        rolled = samples.copy()
        for delay in range(1, min(ahead - 1, model.lags) + 1):  # ŷ^{i−k}_{t−k} in place of y_{t−k} for k < i
            rolled[delay:, delay - 1] = estimates[ahead - delay - 1][:-delay]
        streamkernel.run(learner, rolled, targets)
        estimates.append(learner.predict_many(rolled))
        yield ahead, learner


def iterate(learner: KRLS, series: Floats, lags: int, steps: int = HORIZON) -> Floats:
    """The iterated forecast of the next values."""
    values = series[-lags:].tolist()
    for _ in range(steps):
        values.append(learner.predict_one(dict(enumerate(reversed(values[-lags:])))))
    return np.array(values[lags:])


def forecasts(series: Floats, models: Sequence[Model]) -> dict[Model, Floats]:
    """The iterated forecast of every model; those that differ in n only share their passes."""
    longest: dict[Model, int] = {}
    for model in models:
        shared = model._replace(rollout=0)
        longest[shared] = max(longest.get(shared, 0), model.rollout)
    found = {}
    for shared, rollout in longest.items():
        for ahead, learner in passes(series, shared._replace(rollout=rollout)):
            if shared._replace(rollout=ahead) in models:
                found[shared._replace(rollout=ahead)] = iterate(learner, series, shared.lags)
    return found


def choose(
    series: Floats, grid: Sequence[Model], combined: Sequence[int]
) -> tuple[list[Model], dict[int, list[float]]]:
    """The K best parameter sets on the three hold-outs of rows 1-1000, and the errors of their mean for every K."""
    families = sorted({model._replace(rollout=0) for model in grid})
    jobs = [(cut, family) for cut in HOLD_OUTS for family in families]
    held_out: dict[int, dict[Model, Floats]] = {cut: {} for cut in HOLD_OUTS}
    for cut, family in progress(jobs, "laser: hold-outs"):
        members = [model for model in grid if model._replace(rollout=0) == family]
        held_out[cut] |= forecasts(series[:cut], members)

    def error(models: Sequence[Model], cut: int) -> float:
        return nmse(np.mean([held_out[cut][model] for model in models], axis=0), series[cut : cut + HORIZON])

    ranked = sorted(grid, key=lambda model: np.mean([error([model], cut) for cut in HOLD_OUTS]))
    errors = {count: [error(ranked[:count], cut) for cut in HOLD_OUTS] for count in combined if count <= len(grid)}
    count = min(errors, key=lambda count: float(np.mean(errors[count])))
    return ranked[:count], errors


def experiment(quick: bool = False) -> Result:
    """Choose on rows 1-1000, then forecast rows 1001-1100 and from the other starts."""
    series = datasets.SantaFeLaser(part="A", normalize=True).series()
    chosen, hold_outs = choose(series, QUICK_GRID if quick else GRID, COMBINED)
    longer = datasets.SantaFeLaser(part="all", normalize=True).series()
    at: dict[int, dict[Model, Floats]] = {}
    starts = (TRAINING, *(OTHER_STARTS[:1] if quick else OTHER_STARTS))
    for start in progress(starts, "laser: forecasts"):
        at[start] = forecasts(longer[start - TRAINING : start], [*chosen, PAPER])
    means = {start: np.mean([found[model] for model in chosen], axis=0) for start, found in at.items()}
    truths = {start: longer[start : start + HORIZON] for start in starts}
    return Result(
        paper=at[TRAINING][PAPER],
        best=at[TRAINING][chosen[0]],
        combined=means[TRAINING],
        chosen=tuple(chosen),
        hold_outs=hold_outs,
        truth=truths[TRAINING],
        elsewhere={
            start: (nmse(at[start][PAPER], truths[start]), nmse(means[start], truths[start])) for start in starts[1:]
        },
    )
