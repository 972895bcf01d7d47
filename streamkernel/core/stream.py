"""A kernel program and the whitened recursion together: learn one sample, learn many, predict.

These are the calls that a learner makes. They take a model's table; the sample waits in `inputs`, and what a call
reports stands in `errors`, `means` and `relative_variance`. A sample that cannot be used is reported by a negative
status before anything has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .blocks import BLOCK, innovations, multiply_block, pending_rows, solve_block, subtract_products
from .columns import column
from .jit import inline, jit, part
from .model import Batch, Model
from .pruning import prune
from .triangular import dot, row_start
from .types import Matrix, Table, Vector
from .variances import catch_up, flush, take_rows
from .whitened import (
    CERTAIN,
    EPSILON,
    NOISE_MEMORY,
    SMALL_NOISE,
    is_novel,
    learn,
    observe_noise,
    project,
    settle,
    smallest_noise,
    unlearned_variance,
)

LEARNED, JOINED, FULL, NO_ROOM, CROWDED = 0, 1, 2, 3, 4
BAD_INPUT, BAD_SIMILARITY, BAD_TARGET, LOST_RIDGE, LOST_WEIGHT = -1, -2, -3, -4, -5

# Of an error; beyond it sums of squares come close to overflow.
LARGEST_SQUARE = 1e300
# Of a target: variances in its units are needed elsewhere as well, where kernel or noise may be many times as large.
LARGEST_TARGET_SQUARE = 1e200
# Of a function's variance in the units of a target.
LARGEST_VARIANCE = 1e304
# Blocks start after this many samples in a row that did not join: earlier they would mostly be cut short.
CALM = 16


@inline
def present(model: Model, x: Vector) -> int:
    """Put x into the free place behind the dictionary and compute its column, self-similarity last.

    Ensures: nothing but workspace has changed; a negative status where x or its similarities are not finite.
    """
    size, points, similarities = model.size, model.points, model.column
    check = 0.0
    for r in range(points.shape[0]):
        points[r, size] = x[r]
        check += x[r] * 0.0
    if check != 0.0:  # NaN: a feature is not finite
        return BAD_INPUT
    column(model.program, model.parameters, points, size + 1, x, model.stack)
    check = 0.0
    for j in range(size + 1):
        check += similarities[j] * 0.0
    return LEARNED if check == 0.0 and similarities[size] >= 0.0 else BAD_SIMILARITY


@inline
def predict_means(model: Model) -> float:
    """All means for the projected sample; return the first."""
    for output in range(len(model.means)):
        model.means[output] = dot(model.weights[output], model.projection, model.size)
    return float(model.means[0])


@jit
def predict(table: Table) -> float:
    """The first output's mean, NaN where the sample cannot be used; all are in `means`."""
    model = Model(table)
    if present(model, model.x) < 0:
        return math.nan
    project(model)
    return predict_means(model)


@jit
def predict_variance(table: Table) -> tuple[float, float, float]:
    """The first output's mean (NaN as in `predict`), the residual δ, and z'Pz (0 in the exact form)."""
    model = Model(table)
    if present(model, model.x) < 0:
        return math.nan, 0.0, 0.0
    residual = project(model)
    mean = predict_means(model)
    return mean, residual, unlearned_variance(model) if len(model.covariance) else 0.0


@jit
def predict_rows(table: Table, samples: Matrix, means: Matrix, residuals: Vector, unlearned: Vector) -> int:
    """`predict_variance` for every row of `samples`; return the first row that cannot be used, or their number.

    Where `residuals` is empty the variances are left out.
    """
    model = Model(table)
    for t in range(len(samples)):
        if present(model, samples[t]) < 0:
            return t
        residual = project(model)
        predict_means(model)
        for output in range(len(model.means)):
            means[t, output] = model.means[output]
        if len(residuals):
            residuals[t] = residual
            unlearned[t] = unlearned_variance(model) if len(model.covariance) else 0.0
    return len(samples)


@inline
def function_variance(model: Model, residual: float, unlearned: float) -> float:
    """u: the function's variance at a sample over the noise's; without a ridge, as far as the dictionary sees it."""
    return unlearned + residual / model.ridge if model.ridge > 0.0 else unlearned


@inline
def predict_errors(model: Model) -> float:
    """Set `means` to w_k'z and `errors` to y_k − w_k'z; return the sum of the squared targets."""
    squares = 0.0
    for output in range(len(model.errors)):
        target = model.targets[output]
        mean = dot(model.weights[output], model.projection, model.size)
        model.means[output] = mean
        model.errors[output] = target - mean
        squares += target * target
    return squares


@inline
def is_learnable(model: Model, squares: float, residual: float, noise: float) -> bool:
    """Whether all that is computed from this sample stays finite: its squares, and variances in their units.

    Requires: `predict_errors` has run.
    """
    check, reach = 0.0, 1.0
    for output in range(len(model.errors)):
        check += model.errors[output] * model.errors[output]
    if model.ridge > 0.0:
        reach += (1.0 + model.column[model.size]) / model.ridge
    elif residual > model.threshold:
        reach += 1.0 / residual
    reach /= min(noise, 1.0)
    # NaN is below nothing.
    is_finite = squares <= LARGEST_TARGET_SQUARE and check <= LARGEST_SQUARE
    return is_finite and (1.0 + squares + check) * reach <= LARGEST_VARIANCE


@inline
def account(model: Model, squares: float, noise: float) -> None:
    """Count a learned sample: the mean square of the targets, Σ e²/(1 + u) and Σ ln(1 + u)."""
    model.seen += 1
    model.target_squares += (squares / len(model.errors) - model.target_squares) / model.seen
    growth = 1.0 + model.relative_variance / noise
    model.regularized_loss += model.errors[0] * model.errors[0] / (noise * growth)
    model.log_determinant += math.log(growth)


@inline
def observe_targets(model: Model, spread: float) -> None:
    """What `observe_noise` and `account` keep of all targets together, of each by itself, where there are several.

    A `spread` of zero says that the errors were not observed. Apart from those two: a sum more in their loops would
    change the last bits of theirs.
    """
    if len(model.errors) == 1:
        return
    keep = model.forgetting * (1.0 - 1.0 / NOISE_MEMORY)
    for output in range(len(model.errors)):
        target, error = model.targets[output], model.errors[output]
        model.squares[output] += (target * target - model.squares[output]) / model.seen
        if spread > 0.0:
            model.noise_sums[output] = keep * model.noise_sums[output] + error * error / spread


@inline
def learn_projected(model: Model, residual: float) -> int:
    """Learn the sample in `inputs`, which has been projected.

    Ensures: `errors` are those made before learning, `relative_variance` is u then.
    """
    squares, noise = predict_errors(model), model.inputs[0]
    if not is_learnable(model, squares, residual, noise):
        return BAD_TARGET
    if noise < SMALL_NOISE * (1.0 + model.column[model.size]) and noise < smallest_noise(model):
        return LOST_WEIGHT
    joined, unlearned = learn(model, residual, noise)
    model.relative_variance = function_variance(model, residual, unlearned)
    account(model, squares, noise)
    observed = noise + (model.relative_variance if joined else unlearned)
    observe_targets(model, 0.0 if joined and model.ridge == 0.0 else observed)
    model.since_joined = 0 if joined else model.since_joined + 1
    return JOINED if joined else LEARNED


@inline
def is_full(model: Model) -> bool:
    """Whether a point has to leave after a sample has joined: one too many, or the one whose place was taken."""
    return model.leaving > 0 or model.size > model.max_size


@inline
def step(model: Model) -> int:
    """Learn the sample in `inputs`; the contract of `learn_one`."""
    if model.size + 2 > model.points.shape[1]:
        return NO_ROOM
    status = present(model, model.x)
    if status >= 0:
        status = learn_projected(model, project(model))
    return FULL if status == JOINED and is_full(model) else status


@jit
def learn_one(table: Table) -> int:
    """Learn the sample in `inputs`; FULL says that the dictionary is one point too large now and `shrink` is due.

    NO_ROOM says that nothing was done, because the arrays cannot hold two more points. CROWDED says that the sample
    was learned and that `pruning.tend` is due: the dictionary is nearly full, and who might leave it has to be known.

    Requires: inputs[0] > 0.
    Ensures: as `learn_projected`.
    """
    model = Model(table)
    return tended(model, step(model))


@inline
def tended(model: Model, status: int) -> int:
    """A step's status, or CROWDED."""
    crowded = model.tracked > 0 or model.size >= model.max_size - model.max_size // 4
    return CROWDED if crowded and LEARNED <= status <= JOINED else status


@jit
def shrink(table: Table) -> int:
    """Drop the point whose place was taken, or else the least important one; return its place."""
    return prune(Model(table))


# Many samples ---------------------------------------------------------------------------------------------------------


@inline
def learn_each(
    step: Callable[[Model], int],
    is_calm: Callable[[Model, int], bool],
    model: Model,
    batch: Batch,
    start: int,
) -> tuple[int, int]:
    """Learn the samples from `start` on by `step`, one by one; return the next sample and a status.

    Stops at the end or when `learn_blocks` should take over (LEARNED), at a point to drop (FULL), where there is
    NO_ROOM to grow, and at a sample that cannot be used.

    Ensures: means[t] is the prediction made before sample t was learned, relative_variances[t] its u;
    sizes[t] the dictionary's size after it.
    """
    count, status, going = len(batch.samples), LEARNED, True
    while going and start < count:
        model.inputs[0] = batch.noise[start]
        for output in range(len(model.targets)):
            model.targets[output] = batch.targets[start, output]
        for r in range(len(model.x)):
            model.x[r] = batch.samples[start, r]
        status = step(model)
        going = status >= 0 and status != NO_ROOM
        if going:
            if model.tracked:
                catch_up(model)
            batch.relative_variances[start] = model.relative_variance
            for output in range(len(model.errors)):
                batch.means[start, output] = model.means[output]
            batch.sizes[start] = model.size - (status == FULL)
            start += 1
            going = status != FULL and not is_calm(model, count - start)
    return start, status if status < 0 or status >= FULL else LEARNED


@jit
def is_calm(model: Model, remaining: int) -> bool:
    """Whether the next samples are worth a block: none has joined for a while, and enough are left."""
    return model.since_joined >= CALM and model.forgetting == 1.0 and remaining >= CALM


@jit
def learn_many(table: Table, batch: Table, start: int) -> tuple[int, int]:
    """`learn_each` by `step`. Requires: finite samples and targets."""
    return learn_each(step, is_calm, Model(table), Batch(batch), start)


@jit
def learn_blocks(table: Table, batch: Table, start: int) -> int:
    """Learn the samples from `start` on in blocks, up to the first that must join; return the next sample.

    Requires: as `learn_many`; no forgetting; room for blocks.
    Ensures: as `learn_many`.
    """
    model, given = Model(table), Batch(batch)
    while start + CALM <= len(given.samples):
        wanted = min(BLOCK, len(given.samples) - start)
        count = _project_block(model, given, start, wanted)
        settle(model)
        count = _certain_count(model, given, start, count)
        if count == 0:
            break
        flush(model)
        multiply_block(model.covariance, model.size, model.block, model.products)
        innovations(model.block, model.products, model.size, given.noise[start:], count, model.innovations)
        if not _is_definite(model.innovations, count):
            break  # rounding errors of P: the single step looks for them
        pending_rows(model.products, model.size, model.innovations, count, model.rows)
        for output in range(len(model.errors)):
            _update_weights(model, given, start, count, output)
        subtract_products(model.covariance, model.size, model.rows, count)
        if model.tracked:
            take_rows(model, count)
        _report_block(model, given, start, count)
        start += count
        if count < BLOCK:
            break
    return start


@part
def _certain_count(model: Model, batch: Batch, start: int, count: int) -> int:
    """How many samples of a block, from its first on, have noise above `whitened.smallest_noise`.

    Requires: `_project_block` has run; nothing is pending.
    """
    size, block, similarities = model.size, model.block, model.innovations[BLOCK + 1]
    for b in range(count):
        noise = batch.noise[start + b]
        if noise < SMALL_NOISE * (1.0 + similarities[b]):
            total = 0.0
            for i in range(size):
                variance = model.covariance[row_start(i) + i]
                total += abs(block[i * BLOCK + b]) * math.sqrt(max(variance, 0.0))
            if noise < CERTAIN * EPSILON * total * total:
                return b
    return count


@part
def _is_definite(cholesky: Matrix, count: int) -> bool:
    """Whether a Cholesky factor is one, with a positive diagonal."""
    good = True
    for b in range(count):
        good &= cholesky[b, b] > 0.0  # NaN is not
    return good


@part
def _project_block(model: Model, batch: Batch, start: int, count: int) -> int:
    """Project a block of samples; return how many of them may be learned together.

    Ensures: `block` holds their projections, the rows from BLOCK on of `innovations` their residuals and
    self-similarities.
    """
    size, block, similarities = model.size, model.block, model.column
    residuals, self_similarities = model.innovations[BLOCK], model.innovations[BLOCK + 1]
    for b in range(count):
        if present(model, batch.samples[start + b]) < 0:
            count = b  # the single step reports it
            break
        residuals[b] = similarities[size]
        for i in range(size):
            block[i * BLOCK + b] = similarities[i]
    solve_block(model.factor, model.reciprocals, size, block)
    for b in range(BLOCK):
        self_similarities[b] = residuals[b]
    for i in range(size):
        z = block[i * BLOCK : (i + 1) * BLOCK]
        for b in range(BLOCK):
            residuals[b] -= z[b] * z[b]
    for b in range(count):
        if is_novel(model, residuals[b], self_similarities[b]):
            return b
    return count


@part
def _update_weights(model: Model, batch: Batch, start: int, count: int, output: int) -> None:
    """The errors of one target over a block, and w += Uε."""
    size, block, row = model.size, model.block, model.weights[output]
    means, normalized = model.innovations[BLOCK + 1], model.innovations[BLOCK + 2]
    for b in range(BLOCK):
        means[b] = 0.0
    for i in range(size):
        z, weight = block[i * BLOCK : (i + 1) * BLOCK], row[i]
        for b in range(BLOCK):
            means[b] += weight * z[b]
    for b in range(count):
        mean, factors = means[b], model.innovations[b]
        for c in range(b):
            mean += factors[c] * normalized[c]
        batch.means[start + b, output] = mean
        normalized[b] = (batch.targets[start + b, output] - mean) / factors[b]
    for b in range(count):
        step_length, pending = normalized[b], model.rows[b]
        for i in range(size):
            row[i] += step_length * pending[i]


@part
def _report_block(model: Model, batch: Batch, start: int, count: int) -> None:
    """What `step` reports and counts for each sample, for those of a block."""
    residuals = model.innovations[BLOCK]
    for b in range(count):
        spread, noise = model.innovations[b, b] * model.innovations[b, b], batch.noise[start + b]
        squares = 0.0
        for output in range(len(model.errors)):
            target = batch.targets[start + b, output]
            model.targets[output] = target
            squares += target * target
            model.errors[output] = target - batch.means[start + b, output]
        observe_noise(model, spread)
        if residuals[b] > model.threshold:
            model.refused += 1
        model.relative_variance = function_variance(model, max(residuals[b], 0.0), spread - noise)
        batch.relative_variances[start + b] = model.relative_variance
        batch.sizes[start + b] = model.size
        account(model, squares, noise)
        observe_targets(model, spread)
    model.since_joined += count
