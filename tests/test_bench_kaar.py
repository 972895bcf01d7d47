"""The bench of the KAAR paper: its shortcuts against the library's estimator, and the quick form from end to end."""

from __future__ import annotations

import argparse
import json
import math
import os

import numpy as np
import pytest

from bench import record
from bench.papers import kaar, report
from streamkernel import kernels
from streamkernel.batch.kernel_ridge import KernelRidge

needs_data = pytest.mark.skipif("STREAMKERNEL_DATA" not in os.environ, reason="STREAMKERNEL_DATA names no data folder")


def arguments(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    kaar.add_arguments(parser)
    return parser.parse_args(options)


def sample(count=60, features=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 1, (count, features))
    return X, np.sin(5 * X[:, 0]) + random.normal(0, 0.2, count)


@pytest.mark.parametrize(
    "kernel", [kernels.RBF(0.5), kernels.Polynomial(4), kernels.AnovaSpline(2), kernels.Spline()], ids=repr
)
@pytest.mark.parametrize("ridge", kaar.RIDGES)
def test_one_eigendecomposition_gives_every_ridge(kernel, ridge):
    X, y = sample()
    y = y - y[:40].mean()
    p, u = kaar.Predictor.fit(kernel, X[:40], y[:40], X[40:]).predict(ridge)
    model = KernelRidge(kernel, ridge=ridge, ridge_scale="relative", center=False).fit(X[:40], y[:40])
    expected = model.predict_all(X[40:])
    np.testing.assert_allclose(p, expected["krr"], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(p / (1 + u), expected["kaar"], rtol=1e-8, atol=1e-10)


def test_adversarial_targets_oppose_the_prediction():
    X, _ = sample(30)
    kernel, ridge = kernels.RBF(0.5), 0.01
    y = kaar.adversarial(kernel, X, ridge)
    assert y[0] == 1.0
    for t in range(1, 30):
        prediction = KernelRidge(kernel, ridge=ridge, center=False).fit(X[:t], y[:t]).predict(X[[t]])[0]
        assert y[t] * prediction <= 0.0


def test_parameters_are_chosen_without_the_test_set():
    """Test outcomes moved by ±c leave every choice as it was: then the losses obey L(c) + L(−c) = 2L(0) + 2c²."""
    X, y = sample(80)

    def losses(offset):
        experiment = kaar.Experiment(
            load=lambda number: (X, y, y + offset),
            train=40,
            validation=20,
            kernels={"rbf": kaar.RBF_GRID},
            iterations=(1, 11, 21),
            printed={},
        )
        return np.array(kaar.run(experiment, "rbf", 0, 0))

    np.testing.assert_allclose(losses(10.0) + losses(-10.0), 2 * losses(0.0) + 200.0, rtol=1e-12)


def test_significance_helpers():
    first, second = np.arange(1.0, 13.0), np.arange(1.0, 13.0) + np.linspace(0.1, 1.2, 12)
    assert report.wilcoxon(first, second) == pytest.approx(2 / 2**12)
    assert report.sign_test(first, second) == pytest.approx(2 / 2**12)
    assert report.wilcoxon(second, first) == pytest.approx(2 / 2**12)
    rounded = first * (1 + 1e-15)
    assert report.wilcoxon(first, rounded) == report.sign_test(first, rounded) == 1.0


@needs_data
def test_nominal_inputs_are_one_number():
    X, _, _ = kaar.EXPERIMENTS["servo"].load(0)
    assert X.shape == (167, 4)
    assert set(X[:, 0]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    X, _, _ = kaar.EXPERIMENTS["abalone"].load(0)
    assert X.shape == (4177, 8)
    assert set(X[:, 0]) == {0.0, 1.0, 2.0}


@needs_data
def test_quick_form(tmp_path, capsys):
    assert kaar.main(arguments("--quick", "--out", str(tmp_path))) == 0
    text = capsys.readouterr().out
    assert "servo" in text
    assert "KAAR bound" in text
    rows = record.read(tmp_path / "kaar.csv")
    assert len(rows) == 4 * (4 + 2)
    assert all(0 < float(row["ours"]) < math.inf for row in rows)
    for number in (1, 2, 3):
        assert (tmp_path / f"kaar-figure{number}.png").stat().st_size > 10_000


def test_json_form(tmp_path, capsys):
    assert kaar.main(arguments("--quick", "--json", "--data", "mexican-hat-0.2", "--out", str(tmp_path))) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in result["table"]] == list(kaar.METHODS) * 2
    adversarial = [row for row in result["streams"] if row["stream"] == "adversarial"]
    assert all(row["KAAR"] <= row["KAAR bound"] for row in result["streams"])
    assert any(row["KRR"] > row["KAAR bound"] for row in adversarial)
