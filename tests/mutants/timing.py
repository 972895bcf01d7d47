"""A plugin of pytest that writes down which tests passed, in how many seconds of work: `-p tests.mutants.timing`.

Of a test with many parameters as many are run as a few seconds allow: the others run nearly the same lines. A test that
works for long is ended and left out: it would not be chosen.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import signal
from collections.abc import Generator

import pytest

ENOUGH, LONGEST = 2.0, 8.0  # seconds of work: of all parameters, and of one test
TARGET = "MUTANTS_TIMING"  # the environment variable that says where to
_seconds: dict[str, float] = {}
_spent: dict[str, float] = collections.defaultdict(float)
_unfit: set[str] = set()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out further parameters of a function that has worked for long enough."""
    if _spent[item.nodeid.split("[")[0]] > ENOUGH:
        pytest.skip("enough of its kind")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Processor time of setup, call and teardown, with that of processes which the test has started and ended."""
    before = sum(os.times()[:4])
    signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        result = yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    _seconds[item.nodeid] = sum(os.times()[:4]) - before
    _spent[item.nodeid.split("[")[0]] += _seconds[item.nodeid]
    return result


def _end(*_: object) -> None:
    pytest.skip("works for too long")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what fails, also in setup and teardown, and what is skipped."""
    if report.outcome != "passed":
        _unfit.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the file."""
    passed = {name: seconds for name, seconds in _seconds.items() if name not in _unfit}
    pathlib.Path(os.environ[TARGET]).write_text(json.dumps(passed))
