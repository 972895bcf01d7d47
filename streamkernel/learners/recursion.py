"""A kernel least-squares model over a growing dictionary: what every streaming learner of the library holds.

It knows the features' names, makes room, and passes samples on to `core`. Learners add parameters, documentation and
what is special about their prediction.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import kernels
from ..core import noise, pruning, stream
from ..core.forgetting import RULES
from ..core.model import NO_LIMIT, Model
from ..core.triangular import solve_transposed
from ..core.types import Matrix, Vector
from ..kernels import Compiled, Feature
from ..threads import one_thread
from . import many, reading, rewhitening, state, storage, widening
from .forms import Dictionary, Form
from .intake import Intake


class Recursion:
    """A kernel least-squares model of one or more targets over a dictionary chosen by approximate linear dependence.

    Parameters
    ----------
    kernel
        None for `kernels.default` of the number of features.
    threshold, ridge, forgetting, forget, max_size
        As in `KRLS`.
    outputs
        How many targets share the dictionary and the covariance.
    constant
        A constant added to the kernel, whichever that is: the prior variance of a bias term.
    form
        How samples are learned.

    """

    model: Model
    """What the core works on."""
    reading: threading.RLock
    """Who predicts holds it from the inputs to what is read: threads may predict at the same time."""
    wider: dict[tuple[Feature, ...], widening.Wider]
    """What was prepared for predictions with features that are new."""

    def __init__(
        self,
        kernel: kernels.Kernel | None,
        threshold: float,
        ridge: float,
        forgetting: float = 1.0,
        forget: str = RULES[0],
        max_size: int | None = None,
        outputs: int = 1,
        constant: float = 0.0,
        form: Form = Dictionary(),  # noqa: B008 (a frozen value)
    ) -> None:
        self.kernel, self.constant, self.form = kernel, constant, form
        self.reading = threading.RLock()
        self.names: tuple[Feature, ...] = ()
        limit = NO_LIMIT if max_size is None else max_size
        self._settings = threshold, ridge, forgetting, RULES.index(forget), limit, outputs

    # The arrays ------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Make the arrays when they are first needed: a model that is restored brings its own."""
        if name not in _WITH_ARRAYS or "_settings" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        with self.reading:
            if "_table" not in vars(self):
                self._begin(*self._settings)
        return getattr(self, name)

    def _begin(
        self, threshold: float, ridge: float, forgetting: float, forget: int, max_size: int, outputs: int
    ) -> None:
        """Make arrays for a model that has learned nothing."""
        self._numbers = Model.new_numbers()
        model, compiled = self._allocated((), storage.FIRST_CAPACITY, outputs)
        model.threshold, model.ridge, model.forgetting = threshold, ridge, forgetting
        model.forget, model.max_size = forget, max_size
        model.pending_scale = model.noise_scale = 1.0
        self.form.configure(model)
        self._use(model, compiled, ())

    def _allocated(self, names: tuple[Feature, ...], capacity: int, outputs: int) -> tuple[Model, Compiled]:
        compiled = self.effective_kernel(len(names)).compile(names)
        return storage.allocate(self.form, compiled, len(names), capacity, outputs, self._numbers), compiled

    def _use(self, model: Model, compiled: Compiled, names: tuple[Feature, ...]) -> None:
        """Work on this model from now on: the one place where it is exchanged."""
        self.names, self._compiled, self.wider = names, compiled, {}
        self._learn_one = self.form.core.learn_one
        self._intake = Intake(model, names, self.effective_kernel(), compiled, self.reading)
        self.model, self._table = model, model.table

    def _rearrange(self, names: tuple[Feature, ...], capacity: int, outputs: int) -> None:
        """Lay out all arrays anew for these features, this capacity and so many targets, keeping what they hold."""
        model, compiled = self._allocated(names, capacity, outputs)
        rows = [self.names.index(name) if name in self.names else None for name in names]
        self._use(storage.carried(self.model, model, rows), compiled, names)

    @property
    def is_custom(self) -> bool:
        """Whether the kernel has parts that are computed in Python."""
        return bool(self._compiled.custom)

    @property
    def capacity(self) -> int:
        """For how many points there is room."""
        return self.model.points.shape[1]

    @property
    def outputs(self) -> int:
        """The number of targets."""
        return len(self.model.errors)

    def reserve(self, capacity: int | None = None) -> None:
        """Double the room, or make as much as is asked for; the sample that waits in the inputs stays."""
        before, capacity = self.model, capacity or 2 * self.capacity
        self._rearrange(self.names, capacity, self.outputs)
        storage.keep_sample(before, self.model, len(self._compiled.custom))

    def add_output(self, count: int = 1) -> None:
        """One more target, or several, which were zero in every sample so far: their weights are zero."""
        model = self.model
        if self.outputs == 1:  # which has kept nothing for itself that all had
            model.noise_sums[0], model.squares[0] = model.noise_sum, model.target_squares
        self._rearrange(self.names, self.capacity, self.outputs + count)

    def share(self, leader: Model) -> None:
        """Use another model's points and factor from now on. Requires: the same dictionary."""
        if self.capacity != leader.points.shape[1]:
            self._rearrange(self.names, leader.points.shape[1], self.outputs)
        self._use(storage.sharing(self.model, leader), self._compiled, self.names)

    def unshare(self) -> None:
        """Have all arrays for itself again."""
        self._rearrange(self.names, self.capacity, self.outputs)

    def prepare_blocks(self) -> None:
        """Make room for blocks of samples, where there is none."""
        if not len(self.model.block):
            self._use(storage.with_blocks(self.model), self._compiled, self.names)

    def renewed(
        self,
        kernel: kernels.Kernel | None,
        ridge: float | None = None,
        constant: float | None = None,
        forgetting: tuple[float, str] | None = None,
    ) -> Recursion:
        """A model that has learned nothing yet, with the same settings but for those given: λ comes with its rule."""
        model = self.model
        keep, rule = forgetting or (model.forgetting, RULES[model.forget])
        return Recursion(
            kernel,
            model.threshold,
            model.ridge if ridge is None else ridge,
            keep,
            rule,
            self.max_size,
            outputs=self.outputs,
            constant=self.constant if constant is None else constant,
            form=self.form,
        )

    # New features ----------------------------------------------------------------------------------------------------

    def effective_kernel(self, n_features: int | None = None) -> kernels.Kernel:
        """The kernel in use: the default one follows the number of features."""
        kernel = self.kernel
        if kernel is None:
            kernel = kernels.default(len(self.names) if n_features is None else n_features)
        return kernel + self.constant if self.constant else kernel

    def merged(self, names: Iterable[Feature]) -> tuple[Feature, ...]:
        """All features, these included, in order."""
        return reading.sort_names({*self.names, *names})

    def is_changed_by(self, names: tuple[Feature, ...]) -> bool:
        """Whether the kernel's values between old samples change when the features are these."""
        before = self.effective_kernel()
        return bool(self.size and (before.depends_on_width or before != self.effective_kernel(len(names))))

    @one_thread
    def adopt(self, names: tuple[Feature, ...]) -> None:
        """Take in new features: old samples had zero there."""
        if not self.is_changed_by(names):
            self._rearrange(names, self.capacity, self.outputs)
            return
        if self.form.has_covariance:
            self.form.settle(self.model)
            for dependent in reversed(rewhitening.dependent(self.gram(names))):
                self.remove(dependent)
        old, before, after = self.model, self.gram(self.names), self.gram(names)
        self._rearrange(names, self.capacity, self.outputs)
        if self.form.has_covariance:
            rewhitening.rewhiten(old, self.model, after)
        else:
            rewhitening.refit(old, self.model, before, after)

    def gram(self, names: tuple[Feature, ...]) -> Matrix:
        """The dictionary's kernel matrix when the features are these."""
        return self.effective_kernel(len(names))(reading.arranged(self.names, self.point_matrix, names), features=names)

    # One sample ------------------------------------------------------------------------------------------------------

    def learn(
        self, x: Mapping[Feature, Any], targets: Sequence[float], weight: float = 1.0, all_stay: bool = False
    ) -> None:
        """Learn one sample with one target per output; afterwards `errors` are those made before learning.

        Where all stay, a point that has to leave is still there, and the next call is the caller's `shrink`.
        """
        if not self._intake.load(x, targets, weight):
            self._learn_new(x, targets, weight)
            return
        status = self._learn_one(self._table)
        if stream.LEARNED <= status <= stream.JOINED:
            return
        if status == stream.NO_ROOM:
            arrays = self.model, self._compiled, self.names
            self.reserve()
            status = self._learn_one(self._table)
            if status < 0:
                self._use(*arrays)
        if status < 0:
            self.refuse(x, targets, weight, status)
        if status == stream.FULL:
            if not all_stay:
                self.shrink()
        elif status == stream.CROWDED:
            self.prepare_blocks()
            pruning.tend(self._table)

    def _learn_new(self, x: Mapping[Feature, Any], targets: Sequence[float], weight: float) -> None:
        """Adopt the new features of a sample and learn it; where it is refused they are given up again."""
        names = self.merged(x)
        reading.values(names, x)
        before = self.__getstate__() if self.is_changed_by(names) else None
        arrays = self.model, self._compiled, self.names
        try:
            self.adopt(names)
            self.learn(x, targets, weight)
        except Exception:
            if before is None:
                self._use(*arrays)
            else:
                self.__setstate__(before)
            raise

    def refuse(self, x: Mapping[Feature, Any], targets: Sequence[Any], weight: Any, status: int) -> NoReturn:
        """Raise the error that a negative status stands for."""
        self._intake.refuse(x, targets, weight, status)

    def check(self, x: Mapping[Feature, Any], weight: Any = 1.0) -> None:
        """Raise the error that learning this sample would raise."""
        reading.noise(weight)
        self.predict(x)

    def shrink(self) -> int:
        """Drop one point, in the exact form the oldest; return its place."""
        if self.form.has_covariance:
            self.prepare_blocks()
        return int(self.form.core.shrink(self._table))

    def remove(self, index: int) -> None:
        """Remove a point of the dictionary, keeping the posterior at all others."""
        self.form.settle(self.model)
        pruning.remove(self.model, index)

    @property
    def errors(self) -> Vector:
        """The errors that the last `learn` made before it learned."""
        return self.model.errors

    def predict(self, x: Mapping[Feature, Any]) -> float:
        """The mean of the first output; `means` holds all of them."""
        intake = self._intake
        try:  # `with self.reading`, at half its cost
            intake.hold()  # in here: a signal's handler may raise as soon as it is held
            model = intake.model if intake.load_features(x) else widening.present(self, x)
            mean = stream.predict(model.table)
            if mean - mean != 0.0:  # NaN or infinite
                self.refuse(x, (), 1.0, stream.BAD_SIMILARITY)
            if model is not intake.model:
                intake.model.means[:] = model.means
        except BaseException:
            try:  # noqa: SIM105 (a handler may raise in the calls of `contextlib.suppress`)
                intake.release()
            except RuntimeError:  # it is not held where a handler raised in the wait for it
                pass
            raise
        intake.release()
        return mean

    def predict_variance(self, x: Mapping[Feature, Any]) -> tuple[float, float, float]:
        """The mean of the first output, the residual δ and z'Pz; `means` holds the means of all outputs."""
        with self.reading:
            model = self.model if self._intake.load_features(x) else widening.present(self, x)
            mean, residual, unlearned = stream.predict_variance(model.table)
            if mean - mean != 0.0:
                self.refuse(x, (), 1.0, stream.BAD_SIMILARITY)
            if model is not self.model:
                self.model.means[:] = model.means
            return mean, residual, unlearned

    def predict_all(self, x: Mapping[Feature, Any]) -> list[float]:
        """The means of all outputs."""
        with self.reading:
            self.predict(x)
            means: list[float] = self.means.tolist()
            return means

    @property
    def means(self) -> Vector:
        """The predictions of the last `predict`."""
        return self.model.means

    def load_features(self, x: Mapping[Feature, Any]) -> bool:
        """Bring a sample into the inputs for a prediction; False where it has features that are new."""
        return self._intake.load_features(x)

    # Many samples ----------------------------------------------------------------------------------------------------

    def learn_many(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Matrix, weights: Vector | None = None
    ) -> tuple[Matrix, Vector, Vector]:
        """`predict_learn_many` with the errors instead of the predictions."""
        means, relative_variances, sizes = self.predict_learn_many(names, rows, targets, weights)
        return targets - means, relative_variances, sizes

    def predict_learn_many(
        self, names: tuple[Feature, ...], rows: Matrix, targets: Matrix, weights: Vector | None = None
    ) -> tuple[Matrix, Vector, Vector]:
        """Learn samples in order, exactly as one after the other, or none of them.

        Returns the predictions made before each sample was learned, its relative variance u then, and the sizes after
        each.
        """
        if len(rows) == 1:
            self.learn(reading.sample(names, rows[0]), targets[0].tolist(), 1.0 if weights is None else weights[0])
            means = self.means[None, : self.outputs].copy()
            return means, np.array([self.model.relative_variance]), np.array([float(self.size)])
        merged = self.names if names == self.names or self.knows(names) else self.merged(names)
        rows = reading.arranged(names, rows, merged)
        results = np.empty(targets.shape), np.empty(len(rows)), np.empty(len(rows))
        if not len(rows):
            return results
        noise, is_ordinary, is_certain = many.screen(self, merged, rows, targets, weights)
        is_safe = is_ordinary and is_certain and not self.is_changed_by(merged)
        before = None if is_safe else self.__getstate__()
        try:
            if merged != self.names:
                self.adopt(merged)
            many.learn_rows(self, rows, targets, noise, is_ordinary, results)
        except Exception:
            if before is not None:
                self.__setstate__(before)
            raise
        return results

    def similarity_of(self, x: Mapping[Feature, Any]) -> float:
        """k(x, x) of the sample that was predicted last, which the column holds; inf where it has new features."""
        return float(self.model.column[self.size]) if self.knows(x) else math.inf

    def knows(self, names: Iterable[Feature]) -> bool:
        """Whether none of these features is new."""
        return set(names) <= set(self.names)

    def predict_many(self, names: tuple[Feature, ...], rows: Matrix) -> Matrix:
        """The means of all outputs for every sample."""
        return many.predict_rows(self, names, rows, np.empty(0), np.empty(0))

    def predict_variances(self, names: tuple[Feature, ...], rows: Matrix) -> tuple[Matrix, Vector, Vector]:
        """The means of all outputs, the residuals δ and z'Pz for every sample."""
        residuals, unlearned = np.zeros(len(rows)), np.zeros(len(rows))
        return many.predict_rows(self, names, rows, residuals, unlearned), residuals, unlearned

    # What was learned ------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self.model.size

    @property
    def max_size(self) -> int | None:
        """The most points that the dictionary may have."""
        return None if self.model.max_size == NO_LIMIT else self.model.max_size

    def limit(self, max_size: int | None) -> None:
        """Set the most points that the dictionary may have, and let those leave that are too many."""
        self.model.max_size = NO_LIMIT if max_size is None else max_size
        self.model.tracked *= max_size is not None
        while self.size > self.model.max_size:
            self.shrink()

    @property
    def pruned(self) -> int:
        """How many points have left the dictionary."""
        return self.model.pruned

    @property
    def seen(self) -> int:
        """How many samples were learned."""
        return self.model.seen

    @property
    def points(self) -> list[dict[Feature, float]]:
        """The dictionary as feature dicts."""
        return [reading.sample(self.names, point) for point in self.point_matrix]

    @property
    def point_matrix(self) -> Matrix:
        """The dictionary, one row a point."""
        return self.model.points[:, : self.size].T

    @property
    def coefficients(self) -> Matrix:
        """α̃ = L⁻ᵀw for every output: f(x) = Σ_j α̃_j k(x_j, x)."""
        out = np.zeros((len(self.model.weights), self.capacity))
        for row, weights in zip(out, self.model.weights, strict=True):
            solve_transposed(self.model.factor, self.model.reciprocals, self.size, weights, row)
        return out[:, : self.size]

    @property
    def noise_variance(self) -> float:
        """The variance of the noise as one-step-ahead errors show it; before they do, the targets' mean square."""
        weight = self.model.noise_weight
        if weight > 0.0:
            return self.model.noise_sum / weight
        return self.model.target_squares

    def relative_variance(self, residual: Any, unlearned: Any) -> Any:
        """u: the variance of the function at a sample over that of the noise."""
        ridge = self.model.ridge
        return unlearned + residual / ridge if ridge > 0.0 else unlearned

    @property
    def relative_noise(self) -> float:
        """e^ζ(x) at the sample of the last `predict_variance`: its noise variance over `noise_variance`."""
        if not self.form.has_noise:
            return 1.0
        return math.exp(min(max(float(self.means[1]), -noise.LARGEST_LOGARITHM), noise.LARGEST_LOGARITHM))

    @property
    def prior_variance(self) -> float:
        """τ², the variance of the function per unit of the kernel: what δ counts for in a prediction's variance.

        With a ridge it is σ²/ridge. Without one it is the mean square of the whitened weights, which estimates their
        prior variance.
        """
        ridge = self.model.ridge
        if not self.size:
            return 1.0
        if ridge > 0.0:
            return self.noise_variance / ridge
        return float(np.mean(self.model.weights[: self.outputs, : self.size] ** 2))

    # Copies ----------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        own = {"kernel": self.kernel, "constant": self.constant, "names": self.names, "capacity": self.capacity}
        return {"form": self.form.name, **own, **state.describe(self.model, self.form)}

    def __setstate__(self, given: dict[str, Any]) -> None:
        stored = state.upgraded(given)
        self.form, sections = state.checked(stored)
        self.kernel, self.constant = stored["kernel"], stored["constant"]
        self.reading = threading.RLock()
        self._numbers = stored["numbers"].copy()
        model, compiled = self._allocated(stored["names"], stored["capacity"], stored["outputs"])
        state.fill(model, stored, sections)
        self._use(model, compiled, stored["names"])


_WITH_ARRAYS = frozenset({"model", "wider", "_compiled", "_intake", "_learn_one", "_numbers", "_table"})
