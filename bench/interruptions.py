"""Runs of the command line that are ended by signals at random places, and what is left of them.

    python -m bench.interruptions [--quick]

A run with `--predictions`, `--save` and `--resume` is killed (SIGKILL), or asked to end (SIGTERM, SIGHUP, SIGINT), some
moments after it has made progress, and started again, until it reaches the end of its file. Its predictions and its
checkpoint must be those of a run that nobody disturbed, byte for byte.
"""

from __future__ import annotations

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

GRACEFUL = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def write_rows(path: pathlib.Path, count: int, seed: int = 0) -> None:
    """A table of two features and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=count)
    lines = [f"{a:.6f},{b:.6f},{t:.6f}\n" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("a,b,y\n" + "".join(lines))


def start(folder: pathlib.Path, name: str, options: list[str]) -> subprocess.Popen[bytes]:
    """A run in a process of its own."""
    command = [sys.executable, "-m", "streamkernel", "run", str(folder / "rows.csv"), "--target", "y", *options]
    outputs = ["--predictions", str(folder / f"{name}.csv"), "--save", str(folder / f"{name}.skm"), "--resume"]
    return subprocess.Popen([*command, *outputs], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def disturbed(folder: pathlib.Path, options: list[str], kinds: list[int], rng: np.random.Generator) -> int:
    """Run to the end through these signals, as many as come in time; how many came."""
    predictions, came = folder / "disturbed.csv", 0
    while True:
        before = predictions.stat().st_size if predictions.exists() else -1
        process = start(folder, "disturbed", options)
        assert process.stderr is not None
        if came < len(kinds):
            while process.poll() is None and (not predictions.exists() or predictions.stat().st_size <= max(before, 0)):
                time.sleep(0.002)
            time.sleep(float(rng.uniform(0.0, 0.15)))
            process.send_signal(kinds[came])
        said = process.stderr.read().decode()
        process.stderr.close()
        code = process.wait()
        if code == 0:
            return came
        # A shell sees the same where the signal comes after the last checkpoint and ends the process by itself.
        expected = (-kinds[came],) if kinds[came] == signal.SIGKILL else (128 + kinds[came], -kinds[came])
        if code not in expected:
            raise AssertionError(f"exit code {code} after signal {kinds[came]}: {said}")
        came += 1


def trial(options: list[str], rows: int, kinds: list[int], seed: int) -> int:
    """One file through signals; how many came. An AssertionError tells what is not as it would have been."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_rows(folder / "rows.csv", rows, seed)
        process = start(folder, "whole", options)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        process.stderr.close()
        if process.wait() != 0:
            raise AssertionError(said)
        came = disturbed(folder, options, kinds, np.random.default_rng(seed))
        for ending in ("csv", "skm"):
            whole, other = (folder / f"{run}.{ending}" for run in ("whole", "disturbed"))
            if whole.read_bytes() != other.read_bytes():
                raise AssertionError(f"seed {seed}: the {ending} file differs after {came} signals")
        return came


PLAIN = ["--model", "krls", "--max-size", "20", "--checkpoint-every", "700"]
AUTOMATIC = ["--checkpoint-every", "50"]


def main() -> None:
    """Fifty kills, and sixty signals of other kinds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two signals in all")
    quick = parser.parse_args().quick
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts with & ignore it
    if quick:
        print("signals:", trial(PLAIN, 6000, [signal.SIGKILL, signal.SIGTERM], 0))
        return
    for label, kinds, wanted in (("SIGKILL", (signal.SIGKILL,), 50), ("SIGTERM, SIGHUP, SIGINT", GRACEFUL, 60)):
        came, trials, seed = 0, 0, 0
        while came < wanted:
            automatic = seed % 5 == 4
            options, rows = (AUTOMATIC, 600) if automatic else (PLAIN, 80_000)
            sequence = [kinds[i % len(kinds)] for i in range(min(12, wanted - came))]
            came += trial(options, rows, sequence, seed)
            trials, seed = trials + 1, seed + 1
            print(f"{label}: {came} signals in {trials} files, all files as without them", flush=True)


if __name__ == "__main__":
    main()
