"""The cheap rows of the published tables and figures, measured again. One function for each stored file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench import record
from bench.check_rows import EXACT, RUNS, Row, of_mean, of_no_chance, of_share
from streamkernel.datasets import Digits, Raetsch, SantaFeLaser

FIGURE_1 = ("100", "1000")  # sample sizes
KAAR_TABLE, KAAR_KERNELS = "servo", ("spline", "rbf")
COKER_TABLES = {"coker": "Mg", "coker-classification": "LD", "coker-digits": "Digits"}
SWITCHES = {"KRLS-T figure 3": ("KRLS-T", "SW-KRLS", "ALD-KRLS", "NORMA"), "reconvergence": ("KRLS-T", "KLMS", "QKLMS")}


def check_krls(results: Path) -> Iterator[Row]:
    """Some runs of Table 2's quick line and of Table 4's first, beside the means over all; Table 5's second."""
    from bench.papers import krls

    rows = {(row["experiment"], row["quantity"]): row for row in record.read(results / "krls.csv")}
    lines = krls.regression_lines(RUNS, quick=True)
    lines += [line for line in krls.equalizer_lines(RUNS, quick=True) if line.experiment == "table 5"]
    for line in lines:
        row = rows[line.experiment, line.quantity]
        stored = float(row["ours"])
        noise = of_mean(float(row["sd"])) or of_no_chance(stored)
        yield Row("krls", line.experiment, line.quantity, stored, float(line.ours), noise)
    length = krls.LAGS * krls.STRIDE + krls.MG_ROWS + krls.MG_TEST
    found = []
    for seed in range(RUNS):
        series = krls.datasets.MackeyGlass(17, krls.MG_STEPS[17], seed=seed).series(length)
        model = krls.KRLS(krls.kernels.RBF(0.5), threshold=1e-4)
        one, forecast, _ = krls.mackey_glass(series, krls.MG_ROWS, model)
        found.append([one, krls.rmse(forecast, series[-krls.MG_TEST :])])
    for quantity, now in zip(("MG(17) RMSE(1)", "MG(17) RMSE(200)"), np.mean(found, axis=0), strict=True):
        row = rows["table 4", quantity]
        yield Row("krls", "table 4", quantity, float(row["ours"]), float(now), of_mean(float(row["sd"])))


def check_krls_figure1(results: Path) -> Iterator[Row]:
    """Some runs of two sample sizes."""
    from bench.papers import krls

    for row in record.read(results / "krls-figure1.csv"):
        if row["sweep"] == "size" and row["value"] in FIGURE_1:
            runs = [krls.sinc(int(row["value"]), 0.1, seed)[:2] for seed in range(RUNS)]
            for measure, now in zip(("rmse", "size"), np.mean(runs, axis=0), strict=True):
                noise = of_mean(float(row[f"{measure}_sd"]))
                label = f"{row['value']} samples"
                yield Row("krls-figure1", label, measure, float(row[measure]), float(now), noise)


def check_krls_laser(results: Path) -> Iterator[Row]:
    """The forecast with the paper's parameters, its first half: iterated steps are chaotic afterwards."""
    from bench.papers import laser

    series = SantaFeLaser(part="A", normalize=True).series()
    forecast = laser.forecasts(series, [laser.PAPER])[laser.PAPER]
    rows = record.read(results / "krls-laser.csv")
    for row, now in list(zip(rows, forecast.tolist(), strict=True))[: laser.HORIZON // 2 : 10]:
        yield Row("krls-laser", f"row {row['row']}", "paper", float(row["paper"]), now, EXACT)


def check_flkl(results: Path) -> Iterator[Row]:
    """One split of a small set: every method has to make the errors that it made."""
    from bench.papers import flkl

    rows = {(row["data set"], row["splits"], row["number"]): row for row in record.read(results / "flkl.csv")}
    kind, number = next(key[1:] for key in rows if key[0] == "thyroid")
    again = flkl.run("thyroid", kind, int(number), Raetsch("thyroid"))
    for method, error in again.errors.items():
        stored = float(rows["thyroid", kind, number][method])
        yield Row("flkl", f"thyroid, {kind} {number}", method, stored, error, EXACT * max(stored, 1.0))


def check_flkl_ranks(results: Path) -> Iterator[Row]:
    """The ranks follow from the stored errors."""
    from bench.papers import flkl

    splits = flkl.restore(results / "flkl.csv")
    names = dict.fromkeys(split.dataset for split in splits)
    means = {
        name: {m: float(np.mean([s.errors[m] for s in splits if s.dataset == name])) for m in flkl.METHODS}
        for name in names
    }
    rows = {(row["comparison"], row["method"]): row for row in record.read(results / "flkl-ranks.csv")}
    for title, method, rank, _, _, _, p_value, *_ in flkl.compare(means):
        row = rows[title, method]
        yield Row("flkl-ranks", f"{title}, {method}", "rank", float(row["rank"]), rank, EXACT)
        yield Row("flkl-ranks", f"{title}, {method}", "p", float(row["p"]), p_value, EXACT)


def check_kaar(results: Path) -> Iterator[Row]:
    """Some runs of a small table, beside the means over all."""
    from bench.papers import kaar

    rows = {(row["data"], row["kernel"], row["method"]): row for row in record.read(results / "kaar.csv")}
    experiment = kaar.EXPERIMENTS[KAAR_TABLE]
    for kernel in KAAR_KERNELS:
        means = np.mean([kaar.run(experiment, kernel, number, 0) for number in range(RUNS)], axis=0) / experiment.unit
        for method, now in zip(kaar.METHODS, means.tolist(), strict=True):
            row = rows[KAAR_TABLE, kernel, method]
            noise = of_mean(float(row["sd of mean"]) * float(row["runs"]) ** 0.5)
            yield Row("kaar", f"{KAAR_TABLE}, {kernel}, {method}", "error", float(row["ours"]), now, noise)


def check_kaar_streams(results: Path) -> Iterator[Row]:
    """The cumulative losses on streams, which have no chance in them."""
    from bench.papers import kaar

    rows = {(row["stream"], row["ridge"]): row for row in record.read(results / "kaar-streams.csv")}
    for cells in kaar.stream_rows(kaar.STREAM_LENGTH):
        now = dict(zip(kaar.STREAM_HEADERS, cells, strict=True))
        for measure in kaar.STREAM_HEADERS[3:]:
            stored = float(rows[now["stream"], str(now["ridge"])][measure])
            label = f"{now['stream']}, ridge {now['ridge']:g}"
            yield Row("kaar-streams", label, measure, stored, float(now[measure]), of_no_chance(stored))


def check_hkrr_williams(results: Path) -> Iterator[Row]:
    """All training sets: they are small."""
    from bench.papers import hkrr

    path = results / "hkrr_williams.csv"
    found = hkrr.run_williams(int(record.made(path)["all"].partition("--runs ")[2].split()[0]))
    for row in record.read(path):
        curves = next(found[kind] for kind, label in hkrr.LABELS.items() if label == row["method"])
        now = {"sigma/conditional sd": curves.ratio, "95 % coverage": curves.coverage, "NLPD": curves.nlpd}
        for measure, value in now.items():
            stored = float(row[measure])
            yield Row("hkrr_williams", row["method"], measure, stored, value, of_no_chance(stored))


def check_hkrr_step(results: Path) -> Iterator[Row]:
    """Some realizations with the kernel's width given, beside the means over all."""
    from bench.papers import hkrr

    column = f"kappa = {hkrr.SMOOTH_KAPPA:g}"
    rows = {row["quantity"]: row for row in record.read(results / "hkrr_step.csv")}
    for quantity, (now, _) in hkrr.run_step(RUNS, hkrr.SMOOTH_KAPPA).rows.items():
        row = rows[quantity]  # of two columns sd it holds the last, which is that of the width given
        yield Row("hkrr_step", column, quantity, float(row[column]), now, of_mean(float(row["sd"])))


def check_coker(results: Path) -> Iterator[Row]:
    """The first split of a small table."""
    from bench.papers import coker

    scores = coker.run_regression(COKER_TABLES["coker"], 0, coker.Settings(1)).scores
    for row, stored, now in _coker_rows(results, "coker", "MSE", scores):
        yield Row("coker", row, "MSE", stored, now, of_no_chance(stored))


def check_coker_classification(results: Path) -> Iterator[Row]:
    """The first split of a small table."""
    from bench.papers import coker

    file = "coker-classification"
    name = COKER_TABLES[file]
    count = len(coker.CLASSIFICATION[name]()[1]) // 3
    scores = coker.run_classification(name, 0, coker.Settings(1)).scores
    for row, stored, now in _coker_rows(results, file, "accuracy", scores):
        yield Row(file, row, "accuracy", stored, now, 100.0 * of_share(stored / 100.0, count))


def check_coker_digits(results: Path) -> Iterator[Row]:
    """The first split."""
    from bench.papers import coker

    file, count = "coker-digits", len(Digits().arrays()[1]) // 3
    for row, stored, now in _coker_rows(results, file, "accuracy", coker.run_digits(0, coker.Settings(1)).scores):
        yield Row(file, row, "accuracy", stored, now, 100.0 * of_share(stored / 100.0, count))


def _coker_rows(
    results: Path, file: str, measure: str, scores: dict[str, tuple[float, ...]]
) -> Iterator[tuple[str, float, float]]:
    """What a row is called, the value stored and that of now, for each method on the first split."""
    name = COKER_TABLES[file]
    stored = {(row["data set"], row["run"], row["method"]): row for row in record.read(results / f"{file}.csv")}
    for method, (now, *_) in scores.items():
        yield f"{name}, run 0, {method}", float(stored[name, "0", method][measure]), now


def check_kaf(results: Path) -> Iterator[Row]:
    """All predictions, and the cheap filters on the channels that change, with all their draws."""
    from bench.papers import kaf

    rows = {(row["demo"], row["filter"]): float(row["ours"]) for row in record.read(results / "kaf.csv")}
    now = {(line.demo, line.name): line.ours for line in kaf.predictions(quick=False)}
    demos = {
        "KRLS-T figure 3": (kaf.figure3, kaf.FIGURE3, 4),
        "reconvergence": (kaf.reconvergence, kaf.RECONVERGENCE, 20),
    }
    for demo, names in SWITCHES.items():
        data, filters, last = demos[demo]
        for name in names:
            curves = [kaf.learning_curve(filters[name][1](), data(seed))[0] for seed in range(RUNS)]
            now[demo, name] = float(np.mean([kaf.decibels(float(np.mean(curve[-last:]))) for curve in curves]))
    for (demo, name), value in now.items():
        stored = rows[demo, name]
        yield Row("kaf", f"{demo}, {name}", "dB", stored, value, of_no_chance(stored))


CHECKS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "krls": check_krls,
    "krls-figure1": check_krls_figure1,
    "krls-laser": check_krls_laser,
    "flkl": check_flkl,
    "flkl-ranks": check_flkl_ranks,
    "kaar": check_kaar,
    "kaar-streams": check_kaar_streams,
    "hkrr_williams": check_hkrr_williams,
    "hkrr_step": check_hkrr_step,
    "coker": check_coker,
    "coker-classification": check_coker_classification,
    "coker-digits": check_coker_digits,
    "kaf": check_kaf,
}
