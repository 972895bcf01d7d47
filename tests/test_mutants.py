"""The maker of mutants: what it changes and leaves alone, the same sample for the same seed, and that forks report."""

from __future__ import annotations

import pathlib
import textwrap

import pytest

from .mutants.choosing import functions, mark
from .mutants.making import mutants, sample
from .mutants.running import Runner, mutated

SOURCE = textwrap.dedent('''
    """A module: 1 + 1 < 3."""

    LIMIT = 2.0


    def clip(x: float, low: int = 0) -> float:
        """The docstring says 1 < 2."""
        assert x == x
        if x < low:
            raise ValueError(f"x is {x - 1}")
        total = 0.0
        for i in range(3):
            total += min(x, LIMIT) * i
        return total


    class Box:
        def get(self, values: list) -> float:
            return sum(values[1:len(values)])
''').lstrip()


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path


def test_every_kind_of_change_is_made_and_words_are_left_alone(root: pathlib.Path) -> None:
    found = mutants(root / "module.py", root)
    changed = {(mutant.kind, SOURCE[mutant.start : mutant.end], mutant.text) for mutant in found}
    assert {
        ("constant", "2.0", "4.0"),
        ("constant", "0", "1"),
        ("comparison", "<", "<="),
        ("comparison", "<", ">="),
        ("condition", "x < low", "not (x < low)"),
        ("dropped", "total = 0.0", "pass"),
        ("operator", "+=", "-="),
        ("operator", "*", "/"),
        ("min and max", "min", "max"),
        ("off by one", "3", "3 - 1"),
        ("off by one", "len(values)", "len(values) + 1"),
    } <= changed
    lines = {mutant.line for mutant in found}
    text = SOURCE.splitlines()
    assert not [line for line in lines if '"""' in text[line - 1] or "assert" in text[line - 1]]
    assert [mutant.kind for mutant in found if "raise" in text[mutant.line - 1]] == ["dropped"]


def test_a_mutant_knows_its_place(root: pathlib.Path) -> None:
    spans = functions(SOURCE)
    for mutant in mutants(root / "module.py", root):
        if mutant.function and mutant.offset >= 0:
            assert mark(mutant.line, spans) == f"{mutant.function}+{mutant.offset}"
    assert {mutant.function for mutant in mutants(root / "module.py", root)} == {"", "clip", "Box.get"}
    (head,) = (m for m in mutants(root / "module.py", root) if m.function == "clip" and m.offset == -1)
    assert "-def clip(x: float, low: int = 0)" in head.diff(
        SOURCE
    ) and "+def clip(x: float, low: int = 1)" in head.diff(SOURCE)


def test_a_sample_is_the_same_for_the_same_seed_and_compiles(root: pathlib.Path) -> None:
    paths = [root / "module.py"]
    one, two, other = (sample(root, paths, 8, seed) for seed in (1, 1, 2))
    assert one == two != other and len(one) == len(set(one)) == 8
    for mutant in one:
        assert compile(mutant.apply(SOURCE), "mutant", "exec")
        assert mutant.apply(SOURCE) != SOURCE


def test_a_fork_says_what_became_of_the_tests(tmp_path: pathlib.Path) -> None:
    """It passes, fails, and takes too long; the file is as before afterwards."""
    copy = tmp_path / "copy"
    package = pathlib.Path(__file__).parent / "mutants"
    (copy / "tests" / "mutants").mkdir(parents=True)
    for path in package.glob("*.py"):
        (copy / "tests" / "mutants" / path.name).write_text(path.read_text())
    (copy / "tests" / "__init__.py").write_text("")
    (copy / "pytest.ini").write_text("[pytest]\n")
    module = copy / "tests" / "thing.py"
    module.write_text("VALUE = 1\n")
    (copy / "tests" / "test_thing.py").write_text("from .thing import VALUE\n\ndef test_it():\n    assert VALUE == 1\n")
    runner = Runner(copy, "plain")
    assert runner.run(["tests/test_thing.py"], 60.0)["status"] == 0
    with mutated(module, "VALUE = 2\n"):
        answer = runner.run(["tests/test_thing.py"], 60.0)
    assert answer["status"] == 1 and "FAILED tests/test_thing.py::test_it" in answer["output"]
    with mutated(module, "while True: pass\n"):
        assert runner.run(["tests/test_thing.py"], 1.0)["status"] is None
    assert module.read_text() == "VALUE = 1\n"
    assert runner.run(["tests/test_thing.py"], 60.0)["status"] == 0
    runner.close()
