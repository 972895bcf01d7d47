"""Noise that depends on the input: a second recursion for its logarithm, over the same dictionary.

The mean is learned as in `whitened`, with a relative noise variance r(x) = e^ζ(x) per sample; the noise variance itself
is s²r(x), s² estimated from the standardized errors. ζ(x) = w_ζ'z has weights and a covariance S of its own:

    q  = min(e² / (s² (r + u)), cap)         the squared standardized error one step ahead: its expectation is 1
    v  = z'Sz,   d = ½ v (q e^{−d} − 1)      the posterior mode of ζ(x) given q, solved by Newton's method
    w_ζ += S z d / v,   S −= S z z'S / (v + 2)

2 is the variance that a squared Gaussian error leaves on the logarithm of its variance. The cap keeps one outlier from
speaking for more than a few samples, in ζ, in s² and in the mean. Cawley, Talbot, Foxall, Dorling & Mandic (2004) in
recursive form.

`weights[0]` are those of the mean, `weights[1]` those of ζ; `noise_covariance` is S.
"""

from __future__ import annotations

import math

from .forgetting import passing
from .jit import inline, jit, part
from .model import Batch, Model
from .pruning import prune
from .stream import (
    BAD_TARGET,
    FULL,
    JOINED,
    LEARNED,
    NO_ROOM,
    account,
    function_variance,
    is_full,
    is_learnable,
    learn_each,
    predict_errors,
    present,
    tended,
)
from .symmetric import sweep
from .triangular import dot, row_start
from .types import Table
from .whitened import SMALL_NOISE, learn, project, smallest_noise, unlearned_variance

ERROR_VARIANCE = 2.0
LARGEST_LOGARITHM = 30.0  # of the relative noise variance, either way
SETTLING = 10.0  # samples before the overall noise level s² is known well enough to be refined


@part
def _mode(variance: float, square: float) -> float:
    """The d with d = ½ variance (square e^{−d} − 1)."""
    half = 0.5 * variance
    if square == 0.0:
        return -half
    # ln(square) <= d where d is negative: below, the exponential overflows where the variance is large.
    lowest = max(-half, math.log(square)) if square < 1.0 else -half
    d = 0.0
    for _ in range(50):
        slope = half * square * math.exp(-d)
        step = (d - slope + half) / (1.0 + slope)
        d = max(d - step, lowest)
        if abs(step) < 1e-12 * (1.0 + abs(d)):
            break
    return d


@inline
def step(model: Model) -> int:
    """Learn the sample in `inputs`, mean and noise; the contract of `stream.learn_one`. Requires: a positive ridge."""
    if model.size + 2 > model.points.shape[1]:
        return NO_ROOM
    status = present(model, model.x)
    if status < 0:
        return status
    residual = project(model)
    logarithm = min(max(dot(model.weights[1], model.projection, model.size), -LARGEST_LOGARITHM), LARGEST_LOGARITHM)
    noise = model.inputs[0] * math.exp(logarithm)
    squares = predict_errors(model)
    if not is_learnable(model, squares, residual, noise):
        return BAD_TARGET
    error = model.errors[0]
    level = model.noise_sum / model.noise_weight if model.noise_weight >= SETTLING else 0.0
    limit = model.noise_cap * level
    if limit > 0.0 and error * error > limit * noise:
        # As much noise as makes this error one at the cap: the outlier is learned with the weight that this leaves it.
        known = function_variance(model, residual, unlearned_variance(model))
        noise = max(noise, error * error / limit - known)
    if noise < SMALL_NOISE * (1.0 + model.column[model.size]):
        noise = max(noise, smallest_noise(model))
    joined, unlearned = learn(model, residual, noise)
    model.relative_variance = function_variance(model, residual, unlearned)
    square = 1.0
    if level > 0.0:
        square = min(error * error / (level * (noise + model.relative_variance)), model.noise_cap)
    _learn_noise(model, square, joined)
    account(model, squares, noise)
    if joined:
        return FULL if is_full(model) else JOINED
    return LEARNED


@part
def _learn_noise(model: Model, square: float, joined: bool) -> None:
    """Take a squared standardized error into ζ; the projection has been extended where the sample joined."""
    size, covariance, projection = model.size, model.noise_covariance, model.projection
    gain, pending, row = model.gain, model.noise_pending, model.weights[1]
    if joined:  # with the prior's variance once the sweep has applied what is pending
        prior = (1.0 / model.noise_ridge - model.noise_diagonal) / model.noise_scale
        covariance[row_start(size - 1) + size - 1] = prior
    sweep(covariance, size, pending, model.noise_scale, model.noise_diagonal, projection, gain)
    variance = dot(projection, gain, size)
    # A variance that is not positive is rounding error, and so is the gain.
    step_length = _mode(variance, square) / variance if variance > 0.0 else 0.0
    normalized = 1.0 / math.sqrt(variance + ERROR_VARIANCE) if variance > 0.0 else 0.0
    for i in range(size):
        row[i] += step_length * gain[i]
        pending[i] = gain[i] * normalized
    model.noise_scale, model.noise_diagonal = 1.0, 0.0
    if model.forgetting < 1.0:
        scale, diagonal, shrinkage = passing(model.forget, model.forgetting, model.noise_ridge)
        model.noise_scale, model.noise_diagonal = scale, diagonal
        if shrinkage != 1.0:
            for i in range(size):
                row[i] *= shrinkage


@jit
def settle_noise(model: Model) -> None:
    """Apply what is pending to S."""
    direction, pending = model.cosines, model.noise_pending
    direction[:] = 0.0
    sweep(model.noise_covariance, model.size, pending, model.noise_scale, model.noise_diagonal, direction, model.gain)
    pending[:] = 0.0
    model.noise_scale, model.noise_diagonal = 1.0, 0.0


@jit
def learn_one(table: Table) -> int:
    """Learn the sample in `inputs`; the contract of `stream.learn_one`."""
    model = Model(table)
    return tended(model, step(model))


@jit
def shrink(table: Table) -> int:
    """Drop a point, by its place or its part in the mean, from both recursions; return its place."""
    model = Model(table)
    settle_noise(model)
    return prune(model)


@jit
def is_calm(model: Model, remaining: int) -> bool:
    """Never: what a sample teaches about the noise changes how the next one is learned."""
    return False


@jit
def learn_many(table: Table, batch: Table, start: int) -> tuple[int, int]:
    """Learn the samples from `start` on; the contract of `stream.learn_many`."""
    return learn_each(step, is_calm, Model(table), Batch(batch), start)
