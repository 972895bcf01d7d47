"""Many candidates on one fast stream, spread over Ray actors.

The stream is read once, in order, and cut into batches; each batch is stored once and every actor takes all batches, in
order, through its share of the candidates. So a candidate sees what it would see in one process and scores the same to
the last bit. A failed actor fails the search: nothing is checkpointed and nothing is claimed about delivery.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

try:
    import ray
except ImportError as _error:
    raise ImportError(f'streamkernel.distributed.ray needs Ray ({_error}): pip install "streamkernel[ray]"') from _error

from .. import checks
from .candidates import Contest, Name, Result, Sample, named

__all__ = ["evaluate_candidates"]

# How many batches may wait for an actor: enough that none is idle, few enough that a fast source does not fill memory.
_WAITING = 4


def evaluate_candidates(
    stream: Iterable[Sample],
    models: Mapping[Name, Any] | Iterable[Any],
    metric: Any,
    *,
    batch_size: int = 1000,
    actors: int | None = None,
) -> dict[Name, Result]:
    """Run every candidate over the stream, predicting each sample before it is learned.

    Returns the metric and the trained model of each candidate, by name, in the order given. The models that were passed
    are not changed.

    Parameters
    ----------
    stream
        Pairs of a feature dict and a target, such as a river dataset; read once.
    models
        The candidates: a mapping from names, or a sequence, which is numbered. Models of this library or any river
        estimators.
    metric
        A river metric, such as `metrics.RMSE()`.
    batch_size
        How many rows travel together.
    actors
        How many processes share the candidates; by default one for each core of the cluster, and no more than there are
        candidates. Ray is started if it is not running.

    """
    checks.size("batch_size", batch_size)
    checks.size("actors", actors)
    candidates = named(models)
    Contest(candidates, metric)  # what does not go together is refused here and not in an actor
    if not ray.is_initialized():
        ray.init(include_dashboard=False)
    count = min(actors or int(ray.cluster_resources().get("CPU", 1)), len(candidates))
    names = list(candidates)
    share = [{name: copy.deepcopy(candidates[name]) for name in names[i::count]} for i in range(count)]
    workers = [ray.remote(Contest).remote(part, metric) for part in share]
    try:
        waiting: deque[list[Any]] = deque()
        rows = iter(stream)
        while batch := list(islice(rows, batch_size)):
            stored = ray.put(batch)
            waiting.append([worker.learn.remote(stored) for worker in workers])
            if len(waiting) > _WAITING:
                ray.get(waiting.popleft())
        for pending in waiting:
            ray.get(pending)
        found: dict[Name, Result] = {}
        for part in ray.get([worker.get_results.remote() for worker in workers]):
            found |= part
    finally:
        for worker in workers:
            ray.kill(worker)
    return {name: found[name] for name in names}
