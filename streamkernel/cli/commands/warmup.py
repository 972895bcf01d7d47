"""Compilation ahead of time, so that the first sample of a stream does not wait."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

from ..output import OK, print_json, progress, table

EXAMPLES = """\
  streamkernel warmup
  streamkernel warmup --json"""

SAMPLES = 40  # the automatic models choose their scales several times within them


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Compile, and say what took how long."""
    from numba.core import event

    seconds: dict[str, float] = {}
    functions: dict[str, dict[str, float]] = {}
    for name, step in progress(PARTS.items(), "compiling", total=len(PARTS)):
        compilations = event.RecordingListener()
        with event.install_listener("numba:compile", compilations):
            seconds[name] = _timed(step)
        functions[name] = _outermost(compilations.buffer)
    total = sum(seconds.values())
    if arguments.json:
        print_json({"seconds": total, "parts": seconds, "functions": functions})
        return OK
    rows = []
    for name, taken in seconds.items():
        rows.append([name, f"{taken:.1f}"])
        rows += [[f"  {function}", f"{own:.1f}"] for function, own in functions[name].items()]
    print(table(["compiled, or loaded from the cache", "seconds"], rows))
    count = sum(map(len, functions.values()))
    print(f"\n{total:.1f} s, {count} functions compiled; the next time everything comes from the cache")
    return OK


def compile_learners() -> float:
    """Compile what `KRLS` calls, or load it from numba's cache; the seconds that it took."""
    return _timed(_krls)


def _timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _outermost(events: list[tuple[float, Any]]) -> dict[str, float]:
    """The functions that were compiled for themselves, and the seconds of each with all that it calls."""
    found: dict[str, float] = {}
    depth, began = 0, 0.0
    for when, event in events:
        if event.is_start:
            began = when if depth == 0 else began
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__.removeprefix('streamkernel.')}.{function.__name__}"
            found[name] = found.get(name, 0.0) + when - began
    return found


def _krls() -> None:
    import numpy as np

    from ... import KRLS, kernels

    _use(KRLS(kernels.RBF(1.0), threshold=0.1, max_size=4))
    calm = KRLS(kernels.RBF(1.0), threshold=0.1)
    calm.learn_many(np.zeros((SAMPLES, 2)), np.zeros(SAMPLES))  # nothing joins: blocks


def _use(model: Any) -> None:
    """All that a streaming regressor is asked to do."""
    import numpy as np

    rng = np.random.default_rng(0)
    for x in rng.random((8, 2)) * 9.0:
        model.learn_one({0: x[0], 1: x[1]}, 0.0)
    model.learn_many(rng.random((SAMPLES, 2)), np.zeros(SAMPLES))
    model.predict_one({0: 0.0, 1: 0.0}, with_dist=True)
    model.predict_one({0: 0.0, 1: 0.0})
    model.predict_many(rng.random((2, 2)))
    model.learn_one({0: 0.0, 1: 0.0, "new": 1.0}, 0.0)


def _other_learners() -> None:
    from ... import KAAR, KRLS, KRR, HeteroscedasticKRLS

    _use(KRR(ridge=0.1, threshold=None))
    _use(KRR(ridge=0.1, threshold=None, max_size=4))
    _use(KAAR(ridge=0.1))
    _use(HeteroscedasticKRLS(max_size=4))
    _use(KRLS(ridge=0.1, kernel_learning="gradient"))


def _kernels() -> None:
    import numpy as np

    from ... import kernels

    samples = np.random.default_rng(0).random((3, 2))
    for kernel in (
        kernels.Linear(),
        kernels.Polynomial(2),
        kernels.RBF(1.0),
        kernels.Laplacian(1.0),
        kernels.Matern32(1.0),
        kernels.Matern52(1.0),
        kernels.RationalQuadratic(1.0),
        kernels.Periodic(1.0),
        kernels.Spline(),
        kernels.AnovaSpline(2),
    ):
        kernel(samples)
        kernel.diagonal(samples)
    kernels.RBF(1.0).gradients(samples)


def _automatic_regressor() -> None:
    import numpy as np

    from ... import AutoKernelRegressor

    model = AutoKernelRegressor()
    for x in np.random.default_rng(0).random((SAMPLES, 2)).tolist():
        model.predict_one({"a": x[0], "b": x[1]}, with_interval=True)
        model.learn_one({"a": x[0], "b": x[1]}, math.sin(5.0 * x[0]))
    model.explain()


def _automatic_forecaster() -> None:
    from ... import AutoKernelForecaster

    model = AutoKernelForecaster()
    for t in range(SAMPLES):
        model.learn_one(math.sin(t) + 0.1 * t)
    model.forecast(3, with_interval=True)


def _mixtures() -> None:
    from ... import KernelMixture

    _use(KernelMixture())


def _classifiers() -> None:
    import numpy as np

    from ... import AutoKernelClassifier, KernelMixtureClassifier

    rows = np.random.default_rng(0).random((SAMPLES, 2))
    labels = np.where(rows[:, 0] > 0.5, "yes", "no")
    for model in (AutoKernelClassifier(), KernelMixtureClassifier()):
        for x, label in zip(rows.tolist(), labels.tolist(), strict=True):
            model.predict_proba_one({"a": x[0], "b": x[1]})
            model.learn_one({"a": x[0], "b": x[1]}, label)
    many = KernelMixtureClassifier()
    many.learn_many(rows, labels)
    many.predict_many(rows)


PARTS = {
    "streaming learners": _krls,
    "other streaming learners": _other_learners,
    "kernels": _kernels,
    "automatic regressor": _automatic_regressor,
    "automatic forecaster": _automatic_forecaster,
    "mixtures": _mixtures,
    "classifiers": _classifiers,
}
