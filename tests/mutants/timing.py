"""A plugin of pytest that writes down which tests passed, in how many seconds of work: `-p tests.mutants.timing`.

Of a test with many parameters a few are run, from the first to the last: the others run nearly the same lines. A test
that works for long is ended and left out: none of its kind would be chosen.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import signal
from collections.abc import Generator

import pytest

MOST_PARAMETERS = 2
LONGEST = 8.0  # seconds of work
TARGET = "MUTANTS_TIMING"  # the environment variable that says where to
_seconds: dict[str, float] = {}
_unfit: set[str] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a few of each function."""
    groups: dict[str, list[pytest.Item]] = collections.defaultdict(list)
    for item in items:
        groups[item.nodeid.split("[")[0]].append(item)
    kept: list[pytest.Item] = []
    for group in groups.values():
        step = max(1.0, (len(group) - 1) / (MOST_PARAMETERS - 1))
        kept += [group[round(i * step)] for i in range(min(len(group), MOST_PARAMETERS))]
    places = {id(item) for item in kept}
    items[:] = [item for item in items if id(item) in places]


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
