"""Options that several commands have, and the learner that they describe."""

from __future__ import annotations

import argparse
import csv
import io
import math
import shlex
import sys
from collections.abc import Iterable
from typing import Any

from .output import CommandError, message

MODELS = ("auto", "krls", "krr", "kaar", "ikaar", "ckaar", "heteroscedastic")

# Options that describe a model of one's own; whoever gives one without --model means krls.
MODEL_OPTIONS = ("kernel", "threshold", "ridge", "forgetting", "max_size")


def positive(text: str) -> int:
    """A whole number of at least one, as an argument's type."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """A whole number of at least zero, as an argument's type."""
    return _whole(text, 0)


def port(text: str) -> int:
    """A number of a port, as an argument's type."""
    value = _whole(text, 1)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 1 to 65535")
    return value


def _whole(text: str, low: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= {low}")
    if value > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text!r} is too large: at most {sys.maxsize}")
    return value


def finite(text: str) -> float:
    """A finite number, as an argument's type."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def level(text: str) -> float:
    """A probability between zero and one, as an argument's type."""
    value = finite(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return value


class _FormerName(argparse.Action):
    """An option under its former name: understood for one release, with a warning."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        today = f"--{self.dest.replace('_', '-')}"
        message(f"{option_string} is called {today} now")
        setattr(namespace, self.dest, values)


def add_confidence_level(parser: Any, of: str = "of the bounds") -> None:
    """The probability of intervals."""
    parser.add_argument(
        "--confidence-level",
        type=level,
        default=0.9,
        metavar="P",
        help=f"probability {of} (default %(default)s)",
    )
    hidden = {"default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    parser.add_argument("--level", type=level, action=_FormerName, dest="confidence_level", **hidden)


def delimiter(text: str) -> str:
    """One character; `tab` and \\t stand for the one that is hard to type."""
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1 or text in '\r\n"':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def column_names(text: str | None) -> list[str] | None:
    """Names between commas, in quotes where they hold one, as in a CSV file; None where nothing was given."""
    if text is None:
        return None
    try:
        names = [name.strip() for line in csv.reader([text], skipinitialspace=True) for name in line]
    except csv.Error as error:
        raise CommandError(f"names of columns, {text!r}: {error}") from error
    if not any(names):
        raise CommandError(f"names of columns, {text!r}: there is none")
    if not all(names):
        raise CommandError(f"names of columns, {text!r}: one is empty")
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"names of columns, {text!r}: {name!r} is there twice")
    return names


def names_given(names: Iterable[str]) -> str:
    """Names as an option takes them on the command line: `column_names` backwards, quoted for the shell.

    Examples
    --------

    >>> from streamkernel.cli.options import names_given
    >>> print(names_given(["a", "b"]), names_given(["two words", "b, c"]))
    a,b 'two words,"b, c"'

    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return shlex.quote(line.getvalue())


def add_file(parser: argparse.ArgumentParser) -> None:
    """The table to read."""
    parser.add_argument(
        "file", metavar="FILE", help="CSV (also compressed), Parquet or Arrow; - is standard input, row by row"
    )
    group = parser.add_argument_group("reading")
    group.add_argument("--delimiter", type=delimiter, metavar="CHAR", help="between columns (default: found)")
    group.add_argument("--encoding", metavar="NAME", help="for example latin-1 (default: found)")


def add_cells(parser: argparse.ArgumentParser) -> None:
    """What cells mean, and what happens to those that cannot be read."""
    group = parser.add_argument_group("cells")
    group.add_argument("--decimal", choices=(".", ","), default=".", help="the decimal point (default %(default)s)")
    group.add_argument("--words", metavar="A,B,...", help="columns of names, also where they look like numbers")
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="a row that cannot be read ends the run, or is left out and counted (default %(default)s)",
    )


def add_model(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """The learner and its parameters; what is not given has the learner's own default."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        choices=MODELS,
        default=default,
        help=f"(default {default})" if default else "(default auto, which needs no other option; krls with any below)",
    )
    group.add_argument("--kernel", metavar="EXPRESSION", help='for example "RBF(1.0) + 0.1 * Linear()"')
    group.add_argument(
        "--threshold", type=float, help="of the dictionary: smaller is slower and as a rule more accurate"
    )
    group.add_argument("--ridge", type=float, help="regularization: the noise relative to the signal")
    group.add_argument("--forgetting", type=float, help="below 1 follows a function that changes")
    group.add_argument("--max-size", type=positive, help="the most points in the dictionary")


def model_name(arguments: argparse.Namespace) -> str:
    """The model that the options mean."""
    given = any(getattr(arguments, name) is not None for name in MODEL_OPTIONS)
    return arguments.model or ("krls" if given else "auto")


def model_class(name: str) -> Any:
    """The class behind a name."""
    from .. import CKAAR, IKAAR, KAAR, KRLS, KRR, AutoKernelRegressor, HeteroscedasticKRLS

    classes: tuple[Any, ...] = (AutoKernelRegressor, KRLS, KRR, KAAR, IKAAR, CKAAR, HeteroscedasticKRLS)
    return dict(zip(MODELS, classes, strict=True))[name]


def model_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters that were given, by the name that the learners have for them."""
    from .. import kernels

    options = {name: value for name in MODEL_OPTIONS if (value := getattr(arguments, name)) is not None}
    if "kernel" in options:
        try:
            options["kernel"] = kernels.parse(options["kernel"])
        except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
            raise CommandError(f"--kernel: {_reason(error)}") from error
    return options


def build_model(arguments: argparse.Namespace) -> Any:
    """The learner that the options describe."""
    name, options = model_name(arguments), model_options(arguments)
    if name == "auto" and options:
        given = ", ".join(f"--{option.replace('_', '-')}" for option in options)
        raise CommandError(f"--model auto takes no {given}: it finds them; another --model, for example krls, does")
    try:
        return model_class(name)(**options)
    except TypeError as error:
        raise CommandError(f"--model {name}: {error}") from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    except (ArithmeticError, MemoryError) as error:
        raise CommandError(f"--kernel {arguments.kernel}: {_reason(error)}") from error


def build_classifier() -> Any:
    """The classifier that needs no options."""
    from .. import AutoKernelClassifier

    return AutoKernelClassifier()


def takes_words(model: Any) -> bool:
    """Whether a model reads words and gaps by itself."""
    from ..auto import AutoKernelClassifier, AutoKernelRegressor

    return isinstance(model, AutoKernelRegressor | AutoKernelClassifier)


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "too many terms"
    return str(error) or f"too large ({type(error).__name__})"
