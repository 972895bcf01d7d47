"""The toolbox's demos run in their quick form, on the toolbox's own Lorenz series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import record
from bench.papers import __main__ as papers
from bench.papers import kaf
from bench.papers.plain_filters import PlainKRLST, PlainSlidingWindow
from streamkernel import KRLS, KRR, AutoKernelRegressor
from streamkernel.kernels import RBF

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_the_series_is_the_toolbox_s() -> None:
    np.testing.assert_allclose(kaf.lorenz(5), [35.0, 34.766667, 34.443866, 34.040837, 33.568386], atol=1e-6)


def test_rows() -> None:
    X, y = kaf.embedded(np.arange(1.0, 6.0), 2, 2)
    assert X.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]
    assert y.tolist() == [3.0, 4.0, 5.0]


def test_the_plain_filters_are_the_library_s() -> None:
    """A sliding window always; KRLS-T until its budget is full, where the two let different points go."""
    X, y, test, _ = kaf.reconvergence(3)
    pairs = [
        (PlainSlidingWindow(1.0, 1e-2, 30, 5), KRR(RBF(1.0), ridge=1e-2, threshold=None, max_size=30), 80),
        (PlainKRLST(1.0, 1e-2, 0.99, 60, 5, jitter=1e-12), KRLS(RBF(1.0), 0.0, 1e-2, 0.99, "prior", 60), 60),
    ]
    for plain, ours, count in pairs:
        for row, target in zip(X[:count].tolist(), y[:count].tolist()):
            x = dict(enumerate(row))
            plain.learn_one(x, target)
            ours.learn_one(x, target)
        # Theirs forgets before a sample, ours after it.
        factor = np.sqrt(0.99) if isinstance(plain, PlainKRLST) else 1.0
        np.testing.assert_allclose(factor * plain.predict_many(test), ours.predict_many(test), atol=1e-7)


def test_the_automatic_model_has_a_curve() -> None:
    X, y, test, truth = kaf.figure3(0)
    curve, cost = kaf.learning_curve(AutoKernelRegressor("low"), (X[:60], y[:60], test[:5], truth[:5]))
    assert len(curve) == 3 and curve[-1] < curve[0] and cost > 0.0


def test_a_draw_may_explain_a_difference() -> None:
    line = kaf.Line("demo", "filter", -24.0, -23.0, 1.0, deviation=2.0)
    assert line.reached == "within the draws"
    assert line._replace(deviation=0.5).reached == line._replace(deviation=None).reached == "NO"
    assert line._replace(ours=-24.0).reached == "yes"


def test_quick_form(tmp_path: Any, capsys: Any, data: Any) -> None:
    data("santafe.csv")
    assert papers.main(["kaf", "--quick", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "reconvergence" in text and "Santa Fe" in text
    rows = record.read(tmp_path / "kaf.csv")
    assert all(float(row["ours"]) < 40.0 for row in rows)
    assert (tmp_path / "kaf.png").stat().st_size > 10_000
