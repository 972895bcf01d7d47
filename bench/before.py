"""What a step costs beside another checkout of the project: `python -m bench.before ../before`.

Two processes, one on each checkout, take turns in chunks of a few milliseconds, and a ratio is the median of the ratios
of neighboring chunks (this one over the other): what disturbs this machine disturbs both. Seconds are those of the
processor. Only public methods are called, so that older checkouts can take part.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
FEATURES, THRESHOLD, SEED = 10, 1e-3, 1
CHUNK_SECONDS = 4e-3
Case = Callable[[int], object]


def cases(sizes: Sequence[int]) -> dict[str, Case]:
    """What is timed: a function that does so many steps, by name and dictionary size."""
    found: dict[str, Case] = {}
    for m in sizes:
        found |= {f"{name}, m = {m}": case for name, case in _cases_of(m).items()}
    return found


def _cases_of(m: int) -> dict[str, Case]:
    import numpy as np

    from streamkernel import KRLS, kernels

    rng = np.random.default_rng(SEED)
    points = rng.uniform(-3.0, 3.0, (m, FEATURES))
    # A visit close to a point is learned and does not join.
    visits = points[rng.integers(m, size=512)] + rng.normal(0.0, 0.003, (512, FEATURES))
    targets = rng.standard_normal(512)
    model = KRLS(kernels.RBF(1.0), threshold=THRESHOLD)
    model.learn_many(points, np.sin(points.sum(axis=1)))
    xs = [dict(enumerate(row)) for row in visits.tolist()]
    known, wider, narrower = (
        xs,
        [x | {"new": 0.1} for x in xs],
        [{k: v for k, v in x.items() if k != 3} for x in xs],
    )
    ys = targets.tolist()

    def learn_one(steps: int) -> None:
        for i in range(steps):
            model.learn_one(known[i % 512], ys[i % 512])

    def predict_one(given: list[Any]) -> Case:
        def run(steps: int) -> None:
            for i in range(steps):
                model.predict_one(given[i % 512])

        return run

    def learn_one_row(steps: int) -> None:
        for i in range(steps):
            model.learn_many(visits[i % 512 : i % 512 + 1], targets[i % 512 : i % 512 + 1])

    def learn_many(steps: int) -> None:
        for start in range(0, steps, 512):
            model.learn_many(visits[: min(512, steps - start)], targets[: min(512, steps - start)])

    news = [dict(enumerate(row)) for row in rng.uniform(-3.0, 3.0, (2048, FEATURES)).tolist()]
    seen = iter(range(sys.maxsize))

    def learn_full(given: list[Any]) -> Case:
        """A full dictionary: samples far from all points join and make another leave, visits do neither."""
        full = KRLS(kernels.RBF(1.0), THRESHOLD, 0.01, max_size=m)
        full.learn_many(points, np.sin(points.sum(axis=1)))

        def run(steps: int) -> None:
            for _ in range(steps):
                i = next(seen)
                full.learn_one(given[i % len(given)], ys[i % 512])

        return run

    return {
        "learn_one, full, one joins, one leaves": learn_full(news),
        "learn_one, full, neither": learn_full(xs),
        "learn_one": learn_one,
        "predict_one": predict_one(known),
        "predict_one, a feature unknown": predict_one(wider),
        "predict_one, a feature absent": predict_one(narrower),
        "learn_many of one row": learn_one_row,
        "learn_many of 512 rows": learn_many,
    }


def work(sizes: Sequence[int]) -> None:
    """Answer requests [case, steps] with the seconds they take; the first answer lists the cases."""
    found = cases(sizes)
    for case in found.values():
        case(3)
    sys.stdout.write(json.dumps(list(found)) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        name, steps = json.loads(line)
        began = time.process_time()
        found[name](steps)
        sys.stdout.write(json.dumps(time.process_time() - began) + "\n")
        sys.stdout.flush()


class Worker:
    """A process that times steps of one checkout."""

    def __init__(self, checkout: Path, sizes: Sequence[int], cache: str) -> None:
        if not (checkout / "streamkernel").is_dir():
            raise ValueError(f"checkout must be a folder with the package streamkernel, got {str(checkout)!r}")
        environment = os.environ | THREADS | {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, str(Path(__file__).resolve()), "--work", *map(str, sizes)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=checkout, text=True
        )
        self.cases: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def seconds(self, case: str, steps: int) -> float:
        """The processor's seconds for so many steps."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([case, steps]) + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def compare(ours: Worker, theirs: Worker, rounds: int) -> list[tuple[str, float, float, float, float, float]]:
    """For every case: seconds a step here and there, the median ratio and its quartiles."""
    rows = []
    for case in ours.cases:
        steps = max(1, int(CHUNK_SECONDS / max(ours.seconds(case, 64) / 64, 1e-7)))
        steps = steps if "512" not in case else 512 * max(1, steps // 512)
        pairs = []
        for turn in range(rounds):
            order = (ours, theirs) if turn % 2 else (theirs, ours)
            seconds = {worker: worker.seconds(case, steps) for worker in order}
            pairs.append((seconds[ours] / steps, seconds[theirs] / steps))
        low, ratio, high = statistics.quantiles([a / b for a, b in pairs], n=4)
        here, there = (statistics.median(column) for column in zip(*pairs, strict=True))
        rows.append((case, here, there, ratio, low, high))
    return rows


def cold(checkout: Path) -> float:
    """The processor's seconds for the import and the first `learn_one` with an empty cache of compiled code."""
    code = "from streamkernel import KRLS; import time; KRLS().learn_one({0: 1.0}, 1.0); print(time.process_time())"
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | THREADS | {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": cache}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=checkout, capture_output=True, check=True
        )
    return float(run.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="the other checkout, such as a worktree of an older commit")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 200, 500])
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--cold", type=int, default=3, help="how often a cold start is timed on each side")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as cache:
        workers = [
            Worker(checkout, options.sizes, f"{cache}/{i}")
            for i, checkout in enumerate((ROOT, options.checkout.resolve()))
        ]
        for case, here, there, ratio, low, high in compare(*workers, options.rounds):
            print(f"{case:45s} {1e6 * here:9.2f} µs {1e6 * there:9.2f} µs   {ratio:6.3f}  ({low:.3f} – {high:.3f})")
        for worker in workers:
            worker.close()
    pairs = [(cold(ROOT), cold(options.checkout.resolve())) for _ in range(options.cold)]
    if pairs:
        here, there = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{'cold import and first learn_one':45s} {here:9.2f} s  {there:9.2f} s    {here / there:6.3f}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work([int(size) for size in sys.argv[2:]])
    else:
        sys.exit(main())
