"""A kernel program and the whitened recursion together: learn one sample, learn many, predict.

These are the calls that a learner makes. `inputs` carries a sample in: [noise, targets..., features...]; what a call
has to report besides its status it leaves in the places of the noise and the targets. A sample that cannot be used is
reported by a negative status before anything has changed.
"""

from __future__ import annotations

import math

from .blocks import BLOCK, innovations, multiply_block, pending_rows, solve_block, subtract_products
from .columns import column
from .jit import inline, jit
from .triangular import dot
from .types import Matrix, Program, Vector
from .whitened import (
    COLUMN,
    FORGETTING,
    LOG_DETERMINANT,
    MAX_SIZE,
    PROJECTION,
    RECIPROCALS,
    REFUSED,
    REGULARIZED_LOSS,
    RIDGE,
    SEEN,
    SINCE_JOINED,
    SIZE,
    TARGET_SQUARES,
    THRESHOLD,
    explained_variance,
    is_novel,
    learn,
    least_important,
    observe_noise,
    project,
    remove,
    settle,
)

LEARNED, JOINED, FULL, NO_ROOM = 0, 1, 2, 3
BAD_INPUT, BAD_SIMILARITY, BAD_TARGET = -1, -2, -3

# Of a target; beyond it sums of squares come close to overflow.
LARGEST_SQUARE = 1e300
# Blocks start after this many samples in a row that did not join: earlier they would mostly be cut short.
CALM = 16


@jit
def present(program: Program, parameters: Vector, points: Matrix, vectors: Matrix, scalars: Vector, x: Vector) -> int:
    """Put x into the free place behind the dictionary and compute its column, self-similarity last.

    Ensures: nothing but workspace has changed; a negative status where x or its similarities are not finite.
    """
    size = int(scalars[SIZE])
    check = 0.0
    for r in range(points.shape[0]):
        points[r, size] = x[r]
        check += x[r] * 0.0
    if check != 0.0:  # NaN: a feature is not finite
        return BAD_INPUT
    stack = vectors[COLUMN:]
    column(program, parameters, points, size + 1, x, stack)
    similarities = stack[0]
    check = 0.0
    for j in range(size + 1):
        check += similarities[j] * 0.0
    return LEARNED if check == 0.0 and similarities[size] >= 0.0 else BAD_SIMILARITY


@jit
def predict(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
) -> float:
    """The first output's mean, NaN where the sample cannot be used; all means are left in the places of the targets."""
    outputs = weights.shape[0]
    if present(program, parameters, points, vectors, scalars, inputs[1 + outputs :]) < 0:
        return math.nan
    project(factor, vectors, scalars)
    for output in range(outputs):
        inputs[1 + output] = dot(weights[output], vectors[PROJECTION], int(scalars[SIZE]))
    return float(inputs[1])


@jit
def predict_variance(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
) -> tuple[float, float, float]:
    """The first output's mean (NaN as in `predict`), the residual δ, and z'Pz."""
    outputs = weights.shape[0]
    if present(program, parameters, points, vectors, scalars, inputs[1 + outputs :]) < 0:
        return math.nan, 0.0, 0.0
    residual = project(factor, vectors, scalars)
    for output in range(outputs):
        inputs[1 + output] = dot(weights[output], vectors[PROJECTION], int(scalars[SIZE]))
    explained = explained_variance(covariance, vectors, scalars) if len(covariance) else 0.0
    return float(inputs[1]), residual, explained


@jit
def prune(
    program: Program,
    parameters: Vector,
    points: Matrix,
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
    block: Vector,
    products: Vector,
) -> None:
    """Drop the least important point."""
    settle(covariance, vectors, scalars)
    size = int(scalars[SIZE])
    index = least_important(factor, covariance, vectors, weights, scalars, block, products)
    remove(factor, covariance, vectors, weights, scalars, index)
    for r in range(points.shape[0]):
        row = points[r]
        for j in range(index, size - 1):
            row[j] = row[j + 1]


@inline
def relative_variance(residual: float, explained: float, scalars: Vector) -> float:
    """u: the function's variance at a sample over the noise's; without a ridge, as far as the dictionary sees it."""
    return explained + residual / scalars[RIDGE] if scalars[RIDGE] > 0.0 else explained


@jit
def errors_before(vectors: Matrix, weights: Matrix, scalars: Vector, inputs: Vector) -> float:
    """Turn the targets in `inputs` into errors, y_k − w_k'z; return the sum of the squared targets.

    Ensures: where a square is not finite `inputs` is unchanged, and neither is the result finite.
    """
    size, outputs = int(scalars[SIZE]), weights.shape[0]
    targets = inputs[1 : 1 + outputs]
    squares, check = 0.0, 0.0
    for output in range(outputs):
        error = targets[output] - dot(weights[output], vectors[PROJECTION], size)
        squares += targets[output] * targets[output]
        check += error * error
    if not (math.isfinite(check) and squares <= LARGEST_SQUARE):
        return math.inf
    for output in range(outputs):
        targets[output] -= dot(weights[output], vectors[PROJECTION], size)
    return squares


@jit
def account(squares: float, inputs: Vector, outputs: int, noise: float, scalars: Vector) -> None:
    """Count a learned sample: the mean square of the targets, Σ e²/(1 + u) and Σ ln(1 + u)."""
    scalars[SEEN] += 1.0
    scalars[TARGET_SQUARES] += (squares / outputs - scalars[TARGET_SQUARES]) / scalars[SEEN]
    growth = 1.0 + inputs[0] / noise
    scalars[REGULARIZED_LOSS] += inputs[1] * inputs[1] / (noise * growth)
    scalars[LOG_DETERMINANT] += math.log(growth)


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
    """Learn one sample; FULL says that the dictionary is one point too large now and `prune` is due.

    NO_ROOM says that nothing was done, because the arrays cannot hold two more points.

    Requires: inputs[0] > 0.
    Ensures: the errors made before learning stand in the places of the targets, u (`relative_variance`) in that of the
    noise.
    """
    if scalars[SIZE] + 2 > points.shape[1]:
        return NO_ROOM
    outputs = weights.shape[0]
    status = present(program, parameters, points, vectors, scalars, inputs[1 + outputs :])
    if status < 0:
        return status
    residual = project(factor, vectors, scalars)
    squares = errors_before(vectors, weights, scalars, inputs)
    if not math.isfinite(squares):
        return BAD_TARGET
    noise = inputs[0]
    errors = inputs[1 : 1 + outputs]
    joined, explained = learn(factor, covariance, vectors, weights, scalars, residual, errors, noise)
    inputs[0] = relative_variance(residual, explained, scalars)
    account(squares, inputs, outputs, noise, scalars)
    scalars[SINCE_JOINED] += 1.0
    if joined:
        scalars[SINCE_JOINED] = 0.0
        return FULL if scalars[SIZE] > scalars[MAX_SIZE] else JOINED
    return LEARNED


@jit
def predict_rows(
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
    means: Matrix,
    residuals: Vector,
    explained: Vector,
) -> int:
    """`predict_variance` for every row of `samples`; return the first row that cannot be used, or their number."""
    outputs = weights.shape[0]
    for t in range(len(samples)):
        for r in range(points.shape[0]):
            inputs[1 + outputs + r] = samples[t, r]
        mean, residuals[t], explained[t] = predict_variance(
            program, parameters, points, factor, covariance, vectors, weights, scalars, inputs
        )
        if mean != mean:
            return t
        for output in range(outputs):
            means[t, output] = inputs[1 + output]
    return len(samples)


@jit
def predict_many(
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
    means: Matrix,
) -> int:
    """`predict` for every row of `samples`; return the first row that cannot be used, or their number."""
    outputs = weights.shape[0]
    for t in range(len(samples)):
        for r in range(points.shape[0]):
            inputs[1 + outputs + r] = samples[t, r]
        mean = predict(program, parameters, points, factor, covariance, vectors, weights, scalars, inputs)
        if mean != mean:
            return t
        for output in range(outputs):
            means[t, output] = inputs[1 + output]
    return len(samples)


@jit
def is_calm(scalars: Vector, remaining: int) -> bool:
    """Whether the next samples are worth a block: none has joined for a while, and enough are left."""
    return scalars[SINCE_JOINED] >= CALM and scalars[FORGETTING] == 1.0 and remaining >= CALM


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
    """Learn the samples from `start` on in blocks, up to the first that must join; return the next sample.

    Requires: as `learn_many`; no forgetting; `block`, `products`, `rows` and `cholesky` are workspace, the latter
    BLOCK + 3 rows.
    Ensures: as `learn_many`.
    """
    size, outputs = int(scalars[SIZE]), weights.shape[0]
    while start + CALM <= len(samples):
        count = min(BLOCK, len(samples) - start)
        residuals = cholesky[BLOCK]
        similarities = vectors[COLUMN]
        for b in range(count):
            if present(program, parameters, points, vectors, scalars, samples[start + b]) < 0:
                count = b  # the single step reports it
                break
            residuals[b] = similarities[size]
            for i in range(size):
                block[i * BLOCK + b] = similarities[i]
        solve_block(factor, vectors[RECIPROCALS], size, block)
        self_similarity = cholesky[BLOCK + 1]
        for b in range(BLOCK):
            self_similarity[b] = residuals[b]
        for i in range(size):
            z = block[i * BLOCK : (i + 1) * BLOCK]
            for b in range(BLOCK):
                residuals[b] -= z[b] * z[b]
        for b in range(count):
            if is_novel(residuals[b], self_similarity[b], scalars):
                count = b
                break
        if count == 0:
            break
        settle(covariance, vectors, scalars)
        multiply_block(covariance, size, block, products)
        innovations(block, products, size, noise[start:], count, cholesky)
        pending_rows(products, size, cholesky, count, rows)
        for output in range(outputs):
            row = weights[output]
            means = cholesky[BLOCK + 1]
            for b in range(BLOCK):
                means[b] = 0.0
            for i in range(size):
                z, weight = block[i * BLOCK : (i + 1) * BLOCK], row[i]
                for b in range(BLOCK):
                    means[b] += weight * z[b]
            normalized = cholesky[BLOCK + 2]
            for b in range(count):
                mean, factors = means[b], cholesky[b]
                for c in range(b):
                    mean += factors[c] * normalized[c]
                error = targets[start + b, output] - mean
                errors[start + b, output] = error
                normalized[b] = error / factors[b]
            for b in range(count):
                step, pending = normalized[b], rows[b]
                for i in range(size):
                    row[i] += step * pending[i]
        subtract_products(covariance, size, rows, count)
        for b in range(count):
            sizes[start + b] = size
            observe_noise(errors[start + b], cholesky[b, b] * cholesky[b, b], scalars)
            if residuals[b] > scalars[THRESHOLD]:
                scalars[REFUSED] += 1.0
            squares = 0.0
            for output in range(outputs):
                squares += targets[start + b, output] * targets[start + b, output]
                inputs[1 + output] = errors[start + b, output]
            explained = cholesky[b, b] * cholesky[b, b] - noise[start + b]
            inputs[0] = relative_variance(max(residuals[b], 0.0), explained, scalars)
            relative[start + b] = inputs[0]
            account(squares, inputs, outputs, noise[start + b], scalars)
        scalars[SINCE_JOINED] += count
        start += count
        if count < BLOCK:
            break
    return start


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
    """Learn the samples from `start` on, one by one; return the next sample and a status.

    Stops at the end or when `learn_blocks` should take over (LEARNED), at a point to prune (FULL), or where there is
    NO_ROOM to grow.

    Requires: finite samples and targets.
    Ensures: errors[t] = y_t minus the prediction made before sample t was learned, relative[t] its u; sizes[t] the
    dictionary's size after it.
    """
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
        relative[start] = inputs[0]
        for output in range(outputs):
            errors[start, output] = inputs[1 + output]
        sizes[start] = min(scalars[SIZE], scalars[MAX_SIZE])
        start += 1
        if status == FULL:
            return start, FULL
        if is_calm(scalars, len(samples) - start):
            break
    return start, LEARNED
