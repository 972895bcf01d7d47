"""The bench of learned kernels: its quick form, and what it counts as met."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import kernel_learning, record
from bench.kernel_learning import Figure

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_quick_form(tmp_path: Any, capsys: Any, data: Any) -> None:
    data("raetsch/splice.npz")
    data("boston.csv")
    assert kernel_learning.main(["--quick", "--json", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["figure"], row["method"]) for row in rows] == [
        ("Friedman-1", "isotropic"),
        *[("Friedman-1", kind) for kind in ("gradient", "gradient", "refit", "refit")],
        *[("Change", kind) for kind in ("gradient", "gradient", "refit", "refit")],
        *[("Splice", kind) for kind in ("isotropic", "gradient", "refit", "refit")],
        *[(f"Tuned {name}", criterion) for name in kernel_learning.TUNED for criterion in ("loo", "evidence")],
        *[
            (name, method)
            for name in kernel_learning.DRIFTS
            for method in ("known", "refit", "refit", "tune", "tune", "tune, λ = 1")
        ],
    ]
    assert all(row["measured"] >= 0.0 and row["seconds"] > 0.0 for row in rows)
    assert all((row["met"] is None) == (row["asked"] is None) for row in rows)
    assert len(record.read(tmp_path / "kernel-learning.csv")) == len(rows)


def test_what_is_met() -> None:
    def met(low: float | None, high: float | None, values: list[float]) -> Any:
        row = Figure("name", "method", "measure", low, high, values, [1.0]).row()
        return dict(zip(kernel_learning.HEADERS, row, strict=True))["met"]

    near = "within two standard errors"
    assert met(None, None, [1.0]) is None
    assert met(None, 2.0, [1.0, 3.0]) == "yes" and met(None, 2.0, [1.0, 3.1]) == near
    assert met(None, 2.0, [2.0, 2.2]) == near and met(None, 2.0, [2.1, 2.2]) == "no" and met(None, 2.0, [2.1]) == "no"
    assert met(5.0, None, [5.0]) == "yes" and met(5.0, None, [5.0, 4.0]) == near and met(5.0, None, [4.0]) == "no"


def test_other_features_matter_after_a_change() -> None:
    X, y = kernel_learning.friedman(2000, 1, change=1000)
    correlations = [
        [abs(float(np.corrcoef(X[part, r], y[part])[0, 1])) for r in range(10)]
        for part in (slice(0, 1000), slice(1000, 2000))
    ]
    # The fourth feature has the largest linear effect.
    assert [int(np.argmax(row)) for row in correlations] == [3, 8]
    np.testing.assert_allclose([X.mean(), X.std(), y.mean(), y.std()], [0.0, 1.0, 0.0, 1.0], atol=1e-9)
