"""The whitened recursion: recursive least squares in the coordinates of the dictionary's Cholesky factor.

Engel, Mannor & Meir (2004), Table 1, without an inverse of the kernel matrix. It never sees a kernel, only the column
of similarities between the dictionary and the sample, and the sample's self-similarity.

Paper -> code: K̃ = LL' `factor`, k̃ `column`, L⁻¹k̃ `projection` (z), δ `residual`, ν `threshold`, P `covariance`,
LᵀA'α̃ `weights`.

    project   z = L⁻¹ k̃(x),  δ = k(x, x) − z'z,  prediction w'z                                               (2.4)
    update    g = Pz,  s = r + z'g,  w += g (y − w'z) / s,  P −= gg' / s                            (3.12), (3.13)
    grow      L gains (z', √δ); with t = αs + δ, P −= gg' α/t and gains −g√δ/t and s/t, w += gα(y − w'z)/t and gains
              √δ(y − w'z)/t; ridge α = 0 is the flat prior of the paper                             (3.14)–(3.16)
    forget    a rule of `forgetting`;  α = 0: P ← P/λ

The last update of P stays pending as p = g/√s (and so does forgetting, as a scale and a diagonal term): the next step's
sweep applies it while it computes Pz, and P passes through the cache once a step. p p' is exactly symmetric, so P stays
so.
"""

from __future__ import annotations

import math

from .forgetting import passing
from .jit import inline, jit, part
from .model import Model
from .symmetric import quadratic, sweep
from .triangular import PANEL, append_row, dot, row_start, solve, solve_transposed

# The rounding error of one operation.
EPSILON = 2.0**-52
# A residual below trace(K) over this is rounding error: such a sample is learned, not admitted. It keeps the factor's
# pivots, and so about the condition number of K, within this ratio.
PIVOT_LIMIT = 1e14
# Of |aᵢ|√(kᵢᵢ/k(x, x)), a the combination of points nearest to a sample x whose residual may be rounding error: beyond
# it x takes the place of the point with the largest. That multiplies the determinant of K, normalized to a unit
# diagonal, by the square of this at least, so it cannot go on; below, exchanges would add little.
EXCHANGE = 2.0
# With ridge 0, P/λ grows without limit in directions that no sample excites; inflation pauses at this variance.
VARIANCE_LIMIT = 1e12
# Of a sample's relative noise, over its self-similarity: below it, `smallest_noise` is looked at. CERTAIN rounding
# errors are more than one.
SMALL_NOISE, CERTAIN = 0.01, 4.0
# Residuals below are not admitted: products of reciprocals would overflow.
SMALLEST_RESIDUAL = 1e-200
# The noise variance is a mean over about this many recent samples, so that errors made before the function was known
# fade.
NOISE_MEMORY = 500.0


@jit
def project(model: Model) -> float:
    """Whiten the column, whose element m is the self-similarity; return the residual δ.

    Ensures: `projection` holds z; 0 <= residual.
    """
    size, column, projection = model.size, model.column, model.projection
    solve(model.factor, model.reciprocals, size, column, projection)
    return max(column[size] - dot(projection, projection, size), 0.0)


@jit
def unlearned_variance(model: Model) -> float:
    """z'Pz for the projected sample, what is pending included: what is still to be learned of what D can see."""
    size, projection = model.size, model.projection
    overlap = dot(model.pending, projection, size)
    stored = quadratic(model.covariance, size, projection) - overlap * overlap
    length = dot(projection, projection, size)
    return max(model.pending_scale * stored + model.pending_diagonal * length, 0.0)


@jit
def settle(model: Model) -> None:
    """Apply what is pending to P."""
    if model.is_pending == 0:
        return
    if not model.caught_up:
        model.tracked = 0
    direction, pending = model.cosines, model.pending
    direction[:] = 0.0
    sweep(model.covariance, model.size, pending, model.pending_scale, model.pending_diagonal, direction, model.gain)
    pending[:] = 0.0
    model.is_pending, model.pending_scale, model.pending_diagonal = 0, 1.0, 0.0


@inline
def forget(model: Model) -> None:
    """Let one step of time pass: the next sweep applies what becomes pending here."""
    keep, size = model.forgetting, model.size
    model.pending_scale, model.pending_diagonal = 1.0, 0.0
    if keep == 1.0:
        return
    model.is_pending = 1
    if model.ridge == 0.0:
        covariance, largest = model.covariance, 0.0
        for i in range(size):
            largest = max(largest, covariance[row_start(i) + i])
        if largest < VARIANCE_LIMIT:
            model.pending_scale = 1.0 / keep
        return
    scale, diagonal, shrinkage = passing(model.forget, keep, model.ridge)
    model.pending_scale, model.pending_diagonal = scale, diagonal
    if shrinkage != 1.0:
        for output in range(len(model.errors)):
            row = model.weights[output]
            for i in range(size):
                row[i] *= shrinkage


@inline
def observe_noise(model: Model, spread: float) -> None:
    """Take the errors, one step ahead and of relative variance `spread`, into the estimate of the noise variance."""
    errors, squares = model.errors, 0.0
    keep = model.forgetting * (1.0 - 1.0 / NOISE_MEMORY)
    for output in range(len(errors)):
        squares += errors[output] * errors[output]
    model.noise_sum = keep * model.noise_sum + squares / (spread * len(errors))
    model.noise_weight = keep * model.noise_weight + 1.0


@inline
def is_novel(model: Model, residual: float, self_similarity: float) -> bool:
    """The approximate linear dependence test (2.2), and whether the residual is more than rounding error."""
    return residual > max(model.threshold, (model.trace + self_similarity) / PIVOT_LIMIT, SMALLEST_RESIDUAL)


@inline
def finds_place(model: Model, residual: float) -> bool:
    """Whether a novel sample joins: its residual is more than rounding error, or it takes the place of a point.

    With a = L⁻ᵀz the residual is (a, −1)'K(a, −1), and every similarity k(x, x') is known to ε√(k(x, x) k(x', x')).
    Where near duplicates of one another have made K ill conditioned, a is large for all that is far from them, and the
    residual never certain. In the place of point i the sample multiplies det K by aᵢ² + δ(K⁻¹)ᵢᵢ.
    Requires: `project` has run for this sample.
    Ensures: `leaving` says whose place it takes.
    """
    size, work, similarities = model.size, model.cosines, model.similarities
    solve_transposed(model.factor, model.reciprocals, size, model.projection, work)
    total = math.sqrt(model.column[size])
    largest = EXCHANGE * total
    for i in range(size):
        total += abs(work[i]) * math.sqrt(similarities[i])
    model.leaving = 0
    if residual > EPSILON * total * total:
        return True
    for i in range(size):
        share = abs(work[i]) * math.sqrt(similarities[i])
        if share > largest:
            largest, model.leaving = share, i + 1
    return model.leaving > 0


@part
def smallest_noise(model: Model) -> float:
    """The rounding error of z'Pz: relative noise below it cannot be told from none, and P would turn indefinite.

    It is large where samples of small weight have left variances large. Requires: `project` has run for this sample.
    """
    covariance, pending, projection, total = model.covariance, model.pending, model.projection, 0.0
    for i in range(model.size):
        stored = covariance[row_start(i) + i] - pending[i] * pending[i]
        variance = model.pending_scale * stored + model.pending_diagonal
        total += abs(projection[i]) * math.sqrt(max(variance, 0.0))
    return CERTAIN * EPSILON * total * total


@jit
def learn(model: Model, residual: float, noise: float) -> tuple[bool, float]:
    """Learn the projected sample; return whether it joined the dictionary, and z'Pz before it was learned.

    Requires: `project` has run for this sample; `errors` are y_k − w_k'z, finite; `noise` is at least `smallest_noise`;
    room for one more point.
    Ensures: `weights` minimize the regularized squared error of every target so far; where the sample has joined in the
    place of a point, that is still there and `leaving` names it.
    """
    size, projection, gain, pending = model.size, model.projection, model.gain, model.pending
    if not model.caught_up:
        model.tracked = 0
    sweep(model.covariance, size, pending, model.pending_scale, model.pending_diagonal, projection, gain)
    unlearned = max(dot(projection, gain, size), 0.0)
    spread = noise + unlearned
    novel = is_novel(model, residual, model.column[size]) and finds_place(model, residual)
    if not novel and residual > model.threshold:
        model.refused += 1
    if novel:
        _grow(model, residual, spread)
    else:
        normalized = 1.0 / math.sqrt(spread)
        for i in range(size):
            pending[i] = gain[i] * normalized
        for output in range(len(model.errors)):
            row, step = model.weights[output], model.errors[output] / spread
            for i in range(size):
                row[i] += step * gain[i]
        model.is_pending = 1
        observe_noise(model, spread)
    forget(model)
    model.caught_up = 0
    return novel, unlearned


@inline
def _grow(model: Model, residual: float, spread: float) -> None:
    """Admit the sample with prior variance 1/α and learn it, in one: the limit α = 0 is (3.14)–(3.16).

    Adding 1/α to the diagonal and updating afterwards would subtract numbers that are large where α is small.
    Ensures: `projection` is extended by the new coordinate.
    """
    size, ridge = model.size, model.ridge
    length, total = math.sqrt(residual), ridge * spread + residual
    projection, gain, pending, covariance = model.projection, model.gain, model.pending, model.covariance
    append_row(model.factor, model.reciprocals, size, projection, length)
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
    for output in range(len(model.errors)):
        own, step = model.weights[output], model.errors[output] / total
        for i in range(size):
            own[i] += ridge * step * gain[i]
        own[size] = length * step
    self_similarity = model.column[size]
    model.is_pending = 1
    model.size = size + 1
    model.trace += self_similarity
    model.similarities[size] = self_similarity
    if ridge > 0.0:  # with a flat prior the new weight takes up the whole error, which says nothing of the noise
        observe_noise(model, total / ridge)
