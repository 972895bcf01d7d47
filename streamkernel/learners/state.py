"""A model's state as plain values, for copies and checkpoints, and the states of older releases.

All numbers are one array of cells beside the names of the fields, so one that a later release adds starts from zero;
all arrays are one, in the order of `_sections`. Version 2 stored every number and every array by its name, version 1
the numbers as an array in a fixed order and the vectors as the rows of one matrix.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.forgetting import RULES
from ..core.model import NO_LIMIT, Model
from ..core.simd import LANES
from ..core.triangular import PANEL
from .forms import Dictionary, Exact, Form, InputNoise
from .storage import STATE_VECTORS, TARGET_VECTORS, TRACKED_VECTORS, used_length

REPORTS = ("relative_variance", "leaving")  # of the last call, no state
MOST_POINTS = 2**31
KEPT_SECTIONS = 256
_FIELDS = " ".join(Model.number_fields)
_CELLS = {name: cell for name, (cell, _) in Model.number_fields.items()}
_FORMS: dict[str, type[Form]] = {form.name: form for form in (Dictionary, Exact, InputNoise)}

_VERSION_1_NUMBERS = [
    "threshold",
    "ridge",
    "forgetting",
    "forget",
    "max_size",
    "size",
    "trace",
    "is_pending",
    "pending_scale",
    "pending_diagonal",
    "refused",
    "pruned",
    "noise_sum",
    "noise_weight",
    "target_squares",
    "seen",
    "regularized_loss",
    "log_determinant",
    "since_joined",
    "noise_ridge",
    "noise_cap",
    "noise_scale",
    "noise_diagonal",
]
_VERSION_1_VECTORS = ("reciprocals", "pending", "coefficient_variances", "similarities", "noise_pending")


@functools.lru_cache(KEPT_SECTIONS)
def _sections(
    name: str, features: int, outputs: int, size: int, collected: int | None
) -> tuple[tuple[str, int, int, tuple[int, ...]], ...]:
    """The arrays of a model as far as they are in use: of each the name, where it begins and ends in one, its shape.

    `name` is that of the form; `collected` is how many updates of the variances wait, None where these are not tracked.
    """
    form = _FORMS[name]
    vectors = [name for name in STATE_VECTORS if name not in TRACKED_VECTORS or collected is not None]
    used = used_length(size)
    shapes: dict[str, tuple[int, ...]] = {
        "points": (features, size),
        "weights": (outputs + form.has_noise, size),
        **dict.fromkeys(TARGET_VECTORS, (outputs,)),
        **{name: (size,) for name in vectors if form.has_noise or name != "noise_pending"},
        "factor": (used,),
        **({"covariance": (used,)} if form.has_covariance else {}),
        **({"noise_covariance": (used,)} if form.has_noise else {}),
        "rows": (collected or 0, size),
    }
    found, end = [], 0
    for name, shape in shapes.items():
        if length := math.prod(shape):
            found.append((name, end, end + length, shape))
            end += length
    return tuple(found)


def describe(model: Model, form: Form) -> dict[str, Any]:
    """The numbers and arrays of a model, as far as they are in use."""
    outputs, collected = len(model.errors), model.collected if model.tracked else None
    sections = _sections(form.name, len(model.points), outputs, model.size, collected)
    used = np.empty(sections[-1][2] if sections else 0)
    for name, start, stop, shape in sections:
        array = getattr(model, name)
        if len(shape) == 1:
            used[start:stop] = array[: shape[0]]
        else:
            used[start:stop].reshape(shape)[:] = array[: shape[0], : shape[1]]
    numbers = model.cells.copy()
    for name in REPORTS:
        numbers[_CELLS[name]] = 0
    return {"outputs": outputs, "fields": _FIELDS, "numbers": numbers, "arrays": used}


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """A state in today's form, whichever release wrote it."""
    if "scalars" in state:
        state = _of_version_2(state)
    if "arrays" not in state:
        return _of_version_3(state)
    if state["fields"] == _FIELDS:
        return state
    fields, numbers = state["fields"].split(), state["numbers"]
    if unknown := set(fields) - set(Model.number_fields):
        raise ValueError(f"the state has numbers that are not those of this release: {', '.join(sorted(unknown))}")
    cells = Model.new_numbers()
    cells[[_CELLS[name] for name in fields]] = numbers
    return state | {"fields": _FIELDS, "numbers": cells}


def _of_version_3(state: dict[str, Any]) -> dict[str, Any]:
    """A state of version 2, by names, as today's."""
    numbers, form, outputs = dict(state["numbers"]), _FORMS[state["form"]], len(state["weights"])
    outputs -= form.has_noise
    numbers["forget"] = RULES.index(numbers["forget"])
    size, updates = numbers["size"], state.get("updates")
    if not isinstance(size, int) or not 0 <= size < MOST_POINTS:
        raise ValueError(f"the state's size is {size!r}")
    if bool(numbers.get("tracked", 0)) != (updates is not None):
        raise ValueError(f"the state has updates of the variances of {numbers.get('tracked', 0)} points: {updates!r}")
    given = {name: np.zeros(outputs) for name in TARGET_VECTORS} | state | {"rows": updates}
    collected = None if updates is None else len(updates)
    arrays = []
    for name, _, _, shape in _sections(form.name, len(state["names"]), outputs, size, collected):
        if given[name].shape != shape or given[name].dtype != np.float64:
            raise ValueError(f"{name} has shape {given[name].shape} where the rest of the state has {shape}")
        arrays.append(given[name].ravel())
    own = {name: state[name] for name in ("form", "kernel", "constant", "names", "capacity")}
    return own | {
        "outputs": outputs,
        "fields": _FIELDS,
        "numbers": _cells(numbers),
        "arrays": np.concatenate([np.zeros(0), *arrays]),
    }


def _cells(numbers: Mapping[str, Any]) -> NDArray[np.int64]:
    """Numbers by name as the cells of a model."""
    cells = Model.new_numbers()
    floats, integers = cells.data.cast("B").cast("d"), cells.data.cast("B").cast("q")
    for name, value in numbers.items():
        cell, kind = Model.number_fields[name]
        (floats if kind is np.float64 else integers)[cell] = value
    return cells


def _of_version_2(state: dict[str, Any]) -> dict[str, Any]:
    """A state of version 1 as one of version 2."""
    scalars, vectors = state["scalars"], state["vectors"]
    if scalars.shape != (len(_VERSION_1_NUMBERS),) or len(vectors) != len(_VERSION_1_VECTORS):
        raise ValueError("the state's counters are not those of any release")
    numbers: dict[str, Any] = dict(zip(_VERSION_1_NUMBERS, scalars.tolist(), strict=True))
    numbers["forget"] = RULES[int(numbers["forget"])]
    numbers["max_size"] = min(numbers["max_size"], NO_LIMIT)
    for name, (_, kind) in Model.number_fields.items():
        if kind is np.int64 and name != "forget" and name in numbers:
            numbers[name] = int(numbers[name])
    form = Exact if state["keep_all"] else InputNoise if state["has_noise"] else Dictionary
    return {
        **{name: state[name] for name in ("kernel", "constant", "names", "capacity", "points", "weights", "factor")},
        "form": form.name,
        "numbers": numbers,
        **dict(zip(_VERSION_1_VECTORS, vectors, strict=True)),
        "covariance": state["covariance"],
        "noise_covariance": state["second"],
    }


def checked(state: dict[str, Any]) -> tuple[Form, Any]:
    """The form of a state and its sections; an error where its parts do not fit together.

    The core would read beyond its arrays.
    """
    kind, names, capacity, outputs = _FORMS[state["form"]], state["names"], state["capacity"], state["outputs"]
    cells, arrays = state["numbers"], state["arrays"]
    if cells.dtype != np.int64 or cells.shape != (len(Model.number_fields),):
        raise ValueError(f"the state's numbers have shape {cells.shape} where there are {len(Model.number_fields)}")
    values = cells.tolist()
    size, tracked, collected, forget, most = (values[cell] for cell in _COUNTERS)
    if not 0 <= size < MOST_POINTS or not 0 <= forget < len(RULES) or most < 1:
        raise ValueError(f"the state's counters are not those of this release: size {size} of {most}, forget {forget}")
    if not 0 <= tracked <= size or not 0 <= collected < LANES:
        raise ValueError(f"the state's counters do not fit: {tracked} tracked, {collected} collected")
    if type(outputs) is not int or outputs < 1 or (kind.has_noise and outputs > 1):
        raise ValueError(f"{outputs!r} outputs do not go with the form {kind.name!r}")
    if type(capacity) is not int or capacity % PANEL or not size < capacity:
        raise ValueError(f"room for {capacity!r} points does not go with {size} points")
    if type(names) is not tuple:
        raise TypeError(f"the features must be a tuple, got {names!r}")
    sections = _sections(kind.name, len(names), outputs, size, collected if tracked else None)
    length = sections[-1][2] if sections else 0
    if arrays.dtype != np.float64 or arrays.shape != (length,):
        raise ValueError(f"the arrays have shape {arrays.shape} where the rest of the state has ({length},)")
    if kind is InputNoise:
        return InputNoise(*cells.view(np.float64)[_NOISE_SETTINGS].tolist()), sections
    return kind(), sections


_COUNTERS = [_CELLS[name] for name in ("size", "tracked", "collected", "forget", "max_size")]
_NOISE_SETTINGS = [_CELLS[name] for name in ("noise_ridge", "noise_cap")]


def fill(model: Model, state: dict[str, Any], sections: Any) -> None:
    """Write the arrays of this state into a model that has room for them, and its numbers."""
    arrays = state["arrays"]
    for name, start, stop, shape in sections:
        if len(shape) == 1:
            getattr(model, name)[: shape[0]] = arrays[start:stop]
        else:
            getattr(model, name)[: shape[0], : shape[1]] = arrays[start:stop].reshape(shape)
