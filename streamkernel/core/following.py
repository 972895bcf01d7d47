"""Models over one dictionary: what a follower does with the projection that its leader has computed.

Models that share kernel and threshold admit the same samples, so they share the points, the factor, the column and its
solve; only weights and covariance are their own. A follower's `points` and `factor` are its leader's arrays. Whoever
admits a sample first writes the new row of the factor; the others write the same numbers again.
"""

from __future__ import annotations

from .jit import inline, jit
from .model import Model
from .pruning import marginalize
from .stream import FULL, JOINED, NO_ROOM, is_full, learn_projected, predict_means, present
from .triangular import dot, padded
from .types import Indices, Matrix, Table, Tables
from .variances import catch_up
from .whitened import SMALL_NOISE, project, settle, smallest_noise, unlearned_variance


@inline
def take_projection(model: Model, leader: Model) -> float:
    """Copy z and the self-similarity from the leader; return the residual.

    Requires: the leader has projected a sample when its dictionary had the follower's size.
    """
    size, projection, given = model.size, model.projection, leader.projection
    for i in range(size):
        projection[i] = given[i]
    for i in range(size, padded(size)):  # where the leader has grown it holds one coordinate more
        projection[i] = 0.0
    model.column[size] = leader.column[size]
    return max(model.column[size] - dot(projection, projection, size), 0.0)


@jit
def predict_following(table: Table, leader: Table) -> tuple[float, float, float]:
    """What `stream.predict_variance` returns and reports, for the sample that the leader predicted last."""
    model = Model(table)
    residual = take_projection(model, Model(leader))
    return predict_means(model), residual, unlearned_variance(model)


@jit
def learn_following(table: Table, leader: Table) -> int:
    """What `stream.learn_one` does, for the sample that the leader learned last; pruning is the leader's business.

    Requires: noise and targets stand in `inputs`; the leader has not pruned since.
    """
    model = Model(table)
    return learn_projected(model, take_projection(model, Model(leader)))


@jit
def remove_following(table: Table, leader: Table, index: int) -> None:
    """Follow the leader, which has just removed point `index` and holds the rotations."""
    model, source = Model(table), Model(leader)
    settle(model)
    marginalize(model, index, source.cosines, source.sines)
    for i in range(model.size + 1):
        model.reciprocals[i] = source.reciprocals[i]


# A bank: models in groups over one dictionary each -------------------------------------------------------------------

# What is reported of each model beside its means: by `predict_bank` the first four; by `learn_bank` u, as
# `Model.relative_variance`, in place of the first two.
RESIDUAL, UNLEARNED, NOISE_SUM, NOISE_WEIGHT, REPORTS = 0, 1, 2, 3, 4
RELATIVE_VARIANCE = 0
DUE = 9  # the status of a group that has not learned the sample yet


@jit
def predict_bank(tables: Tables, groups: Indices, rows: Matrix, means: Matrix, reports: Matrix) -> int:
    """The means of every output and what a variance is made of, for all samples and models; how many rows were usable.

    Model i reports of sample t in row t·models + i.

    Requires: row i of `tables` is the table of model i; a group's rows are those from groups[g, 0], its leader, up to
    groups[g, 1]; all models have the features of the samples, in their order.
    """
    for t in range(len(rows)):
        for g in range(len(groups)):
            first = groups[g, 0]
            leader = Model(tables[first])
            for r in range(rows.shape[1]):
                leader.x[r] = rows[t, r]
            if present(leader, leader.x) < 0:
                return t
            residual = project(leader)
            for i in range(first, groups[g, 1]):
                model, at = Model(tables[i]), t * len(tables) + i
                if i > first:
                    residual = take_projection(model, leader)
                predict_means(model)
                for output in range(means.shape[1]):
                    means[at, output] = model.means[output]
                reports[at, RESIDUAL], reports[at, UNLEARNED] = residual, unlearned_variance(model)
                reports[at, NOISE_SUM], reports[at, NOISE_WEIGHT] = model.noise_sum, model.noise_weight
    return len(rows)


@jit
def learn_bank(
    tables: Tables,
    groups: Indices,
    rows: Matrix,
    given: Matrix,
    statuses: Indices,
    start: int,
    means: Matrix,
    reports: Matrix,
) -> int:
    """Let all models learn samples in order, from `start` on; return the first after which a group needs more.

    Rows of `given` are the relative noise, then the targets. Groups that are DUE learn the first sample, all learn the
    others. Where one needs more, `statuses` are as those of `stream.learn_one`: at NO_ROOM nothing was done, where it
    is FULL the leader is to be shrunk and the others are to follow.

    Requires: as `predict_bank`; finite samples and targets.
    Ensures: at the end all are DUE again; `means` and `reports` are those before each sample was learned, where there
    is room for them.
    """
    for t in range(start, len(rows)):
        attention = False
        for g in range(len(groups)):
            if statuses[g] != DUE:
                continue
            first = groups[g, 0]
            leader = Model(tables[first])
            if leader.size + 2 > leader.points.shape[1]:
                statuses[g], attention = NO_ROOM, True
                continue
            for r in range(rows.shape[1]):
                leader.x[r] = rows[t, r]
            status = present(leader, leader.x)
            residual = project(leader)
            for i in range(first, groups[g, 1]):
                model = Model(tables[i])
                for k in range(given.shape[1]):
                    model.inputs[k] = given[t, k]
                if i > first:
                    residual = take_projection(model, leader)
                # What one refused others may have learned already: where its noise is lost among rounding errors, a
                # sample counts as if it were as large as they are.
                if model.inputs[0] < SMALL_NOISE * (1.0 + model.column[model.size]):
                    model.inputs[0] = max(model.inputs[0], smallest_noise(model))
                at = t * len(tables) + i
                if len(reports):
                    reports[at, NOISE_SUM], reports[at, NOISE_WEIGHT] = model.noise_sum, model.noise_weight
                if status >= 0:
                    status = learn_projected(model, residual)
                if len(reports):
                    reports[at, RELATIVE_VARIANCE] = model.relative_variance
                    for output in range(means.shape[1]):
                        means[at, output] = model.means[output]
            if leader.tracked:
                catch_up(leader)
            if status == JOINED and is_full(leader):
                status = FULL
            statuses[g] = status
            attention |= status < 0 or status == FULL
        if attention:
            return t
        statuses[:] = DUE
    return len(rows)
