"""Options that several commands have, and the learner that they describe."""

from __future__ import annotations

import argparse
from typing import Any

from .output import CommandError

MODELS = ("krls", "krr", "kaar", "ikaar", "ckaar", "heteroscedastic", "auto")


def positive(text: str) -> int:
    """A whole number of at least one, as an argument's type."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 1")
    return value


def add_file(parser: argparse.ArgumentParser) -> None:
    """The table to read."""
    parser.add_argument("file", metavar="FILE", help="a .csv or .parquet file, or - for CSV on standard input")


def add_model(parser: argparse.ArgumentParser) -> None:
    """The learner and its parameters; what is not given has the learner's own default."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model", choices=MODELS, default="krls", help="(default %(default)s; auto needs no other option)"
    )
    group.add_argument("--kernel", metavar="EXPRESSION", help='for example "RBF(1.0) + 0.1 * Linear()"')
    group.add_argument("--threshold", type=float, help="of the dictionary: smaller is more accurate and slower")
    group.add_argument("--ridge", type=float, help="regularization: the noise relative to the signal")
    group.add_argument("--forgetting", type=float, help="below 1 follows a function that changes")
    group.add_argument("--max-size", type=positive, help="the most points in the dictionary")


def build_model(arguments: argparse.Namespace) -> Any:
    """The learner that the options describe."""
    from .. import CKAAR, IKAAR, KAAR, KRLS, KRR, AutoKernelRegressor, HeteroscedasticKRLS, kernels

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
