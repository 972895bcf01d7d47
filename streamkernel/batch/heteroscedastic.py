"""Heteroscedastic kernel ridge regression: the alternation between the mean and the noise, for any kind of residual.

Cawley, Talbot & Chapelle (2006), "Estimating predictive variances with kernel ridge regression", section 3. With the
residuals of the fit it is `hkrr`, with leave-one-out residuals `loohkrr`; `log_deviation` is the step of the noise,
`variances` has the simpler variances of section 7, `nlpd_search` the choice of kernels and ridges.

Paper -> code: γᵘ ridge, γˢ noise_ridge, 𝒦ᵘ kernel, 𝒦ˢ noise_kernel.

Two prints are put right here. The likelihood term of (5) carries an extra ½, so the diagonal of the mean's system is
γᵘZ with Z = 2σ². And (5) has no lower bound, as the paper says: a floor under the squared residuals gives it one.
"""

from __future__ import annotations

import abc
import dataclasses
import math
import warnings
from collections import deque
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import checks, kernels
from ..core.types import Vector
from ..deprecation import formerly
from ..learners.heteroscedastic import HeteroscedasticKRLS
from ..targets import TargetScaler
from . import arguments
from .features import arrange, feature_names, read_samples, read_training, teach
from .known_noise import install
from .log_deviation import LogDeviation, steepest, warn_not_converged
from .parameters import KernelParameters
from .system import Expansion, RidgeSystem

# How many past steps the alternation is extrapolated from, and the relative size at which their differences are noise.
MEMORY, NEGLIGIBLE = 5, 1e-10
# The noise has collapsed where it is less than this many times the floor.
COLLAPSED = 10.0


class Extrapolation:
    """Anderson's acceleration of a fixed-point iteration: the combination of the last steps whose movement is least."""

    def __init__(self) -> None:
        self._images: deque[Vector] = deque(maxlen=MEMORY + 1)
        self._movements: deque[Vector] = deque(maxlen=MEMORY + 1)

    def extrapolate(self, point: Vector, image: Vector) -> Vector:
        """Where to go on, after a plain step led from `point` to `image`."""
        self._images.append(image)
        self._movements.append(image - point)
        if len(self._images) == 1:
            return image
        movements, images = np.diff(self._movements, axis=0), np.diff(self._images, axis=0)
        mixture = np.linalg.lstsq(movements.T, self._movements[-1], rcond=NEGLIGIBLE)[0]
        return image - mixture @ images


@dataclasses.dataclass(frozen=True)
class RidgeWeights:
    """Weights of samples, and the diagonal that they were given in the system of the mean."""

    weights: Vector
    diagonal: Vector

    def one_left_out(self, system: RidgeSystem, targets: Vector) -> Vector:
        """Residuals without one of the w samples that a sample of weight w stands for; without all of it below one.

        With R its diagonal, α/(aQ_ii + (1 − a)/R_ii), where a = min(1, 1/w) is the part that is left out.
        """
        part = np.minimum(1.0, 1.0 / self.weights)
        coefficients = np.asarray(system.solve(targets)[0])
        return coefficients / (part * np.diagonal(system.inverse) + (1.0 - part) / self.diagonal)


class HeteroscedasticRidge(KernelParameters, RegressorMixin, BaseEstimator, abc.ABC):  # type: ignore[misc]
    """The alternation of section 3, for any way to take residuals."""

    @formerly(ridge_mean="ridge", ridge_noise="noise_ridge")
    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        ridge: float | None = None,
        noise_ridge: float = 1.0,
        noise_kernel: kernels.Kernel | None = None,
        min_noise: float = 1e-6,
        tolerance: float = 1e-9,
        max_iterations: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.noise_ridge = noise_ridge
        self.noise_kernel = noise_kernel
        self.min_noise = min_noise
        self.tolerance = tolerance
        self.max_iterations = max_iterations

    @abc.abstractmethod
    def _noise_residuals(
        self, system: RidgeSystem, targets: Vector, residuals: Vector, weights: RidgeWeights
    ) -> Vector:
        """The residuals that the noise is estimated from."""

    @abc.abstractmethod
    def _improves(self, loss: float, gradient: float, last_loss: float, last_gradient: float) -> bool:
        """Whether an extrapolated step may stay."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit mean and noise to samples X and targets y; a sample of weight 2 counts like two."""
        for name in ("noise_ridge", "min_noise", "tolerance"):
            arguments.positive(name, getattr(self, name))
        if self.ridge is not None:
            arguments.positive("ridge", self.ridge)
        checks.whole("max_iterations", self.max_iterations, low=1)
        arguments.kernel("kernel", self.kernel)
        arguments.kernel("noise_kernel", self.noise_kernel)
        samples, targets = read_training(self, X, y, fewest=2)
        weights = arguments.weights(sample_weight, samples)
        samples, targets, weights = samples[weights > 0.0], targets[weights > 0.0], weights[weights > 0.0]
        center = float(np.average(targets, weights=weights))
        spread = math.sqrt(float(np.average((targets - center) ** 2, weights=weights)))
        if spread == 0.0:
            raise ValueError(f"y is constant ({targets[0]!r}): there is no noise to estimate")
        kernel = kernels.default(samples.shape[1]) if self.kernel is None else self.kernel
        noise_kernel = kernel if self.noise_kernel is None else self.noise_kernel
        samples, features = arrange(self, samples), feature_names(self)
        gram = kernel(samples, features=features)
        noise_gram = gram if noise_kernel == kernel else noise_kernel(samples, features=features)
        floor = self.min_noise * spread
        self.ridge_ = 1.0 / spread**2 if self.ridge is None else float(self.ridge)

        noise = LogDeviation(noise_gram, self.noise_ridge, spread, weights)
        history = Extrapolation()
        plain: Vector | None = None  # where the plain step led, while an extrapolated one is on trial
        path: list[float] = []
        gradients: list[float] = []
        while True:
            variance = noise.variance
            if not (variance.min() > 0.0 and math.isfinite(float(variance.max()))):
                if plain is None:
                    raise ValueError(
                        f"the noise diverges with sample_weight from {weights.min():g} to {weights.max():g}: take "
                        f"weights closer together, or a larger noise_ridge than {self.noise_ridge!r}"
                    )
                noise.parameters, plain = plain, None
                history = Extrapolation()
                continue
            diagonal = 2.0 * self.ridge_ * variance / weights
            system = RidgeSystem(gram, diagonal, bias=True)  # (13) with Z = 2σ²
            coefficients, bias = system.solve(targets)
            residuals = targets - gram @ coefficients - bias
            held_out = RidgeWeights(weights, diagonal)
            squared = self._noise_residuals(system, targets, residuals, held_out) ** 2 + floor**2
            loss = 0.5 * self.ridge_ * float(coefficients @ gram @ coefficients) + noise.loss(squared)  # (5)
            gradient = steepest(noise_gram, noise.gradient(squared))  # the mean's own is zero
            if plain is not None and not self._improves(loss, gradient, path[-1], gradients[-1]):
                noise.parameters, plain = plain, None
                history = Extrapolation()
                continue
            path.append(loss)
            gradients.append(gradient)
            if gradient < self.tolerance:
                break
            if variance.min() < (COLLAPSED * floor) ** 2:
                warnings.warn(
                    f"the noise falls to min_noise={self.min_noise!r}, as where the mean goes through the targets: "
                    "take a larger ridge, noise_ridge or length scale",
                    ConvergenceWarning,
                    stacklevel=2,
                )
                break
            if len(path) == self.max_iterations:
                warn_not_converged(type(self).__name__, self.max_iterations, gradient)
                break
            before = noise.parameters
            noise.step(squared)
            plain = noise.parameters
            noise.parameters = history.extrapolate(before, plain)
        self.objective_path_: Vector = np.array(path)
        self.gradient_norm_, self.n_iter_ = gradients[-1], len(path)
        self.mean_: Expansion = Expansion(kernel, samples, np.asarray(coefficients), float(bias), features)
        self.log_std_: Expansion = Expansion(noise_kernel, samples, noise.coefficients, noise.bias, features)
        self.loo_mean_ = targets - system.leave_one_out_residuals(targets)
        self.loo_std_ = np.exp(noise.leave_one_out(squared))
        self._targets: Vector = targets
        self._weights: Vector = weights
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Vector | tuple[Vector, Vector]:
        """The predictive mean at each row of X, and with `return_std` the predictive standard deviation."""
        samples = read_samples(self, X)
        mean = self.mean_(samples)
        return (mean, np.exp(self.log_std_(samples))) if return_std else mean

    def to_stream(self, threshold: float = 1e-4, max_size: int | None = None, bias: float = 100.0) -> TargetScaler:
        """A `HeteroscedasticKRLS` that predicts what this model predicts, mean and noise, and goes on from there.

        Targets are counted from the constant term of the mean, by a `TargetScaler`. What the threshold keeps out of the
        dictionary is missing from the prediction too. Features are named as in the fit, or 0, 1, ... if they had no
        names.

        Parameters
        ----------
        threshold
            ν of the streaming class.
        max_size
            As in the streaming class.
        bias
            The prior variance of the constant terms of mean and noise, which have none here: how far they may move.

        """
        check_is_fitted(self)
        if self.log_std_.kernel != self.mean_.kernel:
            raise ValueError("noise_kernel must be the kernel of the mean for to_stream: they share a dictionary there")
        samples = self.mean_.points
        # The ridge of a stream is relative to the noise, and ln σ² has four times the prior variance of ln σ. The level
        # of the noise is e^{b'}: then its logarithm has no constant term, as the mean has none beyond the center.
        level = math.exp(2.0 * self.log_std_.bias)
        stream = HeteroscedasticKRLS(
            self.mean_.kernel + bias,
            threshold=threshold,
            ridge=2.0 * self.ridge_ * level,
            noise_ridge=0.25 * self.noise_ridge,
            max_size=max_size,
        )
        centered = self._targets - float(self.mean_.bias)
        teach(stream, feature_names(self), samples, centered, self._weights)
        logarithms = 2.0 * (self.log_std_(samples) - self.log_std_.bias)
        install(stream.recursion, samples, centered, logarithms, self._weights, level)
        return TargetScaler(stream, center=float(self.mean_.bias), unit=1.0)
