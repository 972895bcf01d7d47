"""What is built around learners, attacked in the same way: forecasters, detectors, equalizers, batch estimators."""

from __future__ import annotations

import contextlib
import copy
import datetime
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from streamkernel import (
    KRLS,
    AutoKernelForecaster,
    AutoKernelRegressor,
    KernelAnomalyDetector,
    KernelEqualizer,
    KernelForecaster,
    LSSVMClassifier,
    SupervisedKernelAnomalyDetector,
    batch,
)
from streamkernel.alphabets import symbols_of

from . import making
from .areas import AREAS as AREAS
from .areas import area, check, duplicates, extreme, is_finite, same
from .making import Random, Stream

REFUSED = (ValueError, TypeError)


def offer(model: Any, learn: Callable[[Any], None], what: str) -> bool:
    """Whether a model learns something; where it refuses, its bytes are as before."""
    before = model.to_bytes()
    try:
        learn(model)
    except REFUSED as error:
        check(model.to_bytes() == before, f"changed by the refused {what}: {error}")
        return False
    return True


# Series ---------------------------------------------------------------------------------------------------------------


@area
def series(rng: Random) -> int:
    """Forecasters: refused values leave no trace, from what is accepted they go on, and copies go on alike."""
    is_auto = rng.random() < 0.5
    model = _auto_forecaster(rng) if is_auto else _lagged_forecaster(rng)
    value, features, compared = _values(rng), _features(rng, is_auto), 0
    length = int(rng.integers(5, 60))
    copied_at, others = int(rng.integers(length)), []
    for t in range(length):
        y: Any = extreme(rng) if rng.random() < 0.05 else value(t)
        y = None if is_auto and rng.random() < 0.05 else y
        x = features(t)
        if t == copied_at:
            others = duplicates(model)
        if offer(model, lambda model, y=y, x=x: model.learn_one(y, x), f"{y!r}, {x!r}"):  # type: ignore[misc]
            for other in others:
                other.learn_one(y, x)
        if model.is_ready if hasattr(model, "is_ready") else t > 20:
            compared += _forecast(model, others, features, t)
    for other in others:
        check(other.to_bytes() == model.to_bytes(), "a copy has other bytes")
    return compared + 1


def _forecast(model: Any, others: list[Any], features: Callable[[int], Any], t: int) -> int:
    # Beyond its horizon a forecaster with lags goes on from its own forecasts, which may diverge after a leap.
    steps = 3 if isinstance(model, AutoKernelForecaster) else model.horizon
    ahead = [features(60 + step) for step in range(steps)]
    given = {} if ahead[0] is None else {"xs": ahead}
    found = model.forecast(steps, **given)
    check(is_finite(list(found)), f"the forecast {found!r}")
    interval = model.forecast(1, **({"xs": ahead[:1]} if given else {}), with_interval=True)[0]
    check(is_finite([interval.lower, interval.upper]), f"the interval {interval!r}")
    for other in others:
        check(same(other.forecast(steps, **given), found), "a copy forecasts something else")
    return 1 + len(others)


def _auto_forecaster(rng: Random) -> AutoKernelForecaster:
    horizon = None if rng.random() < 0.5 else int(rng.integers(1, 10))
    season = None if rng.random() < 0.7 else int(rng.integers(1, 13))
    return AutoKernelForecaster(horizon, season)


def _lagged_forecaster(rng: Random) -> KernelForecaster:
    settings = {
        "lags": int(rng.integers(1, 5)),
        "stride": int(rng.integers(1, 3)),
        "horizon": int(rng.integers(1, 4)),
        "pad": bool(rng.random() < 0.5),
    }
    return KernelForecaster(making.inner(rng), **settings, n_paths=5, seed=1)


def _values(rng: Random) -> Callable[[int], float]:
    """A series of one of several kinds."""
    level, unit, season = float(rng.choice([0.0, 10.0, 1e6])), making.number(rng, 1e-3, 1e3), int(rng.integers(2, 13))
    kinds: list[Callable[[int], float]] = [
        lambda t: level + unit * math.sin(2.0 * math.pi * t / season) + 0.1 * unit * rng.normal(),
        lambda t: level + unit * (t + 3.0 * (t % season == 0)) + 0.1 * unit * rng.normal(),
        lambda t: level,
        lambda t: unit * math.exp(0.05 * t + 0.1 * rng.normal()),
        lambda t: float(rng.poisson(0.7)),
        lambda t: level + unit * (t > 25) + 0.01 * unit * rng.normal(),
    ]
    return kinds[rng.integers(len(kinds))]


def _features(rng: Random, is_auto: bool) -> Callable[[int], Any]:
    """Exogenous features of a time, or None; those of an automatic forecaster are extreme now and then."""
    if rng.random() < 0.6:
        return lambda t: None
    if not is_auto:
        return lambda t: {"temperature": 10.0 + t % 7}
    begin, unit = datetime.datetime(2026, 1, 1), making.number(rng, 1e-3, 1e3)
    leaps = {int(t): extreme(rng) for t in rng.integers(60, size=2)}

    def at(t: int) -> dict[str, Any]:
        time = begin + t * datetime.timedelta(1)
        return {"temperature": leaps.get(t, unit * (t % 7)), "day": ["work", "free"][t % 2], "time": time}

    return at


# Detectors ------------------------------------------------------------------------------------------------------------


@area
def detectors(rng: Random) -> int:
    """Scores are shares, whatever comes; refused samples leave no trace, and copies go on alike."""
    novelty = KernelAnomalyDetector(
        making.maybe_kernel(rng),
        making.number(rng, 1e-3, 0.1),
        making.number(rng, 1e-3, 1.0),
        1.0 if rng.random() < 0.5 else float(rng.uniform(0.9, 1.0)),
        int(rng.integers(1, 30)),
        memory=100,
    )
    has_target = rng.random() < 0.5
    regressor = AutoKernelRegressor("low") if rng.random() < 0.3 else making.inner(rng)
    model: Any = SupervisedKernelAnomalyDetector(regressor, novelty, memory=100) if has_target else novelty
    stream, others, length = Stream(rng), [], int(rng.integers(5, 80))
    copied_at, compared = int(rng.integers(length)), 0
    for t in range(length):
        x: dict[Any, Any] = dict(stream.x())
        given = (extreme(rng) if rng.random() < 0.05 else stream.y(x),) if has_target else ()
        for name in x:
            if rng.random() < 0.05:
                x[name] = [extreme(rng), None, "red", math.nan][rng.integers(4)]
        if t == copied_at:
            others = duplicates(model)
        for each in (model, *others):  # automatic regressors remember what they were asked
            with contextlib.suppress(*REFUSED):
                each.score_one(x, *given)
        if offer(model, lambda model, x=x, given=given: model.learn_one(x, *given), f"{x!r}, {given!r}"):  # type: ignore[misc]
            for other in others:
                other.learn_one(x, *given)
        query = stream.x()
        asked = (stream.y(query),) if has_target else ()
        score = model.score_one(query, *asked)
        check(0.0 <= score <= 1.0, f"the score {score!r}")
        for other in others:
            check(same(other.score_one(query, *asked), score), "a copy scores something else")
        compared += 1 + len(others)
    for other in others:
        check(other.to_bytes() == model.to_bytes(), "a copy has other bytes")
    return compared


# Equalizers -----------------------------------------------------------------------------------------------------------


@area
def equalizers(rng: Random) -> int:
    """One observation after the other, many at once, and copies: the same decisions; refused ones leave no trace."""
    alphabet = str(rng.choice(["bpsk", "qpsk", "pam4"]))
    kind, delay = int(rng.integers(4)), int(rng.integers(3))
    learner = [None, KRLS(making.leaf(rng), 1e-2, 0.1), KRLS(None, 1e-2, 0.1, max_size=20), LSSVMClassifier()][kind]
    given = {} if kind == 0 else {"lags": int(rng.integers(1, 4)), "feedback": int(rng.integers(0, 2))}
    model = KernelEqualizer(learner, delay=delay, alphabet=alphabet, directed=bool(rng.random() < 0.7), **given)
    symbols = list(symbols_of(alphabet))
    sent = [symbols[rng.integers(len(symbols))] for _ in range(int(rng.integers(30, 120)))]
    channel = [sent[t] + 0.4 * sent[t - 1] + 0.1 * rng.normal() for t in range(len(sent))]
    training, many, compared = len(sent) // 2, copy.deepcopy(model), 0
    copied_at, others = int(rng.integers(len(sent))), []
    decided = []
    for t, (y, u) in enumerate(zip(channel, sent, strict=True)):
        if t == copied_at:
            others = duplicates(model)
        if rng.random() < 0.05:
            bad = [math.nan, math.inf, "red", None][rng.integers(4)]
            check(
                not offer(model, lambda model, bad=bad: model.equalize_one(bad), f"observation {bad!r}"),  # type: ignore[misc]
                f"accepted {bad!r}",
            )
        decided.append(model.equalize_one(y, u, train=t < training))
        for other in others:
            check(same(other.equalize_one(y, u, train=t < training), decided[-1]), "a copy decides something else")
            compared += 1
    found = many.equalize_many(channel, sent, training=training)
    for t, (one, at_once) in enumerate(zip(decided, found.tolist(), strict=True)):
        is_equal = at_once != at_once if one is None else abs(one - at_once) < 1e-9
        check(is_equal, f"decision {t} is {one!r} one by one, {at_once!r} at once")
    return compared + len(found)


# Batch estimators -----------------------------------------------------------------------------------------------------


@area
def estimators(rng: Random) -> int:
    """Batch estimators: ordinary tables are learned; of others, what is not refused has finite predictions."""
    kernel = making.leaf(rng)
    while kernel.depends_on_width:
        kernel = making.leaf(rng)
    ridge = making.number(rng, 1e-3, 1.0)
    regressors: list[Callable[[], Any]] = [
        lambda: batch.KernelRidge(kernel, str(rng.choice(["krr", "kaar", "ikaar", "ckaar"])), ridge),
        lambda: batch.KernelRidge(),
        lambda: batch.HKRR(kernel, ridge),
        lambda: batch.LOOHKRR(kernel, ridge),
        lambda: batch.CoKER(ridge=ridge),
        lambda: batch.AutoKernelRegressor("low"),
    ]
    classifiers: list[Callable[[], Any]] = [
        lambda: batch.LSSVM(kernel, ridge, selection=None),
        lambda: batch.CoKERClassifier(ridge=ridge),
    ]
    is_classifier = rng.random() < 0.3
    makers = classifiers if is_classifier else regressors
    model = makers[rng.integers(len(makers))]()
    count, width = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    X = making.number(rng, 0.1, 3.0) * rng.normal(size=(count, width))
    y = np.sin(X.sum(axis=1)) + 0.1 * rng.normal(size=count)
    if rng.random() < 0.3:
        X = X[rng.integers(count, size=count)]
    if rng.random() < 0.2:
        X[:, 0] = 1.0
    is_ordinary = count >= 10
    if rng.random() < 0.3:
        X[rng.integers(count), rng.integers(width)] = extreme(rng)
        is_ordinary = False
    if rng.random() < 0.2 and not is_classifier:
        y[rng.integers(count)] = extreme(rng)
        is_ordinary = False
    labels = np.where(y > 0.0, "high", "low") if is_classifier else y
    is_ordinary &= len(set(labels.tolist())) > 1
    weights = np.exp(rng.normal(size=count)) if rng.random() < 0.4 else None
    given = {} if weights is None else {"sample_weight": weights}
    try:
        model.fit(X, labels, **given)
        query = rng.normal(size=(3, width))
        found = model.predict_proba(query) if is_classifier else model.predict(query)
    except REFUSED:
        if is_ordinary:
            raise
        return 1
    check(is_finite(found.ravel().tolist()), f"{model!r}: {found!r}")
    again = model.fit(X, labels, **given)
    check(same((again.predict_proba if is_classifier else again.predict)(query), found), "fitted again it is another")
    return 2
