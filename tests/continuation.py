"""What a restored model does next: streams, continuations, and whether this machine rounds like another.

Checkpoints that a release has written stand in `fixtures`, each with the continuation that the same release gave. The
streams are made of sums, products and remainders only, which every machine rounds alike: no library is asked for a
sine or a random number.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
from collections.abc import Callable, Hashable
from typing import Any

import numba
import numpy as np
from scipy import linalg

# Numbers of a continuation and of what follows it.
STEPS, MORE, LATE = 14, 40, 4

# Streams --------------------------------------------------------------------------------------------------------------


def even(t: int, step: float) -> float:
    """The t-th of numbers that fill [0, 1) evenly, another sequence for each irrational step."""
    return (t * step) % 1.0


def plain(t: int) -> tuple[dict[Hashable, Any], float]:
    """Two features; now and then one is absent."""
    a, b, noise = 2.0 * even(t, 0.6180339887498949), 2.0 * even(t, 0.41421356237309515), even(t, 0.7320508075688772)
    y = 3.0 * a * (a - 1.0) * (a - 2.0) + b * b / 2.0 + 0.2 * (noise - 0.5)
    return ({"a": a} if t % 7 == 3 else {"a": a, "b": b}), y


def complete(x: dict[Hashable, Any]) -> dict[Hashable, Any]:
    """A sample of `plain` with all its features."""
    return {"a": x["a"], "b": x.get("b", 0.5)}


def mixed(t: int) -> tuple[dict[Hashable, Any], float]:
    """Features whose names are of every kind that a checkpoint can hold."""
    x, y = plain(t)
    names: dict[Hashable, Hashable] = {"a": ("lag", 1), "b": 7}
    return {names[name]: value for name, value in x.items()} | {None: y * 0.0, "größe": 0.5 * x["a"], True: 1.0}, y


def words(t: int) -> tuple[dict[Hashable, Any], float]:
    """Numbers of other sizes, words and gaps."""
    x, y = plain(t)
    color = ("red", "blue", "red", "green")[t % 4]
    gap = (None, math.nan, 0.1 * t)[t % 3]
    return {"a": 1000.0 * x["a"], "b": x.get("b"), "color": color, "gap": gap, 3: 1.0}, 50.0 + 10.0 * y


STREAMS = {"plain": plain, "mixed": mixed, "words": words}


def label(t: int) -> tuple[dict[Hashable, Any], Hashable]:
    """Three classes with names of different kinds."""
    x, y = plain(t)
    return x, "low" if y < 0.3 else 1 if y < 1.3 else "high"


def signal(t: int) -> float:
    """A series whose next value follows from two before it, and a little that does not."""
    phase = even(t, 0.11803398874989485)
    return 8.0 * phase * (1.0 - phase) * (0.5 + phase) + 0.1 * even(t, 0.7320508075688772)


def day(t: int) -> dict[Hashable, Any]:
    """An exogenous feature of the series."""
    return {"day": even(t, 0.125)}


def observation(t: int, alphabet: str) -> tuple[complex, complex]:
    """What a nonlinear channel with memory makes of a symbol, and the symbol."""
    real, imaginary = ([1.0 if even(t - k, step) < 0.5 else -1.0 for k in range(2)] for step in (0.618034, 0.414214))
    received = [part[0] + 0.4 * part[1] - 0.1 * part[0] * part[1] * part[1] for part in (real, imaginary)]
    if alphabet == "qpsk":
        half = math.sqrt(0.5)
        return complex(received[0], received[1] + 0.1 * received[0]), complex(half * real[0], half * imaginary[0])
    return received[0] + 0.3 * (even(t, 0.7320508075688772) - 0.5), real[0]


def overlap(x: Any, z: Any) -> float:
    """A kernel in Python."""
    return float(sum(min(a, b) for a, b in zip(x.tolist(), z.tolist(), strict=True)))


def closeness(points: Any, x: Any) -> Any:
    """A kernel in Python, a column at once: the polynomial (1 + ⟨x, z⟩)²."""
    return np.array([(1.0 + sum(a * b for a, b in zip(row, x.tolist(), strict=True))) ** 2 for row in points.tolist()])


FUNCTIONS: dict[str, Callable[..., Any]] = {"overlap": overlap, "closeness": closeness}

# Continuations: parts by name, each a list of rows of plain values --------------------------------------------------

Parts = dict[str, list[list[Any]]]


def regressor(model: Any, start: int, stream: str = "plain") -> Parts:
    """Predictions and deviations, each before its sample is learned; a block; features that are new."""
    sample = STREAMS[stream]

    def step(t: int, **new: float) -> list[Any]:
        x, y = sample(t)
        x |= new
        row = [float(model.predict_one(x)), float(model.predict_one(x, with_dist=True).sigma)]
        model.learn_one(x, y, 1.0 + t % 3)
        return row

    parts = {"steps": [step(t) for t in range(start, start + STEPS)]}
    parts |= {name: [[getattr(model, name)]] for name in ("size", "refused") if hasattr(model, name)}
    if hasattr(model, "weights"):
        parts["weights"] = [list(model.weights)]
    if hasattr(model, "regret_bound"):
        parts["regret"] = [[model.regret_bound(2.0)]]
    # A mixture of release 0.1.0 learned no blocks.
    if hasattr(model, "learn_many") and stream == "plain" and type(model).__name__ != "KernelMixture":
        # The features 0 and 1 beside "a" and "b" would be new ones: a frame names its columns.
        import pandas as pd

        samples = [sample(start + STEPS + i) for i in range(MORE)]
        frame = pd.DataFrame([complete(x) for x, _ in samples])
        model.learn_many(frame, pd.Series([y for _, y in samples]))
        parts["many"] = [[float(value)] for value in model.predict_many(frame.head(LATE))]
    if stream == "words":
        parts["relevance"] = [list(model.relevance.values())]
    parts["late"] = [step(start + STEPS + MORE + i, late=0.1 * i) for i in range(LATE)]
    return parts


def classifier(model: Any, start: int) -> Parts:
    """Probabilities of the classes, each before the label is learned; a class that is new."""

    def step(t: int, y: Hashable) -> list[Any]:
        x = label(t)[0]
        row = list(model.predict_proba_one(x).values())
        model.learn_one(x, y, 1.0 + t % 3)
        return row

    parts = {"steps": [step(t, label(t)[1]) for t in range(start, start + STEPS)]}
    parts["late"] = [step(start + STEPS + i, "late" if i % 2 else "low") for i in range(LATE)]
    parts["classes"] = [list(model.predict_proba_one(label(0)[0]))]
    return parts


def conformal(model: Any, start: int) -> Parts:
    """Predictions and the ends of intervals."""
    rows = []
    for t in range(start, start + STEPS):
        x, y = plain(t)
        interval = model.predict_one(x, with_interval=True)
        rows.append([float(model.predict_one(x)), float(interval.lower), float(interval.upper)])
        model.learn_one(x, y)
    return {"steps": rows}


def forecaster(model: Any, start: int, exogenous: bool = False) -> Parts:
    """Forecasts before each value, and sampled futures at the end."""

    def future(t: int) -> list[Any] | None:
        return [day(t + i) for i in range(3)] if exogenous else None

    rows = []
    for t in range(start, start + STEPS):
        rows.append([float(value) for value in model.forecast(3, future(t))])
        model.learn_one(signal(t), day(t) if exogenous else None)
    paths = model.forecast_paths(3, future(start + STEPS), n_paths=3)
    return {"steps": rows, "paths": [[float(value) for value in path] for path in paths]}


def equalizer(model: Any, start: int, alphabet: str = "bpsk") -> Parts:
    """Decisions, the estimate of the real part behind each, and the errors counted."""
    rows = []
    for t in range(start, start + STEPS):
        received, symbol = observation(t, alphabet)
        decision = model.equalize_one(received, symbol, train=t % 3 == 0)
        both = [received, observation(t - 1, alphabet)[0]]
        values = [part for y in both for part in ((y.real, y.imag) if alphabet == "qpsk" else (y.real,))]
        decided = [math.nan, math.nan] if decision is None else [decision.real, decision.imag]
        rows.append([*decided, float(model.model.predict_one(dict(enumerate(values))))])
    return {"steps": rows, "counts": [[model.symbols_counted, model.symbol_errors, model.bit_errors]]}


def session(model: Any, start: int) -> Parts:
    """Predictions of complete rows, and the score."""
    rows = []
    for t in range(start, start + STEPS):
        x, y = plain(t)
        rows.append([float(model.step(complete(x), y))])
    return {"steps": rows, "score": [list(model.score().values())]}


def standardizer(model: Any, start: int) -> Parts:
    """Samples in standard units; one feature is new."""
    rows = []
    for t in range(start, start + STEPS):
        x = plain(t)[0] | ({"late": even(t, 0.3)} if t > start + LATE else {})
        model.learn_one(x)
        rows.append(list(model.transform_one(x).values()))
    return {"steps": rows}


CONTINUATIONS: dict[str, Callable[..., Parts]] = {
    function.__name__: function
    for function in (regressor, classifier, conformal, forecaster, equalizer, session, standardizer)
}


# How this machine rounds ----------------------------------------------------------------------------------------------


@numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _sums(rows: Any, out: Any) -> None:
    """Sums that the compiler may reorder and fuse: how depends on the width of registers."""
    for i in range(rows.shape[0]):
        total, squares, powers = 0.0, 0.0, 0.0
        for j in range(i + 1):
            total += rows[i, j]
            squares += rows[i, j] * rows[i, j] / 3.0
        for j in range(rows.shape[1]):
            powers += math.exp(-rows[i, j]) * rows[j % rows.shape[0], i % rows.shape[1]]
        out[0, i], out[1, i], out[2, i] = total, squares, powers


def rounding() -> dict[str, str]:
    """What decides the last bits of a computation, as far as it can be seen from outside the library.

    Compiled sums (the processor's registers, fused operations, the compiler), numpy's functions and linear algebra
    (which choose code by processor), the C library's functions; and the versions of those who generate code.
    """
    rows = np.array([[even(41 * i + j, 0.6180339887498949) for j in range(41)] for i in range(37)])
    gram, sums = rows @ rows.T / 41.0 + np.eye(37), np.empty((3, 37))
    _sums(rows, sums)
    factor = np.linalg.cholesky(gram)
    values = {
        "compiled": sums,
        "functions": np.concatenate(
            [function(0.1 + rows[0]) for function in (np.exp, np.log, np.sqrt, np.expm1, np.sin)]
        ),
        "reductions": np.array([rows.sum(), rows.mean(axis=0).std(), rows.var(), np.square(rows).sum(axis=1).max()]),
        "products": np.concatenate([gram.ravel(), rows @ rows[0], [rows[1] @ rows[2]]]),
        "solvers": np.concatenate(
            [factor.ravel(), np.linalg.solve(gram, rows[:, 0]), linalg.solve_triangular(factor, rows, lower=True)[:, 5]]
        ),
        "libm": np.array([f(0.1 + x) for x in rows[0].tolist() for f in (math.exp, math.log, math.expm1, math.sin)]),
    }
    found = {name: hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest() for name, array in values.items()}
    return found | {name: importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy", "scipy")}
