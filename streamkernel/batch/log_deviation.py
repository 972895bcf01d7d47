"""A model of the logarithm of a standard deviation, fitted to squared residuals: the noise of `HKRR` and `LOOHKRR`.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", eqs. (14) to (16).

Paper -> code: γˢ ridge, z log_std, 2ξ squared, β weight, η target.

A print is put right here: the weights of the iteratively re-weighted least squares for log σ are β = 2ξe^{−2z} with
targets η = z − 1/(2β) + ½, as derived above (16) and not as in (16), whose σ is low by √2.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.types import Matrix, Vector
from .system import RidgeSystem

# Newton weights below this are raised to it, as they are divided by. The step changes, not the minimum it leads to.
SMALLEST_WEIGHT = 1e-6
# Line search (Armijo): the part of the predicted decrease that a step must reach, and the shortest step tried.
SUFFICIENT_DECREASE, SHORTEST_STEP = 1e-4, 1e-10
# Differences of the objective that are rounding: relative to its size.
ROUNDING = 1e-13


class LogDeviation:
    """A model of z = log σ on the training inputs, z = Kα + b1, that minimizes (14) for given squared residuals.

    ½γ α'Kα + ½ Σᵢ (zᵢ + ½ rᵢ² e^{−2zᵢ}) is convex in (α, b). A step is a Newton step, which is a weighted ridge
    regression, under a line search, followed by the exact minimum over b: mean r²/σ² = 1.

    Parameters
    ----------
    gram
        K, the kernel matrix of the training inputs.
    ridge
        γˢ, positive.
    start
        The constant standard deviation to begin with, positive.
    counts
        How often each sample counts, positive; once if it is not said.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.batch.log_deviation import LogDeviation
    >>> noise = LogDeviation(np.eye(3), ridge=0.5, start=1.0)
    >>> squared = np.array([1.0, 4.0, 9.0])
    >>> noise.fit(squared)
    >>> noise.std.round(3)
    array([1.271, 1.954, 2.598])
    >>> float(np.mean(squared / noise.std**2).round(9))
    1.0

    """

    def __init__(self, gram: Matrix, ridge: float, start: float, counts: Vector | None = None) -> None:
        self.gram = gram
        self.counts: Vector = np.ones(len(gram)) if counts is None else counts
        self.ridge = ridge
        self.coefficients: Vector = np.zeros(len(gram))
        self.bias = math.log(start)

    @property
    def parameters(self) -> Vector:
        """(α, b) as one vector."""
        return np.append(self.coefficients, self.bias)

    @parameters.setter
    def parameters(self, values: Vector) -> None:
        self.coefficients, self.bias = values[:-1], float(values[-1])

    @property
    def log_std(self) -> Vector:
        """z at the training inputs."""
        return self.gram @ self.coefficients + self.bias

    @property
    def std(self) -> Vector:
        """σ at the training inputs."""
        return np.exp(self.log_std)

    @property
    def variance(self) -> Vector:
        """σ² there; infinite or zero where a step went too far."""
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self.std**2)

    def loss(self, squared: Vector) -> float:
        """The terms of (5) that hold z: γˢ times (14)."""
        log_std = self.log_std
        with np.errstate(over="ignore"):  # a trial step may go too far: its loss is then infinite
            likelihood = 0.5 * np.sum(self.counts * (log_std + 0.5 * squared * np.exp(-2.0 * log_std)))
        return float(0.5 * self.ridge * self.coefficients @ self.gram @ self.coefficients + likelihood)

    def gradient(self, squared: Vector) -> Vector:
        """γˢα + ∂l/∂z: the loss's derivatives by (α, b) are K times this vector, and its sum."""
        return self.ridge * self.coefficients + 0.5 * self.counts * (1.0 - self._weight(squared))

    def step(self, squared: Vector) -> None:
        """A Newton step for these squared residuals under a line search; it never raises the loss."""
        self._shift(squared)
        log_std, weight = self.log_std, self._weight(squared)
        floored = np.maximum(weight, SMALLEST_WEIGHT)
        target = log_std + 0.5 * (weight - 1.0) / floored  # η, from the line above (15)
        coefficients, bias = RidgeSystem(self.gram, self.ridge / (self.counts * floored), bias=True).solve(target)
        old, old_bias, old_loss = self.coefficients, self.bias, self.loss(squared)
        direction = coefficients - old
        slope = min(0.0, float(self.gradient(squared) @ self.gram @ direction))
        length = 1.0
        while length > SHORTEST_STEP:
            self.coefficients = old + length * direction
            self.bias = old_bias + length * (float(bias) - old_bias)
            self._shift(squared)
            if self.loss(squared) <= old_loss + SUFFICIENT_DECREASE * length * slope + ROUNDING * (1.0 + abs(old_loss)):
                return
            length /= 2.0
        self.coefficients, self.bias = old, old_bias

    def fit(self, squared: Vector, tolerance: float = 1e-10, max_iterations: int = 100) -> None:
        """Newton steps until the derivatives of the loss are below `tolerance`."""
        for _ in range(max_iterations):
            gradient = self.gradient(squared)
            if steepest(self.gram, gradient) < tolerance:
                return
            self.step(squared)
        warn_not_converged("LogDeviation", max_iterations, steepest(self.gram, self.gradient(squared)))

    def leave_one_out(self, squared: Vector) -> Vector:
        """zᵢ of the model without sample i, to first order: eq. (24) for the weighted regression at the minimum."""
        noise = self.ridge / (self.counts * np.maximum(self._weight(squared), SMALLEST_WEIGHT))
        inverse = np.diagonal(RidgeSystem(self.gram, noise, bias=True).inverse)
        return self.log_std - self.coefficients * (1.0 / inverse - noise)

    def _weight(self, squared: Vector) -> Vector:
        """β = 2ξe^{−2z}, the curvature of the likelihood."""
        with np.errstate(over="ignore"):
            return np.asarray(squared * np.exp(-2.0 * self.log_std))

    def _shift(self, squared: Vector) -> None:
        """Minimize over b alone: mean β = 1."""
        with np.errstate(divide="ignore"):  # a residual of zero has no part in the mean
            logarithms = np.log(squared) - 2.0 * self.log_std
        largest = logarithms.max()
        self.bias += 0.5 * float(largest + np.log(np.average(np.exp(logarithms - largest), weights=self.counts)))


def steepest(gram: Matrix, gradient: Vector) -> float:
    """The largest derivative by (α, b), K times `gradient` and its sum; K counts relative to its diagonal above 1."""
    scale = max(1.0, float(np.diagonal(gram).max()))
    return max(float(np.abs(gram @ gradient).max()) / scale, abs(float(gradient.sum())))


def warn_not_converged(name: str, iterations: int, gradient: float) -> None:
    """Warn the caller of the method that calls this."""
    warnings.warn(
        f"{name} has not converged in {iterations} iterations: the gradient is {gradient:.2g}",
        ConvergenceWarning,
        stacklevel=3,
    )
