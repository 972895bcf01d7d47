"""Checkpoints of format version 2, which held every number and array of a model by its name.

Most are those of version 1, read and written anew by the last release of version 2: they go on as `fixtures/v1` says.
"""

from __future__ import annotations

import pathlib
import struct
from typing import Any

import numpy as np
import pytest
from continuation import FUNCTIONS, plain
from test_checkpoint_v1 import CASES, agree, continuation, continued, differences

from streamkernel import KRLS, checkpoint, kernels
from streamkernel.checkpoint import CheckpointError
from streamkernel.core.model import Model
from streamkernel.learners.recursion import Recursion

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "v2"
ALSO_OF_VERSION_1 = sorted({path.stem for path in FOLDER.glob("*.skm")} & set(CASES))


def restored(name: str) -> Any:
    return checkpoint.loads((FOLDER / f"{name}.skm").read_bytes(), FUNCTIONS)


def test_every_fixture_is_of_version_2() -> None:
    assert len(ALSO_OF_VERSION_1) == 20
    for path in FOLDER.glob("*.skm"):
        assert struct.unpack_from("<H", path.read_bytes(), 4) == (2,), path.name


@pytest.mark.parametrize("name", ALSO_OF_VERSION_1)
def test_continues_as_version_1_does(name: str) -> None:
    assert repr(continuation(name, restored(name))) == repr(continued(name)), CASES[name]["class"]


def test_variances_that_are_tracked_go_on() -> None:
    """A full dictionary with three updates that wait; the last of thirty predictions that followed."""
    model = restored("tracked")
    inner = model.recursion.model
    assert (inner.size, inner.tracked, inner.collected) == (12, 12, 3)
    found = []
    for t in range(69, 99):
        x, y = plain(t)
        found.append(model.predict_one(x))
        model.learn_one(x, y)
    assert model.recursion.pruned == 65
    for value, then in zip(found[-3:], [2.0989131602434776, -0.600579918201357, 0.08515945740364983], strict=True):
        assert agree(value, then) if not differences() else value == pytest.approx(then, rel=1e-9)


def test_several_targets() -> None:
    found = restored("targets").predict_one(plain(200)[0])
    assert found == pytest.approx({"u": 0.8971860893543704, "v": 1.2264481634822968}, rel=1e-12)


# Today's states under a right checksum --------------------------------------------------------------------------------


def state() -> dict[str, Any]:
    model = KRLS(kernels.RBF(0.5), 0.05, 0.01, max_size=12)
    for t in range(69):
        model.learn_one(*plain(t))
    given: dict[str, Any] = model.recursion.__getstate__()
    return given


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", -1),
        ("size", 11),
        ("size", 2**40),
        ("tracked", 13),
        ("tracked", -1),
        ("tracked", 0),
        ("collected", 4),
        ("collected", -1),
        ("collected", 100),
        ("forget", 2),
        ("forget", -1),
        ("max_size", 0),
    ],
)
def test_counters_that_do_not_fit_are_refused(field: str, value: int) -> None:
    given = state()
    Recursion(None, 0.1, 0.1).__setstate__(given)
    given["numbers"][Model.number_fields[field][0]] = value
    with pytest.raises(ValueError, match=r"the state's counters|the arrays have shape|does not go with"):
        Recursion(None, 0.1, 0.1).__setstate__(given)


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": 0},
        {"outputs": 2},
        {"outputs": True},
        {"form": "exact"},
        {"form": "input noise"},
        {"form": "unknown"},
        {"capacity": 12},
        {"capacity": 8},
        {"capacity": 16.0},
        {"names": ["a", "b"]},
        {"names": ("a",)},
        {"numbers": np.zeros(3, dtype=np.int64)},
        {"numbers": np.zeros(len(Model.number_fields))},
        {"arrays": np.zeros(7)},
        {"fields": "size of something"},
    ],
    ids=repr,
)
def test_states_whose_parts_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        Recursion(None, 0.1, 0.1).__setstate__(state() | change)


def test_numbers_that_a_later_release_adds_start_from_zero() -> None:
    """They are found by their names: a release that had fewer, or had them in another order, is understood."""
    given = state()
    names = given["fields"].split()
    kept = [name for name in reversed(names) if name != "refused"]
    cells = np.array([given["numbers"][names.index(name)] for name in kept])
    model, same = Recursion(None, 0.1, 0.1), Recursion(None, 0.1, 0.1)
    model.__setstate__(given | {"fields": " ".join(kept), "numbers": cells})
    same.__setstate__(given)
    assert model.model.numbers == same.model.numbers | {"refused": 0}
    assert model.predict({"a": 0.3}) == same.predict({"a": 0.3})


def test_the_version_is_under_the_checksum() -> None:
    data = KRLS().to_bytes()
    for version in (1, 2):
        with pytest.raises(CheckpointError, match="checksum"):
            checkpoint.loads(data[:4] + struct.pack("<H", version) + data[6:])


def test_models_restored_from_equal_headers_share_nothing() -> None:
    """What was read of a header is kept for the next one."""
    model = KRLS(kernels.RBF({"a": 1.0, "b": 2.0}), ridge=0.1)
    model.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    data = model.to_bytes()
    first, second = KRLS.from_bytes(data), KRLS.from_bytes(data)
    first.learn_one({"a": 5.0, "b": 2.0}, -3.0)
    assert second.to_bytes() == data == KRLS.from_bytes(data).to_bytes()
    for name in Model.array_fields:
        if name not in ("program", "parameters", "block", "products", "rows", "innovations"):
            assert not np.shares_memory(getattr(first.recursion.model, name), getattr(second.recursion.model, name)), (
                name
            )


def test_a_model_has_arrays_when_it_needs_them() -> None:
    """Whoever asks first, in whatever way, finds a model that has learned nothing."""
    for ask in (
        lambda model: model.size == 0,
        lambda model: model.capacity == 16,
        lambda model: model.predict({"a": 1.0}) == 0.0,
        lambda model: model.max_size == 5,
        lambda model: len(model.__getstate__()["arrays"]) == 2,
        lambda model: not model.is_custom,
    ):
        model = Recursion(kernels.RBF(1.0), 0.1, 0.2, max_size=5)
        assert "model" not in vars(model)
        assert ask(model)
        assert (model.model.threshold, model.model.ridge, model.model.pending_scale) == (0.1, 0.2, 1.0)
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        _ = Recursion(None, 0.1, 0.1).unknown  # type: ignore[attr-defined]
