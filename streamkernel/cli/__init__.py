"""The command line: the only part that prints.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 2 the command or its input
was wrong, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .commands import build_parser
from .output import INTERRUPTED, WRONG, CommandError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        parsed = build_parser(arguments).parse_args(arguments)
        return int(parsed.run(parsed))
    except CommandError as error:
        print(f"streamkernel: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("streamkernel: interrupted", file=sys.stderr)
        return INTERRUPTED
