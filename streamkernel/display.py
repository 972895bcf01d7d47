"""How a model looks in a notebook: what it is, how large it has become, and its recent errors."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

# The chart of recent errors: how many, and its size in pixels.
ERRORS, WIDTH, HEIGHT = 120, 240, 48
# A value in the table is cut after this many characters.
LONGEST = 120
# What is shown of a model that has it, besides its parameters.
FACTS = {"size": "points in the dictionary", "noise_variance": "variance of the noise", "features": "features"}

STYLE = "display:inline-block;border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:8px 12px;font-size:90%"


def as_html(model: Any, parameters: Mapping[str, Any], errors: Sequence[float] = ()) -> str:
    """A table of a model's parameters and state, and a chart of its recent errors where there are some.

    Parameters
    ----------
    model
        Any model.
    parameters
        What it was made with.
    errors
        Its recent errors, oldest first.

    Examples
    --------

    >>> from streamkernel import KRLS
    >>> text = KRLS(ridge=0.1)._repr_html_()
    >>> "KRLS" in text and "<td>0.1</td>" in text and "points in the dictionary" in text
    True

    """
    facts = {label: _fact(getattr(model, name)) for name, label in FACTS.items() if hasattr(type(model), name)}
    rows = [*facts.items(), *((name, repr(value)) for name, value in parameters.items())]
    cell = "text-align:left;padding:0 12px 0 0;font-weight:normal;opacity:.7"
    lines = "".join(f'<tr><th style="{cell}">{_text(name)}</th><td>{_text(value)}</td></tr>' for name, value in rows)
    return f'<div style="{STYLE}"><b>{_text(type(model).__name__)}</b><table>{lines}</table>{_chart(errors)}</div>'


def _fact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _text(value: str) -> str:
    return html.escape(value if len(value) <= LONGEST else value[: LONGEST - 1] + "…")


def _chart(errors: Sequence[float]) -> str:
    """The sizes of the newest errors as bars."""
    newest = [abs(error) for error in errors][-ERRORS:]
    largest = max(newest, default=0.0)
    if not 0.0 < largest < float("inf"):
        return ""
    step = WIDTH / ERRORS
    path = "".join(
        f"M{(i + 0.5) * step:.1f} {HEIGHT}V{HEIGHT * (1.0 - error / largest):.1f}" for i, error in enumerate(newest)
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="recent errors">'
        f'<path d="{path}" stroke="#0b63ce" stroke-width="{0.7 * step:.1f}"/></svg>'
        f'<div style="opacity:.7">sizes of the newest {len(newest)} errors, the largest {largest:.3g}</div>'
    )
