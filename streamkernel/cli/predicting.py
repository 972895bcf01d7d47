"""What `predict` does: the rows of a table through a saved model."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from ..session import Session
from .columns import Columns, declare_words
from .following import line_of
from .options import column_names, takes_words
from .output import OK, CommandError, ReadingBar, as_json, message
from .stored import read_checkpoint
from .tables import Table, shown_names
from .writing import PredictionLog, check_outputs


def predict(arguments: argparse.Namespace) -> int:
    """A line for every row: its number, the prediction and its bounds, or the class and its probability."""
    check_outputs({"--predictions": arguments.predictions}, {"MODEL": arguments.model, "FILE": arguments.file})
    session = _session(arguments)
    features = column_names(arguments.features) or session.features
    for name in features or ():
        if session.features is not None and name not in session.features:
            known = shown_names(session.features)
            raise CommandError(f"--features: the model does not know the column {name!r}; it was learned with {known}")
    table = Table(arguments.file, features or (), arguments.delimiter, arguments.encoding)
    names, live = ("row", *session.outputs), arguments.file == "-"
    header = None if arguments.json else ",".join(names)
    count = 0
    with contextlib.closing(table), PredictionLog(arguments.predictions, header, None, live) as log:
        if table.notes:
            message(f"{arguments.file}: {', '.join(table.notes)}")
        if not table.names:
            raise CommandError(f"{arguments.file}: no rows")
        columns = _columns(session, table, features, arguments)
        with ReadingBar(table, arguments.predictions == "-" and sys.stdout.isatty()) as bar:
            for number, (_, row) in enumerate(bar.rows(table), start=1):
                try:
                    found = session.predict(columns.read(row)[0], arguments.confidence_level)
                except (TypeError, ValueError, ArithmeticError) as error:
                    where = f"{arguments.file}, row {number}"
                    if arguments.on_error == "stop":
                        if count:
                            log.flush()
                        raise CommandError(f"{where}: {error} (--on-error skip leaves such rows out)") from error
                    message(f"{where}: skipped: {error}")
                    continue
                cells = (number, *found)
                log.add(f"{as_json(dict(zip(names, cells)))}\n" if arguments.json else line_of(cells))
                count += 1
        if not count:
            raise CommandError(f"{arguments.file}: no rows that could be predicted")
        log.flush(to_disk=True)
    return OK


def _session(arguments: argparse.Namespace) -> Session:
    """The session of a run, or one around a model that was saved by itself."""
    model, _ = read_checkpoint(arguments.model)
    if isinstance(model, Session):
        return model
    if not (hasattr(model, "predict_one") or hasattr(model, "predict_proba_one")):
        raise CommandError(f"{arguments.model} holds a {type(model).__name__}, which does not predict rows")
    known = getattr(model, "features", None)
    return Session(model, scale=False, features=[str(name) for name in known] if known else None)


def _columns(session: Session, table: Table, features: Any, arguments: argparse.Namespace) -> Columns:
    """How the rows are read: as the model learned them."""
    kinds: dict[str, str] = dict(session.facts.get("kinds", {}))
    numbers_only = not (session.encode or takes_words(session.model))
    if numbers_only and arguments.words:
        raise CommandError(f"--words: {type(session.model).__name__} takes no words")
    chosen = list(features) if features else [name for name in table.names if name != session.target]
    declare_words(kinds, column_names(arguments.words) or [], chosen)
    return Columns(table.names, None, chosen, kinds, numbers_only, point=arguments.decimal)
