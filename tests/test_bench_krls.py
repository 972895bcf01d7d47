"""The bench of the KRLS paper and the comparison with river: shortcuts against the library, and the quick forms."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import numpy as np
import pytest
from reference import JIT

from bench import record, streams_river
from bench.papers import krls, laser
from streamkernel import KRLS, datasets, kernels
from streamkernel.batch.scales import scaled_gram
from streamkernel.batch.system import RidgeSystem
from streamkernel.forecasting import KernelForecaster

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def arguments(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    krls.add_arguments(parser)
    return parser.parse_args(options)


def wave(count: int) -> Any:
    t = np.arange(count)
    return 0.5 + 0.3 * np.sin(0.4 * t) + 0.15 * np.sin(1.1 * t)


def test_passes_on_arrays_are_those_of_the_forecaster() -> None:
    series = wave(150)
    model = laser.Model(lags=6, sigma=0.7, threshold=1e-3, ridge=1e-3, rollout=5)
    for rollout, learner in laser.passes(series, model):
        learner_of_forecaster = KRLS(kernels.RBF(0.7), threshold=1e-3, ridge=1e-3)
        forecaster = KernelForecaster(learner_of_forecaster, lags=6, rollout=rollout, pad=True)
        forecaster.learn_series(series)
        expected = forecaster.forecast(20)
        np.testing.assert_allclose(laser.iterate(learner, series, 6, 20), expected, rtol=1e-6)


def test_the_laser_choice_is_by_what_follows_the_shorter_training_sets() -> None:
    """Models are ranked by the steps asked for, and their mean is what K is chosen by."""
    series = wave(1000)
    found = laser.hold_out(series, laser.QUICK_KRLS_GRID)
    assert {cut: len(next(iter(forecasts.values()))) for cut, forecasts in found.items()} == {
        700: 300,
        800: 200,
        900: 100,
    }
    best, other, *_ = laser.QUICK_KRLS_GRID
    for cut in laser.HOLD_OUTS:
        found[cut] = {best: series[cut:] + 0.01, other: series[cut:].copy()}
        found[cut][other][100:] += 1.0
    assert laser.choose(series, found, 100)[0] == [other]
    assert laser.choose(series, found, None)[0] == [best]


def test_a_model_without_the_rows_to_forecast_is_one_fitted_without_them() -> None:
    """As targets and as lags; and a start at the end of the series leaves nothing out."""
    series = wave(400) - 0.3
    model = laser.Amplitude(power=0.5, lags=5, decay=3.0, width=1.0, ridge=1e-3)
    values = np.sqrt(series - series.min())
    samples, targets = datasets.embed(values, model.lags)
    for start, held_out in ((60, True), (290, True), (400, False)):
        rows = np.arange(model.lags, 400)
        kept = (rows < start) | (rows >= start + laser.HORIZON + model.lags)
        gram = scaled_gram(model.theta(values), samples[kept])
        alpha, bias = RidgeSystem(gram, model.ridge, bias=True).solve(targets[kept])
        lags, expected = values[start - model.lags : start][::-1], []
        for _ in range(laser.HORIZON):
            ahead = scaled_gram(model.theta(values), lags[None, :], samples[kept])[0] @ alpha + bias
            expected.append(np.clip(ahead, values.min(), values.max()))
            lags = np.append(expected[-1], lags[:-1])
        (found,) = laser.amplitude_forecasts(series, model, [start], held_out)
        np.testing.assert_allclose(found, series.min() + np.square(expected), atol=1e-6)


def test_amplitude_models_are_chosen_by_forecasts_of_rows_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is perfect at every start is chosen alone; one whose errors cancel those of another, with it."""
    series = wave(1000)
    truth = np.array([series[start : start + laser.HORIZON] for start in laser.INNER_STARTS])
    exact, above, below = (laser.Amplitude(0.5, lags, 5.0, 1.0, 1e-3) for lags in (5, 6, 7))
    shift = {exact: 0.0, above: 0.1, below: -0.1}
    monkeypatch.setattr(laser, "amplitude_forecasts", lambda series, model, starts, held_out: truth + shift[model])
    assert laser.choose_amplitudes(series, [above, exact, below]) == ([exact], 0.0)
    monkeypatch.setattr(laser, "COMBINED", (1, 2))
    chosen, error = laser.choose_amplitudes(series, [above, below])
    assert set(chosen) == {above, below}
    assert error == pytest.approx(0.0, abs=1e-20)


def test_mackey_glass_is_the_iterated_forecast_of_arrays() -> None:
    series = datasets.MackeyGlass(seed=5).series(400)
    one, forecast, size = krls.mackey_glass(series, 160, KRLS(kernels.RBF(0.5), threshold=1e-4))
    X, y = datasets.embed(series, 10, 4)
    model = KRLS(kernels.RBF(0.5), threshold=1e-4)
    model.learn_many(X[:160], y[:160])
    assert size == model.size
    assert one == pytest.approx(krls.rmse(model.predict_many(X[160:360]), y[160:360]), rel=1e-4)
    values = series[:200].tolist()
    for _ in range(200):
        values.append(model.predict_one({k - 1: values[-4 * k] for k in range(1, 11)}))
    np.testing.assert_allclose(forecast, values[200:], atol=1e-5)


def test_ranges() -> None:
    assert krls.Line("a", "b", None, 1.0, None, krls.at_most(1.0)).met == "yes"
    assert krls.Line("a", "b", None, 1.1, None, krls.at_most(1.0)).met == "NO"
    assert krls.Line("a", "b", None, 2.0, None, (3.0, 4.0)).met == "NO"
    assert krls.Line("a", "b", None, 2.0).met is None


def test_quick_form(tmp_path: Any, capsys: Any, data: Any) -> None:
    data("santafe.csv")
    assert krls.main(arguments("--quick", "--out", str(tmp_path))) == 0
    text = capsys.readouterr().out
    for word in ("figure 1", "Friedman-3", "MG(17)", "D=1 BER", "laser NMSE"):
        assert word in text
    rows = record.read(tmp_path / "krls.csv")
    assert all(math.isfinite(float(row["ours"])) for row in rows)
    for number in (1, 2, 3, 4):
        assert (tmp_path / f"krls-figure{number}.png").stat().st_size > 10_000


def test_json_form(tmp_path: Any, capsys: Any) -> None:
    assert krls.main(arguments("--quick", "--json", "--only", "equalizer", "--out", str(tmp_path))) == 0
    result = json.loads(capsys.readouterr().out)
    rates = {line["quantity"]: line["ours"] for line in result["lines"] if line["experiment"] == "beyond"}
    assert 0.9 * rates["D=1 Bayes bound"] < rates["D=1 BER"] < 0.09


def test_streams_of_river(tmp_path: Any, capsys: Any) -> None:
    assert streams_river.main(["--quick", "--stream", "ChickWeights", "--json", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in rows] == list(streams_river.METHODS)
    assert all(0.0 < row["RMSE"] < 100.0 for row in rows)
    assert len(record.read(tmp_path / "streams-river.csv")) == len(rows)


def test_a_model_that_overflows_has_an_infinite_error() -> None:
    class Overflowing:
        def predict_one(self, x: Any) -> float:
            return 10.0**200

        def learn_one(self, x: Any, y: Any) -> None:
            pass

    assert streams_river._guarded(Overflowing, [({}, -(10.0**200))] * 3, 0)[0] == math.inf


@pytest.mark.parametrize("name", list(streams_river.STREAMS))
def test_every_stream_has_numbers(name: str) -> None:
    for i, (x, y) in enumerate(streams_river.STREAMS[name]()):
        assert all(isinstance(value, int | float) and math.isfinite(value) for value in [*x.values(), y])
        if i == 20:
            break
