"""Time series: a forecaster around any streaming regressor.

Engel, Mannor & Meir, "The Kernel Recursive Least-Squares Algorithm", 2004, section 5.2.
Paper -> code: d `lags`, embedding delay `stride`, n `rollout`, ŷⁱ_t the i-step estimate of y_t.
"""

from __future__ import annotations

import copy
import inspect
import math
import statistics
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from river import base, compose, conf, time_series

from .. import checks
from ..auto import AutoKernelRegressor
from ..checkpoint import Checkpointed
from ..conformal import AdaptiveConformal
from ..core.types import Matrix
from ..kernels import RBF, Feature
from ..learners import KRLS, reading
from ..learners.base import StreamingRegressor
from . import delays

Features = dict[Feature, Any]

# How many values are looked at before a warning, and how far from zero mean and unit variance is too far.
WATCHED, FARTHEST = 20, 5.0
# Beyond, powers of a value and its lags may overflow: it is tried out before it is taken in. A leap is so many times
# the median of the lags.
LARGEST_USUAL, LARGEST_LEAP = 1e50, 1e3


class KernelForecaster(time_series.base.Forecaster, Checkpointed):
    """Forecast a time series with a streaming regressor that sees its past values.

    The model learns y(t) from y(t − s), y(t − 2s), ..., y(t − ds), with d = `lags` and s = `stride`, and from exogenous
    features where they are given. A forecast is iterated: what was forecast stands in for values that are not there
    yet. With `horizon` H > 1 the first H steps are forecast directly instead, each by a model of its own, and iteration
    goes in blocks of H.

    Values are taken as they are. The default kernel expects them near zero with a variance of about one: scale the
    series, choose a kernel in its units, or use `AutoKernelForecaster`, which does all that by itself.

    Features are named `y-1`, `y-2`, ... by their distance from the value that they predict.

    Parameters
    ----------
    model
        A regressor of this library, or any regressor or pipeline of river. It is trained in place.
    lags
        d, the number of past values, or their distances in units of `stride`, such as (1, 2, 3, 12).
    stride
        s, the steps between two of them (the embedding delay), and between the value to predict and the nearest.
    horizon
        H, how many steps are forecast directly.
    rollout
        n: the model learns to predict from its own estimates too. Besides the sample of past values it learns, for i =
        2, ..., n, one whose nearest i − 1 values are its own (i − 1)-step, ..., 1-step estimates of them: the paper's
        section 5.2.2, where `learn_series` makes n passes over the series and `learn_one` takes the n samples of a step
        together. Iterated forecasts of a chaotic series become more stable. Needs `horizon=1`.
    pad
        Whether the series counts as zero before its start. By default learning begins when every lag exists.
    confidence_level
        Of the intervals. Around an `AdaptiveConformal` it must be that of it.
    n_paths
        How many sampled paths the intervals are quantiles of, beyond the steps that are forecast directly: those have
        the exact quantiles of the model's distribution, or its own interval where it is an `AdaptiveConformal`.
    seed
        Of the sampled paths. A forecast changes nothing: asked for twice it is the same twice.

    Examples
    --------

    >>> from streamkernel import KRLS, KernelForecaster, datasets, kernels

    The Mackey-Glass series with the paper's parameters, 100 steps ahead:

    >>> series = datasets.MackeyGlass(tau=17, seed=1).series(1100)
    >>> model = KernelForecaster(KRLS(kernels.RBF(0.5), threshold=1e-4), lags=10, stride=4)
    >>> for y in series[:1000]:
    ...     model.learn_one(y)
    >>> forecast = model.forecast(horizon=100)
    >>> bool(abs(series[1000:] - forecast).max() < 0.01)
    True

    >>> model.forecast(horizon=2, with_interval=True)
    [Interval(lower=..., upper=...), Interval(lower=..., upper=...)]

    river's own evaluation, three steps ahead; the series has no features but a date, which is left out:

    >>> from river import compose, evaluate, metrics
    >>> from river import datasets as river_datasets
    >>> regressor = KRLS(kernels.Linear() + 1, ridge=1.0)
    >>> model = compose.Discard("month") | KernelForecaster(regressor, lags=12)
    >>> evaluate.evaluate(river_datasets.AirlinePassengers(), model, metrics.MAE(), horizon=3)
    +1 MAE: 38.1...
    +2 MAE: 40.2...
    +3 MAE: 40.2...

    References
    ----------
    [^1]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm. IEEE Transactions on
        Signal Processing, 52(8), pp.2275-2285, section 5.2.

    """

    def __init__(
        self,
        model: base.Regressor,
        lags: int | Sequence[int],
        stride: int = 1,
        horizon: int = 1,
        rollout: int = 1,
        pad: bool = False,
        confidence_level: float = 0.9,
        n_paths: int = 100,
        seed: int | None = None,
    ) -> None:
        checks.regressor("model", model)
        for name, value in (("stride", stride), ("horizon", horizon), ("rollout", rollout), ("n_paths", n_paths)):
            checks.whole(name, value)
        if rollout > 1 and horizon > 1:
            raise ValueError(f"rollout must be 1 where horizon is {horizon} (only iteration rolls out), got {rollout}")
        checks.number("confidence_level", confidence_level, low=0.0, high=1.0, open_low=True)
        conformal = _final(model) if isinstance(_final(model), AdaptiveConformal) else None
        if conformal is not None and conformal.confidence_level != confidence_level:
            theirs = conformal.confidence_level
            raise ValueError(
                f"confidence_level must be that of the AdaptiveConformal, {theirs}, got {confidence_level}"
            )
        checks.whole("seed", seed, low=0, optional=True)
        self.model = model
        self.lags = lags
        self.stride = stride
        self.horizon = horizon
        self.rollout = rollout
        self.pad = pad
        self.confidence_level = confidence_level
        self.n_paths = n_paths
        self.seed = seed
        self._delays = tuple(stride * lag for lag in delays.distances(lags))
        self._names = {f"y-{delay}": delay for delay in self._delays}
        self._reach = max(self._delays) + horizon - 1
        self._models = [model, *(model.clone() for _ in range(horizon - 1))]
        self._history: deque[float] = deque([0.0] * self._reach if pad else [], maxlen=self._reach)
        # For each of the last values its 1-step, 2-step, ... estimates, as far as a lag can ask for them.
        depth = min(rollout - 1, max(self._delays))
        self._estimates: deque[tuple[float, ...]] = deque([(0.0,) * (rollout - 1)] * depth if pad else [], maxlen=depth)
        self._seen = 0
        self._careful, self._left_out = False, 0
        self._exogenous = False
        self._conformal = conformal is not None
        named = inspect.signature(_final(model).predict_one).parameters
        self._gives_dist = "with_dist" in named or self._conformal
        self._gives_interval = "interval_level" in named
        self._judges_itself = isinstance(_final(model), AutoKernelRegressor)
        self._unscaled = isinstance(model, StreamingRegressor) and getattr(model, "kernel", 0) is None
        self._level_sum = self._square_sum = 0.0
        # Count and sum of squares of the one-step-ahead errors, for models that give no distribution.
        self._errors = [(0, 0.0)] * horizon
        self._entropy: Any = np.random.SeedSequence().entropy if seed is None else seed

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": KRLS(RBF(10.0), threshold=1e-3, ridge=1e-3), "lags": 2}
        yield {"model": KRLS(RBF(10.0), threshold=1e-3, ridge=1e-3), "lags": 2, "horizon": 2, "seed": 1}
        yield {"model": KRLS(RBF(10.0), threshold=1e-3, ridge=1e-3), "lags": (1, 3), "rollout": 3, "pad": True}

    # Learning --------------------------------------------------------------------------------------------------------

    def learn_one(self, y: float, x: Mapping[Feature, Any] | None = None) -> None:
        """Learn the next value of the series.

        Parameters
        ----------
        y
            The value.
        x
            Exogenous features of the same time.

        """
        value = reading.target(y, "y")
        exogenous = self._checked(x)
        size, lags = abs(value), [0.0, *map(abs, self._history)]
        if _is_leap(size, statistics.median_low(lags)):
            usual = self._history[-1] if self._history else 0.0
            self._try_out([value], usual, exogenous, careful=_is_leap(size, max(lags)))
        self._learn(value, exogenous)

    def _try_out(self, values: list[float], usual: float, exogenous: Features, careful: bool) -> None:
        """Raise an error where a copy cannot go on after these values, once they are lags; a careful one learns all."""
        trial = copy.deepcopy(self)
        trial._careful = careful
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for value in values:
                trial._learn(value, exogenous)
            for _ in range(max(self._delays) + 1):
                trial._path([exogenous] * self.horizon, lambda step, sample: trial._moments(step, sample)[0])
                trial._learn(usual, exogenous)

    def _learn_sample(self, model: Any, sample: Features, value: float, is_first: bool = False) -> None:
        """Learn a value from its lags; where those hold a leap that makes them unlearnable, leave it out and say so.

        The series goes on: with an error it would stand still for as long as the leap is the oldest lag, for good. What
        only the first of several models has learned is left out of the others, too.
        """
        try:
            model.learn_one(sample, value)
        except ValueError as error:
            largest = max((abs(sample[name]) for name in self._names if name in sample), default=0.0)
            if self._careful or (is_first and largest <= LARGEST_LEAP * (1.0 + abs(value))):
                raise
            self._left_out += 1
            warnings.warn(
                f"the value {value!r} was not learned from its lags, of which the largest is {largest:g} "
                f"({self._left_out} values left out so far): {error}",
                stacklevel=4,
            )

    def _learn(self, value: float, exogenous: Features) -> None:
        """Learn a value that was checked."""
        for steps, model in enumerate(self._models):  # y(t) from what was known `steps` + 1 before
            if len(self._history) >= max(self._delays) + steps:
                sample = exogenous | delays.lagged(self._names, self._history, steps)
                error = 0.0 if self._gives_dist else value - model.predict_one(sample)
                self._learn_sample(model, sample, value, is_first=steps == 0)
                self._count_error(steps, error)
        known = len(self._history) >= max(self._delays)
        self._advance(value, self._roll(exogenous, value) if known else [value] * (self.rollout - 1))
        self._exogenous = self._exogenous or bool(exogenous)
        if self._judges_itself and not self._exogenous and len(self._history) >= max(self._delays):
            for model in self._models[1:]:  # which are told the value some steps later, when they know its neighbors
                model.predict_one(delays.lagged(self._names, self._history))

    def _count_error(self, steps: int, error: float) -> None:
        if not self._gives_dist:
            count, squares = self._errors[steps]
            self._errors[steps] = count + 1, squares + error**2

    def _warn_once(self, value: float) -> None:
        """Say so if the values are far from what the default kernel expects."""
        self._level_sum += value
        self._square_sum += value**2
        count = self._seen + 1
        if count == WATCHED:
            self._unscaled = False
            mean = self._level_sum / count
            spread = math.sqrt(max(self._square_sum / count - mean**2, 0.0))
            if abs(mean) > FARTHEST or spread > FARTHEST or 0.0 < spread < 1.0 / FARTHEST:
                warnings.warn(
                    f"the values have mean {mean:.3g} and standard deviation {spread:.3g}, but the default kernel "
                    "expects about 0 and 1: scale the series, choose a kernel, or use AutoKernelForecaster",
                    stacklevel=5,
                )

    def _roll(self, exogenous: Features, value: float) -> list[float]:
        """Learn `value` from estimates of the values before it; return its own estimates 1, ..., n − 1 steps ahead."""
        estimates: list[float] = []
        for ahead in range(1, self.rollout + 1):
            sample = exogenous | delays.rolled(self._names, self._history, self._estimates, ahead)
            if ahead > 1:
                self._learn_sample(self.model, sample, value)
            if ahead < self.rollout:
                estimates.append(self.model.predict_one(sample))
        return estimates

    def learn_series(self, ys: Iterable[float], xs: Sequence[Mapping[Feature, Any]] | None = None) -> None:
        """Learn a whole series at once: with `rollout` n by the paper's n passes, otherwise as `learn_one` does.

        Pass 1 learns the samples of past values; its errors are those that intervals are made of where the model gives
        no distribution. Pass i replaces the nearest i − 1 values of every sample by the estimates that the model makes
        of them after the passes before. Where a value is refused, none is learned: the forecaster goes on with a copy
        of its models as they were.

        Parameters
        ----------
        ys
            The values, following those that were learned before.
        xs
            Exogenous features, one for each value.

        """
        values = [reading.target(y, "y") for y in ys]
        features = [self._checked(x) for x in ([None] * len(values) if xs is None else xs)]
        if len(features) != len(values):
            raise ValueError(f"xs must have one entry for each of the {len(values)} values, got {len(features)}")
        before = copy.deepcopy(self.__dict__)
        try:
            self._learn_all(values, features)
        except Exception:  # all or nothing is learned
            self.__dict__.update(before)
            raise

    def _learn_all(self, values: list[float], features: list[Features]) -> None:
        if self.rollout == 1:
            for value, exogenous in zip(values, features):
                self.learn_one(value, exogenous)
            return
        if not values:
            return
        # Times count from the oldest value in the history. A value that was never estimated stands for its estimates.
        first, history = len(self._history), [*self._history, *values]
        times = range(max(first, max(self._delays)), len(history))
        estimates: list[Any] = [[value] * (self.rollout - 1) for value in history]
        estimates[first - len(self._estimates) : first] = self._estimates
        estimates[times.start :] = [[] for _ in times]
        for ahead in range(1, self.rollout + 1):
            samples = [
                features[t - first] | delays.rolled(self._names, history, estimates, ahead, len(history) - t)
                for t in times
            ]
            self._learn_samples(samples, [history[t] for t in times], is_first=ahead == 1)
            if ahead < self.rollout:
                for t, sample in zip(times, samples):
                    estimates[t].append(self.model.predict_one(sample))
        for value, known in zip(values, estimates[first:]):
            self._advance(value, known)
        self._exogenous = self._exogenous or any(features)
        # The passes have refused what cannot be learned; the last values have not been all of their lags yet.
        if _is_leap(max(map(abs, self._history)), statistics.median_low(map(abs, history))):
            self._try_out([], statistics.median_low(history), features[-1], careful=True)

    def _learn_samples(self, samples: list[Features], targets: list[float], is_first: bool) -> None:
        same = bool(samples) and all(sample.keys() == samples[0].keys() for sample in samples)
        if same and isinstance(self.model, StreamingRegressor):
            names = tuple(samples[0])
            rows: Matrix = np.array([reading.values(names, sample) for sample in samples])
            self.model.learn_rows(names, rows, np.array(targets))
            return
        for sample, target in zip(samples, targets):
            error = target - self.model.predict_one(sample) if is_first and not self._gives_dist else 0.0
            self.model.learn_one(sample, target)
            if is_first:
                self._count_error(0, error)

    def _advance(self, value: float, estimates: Iterable[float]) -> None:
        if self._unscaled:
            self._warn_once(value)
        self._history.append(value)
        self._estimates.append(tuple(estimates))
        self._seen += 1

    def _checked(self, x: Mapping[Feature, Any] | None) -> Features:
        exogenous = {} if x is None else dict(x)
        for name in exogenous:
            if name in self._names:
                raise ValueError(f"x must not have a feature {name!r}: a lag of the series has that name")
        return exogenous

    # Forecasting -----------------------------------------------------------------------------------------------------

    def forecast(
        self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None = None, with_interval: bool = False
    ) -> list[Any]:
        """Forecast the next values of the series.

        Parameters
        ----------
        horizon
            How many.
        xs
            Exogenous features, one for each of them. They must be given where the model learned with some.
        with_interval
            Return a river `Interval` for each, of the `confidence_level`, instead of the value.

        """
        features = self._future(horizon, xs)
        if not with_interval:
            return self._path(features, lambda step, sample: float(self._models[step].predict_one(sample)))
        lagged = delays.lagged(self._names, list(self._history))
        direct = [self._interval(step, x | lagged) for step, x in enumerate(features[: self.horizon])]
        if len(direct) == len(features):
            return direct
        paths = self._paths(features, self.n_paths)[:, len(direct) :]
        tail = (1.0 - self.confidence_level) / 2.0
        return direct + [conf.Interval(*map(float, np.quantile(values, [tail, 1.0 - tail]))) for values in paths.T]

    def _interval(self, step: int, sample: Features) -> Any:
        """The exact interval of a step that is forecast from known values only."""
        model = self._models[step]
        if self._conformal:
            return model.predict_one(sample, with_interval=True)
        if self._gives_interval:
            return model.predict_one(sample, with_interval=True, interval_level=self.confidence_level)
        mean, deviation = self._moments(step, sample)
        reach = deviation * statistics.NormalDist().inv_cdf(0.5 + self.confidence_level / 2.0)
        return conf.Interval(mean - reach, mean + reach)

    def _moments(self, step: int, sample: Features) -> tuple[float, float]:
        """Mean and standard deviation of a prediction."""
        model = self._models[step]
        if not self._gives_dist:
            count, squares = self._errors[step]
            return float(model.predict_one(sample)), math.sqrt(squares / max(count, 1))
        predicted = model.predict_one(sample, with_dist=True)
        if not self._conformal:
            return float(predicted.mu), float(predicted.sigma)
        # The deviation of a Gaussian with the conformal interval.
        interval = model.predict_one(sample, with_interval=True)
        quantile = statistics.NormalDist().inv_cdf(0.5 + self.confidence_level / 2.0)
        return float(predicted.mu), (interval.upper - interval.lower) / (2.0 * quantile)

    def forecast_paths(
        self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None = None, n_paths: int | None = None
    ) -> Matrix:
        """Sampled futures, one in a row: every step is drawn from its predictive distribution given the steps before.

        A model that gives no distribution (`predict_one(x, with_dist=True)`) is taken to err like its one-step-ahead
        errors so far.

        Parameters
        ----------
        horizon
            How many steps.
        xs
            Exogenous features, one for each step.
        n_paths
            How many futures; by default the forecaster's `n_paths`.

        """
        checks.size("n_paths", n_paths)
        return self._paths(self._future(horizon, xs), n_paths or self.n_paths)

    def _paths(self, features: list[Features], n_paths: int) -> Matrix:
        random = np.random.default_rng([self._entropy, self._seen])

        def draw(step: int, sample: Features) -> float:
            mean, deviation = self._moments(step, sample)
            return mean + deviation * float(random.standard_normal())

        return np.array([self._path(features, draw) for _ in range(n_paths)]).reshape(n_paths, len(features))

    def _path(self, features: list[Features], predict: Callable[[int, Features], float]) -> list[float]:
        """One future: blocks of `horizon` steps, every block from the values before it."""
        values = list(self._history)
        for start in range(0, len(features), self.horizon):
            lagged = delays.lagged(self._names, values)
            block = features[start : start + self.horizon]
            values += [predict(step, exogenous | lagged) for step, exogenous in enumerate(block)]
        return values[len(values) - len(features) :]

    def _future(self, horizon: int, xs: Iterable[Mapping[Feature, Any]] | None) -> list[Features]:
        checks.whole("horizon", horizon)
        if xs is None:
            if self._exogenous:
                raise ValueError("xs must be given: the model learned with exogenous features")
            return [{} for _ in range(horizon)]
        features = [self._checked(x) for x in xs]
        if len(features) != horizon:
            raise ValueError(f"xs must have one entry for each of the {horizon} steps, got {len(features)}")
        return features

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        return {
            "models": self._models[1:],
            "history": list(self._history),
            "estimates": list(self._estimates),
            "seen": self._seen,
            "exogenous": self._exogenous,
            "errors": self._errors,
            "watched": [self._unscaled, self._level_sum, self._square_sum],
            "left_out": self._left_out,
            "entropy": self._entropy,
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        self._models[1:] = state["models"]
        self._history.extend(state["history"])
        self._estimates.extend(state["estimates"])
        self._seen, self._exogenous = state["seen"], state["exogenous"]
        self._errors, self._entropy = state["errors"], state["entropy"]
        self._unscaled, self._level_sum, self._square_sum = state.get("watched", [False, 0.0, 0.0])
        self._left_out = state.get("left_out", 0)


def _final(model: Any) -> Any:
    """The regressor at the end of a pipeline, or the model itself."""
    return list(model.steps.values())[-1] if isinstance(model, compose.Pipeline) else model


def _is_leap(size: float, usual: float) -> bool:
    return size > min(LARGEST_USUAL, LARGEST_LEAP * (1.0 + usual))
