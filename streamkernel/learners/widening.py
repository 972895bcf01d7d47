"""Predictions for samples with features that are new to a model, whose state stays as it is."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..core.model import Model
from ..kernels import Feature
from . import reading, storage
from .intake import Intake

if TYPE_CHECKING:
    from .recursion import Recursion


# Lists of unknown features for which a prediction is prepared.
MOST_KEPT = 4


def present(model: Recursion, x: Mapping[Feature, Any]) -> Model:
    """A model that knows all features of x, with the sample in its inputs; the given one's state stays as it is."""
    key, kept = tuple(x), model.wider
    if key not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        warn_of_strangers(model.names, x)
        kept[key] = widened(model, model.merged(x))
    return kept[key].present(x)


def widened(model: Recursion, names: tuple[Feature, ...]) -> Wider:
    """The model with these features, all that it knows among them."""
    return RewhitenedCopy(model, names) if model.is_changed_by(names) else Widened(model, names)


def warn_of_strangers(names: tuple[Feature, ...], x: Mapping[Feature, Any] | tuple[Feature, ...]) -> None:
    """Warn where a model that has learned these features knows none of a sample's: the names are then often wrong."""
    if names and x and not any(name in names for name in x):
        if isinstance(x, Mapping):
            reading.values(tuple(x), x)  # an error comes first
        warnings.warn(f"the model knows none of the features {list(x)!r}: it has learned {list(names)!r}", stacklevel=5)


class Wider(Protocol):
    """A model that knows further features; it follows the one that it was made from."""

    def refreshed(self) -> Model:
        """The model as it is now."""

    def present(self, x: Mapping[Feature, Any]) -> Model:
        """The model as it is now, with a sample in its inputs."""


class Widened:
    """Where the kernel's values between old samples stay: the same arrays, but for the points.

    Parameters
    ----------
    source
        The model that is followed.
    names
        All features.

    """

    def __init__(self, source: Recursion, names: tuple[Feature, ...]) -> None:
        kernel = source.effective_kernel(len(names))
        compiled = kernel.compile(names)
        self._source = source.model
        self._rows = [names.index(name) for name in source.names]
        self._new = [row for row in range(len(names)) if row not in self._rows]
        self._model = storage.widened(source.model, compiled, len(names))
        self._intake = Intake(self._model, names, kernel, compiled, source.reading)
        self._learned = -1

    def refreshed(self) -> Model:
        """With the points of the dictionary as it is now."""
        source, size = self._source, self._source.size
        if source.seen != self._learned:
            self._model.points[self._rows, :size] = source.points[:, :size]
            self._model.points[self._new, :size] = 0.0  # where the sample of a prediction stood
            self._learned = source.seen
        return self._model

    def present(self, x: Mapping[Feature, Any]) -> Model:
        """The model as it is now, with a sample in its inputs."""
        model = self.refreshed()
        self._intake.load_features(x)
        return model


class RewhitenedCopy:
    """Where they change: a copy that has adopted the features, made anew when its source has learned.

    Parameters
    ----------
    source
        The model that is followed.
    names
        All features.

    """

    def __init__(self, source: Recursion, names: tuple[Feature, ...]) -> None:
        self._source, self._names = source, names
        self._copy, self._learned = source, -1

    def refreshed(self) -> Model:
        """A copy of the model as it is now."""
        if self._source.seen != self._learned:
            self._copy, self._learned = copy.deepcopy(self._source), self._source.seen
            self._copy.adopt(self._names)
        return self._copy.model

    def present(self, x: Mapping[Feature, Any]) -> Model:
        """The model as it is now, with a sample in its inputs."""
        model = self.refreshed()
        self._copy.load_features(x)
        return model
