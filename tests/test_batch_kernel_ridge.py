"""KRR, KAAR, IKAAR and CKAAR in batch against the paper's own systems of equations, and the identities between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from streamkernel import kernels
from streamkernel.batch.kernel_ridge import KernelRidge, shrinkage

METHODS = ("krr", "kaar", "ikaar", "ckaar")
KERNELS = (kernels.RBF(0.7), kernels.Polynomial(3), kernels.Spline(), kernels.AnovaSpline(2))


# The paper's equations as printed: one system of ℓ + 1 equations for every new signal.


def solve_krr(kernel, X, y, x, ridge):
    """Eq. (9)."""
    return y @ np.linalg.solve(ridge * np.eye(len(X)) + kernel(X), kernel(X, x))[:, 0]


def solve_pair(kernel, X, y, x, ridge, outcome):
    """Eqs. (10) and (12): the pair (x, outcome) is added to the training set."""
    extended = np.vstack([X, x])
    system = ridge * np.eye(len(extended)) + kernel(extended)
    return np.append(y, outcome) @ np.linalg.solve(system, kernel(extended, x))[:, 0]


def solve_ikaar(kernel, X, y, x, ridge, iterations):
    """Eq. (11), iterated from γ⁽⁰⁾ = 0."""
    prediction = 0.0
    for _ in range(iterations):
        prediction = solve_pair(kernel, X, y, x, ridge, prediction)
    return prediction


def solve_ckaar(kernel, X, y, x, ridge, control):
    """Eq. (28)."""
    scale = np.append(np.ones(len(X)), math.sqrt(control))
    extended = np.vstack([X, x])
    system = ridge * np.eye(len(extended)) + scale[:, None] * kernel(extended) * scale
    return np.append(y, 0.0) @ np.linalg.solve(system, scale * kernel(extended, x)[:, 0])


def random_case(seed):
    """Samples in the unit cube, targets, a new sample, and α, n and β."""
    random = np.random.default_rng(seed)
    count, features = int(random.integers(1, 30)), int(random.integers(2, 6))
    X, x = random.uniform(0, 1, (count, features)), random.uniform(0, 1, (1, features))
    y = random.normal(0, 10.0 ** random.uniform(-2, 2), count)
    return X, y, x, 10.0 ** random.uniform(-4, 2), int(random.integers(1, 12)), random.uniform(0, 1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_closed_forms_equal_the_printed_systems(kernel):
    for seed in range(200):
        X, y, x, ridge, iterations, control = random_case(seed)
        model = KernelRidge(kernel, ridge=ridge, iterations=iterations, control=control, center=False).fit(X, y)
        expected = {
            "krr": solve_krr(kernel, X, y, x, ridge),
            "kaar": solve_pair(kernel, X, y, x, ridge, 0.0),
            "ikaar": solve_ikaar(kernel, X, y, x, ridge, iterations),
            "ckaar": solve_ckaar(kernel, X, y, x, ridge, control),
        }
        for method, value in model.predict_all(x).items():
            assert value[0] == pytest.approx(expected[method], rel=1e-9, abs=1e-9), (seed, method)
            assert clone(model).set_params(method=method).fit(X, y).predict(x)[0] == value[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_limits_of_iterations_and_control(kernel):
    for seed in range(50):
        X, y, x, ridge, _, _ = random_case(seed)
        strong = KernelRidge(kernel, ridge=ridge, iterations=1, control=1, center=False).fit(X, y).predict_all(x)
        weak = KernelRidge(kernel, ridge=ridge, iterations=1e12, control=0, center=False).fit(X, y).predict_all(x)
        for method in ("ikaar", "ckaar"):
            assert strong[method] == pytest.approx(strong["kaar"], rel=1e-9)
            assert weak[method] == pytest.approx(weak["krr"], rel=1e-9)


def test_predictions_lie_between_kaar_and_krr_and_grow_with_iterations():
    u = np.geomspace(1e-6, 1e6, 50)
    previous = shrinkage("kaar", u, 1, 1)
    for iterations in (1.0, 1.5, 2.0, 7.0, 1e3):
        factor = shrinkage("ikaar", u, iterations, 1)
        assert (factor >= previous - 1e-15).all()
        assert (factor <= 1).all()
        previous = factor
    assert (shrinkage("ikaar", u, math.inf, 1) == 1).all()


def solve_pair_with_bias(kernel, X, y, x, ridge, weight, outcome):
    """f(x) of the system with an unpenalized bias, the pair (x, outcome) added with this weight."""
    extended, count = np.vstack([X, x]), len(X) + 1
    system = np.ones((count + 1, count + 1))
    system[:count, :count] = kernel(extended) + np.diag(np.append(np.full(len(X), ridge), ridge / weight))
    system[count, count] = 0.0
    solution = np.linalg.solve(system, np.concatenate([y, [outcome, 0.0]]))
    return kernel(x, extended)[0] @ solution[:count] + solution[count]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("center", [False, True])
def test_with_a_bias_the_pair_is_added_to_the_system_with_a_bias(kernel, center):
    for seed in range(30):
        X, y, x, ridge, iterations, control = random_case(seed)
        mean = y.mean() if center else 0.0
        model = KernelRidge(kernel, ridge=ridge, iterations=iterations, control=control, center=center, bias=True)
        predictions = model.fit(X, y).predict_all(x)
        case = kernel, X, y - mean, x, ridge
        iterated = 0.0
        for _ in range(iterations):
            iterated = solve_pair_with_bias(*case, 1.0, iterated)
        expected = {
            "kaar": solve_pair_with_bias(*case, 1.0, 0.0),
            "ikaar": iterated,
            "ckaar": solve_pair_with_bias(*case, control, 0.0),
        }
        for method, value in expected.items():
            assert predictions[method][0] == pytest.approx(value + mean, rel=1e-8, abs=1e-8), (seed, method)
        # KRR is the outcome that, given as the target of x, is predicted at x.
        fixed = solve_pair_with_bias(*case, 1.0, predictions["krr"][0] - mean)
        assert predictions["krr"][0] == pytest.approx(fixed + mean, rel=1e-8, abs=1e-8)


def brute_force_leave_one_out(model, X, y):
    residuals = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        other = clone(model).set_params(ridge=model.ridge_, ridge_scale="absolute").fit(X[rest], y[rest])
        residuals.append(y[i] - other.predict(X[[i]])[0])
    return np.array(residuals)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_leave_one_out_equals_brute_force(kernel, method, center, bias):
    random = np.random.default_rng(3)
    X, y = random.uniform(0, 1, (25, 3)), random.normal(5, 2, 25)
    model = KernelRidge(kernel, method, 1e-2, "relative", 3.5, 0.3, center, bias).fit(X, y)
    expected = brute_force_leave_one_out(model, X, y)
    np.testing.assert_allclose(model.leave_one_out_residuals_, expected, rtol=1e-8, atol=1e-9)
    mean, sd = model.predict(X, return_std=True)
    assert sd == pytest.approx(np.sqrt(np.mean(expected**2)))
    np.testing.assert_array_equal(mean, model.predict(X))


# The identities of the online algorithm, where every sample is predicted from those before it.


def prequential(kernel, X, y, ridge):
    """p, u before each sample by a fit on the prefix: the slow and obvious way."""
    plain, u = [0.0], [kernel.diagonal(X[:1])[0] / ridge]
    for t in range(1, len(X)):
        model = KernelRidge(kernel, ridge=ridge, control=1.0, center=False).fit(X[:t], y[:t])
        krr, kaar = (model.predict_all(X[[t]])[method][0] for method in ("krr", "kaar"))
        plain.append(krr)
        weights = np.linalg.solve(kernel(X[:t]) + ridge * np.eye(t), kernel(X[:t], X[[t]])[:, 0])
        u.append((kernel.diagonal(X[[t]])[0] - kernel(X[[t]], X[:t])[0] @ weights) / ridge)
        assert kaar == pytest.approx(krr / (1 + u[-1]), rel=1e-9, abs=1e-12)
    return np.array(plain), np.array(u)


def adversarial_targets(kernel, X, ridge, bound=1.0):
    """Every target as far as it may be from the KRR prediction."""
    y = np.zeros(len(X))
    for t in range(len(X)):
        model = KernelRidge(kernel, ridge=ridge, center=False)
        prediction = model.fit(X[:t], y[:t]).predict(X[[t]])[0] if t else 0.0
        y[t] = -bound if prediction > 0 else bound
    return y


def streams():
    random = np.random.default_rng(11)
    X = random.uniform(0, 1, (40, 3))
    yield "smooth", kernels.RBF(0.5), X, np.sin(4 * X[:, 0]) * X[:, 1], 0.1
    yield "noisy", kernels.RBF(0.5), X, np.sin(4 * X[:, 0]) + random.normal(0, 2, 40), 0.1
    yield "random", kernels.Spline(), X, random.choice([-1.0, 1.0], 40), 0.3
    yield "outliers", kernels.AnovaSpline(2), X, random.standard_t(1, 40), 1.0
    for kernel, ridge in ((kernels.RBF(0.5), 0.01), (kernels.Polynomial(4), 0.1), (kernels.Spline(), 1.0)):
        yield "adversarial", kernel, X, adversarial_targets(kernel, X, ridge), ridge
    # One tiny input with a large target, then a far one: KRR extrapolates a hundredfold.
    far = np.array([[0.01], [1.0], [0.01], [1.0]])
    yield "extrapolation", kernels.Linear(), far, np.array([1.0, -1.0, 1.0, -1.0]), 1e-6
    repeated = np.repeat(X[:4], 10, axis=0)
    yield "repeated", kernels.RBF(0.5), repeated, random.choice([-1.0, 1.0], 40), 0.1


STREAMS = {f"{name}-{kernel!r}": rest for name, *rest in streams() for kernel in rest[:1]}


@pytest.mark.parametrize("name", STREAMS)
def test_identities_of_the_online_losses(name):
    kernel, X, y, ridge = STREAMS[name]
    p, u = prequential(kernel, X, y, ridge)
    s, gram, Y = u / (1 + u), kernel(X), np.abs(y).max()
    alpha = np.linalg.solve(gram + ridge * np.eye(len(X)), y)
    fitted = gram @ alpha
    best = ((y - fitted) ** 2).sum() + ridge * alpha @ fitted  # M = min L(f) + α‖f‖²
    log_determinant = np.linalg.slogdet(np.eye(len(X)) + gram / ridge)[1]
    loss = {
        (method, control): ((y - p * shrinkage(method, u, 1, control)) ** 2).sum()
        for method in ("krr", "kaar", "ckaar")
        for control in (0.51, 0.6, 0.8, 1.0)
    }
    kaar = loss["kaar", 1.0]

    assert ((y - p) ** 2 / (1 + u)).sum() == pytest.approx(best, rel=1e-9)
    assert np.log1p(u).sum() == pytest.approx(log_determinant, rel=1e-9)
    assert best + (s * y**2).sum() - (s * (1 - s) * p**2).sum() == pytest.approx(kaar, rel=1e-9)
    assert kaar <= best + Y**2 * log_determinant * (1 + 1e-12)
    for control in (0.51, 0.6, 0.8, 1.0):
        ratio = control**2 / (2 * control - 1)
        assert loss["ckaar", control] <= best + Y**2 * (ratio * u / (1 + ratio * u)).sum() * (1 + 1e-12)
    clipped = p.clip(-Y, Y)
    for method in METHODS:
        for strength in (0.05, 0.5, 1.0):
            factor = shrinkage(method, u, 1 / strength, strength)
            assert ((y - clipped * factor) ** 2).sum() <= best + 4 * Y**2 * s.sum() * (1 + 1e-12)


def test_where_krr_exceeds_the_bound_kaar_does_not():
    exceeded = []
    for name, (kernel, X, y, ridge) in STREAMS.items():
        p, u = prequential(kernel, X, y, ridge)
        best, bound = ((y - p) ** 2 / (1 + u)).sum(), (y**2).max() * np.log1p(u).sum()
        assert ((y - p / (1 + u)) ** 2).sum() <= best + bound
        if ((y - p) ** 2).sum() > best + bound:
            exceeded.append(name)
    assert any(name.startswith("extrapolation") for name in exceeded)
    assert len(exceeded) >= 2, exceeded


# The kernels of section 4.3.


@pytest.mark.parametrize("features", [1, 2, 5, 9])
def test_anova_of_full_order_is_the_product_spline(features):
    X = np.random.default_rng(features).uniform(0, 1, (20, features))
    for two_sided in (False, True):
        Z = X - 0.5 if two_sided else X
        product, full = kernels.Spline(two_sided=two_sided)(Z), kernels.AnovaSpline(features, two_sided=two_sided)(Z)
        np.testing.assert_allclose(full, product, rtol=1e-12)


@pytest.mark.parametrize("features", [1, 3, 8])
def test_splines_are_positive_semi_definite(features):
    random = np.random.default_rng(features)
    unit, anywhere = random.uniform(0, 1, (60, features)), random.normal(0, 5, (60, features))
    for order in range(1, features + 1):
        for kernel, X in (
            (kernels.Spline(), unit),
            (kernels.AnovaSpline(order), unit),
            (kernels.Spline(two_sided=True), anywhere),
            (kernels.AnovaSpline(order, two_sided=True), anywhere),
        ):
            values = np.linalg.eigvalsh(kernel(X))
            assert values[0] >= -1e-12 * values[-1], kernel
    np.testing.assert_allclose(kernels.Spline(two_sided=True)(unit), kernels.Spline()(unit), rtol=1e-14)


def test_one_sided_splines_refuse_negative_inputs():
    X, y = np.array([[0.1], [0.5], [0.9]]), np.array([1.0, 2.0, 3.0])
    model = KernelRidge(kernels.Spline(), "kaar").fit(X, y)
    with pytest.raises(ValueError, match=r"feature 0 is -0\.1"):
        model.predict([[-0.1]])
    assert np.isfinite(KernelRidge(kernels.Spline(two_sided=True), "kaar").fit(X, y).predict([[-0.1]])).all()


# The estimator.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bias", [False, True])
def test_scikit_learn_checks(method, bias):
    check_estimator(KernelRidge(method=method, bias=bias), on_skip=None)


def test_relative_ridge_is_scaled_by_the_mean_of_the_diagonal():
    X, y = np.random.default_rng(0).uniform(0, 1, (30, 2)), np.arange(30.0)
    kernel = kernels.Polynomial(3)
    relative = KernelRidge(kernel, "kaar", ridge=0.1, ridge_scale="relative").fit(X, y)
    assert relative.ridge_ == pytest.approx(0.1 * kernel.diagonal(X).mean())
    absolute = KernelRidge(kernel, "kaar", ridge=relative.ridge_).fit(X, y)
    np.testing.assert_array_equal(absolute.predict(X), relative.predict(X))


def test_length_scales_by_feature_name_do_not_depend_on_the_column_order():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(30, 2)), columns=["b", "a"])
    y = np.sin(frame["a"].to_numpy()) + frame["b"].to_numpy()
    named = KernelRidge(kernels.RBF({"a": 0.5, "b": 3.0}), "kaar").fit(frame, y)
    swapped = KernelRidge(kernels.RBF((0.5, 3.0)), "kaar").fit(frame[["a", "b"]], y)
    np.testing.assert_allclose(named.predict(frame), swapped.predict(frame[["a", "b"]]), rtol=1e-12)
    unsorted = KernelRidge(kernels.RBF((0.5, 3.0)), "kaar").fit(frame, y)
    np.testing.assert_allclose(named.predict(frame), unsorted.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("center", [False, True])
def test_to_stream_continues_from_the_fit(method, center):
    random = np.random.default_rng(5)
    X, y = random.normal(size=(50, 3)), random.normal(4, 1, 50)
    parameters = {"method": method, "iterations": 3.5, "control": 0.3, "center": center, "ridge": 0.2}
    start = KernelRidge(kernels.RBF(1.2), ridge_scale="relative", **parameters).fit(X[:30], y[:30])
    stream = start.to_stream()
    rows = [dict(enumerate(row)) for row in X.tolist()]
    for x, expected in zip(rows, start.predict(X), strict=True):
        assert stream.predict_one(x) == pytest.approx(expected, rel=1e-9)
    for x, target in zip(rows[30:], y[30:].tolist(), strict=True):
        stream.learn_one(x, target)
    # A refit on everything with the mean of the first fit, which the stream keeps.
    whole = KernelRidge(kernels.RBF(1.2), **{**parameters, "center": False}).fit(X, y - start.mean_)
    for x, expected in zip(rows, whole.predict(X) + start.mean_, strict=True):
        assert stream.predict_one(x) == pytest.approx(expected, rel=1e-9)


def test_to_stream_keeps_names_and_bounds():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(5)
    frame = pandas.DataFrame(random.normal(size=(30, 2)), columns=["b", "a"])
    model = KernelRidge(kernels.RBF({"a": 0.5, "b": 3.0}), "kaar", ridge=0.01, center=False).fit(
        frame, np.sin(frame["a"].to_numpy())
    )
    stream = model.to_stream()
    np.testing.assert_allclose(stream.predict_many(frame), model.predict(frame), rtol=1e-9)
    assert stream.size == 30
    assert model.to_stream(threshold=0.1).size < 30
    assert model.to_stream(max_size=7).size == 7
    with pytest.raises(ValueError, match="bias must be False for to_stream"):
        KernelRidge(bias=True).fit(frame, np.arange(30.0)).to_stream()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "kar"}, "method must be one of 'krr', 'kaar', 'ikaar', 'ckaar', got 'kar'"),
        ({"ridge": 0.0}, "ridge must be a number > 0, got 0.0"),
        ({"ridge": math.nan}, "ridge must be"),
        ({"ridge": True}, "ridge must be"),
        ({"ridge_scale": "mean"}, "ridge_scale must be one of 'absolute', 'relative', got 'mean'"),
        ({"iterations": 0}, "iterations must be a number > 0, got 0"),
        ({"iterations": "many"}, "iterations must be"),
        ({"control": -0.5}, "control must be a number >= 0, got -0.5"),
        (
            {"kernel": kernels.Linear(), "ridge": 0.01, "ridge_scale": "relative"},
            r"mean diagonal of Linear\(\), which is 0.0",
        ),
        ({"kernel": "rbf"}, "kernel must be one of streamkernel.kernels or None, got 'rbf'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KernelRidge(**parameters).fit(np.zeros((3, 2)), np.ones(3))


def test_leave_one_out_needs_two_samples():
    with pytest.raises(ValueError, match="at least 2 samples, got 1"):
        _ = KernelRidge().fit([[1.0]], [2.0]).leave_one_out_residuals_
