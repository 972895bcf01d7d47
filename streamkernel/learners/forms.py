"""The forms in which a model is learned, each a core of its own behind one protocol."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from ..core import exact, noise, stream, whitened
from ..core.model import Model


@dataclasses.dataclass(frozen=True)
class Form:
    """What differs between the forms; the calls take tables, as in `core.stream`."""

    name: ClassVar[str]
    """In checkpoints."""
    core: ClassVar[Any]
    """The module with `learn_one`, `learn_many`, `is_calm` and `shrink`, and `learn_blocks` if it is ever calm."""
    has_covariance: ClassVar[bool] = True
    has_noise: ClassVar[bool] = False
    """Whether the last row of the weights is that of the logarithm of the noise."""

    def configure(self, model: Model) -> None:
        """Write the form's own settings into a new model."""

    def settle(self, model: Model) -> None:
        """Apply what is pending."""
        whitened.settle(model)


@dataclasses.dataclass(frozen=True)
class Dictionary(Form):
    """The whitened recursion over a dictionary: `core.stream`."""

    name: ClassVar[str] = "dictionary"
    core: ClassVar[Any] = stream


@dataclasses.dataclass(frozen=True)
class Exact(Form):
    """Every sample kept, the newest `max_size` if that is given; needs a ridge: `core.exact`."""

    name: ClassVar[str] = "exact"
    core: ClassVar[Any] = exact
    has_covariance: ClassVar[bool] = False

    def settle(self, model: Model) -> None:
        """Nothing is ever pending."""


@dataclasses.dataclass(frozen=True)
class InputNoise(Form):
    """One target, whose noise depends on the input; needs a ridge: `core.noise`."""

    name: ClassVar[str] = "input noise"
    core: ClassVar[Any] = noise
    has_noise: ClassVar[bool] = True

    ridge: float
    """Of the logarithm of the noise."""
    cap: float
    """The largest squared standardized error."""

    def configure(self, model: Model) -> None:
        """Write the ridge and the cap."""
        model.noise_ridge, model.noise_cap = self.ridge, self.cap

    def settle(self, model: Model) -> None:
        """Apply what is pending to both covariances."""
        whitened.settle(model)
        noise.settle_noise(model)
