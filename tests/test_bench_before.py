"""The comparison of two checkouts, of this one with itself."""

from __future__ import annotations

import os

import pytest

from bench import before


def test_two_processes_take_turns(tmp_path: object) -> None:
    cache = os.environ.get("NUMBA_CACHE_DIR", str(tmp_path))
    workers = [before.Worker(before.ROOT, [24], cache) for _ in range(2)]
    rows = before.compare(*workers, rounds=3)
    for worker in workers:
        worker.close()
    assert [row[0] for row in rows] == workers[0].cases == workers[1].cases
    assert len(rows) == 8
    for _, here, there, ratio, low, high in rows:
        assert here > 0.0
        assert there > 0.0
        assert low <= ratio <= high


def test_a_checkout_without_the_package_is_an_error(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="folder with the package"):
        before.Worker(before.ROOT / "tests", [24], str(tmp_path))
