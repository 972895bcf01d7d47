"""The exact form: every sample kept, by a Cholesky factor that grows with the stream.

L factors K + αR over all samples of the window (R the diagonal of their relative noise, 1 by default), ζ = L⁻¹y.

    project   a = L⁻¹ k(x),  prediction p = a'ζ,  v = k(x, x) − a'a
    append    L gains (a', √(v + αr)),  ζ gains (y − p) / √(v + αr)
    drop      the oldest row leaves by rotations, which ζ follows: a sliding window with an exact downdate

ζ stands in the place of the weights, and there is no covariance; `whitened.project` is the projection.
"""

from __future__ import annotations

import math

from .blocks import BLOCK, factor_in_place, solve_block
from .columns import column
from .jit import inline, jit, part
from .model import Batch, Model
from .pruning import drop_point
from .rotations import delete_row, rotate
from .stream import (
    BAD_TARGET,
    FULL,
    JOINED,
    LOST_RIDGE,
    NO_ROOM,
    account,
    is_learnable,
    learn_each,
    predict_errors,
    present,
)
from .triangular import append_row, dot, row_start
from .types import Table
from .whitened import EPSILON, observe_noise, project

# In units of the rounding error of k(x, x): a pivot below is mostly rounding error, which magnifies what follows.
SMALLEST_PIVOT = 64.0 * EPSILON
# Of the ridge, that errors of the similarities must leave: a kernel whose matrix is not positive definite takes more.
LEAST_SHARE = 0.5


@inline
def step(model: Model) -> int:
    """Append the sample in `inputs`; the contract of `stream.learn_one`. Requires: a positive ridge."""
    if model.size + 2 > model.points.shape[1]:
        return NO_ROOM
    status = present(model, model.x)
    if status < 0:
        return status
    size, ridge, noise = model.size, model.ridge, model.inputs[0]
    variance = project(model)
    squares = predict_errors(model)
    if not is_learnable(model, squares, variance, noise):
        return BAD_TARGET
    square = variance + ridge * noise
    missing = dot(model.projection, model.projection, size) - model.column[size] if variance == 0.0 else 0.0
    if not (square > SMALLEST_PIVOT * model.column[size] and missing <= (1.0 - LEAST_SHARE) * ridge * noise):
        return LOST_RIDGE
    length = math.sqrt(square)
    append_row(model.factor, model.reciprocals, size, model.projection, length)
    for output in range(len(model.errors)):
        model.weights[output, size] = model.errors[output] / length
    model.size = size + 1
    model.relative_variance = variance / ridge
    observe_noise(model, noise + model.relative_variance)
    account(model, squares, noise)
    return FULL if model.size > model.max_size else JOINED


@jit
def learn_one(table: Table) -> int:
    """Append the sample in `inputs`; the contract of `stream.learn_one`, with `shrink` due after FULL."""
    return step(Model(table))


@jit
def shrink(table: Table) -> int:
    """Remove the first sample of the window; return its place."""
    model = Model(table)
    size, cosines, sines = model.size, model.cosines, model.sines
    delete_row(model.factor, model.reciprocals, size, 0, cosines, sines)
    drop_point(model, 0)
    for output in range(model.weights.shape[0]):
        rotate(model.weights[output], size, 0, cosines, sines)
    model.size = size - 1
    model.pruned += 1
    return 0


@jit
def is_calm(model: Model, remaining: int) -> bool:
    """Whether a block may follow: enough samples are left, none pushes another out, and the arrays have room."""
    return (
        remaining >= BLOCK and model.size + BLOCK <= model.max_size and model.size + BLOCK + 2 <= model.points.shape[1]
    )


@jit
def learn_many(table: Table, batch: Table, start: int) -> tuple[int, int]:
    """Learn the samples from `start` on, one by one; the contract of `stream.learn_many`."""
    return learn_each(step, is_calm, Model(table), Batch(batch), start)


@jit
def learn_blocks(table: Table, batch: Table, start: int) -> int:
    """Append whole blocks of samples from `start` on; return the next sample.

    With A = L⁻¹K_B the new rows of L are (A', C), C the Cholesky factor of K_BB + αR − A'A: L is read once a block.
    Requires: as `learn_many`; room for blocks.
    """
    model, given = Model(table), Batch(batch)
    while is_calm(model, len(given.samples) - start) and _present_block(model, given, start):
        size, block, cholesky = model.size, model.block, model.innovations
        solve_block(model.factor, model.reciprocals, size, block)
        for i in range(size):
            a = block[i * BLOCK : (i + 1) * BLOCK]
            for b in range(BLOCK):
                own, value = cholesky[b], a[b]
                for c in range(BLOCK):
                    own[c] -= value * a[c]
        for b in range(BLOCK):
            cholesky[b, b] += model.ridge * given.noise[start + b]
        factor_in_place(cholesky, BLOCK)
        certain = True
        for b in range(BLOCK):
            added = model.ridge * given.noise[start + b]
            certain &= added > SMALLEST_PIVOT * cholesky[BLOCK, b]
            certain &= cholesky[b, b] * cholesky[b, b] > LEAST_SHARE * added  # NaN is not
        if not certain:
            break  # the single step looks at every pivot
        for b in range(BLOCK):
            _append_from_block(model, given, start, b)
        start += BLOCK
    return start


@part
def _present_block(model: Model, batch: Batch, start: int) -> bool:
    """Put a block of samples behind the others and compute their columns; say whether all similarities are finite.

    Ensures: `block` holds K_B, `innovations` the lower triangle of K_BB and in row BLOCK its diagonal.
    """
    size, points, similarities, block = model.size, model.points, model.column, model.block
    check = 0.0
    for b in range(BLOCK):
        for r in range(points.shape[0]):
            points[r, size + b] = batch.samples[start + b, r]
        column(model.program, model.parameters, points, size + b + 1, batch.samples[start + b], model.stack)
        own = model.innovations[b]
        for i in range(size):
            block[i * BLOCK + b] = similarities[i]
            check += similarities[i] * 0.0
        for c in range(BLOCK):
            own[c] = similarities[size + c] if c <= b else 0.0
            check += own[c] * 0.0
        model.innovations[BLOCK, b] = own[b]
    return check == 0.0  # otherwise the single step reports it


@part
def _append_from_block(model: Model, batch: Batch, start: int, b: int) -> None:
    """Append sample b of a block, whose row of the new factor is (column b of A, row b of C)."""
    before, size = model.size - b, model.size
    first = row_start(size)
    own, row = model.innovations[b], model.factor[first : first + size + 1]
    for i in range(before):
        row[i] = model.block[i * BLOCK + b]
    for c in range(b + 1):
        row[before + c] = own[c]
    model.reciprocals[size] = 1.0 / own[b]
    squares = 0.0
    for output in range(len(model.errors)):
        zeta, mean, target = model.weights[output], 0.0, batch.targets[start + b, output]
        for i in range(size):
            mean += row[i] * zeta[i]
        error = target - mean
        zeta[size] = error / own[b]
        batch.means[start + b, output] = mean
        model.errors[output], model.targets[output] = error, target
        squares += target * target
    noise = batch.noise[start + b]
    model.size = size + 1
    model.relative_variance = max(own[b] * own[b] / model.ridge - noise, 0.0)
    batch.relative_variances[start + b] = model.relative_variance
    batch.sizes[start + b] = size + 1
    observe_noise(model, noise + model.relative_variance)
    account(model, squares, noise)
