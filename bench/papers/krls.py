"""KRLS by the protocols of its paper: Figure 1, Tables 2 to 5 and the laser, beside the print, and beyond it.

Engel, Mannor & Meir (2004), section 5. σ is the width of exp(−‖x − x'‖²/(2σ²)), ν the threshold; the ridge is zero on
the paper's settings. Averages over independently drawn training sets, 50 in the paper.

Where the paper leaves a choice, this is what is done here:

- Errors of the synthetic functions are taken on noise-free test targets: Friedman-3's printed 0.09 is below the noise.
- Friedman inputs are scaled to the unit cube, those of Boston and Comp-activ too, by the minimum and maximum of the
  training set. Each run of these two draws another split.
- Targets are not centered. Those of Friedman-1 lie around 14 and its printed error needs a constant in the kernel; 1 is
  added to it there, in Friedman-2 and in the two real tables. The other kernels are plain.
- Friedman-2: the printed 0.18 is not in the units of the raw target, which spans 1800; the raw error is divided by 14,
  which makes the two comparable.
- Mackey-Glass: no discarded transient; 1000 training rows with all ten lags, the 200 values that follow are the test.
  RMSE(1) uses true lags (the nearest is four samples back), RMSE(200) is the root mean square over the 200 steps of the
  iterated forecast. The Euler step is not printed, nor whether the zeros before the start enter as lags. Steps 0.1,
  0.2, 0.5 and 1 were tried with and without them, 50 trials each. They are left out for both series, and for each the
  step is kept whose errors come nearest to the print: 0.1 for MG(17), 0.5 for MG(30). One step for both misses one of
  them: RMSE(200) of MG(30) with 0.1 is 0.054, of MG(17) with 0.5 it is 0.0051, with 0.2 they are 0.044 and 0.0042.
  (With the zeros MG(17) comes nearer, 0.0030 at 27.6 %, and MG(30) does not: 0.047.) Asked is the print plus two
  standard errors of our mean; the one-step error of MG(17) stays above that.
- Equalizer: embedding d = 2; ν = 10⁻³ (not printed; the dictionary is 2.0 % of the samples, as printed).
- Laser: see `bench.papers.laser`. The error is divided by the variance of the 100 test values.

Beyond the paper, parameters are chosen on training data only: for Mackey-Glass, where every sample is kept, by the
iterated forecast of the last 200 of the 1000 training rows, for the equalizer by the one-step-ahead bit errors within
the 500 training symbols, both averaged over the first ten training sets; for the laser by forecasts within rows 1-1000.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import streamkernel
from bench import record
from bench.papers import laser
from bench.papers.report import figure, progress, table
from streamkernel import KRLS, KRR, datasets, kernels
from streamkernel.forecasting import KernelForecaster

Floats = NDArray[np.float64]

DEFAULT_RUNS, PAPER_RUNS, QUICK_RUNS = 50, 50, 2
TEST_POINTS = 1000
CONSTANT = 1.0
FRIEDMAN_2_UNIT = 14.0
SINC = {"sigma": 4.25, "threshold": 1e-3}
SIZES = (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
NOISES = tuple(10.0**e for e in range(-6, 2))
SLOPE_FROM = 2000  # the asymptotic part of the time curve
CHOICE_SETS = 10
MG_GRID = tuple((sigma, ridge) for sigma in (0.5, 0.7, 1.0) for ridge in (1e-6, 1e-8, 1e-10))
EQUALIZER_GRID = tuple((sigma, ridge) for sigma in (0.5, 0.7, 1.0, 1.4) for ridge in (0.1, 0.3, 1.0, 3.0))
EQUALIZER_THRESHOLD = 1e-3
TRAIN_SYMBOLS, TEST_SYMBOLS = 500, 5000
LARGEST_FORECAST = 1e3  # a forecast beyond it has diverged


@dataclasses.dataclass(frozen=True)
class Line:
    """One number of the paper and ours."""

    experiment: str
    quantity: str
    printed: float | None
    ours: float
    deviation: float | None = None
    asked: tuple[float, float] | None = None
    """The range that the library is to reach."""
    setting: str = ""

    @property
    def met(self) -> str | None:
        """Whether ours lies in the range."""
        if self.asked is None:
            return None
        return "yes" if self.asked[0] <= self.ours <= self.asked[1] else "NO"


def at_most(value: float) -> tuple[float, float]:
    """The range up to a value."""
    return -math.inf, value


def no_worse(printed: float, unit: float, values: Sequence[float]) -> tuple[float, float]:
    """The range up to a printed value, which was rounded to a unit, plus two standard errors of a mean of ours."""
    _, deviation = spread(values)
    return at_most(printed + 0.5 * unit + 2.0 * deviation / math.sqrt(len(values)))


def rmse(predictions: Floats, truth: Floats) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((predictions - truth) ** 2)))


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation over the runs."""
    return float(np.mean(values)), float(np.std(values))


# Figure 1 -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Point:
    """One point of a sweep: means and standard deviations over the runs."""

    sweep: str
    value: float
    error: tuple[float, float]
    size: tuple[float, float]
    largest: int
    seconds: tuple[float, float]


def sinc(count: int, noise: float, seed: int) -> tuple[float, int, float]:
    """Test error, dictionary size and seconds of training on `count` samples."""
    X, y = datasets.SincLinear(noise=noise, seed=seed).arrays(count)
    test = datasets.SincLinear(noise=0.0, seed=10_000 + seed).arrays(TEST_POINTS)
    model = KRLS(kernels.RBF(SINC["sigma"]), threshold=SINC["threshold"])
    began = time.process_time()
    model.learn_many(X, y)
    seconds = time.process_time() - began
    return rmse(model.predict_many(test[0]), test[1]), model.size, seconds


def figure1(runs: int, quick: bool) -> list[Point]:
    """Both sweeps of Figure 1."""
    sizes, noises = (SIZES[:8:3], NOISES[::4]) if quick else (SIZES, NOISES)
    jobs = [("size", size, size, 0.1) for size in sizes] + [("noise", noise, 1000, noise) for noise in noises]
    sinc(64, 0.1, 0)  # compiles
    points = []
    for sweep, value, count, noise in progress(jobs, "figure 1"):
        errors, counts, seconds = zip(*(sinc(count, noise, seed) for seed in range(runs)))
        points.append(Point(sweep, value, spread(errors), spread(counts), max(counts), spread(seconds)))
    return points


def figure1_lines(points: Sequence[Point]) -> list[Line]:
    """What the text says about Figure 1."""
    by_size = [point for point in points if point.sweep == "size"]
    by_noise = [point.size[0] for point in points if point.sweep == "noise"]
    setting = f"σ {SINC['sigma']:g}, ν {SINC['threshold']:g}"
    largest = float(max(point.largest for point in points))
    lines = [Line("figure 1", "largest dictionary", 75, largest, None, at_most(75), setting)]
    tail = [point for point in by_size if point.value >= SLOPE_FROM]
    if len(tail) > 1:
        x, y = np.log([point.value for point in tail]), np.log([point.seconds[0] for point in tail])
        slope = float(np.polyfit(x, y, 1)[0])
        lines.append(Line("figure 1", "slope of log time", 1.0, slope, None, at_most(1.1), setting))
    change = max(by_noise) - min(by_noise)
    lines.append(Line("figure 1", "points that noise adds", 0, change, None, None, setting))
    return lines


# Tables 2 and 3 -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Regression:
    """One line of Tables 2 and 3."""

    load: Callable[[int], tuple[Floats, Floats, Floats, Floats]]
    """Run number -> training and test set."""
    sigma: float
    threshold: float
    printed: tuple[float, float]
    """RMSE and percentage of points in the dictionary."""
    asked: tuple[float, float] | None
    asked_size: tuple[float, float] | None = None
    constant: float = 0.0
    unit: float = 1.0


def friedman(kind: type) -> Callable[[int], tuple[Floats, Floats, Floats, Floats]]:
    """1000 noisy samples to learn, 1000 without noise to test."""

    def load(number: int) -> tuple[Floats, Floats, Floats, Floats]:
        X, y = kind(noise=0.1, seed=number).arrays(1000)
        test = kind(noise=0.0, seed=10_000 + number).arrays(1000)
        return X, y, *test

    return load


def real(kind: type, train: int) -> Callable[[int], tuple[Floats, Floats, Floats, Floats]]:
    """A random split of a table."""

    def load(number: int) -> tuple[Floats, Floats, Floats, Floats]:
        X, y = kind().arrays()
        order = np.random.default_rng(number).permutation(len(y))
        first, rest = order[:train], order[train:]
        return X[first], y[first], X[rest], y[rest]

    return load


REGRESSIONS = {
    "Friedman-1": Regression(friedman(datasets.Friedman1), 0.8, 1e-3, (0.55, 100.0), at_most(0.58), constant=CONSTANT),
    "Friedman-2": Regression(
        friedman(datasets.Friedman2), 0.5, 1e-4, (0.18, 36.1), None, constant=CONSTANT, unit=FRIEDMAN_2_UNIT
    ),
    "Friedman-3": Regression(friedman(datasets.Friedman3), 0.5, 1e-3, (0.09, 23.3), at_most(0.095)),
    "Comp-activ": Regression(real(datasets.CompActiv, 6000), 0.9, 1e-3, (3.09, 3.4), at_most(3.12), constant=CONSTANT),
    "Boston": Regression(
        real(datasets.BostonHousing, 400), 1.3, 1e-3, (3.52, 38.6), (3.37, 3.67), (38.0, 40.0), constant=CONSTANT
    ),
}


def regression_lines(runs: int, quick: bool) -> list[Line]:
    """Tables 2 and 3."""
    lines = []
    names = ("Friedman-3",) if quick else tuple(REGRESSIONS)
    for name in progress(names, "tables 2 and 3"):
        setup = REGRESSIONS[name]
        kernel: Any = kernels.RBF(setup.sigma)
        kernel = kernel + setup.constant if setup.constant else kernel
        errors, percentages = [], []
        for number in range(runs):
            X, y, test, truth = setup.load(number)
            low, width = X.min(axis=0), np.ptp(X, axis=0)
            width = np.where(width > 0.0, width, 1.0)
            model = KRLS(kernel, threshold=setup.threshold)
            model.learn_many((X - low) / width, y)
            errors.append(rmse(model.predict_many((test - low) / width), truth) / setup.unit)
            percentages.append(100.0 * model.size / len(y))
        label = "table 2" if name.startswith("Friedman") else "table 3"
        setting = f"σ {setup.sigma:g}, ν {setup.threshold:g}" + (
            f", constant {setup.constant:g}" if setup.constant else ""
        )
        lines += [
            Line(label, f"{name} RMSE", setup.printed[0], *spread(errors), setup.asked, setting),
            Line(label, f"{name} % SV", setup.printed[1], *spread(percentages), setup.asked_size, setting),
        ]
    return lines


# Table 4 --------------------------------------------------------------------------------------------------------------


LAGS, STRIDE, MG_ROWS, MG_TEST = 10, 4, 1000, 200
MG_STEPS = {17: 0.1, 30: 0.5}


def mackey_glass(series: Floats, rows: int, model: Any) -> tuple[float, Floats, int]:
    """One-step error, iterated forecast and dictionary size on the MG_TEST values after `rows` training rows."""
    X, y = datasets.embed(series, LAGS, STRIDE)
    forecaster = KernelForecaster(model, LAGS, STRIDE)
    for value in series[: LAGS * STRIDE + rows]:
        forecaster.learn_one(value)
    names = [f"y-{STRIDE * k}" for k in range(1, LAGS + 1)]
    ahead = [forecaster.model.predict_one(dict(zip(names, row))) for row in X[rows : rows + MG_TEST].tolist()]
    forecast = np.array(forecaster.forecast(MG_TEST))
    return rmse(np.array(ahead), y[rows : rows + MG_TEST]), forecast, forecaster.model.size


def mackey_glass_lines(runs: int, quick: bool) -> tuple[list[Line], dict[str, tuple[Floats, Floats]]]:
    """Table 4 and beyond, and an example of a forecast with its truth for each series."""
    lines, examples = [], {}
    printed = {17: (0.0004, 0.0027, 27.05), 30: (0.006, 0.033, 51.9)}
    units = {17: 1e-4, 30: 1e-3}
    length = LAGS * STRIDE + MG_ROWS + MG_TEST
    for tau, sigma in ((17, 0.5), (30, 0.6)):
        if quick and tau == 30:
            continue
        all_series = [datasets.MackeyGlass(tau, MG_STEPS[tau], seed=seed).series(length) for seed in range(runs)]
        best_sigma, ridge = choose_mackey_glass(all_series[:CHOICE_SETS], tau, quick)
        models = {
            "paper": (KRLS(kernels.RBF(sigma), threshold=1e-4), f"σ {sigma:g}, ν 0.0001"),
            "beyond": (exact(best_sigma, ridge), f"every sample kept, σ {best_sigma:g}, ridge {ridge:g}"),
        }
        for kind, (model, text) in models.items():
            ones, many, sizes, diverged = [], [], [], 0
            for series in progress(all_series, f"table 4: MG({tau}), {kind}"):
                one, forecast, size = mackey_glass(series, MG_ROWS, model.clone())
                ones.append(one)
                many.append(rmse(forecast, series[-MG_TEST:]))
                sizes.append(100.0 * size / MG_ROWS)
                diverged += not np.abs(forecast).max() < LARGEST_FORECAST
                if kind == "paper":
                    examples.setdefault(f"MG({tau})", (series[-MG_TEST:], forecast))
            paper = printed[tau] if kind == "paper" else (None, None, None)
            if kind == "paper":
                target_one, target_many = (
                    no_worse(value, units[tau], found)
                    for value, found in zip(printed[tau][:2], (ones, many), strict=True)
                )
            else:
                target_one, target_many = None, at_most(0.0005) if tau == 17 else None
            label = "table 4" if kind == "paper" else "beyond"
            lines += [
                Line(label, f"MG({tau}) RMSE(1)", paper[0], *spread(ones), target_one, text),
                Line(label, f"MG({tau}) RMSE(200)", paper[1], *spread(many), target_many, text),
                Line(label, f"MG({tau}) % SV", paper[2], *spread(sizes), None, text),
                Line(label, f"MG({tau}) diverged", None, float(diverged), None, at_most(0), text),
            ]
    return lines, examples


def exact(sigma: float, ridge: float) -> KRR:
    """Kernel ridge regression that keeps every sample: what KRLS becomes as its threshold goes to zero."""
    return KRR(kernels.RBF(sigma), ridge=ridge, threshold=None)


def choose_mackey_glass(all_series: Sequence[Floats], tau: int, quick: bool) -> tuple[float, float]:
    """The parameters with the least iterated error on the last rows of the training sets."""
    grid = MG_GRID[:2] if quick else MG_GRID
    rows, errors = MG_ROWS - MG_TEST, []
    held_out = slice(LAGS * STRIDE + rows, LAGS * STRIDE + MG_ROWS)
    for setting in progress(grid, f"table 4: MG({tau}), choice"):
        found = [mackey_glass(series, rows, exact(*setting))[1] for series in all_series]
        errors.append(np.mean([rmse(forecast, series[held_out]) for forecast, series in zip(found, all_series)]))
    return grid[int(np.argmin(errors))]


# Table 5 --------------------------------------------------------------------------------------------------------------


def equalizer_lines(runs: int, quick: bool) -> list[Line]:
    """Table 5 and beyond."""
    lines = []
    printed, asked = (0.279, 0.070, 0.043), (0.285, 0.073, 0.046)
    asked_rbf = (0.175, 0.061, 0.040)
    for delay in progress((1,) if quick else (0, 1, 2), "table 5"):
        channel = datasets.NonlinearChannel(delay=delay)
        sets = [
            datasets.NonlinearChannel(delay=delay, seed=seed).arrays(TRAIN_SYMBOLS + TEST_SYMBOLS)
            for seed in range(runs)
        ]
        rates, sizes = bit_errors(sets, lambda: KRLS(kernels.Polynomial(3), threshold=EQUALIZER_THRESHOLD))
        sigma, ridge = choose_equalizer(sets[:CHOICE_SETS], quick)
        beyond, beyond_sizes = bit_errors(sets, lambda s=sigma, r=ridge: KRLS(kernels.RBF(s), EQUALIZER_THRESHOLD, r))
        setting, chosen = f"cubic polynomial, ν {EQUALIZER_THRESHOLD:g}", f"RBF, σ {sigma:g}, ridge {ridge:g}"
        bound = channel.bayes_error(samples=2000 if quick else 200_000)
        lines += [
            Line("table 5", f"D={delay} BER", printed[delay], *spread(rates), at_most(asked[delay]), setting),
            Line("table 5", f"D={delay} % SV", 2.0, *spread(sizes), None, setting),
            Line("beyond", f"D={delay} BER", None, *spread(beyond), at_most(asked_rbf[delay]), chosen),
            Line("beyond", f"D={delay} % SV", None, *spread(beyond_sizes), None, chosen),
            Line("beyond", f"D={delay} Bayes bound", None, bound, None, None, "no equalizer of d = 2 is better"),
        ]
    return lines


def bit_errors(sets: Sequence[tuple[Floats, Floats]], make: Callable[[], KRLS]) -> tuple[list[float], list[float]]:
    """The bit error rate after training, and the dictionary in per cent of the training set."""
    rates, sizes = [], []
    for X, u in sets:
        model = make()
        model.learn_many(X[:TRAIN_SYMBOLS], u[:TRAIN_SYMBOLS])
        rates.append(float(np.mean(np.sign(model.predict_many(X[TRAIN_SYMBOLS:])) != u[TRAIN_SYMBOLS:])))
        sizes.append(100.0 * model.size / TRAIN_SYMBOLS)
    return rates, sizes


def choose_equalizer(sets: Sequence[tuple[Floats, Floats]], quick: bool) -> tuple[float, float]:
    """The RBF parameters with the fewest one-step-ahead bit errors within the training sets."""
    grid = EQUALIZER_GRID[10:12] if quick else EQUALIZER_GRID
    errors = []
    for sigma, ridge in grid:
        wrong = 0
        for X, u in sets:
            model = KRLS(kernels.RBF(sigma), EQUALIZER_THRESHOLD, ridge)
            predictions = streamkernel.run(model, X[:TRAIN_SYMBOLS], u[:TRAIN_SYMBOLS]).predictions
            wrong += int(np.count_nonzero(np.sign(predictions) != u[:TRAIN_SYMBOLS]))
        errors.append(wrong)
    return grid[int(np.argmin(errors))]


# The laser ------------------------------------------------------------------------------------------------------------


def laser_lines(result: laser.Result) -> list[Line]:
    """The error on rows 1001-1100, and from the other starts."""
    start, *others = result.truths
    paper = f"σ {laser.PAPER.sigma:g}, ν {laser.PAPER.threshold:g}, d {laser.PAPER.lags}, n {laser.PAPER.rollout}"
    lines = [Line("laser", "NMSE", 0.026, laser.nmse(result.paper[start], result.truths[start]), setting=paper)]
    for tried in result.procedures:
        error = laser.nmse(tried.forecasts[start], result.truths[start])
        setting = f"mean of {len(tried.chosen)}; hold-outs {tried.hold_out:.4f}"
        lines.append(Line("beyond", f"laser NMSE, {tried.name}", None, error, None, at_most(0.033), setting))
    for other in others:
        found = {"paper's": result.paper[other]} | {tried.name: tried.forecasts[other] for tried in result.procedures}
        for name, forecast in found.items():
            error = laser.nmse(forecast, result.truths[other])
            lines.append(Line("elsewhere", f"laser NMSE from {other + 1}, {name}", None, error))
    return lines


# Figures --------------------------------------------------------------------------------------------------------------


def draw_figure1(path: Path, points: Sequence[Point]) -> None:
    """Error, dictionary in per cent and CPU time against sample size (top) and noise (bottom)."""
    with figure(path, 12.0, 7.0) as drawing:
        axes = drawing.subplots(2, 3)
        for row, sweep in zip(axes, ("size", "noise")):
            chosen = [point for point in points if point.sweep == sweep]
            x = np.array([point.value for point in chosen])
            counts = x if sweep == "size" else np.full(len(x), 1000.0)
            panels = [
                ("test RMSE", np.array([p.error for p in chosen])),
                ("dictionary, % of samples", np.array([p.size for p in chosen]) * 100.0 / counts[:, None]),
                ("CPU seconds", np.array([p.seconds for p in chosen])),
            ]
            for ax, (title, values) in zip(row, panels):
                ax.errorbar(x, values[:, 0], yerr=values[:, 1], marker="o", markersize=3, capsize=2, label="KRLS")
                ax.set(xscale="log", ylabel=title)
                if sweep == "size" or ax is row[0]:
                    ax.set_yscale("log")
                else:
                    ax.set_ylim(0.0, 2.0 * values[:, 0].max())  # what does not change with the noise
                ax.set_xlabel("training samples" if sweep == "size" else "noise standard deviation")
        axes[0][1].plot(
            SIZES, [min(100.0, 7500.0 / n) for n in SIZES], "k:", linewidth=1.0, label="75 points, the paper's most"
        )
        axes[0][1].legend()
        drawing.suptitle("Figure 1: Sinc-Linear")


def draw_figure2(path: Path, examples: dict[str, tuple[Floats, Floats]]) -> None:
    """Iterated forecasts of the Mackey-Glass series."""
    with figure(path, 8.0, 3.0 * len(examples)) as drawing:
        for ax, (name, (truth, forecast)) in zip(np.atleast_1d(drawing.subplots(len(examples), 1)), examples.items()):
            ax.plot(truth, "k", linewidth=1.0, label="series")
            ax.plot(forecast, "C3--", linewidth=1.2, label="iterated forecast")
            ax.set(title=f"{name}, first trial: RMSE(200) {rmse(forecast, truth):.4f}", xlabel="step", ylabel="y")
            ax.legend(loc="lower right")


def draw_laser(folder: Path, result: laser.Result) -> None:
    """Figure 3, the training series, and Figure 4, its continuation and the forecasts."""
    series = datasets.SantaFeLaser(part="A").series()
    with figure(folder / "krls-figure3.png", 9.0, 3.0) as drawing:
        ax = drawing.subplots()
        ax.plot(np.arange(1, len(series) + 1), series, "k", linewidth=0.6)
        ax.set(title="Figure 3: Santa Fe laser, rows 1-1000", xlabel="row", ylabel="intensity", xlim=(1, 1000))
    rows, truth = np.arange(1001, 1001 + laser.HORIZON), result.truths[laser.TRAINING]
    found = {"paper's parameters": result.paper} | {tried.name: tried.forecasts for tried in result.procedures}
    with figure(folder / "krls-figure4.png", 9.0, 2.6 * len(found)) as drawing:
        for ax, (name, forecasts) in zip(drawing.subplots(len(found), 1), found.items()):
            forecast = forecasts[laser.TRAINING]
            ax.plot(rows, truth, "k", linewidth=1.0, label="laser")
            ax.plot(rows, forecast, "C3--", linewidth=1.2, label="iterated forecast")
            ax.set(title=f"{name}: NMSE {laser.nmse(forecast, truth):.4f}", ylabel="intensity / range")
            ax.legend(loc="upper left")
        ax.set_xlabel("row")


# The command ----------------------------------------------------------------------------------------------------------

SECTIONS = ("figure1", "regression", "mackey-glass", "equalizer", "laser")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m bench.papers krls`."""
    parser.add_argument(
        "--runs", type=int, help=f"training sets per average (default {DEFAULT_RUNS}, --full {PAPER_RUNS})"
    )
    parser.add_argument("--quick", action="store_true", help="does it run: a few tiny cases")
    parser.add_argument("--full", action="store_true", help=f"{PAPER_RUNS} training sets, as the paper")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="a part of it; may be repeated")
    parser.add_argument("--out", default="bench/results", help="folder for CSV and PNG (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def main(args: argparse.Namespace) -> int:
    """Run the experiments; print, plot and store them."""
    runs = args.runs or (QUICK_RUNS if args.quick else PAPER_RUNS if args.full else DEFAULT_RUNS)
    sections, folder = args.only or SECTIONS, Path(args.out)
    lines: list[Line] = []
    made = record.provenance(f"python -m bench.papers krls --runs {runs}", f"{runs} runs, seeds from 0")
    if "figure1" in sections:
        points = figure1(runs, args.quick)
        lines += figure1_lines(points)
        draw_figure1(folder / "krls-figure1.png", points)
        headers = ["sweep", "value", "rmse", "rmse_sd", "size", "size_sd", "largest", "seconds", "seconds_sd"]
        rows = [[p.sweep, p.value, *p.error, *p.size, p.largest, *p.seconds] for p in points]
        record.write(folder / "krls-figure1.csv", headers, rows, made)
    if "regression" in sections:
        lines += regression_lines(runs, args.quick)
    if "mackey-glass" in sections:
        found, examples = mackey_glass_lines(runs, args.quick)
        lines += found
        draw_figure2(folder / "krls-figure2.png", examples)
    if "equalizer" in sections:
        lines += equalizer_lines(runs, args.quick)
    if "laser" in sections:
        result = laser.experiment(args.quick)
        lines += laser_lines(result)
        draw_laser(folder, result)
        columns = [result.paper, *(tried.forecasts for tried in result.procedures)]
        values = np.column_stack([column[laser.TRAINING] for column in columns])
        headers = ["row", "paper", *(tried.name for tried in result.procedures)]
        rows = [[1001 + i, *row] for i, row in enumerate(values.tolist())]
        record.write(folder / "krls-laser.csv", headers, rows, made)
    headers = ["experiment", "quantity", "paper", "ours", "sd", "asked", "met", "setting"]
    records = [
        [x.experiment, x.quantity, x.printed, x.ours, x.deviation, _range(x.asked), x.met, x.setting] for x in lines
    ]
    record.write(folder / "krls.csv", headers, records, made)
    if args.json:
        print(json.dumps({"runs": runs, "lines": [dict(zip(headers, record)) for record in records]}))
        return 0
    print((__doc__ or "").split("\n\n", 1)[1])
    print(f"Averages over {runs} training sets; sd is their standard deviation.\n")
    print(table(headers, records))
    print(f"\nCSV and PNG: {folder}")
    return 0


def _range(asked: tuple[float, float] | None) -> str | None:
    if asked is None:
        return None
    return f"<= {asked[1]:g}" if asked[0] == -math.inf else f"{asked[0]:g}..{asked[1]:g}"
