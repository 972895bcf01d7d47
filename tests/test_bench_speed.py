"""The speed bench runs and reports what it should. Nothing here asserts a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # bench/ is not part of the installed package

from bench import record, speed, steps
from streamkernel import KRLS, kernels

ROOT = Path(__file__).resolve().parents[1]
WORST = {"p50", "p99", "worst"}
FIELDS = WORST | {"section", "what", "m", "value", "unit", "low", "high", "target", "verdict", "ours", "theirs", "note"}


def test_quick_form_reports_every_section(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "speed.csv"
    command = [sys.executable, "-m", "bench.speed", "--quick", "--json", "--out", str(out)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    report = json.loads(result.stdout)
    assert {"processor", "cores", "load", "numba"} <= report["environment"].keys()
    lines = report["lines"]
    assert {line["section"] for line in lines} == speed.SECTIONS.keys()
    for line in lines:
        assert line.keys() >= FIELDS
        if line["verdict"] == "skipped":
            assert line["note"].startswith("skipped: ")
            continue
        assert np.isfinite(line["value"])
        assert line["verdict"] in ("ok", "short", "")
        assert (line["verdict"] == "") == (line["target"] == "")
        if line["unit"] == "x":
            assert 0.0 < line["low"] <= line["value"] <= line["high"]
            assert line["ours"] > 0.0
            assert line["theirs"] > 0.0
        if line["section"] in ("steps", "state"):
            assert 0.0 < line["p50"] <= line["p99"] <= line["worst"]
    rows = record.read(out)
    assert [row["what"] for row in rows] == [line["what"] for line in lines]


def test_only_the_named_sections_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert speed.main(["--quick", "--only", "one", "--out", str(tmp_path / "speed.csv")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3  # the machine, the header, one line
    assert printed[2].startswith("learn_one vs river")
    with pytest.raises(SystemExit):
        speed.main(["--only", "nothing"])
    assert "nothing" in capsys.readouterr().err


def test_one_thread_before_numpy() -> None:
    code = "import sys, bench.speed, os; print(os.environ['OPENBLAS_NUM_THREADS'], os.environ['NUMBA_NUM_THREADS'])"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["1", "1"]


@pytest.mark.parametrize(
    ("value", "at_least", "at_most", "verdict"),
    [
        (3.0, 3.0, None, "ok"),
        (2.9, 3.0, None, "short"),
        (2.0, None, 2.0, "ok"),
        (2.1, None, 2.0, "short"),
        (1.0, None, None, ""),
        (None, 3.0, None, "skipped"),
    ],
)
def test_verdict(value: float | None, at_least: float | None, at_most: float | None, verdict: str) -> None:
    line = speed.Line("section", "what", 200, value, "x", at_least=at_least, at_most=at_most)
    assert line.verdict == verdict
    assert speed.format_line(line).split()[0] == "what"


def test_ratio_is_the_median_of_paired_ratios() -> None:
    # The third round was disturbed: both contestants took ten times as long, and the ratio did not notice.
    seconds = np.array([[1.0, 3.0], [1.0, 3.1], [10.0, 30.5]])
    line = speed.ratio_line("section", "what", 200, seconds, 3.0)
    assert line.value == pytest.approx(3.05)
    assert line.verdict == "ok"


def test_turns_alternate_and_are_counted_per_step() -> None:
    calls: list[tuple[str, int]] = []

    def contestant(name: str, seconds_per_step: float) -> speed.Contestant:
        def run(steps: int) -> float:
            calls.append((name, steps))
            return seconds_per_step * steps

        return run

    contestants = [contestant("a", 1.0), contestant("b", 2.0)]
    seconds = speed.take_turns(contestants, rounds=2, steps=[4, 5], warm=1)
    np.testing.assert_allclose(seconds, [[1.0, 2.0], [1.0, 2.0]])
    assert calls == [(name, steps) for name, n in (("a", 4), ("b", 5), ("b", 5), ("a", 4)) for steps in (1, n)]


def test_every_step_is_timed_by_itself() -> None:
    order: list[str] = []
    first, second = steps.in_turn(lambda t: order.append(f"a{t}"), lambda t: order.append(f"b{t}"), 3)
    assert order == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert first.shape == second.shape == (3,)
    assert steps.Spread.of(np.arange(101.0)) == (50.0, 99.0, 100.0)


def test_the_contestants_learn_the_same() -> None:
    """What is timed against Table 1 computes what Table 1 computes."""
    m = 20
    data = speed.workload(m)
    columns = speed.similarity_columns(data)
    model, one = speed.prepared(m, data), speed.prepared(m, data)
    speed._whitened_steps(model.recursion.model.table, columns, data.targets)
    speed._learn_steps(one.recursion.model.table, data.visits, data.targets)
    state = speed.table1.prepared_state(data.points, data.point_targets, speed.LENGTH_SCALE)
    arrays = (state.inverse, state.covariance, state.coefficients, state.work)
    size = speed.table1.table1_steps(columns, 1.0, data.targets, *arrays, m, speed.THRESHOLD)
    assert model.size == one.size == size == m
    np.testing.assert_allclose(model.coefficients, state.coefficients[:m], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(one.coefficients, state.coefficients[:m], rtol=1e-8, atol=1e-10)


def test_batch_predictions_are_one_least_squares_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    xs = generator.uniform(-2.0, 2.0, size=(150, 2))
    ys = np.sin(xs[:, 0]) + 0.1 * generator.standard_normal(150)
    model = KRLS(kernels.RBF(1.0), threshold=0.05)
    *_, sizes = model.recursion.learn_many((0, 1), xs, ys[:, None])
    monkeypatch.setattr(speed, "STABILITY_CHUNK", 40)
    predictions = speed.batch_predictions(model, xs, ys, sizes, xs[:9])
    points = np.array([list(point.values()) for point in model.dictionary])
    kernel = kernels.RBF(1.0)
    projections = np.zeros((len(xs), len(points)))
    for t, x in enumerate(xs):
        known = points[: int(sizes[t])]
        projections[t, : len(known)] = np.linalg.solve(kernel(known), kernel(known, x[None])[:, 0])
    coefficients = np.linalg.lstsq(projections @ kernel(points), ys, rcond=None)[0]
    np.testing.assert_allclose(predictions, kernel(xs[:9], points) @ coefficients, rtol=1e-9)


def test_the_series_is_the_dataset() -> None:
    source = speed.datasets.MackeyGlass(tau=17, noise=0.03, seed=3)
    xs, ys = speed._arrays(source, 25)
    rows = list(source.take(25))
    np.testing.assert_array_equal(ys, [y for _, y in rows])
    np.testing.assert_array_equal(np.sort(xs, axis=1), np.sort([list(x.values()) for x, _ in rows], axis=1))


def test_array_bytes_counts_each_array_once() -> None:
    data = speed.workload(20)
    model = speed.prepared(20, data)
    arrays = model.recursion.model
    used = sum(array.nbytes for array in (arrays.factor, arrays.covariance, arrays.points, arrays.gain, arrays.column))
    assert used < speed._array_bytes(model) < 2 * used + 10_000
