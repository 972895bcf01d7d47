"""Laws that every kernel obeys, over one list; and what a kernel refuses."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import importlib
import math
import pathlib
import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference as ref
from reference import JIT

from streamkernel import KRLS, KRR, HeteroscedasticKRLS, kernels
from streamkernel.kernels import (
    RBF,
    AnovaSpline,
    Constant,
    Custom,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Odd,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spline,
)
from streamkernel.kernels.base import KEPT_PROGRAMS

pytestmark = pytest.mark.core


def squared_product(x: Any, z: Any) -> float:
    return float((1.0 + x @ z) ** 2)


def cosine_columns(points: Any, x: Any) -> Any:
    return np.cos(points - x).sum(axis=1)


FUNCTIONS = {"squared_product": squared_product, "cosine_columns": cosine_columns}
ARD = (0.5, 1.0, 2.5)
NAMED = {2: 2.5, 0: 0.5, 1: 1.0}  # not in the order of the features

# Every kernel with its formula. Add a kernel here and every law below is tested on it.
FORMULAS: list[tuple[kernels.Kernel, Callable[[Any, Any], float]]] = [
    (RBF(0.8), lambda x, z: ref.rbf(x, z, 0.8)),
    (RBF(ARD), lambda x, z: ref.rbf(x, z, ARD)),
    (RBF(NAMED), lambda x, z: ref.rbf(x, z, ARD)),
    (Laplacian(1.3), lambda x, z: ref.laplacian(x, z, 1.3)),
    (Laplacian(ARD), lambda x, z: ref.laplacian(x, z, ARD)),
    (Matern32(0.7), lambda x, z: ref.matern32(x, z, 0.7)),
    (Matern32(NAMED), lambda x, z: ref.matern32(x, z, ARD)),
    (Matern52(1.1), lambda x, z: ref.matern52(x, z, 1.1)),
    (Matern52(ARD), lambda x, z: ref.matern52(x, z, ARD)),
    (RationalQuadratic(0.9, shape=1.7), lambda x, z: ref.rational_quadratic(x, z, 0.9, 1.7)),
    (RationalQuadratic(ARD, shape=0.4), lambda x, z: ref.rational_quadratic(x, z, ARD, 0.4)),
    (Periodic(1.2, period=2.3), lambda x, z: ref.periodic(x, z, 1.2, 2.3)),
    (Periodic(NAMED, period=0.7), lambda x, z: ref.periodic(x, z, ARD, 0.7)),
    (Linear(), ref.linear),
    (Polynomial(1), lambda x, z: ref.polynomial(x, z, 1)),
    (Polynomial(3), lambda x, z: ref.polynomial(x, z, 3)),
    (Polynomial(4, offset=0.3, scale=0.6), lambda x, z: ref.polynomial(x, z, 4, 0.3, 0.6)),
    (Spline(), ref.spline),
    (Spline(two_sided=True), ref.spline),
    (AnovaSpline(1), lambda x, z: ref.anova(x, z, 1)),
    (AnovaSpline(2), lambda x, z: ref.anova(x, z, 2)),
    (AnovaSpline(3), ref.spline),
    (AnovaSpline(2, two_sided=True), lambda x, z: ref.anova(x, z, 2)),
    (Constant(0.7), lambda x, z: 0.7),
    (Custom(squared_product), squared_product),
    (Custom(cosine_columns, vectorized=True), lambda x, z: float(np.cos(x - z).sum())),
    (RBF(1.0) + Linear(), lambda x, z: ref.rbf(x, z, 1.0) + ref.linear(x, z)),
    (RBF(1.0) * Periodic(1.0, period=3.0), lambda x, z: ref.rbf(x, z, 1.0) * ref.periodic(x, z, 1.0, 3.0)),
    (0.3 * Matern32(1.0), lambda x, z: 0.3 * ref.matern32(x, z, 1.0)),
    (RBF(1.0) + 0.5, lambda x, z: ref.rbf(x, z, 1.0) + 0.5),
    (2 + Linear() * 0.25, lambda x, z: 2.0 + 0.25 * ref.linear(x, z)),
    (
        (RBF(ARD) + 0.1 * Linear()) * (Constant(2.0) + AnovaSpline(2, two_sided=True)),
        lambda x, z: (ref.rbf(x, z, ARD) + 0.1 * ref.linear(x, z)) * (2.0 + ref.anova(x, z, 2)),
    ),
    (
        Linear() + (RBF(2.0) + (Polynomial(2) + (Constant(1.5) + AnovaSpline(3, two_sided=True)))),
        lambda x, z: ref.linear(x, z) + ref.rbf(x, z, 2.0) + ref.polynomial(x, z, 2) + 1.5 + ref.anova(x, z, 3),
    ),
    (Odd(RBF(ARD)), lambda x, z: 0.5 * (ref.rbf(x, z, ARD) - ref.rbf(x, -z, ARD))),
    (Odd(Matern32(0.8)), lambda x, z: 0.5 * (ref.matern32(x, z, 0.8) - ref.matern32(x, -z, 0.8))),
    (
        Odd(Periodic(1.2, period=2.3) * Polynomial(2) + AnovaSpline(2, two_sided=True)) + 0.2 * Linear(),
        lambda x, z: (
            0.5 * (ref.periodic(x, z, 1.2, 2.3) * ref.polynomial(x, z, 2) + ref.anova(x, z, 2))
            - 0.5 * (ref.periodic(x, -z, 1.2, 2.3) * ref.polynomial(x, -z, 2) + ref.anova(x, -z, 2))
            + 0.2 * ref.linear(x, z)
        ),
    ),
    (Odd(Odd(RBF(1.0))), lambda x, z: 0.5 * (ref.rbf(x, z, 1.0) - ref.rbf(x, -z, 1.0))),
    (
        Custom(squared_product) * RBF(1.0) + Custom(cosine_columns, vectorized=True),
        lambda x, z: squared_product(x, z) * ref.rbf(x, z, 1.0) + float(np.cos(x - z).sum()),
    ),
]
KERNELS = [kernel for kernel, _ in FORMULAS]
COUNT = 24 if JIT else 10  # no multiple of a register


def samples(kernel: kernels.Kernel, count: int = COUNT, seed: int = 0) -> Any:
    X = np.random.default_rng(seed).standard_normal((count, 3))
    return np.abs(X) if kernel.compile(range(3)).nonnegative else X


def each(cases: Any) -> Any:
    return pytest.mark.parametrize("kernel", cases, ids=repr)


def is_number(kernel: kernels.Kernel) -> bool:
    """Whether the kernel fits any number of features: no length scale of its own for each."""
    if isinstance(kernel, kernels.Sum | kernels.Product):
        return is_number(kernel.left) and is_number(kernel.right)
    if isinstance(kernel, Odd):
        return is_number(kernel.kernel)
    return isinstance(getattr(kernel, "length_scale", 1.0), float)


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda v: repr(v) if not callable(v) else "")
def test_values_are_the_formula(kernel: kernels.Kernel, formula: Any) -> None:
    X, Z = samples(kernel, 11), samples(kernel, 9, seed=1)
    np.testing.assert_allclose(kernel(X, Z), ref.gram(formula, X, Z), rtol=1e-12, atol=1e-13)


@each(KERNELS)
def test_symmetric_and_positive_semidefinite(kernel: kernels.Kernel) -> None:
    K = kernel(samples(kernel))
    np.testing.assert_allclose(K, K.T, rtol=1e-13, atol=1e-14)
    assert np.linalg.eigvalsh((K + K.T) / 2.0).min() >= -1e-11 * np.trace(K)


@each(KERNELS)
def test_columns_are_pairwise_values(kernel: kernels.Kernel) -> None:
    X = samples(kernel)
    pairs = np.array([[kernel(x[None], z[None])[0, 0] for z in X[:9]] for x in X[:9]])
    np.testing.assert_allclose(kernel(X[:9]), pairs, rtol=1e-13, atol=1e-14)


@each(KERNELS)
def test_diagonal(kernel: kernels.Kernel) -> None:
    X = samples(kernel)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X)), rtol=1e-13)


@each(KERNELS)
def test_gradients_are_finite_differences(kernel: kernels.Kernel) -> None:
    X, Z = samples(kernel, 5), samples(kernel, 9, seed=1)
    gradients, theta = kernel.gradients(X, Z), kernel.theta
    assert gradients.shape == (len(theta), 5, 9)
    for p, value in enumerate(theta):
        step = 1e-5 * value
        up, down = theta.copy(), theta.copy()
        up[p], down[p] = value + step, value - step
        expected = (kernel.with_theta(up)(X, Z) - kernel.with_theta(down)(X, Z)) / (2.0 * step)
        np.testing.assert_allclose(gradients[p], expected, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(expected).max()))


@each(KERNELS)
def test_gradients_of_a_point_with_itself_are_finite(kernel: kernels.Kernel) -> None:
    X = samples(kernel, 6)
    assert np.isfinite(kernel.gradients(X)).all()


@each([kernel for kernel in KERNELS if "Custom" not in repr(kernel)])
def test_renamed_features_keep_their_length_scales(kernel: kernels.Kernel) -> None:
    X, names = samples(kernel), ["z", "m", "a"]
    renamed = kernel.renamed(names)
    np.testing.assert_allclose(renamed(X[:, ::-1], features=names[::-1]), kernel(X), rtol=1e-12, atol=1e-13)


@each(KERNELS)
def test_theta_round_trip(kernel: kernels.Kernel) -> None:
    assert kernel.with_theta(kernel.theta) == kernel
    changed = kernel.with_theta(1.5 * kernel.theta)
    np.testing.assert_allclose(changed.theta, 1.5 * kernel.theta)
    assert (changed == kernel) == (len(kernel.theta) == 0)
    with pytest.raises(ValueError, match=f"theta must have {len(kernel.theta)} numbers, got {len(kernel.theta) + 1}"):
        kernel.with_theta([*kernel.theta, 1.0])


@each(KERNELS)
def test_copies_are_equal(kernel: kernels.Kernel) -> None:
    X = samples(kernel, 6)
    copies = [pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), copy.copy(kernel), kernel.clone()]
    for other in copies:
        assert other == kernel
        assert hash(other) == hash(kernel)
        assert repr(other) == repr(kernel)
        np.testing.assert_array_equal(other(X), kernel(X))


# `RBF({"a": 1.0, "b": 2.0}) + 0.1 * Polynomial(3)`, pickled when all kernels were in one file.
OLD_PICKLE = (
    b"\x80\x04\x95\x14\x01\x00\x00\x00\x00\x00\x00\x8c\x14streamkernel.kernels\x94\x8c\x03Sum\x94\x93\x94)\x81\x94}\x94("
    b"\x8c\x04left\x94h\x00\x8c\x03RBF\x94\x93\x94)\x81\x94}\x94\x8c\x0clength_scale\x94h\x00\x8c\x0cFrozenScales\x94\x93\x94}"
    b"\x94(\x8c\x01a\x94G?\xf0\x00\x00\x00\x00\x00\x00\x8c\x01b\x94G@\x00\x00\x00\x00\x00\x00\x00u\x85\x94R\x94sb\x8c\x05right\x94h"
    b"\x00\x8c\x07Product\x94\x93\x94)\x81\x94}\x94(h\x05h\x00\x8c\x08Constant\x94\x93\x94)\x81\x94}\x94\x8c\x05value\x94G?\xb9"
    b"\x99\x99\x99\x99\x99\x9asbh\x12h\x00\x8c\nPolynomial\x94\x93\x94)\x81\x94}\x94(\x8c\x06degree\x94K\x03\x8c\x06offset\x94G?"
    b"\xf0\x00\x00\x00\x00\x00\x00\x8c\x05scale\x94G?\xf0\x00\x00\x00\x00\x00\x00ububub."
)


def test_pickles_name_the_package_and_not_its_files() -> None:
    kernel = RBF({"a": 1.0, "b": 2.0}) + 0.1 * Polynomial(3)
    assert pickle.loads(OLD_PICKLE) == kernel
    assert b"streamkernel.kernels." not in pickle.dumps(kernel)
    for kind in {type(kernel) for kernel in KERNELS}:
        assert kind.__module__ == "streamkernel.kernels"


def test_every_example_in_the_docstrings_is_run() -> None:
    """Those of methods would not be: their class belongs to the package and their code to a file of it."""
    names = [module.name for module in pkgutil.iter_modules(kernels.__path__, "streamkernel.kernels.")]
    modules = [kernels, *map(importlib.import_module, names)]
    found = sum(len(test.examples) for module in modules for test in doctest.DocTestFinder().find(module))
    files = pathlib.Path(kernels.__path__[0]).glob("*.py")
    assert found == sum(path.read_text().count(">>> ") for path in files) > 10


# Programs are kept ----------------------------------------------------------------------------------------------------


def contents(compiled: kernels.Compiled) -> list[Any]:
    arrays = compiled.program, compiled.parameters
    return [*((array.dtype, array.tolist()) for array in arrays), *dataclasses.astuple(compiled)[2:]]


@each(KERNELS)
def test_a_kernel_is_compiled_once_for_the_same_features(kernel: kernels.Kernel) -> None:
    compiled = kernel.compile([0, 1, 2])
    before = repr(kernel), hash(kernel), dict(vars(kernel)), pickle.dumps(kernel), kernel._get_params()
    for features in ((0, 1, 2), range(3), [0, 1, 2]):
        assert kernel.compile(features) is compiled
    kernel(samples(kernel))
    kernel.diagonal(samples(kernel))
    kernel.gradients(samples(kernel, 3))
    assert kernel.compile((0, 1, 2)) is compiled
    assert (repr(kernel), hash(kernel), dict(vars(kernel)), pickle.dumps(kernel), kernel._get_params()) == before


def test_other_features_have_another_program() -> None:
    kernel = RBF({"a": 1.0, "b": 2.0})
    assert kernel.compile(["a", "b"]).parameters.tolist() == [1.0, 2.0, 0.0]
    assert kernel.compile(["b", "a"]).parameters.tolist() == [2.0, 1.0, 0.0]
    assert kernel.compile(["b"]).parameters.tolist() == [2.0, 0.0]
    names = ["a"]
    compiled = kernel.compile(names)
    names.append("b")  # the list of the caller is not what is remembered
    assert kernel.compile(["a"]) is compiled
    assert len(kernel.compile(names).parameters) == 3


def test_few_programs_are_kept() -> None:
    kernel = RBF(1.0)
    for width in range(100):
        kernel.compile(range(width))
    assert len(kernel._programs) == KEPT_PROGRAMS
    assert kernel.compile(range(99)) is kernel.compile(range(99))
    assert len(kernel.compile(range(7)).parameters) == 8


def test_a_kernel_that_cannot_be_compiled_keeps_nothing() -> None:
    kernel = RBF((1.0, 2.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="2 length scales"):
            kernel.compile(["a"])
    assert len(kernel.compile(["a", "b"]).parameters) == 3


@each(KERNELS)
def test_copies_carry_no_program(kernel: kernels.Kernel) -> None:
    compiled = kernel.compile(range(3))
    pickles = [pickle.dumps(kernel, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    assert not any(b"ompiled" in data or b"_programs" in data for data in pickles)
    copies = [copy.copy(kernel), copy.deepcopy(kernel), kernel.clone(), kernel.clone(include_attributes=True)]
    for other in copies + [pickle.loads(data) for data in pickles]:
        assert not hasattr(other, "_programs")
        assert other == kernel
        assert other.compile(range(3)) is not compiled
        assert contents(other.compile(range(3))) == contents(compiled)


def test_the_default_kernel_is_one_value_for_each_width() -> None:
    assert kernels.default(7) is kernels.default(7)
    assert kernels.default(7).compile(range(7)) is kernels.default(7).compile(range(7))


@each(KERNELS)
def test_nobody_writes_into_a_program(kernel: kernels.Kernel) -> None:
    """The arrays are shared by everyone who compiles the kernel."""
    compiled = kernel.compile(range(3))
    before = copy.deepcopy(contents(compiled))
    X = samples(kernel)
    y = X.sum(axis=1)
    kernel(X)
    kernel.diagonal(X)
    kernel.gradients(X[:3])
    learners = [
        KRLS(kernel, ridge=0.1, max_size=4),
        KRLS(kernel, ridge=0.1, forgetting=0.9),
        KRR(kernel, ridge=0.1, threshold=None),
        HeteroscedasticKRLS(kernel, max_size=4),
    ]
    for learner in learners:
        for x, target in zip(X.tolist(), y.tolist(), strict=True):
            learner.learn_one(dict(enumerate(x)), target)
            learner.predict_one(dict(enumerate(x)), with_dist=True)
        if not compiled.custom:  # where many samples are learned one by one
            learner.learn_many(X, y)
        learner.predict_many(X)
    assert kernel.compile(range(3)) is compiled
    assert contents(compiled) == before


@each(KERNELS)
def test_repr_can_be_read_again(kernel: kernels.Kernel) -> None:
    again = kernels.parse(repr(kernel), FUNCTIONS)
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert repr(again) == repr(kernel)
    assert str(kernel) == repr(kernel)


def test_kernels_are_equal_only_to_themselves() -> None:
    for i, left in enumerate(KERNELS):
        for j, right in enumerate(KERNELS):
            assert (left == right) == (i == j)
        assert left != repr(left)
    assert len(set(KERNELS)) == len(KERNELS)


def test_equal_kernels_have_equal_hashes() -> None:
    for left, right in [
        (RBF(1), RBF(1.0)),
        (RBF(np.float64(1.0)), RBF(1.0)),
        (RBF([1, 2]), RBF((1.0, 2.0))),
        (RBF(np.array([1.0, 2.0])), RBF((1.0, 2.0))),
        (RBF({"a": 1, "b": 2}), RBF({"b": 2.0, "a": 1.0})),
        (Polynomial(np.int64(3)), Polynomial(3)),
        (2 * Linear(), 2.0 * Linear()),
    ]:
        assert left == right
        assert hash(left) == hash(right)


@each(KERNELS)
def test_immutable(kernel: kernels.Kernel) -> None:
    for name, value in kernel._fields():
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(kernel, name, value)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(kernel, name)


@pytest.mark.parametrize(
    "change",
    [
        lambda scales: scales.__setitem__("a", 2.0),
        lambda scales: scales.__delitem__("a"),
        lambda scales: scales.update(a=2.0),
        lambda scales: scales.pop("a"),
        lambda scales: scales.popitem(),
        lambda scales: scales.clear(),
        lambda scales: scales.setdefault("c", 2.0),
        lambda scales: scales.__ior__({"a": 2.0}),
    ],
    ids=["set", "delete", "update", "pop", "popitem", "clear", "setdefault", "ior"],
)
def test_named_length_scales_are_immutable(change: Any) -> None:
    kernel = RBF({"a": 1.0, "b": 3.0})
    with pytest.raises((TypeError, AttributeError)):
        change(kernel.length_scale)
    assert kernel == RBF({"a": 1.0, "b": 3.0})


def test_a_kernel_does_not_keep_its_arguments() -> None:
    scales, named = [1.0, 2.0], {"a": 1.0}
    tuple_kernel, named_kernel = RBF(scales), RBF(named)
    scales[0], named["a"] = 9.0, 9.0
    assert tuple_kernel == RBF((1.0, 2.0))
    assert named_kernel == RBF({"a": 1.0})


@each(KERNELS)
def test_composition(kernel: kernels.Kernel) -> None:
    X = samples(kernel)
    K, other = kernel(X), Matern32(1.5)
    np.testing.assert_allclose((kernel + other)(X), K + other(X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose((other + kernel)(X), K + other(X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose((kernel * other)(X), K * other(X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose((3 * kernel)(X), 3.0 * K, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose((kernel * 0.5)(X), 0.5 * K, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose((kernel + 2)(X), K + 2.0, rtol=1e-13)
    np.testing.assert_allclose((2.0 + kernel)(X), K + 2.0, rtol=1e-13)
    np.testing.assert_allclose((kernel * kernel + kernel)(X), K * K + K, rtol=1e-12, atol=1e-14)
    assert np.float64(3.0) * kernel == 3.0 * kernel
    assert np.float64(3.0) + kernel == 3.0 + kernel


@pytest.mark.parametrize("kind", [RBF, Laplacian, Matern32, Matern52, RationalQuadratic])
def test_ard_is_a_rescaling_of_the_inputs(kind: Any) -> None:
    X = np.random.default_rng(3).standard_normal((COUNT, 3))
    expected = kind(1.0)(X / np.array(ARD))
    np.testing.assert_allclose(kind(ARD)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(kind(NAMED)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(kind(2.0)(X), kind(1.0)(X / 2.0), rtol=1e-12)
    names = ["u", "v", "w"]
    np.testing.assert_allclose(kind(dict(zip(names, ARD, strict=True)))(X, features=names), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [RBF, Laplacian, Matern32, Matern52, RationalQuadratic, Periodic])
def test_an_infinite_length_scale_switches_a_feature_off(kind: Any) -> None:
    X = np.random.default_rng(3).standard_normal((COUNT, 3))
    kernel = kind((0.5, math.inf, 2.0))
    np.testing.assert_allclose(kernel(X), kind((0.5, 2.0))(X[:, [0, 2]]), rtol=1e-12)
    np.testing.assert_array_equal(kernel.gradients(X)[1], 0.0)
    assert kernels.parse(repr(kernel)) == kernel
    named = kind({"a": math.inf})
    assert kernels.parse(repr(named)) == named


@each([kernel for kernel in KERNELS if is_number(kernel) and not kernel.depends_on_width])
def test_a_feature_that_is_zero_everywhere_changes_nothing(kernel: kernels.Kernel) -> None:
    X = samples(kernel)
    wider = np.column_stack([X[:, :1], np.zeros(len(X)), X[:, 1:], np.zeros(len(X))])
    np.testing.assert_allclose(kernel(wider), kernel(X), rtol=1e-13, atol=1e-14)


def test_width_matters_for_anova_and_custom_only() -> None:
    depends = {repr(kernel) for kernel in KERNELS if kernel.depends_on_width}
    assert depends == {repr(kernel) for kernel in KERNELS if "Anova" in repr(kernel) or "Custom" in repr(kernel)}


def test_a_length_scale_for_a_feature_that_is_not_there_is_inert() -> None:
    X = samples(RBF(1.0), 6)
    kernel = RBF({**NAMED, "more": 1.0})
    np.testing.assert_allclose(kernel(X), RBF(ARD)(X), rtol=1e-13)
    gradients = kernel.gradients(X)
    assert gradients.shape[0] == len(kernel.theta) == 4
    np.testing.assert_array_equal(gradients[3], 0.0)
    np.testing.assert_allclose(gradients[0], RBF(ARD).gradients(X)[2], rtol=1e-12)


def test_far_points_are_dissimilar_and_finite() -> None:
    """Distances whose squares overflow."""
    X = np.array([[0.0, 0.0, 0.0], [1e200, 0.0, 0.0], [-1e200, 1e200, 0.0], [1e155, 3.0, 0.0]])
    for kind in (RBF, Laplacian, Matern32, Matern52, RationalQuadratic):
        with np.errstate(over="ignore"):  # numpy warns where the jitted code does not
            K = kind(1.0)(X)
        assert np.isfinite(K).all(), kind
        np.testing.assert_allclose(K, np.eye(4), atol=1e-9)


def test_two_sided_splines_agree_with_the_one_sided_on_their_domain() -> None:
    X = np.abs(np.random.default_rng(5).standard_normal((COUNT, 3)))
    np.testing.assert_allclose(Spline(two_sided=True)(X), Spline()(X), rtol=1e-13)
    np.testing.assert_allclose(AnovaSpline(2, two_sided=True)(X), AnovaSpline(2)(X), rtol=1e-13)


def test_empty_inputs() -> None:
    for kernel in (RBF(1.0), Linear(), Polynomial(2), Spline(), RBF(1.0) + Linear(), Custom(squared_product)):
        assert kernel(np.empty((0, 3)), np.ones((4, 3))).shape == (0, 4)
        assert kernel(np.ones((4, 3)), np.empty((0, 3))).shape == (4, 0)
        assert kernel.diagonal(np.empty((0, 3))).shape == (0,)
    np.testing.assert_array_equal(RBF(1.0)(np.empty((2, 0))), np.ones((2, 2)))
    np.testing.assert_array_equal(Linear()(np.empty((2, 0))), np.zeros((2, 2)))


def test_default() -> None:
    assert kernels.default(4) == RBF(2.0)
    assert kernels.default(1) == kernels.default(0) == RBF(1.0)


# What is refused ------------------------------------------------------------------------------------------------------

STATIONARY = [RBF, Laplacian, Matern32, Matern52, RationalQuadratic, Periodic]
BAD_SCALES: list[Any] = [0, 0.0, -1, -1e-9, math.nan, -math.inf, True, "1", None, 1j, (1.0, 0.0), (1.0, "2"), {"a": -3}]


@pytest.mark.parametrize("kind", STATIONARY)
@pytest.mark.parametrize("value", BAD_SCALES, ids=repr)
def test_bad_length_scales_are_named(kind: Any, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        kind(value)
    message = str(caught.value)
    assert kind.__name__ in message
    assert "length_scale" in message
    wrong = value["a"] if isinstance(value, dict) else value[1] if isinstance(value, tuple) else value
    assert repr(wrong) in message
    if isinstance(value, dict):
        assert "'a'" in message


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RationalQuadratic(1.0, shape=0.0), "RationalQuadratic shape 0.0"),
        (lambda: RationalQuadratic(1.0, shape=math.inf), "RationalQuadratic shape inf"),
        (lambda: Periodic(1.0, period=-2.0), "Periodic period -2.0"),
        (lambda: Periodic(1.0, period="day"), "Periodic period 'day'"),
        (lambda: Constant(0.0), "Constant value 0.0"),
        (lambda: Constant(-1), "Constant value -1"),
        (lambda: Constant(math.nan), "Constant value nan"),
        (lambda: Polynomial(0), "Polynomial degree 0"),
        (lambda: Polynomial(10**20), "Polynomial degree 100000000000000000000"),
        (lambda: AnovaSpline(10**11), "AnovaSpline order 100000000000"),
        (lambda: Polynomial(2.5), "Polynomial degree 2.5"),
        (lambda: Polynomial(True), "Polynomial degree True"),
        (lambda: Polynomial("2"), "Polynomial degree '2'"),
        (lambda: Polynomial(2, offset=-0.1), "Polynomial offset -0.1"),
        (lambda: Polynomial(2, scale=0.0), "Polynomial scale 0.0"),
        (lambda: AnovaSpline(0), "AnovaSpline order 0"),
        (lambda: AnovaSpline(1.0), "AnovaSpline order 1.0"),
        (lambda: Custom("name"), "Custom function 'name'"),
        (lambda: 0 * RBF(1.0), "Constant value 0"),
        (lambda: RBF(1.0) * -2, "Constant value -2"),
        (lambda: Spline(two_sided="no"), "Spline two_sided 'no'"),
        (lambda: AnovaSpline(2, two_sided=3), "AnovaSpline two_sided 3"),
        (lambda: Custom(squared_product, vectorized="x"), "Custom vectorized 'x'"),
        (lambda: Odd(1.0), "Odd kernel 1.0"),
        (lambda: Odd(RBF(1.0) + Custom(squared_product)), "Odd kernel Custom(squared_product)"),
        (lambda: Odd(2 * Spline()), "Odd kernel Spline()"),
        (lambda: kernels.parse("Odd(1.0)"), "Odd(1.0)"),
        (lambda: kernels.parse("Odd(RBF(1.0), 2)"), "Odd one kernel"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_arguments_are_named(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    for word in words.split():
        assert word in str(caught.value)


@pytest.mark.parametrize("other", ["a", None, True, 1j, [1.0], np.ones(2)], ids=repr)
def test_a_kernel_combines_with_kernels_and_numbers_only(other: Any) -> None:
    for combine in (
        lambda a, b: a + b,
        lambda a, b: b + a,
        lambda a, b: a * b,
        lambda a, b: b * a,
    ):
        with pytest.raises(TypeError):
            combine(RBF(1.0), other)


@pytest.mark.parametrize("kernel", [Spline(), AnovaSpline(2), RBF(1.0) + 0.5 * Spline()], ids=repr)
def test_a_spline_names_a_negative_input(kernel: kernels.Kernel) -> None:
    X, names = np.array([[0.0, 1.0], [2.0, -0.5]]), ["a", "b"]
    for call in (
        lambda: kernel(X, features=names),
        lambda: kernel(np.abs(X), X, features=names),
        lambda: kernel.diagonal(X, features=names),
        lambda: kernel.gradients(X, features=names),
    ):
        with pytest.raises(ValueError, match=r"feature 'b' is -0\.5.*nonnegative"):
            call()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=r"X\[1, 0\] is"):
        RBF(1.0)([[0.0], [bad]])
    with pytest.raises(ValueError, match=r"Z\[0, 0\] is"):
        RBF(1.0)([[0.0]], [[bad]])


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="X must have two dimensions"):
        RBF(1.0)([1.0, 2.0])
    with pytest.raises(ValueError, match="X has 2 features but Z has 1"):
        RBF(1.0)([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="X has 2 features but Z has 1"):
        RBF(1.0).gradients([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="2 columns but 1 feature names"):
        RBF(1.0)([[1.0, 2.0]], features=["a"])
    with pytest.raises(ValueError, match="RBF has 2 length scales but the data have 1 features"):
        RBF((1.0, 2.0))([[1.0]])
    with pytest.raises(ValueError, match="RBF has no length_scale for feature 'c'"):
        RBF({"a": 1.0, "b": 1.0})([[1.0, 2.0]], features=["a", "c"])
    with pytest.raises(ValueError, match="order is 3 but the data have only 2 features"):
        AnovaSpline(3)([[1.0, 2.0]])
    with pytest.raises(ValueError, match="returned shape"):
        Custom(lambda points, x: 1.0, vectorized=True)([[1.0, 2.0]])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "RBF",
        "RBF(1.0",
        "1.0",
        "2 + 3",
        "rbf(1.0)",
        "RBF(one)",
        "RBF(1.0) - RBF(2.0)",
        "RBF(1.0) / 2",
        "-1 * RBF(1.0)",
        "0 * RBF(1.0)",
        "RBF(-1.0)",
        "RBF('1')",
        "RBF(1.0, 2.0, 3.0)",
        "RBF(width=1.0)",
        "RBF(*[1.0])",
        "RBF(**{'length_scale': 1.0})",
        "RBF(1.0).theta",
        "RBF(1.0)([[1.0]])",
        "kernels.RBF(1.0)",
        "__import__('os').system('true')",
        "print(1) + RBF(1.0)",
        "RBF(__import__('os').getpid())",
        "RBF([x for x in (1.0, 2.0)])",
        "[RBF(1.0) for _ in (1,)]",
        "(lambda: RBF(1.0))()",
        "RBF(1.0) if True else Linear()",
        "(k := RBF(1.0))",
        "RBF(1.0); Linear()",
        "import os",
        "True * RBF(1.0)",
        "'a' * RBF(1.0)",
        "1j * RBF(1.0)",
        "RBF({[]: 1.0})",
        "RBF({'a': {}})",
        "RBF(1.0)\x00",
        "Custom(unknown)",
        "Custom()",
        "Custom(squared_product.__globals__)",
        "Sum(RBF(1.0), RBF(2.0))",
        "Kernel()",
        "_Leaf()",
        "f'{RBF(1.0)}'",
        "1 + " * 5000 + "RBF(1.0)",
        "(" * 300 + "RBF(1.0)" + ")" * 300,
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_parse_refuses_everything_else(text: str) -> None:
    with pytest.raises(ValueError):  # and no other error: a checkpoint's header is read so
        kernels.parse(text, FUNCTIONS)


def test_parse_reads_what_a_person_writes() -> None:
    assert kernels.parse(" RBF( length_scale = 2 ) ") == RBF(2.0)
    assert kernels.parse("RBF([1, 2])") == RBF((1.0, 2.0))
    assert kernels.parse("2*RBF(1)+Linear()") == 2 * RBF(1.0) + Linear()
    assert kernels.parse("RBF(1) * (Linear() + 1)") == RBF(1.0) * (Linear() + 1)
    assert kernels.parse("Custom(squared_product, vectorized=False)", FUNCTIONS) == Custom(squared_product)
    assert kernels.parse("RBF({'a': 1, ('b', 2): inf, 3: 2.5})") == RBF({"a": 1, ("b", 2): math.inf, 3: 2.5})


def test_a_local_function_has_a_readable_name() -> None:
    """What a checkpoint writes must be readable when the function is passed by that name."""

    def local(x: Any, z: Any) -> float:
        return float(x @ z)

    kernel = Custom(local)
    name = repr(kernel)[len("Custom(") : -1]
    assert kernels.parse(repr(kernel), {name: local}) == kernel
