"""From a sample to a model's inputs: a fast way for what is usual, and errors that say what is wrong with the rest."""

from __future__ import annotations

import struct
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import kernels
from ..core.model import Model
from ..core.stream import BAD_TARGET, LOST_RIDGE, LOST_WEIGHT
from ..kernels import Compiled, Feature, Kernel
from . import reading

# What the fast way of a sample into an array raises where the slow way should look.
UNUSUAL = (KeyError, TypeError, ZeroDivisionError, OverflowError, struct.error, np.exceptions.ComplexWarning)


class Intake:
    """Writes samples into the inputs of one model.

    Parameters
    ----------
    model
        Whose inputs they are.
    names
        The features, in the order of the model's points.
    kernel
        The kernel in use.
    compiled
        Its program for these features.
    lock
        Who predicts holds it; `hold` and `release` are bound here, where they are found faster than in a class with
        `__getattr__`.

    """

    def __init__(
        self, model: Model, names: tuple[Feature, ...], kernel: Kernel, compiled: Compiled, lock: threading.RLock
    ) -> None:
        self.names, self._kernel, self._compiled = names, kernel, compiled
        self.model, self._inputs, self._count = model, model.inputs, len(names)
        self.hold, self.release = lock.acquire, lock.release
        self._offset = model.inputs.itemsize * (1 + len(model.targets))
        self._known = frozenset(names)
        self._read = reading.reader(names)
        self._pack = reading.packer(len(model.inputs))
        self._pack_features = reading.packer(len(names))
        self._is_special = bool(compiled.nonnegative or compiled.custom)

    def knows(self, x: Mapping[Feature, Any]) -> bool:
        """Whether no feature of x is new."""
        return x.keys() <= self._known

    def load(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any) -> bool:
        """Write a sample into the inputs; False where it has features that are new, an error where it is bad."""
        if type(x) is dict and len(x) == self._count:
            try:
                noise = 1.0 / weight
                self._pack(self._inputs, 0, noise, *targets, *self._read(x))
                if reading.SMALLEST_NOISE <= noise <= reading.LARGEST_NOISE:
                    if self._is_special:
                        self.complete()
                    return True
            except UNUSUAL:
                pass
        numbers = [reading.noise(weight), *map(reading.target, targets)]
        if not self.load_features(x):
            return False
        self._inputs[: len(numbers)] = numbers
        return True

    def load_features(self, x: Mapping[Feature, Any]) -> bool:
        """The same for a prediction, which has no target."""
        if type(x) is dict:
            try:
                if len(x) == self._count:
                    self._pack_features(self._inputs, self._offset, *self._read(x))
                elif x.keys() <= self._known:
                    get = x.get
                    self._pack_features(self._inputs, self._offset, *[get(name, 0.0) for name in self.names])
                else:
                    return False
                if self._is_special:
                    self.complete()
                return True
            except UNUSUAL:
                pass
        reading.check_mapping(x)
        if not self.knows(x):
            return False
        self.model.x[:] = reading.values(self.names, x)
        if self._is_special:
            self.complete()
        return True

    def complete(self) -> None:
        """What only some kernels need before the core is called: their domain, and columns computed in Python."""
        x, size = self.model.x, self.model.size
        if np.isfinite(x).all():
            self._kernel.check_domain(self.names, x[None])
            points = np.vstack([self.model.points[:, :size].T, x])
            kernels.fill_custom(self._compiled, self.model.stack, points, x)

    def refuse(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any, status: int) -> NoReturn:
        """Raise the error that a negative status stands for."""
        reading.noise(weight)
        for target in targets:
            reading.target(target)
        reading.values((*self.names, *x), x)
        if status == BAD_TARGET:
            raise ValueError(
                f"target y is {targets[0]!r} at {dict(x)!r}: its squared error, or a variance in its units, overflows; "
                "rescale the target or the features"
            )
        if status == LOST_WEIGHT:
            raise ValueError(
                f"weight w is {weight!r} at {dict(x)!r}: it is lost among rounding errors of what is unknown there; "
                "rescale the features, keep weights within fewer orders of magnitude, or take a larger ridge"
            )
        if status == LOST_RIDGE:
            raise ValueError(
                f"ridge {self.model.ridge!r} is lost among the rounding errors of the similarities that the kernel "
                f"{self._kernel!r} gives at {dict(x)!r}, or these are not positive definite: rescale the features, "
                "take a larger ridge, or set a threshold"
            )
        raise ValueError(
            f"the kernel {self._kernel!r} gives no finite similarity (or a negative self-similarity) "
            f"at {dict(x)!r}: rescale the features or use another kernel"
        )
