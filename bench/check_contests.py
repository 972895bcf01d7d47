"""The cheap rows of contests, forecasts, equalizers and tunings, measured again. One function for each stored file."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import record
from bench.check_rows import EXACT, Row, of_no_chance, of_rmse, of_share

RIVER_STREAMS = ("Sinc-Linear", "TrumpApproval", "ChickWeights")
RIVER_METHODS = ("streamkernel KRLS", "river Bayesian linear", "river polynomial + SGD")
SPIKED = ("mixed", "concrete")
FORECAST = ("AirPassengers", "lynx")


def check_streams(results: Path) -> Iterator[Row]:
    """Ours and one rival, on the small streams."""
    from bench import streams
    from bench.contest import numeric
    from bench.stream_rivals import RIVALS
    from bench.stream_sources import REPORTED

    rows = {(row["stream"], row["method"]): row for row in streams.stored(results / "streams.csv")}
    for name in ("boston", "TrumpApproval", "ChickWeights"):
        samples = REPORTED[name]()
        found = {
            streams.AUTO: streams.run_auto(samples),
            "river linear": streams.run(RIVALS["river linear"], numeric(samples), quick=False),
        }
        for method, cells in found.items():
            if (name, method) in rows:
                for place, measure, count in ((0, streams.WHOLE, len(samples)), (1, streams.LATE, len(samples) // 4)):
                    error = rows[name, method][measure]
                    yield Row("streams", f"{name}, {method}", measure, error, cells[place], of_rmse(error, count))


def check_streams_river(results: Path) -> Iterator[Row]:
    """The settings that were chosen, on the small streams."""
    from river import preprocessing

    from bench import streams_river

    rows = {(row["stream"], row["method"]): row for row in record.read(results / "streams-river.csv")}
    for name, method in itertools.product(RIVER_STREAMS, RIVER_METHODS):
        row = rows[name, method]
        samples = list(itertools.islice(streams_river.STREAMS[name](), int(row["samples"])))
        make, grid = streams_river.METHODS[method]
        chosen = dict(part.split("=") for part in row["chosen"].split(", "))
        setting = {key: next(value for value in grid[key] if str(value) == text) for key, text in chosen.items()}
        model = preprocessing.StandardScaler() | make(len(samples[0][0]), **setting)
        skip = len(samples) // streams_river.TUNING_SHARE
        error = float(row["RMSE"])
        now = streams_river.prequential(model, samples, skip)[0]
        yield Row("streams-river", f"{name}, {method}", "RMSE", error, now, of_rmse(error, len(samples) - skip))


def check_classes(results: Path) -> Iterator[Row]:
    """Ours and one rival, on the small streams."""
    from bench import classes
    from bench.class_rivals import AUTO, OURS, RIVALS
    from bench.class_streams import REPORTED
    from bench.contest import numeric

    rows = {(row["stream"], row["method"]): row for row in classes.stored(results / "classes.csv")}
    for name in ("wine", "breast cancer", "Phishing"):
        samples = REPORTED[name]()
        for method, model in (OURS | {"river KNN": RIVALS["river KNN"]}).items():
            if (name, method) in rows:
                accuracy = rows[name, method]["accuracy"]
                now = classes.run(model, samples if method == AUTO else numeric(samples), quick=False)[0]
                noise = of_share(accuracy, len(samples))
                yield Row("classes", f"{name}, {method}", "accuracy", accuracy, now, noise)


def check_anomalies(results: Path) -> Iterator[Row]:
    """The smallest stream; the noise of an area under the curve is that of a share of the anomalies."""
    from bench import anomalies

    rows = {(row["stream"], row["kind"]): row for row in record.read(results / "anomalies.csv")}
    for now in anomalies.run({"TrumpApproval": anomalies.STREAMS["TrumpApproval"]}, quick=False):
        row = rows[now["stream"], now["kind"]]
        for who in anomalies.DETECTORS:
            stored = float(row[who])
            noise = math.sqrt(max(stored * (1.0 - stored), EXACT) / now["anomalies"])
            yield Row("anomalies", f"{now['stream']}, {now['kind']}", who, stored, now[who], noise)


def check_auto(results: Path) -> Iterator[Row]:
    """The error of the stream whose steps are timed."""
    from bench import auto

    row = record.read(results / "auto.csv")[0]
    count, stored = int(row["rows"]), float(row["RMSE"])
    now = auto.steps(auto.mixed(count), row["budget"])[2]
    yield Row("auto", f"{row['budget']}, {count} rows", "RMSE", stored, now, of_rmse(stored, count))


def check_auto_spikes(results: Path) -> Iterator[Row]:
    """The error without gross errors, and with one size of them, on two streams."""
    from bench import auto

    exponent = auto.SPIKE_EXPONENTS[2]
    rows = {row["stream"]: row for row in record.read(results / "auto-spikes.csv")}
    for name, samples in auto.spike_streams():
        if name in SPIKED:
            given, hit = auto.spiked(samples, exponent)
            base = auto.clean_error(samples, samples, hit)
            found = {"RMSE without": base, f"10^{exponent}": auto.clean_error(samples, given, hit) / base}
            for measure, now in found.items():
                stored = float(rows[name][measure])
                yield Row("auto-spikes", name, measure, stored, now, of_rmse(stored, len(samples)))


def check_late(results: Path) -> Iterator[Row]:
    """Ours, on one stream: answers that come at once and ten samples late."""
    from bench import late
    from streamkernel import AutoKernelRegressor

    rows = {row["stream"]: row for row in record.read(results / "late.csv")}
    samples = late.STREAMS["trending"]()
    for measure, delay in (("at once", 0), ("late", 10)):
        stored, now = float(rows["trending"][measure]), late.rmse(AutoKernelRegressor(), samples, delay)
        yield Row("late", "trending", measure, stored, now, of_rmse(stored, len(samples)))


def check_forecast(results: Path) -> Iterator[Row]:
    """Ours on two short series; the noise is that of as many forecasts."""
    from bench import forecast

    rows = {(row["series"], row["method"], row["steps"]): row for row in record.read(results / "forecast.csv")}
    for name in FORECAST:
        for cells in forecast.rows_of(name, forecast.AUTO, forecast.automatic(forecast.SERIES[name])):
            now = dict(zip(forecast.HEADERS, cells, strict=True))
            row = rows[name, forecast.AUTO, str(now["steps"])]
            stored = float(row["MASE"])
            yield Row(
                "forecast",
                f"{name}, {now['steps']} steps",
                "MASE",
                stored,
                now["MASE"],
                of_rmse(stored, now["origins"]),
            )


def check_forecast_chaos(results: Path) -> Iterator[Row]:
    """The next value of every series; iterated forecasts of chaos repeat on the same machine alone."""
    from bench import forecast_chaos

    measure = "NMSE, next"
    for row in record.read(results / "forecast_chaos.csv"):
        cells = forecast_chaos.judge(row["series"], int(row["values"]))
        now = dict(zip(forecast_chaos.HEADERS, cells, strict=True))
        stored = float(row[measure])
        noise = 2.0 * of_rmse(stored, forecast_chaos.JUDGED)  # of a mean square: twice that of its root
        yield Row("forecast_chaos", row["series"], measure, stored, now[measure], noise)


def check_forecast_long(results: Path) -> Iterator[Row]:
    """The errors on the short series."""
    from bench import forecast_long

    for row in record.read(results / "forecast_long.csv"):
        if int(row["values"]) == forecast_long.SHORT:
            now = forecast_long.measure(row["series"], forecast_long.SHORT)[-1]
            stored = float(row["RMSE / noise"])
            noise = of_rmse(stored, forecast_long.AHEAD)
            yield Row("forecast_long", row["series"], "RMSE / noise", stored, now, noise)


def check_equalizers(results: Path) -> Iterator[Row]:
    """Ours and one rival at the least signal-to-noise ratio of every channel, where one run is enough."""
    from bench import equalizers
    from streamkernel import datasets
    from streamkernel.equalization import curves

    known = equalizers.cached(results / "equalizers.csv")
    for name, snrs in equalizers.SNRS.items():
        for who in ("kernel", "RLS"):
            point = known[name, who, float(snrs[0])]

            def channel(seed: int, name: str = name) -> Any:
                return datasets.named_channel(name, seed)

            now = curves.measure(who, channel, float(snrs[0]), curves.EQUALIZERS[who]).symbol_error_rate
            stored = point.symbol_error_rate
            label = f"{name}, {who}, {snrs[0]:g} dB"
            yield Row("equalizers", label, "symbol error rate", stored, now, of_share(stored, point.symbols))


def check_equalizers_tracking(results: Path) -> Iterator[Row]:
    """All runs: they are fast."""
    from bench import equalizers

    rows = {row["channel"]: row for row in record.read(results / "equalizers-tracking.csv")}
    for now in equalizers.tracking(argparse.Namespace(quick=False, seed=0)):
        row = rows[now["channel"]]
        for measure in ("mean SER", "largest SER"):
            stored, symbols = float(row[measure]), now["symbols"] * (now["runs"] if measure == "mean SER" else 1)
            yield Row("equalizers-tracking", row["channel"], measure, stored, now[measure], of_share(stored, symbols))
        measure = "runs that lost lock"
        yield Row("equalizers-tracking", row["channel"], measure, float(row[measure]), now[measure], 0.0)


def check_kernel_learning(results: Path) -> Iterator[Row]:
    """Friedman-1 by every method, one tuned table and one function that changes: fixed seeds."""
    from bench import kernel_learning as bench

    rows = {(row["figure"], row["method"], row["measure"]): row for row in record.read(results / "kernel-learning.csv")}
    seeds = int(rows["Friedman-1", "refit", "mean squared error, second half"]["seeds"])
    figures = bench.friedman_figures(bench.LENGTH, seeds)
    figures += bench.tuned_figures("Sinc") + bench.drift_figures("Drift, phase", bench.DRIFT_LENGTH, seeds)
    for figure in figures:
        row = rows[figure.name, figure.method, figure.measure]
        stored, now = float(row["measured"]), figure.mean
        label = f"{figure.name}, {figure.method}"
        yield Row("kernel-learning", label, figure.measure, stored, now, of_no_chance(stored))


CHECKS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "streams": check_streams,
    "streams-river": check_streams_river,
    "classes": check_classes,
    "anomalies": check_anomalies,
    "auto": check_auto,
    "auto-spikes": check_auto_spikes,
    "late": check_late,
    "forecast": check_forecast,
    "forecast_chaos": check_forecast_chaos,
    "forecast_long": check_forecast_long,
    "equalizers": check_equalizers,
    "equalizers-tracking": check_equalizers_tracking,
    "kernel-learning": check_kernel_learning,
}
