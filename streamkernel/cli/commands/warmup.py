"""Compilation ahead of time, so that the first sample of a stream does not wait."""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..output import OK, print_json


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Compile, and say how long it took."""
    seconds = compile_learners()
    if arguments.json:
        print_json({"seconds": seconds})
    else:
        print(f"compiled, or loaded from the cache, in {seconds:.1f} s")
    return OK


def compile_learners() -> float:
    """Compile what the learners call, or load it from numba's cache; the seconds that it took."""
    from ... import KRLS, kernels

    began = time.perf_counter()
    model = KRLS(kernels.RBF(1.0), threshold=0.1, max_size=4)
    rng = np.random.default_rng(0)
    for x in rng.random((8, 2)) * 9.0:
        model.learn_one({0: x[0], 1: x[1]}, 0.0)
    model.learn_many(rng.random((40, 2)), np.zeros(40))
    model.predict_one({0: 0.0, 1: 0.0}, with_dist=True)
    model.predict_one({0: 0.0, 1: 0.0})
    model.predict_many(rng.random((2, 2)))
    return time.perf_counter() - began
