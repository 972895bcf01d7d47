"""A model's state as plain values, for copies and checkpoints, and the states of older releases.

Numbers are stored by name: one that a later release adds starts from what it is in a new model. Version 1 stored them
as an array in a fixed order, and the vectors as the rows of one matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.forgetting import RULES
from ..core.model import NO_LIMIT, Model
from ..core.simd import LANES
from ..core.triangular import PANEL
from ..core.types import Matrix
from .forms import Dictionary, Exact, Form, InputNoise
from .storage import STATE_MATRICES, STATE_VECTORS, TARGET_VECTORS, TRACKED_VECTORS, used_length, with_blocks

REPORTS = ("relative_variance",)  # of the last call, no state
MOST_POINTS = 2**31

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


def describe(model: Model) -> dict[str, Any]:
    """The arrays and numbers of a model, as far as they are in use."""
    size, used = model.size, used_length(model.size)
    numbers = {name: value for name, value in model.numbers.items() if name not in REPORTS}
    return {
        "numbers": numbers | {"forget": RULES[model.forget]},
        "points": model.points[:, :size].copy(),
        "weights": model.weights[:, :size].copy(),
        **{name: getattr(model, name).copy() for name in TARGET_VECTORS},
        **{name: getattr(model, name)[:size].copy() for name in STATE_VECTORS if name not in TRACKED_VECTORS},
        **{name: getattr(model, name)[:used].copy() for name in STATE_MATRICES},
    } | (_tracked(model, size) if model.tracked else {})


def _tracked(model: Model, size: int) -> dict[str, Any]:
    """What a full dictionary knows of the variances of its coefficients."""
    vectors = {name: getattr(model, name)[:size].copy() for name in TRACKED_VECTORS}
    return {**vectors, "updates": model.rows[: model.collected, :size].copy()}


def _untracked(size: int) -> dict[str, Any]:
    """The same where nothing is known."""
    return {**dict.fromkeys(TRACKED_VECTORS, np.zeros(size)), "updates": None}


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """A state in today's form, whichever release wrote it."""
    if "scalars" not in state:
        missing = _no_target_vectors(state["weights"], state["form"] == InputNoise.name)
        return {**missing, **_untracked(len(state["similarities"])), **state}
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
        "form": form.name,
        "kernel": state["kernel"],
        "constant": state["constant"],
        "names": state["names"],
        "capacity": state["capacity"],
        "numbers": numbers,
        "points": state["points"],
        "weights": state["weights"],
        **_no_target_vectors(state["weights"], form is InputNoise),
        **_untracked(vectors.shape[1]),
        **dict(zip(_VERSION_1_VECTORS, vectors, strict=True)),
        "factor": state["factor"],
        "covariance": state["covariance"],
        "noise_covariance": state["second"],
    }


def _no_target_vectors(weights: Matrix, has_noise: bool) -> dict[str, Any]:
    """What a release that knew nothing of single targets would have stored of them."""
    return {name: np.zeros(len(weights) - has_noise) for name in TARGET_VECTORS}


def form_of(state: dict[str, Any]) -> Form:
    """The form that a state was learned in."""
    numbers = state["numbers"]
    forms = (Dictionary(), Exact(), InputNoise(numbers["noise_ridge"], numbers["noise_cap"]))
    return {form.name: form for form in forms}[state["form"]]


def check(state: dict[str, Any], form: Form) -> None:
    """Raise an error where the parts of a state do not fit together; the core would read beyond its arrays."""
    numbers, capacity = state["numbers"], state["capacity"]
    unknown = set(numbers) - set(Model.number_fields)
    size = numbers["size"]
    if unknown or not isinstance(size, int) or not 0 <= size < MOST_POINTS:
        raise ValueError(f"the state's counters are not those of this release: size {size!r}, unknown {unknown}")
    tracked, collected = numbers.get("tracked", 0), numbers.get("collected", 0)
    updates = np.zeros((0, size)) if state["updates"] is None else state["updates"]
    if type(tracked) is not int or not 0 <= tracked <= size or collected != len(updates) or collected >= LANES:
        raise ValueError(f"the state's counters do not fit: {tracked!r} tracked, {collected!r} collected")
    if bool(tracked) != (state["updates"] is not None):
        raise ValueError(f"the state has updates of the variances of {tracked} points: {state['updates']!r}")
    used, outputs = used_length(size), len(state["weights"])
    expected = {
        "points": (len(state["names"]), size),
        "weights": (2 if form.has_noise else outputs, size),
        **dict.fromkeys(TARGET_VECTORS, (1 if form.has_noise else outputs,)),
        **dict.fromkeys(STATE_VECTORS, (size,)),
        "factor": (used,),
        "covariance": (used if form.has_covariance else 0,),
        "noise_covariance": (used if form.has_noise else 0,),
    }
    if len(updates):
        expected["updates"] = (collected, size)
    for name, shape in expected.items():
        if state[name].shape != shape or state[name].dtype != np.float64:
            raise ValueError(f"{name} has shape {state[name].shape} where the rest of the state has {shape}")
    if outputs < 1 or capacity % PANEL or not size < capacity:
        raise ValueError(f"{outputs} outputs and room for {capacity} points do not go with {size} points")


def restored(state: dict[str, Any], model: Model) -> Model:
    """A model with this state, over the arrays of one that has room for it."""
    size, used = state["numbers"]["size"], used_length(state["numbers"]["size"])
    for name, value in state["numbers"].items():
        setattr(model, name, RULES.index(value) if name == "forget" else value)
    model.points[:, :size], model.weights[:, :size] = state["points"], state["weights"]
    for name in TARGET_VECTORS:
        getattr(model, name)[:] = state[name]
    for name in STATE_VECTORS:
        getattr(model, name)[:size] = state[name]
    for name in STATE_MATRICES:
        getattr(model, name)[:used] = state[name]
    if state["updates"] is not None:
        model = with_blocks(model)
        model.rows[: len(state["updates"]), :size] = state["updates"]
    return model
