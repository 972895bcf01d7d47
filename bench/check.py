"""Do the stored results still hold? The cheap rows of each file are measured again and compared within their noise.

A row is stale where the new value is farther from the stored one than the noise of such a row: the standard error of
an accuracy or of an RMSE over as many samples, three standard errors of a mean over runs where fewer are repeated, a
thousandth of what has no chance in it. Times are not checked. Ends with 1 where a row is stale.

    python -m bench.check [--only FILE …] [--results FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import record
from bench.papers.report import progress, table
from streamkernel.datasets import DatasetError, Raetsch

EXACT = 1e-3
RUNS = 10  # repeated of a mean over more


class Row(NamedTuple):
    """One number, as stored and as measured again."""

    file: str
    row: str
    measure: str
    stored: float
    now: float
    noise: float

    @property
    def stale(self) -> bool:
        """Whether the two are farther apart than chance moves them; what is not a number is stale."""
        return not abs(self.now - self.stored) <= self.noise


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
                    yield Row(
                        "streams", f"{name}, {method}", measure, error, cells[place], error / math.sqrt(2 * count)
                    )


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
                noise = math.sqrt(max(accuracy * (1.0 - accuracy), 1.0 / len(samples)) / len(samples))
                yield Row("classes", f"{name}, {method}", "accuracy", accuracy, now, noise)


def check_krls(results: Path) -> Iterator[Row]:
    """Some runs of Table 2's quick line, beside the mean over all."""
    from bench.papers import krls

    rows = {row["quantity"]: row for row in record.read(results / "krls.csv") if row["experiment"] == "table 2"}
    for line in krls.regression_lines(RUNS, quick=True):
        row = rows[line.quantity]
        noise = 3.0 * float(row["sd"]) / math.sqrt(RUNS)
        yield Row("krls", line.experiment, line.quantity, float(row["ours"]), float(line.ours), noise)


def check_flkl(results: Path) -> Iterator[Row]:
    """One split of a small set: every method has to make the errors that it made."""
    from bench.papers import flkl

    rows = {(row["data set"], row["splits"], row["number"]): row for row in record.read(results / "flkl.csv")}
    kind, number = next(key[1:] for key in rows if key[0] == "thyroid")
    again = flkl.run("thyroid", kind, int(number), Raetsch("thyroid"))
    for method, error in again.errors.items():
        stored = float(rows["thyroid", kind, number][method])
        yield Row("flkl", f"thyroid, {kind} {number}", method, stored, error, EXACT * max(stored, 1.0))


def check_kaar(results: Path) -> Iterator[Row]:
    """The cumulative losses on streams, which have no chance in them."""
    from bench.papers import kaar

    rows = {(row["stream"], row["ridge"]): row for row in record.read(results / "kaar-streams.csv")}
    for cells in kaar.stream_rows(kaar.STREAM_LENGTH):
        now = dict(zip(kaar.STREAM_HEADERS, cells, strict=True))
        for measure in kaar.STREAM_HEADERS[3:]:
            stored = float(rows[now["stream"], str(now["ridge"])][measure])
            label = f"{now['stream']}, ridge {now['ridge']:g}"
            yield Row("kaar-streams", label, measure, stored, float(now[measure]), EXACT * abs(stored))


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


CHECKS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "streams": check_streams,
    "classes": check_classes,
    "krls": check_krls,
    "flkl": check_flkl,
    "kaar-streams": check_kaar,
    "anomalies": check_anomalies,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure again; say what no longer agrees."""
    parser = argparse.ArgumentParser(prog="python -m bench.check", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(CHECKS), metavar="FILE", help=f"of {', '.join(CHECKS)}")
    parser.add_argument("--results", type=Path, default=record.ROOT / "bench" / "results", help="the stored files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(arguments)
    rows: list[Row] = []
    for name in progress(args.only or list(CHECKS), "files"):
        try:
            rows += CHECKS[name](args.results)
        except (DatasetError, ModuleNotFoundError) as absent:
            print(f"{name} is not checked: {absent}", file=sys.stderr)
    stale: list[Any] = [row for row in rows if row.stale]
    if args.json:
        print(json.dumps([row._asdict() | {"stale": row.stale} for row in rows]))
    else:
        if stale:
            print(table(Row._fields, stale), end="\n\n")
        print(f"{len(rows) - len(stale)} of {len(rows)} rows agree with what is stored, within their noise.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
