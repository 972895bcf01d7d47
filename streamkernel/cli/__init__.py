"""The command line: the only part that prints.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 2 the command or its input
was wrong, 128 and its number where a signal ended it (130 Ctrl-C, 143 SIGTERM, 141 a reader that went away).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .commands import build_parser
from .output import BROKEN_PIPE, INTERRUPTED, WRONG, CommandError, leave, message

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    if arguments is None:
        arguments = sys.argv[1:]
        _prepare_streams()
    try:
        if sys.stdout is None:
            raise CommandError("standard output is closed: send it to a file, or to /dev/null")
        parsed = build_parser(arguments).parse_args(arguments)
        code = int(parsed.run(parsed))
        sys.stdout.flush()
        return code
    except CommandError as error:
        message(str(error))
        return WRONG
    except KeyboardInterrupt:
        message("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        leave(sys.stdout)
        return BROKEN_PIPE
    except MemoryError as error:
        message(f"not enough memory: {error}")
        return WRONG
    except OSError as error:  # files are named where they are opened; what is left is a full disk behind a pipe
        leave(sys.stdout)
        message(f"cannot write the result: {error.strerror or error}")
        return WRONG


def _prepare_streams() -> None:
    """Messages need a place, and no letter that an encoding lacks may end a command: it is escaped, as in messages."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
