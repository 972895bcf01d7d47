"""The evidence and the leave-one-out error of a kernel: values against dense formulas, slopes against differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from streamkernel import KRLS, criteria, kernels
from streamkernel.criteria import Expression, Gaussian, evidence, fit, fit_dictionary, leave_one_out

CRITERIA = [evidence, leave_one_out]
NAMES = ("a", "b", "c")


def samples(count: int = 30, outputs: int = 1, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, len(NAMES))) * [1.0, 3.0, 0.2] + [0.0, 5.0, -1.0]
    wave = np.column_stack([np.sin(X[:, 0] + k) + 0.1 * X[:, 1] for k in range(outputs)])
    return X, wave + 0.1 * rng.normal(size=wave.shape)


FAMILIES = {
    "scales": lambda X: Gaussian(X, NAMES, trend=False),
    "scales, trend": lambda X: Gaussian(X, NAMES),
    "one scale": lambda X: Gaussian(X, NAMES, per_feature=False, trend=False),
    "one scale, trend": lambda X: Gaussian(X, NAMES, per_feature=False),
    "RBF": lambda X: Expression(X, NAMES, kernels.RBF(2.0)),
    "named scales": lambda X: Expression(X, NAMES, kernels.RBF({"a": 1.0, "b": 2.0, "c": math.inf}) + 0.5),
    "sum": lambda X: Expression(X, NAMES, kernels.Matern52(2.0) + 0.3 * kernels.Linear()),
    "product": lambda X: Expression(X, NAMES, kernels.RationalQuadratic(2.0) * kernels.Polynomial(2) + 0.1),
}


def value(family: Any, criterion: Any, targets: Any, point: Any) -> float:
    gram, _ = family.gram(point[:-1])
    return float(criterion(gram + math.exp(point[-1]) * np.eye(len(gram)), targets)[0])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_are_those_of_the_values(name: str, criterion: Any, outputs: int) -> None:
    X, targets = samples(outputs=outputs)
    family = FAMILIES[name](X)
    rng = np.random.default_rng(1)
    point = np.append(family.center + 0.3 * rng.normal(size=len(family.center)), math.log(0.05))
    gram, shape = family.gram(point[:-1])
    gram = gram + math.exp(point[-1]) * np.eye(len(gram))
    _, weights = criterion(gram, targets)
    slope = np.append(family.slope(point[:-1], shape, weights), math.exp(point[-1]) * np.trace(weights))
    step, numeric = 1e-4, np.empty(len(point))
    for r, unit in enumerate(np.eye(len(point))):
        near, far = (
            (value(family, criterion, targets, point + h * unit) - value(family, criterion, targets, point - h * unit))
            / (2.0 * h)
            for h in (step, 2.0 * step)
        )
        numeric[r] = (4.0 * near - far) / 3.0  # fourth order
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("outputs", [1, 2])
def test_leave_one_out_is_leaving_out(outputs: int) -> None:
    X, targets = samples(20, outputs)
    gram, ridge = (kernels.RBF(2.0) + 1.0)(X), 0.1
    squares = 0.0
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        coefficients = np.linalg.solve(gram[np.ix_(rest, rest)] + ridge * np.eye(len(X) - 1), targets[rest])
        squares += float(((targets[i] - gram[i, rest] @ coefficients) ** 2).sum())
    expected = 0.5 * targets.size * math.log(squares / targets.size)
    assert leave_one_out(gram + ridge * np.eye(len(X)), targets)[0] == pytest.approx(expected, rel=1e-10)


def test_evidence_is_the_likelihood_at_its_best_amplitude() -> None:
    X, targets = samples(20, 2)
    noisy = (kernels.RBF(2.0) + 1.0)(X) + 0.1 * np.eye(len(X))

    def surprise(log_amplitude: float) -> float:
        normal = stats.multivariate_normal(cov=math.exp(log_amplitude) * noisy)
        return -float(sum(normal.logpdf(column) for column in targets.T))

    best = optimize.minimize_scalar(surprise, bounds=(-5.0, 5.0), method="bounded", options={"xatol": 1e-9})
    constant = 0.5 * targets.size * (1.0 + math.log(2.0 * math.pi))
    assert evidence(noisy, targets)[0] + constant == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_amplitudes_do_not_matter(criterion: Any) -> None:
    X, targets = samples()
    noisy = kernels.RBF(2.0)(X) + 0.1 * np.eye(len(X))
    small, _ = criterion(noisy, targets)
    large, _ = criterion(noisy, 1e3 * targets)
    assert large - small == pytest.approx(targets.size * math.log(1e3), rel=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_does_not_end_above_its_start(name: str, criterion: Any) -> None:
    X, targets = samples(40, seed=2)
    family = FAMILIES[name](X)
    start = np.append(family.center, math.log(criteria.RIDGE_CENTER))
    found = fit(family, targets, criterion)
    # At the start, the prior's center, the prior is zero.
    assert found.value <= value(family, criterion, targets, start)
    away = (found.point - start) / np.append(family.spread, criteria.RIDGE_SPREAD)
    assert found.value == pytest.approx(value(family, criterion, targets, found.point) + 0.5 * float(away @ away))
    assert found.ridge == pytest.approx(math.exp(found.point[-1]))
    again = fit(family, targets, criterion, start=found.point, descents=2)
    assert again.value <= found.value + 1e-9 * abs(found.value)


def test_more_starts_do_not_end_higher() -> None:
    X, targets = samples(40, seed=3)
    family = Gaussian(X, NAMES)
    one = fit(family, targets)
    assert fit(family, targets, widths=(1.0, 0.3, 3.0), descents=3).value <= one.value


def test_the_budget_of_evaluations_bounds_the_work() -> None:
    X, targets = samples(40, seed=3)
    calls = []

    def counted(noisy: Any, columns: Any) -> Any:
        calls.append(1)
        return evidence(noisy, columns)

    fit(Gaussian(X, NAMES), targets, counted, max_evaluations=5)
    assert len(calls) <= 5 + 20  # scipy ends after the line search in which the budget is spent


@pytest.mark.parametrize("per_feature", [False, True])
@pytest.mark.parametrize("trend", [False, True])
def test_the_kernel_of_a_point_has_the_gram_of_the_point(per_feature: bool, trend: bool) -> None:
    X, _ = samples()
    family = Gaussian(X, NAMES, per_feature, trend)
    point = family.center + 0.2
    np.testing.assert_allclose(family.kernel(point)(X, features=NAMES), family.gram(point)[0], rtol=1e-9, atol=1e-12)
    wide = family.widened(np.append(point, 0.0), 2.0)[:-1]
    assert family.kernel(wide) != family.kernel(point)
    assert (family.kernel(wide)(X, features=NAMES) >= family.kernel(point)(X, features=NAMES) - 1e-12).all()


def test_another_shape_with_the_same_scales() -> None:
    X, _ = samples()
    family = Gaussian(X, NAMES, trend=False)
    gaussian, rough = family.kernel(family.center), family.kernel(family.center, kernels.Laplacian, 3.0)
    assert isinstance(gaussian, kernels.Sum) and isinstance(rough, kernels.Sum)
    assert isinstance(rough.left, kernels.Laplacian) and isinstance(gaussian.left, kernels.RBF)
    assert {name: pytest.approx(3.0 * scale) for name, scale in gaussian.left.length_scale.items()} == (  # type: ignore[union-attr]
        rough.left.length_scale
    )


def test_constant_features_take_no_part() -> None:
    X, targets = samples()
    flat = np.column_stack([X[:, 0], np.full(len(X), 7.0), X[:, 2]])
    family = Gaussian(flat, NAMES, trend=False)
    assert len(family.center) == 3  # two scales and the level
    found = fit(family, targets)
    scales = found.kernel.left.length_scale  # type: ignore[attr-defined]
    assert scales["b"] == math.inf and scales["a"] < math.inf
    alone = fit(Gaussian(flat[:, [0, 2]], ("a", "c"), trend=False), targets)
    assert found.value == pytest.approx(alone.value, rel=1e-9)


def test_a_search_without_a_prior_ends_at_the_criterion_itself_and_stays_in_its_bounds() -> None:
    X, targets = samples(40, seed=2)
    family = Expression(X, NAMES, kernels.RBF(2.0), reach=(-0.1, 0.1))
    start = np.append(family.start, math.log(0.5))
    found, point = criteria.descend(family, targets, evidence, [start, start + 50.0], (0.2, 1.0), tolerance=1e-9)
    assert found == pytest.approx(value(family, evidence, targets, point), rel=1e-12)
    assert found < value(family, evidence, targets, start)
    assert abs(point[0] - family.start[0]) <= 0.1 + 1e-12
    assert math.log(0.2) <= point[1] <= 0.0


def test_nothing_varies() -> None:
    family = Gaussian(np.ones((6, 2)), ("a", "b"))
    assert np.isfinite(fit(family, np.arange(6.0)[:, None]).value)


def test_irrelevant_features_get_long_scales() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 3))
    found = fit(Gaussian(X, NAMES, trend=False), np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(100, 1)))
    scales = found.kernel.left.length_scale  # type: ignore[attr-defined]
    assert scales["a"] < 0.3 * min(scales["b"], scales["c"])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_samples_without_noise_do_not_send_the_ridge_to_zero(criterion: Any) -> None:
    X = np.linspace(-1.0, 1.0, 15)[:, None]
    found = fit(Gaussian(X, ("a",)), X**2, criterion)
    assert np.isfinite(found.value) and found.ridge >= criteria.RIDGE_RANGE[0] * (1.0 - 1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_duplicates_and_a_singular_start(criterion: Any) -> None:
    X, targets = samples(10)
    found = fit(Gaussian(np.repeat(X, 5, axis=0), NAMES), np.repeat(targets, 5, axis=0), criterion)
    assert np.isfinite(found.value)
    singular = fit(Expression(1e150 * X, NAMES, kernels.Linear()), targets, criterion)
    assert singular.value == criteria.HOPELESS or np.isfinite(singular.value)


@pytest.mark.parametrize("size", [10, 30])
def test_the_threshold_makes_a_dictionary_of_about_that_size(size: int) -> None:
    rng = np.random.default_rng(5)
    X, kernel = rng.uniform(size=(300, 3)), kernels.RBF(0.5)
    threshold, unseen = fit_dictionary(kernel(X), 1e-9, size)
    model = KRLS(kernel, threshold, 0.1)
    model.learn_many(X, rng.normal(size=300))
    # A stream takes samples as they come and not the least explained first: it needs a few more or less.
    assert 0.7 * size <= model.size <= 1.5 * size
    assert 0.0 < unseen < threshold


def test_a_threshold_that_is_large_enough_stays() -> None:
    gram = kernels.RBF(0.5)(np.random.default_rng(6).uniform(size=(50, 2)))
    assert fit_dictionary(gram, 0.5, 40) == (0.5, 0.0)
    assert fit_dictionary(gram, 1e-3, 50) == (1e-3, 0.0)
    assert fit_dictionary(gram.copy(), 1e-6, 5) == fit_dictionary(gram, 1e-6, 5)  # the matrix is left as it was


def test_level_and_trend_alone() -> None:
    X, _ = samples()
    family = Gaussian(X, NAMES)
    point = family.center
    rest = family.kernel(point)(X, features=NAMES) - family.gram(point)[1]
    np.testing.assert_allclose(family.straight(point)(X, features=NAMES), rest, rtol=1e-9, atol=1e-12)


def test_further_starts_are_taken_as_they_are() -> None:
    X, targets = samples(40, seed=3)
    family = Gaussian(X, NAMES)
    best = fit(family, targets, widths=(1.0, 0.3, 3.0), descents=3)
    assert fit(family, targets, others=[best.point]).value <= best.value  # the better of two starts is descended from
