"""A lower triangular matrix that grows by rows: storage, solve, append, delete.

Layout: rows come in panels of eight. A panel's rows are stored one after the other, all as wide as the panel's last
row, so that every row starts and ends on a whole vector register and appending a row moves nothing. Row i is
`matrix[row_start(i) : row_start(i) + row_width(i)]`; what lies right of the diagonal is zero in a triangular matrix and
the mirrored value in a symmetric one (`whitened` keeps its covariance so). The reciprocals of the diagonal are a vector
of their own. Vectors are padded with zeros to whole registers, which makes the padding inert.
"""

from __future__ import annotations

import math

from .jit import inline, jit, part
from .simd import LANES, lane, load, multiply_add, splat, subtract, total, totals
from .types import Vector

PANEL = LANES


@inline
def row_start(row: int) -> int:
    """The index of a row's first element."""
    panel = row // PANEL
    return 32 * panel * (panel + 1) + (row - PANEL * panel) * PANEL * (panel + 1)


@inline
def row_width(row: int) -> int:
    """The number of stored elements of a row: its panel's last diagonal element ends it."""
    return PANEL * (row // PANEL + 1)


@inline
def padded(size: int) -> int:
    """The smallest whole number of registers that holds `size` numbers."""
    return PANEL * ((size + PANEL - 1) // PANEL)


def packed_length(capacity: int) -> int:
    """The number of elements that a matrix of `capacity` rows (a multiple of eight) needs."""
    panels = capacity // PANEL
    return 32 * panels * (panels + 1)


@jit
def solve(factor: Vector, reciprocals: Vector, size: int, right: Vector, out: Vector) -> None:
    """Solve `factor @ out = right` by forward substitution, eight rows at a time.

    Requires: `right` and `out` hold `padded(size)` numbers; they may be the same array.
    Ensures: `out[size:padded(size)]` is zero.
    """
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        zero = splat(0.0)
        s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
        for j in range(0, first, PANEL):
            known = load(out, j)
            at = start + j
            s0 = multiply_add(load(factor, at), known, s0)
            s1 = multiply_add(load(factor, at + width), known, s1)
            s2 = multiply_add(load(factor, at + 2 * width), known, s2)
            s3 = multiply_add(load(factor, at + 3 * width), known, s3)
            s4 = multiply_add(load(factor, at + 4 * width), known, s4)
            s5 = multiply_add(load(factor, at + 5 * width), known, s5)
            s6 = multiply_add(load(factor, at + 6 * width), known, s6)
            s7 = multiply_add(load(factor, at + 7 * width), known, s7)
        rest = subtract(load(right, first), totals(s0, s1, s2, s3, s4, s5, s6, s7))
        tile = factor[start + first : start + first + 7 * width + PANEL]
        r = reciprocals[first : first + PANEL]
        # Rows beyond `size` have zero factors and zero reciprocals.
        z0 = lane(rest, 0) * r[0]
        row = tile[width:]
        z1 = (lane(rest, 1) - row[0] * z0) * r[1]
        row = tile[2 * width :]
        z2 = (lane(rest, 2) - row[0] * z0 - row[1] * z1) * r[2]
        row = tile[3 * width :]
        z3 = (lane(rest, 3) - row[0] * z0 - row[1] * z1 - row[2] * z2) * r[3]
        row = tile[4 * width :]
        z4 = (lane(rest, 4) - row[0] * z0 - row[1] * z1 - row[2] * z2 - row[3] * z3) * r[4]
        row = tile[5 * width :]
        z5 = (lane(rest, 5) - row[0] * z0 - row[1] * z1 - row[2] * z2 - row[3] * z3 - row[4] * z4) * r[5]
        row = tile[6 * width :]
        z6 = (lane(rest, 6) - row[0] * z0 - row[1] * z1 - row[2] * z2 - row[3] * z3 - row[4] * z4 - row[5] * z5) * r[6]
        row = tile[7 * width :]
        z7 = (
            lane(rest, 7)
            - row[0] * z0
            - row[1] * z1
            - row[2] * z2
            - row[3] * z3
            - row[4] * z4
            - row[5] * z5
            - row[6] * z6
        ) * r[7]
        o = out[first : first + PANEL]
        o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7] = z0, z1, z2, z3, z4, z5, z6, z7


@jit
def solve_transposed(factor: Vector, reciprocals: Vector, size: int, right: Vector, out: Vector) -> None:
    """Solve `factor.T @ out = right` by backward substitution.

    Requires: `right` and `out` hold `padded(size)` numbers; they may be the same array.
    Ensures: `out[size:padded(size)]` is zero.
    """
    for i in range(size):
        out[i] = right[i]
    for i in range(size, padded(size)):
        out[i] = 0.0
    for i in range(size - 1, -1, -1):
        start = row_start(i)
        row = factor[start : start + i]
        value = out[i] * reciprocals[i]
        out[i] = value
        for j in range(i):
            out[j] -= row[j] * value


@jit
def append_row(factor: Vector, reciprocals: Vector, size: int, row: Vector, diagonal: float) -> None:
    """Add the row (row, diagonal) below the last one.

    Requires: `diagonal` > 0; room for `size + 1` rows.
    """
    start = row_start(size)
    target = factor[start : start + size + 1]
    for j in range(size):
        target[j] = row[j]
    target[size] = diagonal
    reciprocals[size] = 1.0 / diagonal


@jit
def delete_row(factor: Vector, reciprocals: Vector, size: int, index: int, cosines: Vector, sines: Vector) -> None:
    """Remove row `index` of a factor of K, so that it factors K without that row and column.

    Rotations of neighboring columns bring the remaining rows back to triangular form.
    Ensures: `cosines[index:size-1]`, `sines[index:size-1]` hold the rotations, for `rotate` and `rotate_symmetric`.
    """
    for i in range(index + 1, size):
        start = row_start(i)
        source = factor[start : start + i + 1]
        start = row_start(i - 1)
        target = factor[start : start + i]
        for j in range(index):
            target[j] = source[j]
        carried = source[index]
        for k in range(index, i - 1):
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


@part
def _clear_row(matrix: Vector, row: int) -> None:
    """Set a whole stored row to zero, so that it is padding again."""
    start = row_start(row)
    for j in range(start, start + row_width(row)):
        matrix[j] = 0.0


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
    for k in range(index, size - 1):
        c, s = cosines[k], sines[k]
        start = row_start(k)
        low = matrix[start : start + k + 1]
        start = row_start(k + 1)
        high = matrix[start : start + k + 2]
        for j in range(k):
            a, b = low[j], high[j]
            low[j] = c * a + s * b
            high[j] = c * b - s * a
        a, b, d = low[k], high[k], high[k + 1]
        low[k] = c * c * a + 2.0 * c * s * b + s * s * d
        high[k + 1] = s * s * a - 2.0 * c * s * b + c * c * d
        high[k] = c * s * (d - a) + (c * c - s * s) * b
        for i in range(k + 2, size):
            at = row_start(i) + k
            pair = matrix[at : at + 2]
            a, b = pair[0], pair[1]
            pair[0] = c * a + s * b
            pair[1] = c * b - s * a
    _clear_row(matrix, size - 1)
    mirror(matrix, size, index)


@jit
def mirror(matrix: Vector, size: int, index: int) -> None:
    """Copy what is left of the diagonal to the right of it, in the tiles from row `index` on."""
    for i in range(PANEL * (index // PANEL), padded(size)):
        start = row_start(i)
        for j in range(i + 1, row_width(i)):
            matrix[start + j] = matrix[row_start(j) + i]


@jit
def dot(a: Vector, b: Vector, size: int) -> float:
    """The inner product of two padded vectors."""
    sums = splat(0.0)
    for j in range(0, size, PANEL):
        sums = multiply_add(load(a, j), load(b, j), sums)
    return float(total(sums))
