"""Compilation ahead of time, so that the first sample of a stream does not wait."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

from ..output import OK, print_json, progress, table

EXAMPLES = """\
  streamkernel warmup
  streamkernel warmup --json"""

SAMPLES = 40  # the automatic models choose their scales several times within them


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Compile, and say what took how long."""
    seconds = {}
    for name, step in progress(PARTS.items(), "compiling", total=len(PARTS)):
        seconds[name] = _timed(step)
    total = sum(seconds.values())
    if arguments.json:
        print_json({"seconds": total, "parts": seconds})
        return OK
    print(table(["compiled, or loaded from the cache", "seconds"], [[n, f"{s:.1f}"] for n, s in seconds.items()]))
    print(f"\n{total:.1f} s; the next time everything comes from the cache")
    return OK


def compile_learners() -> float:
    """Compile what the plain learners call, or load it from numba's cache; the seconds that it took."""
    return _timed(_learners)


def _timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _learners() -> None:
    import numpy as np

    from ... import KRLS, kernels

    model = KRLS(kernels.RBF(1.0), threshold=0.1, max_size=4)
    rng = np.random.default_rng(0)
    for x in rng.random((8, 2)) * 9.0:
        model.learn_one({0: x[0], 1: x[1]}, 0.0)
    model.learn_many(rng.random((40, 2)), np.zeros(40))
    model.predict_one({0: 0.0, 1: 0.0}, with_dist=True)
    model.predict_one({0: 0.0, 1: 0.0})
    model.predict_many(rng.random((2, 2)))


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


def _classifier() -> None:
    import numpy as np

    from ... import AutoKernelClassifier, KernelMixtureClassifier

    for model in (AutoKernelClassifier(), KernelMixtureClassifier()):
        for x in np.random.default_rng(0).random((SAMPLES, 2)).tolist():
            model.predict_proba_one({"a": x[0], "b": x[1]})
            model.learn_one({"a": x[0], "b": x[1]}, "yes" if x[0] > 0.5 else "no")


PARTS = {
    "streaming learners": _learners,
    "automatic regressor": _automatic_regressor,
    "automatic forecaster": _automatic_forecaster,
    "classifiers": _classifier,
}
