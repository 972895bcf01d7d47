"""What is attacked: an area makes one case from a generator and raises where something is wrong."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import pickle
import struct
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from streamkernel import checkpoint, kernels
from streamkernel.checkpoint import CheckpointError

from . import extended, making
from .making import Random, Sample, Stream

# Of predictions in units of the largest target, and of variances in units of the largest similarity.
TOLERANCE = 1e-6
# The reference loses digits as well; it is compared where the dictionary's kernel matrix is conditioned better.
WORST_CONDITION = 1e8

AREAS: dict[str, Callable[[Random], int]] = {}


def area(function: Callable[[Random], int]) -> Callable[[Random], int]:
    """List an area by its name; it returns how many comparisons a case had."""
    AREAS[function.__name__] = function
    return function


def row(names: tuple[Any, ...], x: Sample) -> Any:
    return np.array([x.get(name, 0.0) for name in names], dtype=extended.Real)


def check(is_right: Any, message: str) -> None:
    """An assertion that stays one under `python -O`."""
    if not is_right:
        raise AssertionError(message)


# Exactness ------------------------------------------------------------------------------------------------------------


@area
def recursion(rng: Random) -> int:
    """The dictionary forms follow the reference in extended precision, and refused samples leave no trace."""
    kinds = ("KRLS", "KRLS, scales by name", "ridge family")
    model = making.LEARNERS[kinds[rng.integers(3)]](rng)
    while model.threshold is None:
        model = making.ridge_family(rng)
    forgetting, forget = getattr(model, "forgetting", 1.0), getattr(model, "forget", "prior")
    reference = extended.Recursion(model.ridge, forgetting, forget == "walk")
    core, stream, compared, largest = model.recursion, Stream(rng), 0, 1.0
    for _ in range(int(rng.integers(20, 80))):
        if rng.random() < 0.1:
            refused(rng, model, stream)
        x = stream.x()
        y, w = stream.y(x), making.number(rng, 0.1, 10.0) if rng.random() < 0.3 else 1.0
        size, old = core.size, core.names
        model.learn_one(x, y, w=w)
        largest, names = max(largest, abs(y)), core.names
        kernel = extended.in_order(core.effective_kernel(), names)
        gram = kernel(core.point_matrix, features=names)
        if len(gram) and np.linalg.cond(gram) > WORST_CONDITION:
            return compared
        if names != old:
            if core.size < size:
                return compared  # points that have become dependent have left: the reference would have to guess
            reference.change(kernel, list(range(size)), _arranged(reference.points, old, names))
        sample = row(names, x)
        joined = core.model.since_joined == 0
        reference.learn(kernel, sample, y, 1.0 / w, joined)
        if joined and core.size == size:  # one has left
            found = _points(core)
            gone = next((i for i in range(size) if not np.array_equal(found[i], reference.points[i])), size)
            reference.change(kernel, [i for i in range(size + 1) if i != gone], found)
        if forgetting < 1.0 and model.ridge == 0.0 and np.diagonal(reference.P).max(initial=0.0) > 1e6:
            return compared  # inflation pauses by the stored variances
        query = row(names, {name: value for name, value in stream.x().items() if name in names})
        given = dict(zip(names, map(float, query), strict=True))
        expected, got = reference.predict(kernel, query), core.predict_variance(given)
        unit = float(kernel.diagonal(np.asarray(query[None], dtype=np.float64), features=names)[0]) + 1.0
        prior = unit * max(1.0, float(np.diagonal(reference.P).max(initial=0.0)))
        check(abs(got[0] - expected[0]) <= TOLERANCE * largest * unit, f"mean {got[0]} instead of {expected[0]}")
        check(abs(got[1] - expected[1]) <= TOLERANCE * unit, f"residual {got[1]} instead of {expected[1]}")
        check(abs(got[2] - expected[2]) <= TOLERANCE * prior, f"z'Pz {got[2]} instead of {expected[2]}")
        compared += 1
    return compared


@area
def exact(rng: Random) -> int:
    """The exact form is ridge regression on the samples of its window."""
    model = making.ridge_family(rng)
    while model.threshold is not None:
        model = making.ridge_family(rng)
    core, stream, compared = model.recursion, Stream(rng), 0
    kept: list[tuple[Sample, float, float]] = []
    for step in range(int(rng.integers(10, 40))):
        if rng.random() < 0.1:
            refused(rng, model, stream)
        x = stream.x()
        y, w = stream.y(x), making.number(rng, 0.1, 10.0) if rng.random() < 0.3 else 1.0
        model.learn_one(x, y, w=w)
        kept = [*kept, (x, y, w)][-(model.max_size or 10**9) :]
        if step % 5 == 0:
            names = core.names
            kernel = extended.in_order(core.effective_kernel(), names)
            reference = extended.Exact(model.ridge)
            reference.points = np.array([row(names, x) for x, _, _ in kept])
            reference.y = np.array([y for _, y, _ in kept], dtype=extended.Real)
            reference.noise = 1 / np.array([w for _, _, w in kept], dtype=extended.Real)
            query = row(names, {name: value for name, value in stream.x().items() if name in names})
            expected = reference.predict(kernel, query)
            got = core.predict_variance(dict(zip(names, map(float, query), strict=True)))
            unit = max(float(kernel.diagonal(np.asarray(reference.points, np.float64), features=names).max()), 1.0)
            reach = unit / model.ridge * max(1.0, float(reference.noise.max() / reference.noise.min()))
            tolerance = 1e-13 * len(kept) * reach * max(1.0, float(np.abs(reference.y).max()))
            check(abs(got[0] - expected[0]) <= max(tolerance, 1e-9), f"mean {got[0]} instead of {expected[0]}")
            compared += 1
    return compared


def _points(core: Any) -> Any:
    return np.array(core.point_matrix, dtype=extended.Real)


def _arranged(points: Any, old: tuple[Any, ...], names: tuple[Any, ...]) -> Any:
    """Points with more features, which were zero."""
    wide = np.zeros((len(points), len(names)), dtype=extended.Real)
    for j, name in enumerate(old):
        wide[:, names.index(name)] = points[:, j]
    return wide


@area
def batches(rng: Random) -> int:
    """`learn_many` does what `learn_one` does one after the other."""
    kinds = {name: make for name, make in making.LEARNERS.items() if "learning" not in name}
    one, compared = making.learner(rng, kinds), 0
    many = copy.deepcopy(one)
    stream = Stream(rng, steady=True)
    for _ in range(int(rng.integers(1, 4))):
        count = int(rng.integers(0, 30 if isinstance(one, making.AUTOMATIC) else 90))
        X = np.array([[x[name] for name in stream.names] for x in (stream.x() for _ in range(count))])
        X = X.reshape(count, len(stream.names))
        if count and rng.random() < 0.5:  # near what is known: blocks
            X = X[rng.integers(min(count, 8), size=count)] + 1e-4 * rng.normal(size=X.shape)
        samples = [dict(zip(stream.names, r, strict=True)) for r in X.tolist()]
        y = [stream.target(one, x) for x in samples]
        frame = _frame(stream.names, X)
        weights = np.exp(rng.normal(size=count)) if making.takes_weights(one) and rng.random() < 0.5 else None
        many.learn_many(frame, making.targets(one, y), *([] if weights is None else [weights]))
        for i, x in enumerate(samples):
            one.learn_one(x, y[i], **({} if weights is None else {"w": float(weights[i])}))
        check(_size(one) == _size(many), f"{_size(one)} and {_size(many)} points")
        # Two ways to round; a bad condition shows the difference.
        for x in samples:
            for left, right in zip(making.numbers(one, x), making.numbers(many, x), strict=True):
                check(abs(left - right) <= 1e-5 * max(1.0, abs(left)), f"{left} one by one, {right} at once")
                compared += 1
    return compared


def _size(model: Any) -> int:
    return int(getattr(model, "size", 0))


def _frame(names: list[Any], X: Any) -> Any:
    pandas = __import__("pandas")
    return pandas.DataFrame(dict(zip(names, X.T, strict=True)))


# Nothing is changed by what is refused --------------------------------------------------------------------------------

BAD: list[Any] = [math.nan, math.inf, -math.inf, None, "red", 1j, 10**400]


def refused(rng: Random, model: Any, stream: Stream) -> int:
    """Offer samples that must be refused; the bytes are the same before and after."""
    before = model.to_bytes()
    x = stream.x() or {"a": 1.0}
    y, bad = stream.target(model, x), BAD[rng.integers(len(BAD))]
    name, is_number = rng.choice(len(x)), not isinstance(y, str | dict)
    offers: list[tuple[Any, Any, dict[str, Any]]] = []
    if not isinstance(model, making.AUTOMATIC):  # which take words and gaps
        offers += [(x | {list(x)[name]: bad}, y, {}), (x | {"never seen": bad}, y, {})]
    if is_number:
        offers += [(x, bad, {}), (x, 1e200, {}), (x | {"never seen": 1.0}, bad, {})]
    if making.takes_weights(model):
        offers += [(x, y, {"w": value}) for value in (0.0, -1.0, math.nan, 1e-200, 1e200, "1")]
    for sample, target, weight in offers:
        with contextlib.suppress(ValueError, TypeError):
            model.learn_one(sample, target, **weight)
            raise AssertionError(f"accepted {sample!r}, {target!r}, {weight!r}")
        check(model.to_bytes() == before, f"changed by the refused {sample!r}, {target!r}, {weight!r}")
    return len(offers)


@area
def refusals(rng: Random) -> int:
    """Every learner, bad samples in between: byte for byte as before."""
    model, stream = making.learner(rng, making.LEARNERS), Stream(rng)
    twin, count = copy.deepcopy(model), 0
    for _ in range(3):
        samples = [(x, stream.target(model, x)) for x in (stream.x() for _ in range(int(rng.integers(0, 15))))]
        for x, y in samples:
            model.learn_one(x, y)
            twin.learn_one(x, y)
        count += refused(rng, model, stream)
        if any(samples):
            x = dict.fromkeys(stream.names, 0.5)
            check(same(making.answer(model, x), making.answer(twin, x)), "a refused sample shows in predictions")
    return count


EXTREMES = (0.0, 1e-320, 1e-200, 1e-80, 1e-20, 1e-8, 1e8, 1e20, 1e75, 1e100, 1e149, 1e151, 1e200, 1.7e308)


@area
def ranges(rng: Random) -> int:
    """Numbers of every magnitude: refused, and then without a trace, or learned with finite predictions."""
    kinds = {name: make for name, make in making.LEARNERS.items() if name not in ("kernel learning", "filters")}
    model, stream = making.learner(rng, kinds), Stream(rng, steady=True)
    stream.teach(model, int(rng.integers(0, 15)))
    before, count = model.to_bytes(), 0
    for _ in range(int(rng.integers(5, 20))):
        x = {name: extreme(rng) if rng.random() < 0.3 else value for name, value in stream.x().items()}
        y = stream.target(model, stream.x())
        y = extreme(rng) if isinstance(y, float) and rng.random() < 0.3 else y
        given = {"w": 10.0 ** rng.uniform(-12, 12)} if making.takes_weights(model) and rng.random() < 0.2 else {}
        count += 1
        try:
            model.learn_one(x, y, **given)
        except (ValueError, TypeError):
            check(model.to_bytes() == before, f"changed by the refused {x!r}, {y!r}, {given!r}")
            continue
        try:
            found = making.wide_answer(model, stream.x())
        except ValueError as error:
            # A forecast at an ordinary place must not be lost to a sample that was accepted.
            raise AssertionError(f"after {x!r}, {y!r}, {given!r}: {error}") from error
        check(is_finite(found), f"{found!r} after {x!r}, {y!r}, {given!r}")
        before = model.to_bytes()  # a model may remember what it was asked
    return count


def extreme(rng: Random) -> float:
    return float(rng.choice([-1.0, 1.0]) * EXTREMES[rng.integers(len(EXTREMES))])


def is_finite(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return isinstance(value, str) or math.isfinite(value)


def same(left: Any, right: Any) -> bool:
    return repr(left) == repr(right)


# Copies and checkpoints -----------------------------------------------------------------------------------------------


def duplicates(model: Any) -> list[Any]:
    """A model copied, pickled, and written and read."""
    return [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), type(model).from_bytes(model.to_bytes())]


@area
def copies(rng: Random) -> int:
    """A model that was copied, pickled or written and read at a random place goes on bit for bit."""
    model, stream = making.learner(rng, making.LEARNERS), Stream(rng)
    stream.teach(model, int(rng.integers(0, 70)))
    data = model.to_bytes()
    others = duplicates(model)
    for _ in range(int(rng.integers(1, 12))):
        (x, y), given = stream.sample(model), stream.weight(model)
        for other in (model, *others):
            other.learn_one(x, y, **given)
        query = stream.x()
        for other in others:
            check(same(making.answer(model, query), making.answer(other, query)), "a copy predicts something else")
    for other in others:
        check(other.to_bytes() == model.to_bytes(), "a copy has other bytes")
    check(type(model).from_bytes(data).to_bytes() == data, "what was read is written differently")
    return len(others)


@area
def mutations(rng: Random) -> int:
    """Checkpoints with a right checksum over wrong contents: refused, or a model that answers or refuses to."""
    model, stream = making.learner(rng, making.LEARNERS), Stream(rng)
    stream.teach(model, int(rng.integers(0, 20)))
    body = model.to_bytes()[checkpoint._PREFIX.size :]
    (length,) = struct.unpack_from("<Q", body)
    header, arrays = json.loads(body[8 : 8 + length]), body[8 + length :]
    for _ in range(20):
        changed, contents = copy.deepcopy(header), bytearray(arrays)
        if rng.random() < 0.7:
            _mutate(rng, changed)
        else:
            for _ in range(int(rng.integers(1, 4))):
                if contents:
                    contents[rng.integers(len(contents))] ^= 1 << int(rng.integers(8))
        text = json.dumps(changed, separators=(",", ":")).encode()
        written = struct.pack("<Q", len(text)) + text + bytes(contents)
        data = checkpoint._PREFIX.pack(checkpoint.MAGIC, checkpoint.VERSION, checkpoint._digest(written)) + written
        try:
            restored = checkpoint.loads(data)
        except CheckpointError:
            continue
        with contextlib.suppress(ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
            making.answer(restored, stream.x())
    return 20


def _mutate(rng: Random, tree: Any) -> None:
    """Change one value somewhere in a header."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(tree)
    node, key = places[rng.integers(len(places))]
    others = [0, 1, -1, 7, 2**40, 1.5, "x", "RBF(1.0)", None, [], {}, [1, 2], True, {"float": "nan"}, {"tuple": []}]
    node[key] = others[rng.integers(len(others))]


@area
def expressions(rng: Random) -> int:
    """A kernel is what its text says, and texts that are no kernel are refused with a ValueError."""
    given = making.kernel(rng, depth=4)
    check(kernels.parse(kernels.text(given)) == given, f"{given!r} is read as another kernel")
    text = list(repr(given))
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(text)))
        text[at] = str(rng.choice(list("()+*,.=-_e019aRB{}:'\"\\[] \n\0")))
    with contextlib.suppress(ValueError):
        kernels.parse("".join(text))
    return 2


# Threads --------------------------------------------------------------------------------------------------------------

THREADS = 4


@area
def threads(rng: Random) -> int:
    """Four threads that only predict get what one gets."""
    return read_from_threads(making.learner(rng, making.LEARNERS), rng, 300)


def read_from_threads(model: Any, rng: Random, count: int) -> int:
    """Predict `count` times from each of four threads; every answer is the one that a single thread gets."""
    stream = Stream(rng)
    stream.teach(model, 40)
    queries = [stream.x() for _ in range(50)]
    queries += [query | {"never seen": 0.3} for query in queries[:5]]
    ways = [making.answer, making.wide_answer]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [[repr(way(model, query)) for way in ways] for query in queries]
        orders = rng.integers(len(queries), size=(THREADS, count))
        wrong: list[str] = []

        def work(order: Any) -> None:
            try:
                for i, at in enumerate(order.tolist()):
                    found = repr(ways[i % 2](model, queries[at]))
                    if found != expected[at][i % 2]:
                        wrong.append(f"{found} instead of {expected[at][i % 2]} at {queries[at]!r}")
            except Exception as error:
                wrong.append(repr(error))

        with _frequent_switches():
            workers = [threading.Thread(target=work, args=(order,)) for order in orders]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
    check(not wrong, f"{type(model).__name__}: {len(wrong)} of {THREADS * count} are wrong: {wrong[:1]}")
    return THREADS * count


@contextlib.contextmanager
def _frequent_switches() -> Any:
    """Let threads take turns as often as the interpreter can."""
    import sys

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
