"""Classes learned row by row, each predicted before it is learned."""

from __future__ import annotations

import argparse

from ..options import MODEL_OPTIONS, add_cells, add_file
from .run import add_outputs

EXAMPLES = """\
  streamkernel classify flowers.csv --target species --save model.skm
  streamkernel classify sensors.csv --target alarm --features temperature,pressure --predictions -"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The table, and what is written."""
    add_file(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the class: words, or numbers taken as such")
    parser.add_argument("--features", metavar="A,B,...", help="the columns to tell it from (default: all others)")
    add_cells(parser)
    add_outputs(parser)
    parser.set_defaults(model=None, no_scale=False, **dict.fromkeys(MODEL_OPTIONS))


def run(arguments: argparse.Namespace) -> int:
    """Learn the rows that the session does not know yet; say how well they were classified."""
    from ..following import follow

    return follow(arguments, classes=True)
