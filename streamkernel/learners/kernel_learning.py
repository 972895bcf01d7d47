"""The scales of a Gaussian kernel from the stream: k(x, x') = exp(−Σ_r θ_r (x_r − x'_r)²), θ_r = 1/(2ℓ_r²) ≥ 0.

Two ways, both with a bounded cost:

    gradient   the slope of the squared one-step error, ∂½e²/∂θ_r = e Σ_j α̃_j k_j (x_r − D_jr)², is summed over samples:
               O(md) for each, and one solve for α̃. When the sum of some feature is larger than chance makes it, the
               scales take a step against the slope.
    refit      scales, ridge and level by the evidence of the newest samples (`criteria`), at intervals; and where the
               evidence of a function that changes is clearly larger, these and λ by that.

After both the model is rebuilt from a window of samples, or from the newest of them where those older mislead it.

Cawley & Talbot (2014) learn θ at the first level of inference, which `batch.flkl` does. On a window of a stream the
evidence with a prior on ln θ needs no cross-validation for its two regularization parameters: on the splice stream 7 %
errors, against 12 % of one scale for all. A step after every sample was tried for the gradient: it moves irrelevant
scales about by chance, and needs a rebuild every hundred samples.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import kernels
from ..core.forgetting import RULES
from ..core.types import Matrix, Vector
from ..kernels import Feature
from ..threads import one_thread
from .reading import sort_names
from .reading import target as check_target
from .recursion import Recursion
from .window import Window

if TYPE_CHECKING:
    from .. import criteria

KINDS = ("gradient", "refit")
# Samples from which a model is rebuilt, and of these the newest from which scales are refitted.
WINDOW, TUNING = 1000, 400
# The newest samples, from which it is rebuilt if that model predicts the second half of them better.
RECENT = 250
# How many samples come before the first change of the kernel.
FIRST = 50
# Gradient: how long slopes are remembered, since early ones are larger than those of a model that has learned; a step's
# length per standard error of the slope, of which these many count at most, and how much of it follows the mean scale.
MEMORY, STEP, MOST_STANDARD_ERRORS, COMMON = 0.998, 0.25, 4.0, 0.1
# A rebuild, which costs as much as learning the window, waits for at least this share of it. From then on slopes are
# looked at every so many samples.
PATIENCE, CHECKED = 0.5, 25
# Refit: how the intervals grow, up to the longest one.
GROWTH, INTERVAL = 2, 500
MOST_EVALUATIONS = 40
LARGEST_VALUE = 1e100  # beyond, sums of squares may overflow: such samples teach nothing about scales


class Proposal(NamedTuple):
    """Parameters of a model to be rebuilt; what is None stays."""

    theta: Vector
    ridge: float | None = None
    level: float | None = None
    forgetting: tuple[float, str] | None = None  # λ and the rule


class KernelLearning:
    """Learns the scales of a model's kernel and rebuilds the model when they have changed.

    Parameters
    ----------
    kind
        `"gradient"` or `"refit"`.
    may_forget
        Whether a refit may let the model forget: not where the user has said how fast.
    outputs
        Targets per sample.

    """

    def __init__(self, kind: str, may_forget: bool = False, outputs: int = 1) -> None:
        self.kind, self.may_forget = kind, may_forget and kind == "refit"
        self.window = Window(WINDOW, 1 + outputs)  # the first column holds the samples' weights
        self.names: tuple[Feature, ...] = ()
        self.theta = self.slopes = self.squares = np.zeros(0)
        self.count, self.next = 0, FIRST
        self.point: Vector | None = None

    def learn(self, model: Recursion, x: Mapping[Feature, Any], targets: Sequence[float], w: float) -> Recursion:
        """Learn a sample; the model that goes on from here, which is a new one where the kernel has changed.

        The errors made before learning stand in the given model.
        """
        before = self.names, self.theta, self.slopes, self.squares, model.kernel
        if any(name not in self.names for name in x):
            self.knowing(model, x).check(x, w)
            for value in targets:
                check_target(value)
            self._adopt(model, x)
        try:
            return self._learn(model, x, targets, w)
        except Exception:
            self.names, self.theta, self.slopes, self.squares, model.kernel = before
            raise

    def _learn(self, model: Recursion, x: Mapping[Feature, Any], targets: Sequence[float], w: float) -> Recursion:
        """The same once all features have scales."""
        ready = self.kind == "gradient" and model.names == self.names
        before = (model.coefficients, model.point_matrix.T.copy()) if ready else None
        model.learn(x, targets, w)
        self.count += 1
        self.window.append(x, [w, *targets])
        if before is not None:
            self._add_slope(w * model.errors, *before)
        if self.count < self.next:
            return model
        return self._refitted(model) if self.kind == "refit" else self._descended(model)

    def knowing(self, model: Recursion, names: Iterable[Feature]) -> Recursion:
        """The model, or where some of these features are new to it a copy that has scales for them."""
        if not self.names or all(name in self.names for name in names):
            return model
        return copy.deepcopy(self)._adopt(copy.deepcopy(model), names)

    def _adopt(self, model: Recursion, names: Iterable[Feature]) -> Recursion:
        """Take in new features with the mean scale; the first ones with that of the model's kernel."""
        merged = sort_names({*self.names, *names})
        if self.names:
            place = [merged.index(name) for name in self.names]
            theta, sums = np.full(len(merged), self.theta.mean()), np.zeros((2, len(merged)))
            theta[place], sums[:, place] = self.theta, (self.slopes, self.squares)
        else:
            theta = np.array(list(thetas(model.effective_kernel(len(merged)), merged).values()))
            sums = np.zeros((2, len(merged)))
        self.names, self.theta, self.slopes, self.squares = merged, theta, *sums
        model.kernel = self._kernel(model, self.theta)
        return model

    def _kernel(self, model: Recursion, theta: Vector) -> kernels.Kernel:
        """The model's kernel with these scales."""
        scales = dict(zip(self.names, theta.tolist(), strict=True))
        return with_thetas(model.effective_kernel(len(self.names)), scales, model.constant)

    # By steps along the slope ----------------------------------------------------------------------------------------

    @one_thread
    def _add_slope(self, errors: Vector, coefficients: Matrix, points: Matrix) -> None:
        """Add ∂½e²/∂θ of the newest sample, for the model as it was before; a column of `points` is one of them."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (points - self.window.samples[-1][:, None]) ** 2
            slope = squares @ ((errors @ coefficients) * np.exp(-(self.theta @ squares)))
            if np.abs(slope).max(initial=0.0) < LARGEST_VALUE:
                self.slopes = MEMORY * self.slopes + slope
                self.squares = MEMORY**2 * self.squares + slope**2

    def _descended(self, model: Recursion) -> Recursion:
        """A step, if the largest slope is larger than that of as many normal variables would be by chance."""
        errors = np.divide(self.slopes, np.sqrt(self.squares), out=np.zeros_like(self.slopes), where=self.squares > 0.0)
        if not np.abs(errors).max(initial=0.0) > math.sqrt(2.0 * math.log(2 * len(errors) or 1)):
            self.next = self.count + CHECKED
            return model
        # Relative to the scale itself, so that small ones stay so, and to the mean, so that a scale of zero can grow.
        lengths = STEP * ((1.0 - COMMON) * self.theta + COMMON * self.theta.mean())
        step = lengths * np.clip(errors, -MOST_STANDARD_ERRORS, MOST_STANDARD_ERRORS)
        self.theta = np.maximum(self.theta - step, 0.0)
        self.slopes, self.squares = np.zeros((2, len(self.names)))
        return self._rebuilt(model, [Proposal(self.theta)])

    # By refitting ----------------------------------------------------------------------------------------------------

    def _refitted(self, model: Recursion) -> Recursion:
        from .. import criteria  # late: scipy takes long to import; before its threads are limited

        self.next = min(GROWTH * self.count, self.count + INTERVAL)
        samples, targets = self.window.samples[-TUNING:], self.window.targets[-TUNING:, 1:]
        varies = np.ptp(targets, axis=0).any() and np.ptp(samples, axis=0).any()
        if not varies or max(np.abs(samples).max(), np.abs(targets).max()) > LARGEST_VALUE:
            return model
        with one_thread:
            family = criteria.Gaussian(samples, self.names, trend=False)
            found = criteria.fit(family, targets, start=self.point, max_evaluations=MOST_EVALUATIONS)
            self.point = found.point
            proposals = [self._proposal(found, (1.0, RULES[model.model.forget]) if self.may_forget else None)]
            drift = criteria.fit_drift(family, targets, found, MOST_EVALUATIONS) if self.may_forget else None
            if drift is not None:
                proposals += [self._proposal(drift, (drift.forgetting, rule)) for rule in RULES]
            return self._rebuilt(model, proposals)

    def _proposal(self, found: criteria.Fit | criteria.Drift, forgetting: tuple[float, str] | None) -> Proposal:
        kernel = found.kernel
        assert isinstance(kernel, kernels.Sum) and isinstance(kernel.right, kernels.Constant)  # a shape and a level
        return Proposal(
            np.array(list(thetas(kernel, self.names).values())), found.ridge, kernel.right.value, forgetting
        )

    # The model anew --------------------------------------------------------------------------------------------------

    def _rebuilt(self, model: Recursion, proposals: Sequence[Proposal]) -> Recursion:
        """The model that predicts best: learned from the window by a proposal, or from its end by the first of them."""
        trials = [(proposal, len(self.window)) for proposal in proposals]
        if len(self.window) >= 2 * RECENT:
            trials.append((proposals[0], RECENT))
        replays = [self._replayed(model, count, proposal) for proposal, count in trials]
        best = min(range(len(trials)), key=lambda i: replays[i][1])
        self.theta = trials[best][0].theta
        if trials[best][1] < len(self.window):
            return self._changed(model, replays[best][0])
        if self.kind == "gradient":
            self.next = self.count + int(PATIENCE * len(self.window))
        return replays[best][0]

    def _changed(self, model: Recursion, recent: Recursion) -> Recursion:
        """Older samples mislead: forget them, and by the gradient, which starts from what matters, what mattered."""
        self.window.keep(RECENT)
        self.next = self.count + int(PATIENCE * RECENT)
        if self.kind == "refit":
            return recent
        self.theta = np.full(len(self.theta), self.theta.mean())
        return self._replayed(model, RECENT, Proposal(self.theta))[0]

    def _replayed(self, model: Recursion, count: int, proposal: Proposal) -> tuple[Recursion, float]:
        """A model by a proposal that has learned the newest samples, and its squared error on the last."""
        theta, ridge, level, forgetting = proposal
        kernel = self._kernel(model, theta)
        if level is not None and not model.constant:
            gaussian = gaussian_part(kernel)
            kernel = kernel if gaussian is None else gaussian + level
        new = model.renewed(kernel, ridge, level if model.constant else None, forgetting)
        samples, targets = self.window.samples[-count:], self.window.targets[-count:]
        errors, _, _ = new.learn_many(self.names, samples, targets[:, 1:], targets[:, 0])
        with np.errstate(over="ignore"):
            return new, float(np.square(errors[-(RECENT // 2) :]).sum())

    # Copies ----------------------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "window": self.window.get_state(),
            "names": self.names,
            "scales": [self.theta, self.slopes, self.squares],
            "counts": [self.count, self.next],
            "point": self.point,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.window.set_state(state["window"])
        self.names = state["names"]
        self.theta, self.slopes, self.squares = state["scales"]
        self.count, self.next = state["counts"]
        self.point = state["point"]


def check_kernel_learning(kind: Any, kernel: kernels.Kernel | None) -> None:
    """None, or a way to learn the scales of a Gaussian kernel."""
    if kind is None:
        return
    if kind not in KINDS:
        raise ValueError(f"kernel_learning must be None, {' or '.join(map(repr, KINDS))}, got {kind!r}")
    if not isinstance(kernel, kernels.RBF | None):
        raise ValueError(f"kernel_learning learns the scales of an RBF kernel, not of {kernel!r}")
    scales: Sequence[float] = () if kernel is None else kernel.theta.tolist()
    if not all(1.0 / LARGEST_VALUE <= scale <= LARGEST_VALUE or scale == math.inf for scale in scales):
        raise ValueError(
            f"kernel_learning starts from length scales between {1.0 / LARGEST_VALUE:g} and {LARGEST_VALUE:g} or inf, "
            f"not from {kernel!r}"
        )


def gaussian_part(kernel: kernels.Kernel | None) -> kernels.RBF | None:
    """The Gaussian in a kernel that is one or a sum with one."""
    if isinstance(kernel, kernels.Sum):
        return gaussian_part(kernel.left) or gaussian_part(kernel.right)
    return kernel if isinstance(kernel, kernels.RBF) else None


def thetas(kernel: kernels.Kernel | None, names: Sequence[Feature]) -> dict[Feature, float]:
    """θ by feature of a kernel with a Gaussian part."""
    part = gaussian_part(kernel)
    if part is None or not names:
        return {}
    scales = part.per_feature(names).length_scale
    by_name = scales if isinstance(scales, Mapping) else dict(zip(names, scales, strict=True))  # type: ignore[arg-type]
    # Divided twice: the square of a scale may be no float.
    return {name: 0.5 / float(by_name[name]) / float(by_name[name]) for name in names}


def kernel_scales(theta: Mapping[Feature, float]) -> dict[Feature, float]:
    """ℓ by feature."""
    return {name: 1.0 / math.sqrt(2.0 * value) if value > 0.0 else math.inf for name, value in theta.items()}


def with_thetas(kernel: kernels.Kernel, theta: Mapping[Feature, float], constant: float) -> kernels.Kernel:
    """The kernel with other scales, without the constant that the model adds to it."""
    rest = kernel.left if constant and isinstance(kernel, kernels.Sum) else kernel
    gaussian = kernels.RBF(kernel_scales(theta))
    return gaussian + rest.right if isinstance(rest, kernels.Sum) else gaussian
