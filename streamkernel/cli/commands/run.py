"""A table learned row by row, each predicted before it is learned; restartable at any row."""

from __future__ import annotations

import argparse

from ..options import add_cells, add_confidence_level, add_file, add_model, positive
from ..watching import add_live

EXAMPLES = """\
  streamkernel run sensors.csv --target temperature --save model.skm --predictions predicted.csv
  tail -n +1 -f feed.csv | streamkernel run - --target y --predictions -
  streamkernel run sensors.csv --target temperature --live"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The table, the learner, and what is written."""
    add_file(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict: numbers, or classes")
    parser.add_argument("--features", metavar="A,B,...", help="the columns to predict from (default: all others)")
    add_cells(parser)
    add_model(parser)
    parser.add_argument(
        "--no-scale", action="store_true", help="take features as they are; auto always, others standardize them"
    )
    add_outputs(parser)
    add_live(parser)


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """What is written, and how a run goes on."""
    group = parser.add_argument_group("output")
    group.add_argument("--predictions", metavar="CSV", help="write every prediction with its bounds; - as it is made")
    add_confidence_level(group)
    group.add_argument("--plot", metavar="PNG", help="plot the last rows and their errors")
    group.add_argument("--save", metavar="FILE", help="write a checkpoint at the end, when interrupted, and in between")
    group.add_argument(
        "--checkpoint-every", type=positive, default=10_000, metavar="ROWS", help="(default %(default)s)"
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on from the checkpoint --save, if there is one: the same file is continued, another one learned whole",
    )
    group.add_argument("--again", action="store_true", help="with --resume: learn the file even if it is known already")


def run(arguments: argparse.Namespace) -> int:
    """Learn the rows that the session does not know yet; say how well they were predicted."""
    from ..following import follow

    return follow(arguments)
