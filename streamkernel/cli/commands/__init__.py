"""The commands, a module each, imported when they are asked for.

A command is a file here and a line in `COMMANDS`. The module has `add_options`, which adds its options to a parser, and
`run`, which does the work for parsed options and returns the exit code.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from ... import __version__

# Names and what they do, in the order of the help.
COMMANDS = {
    "demo": "Learn a chaotic time series online and compare with two regressors of river.",
    "run": "Predict, then learn, every row of a CSV or Parquet file or of standard input.",
    "forecast": "Learn a series, one column of a file, and forecast what follows.",
    "equalize": "Simulate a nonlinear channel and recover its symbols.",
    "warmup": "Compile ahead of time (numba caches the result on disk).",
}


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, with the options of those that `arguments` name: the others are not imported."""
    parser = argparse.ArgumentParser(
        prog="streamkernel",
        description="Online kernel learning.",
        epilog="'streamkernel COMMAND --help' explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"streamkernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        added = commands.add_parser(name, help=text, description=text)
        if name in arguments:
            command = importlib.import_module(f".{name}", __name__)
            added.add_argument("--json", action="store_true", help="print the result as one line of JSON")
            added.set_defaults(run=command.run)
            command.add_options(added)
    return parser
