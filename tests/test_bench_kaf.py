"""The toolbox's demos run in their quick form, on the toolbox's own Lorenz series."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench.papers import __main__ as papers
from bench.papers import kaf

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_the_series_is_the_toolbox_s() -> None:
    np.testing.assert_allclose(kaf.lorenz(5), [35.0, 34.766667, 34.443866, 34.040837, 33.568386], atol=1e-6)


def test_rows() -> None:
    X, y = kaf.embedded(np.arange(1.0, 6.0), 2, 2)
    assert X.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]
    assert y.tolist() == [3.0, 4.0, 5.0]


def test_quick_form(tmp_path: Any, capsys: Any, data: Any) -> None:
    data("santafe.csv")
    assert papers.main(["kaf", "--quick", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "reconvergence" in text and "Santa Fe" in text
    with (tmp_path / "kaf.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["ours"]) < 40.0 for row in rows)
    assert (tmp_path / "kaf.png").stat().st_size > 10_000
