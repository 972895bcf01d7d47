"""The experts of one tuning, mixed: rows of encoded numbers in, moments of the target out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..core.types import Matrix, Vector
from ..ensembles.weighting import OUTLIER_SQUARE, SMALLEST_VARIANCE, Weighting
from ..learners.bank import Bank
from ..learners.reading import LARGEST_VALUE
from ..learners.recursion import Recursion
from .asked import Guess
from .targets import Numbers
from .tuning import Tuning, scaling_of

# Experts are weighed by their squared errors in units of the mixture's own, a mean over about 30 samples. In units of
# each expert's variance, one that forgets fast would win where the noise changes, as only it knows the noise.
DISCOUNT, SHARE, SQUARE_RATE = 0.99, 0.001, 0.03
# After this many removals from a full dictionary it becomes choosier.
MOST_REMOVALS = 20
# In the same units: beyond it, an expert may refuse what others have learned.
LARGEST_USUAL = 1e5
LINE = "straight line"


def new_weighting(count: int) -> Weighting:
    """Equal weights of so many experts."""
    return Weighting("bma", count, DISCOUNT, SHARE, 2.0)


def shares_of(weighting: Weighting) -> Vector:
    """The experts' shares of a prediction: their weights without what every expert has, to come back by if need be.

    Where there is next to no noise, that would be most of the error.
    """
    weights = weighting.weights
    shares = np.maximum(weights - SHARE / len(weights), 0.0)
    return np.asarray(shares / shares.sum())


class Mixture:
    """Experts over shared dictionaries, in the units of a tuning.

    Parameters
    ----------
    tuning
        Units and kernel.
    bank
        The experts.
    weighting
        How they are weighed.
    square
        The mean square of the mixture's recent errors, in the tuning's units. None is the first expert's noise.

    """

    def __init__(self, tuning: Tuning, bank: Bank, weighting: Weighting, square: float | None = None) -> None:
        self.tuning, self.bank, self.weighting = tuning, bank, weighting
        self.square = bank.experts[0].noise_variance if square is None else square
        self._shares = shares_of(weighting)
        self._lines = [i for i, expert in enumerate(bank.experts) if _shape(expert.kernel, tuning.kernel) == LINE]
        self._seen: tuple[bytes, Vector, Vector, Vector] | None = None

    def _moments(self, row: Vector) -> tuple[Vector, Vector, Vector]:
        """The scaled sample and the experts' means and variances; the last are remembered, as it is learned next."""
        key, seen = row.tobytes(), self._seen  # threads that predict exchange it
        if seen is None or seen[0] != key:
            scaled = self.tuning.scaling.transform(row)
            means, variances = self.bank.moments_of_row(scaled)
            seen = self._seen = key, scaled, means, np.maximum(variances, SMALLEST_VARIANCE)
        return seen[1:]

    def _scaled_row(self, row: Vector) -> Vector:
        seen = self._seen
        return seen[1] if seen is not None and seen[0] == row.tobytes() else self.tuning.scaling.transform(row)

    def predict(self, row: Vector) -> Guess:
        """Mean and variance of the target, in its own units."""
        _, means, variances = self._moments(row)
        weights, tuning = self._shares, self.tuning
        mean = float(weights @ means)
        variance = float(weights @ (variances + (means - mean) ** 2))
        center, unit = tuning.targets.center, tuning.targets.unit
        guessed = center + unit * mean, max(unit**2 * variance, SMALLEST_VARIANCE)
        return Guess(*guessed, center=center, unit=unit, means=means)

    def opinions(self, guess: Guess) -> tuple[float, float]:
        """What the most trusted of the straight lines said, and the standard deviation of what all experts said."""
        best = max(self._lines, key=self.weighting.weights.__getitem__)
        return float(guess.center + guess.unit * guess.means[best]), guess.unit * float(guess.means.std())

    def predict_rows(self, rows: Matrix) -> Vector:
        """The means that `predict` gives for every row."""
        scaled = np.array([self.tuning.scaling.transform(row) for row in rows])
        means, _ = self.bank.moments_of_rows(scaled)
        targets = self.tuning.targets
        return np.asarray(targets.center + targets.unit * (means @ self._shares))

    def is_usual(self, row: Vector, y: float) -> bool:
        """Whether a sample lies where, in the tuning's units, squares and their products are far from overflow."""
        scaled = self._scaled_row(row)
        target = (y - self.tuning.targets.center) / self.tuning.targets.unit
        return bool((np.abs(scaled) <= LARGEST_USUAL).all() and abs(target) <= LARGEST_USUAL)  # NaN is not

    def scaled(self, y: float) -> float:
        """A target in the tuning's units, or an error where it cannot be learned in them."""
        target = (y - self.tuning.targets.center) / self.tuning.targets.unit
        if not abs(target) <= LARGEST_VALUE:
            raise ValueError(f"target y is {y!r}, too far from those before for its square; rescale the target")
        return target

    def learn(self, row: Vector, y: float, w: float, guess: Guess) -> None:
        """Weigh the experts by what they said of the sample when it was asked for, then let them learn it."""
        target = self.scaled(y)
        if len(guess.means):
            self._judge(guess.means_in(self.tuning.targets.center, self.tuning.targets.unit), target)
        if self.bank.learn_row(self._scaled_row(row), target, w):
            self.bank.relax(MOST_REMOVALS)
        self._seen = None

    def _judge(self, means: Vector, target: float) -> None:
        losses = (target - means) ** 2
        mixed = float(self._shares @ means)
        self.square += SQUARE_RATE * ((target - mixed) ** 2 - self.square)
        unit = max(self.square, SMALLEST_VARIANCE)
        self.weighting.update(-0.5 * np.minimum(losses / unit, OUTLIER_SQUARE), losses)
        self._shares = shares_of(self.weighting)

    @property
    def best(self) -> Recursion:
        """The expert with the largest weight."""
        return self.bank.experts[int(np.argmax(self.weighting.weights))].recursion

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each expert, by what it is."""
        return dict(zip(names_of(self.tuning, self.bank), self.weighting.weights.tolist(), strict=True))

    def get_state(self) -> dict[str, Any]:
        """For a checkpoint."""
        tuning = self.tuning
        center, unit = tuning.targets.get_state()
        return {
            "point": tuning.point,
            "columns": [tuple(column) for column in tuning.scaling.columns],
            "units": [center, unit, tuning.ridge, tuning.reference, self.square],
            "kernel": tuning.kernel,
            "experts": self.bank.experts,
            "weighting": self.weighting.get_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], names: list[str]) -> Mixture:
        """From a checkpoint, for rows of these columns."""
        center, unit, ridge, reference, square = state["units"]
        scaling = scaling_of(state["columns"], names)
        tuning = Tuning(scaling, Numbers(center, unit), state["point"], ridge, state["kernel"], reference)
        bank = Bank(state["experts"])
        weighting = new_weighting(len(bank.experts))
        weighting.set_state(state["weighting"])
        return cls(tuning, bank, weighting, square)


def names_of(tuning: Tuning, bank: Bank) -> list[str]:
    """What each expert of a bank is."""
    return [f"{_shape(expert.kernel, tuning.kernel)}, {_pace(expert)}" for expert in bank.experts]


def _shape(kernel: kernels.Kernel | None, learned: kernels.Kernel) -> str:
    if kernel == learned:
        return "learned kernel"
    return "rough kernel" if "Laplacian" in repr(kernel) else LINE


def _pace(expert: Any) -> str:
    return "no forgetting" if expert.forgetting == 1.0 else f"forgetting {expert.forgetting:g} ({expert.forget})"
