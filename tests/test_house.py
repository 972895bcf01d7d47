"""The rules of the house: layers, no prints, documented jitted functions, a light import, documents that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import streamkernel
from streamkernel import core

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "streamkernel"
FILES = sorted(PACKAGE.rglob("*.py"))

# A file imports only from rows above its own. Members of one row may import each other.
LAYERS = [
    {"core", "checks", "alphabets"},
    {"kernels"},
    {"criteria"},
    {"checkpoint"},
    {"learners"},
    {
        "auto",
        "batch",
        "conformal",
        "distributed",
        "distributions",
        "encoding",
        "ensembles",
        "equalization",
        "filters",
        "forecasting",
        "metrics",
        "plotting",
        "relevance_plots",
        "running",
        "selection",
        "session",
    },
    {"cli", "__main__"},
]
TOP = {"cli", "__main__"}  # may import anything, the package's own names too
CONSTANTS = {"alphabets"}  # what both sides of the line below need
BESIDE = {"datasets"}  # generators and loaders: import no learner, and the command line may use them
EXTRAS = [
    "sklearn",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "ray",
    "torch",
    "tqdm",
    "IPython",
    "mlxtend",
]


def row(part: str) -> int:
    return next(i for i, parts in enumerate(LAYERS) if part in parts)


def part_of(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: pathlib.Path) -> set[str]:
    """The parts of the package (first level names) that a file imports from, anywhere in it."""
    package = ["streamkernel", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            names = [[*module, alias.name] for alias in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "streamkernel" and len(name) > 1}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_layers(path: pathlib.Path) -> None:
    part = part_of(path)
    if part in TOP | {"__init__"}:
        return
    imports = imported_parts(path) - {part}
    if part in BESIDE:
        imports -= CONSTANTS
        assert not imports
    for other in imports:
        assert other in set().union(*LAYERS), f"{path.name} imports {other}"
        assert row(other) <= row(part), f"{path.name} imports {other}, which stands below it"


def test_every_part_has_its_layer() -> None:
    parts = {part_of(path) for path in FILES} - {"__init__"}
    assert parts <= set().union(BESIDE, *LAYERS)


def test_the_rule_sees_a_violation(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "core").mkdir()
    path = tmp_path / "core" / "bad.py"
    path.write_text("from ..learners import KRLS\nfrom .. import kernels\nimport streamkernel.batch.system\n")
    assert imported_parts(path) == {"learners", "kernels", "batch"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_prints_but_the_command_line(path: pathlib.Path) -> None:
    if path.name == "cli.py":
        return
    calls = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not calls


DECORATORS = {"jit", "part", "inline", "njit", "intrinsic"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_jitted_functions_are_documented(path: pathlib.Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(d.func if isinstance(d, ast.Call) else d).split(".")[-1] for d in node.decorator_list}
            if names & DECORATORS:
                assert ast.get_docstring(node), f"{path.name}:{node.lineno} {node.name} has no docstring"


def test_the_core_holds_functions_only() -> None:
    """No classes but the register type, and no learner's vocabulary."""
    for module in pkgutil.iter_modules(core.__path__):
        tree = ast.parse((PACKAGE / "core" / f"{module.name}.py").read_text())
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        assert not classes or module.name == "simd"


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_the_import_is_light() -> None:
    """No extra is imported that river does not import by itself."""
    own = modules_after("import streamkernel") - modules_after(
        "import river.base, river.proba, river.utils, river.datasets"
    )
    assert not {name.split(".")[0] for name in own} & set(EXTRAS)


def test_the_import_compiles_nothing() -> None:
    code = """
import sys, streamkernel
from numba.core.dispatcher import Dispatcher
jitted = [v for n, m in list(sys.modules.items()) if n.startswith("streamkernel") for v in vars(m).values()
          if isinstance(v, Dispatcher)]
assert len(jitted) > 20
compiled = [v.py_func.__qualname__ for v in jitted if v.overloads]
assert not compiled, compiled
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_public_names() -> None:
    for name in streamkernel.__all__:
        assert getattr(streamkernel, name).__doc__
    for module in ("kernels", "checkpoint"):
        loaded = importlib.import_module(f"streamkernel.{module}")
        for name in getattr(loaded, "__all__", ()):
            assert getattr(loaded, name).__doc__, name
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_documents_run(name: str) -> None:
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"there is no {name}")
    failed, _ = doctest.testfile(
        str(path), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, encoding="utf-8"
    )
    assert failed == 0
