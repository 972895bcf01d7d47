"""The command line: the only part that prints.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 2 the command or its input
was wrong, 128 and its number where a signal ended it (130 Ctrl-C, 143 SIGTERM, 141 a reader that went away).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .commands import build_parser
from .output import BROKEN_PIPE, INTERRUPTED, WRONG, CommandError, message

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
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
        _leave_standard_output()
        return BROKEN_PIPE
    except MemoryError as error:
        message(f"not enough memory: {error}")
        return WRONG
    except OSError as error:  # files are named where they are opened; what is left is a full disk behind a pipe
        _leave_standard_output()
        message(f"cannot write the result: {error.strerror or error}")
        return WRONG


def _leave_standard_output() -> None:
    """What is still to be written goes nowhere, so that the interpreter does not try again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
