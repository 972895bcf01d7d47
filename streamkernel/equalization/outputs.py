"""Several targets in one recursion: the one place of this package that knows what a learner holds."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.types import Matrix, Vector
from ..kernels import Feature, Kernel
from ..learners.base import StreamingRegressor
from ..learners.recursion import Recursion


class Outputs:
    """A least-squares model of several targets over one dictionary and one covariance; columns are numbered."""

    def __init__(self, recursion: Recursion, width: int) -> None:
        self._recursion = recursion
        self._names: tuple[Feature, ...] = tuple(range(width))

    @classmethod
    def new(
        cls,
        kernel: Kernel,
        outputs: int,
        width: int,
        threshold: float,
        ridge: float,
        forgetting: float = 1.0,
        max_size: int | None = None,
    ) -> Outputs:
        """An empty model whose function drifts like a random walk if it forgets."""
        recursion = Recursion(kernel, threshold, ridge, forgetting, "walk", max_size, outputs=outputs)
        return cls(recursion, width)

    @classmethod
    def of(cls, model: Any, outputs: int, width: int) -> Outputs | None:
        """The recursion of a plain least-squares learner, with this many targets; None where it is not one."""
        if not isinstance(model, StreamingRegressor) or model.learns_kernel or not model.is_plain:
            return None
        while model.recursion.outputs < outputs:
            model.recursion.add_output()
        return cls(model.recursion, width)

    def learn(self, x: Mapping[Any, float], targets: Sequence[float]) -> None:
        """Learn one sample."""
        self._recursion.learn(x, targets)

    def predict(self, x: Mapping[Any, float]) -> list[float]:
        """All targets of one sample."""
        return self._recursion.predict_all(x)

    def learn_many(self, rows: Matrix, targets: Matrix) -> Matrix:
        """Learn samples in order; the predictions made before each was learned."""
        means, _, _ = self._recursion.predict_learn_many(self._names, rows, targets)
        return means

    def predict_many(self, rows: Matrix) -> Matrix:
        """All targets of every sample."""
        return self._recursion.predict_many(self._names, rows)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._recursion.size

    def get_state(self) -> dict[str, Any]:
        """What was learned."""
        return self._recursion.__getstate__()

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` gave."""
        self._recursion.__setstate__(copy.deepcopy(state))

    @property
    def coefficients(self) -> Vector:
        """The coefficients of all targets, one row each."""
        return self._recursion.coefficients
