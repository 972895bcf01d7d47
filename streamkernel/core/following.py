"""Models over one dictionary: what a follower does with the projection that its leader has computed.

Models that share kernel and threshold admit the same samples, so they share the points, the factor, the column and its
solve; only weights and covariance are their own. A follower's `points` and `factor` are its leader's arrays. Whoever
admits a sample first writes the new row of the factor; the others write the same numbers again.
"""

from __future__ import annotations

from .jit import inline, jit
from .model import Model
from .pruning import marginalize
from .stream import learn_projected, predict_means
from .triangular import dot, padded
from .types import Table
from .whitened import settle, unlearned_variance


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
