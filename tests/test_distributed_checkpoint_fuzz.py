"""Bytes that a state store kept and something altered: every kind of model refuses them, and nothing crashes.

`test_checkpoint.py` alters single bytes of one small KRLS; here are all learners, the damage that storage does (blocks
lost, zeroed, swapped, doubled, mixed up with those of another model), headers that are changed under a right checksum,
and a checkpoint that the first release of the format wrote.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import random
import struct
import zlib
from typing import Any

import pytest

from streamkernel import (
    CKAAR,
    KAAR,
    KRLS,
    KRR,
    AdaptiveConformal,
    HeteroscedasticKRLS,
    LSSVMClassifier,
    checkpoint,
    kernels,
)
from streamkernel.checkpoint import CheckpointError, loads
from streamkernel.distributed.keyed import Models
from streamkernel.session import Session

MUTATIONS = 10_000
HEADER_MUTATIONS = 1_500
PREFIX, LENGTH = 22, 8


def trained(model: Any) -> Any:
    rng = random.Random(0)
    for _ in range(25):
        x = {"a": rng.uniform(0.0, 1.0), "b": rng.uniform(0.0, 1.0)}
        if isinstance(model, Session):
            model.step(x, x["a"] + x["b"])
        elif isinstance(model, LSSVMClassifier):
            model.learn_one(x, x["a"] > x["b"])
        else:
            model.learn_one(x, x["a"] + x["b"])
    return model


MODELS = [
    KRLS(kernels.RBF(0.5), ridge=0.1),
    KRLS(kernels.RBF({"a": 0.5, "b": 2.0}) + 0.1 * kernels.Linear(), 1e-2, 0.1, 0.99, "walk", 7),
    KRR(kernels.RBF(0.5)),
    KAAR(kernels.RBF(0.5)),
    CKAAR(kernels.RBF(0.5), 0.5),
    HeteroscedasticKRLS(kernels.RBF(0.5)),
    LSSVMClassifier(kernels.RBF(0.5)),
    AdaptiveConformal(KRLS(kernels.RBF(0.5), ridge=0.1)),
    Session(KRLS(kernels.RBF(0.5), ridge=0.1)),
]


@pytest.fixture(scope="module")
def written() -> list[bytes]:
    return [trained(model).to_bytes() for model in MODELS]


def damaged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """What a disk, a network or a wrong program does to bytes."""
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    middle = rng.randrange(len(data) + 1)
    kind = rng.randrange(9)
    if kind == 0:
        return data[:start]
    if kind == 1:
        return data[:start] + data[end:]
    if kind == 2:
        return data[:start] + bytes(end - start) + data[end:]
    if kind == 3:
        return data[:start] + rng.randbytes(end - start) + data[end:]
    if kind == 4:
        return data[:end] + data[start:]
    if kind == 5:
        return data[:start] + data[start:end][::-1] + data[end:]
    if kind == 6:
        return data[:middle] + other[middle:]
    if kind == 7:
        flipped = bytearray(data)
        flipped[middle - 1] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    return data + other


def test_ten_thousand_damages_of_every_kind_of_model(written: list[bytes]) -> None:
    rng = random.Random(1)
    done = 0
    while done < MUTATIONS:
        data, other = rng.sample(written, 2)
        altered = damaged(data, other, rng)
        if altered in written:
            continue
        done += 1
        with pytest.raises(CheckpointError):
            loads(altered)


def test_undamaged_models_are_read(written: list[bytes]) -> None:
    for data, model in zip(written, MODELS, strict=True):
        restored = loads(data)
        assert type(restored) is type(model)
        assert restored.to_bytes() == data


# A right checksum over a wrong header ---------------------------------------------------------------------------------

VALUES = [None, True, False, 0, 1, -1, 7, 10**9, -(10**9), 2**70, 0.5, "", "x", "KRLS", [], {}, [[]], {"tuple": []}]


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all parts of a tree."""
    found = [path]
    items = enumerate(tree) if isinstance(tree, list) else tree.items() if isinstance(tree, dict) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def test_headers_changed_under_a_right_checksum(written: list[bytes]) -> None:
    """Such bytes are refused, or are a model that works: the jitted core never reads beyond an array."""
    rng = random.Random(2)
    refused = 0
    for _ in range(HEADER_MUTATIONS):
        data = rng.choice(written)
        (length,) = struct.unpack_from("<Q", data, PREFIX)
        header = json.loads(data[PREFIX + LENGTH : PREFIX + LENGTH + length])
        path = rng.choice(places(header)[1:])
        parent = header
        for key in path[:-1]:
            parent = parent[key]
        if rng.random() < 0.2:
            del parent[path[-1]]
        else:
            parent[path[-1]] = rng.choice(VALUES)
        text = json.dumps(header).encode()
        body = struct.pack("<Q", len(text)) + text + data[PREFIX + LENGTH + length :]
        altered = data[:6] + checkpoint._digest(body) + body
        try:
            model = loads(altered)
        except CheckpointError:
            refused += 1
            continue
        if hasattr(model, "predict_one") and not isinstance(model, Session):
            # A wrong parameter may show itself here, as an error of Python.
            with contextlib.suppress(TypeError, ValueError, ArithmeticError, AttributeError, KeyError, IndexError):
                model.predict_one({"a": 0.1, "b": 0.2})
    assert refused > HEADER_MUTATIONS // 2


# Versions -------------------------------------------------------------------------------------------------------------

# KRLS(RBF(0.5), ridge=0.1) after {"a": 0.25, "b": 0.5} -> 1.0 and {"a": 0.75, "b": 0.0} -> -1.0, in format version 1.
FIRST_RELEASE = """
eNoL9vZlYGQ4z1+S68pkbDZ72+LG39+rI+2YGMCgWik3PyU1R8kqWsk7yCdYSadaKbMkNbcYKBCtlJ1alAeUA4pBWVZKQU5uGgZ6pppKtbE60U
olGUWpxRn5OSlKOgZ6BgaGILGizJT0VBAfzEvLL0pPLSnJzEtX0jHUM0AIKekoFRRl5hcpgYRyEyviizOrgNrySnNyYmNr0ZyRWhCfmAN0SFpi
TnEqSENGYnF8Xn5mcSqSGEHXJufnFZck5pWAHQsSyEvMTS0GaSgpLchJBYVBItBZSUqxEOWJBYnJmSWVQIebgfjFyYk5iUVg9YlFRYmVIPU2aR
ZKOtFGxrE6BhBNBfmZeSVY1egYxeoYWphAlJWlJpfkYzXLFKTOCGgjWF15amZ6BlbzDMHqLKHq0hJB5mFRZmYSq2NsaAT1UX5ZYlFmYl5yKg6V
FkZQ9xWnAgMrBYsqYLgZGhuDbAWi2j8rP17yTQqwnzUTBHbaQ9LUBygNAx/qoQwHVPoDDvUIUJ9ZlXyy4qK9drvYzXPf/6Ord9iyxvnv4eqL9i
1LTJPztgo5YDcFZj+6PReg/BdQ+gG6u+3f3Movf2by0f5u3jlbnZTdOPyFbj6mfy6LrGfgX/javuTqsWVxQV/2E/I3IWDxXscsrPu6feLkIP62
g2/JNmcUDAwQjy256Cr+1j761pTNzvFX9pOqH6Zvgdw+qaSUT6PxP8QAAJEgEr4=
"""


def test_the_first_version_of_the_format_is_read_or_refused_clearly() -> None:
    data = zlib.decompress(base64.b64decode(FIRST_RELEASE))
    assert struct.unpack_from("<H", data, 4) == (1,)
    if checkpoint.OLDEST_VERSION > 1:
        with pytest.raises(CheckpointError, match="format version 1; this release reads"):
            KRLS.from_bytes(data)
        return
    model = KRLS.from_bytes(data)
    fresh = KRLS(kernels.RBF(0.5), ridge=0.1)
    fresh.learn_one({"a": 0.25, "b": 0.5}, 1.0)
    fresh.learn_one({"a": 0.75, "b": 0.0}, -1.0)
    x = {"a": 0.5, "b": 0.5}
    assert math.isclose(model.predict_one(x), fresh.predict_one(x), rel_tol=1e-12)
    model.learn_one(x, 0.5)
    fresh.learn_one(x, 0.5)
    assert math.isclose(model.predict_one(x), fresh.predict_one(x), rel_tol=1e-12)


def test_a_keyed_job_names_the_key_of_what_it_cannot_read(written: list[bytes]) -> None:
    models = Models(KRLS(kernels.RBF(0.5), ridge=0.1), ["a", "b"])
    data = written[0]
    assert models.load("pump", data).model.to_bytes() == data
    for bad in (data[:-1], data[:4] + struct.pack("<H", 0) + data[6:], b""):
        with pytest.raises(CheckpointError, match="the model of key 'pump' cannot be restored: "):
            models.load("pump", bad)
    with pytest.raises(
        CheckpointError, match=r"version 9; this release reads .*restore it with the release that wrote it"
    ):
        models.load("pump", data[:4] + struct.pack("<H", 9) + data[6:])
