"""Models over one dictionary: what a follower does with the projection that its leader has computed.

Models that share kernel and threshold admit the same samples, so they share the points, the factor, the column and its
solve; only weights and covariance are their own. A follower's `points` and `factor` are its leader's arrays. Whoever
admits a sample first writes the new row of the factor; the others write the same numbers again.
"""

from __future__ import annotations

import math

from .jit import jit
from .stream import BAD_TARGET, JOINED, LEARNED, account, errors_before, relative_variance
from .triangular import dot, padded, rotate, rotate_symmetric
from .types import Matrix, Vector
from .whitened import (
    COEFFICIENT_VARIANCES,
    COLUMN,
    COSINES,
    PROJECTION,
    PRUNED,
    RECIPROCALS,
    SIMILARITIES,
    SINCE_JOINED,
    SINES,
    SIZE,
    TRACE,
    explained_variance,
    learn,
    settle,
)


@jit
def take_projection(vectors: Matrix, scalars: Vector, source: Matrix) -> float:
    """Copy z and the self-similarity from the leader's vectors; return the residual.

    Requires: the leader has projected a sample when its dictionary had the follower's size.
    """
    size = int(scalars[SIZE])
    projection, given = vectors[PROJECTION], source[PROJECTION]
    for i in range(size):
        projection[i] = given[i]
    for i in range(size, padded(size)):  # where the leader has grown it holds one coordinate more
        projection[i] = 0.0
    vectors[COLUMN, size] = source[COLUMN, size]
    return max(vectors[COLUMN, size] - dot(projection, projection, size), 0.0)


@jit
def predict_following(
    covariance: Vector, vectors: Matrix, weights: Matrix, scalars: Vector, inputs: Vector, source: Matrix
) -> tuple[float, float, float]:
    """What `stream.predict_variance` returns and leaves in `inputs`, for the sample that the leader predicted last."""
    residual = take_projection(vectors, scalars, source)
    for output in range(weights.shape[0]):
        inputs[1 + output] = dot(weights[output], vectors[PROJECTION], int(scalars[SIZE]))
    return float(inputs[1]), residual, explained_variance(covariance, vectors, scalars)


@jit
def learn_following(
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    inputs: Vector,
    source: Matrix,
) -> int:
    """What `stream.learn_one` does, for the sample that the leader learned last; pruning is the leader's business.

    Requires: noise and targets stand in `inputs`; the leader has not pruned since.
    """
    outputs = weights.shape[0]
    residual = take_projection(vectors, scalars, source)
    squares = errors_before(vectors, weights, scalars, inputs)
    if not math.isfinite(squares):
        return BAD_TARGET
    noise = inputs[0]
    errors = inputs[1 : 1 + outputs]
    joined, explained = learn(factor, covariance, vectors, weights, scalars, residual, errors, noise)
    inputs[0] = relative_variance(residual, explained, scalars)
    account(squares, inputs, outputs, noise, scalars)
    scalars[SINCE_JOINED] = 0.0 if joined else scalars[SINCE_JOINED] + 1.0
    return JOINED if joined else LEARNED


@jit
def remove_following(
    covariance: Vector, vectors: Matrix, weights: Matrix, scalars: Vector, index: int, source: Matrix
) -> None:
    """Follow the leader, which has just removed point `index` and left its rotations in COSINES and SINES."""
    settle(covariance, vectors, scalars)
    size = int(scalars[SIZE])
    cosines, sines = source[COSINES], source[SINES]
    rotate_symmetric(covariance, size, index, cosines, sines)
    for output in range(weights.shape[0]):
        rotate(weights[output], size, index, cosines, sines)
    scalars[TRACE] -= vectors[SIMILARITIES, index]
    for i in range(index, size - 1):
        vectors[SIMILARITIES, i] = vectors[SIMILARITIES, i + 1]
        vectors[COEFFICIENT_VARIANCES, i] = vectors[COEFFICIENT_VARIANCES, i + 1]
    for i in range(size):
        vectors[RECIPROCALS, i] = source[RECIPROCALS, i]
    scalars[SIZE] -= 1.0
    scalars[PRUNED] += 1.0
