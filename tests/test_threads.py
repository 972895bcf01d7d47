"""Dense linear algebra inside learners takes one thread, and the process keeps its own number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its library is one of those that are limited)
from threadpoolctl import ThreadpoolController, threadpool_limits

from bench import threads as bench
from streamkernel import AutoKernelRegressor, criteria
from streamkernel.criteria import values
from streamkernel.threads import VARIABLE, one_thread


def counts() -> list[int]:
    return [library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers]


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process's own setting, whatever the environment says."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with threadpool_limits(2, user_api="blas"):
        assert set(counts()) == {2}
        yield


def test_one_thread_inside_and_as_before_outside() -> None:
    with one_thread:
        assert set(counts()) == {1}
        with one_thread:
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert set(counts()) == {2}


def test_an_error_restores_too() -> None:
    @one_thread
    def fail() -> None:
        assert set(counts()) == {1}
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert set(counts()) == {2}


def test_the_last_of_several_threads_restores() -> None:
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with one_thread:
            entered.set()
            leave.wait()

    other = threading.Thread(target=stay)
    with one_thread:
        other.start()
        entered.wait()
    assert set(counts()) == {1}
    leave.set()
    other.join()
    assert set(counts()) == {2}


@pytest.mark.parametrize(("asked", "inside"), [("all", 2), ("2", 2), ("7", 2), ("1", 1)])
def test_who_asks_for_more_has_more(monkeypatch: pytest.MonkeyPatch, asked: str, inside: int) -> None:
    monkeypatch.setenv(VARIABLE, asked)
    with one_thread:
        assert set(counts()) == {inside}
    assert set(counts()) == {2}


@pytest.mark.parametrize("asked", ["0", "-1", "two", ""])
def test_a_number_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv(VARIABLE, asked)
    with pytest.raises(ValueError, match=f"{VARIABLE} must be a number of threads or 'all', got '{asked}'"):
        one_thread.__enter__()
    monkeypatch.delenv(VARIABLE)
    with one_thread:
        assert set(counts()) == {1}


def test_a_tuning_takes_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    invert = values._invert

    def watched(noisy: Any) -> Any:
        seen.extend(counts())
        return invert(noisy)

    monkeypatch.setattr(values, "_invert", watched)
    rng = np.random.default_rng(1)
    model = AutoKernelRegressor()
    for x in rng.standard_normal(20).tolist():
        model.learn_one({"x": x}, np.sin(x))
    assert set(seen) == {1}
    assert set(counts()) == {2}
    criteria.evidence(np.eye(3), np.ones((3, 1)))
    assert seen[-1] == 2


def test_bench_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--quick"]) == 0
    printed = capsys.readouterr().out
    assert "OPENBLAS_NUM_THREADS = 1" in printed
    assert "as they come" in printed
