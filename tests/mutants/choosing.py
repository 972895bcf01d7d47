"""Which tests should notice a mutant: those that run its line, measured once by coverage's contexts.

The map is measured test file by test file and kept beside the copy of the checkout. Only files whose text has changed
are measured again. Lines are counted from the `def` of their function, so that the map outlives changes elsewhere in
a file.
"""

from __future__ import annotations

import ast
import collections
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import Any

from . import timing
from .making import Mutant

# Tests of these need a Java machine, a browser or much time, or look at no behavior.
SKIPPED_TESTS = re.compile(
    r"test_(bench|distributed_(spark|ray|checkpoint)|forecasting_spark|live_page|house|docs|mutants|examples|fuzz|front|threads)"
)
# Tests in the order of trust in their speed: one of each function first, then the further parameters.
MOST_TESTS = 200


def functions(source: str) -> list[tuple[int, int, str]]:
    """First line, last line and qualified name of every function, outer ones first."""
    found = []

    def visit(node: ast.AST, scope: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = (*scope, child.name)
                if not isinstance(child, ast.ClassDef):
                    found.append((child.lineno, child.end_lineno or child.lineno, ".".join(name)))
                visit(child, name)
            else:
                visit(child, scope)

    visit(ast.parse(source), ())
    return found


def mark(line: int, spans: list[tuple[int, int, str]]) -> str | None:
    """ "function+offset" of a line; None outside of every function."""
    found = [(first, name) for first, last, name in spans if first <= line <= last]
    return f"{found[-1][1]}+{line - found[-1][0]}" if found else None


class Map:
    """From lines of the package to the tests that run them, and how long those take."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path) -> None:
        self.root, self.folder = root, folder
        self.seconds: dict[str, dict[str, float]] = {"plain": {}, "jit": {}}
        # Mode, then file of the package, then mark, to the tests.
        self.lines: dict[str, dict[str, dict[str, set[str]]]] = {"plain": {}, "jit": {}}

    def test_files(self, mode: str) -> list[str]:
        """The files that are measured in a mode, and `streamkernel` for its doctests."""
        found = [path for path in sorted((self.root / "tests").glob("test_*.py")) if not SKIPPED_TESTS.match(path.name)]
        if mode == "plain":
            return [f"tests/{path.name}" for path in found if re.search(r"mark\.core", path.read_text())]
        return [*(f"tests/{path.name}" for path in found), "streamkernel"]

    def measure(self, mode: str) -> None:
        """Measure what has changed, and read everything."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in self.test_files(mode):
            kept = self.folder / f"{mode}-{pathlib.Path(file).stem}.json.gz"
            if kept.exists():
                part = json.loads(gzip.decompress(kept.read_bytes()))
            if not kept.exists() or part["digest"] != self.digest(file):
                print(f"{time.strftime('%H:%M:%S')} measuring {file} ({mode})", flush=True)
                part = self.measured(file, mode)
                kept.write_bytes(gzip.compress(json.dumps(part).encode()))
            self.read(mode, part)

    def digest(self, file: str) -> str:
        """Of a test file; doctests count as unchanged, as their files are those that are mutated."""
        path = self.root / file
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def measured(self, file: str, mode: str) -> dict[str, Any]:
        """Run a file under coverage; its tests that pass, with their times and lines."""
        import coverage

        data, times = self.folder / "now.coverage", self.folder / "now.json"
        for path in (data, times):
            path.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.mutants.timing"]
        command += ["--cov=streamkernel", "--cov-report=", "--cov-context=test"]
        command += ["-m", "core and not spark" if mode == "plain" else "not spark", file]
        environment = os.environ | {"COVERAGE_FILE": str(data), timing.TARGET: str(times)} | mode_of(mode, self.root)
        subprocess.run(command, cwd=self.root, env=environment, stdout=subprocess.DEVNULL, check=False)
        seconds = json.loads(times.read_text())
        lines: dict[str, dict[str, list[str]]] = {}
        covered = coverage.CoverageData(str(data))
        covered.read()
        for path in covered.measured_files():
            where = pathlib.Path(path).relative_to(self.root).as_posix()
            spans = functions(pathlib.Path(path).read_text())
            for line, contexts in covered.contexts_by_lineno(path).items():
                place = mark(line, spans)
                tests = {name for context in contexts if (name := context.rsplit("|", 1)[0]) in seconds}
                if place and tests:
                    lines.setdefault(where, {})[place] = sorted(tests)
        return {"digest": self.digest(file), "seconds": seconds, "lines": lines}

    def read(self, mode: str, part: dict[str, Any]) -> None:
        """Take in what one file has shown."""
        self.seconds[mode] |= part["seconds"]
        for path, places in part["lines"].items():
            known = self.lines[mode].setdefault(path, collections.defaultdict(set))
            for place, tests in places.items():
                known[place].update(tests)

    def choose(self, mutant: Mutant, budget: float) -> tuple[str, list[str]]:
        """The mode in which a mutant is tried, and the tests: quick ones and those of its subject first."""
        modes = ("plain", "jit") if mutant.path.startswith("streamkernel/core/") else ("jit",)
        for mode in modes:
            tests = self.candidates(mode, mutant)
            if tests:
                return mode, self.within(budget, mode, tests, pathlib.Path(mutant.path).stem)
        # Nobody runs it without the compiler: what the compiled core is for.
        every = {test for test in self.seconds["jit"] if test.startswith(("tests/test_simd", "tests/test_views"))}
        return "jit", self.within(budget, "jit", every if len(modes) == 2 else set(), "")

    def candidates(self, mode: str, mutant: Mutant) -> set[str]:
        """The tests that run the line; outside of functions those that run the functions where its names occur."""
        places = self.lines[mode].get(mutant.path, {})
        if mutant.function and mutant.offset >= 0:
            return set(places.get(f"{mutant.function}+{mutant.offset}", ()))
        chosen = {mutant.function} if mutant.function else self.users(mutant)
        return {test for place, tests in places.items() if place.rsplit("+", 1)[0] in chosen for test in tests}

    def users(self, mutant: Mutant) -> set[str]:
        """The functions of a file in which a name occurs that the mutated statement binds; all where there is none."""
        source = (self.root / mutant.path).read_text()
        names = {
            node.id
            for statement in ast.parse(source).body
            if statement.lineno <= mutant.line <= (statement.end_lineno or 0)
            and not isinstance(statement, ast.ClassDef)
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        lines, spans = source.splitlines(), functions(source)
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b") if names else re.compile("")
        found = {name for first, last, name in spans if any(pattern.search(line) for line in lines[first - 1 : last])}
        return found or {name for _, _, name in spans}

    def within(self, budget: float, mode: str, tests: set[str], subject: str) -> list[str]:
        """As many tests as fit the time."""
        seconds = self.seconds[mode]
        rounds: collections.Counter[str] = collections.Counter()
        ranked = []
        for test in sorted(tests, key=lambda test: seconds[test]):
            function = test.split("[")[0]
            is_own = subject in test.split("::")[0]
            ranked.append((rounds[function], not is_own, seconds[test], test))
            rounds[function] += 1
        chosen, total = [], 0.0
        for _, _, needed, test in sorted(ranked)[:MOST_TESTS]:
            if chosen and total + needed > budget:
                continue
            chosen.append(test)
            total += needed
        return chosen


def mode_of(mode: str, copy: pathlib.Path) -> dict[str, str]:
    """The environment of a mode: one thread, and one cache of compiled code for measuring and trying."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    cache = {"NUMBA_CACHE_DIR": str(copy.parent / "numba")}
    return threads | cache | {"PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1" if mode == "plain" else "0"}
