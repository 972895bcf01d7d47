"""The lock of those who predict: whatever ends a prediction, the next one does not wait."""

from __future__ import annotations

import math
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from streamkernel import KRLS
from streamkernel.kernels import RBF

has_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that signals")
GOOD = {0: 0.1, 1: 0.2}


def taught() -> KRLS:
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KRLS(RBF(1.0), ridge=0.1)
    model.learn_many(X, X.sum(axis=1))
    return model


def is_free(model: KRLS) -> bool:
    """Whether another thread could predict."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(model.recursion.reading.acquire(timeout=0.2))
        if taken[0]:
            model.recursion.reading.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


@pytest.mark.parametrize("x", [{0: math.nan, 1: 0.0}, {0: "a", 1: 0.0}, {0: 1e200, "new": math.inf}, None])
def test_a_bad_sample_leaves_the_lock_free(x: object) -> None:
    model = taught()
    with pytest.raises((ValueError, TypeError)):
        model.predict_one(x)  # type: ignore[arg-type]
    assert is_free(model)


# Signals --------------------------------------------------------------------------------------------------------------


class Interruption(BaseException):
    """As KeyboardInterrupt, but nobody else's."""


def interrupt_after(seconds: float) -> None:
    """Be interrupted once, so many seconds later."""

    def interrupt(*_: object) -> None:
        raise Interruption

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def interrupted_at_any_moment(first: object) -> None:
    """Predict until a signal comes, 200 times; handlers run as calls end, also as the one that takes the lock."""
    model = taught()
    expected, interrupted = model.predict_one(GOOD), 0
    for seconds in np.random.default_rng(1).uniform(1e-4, 1e-3, 200).tolist():
        interrupt_after(seconds)
        try:
            while True:
                try:
                    model.predict_one({0: first, 1: 0.2})
                except TypeError:
                    assert first == "a"
        except Interruption:
            interrupted += 1
        assert is_free(model), f"the lock stays held after {interrupted} signals"
    assert model.predict_one(GOOD) == expected
    assert interrupted == 200


def interrupted_while_waiting() -> None:
    model = taught()
    held, leave = threading.Event(), threading.Event()

    def predict_for_long() -> None:
        with model.recursion.reading:
            held.set()
            leave.wait()

    thread = threading.Thread(target=predict_for_long)
    thread.start()
    held.wait()
    interrupt_after(0.05)
    found: BaseException | None = None
    try:
        model.predict_one(GOOD)
    except BaseException as error:
        found = error
    try:
        assert isinstance(found, Interruption)
        assert not is_free(model), "the other thread has lost it"
    finally:
        leave.set()
        thread.join()
    assert is_free(model)


ATTACKS = {
    "good": lambda: interrupted_at_any_moment(0.1),
    "bad": lambda: interrupted_at_any_moment("a"),
    "waiting": interrupted_while_waiting,
}


@has_timer
@pytest.mark.parametrize("name", ATTACKS)
def test_a_signal_at_any_moment_leaves_the_lock_free(name: str) -> None:
    """In a process of its own: a signal may also break off whoever measures the coverage, who has a lock as well."""
    root = str(pathlib.Path(__file__).parent.parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    environment["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, __file__, name], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    ATTACKS[sys.argv[1]]()
