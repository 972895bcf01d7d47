"""Bad input: a clear error that names the feature and the value, and no state changed. Odd but good input works."""

from __future__ import annotations

import fractions
import math
import warnings
from typing import Any

import numpy as np
import pytest

from streamkernel import KRLS, kernels
from streamkernel.kernels import RBF, AnovaSpline, Custom, Laplacian, Linear, Matern32, Matern52, Polynomial, Spline


def stream(n: int = 25, seed: int = 0) -> list[tuple[dict[str, float], float]]:
    rng = np.random.default_rng(seed)
    return [({"a": a, "b": b}, math.sin(3.0 * a) + b) for a, b in rng.uniform(0.0, 2.0, (n, 2)).tolist()]


def taught(kernel: Any = None, **parameters: Any) -> KRLS:
    model = KRLS(RBF(1.0) if kernel is None else kernel, **parameters)
    for x, y in stream():
        model.learn_one(x, y)
    return model


class unchanged:
    """The model's bytes and predictions are the same before and after."""

    def __init__(self, model: KRLS) -> None:
        self.model = model

    def look(self) -> Any:
        x = {"a": 0.3, "b": 0.7} if self.model.size else {}
        return self.model.to_bytes(), self.model.predict_one(x), self.model.size, self.model.dictionary

    def __enter__(self) -> None:
        self.before = self.look()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None:
            assert self.look() == self.before


VARIANTS = {
    "fresh": lambda: KRLS(RBF(1.0)),
    "taught": taught,
    "ridge": lambda: taught(ridge=0.1, forgetting=0.99),
    "bounded": lambda: taught(ridge=0.1, max_size=5),
    "default": lambda: _default(),
    "spline": lambda: taught(Spline()),
    "custom": lambda: taught(Custom(product), ridge=0.1),
}


def _default() -> KRLS:
    model = KRLS()
    for x, y in stream():
        model.learn_one(x, y)
    return model


def product(x: Any, z: Any) -> float:
    return float((1.0 + x @ z) ** 2)


BAD_VALUES: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    np.float64("inf"),
    "1.5",
    "red",
    b"1",
    None,
    1j,
    np.complex128(1 + 2j),
    [1.0],
    {"x": 1.0},
    np.ones(2),
    object,
    10**400,
]


def show(value: Any) -> str:
    return f"{type(value).__name__}:{repr(value)[:12]}"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("value", BAD_VALUES, ids=show)
def test_bad_features_of_one_sample(variant: str, value: Any) -> None:
    model = VARIANTS[variant]()
    samples = [{"a": 1.0, "b": value}, {"b": value}, {"a": 1.0, "b": 1.0, "new": value}, {"new": value}]
    for x in samples:
        name = "new" if "new" in x else "b"
        with unchanged(model):
            for call in (
                lambda x=x: model.learn_one(x, 1.0),
                lambda x=x: model.predict_one(x),
                lambda x=x: model.predict_one(x, with_dist=True),
            ):
                with pytest.raises((ValueError, TypeError), match=f"'{name}'"):
                    call()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("value", [*BAD_VALUES, 1e155, -1e300, 1e151], ids=show)
def test_bad_targets_of_one_sample(variant: str, value: Any) -> None:
    model = VARIANTS[variant]()
    for x in ({"a": 1.0, "b": 0.5}, {"a": 1.0}, {"a": 1.0, "b": 0.5, "new": 2.0}, {}):
        with unchanged(model), pytest.raises((ValueError, TypeError), match="target y"):
            model.learn_one(x, value)


@pytest.mark.parametrize("value", [1.01e100, 0.99e-100, 1e200])
def test_weights_have_limits_also_where_no_rounding_error_shows_it(value: float) -> None:
    """At the origin a linear function is known whatever the noise."""
    model = taught(Linear(), ridge=0.1)
    with unchanged(model), pytest.raises(ValueError, match="weight w"):
        model.learn_one({"a": 0.0, "b": 0.0}, 0.0, w=value)
    model.learn_one({"a": 0.0, "b": 0.0}, 0.0, w=min(max(value, 1e-100), 1e100))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 0.0, -1.0, -0.0, math.nan, math.inf, "1", None, 1j, 1e-320, 10**400], ids=show)
def test_bad_weights(value: Any) -> None:
    model = taught()
    for x in ({"a": 1.0, "b": 0.5}, {"a": 1.0}, {"a": 1.0, "b": 0.5, "new": 2.0}):
        with unchanged(model), pytest.raises((ValueError, TypeError), match="weight w"):
            model.learn_one(x, 1.0, w=value)
    with unchanged(model), pytest.raises((ValueError, TypeError), match=r"\bw\b"):
        model.learn_many(np.ones((3, 2)), np.ones(3), [1.0, value, 1.0])


@pytest.mark.parametrize("x", [None, 3.0, "ab", [1.0, 2.0], np.ones(2)], ids=show)
def test_a_sample_is_a_mapping(x: Any) -> None:
    model = taught()
    with unchanged(model):
        for call in (lambda: model.learn_one(x, 1.0), lambda: model.predict_one(x)):
            with pytest.raises((TypeError, AttributeError, ValueError, IndexError)):
                call()


# Many samples ---------------------------------------------------------------------------------------------------------


def frame(kind: str, column: list[Any]) -> Any:
    if kind == "list":
        return [[0.5, value] for value in column]
    if kind == "array":
        return np.array([[0.5, value] for value in column])
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": [0.5] * len(column), "b": column})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["list", "array", "pandas"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "1.5", "red", None, 1j, b"1"], ids=show)
def test_bad_features_of_many_samples(kind: str, value: Any) -> None:
    model = taught()
    X = frame(kind, [0.1, 0.2, value, 0.3])
    with unchanged(model):
        for call in (lambda: model.learn_many(X, np.ones(4)), lambda: model.predict_many(X)):
            with pytest.raises((ValueError, TypeError)) as caught:
                call()
            message = str(caught.value)
            assert "'b'" in message or "feature 1" in message or "X" in message
            if not (kind == "array" and isinstance(value, str | bytes)):  # one text makes the whole array text
                assert "nan" in message or repr(value) in message or str(value) in message


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [math.nan, -math.inf, "1.5", "red", None, 1j, 1e151, -1e300], ids=show)
def test_bad_targets_of_many_samples(value: Any) -> None:
    model = taught()
    X = np.random.default_rng(0).uniform(0.0, 1.0, (60, 2))
    for y in ([0.0] * 59 + [value], np.array([0.0] * 59 + [value])):
        with unchanged(model), pytest.raises((ValueError, TypeError), match=r"\by\b"):
            model.learn_many(X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.ones(3), np.ones(3), "X two dimensions (3,)"),
        (np.ones((3, 2, 1)), np.ones(3), "X two dimensions (3, 2, 1)"),
        (1.0, 1.0, ""),
        (None, None, ""),
        (np.ones((3, 2)), np.ones(2), "y (3) (2,)"),
        (np.ones((3, 2)), np.ones((3, 1)), "y (3) (3, 1)"),
        (np.ones((3, 2)), 1.0, "y (3) ()"),
        ([[1.0, 2.0], [3.0]], [1.0, 2.0], "X"),
    ],
    ids=str,
)
def test_wrong_shapes(X: Any, y: Any, words: str) -> None:
    model = taught()
    with unchanged(model):
        with pytest.raises((ValueError, TypeError)) as caught:
            model.learn_many(X, y)
        for word in words.split():
            assert word in str(caught.value)
    with unchanged(model), pytest.raises(ValueError, match=r"w must hold one number per row"):
        model.learn_many(np.ones((3, 2)), np.ones(3), np.ones(4))


# Outside a kernel's domain --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Spline(), AnovaSpline(2), RBF(1.0) + 0.1 * Spline()], ids=repr)
def test_a_spline_refuses_negative_inputs(kernel: kernels.Kernel) -> None:
    model = taught(kernel)
    for x in ({"a": 1.0, "b": -0.25}, {"b": -0.25}, {"a": 1.0, "b": 1.0, "new": -0.25}):
        name = "new" if "new" in x else "b"
        with unchanged(model):
            for call in (
                lambda x=x: model.learn_one(x, 1.0),
                lambda x=x: model.predict_one(x),
                lambda x=x: model.predict_one(x, with_dist=True),
            ):
                with pytest.raises(ValueError, match=rf"feature '{name}' is -0\.25"):
                    call()
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [0.5, 1.0, 0.2], "b": [0.1, -0.25, 0.3]})
    with unchanged(model):
        for many in (lambda: model.learn_many(X, np.ones(3)), lambda: model.predict_many(X)):
            with pytest.raises(ValueError, match=r"feature 'b' is -0\.25"):
                many()


@pytest.mark.parametrize("kernel", [Polynomial(3), Linear(), Spline(), RBF(1.0) * Linear()], ids=repr)
@pytest.mark.parametrize("value", [1e200, 1e308])
def test_similarities_that_overflow(kernel: kernels.Kernel, value: float) -> None:
    """Finite features of which the kernel makes infinity."""
    for model in (KRLS(kernel), taught(kernel)):
        for x in ({"a": value, "b": 1.0}, {"b": value}, {"a": 1.0, "b": 1.0, "new": value}, {"new": value}):
            with unchanged(model), pytest.raises(ValueError, match=r"1e\+?(200|308)"):
                model.learn_one(x, 1.0)
        with unchanged(model), pytest.raises(ValueError, match=r"1e\+?(200|308)"):
            model.learn_many(np.array([[0.5, 1.0]] * 40 + [[value, 1.0]]), np.ones(41))
        with unchanged(model):  # a prediction is refused, or finite
            message, prediction = "", 0.0
            try:
                prediction = model.predict_one({"a": value, "b": 1.0})
            except ValueError as error:
                message = str(error)
            assert math.isfinite(prediction)
            assert not message or "1e+" in message


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", [RBF(1.0), Laplacian(1.0), Matern32(1.0), Matern52(1.0)], ids=repr)
def test_far_away_is_no_error_for_a_stationary_kernel(kernel: kernels.Kernel) -> None:
    one, many = taught(kernel), taught(kernel)
    for value in (1e100, 1e160, -1e300):
        x = {"a": value, "b": 1.0}
        assert one.predict_one(x) == 0.0
        one.learn_one(x, 2.0)
        many.learn_many(_named([[value, 1.0]]), [2.0])
        assert one.predict_one(x) == pytest.approx(2.0)
        assert many.predict_one(x) == pytest.approx(2.0)


def _named(rows: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, columns=["a", "b"])


def test_a_batch_with_one_unusable_row_leaves_no_trace() -> None:
    """Also where the trouble shows only between two rows, in the middle of the batch."""
    rng = np.random.default_rng(1)
    for kernel, bad in [
        (Polynomial(2), [1e160, 0.0]),
        (RBF((1.0, math.inf)), [0.0, 1.7e308]),
        (Matern32(1.0), [1e200, 0.0]),
        (kernels.Periodic(1.0), [1.7e308, 0.0]),
    ]:
        model = KRLS(kernel)
        X = rng.uniform(0.0, 1.0, (60, 2))
        X[20] = bad
        X[21] = [-value for value in bad]
        before = model.to_bytes()
        try:
            model.learn_many(X, X[:, 1].clip(-1.0, 1.0))
        except ValueError:
            assert model.to_bytes() == before
        assert np.isfinite(model.predict_many(X[:20])).all()


@pytest.mark.parametrize("result", [math.nan, math.inf, -1.0, "text", None])
def test_a_custom_kernel_that_misbehaves(result: Any) -> None:
    broken = False

    def function(x: Any, z: Any) -> Any:
        return result if broken else product(x, z)

    model = taught(Custom(function), ridge=0.1)
    state = model._model.__getstate__()
    for x in ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0, "new": 1.0}):
        broken = True
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x, 1.0)
        with pytest.raises((ValueError, TypeError)):
            model.learn_many(np.ones((2, 2)), np.ones(2))
        broken = False
        for key, value in model._model.__getstate__().items():
            np.testing.assert_array_equal(value, state[key], err_msg=key)


def test_a_custom_kernel_that_raises() -> None:
    broken = False

    def function(x: Any, z: Any) -> float:
        if broken:
            raise RuntimeError("of its own")
        return product(x, z)

    model = taught(Custom(function), ridge=0.1)
    state = model._model.__getstate__()
    broken = True
    for x in ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0, "new": 1.0}):
        with pytest.raises(RuntimeError, match="of its own"):
            model.learn_one(x, 1.0)
    for key, value in model._model.__getstate__().items():
        np.testing.assert_array_equal(value, state[key], err_msg=key)


@pytest.mark.parametrize("kernel", [RBF((1.0, 2.0)), RBF({"a": 1.0, "b": 2.0})], ids=repr)
def test_a_feature_without_length_scale_is_refused(kernel: kernels.Kernel) -> None:
    model = taught(kernel)
    with unchanged(model):
        for call in (
            lambda: model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0),
            lambda: model.predict_one({"a": 1.0, "b": 1.0, "c": 1.0}),
            lambda: model.learn_many(np.ones((2, 3)), np.ones(2)),
            lambda: model.predict_many(np.ones((2, 3))),
        ):
            with pytest.raises(ValueError, match=r"length.scale"):
                call()


# Constructor arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "RBF"}, "kernel 'RBF'"),
        ({"kernel": RBF}, "kernel RBF"),
        ({"kernel": 1.0}, "kernel 1.0"),
        ({"threshold": -1e-9}, "threshold -1e-09"),
        ({"threshold": math.nan}, "threshold nan"),
        ({"threshold": math.inf}, "threshold inf"),
        ({"threshold": "0.1"}, "threshold '0.1'"),
        ({"threshold": None}, "threshold None"),
        ({"threshold": True}, "threshold True"),
        ({"ridge": -1.0}, "ridge -1.0"),
        ({"ridge": math.inf}, "ridge inf"),
        ({"ridge": 1j}, "ridge 1j"),
        ({"forgetting": 0.0}, "forgetting 0.0"),
        ({"forgetting": 1.0001}, "forgetting 1.0001"),
        ({"forgetting": -0.5}, "forgetting -0.5"),
        ({"forgetting": math.nan}, "forgetting nan"),
        ({"forget": "fast"}, "forget 'fast' 'prior' 'walk'"),
        ({"forget": None}, "forget None"),
        ({"max_size": 0}, "max_size 0"),
        ({"max_size": -3}, "max_size -3"),
        ({"max_size": 2.5}, "max_size 2.5"),
        ({"max_size": True}, "max_size True"),
        ({"max_size": "10"}, "max_size '10'"),
    ],
    ids=str,
)
def test_constructor_arguments(parameters: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        KRLS(**parameters)
    for word in words.split():
        assert word in str(caught.value)


def test_numpy_numbers_are_numbers() -> None:
    model = KRLS(RBF(np.float32(1.0)), np.float64(1e-3), np.float32(0.5), np.float64(0.5), "prior", np.int64(4))
    for x, y in stream():
        model.learn_one(x, y)
    assert model.size <= 4
    assert KRLS.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


# Odd but good ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kind", [float, np.float64, np.float32, np.float16, int, bool, np.int8, np.bool_, fractions.Fraction]
)
def test_numbers_of_other_types(kind: Any) -> None:
    model, plain = KRLS(RBF(1.0)), KRLS(RBF(1.0))
    for i in range(20):
        a, b, y = i % 2, (i // 2) % 2, (i // 3) % 2
        x = {"a": kind(a), "b": kind(b)}
        model.learn_one(x, kind(y))
        plain.learn_one({"a": float(a), "b": float(b)}, float(y))
        assert type(model.predict_one(x)) is float
        assert model.predict_one(x) == plain.predict_one({"a": float(a), "b": float(b)})
    assert model.to_bytes() == plain.to_bytes()


def test_the_empty_sample() -> None:
    for kernel in (None, RBF(1.0), Linear(), Polynomial(2), Spline(), AnovaSpline(2), RBF((1.0, 2.0)), Custom(product)):
        model = KRLS(kernel, ridge=0.1)
        assert model.predict_one({}) == 0.0
        for _ in range(3):
            model.learn_one({}, 5.0)
        assert math.isfinite(model.predict_one({}))
        if kernel is None or kernel == RBF(1.0):
            assert model.dictionary == [{}]
            assert model.predict_one({}) == pytest.approx(5.0, rel=0.1)
        for x, y in stream():
            model.learn_one(x, y)
            assert math.isfinite(model.predict_one(x))
        assert math.isfinite(model.predict_one({}))


def test_an_absent_feature_is_zero() -> None:
    sparse, full = KRLS(RBF(1.0)), KRLS(RBF(1.0))
    rng = np.random.default_rng(2)
    for i in range(60):
        a, b, c = rng.uniform(-1.0, 1.0, 3).tolist()
        x = {"a": a, "b": b if i % 3 else 0.0, "c": c if i % 4 == 0 else 0.0}
        sparse.learn_one({name: value for name, value in x.items() if value}, a + b)
        full.learn_one(x, a + b)
    x = {"b": 0.4}
    assert sparse.predict_one(x) == pytest.approx(full.predict_one({"a": 0.0, "b": 0.4, "c": 0.0}), rel=1e-9)
    assert sparse.size == full.size


@pytest.mark.parametrize("kernel", [RBF(1.0), Matern32(1.0), Linear() + 1, Polynomial(2)], ids=repr)
def test_new_features_do_not_disturb_what_was_learned(kernel: kernels.Kernel) -> None:
    model = taught(kernel, ridge=0.1)
    before = [model.predict_one(x) for x, _ in stream()]
    coefficients = model.coefficients
    model.learn_one({"a": 0.3, "b": 0.2, "aa": 50.0}, 1.0)
    np.testing.assert_allclose(model.coefficients[: len(coefficients)].shape, coefficients.shape)
    if kernel in (RBF(1.0), Matern32(1.0)):  # the new sample is far away
        np.testing.assert_allclose([model.predict_one(x) for x, _ in stream()], before, atol=1e-6)
    assert list(model.dictionary[0]) == ["a", "aa", "b"]
    assert model.dictionary[0]["aa"] == 0.0


@pytest.mark.parametrize("kernel", [None, AnovaSpline(2), AnovaSpline(2, two_sided=True)], ids=repr)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_kernel_that_changes_with_the_features_keeps_the_function(kernel: Any, ridge: float) -> None:
    """The posterior of the function at the dictionary survives new features."""
    model = KRLS(kernel, 1e-3, ridge)
    for x, y in stream(60):
        model.learn_one(x, y)
    size = model.size
    values = {tuple(x.values()): model.predict_one(x) for x in model.dictionary}
    wide = {"a": 1.0, "b": 1.0, "c": 2.0, "d": 0.5}
    before = model.to_bytes()
    assert math.isfinite(model.predict_one(wide))
    many = model.predict_many(_wide([wide]))
    assert np.asarray(many)[0] == pytest.approx(model.predict_one(wide), rel=1e-9)
    assert model.to_bytes() == before
    model.learn_many(_wide([]), [])
    copy = KRLS.from_bytes(model.to_bytes())
    copy._model.adopt(("a", "b", "c", "d"))
    assert 1 <= copy.size <= size
    for x in copy.dictionary:
        assert copy.predict_one(x) == pytest.approx(values[x["a"], x["b"]], rel=1e-6, abs=1e-6)
    for x, y in stream(60, seed=3):
        model.learn_one({**x, "c": x["a"] / 2.0, "d": 0.1}, y)
    errors = [model.predict_one({**x, "c": x["a"] / 2.0, "d": 0.1}) - y for x, y in stream(60, seed=3)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.4


def _wide(rows: list[dict[str, float]]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, columns=["a", "b", "c", "d"], dtype=float)


def test_the_default_kernel_is_that_of_all_features_seen() -> None:
    grown, known = KRLS(ridge=0.1), KRLS(RBF(2.0), ridge=0.1)
    grown.learn_one({"a": 1.0}, 1.0)
    grown.learn_one({"a": 1.0, "b": 0.5, "c": 2.0, "d": 1.0}, 2.0)
    known.learn_one({"a": 1.0, "b": 0.5, "c": 2.0, "d": 1.0}, 2.0)
    D = np.array([list(x.values()) for x in grown.dictionary])
    np.testing.assert_allclose(
        RBF(2.0)([[0.0, 0.0, 0.0, 1.0]], D) @ grown.coefficients, grown.predict_one({"d": 1.0}), rtol=1e-9
    )


@pytest.mark.parametrize(
    "names", [("a", 1), (1, "a", 2.5), (("x", 1), "x", 3), (None, "a"), (10, 9, "8"), ("b", b"b")], ids=repr
)
def test_names_of_mixed_types(names: tuple[Any, ...]) -> None:
    model, plain = KRLS(RBF(1.0)), KRLS(RBF(1.0))
    rng = np.random.default_rng(4)
    for i in range(30):
        values = rng.uniform(-1.0, 1.0, len(names)).tolist()
        items = list(zip(names, values, strict=True))
        model.learn_one(dict(items[::-1] if i % 2 else items), sum(values))
        plain.learn_one(dict(enumerate(values)), sum(values))
        assert model.predict_one(dict(items)) == pytest.approx(plain.predict_one(dict(enumerate(values))), rel=1e-8)
    # one more name, of which the sorted order of the others may change
    model.learn_one({**dict(items), "zz": 1.0}, 1.0)
    assert set(model.dictionary[0]) == {*names, "zz"}


def test_predictions_do_not_change_the_model() -> None:
    for make in VARIANTS.values():
        model = make()
        with unchanged(model), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "the model knows none of the features")
            for x in ({}, {"a": 1.0}, {"new": 3.0}, {"a": 1.0, "b": 0.5}, {"a": 1.0, "b": 0.5, "c": 0.5}):
                model.predict_one(x)
                model.predict_one(x, with_dist=True)
            model.predict_many(np.abs(np.random.default_rng(0).standard_normal((5, 3))))


def test_learning_goes_on_after_every_refusal() -> None:
    """A stream with bad samples in between ends where the clean stream ends."""
    for make in (lambda: KRLS(RBF(1.0), ridge=0.1, forgetting=0.98, max_size=8), lambda: KRLS(Spline()), KRLS):
        dirty, clean = make(), make()
        for i, (x, y) in enumerate(stream(80, seed=5)):
            bad = BAD_VALUES[i % len(BAD_VALUES)]
            calls: list[tuple[Any, tuple[Any, ...]]] = [
                (dirty.learn_one, ({**x, "a": bad}, y)),
                (dirty.learn_one, (x, bad)),
                (dirty.learn_one, (x, y, -1.0)),
                (dirty.predict_one, ({"b": bad},)),
                (dirty.learn_many, ([[1.0, bad]], [1.0])),
            ]
            for call, arguments in calls:
                with pytest.raises((ValueError, TypeError)):
                    call(*arguments)
            dirty.learn_one(x, y)
            clean.learn_one(x, y)
        assert dirty.to_bytes() == clean.to_bytes()
