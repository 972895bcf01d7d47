"""The arrays of a model: how they are laid out, how they grow, and who shares them.

A `Model` holds the addresses of its arrays, so arrays are never exchanged under it: every change of shape is a new
`Model`, made here, into which the state is carried over.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.blocks import BLOCK
from ..core.jit import plain
from ..core.model import Model
from ..core.triangular import PANEL, packed_length, row_start
from ..core.triangular import padded as _padded
from ..core.types import Matrix, Vector
from ..core.views import Layout, address
from ..kernels import Compiled
from .forms import Form

FIRST_CAPACITY = 2 * PANEL
ITEM_SIZE = np.dtype(np.float64).itemsize
KEPT_LAYOUTS = 256  # a model has one for each capacity that it had

# What is kept of a model besides its numbers: one value a point, one value a target, and packed matrices.
TRACKED_VECTORS = ("coefficient_variances", "inverse_diagonal")
STATE_VECTORS = ("reciprocals", "pending", "noise_pending", *TRACKED_VECTORS, "similarities")
TARGET_VECTORS = ("noise_sums", "squares")
STATE_MATRICES = ("factor", "covariance", "noise_covariance")
_WORK_VECTORS = ("projection", "gain", "cosines", "sines")
_TRACKED, _ = Model.number_fields["tracked"]


def aligned(*shape: int) -> Matrix:
    """Zeros whose first element lies on a cache line, so that vector loads do not cross one."""
    return _aligned(math.prod(shape))[0].reshape(shape)


def _aligned(size: int) -> tuple[Vector, int]:
    """The same in one dimension, and its address."""
    memory = np.zeros(size + PANEL)
    place = address(memory)
    skip = (-place // ITEM_SIZE) % PANEL
    return memory[skip : skip + size], place + ITEM_SIZE * skip


padded = plain(_padded)


def used_length(size: int) -> int:
    """The number of elements that a packed matrix of `size` rows uses."""
    return packed_length(-(-size // PANEL) * PANEL)


def unpack(packed: Vector, size: int) -> Matrix:
    """The lower triangle of a packed matrix, dense."""
    dense = np.zeros((size, size))
    for i in range(size):
        start = plain(row_start)(i)
        dense[i, : i + 1] = packed[start : start + i + 1]
    return dense


def pack(dense: NDArray[Any], packed: Vector, symmetric: bool) -> None:
    """Write a dense lower triangular or symmetric matrix in packed form."""
    for i in range(len(dense)):
        start = plain(row_start)(i)
        width = min(len(dense), PANEL * (i // PANEL + 1)) if symmetric else i + 1
        packed[start : start + width] = dense[i, :width]


def allocate(
    form: Form, compiled: Compiled, features: int, capacity: int, outputs: int, numbers: NDArray[np.int64]
) -> Model:
    """A model with room for `capacity` points of so many features, all zero but for its numbers.

    Where these say that variances are tracked, there is room for blocks of samples too.
    """
    blocks = bool(numbers[_TRACKED])
    layout, length = _layout(compiled, form.has_covariance, form.has_noise, features, capacity, outputs, blocks)
    return Model.carve(numbers, *_aligned(length), layout)


@functools.lru_cache(KEPT_LAYOUTS)
def _layout(
    compiled: Compiled,
    has_covariance: bool,
    has_noise: bool,
    features: int,
    capacity: int,
    outputs: int,
    has_blocks: bool,
) -> tuple[Layout, int]:
    """Where the arrays of a model lie, and how much memory that is.

    One allocation: vectors that are used together lie together, and the stack's lowest row is the column.
    """
    rows, means, packed = [*STATE_VECTORS, *_WORK_VECTORS], outputs + has_noise, packed_length(capacity)
    shapes = {
        **dict.fromkeys(rows, (capacity,)),
        "stack": (compiled.stack_rows, capacity),
        "points": (features, capacity),
        "factor": (packed,),
        "covariance": (packed if has_covariance else 0,),
        "noise_covariance": (packed if has_noise else 0,),
        "weights": (means, capacity),
        "means": (means,),
        **dict.fromkeys(("errors", "noise_sums", "squares"), (outputs,)),
        "inputs": (1 + outputs + features,),
        **(_block_shapes(capacity) if has_blocks else {}),
    }
    starts = [*accumulate((padded(math.prod(shape)) for shape in shapes.values()), initial=0)]
    places: dict[str, Any] = {name: (start, shapes[name]) for name, start in zip(shapes, starts, strict=False)}
    first = places["inputs"][0]
    places["column"] = places["stack"][0], (capacity,)
    places["targets"], places["x"] = (first + 1, (outputs,)), (first + 1 + outputs, (features,))
    others = {} if has_blocks else _NO_BLOCKS
    return Model.layout(places, program=compiled.program, parameters=compiled.parameters, **others), starts[-1]


def _kernel_arrays(compiled: Compiled, stack: Matrix) -> dict[str, Any]:
    return {
        "program": compiled.program,
        "parameters": compiled.parameters,
        "stack": stack,
        "column": stack[0],
    }


def _inputs(outputs: int, features: int) -> dict[str, Any]:
    inputs = np.zeros(1 + outputs + features)
    return {"inputs": inputs, "targets": inputs[1 : 1 + outputs], "x": inputs[1 + outputs :]}


_NO_BLOCKS: dict[str, Any] = {
    "block": np.zeros(0),
    "products": np.zeros(0),
    "rows": np.zeros((0, 0)),
    "innovations": np.zeros((0, 0)),
}


def carried(old: Model, new: Model, rows: Sequence[int | None]) -> Model:
    """A new model with the state of an old one; row r of its points was row rows[r], None one that is new."""
    size, used, outputs = old.size, used_length(old.size), min(len(old.weights), len(new.weights))
    for r, source in enumerate(rows):
        if source is not None:
            new.points[r, :size] = old.points[source, :size]
    new.weights[:outputs, :size] = old.weights[:outputs, :size]
    for name in TARGET_VECTORS:
        before, after = getattr(old, name), getattr(new, name)
        after[: len(before)] = before[: len(after)]
    for name in STATE_VECTORS:
        getattr(new, name)[:size] = getattr(old, name)[:size]
    for name in STATE_MATRICES:
        getattr(new, name)[:used] = getattr(old, name)[:used]
    if old.tracked:
        new.rows[: old.collected, :size] = old.rows[: old.collected, :size]
    return new


def keep_sample(old: Model, new: Model, custom: int) -> None:
    """Carry over the sample in the inputs too, with so many columns that were computed in Python for it."""
    new.inputs[:] = old.inputs
    columns = old.stack[len(old.stack) - custom :]
    new.stack[len(old.stack) - custom :, : columns.shape[1]] = columns


def _exchanged(model: Model, **arrays: NDArray[Any]) -> Model:
    """A model over the same arrays but for some."""
    return Model.build(model.cells, **{name: arrays.get(name, getattr(model, name)) for name in Model.array_fields})


def with_blocks(model: Model) -> Model:
    """The same model with workspace for blocks of samples; made when first needed."""
    shapes = _block_shapes(model.points.shape[1])
    return _exchanged(model, **{name: aligned(*shape) for name, shape in shapes.items()})


def _block_shapes(capacity: int) -> dict[str, tuple[int, ...]]:
    return {
        **dict.fromkeys(("block", "products"), (capacity * BLOCK,)),
        # One panel more than a power of two: rows that far apart would share their place in the first-level cache.
        "rows": (BLOCK, capacity + PANEL),
        "innovations": (BLOCK + 3, BLOCK),
    }


def sharing(model: Model, leader: Model) -> Model:
    """The same model over the points and the factor of another. Requires: equal capacity and dictionary."""
    return _exchanged(model, points=leader.points, factor=leader.factor)


def widened(model: Model, compiled: Compiled, features: int) -> Model:
    """The same model with a kernel for more features and points of its own, for predictions.

    Requires: the kernel's values do not change where the new features are zero.
    """
    outputs, capacity = len(model.errors), model.points.shape[1]
    return _exchanged(
        model,
        points=aligned(features, capacity),
        **_kernel_arrays(compiled, aligned(compiled.stack_rows, capacity)),
        **_inputs(outputs, features),
    )
