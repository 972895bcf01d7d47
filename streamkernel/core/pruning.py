"""Which point leaves a full dictionary, and how the posterior goes on without it.

The point whose loss changes the posterior least has the smallest α̃ⱼ² / var(α̃ⱼ) (Csató & Opper 2002). A point that was
only just admitted has a large but uncertain coefficient; its variance says so.
"""

from __future__ import annotations

import math

from .blocks import BLOCK, multiply_block, solve_block
from .jit import jit, part
from .model import Model
from .triangular import delete_row, padded, rotate, rotate_symmetric, solve_transposed
from .types import Vector
from .whitened import settle

# Points whose importance is computed anew when one of them has to leave.
CANDIDATES = 2 * BLOCK


@part
def _evaluate(model: Model, chosen: Vector) -> None:
    """The variances of the coefficients α̃ⱼ of up to BLOCK chosen points, over that of the noise: (L⁻ᵀPL⁻¹)ⱼⱼ."""
    size, block, products, variances = model.size, model.block, model.products, model.coefficient_variances
    for at in range(padded(size) * BLOCK):
        block[at] = 0.0
    for b in range(len(chosen)):
        block[int(chosen[b]) * BLOCK + b] = 1.0
    solve_block(model.factor, model.reciprocals, size, block)
    multiply_block(model.covariance, size, block, products)
    for b in range(len(chosen)):
        variance = 0.0
        for i in range(size):
            variance += block[i * BLOCK + b] * products[i * BLOCK + b]
        variances[int(chosen[b])] = variance


@jit
def least_important(model: Model) -> int:
    """The point with the smallest α̃ⱼ² / var(α̃ⱼ).

    All variances anew would cost O(m³), so the last known ones select a number of candidates, whose variances are
    computed. Unknown ones are infinite, which makes them candidates; every m removals all are forgotten.

    Requires: nothing is pending (`settle`); room for blocks.
    """
    size, variances = model.size, model.coefficient_variances
    squares, work, chosen = model.sines, model.column, model.gain
    if model.pruned % size == 0:
        for i in range(size):
            variances[i] = math.inf
    squares[:] = 0.0
    for output in range(len(model.errors)):
        solve_transposed(model.factor, model.reciprocals, size, model.weights[output], work)
        for i in range(size):
            squares[i] += work[i] * work[i]
    unknown = True
    while unknown:
        for i in range(size):
            work[i] = squares[i] / variances[i] if variances[i] < math.inf else -1.0
        count = min(CANDIDATES, size)
        for b in range(count):
            best = 0
            for i in range(1, size):
                if work[i] < work[best]:
                    best = i
            chosen[b] = best
            work[best] = math.inf
        for first in range(0, count, BLOCK):
            _evaluate(model, chosen[first : min(first + BLOCK, count)])
        unknown = False
        for i in range(size):
            unknown |= variances[i] == math.inf
    best = 0
    for i in range(1, size):
        if squares[i] * variances[best] < squares[best] * variances[i]:
            best = i
    return best


@jit
def remove(model: Model, index: int) -> None:
    """Remove point `index`: marginalize the posterior over its function value.

    Requires: nothing is pending (`settle`).
    Ensures: mean and covariance of the function at every other point are unchanged; `cosines` and `sines` hold the
    rotations.
    """
    delete_row(model.factor, model.reciprocals, model.size, index, model.cosines, model.sines)
    drop_point(model, index)
    marginalize(model, index, model.cosines, model.sines)


@part
def drop_point(model: Model, index: int) -> None:
    """Close the gap that a point leaves among the points."""
    for r in range(model.points.shape[0]):
        row = model.points[r]
        for j in range(index, model.size - 1):
            row[j] = row[j + 1]


@part
def marginalize(model: Model, index: int, cosines: Vector, sines: Vector) -> None:
    """What a removal does to all but the points and the factor, by the rotations that restored the factor."""
    size, variances, similarities = model.size, model.coefficient_variances, model.similarities
    model.trace -= similarities[index]
    for i in range(index, size - 1):
        variances[i], similarities[i] = variances[i + 1], similarities[i + 1]
    rotate_symmetric(model.covariance, size, index, cosines, sines)
    if len(model.noise_covariance):
        rotate_symmetric(model.noise_covariance, size, index, cosines, sines)
    for output in range(model.weights.shape[0]):
        rotate(model.weights[output], size, index, cosines, sines)
    model.size = size - 1
    model.pruned += 1


@jit
def prune(model: Model) -> int:
    """Drop the least important point; return its place.

    Requires: room for blocks; where noise depends on the input, nothing is pending in its covariance.
    """
    settle(model)
    index = least_important(model)
    remove(model, index)
    return index
