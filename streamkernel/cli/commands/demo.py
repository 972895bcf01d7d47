"""A chaotic time series learned online, with intervals, beside two regressors of river."""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from typing import Any, NamedTuple

from ..options import finite, natural, positive
from ..output import OK, CommandError, print_json, progress, table

EXAMPLES = """\
  streamkernel demo
  streamkernel demo --samples 1000 --noise 0.05 --json"""

OURS = "streamkernel KRLS"

Sample = tuple[dict[Any, float], float]


def add_options(parser: argparse.ArgumentParser) -> None:
    """The series, and the plot."""
    parser.add_argument("--samples", type=positive, default=3000, help="length of the stream (default %(default)s)")
    parser.add_argument(
        "--noise", type=finite, default=0.01, help="standard deviation of the noise (default %(default)s)"
    )
    parser.add_argument("--seed", type=natural, default=1, help="of the series (default %(default)s)")
    parser.add_argument(
        "--plot", default="demo.png", metavar="PNG", help="where to save the plot (default %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Predict, then learn, every sample, with each model."""
    from ... import datasets
    from ...distributions import LEVEL
    from ..plots import check_plot, plot_demo
    from ..writing import check_outputs
    from .warmup import compile_learners

    check_outputs({"--plot": arguments.plot}, {})
    if importlib.util.find_spec("matplotlib"):  # without it there is no plot, and a line that says so
        check_plot(arguments.plot)
    try:
        stream = datasets.MackeyGlass(tau=17, noise=arguments.noise, seed=arguments.seed)
    except ValueError as error:
        raise CommandError(str(error)) from error
    samples = list(stream.take(arguments.samples))
    if sys.stderr.isatty():
        print("compiling (a few seconds the first time; 'streamkernel warmup' does it ahead) ...", file=sys.stderr)
    compile_learners()
    models = _models()
    try:
        outcomes = {name: _follow(name, model, samples) for name, model in models.items()}
    except (ValueError, ArithmeticError) as error:
        raise CommandError(f"--noise {arguments.noise:g}: {error}") from error
    half = len(samples) // 2
    results = {name: outcome.scores(half) for name, outcome in outcomes.items()}
    krls = models[OURS]["KRLS"]
    saved = plot_demo(outcomes[OURS].predictions, LEVEL, half, arguments.plot)
    if arguments.json:
        print_json({"samples": len(samples), "dictionary": krls.size, "models": results, "plot": saved})
        return OK
    print(
        f"Mackey-Glass (tau 17, noise {arguments.noise:g}), {len(samples)} samples, "
        "predicted one step ahead, then learned.\n"
    )
    rows = [
        [name, f"{r['rmse']:.5f}", f"{r['coverage']:.1%}" if name == OURS else "-", f"{r['seconds']:.2f}"]
        for name, r in results.items()
    ]
    print(table(["model", "RMSE, second half", f"in {LEVEL:.0%} interval", "seconds"], rows))
    print(
        f"\n{krls.size} of {len(samples)} samples are in the dictionary; a step never costs more than O({krls.size}²)."
    )
    print(f"plot: {saved}" if saved else "no plot: pip install 'streamkernel[plot]'")
    return OK


def _models() -> dict[str, Any]:
    from river import linear_model, neighbors, preprocessing

    from ... import KRLS, kernels

    return {
        OURS: preprocessing.StandardScaler() | KRLS(kernels.RBF(2.0), threshold=1e-3, ridge=1e-3),
        "river KNNRegressor": preprocessing.StandardScaler() | neighbors.KNNRegressor(n_neighbors=5),
        "river LinearRegression": preprocessing.StandardScaler() | linear_model.LinearRegression(),
    }


class Outcome(NamedTuple):
    """What a model made of the stream."""

    predictions: list[tuple[float, float, float]]
    """Of each sample the target, the prediction, and how far its interval reaches (NaN without one)."""
    seconds: float

    def scores(self, first: int) -> dict[str, float]:
        """The errors from this sample on, and the time of all."""
        squares, covered = 0.0, 0
        for y, mean, reach in self.predictions[first:]:
            squares += (y - mean) ** 2
            covered += abs(y - mean) <= reach
        count = len(self.predictions) - first
        return {"rmse": math.sqrt(squares / count), "seconds": self.seconds, "coverage": covered / count}


def _follow(name: str, model: Any, samples: list[Sample]) -> Outcome:
    from ...distributions import normal_reach

    predictions, seconds, reach = [], 0.0, normal_reach()
    for x, y in progress(samples, name):
        began = time.perf_counter()
        if name == OURS:
            prediction = model.predict_one(x, with_dist=True)
            mean, sd = prediction.mu, prediction.sigma
        else:
            mean, sd = model.predict_one(x) or 0.0, math.nan
        model.learn_one(x, y)
        seconds += time.perf_counter() - began
        predictions.append((y, mean, reach * sd))
    return Outcome(predictions, seconds)
