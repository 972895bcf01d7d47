"""Which point leaves a dictionary, and how the posterior goes on without it.

A point leaves for the one that takes its place (`whitened.finds_place`), or because the dictionary is full.
The point whose loss changes the posterior least has the smallest α̃ⱼ² / var(α̃ⱼ) (Csató & Opper 2002). A point that was
only just admitted has a large but uncertain coefficient; its variance says so. The variances are kept by `variances`.
"""

from __future__ import annotations

from .jit import jit, part
from .model import Model
from .rotations import delete_row, rotate, rotate_symmetric
from .symmetric import sweep
from .triangular import inverse_column, solve_transposed
from .types import Table, Vector
from .variances import UNKNOWN, catch_up, evaluate_unknown, flush, leave
from .whitened import settle

# Points whose variances are computed after a step in a dictionary that is nearly full.
AT_ONCE = 4
# Removals after which a variance is computed anew, one after the other.
REFRESHED = 4


@jit
def least_important(model: Model) -> int:
    """The point with the smallest α̃ⱼ² / var(α̃ⱼ).

    Requires: the variances are known, what is pending included.
    """
    size, variances, squares, work = model.size, model.coefficient_variances, model.sines, model.column
    squares[:] = 0.0
    for output in range(len(model.errors)):
        solve_transposed(model.factor, model.reciprocals, size, model.weights[output], work)
        for i in range(size):
            squares[i] += work[i] * work[i]
    best = 0
    for i in range(size):
        if not variances[i] < UNKNOWN:  # beyond all numbers: nothing is known of this coefficient
            return i
        if squares[i] * variances[best] < squares[best] * variances[i]:
            best = i
    return best


@jit
def remove(model: Model, index: int) -> None:
    """Remove point `index`: marginalize the posterior over its function value.

    Requires: nothing is pending (`settle`).
    Ensures: mean and covariance of the function at every other point are unchanged; `cosines` and `sines` hold the
    rotations.
    """
    delete_row(model.factor, model.reciprocals, model.size, index, model.cosines, model.sines)
    drop_point(model, index)
    marginalize(model, index, model.cosines, model.sines)


@part
def drop_point(model: Model, index: int) -> None:
    """Close the gap that a point leaves among the points."""
    for r in range(model.points.shape[0]):
        row = model.points[r]
        for j in range(index, model.size - 1):
            row[j] = row[j + 1]


@part
def marginalize(model: Model, index: int, cosines: Vector, sines: Vector) -> None:
    """What a removal does to all but the points and the factor, by the rotations that restored the factor."""
    size, similarities = model.size, model.similarities
    model.trace -= similarities[index]
    for i in range(index, size - 1):
        similarities[i] = similarities[i + 1]
    rotate_symmetric(model.covariance, size, index, cosines, sines)
    if len(model.noise_covariance):
        rotate_symmetric(model.noise_covariance, size, index, cosines, sines)
    for output in range(model.weights.shape[0]):
        rotate(model.weights[output], size, index, cosines, sines)
    model.size = size - 1
    model.leaving = 0
    model.tracked = 0  # `prune` alone knows what becomes of the variances
    model.pruned += 1


@jit
def prune(model: Model) -> int:
    """Drop the point whose place was taken, or else the least important one; return its place.

    Requires: room for blocks; where noise depends on the input, nothing is pending in its covariance.
    """
    if model.leaving:
        index = model.leaving - 1
        settle(model)
        remove(model, index)
        return index
    size = model.size
    if model.tracked:
        catch_up(model)
        flush(model)
    if model.tracked and model.pruned % REFRESHED == 0:
        # One point after the other is computed anew, so that rounding errors do not add up.
        again = model.pruned // REFRESHED % size
        model.unknown += model.coefficient_variances[again] < UNKNOWN
        model.coefficient_variances[again] = UNKNOWN
    evaluate_unknown(model, size)
    index = least_important(model)
    inverse_column(model.factor, model.reciprocals, size, index, model.cosines)
    sweep(
        model.covariance,
        size,
        model.pending,
        model.pending_scale,
        model.pending_diagonal,
        model.cosines,
        model.gain,
    )
    model.pending[:] = 0.0
    model.is_pending, model.pending_scale, model.pending_diagonal = 0, 1.0, 0.0
    leave(model, index)
    remove(model, index)
    model.tracked = model.size
    return index


@jit
def tend(table: Table) -> None:
    """Keep the variances up to date after a step, and compute some that are unknown.

    Requires: room for blocks.
    """
    model = Model(table)
    if model.tracked:
        catch_up(model)
    evaluate_unknown(model, AT_ONCE)
