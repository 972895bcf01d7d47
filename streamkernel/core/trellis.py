"""Posterior probabilities of symbols that went through a channel with memory: the forward-backward algorithm.

Bahl, Cocke, Jelinek & Raviv, "Optimal decoding of linear codes for minimizing symbol error rate", IEEE Transactions on
Information Theory 20(2), 1974, with a fixed lag instead of a block. A state is the symbols that an observation depends
on, (u(t), u(t − 1), ..., u(t − L)), as one number in base M, the newest symbol first. Paper -> code: α `messages`,
γ `likelihoods`, β `backward`.
"""

from __future__ import annotations

import math

from .jit import jit, part
from .simd import LANES, exponential, load, store
from .triangular import padded
from .types import Matrix, Vector


@part
def _likelihood(y: Vector, centers: Matrix, states: int, out: Vector) -> float:
    """exp(−‖y − center‖²/2) of every state, relative to the largest; minus the logarithm of that one is returned."""
    for j in range(padded(states)):
        out[j] = 0.0
    for r in range(centers.shape[0]):
        row, value = centers[r], y[r]
        for j in range(states):
            difference = row[j] - value
            out[j] -= 0.5 * difference * difference
    largest = out[0]
    for j in range(1, states):
        largest = max(largest, out[j])
    for j in range(states):
        out[j] -= largest
    for j in range(0, states, LANES):
        store(out, j, exponential(load(out, j)))
    return -largest


@part
def _forward(message: Vector, likelihood: Vector, size: int, shorter: int, out: Vector) -> float:
    """The next message: the oldest symbol is summed over, a new one arrives; returns the observation's probability.

    Requires: `message` sums to one over `shorter` * `size` states; `out` is another array.
    """
    total = 0.0
    for r in range(shorter):
        mass = 0.0
        for k in range(size):
            mass += message[r * size + k]
        mass /= size
        for u in range(size):
            out[u * shorter + r] = mass * likelihood[u * shorter + r]
    for j in range(size * shorter):
        total += out[j]
    if total > 0.0:
        for j in range(size * shorter):
            out[j] /= total
    else:  # an observation that no symbol explains says nothing
        for r in range(shorter):
            mass = 0.0
            for k in range(size):
                mass += message[r * size + k]
            for u in range(size):
                out[u * shorter + r] = mass / size
    return total


@part
def _backward(likelihood: Vector, size: int, shorter: int, message: Vector, out: Vector) -> None:
    """The probability of what came later, one observation earlier, up to a factor. Requires: `out` is another array."""
    largest = 0.0
    for r in range(shorter):
        mass = 0.0
        for u in range(size):
            mass += likelihood[u * shorter + r] * message[u * shorter + r]
        largest = max(largest, mass)
        for k in range(size):
            out[r * size + k] = mass
    if largest > 0.0:
        for j in range(size * shorter):
            out[j] /= largest


@jit
def detect(
    observations: Matrix,
    centers: Matrix,
    shape: tuple[int, int, int],
    memories: tuple[Matrix, Matrix, Matrix],
    seen: int,
    posteriors: Matrix,
    surprises: Vector,
) -> None:
    """P(u(t − delay) | y(t), y(t − 1), ...) for every observation, by the trellis of size^(memory + 1) states.

    Requires: `shape` is size, memory and delay; `memories` are messages, likelihoods and backward; observations and
    centers are in units of the noise's deviation; `centers[t or 0]` has one row a component and one column a state;
    messages and likelihoods have max(0, delay − memory) + 1 rows of padded(states) numbers, of which row (seen − 1)
    modulo their number is the last message; backward has two such rows.
    Ensures: row t of `posteriors` sums to one (it is flat where t + seen < delay); `surprises` are −ln p(y(t) | before)
    without the constant of the normal density.
    """
    size, memory, delay = shape
    messages, likelihoods, backward = memories
    shorter = size**memory
    states = size * shorter
    rows = messages.shape[0]
    place = size ** (memory - min(delay, memory))  # of the digit to decide on
    for t in range(observations.shape[0]):
        now, before = (seen + t) % rows, (seen + t - 1) % rows
        likelihood = likelihoods[now]
        surprise = _likelihood(observations[t], centers[t if centers.shape[0] > 1 else 0], states, likelihood)
        # With one row the message is replaced, by way of the workspace.
        total = _forward(messages[before], likelihood, size, shorter, backward[0])
        for j in range(states):
            messages[now, j] = backward[0, j]
        surprises[t] = surprise - _logarithm(total)
        current, other = backward[0], backward[1]
        for j in range(states):
            current[j] = 1.0
        steps = min(rows - 1, seen + t)
        for back in range(steps):
            _backward(likelihoods[(seen + t - back) % rows], size, shorter, current, other)
            current, other = other, current
        posterior, message = posteriors[t], messages[(seen + t - steps) % rows]
        for u in range(size):
            posterior[u] = 0.0
        if seen + t < delay:
            for u in range(size):
                posterior[u] = 1.0 / size
            continue
        total = 0.0
        for j in range(states):
            mass = message[j] * current[j]
            posterior[(j // place) % size] += mass
            total += mass
        for u in range(size):
            posterior[u] = posterior[u] / total if total > 0.0 else 1.0 / size


@part
def _logarithm(value: float) -> float:
    """ln, with a floor where the value is no longer a normal number."""
    return math.log(value) if value > 1e-300 else -700.0
