"""Learners that look at the same samples: those with one kernel and one threshold share the dictionary and its work."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core import following, stream
from ..core.exact import SMALLEST_PIVOT
from ..core.model import Model
from ..core.types import Matrix, Vector
from ..core.whitened import SMALL_NOISE
from ..kernels import Feature
from . import leading, many
from .base import StreamingRegressor
from .forms import Dictionary
from .recursion import Recursion

LARGEST_USUAL, LARGEST_USUAL_WEIGHT = 1e50, 100.0
# Of a ridge, or of a threshold without one: below it, variances in the units of usual targets may overflow.
SMALLEST_USUAL = 1e-100
NO_REPORTS = np.empty((0, following.REPORTS))


class Moments(NamedTuple):
    """What experts predict of a sample, and the largest k(x, x) among their kernels, inf with new features."""

    means: Vector
    variances: Vector
    similarity: float


def is_robust(model: Recursion) -> bool:
    """Whether a model learns whatever is usual: by its ridge, nothing usual overflows or is lost in rounding errors."""
    ridge = model.model.ridge
    if not model.form.has_covariance:
        return ridge > SMALLEST_PIVOT / SMALL_NOISE
    return (ridge if ridge > 0.0 else model.model.threshold) >= SMALLEST_USUAL


def is_usual(x: Mapping[Feature, Any], y: float, w: float, similarity: float) -> bool:
    """Whether robust models will learn a sample with this k(x, x), where neither target nor prediction exceeds y."""
    largest = max(map(abs, x.values()), default=0.0)
    if not (max(largest, abs(y)) <= LARGEST_USUAL and w <= LARGEST_USUAL_WEIGHT):
        return False
    return similarity <= 1.0 / (SMALL_NOISE * w) - 1.0  # no noise is lost among rounding errors


class Bank:
    """A list of regressors that learn together, with the result that each would have alone.

    Where the limit of a dictionary is reached, the first of the learners that share it decides which point leaves.
    """

    def __init__(self, experts: Sequence[StreamingRegressor], leaders: Sequence[int] | None = None) -> None:
        self.experts = list(experts)
        if leaders is None:
            self.regroup()
        else:
            self._group(leaders)

    def __getstate__(self) -> dict[str, Any]:
        return {"experts": self.experts, "leaders": self.leaders}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Bank.__init__(self, **state)  # copies of experts hold arrays of their own

    @property
    def leaders(self) -> list[int]:
        """The number of the expert whose dictionary each one uses: its own, or that of an earlier one.

        Dictionaries may come to be equal by chance, so a copy cannot find out who shares one.
        """
        found = list(range(len(self.experts)))
        for leader, followers in self._groups:
            for i in followers:
                found[i] = leader
        return found

    def regroup(self) -> None:
        """Find out anew who shares a dictionary: after an expert was exchanged or has changed."""
        leaders: list[int] = []
        for i in range(len(self.experts)):
            leaders.append(next((j for j in dict.fromkeys(leaders) if self._can_follow(i, j)), i))
        self._group(leaders)

    def _can_follow(self, i: int, leader: int) -> bool:
        expert, other = self.experts[i], self.experts[leader]
        has_own_kernel = expert.learns_kernel or other.learns_kernel
        return not has_own_kernel and leading.can_follow(expert.recursion, other.recursion)

    def _group(self, leaders: Sequence[int]) -> None:
        """Let experts use the dictionaries of these. Requires: as `leaders`, which a damaged checkpoint may not be."""
        groups: dict[int, list[int]] = {}
        if len(leaders) != len(self.experts):
            raise ValueError(f"there must be one leader for each of {len(self.experts)} experts, got {leaders!r}")
        for i, leader in enumerate(leaders):
            if leader == i:
                groups[i] = []
            elif leader in groups and self._can_follow(i, leader):
                groups[leader].append(i)
            else:
                raise ValueError(f"expert {i} cannot use the dictionary of expert {leader!r}")
        self._reading = threading.Lock()  # who predicts a row holds it until the reports are read
        self._groups = list(groups.items())
        for leader, followers in self._groups:
            self._share(leader, followers)
        self._arranged: list[Model] = []
        self._is_robust = all(map(is_robust, self._models()))

    def _share(self, leader: int, followers: list[int]) -> None:
        for i in followers:
            self.experts[i].recursion.share(self.experts[leader].recursion.model)

    def moments(self, x: Mapping[Feature, Any]) -> Moments:
        """The mean and the variance that each expert predicts."""
        results, similarity = np.empty((2, len(self.experts))), 0.0
        for leader, followers in self._groups:
            expert = self.experts[leader]
            with expert.recursion.reading:
                results[:, leader] = expert.predict_moments(x)
                similarity = max(similarity, expert.recursion.similarity_of(x))
                # A sample with new features is tried on another model, which nobody can follow.
                is_led = bool(followers) and expert.recursion.knows(x)
                for i in followers:
                    own = self.experts[i]
                    if is_led:
                        results[:, i] = own.moments(*leading.predict_followed(own.recursion, expert.recursion))
                    else:
                        results[:, i] = own.predict_moments(x)
        return Moments(results[0], results[1], similarity)

    def learn(self, x: Mapping[Feature, Any], y: float, w: float, moments: Moments | None = None) -> None:
        """Let every expert learn a sample, or none of them.

        Requires: `moments` has accepted it and said this; the target and the weight are good.
        """
        before = None if self._will_learn(x, y, w, moments) else copy.deepcopy(self)
        try:
            for leader, followers in self._groups:
                self._learn_group(leader, followers, x, y, w)
        except Exception:
            if before is not None:
                self.experts[:] = before.experts
                self._group(before.leaders)
            raise

    def _will_learn(self, x: Mapping[Feature, Any], y: float, w: float, moments: Moments | None) -> bool:
        """Whether all experts will learn a sample for sure, whatever they have learned."""
        if moments is None or not self._is_robust:
            return False
        return is_usual(x, max(map(abs, (y, *moments.means.tolist()))), w, moments.similarity)

    def _learn_group(self, leader: int, followers: list[int], x: Mapping[Feature, Any], y: float, w: float) -> None:
        if followers:
            recursions = [self.experts[i].recursion for i in followers]
            leading.learn_together(self.experts[leader].recursion, recursions, x, y, w)
        else:
            self.experts[leader].learn_one(x, y, w)

    # A row of numbers, in one call for all experts -------------------------------------------------------------------

    def names(self) -> tuple[Feature, ...] | None:
        """The features of a row that `moments_of_row` and `learn_row` take; None where samples must be dicts.

        Rows are for experts that have learned something, all of the same features, whose predictions are plain.
        """
        models = self._models()
        names = models[0].names
        is_plain = all(
            model.names == names and isinstance(model.form, Dictionary) and not _is_special(model) and model.seen > 0
            for model in models
        )
        is_fixed = not any(expert.learns_kernel or not expert.is_plain for expert in self.experts)
        return names if is_plain and is_fixed and all(model.model.ridge > 0.0 for model in models) else None

    def _models(self) -> list[Recursion]:
        return [expert.recursion for expert in self.experts]

    def _arrange(self) -> None:
        """Have the tables of all models in one array, those of a group in neighboring rows."""
        models = [recursion.model for recursion in self._models()]
        if models == self._arranged:
            return
        order = [i for leader, followers in self._groups for i in (leader, *followers)]
        ends = np.cumsum([1 + len(followers) for _, followers in self._groups])
        self._bounds = np.column_stack([np.append(0, ends[:-1]), ends]).astype(np.int64)
        self._tables = np.array([models[i].table for i in order])
        self._place = np.argsort(order)
        self._is_ordered = order == sorted(order)
        self._ridges = np.array([model.ridge for model in models])
        self._width, self._outputs = len(models[0].x), len(models[0].errors)
        if any((len(model.x), len(model.errors)) != (self._width, self._outputs) for model in models):
            raise ValueError("the experts do not have the same features and targets")  # as of a damaged checkpoint
        self._arranged = models

    def _check_width(self, rows: Matrix) -> None:
        """The core would write beyond its arrays."""
        if rows.shape[1] != self._width:
            raise ValueError(f"rows have {rows.shape[1]} numbers where the experts have {self._width} features")

    def moments_of_row(self, row: Vector) -> tuple[Vector, Vector]:
        """The mean and the variance that each expert predicts. Requires: `names` gives those of the row."""
        means, variances = self.moments_of_rows(row[None])
        return means[0], variances[0]

    def moments_of_rows(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """The means and variances that the experts predict: one row a sample, one column an expert."""
        means, (residuals, unlearned, sums, weights) = self._predicted(rows)
        noise = sums / weights
        return means[:, :, 0], noise * (1.0 + unlearned) + noise / self._ridges * residuals

    def means_of_rows(self, rows: Matrix) -> Vector:
        """The means of all targets that the experts predict: by sample, expert and target."""
        return self._predicted(rows)[0]

    def _predicted(self, rows: Matrix) -> tuple[Vector, Vector]:
        """By sample and expert: the means of all targets, and what the core reports of each."""
        with self._reading:
            self._arrange()
            self._check_width(rows)
            count = len(rows) * len(self.experts)
            means, reports = np.empty((count, self._outputs)), np.empty((count, following.REPORTS))
            good = following.predict_bank(self._tables, self._bounds, rows, means, reports)
        if good < len(rows):
            raise ValueError(
                f"the experts' kernels give no finite similarity at {rows[good].tolist()!r}: rescale the features"
            )
        return self._arranged_as_experts(means, reports)

    def _arranged_as_experts(self, means: Matrix, reports: Matrix) -> tuple[Vector, Vector]:
        """What the core says of all samples and models, by sample and expert."""
        shape = -1, len(self.experts)
        found, terms = means.reshape(*shape, means.shape[1]), reports.T.reshape(following.REPORTS, *shape)
        return (found, terms) if self._is_ordered else (found[:, self._place], terms[:, :, self._place])

    def adopt(self, names: tuple[Feature, ...]) -> None:
        """Let experts that have learned nothing yet know the features of rows."""
        for expert in self.experts:
            expert.recursion.adopt(names)
        self.regroup()

    def add_outputs(self, count: int) -> None:
        """Let every expert learn so many more targets, which were zero in every sample so far."""
        if count:
            for expert in self.experts:
                expert.recursion.add_output(count)
            self.regroup()

    def learn_row(self, row: Vector, y: float | Vector, w: float) -> bool:
        """Let every expert learn a sample; whether a point has left. Requires: as `learn`, and `names`."""
        return self._learn_given(row[None], np.append(1.0 / w, y)[None])

    def learn_rows(self, rows: Matrix, targets: Matrix, weights: Vector) -> bool:
        """Let every expert learn samples, a row of targets each; whether a point has left. Requires: as `learn_row`."""
        return self._learn_given(rows, np.column_stack([1.0 / weights, targets]))

    def screen(self, rows: Matrix, targets: Vector, weights: Vector) -> bool:
        """Whether all of these samples can be learned for sure; an error where one of them surely cannot.

        Requires: as `learn_row`, but for the values.
        """
        leaders = [self.experts[leader].recursion for leader, _ in self._groups]
        found = [many.screen(model, model.names, rows, targets[:, None], weights) for model in leaders]
        return all(is_ordinary and is_certain for _, is_ordinary, is_certain in found)

    def predict_learn_rows(self, rows: Matrix, targets: Vector, weights: Vector) -> tuple[Matrix, Matrix]:
        """Learn samples; the mean and the variance that each expert predicted of each before. Requires: `screen`."""
        self._arrange()
        count = len(rows) * len(self.experts)
        means, reports = np.empty((count, self._outputs)), np.empty((count, following.REPORTS))
        self._learn_given(rows, np.column_stack([1.0 / weights, targets]), means, reports)
        found, terms = self._arranged_as_experts(means, reports)
        noise = terms[following.NOISE_SUM] / terms[following.NOISE_WEIGHT]
        return found[:, :, 0], noise * (1.0 + terms[following.RELATIVE_VARIANCE])

    def _learn_given(
        self, rows: Matrix, given: Matrix, means: Matrix = NO_REPORTS, reports: Matrix = NO_REPORTS
    ) -> bool:
        """Learn rows, beside each of which stand its relative noise and its targets."""
        self._arrange()
        self._check_width(rows)
        if given.shape[1] != 1 + self._outputs:
            raise ValueError(f"{given.shape[1] - 1} targets are given where the experts have {self._outputs}")
        statuses = np.array([following.DUE] * len(self._groups))
        start, shrunk = 0, False
        while True:
            start = following.learn_bank(self._tables, self._bounds, rows, given, statuses, start, means, reports)
            if start == len(rows):
                return shrunk
            for (leader, followers), status in zip(self._groups, statuses.tolist(), strict=True):
                models = [self.experts[i].recursion for i in (leader, *followers)]
                if status == stream.FULL:
                    leading.shrink_together(models[0], models[1:])
                    shrunk = True
                elif status < 0:
                    _refuse(status, rows[start], given[start])
                elif status == stream.NO_ROOM:
                    models[0].reserve()
                    self._share(leader, followers)
            statuses[:] = np.where(statuses == stream.NO_ROOM, following.DUE, stream.LEARNED)
            if not (statuses == following.DUE).any():
                statuses[:] = following.DUE
                start += 1
            self._arrange()

    def relax(self, limit: int) -> None:
        """Double the threshold of a dictionary from which points have left `limit` times: removals take longest."""
        for leader, followers in self._groups:
            model = self.experts[leader].recursion.model
            if model.pruned and model.pruned % limit == 0 and model.since_joined == 0:
                for i in (leader, *followers):
                    self.experts[i].recursion.model.threshold *= 2.0


def _refuse(status: int, row: Vector, given: Vector) -> NoReturn:
    """Raise the error that a negative status stands for, in the experts' units."""
    farthest, target, weight = float(np.abs(row).max(initial=0.0)), given[1], 1.0 / given[0]
    is_large = status == stream.BAD_TARGET
    reason = "its squared error or a variance overflows" if is_large else "it is lost among rounding errors"
    raise ValueError(
        f"a sample with target y {target:g}, weight w {weight:g} and a feature {farthest:g} away, in units of those "
        f"before, cannot be learned: {reason}; leave it out or rescale it"
    )


def _is_special(model: Recursion) -> bool:
    """Whether a sample needs more than its numbers: columns computed in Python, or a domain that is checked."""
    compiled = model.effective_kernel().compile(model.names)
    return bool(compiled.custom or compiled.nonnegative)
