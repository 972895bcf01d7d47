"""What a type checker knows about the library when a user's program imports it."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys
from types import ModuleType

import pytest

import streamkernel
from streamkernel import batch, datasets

PACKAGE = pathlib.Path(streamkernel.__file__).parent
MODULES = (streamkernel, batch, datasets)

WRONG = {
    "from streamkernel import KernelMixtur": "attr-defined",
    "streamkernel.AutoKernelRegresor()": "attr-defined",
    "streamkernel.batch.KernelRige()": "attr-defined",
    "streamkernel.datasets.MackeyGlas()": "attr-defined",
    'streamkernel.KRLS(threshold="small")': "arg-type",
    "streamkernel.AutoKernelRegressor(budjet=3.0)": "call-arg",
    "streamkernel.KernelForecaster(lags=3)": "call-arg",
    "streamkernel.batch.LSSVM(ridge=[])": "arg-type",
    "streamkernel.datasets.MackeyGlass(tau='long')": "arg-type",
    "length: str = streamkernel.KRLS().size": "assignment",
}


def public_names() -> list[str]:
    return [
        f"{module.__name__}.{name}"
        for module in MODULES
        for name in module.__all__
        if not isinstance(getattr(module, name), ModuleType)
    ]


def mypy(program: str, folder: pathlib.Path) -> dict[int, str]:
    """What mypy says about a program of another folder, by line."""
    (folder / "program.py").write_text(program)
    # mypy finds an installed package by itself; one that is imported from elsewhere it must be told of.
    installed = "site-packages" in PACKAGE.parts
    environment = {**os.environ, "MYPYPATH": "" if installed else str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=cache", "program.py"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    found: dict[int, str] = {}
    for line in result.stdout.splitlines():
        if match := re.match(r"program\.py:(\d+): (.*)", line):
            found[int(match[1])] = found.get(int(match[1]), "") + match[2]
    return found


def test_a_user_s_program(tmp_path: pathlib.Path) -> None:
    """Every public name has its own type, and every wrong use is an error: one program, as mypy takes its time."""
    names = public_names()
    lines = ["import streamkernel", *(f"reveal_type({name})" for name in names), *WRONG]
    found = mypy("\n".join(lines) + "\n", tmp_path)
    answers = {line: found.get(i, "nothing") for i, line in enumerate(lines, start=1)}
    untyped = {name: answer for name in names if not is_typed(name, answer := answers[f"reveal_type({name})"])}
    assert not untyped
    missed = {line: answers[line] for line, kind in WRONG.items() if f"[{kind}]" not in answers[line]}
    assert not missed


def is_typed(name: str, answer: str) -> bool:
    module, _, short = name.rpartition(".")
    value = getattr(sys.modules[module], short)
    kind = f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else "def ("
    return kind in answer and 'Revealed type is "Any"' not in answer


@pytest.mark.parametrize("module", [streamkernel, batch], ids=lambda module: module.__name__)
def test_what_is_imported_late_is_what_a_type_checker_sees(module: ModuleType) -> None:
    tree = ast.parse(pathlib.Path(str(module.__file__)).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    late = dict.fromkeys(getattr(module, "_SUBMODULES", ())) | module._HOMES
    assert seen == late
    assert set(late) <= set(module.__all__)
