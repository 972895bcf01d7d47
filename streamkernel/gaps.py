"""Cells of a table that say that there is no value."""

from __future__ import annotations

from typing import Any

# In lower case, and the length of the longest.
GAPS = frozenset(("", "na", "n/a", "#n/a", "nan", "<na>", "null", "none", "-nan"))
LONGEST = max(map(len, GAPS))


def is_gap(cell: Any) -> bool:
    """Whether a cell says that there is no value.

    Examples
    --------

    >>> from streamkernel.gaps import is_gap
    >>> [is_gap(cell) for cell in ("", "  null     ", "NaN", "-nan ", " #N/A", None, float("nan"), "0", "red")]
    [True, True, True, True, True, True, True, False, False]

    """
    if isinstance(cell, str):
        return (len(cell) <= LONGEST or cell[0].isspace() or cell[-1].isspace()) and cell.strip().lower() in GAPS
    return cell is None or bool(cell != cell)
