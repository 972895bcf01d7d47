"""A lower triangular matrix that grows by rows: storage, solve, append.

Layout: rows come in panels of eight. A panel's rows are stored one after the other, all as wide as the panel's last
row, so that every row starts and ends on a whole vector register and appending a row moves nothing. Row i is
`matrix[row_start(i) : row_start(i) + row_width(i)]`; what lies right of the diagonal is zero in a triangular matrix and
the mirrored value in a symmetric one (`whitened` keeps its covariance so). The reciprocals of the diagonal are a vector
of their own. Vectors are padded with zeros to whole registers, which makes the padding inert.
"""

from __future__ import annotations

from .jit import inline, jit
from .simd import LANES, lane, load, multiply, multiply_add, splat, store, subtract, total, totals
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
def solve_transposed_pair(factor: Vector, reciprocals: Vector, size: int, one: Vector, other: Vector) -> None:
    """`solve_transposed` of two right sides in place: the factor is read once.

    Requires: both hold `padded(size)` numbers, zero from `size` on.
    """
    for first in range(padded(size) - PANEL, -1, -PANEL):
        width, start = first + PANEL, row_start(first)
        _solve_tile(factor, reciprocals, first, one)
        _solve_tile(factor, reciprocals, first, other)
        x, y = one[first : first + PANEL], other[first : first + PANEL]
        x0, x1, x2, x3 = splat(-x[0]), splat(-x[1]), splat(-x[2]), splat(-x[3])
        x4, x5, x6, x7 = splat(-x[4]), splat(-x[5]), splat(-x[6]), splat(-x[7])
        y0, y1, y2, y3 = splat(-y[0]), splat(-y[1]), splat(-y[2]), splat(-y[3])
        y4, y5, y6, y7 = splat(-y[4]), splat(-y[5]), splat(-y[6]), splat(-y[7])
        for j in range(first - PANEL, -1, -PANEL):
            at = start + j
            row = load(factor, at + 7 * width)
            a, b = multiply_add(row, x7, load(one, j)), multiply_add(row, y7, load(other, j))
            row = load(factor, at + 6 * width)
            a, b = multiply_add(row, x6, a), multiply_add(row, y6, b)
            row = load(factor, at + 5 * width)
            a, b = multiply_add(row, x5, a), multiply_add(row, y5, b)
            row = load(factor, at + 4 * width)
            a, b = multiply_add(row, x4, a), multiply_add(row, y4, b)
            row = load(factor, at + 3 * width)
            a, b = multiply_add(row, x3, a), multiply_add(row, y3, b)
            row = load(factor, at + 2 * width)
            a, b = multiply_add(row, x2, a), multiply_add(row, y2, b)
            row = load(factor, at + width)
            a, b = multiply_add(row, x1, a), multiply_add(row, y1, b)
            row = load(factor, at)
            store(one, j, multiply_add(row, x0, a))
            store(other, j, multiply_add(row, y0, b))


@jit
def solve_transposed_block(factor: Vector, reciprocals: Vector, size: int, block: Vector) -> None:
    """`solve_transposed` of eight right sides in place; `block[i * 8 + b]` is row i of side b.

    Requires: `block` holds `padded(size)` rows, zero from `size` on.
    """
    for first in range(padded(size) - PANEL, -1, -PANEL):
        width, start = first + PANEL, row_start(first)
        for i in range(width - 1, first - 1, -1):
            value = multiply(load(block, i * LANES), splat(reciprocals[i]))
            store(block, i * LANES, value)
            at = start + (i - first) * width
            for j in range(first, i):
                store(block, j * LANES, multiply_add(splat(-factor[at + j]), value, load(block, j * LANES)))
        at = first * LANES
        x0, x1, x2 = load(block, at), load(block, at + LANES), load(block, at + 2 * LANES)
        x3, x4, x5 = load(block, at + 3 * LANES), load(block, at + 4 * LANES), load(block, at + 5 * LANES)
        x6, x7 = load(block, at + 6 * LANES), load(block, at + 7 * LANES)
        for j in range(first):
            at = start + j
            rest = multiply_add(splat(-factor[at + 7 * width]), x7, load(block, j * LANES))
            rest = multiply_add(splat(-factor[at + 6 * width]), x6, rest)
            rest = multiply_add(splat(-factor[at + 5 * width]), x5, rest)
            rest = multiply_add(splat(-factor[at + 4 * width]), x4, rest)
            rest = multiply_add(splat(-factor[at + 3 * width]), x3, rest)
            rest = multiply_add(splat(-factor[at + 2 * width]), x2, rest)
            rest = multiply_add(splat(-factor[at + width]), x1, rest)
            store(block, j * LANES, multiply_add(splat(-factor[at]), x0, rest))


@inline
def _solve_tile(factor: Vector, reciprocals: Vector, first: int, out: Vector) -> None:
    """Backward substitution in a tile on the diagonal. Rows beyond the size have zero factors and reciprocals."""
    width, start = first + PANEL, row_start(first) + first
    t, r, o = factor[start : start + 7 * width + PANEL], reciprocals[first:width], out[first:width]
    x7 = o[7] * r[7]
    x6 = (o[6] - t[7 * width + 6] * x7) * r[6]
    x5 = (o[5] - t[7 * width + 5] * x7 - t[6 * width + 5] * x6) * r[5]
    x4 = (o[4] - t[7 * width + 4] * x7 - t[6 * width + 4] * x6 - t[5 * width + 4] * x5) * r[4]
    x3 = (o[3] - t[7 * width + 3] * x7 - t[6 * width + 3] * x6 - t[5 * width + 3] * x5 - t[4 * width + 3] * x4) * r[3]
    x2 = (
        o[2]
        - t[7 * width + 2] * x7
        - t[6 * width + 2] * x6
        - t[5 * width + 2] * x5
        - t[4 * width + 2] * x4
        - t[3 * width + 2] * x3
    ) * r[2]
    x1 = (
        o[1]
        - t[7 * width + 1] * x7
        - t[6 * width + 1] * x6
        - t[5 * width + 1] * x5
        - t[4 * width + 1] * x4
        - t[3 * width + 1] * x3
        - t[2 * width + 1] * x2
    ) * r[1]
    x0 = (
        o[0]
        - t[7 * width + 0] * x7
        - t[6 * width + 0] * x6
        - t[5 * width + 0] * x5
        - t[4 * width + 0] * x4
        - t[3 * width + 0] * x3
        - t[2 * width + 0] * x2
        - t[1 * width + 0] * x1
    ) * r[0]
    o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7] = x0, x1, x2, x3, x4, x5, x6, x7


@jit
def inverse_column(factor: Vector, reciprocals: Vector, size: int, index: int, out: Vector) -> None:
    """Solve `factor @ out = e`, e the unit vector `index`: the rows above it are zero and not looked at.

    Requires: `out` holds `padded(size)` numbers.
    """
    base = PANEL * (index // PANEL)
    for j in range(0, padded(size), PANEL):
        store(out, j, splat(0.0))
    out[index] = 1.0
    for first in range(base, size, PANEL):
        width, start = first + PANEL, row_start(first)
        zero = splat(0.0)
        s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
        for j in range(base, first, PANEL):
            known, at = load(out, j), start + j
            s0 = multiply_add(load(factor, at), known, s0)
            s1 = multiply_add(load(factor, at + width), known, s1)
            s2 = multiply_add(load(factor, at + 2 * width), known, s2)
            s3 = multiply_add(load(factor, at + 3 * width), known, s3)
            s4 = multiply_add(load(factor, at + 4 * width), known, s4)
            s5 = multiply_add(load(factor, at + 5 * width), known, s5)
            s6 = multiply_add(load(factor, at + 6 * width), known, s6)
            s7 = multiply_add(load(factor, at + 7 * width), known, s7)
        store(out, first, subtract(load(out, first), totals(s0, s1, s2, s3, s4, s5, s6, s7)))
        for i in range(first, first + PANEL):
            at, value = row_start(i), out[i]
            for j in range(first, i):
                value -= factor[at + j] * out[j]
            out[i] = value * reciprocals[i]


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
