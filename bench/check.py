"""Do the stored results still hold? The cheap rows of each file are measured again and compared within their noise.

A row is stale where the new value is farther from the stored one than the noise of such a row (`check_rows`): the
standard error of an accuracy or of an RMSE over as many samples, three standard errors of a mean over runs where fewer
are repeated, a thousandth of what has no chance in it. Times are not checked, nor are the files that hold nothing else.
Ends with 1 where a row is stale.

    python -m bench.check [--only FILE …] [--results FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import check_contests, check_papers, record
from bench.check_rows import Row
from bench.papers.report import progress, table
from streamkernel.datasets import DatasetError

CHECKS = check_contests.CHECKS | check_papers.CHECKS
UNCHECKED = ("speed", "scale", "equalizers-speed")


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
