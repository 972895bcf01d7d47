"""How new an input is: the relative variance of a kernel model that has learned the inputs so far.

u(x) = z'Pz + δ/α is the variance of a function at x that is known, with noise, at all inputs seen so far, over that of
the noise (`core.whitened`): the residual δ says what the dictionary cannot represent, z'Pz how rarely samples came
there. It falls like one over the number of neighbors, so it sees thin regions as well as empty ones. As all inputs
become better known while a stream goes on, ln u is taken relative to its running level.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from .. import kernels
from ..core.types import Vector
from ..encoding import Column, Encoder, Scaling
from ..kernels import Feature
from ..learners.recursion import Recursion
from ..learners.window import Window

# Units are learned from the newest samples, anew when the stream has grown to these lengths.
FIRST_SCALING, GROWTH = 20, 2
WINDOW = 1000
# How fast the level follows; one sample moves it by at most this much.
LEVEL_RATE = 0.02
LARGEST_LEVERAGE = 0.999  # a sample alone in its region
# Added to ln u where a sample breaks what held for all samples before.
SURPRISE = 10.0
# A part of the kernel that grows with the distance: far from everything, farther is still newer.
TREND = 0.1
# In units of a column's spread: farther, rounding errors of the similarities drown what a model knows.
FARTHEST = 1e6


class Novelty:
    """ln u of raw samples relative to its running level, in units that are learned from the stream.

    Parameters
    ----------
    kernel
        None for `RBF(√d)` and a linear part, on d columns of unit variance.
    threshold, ridge, forgetting, max_size
        As in `KRLS`.

    """

    def __init__(
        self, kernel: kernels.Kernel | None, threshold: float, ridge: float, forgetting: float, max_size: int | None
    ) -> None:
        self._kernel = kernel
        self._settings = threshold, ridge, forgetting, max_size
        self._encoder = Encoder()
        self._window = Window(WINDOW, absent=math.nan)
        self._count, self._next = 0, FIRST_SCALING
        self._level = 0.0
        self._constants: dict[Feature, float] = {}
        self._always: list[Feature] = []
        self._scaling: Scaling | None = None
        self._model = self._new_model(0)

    def _new_model(self, columns: int) -> Recursion:
        threshold, ridge, forgetting, max_size = self._settings
        kernel = self._kernel
        if kernel is None:
            width = max(columns, 1)
            kernel = kernels.RBF(math.sqrt(width)) + (TREND / width) * kernels.Linear()
        return Recursion(kernel, threshold, ridge, forgetting, max_size=max_size)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._model.size

    @property
    def columns(self) -> list[str]:
        """The columns in use."""
        return [] if self._scaling is None else self._scaling.names

    def of(self, x: Mapping[Hashable, Any]) -> float | None:
        """ln u over its level; None while the units are not known, and where nothing varies."""
        return self._of(self._encoder.read(x))

    def _of(self, row: Vector) -> float | None:
        if self._scaling is None or not self._scaling.columns:
            return None
        scaled, times_too_far = self._scaled(row, self._scaling)
        _, residual, unlearned = self._model.predict_variance(scaled)
        u = self._model.relative_variance(residual, unlearned)
        surprise = SURPRISE if self._breaks_a_rule(self._encoder.named(row)) else 0.0
        # A variance grows with the square of the distance.
        return math.log(max(u, math.ulp(0.0))) + 2.0 * math.log(times_too_far) + surprise - self._level

    def _scaled(self, row: Vector, scaling: Scaling) -> tuple[dict[Feature, float], float]:
        """The columns of a sample, no farther away than a model can tell, and how many times farther it is."""
        with np.errstate(over="ignore"):  # the largest floats are infinite in small units
            values = np.clip(scaling.transform(row), -sys.float_info.max, sys.float_info.max)
        times_too_far = max(float(np.abs(values).max(initial=0.0)) / FARTHEST, 1.0)
        return dict(zip(scaling.names, (values / times_too_far).tolist(), strict=True)), times_too_far

    def _breaks_a_rule(self, named: dict[Feature, float]) -> bool:
        """Whether a column that was constant is not so here, or one that was always there is absent."""
        return any(named.get(name) != value for name, value in self._constants.items()) or any(
            name not in named for name in self._always
        )

    def learn(self, x: Mapping[Hashable, Any]) -> float | None:
        """Learn a sample; return what `of` would have given before."""
        row = self._encoder.read(x)
        found = self._of(row)
        if self._scaling is not None:  # the model may refuse a sample: it is asked first
            scaled, times_too_far = self._scaled(row, self._scaling)
            if times_too_far == 1.0:  # what is too far stays as new as it is until the units are learned anew
                self._model.learn(scaled, (1.0,))
        row = self._encoder.learn(x, row)
        self._window.append(self._encoder.named(row), [1.0])
        self._count += 1
        if found is not None:
            self._level += LEVEL_RATE * min(max(found, -1.0), 1.0)
        if self._count >= self._next:
            self._next = GROWTH * self._count
            self._rescale()
        return found

    def _rescale(self) -> None:
        """Learn the units anew, and the window in them."""
        names = [str(name) for name in self._window.names]
        self._scaling = Scaling(names, self._window.samples).bind(self._encoder.columns)
        present = ~np.isnan(self._window.samples)
        self._always = [name for name, own in zip(self._window.names, present.T, strict=True) if own.all()]
        newest = dict(zip(self._window.names, self._window.samples[-1].tolist(), strict=True))
        self._constants = {name: newest[name] for name in self._always if name not in self._scaling.names}
        rows = self._scaling.transform_many(names, self._window.samples)
        self._model = self._new_model(len(self._scaling.columns))
        self._model.learn_many(tuple(self._scaling.names), rows, np.ones((len(rows), 1)))
        if self._scaling.columns:
            _, residuals, unlearned = self._model.predict_variances(tuple(self._scaling.names), rows)
            known = np.minimum(self._model.relative_variance(residuals, unlearned), LARGEST_LEVERAGE)
            # As if each had not been learned yet: v/(1 − v) for a variance v that includes the sample itself.
            self._level = float(np.median(np.log(np.maximum(known / (1.0 - known), math.ulp(0.0)))))

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "encoder": [self._encoder.columns, self._encoder.words, self._encoder.labels, self._encoder.gaps],
            "window": self._window.get_state(),
            "count": [self._count, self._next],
            "level": self._level,
            "constants": self._constants,
            "always": self._always,
            "columns": None if self._scaling is None else [tuple(column) for column in self._scaling.columns],
            "model": self._model.__getstate__(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        *known, self._encoder.gaps = state["encoder"]
        self._encoder.restore(*known)
        self._window.set_state(state["window"])
        self._count, self._next = state["count"]
        self._level, self._constants, self._always = state["level"], state["constants"], state["always"]
        if state["columns"] is not None:
            self._scaling = Scaling([], np.empty((0, 0)))
            self._scaling.columns = [Column(*column) for column in state["columns"]]
            self._scaling.bind(self._encoder.columns)
        self._model.__setstate__(state["model"])
