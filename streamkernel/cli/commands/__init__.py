"""The commands, a module each, imported when they are asked for.

A command is a file here and a line in `COMMANDS`. The module has `add_options`, which adds its options to a parser,
`run`, which does the work for parsed options and returns the exit code, and `EXAMPLES`, which the help shows.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from ... import __version__

# Names and what they do, in the order of the help.
COMMANDS = {
    "demo": "Learn a chaotic time series online and compare with two regressors of river.",
    "run": "Predict, then learn, every row of a table or a feed, with bounds.",
    "classify": "The same where the target is a class.",
    "predict": "Predict the rows of a table with a saved model.",
    "info": "Tell what is in a saved model.",
    "forecast": "Learn a series, one column of a file, and forecast what follows.",
    "equalize": "Simulate a nonlinear channel and recover its symbols.",
    "warmup": "Compile ahead of time (numba caches the result on disk).",
}


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, with the options of those that `arguments` name: the others are not imported."""
    parser = argparse.ArgumentParser(
        prog="streamkernel",
        description="Online kernel learning.",
        epilog="'streamkernel COMMAND --help' explains a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"streamkernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        added = commands.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in arguments:
            command = importlib.import_module(f".{name}", __name__)
            added.add_argument("--json", action="store_true", help="print the result as one line of JSON")
            added.set_defaults(run=command.run)
            added.epilog = f"examples:\n{command.EXAMPLES}"
            command.add_options(added)
    return parser
