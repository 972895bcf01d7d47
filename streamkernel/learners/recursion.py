"""The state of a streaming learner over a growing dictionary: what every learner of the library holds.

It owns the arrays of `core.whitened`, knows the features' names, makes room, and passes samples on. Learners add
parameters, documentation and what is special about their prediction.
"""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..core import exact, following, noise, stream, whitened
from ..core.blocks import BLOCK
from ..core.triangular import PANEL, packed_length, rotate_symmetric, row_start, solve_transposed
from ..core.types import Matrix, Vector
from ..kernels import Feature
from . import dictionary

FIRST_CAPACITY = 2 * PANEL
# What the fast way of a sample into an array raises where the slow way should look: it adopts features or explains.
UNUSUAL = (KeyError, TypeError, ZeroDivisionError, OverflowError, struct.error, np.exceptions.ComplexWarning)
# Features up to here leave every kernel finite where k(x, x) is: squares and products do not overflow.
SAFE_VALUE = 1e150


def aligned(*shape: int) -> Matrix:
    """Zeros whose first element lies on a cache line, so that vector loads do not cross one."""
    size = math.prod(shape)
    memory = np.zeros(size + PANEL)
    skip = (-memory.ctypes.data // memory.itemsize) % PANEL
    return memory[skip : skip + size].reshape(shape)


def unpack(packed: Vector, size: int) -> Matrix:
    """The lower triangle of a packed matrix, dense."""
    dense = np.zeros((size, size))
    for i in range(size):
        start = _row_start(i)
        dense[i, : i + 1] = packed[start : start + i + 1]
    return dense


def pack(dense: NDArray[Any], capacity: int, symmetric: bool) -> Vector:
    """A dense lower triangular or symmetric matrix in packed form."""
    packed = aligned(packed_length(capacity))
    for i in range(len(dense)):
        start = _row_start(i)
        width = min(len(dense), PANEL * (i // PANEL + 1)) if symmetric else i + 1
        packed[start : start + width] = dense[i, :width]
    return packed


def _row_start(row: int) -> int:
    return int(getattr(row_start, "py_func", row_start)(row))


def _transformed(packed: Vector, size: int, change: Matrix) -> Matrix:
    """change · P · change' for a packed symmetric P."""
    lower = unpack(packed, size)
    result = change @ (lower + np.tril(lower, -1).T) @ change.T
    return (result + result.T) / 2.0


def _first_dependent(gram: Matrix) -> int | None:
    """The first point that is a combination of those before it, as far as rounding errors let one tell."""
    factor = np.zeros_like(gram)
    for i in range(len(gram)):
        row = np.linalg.solve(factor[:i, :i], gram[:i, i])
        residual = gram[i, i] - row @ row
        if residual <= np.trace(gram) / whitened.PIVOT_LIMIT:
            return i
        factor[i, :i], factor[i, i] = row, math.sqrt(residual)
    return None


def _check_state(state: dict[str, Any]) -> None:
    """Raise an error where the parts of a state do not fit together; the core would read beyond its arrays."""
    scalars = state["scalars"]
    if scalars.shape != (whitened.N_SCALARS,) or not 0.0 <= scalars[whitened.SIZE] < 2.0**31:
        raise ValueError("the state's counters are not those of this release")
    size, capacity = int(scalars[whitened.SIZE]), state["capacity"]
    used = packed_length(-(-size // PANEL) * PANEL)
    outputs = len(state["weights"])
    expected = {
        "points": (len(state["names"]), size),
        "vectors": (whitened.N_STATE_VECTORS, size),
        "weights": (2 if state["has_noise"] else outputs, size),
        "factor": (used,),
        "covariance": (0 if state["keep_all"] else used,),
        "second": (used if state["has_noise"] else 0,),
    }
    for name, shape in expected.items():
        if state[name].shape != shape or state[name].dtype != np.float64:
            raise ValueError(f"{name} has shape {state[name].shape} where the rest of the state has {shape}")
    if outputs < 1 or capacity % PANEL or not size < capacity:
        raise ValueError(f"{outputs} outputs and room for {capacity} points do not go with {size} points")


class Recursion:
    """A kernel least-squares model of one or more targets over a dictionary chosen by approximate linear dependence.

    Parameters
    ----------
    kernel
        None for `kernels.default` of the number of features.
    threshold, ridge, forgetting, walk, max_size
        As in `KRLS`.
    outputs
        How many targets share the dictionary and the covariance.
    keep_all
        The exact form (`core.exact`): every sample is kept, the newest `max_size` if that is given; needs a ridge.
    noise_ridge, noise_cap
        For noise that depends on the input (`core.noise`): the ridge of its logarithm, and the largest squared
        standardized error. There is one target then, and the second output is the logarithm of the relative noise
        variance.
    constant
        A constant added to the kernel, whichever that is: the prior variance of a bias term.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None,
        threshold: float,
        ridge: float,
        forgetting: float = 1.0,
        walk: bool = False,
        max_size: int | None = None,
        outputs: int = 1,
        keep_all: bool = False,
        noise_ridge: float | None = None,
        noise_cap: float = math.inf,
        constant: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.constant = constant
        self.keep_all = keep_all
        self.has_noise = noise_ridge is not None
        self.names: tuple[Feature, ...] = ()
        self._scalars = np.zeros(whitened.N_SCALARS)
        settings = [threshold, ridge, forgetting, float(walk), math.inf if max_size is None else float(max_size)]
        self._scalars[: len(settings)] = settings
        self._scalars[[whitened.PENDING_SCALE, whitened.NOISE_SCALE]] = 1.0
        self._scalars[[whitened.NOISE_RIDGE, whitened.NOISE_CAP]] = noise_ridge or 0.0, noise_cap
        self._weights = aligned(2 if self.has_noise else outputs, 0)
        self._points = aligned(0, 0)
        self._factor = self._covariance = self._second = aligned(0)
        self._state_vectors = np.zeros((whitened.N_STATE_VECTORS, 0))
        self._prepare((), FIRST_CAPACITY)

    # The arrays ------------------------------------------------------------------------------------------------------

    def _prepare(self, names: tuple[Feature, ...], capacity: int) -> None:
        """Lay out all arrays for these features and this capacity, keeping what they hold."""
        kernel = self.effective_kernel(len(names))
        compiled = kernel.compile(names)
        size, outputs = self.size, len(self._weights)
        points = aligned(len(names), capacity)
        for r, name in enumerate(names):
            if name in self.names:
                points[r, :size] = self._points[self.names.index(name), :size]
        vectors = aligned(whitened.COLUMN + compiled.stack_rows, capacity)
        vectors[: whitened.N_STATE_VECTORS, :size] = self._state_vectors[:, :size]
        weights = aligned(outputs, capacity)
        weights[:, :size] = self._weights[:, :size]
        used = packed_length(-(-size // PANEL) * PANEL)
        factor, covariance = aligned(packed_length(capacity)), aligned(0 if self.keep_all else packed_length(capacity))
        second = aligned(packed_length(capacity) if self.has_noise else 0)
        factor[:used], covariance[:used], second[:used] = (
            self._factor[:used],
            self._covariance[:used],
            self._second[:used],
        )
        self.names, self._compiled, self._capacity = names, compiled, capacity
        self._points, self._weights = points, weights
        self._factor, self._covariance, self._second = factor, covariance, second
        self._vectors, self._state_vectors = vectors, vectors[: whitened.N_STATE_VECTORS]
        self._inputs = np.zeros(1 + outputs + len(names))
        self._blocks: tuple[Matrix, ...] | None = None
        self._read = dictionary.reader(names)
        self._pack = dictionary.packer(1 + outputs + len(names))
        self._rest = (0.0,) if self.has_noise else ()  # the place of an output that has no target
        self._bind()

    def _bind(self) -> None:
        """Collect the arguments of the core's calls once."""
        self._arguments = (
            self._compiled.program,
            self._compiled.parameters,
            self._points,
            self._factor,
            self._covariance,
            self._vectors,
            self._weights,
            self._scalars,
            self._inputs,
        )
        self._n_features = len(self.names)
        self._special = bool(self._compiled.nonnegative or self._compiled.custom)
        self._core = exact if self.keep_all else noise if self.has_noise else stream
        self._learn_arguments = (*self._arguments, self._second) if self.has_noise else self._arguments

    def effective_kernel(self, n_features: int | None = None) -> kernels.Kernel:
        """The kernel in use: the default one follows the number of features."""
        kernel = self.kernel
        if kernel is None:
            kernel = kernels.default(len(self.names) if n_features is None else n_features)
        return kernel + self.constant if self.constant else kernel

    def _reserve(self) -> None:
        """Double the room, keeping the sample that waits in `inputs` and the columns that were computed for it."""
        inputs, custom = self._inputs, self._vectors[len(self._vectors) - len(self._compiled.custom) :]
        self._prepare(self.names, 2 * self._capacity)
        self._inputs[:] = inputs
        self._vectors[len(self._vectors) - len(custom) :, : custom.shape[1]] = custom

    def _adopt(self, names: tuple[Feature, ...]) -> None:
        """Take in new features: old samples had zero there."""
        before = self.effective_kernel()
        width_matters = before.depends_on_width or before != self.effective_kernel(len(names))
        if self.size and width_matters:
            self._prepare_rewhitened(names)
        else:
            self._prepare(names, self._capacity)

    def _prepare_rewhitened(self, names: tuple[Feature, ...]) -> None:
        """Adopt features that change the kernel itself, keeping the posterior of the function at the dictionary.

        With f_D = Lu the whitened weights become L_new⁻¹L u. Points that are dependent under the new kernel are removed
        first.
        """
        if self.keep_all:
            self._prepare_refitted(names)
            return
        self._settle()
        while True:
            gram = self._gram(names)
            dependent = _first_dependent(gram)
            if dependent is None:
                break
            self.remove(dependent)
        size = self.size
        factor = np.linalg.cholesky(gram)
        change = np.linalg.solve(factor, unpack(self._factor, size))
        weights = self._weights[:, :size] @ change.T
        covariances = [_transformed(packed, size, change) for packed in (self._covariance, self._second) if len(packed)]
        self._prepare(names, self._capacity)
        self._weights[:, :size] = weights
        self._factor = pack(factor, self._capacity, symmetric=False)
        self._covariance = pack(covariances[0], self._capacity, symmetric=True)
        if self.has_noise:
            self._second = pack(covariances[1], self._capacity, symmetric=True)
        self._vectors[whitened.RECIPROCALS, :size] = 1.0 / np.diagonal(factor)
        self._vectors[whitened.SIMILARITIES, :size] = np.diagonal(gram)
        self._scalars[whitened.TRACE] = np.trace(gram)
        self._scalars[whitened.PRUNED] = 0.0
        self._bind()

    def _prepare_refitted(self, names: tuple[Feature, ...]) -> None:
        """The same for the exact form: targets Lζ and noise diag(LL') − k(x, x) are in the factor; fit them anew."""
        size, old = self.size, unpack(self._factor, self.size)
        noise = (old**2).sum(axis=1) - np.diagonal(self._gram(self.names))
        targets = self._weights[:, :size] @ old.T
        factor = np.linalg.cholesky(self._gram(names) + np.diag(noise))
        self._prepare(names, self._capacity)
        self._weights[:, :size] = np.linalg.solve(factor, targets.T).T
        self._factor = pack(factor, self._capacity, symmetric=False)
        self._vectors[whitened.RECIPROCALS, :size] = 1.0 / np.diagonal(factor)
        self._bind()

    def _gram(self, names: tuple[Feature, ...]) -> Matrix:
        """The dictionary's kernel matrix when the features are these."""
        return self.effective_kernel(len(names))(self._points_under(names), features=names)

    def _points_under(self, names: tuple[Feature, ...]) -> Matrix:
        """The dictionary, one row a point, when the features are these."""
        points = np.zeros((self.size, len(names)))
        for r, name in enumerate(self.names):
            points[:, names.index(name)] = self._points[r, : self.size]
        return points

    def _settle(self) -> None:
        """Apply what is pending to the covariances."""
        whitened.settle(self._covariance, self._vectors, self._scalars)
        if self.has_noise:
            noise.settle_noise(self._vectors, self._scalars, self._second)

    def remove(self, index: int) -> None:
        """Remove a point of the dictionary, keeping the posterior at all others."""
        self._settle()
        whitened.remove(self._factor, self._covariance, self._vectors, self._weights, self._scalars, index)
        if self.has_noise:
            rotations = self._vectors[whitened.COSINES], self._vectors[whitened.SINES]
            rotate_symmetric(self._second, self.size + 1, index, *rotations)
        size = self.size
        self._points[:, index:size] = self._points[:, index + 1 : size + 1]

    def renewed(
        self, kernel: kernels.Kernel | None, ridge: float | None = None, constant: float | None = None
    ) -> Recursion:
        """A model that has learned nothing yet, with the same settings but for kernel, constant and ridge."""
        settings = self._scalars
        limit = float(settings[whitened.MAX_SIZE])
        return Recursion(
            kernel,
            float(settings[whitened.THRESHOLD]),
            float(settings[whitened.RIDGE]) if ridge is None else ridge,
            float(settings[whitened.FORGETTING]),
            bool(settings[whitened.WALK]),
            None if math.isinf(limit) else int(limit),
            outputs=len(self._weights),
            constant=self.constant if constant is None else constant,
        )

    def add_output(self) -> None:
        """One more target, which was zero in every sample so far: its weights are zero."""
        weights = self._weights
        self._weights = aligned(len(weights) + 1, self._capacity)
        self._weights[: len(weights)] = weights
        self._prepare(self.names, self._capacity)

    # One sample ------------------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[Feature, Any], targets: Sequence[float], weight: float = 1.0) -> None:
        """Learn one sample with one target per output; afterwards `errors` are those made before learning."""
        try:
            if len(x) != self._n_features:
                raise KeyError
            noise = 1.0 / weight
            self._pack(self._inputs, 0, noise, *targets, *self._rest, *self._read(x))
            plain = 0.0 < noise < math.inf
        except UNUSUAL:
            plain = False
        if not plain:
            self._load(x, targets, weight)
        if self._special:
            self._complete(x)
        status = self._core.learn_one(*self._learn_arguments)
        if status == stream.NO_ROOM:
            self._reserve()
            status = self._core.learn_one(*self._learn_arguments)
        if status < 0:
            self._explain(x, targets, weight, status)
        elif status == stream.FULL:
            self._shrink()

    def check(self, x: Mapping[Feature, Any], weight: Any = 1.0) -> None:
        """Raise the error that learning this sample would raise."""
        dictionary.noise(weight)
        self.predict(x)

    def _shrink(self) -> None:
        """Bring a dictionary that is one point too large back to its limit."""
        if self.keep_all:
            exact.drop_oldest(*self._arguments)
        else:
            self._core.prune(*self._learn_arguments, *self._block_workspace()[:2])

    def _load(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any) -> None:
        """The slow way of a sample into `inputs`: features may be new or absent, values may be bad."""
        numbers = [dictionary.noise(weight), *(dictionary.target(target) for target in targets)]
        names = self.names
        if any(name not in names for name in x):
            names = dictionary.sort_names({*names, *x})
            row = dictionary.values(names, x)
            self._check_similarities(names, row, x)
            self._adopt(names)
        else:
            row = dictionary.values(names, x)
        self._inputs[:] = [*numbers, *[0.0] * (len(self._weights) - len(targets)), *row]

    def _complete(self, x: Mapping[Feature, Any]) -> None:
        """What only some kernels need before the core is called: their domain, and columns computed in Python."""
        row = self._inputs[-self._n_features :] if self._n_features else self._inputs[:0]
        if np.isfinite(row).all():
            self._check_domain(self.names, row)
            points = np.vstack([self._points[:, : self.size].T, row])
            kernels.fill_custom(self._compiled, self._vectors[whitened.COLUMN :], points, row)

    def _check_domain(self, names: tuple[Feature, ...], row: Vector) -> None:
        self.effective_kernel(len(names)).check_domain(names, row[None])

    def _check_similarities(self, names: tuple[Feature, ...], row: Vector, x: Mapping[Feature, Any]) -> None:
        """Raise the error that a sample with new features would raise once they are adopted: a copy tries it."""
        self._check_domain(names, row)
        trial = copy.deepcopy(self)
        trial._adopt(names)
        trial._inputs[len(trial._inputs) - len(row) :] = row
        trial._complete(x)
        if stream.present(*trial._arguments[:3], trial._vectors, trial._scalars, row) < 0:
            self._explain(x, (), 1.0, stream.BAD_SIMILARITY)

    def _explain(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any, status: int) -> None:
        """Raise the error that a negative status stands for."""
        dictionary.noise(weight)
        for target in targets:
            dictionary.target(target)
        dictionary.values(self.names, x)
        if status == stream.BAD_TARGET:
            raise ValueError(f"target y is {targets[0]!r}: its squared error overflows; rescale the target")
        raise ValueError(
            f"the kernel {self.effective_kernel()!r} gives no finite similarity (or a negative self-similarity) "
            f"at {dict(x)!r}: rescale the features or use another kernel"
        )

    @property
    def errors(self) -> Vector:
        """The errors that the last `learn` made before it learned."""
        return self._inputs[1 : 1 + len(self._weights)]

    @property
    def last_relative_variance(self) -> float:
        """u of the sample of the last `learn`, before it was learned."""
        return float(self._inputs[0])

    def _present(self, x: Mapping[Feature, Any]) -> Recursion:
        """Bring a sample into `inputs` for a prediction; the state stays as it is, so new features go to a copy."""
        try:
            if len(x) != self._n_features:
                raise KeyError
            self._pack(self._inputs, 0, 1.0, *[0.0] * len(self._weights), *self._read(x))
        except UNUSUAL:
            if any(name not in self.names for name in x):
                other = copy.deepcopy(self)
                other._load(x, [0.0] * len(self._weights), 1.0)
                other._complete(x)
                return other
            self._load(x, [0.0] * len(self._weights), 1.0)
        if self._special:
            self._complete(x)
        return self

    def predict(self, x: Mapping[Feature, Any]) -> float:
        """The mean of the first output; `means` holds all of them."""
        model = self._present(x)
        mean = stream.predict(*model._arguments)
        if mean != mean:
            self._explain(x, (), 1.0, stream.BAD_SIMILARITY)
        self._inputs[1 : 1 + len(self._weights)] = model._inputs[1 : 1 + len(self._weights)]
        return mean

    def predict_variance(self, x: Mapping[Feature, Any]) -> tuple[float, float, float]:
        """The mean of the first output, the residual δ and z'Pz; `means` holds the means of all outputs."""
        model = self._present(x)
        mean, residual, explained = stream.predict_variance(*model._arguments)
        if mean != mean:
            self._explain(x, (), 1.0, stream.BAD_SIMILARITY)
        self._inputs[1 : 1 + len(self._weights)] = model._inputs[1 : 1 + len(self._weights)]
        return mean, residual, explained

    @property
    def means(self) -> Vector:
        """The predictions of the last `predict`."""
        return self._inputs[1 : 1 + len(self._weights)]

    # Several models over one dictionary ------------------------------------------------------------------------------

    def can_follow(self, leader: Recursion) -> bool:
        """Whether both models always admit the same samples: kernel, threshold, limit and dictionary are equal."""
        plain = all(model._core is stream and not model._compiled.custom for model in (self, leader))
        settings = [whitened.THRESHOLD, whitened.MAX_SIZE, whitened.SIZE]
        return (
            plain
            and self.names == leader.names
            and self.kernel == leader.kernel
            and self.constant == leader.constant
            and bool((self._scalars[settings] == leader._scalars[settings]).all())
            and bool((self._points[:, : self.size] == leader._points[:, : self.size]).all())
        )

    def follow(self, leader: Recursion) -> None:
        """Use the leader's points and factor from now on. Requires: `can_follow`."""
        if self._capacity != leader._capacity:
            self._prepare(self.names, leader._capacity)
        self._points, self._factor = leader._points, leader._factor
        self._bind()

    def lead(self, followers: Sequence[Recursion], x: Mapping[Feature, Any], target: float, weight: float) -> None:
        """Learn one sample and let the followers learn it; afterwards each has its `errors`."""
        if any(name not in self.names for name in x):
            self._check_all(x, (target,), weight)
            names = dictionary.sort_names({*self.names, *x})
            for model in (self, *followers):
                model._adopt(names)
            for model in followers:
                model.follow(self)
        size, capacity = self.size, self._capacity
        limit = float(self._scalars[whitened.MAX_SIZE])
        self._scalars[whitened.MAX_SIZE] = math.inf  # nobody leaves before all have learned
        try:
            self.learn(x, (target,), weight)
        finally:
            self._scalars[whitened.MAX_SIZE] = limit
        noise, source = 1.0 / weight, self._vectors
        for model in followers:
            if self._capacity != capacity:
                model.follow(self)
            model._inputs[0], model._inputs[1] = noise, target
            following.learn_following(*model._arguments[3:], source)
        if self.size > max(size, limit):
            index = self._remove_least_important()
            for model in followers:
                following.remove_following(*model._arguments[4:8], index, source)

    def _check_all(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any) -> None:
        """Raise the error that a sample with new features would raise, before any model has adopted them."""
        dictionary.noise(weight)
        for target in targets:
            dictionary.target(target)
        names = dictionary.sort_names({*self.names, *x})
        self._check_similarities(names, dictionary.values(names, x), x)

    def _remove_least_important(self) -> int:
        """Drop a point and say which; its rotations stay in the workspace."""
        whitened.settle(self._covariance, self._vectors, self._scalars)
        arrays = self._factor, self._covariance, self._vectors, self._weights, self._scalars
        index = int(whitened.least_important(*arrays, *self._block_workspace()[:2]))
        self.remove(index)
        return index

    def predict_followed(self, leader: Recursion) -> tuple[float, float, float]:
        """`predict_variance` of the sample that the leader predicted last."""
        return following.predict_following(*self._arguments[4:], leader._vectors)

    # Many samples ----------------------------------------------------------------------------------------------------

    def learn_many(
        self, names: tuple[Feature, ...], samples: Matrix, targets: Matrix, weights: Vector | None = None
    ) -> tuple[Matrix, Vector, Vector]:
        """Learn samples in order, exactly as one after the other.

        Returns the errors made before each sample was learned, its relative variance u then, and the sizes after each.
        """
        count, outputs = targets.shape
        if count and np.abs(targets).max() > dictionary.LARGEST_TARGET:
            i = int(np.argmax(np.abs(targets).max(axis=1)))
            dictionary.target(targets[i][np.argmax(np.abs(targets[i]))])
        spread = np.ones(count)
        if weights is not None:
            for weight in weights[~(weights > dictionary.SMALLEST_WEIGHT)][:1]:
                dictionary.noise(float(weight))
            spread /= weights
        merged = dictionary.sort_names({*self.names, *names}) if set(names) - set(self.names) else self.names
        rows = np.zeros((count, len(merged)))
        for j, name in enumerate(names):
            rows[:, merged.index(name)] = samples[:, j]
        kernel = self.effective_kernel(len(merged))
        kernel.check_domain(merged, rows)
        errors, relative, sizes = np.empty((count, outputs)), np.empty(count), np.empty(count)
        if not count:
            return errors, relative, sizes
        similarities = kernel.diagonal(rows, features=merged)
        if not np.isfinite(similarities).all() or (similarities < 0.0).any():
            i = int(np.argmin(np.isfinite(similarities) & (similarities >= 0.0)))
            row = dict(zip(merged, rows[i].tolist(), strict=True))
            self._explain(row, (), 1.0, stream.BAD_SIMILARITY)
        if np.abs(rows).max(initial=0.0) <= SAFE_VALUE and not self._compiled_for(merged).custom:
            return self._learn_rows(merged, rows, targets, spread, errors, relative, sizes)
        # A similarity may turn out to be no number in the middle of the batch: then nothing must have been learned.
        before = self.__getstate__()
        try:
            return self._learn_rows(merged, rows, targets, spread, errors, relative, sizes)
        except Exception:
            self.__setstate__(before)
            raise

    def _compiled_for(self, names: tuple[Feature, ...]) -> kernels.Compiled:
        return self._compiled if names == self.names else self.effective_kernel(len(names)).compile(names)

    def _learn_rows(
        self,
        merged: tuple[Feature, ...],
        rows: Matrix,
        targets: Matrix,
        spread: Vector,
        errors: Matrix,
        relative: Vector,
        sizes: Vector,
    ) -> tuple[Matrix, Vector, Vector]:
        """Learn checked rows whose columns are the features `merged`."""
        count = len(rows)
        if merged != self.names:
            self._adopt(merged)
        if self._compiled.custom:
            for i, values in enumerate(rows.tolist()):
                sample = dict(zip(merged, values, strict=True))
                self.learn(sample, targets[i].tolist(), 1.0 / spread[i])
                errors[i], relative[i], sizes[i] = self.errors, self._inputs[0], self.size
            return errors, relative, sizes
        batch = (rows, targets, spread)
        results = (errors, relative, sizes)
        start = 0
        while start < count:
            if self._core is not noise and self._core.is_calm(self._scalars, count - start):
                start = self._core.learn_blocks(*self._arguments, *batch, start, *results, *self._block_workspace())
                if start == count:
                    break
            start, status = self._core.learn_many(*self._learn_arguments, *batch, start, *results)
            if status < 0:
                row = dict(zip(merged, rows[start].tolist(), strict=True))
                self._explain(row, targets[start].tolist(), 1.0, status)
            if status == stream.NO_ROOM:
                self._reserve()
            if status == stream.FULL:
                self._shrink()
        return errors, relative, sizes

    def _block_workspace(self) -> tuple[Matrix, ...]:
        """Room for a block of samples; kept, since a dictionary that is calm once mostly stays so."""
        if self._blocks is None:
            capacity = self._capacity
            # One panel more than a power of two: rows that far apart would share their place in the first-level cache.
            rows = aligned(BLOCK, capacity + PANEL)
            self._blocks = aligned(capacity * BLOCK), aligned(capacity * BLOCK), rows, aligned(BLOCK + 3, BLOCK)
        return self._blocks

    def predict_many(self, names: tuple[Feature, ...], samples: Matrix) -> Matrix:
        """The means of all outputs for every sample."""
        model, rows = self._aligned_rows(names, samples)
        means = np.zeros((len(samples), len(self._weights)))
        # Through the factor, like one prediction: coefficients lose digits where the kernel matrix is ill conditioned.
        if model._compiled.custom:
            for mean, row in zip(means, rows.tolist(), strict=True):
                model.predict(dict(zip(model.names, row, strict=True)))
                mean[:] = model.means
            return means
        model.effective_kernel().check_domain(model.names, rows)
        good = stream.predict_many(*model._arguments, rows, means)
        if good < len(rows):
            self._explain(dict(zip(model.names, rows[good].tolist(), strict=True)), (), 1.0, stream.BAD_SIMILARITY)
        return means

    def predict_variances(self, names: tuple[Feature, ...], samples: Matrix) -> tuple[Matrix, Vector, Vector]:
        """The means of all outputs, the residuals δ and z'Pz for every sample."""
        model, rows = self._aligned_rows(names, samples)
        means = np.zeros((len(rows), len(self._weights)))
        residuals, explained = np.zeros(len(rows)), np.zeros(len(rows))
        if model._compiled.custom:
            for t, row in enumerate(rows):
                x = dict(zip(model.names, row.tolist(), strict=True))
                _, residuals[t], explained[t] = model.predict_variance(x)
                means[t] = model.means
            return means, residuals, explained
        model.effective_kernel().check_domain(model.names, rows)
        good = stream.predict_rows(*model._arguments, rows, means, residuals, explained)
        if good < len(rows):
            self._explain(dict(zip(model.names, rows[good].tolist(), strict=True)), (), 1.0, stream.BAD_SIMILARITY)
        return means, residuals, explained

    def _aligned_rows(self, names: tuple[Feature, ...], samples: Matrix) -> tuple[Recursion, Matrix]:
        """Samples in the model's own columns; a copy of the model where features are new to it."""
        model = self
        if set(names) - set(self.names):
            model = copy.deepcopy(self)
            model._adopt(dictionary.sort_names({*self.names, *names}))
        rows = np.zeros((len(samples), len(model.names)))
        for j, name in enumerate(names):
            rows[:, model.names.index(name)] = samples[:, j]
        return model, rows

    # What was learned ------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return int(self._scalars[whitened.SIZE])

    @property
    def refused(self) -> int:
        """How many novel samples were learned but not admitted because the kernel matrix would have become singular."""
        return int(self._scalars[whitened.REFUSED])

    @property
    def threshold(self) -> float:
        """ν."""
        return float(self._scalars[whitened.THRESHOLD])

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._scalars[whitened.THRESHOLD] = value

    @property
    def since_joined(self) -> int:
        """How many samples were learned since one joined the dictionary."""
        return int(self._scalars[whitened.SINCE_JOINED])

    @property
    def pruned(self) -> int:
        """How many points have left the dictionary."""
        return int(self._scalars[whitened.PRUNED])

    @property
    def seen(self) -> int:
        """How many samples were learned."""
        return int(self._scalars[whitened.SEEN])

    @property
    def points(self) -> list[dict[Feature, float]]:
        """The dictionary as feature dicts."""
        return [dict(zip(self.names, point.tolist(), strict=True)) for point in self._points[:, : self.size].T]

    @property
    def point_matrix(self) -> Matrix:
        """The dictionary, one row a point."""
        return self._points[:, : self.size].T

    @property
    def coefficients(self) -> Matrix:
        """α̃ = L⁻ᵀw for every output: f(x) = Σ_j α̃_j k(x_j, x)."""
        out = np.zeros((len(self._weights), self._capacity))
        for row, weights in zip(out, self._weights, strict=True):
            solve_transposed(self._factor, self._vectors[whitened.RECIPROCALS], self.size, weights, row)
        return out[:, : self.size]

    @property
    def noise_variance(self) -> float:
        """The variance of the noise as one-step-ahead errors show it; before they do, the targets' mean square."""
        weight = self._scalars[whitened.NOISE_WEIGHT]
        if weight > 0.0:
            return float(self._scalars[whitened.NOISE_SUM] / weight)
        return float(self._scalars[whitened.TARGET_SQUARES])

    def relative_variance(self, residual: Any, explained: Any) -> Any:
        """u: the variance of the function at a sample over that of the noise."""
        ridge = float(self._scalars[whitened.RIDGE])
        return explained + residual / ridge if ridge > 0.0 else explained

    @property
    def relative_noise(self) -> float:
        """e^ζ(x) at the sample of the last `predict_variance`: its noise variance over `noise_variance`."""
        if not self.has_noise:
            return 1.0
        return math.exp(min(max(float(self.means[1]), -noise.LARGEST_LOGARITHM), noise.LARGEST_LOGARITHM))

    @property
    def regularized_loss(self) -> float:
        """Σ e²/(1 + u) over the stream: in the exact form min_f Σ (y − f(x))² + ridge·‖f‖²."""
        return float(self._scalars[whitened.REGULARIZED_LOSS])

    @property
    def log_determinant(self) -> float:
        """Σ ln(1 + u) over the stream: in the exact form ln det(I + K/ridge)."""
        return float(self._scalars[whitened.LOG_DETERMINANT])

    @property
    def prior_variance(self) -> float:
        """τ², the variance of the function per unit of the kernel: what δ counts for in a prediction's variance.

        With a ridge it is σ²/ridge. Without one it is the mean square of the whitened weights, which estimates their
        prior variance.
        """
        ridge = self._scalars[whitened.RIDGE]
        if not self.size:
            return 1.0
        if ridge > 0.0:
            return self.noise_variance / float(ridge)
        return float(np.mean(self._weights[: len(self._weights) - len(self._rest), : self.size] ** 2))

    # Copies ----------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        size = self.size
        used = packed_length(-(-size // PANEL) * PANEL)
        return {
            "keep_all": self.keep_all,
            "has_noise": self.has_noise,
            "kernel": self.kernel,
            "constant": self.constant,
            "names": self.names,
            "capacity": self._capacity,
            "scalars": self._scalars.copy(),
            "points": self._points[:, :size].copy(),
            "vectors": self._vectors[: whitened.N_STATE_VECTORS, :size].copy(),
            "weights": self._weights[:, :size].copy(),
            "factor": self._factor[:used].copy(),
            "covariance": self._covariance[:used].copy(),
            "second": self._second[:used].copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        _check_state(state)
        self.keep_all, self.has_noise, self._second = state["keep_all"], state["has_noise"], state["second"]
        self.kernel, self.constant = state["kernel"], state["constant"]
        self.names, self._scalars = state["names"], state["scalars"].copy()
        self._points, self._state_vectors, self._weights = state["points"], state["vectors"], state["weights"]
        self._factor, self._covariance = state["factor"], state["covariance"]
        self._prepare(self.names, state["capacity"])
