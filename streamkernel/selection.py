"""Kernel, ridge, threshold and forgetting from a window of samples: a streaming model that starts where others arrive.

The criteria and their slopes are in `criteria`; that of the first level is `batch.first_level` (Cawley & Talbot 2014).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import checks, criteria, kernels
from .checks import constructor_arguments
from .core.forgetting import RULES
from .core.types import Matrix, Vector
from .kernels import Feature
from .learners import reading
from .learners.base import StreamingRegressor
from .learners.krls import KRLS
from .learners.lssvm import LSSVMClassifier
from .threads import one_thread

__all__ = ["tune"]

CRITERIA = {"loo": criteria.leave_one_out, "evidence": criteria.evidence}
# A sample joins the dictionary when what the dictionary cannot see of it exceeds this share of the noise.
THRESHOLD_SHARE = 0.3
THRESHOLD_RANGE = (1e-8, 1e-2)
FEWEST_SAMPLES = 5
# Of features and targets: the criteria are made of their squares.
SMALLEST_SPREAD, LARGEST_FEATURE = 1e-140, 1e140
HELD_OUT_SHARE = 5  # one fifth
# Factors on the starting length scales from which descents begin.
WIDTHS = (1.0, 0.3, 3.0)
FOLDS = 5


@one_thread
def tune(
    model: StreamingRegressor | LSSVMClassifier | kernels.Kernel | None,
    X: Any,
    y: Any,
    criterion: str = "loo",
    ard: bool = True,
    max_samples: int = 500,
    max_evaluations: int = 150,
    forgetting: bool = True,
) -> Any:
    """A streaming model whose parameters were chosen on a window of samples, trained on that window.

    These are the kernel's, the ridge, the threshold and, where the function clearly changes over the window, how fast
    to forget and by which rule.

    Parameters are chosen on the first four fifths of the window and judged on the last fifth, which is predicted
    sample by sample as the stream would be. A choice that predicts it worse than the model as it was given is not
    made. The threshold follows the ridge, so that what the dictionary leaves out stays below the noise.

    Parameters
    ----------
    model
        A learner, of which a new one with other parameters is returned; a kernel, for a `KRLS`; or None, for a `KRLS`
        with a Gaussian kernel, a constant and a linear part.
    X
        The window, oldest sample first: a data frame, or an array whose columns are the features 0, 1, ...
    y
        Targets, or labels for a classifier.
    criterion
        `"loo"`, the squared leave-one-out error; `"evidence"`, the marginal likelihood; or `"first_level"`, the
        training criterion of Cawley & Talbot, for Gaussian kernels (needs `streamkernel[batch]`).
    ard
        A length scale for each feature. Where the kernel has several already they are kept apart in any case.
    max_samples
        The criterion sees the newest samples, this many at most: an evaluation is O(n³).
    max_evaluations
        The most evaluations of the criterion in a descent. There are four descents, and up to four for forgetting.
    forgetting
        Whether to choose `forgetting` and `forget`, too. What is chosen stays 1 unless the evidence of a function that
        changes, with a kernel and a ridge of its own, is larger by a factor of 3000, whatever the criterion. A
        forgetting below 1 that the model was given is kept, and so is that of a model with `kernel_learning="refit"`,
        which finds it by itself.

    Examples
    --------

    Five of the ten features matter, and the kernel learns which:

    >>> from streamkernel import datasets, selection
    >>> X, y = datasets.Friedman1(noise=0.1, seed=1).arrays(1000)
    >>> model = selection.tune(None, X[:250], y[:250])
    >>> model.learn_many(X[250:], y[250:])

    >>> test, truth = datasets.Friedman1(noise=0.0, seed=2).arrays(1000)
    >>> error = ((model.predict_many(test) - truth) ** 2).mean() ** 0.5
    >>> bool(error < 0.06)
    True

    The phase of a wave moves on, by a turn in 2000 samples:

    >>> import numpy as np
    >>> x = np.random.default_rng(1).uniform(-3.0, 3.0, size=(2000, 1))
    >>> y = np.sin(x[:, 0] + np.linspace(0.0, 2.0 * np.pi, 2000))
    >>> model = selection.tune(None, x[:300], y[:300])
    >>> model.learn_many(x[300:], y[300:])
    >>> bool(abs(model.predict_many(x[-100:]) - y[-100:]).mean() < 0.1), 0.9 < model.forgetting < 1.0
    (True, True)

    """
    checks.choice("criterion", criterion, (*CRITERIA, "first_level"))
    for name, limit in {"max_samples": max_samples, "max_evaluations": max_evaluations}.items():
        checks.whole(name, limit)
    # River calls a pipeline an instance of the class of its last step.
    if not issubclass(type(model), StreamingRegressor | LSSVMClassifier | kernels.Kernel | None):
        raise TypeError(f"model must be a learner, a kernel or None, got {model!r}")
    learner = model if isinstance(model, StreamingRegressor | LSSVMClassifier) else KRLS(model)
    names, samples, _ = reading.frame(X)
    order = np.argsort([reading.sort_names(names).index(name) for name in names])
    names, samples = tuple(names[i] for i in order), np.ascontiguousarray(samples[:, order])
    targets = _targets(learner, y, len(samples))
    if len(samples) < FEWEST_SAMPLES:
        raise ValueError(f"X has {len(samples)} samples: tune needs at least {FEWEST_SAMPLES}")
    _check_sizes(names, samples, targets)

    learning = getattr(learner, "kernel_learning", None)
    if learning and criterion == "first_level":
        raise ValueError(
            f"criterion 'first_level' adds a constant to the kernel, with which {learner!r} cannot learn it"
        )
    # A kernel that goes on learning must be a Gaussian alone.
    kernel = kernels.default(len(names)) if learning and learner.kernel is None else learner.kernel
    given = _Choice(kernel, learner.ridge, learner.threshold)
    may_forget = forgetting and getattr(learner, "forgetting", None) == 1.0 and learning != "refit"
    split = len(samples) - max(1, len(samples) // HELD_OUT_SHARE)
    choices, point = [given], None
    for end in (split, len(samples)):
        part = slice(max(0, end - max_samples), end)
        # What does not vary says nothing about a kernel.
        if np.ptp(targets[part], axis=0).max() >= SMALLEST_SPREAD:
            choice, point = _choose(given, names, samples[part], targets[part], criterion, ard, point, max_evaluations)
            choices.append(choice)
            if may_forget:
                choices += _choose_forgetting(given, names, samples[part], targets[part], ard, point, max_evaluations)
    best = min(reversed(choices), key=lambda choice: _held_out_error(learner, choice, names, samples, y, split))
    fresh = _with(learner, best)
    _learn(fresh, names, samples, y)
    return fresh


class _Choice(NamedTuple):
    """The parameters that are chosen."""

    kernel: kernels.Kernel | None
    ridge: float
    threshold: float | None
    forgetting: tuple[float, str] | None = None
    """λ and the rule, where they are not the learner's own."""


def _with(learner: Any, choice: _Choice) -> Any:
    """A new learner of the same kind with these parameters."""
    chosen: dict[str, Any] = {"kernel": choice.kernel, "ridge": choice.ridge, "threshold": choice.threshold}
    if choice.forgetting is not None:
        chosen |= dict(zip(("forgetting", "forget"), choice.forgetting, strict=True))
    return type(learner)(**(constructor_arguments(learner) | chosen))


def _targets(learner: Any, y: Any, count: int) -> Matrix:
    """One column of targets, or for a classifier the indicators of the classes, centered if there are three or more."""
    if not isinstance(learner, LSSVMClassifier):
        return reading.column("y", y, count)[:, None]
    labels = list(y)
    if len(labels) != count:
        raise ValueError(f"y must hold one label per row of X ({count}), got {len(labels)}")
    classes = list(dict.fromkeys(labels))
    indicators = np.array([[float(label == kind) for kind in classes] for label in labels])
    return indicators if len(classes) < 3 else indicators - indicators.mean(axis=0)


def _check_sizes(names: tuple[Feature, ...], samples: Matrix, targets: Matrix) -> None:
    """Raise an error where squares of features or targets are no numbers, or none but zero."""
    reading.check_targets(targets)
    for name, column in zip(names, samples.T, strict=True):
        if (size := float(np.abs(column).max())) > LARGEST_FEATURE:
            raise ValueError(f"feature {name!r} of X is as large as {size:g}: tune takes up to 1e140; rescale it")
    columns = {f"feature {name!r} of X": samples[:, [j]] for j, name in enumerate(names)} | {"y": targets}
    for what, values in columns.items():
        if 0.0 < (spread := float(np.ptp(values, axis=0).max())) < SMALLEST_SPREAD:
            raise ValueError(f"{what} varies by {spread:g} only: tune takes from 1e-140 on; rescale it")


def _choose(
    given: _Choice,
    names: tuple[Feature, ...],
    samples: Matrix,
    targets: Matrix,
    criterion: str,
    ard: bool,
    start: Vector | None,
    max_evaluations: int,
) -> tuple[_Choice, Vector | None]:
    """The choice that these samples suggest, and the point of the search where it lies."""
    if criterion == "first_level":
        kernel, ridge = _first_level(given.kernel, names, samples, targets, ard)
        return _with_threshold(given, kernel, ridge, names, samples), None
    family = _family(given.kernel, names, samples, ard)
    widths, descents = (WIDTHS, len(WIDTHS)) if start is None else ((1.0,), 1)
    found = criteria.fit(family, targets, CRITERIA[criterion], start, widths, descents, max_evaluations)
    return _with_threshold(given, found.kernel, found.ridge, names, samples), found.point


def _family(
    kernel: kernels.Kernel | None, names: tuple[Feature, ...], samples: Matrix, ard: bool
) -> criteria.Gaussian | criteria.Expression:
    """The kernels among which one is chosen."""
    if kernel is None:
        return criteria.Gaussian(samples, names, per_feature=ard)
    kernel.check_domain(names, samples)
    return criteria.Expression(samples, names, kernel.per_feature(names) if ard else kernel)


def _choose_forgetting(
    given: _Choice,
    names: tuple[Feature, ...],
    samples: Matrix,
    targets: Matrix,
    ard: bool,
    start: Vector | None,
    max_evaluations: int,
) -> list[_Choice]:
    """A choice by each rule of forgetting, where these samples say clearly that the function changes."""
    family = _family(given.kernel, names, samples, ard)
    still = criteria.fit(family, targets, start=start, max_evaluations=max_evaluations)
    drift = criteria.fit_drift(family, targets, still, max_evaluations)
    if drift is None:
        return []
    choice = _with_threshold(given, drift.kernel, drift.ridge, names, samples)
    return [choice._replace(forgetting=(drift.forgetting, rule)) for rule in RULES]


def _with_threshold(
    given: _Choice, kernel: kernels.Kernel, ridge: float, names: tuple[Feature, ...], samples: Matrix
) -> _Choice:
    """The threshold that goes with a kernel and a ridge; the exact learners, which have none, stay exact."""
    if given.threshold is None:
        return _Choice(kernel, ridge, None)
    low, high = (limit * float(kernel.diagonal(samples, names).mean()) for limit in THRESHOLD_RANGE)
    return _Choice(kernel, ridge, min(max(THRESHOLD_SHARE * ridge, low), high))


def _first_level(
    kernel: kernels.Kernel | None, names: tuple[Feature, ...], samples: Matrix, targets: Matrix, ard: bool
) -> tuple[kernels.Kernel, float]:
    """The kernel and the ridge of `batch.first_level`, for features and targets in units of their spread."""
    if not isinstance(kernel, kernels.RBF | None):
        raise ValueError(f"criterion 'first_level' learns the scales of a Gaussian kernel (RBF), not of {kernel!r}")
    from .batch.first_level import first_level

    units = np.where(np.ptp(samples, axis=0) > 0.0, samples.std(axis=0), 1.0)
    center, spread = targets.mean(axis=0), float(targets.std(axis=0).max())
    learned = first_level(samples / units, (targets - center) / spread, ard, None, None, FOLDS, 0)
    with np.errstate(divide="ignore"):
        scales = units / np.sqrt(2.0 * np.broadcast_to(learned.theta, len(names)))
    # The batch form has a bias without a prior; this one is wide enough for the targets' mean.
    level = 1.0 + float((center**2).mean()) / spread**2
    return kernels.RBF(dict(zip(names, scales.tolist(), strict=True))) + level, learned.ridge


def _learn(learner: Any, names: tuple[Feature, ...], samples: Matrix, y: Any) -> Vector:
    """Learn the samples; the squared errors made before each was learned."""
    if isinstance(learner, LSSVMClassifier):
        squares = np.zeros(len(samples))
        for i, (row, label) in enumerate(zip(samples.tolist(), y, strict=True)):
            learner.learn_one(dict(zip(names, row, strict=True)), label)
            squares[i] = float(np.square(learner.recursion.errors).sum())
        return squares
    targets = reading.column("y", y, len(samples))
    return (targets - learner.learn_rows(names, samples, targets)[0]) ** 2


def _held_out_error(
    learner: Any, choice: _Choice, names: tuple[Feature, ...], samples: Matrix, y: Any, split: int
) -> float:
    """The mean squared error on the samples after the split, each predicted before it is learned."""
    error = float(_learn(_with(learner, choice), names, samples, y)[split:].mean())
    return error if np.isfinite(error) else np.inf
