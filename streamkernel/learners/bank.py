"""Learners that look at the same samples: those with one kernel and one threshold share the dictionary and its work."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from ..kernels import Feature
from . import leading
from .base import StreamingRegressor

LARGEST_USUAL, LARGEST_USUAL_WEIGHT = 1e50, 100.0


def is_usual(x: Mapping[Feature, Any], y: float, w: float) -> bool:
    """Whether a sample that can be predicted can be learned too, whatever was learned before."""
    largest = max(map(abs, x.values()), default=0.0)
    return bool(max(largest, abs(y)) <= LARGEST_USUAL and w <= LARGEST_USUAL_WEIGHT)


class Bank:
    """A list of regressors that learn together, with the result that each would have alone.

    Where the limit of a dictionary is reached, the first of the learners that share it decides which point leaves.
    """

    def __init__(self, experts: Sequence[StreamingRegressor]) -> None:
        self.experts = list(experts)
        self.regroup()

    def __getstate__(self) -> dict[str, Any]:
        return {"experts": self.experts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.experts = state["experts"]
        self.regroup()  # copies of experts hold arrays of their own

    def regroup(self) -> None:
        """Find out anew who shares a dictionary: after an expert was exchanged or restored."""
        self._groups: list[tuple[int, list[int]]] = []
        for i, expert in enumerate(self.experts):
            for leader, followers in self._groups:
                other = self.experts[leader]
                has_own_kernel = expert.learns_kernel or other.learns_kernel
                if not has_own_kernel and leading.can_follow(expert.recursion, other.recursion):
                    followers.append(i)
                    break
            else:
                self._groups.append((i, []))
        for leader, followers in self._groups:
            self._share(leader, followers)

    def _share(self, leader: int, followers: list[int]) -> None:
        for i in followers:
            self.experts[i].recursion.share(self.experts[leader].recursion.model)

    def moments(self, x: Mapping[Feature, Any]) -> tuple[Vector, Vector]:
        """The mean and the variance that each expert predicts."""
        results = np.empty((2, len(self.experts)))
        for leader, followers in self._groups:
            expert = self.experts[leader]
            with expert.recursion.reading:
                results[:, leader] = expert.predict_moments(x)
                # A sample with new features is tried on another model, which nobody can follow.
                is_led = bool(followers) and expert.recursion.knows(x)
                for i in followers:
                    own = self.experts[i]
                    if is_led:
                        results[:, i] = own.moments(*leading.predict_followed(own.recursion, expert.recursion))
                    else:
                        results[:, i] = own.predict_moments(x)
        return results[0], results[1]

    def learn(self, x: Mapping[Feature, Any], y: float, w: float) -> None:
        """Let every expert learn a sample, or none of them.

        Requires: `moments` has accepted it, the target and the weight are good.
        """
        before = None if is_usual(x, y, w) else copy.deepcopy(self.experts)
        try:
            for leader, followers in self._groups:
                self._learn_group(leader, followers, x, y, w)
        except Exception:
            if before is not None:
                self.experts[:] = before
                self.regroup()
            raise

    def _learn_group(self, leader: int, followers: list[int], x: Mapping[Feature, Any], y: float, w: float) -> None:
        if followers:
            recursions = [self.experts[i].recursion for i in followers]
            leading.learn_together(self.experts[leader].recursion, recursions, x, y, w)
        else:
            self.experts[leader].learn_one(x, y, w)

    def relax(self, limit: int) -> None:
        """Double the threshold of a dictionary from which points have left `limit` times: removals take longest."""
        for leader, followers in self._groups:
            model = self.experts[leader].recursion.model
            if model.pruned and model.pruned % limit == 0 and model.since_joined == 0:
                for i in (leader, *followers):
                    self.experts[i].recursion.model.threshold *= 2.0

    def learn_many(self, names: tuple[Feature, ...], rows: Matrix, targets: Vector, weights: Vector) -> None:
        """Let every expert, which must be new, learn samples in order."""
        for leader, followers in self._groups:
            expert = self.experts[leader]
            expert.recursion.learn_many(names, rows, targets[:, None], weights)
            if followers and expert.recursion.pruned:
                # Each would have dropped other points: learn together, and let the leader decide.
                expert.renew()
                self._share(leader, followers)
                for row, target, w in zip(rows.tolist(), targets.tolist(), weights.tolist(), strict=True):
                    self._learn_group(leader, followers, dict(zip(names, row, strict=True)), target, w)
                continue
            for i in followers:
                self.experts[i].renew()  # with arrays of its own
                self.experts[i].recursion.learn_many(names, rows, targets[:, None], weights)
            self._share(leader, followers)
