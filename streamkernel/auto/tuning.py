"""What is learned from a window of samples: scales, ridge, level and trend by the evidence, and experts of them.

None of it is done at once: a `Renewal` advances a little with every sample. First the search for the kernel, some
evaluations of the evidence at a time, then the plans of the dictionaries, then the experts learn the window, some rows
at a time. When they have caught up with the stream they are ready. While the window is short one step is enough.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import checks, criteria, kernels
from ..core.types import Matrix, Vector
from ..encoding import Column, Encoder, Scaling
from ..ensembles.weighting import SMALLEST_VARIANCE
from ..learners.bank import Bank
from ..learners.krls import KRLS
from ..threads import one_thread
from .search import Search, search_time
from .targets import Targets
from .trial import Trial
from .window import RowWindow


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

# The dictionary is planned from this many samples, to this share of its limit: the stream will add some.
PLANNING, FILLING = 800, 0.7
PLANNING_TIME = 9000.0
THRESHOLD_RANGE = (1e-8, 0.3)
# Of more columns than this those take part that say most about the target by themselves.
MOST_COLUMNS, SCREENED_ROWS = 200, 800


def as_budget(budget: Any) -> Budget:
    """The budget of a name, or of a number of microseconds."""
    if isinstance(budget, str):
        checks.choice("budget", budget, tuple(BUDGETS))
        return BUDGETS[budget]
    checks.number("budget", budget, low=STEP_TIME, open_low=True)
    size = max(10, int(math.sqrt((budget - STEP_TIME) / POINT_TIME)))
    return Budget(size, min(2 * size, 600), min(27 * size, 10_000))


class Tuning(NamedTuple):
    """The units of features and targets, and the kernel that was found in them."""

    scaling: Scaling
    targets: Targets
    point: Vector
    """Where the search for the kernel ended, and the next may start."""
    ridge: float
    kernel: kernels.Kernel
    reference: float
    """The error that is usual now, as the targets are given."""


class Renewal:
    """A tuning under way.

    Parameters
    ----------
    window
        The samples, with their targets and weights.
    encoder
        What encoded them: where a word's column is absent it is zero and not a gap.
    budget
        How many samples the evidence is taken of, and how large dictionaries may be.
    start
        Where the last search ended.
    targets
        The units of the window's targets.
    trial
        Where it is to be tried out whether the newest samples are of a new time: which.

    Attributes
    ----------
    is_possible
        False where nothing varies yet: the mean says it all.

    """

    def __init__(
        self,
        window: RowWindow,
        encoder: Encoder,
        budget: Budget,
        start: Vector | None,
        targets: Targets,
        trial: Trial | None = None,
    ) -> None:
        self._window, self._encoder, self._budget, self._start = window, encoder, budget, start
        self.trial, self._end = trial, window.end
        self._search: Search | None = None
        self._records: Any = ((), ())
        self._point: Vector | None = None
        self._kernels: list[kernels.Kernel] = []
        self._plans: list[tuple[float, float]] = []
        self._bank: Bank | None = None
        self._next = 0
        skipped = self._first - window.first
        names, samples = list(window.names), self._cleaned(window.samples[skipped:])
        names, samples = _screened(names, samples, targets.columns(window.targets[skipped:, 0]))
        self._scaling, self._targets = Scaling(names, samples), targets
        self.is_possible = bool(self._scaling.columns) and targets.is_varied
        if self.is_possible:
            self._scaling.bind(encoder.columns)

    @property
    def _first(self) -> int:
        """The number of the oldest sample to go by."""
        return max(self._window.first, self.trial.first if self.trial is not None else 0)

    def _cleaned(self, samples: Matrix) -> Matrix:
        """Samples of the window in which words that are not there are zero."""
        words = self._encoder.word_columns()
        if words:
            columns = np.array([name in words for name in self._window.names], dtype=bool)
            samples = np.where(np.isnan(samples) & columns, 0.0, samples)
        return samples

    def _scaled(self, start: int, stop: int) -> tuple[Matrix, Vector, Vector]:
        """Rows in the units that were found, targets and weights, from one sample's number up to another's."""
        start, stop = start - self._window.first, stop - self._window.first
        rows = self._scaling.transform_many(self._window.names, self._cleaned(self._window.rows(start, stop)))
        targets, weights = self._window.targets[start:stop].T
        return rows, targets, weights

    @one_thread
    def advance(self, time: float) -> tuple[Tuning, Bank] | None:
        """Work for about so many microseconds; what was found, and experts that have learned the window, when ready."""
        if self._point is None:
            time = self._find(time)
        while self._point is not None and len(self._plans) < len(self._kernels) and time > 0.0:
            time = self._plan(time)
        if len(self._plans) == 3 and time > 0.0:
            self._teach(time)
        if self._bank is None or self._next < self._window.end:
            return None
        assert self._point is not None
        reference = self._targets.unit * math.sqrt(self._bank.experts[0].noise_variance or SMALLEST_VARIANCE)
        ridge = math.exp(self._point[-1])
        units = (self._scaling, self._targets)
        return Tuning(*units, self._point, ridge, self._kernels[0], reference), self._bank

    def _find(self, time: float) -> float:
        """Search for the kernel; what is left of the time."""
        if self._search is None:
            count = self._budget.tuning
            rows, targets, _ = self._scaled(max(self._first, self._end - count), self._end)
            args = (self._scaling.names, rows, self._targets.searched(targets), count // 2)
            self._search = Search(*args, self._start, self._records)
        time, point = self._search.advance(time)
        if point is not None:
            family, self._point = self._search.family, point
            learned = family.kernel(point[:-1])
            rough = family.kernel(point[:-1], kernels.Laplacian, ROUGH_WIDTH)
            self._kernels = [learned, rough, family.straight(point[:-1])]
            self._search, self._records = None, ((), ())
        return time

    def _ridges(self) -> tuple[float, float, float]:
        assert self._point is not None
        ridge = math.exp(self._point[-1])
        # To a straight line the rest of the function is noise, and its variance is the unit of the ridge.
        return ridge, max(ridge, ROUGH_RIDGE), 1.0 + ridge

    def _plan(self, time: float) -> float:
        """Plan one dictionary to fit the budget; what is left of the time."""
        at = len(self._plans)
        threshold = min(max(self._ridges()[at], THRESHOLD_RANGE[0]), THRESHOLD_RANGE[1])
        size, count = int(FILLING * self._budget.max_size), self._window.end - self._first
        if size >= count:
            self._plans.append((threshold, 0.0))
            return time
        plan = np.random.default_rng(0).permutation(count)[:PLANNING]
        samples = self._cleaned(self._window.samples[self._first - self._window.first :][plan])
        rows = self._scaling.transform_many(self._window.names, samples)
        gram = self._kernels[at](rows, features=self._scaling.names)
        # What the dictionary leaves out is noise to those who use it.
        self._plans.append(criteria.fit_dictionary(gram, threshold, size))
        return time - PLANNING_TIME * (len(plan) / PLANNING) ** 2

    def _teach(self, time: float) -> None:
        """Let the experts learn the window's next rows, and those that have come meanwhile."""
        names = tuple(self._scaling.names)
        if self._bank is None:
            experts = []
            for kernel, ridge, plan, paces in zip(
                self._kernels, self._ridges(), self._plans, (PACES, ROUGH_PACES, LINEAR_PACES), strict=True
            ):
                threshold, unseen = plan
                limit = self._budget.max_size
                experts += [KRLS(kernel, threshold, ridge + unseen, pace, way, max_size=limit) for pace, way in paces]
            self._bank, self._next = Bank(experts), self._first
            self._bank.adopt(names)
            self._bank.add_outputs(self._targets.outputs - 1)
        size = min(self._budget.max_size, self._window.end - self._first)
        count = max(1, int(time / _row_time(size, len(names), self._targets.outputs)))
        self._next = max(self._next, self._first)
        stop = min(self._next + count, self._window.end)
        if self.trial is not None and stop + self.trial.wait > self.trial.judged:
            self._try_rows(self._next, stop, self.trial)
        else:
            rows, targets, weights = self._scaled(self._next, stop)
            self._bank.learn_rows(rows, self._targets.scaled(targets), weights)
        self._next = stop

    def _try_rows(self, start: int, stop: int, trial: Trial) -> None:
        """Learn samples one by one, and predict others with as much delay as they are predicted with in the stream."""
        assert self._bank is not None
        rows, targets, weights = self._scaled(start, min(stop + trial.wait, self._window.end))
        scaled = self._targets.scaled(targets)
        for number, ahead in zip(range(stop - start), range(trial.wait, len(rows) + trial.wait), strict=False):
            if ahead < len(rows) and start + ahead >= trial.judged:
                means = self._bank.means_of_rows(rows[ahead : ahead + 1])[0, :, 0]
                trial.said.append(self._targets.center + self._targets.unit * means)
            self._bank.learn_rows(*(part[number : number + 1] for part in (rows, scaled, weights)))

    def add_output(self) -> None:
        """A class is new, and was absent from every sample of the window so far."""
        if self._targets.add() and self._bank is not None:
            self._bank.add_outputs(1)

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_search": None, "_records": self._evaluations()}

    def _evaluations(self) -> Any:
        return self._records if self._search is None else self._search.records

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "end": self._end,
            "start": self._start,
            "columns": [tuple(column) for column in self._scaling.columns],
            "units": self._targets.get_state(),
            "records": [np.array(record) for record in self._evaluations()],
            "point": self._point,
            "kernels": self._kernels,
            "plans": self._plans,
            "experts": None if self._bank is None else self._bank.experts,
            "next": self._next,
            "trial": None if self.trial is None else self.trial.get_state(),
        }

    @classmethod
    def from_state(
        cls, state: dict[str, Any], window: RowWindow, encoder: Encoder, budget: Budget, targets: Targets
    ) -> Renewal:
        """From a checkpoint; `targets` are the units that it holds."""
        renewal = cls.__new__(cls)
        renewal._window, renewal._encoder, renewal._budget, renewal._start = window, encoder, budget, state["start"]
        renewal._end, renewal._next, renewal.is_possible = state["end"], state["next"], True
        renewal._scaling = scaling_of(state["columns"], encoder.columns)
        renewal._targets = targets
        trial = state.get("trial")
        renewal.trial = None if trial is None else Trial.from_state(trial)
        renewal._search, renewal._records = None, [list(record) for record in state["records"]]
        renewal._point, renewal._kernels, renewal._plans = state["point"], state["kernels"], state["plans"]
        renewal._bank = None if state["experts"] is None else Bank(state["experts"])
        return renewal


def scaling_of(columns: list[tuple[Any, ...]], names: list[str]) -> Scaling:
    """A scaling from its columns."""
    scaling = Scaling([], np.empty((0, 0)))
    scaling.columns = [Column(*column) for column in columns]
    return scaling.bind(names)


def expected_time(count: int, columns: int, budget: Budget, outputs: int) -> float:
    """About how many microseconds a tuning will take with so many samples in the window."""
    search = search_time(min(count, budget.tuning), budget.tuning // 2, min(columns, MOST_COLUMNS))
    is_planned = count > int(FILLING * budget.max_size)
    planning = 3.0 * PLANNING_TIME * (min(count, PLANNING) / PLANNING) ** 2 if is_planned else 0.0
    return search + planning + count * _row_time(min(count, budget.max_size), min(columns, MOST_COLUMNS), outputs)


def _row_time(size: int, features: int, outputs: int) -> float:
    """About how many microseconds all experts together take to learn a sample."""
    return 12.0 + 0.003 * size**2 + 0.001 * size * features + 0.005 * size * (outputs - 1)


def _screened(names: list[str], samples: Matrix, targets: Matrix) -> tuple[list[str], Matrix]:
    """Of very many columns those whose values, or deviations from the mean, go along with the targets most."""
    if len(names) <= MOST_COLUMNS:
        return names, samples
    recent, y = samples[-SCREENED_ROWS:], targets[-SCREENED_ROWS:] - targets[-SCREENED_ROWS:].mean(axis=0)
    absent = np.isnan(recent)
    filled = np.where(absent, 0.0, recent)
    count = np.maximum((~absent).sum(axis=0), 1)
    filled = np.where(absent, 0.0, filled - filled.sum(axis=0) / count)
    scores = np.zeros(len(names))
    for values in (filled, np.abs(filled), absent.astype(np.float64)):
        values = values - values.mean(axis=0)
        lengths = np.sqrt((values**2).sum(axis=0))
        agreement = np.sqrt(sum((column @ values) ** 2 for column in y.T))
        scores = np.maximum(scores, agreement / np.where(lengths > 0.0, lengths, math.inf))
    chosen = np.sort(np.argsort(-scores, kind="stable")[:MOST_COLUMNS])
    return [names[j] for j in chosen], samples[:, chosen]
