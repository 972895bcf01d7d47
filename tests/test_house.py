"""The rules of the house: layers, no prints, documented jitted functions, a light import, documents that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

import streamkernel
from streamkernel import core

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "streamkernel"
FILES = sorted(PACKAGE.rglob("*.py"))

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


def layers() -> list[list[str]]:
    """The rows of ARCHITECTURE's table: files, and folders with a slash behind."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("## Layers")[1].split("\n## ")[0]
    return [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in section.splitlines() if line.startswith("| `")]


def place(path: str) -> tuple[int, str]:
    """The row of a file and the entry that names it or its folder."""
    found = [(i, entry) for i, row in enumerate(layers()) for entry in row if _holds(entry, path)]
    assert len(found) == 1, f"{path} stands in {len(found)} rows of ARCHITECTURE's table"
    return found[0]


def _holds(entry: str, path: str) -> bool:
    return path.startswith(entry) if entry.endswith("/") else path == entry


def part_of(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_files(path: pathlib.Path) -> set[str]:
    """The files of the package that a file imports from, anywhere in it but for type checkers."""
    package = ["streamkernel", *path.relative_to(PACKAGE).parts[:-1]]
    tree = ast.parse(path.read_text())
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names = []
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            names += [[*module, alias.name] for alias in node.names]
    found = {_file_of(name[1:]) for name in names if name[0] == "streamkernel"}
    return found - {path.relative_to(PACKAGE).as_posix()}


def _file_of(name: list[str]) -> str:
    """The file that a dotted name is, or in which it is defined."""
    for length in range(len(name), -1, -1):
        for candidate in (
            PACKAGE.joinpath(*name[:length], "__init__.py"),
            PACKAGE.joinpath(*name[:length]).with_suffix(".py"),
        ):
            if candidate.exists():
                return candidate.relative_to(PACKAGE).as_posix()
    raise AssertionError(f"no file defines {name}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_layers(path: pathlib.Path) -> None:
    own, entry = place(path.relative_to(PACKAGE).as_posix())
    for other in imported_files(path):
        row, its_entry = place(other)
        is_own_folder = entry.endswith("/") and entry == its_entry
        assert row < own or is_own_folder or own == len(layers()) - 1, f"{path} imports {other}, which is not above it"


def test_every_row_names_what_exists() -> None:
    for row in layers():
        for entry in row:
            assert (PACKAGE / entry).exists(), entry


def test_no_module_is_imported_by_a_string_past_the_rule() -> None:
    """`importlib` is for the lazy names of packages, and for what the package itself has listed."""
    users = [path for path in FILES if "importlib.import_module" in path.read_text()]
    own = {"__init__.py", "batch/__init__.py", "checkpoint.py", "cli/commands/__init__.py"}
    of_others = {"datasets/raetsch.py", "datasets/fetch.py", "distributed/spark.py"}  # extras
    allowed = own | of_others
    assert {path.relative_to(PACKAGE).as_posix() for path in users} <= allowed


def test_the_rule_sees_a_violation(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    for name in ("core/bad.py", "learners/__init__.py", "kernels/__init__.py", "batch/system.py", "batch/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    path = tmp_path / "core" / "bad.py"
    path.write_text("from ..learners import KRLS\nfrom .. import kernels\nimport streamkernel.batch.system\n")
    assert imported_files(path) == {"learners/__init__.py", "kernels/__init__.py", "batch/system.py"}


def test_no_file_is_long() -> None:
    long = {path.name: lines for path in FILES if (lines := path.read_text().count("\n")) > 500}
    assert not long


def test_no_core_function_takes_many_arguments() -> None:
    """Eight at most; a register takes its eight lanes."""
    for path in (PACKAGE / "core").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name not in ("totals", "transpose", "wrapper"):
                assert len(node.args.args) <= 8, f"{path.name}: {node.name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_prints_but_the_command_line(path: pathlib.Path) -> None:
    if part_of(path) == "cli":
        return
    calls = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not calls


DECORATORS = {"jit", "part", "inline", "njit", "intrinsic", "number"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_jitted_functions_are_documented(path: pathlib.Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(d.func if isinstance(d, ast.Call) else d).split(".")[-1] for d in node.decorator_list}
            if names & DECORATORS:
                assert ast.get_docstring(node), f"{path.name}:{node.lineno} {node.name} has no docstring"


def test_the_core_holds_functions_only() -> None:
    """No classes but the register type, the fields of the model, the cache and tables of functions."""
    for module in pkgutil.iter_modules(core.__path__):
        tree = ast.parse((PACKAGE / "core" / f"{module.name}.py").read_text())
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        assert not classes or module.name in ("jit", "numbered", "simd", "views", "model")


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
import sys, streamkernel.learners, streamkernel.running
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


DOCUMENTS = sorted(path.name for path in ROOT.glob("*.md") if ">>> " in path.read_text())


def test_the_front_page_has_examples() -> None:
    assert "README.md" in DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_run(name: str) -> None:
    """Every document with examples, whichever they are."""
    failed, attempted = doctest.testfile(
        str(ROOT / name),
        module_relative=False,
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        encoding="utf-8",
    )
    assert failed == 0 and attempted > 0


def test_every_python_block_of_the_front_pages_has_prompts() -> None:
    """A block without them would not run."""
    for path in ROOT.glob("*.md"):
        for block in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL):
            assert block.lstrip().startswith(">>> "), f"{path.name}: {block[:60]!r}"


# What others keep private and there is no public way to: numba's cache and arrays, river's distributions and models.
FOREIGN = {"_cache_path", "_source_stamp", "_index_name", "_getvalue", "_from_state", "_get_params"}
NAMED_TUPLES = {"_asdict", "_replace", "_fields"}  # public in spite of their underscore


@pytest.mark.parametrize("path", FILES, ids=str)
def test_nothing_reads_what_another_module_keeps_private(path: pathlib.Path) -> None:
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and not _on_itself(node.value)}
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) and node.level for alias in node.names}
    private = {name for name in read | imported if name.startswith("_") and not name.startswith("__")}
    assert private - own - FOREIGN - NAMED_TUPLES == set()


def _on_itself(value: ast.expr) -> bool:
    """`self`, `cls` or `super()`."""
    called = value.func if isinstance(value, ast.Call) else value
    return isinstance(called, ast.Name) and called.id in {"self", "cls", "super"}
