"""Checkpoints, compiled code and downloads: nothing is written that cannot be read, and damage is no crash."""

from __future__ import annotations

import gzip
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fuzz.around import AREAS
from reference import JIT

import streamkernel
from streamkernel import KRLS, KernelMixture, kernels
from streamkernel.datasets import fetch, parse
from streamkernel.kernels import RBF, Custom, Linear

PACKAGE = pathlib.Path(streamkernel.__file__).parent


# Checkpoints ----------------------------------------------------------------------------------------------------------


def test_two_functions_of_one_name_are_refused_when_written() -> None:
    first, second = Custom(lambda x, z: float(x @ z)), Custom(lambda x, z: float((x @ z) ** 2))
    for model in (KRLS(first + second), KernelMixture([KRLS(first), KRLS(second)])):
        model.learn_one({0: 2.0}, 1.0)
        with pytest.raises(TypeError, match=r"two functions of Custom kernels have the name '<lambda>'"):
            model.to_bytes()
    again = KRLS(first + 2.0 * first)
    again.learn_one({0: 2.0}, 1.0)
    restored = KRLS.from_bytes(again.to_bytes(), {"<lambda>": first.function})
    assert restored.predict_one({0: 1.0}) == again.predict_one({0: 1.0})


@pytest.mark.parametrize("names", [(np.int64(0), np.int64(1)), (np.str_("a"), np.str_("b")), (np.bool_(True), 0)])
def test_names_of_numpy_types_can_be_read_again(names: tuple[Any, Any]) -> None:
    model = KRLS(kernel_learning="refit")
    for row in np.random.default_rng(0).normal(size=(120, 2)).tolist():
        model.learn_one(dict(zip(names, row, strict=True)), sum(row))
    x = dict.fromkeys(names, 0.5)
    assert KRLS.from_bytes(model.to_bytes()).predict_one(x) == model.predict_one(x)
    given = KRLS(RBF(dict.fromkeys(names, 1.0)))
    given.learn_one(x, 1.0)
    assert KRLS.from_bytes(given.to_bytes()).predict_one(x) == given.predict_one(x)


def test_a_kernel_that_could_not_be_read_is_refused_when_written() -> None:
    deep: kernels.Kernel = RBF(1.0)
    for _ in range(210):
        deep = Linear() + deep
    for kernel in (deep, RBF({object: 1.0})):
        model = KRLS(kernel)
        with pytest.raises(TypeError, match=r"nested too deeply|could not be read"):
            model.to_bytes()
    wide: kernels.Kernel = RBF(1.0)
    for _ in range(210):
        wide = wide + Linear()
    assert KRLS.from_bytes(KRLS(wide).to_bytes()).kernel == wide


# Compiled code --------------------------------------------------------------------------------------------------------

CALLEE = "from .jit import part\n\n\n@part\ndef callee(x):\n    return x + {}\n"
CALLER = "from .callee import callee\nfrom .jit import jit\n\n\n@jit\ndef caller(x):\n    return callee(x)\n"
# A module of the core alone: the package itself would compile what it needs.
SCRIPT = """
import importlib, sys, types
for name, folder in (("streamkernel", sys.argv[1]), ("streamkernel.core", sys.argv[1] + "/core")):
    module = types.ModuleType(name)
    module.__path__ = [folder]
    sys.modules[name] = module
caller = importlib.import_module("streamkernel.core.caller").caller
print(caller(1.0), sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the core, as an editable install has it, with two functions in two files."""
    shutil.copytree(PACKAGE / "core", tmp_path / "streamkernel" / "core", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "streamkernel" / "core" / "callee.py").write_text(CALLEE.format(1.0))
    (tmp_path / "streamkernel" / "core" / "caller.py").write_text(CALLER)
    return tmp_path


def called(checkout: pathlib.Path) -> list[str]:
    """What `caller(1.0)` returns in a new process, and how often compiled code came from the cache."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(checkout / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SCRIPT, str(checkout / "streamkernel")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.split()


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_compiled_code_follows_what_it_calls(checkout: pathlib.Path) -> None:
    assert called(checkout) == ["2.0", "0"]
    assert called(checkout) == ["2.0", "1"]
    (checkout / "streamkernel" / "core" / "callee.py").write_text(CALLEE.format(5.0))
    assert called(checkout) == ["6.0", "0"]


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_damaged_cache_is_compiled_anew(checkout: pathlib.Path) -> None:
    assert called(checkout) == ["2.0", "0"]
    files = sorted((checkout / "cache").rglob("*.nb?"))
    assert {path.suffix for path in files} == {".nbi", ".nbc"}
    for damage in (lambda data: data[: len(data) // 2], lambda data: b"garbage" + data, lambda data: b""):
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        assert called(checkout) == ["2.0", "0"]
        assert called(checkout) == ["2.0", "1"]
    for path in files:
        if path.suffix == ".nbc":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(bytes(data))
    assert called(checkout) == ["2.0", "0"]


# Downloads ------------------------------------------------------------------------------------------------------------


class Endless(http.server.BaseHTTPRequestHandler):
    """A body without an end."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100_000):
                self.wfile.write(b"0" * 4096)
        except OSError:
            pass

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def endless() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/endless.csv"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("limit", "value"), [("LARGEST", 100_000), ("LONGEST", 0.0)])
def test_a_transfer_without_an_end_is_broken_off(
    limit: str, value: float, endless: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMKERNEL_CACHE", str(tmp_path))
    monkeypatch.setattr(fetch, limit, value)
    with pytest.raises(fetch.DatasetError, match=r"more than 100000 bytes|no end after 0 seconds"):
        fetch.download(fetch.Original(endless, "endless.csv"))
    assert not list(tmp_path.iterdir())


def test_a_file_that_unpacks_without_an_end_is_refused_and_not_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamkernel.datasets import files

    monkeypatch.setattr(parse, "LARGEST", 1000)
    monkeypatch.setenv("STREAMKERNEL_CACHE", str(tmp_path))
    monkeypatch.delenv("STREAMKERNEL_DATA", raising=False)
    name = next(name for name, entry in files.TABLES.items() if entry.originals and not entry.packaged)
    for original in files.TABLES[name].originals:
        (tmp_path / original.name).write_bytes(gzip.compress(b"1,2,3\n" * 10_000))
    monkeypatch.setattr(fetch, "_check", lambda *arguments: None)
    with pytest.raises(fetch.DatasetError, match="unpacks to more than 1000 bytes"):
        files.load(name)
    assert not list(tmp_path.iterdir())


# The page of promises -------------------------------------------------------------------------------------------------


def test_every_promise_has_its_test() -> None:
    root = PACKAGE.parent
    page = root / "docs" / "promises.md"
    if not page.is_file():
        pytest.skip("needs a checkout")
    named = re.findall(r"`(test_\w+\.py)::(\w+)(\[\w+\])?`", page.read_text())
    assert len(named) > 20
    for file, function, case in named:
        source = (root / "tests" / file).read_text()
        assert f"def {function}(" in source, f"{file} has no {function}"
        if case:
            assert case[1:-1] in AREAS
