"""The bench of the CoKER paper: its quick form from end to end, the protocol's pieces, and the refutations."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math

import numpy as np
import pytest

from bench import record
from bench.papers import coker
from streamkernel import datasets, kernels
from streamkernel.batch import CoKER
from streamkernel.batch.cross_validation import leave_folds_out
from streamkernel.batch.folds import make_folds
from streamkernel.batch.system import RidgeSystem

FILES = ("abalone.csv", "mg.csv", "liver-disorders.csv", "winequality-red.csv", "german-credit.csv")


def arguments(*options):
    parser = argparse.ArgumentParser()
    coker.add_arguments(parser)
    return parser.parse_args(options)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (4.0 + X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60))[:, None]


# From end to end


def test_quick_form(data, tmp_path, capsys):
    for name in FILES:
        data(name)
    assert coker.main(arguments("--quick", "--out", str(tmp_path))) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "Table 3, Abalone, RF: a mean absolute error of 4.002 is above the root" in shown.out
    for decision in coker.DECISIONS:
        assert decision in shown.out
    rows = {row["method"]: row for row in record.read(tmp_path / "coker.csv")}
    assert set(rows) == {*coker.REGRESSORS, *coker.OURS}
    variance = float(datasets.MG().arrays()[1].var())
    for row in rows.values():
        assert float(row["MSE"]) < variance
        assert float(row["MAE"]) <= math.sqrt(float(row["MSE"]))
    for file, methods in (("coker-classification", coker.CLASSIFIERS), ("coker-digits", coker.DIGIT_METHODS)):
        found = {row["method"]: float(row["accuracy"]) for row in record.read(tmp_path / f"{file}.csv")}
        assert set(found) == {*methods, *coker.OURS}
        assert min(found.values()) > 50.0
    for number in (1, 2, 3, 4):
        assert (tmp_path / f"coker-figure{number}.png").read_bytes().startswith(b"\x89PNG")


def test_json(data, tmp_path, capsys, monkeypatch):
    for name in FILES:
        data(name)
    monkeypatch.setattr(coker, "QUICK", dataclasses.replace(coker.QUICK, sets=("Mg",), rows=90, pool=coker.POOL[::40]))
    assert coker.main(arguments("--quick", "--json", "--out", str(tmp_path))) == 0
    shown = json.loads(capsys.readouterr().out)
    (row,) = shown["Table 2: mean square error"]
    assert row["CoKER (paper)"] == 0.013
    assert 0.0 < row["CoKER"] < 0.05
    assert shown["decisions"] == list(coker.DECISIONS)
    assert not (tmp_path / "coker-figure3.png").exists()


def test_what_cannot_be_read_is_named(tmp_path, capsys, monkeypatch):
    def absent():
        raise datasets.DatasetError("no such table")

    monkeypatch.setitem(coker.REGRESSION, "Mg", absent)
    monkeypatch.setattr(coker, "QUICK", dataclasses.replace(coker.QUICK, sets=("Mg",)))
    assert coker.main(arguments("--quick", "--out", str(tmp_path))) == 1
    assert capsys.readouterr().out == "Mg: no such table\n"


def test_a_stopped_bench_keeps_what_it_has(tmp_path, monkeypatch):
    def run(name, number, settings):
        if number == 1:
            raise KeyboardInterrupt
        return coker.Result(name, number, {"CoKER": (1.0, 0.5)})

    monkeypatch.setattr(coker, "run_regression", run)
    settings = coker.Settings(3, sets=("Mg", "RedWine"))
    monkeypatch.setattr(coker, "CLASSIFICATION", {})
    regression, _, _, missing = coker.run_all(settings, tmp_path)
    assert [result.dataset for result in regression] == ["RedWine", "Mg"]
    assert missing == ["stopped at run 1 of RedWine: the tables are of the runs before"]


def test_bad_runs():
    with pytest.raises(ValueError, match="--runs must be at least 1, got 0"):
        coker.main(arguments("--runs", "0"))


# The protocol


def test_pool_is_the_printed_grid():
    assert len(coker.POOL) == len(set(coker.POOL)) == 10 * 10 * 5
    assert coker.POOL[0] == kernels.Polynomial(1, offset=1e-6, scale=1e-6)
    assert coker.POOL[-1] == kernels.Polynomial(5, offset=1e3, scale=1e3)


def test_split_scales_by_the_training_set():
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(90, 2))
    split = coker.Split.draw(X, np.arange(90.0), 0, None)
    assert len(split.y) == 60 and len(split.truth) == 30
    assert sorted([*split.y, *split.truth]) == list(range(90))
    np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.X.std(axis=0), 1.0)
    assert len(coker.Split.draw(X, np.arange(90.0), 0, 30).y) == 20
    again, other = (coker.Split.draw(X, np.arange(90.0), number, None) for number in (0, 1))
    assert np.array_equal(again.y, split.y) and not np.array_equal(other.y, split.y)


def test_large_sets_have_fewer_runs():
    settings = coker.Settings(2 * coker.LARGE_SHARE)
    assert settings.runs_of("Mg") == 2 * coker.LARGE_SHARE
    assert settings.runs_of("Abalone") == 2
    assert coker.Settings(1).runs_of("Abalone") == 1


def test_cross_validation_is_that_of_the_library(problem):
    X, targets = problem
    system = RidgeSystem(kernels.RBF(1.0)(X), coker.RIDGE, bias=True)
    folds = make_folds(60, 10, 0)
    loss = coker.cross_validated(system, targets, folds)
    assert loss == pytest.approx(2.0 * leave_folds_out(system, targets, folds)[0], rel=1e-10)


def test_preselection_finds_the_degree(problem):
    X, targets = problem
    chosen = coker.preselect(X, targets, dataclasses.replace(coker.QUICK, pool=coker.POOL), 0)
    assert len(chosen) == coker.QUICK.experts
    assert all(kernel.degree >= 2 for kernel in chosen)  # a product of two features is not linear


def test_kernels_that_swallow_the_ridge_are_not_usable(problem):
    X, _ = problem
    usable = coker.usable(X, coker.Settings(1))
    assert coker.POOL[0] in usable
    assert coker.POOL[-1] not in usable
    assert 0 < len(usable) < len(coker.POOL)


def test_as_printed_is_the_print(problem):
    X, targets = problem
    chosen = [kernels.Polynomial(2), kernels.RBF(1.0)]
    rest = X[:5] + 0.1
    losses, predictions = [], []
    for kernel in chosen:
        gram = kernel(X)
        alpha = np.linalg.inv(gram + 0.1 * np.eye(60)) @ targets[:, 0]  # (11)
        bias = (targets[:, 0].sum() - (gram @ alpha).sum()) / 60  # (12)
        losses.append(((gram @ alpha + bias - targets[:, 0]) ** 2).sum() + 0.1 * alpha @ gram @ alpha)
        predictions.append(kernel(rest, X) @ alpha + bias)
    weights = (1 / np.array(losses)) / (1 / np.array(losses)).sum()  # (13) with r = 2
    np.testing.assert_allclose(coker.as_printed(chosen, X, targets, rest)[:, 0], weights @ predictions, rtol=1e-8)


def test_bench_and_library_agree(problem):
    X, targets = problem
    chosen = [kernels.Polynomial(2), kernels.RBF(1.0)]
    experts = coker.Experts(chosen, X, range(3), targets, coker.RIDGE)
    found = coker.combine(coker.weights_by(experts.losses["loo"], coker.R), experts(X))[:, 0]
    np.testing.assert_allclose(found, CoKER(chosen).fit(X, targets[:, 0]).predict(X), rtol=1e-12)
    assert coker.weights_by(experts.losses["loo"], math.inf).tolist() == [0.5, 0.5]


def test_least_quadratic_form_is_least():
    errors = np.random.default_rng(0).normal(size=(4, 50, 2)) * np.array([1.0, 1.5, 2.0, 1.2])[:, None, None]
    weights = coker.least_quadratic_form(errors)
    flat = errors.reshape(4, -1)
    products = flat @ flat.T
    free = np.linalg.solve(products, np.ones(4))
    np.testing.assert_allclose(weights, free / free.sum(), atol=1e-5)  # the bounds do not bind here
    # Two experts that are the same but for their size: without the bounds all errors would cancel.
    twice = coker.least_quadratic_form(np.stack([flat[0], 1.1 * flat[0]])[:, :, None])
    np.testing.assert_allclose(twice, [1.0, 0.0], atol=1e-6)


def test_majority():
    votes = np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])
    assert coker.majority(votes).tolist() == [0, 2, 0]  # the first of several where all differ


# The refutations


def test_bounds_of_a_printed_figure():
    assert coker.bounds("3.59") == pytest.approx((3.58, 3.60))
    assert coker.bounds("0.0007") == pytest.approx((0.0006, 0.0008))


def test_errors_that_no_predictions_have(monkeypatch):
    monkeypatch.setattr(coker, "TABLE_2", {"A": ("4.00", "1.00", "1.00", "1.00", "1.00", "1.00")})
    monkeypatch.setattr(coker, "TABLE_3", {"A": ("4.002", "0.99", "0.10", "0.10", "0.50", "0.12")})
    found = coker.impossible_errors({"A": 8.5})
    assert len(found) == 3
    assert "A, CoKER: a mean absolute error of 4.002 is above the root of the mean square error 4.00, 2.000" in found[0]
    assert "it is the figure of Table 2" in found[0]
    # at least 0.99/0.11 = 9
    assert "A, TR: MSE 1.00 over MAE 0.10 needs an error of at least 9, but the targets span 8.5: a mean of" in found[1]
    assert "A, SVR" in found[2] and "only predictions outside the span" in found[2]
    assert len(coker.impossible_errors({})) == 1


def test_no_predictions_break_the_bounds_that_refute():
    rng = np.random.default_rng(0)
    for _ in range(200):
        errors = rng.standard_t(1.5, size=50) * 10.0 ** rng.uniform(-3, 3)
        mse, mae = np.square(errors).mean(), np.abs(errors).mean()
        assert mae <= math.sqrt(mse) * (1 + 1e-12)
        assert mse / mae <= np.abs(errors).max() * (1 + 1e-12)


def test_accuracies_of_single_splits():
    (found,) = coker.single_splits({"LD": 345})
    assert "CoKER 61.73 = 71/115, RF 31.30 = 36/115, Ridge cls 61.73 = 71/115, LibSvm 61.73 = 71/115" in found
    assert "4 of the 6" in found
    assert coker.single_splits({"Abalone": 4177}) == []  # k/1392 is dense: it says nothing


def test_the_share_of_one_class_in_the_liver_data(data):
    data("liver-disorders.csv")
    assert int(datasets.LiverDisorders().arrays()[1].sum()) == 200  # of which TEXT_NOTES speaks
