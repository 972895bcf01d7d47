"""The command line: the only file that prints.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 2 the command or its input
was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from . import __version__
from .session import Session

Item = TypeVar("Item")

OK, WRONG, INTERRUPTED = 0, 2, 130
COVERAGE = 0.9
NORMAL_QUANTILE = 1.6448536269514722  # of COVERAGE, two-sided
PLOTTED_ROWS = 300


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
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))
        )
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
    print(
        f"Mackey-Glass (tau 17, noise {arguments.noise:g}), {len(samples)} samples, "
        "predicted one step ahead, then learned.\n"
    )
    rows = [
        [name, f"{r['rmse']:.5f}", f"{r['coverage']:.1%}" if "kernel" in name else "-", f"{r['seconds']:.2f}"]
        for name, r in results.items()
    ]
    print(table(["model", "RMSE, second half", f"in {COVERAGE:.0%} interval", "seconds"], rows))
    print(
        f"\n{krls.size} of {len(samples)} samples are in the dictionary; a step never costs more than O({krls.size}²)."
    )
    print(f"plot: {saved}" if saved else "no plot: pip install 'streamkernel[plot]'")
    return OK


def _plot_demo(ours: np.ndarray[Any, np.dtype[np.float64]], half: int, path: str) -> str | None:
    try:
        pyplot = _pyplot()
    except CommandError:
        return None
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
    return _save_figure(figure, path)


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


MODELS = ("krls", "krr", "kaar", "ikaar", "ckaar", "heteroscedastic", "auto")


def run(arguments: argparse.Namespace) -> int:
    """Predict, then learn, every row of a table."""
    from .checkpoint import CheckpointError, loads

    if arguments.resume and not arguments.save:
        raise CommandError("--resume needs --save FILE: the checkpoint to continue from and to write")
    session: Any = None
    if arguments.resume and os.path.exists(arguments.save):
        try:
            session = loads(_read_bytes(arguments.save))
        except CheckpointError as error:
            raise CommandError(f"{arguments.save}: {error}") from error
    if session is None:
        session = Session(build_model(arguments), scale=not arguments.no_scale and arguments.model != "auto")
    elif not isinstance(session, Session):
        raise CommandError(f"{arguments.save}: holds a {type(session).__name__}, not a session of 'streamkernel run'")
    skipped, tail = session.rows, deque[tuple[float, float]](maxlen=PLOTTED_ROWS)
    began, saved_at = time.perf_counter(), session.rows
    with _Interrupts() as interrupts, _PredictionLog(arguments.predictions, skipped) as log:
        rows = read_rows(arguments.file, arguments.target, _names(arguments.features))
        for number, (x, y) in enumerate(progress(rows, arguments.file), start=1):
            if number <= skipped:
                continue
            try:
                prediction = session.step(x, y)
            except (TypeError, ValueError) as error:
                _save(session, arguments.save)
                raise CommandError(f"{arguments.file}, row {number}: {error}") from error
            tail.append((y, prediction))
            log.write(number, y, prediction)
            if arguments.save and session.rows - saved_at >= arguments.checkpoint_every:
                log.flush()
                _save(session, arguments.save)
                saved_at = session.rows
            if interrupts.caught:
                break
    seconds = time.perf_counter() - began
    _save(session, arguments.save)
    done = session.rows - skipped
    if not session.rows:
        raise CommandError(f"{arguments.file}: no rows")
    saved_plot = _plot_run(list(tail), arguments.plot) if arguments.plot else None
    result = {
        "rows": session.rows,
        "resumed_at": skipped,
        **session.score(),
        "dictionary": session.model.size,
        "rows_per_second": done / seconds if done else 0.0,
        "interrupted": interrupts.caught,
        "checkpoint": arguments.save,
        "plot": saved_plot,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print(table(["", "value"], [[name, _shown(value)] for name, value in result.items() if value is not None]))
    if interrupts.caught:
        hint = f"; continue with --save {arguments.save} --resume" if arguments.save else ""
        print(f"streamkernel: interrupted after row {session.rows}{hint}", file=sys.stderr)
        return INTERRUPTED
    return OK


def forecast(arguments: argparse.Namespace) -> int:
    """Learn a series and forecast what follows, with intervals, after a check on its own end."""
    from .forecasting import report

    chosen = [getattr(arguments, name) for name in ("lags", "kernel", "threshold", "ridge", "forgetting", "max_size")]
    if any(option is not None for option in chosen) or arguments.model is not None:
        arguments.model = arguments.model or "krls"
        return _forecast_lagged(arguments)
    features = _names(arguments.features) or []
    try:
        rows = list(progress(_text_records(arguments.file), arguments.file))
        if not rows:
            raise ValueError("no rows")
        outcomes = {}
        for group, part in report.groups_of(rows, arguments.group).items():
            past = report.past_of(part, arguments.column, features)
            outcomes[group] = (
                past,
                report.forecast_series(
                    past, arguments.horizon, arguments.season, arguments.level, arguments.backtest, progress
                ),
            )
    except ValueError as error:
        raise CommandError(f"{arguments.file}: {error}") from error
    plot = _plot_forecasts(outcomes, arguments.plot) if arguments.plot else None
    if arguments.save:
        if arguments.group:
            raise CommandError("--save writes one model: leave --group out")
        ((_, outcome),) = outcomes.values()
        _save(outcome.model, arguments.save)
    if arguments.json:
        shown = [_forecast_record(group, past, outcome, plot) for group, (past, outcome) in outcomes.items()]
        print(json.dumps(shown if arguments.group else shown[0]))
        return OK
    for group, (past, outcome) in outcomes.items():
        _print_forecast(group, past, outcome)
    if plot:
        print(f"\nplot: {plot}")
    return OK


def _forecast_record(group: str | None, past: Any, outcome: Any, plot: str | None) -> dict[str, Any]:
    backtest = outcome.backtest
    return {
        **({} if group is None else {"group": group}),
        "values": len(past.values),
        "seasons": list(outcome.model.seasons),
        "rmse": None if backtest is None else backtest.rmse,
        "naive_rmse": None if backtest is None else backtest.naive_rmse,
        "coverage": None if backtest is None else backtest.coverage,
        "forecast": outcome.steps,
        "plot": plot,
    }


def _print_forecast(group: str | None, past: Any, outcome: Any) -> None:
    model, backtest = outcome.model, outcome.backtest
    season = " and ".join(map(str, model.seasons))
    print(f"{'' if group is None else f'{group}: '}{len(past.values)} values, season {season or 'none'}.")
    if backtest is not None:
        print(
            f"{len(backtest.origins)} forecasts of its own end had RMSE {backtest.rmse:.6g} "
            f"(naive: {backtest.naive_rmse:.6g}); {backtest.coverage:.0%} of the values were in their intervals."
        )
    print(f"What follows, with {model.confidence_level:.0%} intervals:\n")
    rows = [[str(s["step"]), *(_shown(s[k]) for k in ("mean", "lower", "upper"))] for s in outcome.steps]
    print(table(["step", "forecast", "lower", "upper"], rows) + "\n")


def _plot_forecasts(outcomes: dict[str | None, Any], path: str) -> str:
    from .forecasting import report

    pyplot = _pyplot()
    figure, axes = pyplot.subplots(
        len(outcomes), 1, figsize=(9, 4 * len(outcomes)), constrained_layout=True, squeeze=False
    )
    for (group, (past, outcome)), ax in zip(outcomes.items(), axes[:, 0]):
        report.draw(outcome, past.values, ax, PLOTTED_ROWS)
        ax.set(title=group)
    return _save_figure(figure, path)


def _text_records(path: str) -> Iterator[dict[str, Any]]:
    """Rows of a file as they stand there, empty ones included."""
    from .forecasting import report

    if path.endswith((".parquet", ".pq")):
        yield from _parquet_records(path)
        return
    try:
        with contextlib.nullcontext(sys.stdin) if path == "-" else open(path, newline="", encoding="utf-8") as file:
            yield from report.text_rows(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _forecast_lagged(arguments: argparse.Namespace) -> int:
    """The forecast with a model, its parameters and its lags given."""
    from .forecasting import KernelForecaster

    values = [y for _, y in progress(read_rows(arguments.file, arguments.column, []), arguments.file)]
    horizon, lags = arguments.horizon or 10, arguments.lags or 10
    reach = (lags if isinstance(lags, int) else max(lags)) * arguments.stride
    if len(values) <= reach + horizon:
        needed = reach + horizon + 1
        raise CommandError(
            f"{arguments.file}: {len(values)} values; {needed} are needed for these lags and this horizon"
        )

    def learned(series: Sequence[float]) -> KernelForecaster:
        model = KernelForecaster(
            build_model(arguments),
            lags,
            arguments.stride,
            rollout=arguments.rollout,
            confidence_level=arguments.level,
            seed=arguments.seed,
        )
        try:
            model.learn_series(progress(series, "learning", len(series)))
        except (TypeError, ValueError) as error:
            raise CommandError(f"{arguments.file}, column {arguments.column!r}: {error}") from error
        return model

    held = np.array(values[-horizon:])
    check = np.array(learned(values[:-horizon]).forecast(horizon))
    rmse, naive = (float(np.sqrt(np.mean((held - guess) ** 2))) for guess in (check, values[-horizon - 1]))
    model = learned(values)
    means, intervals = model.forecast(horizon), model.forecast(horizon, with_interval=True)
    steps = [
        {"step": i + 1, "mean": m, "lower": v.lower, "upper": v.upper} for i, (m, v) in enumerate(zip(means, intervals))
    ]
    plot = _plot_forecast(values, steps, arguments.plot) if arguments.plot else None
    if arguments.json:
        print(json.dumps({"values": len(values), "rmse": rmse, "naive_rmse": naive, "forecast": steps, "plot": plot}))
        return OK
    print(f"{len(values)} values; a forecast of the last {horizon} from those before had RMSE {rmse:.6g}")
    print(f"(the last value repeated: {naive:.6g}). What follows, with {model.confidence_level:.0%} intervals:\n")
    print(
        table(
            ["step", "forecast", "lower", "upper"],
            [[str(s["step"]), *(_shown(s[k]) for k in ("mean", "lower", "upper"))] for s in steps],
        )
    )
    if plot:
        print(f"\nplot: {plot}")
    return OK


def _plot_forecast(values: list[float], steps: list[dict[str, Any]], path: str) -> str:
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(9, 4), constrained_layout=True)
    shown = np.arange(max(0, len(values) - PLOTTED_ROWS), len(values))
    ahead = len(values) - 1 + np.array([step["step"] for step in steps])
    axes.plot(shown, np.array(values)[shown], "k", linewidth=1, label="observed")
    axes.plot(ahead, [step["mean"] for step in steps], label="forecast")
    axes.fill_between(ahead, [s["lower"] for s in steps], [s["upper"] for s in steps], alpha=0.3, label="interval")
    axes.set(xlabel="step")
    axes.legend(fontsize=8)
    return _save_figure(figure, path)


def equalize(arguments: argparse.Namespace) -> int:
    """Simulate a nonlinear channel and recover its symbols."""
    from .datasets import NonlinearChannel
    from .equalization import KernelEqualizer

    try:
        options: dict[str, Any] = (
            {"taps": tuple(float(tap) for tap in arguments.taps.split(","))} if arguments.taps else {}
        )
        channel = NonlinearChannel(
            alphabet=arguments.alphabet,
            noise=arguments.noise,
            lags=arguments.lags,
            delay=arguments.delay,
            seed=arguments.seed,
            **options,
        )
        equalizer = KernelEqualizer(
            build_model(arguments),
            arguments.lags,
            arguments.delay,
            alphabet=arguments.alphabet,
            directed=arguments.directed,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    symbols, observations = channel.sequence(arguments.train + arguments.symbols)
    pairs = list(zip(observations, symbols, strict=True))
    for y, u in progress(pairs[: arguments.train], "training"):
        equalizer.equalize_one(y, u)
    equalizer.reset_errors()
    began = time.perf_counter()
    for y, u in progress(pairs[arguments.train :], "deciding"):
        equalizer.equalize_one(y, u, train=False)
    seconds = time.perf_counter() - began
    result = {
        "symbols": arguments.symbols,
        "symbol_error_rate": equalizer.symbol_error_rate,
        "bit_error_rate": equalizer.bit_error_rate,
        "bayes_symbol_error_rate": channel.bayes_error() if arguments.bayes else None,
        "symbols_per_second": arguments.symbols / seconds,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print(table(["", "value"], [[name, _shown(value)] for name, value in result.items() if value is not None]))
    return OK


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def build_model(arguments: argparse.Namespace) -> Any:
    """The learner that the options describe."""
    from . import CKAAR, IKAAR, KAAR, KRLS, KRR, AutoKernelRegressor, HeteroscedasticKRLS, kernels

    kinds = (KRLS, KRR, KAAR, IKAAR, CKAAR, HeteroscedasticKRLS, AutoKernelRegressor)
    classes: dict[str, Any] = dict(zip(MODELS, kinds, strict=True))
    options = {name: getattr(arguments, name) for name in ("threshold", "ridge", "forgetting", "max_size")}
    options = {name: value for name, value in options.items() if value is not None}
    try:
        if arguments.kernel:
            options["kernel"] = kernels.parse(arguments.kernel)
        return classes[arguments.model](**options)
    except TypeError as error:
        raise CommandError(f"--model {arguments.model}: {error}") from error
    except ValueError as error:
        raise CommandError(str(error)) from error


def read_rows(path: str, target: str, features: Sequence[str] | None) -> Iterator[tuple[dict[str, float], float]]:
    """Features and target of every row of a CSV file, a Parquet file, or standard input (`-`, CSV)."""
    records = _parquet_records(path) if path.endswith((".parquet", ".pq")) else _csv_records(path)
    chosen: list[str] | None = None
    for number, record in enumerate(records, start=1):
        if chosen is None:
            for name in [target, *(features or [])]:
                if name not in record:
                    raise CommandError(f"{path}: no column {name!r}; it has {', '.join(record)}")
            chosen = [name for name in record if name != target] if features is None else list(features)
        x = {name: _cell(path, number, name, record[name]) for name in chosen}
        yield x, _cell(path, number, target, record[target])


def _cell(path: str, row: int, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise CommandError(
            f"{path}, row {row}: column {name!r} is {value!r}, not a number; choose columns with --features"
        ) from None


def _csv_records(path: str) -> Iterator[dict[str, Any]]:
    try:
        with contextlib.nullcontext(sys.stdin) if path == "-" else open(path, newline="", encoding="utf-8") as file:
            yield from csv.DictReader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _parquet_records(path: str) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise CommandError("Parquet files need pyarrow: pip install 'streamkernel[frames]'") from None
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=4096):
            yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _names(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",")] if text else None


def _read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _save(session: Any, path: str | None) -> None:
    """Write a checkpoint; a reader sees the old one or the new one, never a part."""
    if path is None:
        return
    partial = f"{path}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(session.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error}") from error


class _PredictionLog:
    """row,target,prediction as CSV, if there is a path; a restart cuts off what lies beyond the checkpoint."""

    def __init__(self, path: str | None, rows: int) -> None:
        self._path, self._rows = path, rows
        self._file: Any = None

    def __enter__(self) -> Self:
        if self._path is None:
            return self
        try:
            kept = self._kept(self._path)
            self._file = open(self._path, "w", encoding="utf-8")
            self._file.writelines(kept)
        except OSError as error:
            raise CommandError(f"cannot write {self._path}: {error}") from error
        return self

    def _kept(self, path: str) -> list[str]:
        if not self._rows:
            return ["row,target,prediction\n"]
        with open(path, encoding="utf-8") as file:
            kept = [line for _, line in zip(range(self._rows + 1), file)]
        if len(kept) != self._rows + 1:
            raise CommandError(f"{path}: has fewer rows than the checkpoint ({len(kept) - 1} of {self._rows})")
        return kept

    def __exit__(self, *exception: object) -> None:
        if self._file:
            self._file.close()

    def write(self, row: int, target: float, prediction: float) -> None:
        """Add one row."""
        if self._file:
            self._file.write(f"{row},{target!r},{prediction!r}\n")

    def flush(self) -> None:
        """Make sure that everything so far is in the file."""
        if self._file:
            self._file.flush()


class _Interrupts:
    """Ctrl-C between two rows: the first is remembered, so that a row is never left half learned."""

    def __init__(self) -> None:
        self.caught = False

    def __enter__(self) -> Self:
        self._previous = signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _remember(self, number: int, frame: Any) -> None:
        if self.caught:
            raise KeyboardInterrupt
        self.caught = True


def _plot_run(tail: list[tuple[float, float]], path: str) -> str:
    pyplot = _pyplot()
    target, prediction = np.array(tail).T
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 6), sharex=True, constrained_layout=True)
    above.plot(target, "k.", markersize=3, label="observed")
    above.plot(prediction, linewidth=1, label="predicted before it was learned")
    above.set(title=f"the last {len(tail)} rows")
    above.legend(fontsize=8)
    below.plot(target - prediction, linewidth=1)
    below.axhline(0.0, color="gray", linewidth=0.5)
    below.set(xlabel="row", ylabel="error")
    return _save_figure(figure, path)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise CommandError("plots need matplotlib: pip install 'streamkernel[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save_figure(figure: Any, path: str) -> str:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot write {path}: {error}") from error
    _pyplot().close(figure)
    return path


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="streamkernel",
        description="Online kernel learning.",
        epilog="'streamkernel COMMAND --help' explains a command.",
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
    added.add_argument(
        "--noise", type=float, default=0.01, help="standard deviation of the noise (default %(default)s)"
    )
    added.add_argument("--seed", type=int, default=1, help="of the series (default %(default)s)")
    added.add_argument("--plot", default="demo.png", metavar="PNG", help="where to save the plot (default %(default)s)")
    added = command("run", run, "Predict, then learn, every row of a CSV or Parquet file or of standard input.")
    added.add_argument("file", metavar="FILE", help="a .csv or .parquet file, or - for CSV on standard input")
    added.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    added.add_argument("--features", metavar="A,B,...", help="the columns to predict from (default: all others)")
    added.add_argument(
        "--no-scale", action="store_true", help="take features as they are; by default they are standardized"
    )
    _model_options(added)
    added.add_argument("--predictions", metavar="CSV", help="write row, target and prediction")
    added.add_argument("--plot", metavar="PNG", help="plot the last rows and their errors")
    added.add_argument("--save", metavar="FILE", help="write a checkpoint at the end, when interrupted, and in between")
    added.add_argument(
        "--checkpoint-every", type=_positive, default=10_000, metavar="ROWS", help="(default %(default)s)"
    )
    added.add_argument("--resume", action="store_true", help="continue from the checkpoint --save, if there is one")

    added = command("forecast", forecast, "Learn a series, one column of a file, and forecast what follows.")
    added.add_argument("file", metavar="FILE", help="a .csv or .parquet file, or - for CSV on standard input")
    added.add_argument(
        "--column", required=True, metavar="COLUMN", help="the series, oldest value first; empty is a gap"
    )
    added.add_argument("--horizon", type=_positive, help="steps to forecast (default: one season, or 10)")
    added.add_argument("--season", type=_positive, help="steps of a season (default: found in the series)")
    added.add_argument("--level", type=float, default=COVERAGE, help="of the intervals (default %(default)s)")
    added.add_argument("--backtest", type=int, default=5, help="forecasts of the series' own end (default %(default)s)")
    added.add_argument(
        "--features", metavar="A,B,...", help="columns known ahead; rows with an empty series cell are the future"
    )
    added.add_argument("--group", metavar="COLUMN", help="forecast the series of every value of this column")
    added.add_argument("--save", metavar="FILE", help="write the learned forecaster")
    added.add_argument("--plot", metavar="PNG", help="plot the series, the backtest, the forecast and its intervals")
    added.add_argument("--lags", type=_lags, metavar="N|A,B,...", help="with a model of your own: past values it sees")
    added.add_argument("--stride", type=_positive, default=1, help="steps between two of them (default %(default)s)")
    added.add_argument("--rollout", type=_positive, default=1, help="also learn from forecasts this many steps deep")
    added.add_argument("--seed", type=int, default=0, help="of the sampled paths (default %(default)s)")
    _model_options(added)
    added.set_defaults(model=None)

    added = command("equalize", equalize, "Simulate a nonlinear channel and recover its symbols.")
    added.add_argument("--symbols", type=_positive, default=5000, help="to decide on (default %(default)s)")
    added.add_argument("--train", type=_positive, default=500, help="known symbols before (default %(default)s)")
    added.add_argument("--lags", type=_positive, default=2, help="observations a decision sees (default %(default)s)")
    added.add_argument("--delay", type=int, default=1, help="observations after the symbol (default %(default)s)")
    added.add_argument("--alphabet", choices=("bpsk", "qpsk"), default="bpsk", help="(default %(default)s)")
    added.add_argument("--taps", metavar="A,B,...", help="impulse response of the channel (default 1.0,0.5)")
    added.add_argument(
        "--noise", type=float, default=math.sqrt(0.2), help="its standard deviation (default %(default).4f)"
    )
    added.add_argument("--directed", action="store_true", help="go on learning from decisions")
    added.add_argument("--bayes", action="store_true", help="print the best possible error rate beside it")
    added.add_argument("--seed", type=int, default=1, help="(default %(default)s)")
    _model_options(added)

    command("warmup", warmup, "Compile ahead of time (numba caches the result on disk).")
    return parser


def _model_options(parser: argparse.ArgumentParser) -> None:
    """The learner and its parameters; what is not given has the learner's own default."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", choices=MODELS, default="krls", help="(default %(default)s; auto needs no other option)"
    )
    group.add_argument("--kernel", metavar="EXPRESSION", help='for example "RBF(1.0) + 0.1 * Linear()"')
    group.add_argument("--threshold", type=float, help="of the dictionary: smaller is more accurate and slower")
    group.add_argument("--ridge", type=float, help="regularization: the noise relative to the signal")
    group.add_argument("--forgetting", type=float, help="below 1 follows a function that changes")
    group.add_argument("--max-size", type=_positive, help="the most points in the dictionary")


def _lags(text: str) -> int | list[int]:
    """A number of lags, or several lags."""
    return [_positive(part) for part in text.split(",")] if "," in text else _positive(text)


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
