"""Kernel adaptive filters: each against a plain version of its paper's recursion, river's checks, copies, bad input."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from reference import JIT
from river import checks, linear_model

from streamkernel import KRLS, KRR, datasets, run
from streamkernel.checkpoint import loads
from streamkernel.filters import KAPA, KLMS, KNLMS, NORMA, QKLMS, ExKRLS, FixedBudgetKRLS, decibels, learning_curve
from streamkernel.kernels import RBF, AnovaSpline, Custom, Linear, Polynomial

pytestmark = pytest.mark.core
KERNEL = RBF(1.0)

FILTERS: dict[str, Any] = {
    "KLMS": KLMS(KERNEL, 0.2),
    "KLMS bounded": KLMS(KERNEL, 0.2, max_size=30),
    "QKLMS": QKLMS(KERNEL, 0.3, 0.4),
    "QKLMS bounded": QKLMS(KERNEL, 0.3, 0.1, max_size=20),
    "NORMA": NORMA(KERNEL, 0.3, 0.05, max_size=40),
    "KNLMS": KNLMS(KERNEL, 0.8, 0.5),
    "KNLMS polynomial": KNLMS(Polynomial(2), 0.9, 0.5),
    "KAPA": KAPA(KERNEL, 0.8, 0.2, order=4),
    "KAPA bounded": KAPA(KERNEL, 0.9, 0.2, order=3, max_size=10),
    "ExKRLS": ExKRLS(KERNEL, 0.999, 0.995, 1e-2, 1e-3, max_size=None),
    "FixedBudgetKRLS": FixedBudgetKRLS(KERNEL, 1e-2, max_size=25),
    "FixedBudgetKRLS labels": FixedBudgetKRLS(KERNEL, 1e-2, 0.1, max_size=25),
}


def stream(n: int = 120, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


def test_defaults_stay_as_they_are() -> None:
    """Checkpoints and papers are compared with them."""
    normalized = {"coherence": 0.9, "step": 0.1, "regularization": 0.01, "max_size": 1000}
    for kind, defaults in (
        (KLMS, {"step": 0.2, "max_size": 1000}),
        (QKLMS, {"step": 0.2, "quantization": 0.1, "max_size": 1000}),
        (NORMA, {"step": 0.2, "ridge": 0.01, "max_size": 500}),
        (KNLMS, normalized),
        (KAPA, normalized | {"order": 10}),
        (ExKRLS, {"state": 0.999, "forgetting": 1.0, "ridge": 0.01, "drift": 0.001, "max_size": 200}),
        (FixedBudgetKRLS, {"ridge": 0.01, "step": 0.0, "max_size": 100}),
    ):
        assert kind()._get_params() == {"kernel": None} | defaults


# Plain versions of the papers' recursions: predictions before each sample ---------------------------------------------


def qklms(model: Any, X: Any, y: Any) -> list[float]:
    points: list[Any] = []
    a: list[float] = []
    out = []
    for x, d in zip(X, y):
        out.append(sum(c * model.kernel([p], [x])[0, 0] for c, p in zip(a, points)))
        error = d - out[-1]
        distances = [np.linalg.norm(p - x) for p in points]
        full = model.max_size is not None and len(a) >= model.max_size
        if points and (min(distances) <= getattr(model, "quantization", -1.0) or full):
            a[int(np.argmin(distances))] += model.step * error
        else:
            points.append(x)
            a.append(model.step * error)
    return out


def norma(model: Any, X: Any, y: Any) -> list[float]:
    points: list[Any] = []
    a: list[float] = []
    out = []
    for x, d in zip(X, y):
        out.append(sum(c * model.kernel([p], [x])[0, 0] for c, p in zip(a, points)))
        a = [(1.0 - model.step * model.ridge) * c for c in a] + [model.step * (d - out[-1])]
        points.append(x)
        points, a = points[-model.max_size :], a[-model.max_size :]
    return out


def kapa(model: Any, X: Any, y: Any) -> list[float]:
    order = getattr(model, "order", 1)
    points: list[Any] = []
    alpha = np.zeros(0)
    out = []
    for t, (x, _) in enumerate(zip(X, y)):
        h = model.kernel([x], np.array(points))[0] if points else np.zeros(0)
        out.append(float(h @ alpha))
        norms = [model.kernel([p])[0, 0] for p in points]
        coherences = [abs(k) / math.sqrt(model.kernel([x])[0, 0] * n) for k, n in zip(h, norms)]
        if len(points) < (model.max_size or math.inf) and max(coherences, default=0.0) <= model.coherence:  # eq. 12
            points.append(x)
            alpha = np.append(alpha, 0.0)
        past = range(t, max(-1, t - order), -1)
        H, d = model.kernel(X[past], np.array(points)), y[past]
        inner = model.regularization * np.eye(len(H)) + H @ H.T
        alpha = alpha + model.step * H.T @ np.linalg.solve(inner, d - H @ alpha)  # eqs. 22 and 25
    return out


def exkrls(model: Any, X: Any, y: Any) -> list[float]:
    rho, a, Q = model.ridge, np.zeros(0), np.zeros((0, 0))
    out = []
    for i, (x, d) in enumerate(zip(X, y), start=1):
        h = model.kernel([x], X[: i - 1])[0] if i > 1 else np.zeros(0)
        out.append(float(h @ a))
        z = Q @ h
        r = model.forgetting**i * rho + model.kernel([x])[0, 0] - h @ z
        e = d - out[-1]
        a = model.state * np.append(a - z * e / r, e / r)
        spread = model.state**2 + model.forgetting**i * model.drift * rho
        rho = rho / spread
        Q = (
            model.state**2
            / (r * spread)
            * np.block([[Q * r + np.outer(z, z), -z[:, None]], [-z[None], np.ones((1, 1))]])
        )
    return out


def fixed_budget(model: Any, X: Any, y: Any) -> list[float]:
    points, labels = np.zeros((0, X.shape[1])), np.zeros(0)
    out = []
    for x, d in zip(X, y):
        K = model.kernel(points) if len(points) else np.zeros((0, 0))
        k = model.kernel([x], points)[0] if len(points) else np.zeros(0)
        out.append(float(k @ np.linalg.solve(K + model.ridge * np.eye(len(K)), labels)) if len(points) else 0.0)
        labels = np.append(labels - model.step * k * (labels - d), d)
        points = np.vstack([points, x])
        if len(points) > model.max_size:
            inverse = np.linalg.inv(model.kernel(points) + model.ridge * np.eye(len(points)))
            least = int(np.argmin(np.abs(inverse @ labels) / np.diag(inverse)))
            points, labels = np.delete(points, least, axis=0), np.delete(labels, least)
    return out


PLAIN = {
    KLMS: qklms, QKLMS: qklms, NORMA: norma, KNLMS: kapa, KAPA: kapa, ExKRLS: exkrls, FixedBudgetKRLS: fixed_budget
}  # fmt: skip


@pytest.mark.parametrize("name", FILTERS)
def test_the_paper_s_recursion(name: str) -> None:
    model = FILTERS[name].clone()
    X, y = stream()
    predictions = run(model, X, y).predictions
    np.testing.assert_allclose(predictions, PLAIN[type(model)](model, X, y), rtol=0.0, atol=1e-10)


def test_extended_krls_is_extended_rls_in_the_input_space() -> None:
    """With a linear kernel: P ← α²(P − Puu'P/r) + βⁱq I, r = βⁱ + u'Pu, ω ← α(ω + Pue/r) (Haykin et al. 1997)."""
    X, y = stream(60)
    model = ExKRLS(Linear(), 0.98, 0.99, 0.5, 0.01, max_size=None)
    P, weights, expected = np.eye(3) / 0.5, np.zeros(3), []
    for i, (u, d) in enumerate(zip(X, y), start=1):
        expected.append(u @ weights)
        r = 0.99**i + u @ P @ u
        gain = P @ u / r
        weights = 0.98 * (weights + gain * (d - expected[-1]))
        P = 0.98**2 * (P - np.outer(gain, gain) * r) + 0.99**i * 0.01 * np.eye(3)
    np.testing.assert_allclose(run(model, X, y).predictions, expected, atol=1e-10)


def test_a_full_extended_krls_forgets_the_oldest() -> None:
    X, y = stream(200)
    model = ExKRLS(KERNEL, max_size=20)
    run(model, X, y)
    assert model.size == 20
    assert [point[0] for point in model.dictionary] == X[-20:, 0].tolist()


def test_sliding_window_krls() -> None:
    """`KRR(threshold=None, max_size=M)` is SW-KRLS: ridge regression on the newest M samples."""
    X, y = stream(80)
    model = KRR(KERNEL, ridge=0.01, threshold=None, max_size=15)
    expected = [0.0]
    for t in range(1, len(X)):
        window = slice(max(0, t - 15), t)
        K = KERNEL(X[window]) + 0.01 * np.eye(len(X[window]))
        expected.append(float(KERNEL(X[t : t + 1], X[window])[0] @ np.linalg.solve(K, y[window])))
    np.testing.assert_allclose(run(model, X, y).predictions, expected, atol=1e-10)


def tracker(model: KRLS, X: Any, y: Any, after: list[Any]) -> list[float]:
    """Dense KRLS-T (Van Vaerenbergh, Lázaro-Gredilla & Santamaría 2012, Algorithm 1): mean and covariance of the
    function at the dictionary. `after` are the dictionaries after each sample: what has left them is marginalized."""
    ridge, forgetting = model.ridge, model.forgetting
    points, mean, cov = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros((0, 0))
    out = []
    for x, d, kept in zip(X, y, after):
        K = KERNEL(points) if len(points) else np.zeros((0, 0))
        cov, mean = forgetting * cov + (1.0 - forgetting) * K, math.sqrt(forgetting) * mean  # back to the prior
        k = KERNEL([x], points)[0] if len(points) else np.zeros(0)
        q = np.linalg.solve(K, k) if len(points) else k
        out.append(float(q @ mean))
        h = cov @ q
        variance = KERNEL([x])[0, 0] - k @ q + q @ h
        p = np.append(h, variance)
        mean = np.append(mean, out[-1]) + (d - out[-1]) / (ridge + variance) * p
        cov = np.block([[cov, h[:, None]], [h[None], np.array([[variance]])]]) - np.outer(p, p) / (ridge + variance)
        points = np.vstack([points, x])
        keep = [any(np.array_equal(point, other) for other in kept) for point in points]
        points, mean, cov = points[keep], mean[keep], cov[np.ix_(keep, keep)]
    return out


@pytest.mark.parametrize("max_size", [None, 20])
def test_forgetting_to_the_prior_is_the_tracker(max_size: int | None) -> None:
    X, y = stream(60)
    model = KRLS(KERNEL, threshold=0.0, ridge=0.05, forgetting=0.99, forget="prior", max_size=max_size)
    predictions, after = [], []
    for x, d in zip(X.tolist(), y.tolist()):
        predictions.append(model.predict_one(dict(enumerate(x))))
        model.learn_one(dict(enumerate(x)), d)
        after.append([list(point.values()) for point in model.dictionary])
    assert model.size == (max_size or 60)
    np.testing.assert_allclose(predictions, tracker(model, X, y, after), atol=1e-8)


def custom(x: Any, z: Any) -> float:
    return float(np.exp(-0.5 * ((x - z) ** 2).sum()))


def negative(x: Any, z: Any) -> float:
    return -1.0


@pytest.mark.parametrize("kernel", [Custom(custom), 0.5 * Custom(custom) + 0.5 * RBF(1.0)], ids=repr)
@pytest.mark.parametrize("name", FILTERS)
def test_a_kernel_in_python_is_what_it_would_be_in_the_core(name: str, kernel: Any) -> None:
    """Affine projection looks at similarities of other samples than the new one."""
    model = FILTERS[name].clone({"kernel": RBF(1.0)})
    X, y = stream(60)
    expected = run(model, X, y).predictions
    np.testing.assert_allclose(run(model.clone({"kernel": kernel}), X, y).predictions, expected, rtol=0.0, atol=1e-9)


# River, copies and bad input ------------------------------------------------------------------------------------------

RIVER = [
    KLMS(), KLMS(RBF(10.0), 0.1, max_size=20), QKLMS(), NORMA(max_size=30), KNLMS(), KAPA(order=3), ExKRLS(max_size=15),
    FixedBudgetKRLS(max_size=15),
]  # fmt: skip


@pytest.mark.parametrize("model", RIVER, ids=lambda model: type(model).__name__)
def test_river_checks_without_skips(model: Any) -> None:
    assert not model._unit_test_skips()
    for check in checks.yield_checks(model):
        check(model.clone())


@pytest.mark.parametrize("name", FILTERS)
def test_copies_continue_bit_for_bit(name: str) -> None:
    X, y = stream()
    model = FILTERS[name].clone()
    model.learn_many(X[:70], y[:70])
    copies = [loads(model.to_bytes()), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = run(model, X[70:], y[70:]).predictions
    for other in copies:
        np.testing.assert_array_equal(run(other, X[70:], y[70:]).predictions, expected)
        assert other.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("name", FILTERS)
def test_one_and_many(name: str) -> None:
    X, y = stream()
    one, many = FILTERS[name].clone(), FILTERS[name].clone()
    predictions, errors, sizes = run(many, X, y)
    for i, (row, target) in enumerate(zip(X.tolist(), y.tolist())):
        x = dict(enumerate(row))
        assert one.predict_one(x) == pytest.approx(predictions[i], abs=1e-12)
        one.learn_one(x, target)
        assert one.size == sizes[i]
    np.testing.assert_allclose(errors, y - predictions)
    assert one.to_bytes() == many.to_bytes()
    assert len(many.coefficients) == len(many.dictionary) == many.size
    expected = KERNEL(X, np.array([list(p.values()) for p in many.dictionary])) @ many.coefficients
    if many.kernel == KERNEL:
        np.testing.assert_allclose(many.predict_many(X), expected, atol=1e-10)


@pytest.mark.parametrize("name", FILTERS)
def test_bad_samples_change_nothing(name: str) -> None:
    X, y = stream(40)
    model = FILTERS[name].clone()
    model.learn_many(X, y)
    before = model.to_bytes()
    for x, target in [
        ({0: math.nan}, 1.0),
        ({0: "a"}, 1.0),
        ({"new": None}, 1.0),
        ({0: 1.0}, math.inf),
        ({0: 1.0}, "y"),
    ]:
        with pytest.raises((TypeError, ValueError), match=r"feature|target"):
            model.learn_one(x, target)
    with pytest.raises((TypeError, ValueError), match="feature"):
        model.predict_one({0: math.nan})
    with pytest.raises(ValueError, match="feature 1 is nan in row 1"):
        model.learn_many([[0.0, 1.0, 2.0], [0.0, math.nan, 1.0]], [0.0, 1.0])
    assert model.to_bytes() == before


def test_new_features_were_zero() -> None:
    model, other = KLMS(RBF(1.0)), KLMS(RBF(1.0))
    model.learn_one({"a": 1.0}, 1.0)
    other.learn_one({"a": 1.0, "b": 0.0}, 1.0)
    assert model.predict_one({"a": 0.5, "b": 1.0}) == pytest.approx(other.predict_one({"a": 0.5, "b": 1.0}))
    model.learn_one({"a": 0.5, "b": 1.0}, 2.0)
    assert model.size == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KLMS(step=0.0), "step must be a number > 0"),
        (lambda: KLMS(max_size=0), "max_size"),
        (lambda: KLMS(kernel="rbf"), "kernel"),
        (lambda: QKLMS(quantization=-1.0), "quantization"),
        (lambda: NORMA(step=10.0, ridge=1.0), "step times ridge"),
        (lambda: KNLMS(coherence=2.0), "coherence"),
        (lambda: KAPA(order=0), "order"),
        (lambda: KAPA(order=None), "order"),
        (lambda: ExKRLS(ridge=0.0), "ridge"),
        (lambda: FixedBudgetKRLS(step=2.0), "step"),
    ],
)
def test_bad_parameters(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.skipif(not JIT, reason="too slow without numba")
def test_they_learn_mackey_glass() -> None:
    X, y = datasets.MackeyGlass(seed=1).arrays(1500)
    for kind in (KLMS, QKLMS, NORMA, KNLMS, KAPA, ExKRLS, FixedBudgetKRLS):
        errors = run(kind(RBF(0.5)), X, y).errors
        assert np.mean(errors[-500:] ** 2) < 0.2 * np.var(y), kind


# Learning curves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: KLMS(RBF(1.0)), lambda: KRLS(RBF(1.0), 1e-3), lambda: KRR(RBF(1.0), ridge=0.1)]
)
def test_learning_curves_are_the_errors_of_single_samples(make: Any) -> None:
    X, y = datasets.MackeyGlass(seed=1).arrays(120)
    test = X[100:], y[100:]
    squares, expected = [], []
    model = make()
    for i, (row, target) in enumerate(zip(X[:100].tolist(), y[:100].tolist())):
        x = dict(enumerate(row))
        if i % 40 == 0:
            expected.append(np.mean((test[1] - model.predict_many(test[0])) ** 2))
        squares.append((target - model.predict_one(x)) ** 2)
        model.learn_one(x, target)
    expected.append(np.mean((test[1] - model.predict_many(test[0])) ** 2))
    one_step = [np.mean(squares[start : start + 40]) for start in (0, 40, 80)]
    tested = learning_curve(make(), X[:100], y[:100], *test, every=40)
    assert tested.samples.tolist() == [0, 40, 80, 100]
    np.testing.assert_allclose(tested.decibels, 10.0 * np.log10(expected), atol=1e-6)
    curve = learning_curve(make(), X[:100], y[:100], every=40)
    assert curve.samples.tolist() == [0, 40, 80]
    np.testing.assert_allclose(curve.decibels, 10.0 * np.log10(one_step), atol=1e-6)


def test_learning_curves_of_any_regressor() -> None:
    X, y = datasets.MackeyGlass(seed=1).arrays(300)
    model = linear_model.LinearRegression()
    curve = learning_curve(model, X[:200], y[:200], X[200:], y[200:], every=100)
    single = learning_curve(linear_model.LinearRegression(), X[:200], y[:200], every=100)
    assert curve.samples.tolist() == [0, 100, 200] and single.samples.tolist() == [0, 100]
    assert curve.decibels[-1] < curve.decibels[0] and single.decibels[-1] < single.decibels[0]


def test_learning_curves_refuse_what_they_cannot_use() -> None:
    model = KLMS(RBF(1.0))
    X = np.zeros((3, 1))
    for arguments, message in (
        ({"y": [0.0, 1.0]}, "y"),
        ({"y": np.zeros(3), "every": 0}, "every"),
        ({"y": np.zeros(3), "X_test": X}, "both or neither"),
    ):
        with pytest.raises(ValueError, match=message):
            learning_curve(model, X, **arguments)  # type: ignore[arg-type]
    assert model.size == 0
    assert decibels(0.0) == -math.inf


KINDS = (KLMS, QKLMS, NORMA, KNLMS, KAPA, ExKRLS, FixedBudgetKRLS)


@pytest.mark.filterwarnings("ignore:overflow")  # numpy's, without the compiler
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("taught", [False, True])
def test_a_sample_without_a_finite_similarity_is_refused(kind: Any, taught: bool) -> None:
    model = kind(Polynomial(2))
    if taught:
        model.learn_one({"a": 1.0}, 1.0)
    before = model.to_bytes()
    for x in ({"a": 1e90}, {"a": -1e200}, {"b": 1e90}):
        with pytest.raises(ValueError, match=r"no finite similarity k\(x, x\) at .*1e\+?(90|200)"):
            model.learn_one(x, 1.0)
    with pytest.raises(ValueError, match=r"no finite similarity k\(x, x\) at .*1e\+90"):
        model.learn_many([[1.0], [1e90]], [1.0, 1.0])
    assert model.to_bytes() == before
    model.learn_one({"a": 0.5}, 1.0)
    assert math.isfinite(model.predict_one({"a": 1.0}))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("kind", [KLMS, QKLMS])
def test_samples_whose_distances_have_no_square_do_not_exceed_the_limit(kind: Any) -> None:
    model = kind(RBF(1.0), max_size=1)
    for place in (1e200, -1e200, 3e200):
        model.learn_one({"a": place}, 1.0)
    assert model.size == 1


@pytest.mark.filterwarnings("ignore:overflow")  # numpy's, without the compiler
@pytest.mark.parametrize("kind", [KNLMS, KAPA])
def test_a_sample_with_squared_similarities_that_overflow_is_refused(kind: Any) -> None:
    """A normalized step divides by their sum: it would be zero, or no number."""
    model = kind(Polynomial(2))
    model.learn_one({"a": 1.0}, 1.0)
    before = model.to_bytes()
    for _ in range(3):
        with pytest.raises(ValueError, match=r"a step from there, is not finite"):
            model.learn_one({"a": 1e60}, 1.0)
    assert model.to_bytes() == before
    assert math.isfinite(model.predict_one({"a": 1.0}))


def test_a_refused_first_sample_leaves_no_trace() -> None:
    model = ExKRLS(Custom(negative))
    before = model.to_bytes()
    with pytest.raises(ValueError, match="a step from there, is not finite"):
        model.learn_one({"a": 1.0}, 1.0)
    assert model.to_bytes() == before


UNFIT = {"KLMS": KLMS, "QKLMS": QKLMS, "NORMA": NORMA, "KNLMS": KNLMS, "KAPA": KAPA}


@pytest.mark.parametrize("kind", UNFIT.values(), ids=UNFIT)
def test_the_features_of_a_refused_sample_stay_unknown(kind: Any) -> None:
    model = kind(AnovaSpline(1))
    for value in (0.1, 0.5, 0.9):
        model.learn_one({"a": value}, value)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"feature 'a' is -5\.0"):
        model.learn_one({"a": -5.0, "new": 1.0}, 1.0)
    assert model.to_bytes() == before


@pytest.mark.parametrize("name", FILTERS)
def test_a_prediction_leaves_no_trace_at_any_size(name: str) -> None:
    model = FILTERS[name].clone()
    X, y = stream()
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), target)
        before = model.to_bytes()
        model.predict_one(dict(enumerate(row)))
        assert model.to_bytes() == before


@pytest.mark.parametrize("x", [[1.0, 2.0], None, "red"])
def test_a_filter_takes_features_by_name(x: Any) -> None:
    model = KLMS(KERNEL)
    for ask in (lambda: model.learn_one(x, 1.0), lambda: model.predict_one(x)):
        with pytest.raises(TypeError, match="x must be a dict of features by name"):
            ask()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_numbers_are_not_cut_to_their_real_part() -> None:
    """Whatever is done with numpy's warning, which only the tests make an error."""
    model = KLMS(KERNEL)
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(TypeError, match=r"feature 'a' is np.complex128\(1\+2j\)"):
        model.learn_one({"a": np.complex128(1 + 2j)}, 1.0)
    with pytest.raises(TypeError, match=r"target y is np.complex128\(1\+2j\)"):
        model.learn_one({"a": 1.0}, np.complex128(1 + 2j))


# Kernels that a new feature changes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ExKRLS, FixedBudgetKRLS])
def test_an_inverse_refuses_a_feature_that_changes_all_of_it(kind: Any) -> None:
    model = kind(AnovaSpline(1, two_sided=True))
    for a, b in ((0.3, -0.6), (-0.5, -0.1), (0.9, 0.4)):
        model.learn_one({"a": a, "b": b}, a + b)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"feature 'c' is new, and with it the kernel AnovaSpline"):
        model.learn_one({"a": 0.1, "b": 0.2, "c": 0.3}, 1.0)
    assert model.to_bytes() == before
    model.learn_one({"a": 0.1}, 0.1)  # an absent one is zero
    assert math.isfinite(model.predict_one({"a": 0.1, "b": 0.2, "c": 0.3}))


def test_self_similarities_follow_a_kernel_that_a_new_feature_changes() -> None:
    """Coherence compares similarities of the wider kernel: as if the feature had been zero from the start."""
    late, early = (KNLMS(AnovaSpline(1, two_sided=True), 0.9, 0.5) for _ in range(2))
    late.learn_one({"a": 0.5}, 1.0)
    early.learn_one({"a": 0.5, "b": 0.0}, 1.0)
    late._vectors[0, 0] = early._vectors[0, 0]  # the coefficient was learned with the kernel of its time
    for a, b in ((0.4, 0.1), (-0.9, 0.8), (0.6, -0.3), (2.0, 1.0)):
        late.learn_one({"a": a, "b": b}, a - b)
        early.learn_one({"a": a, "b": b}, a - b)
    assert late.dictionary == early.dictionary
    assert late.size > 1
    np.testing.assert_allclose(late.coefficients, early.coefficients, rtol=1e-12)
