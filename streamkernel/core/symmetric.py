"""One pass over a packed symmetric matrix: what makes a step as fast as its memory.

A step must read and write half of P once. `sweep` applies what the last step left pending and computes Pz for this one
in the same pass, eight rows at a time.
"""

from __future__ import annotations

import math

from .jit import jit
from .simd import load, multiply, multiply_add, splat, store, total, totals
from .triangular import PANEL, row_start
from .types import Vector


@jit
def sweep(
    covariance: Vector,
    size: int,
    pending: Vector,
    scale: float,
    diagonal: float,
    direction: Vector,
    out: Vector,
) -> None:
    """P ← scale·(P − pending pending') + diagonal·I, and out = P direction, in one pass.

    Requires: the vectors are padded with zeros; `out` is none of the others.
    Ensures: P is exactly symmetric.
    """
    shrink = math.sqrt(scale)
    scales = splat(scale)
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        own = pending[first : first + PANEL]
        p0, p1 = splat(-shrink * own[0]), splat(-shrink * own[1])
        p2, p3 = splat(-shrink * own[2]), splat(-shrink * own[3])
        p4, p5 = splat(-shrink * own[4]), splat(-shrink * own[5])
        p6, p7 = splat(-shrink * own[6]), splat(-shrink * own[7])
        own = direction[first : first + PANEL]
        z0, z1, z2, z3 = splat(own[0]), splat(own[1]), splat(own[2]), splat(own[3])
        z4, z5, z6, z7 = splat(own[4]), splat(own[5]), splat(own[6]), splat(own[7])
        zero = splat(0.0)
        s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
        # The last tile is the diagonal one: its rows are complete, and what it adds to `out` is overwritten below.
        for j in range(0, width, PANEL):
            p = multiply(load(pending, j), splat(shrink))
            z = load(direction, j)
            column = load(out, j)
            at = start + j
            v = multiply_add(p0, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s0 = multiply_add(v, z, s0)
            column = multiply_add(v, z0, column)
            at += width
            v = multiply_add(p1, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s1 = multiply_add(v, z, s1)
            column = multiply_add(v, z1, column)
            at += width
            v = multiply_add(p2, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s2 = multiply_add(v, z, s2)
            column = multiply_add(v, z2, column)
            at += width
            v = multiply_add(p3, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s3 = multiply_add(v, z, s3)
            column = multiply_add(v, z3, column)
            at += width
            v = multiply_add(p4, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s4 = multiply_add(v, z, s4)
            column = multiply_add(v, z4, column)
            at += width
            v = multiply_add(p5, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s5 = multiply_add(v, z, s5)
            column = multiply_add(v, z5, column)
            at += width
            v = multiply_add(p6, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s6 = multiply_add(v, z, s6)
            column = multiply_add(v, z6, column)
            at += width
            v = multiply_add(p7, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s7 = multiply_add(v, z, s7)
            column = multiply_add(v, z7, column)
            store(out, j, column)
        store(out, first, totals(s0, s1, s2, s3, s4, s5, s6, s7))
        if diagonal != 0.0:
            for i in range(first, min(width, size)):
                covariance[row_start(i) + i] += diagonal
                out[i] += diagonal * direction[i]


@jit
def quadratic(covariance: Vector, size: int, direction: Vector) -> float:
    """direction' P direction, P as stored.

    Requires: `direction` is padded with zeros.
    """
    sums = splat(0.0)
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        own = direction[first : first + PANEL]
        for j in range(0, width, PANEL):
            at = start + j
            column = multiply(load(covariance, at), splat(own[0]))
            column = multiply_add(load(covariance, at + width), splat(own[1]), column)
            column = multiply_add(load(covariance, at + 2 * width), splat(own[2]), column)
            column = multiply_add(load(covariance, at + 3 * width), splat(own[3]), column)
            column = multiply_add(load(covariance, at + 4 * width), splat(own[4]), column)
            column = multiply_add(load(covariance, at + 5 * width), splat(own[5]), column)
            column = multiply_add(load(covariance, at + 6 * width), splat(own[6]), column)
            column = multiply_add(load(covariance, at + 7 * width), splat(own[7]), column)
            # Tiles left of the diagonal stand for their mirror images too.
            twice = 1.0 if j == first else 2.0
            sums = multiply_add(multiply(column, splat(twice)), load(direction, j), sums)
    return float(total(sums))
