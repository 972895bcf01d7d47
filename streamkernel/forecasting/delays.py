"""Which past values of a series a sample holds.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", 2004, section 5.2.
Paper -> code: ŷⁱ_t, the i-step estimate of y_t, `estimates[t][i - 1]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import checks
from ..kernels import Feature


def distances(lags: Any) -> tuple[int, ...]:
    """The distances of so many lags, or those that are given."""
    if not isinstance(lags, tuple | list):
        checks.whole("lags", lags)
        return tuple(range(1, lags + 1))
    for lag in lags:
        checks.whole("lags", lag)
    if not lags or len(set(lags)) != len(lags):
        raise ValueError(f"lags must be a whole number >= 1 or several distinct ones, got {lags!r}")
    return tuple(lags)


def lagged(names: Mapping[str, int], history: Sequence[float], steps: int = 0) -> dict[Feature, Any]:
    """The lags of the value `steps` before the next one; those before the start of the series are absent."""
    size = len(history)
    return {name: history[-delay - steps] for name, delay in names.items() if delay + steps <= size}


def rolled(
    names: Mapping[str, int],
    history: Sequence[float],
    estimates: Sequence[Sequence[float]],
    ahead: int,
    steps: int = 0,
) -> dict[Feature, Any]:
    """The lags of the value `steps` before the next one, as its i-step forecast has them, i = `ahead`.

    (ŷ^{i−1}_{t−1}, ŷ^{i−2}_{t−2}, ..., ŷ¹_{t−i+1}, y_{t−i}, ..., y_{t−d})
    """
    return {
        name: estimates[-delay - steps][ahead - delay - 1] if delay < ahead else history[-delay - steps]
        for name, delay in names.items()
    }
