"""Run the attacks: `python -m tests.fuzz --minutes 60`; exit code 1 where something was found."""

from __future__ import annotations

import argparse
import collections
import secrets
import sys
import time
import traceback
import warnings

import numpy as np

from .areas import read_from_threads
from .around import AREAS
from .making import LEARNERS


def case(name: str, seed: int, index: int) -> int:
    """One case of an area; the same for the same seed and number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AREAS[name](np.random.default_rng([seed, list(AREAS).index(name), index]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of all cases (default: a new one, which is printed)")
    parser.add_argument("--area", choices=list(AREAS), default=None, help="only this one")
    parser.add_argument("--case", type=int, default=None, help="only this case of the area")
    parser.add_argument("--go-on", action="store_true", help="do not stop at a finding")
    parser.add_argument(
        "--readers", type=int, default=0, metavar="N", help="instead: N predictions from four threads on every learner"
    )
    arguments = parser.parse_args()
    seed = secrets.randbelow(2**32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    if arguments.readers:
        return readers(seed, arguments.readers)
    names = [arguments.area] if arguments.area else list(AREAS)
    if arguments.case is not None:
        print(f"{case(names[0], seed, arguments.case)} comparisons")
        return 0
    return attack(names, seed, arguments.minutes, arguments.go_on)


def attack(names: list[str], seed: int, minutes: float, go_on: bool) -> int:
    """All areas in turn until the time is over."""
    cases: collections.Counter[str] = collections.Counter()
    comparisons: collections.Counter[str] = collections.Counter()
    findings, end, index = 0, time.monotonic() + 60.0 * minutes, 0
    while time.monotonic() < end and (go_on or not findings):
        for name in names:
            try:
                comparisons[name] += case(name, seed, index)
            except Exception:
                findings += 1
                traceback.print_exc(limit=-3)
                print(f"found by: python -m tests.fuzz --seed {seed} --area {name} --case {index}", flush=True)
            cases[name] += 1
        index += 1
    for name in names:
        print(f"{name:12} {cases[name]:8} cases {comparisons[name]:10} comparisons")
    print(f"{sum(cases.values())} cases, {findings} findings, seed {seed}")
    return 1 if findings else 0


def readers(seed: int, count: int) -> int:
    """The long form of the area `threads`."""
    for name, make in LEARNERS.items():
        rng = np.random.default_rng([seed, len(name)])
        began = time.monotonic()
        done = read_from_threads(make(rng), rng, -(-count // 4))
        print(
            f"{name:24} {done:9} predictions from four threads, all right ({time.monotonic() - began:.0f} s)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
