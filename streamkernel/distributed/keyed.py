"""One model for one key: what a row does to it, whichever engine brings the row.

The engine's part (`spark`) is to bring all rows of a key to one place and to keep bytes. The policy is here, so that
one process and a cluster do the same: rows are taken in order; a row is predicted before it is learned; a row that is
late, a duplicate or cannot be learned is reported and counted, and leaves the model as it was.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from river import base

from .. import checks, kernels
from ..checkpoint import Checkpointed, CheckpointError, Functions, dumps, loads
from ..checks import constructor_arguments
from ..learners.base import StreamingRegressor, standard_deviation


class Outcome(NamedTuple):
    """What became of a row."""

    prediction: float | None
    standard_deviation: float | None
    error: str | None
    """Why the row was not learned, or not predicted; None if all went well."""


@dataclass
class KeyedModel:
    """A key's model, where its stream stands, and what happened to its rows."""

    model: Any
    position: Any = None
    """The order of the last row that was learned."""
    learned: int = 0
    late: int = 0
    duplicate: int = 0
    failed: int = 0

    def step(self, order: Any, x: Mapping[Any, Any], target: Any) -> Outcome:
        """Predict a row, then learn it.

        A row is late if its order is before the last one that was learned, a duplicate if it is the same: neither is
        predicted, since the model already knows better. A row without a usable target is predicted and not learned.
        """
        if not _is_order(order):
            return self.fail(f"the order is {order!r}: the row has no place in its stream")
        if self.position is not None and order == self.position:
            self.duplicate += 1
            return Outcome(None, None, f"duplicate: order {order!r} is learned already")
        if self.position is not None and order < self.position:
            self.late += 1
            return Outcome(None, None, f"late: order {order!r} comes after {self.position!r}")
        outcome = self.predict(x)
        if outcome.error is None:
            try:
                self.model.learn_one(x, target)
            except Exception as error:  # whatever it is, it concerns this row only; learners check before they change
                outcome = outcome._replace(error=f"{type(error).__name__}: {error}")
        if outcome.error is None:
            self.position = order
            self.learned += 1
        else:
            self.failed += 1
        return outcome

    def fail(self, reason: str) -> Outcome:
        """Count a row that can be neither predicted nor learned."""
        self.failed += 1
        return Outcome(None, None, reason)

    def predict(self, x: Mapping[Any, Any]) -> Outcome:
        """Predict a row and learn nothing."""
        try:
            if isinstance(self.model, StreamingRegressor):
                mean, variance = self.model.predict_moments(x)
                return Outcome(mean, standard_deviation(variance), None)
            distribution = self.model.predict_one(x, with_dist=True)
        except Exception as error:
            return Outcome(None, None, f"{type(error).__name__}: {error}")
        return Outcome(float(distribution.mu), float(distribution.sigma), None)


def in_order(rows: Iterable[Any], order: Callable[[Any], Any]) -> list[Any]:
    """Rows by their order, those without one last; ties stand in an order that depends on their values alone.

    A batch that is run again after a failure may bring its rows in another order; of two rows with the same order the
    same one must count.

    Examples
    --------

    >>> from streamkernel.distributed.keyed import in_order
    >>> in_order([(2, "b"), (None, "x"), (2, "a"), (1, "c")], order=lambda row: row[0])
    [(1, 'c'), (2, 'a'), (2, 'b'), (None, 'x')]

    """
    rows = list(rows)
    if len(rows) < 2:
        return rows
    orders, unusable = list(map(order, rows)), []
    if None in orders or any(map(operator.ne, orders, orders)):
        unusable = [row for row in rows if not _is_order(order(row))]
        rows = [row for row in rows if _is_order(order(row))]
    rows.sort(key=order)
    orders = list(map(order, rows))
    if any(map(operator.eq, orders, itertools.islice(orders, 1, None))):
        rows = sorted(sorted(rows, key=repr), key=order)
    return rows + unusable


class Models:
    """Models of many keys that all start as copies of one, in and out of bytes.

    Parameters
    ----------
    model
        What a new key starts with: a regressor of this library, trained or not.
    features
        The names of the features that rows have.
    max_size
        The most points that a key's dictionary may have; None leaves the limit to the model.

    """

    def __init__(self, model: Any, features: Sequence[str], max_size: int | None = None) -> None:
        check_model(model)
        checks.size("max_size", max_size)
        self._has_limit = _is_bounded(model)
        if max_size is not None and not self._has_limit:
            raise TypeError(
                f"max_size={max_size} needs a model that has a max_size, and {type(model).__name__} has none"
            )
        limit_of_model = model.max_size if self._has_limit else None
        self._limit = limit_of_model if max_size is None else max_size
        self._features = set(features)
        self._functions = custom_functions(model)
        self._first = self._limited(copy.deepcopy(model))
        self._settings = constructor_arguments(self._first)
        if not _knows_only(self._first, self._features):
            raise _unknown_features("the model", self._first, self._features)

    def new(self) -> KeyedModel:
        """The model of a key that has not been seen."""
        return KeyedModel(copy.deepcopy(self._first))

    def load(self, key: Any, data: bytes, *rest: Any) -> KeyedModel:
        """The model of a key from its bytes; what else a `KeyedModel` holds follows.

        Damaged bytes, a model with other parameters and a model of features that the rows do not have are errors: a
        stream that went on with another model would give results that no single run gives. A limit may change.
        """
        model = restore(key, data, self._functions, self._features)
        self._check(key, model)
        return KeyedModel(self._limited(model), *rest)

    def _check(self, key: Any, model: Any) -> None:
        if type(model) is not type(self._first) or not self._same_parameters(model):
            raise ValueError(
                f"the stored model of key {key!r} is {model!r}, the job was started with {self._first!r}: "
                "go on with the same model, or start a new checkpoint"
            )

    def _same_parameters(self, model: Any) -> bool:
        """Whether all but the limit is the same, also within models that a model holds."""
        for name, value in self._settings.items():
            given = getattr(model, name)
            if given is not value and given != value and not (self._has_limit and name == "max_size"):
                return bool(dumps(model.clone()) == dumps(self._first.clone()))
        return True

    def _limited(self, model: Any) -> Any:
        """The model under the limit of this job, pruned where it is larger."""
        limit = self._limit
        if self._has_limit and model.max_size != limit:
            model.limit(limit)
        return model


def restore(key: Any, data: bytes, functions: Functions, features: Collection[str]) -> Any:
    """The model of a key from its bytes, or an error that names the key."""
    try:
        model = loads(data, functions)
    except CheckpointError as error:
        raise CheckpointError(f"the model of key {key!r} cannot be restored: {error}") from error
    if not _knows_only(model, features):
        raise _unknown_features(f"the stored model of key {key!r}", model, features)
    return model


def check_model(model: Any) -> None:
    """A regressor that can be written to bytes and that predicts a distribution."""
    if not isinstance(model, base.Regressor) or not isinstance(model, Checkpointed):
        raise TypeError(f"model must be a streaming regressor of streamkernel, such as KRLS(), got {model!r}")
    if "with_dist" not in inspect.signature(cast(base.Regressor, model).predict_one).parameters:
        raise TypeError(f"model must predict a distribution (predict_one with with_dist), {model!r} does not")
    dumps(model)  # what cannot be stored is refused here and not on the first row


def custom_functions(model: Any) -> dict[str, Any]:
    """The functions of a model's `Custom` kernels by the names under which its bytes refer to them."""
    kernel = getattr(model, "kernel", None)
    if not isinstance(kernel, kernels.Kernel):
        return {}
    leaves = kernel.compile(()).custom
    return {getattr(leaf.function, "__name__", type(leaf.function).__name__): leaf.function for leaf in leaves}


def _knows_only(model: Any, features: Collection[str]) -> bool:
    """Whether the features that the model has seen are among these."""
    return not isinstance(model, StreamingRegressor) or all(name in features for name in model.features)


def _unknown_features(what: str, model: Any, features: Collection[str]) -> ValueError:
    unknown = sorted(map(str, set(model.features).difference(features)))
    return ValueError(
        f"{what} knows the features {unknown}, which are not among "
        f"features={sorted(features)}: go on with the same features, or with a new model and checkpoint"
    )


def _is_bounded(model: Any) -> bool:
    return isinstance(model, StreamingRegressor) and not model.learns_kernel and _has_limit(type(model))


@functools.cache
def _has_limit(kind: type) -> bool:
    return "max_size" in inspect.signature(kind).parameters


def _is_order(order: Any) -> bool:
    return order is not None and order == order  # NaN is not
