"""What every paper bench shares: text tables, progress bars, figures and paired significance tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

Item = TypeVar("Item")

# Above this many pairs the normal approximation of the Wilcoxon distribution is used instead of the exact one.
EXACT_WILCOXON = 200
# Results that differ relatively by no more than this are the same: two methods whose formulas coincide, rounded twice.
ROUNDING = 1e-10


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An aligned text table: floats with four significant digits, None as a dash, numbers to the right.

    Examples
    --------

    >>> print(table(["method", "MSE"], [["KRR", 7.3071], ["KAAR", None]]))
    method    MSE
    KRR     7.307
    KAAR        -

    """
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    left = [all(_is_word(cell) for cell in column) for column in zip(*cells, strict=True)] or [True] * len(headers)
    lines = []
    for row in [list(headers), *cells]:
        parts = [c.ljust(w) if to_left else c.rjust(w) for c, w, to_left in zip(row, widths, left, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def progress(iterable: Iterable[Item], description: str, total: int | None = None) -> Iterable[Item]:
    """The same items behind a progress bar, which is shown on a terminal only."""
    from tqdm import tqdm

    bar: Iterable[Item] = tqdm(iterable, desc=description, total=total, disable=None, leave=False)
    return bar


@contextlib.contextmanager
def figure(path: str | Path, width: float = 8.0, height: float = 5.0) -> Iterator[Any]:
    """A matplotlib figure to draw on, saved to `path` at the end: `with figure(path) as f: axes = f.subplots()`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas = FigureCanvasAgg(Figure(figsize=(width, height), layout="constrained"))
    yield canvas.figure
    canvas.figure.savefig(path, dpi=120)


def wilcoxon(first: ArrayLike, second: ArrayLike) -> float:
    """Two-sided p-value of the Wilcoxon signed-rank test on paired results; zero differences are ignored."""
    differences = _differences(first, second)
    if len(differences) == 0:
        return 1.0
    ranks = stats.rankdata(np.abs(differences))
    ties = len(np.unique(ranks)) < len(ranks)
    if ranks[differences > 0.0].sum() > ranks.sum() / 2:
        differences = -differences  # scipy's exact distribution keeps its digits in the lower tail only
    method = "exact" if len(differences) <= EXACT_WILCOXON and not ties else "asymptotic"
    return float(stats.wilcoxon(differences, method=method).pvalue)


def sign_test(first: ArrayLike, second: ArrayLike) -> float:
    """Two-sided p-value of the Fisher sign test on paired results; zero differences are ignored."""
    differences = _differences(first, second)
    if len(differences) == 0:
        return 1.0
    return float(stats.binomtest(int((differences > 0.0).sum()), len(differences)).pvalue)


def _differences(first: ArrayLike, second: ArrayLike) -> Any:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return (a - b)[np.abs(a - b) > ROUNDING * np.maximum(np.abs(a), np.abs(b))]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _is_word(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell != "-"
    return False
