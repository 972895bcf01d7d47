"""What can be asked of a model while it learns: its dictionary, experts, relevances, drifts and tunings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..auto.base import AutoKernelModel
from ..auto.tuning import as_budget

# Experts and columns that a page shows.
MOST_NAMES = 12
# What is marked: the attribute of the model that lists when it happened.
KINDS = {"drift": "drifts", "tuning": "tunings"}


def innermost(model: Any) -> Any:
    """The model at the end of pipelines and wrappers.

    Examples
    --------

    >>> from river import preprocessing
    >>> from streamkernel import KRLS
    >>> from streamkernel.live.facts import innermost
    >>> type(innermost(preprocessing.StandardScaler() | KRLS())).__name__
    'KRLS'

    """
    while True:
        if getattr(model, "steps", None):
            model = next(reversed(model.steps.values()))
            continue
        parts = (getattr(model, name, None) for name in ("regressor", "model"))
        inner = next((part for part in parts if hasattr(part, "learn_one")), None)
        if inner is None:
            return model
        model = inner


def reader_of(model: Any, name: str) -> Callable[[], Any] | None:
    """How to read an attribute of a model; None where it has none."""
    return (lambda: getattr(model, name)) if hasattr(type(model), name) else None


def limit(model: Any) -> int | None:
    """The most points that the model's dictionary may have."""
    if isinstance(model, AutoKernelModel):
        return as_budget(model.budget).max_size
    found = getattr(model, "max_size", None)
    return found if isinstance(found, int) else None


def weights(model: Any) -> dict[str, float]:
    """The largest weights of the model's experts, by name."""
    found = getattr(model, "weights", None)
    if isinstance(found, dict):  # forecasters have one for the next step and one for the last of the horizon
        named = {str(name): weight[0] if isinstance(weight, tuple) else weight for name, weight in found.items()}
    elif found is not None and hasattr(model, "experts"):
        named = {}
        for expert, weight in zip(model.experts, found, strict=True):
            named[_name(expert, named)] = weight
    else:
        return {}
    return largest(named)


def _name(expert: Any, taken: dict[str, float]) -> str:
    """A short name of an expert that no other has."""
    kernel, forgetting = getattr(expert, "kernel", None), getattr(expert, "forgetting", 1.0)
    name = type(expert).__name__ if kernel is None else repr(kernel)
    name += "" if forgetting == 1.0 else f", forgetting {forgetting:g}"
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def relevances(model: Any) -> dict[str, float]:
    """The largest relevances of the model's columns, as shares of all."""
    found = getattr(model, "relevance", None) or {}
    total = sum(found.values())
    return largest({str(name): value / total for name, value in found.items()}) if total > 0.0 else {}


def largest(values: dict[str, float]) -> dict[str, float]:
    """The first of them in decreasing order."""
    order = sorted(values, key=values.__getitem__, reverse=True)
    return {name: float(values[name]) for name in order[:MOST_NAMES]}
