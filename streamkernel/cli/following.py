"""What `run` and `classify` do: predict, then learn, every row of a table, with checkpoints that survive anything."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from ..gaps import is_gap
from ..session import Session
from .columns import CLASSES, Columns, as_number, declare_words, is_separated, separator_advice, shown
from .options import (
    build_classifier,
    build_model,
    column_names,
    model_class,
    model_name,
    model_options,
    names_given,
    takes_words,
)
from .output import OK, SIGNALED, CommandError, ReadingBar, message, print_result
from .plots import PLOTTED_ROWS, check_plot, plot_run
from .signals import Interrupts, Stopped
from .sources import Place
from .stored import load_session
from .tables import BadRow, Marked, Table
from .watching import check_live, finish, open_view
from .writing import PredictionLog, check_outputs, locked, save

MOST_PEEKED = 100  # rows without a target after which it is taken to be a number
MOST_REPORTED = 5  # rows that were skipped for which the reason is shown


def follow(arguments: argparse.Namespace, classes: bool = False) -> int:
    """Learn the rows that the session does not know yet; say how well they were predicted."""
    if arguments.resume and not arguments.save:
        raise CommandError("--resume needs --save FILE: the checkpoint to continue from and to write")
    outputs = {"--predictions": arguments.predictions, "--save": arguments.save, "--plot": arguments.plot}
    if not classes:
        check_live(arguments)
        outputs["--live-save"] = arguments.live_save
    check_outputs(outputs, {"the input": arguments.file})
    if arguments.plot:
        check_plot(arguments.plot)
    with locked(arguments.save), contextlib.closing(Following(arguments, classes)) as following:
        if classes or not arguments.live:
            return following.run()
        following.view = open_view(arguments, following.session.model, arguments.target)
        try:
            code = following.run()
            finish(following.view, arguments, linger=code == OK)
            return code
        finally:
            following.view.close()


class Following:
    """A table, the session that learns it, and what is written on the way.

    Parameters
    ----------
    arguments
        The options of the command.
    classes
        Whether the target is a class, whatever it looks like.

    """

    def __init__(self, arguments: argparse.Namespace, classes: bool) -> None:
        self.arguments = arguments
        self.view: Any = None  # shows the rows, where that is asked for
        known = load_session(arguments.save) if arguments.resume and os.path.exists(arguments.save) else None
        if known is not None:
            _check_options(known, arguments, classes)
        features = column_names(arguments.features)
        if features is None and known is not None and known.facts.get("chosen"):
            features = list(known.features or [])
        if features is not None and arguments.target in features:
            raise CommandError(f"--features has {arguments.target!r}, which is the target")
        wanted = [arguments.target, *(features or [])]
        if known is None and not (classes or arguments.model):
            build_model(arguments)  # its options may be wrong, which is known before the file is read
        self.table = Table(arguments.file, wanted, arguments.delimiter, arguments.encoding)
        try:
            if not self.table.names:
                raise CommandError(f"{arguments.file}: no rows")
            self._rows: Iterator[Marked] = iter(self.table)
            chosen = features is not None
            features = features or [name for name in self.table.names if name != arguments.target]
            if known is None:
                known = self._new_session(features, classes)
                known.facts["chosen"] = chosen
            elif known.features is not None:
                _check_features(arguments.file, features, known.features)
            self.session = known
            self.columns = self._columns(features)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the table."""
        self.table.close()

    # What learns ------------------------------------------------------------------------------------------------------

    def _new_session(self, features: list[str], classes: bool) -> Session:
        arguments = self.arguments
        if classes or (model_name(arguments) == "auto" and self._target_is_word()):
            for option in ("plot", "live"):
                if getattr(arguments, option, None):
                    raise CommandError(f"--{option} shows numbers: leave it out where the target is a class")
            return Session(build_classifier(), scale=False, target=arguments.target, features=features)
        scale = not arguments.no_scale and model_name(arguments) != "auto"
        return Session(build_model(arguments), scale, target=arguments.target, features=features)

    def _target_is_word(self) -> bool:
        """Whether the first target is not a number; the rows that were looked at come again."""
        if self.arguments.target not in self.table.names:
            return False
        place, peeked, found = self.table.names.index(self.arguments.target), [], None
        for mark, row in self._rows:
            peeked.append((mark, row))
            if not isinstance(row, BadRow) and not is_gap(row[place]):
                found = row[place]
            if found is not None or len(peeked) == MOST_PEEKED:
                break
        self._rows = itertools.chain(peeked, self._rows)
        if found is None or as_number(found, self.arguments.decimal) is not None:
            return False
        if is_separated(found, self.arguments.decimal):
            raise CommandError(
                f"{self.arguments.file}: the target {self.arguments.target!r} is {shown(found)}: "
                f"{separator_advice(found, self.arguments.decimal)}; {CLASSES}"
            )
        message(f"{self.arguments.file}: the target {self.arguments.target!r} is {shown(found)}: classes are learned")
        return True

    def _columns(self, features: list[str]) -> Columns:
        arguments, session = self.arguments, self.session
        kinds = session.facts.setdefault("kinds", {})
        declare_words(kinds, column_names(arguments.words) or [], features)
        numbers_only = not (session.encode or takes_words(session.model))
        if numbers_only and arguments.words:
            raise CommandError("--words: only --model auto takes words")
        return Columns(
            self.table.names,
            arguments.target,
            features,
            kinds,
            numbers_only,
            session.classifies,
            arguments.decimal,
        )

    # The run ----------------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """All rows that are new; the exit code."""
        arguments, session = self.arguments, self.session
        if self.table.notes:
            message(f"{arguments.file}: {', '.join(self.table.notes)}")
        began_at, learned_before = session.rows, session.learned
        self._tail = deque[tuple[float, float]](maxlen=PLOTTED_ROWS)
        if session.rows and "source" not in session.facts and not arguments.again:
            raise CommandError(
                f"{arguments.save} does not say which file was learned: --again learns {arguments.file} as a new one"
            )
        self._place = Place(None if arguments.again else session.facts.get("source"))
        began, read_before = time.perf_counter(), self._place.rows
        caught = self._learn()
        seconds = time.perf_counter() - began
        done = session.rows - began_at
        if began_at and not done and caught is None:
            message(f"{arguments.file}: all of its {read_before} rows are known already; --again learns them once more")
        if session.skipped > MOST_REPORTED:
            message(f"{session.skipped} rows were skipped")
        result = {
            "rows": session.rows,
            "resumed_at": began_at,
            "learned": session.learned,
            "without_target": session.unlabeled,
            "skipped": session.skipped,
            **session.score(),
            "coverage": session.coverage,
            "model": type(session.model).__name__,
            "dictionary": getattr(session.model, "size", None),
            "rows_per_second": done / seconds if done else 0.0,
            "interrupted": caught is not None,
            "checkpoint": arguments.save,
            "plot": self._plot(session.learned - learned_before),
        }
        if not arguments.json:
            zero = ("resumed_at", "without_target", "skipped", "interrupted")
            result = {name: value for name, value in result.items() if value or name not in zero}
        print_result(result, arguments.json, sys.stderr if arguments.predictions == "-" else None)
        if caught is None:
            return OK
        hint = f"; continue with --save {arguments.save} --resume" if arguments.save and session.rows else ""
        message(f"interrupted after row {session.rows}{hint}")
        return SIGNALED + caught

    def _plot(self, learned: int) -> str | None:
        if self.arguments.plot and not learned:
            message("no plot: no row was learned")
            return None
        return plot_run(list(self._tail), self.arguments.plot) if self.arguments.plot else None

    def _learn(self) -> int | None:
        """Predict and learn row by row, with checkpoints in between; the signal that ended it, if one did."""
        arguments, session = self.arguments, self.session
        header = ",".join(["row", "target", *session.outputs])
        known = session.facts.get("log") if session.rows else None
        hidden = arguments.predictions == "-" and sys.stdout.isatty()
        saved_at = session.rows
        with (
            PredictionLog(arguments.predictions, header, known, arguments.file == "-") as log,  # may wait for a reader
            Interrupts() as interrupts,
            ReadingBar(self.table, hidden) as bar,
        ):
            level = arguments.confidence_level if log.active or self.view is not None else None
            rows = iter(bar.rows(interrupts.rows(self._place.unread(self._rows, arguments.file))))
            first: list[Marked] = []
            with contextlib.suppress(Stopped):
                first = list(itertools.islice(rows, 1))  # where this is an error, there is nothing to keep
            with self._keeping(log), contextlib.suppress(Stopped):
                if first and session.rows and log.begins:
                    self._keep(log)  # which file is continued
                for mark, row in itertools.chain(first, rows):
                    self._take(mark, row, level, log)
                    if arguments.save and session.rows - saved_at >= arguments.checkpoint_every:
                        self._keep(log)
                        saved_at = session.rows
            with self._keeping(log):
                self._keep(log)
        return interrupts.caught

    def _take(self, mark: int, row: Any, level: float | None, log: PredictionLog) -> None:
        """One row: predicted and learned, predicted, or skipped."""
        session = self.session
        found: tuple[Any, ...] | None
        began = time.perf_counter()
        try:
            x, y = self.columns.read(row)
            if y is None:
                found = session.predict(x, self.arguments.confidence_level) if log.active else ()
                session.unlabeled += 1
                session.rows += 1
            else:
                found = session.follow(x, y, level)
        except (TypeError, ValueError, ArithmeticError) as error:
            self._skip(error)
            found = None
        self._place.passed(mark)
        if found is None:
            return
        if self.view is not None and y is not None:
            self.view.observe(y, *found, time.perf_counter() - began)
        if log.active:
            log.add(line_of((session.rows, y, *found)))
        if self.arguments.plot and y is not None:
            self._tail.append((y, found[0]))

    def _skip(self, error: Exception) -> None:
        session, where = self.session, f"{self.arguments.file}, row {self._place.rows + 1}"
        if self.arguments.on_error == "stop":
            raise CommandError(f"{where}: {error} (--on-error skip leaves such rows out)") from error
        session.rows += 1
        session.skipped += 1
        if session.skipped <= MOST_REPORTED:
            message(f"{where}: skipped: {error}")

    # What is kept -----------------------------------------------------------------------------------------------------

    def _keep(self, log: PredictionLog) -> None:
        """Bring predictions and checkpoint to the disk, in this order."""
        if self.session.rows:
            log.flush(to_disk=True)
        self._save(log)

    def _save(self, log: PredictionLog) -> None:
        if not self.session.rows:  # what lies there may have learned many
            return
        before = self.session.facts.get("log")  # a run without predictions leaves those before alone
        self.session.facts |= {"source": self._place.state, "log": log.state or before}
        save(self.session, self.arguments.save)

    @contextlib.contextmanager
    def _keeping(self, log: PredictionLog) -> Iterator[None]:
        """Whatever ends the run, the rows that were learned are not lost."""
        try:
            yield
        except CommandError:
            try:
                self._keep(log)
            except OSError:
                self._save(log)
            raise
        except BrokenPipeError:
            self._save(log)
            raise
        except OSError as error:
            text = f"cannot write {log.path}: {error.strerror or error}"
            try:
                self._save(log)
            except CommandError as other:
                raise CommandError(f"{text}; {other}; what was there before is kept") from error
            hint = f"; {self.session.rows} rows are in {self.arguments.save}: make room and go on with --resume"
            raise CommandError(text + (hint if self.arguments.save and self.session.rows else "")) from error


def _check_options(session: Session, arguments: argparse.Namespace, classes: bool) -> None:
    """An error that says what differs, where the options describe another model than the checkpoint's."""
    model, path = session.model, arguments.save
    differences = []
    if session.target is not None and session.target != arguments.target:
        differences.append(f"--target {session.target}, not {arguments.target}")
    chosen = column_names(arguments.features)
    if chosen is not None and session.features is not None and set(chosen) != set(session.features):
        differences.append(f"--features {names_given(session.features)}, not {names_given(chosen)}")
    if arguments.model and type(model) is not model_class(arguments.model):
        differences.append(f"{type(model).__name__}, not --model {arguments.model}")
    elif classes and not session.classifies:
        differences.append(f"{type(model).__name__}, not a classifier")
    else:
        for name, value in model_options(arguments).items():
            if getattr(model, name, None) != value:
                was = getattr(model, name, None)
                differences.append(f"--{name.replace('_', '-')} {was}, not {value}")
    if arguments.no_scale and session.scale:
        differences.append("scaled features, not --no-scale")
    if differences:
        raise CommandError(f"{path} was learned with {'; '.join(differences)}. To begin anew, leave --resume out")


def _check_features(path: str, now: list[str], before: Any) -> None:
    if missing := [name for name in before if name not in now]:
        raise CommandError(f"{path}: no column {missing[0]!r}, which the model was learned with")
    if further := [name for name in now if name not in before]:
        # An empty name cannot be chosen.
        advice = f"choose with --features {names_given(before)}" if all(before) else "remove it from the file"
        raise CommandError(f"{path}: the model does not know the column {further[0]!r}: {advice}")


def line_of(cells: tuple[Any, ...]) -> str:
    """A line of the predictions."""
    return ",".join(map(_text, cells)) + "\n"


def _text(value: Any) -> str:
    """A cell of the predictions: full precision, empty where there is nothing."""
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"' if any(mark in value for mark in ',"\r\n') else value
    return repr(value)
