"""Table 1 of Engel, Mannor & Meir (2004) with explicit inverses: the baseline of the speed ratios.

Paper -> code: K̃⁻¹ inverse, P covariance, α̃ coefficients, k̃ₜ column, kₜₜ self_similarity, aₜ projection, δₜ residual,
ν threshold, qₜ gain. Both matrices are stored in full, as the paper writes them. One step that does not admit reads
4 m² doubles and writes m². The loops run along rows through row slices, which LLVM vectorizes, and the flags are those
of the library's own core, so a ratio compares algorithms and layouts rather than compilers.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
CACHE_LINE = 64  # bytes; rows that start on one are never split across two lines


@njit(cache=True, fastmath=FASTMATH)
def rbf_column(points, size, x, inverse_two_scale_squared, out):
    """Write k(xᵢ, x) = exp(-‖xᵢ - x‖²/(2ℓ²)) of the first `size` rows of `points` into `out`.

    Requires: `inverse_two_scale_squared` is 1/(2ℓ²) > 0; `out` holds at least `size` numbers.
    """
    for i in range(size):
        point = points[i]
        squared_distance = 0.0
        for j in range(x.shape[0]):
            difference = point[j] - x[j]
            squared_distance += difference * difference
        out[i] = math.exp(-inverse_two_scale_squared * squared_distance)


@njit(cache=True, fastmath=FASTMATH)
def table1_step(column, self_similarity, target, inverse, covariance, coefficients, work, size, threshold):
    """Learn one target in place; return the dictionary size afterwards.

    Requires: `column` holds the `size` similarities to the dictionary; the state arrays have room for one more;
    `work` has two rows of that capacity.
    Ensures: `coefficients` minimize the squared error (3.11) of every target so far. When the returned size has
    grown, the caller stores the input as the dictionary's last point.
    """
    projection = work[0, :size]
    product = work[1, :size]
    similarities = column[:size]
    alpha = coefficients[:size]

    residual = self_similarity
    error = target
    for i in range(size):
        row = inverse[i, :size]
        total = 0.0
        for j in range(size):
            total += row[j] * similarities[j]
        projection[i] = total  # ALD test of Table 1: aₜ = K̃⁻¹ k̃ₜ
        residual -= similarities[i] * total  # δₜ = kₜₜ - k̃ₜ'aₜ
        error -= similarities[i] * alpha[i]  # yₜ - k̃ₜ'α̃, shared by (3.13) and (3.16)

    if residual > threshold:
        inverse_residual = 1.0 / residual
        for i in range(size):
            row = inverse[i, :size]
            scaled = projection[i] * inverse_residual
            for j in range(size):
                row[j] += scaled * projection[j]  # (3.14), top left
            inverse[i, size] = -scaled  # (3.14), the border
            inverse[size, i] = -scaled
            covariance[i, size] = 0.0  # (3.15)
            covariance[size, i] = 0.0
            alpha[i] -= scaled * error  # (3.16), top
        inverse[size, size] = inverse_residual  # (3.14), corner
        covariance[size, size] = 1.0  # (3.15)
        coefficients[size] = error * inverse_residual  # (3.16), bottom
        return size + 1

    scale = 1.0
    for i in range(size):
        row = covariance[i, :size]
        total = 0.0
        for j in range(size):
            total += row[j] * projection[j]
        product[i] = total  # P aₜ
        scale += projection[i] * total  # 1 + aₜ'P aₜ

    inverse_scale = 1.0 / scale
    for i in range(size):
        row = covariance[i, :size]
        gain = product[i] * inverse_scale  # qₜ = P aₜ / (1 + aₜ'P aₜ)
        for j in range(size):
            row[j] -= gain * product[j]  # (3.12); P is symmetric, so aₜ'P is the product again

    step = error * inverse_scale
    for i in range(size):
        row = inverse[i, :size]
        total = 0.0
        for j in range(size):
            total += row[j] * product[j]
        alpha[i] += total * step  # (3.13): K̃⁻¹ qₜ times the error
    return size


@njit(cache=True, fastmath=FASTMATH)
def table1_learn(
    x, target, points, inverse, covariance, coefficients, column, work, size, inverse_two_scale_squared, threshold
):
    """Learn one sample with the RBF kernel in place; return the dictionary size afterwards."""
    rbf_column(points, size, x, inverse_two_scale_squared, column)
    grown = table1_step(column, 1.0, target, inverse, covariance, coefficients, work, size, threshold)
    if grown > size:
        points[size, :] = x
    return grown


@njit(cache=True)
def table1_steps(columns, self_similarity, targets, inverse, covariance, coefficients, work, size, threshold):
    """Run one step per row of `columns` without leaving jitted code; return the last dictionary size.

    Requires: no sample is admitted, because a column has no entry for a point that joins after it was computed.
    """
    for t in range(targets.shape[0]):
        size = table1_step(
            columns[t], self_similarity, targets[t], inverse, covariance, coefficients, work, size, threshold
        )
    return size


@njit(cache=True)
def table1_learn_many(
    xs, targets, points, inverse, covariance, coefficients, column, work, size, inverse_two_scale_squared, threshold
):
    """Run `table1_learn` over the rows of `xs` without leaving jitted code; return the last dictionary size."""
    for t in range(targets.shape[0]):
        size = table1_learn(
            xs[t],
            targets[t],
            points,
            inverse,
            covariance,
            coefficients,
            column,
            work,
            size,
            inverse_two_scale_squared,
            threshold,
        )
    return size


class State(NamedTuple):
    """The arrays of one model, in the order `table1_learn` takes them. The jitted functions take the plain arrays."""

    points: np.ndarray
    inverse: np.ndarray
    covariance: np.ndarray
    coefficients: np.ndarray
    column: np.ndarray
    work: np.ndarray


def aligned_zeros(rows: int, columns: int) -> np.ndarray:
    """Return a row-major matrix of zeros whose first element is on a cache line."""
    buffer = np.zeros(rows * columns * 8 + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + rows * columns * 8].view(np.float64).reshape(rows, columns)


def empty_state(capacity: int, n_features: int) -> State:
    """Return the state before the first sample, with room for at least `capacity` points."""
    per_line = CACHE_LINE // 8
    capacity = -(-capacity // per_line) * per_line
    return State(
        points=np.zeros((capacity, n_features)),
        inverse=aligned_zeros(capacity, capacity),
        covariance=aligned_zeros(capacity, capacity),
        coefficients=aligned_zeros(1, capacity)[0],
        column=aligned_zeros(1, capacity)[0],
        work=aligned_zeros(2, capacity),
    )


def prepared_state(points: np.ndarray, targets: np.ndarray, length_scale: float, spare: int = 1) -> State:
    """Return the state after every one of `points` was admitted, with room for `spare` more.

    Built by the recursion itself, so a timed run continues from what Table 1 would hold. Raises ValueError when a
    point depends on those before it, because then no dictionary of this size exists.
    """
    state = empty_state(len(points) + spare, points.shape[1])
    size = table1_learn_many(points, targets, *state, 0, 0.5 / length_scale**2, 0.0)
    if size != len(points):
        raise ValueError(
            f"points: only {size} of {len(points)} are linearly independent at length_scale={length_scale}"
        )
    return state


def visits(points: np.ndarray, count: int, distance: float, seed: int) -> np.ndarray:
    """Return `count` inputs, each at `distance` from a randomly drawn row of `points`.

    At length scale ℓ such an input has residual δ at most distance²/ℓ², so no learner whose threshold is
    larger admits it.
    """
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((count, points.shape[1]))
    directions *= distance / np.linalg.norm(directions, axis=1, keepdims=True)
    return points[generator.integers(len(points), size=count)] + directions
