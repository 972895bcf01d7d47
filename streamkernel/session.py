"""A stream of rows through a model, with its running score: what `streamkernel run` does, restartable at any row.

A session holds everything that the next row's prediction depends on. Written to bytes after row t and restored, it
continues bit for bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from river import base, preprocessing

from .checkpoint import Checkpointed
from .encoding import Encoder
from .kernels import Feature
from .learners.base import StreamingRegressor

Moments = tuple[int, float, float]
NOTHING_SEEN: Moments = (0, 0.0, 0.0)


def _grown(moments: Moments, value: float) -> Moments:
    """Count, mean and sum of squared deviations with one value more (Welford's update)."""
    count, mean, squares = moments
    count += 1
    shift = value - mean
    mean += shift / count
    return count, mean, squares + shift * (value - mean)


class Standardizer(Checkpointed):
    """Running mean and variance of every feature; scales a sample to zero mean and unit variance as known so far.

    Examples
    --------

    >>> from streamkernel.session import Standardizer
    >>> scale = Standardizer()
    >>> for value in (1.0, 3.0, 5.0):
    ...     scale.learn_one({"x": value})
    >>> scale.transform_one({"x": 3.0 + 2 * (8 / 3) ** 0.5})
    {'x': 2.0}

    """

    def __init__(self) -> None:
        self._moments: dict[Feature, Moments] = {}

    def learn_one(self, x: Mapping[Feature, float]) -> None:
        """Take one sample into the moments."""
        self._moments.update(self.follow(x)[1])

    def transform_one(self, x: Mapping[Feature, float]) -> dict[Feature, float]:
        """The sample in standard units; a feature that has not varied yet is zero."""
        scaled = {}
        for name, value in x.items():
            count, mean, squares = self._moments.get(name, NOTHING_SEEN)
            scaled[name] = (value - mean) / math.sqrt(squares / count) if squares > 0.0 else 0.0
        return scaled

    def follow(self, x: Mapping[Feature, float]) -> tuple[dict[Feature, float], dict[Feature, Moments]]:
        """The sample in the standard units that hold when it is known, and the moments then.

        Nothing is changed: `take` the moments when the sample has been learned.
        """
        scaled, moments, known, sqrt = {}, {}, self._moments, math.sqrt
        for name, value in x.items():
            count, mean, squares = known.get(name, NOTHING_SEEN)  # `_grown`, without the call
            count += 1
            shift = value - mean
            mean += shift / count
            rest = value - mean
            squares += shift * rest
            moments[name] = count, mean, squares
            scaled[name] = rest / sqrt(squares / count) if squares > 0.0 else 0.0
        return scaled, moments

    def take(self, moments: Mapping[Feature, Moments]) -> None:
        """Go on from the moments that `follow` gave."""
        self._moments.update(moments)

    def to_river(self) -> preprocessing.StandardScaler:
        """River's scaler with the same statistics."""
        counts, means, squares = ({name: m[i] for name, m in self._moments.items()} for i in range(3))
        variances = {name: total / counts[name] for name, total in squares.items()}
        return preprocessing.StandardScaler._from_state(counts, means, variances)

    def _get_state(self) -> dict[str, Any]:
        return {"moments": self._moments}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._moments = state["moments"]


class Session(Checkpointed):
    """Predict, score, learn, row by row.

    Parameters
    ----------
    model
        A streaming regressor or classifier of this library.
    scale
        Whether features are standardized on the way.
    encode
        Whether words become columns and gaps are left out on the way, for a model that takes numbers alone.
    target
        The name of the column that is predicted.
    features
        The names of the columns that it is predicted from, None if they are not known.

    """

    def __init__(
        self,
        model: Any,
        scale: bool = True,
        encode: bool = False,
        target: str | None = None,
        features: Sequence[str] | None = None,
    ) -> None:
        self.model = model
        self.scale = scale
        self.encode = encode
        self.target = target
        self.features = features
        self.classifies = isinstance(model, base.Classifier)
        self.rows = 0
        self.unlabeled = 0
        self.skipped = 0
        self.facts: dict[str, Any] = {}  # what the command line remembers of its files
        self._squares = 0.0
        self._absolute = 0.0
        self._covered: list[int] = [0, 0]
        self._classes: dict[Any, int] = {}
        self._standardizer = Standardizer()
        self._target = NOTHING_SEEN
        self._encoder = Encoder()

    @property
    def learned(self) -> int:
        """The rows that were learned: all but those without a target and those that were skipped."""
        return self.rows - self.unlabeled - self.skipped

    @property
    def outputs(self) -> tuple[str, ...]:
        """What `predict` and `follow` return."""
        return ("prediction", "probability") if self.classifies else ("prediction", "lower", "upper")

    def step(self, x: Mapping[Feature, Any], y: Any) -> Any:
        """The prediction for one row, made before the row is learned."""
        return self.follow(x, y)[0]

    def follow(self, x: Mapping[Feature, Any], y: Any, level: float | None = None) -> tuple[Any, ...]:
        """The prediction for one row, with bounds if there is a level, made before the row is learned."""
        moments = None
        if self.encode:
            x = self._encoder.named(self._encoder.learn(x))
        if self.scale:
            x, moments = self._standardizer.follow(x)
        found = self._learn_class(x, y) if self.classifies else self._learn_number(x, y, level)
        if moments:
            self._standardizer.take(moments)
        self.rows += 1
        return found

    def _learn_number(self, x: Mapping[Feature, Any], y: float, level: float | None) -> tuple[float, ...]:
        bounds = () if level is None else _bounds(self.model, x, level)
        prediction = self.model.predict_learn_one(x, y)
        error = y - prediction
        self._squares += error * error
        self._absolute += abs(error)
        self._target = _grown(self._target, y)
        if bounds:
            self._covered[0] += bounds[0] <= y <= bounds[1]
            self._covered[1] += 1
        return (prediction, *bounds)

    def _learn_class(self, x: Mapping[Feature, Any], y: Any) -> tuple[Any, float]:
        found = _likeliest(self.model.predict_proba_one(x))
        self.model.learn_one(x, y)
        self._squares += found[0] != y
        self._absolute += max(self._classes, key=self._classes.__getitem__, default=None) != y
        self._classes[y] = self._classes.get(y, 0) + 1
        return found

    def predict(self, x: Mapping[Feature, Any], level: float = 0.9) -> tuple[Any, ...]:
        """The prediction for one row and its bounds, or the likeliest class and its probability; nothing is learned."""
        if self.encode:
            x = self._encoder.named(self._encoder.read(x))
        if self.scale:
            x = self._standardizer.transform_one(x)
        if self.classifies:
            return _likeliest(self.model.predict_proba_one(x))
        return (float(self.model.predict_one(x)), *_bounds(self.model, x, level))

    def predict_one(self, x: Mapping[Feature, Any]) -> Any:
        """The prediction for one row."""
        return self.predict(x)[0]

    def learn_one(self, x: Mapping[Feature, Any], y: Any) -> None:
        """Learn one row, and count how well it was predicted."""
        self.follow(x, y)

    def score(self) -> dict[str, float]:
        """The errors so far, and the share of the targets' variance, or of the classes, that was predicted."""
        count = self.learned or math.nan
        squares, absolute = self._squares / count, self._absolute / count
        if self.classifies:  # beside what the most frequent class so far would have scored
            return {"accuracy": 1.0 - squares, "naive_accuracy": 1.0 - absolute}
        variance = self._target[2]
        explained = 1.0 - self._squares / variance if variance > 0.0 else math.nan
        return {"rmse": math.sqrt(squares), "mae": absolute, "r2": explained}

    @property
    def coverage(self) -> float | None:
        """The share of the targets that were within their bounds, None where none were asked for."""
        inside, count = self._covered
        return inside / count if count else None

    def _opened(self) -> Any:
        if self.encode:
            return self
        return self._standardizer.to_river() | self.model if self.scale else self.model

    def _get_state(self) -> dict[str, Any]:
        return {
            "sums": [self.rows, self._squares, self._absolute],
            "standardizer": self._standardizer,
            "target": {0: self._target},
            "counts": [self.unlabeled, self.skipped, *self._covered],
            "encoder": [self._encoder.columns, self._encoder.words, self._encoder.labels, self._encoder.gaps],
            "classes": self._classes,
            "facts": self.facts,
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        self.rows, self._squares, self._absolute = state["sums"]
        self._standardizer = state["standardizer"]
        target = state["target"]  # a standardizer in earlier releases
        self._target = tuple((target._moments if isinstance(target, Standardizer) else target).get(0, NOTHING_SEEN))
        if "counts" in state:
            self.unlabeled, self.skipped, *self._covered = state["counts"]
            *known, self._encoder.gaps = state["encoder"]
            self._encoder.restore(*known)
            self._classes, self.facts = state["classes"], state["facts"]


def _bounds(model: Any, x: Mapping[Feature, Any], level: float) -> tuple[float, float]:
    """The central interval of the prediction."""
    if isinstance(model, StreamingRegressor):
        mean, variance = model.predict_moments(x)
        reach = _reach(level) * math.sqrt(variance)
        return mean - reach, mean + reach
    interval = model.predict_one(x, with_interval=True, interval_level=level)
    return float(interval.lower), float(interval.upper)


@functools.cache
def _reach(level: float) -> float:
    from .distributions import normal_reach  # takes a second to import

    return normal_reach(level)


def _likeliest(shares: Mapping[Any, float]) -> tuple[Any, float]:
    """The class with the largest probability; None before there is any."""
    return max(shares.items(), key=lambda item: item[1], default=(None, math.nan))
