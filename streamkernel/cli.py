"""The command line: the only file that prints.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 2 the command or its input was wrong,
130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from . import __version__

Item = TypeVar("Item")

OK, WRONG, INTERRUPTED = 0, 2, 130
COVERAGE = 0.9
NORMAL_QUANTILE = 1.6448536269514722  # of COVERAGE, two-sided


class CommandError(Exception):
    """What the user asked for cannot be done; shown as one line."""


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Iterate with a progress bar on a terminal, quietly elsewhere."""
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, disable=not sys.stderr.isatty(), leave=False, file=sys.stderr)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned under their headers, the first to the left and the others to the right."""
    lines = [list(headers), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
    shown = [
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths)))
        for line in lines
    ]
    return "\n".join([shown[0], "-" * len(shown[0]), *shown[1:]])


def demo(arguments: argparse.Namespace) -> int:
    """Learn a chaotic time series online, with intervals, beside two regressors of river."""
    from river import linear_model, neighbors, preprocessing

    from . import KRLS, datasets, kernels

    samples = list(datasets.MackeyGlass(tau=17, noise=arguments.noise, seed=arguments.seed).take(arguments.samples))
    if sys.stderr.isatty():
        print("compiling (a few seconds the first time; 'streamkernel warmup' does it ahead) ...", file=sys.stderr)
    _compile()
    kernel = kernels.RBF(2.0)
    models: dict[str, Any] = {
        "streamkernel KRLS": preprocessing.StandardScaler() | KRLS(kernel, threshold=1e-3, ridge=1e-3),
        "river KNNRegressor": preprocessing.StandardScaler() | neighbors.KNNRegressor(n_neighbors=5),
        "river LinearRegression": preprocessing.StandardScaler() | linear_model.LinearRegression(),
    }
    results: dict[str, dict[str, float]] = {}
    ours: list[tuple[float, float, float]] = []
    half = len(samples) // 2
    for name, model in models.items():
        squares, covered, seconds = 0.0, 0, 0.0
        for i, (x, y) in enumerate(progress(samples, name)):
            began = time.perf_counter()
            is_ours = name.startswith("streamkernel")
            if is_ours:
                prediction = model.predict_one(x, with_dist=True)
                mean, sd = prediction.mu, prediction.sigma
            else:
                mean, sd = model.predict_one(x) or 0.0, math.nan
            model.learn_one(x, y)
            seconds += time.perf_counter() - began
            if is_ours:
                ours.append((y, mean, sd))
            if i >= half:
                squares += (y - mean) ** 2
                covered += abs(y - mean) <= NORMAL_QUANTILE * sd
        count = len(samples) - half
        results[name] = {"rmse": math.sqrt(squares / count), "seconds": seconds, "coverage": covered / count}
    krls = models["streamkernel KRLS"]["KRLS"]
    saved = _plot_demo(np.array(ours), half, arguments.plot)
    if arguments.json:
        print(json.dumps({"samples": len(samples), "dictionary": krls.size, "models": results, "plot": saved}))
        return OK
    print(f"Mackey-Glass (tau 17, noise {arguments.noise:g}), {len(samples)} samples, predicted one step ahead, then learned.\n")
    rows = [
        [name, f"{r['rmse']:.5f}", f"{r['coverage']:.1%}" if "kernel" in name else "-", f"{r['seconds']:.2f}"]
        for name, r in results.items()
    ]
    print(table(["model", "RMSE, second half", f"in {COVERAGE:.0%} interval", "seconds"], rows))
    print(f"\n{krls.size} of {len(samples)} samples are in the dictionary; a step never costs more than O({krls.size}²).")
    print(f"plot: {saved}" if saved else "no plot: pip install 'streamkernel[plot]'")
    return OK


def _plot_demo(ours: np.ndarray[Any, np.dtype[np.float64]], half: int, path: str) -> str | None:
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    target, mean, sd = ours.T
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 6), constrained_layout=True)
    shown = np.arange(max(0, len(ours) - 200), len(ours))
    reach = NORMAL_QUANTILE * sd[shown]
    above.fill_between(shown, mean[shown] - reach, mean[shown] + reach, alpha=0.3, label=f"{COVERAGE:.0%} interval")
    above.plot(shown, target[shown], "k.", markersize=3, label="observed")
    above.plot(shown, mean[shown], linewidth=1, label="predicted one step ahead")
    above.set(title="Mackey-Glass, the last 200 samples", xlabel="sample", ylabel="y")
    above.legend(loc="upper right", fontsize=8)
    window = min(50, len(ours))
    smooth = np.sqrt(np.convolve((target - mean) ** 2, np.ones(window) / window, mode="valid"))
    below.semilogy(np.arange(len(smooth)) + window, smooth)
    below.axvline(half, color="gray", linestyle=":")
    below.set(title=f"prediction error, root mean square of {window} samples", xlabel="sample", ylabel="RMSE")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path


def _compile() -> float:
    """Compile what the learners call, or load it from numba's cache; the seconds that it took."""
    from . import KRLS, kernels

    began = time.perf_counter()
    model = KRLS(kernels.RBF(1.0), threshold=0.1, max_size=4)
    rng = np.random.default_rng(0)
    for x in rng.random((8, 2)) * 9.0:
        model.learn_one({0: x[0], 1: x[1]}, 0.0)
    model.learn_many(rng.random((40, 2)), np.zeros(40))
    model.predict_one({0: 0.0, 1: 0.0}, with_dist=True)
    model.predict_one({0: 0.0, 1: 0.0})
    model.predict_many(rng.random((2, 2)))
    return time.perf_counter() - began


def warmup(arguments: argparse.Namespace) -> int:
    """Compile ahead of time, so that the first sample of a stream does not wait."""
    seconds = _compile()
    if arguments.json:
        print(json.dumps({"seconds": seconds}))
    else:
        print(f"compiled, or loaded from the cache, in {seconds:.1f} s")
    return OK


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="streamkernel", description="Online kernel learning.", epilog="'streamkernel COMMAND --help' explains a command."
    )
    parser.add_argument("--version", action="version", version=f"streamkernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--json", action="store_true", help="print the result as one line of JSON")
        added.set_defaults(run=run)
        return added

    added = command("demo", demo, "Learn a chaotic time series online and compare with two regressors of river.")
    added.add_argument("--samples", type=_positive, default=3000, help="length of the stream (default %(default)s)")
    added.add_argument("--noise", type=float, default=0.01, help="standard deviation of the noise (default %(default)s)")
    added.add_argument("--seed", type=int, default=1, help="of the series (default %(default)s)")
    added.add_argument("--plot", default="demo.png", metavar="PNG", help="where to save the plot (default %(default)s)")
    command("warmup", warmup, "Compile ahead of time (numba caches the result on disk).")
    return parser


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    try:
        parsed = build_parser().parse_args(arguments)
        return int(parsed.run(parsed))
    except CommandError as error:
        print(f"streamkernel: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("streamkernel: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
