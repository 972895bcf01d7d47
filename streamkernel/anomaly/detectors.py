"""Anomaly detectors with river's interface: of inputs alone, and of inputs and targets."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from river import base

from .. import checks, kernels
from ..auto import AutoKernelRegressor
from ..checkpoint import Checkpointed
from ..distributions import predicted_distribution
from ..learners import KRLS, reading
from .novelty import Novelty
from .tail import ENOUGH, RecentTail

# The share of alarms that are meant for targets; the rest is for inputs. Chosen on the development streams of
# `bench.anomalies`: with one half, new inputs hide unlikely targets where the noise is large.
TARGET_SHARE = 0.8


class KernelAnomalyDetector(base.AnomalyDetector, Checkpointed):
    """Inputs unlike those seen before.

    The score is the share of recent samples that were less new when they came: 0.99 is a sample such as one in a
    hundred. How new a sample is, is the variance of a kernel model at it: what the dictionary of past samples cannot
    represent, and how rarely samples came near. A column that was always there, or always the same, and is not so in a
    sample makes it new too. Features come as they are: of any scale, with words and gaps. What is a million times as
    far away as usual is scored, and learned when the units are: after twice as many samples as the last time. A step
    costs O(m²) for m points in the dictionary.

    Parameters
    ----------
    kernel
        On columns of zero mean and unit variance, which are learned from the stream. None is `RBF(√d)` for d columns,
        and a small linear part.
    threshold
        ν, as in `KRLS`.
    ridge
        α, as in `KRLS`: larger needs more samples to call a region known.
    forgetting
        λ, as in `KRLS`: with less than 1, what has not been seen for a while becomes new again.
    max_size
        The most points of the dictionary.
    memory
        Among how many recent samples a score is a rank.

    Examples
    --------

    >>> import math
    >>> import random
    >>> from streamkernel import KernelAnomalyDetector

    >>> rng = random.Random(1)
    >>> model = KernelAnomalyDetector()
    >>> for _ in range(1000):
    ...     angle = rng.uniform(0.0, 6.283)
    ...     model.learn_one({"x": 200.0 * math.cos(angle), "y": 0.5 * math.sin(angle)})

    On the ring, and in its middle, where no sample ever was:

    >>> model.score_one({"x": 0.0, "y": 0.5}) < 0.9
    True
    >>> model.score_one({"x": 0.0, "y": 0.0}) > 0.999
    True

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-2,
        ridge: float = 0.1,
        forgetting: float = 1.0,
        max_size: int | None = 100,
        memory: int = 1000,
    ) -> None:
        kernels.check(kernel)
        checks.number("threshold", threshold, low=0.0)
        checks.number("ridge", ridge, low=0.0, open_low=True)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.size("max_size", max_size)
        checks.whole("memory", memory, low=ENOUGH)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.forgetting = forgetting
        self.max_size = max_size
        self.memory = memory
        self._novelty = Novelty(kernel, threshold, ridge, forgetting, max_size)
        self._tail = RecentTail(memory)

    def score_one(self, x: Mapping[Hashable, Any]) -> float:
        """How unusual `x` is, from 0 to 1; 0 while too little is known.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).

        """
        novelty = self._novelty.of(x)
        return 0.0 if novelty is None else 1.0 - self._tail.probability(novelty)

    def learn_one(self, x: Mapping[Hashable, Any]) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).

        """
        novelty = self._novelty.learn(x)
        if novelty is not None:
            self._tail.learn(novelty)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._novelty.size

    def _get_state(self) -> dict[str, Any]:
        return {"novelty": self._novelty.get_state(), "recent": list(self._tail.values)}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._novelty.set_state(state["novelty"])
        self._tail.restart(state["recent"])


class SupervisedKernelAnomalyDetector(base.SupervisedAnomalyDetector, Checkpointed):
    """Targets unlike those predicted, and inputs unlike those seen before.

    The score is 1 − min(p/0.8, q/0.2), not below 0: p is the share of recent samples whose target was as far from its
    prediction, in units of the predicted deviation; q the share whose input was as new (`KernelAnomalyDetector`). So
    one sample in a hundred has a score above 0.99, and four in five of these for their target.

    Parameters
    ----------
    regressor
        A model whose `predict_one(x, with_dist=True)` returns a distribution with `mu` and `sigma`: any streaming
        regressor of this library. None is `AutoKernelRegressor("low")`.
    novelty
        What judges the inputs; None is `KernelAnomalyDetector()`.
    memory
        Among how many recent samples the error of a prediction is a rank.

    Examples
    --------

    >>> from streamkernel import SupervisedKernelAnomalyDetector, datasets

    >>> model = SupervisedKernelAnomalyDetector()
    >>> for x, y in datasets.Friedman1(noise=0.1, seed=1).take(500):
    ...     model.learn_one(x, y)

    The target is about 15 here:

    >>> x = dict.fromkeys(range(10), 0.5)
    >>> model.score_one(x, 14.5) < 0.9
    True
    >>> model.score_one(x, 25.0) > 0.99
    True

    """

    def __init__(self, regressor: Any = None, novelty: KernelAnomalyDetector | None = None, memory: int = 1000) -> None:
        checks.whole("memory", memory, low=ENOUGH)
        if regressor is not None:
            checks.regressor("regressor", regressor)
        if novelty is not None and not isinstance(novelty, KernelAnomalyDetector):
            raise checks.ArgumentTypeError(f"novelty must be a KernelAnomalyDetector or None, got {novelty!r}")
        self.regressor = regressor
        self.novelty = novelty
        self.memory = memory
        self._regressor = AutoKernelRegressor("low") if regressor is None else regressor
        self._novelty = KernelAnomalyDetector() if novelty is None else novelty
        self._tail = RecentTail(memory)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"regressor": KRLS(ridge=0.1)}

    def score_one(self, x: Mapping[Hashable, Any], y: float) -> float:
        """How unusual the sample is, from 0 to 1.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.

        """
        unlikely = self._tail.probability(self._distance(x, y))
        new = 1.0 - self._novelty.score_one(x)
        return max(1.0 - min(unlikely / TARGET_SHARE, new / (1.0 - TARGET_SHARE)), 0.0)

    def learn_one(self, x: Mapping[Hashable, Any], y: float) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The target.

        """
        distance = self._distance(x, y)
        self._regressor.learn_one(x, y)
        self._novelty.learn_one(x)
        self._tail.learn(distance)

    def _distance(self, x: Mapping[Hashable, Any], y: float) -> float:
        """|y − μ|/σ."""
        target = reading.target(y)  # before the regressor is asked, which may remember it
        distribution = predicted_distribution(self._regressor, x)
        return float(abs(target - distribution.mu) / distribution.sigma)

    def _get_state(self) -> dict[str, Any]:
        return {"regressor": self._regressor, "novelty": self._novelty, "recent": list(self._tail.values)}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._regressor, self._novelty = state["regressor"], state["novelty"]
        if self.regressor is not None:
            self.regressor = self._regressor
        if self.novelty is not None:
            self.novelty = self._novelty
        self._tail.restart(state["recent"])
