"""What is learned from a window of samples: scales, ridge, level and trend by the evidence, and experts of them."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import checks, criteria, kernels
from ..core.types import Matrix, Vector
from ..encoding import Scaling
from ..ensembles.weighting import SMALLEST_VARIANCE
from ..learners.bank import Bank
from ..learners.krls import KRLS
from ..learners.window import Window
from ..threads import one_thread


class Budget(NamedTuple):
    """What a step may cost."""

    max_size: int
    """Points in a dictionary."""
    tuning: int
    """Samples of which the evidence is taken."""
    window: int
    """Samples that are kept."""


BUDGETS = {"low": Budget(60, 150, 1000), "medium": Budget(150, 300, 4000), "high": Budget(400, 600, 10_000)}
# The time of a step in microseconds: about STEP_TIME + POINT_TIME·m² for m points on a current machine.
STEP_TIME, POINT_TIME = 60.0, 0.008

# The learned kernel: how fast an expert forgets, and how. The rough kernel, for functions with edges: the same.
PACES = ((1.0, "prior"), (0.999, "walk"), (0.99, "walk"), (0.9, "walk"), (0.99, "prior"), (0.999, "prior"))
ROUGH_PACES = ((1.0, "prior"), (0.999, "prior"))
LINEAR_PACES = ((1.0, "prior"), (0.99, "walk"), (0.98, "prior"))
ROUGH_WIDTH, ROUGH_RIDGE = 2.0, 0.1

MOST_EVALUATIONS = 30
NARROW, NARROW_EVALUATIONS = 0.05, 20
# The dictionary is planned from this many samples, to this share of its limit: the stream will add some.
PLANNING, FILLING = 800, 0.7
THRESHOLD_RANGE = (1e-8, 0.3)


def as_budget(budget: Any) -> Budget:
    """The budget of a name, or of a number of microseconds."""
    if isinstance(budget, str):
        checks.choice("budget", budget, tuple(BUDGETS))
        return BUDGETS[budget]
    checks.number("budget", budget, low=STEP_TIME, open_low=True)
    size = max(10, int(math.sqrt((budget - STEP_TIME) / POINT_TIME)))
    return Budget(size, min(2 * size, 600), min(27 * size, 10_000))


class Tuning(NamedTuple):
    """The units of features and target, and the kernel that was found in them."""

    scaling: Scaling
    center: float
    """Of the targets."""
    unit: float
    """Of the targets: their standard deviation."""
    point: Vector
    """Where the search for the kernel ended, and the next may start."""
    ridge: float
    kernel: kernels.Kernel
    reference: float
    """The error that is usual now, as the targets are given."""


@one_thread
def tune(window: Window, words: Collection[str], budget: Budget, start: Vector | None) -> tuple[Tuning, Bank] | None:
    """Learn scales, ridge, level and trend by the evidence of the newest samples; make experts of them.

    Parameters
    ----------
    window
        The samples, with their targets and weights.
    words
        The columns that stand for words: where one is absent it is zero and not a gap.
    budget
        How many samples the evidence is taken of, and how large dictionaries may be.
    start
        Where the last search ended.

    Returns
    -------
    What was found, and experts that have learned the window. None where nothing varies yet: the mean says it all.

    """
    names = [str(name) for name in window.names]
    samples, (targets, weights) = window.samples, window.targets.T
    samples = np.where(np.isnan(samples) & [name in words for name in names], 0.0, samples)
    scaling, center, unit = Scaling(names, samples), float(targets.mean()), float(targets.std())
    if not scaling.columns or not unit > 0.0:
        return None
    rows, scaled = scaling.transform_many(names, samples), (targets - center) / unit
    family, found = _search(scaling.names, rows, scaled, budget.tuning, start)
    rough = family.kernel(found.point[:-1], kernels.Laplacian, ROUGH_WIDTH)
    planned = partial(_experts, names=scaling.names, rows=rows, max_size=budget.max_size)
    experts = planned(found.kernel, found.ridge, PACES)
    experts += planned(rough, max(found.ridge, ROUGH_RIDGE), ROUGH_PACES)
    # To a straight line the rest of the function is noise, and its variance is the unit of the ridge.
    experts += planned(family.straight(found.point[:-1]), 1.0 + found.ridge, LINEAR_PACES)
    bank = Bank(experts)
    bank.learn_many(tuple(scaling.names), rows, scaled, weights)
    reference = unit * math.sqrt(experts[0].noise_variance or SMALLEST_VARIANCE)
    return Tuning(scaling, center, unit, found.point, found.ridge, found.kernel, reference), bank


def _search(
    names: list[str], rows: Matrix, targets: Vector, count: int, start: Vector | None
) -> tuple[criteria.Gaussian, criteria.Fit]:
    """The kernel's family on the newest samples, and its member with the largest evidence there."""

    def newest(size: int) -> tuple[criteria.Gaussian, Matrix]:
        return criteria.Gaussian(rows[-size:], names), targets[-size:, None]

    family, recent = newest(count)
    # Scales much shorter than usual (a column that numbers things) are out of reach of a descent that starts wide.
    few, part = newest(count // 2)
    narrow = criteria.fit(few, part, widths=(NARROW,), max_evaluations=NARROW_EVALUATIONS).point
    others = [narrow] if len(narrow) == len(family.center) + 1 else []
    return family, criteria.fit(family, recent, start=start, max_evaluations=MOST_EVALUATIONS, others=others)


def _experts(
    kernel: kernels.Kernel,
    ridge: float,
    paces: tuple[tuple[float, str], ...],
    names: list[str],
    rows: Matrix,
    max_size: int,
) -> list[KRLS]:
    """Experts that forget at different paces over one dictionary, which is planned to fit the budget."""
    plan = np.random.default_rng(0).permutation(len(rows))[:PLANNING]
    threshold = min(max(ridge, THRESHOLD_RANGE[0]), THRESHOLD_RANGE[1])
    # What the dictionary leaves out is noise to those who use it.
    threshold, unseen = criteria.fit_dictionary(kernel(rows[plan], features=names), threshold, int(FILLING * max_size))
    return [KRLS(kernel, threshold, ridge + unseen, pace, way, max_size=max_size) for pace, way in paces]
