"""KRR, KAAR, IKAAR and CKAAR as streaming learners: against refits, against each other, against their guarantees."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from river import checks, preprocessing

from streamkernel import CKAAR, IKAAR, KAAR, KRR, run
from streamkernel.kernels import RBF, AnovaSpline, Matern32, Polynomial, Spline
from streamkernel.learners.kaar import controlled, iterated

FAMILY = {
    "krr": KRR,
    "kaar": KAAR,
    "ikaar": lambda **own: IKAAR(iterations=3.0, **own),
    "ckaar": lambda **own: CKAAR(control=0.4, **own),
}
FACTORS = {
    "krr": lambda u: np.ones_like(u),
    "kaar": lambda u: 1.0 / (1.0 + u),
    "ikaar": lambda u: 1.0 - (u / (1.0 + u)) ** 3.0,
    "ckaar": lambda u: 1.0 / (1.0 + 0.4 * u),
}
KERNELS = [RBF(0.7), Matern32((1.0, 0.5)), Polynomial(2), Spline(), AnovaSpline(2, two_sided=True)]


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)


def refit(kernel, X, y, ridge, x, method):
    """The batch prediction at x: p, and its factor from u = v/ridge."""
    A = kernel(X) + ridge * np.eye(len(X)) if len(X) else np.zeros((0, 0))
    column = kernel(X, x[None])[:, 0] if len(X) else np.zeros(0)
    weights = np.linalg.solve(A, column)
    u = (kernel(x[None])[0, 0] - column @ weights) / ridge
    return (weights @ y) * FACTORS[method](u)


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_exact_form_is_a_refit_at_every_step(method, kernel):
    X, y = stream(60)
    model = FAMILY[method](kernel=kernel, ridge=0.3, threshold=None)
    for t in range(len(X)):
        x = dict(enumerate(X[t].tolist()))
        assert model.predict_one(x) == pytest.approx(refit(kernel, X[:t], y[:t], 0.3, X[t], method), abs=1e-9)
        model.learn_one(x, y[t])
    assert model.size == len(X)


@pytest.mark.parametrize("method", FAMILY)
def test_the_sliding_window_is_a_refit_on_the_window_after_ten_thousand_steps(method):
    X, y = stream(10_000, seed=1)
    kernel = RBF(0.5)
    model = FAMILY[method](kernel=kernel, ridge=0.1, threshold=None, max_size=40)
    model.learn_many(X, y)
    assert model.size == 40
    for x in stream(20, seed=2)[0]:
        expected = refit(kernel, X[-40:], y[-40:], 0.1, x, method)
        assert model.predict_one(dict(enumerate(x.tolist()))) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("method", FAMILY)
def test_a_tiny_threshold_is_the_exact_form(method):
    X, y = stream(200, seed=3)
    exact = FAMILY[method](kernel=RBF(0.5), ridge=0.1, threshold=None)
    sparse = FAMILY[method](kernel=RBF(0.5), ridge=0.1, threshold=1e-12)
    for model in (exact, sparse):
        model.learn_many(X, y)
    assert sparse.size < exact.size == 200
    test = stream(50, seed=4)[0]
    np.testing.assert_allclose(sparse.predict_many(test), exact.predict_many(test), atol=1e-7)
    np.testing.assert_allclose(
        [sparse.predict_one(dict(enumerate(x)), with_dist=True).sigma for x in test.tolist()],
        [exact.predict_one(dict(enumerate(x)), with_dist=True).sigma for x in test.tolist()],
        rtol=1e-6,
    )


@pytest.mark.parametrize("threshold", [None, 1e-3])
@pytest.mark.parametrize("method", FAMILY)
def test_many_samples_are_one_after_the_other(method, threshold):
    X, y = stream(150, seed=5)
    own = {"kernel": RBF(0.5), "ridge": 0.2, "threshold": threshold}
    one, many, ran, both = (FAMILY[method](**own) for _ in range(4))
    predictions = []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        predictions.append(one.predict_one(dict(enumerate(x))))
        one.learn_one(dict(enumerate(x)), target)
    many.learn_many(X, y)
    result = run(ran, X, y)
    np.testing.assert_allclose(result.predictions, predictions, atol=1e-10)
    np.testing.assert_allclose(result.errors, y - result.predictions)
    assert result.sizes[-1] == one.size
    np.testing.assert_allclose(
        [both.predict_learn_one(dict(enumerate(x)), t) for x, t in zip(X.tolist(), y.tolist(), strict=True)],
        predictions,
        atol=1e-10,
    )
    np.testing.assert_allclose(many.predict_many(X), one.predict_many(X), atol=1e-10)
    np.testing.assert_allclose(
        many.predict_many(X), [many.predict_one(dict(enumerate(x))) for x in X.tolist()], atol=1e-12
    )


def test_the_four_predictions_come_from_one_solve():
    X, y = stream(40, seed=6)
    models = {name: make(kernel=RBF(0.5), ridge=0.2, threshold=None) for name, make in FAMILY.items()}
    for model in models.values():
        model.learn_many(X, y)
    x = {0: 0.3, 1: 1.4}
    for model in models.values():
        together = model.predict_all_one(x, iterations=3.0, control=0.4)
        for name, value in together.items():
            assert value == pytest.approx(models[name].predict_one(x), abs=1e-12)
            assert type(value) is float


def test_limits():
    u = np.array([0.0, 1e-12, 0.3, 7.0, 1e12])
    np.testing.assert_allclose(iterated(u, 1.0), 1.0 / (1.0 + u), rtol=1e-12)
    np.testing.assert_allclose(iterated(u[:-1], 1e6), 1.0)
    np.testing.assert_allclose(controlled(u, 0.0), 1.0)
    np.testing.assert_allclose(controlled(u, 1.0), 1.0 / (1.0 + u))
    assert iterated(1e12, 2.0) == pytest.approx(2e-12, rel=1e-9)  # 1 − s² would have lost its digits


def adversarial(n, kernel):
    """Targets that always stand against the prediction of KRR."""
    rng = np.random.default_rng(7)
    X, y = rng.random((n, 2)), np.zeros(n)
    model = KRR(kernel, ridge=1.0, threshold=None)
    for t in range(n):
        x = dict(enumerate(X[t].tolist()))
        y[t] = -1.0 if model.predict_one(x) >= 0.0 else 1.0
        model.learn_one(x, y[t])
    return X, y


STREAMS = {
    "smooth": lambda: stream(120, seed=8),
    "noise": lambda: (stream(120, seed=9)[0], np.random.default_rng(9).uniform(-1, 1, 120)),
    "adversarial": lambda: adversarial(120, RBF(0.3)),
    "repeated": lambda: (np.zeros((60, 2)), (-1.0) ** np.arange(60)),
    "growing": lambda: (np.arange(40.0)[:, None] * [1.0, 0.5], np.ones(40)),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_identities_and_the_bound(name, ridge):
    X, y = STREAMS[name]()
    kernel = RBF(0.3)
    results = {m: FAMILY[m](kernel=kernel, ridge=ridge, threshold=None) for m in ("krr", "kaar")}
    plain, shrunk = (run(model, X, y) for model in results.values())
    K, n = kernel(X), len(X)
    least = y @ np.linalg.solve(np.eye(n) + K / ridge, y)  # min_f L(f) + ridge·‖f‖²
    determinant = np.linalg.slogdet(np.eye(n) + K / ridge)[1]
    model = results["kaar"].recursion.model
    assert model.regularized_loss == pytest.approx(least, rel=1e-9)
    assert model.log_determinant == pytest.approx(determinant, rel=1e-9)
    s = np.where(
        plain.predictions == 0.0, 0.0, 1.0 - shrunk.predictions / np.where(plain.predictions, plain.predictions, 1)
    )
    nonzero = plain.predictions != 0.0
    first = float(np.sum((1.0 - 1.0 / (1.0 + K[0, 0] / ridge)) * y[~nonzero] ** 2))  # s is not visible where p = 0
    loss = np.sum(shrunk.errors**2)
    if (~nonzero).sum() == 1:
        identity = least + first + np.sum(s * y**2) - np.sum(s * (1.0 - s) * plain.predictions**2)
        assert loss == pytest.approx(identity, rel=1e-9)
    Y = np.abs(y).max()
    for each in results.values():
        assert each.regret_bound(Y) == pytest.approx(least + Y**2 * determinant, rel=1e-9)
    assert loss <= results["kaar"].regret_bound(Y)


def test_where_ridge_regression_breaks_the_bound_the_aggregating_algorithm_does_not():
    """Far from the data a linear model of a steep line is punished; KAAR is not."""
    broken = 0
    for scale in (3.0, 10.0, 30.0, 100.0):
        X = np.array([[1.0], [scale]])
        y = np.array([1.0, -1.0])
        plain, safe = (run(kind(Polynomial(1, offset=0.0), ridge=1.0, threshold=None), X, y) for kind in (KRR, KAAR))
        bound = KAAR(Polynomial(1, offset=0.0), ridge=1.0, threshold=None)
        bound.learn_many(X, y)
        assert np.sum(safe.errors**2) <= bound.regret_bound(1.0)
        broken += np.sum(plain.errors**2) > bound.regret_bound(1.0)
    assert broken


@pytest.mark.parametrize("threshold", [None, 1e-2])
@pytest.mark.parametrize("method", FAMILY)
def test_checkpoints_continue_bit_for_bit(method, threshold):
    X, y = stream(90, seed=10)
    model = FAMILY[method](kernel=RBF(0.5), ridge=0.2, threshold=threshold, max_size=30)
    model.learn_many(X[:50], y[:50])
    copies = [type(model).from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        for x, target in zip(X[50:].tolist(), y[50:].tolist(), strict=True):
            each.learn_one(dict(enumerate(x)), target)
    for each in copies:
        assert each.to_bytes() == model.to_bytes()


def test_weights_in_the_exact_form():
    X, y = stream(30, seed=11)
    weights = np.random.default_rng(11).uniform(0.3, 3.0, 30)
    model = KRR(RBF(0.5), ridge=0.2, threshold=None)
    model.learn_many(X, y, weights)
    expected = RBF(0.5)(X) @ np.linalg.solve(RBF(0.5)(X) + 0.2 * np.diag(1.0 / weights), y)
    np.testing.assert_allclose(model.predict_many(X), expected, atol=1e-10)


def test_features_that_emerge_in_the_exact_form():
    X, y = stream(40, seed=12)
    padded = X.copy()
    padded[:20, 1] = 0.0
    for kernel in (None, AnovaSpline(1), RBF(0.5)):
        model = KRR(kernel, ridge=0.2, threshold=None)
        for t in range(20):
            model.learn_one({"a": X[t, 0]}, y[t])
        for t in range(20, 40):
            model.learn_one({"a": X[t, 0], "b": X[t, 1]}, y[t])
        whole = KRR(kernel, ridge=0.2, threshold=None)
        whole.learn_many(padded, y)
        x = {"a": 0.3, "b": 0.6}
        assert model.predict_one(x) == pytest.approx(whole.predict_one({0: 0.3, 1: 0.6}), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KRR(ridge=0.0), "ridge must be a number > 0, got 0.0"),
        (lambda: KAAR(ridge=math.nan), "ridge"),
        (lambda: IKAAR(iterations=0), "iterations"),
        (lambda: CKAAR(control=-0.1), "control must be a number >= 0, got -0.1"),
        (lambda: KRR(threshold=-1.0), "threshold"),
        (lambda: KRR(max_size=0), "max_size"),
        (lambda: KAAR().regret_bound(-1.0), "Y must be"),
        (lambda: KAAR().predict_all_one({}, iterations=-1.0), "iterations"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("threshold", [None, 1e-3])
@pytest.mark.parametrize("x", [{"a": math.nan}, {"a": "red"}, {"a": 1e200, "b": 1.0}])
def test_bad_samples_change_nothing(threshold, x):
    model = KAAR(Polynomial(2), ridge=0.1, threshold=threshold)
    model.learn_one({"a": 1.0}, 2.0)
    before = model.to_bytes()
    for call in (lambda: model.learn_one(x, 1.0), lambda: model.predict_one(x)):
        with pytest.raises((TypeError, ValueError), match="a"):
            call()
    for y in (math.inf, None, 1e200):
        with pytest.raises((TypeError, ValueError), match="y"):
            model.learn_one({"a": 1.0}, y)
    assert model.to_bytes() == before


MODELS = [
    KRR(),
    KAAR(),
    IKAAR(),
    CKAAR(),
    KRR(RBF(10.0), threshold=None, max_size=20),
    preprocessing.StandardScaler() | KAAR(),
]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{model}-{check.__name__}-{number}")
        for model in MODELS
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_river(model, check):
    check(model.clone())
