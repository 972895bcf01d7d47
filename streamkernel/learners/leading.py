"""Models over one dictionary: one leads, and the others follow with what it has computed (`core.following`).

Models with equal kernel, threshold and limit admit the same samples, whatever their ridge and forgetting. Followers use
the leader's points and factor. Where the dictionary is full, the leader decides who leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import following, stream
from ..core.jit import plain
from ..core.model import NO_LIMIT
from ..kernels import Feature
from .forms import Dictionary
from .recursion import Recursion


def can_follow(model: Recursion, leader: Recursion) -> bool:
    """Whether both models always admit the same samples: kernel, threshold, limit and dictionary are equal."""
    a, b = model.model, leader.model
    is_plain = isinstance(model.form, Dictionary) and isinstance(leader.form, Dictionary)
    return (
        is_plain
        and not model.is_custom
        and model.names == leader.names
        and (model.kernel, model.constant) == (leader.kernel, leader.constant)
        and (a.threshold, a.max_size, a.size) == (b.threshold, b.max_size, b.size)
        and np.array_equal(model.point_matrix, leader.point_matrix)
    )


def learn_together(
    leader: Recursion, followers: Sequence[Recursion], x: Mapping[Feature, Any], target: float, weight: float
) -> None:
    """Learn one sample with the leader and let the followers learn it; afterwards each has its `errors`.

    Requires: the leader has predicted the sample; target and weight are good.
    """
    if not leader.knows(x):
        _adopt_together(leader, followers, leader.merged(x))
    size, capacity, limit = leader.size, leader.capacity, leader.model.max_size
    leader.model.max_size = NO_LIMIT  # nobody leaves before all have learned, nor is looked for
    try:
        leader.learn(x, (target,), weight, all_stay=True)
    finally:
        leader.model.max_size = limit
    for follower in followers:
        if leader.capacity != capacity:
            follower.share(leader.model)
        model = follower.model
        model.inputs[0], model.targets[0] = 1.0 / weight, target
        status = following.learn_following(model.table, leader.model.table)
        if status < 0:
            follower.refuse(x, (target,), weight, status)
    if leader.size > size and plain(stream.is_full)(leader.model):
        shrink_together(leader, followers)


def shrink_together(leader: Recursion, followers: Sequence[Recursion]) -> None:
    """Drop the point whose place was taken, or else the one that matters least to the leader."""
    index = leader.shrink()
    for follower in followers:
        following.remove_following(follower.model.table, leader.model.table, index)


def _adopt_together(leader: Recursion, followers: Sequence[Recursion], names: tuple[Feature, ...]) -> None:
    """Take in new features; to adopt them may remove points, which each does on arrays of its own."""
    for follower in followers:
        follower.unshare()
    for model in (leader, *followers):
        model.adopt(names)
    for follower in followers:
        follower.share(leader.model)


def predict_followed(follower: Recursion, leader: Recursion) -> tuple[float, float, float]:
    """`predict_variance` of the sample that the leader predicted last."""
    return following.predict_following(follower.model.table, leader.model.table)
