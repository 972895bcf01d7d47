"""The regressor that needs no parameters: it learns scales, ridge, noise and pace from the stream itself.

Samples are kept in a window. At the sizes of a geometric schedule, and when drift is detected, the scales of all
features, the ridge, a level and a trend are chosen by the evidence of the newest samples (`criteria`), and experts are
made anew from the window: the learned kernel with several ways of forgetting, a rough one with the same scales, and
a straight line. They share dictionaries (`learners.bank`) and are weighed by discounted Bayesian model averaging
(`ensembles`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from river import base, drift

from . import checks, criteria, kernels
from .checkpoint import Checkpointed
from .core.types import Matrix, Vector
from .encoding import Column, Encoder, Scaling
from .ensembles.weighting import OUTLIER_SQUARE, SMALLEST_VARIANCE, Weighting
from .kernels import Feature
from .learners import dictionary
from .learners.bank import Bank
from .learners.base import gaussian, interval
from .learners.krls import KRLS
from .learners.window import Window

__all__ = ["AutoKernelRegressor"]


class Budget(NamedTuple):
    """What a step may cost."""

    max_size: int
    """Points in a dictionary."""
    tuning: int
    """Samples of which the evidence is taken."""
    window: int
    """Samples that are kept."""


BUDGETS = {"low": Budget(60, 150, 1000), "medium": Budget(150, 300, 4000), "high": Budget(400, 600, 10_000)}
# The time of a step in microseconds: about STEP_TIME + POINT_TIME·m² for m points on a current machine.
STEP_TIME, POINT_TIME = 60.0, 0.008

# The learned kernel: how fast an expert forgets, and how. The rough kernel, for functions with edges: the same.
PACES = ((1.0, "prior"), (0.999, "walk"), (0.99, "walk"), (0.9, "walk"), (0.99, "prior"), (0.999, "prior"))
ROUGH_PACES = ((1.0, "prior"), (0.999, "prior"))
LINEAR_PACES = ((1.0, "prior"), (0.99, "walk"), (0.98, "prior"))
ROUGH_WIDTH, ROUGH_RIDGE = 2.0, 0.1
# Experts are weighed by their squared errors in units of the mixture's own, a mean over about 30 samples. In units of
# each expert's variance, one that forgets fast would win where the noise changes, as only it knows the noise.
DISCOUNT, SHARE, SQUARE_RATE = 0.99, 0.001, 0.03

# The scales are learned anew when the window has grown to these sizes.
FIRST_TUNING, GROWTH = 8, 1.6
MOST_EVALUATIONS = 30
NARROW, NARROW_EVALUATIONS = 0.05, 20
# The dictionary is planned from this many samples, to this share of its limit: the stream will add some.
PLANNING, FILLING = 800, 0.7
THRESHOLD_RANGE = (1e-8, 0.3)
# After this many removals from a full dictionary it becomes choosier.
MOST_REMOVALS = 20

# The intervals' width adapts so that this share of the targets lies inside.
LEVEL, QUANTILE, CALIBRATION_RATE = 0.9, 1.6448536269514722, 0.07
# Predictions stay within the targets seen so far, extended by this part of their range on both sides.
MARGIN = 0.5

# Drift is looked for in errors, in units of those that were usual when the scales were learned. The detector starts
# from its newest values after this many.
DRIFT_LIMIT, DRIFT_MEMORY, LARGEST_ERROR = 2000, 500, 5.0
FEWEST_AFTER_DRIFT = 40
RELEVANCE_SAMPLES = 100


class AutoKernelRegressor(base.Regressor, Checkpointed):
    """A kernel regressor without parameters.

    It takes features as they come: of any scale, with long tails, words (one column for each, thirty at most for a
    feature), gaps (None, NaN or absent: the mean, and a column that says so), constant ones, and ones that appear late
    or vanish. It predicts from the first sample on. From a window of recent samples it learns a length scale for every
    feature, the noise, a level and a trend; it does so anew as the stream grows and when its errors show drift. Experts
    that forget at different paces are mixed by how well they predict, so that it follows a function that changes and
    stays put where it does not. Intervals are calibrated online: 90 % of the targets lie inside those of 90 %.

    Predictions stay within the range of the targets seen so far, extended by half on both sides.

    Parameters
    ----------
    budget
        What a step may cost on average: `"low"` (60 points in a dictionary, 1000 samples kept), `"medium"` (150, 4000)
        or `"high"` (400, 10000); or a number of microseconds, from which the size of the dictionary follows. A step at
        which the scales are learned anew takes longer, up to a few seconds at `"high"`.

    Examples
    --------

    >>> from river import evaluate, metrics
    >>> from streamkernel import AutoKernelRegressor, datasets

    >>> model = AutoKernelRegressor()
    >>> evaluate.progressive_val_score(datasets.Friedman1(noise=0.1, seed=1).take(1000), model, metrics.RMSE())
    RMSE: 0.7...

    Five of the ten features matter:

    >>> relevance = model.relevance
    >>> sorted(sorted(relevance, key=relevance.get)[5:])
    ['0', '1', '2', '3', '4']
    >>> model.predict_one(dict.fromkeys(range(10), 0.5), with_interval=True)
    Interval(lower=1..., upper=1...)

    """

    def __init__(self, budget: str | float = "medium") -> None:
        self.budget = budget
        self._budget = _as_budget(budget)
        self._encoder = Encoder()
        self._window = Window(self._budget.window, outputs=2, absent=math.nan)  # targets, weights
        self._count = 0
        self._next_tuning = FIRST_TUNING
        self._range = (math.inf, -math.inf)
        self._stretch = 1.0
        self._errors: list[float] = []
        self._detector = drift.ADWIN()
        self._drifts: list[int] = []
        self._tunings: list[int] = []
        self._point: Vector | None = None
        self._scaling: Scaling | None = None
        self._seen: tuple[dict[Feature, float], Vector, Vector] | None = None

    # River's methods -------------------------------------------------------------------------------------------------

    def predict_one(
        self,
        x: Mapping[Hashable, Any],
        with_dist: bool = False,
        with_interval: bool = False,
        interval_level: float = 0.9,
    ) -> Any:
        """Predict the target of `x`.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).
        with_dist
            Return the predictive distribution, a river `Gaussian`, instead of its mean.
        with_interval
            Return its central interval, a river `Interval`.
        interval_level
            The probability of the interval.

        """
        mean, variance = self._predict(self._encoder.read(x))
        if not (with_dist or with_interval):
            return mean
        distribution = gaussian(mean, self._stretch**2 * variance)
        return interval(distribution, interval_level) if with_interval else distribution

    def learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).
        y
            The target.
        w
            The sample's weight.

        """
        target = dictionary.target(y)
        dictionary.noise(w)
        encoded = self._encoder.read(x)
        mean, variance = self._predict(encoded)
        encoded = self._encoder.learn(x, encoded)
        error = (target - mean) / math.sqrt(variance)
        if self._count > 1:
            missed = abs(error) > QUANTILE * self._stretch
            self._stretch *= math.exp(CALIBRATION_RATE * (missed - (1.0 - LEVEL)))
        self._count += 1
        self._window.append(encoded, [target, w])
        self._range = min(self._range[0], target), max(self._range[1], target)
        if self._scaling is not None:
            self._learn_scaled(encoded, self._scaling, (target - self._center) / self._unit, w)
            if self._has_drifted(min(abs(target - mean) / self._reference, LARGEST_ERROR)):
                self._next_tuning = len(self._window)
        if self._next_tuning <= len(self._window):
            self._next_tuning = math.ceil(GROWTH * len(self._window))
            self._tune()

    def predict_learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> float:
        """Learn one sample and return the prediction that `predict_one` would have made before."""
        prediction = float(self.predict_one(x))
        self.learn_one(x, y, w)
        return prediction

    def _predict(self, encoded: dict[Feature, float]) -> tuple[float, float]:
        """Mean and variance, before calibration."""
        if not self._count:
            return 0.0, 1.0
        low, high = self._range
        if self._scaling is None:
            targets = self._window.targets[:, 0]
            spread = float(targets.var()) or (float(targets.mean()) ** 2 or 1.0)
            return float(targets.mean()), spread * (1.0 + 1.0 / self._count)
        means, variances = self._moments(encoded, self._scaling)
        weights = self._weighting.weights
        mean = float(weights @ means)
        variance = float(weights @ (variances + (means - mean) ** 2))
        reach = MARGIN * (high - low)
        mean = min(max(self._center + self._unit * mean, low - reach), high + reach)
        return mean, max(self._unit**2 * variance, SMALLEST_VARIANCE)

    def _moments(self, encoded: dict[Feature, float], scaling: Scaling) -> tuple[Vector, Vector]:
        """The experts' means and variances; those of the last sample are remembered, as it is learned next."""
        if self._seen is None or self._seen[0] != encoded:
            means, variances = self._bank.moments(scaling.transform(encoded))
            self._seen = encoded, means, np.maximum(variances, SMALLEST_VARIANCE)
        return self._seen[1], self._seen[2]

    def _learn_scaled(self, encoded: dict[Feature, float], scaling: Scaling, target: float, w: float) -> None:
        """Weigh the experts by their predictions of the sample, then let them learn it."""
        means, _ = self._moments(encoded, scaling)
        losses = (target - means) ** 2
        mixed = float(self._weighting.weights @ means)
        self._square += SQUARE_RATE * ((target - mixed) ** 2 - self._square)
        unit = max(self._square, SMALLEST_VARIANCE)
        self._weighting.update(-0.5 * np.minimum(losses / unit, OUTLIER_SQUARE), losses)
        self._bank.learn(scaling.transform(encoded), target, w)
        self._bank.relax(MOST_REMOVALS)
        self._seen = None

    # What is learned from the window ---------------------------------------------------------------------------------

    def _has_drifted(self, error: float) -> bool:
        """Whether the standardized errors have grown; if so, the window keeps what came after the change."""
        before = self._detector.estimation
        self._errors.append(error)
        self._detector.update(error)
        grown = self._detector.drift_detected and self._detector.estimation > before
        if grown and self._detector.width < len(self._window):
            self._window.keep(max(int(self._detector.width), FEWEST_AFTER_DRIFT))
            self._drifts.append(self._count)
            return True
        if len(self._errors) >= DRIFT_LIMIT:
            self._watch(self._errors[-DRIFT_MEMORY:])
        return False

    def _watch(self, errors: list[float]) -> None:
        """A detector that has seen these errors."""
        self._errors, self._detector = errors, drift.ADWIN()
        for error in errors:
            self._detector.update(error)

    def _tune(self) -> None:
        """Learn scales, ridge, level and trend by the evidence of the newest samples; make the experts anew."""
        names = [str(name) for name in self._window.names]
        samples, (targets, weights) = self._window.samples, self._window.targets.T
        words = self._encoder.word_columns()
        samples = np.where(np.isnan(samples) & [name in words for name in names], 0.0, samples)
        scaling, center, unit = Scaling(names, samples), float(targets.mean()), float(targets.std())
        if not scaling.columns or not unit > 0.0:
            return  # nothing varies yet: the mean says it all
        rows, scaled = scaling.transform_many(names, samples), (targets - center) / unit
        family, recent = self._newest(self._budget.tuning, scaling.names, rows, scaled)
        # Scales much shorter than usual (a column that numbers things) are out of reach of a descent that starts wide.
        few, part = self._newest(self._budget.tuning // 2, scaling.names, rows, scaled)
        narrow = criteria.fit(few, part, widths=(NARROW,), max_evaluations=NARROW_EVALUATIONS).point
        others = [narrow] if len(narrow) == len(family.center) + 1 else []
        found = criteria.fit(family, recent, start=self._point, max_evaluations=MOST_EVALUATIONS, others=others)
        self._scaling, self._center, self._unit, self._point = scaling, center, unit, found.point
        self._ridge, self._kernel = found.ridge, found.kernel
        rough = family.kernel(found.point[:-1], kernels.Laplacian, ROUGH_WIDTH)
        experts = self._experts(found.kernel, found.ridge, PACES, rows)
        experts += self._experts(rough, max(found.ridge, ROUGH_RIDGE), ROUGH_PACES, rows)
        # To a straight line the rest of the function is noise, and its variance is the unit of the ridge.
        experts += self._experts(family.straight(found.point[:-1]), 1.0 + found.ridge, LINEAR_PACES, rows)
        self._bank = Bank(experts)
        self._bank.learn_many(tuple(scaling.names), rows, scaled, weights)
        self._square = experts[0]._model.noise_variance
        self._reference = unit * math.sqrt(experts[0]._model.noise_variance or SMALLEST_VARIANCE)
        if not self._tunings:
            self._weighting = Weighting("bma", len(experts), DISCOUNT, SHARE, 2.0)
        self._tunings.append(self._count)
        self._seen = None

    def _newest(self, count: int, names: list[str], rows: Matrix, targets: Vector) -> tuple[criteria.Gaussian, Matrix]:
        """The kernel's family on the newest samples, and their targets."""
        return criteria.Gaussian(rows[-count:], names), targets[-count:, None]

    def _experts(
        self, kernel: kernels.Kernel, ridge: float, paces: tuple[tuple[float, str], ...], rows: Any
    ) -> list[KRLS]:
        """Experts that forget at different paces over one dictionary, which is planned to fit the budget."""
        plan = np.random.default_rng(0).permutation(len(rows))[:PLANNING]
        threshold = min(max(ridge, THRESHOLD_RANGE[0]), THRESHOLD_RANGE[1])
        size = int(FILLING * self._budget.max_size)
        names = [str(name) for name in self._scaling.names] if self._scaling else []
        # What the dictionary leaves out is noise to those who use it.
        threshold, unseen = criteria.fit_dictionary(kernel(rows[plan], features=names), threshold, size)
        return [
            KRLS(kernel, threshold, ridge + unseen, pace, way, max_size=self._budget.max_size) for pace, way in paces
        ]

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of points in the dictionary of the learned kernel."""
        return self._bank.experts[0].size if self._scaling is not None else 0

    @property
    def relevance(self) -> dict[str, float]:
        """How much each column matters now; they sum to one.

        It is the mean change of the prediction, of the expert with the largest weight, over one standard deviation of
        the column, at the newest samples.
        """
        if self._scaling is None:
            return {}
        names = [str(name) for name in self._window.names]
        rows = self._scaling.transform_many(names, self._window.samples[-RELEVANCE_SAMPLES:])
        model = self._bank.experts[int(np.argmax(self._weighting.weights))]._model
        columns = tuple(self._scaling.names)
        changes = []
        for r in range(len(columns)):
            high, low = (model.predict_many(columns, rows + step * np.eye(len(columns))[r]) for step in (0.5, -0.5))
            changes.append(float(np.abs(high - low).mean()))
        total = sum(changes) or 1.0
        return {str(name): change / total for name, change in zip(columns, changes, strict=True)}

    def explain(self) -> str:
        """What was chosen, and why, as text."""
        lines = [f"AutoKernelRegressor, budget {self.budget!r}: {self._count} samples learned."]
        if self._scaling is None:
            return "\n".join([*lines, "Nothing chosen yet: predictions are the mean of the targets."])
        relevance = self.relevance
        order = sorted(relevance, key=relevance.__getitem__, reverse=True)
        used = {column.source for column in self._scaling.columns}
        left_out = [str(name) for name in self._window.names if name not in used]
        bent = [column.name for column in self._scaling.columns if column.bent]
        lines += [
            f"Scales, ridge and trend were learned {len(self._tunings)} times by the evidence of the newest samples, "
            f"last at sample {self._tunings[-1]}.",
            "Columns by relevance: " + ", ".join(f"{name} {relevance[name]:.2g}" for name in order) + ".",
            *([f"Left out, as they did not vary: {', '.join(left_out)}."] if left_out else []),
            *([f"Bent by asinh, as they have long tails: {', '.join(bent)}."] if bent else []),
            *([f"Gaps taken as the mean: {self._encoder.gaps}."] if self._encoder.gaps else []),
            f"Noise variance over that of the function: {self._ridge:.2g}.",
            f"Dictionary: {self.size} points of at most {self._budget.max_size}; window: {len(self._window)} samples.",
            f"Times that drift was detected: {len(self._drifts)}"
            + (f", last at sample {self._drifts[-1]}." if self._drifts else "."),
            f"Intervals are stretched by {self._stretch:.2g} so that 90 % of the targets lie inside.",
            "Experts by weight:",
        ]
        for weight, expert in sorted(
            zip(self._weighting.weights.tolist(), self._bank.experts, strict=True), key=lambda pair: -pair[0]
        ):
            shape = self._shape(expert.kernel)
            pace = (
                "no forgetting" if expert.forgetting == 1.0 else f"forgetting {expert.forgetting:g} ({expert.forget})"
            )
            lines.append(f"  {weight:.3f}  {shape}, {pace}")
        return "\n".join(lines)

    def _shape(self, kernel: kernels.Kernel | None) -> str:
        if kernel == self._kernel:
            return "learned kernel"
        return "rough kernel" if "Laplacian" in repr(kernel) else "straight line"

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        state = {
            "words": self._encoder.words,
            "gaps": self._encoder.gaps,
            "window": self._window.get_state(),
            "count": self._count,
            "next": self._next_tuning,
            "range": list(self._range),
            "stretch": self._stretch,
            "errors": self._errors,
            "drifts": self._drifts,
            "tunings": self._tunings,
        }
        if self._scaling is not None:
            state |= {
                "point": self._point,
                "columns": [tuple(column) for column in self._scaling.columns],
                "units": [self._center, self._unit, self._ridge, self._reference, self._square],
                "kernel": self._kernel,
                "experts": self._bank.experts,
                "weighting": self._weighting.get_state(),
            }
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        self._encoder.words, self._encoder.gaps = state["words"], state["gaps"]
        self._window.set_state(state["window"])
        self._count, self._next_tuning, self._stretch = state["count"], state["next"], state["stretch"]
        self._range = (state["range"][0], state["range"][1])
        self._drifts, self._tunings = state["drifts"], state["tunings"]
        self._watch(state["errors"])
        if "point" in state:
            self._point = state["point"]
            self._scaling = Scaling([], np.empty((0, 0)))
            self._scaling.columns = [Column(*column) for column in state["columns"]]
            self._center, self._unit, self._ridge, self._reference, self._square = state["units"]
            self._kernel = state["kernel"]
            self._bank = Bank(state["experts"])
            self._weighting = Weighting("bma", len(self._bank.experts), DISCOUNT, SHARE, 2.0)
            self._weighting.set_state(state["weighting"])


def _as_budget(budget: Any) -> Budget:
    if isinstance(budget, str):
        checks.choice("budget", budget, tuple(BUDGETS))
        return BUDGETS[budget]
    checks.number("budget", budget, low=STEP_TIME, open_low=True)
    size = max(10, int(math.sqrt((budget - STEP_TIME) / POINT_TIME)))
    return Budget(size, min(2 * size, 600), min(27 * size, 10_000))
