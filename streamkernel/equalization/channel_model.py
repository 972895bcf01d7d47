"""A channel learned from training symbols: memory, kernel and noise by the evidence, in closed form.

An observation depends on few symbols, (u(t), ..., u(t − L)), which take few values: the states. All samples of one
state share their mean, so the evidence of n samples needs the states' counts and means only, and a choice costs
O(S³) for the S states that were seen instead of O(n³).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .. import kernels
from ..core.types import Matrix, Vector
from ..threads import one_thread

LONGEST_MEMORY = 5
RIDGES = tuple(10.0 ** (-k / 2) for k in range(11))  # 1 to 1e-5
FIRST_RIDGE = 3
# What the dictionary leaves out stays below the noise.
THRESHOLD_SHARE = 0.1
# A choice sees the newest samples, so many at most; more do not change it.
MOST_SAMPLES = 400
# Once a memory explains more than none at all by this much evidence, so many longer ones are tried before it is taken.
CLEAR, PATIENCE = 10.0, 2


class ChannelModel(NamedTuple):
    """What was chosen."""

    memory: int
    """L, how many earlier symbols an observation depends on."""
    kernel: kernels.Kernel
    ridge: float
    noise: float
    """Variance of the noise of one component."""
    evidence: float


def features(symbols: NDArray[np.complex128], windows: NDArray[np.int64]) -> Matrix:
    """Windows of symbol numbers, the newest first, as the numbers that the kernel sees."""
    values = symbols[windows]
    if not symbols.imag.any():
        return np.ascontiguousarray(values.real)
    return np.stack([values.real, values.imag], axis=2).reshape(len(windows), -1)


def all_windows(size: int, memory: int) -> NDArray[np.int64]:
    """Every sequence of memory + 1 symbol numbers, in the order of the trellis."""
    count = size ** (memory + 1)
    return np.stack(np.unravel_index(np.arange(count), (size,) * (memory + 1)), axis=1)


def candidates(energy: float) -> list[kernels.Kernel]:
    """Kernels of channels, for samples whose squared norm is about `energy`.

    An odd channel (an amplifier with the alphabet's symmetry; a linear channel is one), of third order and of any; a
    general one of third order; and smooth ones of any order with a linear part, down to a table of the states.
    """
    linear: Any = (1.0 / energy) * kernels.Linear()
    odd = [
        linear + 0.3 * kernels.Polynomial(3, offset=0.0, scale=1.0 / energy),
        linear + kernels.Odd(kernels.RBF(math.sqrt(energy))),
    ]
    smooth = [linear + 0.1 + kernels.RBF(width * math.sqrt(energy)) for width in (0.5, 1.0, 2.0)]
    return [*odd, linear + 0.3 * kernels.Polynomial(3, offset=1.0, scale=1.0 / energy), *smooth]


@one_thread
def choose(
    symbols: NDArray[np.complex128],
    labels: NDArray[np.int64],
    observations: Matrix,
    most_states: int,
    memory: int | None = None,
    least_memory: int = 0,
) -> ChannelModel:
    """The memory, kernel, ridge and noise under which training symbols and their observations are most probable.

    Parameters
    ----------
    symbols
        The alphabet.
    labels
        The symbols sent, as numbers, oldest first; −1 where one is not known.
    observations
        One row a symbol, one column a component.
    most_states
        The largest M^(L + 1).
    memory
        L; None to choose it.
    least_memory
        The shortest that is chosen, if its states are not too many: a tap that is weak now may grow.

    """
    size = len(symbols)
    longest = LONGEST_MEMORY if memory is None else memory
    while longest > 0 and (size ** (longest + 1) > most_states or longest + 1 > len(labels)):
        longest -= 1
    newest = slice(max(0, len(labels) - MOST_SAMPLES - longest), None)
    labels, observations = labels[newest], observations[newest]
    windows = np.lib.stride_tricks.sliding_window_view(labels, longest + 1)[:, ::-1]
    good = (windows >= 0).all(axis=1)
    windows, targets = windows[good], observations[longest:][good]
    if memory is not None:
        return _best_kernel(symbols, windows, targets, longest)
    shortest = min(least_memory, longest)
    best = _best_kernel(symbols, windows[:, : shortest + 1], targets, shortest)
    nothing = _without_signal(targets)
    for length in range(shortest + 1, longest + 1):
        if best.evidence > nothing + CLEAR and length > best.memory + PATIENCE:
            break
        found = _best_kernel(symbols, windows[:, : length + 1], targets, length)
        best = found if found.evidence > best.evidence else best
    return best


def _without_signal(targets: Matrix) -> float:
    """The logarithm of the evidence of observations that no symbol explains."""
    samples, outputs = targets.shape
    return -0.5 * samples * outputs * math.log(max(float((targets**2).mean()), 1e-300))


def _best_kernel(
    symbols: NDArray[np.complex128], windows: NDArray[np.int64], targets: Matrix, memory: int
) -> ChannelModel:
    states, number, counts = np.unique(windows, axis=0, return_inverse=True, return_counts=True)
    number = number.ravel()
    means = np.stack([np.bincount(number, column) for column in targets.T], axis=1) / counts[:, None]
    within = float(((targets - means[number]) ** 2).sum())
    samples = features(symbols, states)
    names = tuple(range(samples.shape[1]))
    energy = (memory + 1) * float(np.mean(np.abs(symbols) ** 2))
    found = []
    for kernel in candidates(energy):
        gram = kernel(samples, features=names)
        found.append(_best_ridge(memory, kernel, gram, counts, means, within, len(targets)))
    return max(found, key=lambda model: model.evidence)


def _best_ridge(
    memory: int,
    kernel: kernels.Kernel,
    gram: Matrix,
    counts: NDArray[np.int64],
    means: Matrix,
    within: float,
    samples: int,
) -> ChannelModel:
    """Up the slope of the evidence, which has one summit in the ridge."""

    def model(place: int) -> ChannelModel:
        evidence, noise = _evidence(gram, RIDGES[place], counts, means, within, samples)
        return ChannelModel(memory, kernel, RIDGES[place], noise, evidence)

    best, place = model(FIRST_RIDGE), FIRST_RIDGE
    for step in (1, -1):
        climbed = False
        while 0 <= place + step < len(RIDGES):
            found = model(place + step)
            if found.evidence <= best.evidence:
                break
            best, place, climbed = found, place + step, True
        if climbed:
            break
    return best


def _evidence(
    gram: Matrix, ridge: float, counts: NDArray[np.int64], means: Matrix, within: float, samples: int
) -> tuple[float, float]:
    """The logarithm of the evidence, its best signal variance put in, and the noise variance that goes with it.

    ln det(K + ρI) over the samples is (n − S) ln ρ + Σ ln n_s + ln det(K_S + ρ diag(1/n_s)), and the quadratic form is
    that of the means plus what varies within the states over ρ.
    """
    outputs = means.shape[1]
    factor = linalg.cholesky(gram + np.diag(ridge / counts + 1e-10 * np.trace(gram) / len(gram)), lower=True)
    whitened = linalg.solve_triangular(factor, means, lower=True)
    square = max(float((whitened**2).sum()) + within / ridge, 1e-300)
    logarithm = (samples - len(gram)) * math.log(ridge) + float(np.log(counts).sum())
    logarithm += 2.0 * float(np.log(np.diagonal(factor)).sum())
    variance = square / (samples * outputs)
    return -0.5 * outputs * (samples * math.log(variance) + logarithm), ridge * variance


def projections(kernel: kernels.Kernel, samples: Matrix, threshold: float, largest: int) -> Matrix:
    """Z with ZZ' = K up to `threshold` on the diagonal: every sample in the coordinates of a dictionary among them.

    A pivoted Cholesky factorization: the sample that is seen least joins, until none exceeds the threshold or the
    dictionary has `largest` points.
    """
    names = tuple(range(samples.shape[1]))
    residuals = kernel.diagonal(samples, names).copy()
    columns: list[Vector] = []
    while len(columns) < min(largest, len(samples)) and residuals.max() > threshold:
        pivot = int(residuals.argmax())
        column = kernel(samples, samples[pivot : pivot + 1], features=names)[:, 0]
        for other in columns:
            column = column - other[pivot] * other
        column = column / math.sqrt(residuals[pivot])
        columns.append(column)
        residuals = np.maximum(residuals - column**2, 0.0)
    return np.ascontiguousarray(np.stack(columns, axis=1))


def whitening(covariance: Matrix) -> Matrix:
    """W with W R W' = I: observations times W' have noise of unit variance."""
    size = len(covariance)
    floor = 1e-12 * float(np.trace(covariance)) / size + 1e-300
    return np.linalg.inv(np.linalg.cholesky(covariance + floor * np.eye(size)))


def bit_probabilities(posteriors: Matrix) -> Vector:
    """P(bit = 1) for every bit of the symbols' numbers, the most significant first."""
    size = posteriors.shape[1]
    bits = (size - 1).bit_length()
    ones = (np.arange(size)[:, None] >> np.arange(bits - 1, -1, -1)) & 1
    return posteriors @ ones.astype(np.float64)
