"""Noise that depends on the input: a second recursion for its logarithm, over the same dictionary.

The mean is learned as in `whitened`, with a relative noise variance r(x) = e^ζ(x) per sample; the noise variance itself
is s²r(x), s² estimated from the standardized errors. ζ(x) = w_ζ'z has weights and a covariance S of its own:

    q  = min(e² / (s² (r + u)), cap)         the squared standardized error one step ahead: its expectation is 1
    v  = z'Sz,   d = ½ v (q e^{−d} − 1)      the posterior mode of ζ(x) given q, solved by Newton's method
    w_ζ += S z d / v,   S −= S z z'S / (v + 2)

2 is the variance that a squared Gaussian error leaves on the logarithm of its variance. The cap keeps one outlier from
speaking for more than a few samples, in ζ, in s² and in the mean. Cawley, Talbot, Foxall, Dorling & Mandic (2004) in
recursive form.

`weights[0]` are those of the mean, `weights[1]` those of ζ; `second` is S, packed.
"""

from __future__ import annotations

import math

from .jit import jit, part
from .stream import BAD_TARGET, FULL, JOINED, LARGEST_SQUARE, LEARNED, NO_ROOM, account, present, relative_variance
from .triangular import dot, rotate_symmetric, row_start
from .types import Matrix, Program, Vector
from .whitened import (
    COSINES,
    FORGETTING,
    GAIN,
    MAX_SIZE,
    NOISE_CAP,
    NOISE_DIAGONAL,
    NOISE_PENDING,
    NOISE_RIDGE,
    NOISE_SCALE,
    NOISE_SUM,
    NOISE_WEIGHT,
    PROJECTION,
    SINES,
    SIZE,
    WALK,
    explained_variance,
    learn,
    least_important,
    project,
    remove,
    settle,
    sweep,
)

ERROR_VARIANCE = 2.0
LARGEST_LOGARITHM = 30.0  # of the relative noise variance, either way
SETTLING = 10.0  # samples before the overall noise level s² is known well enough to be refined


@part
def _mode(variance: float, square: float) -> float:
    """The d with d = ½ variance (square e^{−d} − 1)."""
    half = 0.5 * variance
    d = 0.0
    for _ in range(50):
        slope = half * square * math.exp(-d)
        step = (d - slope + half) / (1.0 + slope)
        d = max(d - step, -half)
        if abs(step) < 1e-12 * (1.0 + abs(d)):
            break
    return d


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
    second: Vector,
) -> int:
    """Learn one sample, mean and noise; the contract of `stream.learn_one` with [noise, target, unused, features...].

    Requires: a positive ridge.
    """
    if scalars[SIZE] + 2 > points.shape[1]:
        return NO_ROOM
    status = present(program, parameters, points, vectors, scalars, inputs[3:])
    if status < 0:
        return status
    size = int(scalars[SIZE])
    residual = project(factor, vectors, scalars)
    projection = vectors[PROJECTION]
    logarithm = min(max(dot(weights[1], projection, size), -LARGEST_LOGARITHM), LARGEST_LOGARITHM)
    noise = inputs[0] * math.exp(logarithm)
    target = inputs[1]
    error = target - dot(weights[0], projection, size)
    if not (math.isfinite(error * error) and target * target <= LARGEST_SQUARE):
        return BAD_TARGET
    inputs[1] = error
    level = scalars[NOISE_SUM] / scalars[NOISE_WEIGHT] if scalars[NOISE_WEIGHT] >= SETTLING else 0.0
    limit = scalars[NOISE_CAP] * level
    if limit > 0.0 and error * error > limit * noise:
        # As much noise as makes this error one at the cap: the outlier is learned with the weight that this leaves it.
        known = relative_variance(residual, explained_variance(covariance, vectors, scalars), scalars)
        noise = max(noise, error * error / limit - known)
    joined, explained = learn(factor, covariance, vectors, weights[:1], scalars, residual, inputs[1:2], noise)
    relative = relative_variance(residual, explained, scalars)
    square = 1.0
    if level > 0.0:
        square = min(error * error / (level * (noise + relative)), scalars[NOISE_CAP])
    _learn_noise(vectors, weights, scalars, second, square, joined)
    inputs[0] = relative
    account(target * target, inputs, 1, noise, scalars)
    if joined:
        return FULL if scalars[SIZE] > scalars[MAX_SIZE] else JOINED
    return LEARNED


@part
def _learn_noise(
    vectors: Matrix, weights: Matrix, scalars: Vector, second: Vector, square: float, joined: bool
) -> None:
    """Take a squared standardized error into ζ; the projection has been extended where the sample joined."""
    size = int(scalars[SIZE])
    projection, gain, pending = vectors[PROJECTION], vectors[GAIN], vectors[NOISE_PENDING]
    if joined:
        second[row_start(size - 1) + size - 1] = 1.0 / scalars[NOISE_RIDGE]
    sweep(second, size, pending, scalars[NOISE_SCALE], scalars[NOISE_DIAGONAL], projection, gain)
    variance = dot(projection, gain, size)
    step = _mode(variance, square) / variance if variance > 0.0 else 0.0
    normalized = 1.0 / math.sqrt(variance + ERROR_VARIANCE)
    row = weights[1]
    for i in range(size):
        row[i] += step * gain[i]
        pending[i] = gain[i] * normalized
    keep = scalars[FORGETTING]
    scalars[NOISE_SCALE], scalars[NOISE_DIAGONAL] = 1.0, 0.0
    if keep < 1.0:
        scalars[NOISE_DIAGONAL] = (1.0 - keep) / scalars[NOISE_RIDGE]
        if scalars[WALK] == 0.0:
            scalars[NOISE_SCALE] = keep
            for i in range(size):
                row[i] *= math.sqrt(keep)


@jit
def settle_noise(vectors: Matrix, scalars: Vector, second: Vector) -> None:
    """Apply what is pending to S."""
    direction, pending = vectors[COSINES], vectors[NOISE_PENDING]
    direction[:] = 0.0
    size = int(scalars[SIZE])
    sweep(second, size, pending, scalars[NOISE_SCALE], scalars[NOISE_DIAGONAL], direction, vectors[GAIN])
    pending[:] = 0.0
    scalars[NOISE_SCALE], scalars[NOISE_DIAGONAL] = 1.0, 0.0


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
    second: Vector,
    block: Vector,
    products: Vector,
) -> None:
    """Drop the point that matters least to the mean, from both recursions."""
    settle(covariance, vectors, scalars)
    size = int(scalars[SIZE])
    settle_noise(vectors, scalars, second)
    index = least_important(factor, covariance, vectors, weights[:1], scalars, block, products)
    remove(factor, covariance, vectors, weights, scalars, index)
    rotate_symmetric(second, size, index, vectors[COSINES], vectors[SINES])
    for r in range(points.shape[0]):
        row = points[r]
        for j in range(index, size - 1):
            row[j] = row[j + 1]


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
    second: Vector,
    samples: Matrix,
    targets: Matrix,
    noise: Vector,
    start: int,
    errors: Matrix,
    relative: Vector,
    sizes: Vector,
) -> tuple[int, int]:
    """Learn the samples from `start` on; the contract of `stream.learn_many`."""
    while start < len(samples):
        inputs[0], inputs[1] = noise[start], targets[start, 0]
        for r in range(points.shape[0]):
            inputs[3 + r] = samples[start, r]
        status = learn_one(program, parameters, points, factor, covariance, vectors, weights, scalars, inputs, second)
        if status < 0 or status == NO_ROOM:
            return start, status
        relative[start], errors[start, 0] = inputs[0], inputs[1]
        sizes[start] = min(scalars[SIZE], scalars[MAX_SIZE])
        start += 1
        if status == FULL:
            return start, FULL
    return start, LEARNED
