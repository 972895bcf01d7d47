"""A table learned row by row, each predicted before it is learned; restartable at any row."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import deque

from ...session import Session
from ..options import add_file, add_model, build_model, positive
from ..output import INTERRUPTED, OK, CommandError, print_result, progress
from ..plots import PLOTTED_ROWS, plot_run
from ..rows import column_names, read_rows
from ..saving import Interrupts, PredictionLog, load_session, save


def add_options(parser: argparse.ArgumentParser) -> None:
    """The table, the learner, and what is written."""
    add_file(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    parser.add_argument("--features", metavar="A,B,...", help="the columns to predict from (default: all others)")
    parser.add_argument(
        "--no-scale", action="store_true", help="take features as they are; by default they are standardized"
    )
    add_model(parser)
    parser.add_argument("--predictions", metavar="CSV", help="write row, target and prediction")
    parser.add_argument("--plot", metavar="PNG", help="plot the last rows and their errors")
    parser.add_argument(
        "--save", metavar="FILE", help="write a checkpoint at the end, when interrupted, and in between"
    )
    parser.add_argument(
        "--checkpoint-every", type=positive, default=10_000, metavar="ROWS", help="(default %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint --save, if there is one")


def run(arguments: argparse.Namespace) -> int:
    """Learn the rows that the session does not know yet; say how well they were predicted."""
    session = _session(arguments)
    skipped, tail = session.rows, deque[tuple[float, float]](maxlen=PLOTTED_ROWS)
    began = time.perf_counter()
    interrupted = _learn(session, arguments, tail)
    seconds = time.perf_counter() - began
    save(session, arguments.save)
    done = session.rows - skipped
    if not session.rows:
        raise CommandError(f"{arguments.file}: no rows")
    result = {
        "rows": session.rows,
        "resumed_at": skipped,
        **session.score(),
        "dictionary": session.model.size,
        "rows_per_second": done / seconds if done else 0.0,
        "interrupted": interrupted,
        "checkpoint": arguments.save,
        "plot": plot_run(list(tail), arguments.plot) if arguments.plot else None,
    }
    print_result(result, arguments.json)
    if interrupted:
        hint = f"; continue with --save {arguments.save} --resume" if arguments.save else ""
        print(f"streamkernel: interrupted after row {session.rows}{hint}", file=sys.stderr)
        return INTERRUPTED
    return OK


def _session(arguments: argparse.Namespace) -> Session:
    """The session to continue, or a new one."""
    if arguments.resume and not arguments.save:
        raise CommandError("--resume needs --save FILE: the checkpoint to continue from and to write")
    if arguments.resume and os.path.exists(arguments.save):
        return load_session(arguments.save)
    return Session(build_model(arguments), scale=not arguments.no_scale and arguments.model != "auto")


def _learn(session: Session, arguments: argparse.Namespace, tail: deque[tuple[float, float]]) -> bool:
    """Predict and learn row by row, with checkpoints in between; whether Ctrl-C ended it."""
    skipped = saved_at = session.rows
    with Interrupts() as interrupts, PredictionLog(arguments.predictions, skipped) as log:
        rows = read_rows(arguments.file, arguments.target, column_names(arguments.features))
        for number, (x, y) in enumerate(progress(rows, arguments.file), start=1):
            if number <= skipped:
                continue
            try:
                prediction = session.step(x, y)
            except (TypeError, ValueError) as error:
                save(session, arguments.save)
                raise CommandError(f"{arguments.file}, row {number}: {error}") from error
            tail.append((y, prediction))
            log.write(number, y, prediction)
            if arguments.save and session.rows - saved_at >= arguments.checkpoint_every:
                log.flush()
                save(session, arguments.save)
                saved_at = session.rows
            if interrupts.caught:
                break
    return interrupts.caught
