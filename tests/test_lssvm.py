"""The streaming LS-SVM classifier: against a dense solve, classes that emerge, river's checks."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from river import checks, datasets, evaluate, metrics, preprocessing

from streamkernel import LSSVMClassifier
from streamkernel.kernels import RBF
from streamkernel.learners.lssvm import softmax


def blobs(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    X = rng.normal(size=(n, 2)) * 0.7 + 2.0 * np.column_stack([np.cos(labels * 2.1), np.sin(labels * 2.1)])
    return X, [f"class {label}" for label in labels]


def learn(model, X, labels):
    for x, label in zip(X.tolist(), labels, strict=True):
        model.learn_one(dict(enumerate(x)), label)
    return model


def test_it_is_regularized_least_squares_on_indicators():
    X, labels = blobs(80)
    kernel, ridge, bias = RBF(1.0), 0.3, 2.0
    model = learn(LSSVMClassifier(kernel, threshold=1e-12, ridge=ridge, bias=bias), X, labels)
    A = kernel(X) + bias + ridge * np.eye(len(X))
    test = blobs(20, seed=1)[0]
    column = kernel(test, X) + bias
    for k, name in enumerate(model._classes):
        expected = column @ np.linalg.solve(A, np.array([float(label == name) for label in labels]))
        got = [model.decision_function_one(dict(enumerate(x)))[name] for x in test.tolist()]
        np.testing.assert_allclose(got, expected, atol=1e-7)
        assert len(model.coefficients[name]) == model.size, k


def test_classes_that_emerge_late_are_learned_as_if_they_had_been_known():
    X, labels = blobs(120, seed=2)
    order = sorted(range(120), key=lambda i: labels[i] == "class 2")  # all of class 2 at the end
    model = learn(LSSVMClassifier(RBF(1.0), threshold=1e-12), X[order], [labels[i] for i in order])
    other = LSSVMClassifier(RBF(1.0), threshold=1e-12)
    for name in ("class 2", "class 0", "class 1"):
        at = labels.index(name)
        other.learn_one(dict(enumerate(X[at].tolist())), name)
    rest = [i for i in order if i not in {labels.index(name) for name in ("class 2", "class 0", "class 1")}]
    learn(other, X[rest], [labels[i] for i in rest])
    for x in X[:20].tolist():
        a, b = (m.decision_function_one(dict(enumerate(x))) for m in (model, other))
        assert all(a[name] == pytest.approx(b[name], abs=1e-7) for name in a)


def test_softmax_of_large_scores():
    assert softmax([1e4, 0.0]) == [1.0, 0.0]
    assert sum(softmax([0.1, -3.0, 2.0])) == pytest.approx(1.0)


def test_nothing_is_known_at_first():
    model = LSSVMClassifier()
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "only")
    assert model.predict_one({"a": 1.0}) == "only"
    assert model.dictionary == [{"a": 1.0}]


@pytest.mark.parametrize("label", [True, "new"])
@pytest.mark.parametrize("x", [{"a": math.nan}, {"a": "red"}, {"a": None}])
def test_bad_samples_change_nothing(x, label):
    model = learn(LSSVMClassifier(RBF(1.0)), np.zeros((1, 1)), [True])
    before = model.to_bytes()
    with pytest.raises((TypeError, ValueError), match="'a'"):
        model.learn_one(x, label)
    with pytest.raises((TypeError, ValueError), match="weight"):
        model.learn_one({0: 1.0}, label, w=0.0)
    assert model.to_bytes() == before


def test_checkpoints_continue_bit_for_bit():
    X, labels = blobs(200, seed=4)
    model = learn(LSSVMClassifier(RBF(1.0), max_size=30, forgetting=0.99), X[:120], labels[:120])
    copies = [LSSVMClassifier.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))]
    for each in (model, *copies):
        learn(each, X[120:], labels[120:])
    assert {each.to_bytes() for each in copies} == {model.to_bytes()}


@pytest.mark.parametrize(("name", "least"), [("Phishing", 0.89), ("Bananas", 0.87), ("ImageSegments", 0.90)])
def test_streams_of_river(name, least):
    model = preprocessing.StandardScaler() | LSSVMClassifier()
    metric = evaluate.progressive_val_score(getattr(datasets, name)().take(3000), model, metrics.Accuracy())
    assert metric.get() > least


def test_it_follows_a_change_of_the_labels():
    X, labels = blobs(3000, seed=5, classes=2)
    labels = [
        label if t < 1500 else {"class 0": "class 1", "class 1": "class 0"}[label] for t, label in enumerate(labels)
    ]
    model = LSSVMClassifier(RBF(1.0), ridge=1.0, forgetting=0.98)
    hits = []
    for x, label in zip(X.tolist(), labels, strict=True):
        hits.append(model.predict_one(dict(enumerate(x))) == label)
        model.learn_one(dict(enumerate(x)), label)
    assert np.mean(hits[1000:1500]) > 0.97
    assert np.mean(hits[1500:1510]) < 0.7
    assert np.mean(hits[2000:]) > 0.97


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LSSVMClassifier(ridge=0.0), "ridge must be"),
        (lambda: LSSVMClassifier(bias=-1.0), "bias must be"),
        (lambda: LSSVMClassifier(threshold=-1.0), "threshold must be"),
        (lambda: LSSVMClassifier(forget="all"), "forget must be"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


MODELS = [
    LSSVMClassifier(),
    LSSVMClassifier(RBF(1.0), max_size=20),
    preprocessing.StandardScaler() | LSSVMClassifier(),
    LSSVMClassifier(max_size=30, kernel_learning="gradient"),
    LSSVMClassifier(max_size=30, kernel_learning="refit"),
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


def as_samples(X):
    return [dict(enumerate(row)) for row in X.tolist()]


@pytest.mark.parametrize(
    "arguments", [{}, {"max_size": 12}, {"forgetting": 0.99}, {"kernel_learning": "refit"}], ids=repr
)
def test_many_samples_are_learned_as_one_after_the_other(arguments):
    X, labels = blobs(160, seed=5)
    labels[90] = "a fourth class"
    weights = np.linspace(0.5, 2.0, 160)
    one, many = (LSSVMClassifier(RBF(1.0), **arguments) for _ in range(2))
    for x, label, weight in zip(as_samples(X), labels, weights.tolist(), strict=True):
        one.learn_one(x, label, weight)
    for part in (slice(0, 1), slice(1, 1), slice(1, 70), slice(70, 160)):
        many.learn_many(X[part], np.array(labels[part]), weights[part])
    assert many.classes == one.classes
    assert all(type(label) is str for label in many.classes)
    assert many.size == one.size
    assert many._temperature == pytest.approx(one._temperature, rel=1e-9)
    shares = many.predict_proba_many(X[:30])
    for x, row, best in zip(as_samples(X[:30]), shares, many.predict_many(X[:30]), strict=True):
        assert dict(zip(one.classes, row.tolist(), strict=True)) == pytest.approx(one.predict_proba_one(x), abs=1e-9)
        assert best == one.predict_one(x)


def test_frames_in_and_frames_out():
    import pandas as pd
    import polars as pl

    X, labels = blobs(80, seed=6)
    model, other = LSSVMClassifier(), LSSVMClassifier()
    frame = pd.DataFrame(X, columns=["a", "b"], index=range(100, 180))
    model.learn_many(frame, pd.Series(labels, index=frame.index))
    shares, best = model.predict_proba_many(frame), model.predict_many(frame)
    assert list(shares.columns) == model.classes
    assert list(shares.index) == list(best.index) == list(frame.index)
    assert list(best) == list(shares.idxmax(axis="columns"))
    other.learn_many(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), pl.Series(labels))
    found = other.predict_proba_many(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}))
    np.testing.assert_array_equal(found.to_numpy(), shares.to_numpy())
    assert other.to_bytes() == model.to_bytes()


def test_labels_of_every_kind_and_none_at_all():
    X = blobs(4)[0]
    model = LSSVMClassifier()
    assert model.predict_proba_many(X).shape == (4, 0)
    assert model.predict_many(X).tolist() == [None] * 4
    model.learn_many(X, [True, ("a", 1), 3, "x"])
    assert model.classes == [True, ("a", 1), 3, "x"]
    assert all(label in model.classes for label in model.predict_many(X).tolist())
    numbers = LSSVMClassifier()
    numbers.learn_many(X, np.array([0, 1, 0, 1]))
    assert numbers.predict_many(X).dtype.kind == "i"


@pytest.mark.parametrize("labels", [["a", "b", None], ["a", "b", math.nan], ["a", "b"], "abc", 3, ["new", "b", []]])
def test_batches_with_a_bad_label_teach_nothing(labels):
    X, given = blobs(40)
    model = LSSVMClassifier()
    model.learn_many(X, given)
    before = model.to_bytes()
    with pytest.raises((ValueError, TypeError), match="label"):
        model.learn_many(X[:3], labels)
    with pytest.raises(ValueError, match="weight w"):
        model.learn_many(X[:2], ["new", given[0]], [1.0, 0.0])
    with pytest.raises(ValueError, match="every value must be finite"):
        model.learn_many([[0.0, math.nan]], ["new"])
    assert model.to_bytes() == before
