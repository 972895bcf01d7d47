"""River's own pipelines, scalers and encoders as plain values: a pipeline as a checkpoint, without pickle."""

from __future__ import annotations

import collections
import functools
from collections.abc import Mapping
from typing import Any

COMPOSED = ("Pipeline", "TransformerUnion")
BY_KEYS = ("Select", "Discard")


@functools.cache
def known() -> dict[str, type]:
    """The classes of river that can be stored, by name."""
    from river import compose, preprocessing, stats

    classes: tuple[type, ...] = (
        compose.Pipeline,
        compose.TransformerUnion,
        compose.Select,
        compose.Discard,
        preprocessing.StandardScaler,
        preprocessing.MinMaxScaler,
        preprocessing.MaxAbsScaler,
        preprocessing.Normalizer,
        preprocessing.OneHotEncoder,
        preprocessing.OrdinalEncoder,
        preprocessing.PreviousImputer,
        stats.Min,
        stats.Max,
        stats.AbsMax,
    )
    return {value.__name__: value for value in classes}


def describe(value: Any) -> tuple[str, Any, dict[str, Any]] | None:
    """The name, the constructor's arguments and the state of one of these, None for anything else."""
    name = type(value).__name__
    kind: type | None = type(value)
    if known().get(name) is not kind:
        return None
    if name in COMPOSED:
        parts = value.steps if name == "Pipeline" else value.transformers
        return name, [list(part) for part in parts.items()], {}
    if name in BY_KEYS:
        return name, sorted(value.keys, key=lambda key: (type(key).__name__, str(key))), {}
    parameters = value._get_params() if hasattr(value, "_get_params") else {}
    own = {key: parameters[key] for key in parameters if key in vars(value)}
    state = {key: _plain(item) for key, item in vars(value).items() if key not in own}
    return name, own, state


def restore(name: str, parameters: Any, state: Mapping[str, Any]) -> Any:
    """What `describe` described."""
    kind = known()[name]
    if name in COMPOSED:
        return kind(*((key, part) for key, part in parameters))
    if name in BY_KEYS:
        return kind(*parameters)
    value = kind(**parameters)
    for key, item in state.items():
        current = getattr(value, key)
        if isinstance(current, collections.defaultdict) and current.default_factory is set:
            current.update({inner: set(members) for inner, members in item.items()})
        elif isinstance(current, dict):
            current.update(item)
        else:
            setattr(value, key, item)
    return value


def _plain(item: Any) -> Any:
    """Sets as lists; what refers to a class is restored by the constructor."""
    if isinstance(item, Mapping):
        return {key: _plain(inner) for key, inner in item.items()}
    return list(item) if isinstance(item, set) else item
