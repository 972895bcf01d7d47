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

from .jit import jit
from .stream import BAD_TARGET, FULL, JOINED, LEARNED, NO_ROOM, account, errors_before, present
from .triangular import append_row, delete_row, rotate
from .types import Matrix, Program, Vector
from .whitened import (
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
    """Learn the samples from `start` on until there is no room to grow; the contract of `stream.learn_many`."""
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
    return start, LEARNED
