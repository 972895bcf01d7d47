"""What is in a checkpoint."""

from __future__ import annotations

import argparse
from typing import Any

from ...checks import constructor_arguments
from ..output import OK, print_json, shown

EXAMPLES = """\
  streamkernel info model.skm
  streamkernel info model.skm --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The checkpoint."""
    parser.add_argument("model", metavar="MODEL", help="what --save or model.save wrote")


def run(arguments: argparse.Namespace) -> int:
    """Its kind, columns, settings and score, and what the model says of itself."""
    from ..stored import read_checkpoint

    stored, size = read_checkpoint(arguments.model)
    facts = _facts(stored, size)
    explained = getattr(getattr(stored, "model", stored), "explain", None)
    text = explained() if explained else None
    if arguments.json:
        print_json(facts | {"explanation": text})
        return OK
    rows = [[name, shown(value)] for name, value in facts.items() if value is not None and name != "settings"]
    rows += [[f"  {name}", shown(value)] for name, value in facts["settings"].items()]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name.ljust(width)}  {value}" for name, value in rows))
    if text:
        print(f"\n{text}")
    return OK


def _facts(stored: Any, size: int) -> dict[str, Any]:
    from ...session import Session

    session = stored if isinstance(stored, Session) else None
    model = session.model if session else stored
    features = session.features if session and session.features is not None else getattr(model, "features", None)
    facts: dict[str, Any] = {"model": type(model).__name__, "bytes": size}
    if session:
        kinds = session.facts.get("kinds", {})
        facts |= {
            "target": session.target,
            "features": [
                f"{name} ({kinds[name]})" if kinds.get(name, "number") != "number" else name for name in features
            ]
            if features is not None
            else None,
            "rows": session.rows,
            "learned": session.learned,
            "without_target": session.unlabeled or None,
            "skipped": session.skipped or None,
            **session.score(),
            "coverage": session.coverage,
            "standardized": session.scale,
        }
    elif features is not None:
        facts["features"] = list(map(str, features))
    facts["dictionary"] = getattr(model, "size", None)
    facts["settings"] = {name: _plain(value) for name, value in constructor_arguments(model).items()}
    return facts


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
