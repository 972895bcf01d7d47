"""Symbol alphabets: constellations of unit mean energy whose neighbors differ in one bit.

The bits of a symbol are those of its index (Gray): position p along an axis or around the circle has the index
p ^ (p >> 1). A square constellation has the bits of its real part first.
"""

from __future__ import annotations

import cmath
import math
import numbers
from typing import Any


def _gray(points: list[complex]) -> list[complex]:
    """Points in the order of their neighbors, rearranged so that each stands at its Gray index."""
    return [point for _, point in sorted(((p ^ (p >> 1), x) for p, x in enumerate(points)), key=lambda pair: pair[0])]


def _unit(points: list[complex]) -> tuple[complex, ...]:
    """Points scaled to a mean square of one."""
    scale = math.sqrt(sum(abs(point) ** 2 for point in points) / len(points))
    return tuple(point / scale for point in points)


def _axis(levels: int) -> list[complex]:
    return _gray([float(2 * p - levels + 1) for p in range(levels)])


def _square(levels: int) -> tuple[complex, ...]:
    return _unit([complex(re.real, im.real) for re in _axis(levels) for im in _axis(levels)])


ALPHABETS: dict[str, tuple[complex, ...]] = {
    "bpsk": (-1.0, 1.0),
    "qpsk": tuple(complex(re, im) / math.sqrt(2) for re in (-1, 1) for im in (-1, 1)),
    "pam4": _unit(_axis(4)),
    "8psk": tuple(_gray([cmath.exp(2j * math.pi * p / 8) for p in range(8)])),
    "16qam": _square(4),
    "64qam": _square(8),
}
NAMES = ", ".join(map(repr, ALPHABETS))


def is_symbol(value: Any) -> bool:
    """Whether this is a finite number, real or complex."""
    try:
        return isinstance(value, numbers.Complex) and cmath.isfinite(complex(value))
    except (OverflowError, TypeError):  # a whole number beyond all floats; numpy's lengths of time
        return False


def symbols_of(alphabet: Any) -> tuple[complex, ...]:
    """The symbols of an alphabet that is given by its name or by themselves, or an error."""
    symbols = ALPHABETS.get(alphabet, ()) if isinstance(alphabet, str) else alphabet
    good = isinstance(symbols, tuple) and all(map(is_symbol, symbols))
    if not good or len(set(symbols)) != len(symbols) or len(symbols) < 2:
        raise ValueError(f"alphabet must be {NAMES} or a tuple of distinct numbers, got {alphabet!r}")
    return symbols
