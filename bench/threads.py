"""What BLAS threads cost a learner while other programs run: `python -m bench.threads`.

The same stream through an `AutoKernelRegressor` in a process of its own with the machine's default number of BLAS
threads, alone and beside busy programs: as the library sets the threads, with OPENBLAS_NUM_THREADS=1, and, for
comparison, with the BLAS left alone (STREAMKERNEL_THREADS=all). Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from bench.before import ROOT, THREADS

FEATURES, SEED = 11, 1
WAYS = {
    "as they come": {},
    "OPENBLAS_NUM_THREADS = 1": {"OPENBLAS_NUM_THREADS": "1"},
    "the BLAS left alone": {"STREAMKERNEL_THREADS": "all"},
}


def work(rows: int) -> None:
    """Learn the stream; print the seconds of the processor and of the clock."""
    import numpy as np

    from streamkernel import AutoKernelRegressor

    rng = np.random.default_rng(SEED)
    samples = rng.standard_normal((rows, FEATURES))
    targets = np.sin(samples[:, 0]) + 0.3 * samples[:, 1] * samples[:, 2] + 0.1 * rng.standard_normal(rows)
    names = [f"x{r}" for r in range(FEATURES)]
    warm = AutoKernelRegressor()
    for x, y in zip(samples[:30].tolist(), targets[:30].tolist(), strict=True):
        warm.learn_one(dict(zip(names, x, strict=True)), y)
    model = AutoKernelRegressor()
    began = time.process_time(), time.perf_counter()
    for row, y in zip(samples.tolist(), targets.tolist(), strict=True):
        x = dict(zip(names, row, strict=True))
        model.predict_one(x)
        model.learn_one(x, y)
    print(json.dumps([time.process_time() - began[0], time.perf_counter() - began[1]]))


def seconds(rows: int, settings: dict[str, str], neighbors: int) -> tuple[float, float]:
    """The seconds of a process with these settings, beside so many busy ones."""
    kept = {name: value for name, value in os.environ.items() if name not in (*THREADS, "STREAMKERNEL_THREADS")}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbors)]
    try:
        command = [sys.executable, "-m", "bench.threads", "--work", str(rows)]
        run = subprocess.run(command, env=kept | settings, cwd=ROOT, capture_output=True, check=True, text=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    processor, clock = json.loads(run.stdout)
    return processor, clock


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--neighbors", type=int, default=2, help="busy programs beside it")
    parser.add_argument("--left-alone", action="store_true", help="also with as many threads as the BLAS takes: slow")
    parser.add_argument("--quick", action="store_true", help="few rows, no neighbors")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work)
        return 0
    rows, beside = (40, (0,)) if options.quick else (options.rows, (0, options.neighbors))
    ways = dict(list(WAYS.items())[: 3 if options.left_alone else 2])
    print(f"AutoKernelRegressor, {rows} rows of {FEATURES} features: seconds of the processor (of the clock)")
    for neighbors in beside:
        for way, settings in ways.items():
            processor, clock = seconds(rows, settings, neighbors)
            print(f"{neighbors} busy programs beside, threads: {way:26s} {processor:7.2f} s ({clock:.2f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
