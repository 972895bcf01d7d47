"""The whitened recursion: recursive least squares in the coordinates of the dictionary's Cholesky factor.

Engel, Mannor & Meir (2004), Table 1, without an inverse of the kernel matrix. It never sees a kernel, only the column
of similarities between the dictionary and the sample, and the sample's self-similarity.

Paper -> code: K̃ = LL' `factor`, k̃ `column`, L⁻¹k̃ `projection` (z), δ `residual`, ν `threshold`, P `covariance`,
LᵀA'α̃ `weights`.

    project   z = L⁻¹ k̃(x),  δ = k(x, x) − z'z,  prediction w'z                                               (2.4)
    update    g = Pz,  s = r + z'g,  w += g (y − w'z) / s,  P −= gg' / s                            (3.12), (3.13)
    grow      L gains (z', √δ); with t = αs + δ, P −= gg' α/t and gains −g√δ/t and s/t, w += gα(y − w'z)/t and gains
              √δ(y − w'z)/t; ridge α = 0 is the flat prior of the paper                             (3.14)–(3.16)
    forget    prior: P ← λP + (1−λ)/α I, w ← √λ w;  walk: P ← P + (1−λ)/α I;  α = 0: P ← P/λ

The last update of P stays pending as p = g/√s (and so does forgetting, as a scale and a diagonal term): the next step's
sweep applies it while it computes Pz, and P passes through the cache once a step. p p' is exactly symmetric, so P stays
so.

State of a model, all float64:
    `factor`, `covariance`   packed (see `triangular`)
    `vectors[name]`          one padded row per name below
    `weights[output]`        one padded row per target; targets share P
    `scalars[name]`          the counters and settings below
"""

from __future__ import annotations

import math

from .blocks import BLOCK, multiply_block, solve_block
from .jit import inline, jit, part
from .simd import load, multiply, multiply_add, splat, store, total, totals
from .triangular import (
    PANEL,
    append_row,
    delete_row,
    dot,
    padded,
    rotate,
    rotate_symmetric,
    row_start,
    solve,
    solve_transposed,
)
from .types import Matrix, Vector

# Rows of `vectors`. The first N_STATE_VECTORS are state, the others workspace. The rows from COLUMN on are the stack on
# which a kernel program is evaluated, so that a column is used where it was computed.
RECIPROCALS, PENDING, COEFFICIENT_VARIANCES, SIMILARITIES, NOISE_PENDING = range(5)
PROJECTION, GAIN, COSINES, SINES, COLUMN = range(5, 10)
N_STATE_VECTORS = 5

# Elements of `scalars`: settings, then state; the last four belong to `noise`.
(
    THRESHOLD,
    RIDGE,
    FORGETTING,
    WALK,
    MAX_SIZE,
    SIZE,
    TRACE,
    IS_PENDING,
    PENDING_SCALE,
    PENDING_DIAGONAL,
    REFUSED,
    PRUNED,
    NOISE_SUM,
    NOISE_WEIGHT,
    TARGET_SQUARES,
    SEEN,
    REGULARIZED_LOSS,
    LOG_DETERMINANT,
    SINCE_JOINED,
    NOISE_RIDGE,
    NOISE_CAP,
    NOISE_SCALE,
    NOISE_DIAGONAL,
) = range(23)
N_SCALARS = 23

# The rounding error of one operation.
EPSILON = 2.0**-52
# A residual below trace(K) over this is rounding error: such a sample is learned, not admitted. It keeps the factor's
# pivots, and so about the condition number of K, within this ratio.
PIVOT_LIMIT = 1e14
# Points whose importance is computed anew when one of them has to leave.
CANDIDATES = 2 * BLOCK
# With ridge 0, P/λ grows without limit in directions that no sample excites; inflation pauses at this variance.
VARIANCE_LIMIT = 1e12
# The noise variance is a mean over about this many recent samples, so that errors made before the function was known
# fade.
NOISE_MEMORY = 500.0


@jit
def sweep(
    covariance: Vector,
    size: int,
    pending: Vector,
    scale: float,
    diagonal: float,
    direction: Vector,
    out: Vector,
) -> None:
    """P ← scale·(P − pending pending') + diagonal·I, and out = P direction, in one pass.

    Requires: the vectors are padded with zeros; `out` is none of the others.
    Ensures: P is exactly symmetric.
    """
    shrink = math.sqrt(scale)
    scales = splat(scale)
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        own = pending[first : first + PANEL]
        p0, p1 = splat(-shrink * own[0]), splat(-shrink * own[1])
        p2, p3 = splat(-shrink * own[2]), splat(-shrink * own[3])
        p4, p5 = splat(-shrink * own[4]), splat(-shrink * own[5])
        p6, p7 = splat(-shrink * own[6]), splat(-shrink * own[7])
        own = direction[first : first + PANEL]
        z0, z1, z2, z3 = splat(own[0]), splat(own[1]), splat(own[2]), splat(own[3])
        z4, z5, z6, z7 = splat(own[4]), splat(own[5]), splat(own[6]), splat(own[7])
        zero = splat(0.0)
        s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
        # The last tile is the diagonal one: its rows are complete, and what it adds to `out` is overwritten below.
        for j in range(0, width, PANEL):
            p = multiply(load(pending, j), splat(shrink))
            z = load(direction, j)
            column = load(out, j)
            at = start + j
            v = multiply_add(p0, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s0 = multiply_add(v, z, s0)
            column = multiply_add(v, z0, column)
            at += width
            v = multiply_add(p1, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s1 = multiply_add(v, z, s1)
            column = multiply_add(v, z1, column)
            at += width
            v = multiply_add(p2, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s2 = multiply_add(v, z, s2)
            column = multiply_add(v, z2, column)
            at += width
            v = multiply_add(p3, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s3 = multiply_add(v, z, s3)
            column = multiply_add(v, z3, column)
            at += width
            v = multiply_add(p4, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s4 = multiply_add(v, z, s4)
            column = multiply_add(v, z4, column)
            at += width
            v = multiply_add(p5, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s5 = multiply_add(v, z, s5)
            column = multiply_add(v, z5, column)
            at += width
            v = multiply_add(p6, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s6 = multiply_add(v, z, s6)
            column = multiply_add(v, z6, column)
            at += width
            v = multiply_add(p7, p, multiply(scales, load(covariance, at)))
            store(covariance, at, v)
            s7 = multiply_add(v, z, s7)
            column = multiply_add(v, z7, column)
            store(out, j, column)
        store(out, first, totals(s0, s1, s2, s3, s4, s5, s6, s7))
        if diagonal != 0.0:
            for i in range(first, min(width, size)):
                covariance[row_start(i) + i] += diagonal
                out[i] += diagonal * direction[i]


@jit
def quadratic(covariance: Vector, size: int, direction: Vector) -> float:
    """direction' P direction, P as stored.

    Requires: `direction` is padded with zeros.
    """
    sums = splat(0.0)
    for first in range(0, size, PANEL):
        width = first + PANEL
        start = row_start(first)
        own = direction[first : first + PANEL]
        for j in range(0, width, PANEL):
            at = start + j
            column = multiply(load(covariance, at), splat(own[0]))
            column = multiply_add(load(covariance, at + width), splat(own[1]), column)
            column = multiply_add(load(covariance, at + 2 * width), splat(own[2]), column)
            column = multiply_add(load(covariance, at + 3 * width), splat(own[3]), column)
            column = multiply_add(load(covariance, at + 4 * width), splat(own[4]), column)
            column = multiply_add(load(covariance, at + 5 * width), splat(own[5]), column)
            column = multiply_add(load(covariance, at + 6 * width), splat(own[6]), column)
            column = multiply_add(load(covariance, at + 7 * width), splat(own[7]), column)
            # Tiles left of the diagonal stand for their mirror images too.
            twice = 1.0 if j == first else 2.0
            sums = multiply_add(multiply(column, splat(twice)), load(direction, j), sums)
    return float(total(sums))


@jit
def project(factor: Vector, vectors: Matrix, scalars: Vector) -> float:
    """Whiten the column in `vectors[COLUMN]`, whose element `size` is the self-similarity; return the residual.

    Ensures: `vectors[PROJECTION]` holds z; 0 <= residual.
    """
    size = int(scalars[SIZE])
    column, projection = vectors[COLUMN], vectors[PROJECTION]
    solve(factor, vectors[RECIPROCALS], size, column, projection)
    return max(column[size] - dot(projection, projection, size), 0.0)


@jit
def explained_variance(covariance: Vector, vectors: Matrix, scalars: Vector) -> float:
    """z'Pz for the projection in `vectors[PROJECTION]`, what is pending included: what is still to be learned."""
    size = int(scalars[SIZE])
    projection = vectors[PROJECTION]
    overlap = dot(vectors[PENDING], projection, size)
    stored = quadratic(covariance, size, projection) - overlap * overlap
    length = dot(projection, projection, size)
    return max(scalars[PENDING_SCALE] * stored + scalars[PENDING_DIAGONAL] * length, 0.0)


@jit
def settle(covariance: Vector, vectors: Matrix, scalars: Vector) -> None:
    """Apply what is pending to P."""
    if scalars[IS_PENDING] == 0.0:
        return
    direction, out = vectors[COSINES], vectors[GAIN]
    direction[:] = 0.0
    pending = vectors[PENDING]
    size = int(scalars[SIZE])
    sweep(covariance, size, pending, scalars[PENDING_SCALE], scalars[PENDING_DIAGONAL], direction, out)
    pending[:] = 0.0
    scalars[IS_PENDING], scalars[PENDING_SCALE], scalars[PENDING_DIAGONAL] = 0.0, 1.0, 0.0


@jit
def forget(covariance: Vector, weights: Matrix, scalars: Vector) -> None:
    """Let one step of time pass: the next sweep applies what becomes pending here."""
    factor, ridge, size = scalars[FORGETTING], scalars[RIDGE], int(scalars[SIZE])
    scalars[PENDING_SCALE], scalars[PENDING_DIAGONAL] = 1.0, 0.0
    if factor == 1.0:
        return
    scalars[IS_PENDING] = 1.0
    if ridge == 0.0:
        largest = 0.0
        for i in range(size):
            largest = max(largest, covariance[row_start(i) + i])
        if largest < VARIANCE_LIMIT:
            scalars[PENDING_SCALE] = 1.0 / factor
    elif scalars[WALK] != 0.0:
        scalars[PENDING_DIAGONAL] = (1.0 - factor) / ridge
    else:
        scalars[PENDING_SCALE], scalars[PENDING_DIAGONAL] = factor, (1.0 - factor) / ridge
        for output in range(weights.shape[0]):
            row = weights[output]
            for i in range(size):
                row[i] *= math.sqrt(factor)


@jit
def observe_noise(errors: Vector, spread: float, scalars: Vector) -> None:
    """Take a one-step-ahead error of relative variance `spread` into the estimate of the noise variance."""
    squares = 0.0
    for output in range(len(errors)):
        squares += errors[output] * errors[output]
    keep = scalars[FORGETTING] * (1.0 - 1.0 / NOISE_MEMORY)
    scalars[NOISE_SUM] = keep * scalars[NOISE_SUM] + squares / (spread * len(errors))
    scalars[NOISE_WEIGHT] = keep * scalars[NOISE_WEIGHT] + 1.0


@inline
def is_novel(residual: float, self_similarity: float, scalars: Vector) -> bool:
    """The approximate linear dependence test (2.2), and whether the residual is more than rounding error."""
    return residual > max(scalars[THRESHOLD], (scalars[TRACE] + self_similarity) / PIVOT_LIMIT)


@jit
def is_certain(factor: Vector, vectors: Matrix, scalars: Vector, residual: float) -> bool:
    """Whether the residual is more than the rounding error of the similarities that it was computed from.

    With a = L⁻ᵀz it is (a, −1)'K(a, −1), and every similarity k(x, x') is known to ε√(k(x, x) k(x', x')).
    Requires: `project` has run for this sample.
    """
    size, work, similarities = int(scalars[SIZE]), vectors[COSINES], vectors[SIMILARITIES]
    solve_transposed(factor, vectors[RECIPROCALS], size, vectors[PROJECTION], work)
    total = math.sqrt(vectors[COLUMN, size])
    for i in range(size):
        total += abs(work[i]) * math.sqrt(similarities[i])
    return residual > EPSILON * total * total


@jit
def learn(
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    residual: float,
    errors: Vector,
    noise: float,
) -> tuple[bool, float]:
    """Learn the projected sample; return whether it joined the dictionary, and z'Pz before it was learned.

    Requires: `project` has run for this sample; errors[k] = y_k − w_k'z, finite; `noise` > 0; room for one more point.
    Ensures: `weights` minimize the regularized squared error of every target so far.
    """
    size = int(scalars[SIZE])
    projection, gain, pending = vectors[PROJECTION], vectors[GAIN], vectors[PENDING]
    sweep(covariance, size, pending, scalars[PENDING_SCALE], scalars[PENDING_DIAGONAL], projection, gain)
    explained = dot(projection, gain, size)
    spread = noise + explained
    novel = is_novel(residual, vectors[COLUMN, size], scalars) and is_certain(factor, vectors, scalars, residual)
    if not novel and residual > scalars[THRESHOLD]:
        scalars[REFUSED] += 1.0
    if novel:
        _grow(factor, covariance, vectors, weights, scalars, residual, errors, spread)
    else:
        normalized = 1.0 / math.sqrt(spread)
        for i in range(size):
            pending[i] = gain[i] * normalized
        for output in range(weights.shape[0]):
            row, step = weights[output], errors[output] / spread
            for i in range(size):
                row[i] += step * gain[i]
        scalars[IS_PENDING] = 1.0
        observe_noise(errors, spread, scalars)
    forget(covariance, weights, scalars)
    return novel, explained


@part
def _grow(
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    residual: float,
    errors: Vector,
    spread: float,
) -> None:
    """Admit the sample with prior variance 1/α and learn it, in one: the limit α = 0 is (3.14)–(3.16).

    Adding 1/α to the diagonal and updating afterwards would subtract numbers that are large where α is small.
    Ensures: `vectors[PROJECTION]` is extended by the new coordinate.
    """
    size, ridge = int(scalars[SIZE]), scalars[RIDGE]
    length, total = math.sqrt(residual), ridge * spread + residual
    projection, gain, pending = vectors[PROJECTION], vectors[GAIN], vectors[PENDING]
    append_row(factor, vectors[RECIPROCALS], size, projection, length)
    projection[size] = length
    start = row_start(size)
    row = covariance[start : start + size + 1]
    for j in range(size):
        row[j] = -gain[j] * length / total
    row[size] = spread / total
    for i in range(PANEL * (size // PANEL), size):
        covariance[row_start(i) + size] = row[i]
    normalized = math.sqrt(ridge / total)
    for i in range(size):
        pending[i] = gain[i] * normalized
    pending[size] = 0.0
    for output in range(weights.shape[0]):
        own, step = weights[output], errors[output] / total
        for i in range(size):
            own[i] += ridge * step * gain[i]
        own[size] = length * step
    scalars[IS_PENDING] = 1.0
    scalars[SIZE] += 1.0
    scalars[TRACE] += vectors[COLUMN, size]
    vectors[COEFFICIENT_VARIANCES, size] = math.inf
    vectors[SIMILARITIES, size] = vectors[COLUMN, size]
    if ridge > 0.0:  # with a flat prior the new weight takes up the whole error, which says nothing of the noise
        observe_noise(errors, total / ridge, scalars)


@part
def _evaluate(
    factor: Vector, covariance: Vector, vectors: Matrix, size: int, chosen: Vector, block: Vector, products: Vector
) -> None:
    """The variances of the coefficients α̃ⱼ of up to BLOCK chosen points, over that of the noise: (L⁻ᵀPL⁻¹)ⱼⱼ."""
    for at in range(padded(size) * BLOCK):
        block[at] = 0.0
    for b in range(len(chosen)):
        block[int(chosen[b]) * BLOCK + b] = 1.0
    solve_block(factor, vectors[RECIPROCALS], size, block)
    multiply_block(covariance, size, block, products)
    variances = vectors[COEFFICIENT_VARIANCES]
    for b in range(len(chosen)):
        variance = 0.0
        for i in range(size):
            variance += block[i * BLOCK + b] * products[i * BLOCK + b]
        variances[int(chosen[b])] = variance


@jit
def least_important(
    factor: Vector,
    covariance: Vector,
    vectors: Matrix,
    weights: Matrix,
    scalars: Vector,
    block: Vector,
    products: Vector,
) -> int:
    """The point whose loss changes the posterior least: the smallest α̃ⱼ² / var(α̃ⱼ) (Csató & Opper 2002).

    A point that was only just admitted has a large but uncertain coefficient; its variance says so. All variances
    anew would cost O(m³), so the last known ones select a number of candidates, whose variances are computed. Unknown
    ones are infinite, which makes them candidates; every m removals all are forgotten.

    Requires: nothing is pending (`settle`); `block` and `products` are workspace for BLOCK columns.
    """
    size = int(scalars[SIZE])
    variances, squares, work, chosen = vectors[COEFFICIENT_VARIANCES], vectors[SINES], vectors[COLUMN], vectors[GAIN]
    if int(scalars[PRUNED]) % size == 0:
        for i in range(size):
            variances[i] = math.inf
    squares[:] = 0.0
    for output in range(weights.shape[0]):
        solve_transposed(factor, vectors[RECIPROCALS], size, weights[output], work)
        for i in range(size):
            squares[i] += work[i] * work[i]
    unknown = True
    while unknown:
        for i in range(size):
            work[i] = squares[i] / variances[i] if variances[i] < math.inf else -1.0
        count = min(CANDIDATES, size)
        for b in range(count):
            best = 0
            for i in range(1, size):
                if work[i] < work[best]:
                    best = i
            chosen[b] = best
            work[best] = math.inf
        for first in range(0, count, BLOCK):
            own = chosen[first : min(first + BLOCK, count)]
            _evaluate(factor, covariance, vectors, size, own, block, products)
        unknown = False
        for i in range(size):
            unknown |= variances[i] == math.inf
    best = 0
    for i in range(1, size):
        if squares[i] * variances[best] < squares[best] * variances[i]:
            best = i
    return best


@jit
def remove(factor: Vector, covariance: Vector, vectors: Matrix, weights: Matrix, scalars: Vector, index: int) -> None:
    """Remove point `index`: marginalize the posterior over its function value.

    Requires: nothing is pending (`settle`).
    Ensures: mean and covariance of the function at every other point are unchanged.
    """
    size = int(scalars[SIZE])
    reciprocals, variances, similarities = vectors[RECIPROCALS], vectors[COEFFICIENT_VARIANCES], vectors[SIMILARITIES]
    scalars[TRACE] -= similarities[index]
    for i in range(index, size - 1):
        variances[i], similarities[i] = variances[i + 1], similarities[i + 1]
    cosines, sines = vectors[COSINES], vectors[SINES]
    delete_row(factor, reciprocals, size, index, cosines, sines)
    rotate_symmetric(covariance, size, index, cosines, sines)
    for output in range(weights.shape[0]):
        rotate(weights[output], size, index, cosines, sines)
    scalars[SIZE] -= 1.0
    scalars[PRUNED] += 1.0
