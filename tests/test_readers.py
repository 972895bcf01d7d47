"""The lock of those who predict: whatever ends a prediction, the next one does not wait."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from streamkernel import KRLS
from streamkernel.kernels import RBF

has_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that signals")


class Interruption(BaseException):
    """As KeyboardInterrupt, but nobody else's."""


@pytest.fixture
def interrupt_after() -> Iterator[Callable[[float], None]]:
    """Call it to be interrupted once, so many seconds later."""

    def interrupt(*_: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds) and None
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


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


@has_timer
@pytest.mark.parametrize("first", [0.1, "a"])
def test_a_signal_at_any_moment_leaves_the_lock_free(first: object, interrupt_after: Callable[[float], None]) -> None:
    """Handlers run as calls end: also as the one that takes the lock, and after an error."""
    model = taught()
    expected = model.predict_one({0: 0.1, 1: 0.2})

    def predict_until_interrupted(seconds: float) -> None:
        interrupt_after(seconds)
        while True:
            try:
                model.predict_one({0: first, 1: 0.2})
            except TypeError:
                assert first == "a"

    for seconds in np.random.default_rng(1).uniform(1e-4, 1e-3, 200).tolist():
        with pytest.raises(Interruption):
            predict_until_interrupted(seconds)
        assert is_free(model)
    assert model.predict_one({0: 0.1, 1: 0.2}) == expected


@has_timer
def test_a_signal_while_waiting_is_what_is_raised(interrupt_after: Callable[[float], None]) -> None:
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
    try:
        with pytest.raises(Interruption):
            model.predict_one({0: 0.1, 1: 0.2})
        assert not is_free(model)  # the other thread has it still
    finally:
        leave.set()
        thread.join()
    assert is_free(model)
