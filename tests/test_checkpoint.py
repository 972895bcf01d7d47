"""Models as bytes: what comes back continues bit for bit, and nothing else comes back."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import random
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from streamkernel import KRLS, checkpoint, kernels
from streamkernel.checkpoint import CheckpointError
from streamkernel.kernels import RBF, AnovaSpline, Custom, Linear, Matern52, Polynomial, Spline
from streamkernel.session import Session


def overlap(x: Any, z: Any) -> float:
    return float(np.minimum(x, z).sum())


def columns(points: Any, x: Any) -> Any:
    return np.exp(-np.abs(points - x).sum(axis=1))


FUNCTIONS = {"overlap": overlap, "columns": columns}

MODELS = [
    KRLS(),
    KRLS(RBF(1.0)),
    KRLS(RBF(0.5), 1e-6, 0.1),
    KRLS(RBF({"a": 1.0, "b": math.inf}), 1e-4),
    KRLS(Matern52(1.0) + 0.3 * Linear(), 1e-4, 0.1, 0.98),
    KRLS(RBF(0.5), 1e-4, 0.1, 0.98, "walk"),
    KRLS(RBF(0.5), 1e-2, 0.0, 0.99),
    KRLS(RBF(0.5), 1e-4, 0.1, max_size=9),
    KRLS(RBF(0.5), 1e-4, 0.1, 0.99, max_size=9),
    KRLS(RBF(0.5), 1e-4, max_size=17),
    KRLS(Polynomial(3), 1e-6),
    KRLS(Spline(), 1e-3),
    KRLS(AnovaSpline(2), 1e-3),
    KRLS(Custom(overlap), 1e-3, 0.1),
    KRLS(Custom(columns, vectorized=True) + RBF(2.0), 1e-3, 0.1, max_size=9),
]
COPIES = {
    "bytes": lambda model: type(model).from_bytes(model.to_bytes(), functions=FUNCTIONS),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
}


def name(model: KRLS) -> str:
    defaults = KRLS()._parameters()
    changed = {key: value for key, value in model._parameters().items() if value != defaults[key]}
    return ", ".join(f"{key}={value!r}" for key, value in changed.items()) or "defaults"


def stream(n: int, seed: int = 0) -> list[tuple[dict[str, float], float]]:
    rng = np.random.default_rng(seed)
    return [
        ({"a": a, "b": b}, math.sin(5.0 * a) + b + 0.05 * e)
        for a, b, e in zip(*rng.uniform(0.0, 2.0, (2, n)).tolist(), rng.standard_normal(n).tolist(), strict=True)
    ]


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=list(COPIES))
@pytest.mark.parametrize("model", MODELS, ids=name)
def test_a_restored_model_continues_bit_for_bit(model: KRLS, duplicate: Any) -> None:
    model = model.clone()
    samples = stream(160)
    for stop in (0, 1, 2, 50, 101):  # in the middle of what is pending, of growth, after pruning
        while model._model.seen < stop:
            model.learn_one(*samples[model._model.seen])
        restored = duplicate(model)
        assert restored is not model
        assert restored.to_bytes() == model.to_bytes()
        assert restored._parameters() == model._parameters()
        assert repr(restored) == repr(model)
    for x, y in samples[101:]:
        assert restored.predict_one(x) == model.predict_one(x)
        left, right = restored.predict_one(x, with_dist=True), model.predict_one(x, with_dist=True)
        assert (left.mu, left.sigma) == (right.mu, right.sigma)
        restored.learn_one(x, y)
        model.learn_one(x, y)
    more = stream(70, seed=1)
    X, y = np.array([[x["a"], x["b"]] for x, _ in more]), np.array([target for _, target in more])
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b"])
    restored.learn_many(frame, y)
    model.learn_many(frame, y)
    assert restored.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(restored.coefficients, model.coefficients)
    assert restored.dictionary == model.dictionary


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_copies_are_independent_and_clones_are_empty(model: KRLS) -> None:
    model = model.clone()
    for x, y in stream(40):
        model.learn_one(x, y)
    data = model.to_bytes()
    copies = [duplicate(model) for duplicate in COPIES.values()]
    clone = model.clone()
    assert clone.size == 0
    assert clone._parameters() == model._parameters()
    for other in [*copies, clone]:
        for x, y in stream(20, seed=2):
            other.learn_one(x, y)
    assert model.to_bytes() == data


@pytest.mark.parametrize(
    "names",
    [
        ("a", "b"),
        (0, 1),
        (0, "b"),
        (("lag", 1), ("lag", 2)),
        (1.5, None),
        ("ä", "日本"),
        (True, "x"),
        (np.int64(3), "x"),
    ],
    ids=repr,
)
def test_feature_names_of_any_plain_type(names: tuple[Any, ...]) -> None:
    model = KRLS(RBF(1.0))
    for x, y in stream(20):
        model.learn_one(dict(zip(names, x.values(), strict=True)), y)
    restored = KRLS.from_bytes(model.to_bytes())
    assert restored.dictionary == model.dictionary
    sample = dict(zip(names, (0.3, 0.4), strict=True))
    assert restored.predict_one(sample) == model.predict_one(sample)


def test_the_bytes_hold_no_pickle_and_do_not_depend_on_history() -> None:
    one, two = KRLS(RBF(1.0)), KRLS(RBF(1.0))
    for x, y in stream(60):
        one.learn_one(x, y)
        two.learn_one(x, y)
        two.predict_one(x)
        two.predict_one({"new": 1.0}, with_dist=True)
    assert one.to_bytes() == two.to_bytes()
    with pytest.raises(
        (pickle.UnpicklingError, ValueError, EOFError, KeyError, IndexError, AttributeError, ImportError)
    ):
        pickle.loads(one.to_bytes())
    for word in (b"streamkernel", b"builtins", b"numpy"):
        assert word not in one.to_bytes()


def test_a_custom_kernel_needs_its_function() -> None:
    model = KRLS(Custom(overlap), 1e-3, 0.1)
    for x, y in stream(20):
        model.learn_one(x, y)
    with pytest.raises(CheckpointError, match=r"overlap.*functions="):
        KRLS.from_bytes(model.to_bytes())
    assert KRLS.from_bytes(model.to_bytes(), functions={"overlap": overlap}).size == model.size


def test_a_custom_kernel_of_a_local_function_can_be_restored() -> None:
    def local(x: Any, z: Any) -> float:
        return float(np.minimum(x, z).sum())

    model = KRLS(Custom(local), 1e-3, 0.1)
    for x, y in stream(20):
        model.learn_one(x, y)
    given = repr(model.kernel)[len("Custom(") : -1]
    restored = KRLS.from_bytes(model.to_bytes(), functions={given: local})
    assert restored.to_bytes() == model.to_bytes()


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> bytes:
    model = KRLS(RBF(1.0), 0.1, 0.1)
    for x, y in stream(4):
        model.learn_one(x, y)
    return model.to_bytes()


def test_any_truncation(small: bytes) -> None:
    for length in range(len(small)):
        with pytest.raises(CheckpointError):
            KRLS.from_bytes(small[:length])
    with pytest.raises(CheckpointError):
        KRLS.from_bytes(small + b"\x00")


def test_ten_thousand_alterations(small: bytes) -> None:
    rng = random.Random(0)
    for _ in range(10_000):
        data = bytearray(small)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                data[at] = rng.randrange(256)
            elif kind == 2:
                del data[at]
            else:
                data.insert(at, rng.randrange(256))
        if bytes(data) == small:
            continue
        with pytest.raises(CheckpointError):
            KRLS.from_bytes(bytes(data))


@pytest.mark.parametrize("data", [b"", b"SKM\x00", b"\x80\x04", b"x" * 1000, bytes(200)])
def test_other_bytes(data: bytes) -> None:
    with pytest.raises(CheckpointError, match="not a streamkernel checkpoint"):
        KRLS.from_bytes(data)


@pytest.mark.parametrize("version", [0, 4, 7, 65535])
def test_other_versions(small: bytes, version: int) -> None:
    with pytest.raises(CheckpointError, match=f"version {version}"):
        KRLS.from_bytes(small[:4] + struct.pack("<H", version) + small[6:])


class Other(KRLS):
    """Another model."""


def test_another_class(small: bytes) -> None:
    with pytest.raises(CheckpointError, match="holds a KRLS, not a Other"):
        Other.from_bytes(small)
    other = Other(RBF(1.0))
    other.learn_one({"a": 1.0}, 2.0)
    restored = KRLS.from_bytes(other.to_bytes())  # a subclass is a KRLS
    assert type(restored) is Other


def rewritten(data: bytes, change: Any) -> bytes:
    """The checkpoint with another header and a checksum that is right for it."""
    (length,) = struct.unpack_from("<Q", data, 22)
    header = json.loads(data[30 : 30 + length])
    header = change(header)
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    body = struct.pack("<Q", len(text)) + text + data[30 + length :]
    return data[:6] + checkpoint._digest(body) + body


def test_a_header_that_is_no_model(small: bytes) -> None:
    assert KRLS.from_bytes(rewritten(small, lambda header: header)).to_bytes()[:4] == checkpoint.MAGIC
    model = "KRLS"
    for change in (
        lambda header: "{",
        lambda header: None,
        lambda header: 3,
        lambda header: [],
        lambda header: {},
        lambda header: {"unknown": 1},
        lambda header: {"model": ["Nothing", *header["model"][1:]]},
        lambda header: {"model": [model]},
        lambda header: {"model": [model, {"items": []}, {"items": []}]},
        lambda header: {"model": ["os.system", {"items": [["command", "true"]]}, {"items": []}]},
        lambda header: {"model": [[], *header["model"][1:]]},
        lambda header: {"kernel": "__import__('os')"},
        lambda header: {"kernel": "1 + " * 5000 + "RBF(1.0)"},
        lambda header: {"array": ["|O", [1], 0]},
        lambda header: {"array": ["<f8", [10**12], 0]},
        lambda header: {"array": ["<f8", [-1], 0]},
        lambda header: {"array": ["<f8", [1], -8]},
        lambda header: {"float": "x"},
        lambda header: json.loads("[" * 400 + "]" * 400),
    ):
        with pytest.raises(CheckpointError):
            KRLS.from_bytes(rewritten(small, change))


def state_of(header: Any) -> dict[str, Any]:
    return dict(header["model"][2]["items"])


@pytest.mark.parametrize("key", ["names", "capacity", "outputs", "fields", "numbers", "arrays", "form"])
def test_a_state_that_does_not_fit_together(small: bytes, key: str) -> None:
    """A checksum can be right and the content still wrong: no array may be read beyond its end afterwards."""

    def without(header: Any) -> Any:
        items = header["model"][2]["items"]
        header["model"][2]["items"] = [item for item in items if item[0] != key]
        return header

    def emptied(header: Any) -> Any:
        for item in header["model"][2]["items"]:
            if item[0] == key:
                value = item[1]
                if isinstance(value, dict) and "array" in value:
                    value["array"][1] = [0] * len(value["array"][1])
                elif isinstance(value, dict):
                    item[1] = {"tuple": []}
                else:
                    item[1] = 0
        return header

    assert key in state_of(json.loads(small[30 : 30 + struct.unpack_from("<Q", small, 22)[0]]))
    for change in (without, emptied):
        with pytest.raises(CheckpointError):
            KRLS.from_bytes(rewritten(small, change))


def test_what_cannot_be_written() -> None:
    model = KRLS(RBF(1.0))
    model.learn_one({frozenset("ab"): 1.0}, 1.0)
    with pytest.raises(TypeError, match="frozenset"):
        model.to_bytes()
    assert isinstance(checkpoint.loads(KRLS(kernels.RBF(1.0)).to_bytes()), KRLS)


# Across processes -----------------------------------------------------------------------------------------------------


def in_a_new_process(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True).stdout


def test_a_process_that_compiles_and_one_that_loads_compiled_code_agree_to_the_last_bit(tmp_path: Any) -> None:
    code = """
import hashlib, numpy
from streamkernel import KRLS, kernels
rng = numpy.random.default_rng(0)
model = KRLS(kernels.RBF(1.0), ridge=0.01)
for x in rng.normal(size=(60, 2)).tolist():
    model.learn_one(dict(enumerate(x)), x[0] * x[1] + 0.1 * float(rng.normal()))
X = rng.normal(size=(100, 2))
model.learn_many(X, X[:, 0] * X[:, 1])
print(hashlib.sha256(model.to_bytes()).hexdigest())
"""
    first, second = (in_a_new_process(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first == second


def test_any_model_is_restored_by_a_process_that_has_imported_nothing_else(tmp_path: Any) -> None:
    session = Session(KRLS(RBF(1.0), ridge=0.1))
    session.step({"a": 1.0}, 2.0)
    path = tmp_path / "session.skm"
    path.write_bytes(session.to_bytes())
    code = f"from streamkernel.checkpoint import loads; print(type(loads(open({str(path)!r}, 'rb').read())).__name__)"
    assert in_a_new_process(code).strip() == "Session"
