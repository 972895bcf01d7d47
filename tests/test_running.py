"""`run` on arrays, and sessions that restart at any row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from streamkernel import KRLS, HeteroscedasticKRLS, run
from streamkernel.checkpoint import loads
from streamkernel.kernels import RBF, Custom
from streamkernel.session import Session, Standardizer


def series(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(n)


def overlap(x, z):
    return float(np.minimum(x + 1.0, z + 1.0).sum())


@pytest.mark.parametrize(
    "make",
    [
        lambda: KRLS(RBF(0.7), 1e-3, 0.01),
        lambda: KRLS(RBF(0.7), 1e-3, 0.01, max_size=12),
        lambda: KRLS(RBF(0.7), 1e-3, 0.01, forgetting=0.99),
        lambda: KRLS(Custom(overlap), 1e-3, 0.01),
        lambda: HeteroscedasticKRLS(RBF(0.7)),
    ],
)
def test_predictions_are_made_before_learning(make):
    X, y = series()
    one, many = make(), make()
    predictions, sizes = [], []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        predictions.append(one.predict_one(dict(enumerate(x))))
        one.learn_one(dict(enumerate(x)), target)
        sizes.append(one.size)
    result = run(many, X, y)
    np.testing.assert_allclose(result.predictions, predictions, atol=1e-9)
    np.testing.assert_allclose(result.errors, y - np.array(predictions), atol=1e-9)
    np.testing.assert_array_equal(result.sizes, sizes)


def test_a_vector_is_one_feature():
    X, y = series()
    a, b = run(KRLS(RBF(1.0), ridge=0.1), X[:, 0], y), run(KRLS(RBF(1.0), ridge=0.1), X[:, :1], y)
    np.testing.assert_array_equal(a.predictions, b.predictions)
    assert run(KRLS(), np.zeros((0, 2)), []).sizes.shape == (0,)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [math.nan]], [1.0, 2.0], "feature 0 is nan in row 1"),
        ([[1.0], [2.0]], [1.0], "one number per row"),
        ([[1.0], [2.0]], [1.0, math.inf], "y is inf in row 1"),
        (np.zeros((2, 2, 2)), [1.0, 2.0], "two dimensions"),
    ],
)
def test_bad_arrays(X, y, message):
    model = KRLS()
    before = model.to_bytes()
    with pytest.raises(ValueError, match=message):
        run(model, X, y)
    assert model.to_bytes() == before


def test_standardizer():
    rng = np.random.default_rng(1)
    X = rng.normal(1e6, 3.0, (500, 1))
    scale = Standardizer()
    assert scale.transform_one({"a": 5.0}) == {"a": 0.0}
    for x in X[:, 0].tolist():
        scale.learn_one({"a": x, "constant": 2.0})
    assert scale.transform_one({"a": X.mean() + X.std(), "constant": 2.0}) == {"a": pytest.approx(1.0), "constant": 0.0}


@pytest.mark.parametrize("scale", [True, False])
def test_a_session_restarts_at_any_row(scale):
    X, y = series(120)
    rows = [({"a": a, "b": b}, t) for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    whole = Session(KRLS(RBF(1.0), ridge=0.01), scale=scale)
    predictions = [whole.step(*row) for row in rows]
    assert math.isnan(Session(KRLS()).score()["rmse"])
    for cut in (1, 17, 80):
        session = Session(KRLS(RBF(1.0), ridge=0.01), scale=scale)
        for row in rows[:cut]:
            session.step(*row)
        session = loads(session.to_bytes())
        assert [session.step(*row) for row in rows[cut:]] == predictions[cut:]
        assert session.score() == whole.score()
        assert session.to_bytes() == whole.to_bytes()
    assert whole.rows == 120
    assert whole.score()["rmse"] == pytest.approx(np.sqrt(np.mean((y - predictions) ** 2)))
