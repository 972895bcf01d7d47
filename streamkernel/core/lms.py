"""Steps of kernel adaptive filters that cost O(m) for m points: one column of similarities, and a change along it.

All share their arguments. `points` is feature-major; `vectors` holds the coefficients, the self-similarities and the
stack of `columns.column`, whose first row is the column k(D, x); `scalars` holds SIZE, the settings and ERROR; `inputs`
is the target and then the sample.
"""

from __future__ import annotations

import math

from .columns import column
from .jit import jit, part
from .types import Matrices, Matrix, Program, Vector

COEFFICIENTS, SIMILARITIES, STACK = range(3)
SIZE, LIMIT, STEP, SETTING, ERROR, COUNT, RHO, N_SCALARS = range(8)
DONE, NO_ROOM, BAD = 0, 1, -1


@part
def present(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> float:
    """The prediction; the sample stands behind the dictionary, so that its self-similarity ends the column.

    Requires: room for one more point.
    """
    size = int(scalars[SIZE])
    for r in range(points.shape[0]):
        points[r, size] = inputs[1 + r]
    column(program, parameters, points, size + 1, inputs[1:], vectors[STACK:])
    return _inner(vectors, size)


@part
def surprise(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> float:
    """The error of the prediction; NaN where the sample has no finite similarity to itself.

    Requires: room for one more point. Ensures: `present`.
    """
    error = inputs[0] - present(program, parameters, points, vectors, scalars, inputs)
    return error if math.isfinite(vectors[STACK, int(scalars[SIZE])]) else math.nan


@part
def _inner(vectors: Matrix, size: int) -> float:
    """Σ_j a_j k(x_j, x)."""
    total, coefficients, similarities = 0.0, vectors[COEFFICIENTS], vectors[STACK]
    for j in range(size):
        total += coefficients[j] * similarities[j]
    return total


@part
def join(points: Matrix, vectors: Matrix, scalars: Vector, coefficient: float, slide: bool) -> None:
    """Let the sample behind the dictionary join it; the oldest point leaves if there are too many and `slide` is set.

    Requires: `present`.
    """
    size = int(scalars[SIZE])
    vectors[COEFFICIENTS, size] = coefficient
    vectors[SIMILARITIES, size] = vectors[STACK, size]
    if slide and size >= scalars[LIMIT]:
        for r in range(points.shape[0]):
            row = points[r]
            for j in range(size):
                row[j] = row[j + 1]
        for r in range(STACK):
            row = vectors[r]
            for j in range(size):
                row[j] = row[j + 1]
    else:
        scalars[SIZE] = size + 1


@jit
def predict(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> float:
    """The prediction of one sample. Requires: room for one more point."""
    return present(program, parameters, points, vectors, scalars, inputs)


@jit
def learn_qklms(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> int:
    """Quantized kernel LMS (Chen et al. 2012, Algorithm 1): a sample within SETTING of a center changes that one.

    With SETTING zero it is kernel LMS (Liu, Pokharel & Principe 2008, eq. 12): every sample joins with ηe. Where the
    dictionary is full a sample counts for its nearest center.
    """
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    scalars[ERROR] = error
    size = int(scalars[SIZE])
    distances = vectors[STACK + 1]
    for j in range(size):
        distances[j] = 0.0
    for r in range(points.shape[0]):
        row, value = points[r], inputs[1 + r]
        for j in range(size):
            distances[j] += (row[j] - value) * (row[j] - value)
    nearest, least = 0, math.inf  # the first, where all are too far for a square
    for j in range(size):
        if distances[j] < least:
            nearest, least = j, distances[j]
    if size > 0 and (least <= scalars[SETTING] * scalars[SETTING] or size >= scalars[LIMIT]):
        vectors[COEFFICIENTS, nearest] += scalars[STEP] * error
    else:
        join(points, vectors, scalars, scalars[STEP] * error, False)
    return DONE


@jit
def learn_norma(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> int:
    """NORMA with the squared loss (Kivinen, Smola & Williamson 2004, eqs. 9 and 10): all coefficients shrink by ηλ."""
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    scalars[ERROR] = error
    keep, coefficients = 1.0 - scalars[STEP] * scalars[SETTING], vectors[COEFFICIENTS]
    for j in range(int(scalars[SIZE])):
        coefficients[j] *= keep
    join(points, vectors, scalars, scalars[STEP] * error, True)
    return DONE


@part
def is_novel(vectors: Matrix, scalars: Vector, coherence: float) -> bool:
    """The coherence criterion (Richard, Bermudez & Honeine 2009, eq. 12): max |k(x, x_j)| ≤ μ₀ for unit-norm kernels.

    Requires: `present`.
    """
    size = int(scalars[SIZE])
    own = vectors[STACK, size]
    if not own > 0.0:
        return False
    if size >= scalars[LIMIT]:
        return False
    for j in range(size):
        value = vectors[STACK, j]
        if value * value > coherence * coherence * own * vectors[SIMILARITIES, j]:
            return False
    return True


@jit
def learn_knlms(
    program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, inputs: Vector
) -> int:
    """KNLMS (Richard, Bermudez & Honeine 2009, eqs. 26 and 29): α += η/(ε + ‖h‖²) e h; RHO is ε, SETTING μ₀."""
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    novel = is_novel(vectors, scalars, scalars[SETTING])
    size, similarities, coefficients = int(scalars[SIZE]) + novel, vectors[STACK], vectors[COEFFICIENTS]
    power = scalars[RHO]
    for j in range(size):
        power += similarities[j] * similarities[j]
    if not math.isfinite(power):
        return BAD
    scalars[ERROR] = error
    if novel:
        join(points, vectors, scalars, 0.0, False)
    if power > 0.0:
        scale = scalars[STEP] * error / power
        for j in range(size):
            coefficients[j] += scale * similarities[j]
    return DONE


@jit
def learn_kapa(
    program: Program,
    parameters: Vector,
    points: Matrix,
    vectors: Matrix,
    scalars: Vector,
    inputs: Vector,
    own: tuple[Matrix, Matrices, Matrix],
) -> int:
    """KAPA (Richard, Bermudez & Honeine 2009, eqs. 22 and 25): α += ηH'(εI + HH')⁻¹(d − Hα) over the last p samples.

    Of the filter's own arrays the first holds them, one a row like `inputs`, the newest first, COUNT of them; the
    second has a stack for each, whose first rows are H, the third has p rows of p + 1 numbers. The step is computed
    before anything else is changed.

    Requires: columns that are computed outside are in the stack of `vectors` and, of this sample and those before it,
    in the p stacks.
    """
    recent, stacks, system = own
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    novel = is_novel(vectors, scalars, scalars[SETTING])
    size, coefficients = int(scalars[SIZE]) + novel, vectors[COEFFICIENTS]
    if novel:
        coefficients[size - 1] = 0.0
    order = min(recent.shape[0], int(scalars[COUNT]) + 1)
    for i in range(order):
        sample = inputs if i == 0 else recent[i - 1]
        column(program, parameters, points, size, sample[1:], stacks[i])
    for i in range(order):
        for k in range(i + 1):
            total = scalars[RHO] if i == k else 0.0
            for j in range(size):
                total += stacks[i, 0, j] * stacks[k, 0, j]
            if not math.isfinite(total):
                return BAD
            system[i, k] = system[k, i] = total
        total = inputs[0] if i == 0 else recent[i - 1, 0]
        for j in range(size):
            total -= stacks[i, 0, j] * coefficients[j]
        system[i, order] = total
    _solve(system, order)
    for i in range(order):
        if not math.isfinite(system[i, order]):
            return BAD
    scalars[ERROR], scalars[COUNT] = error, order
    if novel:
        join(points, vectors, scalars, 0.0, False)
    for i in range(order - 1, 0, -1):
        for r in range(recent.shape[1]):
            recent[i, r] = recent[i - 1, r]
    for r in range(recent.shape[1]):
        recent[0, r] = inputs[r]
    for i in range(order):
        scale = scalars[STEP] * system[i, order]
        for j in range(size):
            coefficients[j] += scale * stacks[i, 0, j]
    return DONE


@part
def _solve(system: Matrix, order: int) -> None:
    """Gaussian elimination of a positive definite system whose right side is its last column, in place."""
    for i in range(order):
        pivot = system[i, i]
        for k in range(i + 1, order):
            factor = system[k, i] / pivot if pivot > 0.0 else 0.0
            for j in range(i, order + 1):
                system[k, j] -= factor * system[i, j]
    for i in range(order - 1, -1, -1):
        total = system[i, order]
        for j in range(i + 1, order):
            total -= system[i, j] * system[j, order]
        system[i, order] = total / system[i, i] if system[i, i] > 0.0 else 0.0
