"""A stream learned while a page shows it."""

from __future__ import annotations

import inspect
import math
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from river import base, time_series

from ..distributions import LEVEL, central_interval, normal_reach, point
from .view import View

Predicted = tuple[float, float, float]


def watch(model: Any, stream: Iterable[Any], title: str = "", port: int = 0) -> Watch:
    """Predict and learn a stream row by row, while a page on this machine shows it.

    Iterate over what is returned: it yields the prediction of each row, made before the row was learned. The page is at
    its `url`; with `with`, it is served until the end of the block, and otherwise until the stream ends.

    Parameters
    ----------
    model
        A regressor, a pipeline that ends in one, or a forecaster. Those whose `predict_one` takes `with_dist` or
        `with_interval` are shown with their band of 90 %. It learns in place.
    stream
        Pairs (x, y) as river's streams give them; for a forecaster also plain values.
    title
        What the page calls the stream.
    port
        Where to listen, on 127.0.0.1; 0 is a free port.

    Examples
    --------

    >>> from streamkernel import AutoKernelRegressor, datasets, live
    >>> model = AutoKernelRegressor()
    >>> with live.watch(model, datasets.Friedman1(seed=1).take(200), port=0) as watched:
    ...     address = watched.url                       # open it in a browser
    ...     predictions = list(watched)
    >>> len(predictions), watched.view.numbers()["rows"]
    (200, 200)

    """
    return Watch(model, stream, View(model, title, port))


class Watch:
    """What `watch` returns: an iterator over predictions, and the page's address."""

    def __init__(self, model: Any, stream: Iterable[Any], view: View) -> None:
        self.view = view
        self._open = False
        self._predictions = self._steps(model, stream)

    @property
    def url(self) -> str:
        """Where the page is."""
        return self.view.url

    def save(self, path: str | pathlib.Path) -> None:
        """Write the page as one file that opens without a server."""
        self.view.save(path)

    def _steps(self, model: Any, stream: Iterable[Any]) -> Iterator[float]:
        clock, observe = time.perf_counter, self.view.observe
        predict, learn = predictor(model), model.learn_one
        is_forecaster = isinstance(model, time_series.base.Forecaster)
        for item in stream:
            x, y = item if isinstance(item, tuple) else (None, item)
            began = clock()
            prediction, lower, upper = predict(x)
            if is_forecaster:
                learn(y, x) if x else learn(y)
            else:
                learn(x, y)
            observe(math.nan if y is None else y, prediction, lower, upper, clock() - began)
            yield prediction

    def __iter__(self) -> Iterator[float]:
        return self

    def __next__(self) -> float:
        try:
            return next(self._predictions)
        except StopIteration:
            self.view.end() if self._open else self.view.close()
            raise
        except BaseException:
            self.view.close()
            raise

    def __enter__(self) -> Watch:
        self._open = True
        return self

    def __exit__(self, *exception: object) -> None:
        self.view.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank">the stream, live</a>'


def predictor(model: Any) -> Callable[[Any], Predicted]:
    """A function that gives the prediction of a row, and the ends of its band where the model has one."""
    if isinstance(model, time_series.base.Forecaster):
        return _forecast(model)
    if isinstance(model, base.Classifier) or not hasattr(model, "predict_one"):
        raise TypeError(f"model must be a regressor or a forecaster, got {type(model).__name__}")
    reach = normal_reach(LEVEL)
    if hasattr(model, "predict_moments"):

        def from_moments(x: Any) -> Predicted:
            mean, variance = model.predict_moments(x)
            width = reach * math.sqrt(variance)
            return mean, mean - width, mean + width

        return from_moments
    last = next(reversed(model.steps.values())) if getattr(model, "steps", None) else model
    parameters = inspect.signature(last.predict_one).parameters
    if "with_dist" in parameters:

        def from_distribution(x: Any) -> Predicted:
            distribution = model.predict_one(x, with_dist=True)
            return point(distribution), *central_interval(distribution, LEVEL)

        return from_distribution
    if "with_interval" in parameters:
        return lambda x: (model.predict_one(x), *central_interval(model.predict_one(x, with_interval=True), LEVEL))
    return lambda x: (model.predict_one(x), math.nan, math.nan)


def _forecast(model: Any) -> Callable[[Any], Predicted]:
    """One step ahead; NaN before a forecaster knows enough."""
    has_interval = "with_interval" in inspect.signature(model.forecast).parameters

    began = False

    def forecast(x: Any) -> Predicted:
        nonlocal began
        future = [x] if x else None
        try:
            mean = float(model.forecast(1, future)[0])
        except (ValueError, IndexError):
            if began:
                raise
            return math.nan, math.nan, math.nan
        began = True
        if not has_interval:
            return mean, math.nan, math.nan
        return mean, *central_interval(model.forecast(1, future, with_interval=True)[0], LEVEL)

    return forecast
