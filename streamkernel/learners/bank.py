"""Learners that look at the same samples: those with one kernel and one threshold share the dictionary and its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector
from ..kernels import Feature
from .base import StreamingRegressor
from .recursion import Recursion


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
                alike = expert._learning is None and self.experts[leader]._learning is None
                if alike and expert._model.can_follow(self._model(leader)):
                    expert._model.follow(self._model(leader))
                    followers.append(i)
                    break
            else:
                self._groups.append((i, []))

    def _model(self, index: int) -> Recursion:
        return self.experts[index]._model

    def moments(self, x: Mapping[Feature, Any]) -> tuple[Vector, Vector]:
        """The mean and the variance that each expert predicts."""
        results = np.empty((2, len(self.experts)))
        for leader, followers in self._groups:
            model = self._model(leader)
            results[:, leader] = self.experts[leader]._moments(*model.predict_variance(x))
            known = all(name in model.names for name in x)  # a new feature is tried on a copy, which nobody can follow
            for i in followers:
                own = self._model(i)
                parts = own.predict_followed(model) if known else own.predict_variance(x)
                results[:, i] = self.experts[i]._moments(*parts)
        return results[0], results[1]

    def learn(self, x: Mapping[Feature, Any], y: float, w: float) -> None:
        """Let every expert learn a sample. Requires: `moments` has accepted it, the target and the weight are good."""
        for leader, followers in self._groups:
            self._learn_group(leader, followers, x, y, w)

    def _learn_group(self, leader: int, followers: list[int], x: Mapping[Feature, Any], y: float, w: float) -> None:
        if followers:
            self._model(leader).lead([self._model(i) for i in followers], x, y, w)
        else:
            self.experts[leader].learn_one(x, y, w)

    def _follow(self, leader: int, followers: list[int]) -> None:
        for i in followers:
            self._model(i).follow(self._model(leader))

    def relax(self, limit: int) -> None:
        """Double the threshold of a dictionary from which points have left `limit` times: removals take longest."""
        for leader, followers in self._groups:
            model = self._model(leader)
            if model.pruned and model.pruned % limit == 0 and model.since_joined == 0:
                for i in (leader, *followers):
                    self._model(i).threshold *= 2.0

    def learn_many(self, names: tuple[Feature, ...], samples: Matrix, targets: Vector, weights: Vector) -> None:
        """Let every expert, which must be new, learn samples in order."""
        for leader, followers in self._groups:
            model = self._model(leader)
            model.learn_many(names, samples, targets[:, None], weights)
            if followers and model.pruned:
                # Each would have dropped other points: learn together, and let the leader decide.
                self.experts[leader]._model = model.renewed(model.kernel)
                self._follow(leader, followers)
                for row, target, w in zip(samples.tolist(), targets.tolist(), weights.tolist(), strict=True):
                    self._learn_group(leader, followers, dict(zip(names, row, strict=True)), target, w)
                continue
            for i in followers:
                own = self.experts[i]._model
                self.experts[i]._model = own.renewed(own.kernel)  # with arrays of its own
                self._model(i).learn_many(names, samples, targets[:, None], weights)
            self._follow(leader, followers)
