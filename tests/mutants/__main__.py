"""Try a seeded sample of mutants of the package: `python -m tests.mutants --count 200 --seed 1`.

Prints the survivors as diffs; exit code 1 where there are any. The copy of the checkout, the map from lines to tests
and the results stay in the work folder, and `--resume` goes on there.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
import tempfile
import time

from .choosing import Map
from .making import Mutant, sample
from .running import NOTICED, SURVIVED, TIMED_OUT, UNTESTED, Runner, copy_checkout, mutated

ROOT = pathlib.Path(__file__).parents[2]
# What only a Java machine or a Ray cluster reaches.
SKIPPED_FILES = ("distributed/spark.py", "distributed/ray.py", "forecasting/spark.py")
PATIENCE = 5.0  # a mutant may take this many times as long as its tests without it, and
GRACE = 30.0  # these seconds more,
COMPILING = 300.0  # or these where the core is compiled anew


def package_files(root: pathlib.Path, module: str | None) -> list[pathlib.Path]:
    """The files of the package whose path begins with `module`, such as `core/noise` or `ensembles`."""
    package = root / "streamkernel"
    found = [path for path in sorted(package.rglob("*.py")) if not str(path).endswith(SKIPPED_FILES)]
    if module is not None:
        found = [path for path in found if path.relative_to(package).as_posix().startswith(module)]
    return found


class Trial:
    """Mutants tried one after the other, with a process for each mode."""

    def __init__(self, copy: pathlib.Path, tests: Map, budget: float) -> None:
        self.copy, self.tests, self.budget = copy, tests, budget
        self.runners: dict[str, Runner] = {}

    def run(self, mode: str, tests: list[str], grace: float) -> dict[str, object]:
        """Run tests in the copy as it is now."""
        if mode not in self.runners:
            self.runners[mode] = Runner(self.copy, mode)
        nominal = sum(self.tests.seconds[mode].get(test, 0.0) for test in tests)
        return self.runners[mode].run(tests, PATIENCE * nominal + grace)

    def judge(self, mutant: Mutant) -> dict[str, object]:
        """What becomes of a mutant."""
        path = self.copy / mutant.path
        source = path.read_text()
        mode, chosen = self.tests.choose(mutant, self.budget)
        result = {"name": mutant.name, "mode": mode, "tests": len(chosen), "diff": mutant.diff(source)}
        if not chosen:
            return result | {"verdict": UNTESTED, "seconds": 0.0}
        grace = COMPILING if mode == "jit" and mutant.path.startswith("streamkernel/core/") else GRACE
        with mutated(path, mutant.apply(source)):
            answer = self.run(mode, chosen, grace)
            functions = list(dict.fromkeys(test.split("[")[0] for test in chosen))
            if answer["status"] == 0 and functions != chosen:
                # All their parameters, as far as there is time.
                further = self.runners[mode].run(functions, PATIENCE * self.budget)
                answer = further if further["status"] == 1 else answer
        status = answer["status"]
        verdict = SURVIVED if status == 0 else TIMED_OUT if status is None else NOTICED
        if verdict == NOTICED and status != 1 and self.run(mode, chosen, grace)["status"] != 0:
            verdict = UNTESTED  # no failure of a test, and the same without the mutant: the tests cannot be run
        last = str(answer["output"]) if verdict == NOTICED else ""
        failed = next((line for line in last.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
        return result | {"verdict": verdict, "seconds": answer["seconds"], "noticed by": failed[:200]}

    def close(self) -> None:
        """End all processes."""
        for runner in self.runners.values():
            runner.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--module", help="only files whose path in the package begins so: core/noise, ensembles")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for a mutant (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="keep the results of this sample that are there")
    parser.add_argument("--again", action="store_true", help="with --resume: try survivors once more")
    parser.add_argument(
        "--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "streamkernel-mutants"
    )
    options = parser.parse_args(arguments)
    work = options.work
    copy = work / "copy"
    copy_checkout(ROOT, copy)
    paths = package_files(copy, options.module)
    if not paths:
        parser.error(f"--module {options.module!r}: no file of the package begins so")
    chosen = sample(copy, paths, options.count, options.seed)
    file = work / f"results-{options.seed}-{(options.module or 'all').replace('/', '-')}.jsonl"
    results: dict[str, dict[str, object]] = {}
    if options.resume and file.exists():
        results = {one["name"]: one for one in map(json.loads, file.read_text().splitlines())}
    elif file.exists():
        file.unlink()
    tests = Map(copy, work / "map")
    tests.measure("plain")
    trial = Trial(copy, tests, options.seconds)
    # Those that need no compiler first: the other half of the map takes longer.
    is_plain = {mutant.name: tests.choose(mutant, options.seconds)[0] == "plain" for mutant in chosen}
    chosen.sort(key=lambda mutant: not is_plain[mutant.name])
    has_all = False
    for number, mutant in enumerate(chosen, 1):
        known = results.get(mutant.name)
        if known and not (options.again and known["verdict"] in (SURVIVED, UNTESTED)):
            continue
        if not is_plain[mutant.name] and not has_all:
            tests.measure("jit")
            has_all = True
        result = results[mutant.name] = trial.judge(mutant)
        with file.open("a") as out:
            out.write(json.dumps(result) + "\n")
        now = time.strftime("%H:%M:%S")
        print(f"{now} {number}/{len(chosen)} {result['verdict']} {mutant.kind} {mutant.path}:{mutant.line}", flush=True)
    trial.close()
    return report([results[mutant.name] for mutant in chosen])


def report(results: list[dict[str, object]]) -> int:
    """Print the survivors and the score."""
    survivors = [result for result in results if result["verdict"] in (SURVIVED, UNTESTED)]
    for result in survivors:
        print(f"\n{result['verdict']} ({result['tests']} tests, {result['mode']}): {result['name']}\n{result['diff']}")
    verdicts = collections.Counter(str(result["verdict"]) for result in results)
    noticed = verdicts[NOTICED] + verdicts[TIMED_OUT]
    parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"\n{noticed} of {len(results)} mutants noticed ({100 * noticed / max(len(results), 1):.1f} %): {parts}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
