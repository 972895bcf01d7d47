"""Many samples at once, with the result of one after the other.

While no sample joins the dictionary, B steps of the whitened recursion are one block step. With the projections Z (one
column a sample), V = PZ and the Cholesky factor C of R + Z'V (R the diagonal of the noise):

    error of sample b, one step ahead     e_b = y_b − w'z_b − Σ_{c<b} C_bc ε_c,   ε_b = e_b / C_bb
    pending vector of sample b            U = V C⁻ᵀ, column by column
    after the block                       w += U ε,   P −= U U'

L and P then pass through the cache once a block, and the arithmetic is matrix times matrix. A sample that must join
ends its block. Z and V are stored sample-minor (`block[i, b]`), U point-minor (`rows[b, i]`).
"""

from __future__ import annotations

import math

from .jit import jit
from .simd import LANES, load, multiply, multiply_add, splat, store
from .triangular import PANEL, padded, row_start
from .types import Matrix, Vector

BLOCK = 32  # samples a block: four registers
STRIP = 64  # columns a strip


@jit
def solve_block(factor: Vector, reciprocals: Vector, size: int, block: Vector) -> None:
    """Solve `factor @ Z = block` in place for BLOCK right sides.

    Requires: `block` holds padded(size) rows of BLOCK numbers, flattened.
    """
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        for half in range(0, BLOCK, 2 * LANES):
            at = first * BLOCK + half
            a0, b0 = load(block, at), load(block, at + LANES)
            a1, b1 = load(block, at + BLOCK), load(block, at + BLOCK + LANES)
            a2, b2 = load(block, at + 2 * BLOCK), load(block, at + 2 * BLOCK + LANES)
            a3, b3 = load(block, at + 3 * BLOCK), load(block, at + 3 * BLOCK + LANES)
            a4, b4 = load(block, at + 4 * BLOCK), load(block, at + 4 * BLOCK + LANES)
            a5, b5 = load(block, at + 5 * BLOCK), load(block, at + 5 * BLOCK + LANES)
            a6, b6 = load(block, at + 6 * BLOCK), load(block, at + 6 * BLOCK + LANES)
            a7, b7 = load(block, at + 7 * BLOCK), load(block, at + 7 * BLOCK + LANES)
            r0 = factor[start : start + width]
            r1 = factor[start + width : start + 2 * width]
            r2 = factor[start + 2 * width : start + 3 * width]
            r3 = factor[start + 3 * width : start + 4 * width]
            r4 = factor[start + 4 * width : start + 5 * width]
            r5 = factor[start + 5 * width : start + 6 * width]
            r6 = factor[start + 6 * width : start + 7 * width]
            r7 = factor[start + 7 * width : start + 8 * width]
            for j in range(first):
                za, zb = load(block, j * BLOCK + half), load(block, j * BLOCK + half + LANES)
                c = splat(-r0[j])
                a0, b0 = multiply_add(c, za, a0), multiply_add(c, zb, b0)
                c = splat(-r1[j])
                a1, b1 = multiply_add(c, za, a1), multiply_add(c, zb, b1)
                c = splat(-r2[j])
                a2, b2 = multiply_add(c, za, a2), multiply_add(c, zb, b2)
                c = splat(-r3[j])
                a3, b3 = multiply_add(c, za, a3), multiply_add(c, zb, b3)
                c = splat(-r4[j])
                a4, b4 = multiply_add(c, za, a4), multiply_add(c, zb, b4)
                c = splat(-r5[j])
                a5, b5 = multiply_add(c, za, a5), multiply_add(c, zb, b5)
                c = splat(-r6[j])
                a6, b6 = multiply_add(c, za, a6), multiply_add(c, zb, b6)
                c = splat(-r7[j])
                a7, b7 = multiply_add(c, za, a7), multiply_add(c, zb, b7)
            store(block, at, a0)
            store(block, at + LANES, b0)
            store(block, at + BLOCK, a1)
            store(block, at + BLOCK + LANES, b1)
            store(block, at + 2 * BLOCK, a2)
            store(block, at + 2 * BLOCK + LANES, b2)
            store(block, at + 3 * BLOCK, a3)
            store(block, at + 3 * BLOCK + LANES, b3)
            store(block, at + 4 * BLOCK, a4)
            store(block, at + 4 * BLOCK + LANES, b4)
            store(block, at + 5 * BLOCK, a5)
            store(block, at + 5 * BLOCK + LANES, b5)
            store(block, at + 6 * BLOCK, a6)
            store(block, at + 6 * BLOCK + LANES, b6)
            store(block, at + 7 * BLOCK, a7)
            store(block, at + 7 * BLOCK + LANES, b7)
        for i in range(first, width):  # the tile on the diagonal
            row = factor[row_start(i) + first : row_start(i) + width]
            scale = splat(reciprocals[i])
            for quarter in range(0, BLOCK, LANES):
                value = load(block, i * BLOCK + quarter)
                for j in range(first, i):
                    value = multiply_add(splat(-row[j - first]), load(block, j * BLOCK + quarter), value)
                store(block, i * BLOCK + quarter, multiply(value, scale))


@jit
def multiply_block(covariance: Vector, size: int, block: Vector, out: Vector) -> None:
    """out = P block for BLOCK columns.

    Requires: nothing is pending; `block` and `out` hold padded(size) rows of BLOCK numbers, flattened.
    """
    for at in range(0, padded(size) * BLOCK, LANES):
        store(out, at, splat(0.0))
    # Strips of columns keep the rows of `block` and `out` that they touch in the first-level cache.
    for strip in range(0, size, STRIP):
        for first in range(strip, size, PANEL):
            width = first + PANEL
            stop = min(first, strip + STRIP)
            for i in range(first, width, 4):
                start = row_start(i)
                r0 = covariance[start : start + width]
                r1 = covariance[start + width : start + 2 * width]
                r2 = covariance[start + 2 * width : start + 3 * width]
                r3 = covariance[start + 3 * width : start + 4 * width]
                for half in range(0, BLOCK, 2 * LANES):
                    at = i * BLOCK + half
                    x0, y0 = load(block, at), load(block, at + LANES)
                    x1, y1 = load(block, at + BLOCK), load(block, at + BLOCK + LANES)
                    x2, y2 = load(block, at + 2 * BLOCK), load(block, at + 2 * BLOCK + LANES)
                    x3, y3 = load(block, at + 3 * BLOCK), load(block, at + 3 * BLOCK + LANES)
                    a0, b0 = load(out, at), load(out, at + LANES)
                    a1, b1 = load(out, at + BLOCK), load(out, at + BLOCK + LANES)
                    a2, b2 = load(out, at + 2 * BLOCK), load(out, at + 2 * BLOCK + LANES)
                    a3, b3 = load(out, at + 3 * BLOCK), load(out, at + 3 * BLOCK + LANES)
                    for j in range(strip, stop):
                        here = j * BLOCK + half
                        za, zb = load(block, here), load(block, here + LANES)
                        va, vb = load(out, here), load(out, here + LANES)
                        c = splat(r0[j])
                        a0, b0 = multiply_add(c, za, a0), multiply_add(c, zb, b0)
                        va, vb = multiply_add(c, x0, va), multiply_add(c, y0, vb)
                        c = splat(r1[j])
                        a1, b1 = multiply_add(c, za, a1), multiply_add(c, zb, b1)
                        va, vb = multiply_add(c, x1, va), multiply_add(c, y1, vb)
                        c = splat(r2[j])
                        a2, b2 = multiply_add(c, za, a2), multiply_add(c, zb, b2)
                        va, vb = multiply_add(c, x2, va), multiply_add(c, y2, vb)
                        c = splat(r3[j])
                        a3, b3 = multiply_add(c, za, a3), multiply_add(c, zb, b3)
                        va, vb = multiply_add(c, x3, va), multiply_add(c, y3, vb)
                        store(out, here, va)
                        store(out, here + LANES, vb)
                    if first < strip + STRIP:
                        for j in range(first, width):  # the tile on the diagonal is complete
                            za, zb = load(block, j * BLOCK + half), load(block, j * BLOCK + half + LANES)
                            c = splat(r0[j])
                            a0, b0 = multiply_add(c, za, a0), multiply_add(c, zb, b0)
                            c = splat(r1[j])
                            a1, b1 = multiply_add(c, za, a1), multiply_add(c, zb, b1)
                            c = splat(r2[j])
                            a2, b2 = multiply_add(c, za, a2), multiply_add(c, zb, b2)
                            c = splat(r3[j])
                            a3, b3 = multiply_add(c, za, a3), multiply_add(c, zb, b3)
                    store(out, at, a0)
                    store(out, at + LANES, b0)
                    store(out, at + BLOCK, a1)
                    store(out, at + BLOCK + LANES, b1)
                    store(out, at + 2 * BLOCK, a2)
                    store(out, at + 2 * BLOCK + LANES, b2)
                    store(out, at + 3 * BLOCK, a3)
                    store(out, at + 3 * BLOCK + LANES, b3)


@jit
def subtract_products(covariance: Vector, size: int, rows: Matrix, count: int) -> None:
    """P −= Σ_b u_b u_b' for the first `count` rows u_b.

    Requires: the rows are padded with zeros.
    Ensures: P is exactly symmetric.
    """
    for first in range(0, size, PANEL):
        width = first + PANEL
        for i in range(first, width, 4):
            start = row_start(i)
            # Two tiles at a time; where their number is odd the last pair is one tile and nothing.
            for j in range(0, width, 2 * PANEL):
                paired = j + PANEL < width
                at = start + j
                a0, a1 = load(covariance, at), load(covariance, at + width)
                a2, a3 = load(covariance, at + 2 * width), load(covariance, at + 3 * width)
                b0, b1, b2, b3 = a0, a1, a2, a3
                if paired:
                    b0, b1 = load(covariance, at + PANEL), load(covariance, at + width + PANEL)
                    b2, b3 = load(covariance, at + 2 * width + PANEL), load(covariance, at + 3 * width + PANEL)
                right = j + PANEL if paired else j
                for b in range(count):
                    row = rows[b]
                    own = row[i : i + 4]
                    ua, ub = load(row, j), load(row, right)
                    c = splat(-own[0])
                    a0, b0 = multiply_add(c, ua, a0), multiply_add(c, ub, b0)
                    c = splat(-own[1])
                    a1, b1 = multiply_add(c, ua, a1), multiply_add(c, ub, b1)
                    c = splat(-own[2])
                    a2, b2 = multiply_add(c, ua, a2), multiply_add(c, ub, b2)
                    c = splat(-own[3])
                    a3, b3 = multiply_add(c, ua, a3), multiply_add(c, ub, b3)
                store(covariance, at, a0)
                store(covariance, at + width, a1)
                store(covariance, at + 2 * width, a2)
                store(covariance, at + 3 * width, a3)
                if paired:
                    store(covariance, at + PANEL, b0)
                    store(covariance, at + width + PANEL, b1)
                    store(covariance, at + 2 * width + PANEL, b2)
                    store(covariance, at + 3 * width + PANEL, b3)


@jit
def innovations(block: Vector, products: Vector, size: int, noise: Vector, count: int, out: Matrix) -> None:
    """The Cholesky factor C of R + Z'V, lower triangle of `out[:count, :count]`.

    Requires: `out` is BLOCK × BLOCK.
    """
    for b in range(0, count, 2):
        for half in range(0, BLOCK, 2 * LANES):
            zero = splat(0.0)
            s0, s1, t0, t1 = zero, zero, zero, zero
            for i in range(size):
                pair = block[i * BLOCK + b : i * BLOCK + b + 2]
                v0, v1 = load(products, i * BLOCK + half), load(products, i * BLOCK + half + LANES)
                c = splat(pair[0])
                s0, s1 = multiply_add(c, v0, s0), multiply_add(c, v1, s1)
                c = splat(pair[1])
                t0, t1 = multiply_add(c, v0, t0), multiply_add(c, v1, t1)
            row = out[b]
            store(row, half, s0)
            store(row, half + LANES, s1)
            row = out[b + 1]
            store(row, half, t0)
            store(row, half + LANES, t1)
    for b in range(count):
        out[b, b] += noise[b]
    factor_in_place(out, count)


@jit
def factor_in_place(matrix: Matrix, count: int) -> None:
    """The Cholesky factor of `matrix[:count, :count]`, in its lower triangle; NaN where it is not positive definite."""
    for b in range(count):
        row = matrix[b]
        for c in range(b):
            other = matrix[c]
            value = row[c]
            for k in range(c):
                value -= row[k] * other[k]
            row[c] = value / other[c]
        value = row[b]
        for k in range(b):
            value -= row[k] * row[k]
        row[b] = math.sqrt(value) if value > 0.0 else math.nan


@jit
def pending_rows(products: Vector, size: int, cholesky: Matrix, count: int, rows: Matrix) -> None:
    """U' = C⁻¹V', one padded row a sample."""
    width = padded(size)
    for i in range(0, width, PANEL):
        for b in range(count):
            row = rows[b, i : i + PANEL]
            tile = products[i * BLOCK + b : (i + PANEL - 1) * BLOCK + b + 1]
            for k in range(PANEL):
                row[k] = tile[k * BLOCK]
    for b in range(count):
        row = rows[b]
        for c in range(b):
            weight = splat(-cholesky[b, c])
            other = rows[c]
            for i in range(0, width, LANES):
                store(row, i, multiply_add(weight, load(other, i), load(row, i)))
        scale = splat(1.0 / cholesky[b, b])
        for i in range(0, width, LANES):
            store(row, i, multiply(load(row, i), scale))
