"""Kernel learning at the first level of inference: scales and coefficients minimize one regularized training criterion.

Cawley & Talbot (2014), "Kernel learning at the first level of inference", Neural Networks 53, §2: eqs. (1) to (5).
Paper -> code: λ ridge, μ penalty, θ theta (scales), α coefficients, b bias, D_r squared differences of feature r.

At the exact solution of (3) the training criterion (5) and its slope need no residuals, since y − f = λα (over the
weight of the sample, where it has one) and 1'α = 0:

    L(θ) = ½λ α'y + ½μ‖θ‖²,     ∂L/∂θ_r = ½λ α'(K∘D_r)α + μθ_r,

and α'(K∘D_r)α is a sum over pairs with weights K∘αα', so that all slopes come from one matrix product. The paper
optimizes without bounds; here θ ≥ 0 is a bound of L-BFGS-B, so that the scale of an irrelevant feature becomes exactly
zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from sklearn.utils.validation import check_random_state

from ..core.types import Matrix, Vector
from ..criteria import weighted_squares
from .classifier import per_class
from .cross_validation import RIDGE_RANGE, RIDGE_STARTS, SCALE_STARTS, least_error
from .folds import Folds, HeldOut, make_folds, standard_error
from .scales import Scales, scaled_gram, start_scale
from .system import RidgeSystem

# The search for μ starts from the best of these and stays in this range; that for λ starts from here too, because the
# ridge of the best common scale is useless where that scale must interpolate the targets.
PENALTY_STARTS = (0.1, 10.0, 1000.0)
RIDGE_START = 0.05
PENALTY_RANGE = (1e-6, 1e9)
# The simplex search over ln λ and ln μ: its first step, and the change of a logarithm and of the criterion that end
# it. The criterion is flat about its minimum (Figure 1(b)): a finer search changes no decision.
FIRST_STEP = 2.0
LOG_TOLERANCE = 0.5
CRITERION_TOLERANCE = 2e-3
MOST_EVALUATIONS = 40
# Standard errors by which a difference in wrong decisions is no chance.
CERTAIN = 2.0
# Decrease of (5), relative to its start, that ends the descent on θ.
TOLERANCE = 1e-4


def training_criterion(
    theta: Vector, X: Matrix, targets: Matrix, ridge: float, penalty: float, weights: Vector | float = 1.0
) -> tuple[float, Vector]:
    """Eq. (5) at its minimum over w and b, and its slope in θ; `theta` has one entry, or one for each feature.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.first_level import training_criterion
    >>> X, y = np.array([[0.0], [1.0]]), np.array([[-1.0], [1.0]])
    >>> value, slope = training_criterion(np.array([0.5]), X, y, ridge=0.1, penalty=0.0)
    >>> round(value, 4), slope.round(4)
    (0.2026, array([-0.2491]))

    """
    gram = scaled_gram(theta, X)
    coefficients = RidgeSystem(gram, ridge / weights, bias=True).solve(targets)[0]
    value = 0.5 * ridge * float(np.vdot(coefficients, targets)) + 0.5 * penalty * float(theta @ theta)
    gram *= coefficients @ coefficients.T
    slope = 0.5 * ridge * weighted_squares(gram, X)
    return value, (slope if len(theta) > 1 or X.shape[1] == 1 else slope.sum(keepdims=True)) + penalty * theta


def learn_scales(
    start: Vector, X: Matrix, targets: Matrix, ridge: float, penalty: float, weights: Vector | float = 1.0
) -> Vector:
    """The θ ≥ 0 that the descent on eq. (5) reaches from `start`, in units of the start: of θ, and of the criterion."""
    unit, first = float(start.max()) or 1.0, 0.0

    def criterion(scaled: Vector) -> tuple[float, Vector]:
        nonlocal first
        value, slope = training_criterion(scaled * unit, X, targets, ridge, penalty, weights)
        first = first or value or 1.0  # the search begins by evaluating its start; no targets, no criterion
        return value / first, slope * (unit / first)

    bounds = [(0.0, None)] * len(start)
    options = {"ftol": TOLERANCE, "gtol": 0.0}
    found = optimize.minimize(criterion, start / unit, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return np.asarray(found * unit)


def learn_folds(
    starts: Sequence[Vector], X: Matrix, targets: Matrix, ridge: float, penalty: float, folds: Folds
) -> list[Vector]:
    """For each fold, the scales learned from the other folds."""
    pairs = zip(starts, folds, strict=True)
    return [learn_scales(s, X[fold.kept], targets[fold.kept], ridge, penalty, fold.weights) for s, fold in pairs]


def predict_folds(thetas: list[Vector], X: Matrix, targets: Matrix, ridge: float, folds: Folds) -> HeldOut:
    """The prediction for each sample of the model fitted without its fold, with that fold's scales; in their order."""
    made = []
    for theta, fold in zip(thetas, folds, strict=True):
        kept = X[fold.kept]
        system = RidgeSystem(scaled_gram(theta, kept), ridge / fold.weights, bias=True)
        coefficients, bias = system.solve(targets[fold.kept])
        made.append(scaled_gram(theta, X[fold.held], kept) @ coefficients + bias)
    rows = np.concatenate([fold.held for fold in folds])
    order = np.argsort(rows, kind="stable")
    return HeldOut(np.vstack(made)[order], rows[order], np.concatenate([fold.counts for fold in folds])[order])


def select_regularization(
    start: Vector, X: Matrix, targets: Matrix, ridge: float, fixed: tuple[float | None, float | None], folds: Folds
) -> tuple[float, float, Vector]:
    """The λ and μ of least k-fold squared error (§2.2), by the Nelder-Mead simplex on their logarithms.

    The scales are learned anew in each fold, so only two numbers are fitted to the criterion. The descent in a fold
    begins where it ended for the best λ and μ so far, the first time at `start`; the mean over the folds of where it
    ended at last is returned too. `ridge` is where the search for λ starts; what is not None in `fixed` stays.
    """
    free = np.array([value is None for value in fixed])
    point = np.log([fixed[0] or ridge, fixed[1] or 1.0])
    best_value, best_thetas = np.inf, [start] * len(folds)

    def criterion(logarithms: Vector) -> float:
        nonlocal best_value, best_thetas
        point[free] = logarithms
        level, penalty = np.exp(point)
        thetas = learn_folds(best_thetas, X, targets, level, penalty, folds)
        held_out = predict_folds(thetas, X, targets, level, folds)
        squares = ((targets[held_out.rows] - held_out.predictions) ** 2).sum(axis=1)
        value = 0.5 * float(held_out.counts @ squares)
        if value < best_value:
            best_value, best_thetas = value, thetas
        return value

    ridges = (ridge, RIDGE_START) if free[0] else (1.0,)
    penalties = PENALTY_STARTS if free[1] else (1.0,)
    first = min((np.log(pair)[free] for pair in itertools.product(ridges, penalties)), key=criterion)
    simplex = np.vstack([first, first + FIRST_STEP * np.diag([1.0, -1.0])[np.ix_(free, free)]])
    found = optimize.minimize(
        criterion,
        first,
        method="Nelder-Mead",
        bounds=np.log([RIDGE_RANGE, PENALTY_RANGE])[free],
        options={
            "initial_simplex": simplex,
            "xatol": LOG_TOLERANCE,
            "fatol": CRITERION_TOLERANCE * best_value,
            "maxfev": MOST_EVALUATIONS,
        },
    )
    point[free] = found.x
    return float(np.exp(point[0])), float(np.exp(point[1])), np.mean(best_thetas, axis=0)


class FirstLevel(NamedTuple):
    """A kernel learned at the first level, and how the procedure that made it predicts samples held out."""

    theta: Vector
    ridge: float
    penalty: float
    held_out: HeldOut
    losses: dict[str, float]


def first_level(
    X: Matrix,
    targets: Matrix,
    ard: bool | str,
    ridge: float | None,
    penalty: float | None,
    folds: int,
    random_state: Any,
    classify: bool = False,
    weights: Vector | None = None,
) -> FirstLevel:
    """Learn the kernel of samples X: start from the common scale of least leave-one-out error, choose λ and μ, learn θ.

    The partition on which the result is judged (for calibration, and to choose between one scale and several when
    `ard` is "auto") is not the one on which λ and μ were chosen. With `classify` targets are ±1 and the decisions count
    there as well. `weights` are what samples count, 1 by default: distinct ones, as `folds.bring_together` makes them.
    """
    weights = np.ones(len(X)) if weights is None else weights
    random = check_random_state(random_state)
    order = np.arange(len(X))
    if (weights != 1.0).any():  # the search follows its rounding errors, which depend on the order of the samples
        order = np.lexsort(np.hstack([X, targets]).T)
    X, targets, weights = X[order], targets[order], weights[order]
    selection_folds, outer_folds = (make_folds(len(X), folds, random, weights) for _ in range(2))
    X = X - X.mean(axis=0)  # the kernel does not see the shift, the arithmetic does
    starts = itertools.product(SCALE_STARTS, RIDGE_STARTS if ridge is None else (ridge,))
    first = Scales(X, np.array([start_scale(X, weights)]))
    log_theta, start_ridge = least_error(first, targets, None, ridge, starts, weights)
    common = np.exp(log_theta)
    start = np.full(X.shape[1], common[0]) if ard else common

    if ridge is None or penalty is None:
        fixed = (ridge, penalty)
        ridge, penalty, start = select_regularization(start, X, targets, start_ridge, fixed, selection_folds)
    thetas = learn_folds([start] * len(outer_folds), X, targets, ridge, penalty, outer_folds)
    held_out = {
        "learned": predict_folds(thetas, X, targets, ridge, outer_folds),
        "common": predict_folds([common] * len(outer_folds), X, targets, start_ridge, outer_folds),
    }
    _, rows, counts = held_out["learned"]
    losses = _compared(
        {name: ((targets[rows] - made) ** 2).mean(axis=1) for name, (made, *_) in held_out.items()}, counts
    )
    if classify:
        labels = per_class(targets[rows]).argmax(axis=1)
        wrong = {name: 1.0 * (per_class(made).argmax(axis=1) != labels) for name, (made, *_) in held_out.items()}
        shares = _compared(wrong, counts)
        losses |= {f"{name} wrong": shares[name] for name in wrong}
        losses["wrong standard error"] = shares["standard error"]
    if ard == "auto" and not learned_is_better(losses):
        return FirstLevel(
            common, start_ridge, 0.0, HeldOut(held_out["common"].predictions, order[rows], counts), losses
        )
    theta = learn_scales(start, X, targets, ridge, penalty, weights)
    return FirstLevel(theta, ridge, penalty, HeldOut(held_out["learned"].predictions, order[rows], counts), losses)


def learned_is_better(losses: Mapping[str, float]) -> bool:
    """Whether learned scales beat the common one for certain, by the standard errors of the paired differences.

    The simpler model is kept where a difference in squared error may be chance (Breiman's one-standard-error rule), and
    unless learned scales classify better too.
    """
    surely = losses["common"] - losses["learned"] > losses["standard error"]
    if "common wrong" in losses:
        corrected = losses["common wrong"] - losses["learned wrong"]
        surely = surely and corrected > CERTAIN * losses["wrong standard error"]
    return surely


def _compared(losses: Mapping[str, Vector], counts: Vector) -> dict[str, float]:
    """The mean losses of both, and the standard error of their difference."""
    means = {name: float(np.average(values, weights=counts)) for name, values in losses.items()}
    return means | {"standard error": standard_error(losses["common"] - losses["learned"], counts)}
