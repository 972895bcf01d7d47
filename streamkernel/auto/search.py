"""The search for scales, ridge, level and trend by the evidence, a few evaluations at a time.

A descent is not kept half done, it is repeated: what the objective said so far is a record, from which every further
part of the descent starts over until it asks for something that the record does not hold. Going through the record
costs little beside one evaluation, and a checkpoint need not hold more than it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import criteria
from ..core.types import Matrix, Vector

MOST_EVALUATIONS = 30
NARROW, NARROW_EVALUATIONS = 0.05, 20
TOLERANCE = 1e-6


def evaluation_time(count: int, features: int) -> float:
    """About how many microseconds the evidence of so many samples, and its slope, take."""
    return 60.0 + 0.01 * count**2 + 4e-5 * count**3 + 2e-4 * features * count**2


def search_time(count: int, part: int, features: int) -> float:
    """About how many microseconds a search takes."""
    narrow = NARROW_EVALUATIONS * evaluation_time(min(count, part), features)
    return narrow + (MOST_EVALUATIONS + 3) * evaluation_time(count, features)


class _Pause(Exception):
    """The descent wants to know more than it may now."""


class Descent:
    """A descent on the evidence that may stop after any evaluation.

    Parameters
    ----------
    family
        The kernel as a function of a point of logarithms.
    targets
        One column per output.
    starts
        Points to start from; the best is descended from.
    most
        Evaluations.
    record
        What the objective said so far: a row for each evaluation, the value and the slope.

    """

    def __init__(
        self, family: criteria.Gaussian, targets: Matrix, starts: Sequence[Vector], most: int, record: Sequence[Vector]
    ) -> None:
        self.record = list(record)
        self._starts, self._most = starts, most
        self._objective = criteria.objective_of(family, targets, criteria.evidence, criteria.prior_of(family))
        self._limits = criteria.limits_of(family, criteria.RIDGE_RANGE)

    def advance(self, evaluations: int) -> tuple[float, Vector] | None:
        """Make up to so many evaluations; the least value and its point where the descent ends."""
        record, allowed, asked = self.record, len(self.record) + evaluations, 0

        def objective(point: Vector) -> tuple[float, Vector]:
            nonlocal asked
            if asked == len(record):
                if asked == allowed:
                    raise _Pause
                value, slope = self._objective(point)
                record.append(np.append(value, slope))
            asked += 1
            return float(record[asked - 1][0]), record[asked - 1][1:]

        try:
            return criteria.least(objective, self._starts, self._limits, TOLERANCE, max_evaluations=self._most)
        except _Pause:
            return None


class Search:
    """The kernel's scales, level, trend and ridge with the largest evidence of samples.

    Scales much shorter than usual (a column that numbers things) are out of reach of a descent that starts wide, so
    one on half of the samples starts from there; where it ends is one of the points that the other may start from.

    Parameters
    ----------
    names
        The columns.
    rows
        Scaled samples, the newest last.
    targets
        One column per output.
    part
        How many of the newest samples the search for short scales goes by.
    start
        Where the last search ended, if there was one.
    records
        What was evaluated so far, as `records` gives it.

    """

    def __init__(
        self,
        names: list[str],
        rows: Matrix,
        targets: Matrix,
        part: int,
        start: Vector | None,
        records: Sequence[Sequence[Vector]] = ((), ()),
    ) -> None:
        self.family = criteria.Gaussian(rows, names)
        few = criteria.Gaussian(rows[-part:], names)
        narrow = criteria.starts_of(few, None, (NARROW,))
        self._narrow = Descent(few, targets[-part:], narrow, NARROW_EVALUATIONS, records[0])
        self._targets, self._start, self._record = targets, start, records[1]
        self._wide: Descent | None = None
        self._times = (evaluation_time(min(part, len(rows)), rows.shape[1]), evaluation_time(*rows.shape))

    @property
    def records(self) -> list[list[Vector]]:
        """What was evaluated so far."""
        return [self._narrow.record, list(self._record) if self._wide is None else self._wide.record]

    def advance(self, time: float) -> tuple[float, Vector | None]:
        """Search for about so many microseconds, for one evaluation at least.

        Returns what is left of the time, and where the search has ended if it has.
        """
        if self._wide is None:
            before = len(self._narrow.record)
            found = self._narrow.advance(max(1, int(time / self._times[0])))
            time -= self._times[0] * (len(self._narrow.record) - before)
            if found is None:
                return time, None
            starts = criteria.starts_of(self.family, self._start)
            starts += [found[1]] if len(found[1]) == len(self.family.center) + 1 else []
            self._wide = Descent(self.family, self._targets, starts, MOST_EVALUATIONS, self._record)
            if time <= 0.0:
                return time, None
        before = len(self._wide.record)
        found = self._wide.advance(max(1, int(time / self._times[1])))
        time -= self._times[1] * (len(self._wide.record) - before)
        return time, None if found is None else found[1]
