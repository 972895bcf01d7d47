"""The variances of a full dictionary's coefficients, kept up to date: they decide which point leaves.

The coefficients are α̃ = L⁻ᵀw. With vⱼ = (L⁻ᵀPL⁻¹)ⱼⱼ, the variance of α̃ⱼ over that of the noise, and κⱼ = (K⁻¹)ⱼⱼ:

    update    P ← s(P − pp') + dI:   v ← s(v − a²) + dκ,   a = L⁻ᵀp; after growth p is a multiple of ρ
    growth    L gains (z', ℓ), P gains (ρ', π):   v += b (bπ/ℓ − 2η)/ℓ,  κ += b²/ℓ²,   b = L⁻ᵀz,  η = L⁻ᵀρ;
              the new point has π/ℓ² and 1/ℓ²
    removal   of i, with k = K⁻¹eᵢ, q = L⁻ᵀPL⁻¹eᵢ, c = k/κᵢ:   v += c (cvᵢ − 2q),  κ −= ck

Each is O(m²), by triangular solves. Numbers that one of these steps makes much smaller have lost digits: they become
infinite, which stands for unknown, and are computed anew.

`Model.tracked` counts the points whose numbers are kept, what is pending included, but for what is collected; 0 says
that nobody needs them, or that they are lost. Steps know nothing of them: who tracks them calls `catch_up` in between.
"""

from __future__ import annotations

import math

from .jit import inline, jit, part
from .model import Model
from .simd import LANES, load, store, transpose
from .symmetric import quadratic
from .triangular import PANEL, dot, inverse_column, padded, row_start, solve_transposed_block, solve_transposed_pair
from .types import Matrix, Vector

UNKNOWN = math.inf
# A number that becomes so many times smaller in one step is computed anew.
LOSS = 64.0


@jit
def catch_up(model: Model) -> None:
    """Take a point that has joined, and what is pending, into the variances.

    Due after every step of a model whose variances are tracked: the next one forgets them otherwise. Updates are
    collected, a few at a time, in `rows`: one pass over L then serves all.
    Requires: they are tracked; room for blocks.
    """
    if model.caught_up:
        return
    model.caught_up = 1
    if model.size == model.tracked + 1:
        flush(model)
        _join(model)
    elif model.size != model.tracked:
        model.tracked = model.collected = 0
    elif model.is_pending:
        if model.pending_scale != model.collected_scale or model.pending_diagonal != model.collected_diagonal:
            flush(model)
        row, pending = model.rows[model.collected], model.pending
        for j in range(0, padded(model.size), LANES):
            store(row, j, load(pending, j))
        model.collected_scale, model.collected_diagonal = model.pending_scale, model.pending_diagonal
        model.collected += 1
        if model.collected == LANES:
            flush(model)


@part
def take_rows(model: Model, count: int) -> None:
    """P −= Σ uu' for the first `count` of `rows`: the same for the variances. Requires: nothing is collected."""
    model.collected_scale, model.collected_diagonal = 1.0, 0.0
    for first in range(0, count, LANES):
        model.collected = min(LANES, count - first)
        for b in range(model.collected):
            target, source = model.rows[b], model.rows[first + b]
            for j in range(0, padded(model.size), LANES):
                store(target, j, load(source, j))
        flush(model)


@jit
def flush(model: Model) -> None:
    """Take the collected updates into the variances.

    Ensures: nothing is collected; `products` has been used.
    """
    size, count, block, rows = model.size, model.collected, model.products, model.rows
    size = min(size, model.tracked)
    variances, inverses = model.coefficient_variances, model.inverse_diagonal
    scale, diagonal = model.collected_scale, model.collected_diagonal
    model.collected = 0
    if count == 0:
        return
    _pack(rows, padded(size), block)
    solve_transposed_block(model.factor, model.reciprocals, size, block)
    for i in range(size):
        if variances[i] < UNKNOWN:
            variance = variances[i]
            for b in range(count):
                a = block[i * LANES + b]
                variance = scale * (variance - a * a) + diagonal * inverses[i]
            _keep(model, i, variance, inverses[i])


@part
def _pack(rows: Matrix, size: int, block: Vector) -> None:
    """The first eight rows, side by side."""
    r0, r1, r2, r3, r4, r5, r6, r7 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
    for i in range(0, size, PANEL):
        x0, x1, x2, x3 = load(r0, i), load(r1, i), load(r2, i), load(r3, i)
        x4, x5, x6, x7 = load(r4, i), load(r5, i), load(r6, i), load(r7, i)
        x0, x1, x2, x3, x4, x5, x6, x7 = transpose(x0, x1, x2, x3, x4, x5, x6, x7)
        at = i * LANES
        store(block, at, x0)
        store(block, at + LANES, x1)
        store(block, at + 2 * LANES, x2)
        store(block, at + 3 * LANES, x3)
        store(block, at + 4 * LANES, x4)
        store(block, at + 5 * LANES, x5)
        store(block, at + 6 * LANES, x6)
        store(block, at + 7 * LANES, x7)


@inline
def _keep(model: Model, i: int, variance: float, inverse: float) -> None:
    """Set the numbers of a point that are known, or call them unknown where they have lost digits."""
    variances, inverses = model.coefficient_variances, model.inverse_diagonal
    lost = not (variance * LOSS > variances[i] and inverse * LOSS > inverses[i] and variance < UNKNOWN)
    variances[i] = UNKNOWN if lost else variance
    inverses[i] = UNKNOWN if lost else inverse
    model.unknown += lost


@part
def _join(model: Model) -> None:
    """Take in the point that has joined, and what is pending since."""
    last, b, eta = model.tracked, model.cosines, model.sines
    variances, inverses = model.coefficient_variances, model.inverse_diagonal
    start = row_start(last)
    for j in range(last):
        b[j], eta[j] = model.factor[start + j], model.covariance[start + j]
    for j in range(last, padded(last)):
        b[j] = eta[j] = 0.0
    solve_transposed_pair(model.factor, model.reciprocals, last, b, eta)
    # What is pending since is a multiple of the new row of P.
    row = model.covariance[start : start + last]
    overlap, length = 0.0, 0.0
    for j in range(last):
        overlap += model.pending[j] * row[j]
        length += row[j] * row[j]
    ratio = overlap / length if length > 0.0 else 0.0
    scale, diagonal = model.pending_scale, model.pending_diagonal
    inverse, own = model.reciprocals[last], model.covariance[start + last]
    for i in range(last):
        if variances[i] < UNKNOWN:
            share, a = b[i] * inverse, ratio * eta[i]
            grown, length = variances[i] + share * (share * own - 2.0 * eta[i]), inverses[i] + share * share
            _keep(model, i, scale * (grown - a * a) + diagonal * length, length)
    inverses[last] = inverse * inverse
    variances[last] = (scale * own + diagonal) * inverses[last]
    model.unknown += not variances[last] < UNKNOWN
    model.tracked = last + 1


@part
def evaluate(model: Model, index: int) -> None:
    """Compute the numbers of one point, what is pending included.

    Ensures: `cosines` holds L⁻¹eᵢ.
    """
    size, u = model.size, model.cosines
    inverse_column(model.factor, model.reciprocals, size, index, u)
    length, overlap = dot(u, u, size), dot(model.pending, u, size)
    stored = quadratic(model.covariance, size, u) - overlap * overlap
    model.coefficient_variances[index] = model.pending_scale * stored + model.pending_diagonal * length
    model.inverse_diagonal[index] = length


@part
def evaluate_unknown(model: Model, most: int) -> None:
    """Compute what is unknown, of so many points at most; all are unknown where none was tracked."""
    size, variances = model.size, model.coefficient_variances
    if model.tracked == 0:
        variances[:size] = UNKNOWN
        model.tracked, model.unknown, model.collected, model.caught_up = size, size, 0, 1
    if model.unknown > 0:
        flush(model)
    i = 0
    while model.unknown > 0 and most > 0 and i < size:
        if not variances[i] < UNKNOWN:
            evaluate(model, i)
            model.unknown -= 1
            most -= 1
        i += 1


@part
def leave(model: Model, index: int) -> None:
    """Point `index` leaves: the numbers of the others close the gap.

    Requires: `cosines` is u = L⁻¹eᵢ, `gain` is Pu, nothing is pending; the point is still there.
    """
    size, k, q = model.size, model.cosines, model.gain
    variances, inverses = model.coefficient_variances, model.inverse_diagonal
    inverse, variance = dot(k, k, size), dot(k, q, size)
    solve_transposed_pair(model.factor, model.reciprocals, size, k, q)
    for i in range(size):
        if i != index and variances[i] < UNKNOWN:
            c = k[i] / inverse
            _keep(model, i, variances[i] + c * (c * variance - 2.0 * q[i]), inverses[i] - c * k[i])
    model.unknown -= not variances[index] < UNKNOWN
    for i in range(index, size - 1):
        variances[i], inverses[i] = variances[i + 1], inverses[i + 1]
