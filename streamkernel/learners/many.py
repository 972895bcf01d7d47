"""Many samples at once: whether they may be learned and how carefully, learning them, predicting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core import stream
from ..core.exact import SMALLEST_PIVOT
from ..core.jit import plain
from ..core.model import Batch
from ..core.types import Matrix, Vector
from ..core.whitened import CERTAIN, EPSILON
from ..kernels import Feature
from . import reading, widening
from .storage import used_length

if TYPE_CHECKING:
    from .recursion import Recursion

# Features up to here leave every kernel finite where k(x, x) is: squares and products do not overflow.
SAFE_VALUE = 1e150
# Where the variances of functions and the squares of targets stay below, nothing that a sample leads to overflows.
SAFE_VARIANCE = 1e200


def screen(
    model: Recursion, names: tuple[Feature, ...], rows: Matrix, targets: Matrix, weights: Vector | None
) -> tuple[Vector, bool, bool]:
    """The samples' relative noise, whether squares stay finite, and whether noise stays above rounding errors.

    An error where a sample cannot be learned for sure. Where either is not so, one may be refused mid-batch.

    Requires: finite rows with a column for each of `names`, which are all features that the model will have.
    """
    noise = reading.noises(weights, len(rows))
    reading.check_targets(targets)
    kernel = model.effective_kernel(len(names))
    kernel.check_domain(names, rows)
    similarities = kernel.diagonal(rows, features=names)
    good = np.isfinite(similarities) & (similarities >= 0.0)
    if not good.all():
        model.refuse(reading.sample(names, rows[int(np.argmin(good))]), (), 1.0, stream.BAD_SIMILARITY)
    core, largest = model.model, float(similarities.max(initial=0.0))
    prior = 1.0 / (core.ridge if core.ridge > 0.0 else max(core.threshold, largest / SAFE_VALUE, 1.0 / SAFE_VALUE))
    reach = (1.0 + largest) * prior if core.ridge > 0.0 else prior
    weakest = min(float(noise.min(initial=1.0)), 1.0)
    squares = max(float(np.abs(targets).max(initial=0.0)) ** 2, core.target_squares, core.regularized_loss)
    is_ordinary = (
        (1.0 + squares) * (1.0 + reach) / weakest <= SAFE_VARIANCE
        and (model.form.has_covariance or core.ridge * weakest > SMALLEST_PIVOT * largest)
        and float(np.abs(rows).max(initial=0.0)) <= SAFE_VALUE
        and not kernel.compile(names).custom
    )
    # The bound of `smallest_noise` for all of them: mid-batch, one may be refused because of it. Without a ridge the
    # variances of the weights have no bound but themselves.
    if core.ridge == 0.0:
        known = float(np.abs(core.covariance[: used_length(core.size)]).max(initial=0.0))
        prior = max(prior * max(float(noise.max(initial=1.0)), 1.0), known)
    is_certain = weakest > CERTAIN * EPSILON * (core.size + len(rows)) * (1.0 + largest) * prior
    return noise, is_ordinary, is_certain


def learn_rows(
    model: Recursion,
    rows: Matrix,
    targets: Matrix,
    noise: Vector,
    is_ordinary: bool,
    results: tuple[Matrix, Vector, Vector],
) -> None:
    """Learn screened rows whose columns are the model's features; those that are not ordinary one by one."""
    means, relative_variances, sizes = results
    if model.is_custom:
        for i, row in enumerate(rows):
            model.learn(reading.sample(model.names, row), targets[i].tolist(), 1.0 / noise[i])
            means[i], relative_variances[i] = model.means[: model.outputs], model.model.relative_variance
            sizes[i] = model.size
        return
    batch = Batch.build(
        Batch.new_numbers(),
        samples=rows,
        targets=np.ascontiguousarray(targets),
        noise=noise,
        means=means,
        relative_variances=relative_variances,
        sizes=sizes,
    )
    core, start, count = model.form.core, 0, len(rows)
    while start < count:
        if is_ordinary and plain(core.is_calm)(model.model, count - start):
            model.prepare_blocks()
            start = core.learn_blocks(model.model.table, batch.table, start)
            if start == count:
                break
        start, status = core.learn_many(model.model.table, batch.table, start)
        if status < 0:
            x = reading.sample(model.names, rows[start])
            model.refuse(x, targets[start].tolist(), 1.0 / float(noise[start]), status)
        if status == stream.NO_ROOM:
            model.reserve()
        if status == stream.FULL:
            model.shrink()


def predict_rows(
    model: Recursion, names: tuple[Feature, ...], rows: Matrix, residuals: Vector, unlearned: Vector
) -> Matrix:
    """The means of all outputs for every sample; where there is room for them the residuals and z'Pz too."""
    means = np.zeros((len(rows), len(model.model.weights)))
    # Through the factor, like one prediction: coefficients lose digits where the kernel matrix is ill conditioned.
    if model.is_custom:
        for t, row in enumerate(rows):
            with model.reading:
                prediction = model.predict_variance(reading.sample(names, row))
                means[t] = model.means
            if len(residuals):
                _, residuals[t], unlearned[t] = prediction
        return means
    core, known = model.model, model.names
    if not model.knows(names):
        known = model.merged(names)
        core = widening.widened(model, known).refreshed()
    rows = reading.arranged(names, rows, known)
    model.effective_kernel(len(known)).check_domain(known, rows)
    good = stream.predict_rows(core.table, rows, means, residuals, unlearned)
    finite = np.isfinite(means[:good]).all(axis=1)
    good = good if finite.all() else int(np.argmin(finite))
    if good < len(rows):
        model.refuse(reading.sample(known, rows[good]), (), 1.0, stream.BAD_SIMILARITY)
    return means
