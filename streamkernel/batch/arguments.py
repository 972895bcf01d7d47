"""Checks of arguments in the words of the batch algorithms, over `streamkernel.checks`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight

from .. import checks, kernels
from ..core.types import Matrix, Vector
from ..learners.reading import LARGEST_VALUE

# Beyond these the noise of a sample, ridge / weight, is zero or infinite beside that of others; as in the streams.
WEIGHT_RANGE = (1e-100, 1e100)


def kernel(name: str, value: Any) -> None:
    """A kernel, or None, which leaves the choice to the algorithm."""
    if value is not None and not isinstance(value, kernels.Kernel):
        raise TypeError(f"{name} must be one of streamkernel.kernels or None, got {value!r}")


def positive(name: str, value: Any) -> None:
    """A finite number greater than 0; anything else is a ValueError."""
    try:
        checks.number(name, value, low=0.0, open_low=True)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}") from None


def positive_or_none(name: str, value: Any) -> None:
    """A finite number greater than 0, or None, which leaves the choice to the algorithm."""
    if value is None:
        return
    try:
        checks.number(name, value, low=0.0, open_low=True)
    except TypeError:
        raise TypeError(f"{name} must be a number > 0 or None, got {value!r}") from None
    except ValueError:
        raise ValueError(f"{name} must be a finite number > 0 or None, got {value!r}") from None


def weights(sample_weight: ArrayLike | None, samples: Matrix) -> Vector:
    """One weight for each sample, 1 by default; none is negative and not all are zero."""
    found = np.asarray(_check_sample_weight(sample_weight, samples, dtype=np.float64, ensure_non_negative=True))
    used = found[found > 0.0]
    if used.min() < WEIGHT_RANGE[0] or used.max() > WEIGHT_RANGE[1]:
        low, high = WEIGHT_RANGE
        raise ValueError(f"sample_weight must be 0 or from {low:g} to {high:g}, got {used.min():g} to {used.max():g}")
    return found


def check_moderate(name: str, values: Any) -> None:
    """Raise an error where squares of these finite numbers come close to overflow."""
    if np.abs(values).max(initial=0.0) > LARGEST_VALUE:
        place = np.unravel_index(int(np.abs(values).argmax()), values.shape)
        at = ", ".join(map(str, place))
        raise ValueError(f"{name}[{at}] is {values[place]:g}: it must be at most {LARGEST_VALUE:g} either way")
