"""What is chosen for the user: defaults, limits on either side, and that a choice holds on samples it has not seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from streamkernel import KRLS, AutoKernelRegressor, LSSVMClassifier, kernels, selection
from streamkernel.auto.tuning import as_budget
from streamkernel.batch import FLKL, CoKER, CoKERClassifier, FLKLRegressor
from streamkernel.batch import first_level as flkl
from streamkernel.ensembles.weighting import coupled_weights

# The dictionary of the automatic regressor ----------------------------------------------------------------------------


def test_the_automatic_dictionary_is_planned_to_seven_tenths_of_its_limit() -> None:
    """On a noisy stream that is always new, where a smaller threshold would fill it and a larger one leave it empty."""
    rng = np.random.default_rng(0)
    model, sizes = AutoKernelRegressor("low"), {}
    for _ in range(420):
        a, b, c = rng.normal(size=3).tolist()
        model.learn_one({"a": a, "b": b, "c": c}, math.sin(2.0 * a) + b * c + 0.3 * rng.normal())
        sizes.setdefault(len(model.tunings), model.size)
    assert len(model.tunings) > 5
    assert "of at most 60" in model.explain()
    assert 0.55 * 60 <= sizes[len(model.tunings)] <= 0.85 * 60


def test_a_budget_of_microseconds_is_the_size_whose_step_takes_so_long() -> None:
    """60 µs and 8 ns for every pair of points; sizes of the window go with that of the dictionary, up to a limit."""
    for budget, size in ((60.0 + 0.008 * 100**2, 100), (60.0 + 0.008 * 301**2, 301), (61.0, 11), (60.1, 10)):
        assert as_budget(budget + 1e-6) == (size, min(2 * size, 600), min(27 * size, 10_000))


# A tuned start on samples that come later -----------------------------------------------------------------------------


def later(kind: str, seed: int) -> tuple[Any, Any]:
    """Sixty samples to choose by and three hundred that follow."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(360, 2)), rng.normal(size=360)
    if kind in ("duplicates", "contradictions"):
        X = rng.normal(size=(6, 2))[rng.integers(0, 6, 360)]
    if kind in ("noise", "contradictions"):
        return X, noise
    y = np.sin(2.0 * X[:, 0])
    if kind == "line":
        y = 3.0 * X[:, 0] - X[:, 1]
    elif kind == "step":
        y = np.sign(X[:, 0])
    elif kind == "irrelevant":
        X = np.column_stack([X, rng.normal(size=(360, 20))])
    elif kind == "far":
        return X + 1e6, y + 1e6 + 0.1 * noise
    return X, y + (1.0 if kind == "noisy" else 0.1) * noise


# The mean ratio of squared errors after tuning and before that is allowed on the samples that follow.
ALLOWED = {
    "wave": 0.7,
    "line": 0.1,
    "step": 0.5,
    "irrelevant": 0.2,
    "far": 0.1,
    "noise": 1.05,
    "noisy": 1.05,
    "duplicates": 1.05,
    "contradictions": 1.05,
}


@pytest.mark.parametrize("kind", ALLOWED)
def test_a_tuned_model_is_better_on_samples_it_has_not_seen(kind: str) -> None:
    """No sample of those that judge has taken part in the choice, unlike the last fifth of the window."""
    ratios = []
    for seed in range(3):
        X, y = later(kind, seed)
        for given in (KRLS(ridge=0.1), KRLS(kernels.RBF(1.0) + 1.0, 1e-4, 0.01)):
            tuned, plain = selection.tune(given, X[:60], y[:60]), given.clone()
            plain.learn_many(X[:60], y[:60])
            errors = [float(np.mean((model.predict_many(X[60:]) - y[60:]) ** 2)) for model in (tuned, plain)]
            ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < ALLOWED[kind]


def test_what_is_worse_on_the_last_fifth_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the search proposes: a ridge that forgets everything, or one that is just right."""
    X, y = later("wave", 0)
    given = KRLS(kernels.RBF(1.0), 1e-3, 0.1)
    good, bad = ((kernels.RBF(1.0), ridge, 1e-3) for ridge in (0.02, 1e6))
    for first, second, wanted in ((bad, bad, 0.1), (good, bad, 0.02), (bad, good, 0.02)):
        proposals = iter([first, second])
        monkeypatch.setattr(selection, "_choose", lambda *_, p=proposals: (selection._Choice(*next(p)), None))
        assert selection.tune(given, X[:60], y[:60]).ridge == wanted


def test_the_first_level_does_not_see_where_the_targets_lie() -> None:
    """Targets are centered: a constant added to them changes the level of the kernel and nothing else."""
    X, y = later("wave", 1)
    models = [selection.tune(None, X[:60], y[:60] + level, "first_level") for level in (0.0, 50.0)]
    one, two = ([model.relevance[r] for r in range(2)] for model in models)
    np.testing.assert_allclose(one, two, rtol=1e-6)
    assert models[0].ridge == pytest.approx(models[1].ridge, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_indicators_are_centered_from_three_classes_on(classes: int) -> None:
    labels = [f"class {i % classes if i < 12 else 0}" for i in range(20)]
    found = selection._targets(LSSVMClassifier(), labels, 20)
    indicators = np.array([[float(label == f"class {k}") for k in range(classes)] for label in labels])
    shift = 0.0 if classes == 2 else np.array([labels.count(f"class {k}") / 20.0 for k in range(classes)])
    np.testing.assert_allclose(found, indicators - shift, atol=1e-15)


# Batch: defaults and boundaries ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=40)


@pytest.mark.parametrize("kind", [CoKER, CoKERClassifier])
def test_defaults_of_coker_are_those_of_the_paper(kind: Any, table: Any) -> None:
    X, y = table
    targets = y if kind is CoKER else y > 0.0
    assert kind().get_params() == {"kernels": None, "ridge": 0.1, "r": 2.0, "zeta": "loo"}
    one, two = kind().fit(X, targets), kind(None, 0.1, 2.0, "loo").fit(X, targets)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_allclose(one.weights_, coupled_weights(one.losses_, 2.0), rtol=1e-12)
    assert len(one.kernels_) == 12


@pytest.mark.parametrize("kind", [CoKER, CoKERClassifier])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ridge": 0.0}, "ridge must be a number > 0, got 0.0"),
        ({"ridge": -1e-9}, "ridge must be a number > 0"),
        ({"r": 1.0}, "r must be a number > 1, got 1.0"),
        ({"zeta": "cv"}, "zeta must be one of"),
    ],
)
def test_limits_of_coker_are_outside(kind: Any, arguments: dict[str, Any], message: str, table: Any) -> None:
    X, y = table
    with pytest.raises(ValueError, match=message):
        kind(**arguments).fit(X, y > 0.0)


def test_just_inside_the_limits_of_coker(table: Any) -> None:
    X, y = table
    few = [kernels.RBF(1.0), kernels.RBF(3.0)]
    assert np.isfinite(CoKER(few, ridge=1e-6).fit(X, y).predict(X)).all()
    assert CoKER(few, r=1.0 + 1e-9).fit(X, y).weights_.max() == 1.0
    np.testing.assert_allclose(CoKER(few).fit(X[:2], [1.0, 1.0]).predict(X[:2]), 1.0)  # two samples are enough
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CoKER(few).fit(X[:1], y[:1])


def test_streams_of_coker_have_its_defaults(table: Any) -> None:
    X, y = table
    few = [kernels.RBF(1.0), kernels.RBF(3.0)]
    stream = CoKER(few, ridge=0.3, r=1.5).fit(X, y).to_stream()
    assert (stream.weighting, stream.power) == ("coker", 1.5)
    for expert, kernel in zip(stream.experts, few, strict=True):
        assert (expert.threshold, expert.max_size, expert.ridge) == (None, None, 0.3)
        assert expert.kernel == kernel + 1e4 and expert.size == 40
    classes = CoKERClassifier(few, ridge=0.3, r=1.5).fit(X, y > 0.0).to_stream()
    assert (classes.weighting, classes.power) == ("coker", 1.5)
    for expert, kernel in zip(classes.experts, few, strict=True):
        assert (expert.threshold, expert.max_size, expert.ridge, expert.bias) == (1e-4, 500, 0.3, 100.0)
        assert expert.kernel == kernel and expert.recursion.seen == 40


@pytest.mark.parametrize("kind", [FLKL, FLKLRegressor])
def test_defaults_of_flkl(kind: Any, table: Any) -> None:
    X, y = table
    targets = y > 0.0 if kind is FLKL else y
    wanted = {"ard": True, "ridge": None, "penalty": None, "folds": 5, "random_state": 0}
    assert kind().get_params() == wanted
    one, two = kind().fit(X, targets), kind(**wanted).fit(X, targets)
    assert (one.ridge_, one.penalty_, one.relevance_) == (two.ridge_, two.penalty_, two.relevance_)
    assert len(set(one.relevance_.values())) == 2  # a scale for each feature
    stream = one.to_stream()
    learner = stream if kind is FLKL else stream.regressor
    assert (learner.threshold, learner.max_size, learner.ridge) == (1e-4, 500, one.ridge_)
    level = learner.bias if kind is FLKL else learner.kernel.right.value
    assert level == 100.0
    assert learner.recursion.seen == 40


@pytest.mark.parametrize("kind", [FLKL, FLKLRegressor])
def test_limits_of_flkl(kind: Any, table: Any) -> None:
    X, y = table
    targets = y > 0.0 if kind is FLKL else y
    for arguments, message in (
        ({"folds": 1}, "folds must be a whole number >= 2, got 1"),
        ({"ridge": 0.0}, "ridge must be a finite number > 0 or None, got 0.0"),
        ({"penalty": math.inf}, "penalty must be a finite number > 0 or None, got inf"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(**arguments).fit(X, targets)
    inside = kind(folds=2, ridge=1e-3, penalty=1e-3).fit(X, targets)
    assert (inside.ridge_, inside.penalty_) == (1e-3, 1e-3)


def test_a_difference_of_just_its_standard_error_is_chance() -> None:
    losses = {"common": 0.5, "learned": 0.25, "standard error": 0.25}
    assert not flkl.learned_is_better(losses)
    assert flkl.learned_is_better(losses | {"standard error": 0.2499})
    decisions = {"learned wrong": 0.25, "common wrong": 0.5, "standard error": 0.1}
    assert not flkl.learned_is_better(losses | decisions | {"wrong standard error": 0.125})
    assert flkl.learned_is_better(losses | decisions | {"wrong standard error": 0.1249})
