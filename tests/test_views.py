"""The model as one value: fields by name in jitted code and in Python, and no stale address anywhere."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

from streamkernel import KAAR, KRLS, HeteroscedasticKRLS, LSSVMClassifier
from streamkernel.core import whitened
from streamkernel.core.jit import jit
from streamkernel.core.model import Model
from streamkernel.core.types import Matrix, Program, Table, Vector
from streamkernel.core.views import Views
from streamkernel.kernels import RBF, Custom
from streamkernel.learners import leading
from streamkernel.learners.recursion import Recursion

pytestmark = pytest.mark.core


class Toy(Views):
    """One field of each kind."""

    vector: Vector
    matrix: Matrix
    program: Program
    count: int
    level: float


@jit
def exercise(table: Table) -> float:
    """Read and write every kind of field."""
    toy = Toy(table)
    toy.count += toy.program[1, 2]
    toy.level *= 2.0
    for i in range(len(toy.vector)):
        toy.vector[i] += toy.matrix[1, i] + toy.level
    return toy.vector[0] + toy.count + toy.matrix.shape[0]


def toy() -> Toy:
    made = Toy.build(
        Toy.new_numbers(),
        vector=np.arange(3.0),
        matrix=np.arange(6.0).reshape(2, 3),
        program=np.arange(6).reshape(2, 3).astype(np.int64),
    )
    made.count, made.level = 4, 0.25
    return made


def test_fields_are_read_and_written_by_name() -> None:
    views = toy()
    assert exercise(views.table) == 3.5 + 9 + 2
    assert views.vector.tolist() == [3.5, 5.5, 7.5]
    assert views.numbers == {"count": 9, "level": 0.5}
    assert isinstance(views.count, int)
    assert isinstance(views.level, float)


def test_python_reads_the_same_table() -> None:
    views = toy()
    twin = Toy(views.table)
    for name in Toy.array_fields:
        np.testing.assert_array_equal(getattr(twin, name), getattr(views, name))
    twin.level, twin.vector[1] = 8.0, -1.0
    assert views.level == 8.0
    assert views.vector[1] == -1.0


def test_arrays_cannot_be_exchanged_and_addresses_not_copied() -> None:
    views = toy()
    with pytest.raises(AttributeError, match="vector cannot be replaced"):
        views.vector = np.zeros(3)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="addresses"):
            duplicate(views)


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype=np.float32), np.zeros((3, 1)), np.zeros(6)[::2]], ids=["type", "shape", "strides"]
)
def test_what_does_not_fit_is_refused(wrong: Any) -> None:
    arrays = {"matrix": np.zeros((2, 2)), "program": np.zeros((1, 3), dtype=np.int64)}
    with pytest.raises(TypeError, match=r"Toy\.vector must be a contiguous 1-d array of float64"):
        Toy.build(Toy.new_numbers(), vector=wrong, **arrays)


def test_passing_the_value_itself_takes_no_reference() -> None:
    model = taught(KRLS(RBF(1.0), 1e-3, 0.1), 20).recursion.model
    whitened.settle(model)
    before = sys.getrefcount(model.table)
    for _ in range(100):
        whitened.settle(model)
    assert sys.getrefcount(model.table) < before + 10


# A learner's model ----------------------------------------------------------------------------------------------------


def sample(i: int, width: int = 2) -> tuple[dict[Any, float], float]:
    x = {f"x{r}": float(np.sin(1.7 * i * (r + 1) + r)) for r in range(width)}
    return x, float(np.cos(3.0 * x["x0"]) + 0.1 * x["x1"])


def taught(model: Any, count: int, width: int = 2) -> Any:
    for i in range(count):
        x, y = sample(i, width)
        model.learn_one(x, y > 0.5 if isinstance(model, LSSVMClassifier) else y)
    return model


def assert_fresh(recursion: Recursion) -> None:
    """The table holds the addresses and shapes of the arrays that the model owns, and is the one in use."""
    model = recursion.model
    entries = model.table.tolist()
    assert entries[0] == model.cells.ctypes.data
    for name, (entry, _, dimensions) in Model.array_fields.items():
        array = getattr(model, name)
        assert entries[entry : entry + 1 + dimensions] == [array.ctypes.data, *array.shape], name
    assert recursion._table is model.table
    assert model.stack.ctypes.data == model.column.ctypes.data
    assert np.shares_memory(model.inputs, model.targets)


def recursion_of(model: Any) -> Recursion:
    return model.recursion


MODELS = [
    lambda: KRLS(RBF(0.5), 1e-4, 0.1),
    lambda: KRLS(None, 1e-4, 0.1, max_size=9),
    lambda: KRLS(RBF(0.5), 1e-4, 0.1, forgetting=0.99, forget="walk"),
    lambda: KAAR(RBF(0.5), threshold=None),
    lambda: KAAR(RBF(0.5), threshold=None, max_size=9),
    lambda: HeteroscedasticKRLS(RBF(0.5), 1e-4, max_size=12),
    lambda: LSSVMClassifier(RBF(0.5)),
    lambda: KRLS(Custom(lambda x, z: float(np.exp(-np.sum((x - z) ** 2)))), 1e-3, 0.1),
]


@pytest.mark.parametrize("make", MODELS)
def test_no_stale_table_through_growth_features_outputs_and_copies(make: Any) -> None:
    model = make()
    assert_fresh(recursion_of(model))
    taught(model, 25)  # beyond the first capacity
    assert_fresh(recursion_of(model))
    wide, y = sample(30, width=3)
    model.predict_one(wide)
    assert_fresh(recursion_of(model))
    model.learn_one(wide, True if isinstance(model, LSSVMClassifier) else y)
    assert_fresh(recursion_of(model))
    if isinstance(model, LSSVMClassifier):
        model.learn_one(wide, "a third class")
        assert_fresh(recursion_of(model))
    copies = [copy.deepcopy(model)]
    if not recursion_of(model).is_custom:
        copies += [pickle.loads(pickle.dumps(model)), type(model).from_bytes(model.to_bytes())]
    for other in copies:
        assert_fresh(recursion_of(other))
        theirs, ours = recursion_of(other).model, recursion_of(model).model
        for name in Model.array_fields:
            if getattr(theirs, name).size and name not in ("program", "parameters"):
                assert not np.shares_memory(getattr(theirs, name), getattr(ours, name)), name
    # A copy goes its own way, and the original does not notice.
    before = recursion_of(model).__getstate__()
    for other in copies:
        taught(other, 10, width=4)
        assert_fresh(recursion_of(other))
    after = recursion_of(model).__getstate__()
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)


def test_a_refused_sample_with_new_features_leaves_the_arrays_in_use() -> None:
    model = taught(KRLS(RBF(0.5), 1e-4, 0.1), 20)
    arrays, before = model.recursion.model, model.to_bytes()
    for bad in ({"x0": 0.1, "x1": 0.2, "new": float("nan")}, {"x0": 0.1, "new": "text"}):
        with pytest.raises((ValueError, TypeError), match="new"):
            model.learn_one(bad, 1.0)
    with pytest.raises(ValueError, match="target y"):
        model.learn_one({"x0": 0.1, "new": 1.0}, 1e200)
    assert model.recursion.model is arrays
    assert model.to_bytes() == before
    assert_fresh(model.recursion)


def test_shared_arrays_stay_those_of_the_leader() -> None:
    leader, follower = (Recursion(RBF(0.5), 1e-4, ridge) for ridge in (0.1, 0.2))
    follower.share(leader.model)
    for i in range(40):  # beyond the first capacity, and with a feature that appears
        x, y = sample(i, width=3 if i == 30 else 2)
        leader.predict_variance(x)
        leading.learn_together(leader, [follower], x, y, 1.0)
        assert follower.model.factor is leader.model.factor
        assert follower.model.points is leader.model.points
        assert_fresh(leader)
        assert_fresh(follower)
    alone = Recursion(RBF(0.5), 1e-4, 0.2)
    for i in range(40):
        x, y = sample(i, width=3 if i == 30 else 2)
        alone.learn(x, (y,))
    assert follower.predict(sample(50)[0]) == pytest.approx(alone.predict(sample(50)[0]), rel=1e-10)
    follower.unshare()
    assert not np.shares_memory(follower.model.factor, leader.model.factor)
    assert_fresh(follower)


def test_threads_that_learn_models_of_their_own_agree_with_one_thread() -> None:
    expected = [taught(KRLS(RBF(0.5), 1e-4, 0.1 * (k + 1), max_size=20), 120).to_bytes() for k in range(4)]
    models = [KRLS(RBF(0.5), 1e-4, 0.1 * (k + 1), max_size=20) for k in range(4)]
    threads = [threading.Thread(target=taught, args=(model, 120)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [model.to_bytes() for model in models] == expected


def test_predictions_with_unknown_features_follow_the_model() -> None:
    """What is prepared for unknown features is not what the model was, but what it is."""
    model = KRLS(RBF(0.5), 1e-4, 0.1)
    for i in range(40):
        x, y = sample(i)
        adopted = copy.deepcopy(model)
        wide = x | {"new": 0.3}
        got = model.predict_one(wide, with_dist=True)
        adopted.recursion.adopt(adopted.recursion.merged(wide))
        expected = adopted.predict_one(wide, with_dist=True)
        assert got.mu == pytest.approx(expected.mu, rel=1e-12, abs=1e-12)
        assert got.sigma == pytest.approx(expected.sigma, rel=1e-12)
        assert model.features == tuple(sorted(x)) or not i
        model.learn_one(x, y)
