"""Answers that come late: a sample is judged by what was said of it when it was asked for."""

from __future__ import annotations

import itertools
import json
import pathlib
import threading
from collections import deque
from typing import Any

import numpy as np
import pytest

from bench import late
from streamkernel import KRLS, AutoKernelRegressor, KernelForecaster, datasets, kernels
from streamkernel.auto.asked import MOST_WAITING, Asked, Guess
from streamkernel.auto.trial import Trial, relative_error

Stream = list[tuple[dict[Any, Any], float]]


def answers(model: Any, stream: Stream, delay: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the answers given, each learned so many samples later; and the targets."""
    waiting: deque[tuple[Any, float, float]] = deque()
    errors, targets = [], []
    for x, y in stream:
        waiting.append((x, y, model.predict_one(x)))
        if len(waiting) > delay:
            asked, target, said = waiting.popleft()
            errors.append(target - said)
            targets.append(target)
            model.learn_one(asked, target)
    return np.array(errors), np.array(targets)


def nmse(errors: np.ndarray, targets: np.ndarray, start: int) -> float:
    return float(np.mean(errors[start:] ** 2) / np.var(targets[start:]))


SERIES: list[Any] = [datasets.Lorenz(seed=1), datasets.MackeyGlass(tau=17, seed=1)]


@pytest.mark.parametrize("source", SERIES, ids=["Lorenz", "Mackey-Glass"])
def test_ten_steps_late_it_is_near_the_best_krls(source: Any) -> None:
    stream = list(source.take(1500))
    spread = float(np.std([y for _, y in stream]))
    found = nmse(*answers(AutoKernelRegressor(), stream, 10), 500)
    best = min(
        nmse(*answers(KRLS(kernels.RBF(width * spread), ridge / 10.0, ridge, max_size=300), stream, 10), 500)
        for width, ridge in itertools.product((1.0, 2.0, 4.0), (1e-7, 1e-5, 1e-3))
    )
    assert found < 3.0 * best


def test_direct_forecasts_are_better_than_half_of_the_hand_settings_of_krls() -> None:
    series = np.asarray(datasets.Lorenz(interval=0.01, seed=1).series(1500))

    def error(model: Any) -> float:
        forecaster, errors = KernelForecaster(model, lags=6, horizon=10), []
        for t, value in enumerate(series[:-10]):
            forecaster.learn_one(value)
            if t >= 750:  # forecasts are asked for late: the models must have judged themselves all the same
                errors.append(forecaster.forecast(10)[-1] - series[t + 10])
        return float(np.mean(np.square(errors)) / np.var(series[760:]))

    settings = itertools.product((1.0, 2.0, 4.0), (1e-6, 1e-4))
    others = [error(KRLS(kernels.RBF(w * series.std()), r / 10.0, r, max_size=60)) for w, r in settings]
    assert error(AutoKernelRegressor("low")) < np.median(others)


def grid(count: int) -> Stream:
    """Few different inputs, so that questions of one kind meet answers of another."""
    random = np.random.default_rng(0)
    rows = random.integers(4, size=(count, 2)).astype(float).tolist()
    return [({"b": b, "a": a}, a - b * b + 0.1 * float(random.normal())) for a, b in rows]


def test_questions_that_nobody_answers_change_nothing() -> None:
    stream = grid(250)
    plain, curious = AutoKernelRegressor("low"), AutoKernelRegressor("low")
    for t, (x, y) in enumerate(stream):
        for a in range(4 if t > 30 else 0):  # what if
            curious.predict_one({"b": float(t % 4), "a": float(a)}, with_interval=True)
        assert plain.predict_one(x) == curious.predict_one(x) == curious.predict_one(x, with_dist=True).mu
        plain.learn_one(x, y)
        curious.learn_one(x, y)
    assert plain.explain() == curious.explain() and plain.weights == curious.weights


def test_a_question_asked_again_before_its_answer_counts_once() -> None:
    stream = list(datasets.MackeyGlass(seed=1).take(200))
    once, twice = AutoKernelRegressor("low"), AutoKernelRegressor("low")
    for t, (x, _) in enumerate(stream):
        assert once.predict_one(x) == twice.predict_one(x)
        if t >= 10:
            twice.predict_one(stream[t - 10][0])  # a wrapper that predicts just before it learns
            once.learn_one(*stream[t - 10])
            twice.learn_one(*stream[t - 10])
    assert once.weights == twice.weights


@pytest.mark.parametrize("count", [5, 60, 300])
def test_answers_may_come_after_a_checkpoint(count: int) -> None:
    stream = [(x | {"word": "ab"[t // 70 % 2]}, y) for t, (x, y) in enumerate(grid(count + 60))]
    model = AutoKernelRegressor("low")
    answers(model, stream[:count], 7)
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    for x, y in stream[count - 7 : count]:
        model.learn_one(x, y)
        other.learn_one(x, y)
    for one, same in zip(answers(model, stream[count:], 7), answers(other, stream[count:], 7)):
        np.testing.assert_array_equal(one, same)
    assert model.weights == other.weights
    assert AutoKernelRegressor.from_bytes(other.to_bytes()).to_bytes() == other.to_bytes()


def test_what_was_set_aside_has_its_columns_after_a_checkpoint() -> None:
    random = np.random.default_rng(1)
    stream = [({"b": b, "a": a}, a - 2.0 * b) for a, b in random.normal(size=(120, 2)).tolist()]
    model = AutoKernelRegressor("low")
    answers(model, stream, 0)
    model.learn_one({"b": 5.0, "a": 1.0}, 1e6)
    assert model.outliers == 1
    other = AutoKernelRegressor.from_bytes(model.to_bytes())
    for each in (model, other):
        each.learn_one({"b": 5.0, "a": 2.0}, 1e6)  # it was no error: both are learned now
    assert model.outliers == 0
    assert model.predict_one({"b": 5.0, "a": 1.0}) == other.predict_one({"b": 5.0, "a": 1.0})


def test_memory_is_bounded_and_safe_for_threads() -> None:
    asked = Asked()
    rows = np.arange(3.0 * MOST_WAITING)[:, None]

    def ask(part: np.ndarray) -> None:
        for row in part:
            asked.remember(row, Guess(float(row[0]), 1.0, age=1))

    threads = [threading.Thread(target=ask, args=(rows[start::3],)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == MOST_WAITING
    kept = [guess for row in rows if (guess := asked.take(row, 1)) is not None]
    assert len(kept) == MOST_WAITING and len(asked) == 0


def test_guesses_in_other_units() -> None:
    guess = Guess(0.0, 1.0, 0, 10.0, 2.0, np.array([1.0, -1.0]))  # 12 and 8
    np.testing.assert_allclose(guess.means_in(8.0, 4.0), [1.0, 0.0])
    assert guess.means_in(10.0, 2.0) is guess.means


def test_a_law_without_noise_keeps_its_past() -> None:
    model = AutoKernelRegressor()
    errors, targets = answers(model, list(datasets.Lorenz(seed=2).take(1500)), 0)
    assert "window: 1500 samples" in model.explain() and nmse(errors, targets, 1000) < 1e-8


def test_a_change_that_forgetting_experts_follow_costs_no_past() -> None:
    """Experts made of the newest samples, some of them from before the change, would be five times worse."""
    random = np.random.default_rng(1)
    stream: Stream = []
    for t in range(475):
        a, b = random.normal(size=2).tolist()
        stream.append(({"a": a, "b": b}, (1 if t < 400 else -3) * float(np.sin(a)) + 0.1 * float(random.normal())))
    model = AutoKernelRegressor("low")
    errors, _ = answers(model, stream, 0)
    assert any(400 < drift < 475 for drift in model.drifts)
    assert np.abs(errors[425:]).mean() < 0.3  # the noise is 0.1, the change 4


def test_no_floor_under_a_law_without_noise() -> None:
    """The weight that every expert keeps, to come back by, has no part in predictions."""
    values = [0.1, 0.1]
    for _ in range(1000):
        values.append(1.0 - 1.4 * values[-1] ** 2 + 0.3 * values[-2])  # Hénon
    stream: Stream = [({"a": a, "b": b}, c) for a, b, c in zip(values, values[1:], values[2:])]
    model = AutoKernelRegressor()
    assert nmse(*answers(model, stream, 0), 500) < 1e-9
    assert sum(model.weights.values()) == pytest.approx(1.0) and min(model.weights.values()) > 1e-5


def test_trials() -> None:
    trial = Trial(100, 140, wait=3)
    assert trial.judged == 120 and trial.again(179, 3) is None
    again = trial.again(180, 50)
    assert again is not None and (again.first, again.judged) == (100, 150)
    assert relative_error(np.full((4, 1), 1e9), np.array([1.0, 1.0, 1.0, 2.0])) == pytest.approx(5.0 / 1.25)


def test_quick(tmp_path: pathlib.Path, capsys: Any) -> None:
    assert late.main(["--quick", "--json", "--out", str(tmp_path)]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert [line["stream"] for line in lines] == ["MG(17)", "trending"] and (tmp_path / "late.csv").exists()
