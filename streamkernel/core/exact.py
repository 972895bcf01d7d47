"""The exact form: every sample kept, by a Cholesky factor that grows with the stream.

L factors K + αR over all samples of the window (R the diagonal of their relative noise, 1 by default), ζ = L⁻¹y.

    project   a = L⁻¹ k(x),  prediction p = a'ζ,  v = k(x, x) − a'a
    append    L gains (a', √(v + αr)),  ζ gains (y − p) / √(v + αr)
    drop      the oldest row leaves by rotations, which ζ follows: a sliding window with an exact downdate

The arrays are those of `whitened`, with ζ in the place of the weights and no covariance; `whitened.project` is the
projection.
"""

from __future__ import annotations

import math

from .blocks import BLOCK, factor_in_place, solve_block
from .columns import column
from .jit import inline, jit
from .stream import BAD_TARGET, FULL, JOINED, LEARNED, NO_ROOM, account, errors_before, present
from .triangular import append_row, delete_row, rotate, row_start
from .types import Matrix, Program, Vector
from .whitened import (
    COLUMN,
    COSINES,
    MAX_SIZE,
    PROJECTION,
    PRUNED,
    RECIPROCALS,
    RIDGE,
    SINES,
    SIZE,
    observe_noise,
    project,
)


@jit
def learn_one(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
) -> int:
    """Append one sample; the contract of `stream.learn_one`, with `drop_oldest` due after FULL.

    Requires: a positive ridge.
    """
    if scalars[SIZE] + 2 > points.shape[1]:
        return NO_ROOM
    outputs = weights.shape[0]
    status = present(program, parameters, points, vectors, scalars, inputs[1 + outputs :])
    if status < 0:
        return status
    size, ridge, noise = int(scalars[SIZE]), scalars[RIDGE], inputs[0]
    variance = project(factor, vectors, scalars)
    squares = errors_before(vectors, weights, scalars, inputs)
    if not math.isfinite(squares):
        return BAD_TARGET
    errors = inputs[1 : 1 + outputs]
    length = math.sqrt(variance + ridge * noise)
    append_row(factor, vectors[RECIPROCALS], size, vectors[PROJECTION], length)
    for output in range(outputs):
        weights[output, size] = errors[output] / length
    scalars[SIZE] += 1.0
    inputs[0] = variance / ridge
    observe_noise(errors, noise + inputs[0], scalars)
    account(squares, inputs, outputs, noise, scalars)
    return FULL if scalars[SIZE] > scalars[MAX_SIZE] else JOINED


@jit
def drop_oldest(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
) -> None:
    """Remove the first sample of the window."""
    size = int(scalars[SIZE])
    cosines, sines = vectors[COSINES], vectors[SINES]
    delete_row(factor, vectors[RECIPROCALS], size, 0, cosines, sines)
    for output in range(weights.shape[0]):
        rotate(weights[output], size, 0, cosines, sines)
    for r in range(points.shape[0]):
        row = points[r]
        for j in range(size - 1):
            row[j] = row[j + 1]
    scalars[SIZE] -= 1.0
    scalars[PRUNED] += 1.0


@jit
def learn_many(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
    samples: Matrix,
    targets: Matrix,
    noise: Vector,
    start: int,
    errors: Matrix,
    relative: Vector,
    sizes: Vector,
) -> tuple[int, int]:
    """Learn the samples from `start` on, one by one; the contract of `stream.learn_many`."""
    outputs = weights.shape[0]
    while start < len(samples):
        inputs[0] = noise[start]
        for output in range(outputs):
            inputs[1 + output] = targets[start, output]
        for r in range(points.shape[0]):
            inputs[1 + outputs + r] = samples[start, r]
        status = learn_one(program, parameters, points, factor, covariance, vectors, weights, scalars, inputs)
        if status < 0 or status == NO_ROOM:
            return start, status
        if status == FULL:
            drop_oldest(program, parameters, points, factor, covariance, vectors, weights, scalars, inputs)
        relative[start] = inputs[0]
        for output in range(outputs):
            errors[start, output] = inputs[1 + output]
        sizes[start] = scalars[SIZE]
        start += 1
        if is_calm(scalars, len(samples) - start) and has_room(points, scalars):
            break
    return start, LEARNED


@inline
def is_calm(scalars: Vector, remaining: int) -> bool:
    """Whether a block may follow: enough samples are left, and none of them pushes another out."""
    return remaining >= BLOCK and scalars[SIZE] + BLOCK <= scalars[MAX_SIZE]


@inline
def has_room(points: Matrix, scalars: Vector) -> bool:
    """Whether the arrays can hold a block of samples more."""
    return scalars[SIZE] + BLOCK + 2 <= points.shape[1]


@jit
def learn_blocks(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
    samples: Matrix,
    targets: Matrix,
    noise: Vector,
    start: int,
    errors: Matrix,
    relative: Vector,
    sizes: Vector,
    block: Vector,
    products: Vector,
    rows: Matrix,
    cholesky: Matrix,
) -> int:
    """Append whole blocks of samples from `start` on; return the next sample.

    With A = L⁻¹K_B the new rows of L are (A', C), C the Cholesky factor of K_BB + αR − A'A: L is read once a block.
    Requires: as `learn_many`; `block` and `cholesky` are workspace, the others are not used.
    """
    outputs, ridge = weights.shape[0], scalars[RIDGE]
    stack = vectors[COLUMN:]
    while is_calm(scalars, len(samples) - start) and has_room(points, scalars):
        size = int(scalars[SIZE])
        check = 0.0
        for b in range(BLOCK):
            for r in range(points.shape[0]):
                points[r, size + b] = samples[start + b, r]
            column(program, parameters, points, size + b + 1, samples[start + b], stack)
            similarities, own = stack[0], cholesky[b]
            for i in range(size):
                block[i * BLOCK + b] = similarities[i]
                check += similarities[i] * 0.0
            for c in range(BLOCK):
                own[c] = similarities[size + c] if c <= b else 0.0
                check += own[c] * 0.0
        if check != 0.0:  # the single step reports it
            break
        solve_block(factor, vectors[RECIPROCALS], size, block)
        for i in range(size):
            a = block[i * BLOCK : (i + 1) * BLOCK]
            for b in range(BLOCK):
                own, value = cholesky[b], a[b]
                for c in range(BLOCK):
                    own[c] -= value * a[c]
        for b in range(BLOCK):
            cholesky[b, b] = max(cholesky[b, b], 0.0) + ridge * noise[start + b]
        factor_in_place(cholesky, BLOCK)
        for b in range(BLOCK):
            first = row_start(size + b)
            own, target = cholesky[b], factor[first : first + size + b + 1]
            for i in range(size):
                target[i] = block[i * BLOCK + b]
            for c in range(b + 1):
                target[size + c] = own[c]
            vectors[RECIPROCALS, size + b] = 1.0 / own[b]
            squares = 0.0
            for output in range(outputs):
                zeta, mean = weights[output], 0.0
                for i in range(size + b):
                    mean += target[i] * zeta[i]
                error = targets[start + b, output] - mean
                zeta[size + b] = error / own[b]
                errors[start + b, output] = error
                inputs[1 + output] = error
                squares += targets[start + b, output] * targets[start + b, output]
            inputs[0] = own[b] * own[b] / ridge - noise[start + b]
            relative[start + b] = inputs[0]
            observe_noise(errors[start + b], noise[start + b] + inputs[0], scalars)
            account(squares, inputs, outputs, noise[start + b], scalars)
            sizes[start + b] = size + b + 1
        scalars[SIZE] += BLOCK
        start += BLOCK
    return start
