"""What must stand before numpy and numba are imported, and where the tests find data."""

from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
from collections.abc import Callable

import pytest

collect_ignore = ["fixtures"]  # what wrote them runs with the release that they come from

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NVPL_BLAS"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


def _cache_name() -> str:
    """A name that changes with the core: numba's cache goes stale when a callee in another file changes."""
    digest = hashlib.sha256()
    for path in sorted((pathlib.Path(__file__).parents[1] / "streamkernel" / "core").glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return f"streamkernel-numba-{digest.hexdigest()[:16]}"


_cache = pathlib.Path(os.environ.get("NUMBA_CACHE_DIR", tempfile.gettempdir()))
if _cache.name != _cache_name():  # a worker process inherits the folder
    os.environ["NUMBA_CACHE_DIR"] = str(_cache / _cache_name())


def pytest_configure(config: pytest.Config) -> None:
    from hypothesis import settings

    settings.register_profile("streamkernel", deadline=None, derandomize=True, max_examples=40)
    settings.load_profile("streamkernel")


@pytest.fixture(scope="session")
def data() -> Callable[[str], pathlib.Path]:
    """A function from a name inside the data folder to its path; the test is skipped where it is absent."""

    def path(name: str) -> pathlib.Path:
        folder = os.environ.get("STREAMKERNEL_DATA")
        if not folder:
            pytest.skip(f"needs {name}: set STREAMKERNEL_DATA to the data folder")
        found = pathlib.Path(folder) / name
        if not found.exists():
            pytest.skip(f"needs {name}, which is not in STREAMKERNEL_DATA ({folder})")
        return found

    return path
