"""The competitors of the speed benchmark compute what they claim to. Nothing here asserts a time."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # bench/ is not part of the installed package

from bench import bandwidth, dlib_krls, table1

LENGTH_SCALE = 1.0
THRESHOLD = 0.05


def stream(n_samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of two features with noise."""
    generator = np.random.default_rng(seed)
    xs = generator.uniform(-2.0, 2.0, size=(n_samples, 2))
    ys = np.sin(xs[:, 0]) + 0.5 * xs[:, 1] + 0.1 * generator.standard_normal(n_samples)
    return xs, ys


def kernel_matrix(left: np.ndarray, right: np.ndarray, length_scale: float = LENGTH_SCALE) -> np.ndarray:
    """RBF similarities, written from the formula."""
    squared = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squared / (2.0 * length_scale**2))


def dense_coefficients(xs: np.ndarray, ys: np.ndarray, constant: float = 0.0) -> tuple[np.ndarray, list[int]]:
    """Minimize (3.11) with one least-squares solve; return the coefficients and the dictionary's positions."""
    members: list[int] = []
    rows: list[np.ndarray] = []
    for t, x in enumerate(xs):
        dictionary = xs[members]
        gram = kernel_matrix(dictionary, dictionary) + constant
        column = kernel_matrix(dictionary, x[None])[:, 0] + constant
        projection = np.linalg.solve(gram, column) if members else column
        if 1.0 + constant - column @ projection > THRESHOLD:
            projection = np.append(np.zeros(len(members)), 1.0)
            members.append(t)
        rows.append(projection)
    # A of (3.11): aₜ of every sample, zero where the dictionary point had not joined yet.
    projections = np.zeros((len(xs), len(members)))
    for t, row in enumerate(rows):
        projections[t, : len(row)] = row
    gram = kernel_matrix(xs[members], xs[members]) + constant
    return np.linalg.lstsq(projections @ gram, ys, rcond=None)[0], members


def test_rbf_column_is_the_formula() -> None:
    xs, _ = stream(12)
    out = np.full(12, -1.0)
    table1.rbf_column(xs, 9, xs[10], 0.5 / 0.7**2, out)
    np.testing.assert_allclose(out[:9], kernel_matrix(xs[:9], xs[10:11], 0.7)[:, 0], rtol=1e-13)
    assert (out[9:] == -1.0).all()


def test_table1_is_the_dense_solve() -> None:
    xs, ys = stream(200)
    expected, members = dense_coefficients(xs, ys)
    assert 5 < len(members) < 100  # both cases of Table 1 occur
    state = table1.empty_state(len(xs), 2)
    size = 0
    for x, y in zip(xs, ys, strict=True):
        size = table1.table1_learn(x, y, *state, size, 0.5 / LENGTH_SCALE**2, THRESHOLD)
    assert size == len(members)
    np.testing.assert_array_equal(state.points[:size], xs[members])
    np.testing.assert_allclose(state.coefficients[:size], expected, rtol=1e-8, atol=1e-8)
    gram = kernel_matrix(xs[members], xs[members])
    np.testing.assert_allclose(state.inverse[:size, :size] @ gram, np.eye(size), atol=1e-9)
    np.testing.assert_allclose(state.covariance[:size, :size], state.covariance[:size, :size].T, atol=1e-12)


def test_many_is_one_by_one() -> None:
    xs, ys = stream(120)
    scale = 0.5 / LENGTH_SCALE**2
    one, many = table1.empty_state(len(xs), 2), table1.empty_state(len(xs), 2)
    size = 0
    for x, y in zip(xs, ys, strict=True):
        size = table1.table1_learn(x, y, *one, size, scale, THRESHOLD)
    assert table1.table1_learn_many(xs, ys, *many, 0, scale, THRESHOLD) == size
    np.testing.assert_allclose(many.coefficients, one.coefficients, rtol=1e-10)

    visits = table1.visits(one.points[:size], 30, 0.01, seed=3)
    columns = kernel_matrix(visits, one.points[:size])
    after = table1.table1_steps(columns, 1.0, np.ones(30), *one[1:4], one.work, size, THRESHOLD)
    assert after == size == table1.table1_learn_many(visits, np.ones(30), *many, size, scale, THRESHOLD)
    np.testing.assert_allclose(many.coefficients, one.coefficients, rtol=1e-8, atol=1e-10)


def test_prepared_state_holds_every_point_and_visits_are_not_admitted() -> None:
    generator = np.random.default_rng(5)
    points, targets = generator.standard_normal((40, 10)), generator.standard_normal(40)
    state = table1.prepared_state(points, targets, length_scale=2.0)
    np.testing.assert_array_equal(state.points[:40], points)
    # Every point was admitted, so the model interpolates.
    np.testing.assert_allclose(kernel_matrix(points, points, 2.0) @ state.coefficients[:40], targets, atol=1e-9)
    visits = table1.visits(points, 50, 0.02, seed=1)
    assert table1.table1_learn_many(visits, np.zeros(50), *state, 40, 0.125, 1e-3) == 40
    with pytest.raises(ValueError, match="linearly independent"):
        table1.prepared_state(np.zeros((3, 2)), np.zeros(3), length_scale=1.0)


@pytest.mark.parametrize("blas", [False, True])
def test_dlib_agrees_with_table1(blas: bool, tmp_path: Path) -> None:
    reason = dlib_krls.unavailable_reason(blas)
    if reason is not None:
        pytest.skip(reason)
    xs, ys = stream(150)
    tests, _ = stream(10, seed=9)
    constant = dlib_krls.HIDDEN_CONSTANT
    state = table1.empty_state(len(xs), 2)
    size = 0
    for x, y in zip(xs, ys, strict=True):
        column = kernel_matrix(state.points[:size], x[None])[:, 0] + constant
        grown = table1.table1_step(column, 1.0 + constant, y, *state[1:4], state.work, size, THRESHOLD)
        if grown > size:
            state.points[size] = x
        size = grown
    expected = (kernel_matrix(tests, state.points[:size]) + constant) @ state.coefficients[:size]

    program = dlib_krls.build(tmp_path, blas)
    with dlib_krls.Driver(program, xs[:100], ys[:100], xs[100:], ys[100:], LENGTH_SCALE, THRESHOLD, tests) as driver:
        driver.run(50)
        assert driver.size == size
        np.testing.assert_allclose(driver.predict(), expected, atol=1e-6)
        visits = list(dlib_krls.time_steps(driver, 5, 3))
    assert len(visits) == 3
    assert min(visits) > 0.0


def test_dlib_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not dlib_krls.available()
    assert dlib_krls.unavailable_reason() == "g++ is not installed"
    with pytest.raises(RuntimeError, match="is not installed"):
        dlib_krls.build(tmp_path)


def test_floor_is_positive_and_grows_with_the_dictionary() -> None:
    times = [bandwidth.traffic_seconds(m, read=2e10, update=4e10) for m in (1, 50, 200, 1000)]
    assert times[0] > 0.0
    assert times == sorted(times)
    # By definition: 4 m² bytes read from L, 4 m² read and 4 m² written in P.
    assert times[-1] == pytest.approx(4e6 / 2e10 + 8e6 / 4e10)
    assert 0.0 < bandwidth.floor_seconds(8) < bandwidth.floor_seconds(128)
