"""Predictions of a saved model for the rows of a table; nothing is learned."""

from __future__ import annotations

import argparse

from ..options import add_cells, add_confidence_level, add_file

EXAMPLES = """\
  streamkernel predict model.skm new.csv
  streamkernel predict model.skm new.csv --confidence-level 0.95 --predictions predicted.csv --on-error skip"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The model, the table, and where the predictions go."""
    parser.add_argument("model", metavar="MODEL", help="what --save or model.save wrote")
    add_file(parser)
    parser.add_argument(
        "--features", metavar="A,B,...", help="columns (default: those that the model was learned with)"
    )
    add_cells(parser)
    add_confidence_level(parser)
    parser.add_argument("--predictions", metavar="CSV", default="-", help="(default -, standard output)")


def run(arguments: argparse.Namespace) -> int:
    """A line for every row: its number, the prediction and its bounds, or the class and its probability."""
    from ..predicting import predict

    return predict(arguments)
