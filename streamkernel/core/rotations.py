"""A row leaves a packed triangular factor: the rotations that close the gap, and matrices that follow them.

Rotation k turns columns k and k + 1. In a row it is one step of a scan: what is carried along meets the next element.
Eight rows are scanned at once, tile by tile, with the tile turned so that a register holds a column. Every element sees
the operations of the plain loops, in their order.
"""

from __future__ import annotations

import math
from typing import Any

from .jit import inline, jit, part
from .simd import lane, load, multiply, multiply_add, splat, store, transpose
from .triangular import PANEL, mirror, padded, row_start, row_width
from .types import Vector


@jit
def delete_row(factor: Vector, reciprocals: Vector, size: int, index: int, cosines: Vector, sines: Vector) -> None:
    """Remove row `index` of a factor of K, so that it factors K without that row and column.

    Rotations of neighboring columns bring the remaining rows back to triangular form.
    Requires: `cosines` and `sines` hold padded(size) numbers.
    Ensures: `cosines[index:size-1]`, `sines[index:size-1]` hold the rotations, for `rotate` and `rotate_symmetric`; the
    others of the same panels turn nothing.
    """
    base = PANEL * (index // PANEL)
    for k in range(base, padded(size)):
        cosines[k], sines[k] = 1.0, 0.0
    for first in range(base, size, PANEL):
        if first > base:
            _lift_panel(factor, first, base, cosines, sines)
        for i in range(max(first, index + 1), min(first + PANEL, size)):
            start = row_start(i)
            source = factor[start : start + i + 1]
            start = row_start(i - 1)
            target = factor[start : start + i]
            begin = first - 1
            if first == base:
                begin = index
                for j in range(index):
                    target[j] = source[j]
            # What a scanned panel carries stands at its end, in the row above.
            carried = source[index] if first == base else target[begin]
            for k in range(begin, i - 1):
                value = source[k + 1]
                target[k] = cosines[k] * carried + sines[k] * value
                carried = cosines[k] * value - sines[k] * carried
            last = source[i]
            length = math.hypot(carried, last)
            cosines[i - 1] = carried / length
            sines[i - 1] = last / length
            target[i - 1] = length
            reciprocals[i - 1] = 1.0 / length
    _clear_row(factor, size - 1)
    reciprocals[size - 1] = 0.0


@inline
def turned(low: Any, high: Any, cosine: float, sine: float) -> Any:
    """One rotation of two registers."""
    c = splat(cosine)
    return multiply_add(splat(sine), high, multiply(c, low)), multiply_add(c, high, multiply(splat(-sine), low))


@part
def _lift_panel(matrix: Vector, first: int, base: int, cosines: Vector, sines: Vector) -> None:
    """Turn columns `base` to `first` of eight rows and move each row up by one; what is carried ends its columns."""
    width, start, above = first + PANEL, row_start(first), row_start(first - 1)
    for j in range(0, base, PANEL):
        store(matrix, above + j, load(matrix, start + j))
        for r in range(1, PANEL):
            store(matrix, start + (r - 1) * width + j, load(matrix, start + r * width + j))
    carry = splat(0.0)
    for j in range(base, first, PANEL):
        at = start + j
        r0, r1 = load(matrix, at), load(matrix, at + width)
        r2, r3 = load(matrix, at + 2 * width), load(matrix, at + 3 * width)
        r4, r5 = load(matrix, at + 4 * width), load(matrix, at + 5 * width)
        r6, r7 = load(matrix, at + 6 * width), load(matrix, at + 7 * width)
        v0, v1, v2, v3, v4, v5, v6, v7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
        c, s = cosines[j : j + PANEL], sines[j : j + PANEL]
        o0, carry = (v0, v0) if j == base else turned(carry, v0, cosines[j - 1], sines[j - 1])
        o1, carry = turned(carry, v1, c[0], s[0])
        o2, carry = turned(carry, v2, c[1], s[1])
        o3, carry = turned(carry, v3, c[2], s[2])
        o4, carry = turned(carry, v4, c[3], s[3])
        o5, carry = turned(carry, v5, c[4], s[4])
        o6, carry = turned(carry, v6, c[5], s[5])
        o7, carry = turned(carry, v7, c[6], s[6])
        # The first tile has seven columns that are done, the others have eight, from the last one of the tile before.
        to = j
        if j == base:
            o0, o1, o2, o3, o4, o5, o6, o7 = o1, o2, o3, o4, o5, o6, o7, carry
        else:
            to = j - 1
        r0, r1, r2, r3, r4, r5, r6, r7 = transpose(o0, o1, o2, o3, o4, o5, o6, o7)
        store(matrix, above + to, r0)
        to += start
        store(matrix, to, r1)
        store(matrix, to + width, r2)
        store(matrix, to + 2 * width, r3)
        store(matrix, to + 3 * width, r4)
        store(matrix, to + 4 * width, r5)
        store(matrix, to + 5 * width, r6)
        store(matrix, to + 6 * width, r7)
    matrix[above + first - 1] = lane(carry, 0)
    for r in range(1, PANEL):
        matrix[start + (r - 1) * width + first - 1] = lane(carry, r)


@jit
def rotate(vector: Vector, size: int, index: int, cosines: Vector, sines: Vector) -> None:
    """Apply the rotations of `delete_row` to a vector and drop its last element."""
    for k in range(index, size - 1):
        low, high = vector[k], vector[k + 1]
        vector[k] = cosines[k] * low + sines[k] * high
        vector[k + 1] = cosines[k] * high - sines[k] * low
    vector[size - 1] = 0.0


@jit
def rotate_symmetric(matrix: Vector, size: int, index: int, cosines: Vector, sines: Vector) -> None:
    """Apply the rotations of `delete_row` to both sides of a symmetric matrix and drop its last row and column."""
    base = PANEL * (index // PANEL)
    for first in range(base, size, PANEL):
        low = first - 1 if first > base else base
        if first > 0:
            _turn_panel(matrix, first, base, cosines, sines)
        _turn_diagonal(matrix, max(low, index), low, min(first + PANEL, size), cosines, sines)
    _clear_row(matrix, size - 1)
    mirror(matrix, size, index)


@part
def _turn_diagonal(matrix: Vector, begin: int, low: int, high: int, cosines: Vector, sines: Vector) -> None:
    """Rotations from `begin` on of the rows and columns from `low` to `high`."""
    for k in range(begin, high - 1):
        c, s = cosines[k], sines[k]
        above, below = row_start(k), row_start(k + 1)
        for j in range(low, k):
            a, b = matrix[above + j], matrix[below + j]
            matrix[above + j] = c * a + s * b
            matrix[below + j] = c * b - s * a
        a, b, d = matrix[above + k], matrix[below + k], matrix[below + k + 1]
        matrix[above + k] = c * c * a + 2.0 * c * s * b + s * s * d
        matrix[below + k + 1] = s * s * a - 2.0 * c * s * b + c * c * d
        matrix[below + k] = c * s * (d - a) + (c * c - s * s) * b
        for i in range(k + 2, high):
            at = row_start(i) + k
            a, b = matrix[at], matrix[at + 1]
            matrix[at] = c * a + s * b
            matrix[at + 1] = c * b - s * a


@part
def _turn_panel(matrix: Vector, first: int, base: int, cosines: Vector, sines: Vector) -> None:
    """Turn eight rows left of their tile on the diagonal: their columns from `base` on, then the rows themselves."""
    width, start, above = first + PANEL, row_start(first), row_start(first - 1)
    # Rotations before the first one turn nothing: those of the panel are set, that of the row above it is not.
    c0 = cosines[first - 1] if first > base else 1.0
    s0 = sines[first - 1] if first > base else 0.0
    c, s = cosines[first : first + PANEL], sines[first : first + PANEL]
    for j in range(0, base, PANEL):
        low, at = load(matrix, above + j), start + j
        out, low = turned(low, load(matrix, at), c0, s0)
        store(matrix, above + j, out)
        for r in range(PANEL - 1):
            out, low = turned(low, load(matrix, at + width), c[r], s[r])
            store(matrix, at, out)
            at += width
        store(matrix, at, low)
    carry = splat(0.0)
    for j in range(base, first, PANEL):
        at = start + j
        r0, r1 = load(matrix, at), load(matrix, at + width)
        r2, r3 = load(matrix, at + 2 * width), load(matrix, at + 3 * width)
        r4, r5 = load(matrix, at + 4 * width), load(matrix, at + 5 * width)
        r6, r7 = load(matrix, at + 6 * width), load(matrix, at + 7 * width)
        v0, v1, v2, v3, v4, v5, v6, v7 = transpose(r0, r1, r2, r3, r4, r5, r6, r7)
        d, t = cosines[j : j + PANEL], sines[j : j + PANEL]
        o0, carry = (v0, v0) if j == base else turned(carry, v0, cosines[j - 1], sines[j - 1])
        o1, carry = turned(carry, v1, d[0], t[0])
        o2, carry = turned(carry, v2, d[1], t[1])
        o3, carry = turned(carry, v3, d[2], t[2])
        o4, carry = turned(carry, v4, d[3], t[3])
        o5, carry = turned(carry, v5, d[4], t[4])
        o6, carry = turned(carry, v6, d[5], t[5])
        o7, carry = turned(carry, v7, d[6], t[6])
        to, kept = j - 1, matrix[above + j + PANEL - 1]
        if j == base:
            to = j
            o0, o1, o2, o3, o4, o5, o6, o7 = o1, o2, o3, o4, o5, o6, o7, carry
        r0, r1, r2, r3, r4, r5, r6, r7 = transpose(o0, o1, o2, o3, o4, o5, o6, o7)
        low = load(matrix, above + to)
        r0, low = turned(low, r0, c0, s0)
        r1, low = turned(low, r1, c[0], s[0])
        r2, low = turned(low, r2, c[1], s[1])
        r3, low = turned(low, r3, c[2], s[2])
        r4, low = turned(low, r4, c[3], s[3])
        r5, low = turned(low, r5, c[4], s[4])
        r6, low = turned(low, r6, c[5], s[5])
        r7, low = turned(low, r7, c[6], s[6])
        store(matrix, above + to, r0)
        matrix[above + j + PANEL - 1] = kept  # in the first tile this column is not done
        to += start
        store(matrix, to, r1)
        store(matrix, to + width, r2)
        store(matrix, to + 2 * width, r3)
        store(matrix, to + 3 * width, r4)
        store(matrix, to + 4 * width, r5)
        store(matrix, to + 5 * width, r6)
        store(matrix, to + 6 * width, r7)
        store(matrix, to + 7 * width, low)
    if first > base:
        for r in range(PANEL):
            matrix[start + r * width + first - 1] = lane(carry, r)


@part
def _clear_row(matrix: Vector, row: int) -> None:
    """Set a whole stored row to zero, so that it is padding again."""
    start = row_start(row)
    for j in range(start, start + row_width(row)):
        matrix[j] = 0.0
