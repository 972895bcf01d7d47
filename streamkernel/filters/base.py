"""What every kernel adaptive filter shares: names, room for points, river's methods around one call into the core."""

from __future__ import annotations

import abc
import copy
import math
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from river import base, utils

from .. import kernels
from ..checkpoint import Checkpointed
from ..core import lms
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..learners import reading

FIRST_CAPACITY = 32
LARGE_TARGET = 1e6
# What the fast way of a sample into an array raises where the slow way should look: it adopts features or explains.
UNUSUAL = (KeyError, TypeError, struct.error, OverflowError)


class KernelFilter(base.Regressor, Checkpointed, abc.ABC):
    """f(x) = Σ_j a_j k(x_j, x), changed sample by sample.

    A filter checks and stores its parameters, calls `_start`, and names its step in the core.
    """

    kernel: kernels.Kernel | None
    max_size: int | None
    _step: Callable[..., int]
    _EXTRA: tuple[str, ...] = ()
    """The names of the arrays that a filter has of its own, in the order of its step's arguments."""
    _WORKSPACE: tuple[str, ...] = ()
    """Those of them that hold nothing from one step to the next."""

    def _start(self, step: float, setting: float, rho: float = 0.0) -> None:
        """Create the empty state."""
        kernels.check(self.kernel)
        self._reading = threading.Lock()  # who predicts holds it from the inputs to the prediction
        self._names: tuple[Feature, ...] = ()
        self._scalars = np.zeros(lms.N_SCALARS)
        limit = math.inf if self.max_size is None else float(self.max_size)
        self._scalars[[lms.LIMIT, lms.STEP, lms.SETTING, lms.RHO]] = limit, step, setting, rho
        self._points = np.zeros((0, 0))
        self._vectors = np.zeros((lms.STACK, 0))
        self._effective = self.kernel
        for name in self._EXTRA:
            setattr(self, name, np.zeros((0, 0)))
        self._prepare((), FIRST_CAPACITY)

    def _prepare(self, names: tuple[Feature, ...], capacity: int) -> None:
        """Lay out all arrays for these features and this capacity, keeping what they hold."""
        size = self.size
        if self.kernel is None and not size:
            self._effective = kernels.default(max(1, len(names)))  # stays what it was at the first sample
        assert self._effective is not None
        self._compiled = self._effective.compile(names)
        points = np.zeros((len(names), capacity))
        for r, name in enumerate(names):
            if name in self._names:
                points[r, :size] = self._points[self._names.index(name), :size]
        vectors = np.zeros((lms.STACK + max(2, self._compiled.stack_rows), capacity))
        vectors[: lms.STACK, :size] = self._vectors[: lms.STACK, :size]
        if self._effective.depends_on_width and names != self._names:
            vectors[lms.SIMILARITIES, :size] = self._effective.diagonal(points[:, :size].T, features=names)
        self._grow_extra(names, capacity)
        self._names, self._points, self._vectors = names, points, vectors
        self._inputs = np.zeros(1 + len(names))
        self._bind()

    def _grow_extra(self, names: tuple[Feature, ...], capacity: int) -> None:
        """Make room in the arrays of `_EXTRA`."""
        return

    def _bind(self) -> None:
        self._read = reading.reader(self._names)
        self._pack = reading.packer(1 + len(self._names))
        self._special = bool(self._compiled.nonnegative or self._compiled.custom)
        common = (self._compiled.program, self._compiled.parameters, self._points, self._vectors)
        self._arguments = (*common, self._scalars, self._inputs)
        own = tuple(getattr(self, name) for name in self._EXTRA)
        self._all_arguments = (*self._arguments, own) if own else self._arguments

    # River's methods --------------------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Feature, Any], y: float) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.

        """
        before = None
        try:
            if len(x) != len(self._names) or type(x) is not dict:
                raise KeyError
            values = self._read(x)
            total = sum(values, y)
            if isinstance(total, reading.NO_NUMBERS):
                raise TypeError
            if not (math.isfinite(total) and abs(y) <= reading.LARGEST_VALUE):
                raise OverflowError
            self._pack(self._inputs, 0, y, *values)
        except UNUSUAL:
            reading.check_mapping(x)
            before = None if self._knows(x) else self._get_state()
            if before is not None:
                self._check_new(x)
            self._load(x, y)
        try:
            if self._special:
                self._complete()
                self._complete_own()
            status = self._step(*self._all_arguments)
            if status:
                self._settle(status)
        except Exception:
            if before is not None:  # the features of a refused sample stay unknown
                self._set_state(before)
            raise

    def _check_new(self, x: Mapping[Feature, Any]) -> None:
        """An inverse of the kernel matrix does not outlast a feature that changes all of it."""
        if "_inverse" in self._EXTRA and self.size and self._effective is not None and self._effective.depends_on_width:
            name = next(name for name in x if name not in self._names)
            raise ValueError(
                f"feature {name!r} is new, and with it the kernel {self._effective!r} changes between all points: give "
                f"{type(self).__name__} all features from the first sample on, or use KRLS"
            )

    def _knows(self, x: Mapping[Feature, Any]) -> bool:
        return all(name in self._names for name in x)

    def predict_one(self, x: Mapping[Feature, Any]) -> float:
        """Predict the target of `x`."""
        reading.check_mapping(x)
        if not self._knows(x):
            reading.values(reading.sort_names(x), x)
            return copy.deepcopy(self)._predict(x)
        with self._reading:
            return self._predict(x)

    def _predict(self, x: Mapping[Feature, Any]) -> float:
        self._load(x, 0.0)
        self._room()
        if self._special:
            self._complete()
        mean = float(lms.predict(*self._arguments))
        if not math.isfinite(mean):
            self._explain(x)
        return mean

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn samples in order, as `learn_one` would one after the other.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The targets.

        """
        names, samples, _ = reading.frame(X)
        self.learn_rows(names, samples, reading.column("y", y, len(samples)))

    def predict_many(self, X: Any) -> Any:
        """Predict the targets of many samples: a series for a data frame, an array for an array."""
        names, samples, data = reading.frame(X)
        means = np.array([self.predict_one(dict(zip(names, row))) for row in samples.tolist()])
        return means if data is None else utils.dataframe.to_native_series(means, name=None, like=data)

    def learn_rows(self, names: tuple[Feature, ...], samples: Matrix, targets: Vector) -> tuple[Vector, Vector]:
        """Learn samples in order: the predictions made before each was learned, and the sizes after each."""
        predictions, sizes = np.empty(len(samples)), np.empty(len(samples))
        before = self._get_state()
        try:
            for i, (row, target) in enumerate(zip(samples.tolist(), targets.tolist())):
                x = dict(zip(names, row))
                # Beside a large target the error has lost the digits of the prediction.
                exact = self.predict_one(x) if abs(target) > LARGE_TARGET else None
                self.learn_one(x, target)
                predictions[i] = target - self._scalars[lms.ERROR] if exact is None else exact
                sizes[i] = self.size
        except Exception:  # all or nothing is learned
            self._set_state(before)
            raise
        return predictions, sizes

    # The way of a sample ----------------------------------------------------------------------------------------------

    def _load(self, x: Mapping[Feature, Any], y: Any) -> None:
        """The slow way of a sample into `inputs`: features may be new or absent, values may be bad."""
        target, names = reading.target(y), self._names
        if not self._knows(x):
            names = reading.sort_names({*names, *x})
        row = reading.values(names, x)
        if names != self._names:
            self._prepare(names, max(FIRST_CAPACITY, self._points.shape[1]))
        self._inputs[0] = target
        self._inputs[1:] = row

    def _complete(self) -> None:
        """What only some kernels need before the core is called: their domain, and columns computed in Python."""
        self._room()
        row = self._inputs[1:]
        assert self._effective is not None
        self._effective.check_domain(self._names, row[None])
        points = np.vstack([self._points[:, : self.size].T, row])
        kernels.fill_custom(self._compiled, self._vectors[lms.STACK :], points, row)

    def _complete_own(self) -> None:
        """The same for other samples that a step looks at. Requires: `_complete`."""
        return

    def _room(self) -> None:
        """Room for the sample behind the dictionary."""
        if self.size + 1 >= self._points.shape[1]:
            inputs = self._inputs
            self._prepare(self._names, 2 * self._points.shape[1])
            self._inputs[:] = inputs

    def _settle(self, status: int) -> None:
        if status == lms.NO_ROOM:
            self._room()
            status = self._step(*self._all_arguments)
        if status == lms.BAD:
            x = dict(zip(self._names, self._inputs[1:].tolist()))
            reading.target(float(self._inputs[0]))
            reading.values(self._names, x)
            self._explain(x)

    def _explain(self, x: Mapping[Feature, Any]) -> None:
        if not math.isfinite(self._vectors[lms.STACK, self.size]):
            raise ValueError(
                f"the kernel {self._effective!r} gives no finite similarity k(x, x) at {dict(x)!r}: rescale the "
                "features or use another kernel"
            )
        raise ValueError(
            f"the prediction at {dict(x)!r}, or a step from there, is not finite: similarities of the kernel "
            f"{self._effective!r} are too large, or the filter has diverged; rescale the features or take a smaller "
            "step"
        )

    # What was learned -------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return int(self._scalars[lms.SIZE])

    @property
    def dictionary(self) -> list[dict[Feature, float]]:
        """The points of the dictionary as feature dicts."""
        return [dict(zip(self._names, point.tolist())) for point in self._points[:, : self.size].T]

    @property
    def coefficients(self) -> Vector:
        """a, one for each point: the prediction is Σ_j a_j k(x_j, x)."""
        return self._vectors[lms.COEFFICIENTS, : self.size].copy()

    # Copies -----------------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        size = self.size
        return {
            "names": self._names,
            "effective": self._effective,
            "capacity": self._stored_capacity(),
            "scalars": self._scalars.copy(),
            "points": self._points[:, :size].copy(),
            "vectors": self._vectors[: lms.STACK, :size].copy(),
            "extra": [self._stored(name) for name in self._EXTRA],
        }

    def _stored_capacity(self) -> int:
        """That of a filter that has only learned: a prediction may make room, and changes nothing."""
        capacity = FIRST_CAPACITY
        while capacity <= self.size:
            capacity *= 2
        return capacity

    def _stored(self, name: str) -> Any:
        """An array of `_EXTRA` for a checkpoint; of what is only worked on nothing, behind the last point zero."""
        array: Any = getattr(self, name)
        if name in self._WORKSPACE:
            return np.zeros((0, 0))
        if len(array) != self._points.shape[1]:
            return array.copy()
        stored = array[(slice(self._stored_capacity()),) * array.ndim].copy()
        stored[self.size :] = 0.0
        if stored.ndim == 2:
            stored[:, self.size :] = 0.0
        return stored

    def _set_state(self, state: dict[str, Any]) -> None:
        size, names, capacity = int(state["scalars"][lms.SIZE]), state["names"], state["capacity"]
        good = state["scalars"].shape == (lms.N_SCALARS,) and 0 <= size < capacity
        good &= isinstance(state["effective"], kernels.Kernel)
        good &= state["points"].shape == (len(names), size) and state["vectors"].shape == (lms.STACK, size)
        if not good or len(state["extra"]) != len(self._EXTRA):
            raise ValueError("the parts of the state do not fit together")
        self._names, self._scalars = names, state["scalars"].copy()
        self._effective = state["effective"]
        self._points, self._vectors = state["points"], state["vectors"]
        for name, array in zip(self._EXTRA, state["extra"]):
            setattr(self, name, array.copy())
        self._prepare(names, capacity)

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._parameters(), "state": self._get_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        self._set_state(state["state"])
