"""Symbol error rates of equalizers: the default kernel equalizer beside linear ones and the exact Bayes detector.

`python -m bench.equalizers` prints a table a channel, with 95 % Wilson intervals, and writes `results/equalizers.csv`.
Every equalizer is trained on 1000 symbols. The kernel equalizer then learns from its own decisions; the linear ones do
not, with which they make fewer errors. A point ends at 200 symbol errors; runs of 50 000 decisions have seeds of their
own (0, 1, ...; choices were made on seeds from 100 on). A point whose numbers are in the results already is not
simulated again unless `--fresh` is given, or it is the kernel equalizer's and `--keep` is not.

`--tracking` counts losses of lock: 20 runs of 10⁵ symbols through a slow fade, and through a switch that is followed by
100 training symbols. `--speed` measures training through arrays, in symbols a second of processor time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import record
from bench.papers.report import progress, table
from streamkernel import KRLS, KernelEqualizer, datasets
from streamkernel.datasets.channel import tanh
from streamkernel.equalization import curves
from streamkernel.equalization.curves import Point
from streamkernel.kernels import RBF, Odd

RESULTS = Path(__file__).parent / "results"
SNRS: dict[str, tuple[float, ...]] = {
    "cubic": (8, 11, 14, 17),
    "cubic5": (5, 8, 11, 13),
    "notch": (7, 9, 11, 15, 20),
    "pam4": (17, 20, 23, 25),
    "qpsk": (8, 10, 12, 14),
    "qam16": (14, 16, 18, 20),
    "satellite": (16, 18, 20, 22),
}
RIVALS = ("RLS", "RLS, feedback", "Volterra RLS")
JUDGED = (1e-4, 0.1)
HEADERS = ("channel", "equalizer", "snr", "symbols", "symbol_errors", "bit_errors", "bits")
# A hundred symbols in which more than this share is wrong are a loss of lock.
LOST = 0.35
WINDOW = 100


def cached(path: Path) -> dict[tuple[str, str, float], Point]:
    """The points that were simulated before."""
    return {
        (row["channel"], row["equalizer"], float(row["snr"])): Point(
            row["equalizer"], float(row["snr"]), *(int(row[name]) for name in HEADERS[3:])
        )
        for row in record.read(path)
    }


def points(arguments: argparse.Namespace, known: dict[tuple[str, str, float], Point]) -> Iterator[tuple[str, Point]]:
    """All points that were asked for."""
    for name in arguments.channel or SNRS:
        for snr in SNRS[name][: 2 if arguments.quick else None]:
            for equalizer, decide in curves.EQUALIZERS.items():
                key = (name, equalizer, float(snr))
                if key in known and (equalizer != "kernel" or arguments.keep) and not arguments.fresh:
                    yield name, known[key]
                    continue

                def channel(seed: int, name: str = name) -> Any:
                    return datasets.named_channel(name, seed)

                yield (
                    name,
                    curves.measure(
                        equalizer,
                        channel,
                        float(snr),
                        decide,
                        arguments.errors,
                        arguments.most,
                        arguments.seed,
                        arguments.run,
                    ),
                )


def verdict(found: list[Point], snr: float) -> str | None:
    """Whether the kernel equalizer is below every rival whose rate is in the range that is judged."""
    here = {point.equalizer: point for point in found if point.snr == snr}
    rates = [here[name].symbol_error_rate for name in RIVALS if name in here]
    judged = [rate for rate in rates if JUDGED[0] <= rate <= JUDGED[1]]
    if not judged or "kernel" not in here:
        return None
    return "yes" if here["kernel"].symbol_error_rate < min(rates) else "NO"


def shown(point: Point) -> str:
    """A rate and its interval."""
    low, high = point.interval
    return f"{point.symbol_error_rate:.3g} [{low:.2g}, {high:.2g}]"


def report(found: dict[str, list[Point]]) -> str:
    """A table a channel, and the distance to the bound at a symbol error rate of 1e-2."""
    lines = []
    for name, members in found.items():
        snrs = sorted({point.snr for point in members})
        rows = []
        for equalizer in curves.EQUALIZERS:
            by_snr = {point.snr: point for point in members if point.equalizer == equalizer}
            rows.append([equalizer, *(shown(by_snr[snr]) if snr in by_snr else None for snr in snrs)])
        rows.append(["kernel below all rivals", *(verdict(members, snr) for snr in snrs)])
        lines += [f"\n{name}: symbol error rate", table(["", *(f"{snr:g} dB" for snr in snrs)], rows)]
        at = {
            equalizer: curves.snr_at([point for point in members if point.equalizer == equalizer], 1e-2)
            for equalizer in ("kernel", "Bayes")
        }
        lines.append(f"SER 1e-2 at {at['kernel']:.2f} dB; Bayes at {at['Bayes']:.2f} dB")
    return "\n".join(lines)


# Tracking -------------------------------------------------------------------------------------------------------------


def fade(seed: int) -> Any:
    """BPSK through a saturating amplifier whose taps fade, by a third of their size at up to 2e-5 cycles a symbol."""
    return datasets.FadingChannel(nonlinearity=tanh, noise=0.2, delay=1, seed=seed, doppler=2e-5, depth=0.3)


def switch(seed: int) -> Any:
    """BPSK over the paper's channel whose taps change places every 20 000 symbols."""
    return datasets.SwitchingChannel(noise=0.2, delay=1, seed=seed, period=20_000)


TRACKING: dict[str, Callable[[int], Any]] = {"slow fade": fade, "abrupt switch": switch}


def lost_windows(channel: Any, count: int, retraining: int) -> tuple[float, int]:
    """The symbol error rate of decision-directed operation, and the hundreds of symbols in which lock was lost.

    The first 1000 symbols are known, and `retraining` of them after every switch.
    """
    symbols, observations = channel.sequence(count)
    equalizer = KernelEqualizer(delay=channel.delay, alphabet=channel.alphabet)
    times = np.arange(count)
    period = getattr(channel, "period", count)
    known = (times < curves.TRAINING) | (times % period < retraining)
    edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), count]
    decisions = np.concatenate(
        [
            equalizer.equalize_many(observations[a:b], symbols[a:b], training=(b - a) * int(known[a]))
            for a, b in itertools.pairwise(edges)
        ]
    )
    wrong = decisions[channel.delay :] != symbols[: count - channel.delay]
    judged = ~known[: count - channel.delay]
    windows = np.lib.stride_tricks.sliding_window_view(np.where(judged, wrong, False), WINDOW)[::WINDOW]
    return float(wrong[judged].mean()), int((windows.mean(axis=1) > LOST).sum())


def tracking(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """20 runs of each channel."""
    runs, count = (2, 25_000) if arguments.quick else (20, 100_000)
    found = []
    for name, channel in TRACKING.items():
        results = [
            lost_windows(channel(arguments.seed + run), count, 100 if name == "abrupt switch" else 0)
            for run in progress(range(runs), name)
        ]
        rates = [rate for rate, _ in results]
        found.append(
            {
                "channel": name,
                "runs": runs,
                "symbols": count,
                "mean SER": float(np.mean(rates)),
                "largest SER": max(rates),
                "runs that lost lock": sum(lost > 0 for _, lost in results),
            }
        )
    return found


# Speed ----------------------------------------------------------------------------------------------------------------

# A ridge and a width for 16-QAM at 20 dB, and thresholds that leave about 100 points: of a dictionary that has all it
# needs, of odd functions, and of one that is full and lets a point go for every new one.
TRAINED: dict[str, Callable[[], Any]] = {
    "no model": lambda: None,
    "KRLS": lambda: KRLS(RBF(2.0), 4e-3, 0.02),
    "KRLS, odd kernel": lambda: KRLS(Odd(RBF(2.0)), 4e-4, 0.01),
    "KRLS, max_size 100": lambda: KRLS(RBF(2.0), 1e-6, 0.02, max_size=100),
}


def speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Training on known symbols of the 16-QAM channel, after a first thousand: the best of several runs."""
    runs, count = (2, 2000) if arguments.quick else (9, 20_000)
    symbols, observations = datasets.named_channel("qam16", arguments.seed).at_snr(20).sequence(curves.TRAINING + count)
    found = []
    for name, model in TRAINED.items():
        rates, size = [], 0
        for _ in progress(range(runs), name):
            equalizer = KernelEqualizer(model(), 3, 1, alphabet="16qam")
            equalizer.equalize_many(observations[: curves.TRAINING], symbols[: curves.TRAINING])
            began = time.process_time()
            equalizer.equalize_many(observations[curves.TRAINING :], symbols[curves.TRAINING :])
            rates.append(count / (time.process_time() - began))
            size = equalizer._receiver.size if equalizer.model is None else equalizer.model.size
        found.append({"16-QAM training": name, "m": size, "symbols a second": round(max(rates))})
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.equalizers", description=__doc__)
    parser.add_argument("--channel", action="append", choices=list(SNRS), help="only this one; may be repeated")
    parser.add_argument("--errors", type=int, default=200, help="symbol errors a point (default %(default)s)")
    parser.add_argument("--most", type=int, default=4_000_000, help="symbols a point at most (default %(default)s)")
    parser.add_argument("--run", type=int, default=curves.RUN, help="decisions a run (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first run (default %(default)s)")
    parser.add_argument("--tracking", action="store_true", help="losses of lock instead of error rates")
    parser.add_argument("--speed", action="store_true", help="training symbols a second instead of error rates")
    parser.add_argument("--fresh", action="store_true", help="simulate again what the results hold already")
    parser.add_argument("--keep", action="store_true", help="keep the kernel equalizer's results too")
    parser.add_argument("--quick", action="store_true", help="a few minutes: fewer points and errors")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results (default %(default)s)")
    parsed = parser.parse_args(arguments)
    if parsed.quick:
        parsed.errors, parsed.most, parsed.run = min(parsed.errors, 30), 20_000, 5000
    if parsed.tracking or parsed.speed:
        rows, name = (tracking(parsed), "tracking") if parsed.tracking else (speed(parsed), "speed")
        headers = list(rows[0])
        made = record.provenance(f"python -m bench.equalizers --{name}", f"seeds from {parsed.seed}")
        record.write(parsed.out / f"equalizers-{name}.csv", headers, [list(row.values()) for row in rows], made)
        print(json.dumps(rows) if parsed.json else table(headers, [list(row.values()) for row in rows]))
        return 0
    path = parsed.out / "equalizers.csv"
    known = cached(path)
    found: dict[str, list[Point]] = {}
    for name, point in progress(points(parsed, known), "points"):
        found.setdefault(name, []).append(point)
        known[name, point.equalizer, point.snr] = point
        runs = f"runs until {parsed.errors} symbol errors or {parsed.most} symbols, seeds from {parsed.seed}"
        made = record.provenance("python -m bench.equalizers", runs)
        record.write(path, HEADERS, [[key[0], *value] for key, value in known.items()], made)
    if parsed.json:
        print(json.dumps({name: [point._asdict() for point in members] for name, members in found.items()}))
    else:
        print(report(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
