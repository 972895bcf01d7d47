"""What a step costs, beside what it costs elsewhere: `python -m bench.speed`.

One thread. Contestants take turns in chunks of one or two milliseconds, and a ratio is the median of the ratios of
neighboring chunks: what disturbs this machine disturbs both. The rules are in bench/README.md. Each function named in
`SECTIONS` yields `Line`s; a new row is one more `Line`, a new subject one more function.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

# Both must stand before numpy and numba are imported. The cache of compiled code is named by the sources, because numba
# does not notice when a callee in another file has changed, and the bench would time yesterday's code.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
)
os.environ.setdefault(
    "NUMBA_CACHE_DIR",
    str(
        Path(__file__).with_name("__pycache__")
        / hashlib.sha256(
            b"".join(source.read_bytes() for source in sorted(Path(__file__).parents[1].glob("streamkernel/core/*.py")))
        ).hexdigest()[:16]
    ),
)

import argparse
import collections
import contextlib
import dataclasses
import importlib.util
import itertools
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numba import njit
from river import linear_model
from scipy import linalg

from bench import auto, bandwidth, dlib_krls, steps, table1
from bench import record as files
from streamkernel import KRLS, KRR, HeteroscedasticKRLS, datasets, kernels, live
from streamkernel.core import stream, whitened
from streamkernel.core.blocks import BLOCK
from streamkernel.core.model import Model
from streamkernel.core.triangular import dot
from streamkernel.filters import KLMS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

# The workload ---------------------------------------------------------------------------------------------------------

FEATURES = 10
LENGTH_SCALE = 1.0
THRESHOLD = 1e-3
VISIT_DISTANCE = 0.01  # a visit's residual is at most its square over ℓ², a tenth of the threshold: no visit joins
VISITS = 128  # visits that the steps cycle through
SEED = 1

# The measurement ------------------------------------------------------------------------------------------------------

CHUNK_SECONDS = 1.5e-3  # long against the clock and a call, short against a time slice of the scheduler
WARM_STEPS = 2  # untimed steps before a chunk: they bring the state back into the cache from which the other drove it
BEST_OF = 15  # chunks, where a best is compared with the floor, which is a best of as many

Sample = dict[int, float]
Contestant = Callable[[int], float]  # learns so many samples; returns the seconds that took


@dataclass(frozen=True)
class Options:
    """How much is measured."""

    quick: bool = False
    full: bool = False

    @property
    def rounds(self) -> int:
        """Neighboring chunks that a median is taken over."""
        return 5 if self.quick else 101 if self.full else 41

    def sizes(self, *wanted: int) -> tuple[int, ...]:
        """The dictionary sizes that are measured; tiny ones in the quick form."""
        return (24,) if self.quick else wanted


@dataclass(frozen=True)
class Line:
    """One row of the table.

    `value` is a median, `low` and `high` are the quartiles where it was measured often. `at_least` or `at_most` is the
    target; a line without one is there to be read. `ours` and `theirs` are the seconds per step of a ratio. `p50`,
    `p99` and `worst` are microseconds of the processor, of single steps.
    """

    section: str
    what: str
    m: int | None = None
    value: float | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    ours: float | None = None
    theirs: float | None = None
    note: str = ""
    p50: float | None = None
    p99: float | None = None
    worst: float | None = None

    @property
    def target(self) -> str:
        """The target in words."""
        if self.at_least is not None:
            return f">= {_significant(self.at_least)}{self.unit}"
        return "" if self.at_most is None else f"<= {_significant(self.at_most)}{self.unit}"

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty without one."""
        if self.value is None:
            return "skipped"
        if self.at_least is not None:
            return "ok" if self.value >= self.at_least else "short"
        if self.at_most is not None:
            return "ok" if self.value <= self.at_most else "short"
        return ""


def timed(run: Callable[[int], object]) -> Contestant:
    """A contestant from a function that learns so many samples."""

    def contestant(steps: int) -> float:
        start = time.perf_counter()
        run(steps)
        return time.perf_counter() - start

    return contestant


def chunk_steps(contestant: Contestant) -> int:
    """How many steps fill a chunk."""
    contestant(WARM_STEPS)
    steps = 1
    while (seconds := contestant(steps)) < CHUNK_SECONDS / 2:
        steps *= 2
    return max(1, round(steps * CHUNK_SECONDS / seconds))


def take_turns(
    contestants: Sequence[Contestant], rounds: int, steps: Sequence[int | None] = (), warm: int = WARM_STEPS
) -> np.ndarray:
    """Seconds per step, [round, contestant]; who goes first alternates. `steps` fixes the lengths of the chunks."""
    lengths = [
        chunk_steps(contestant) if fixed is None else fixed
        for contestant, fixed in zip(contestants, steps or [None] * len(contestants), strict=True)
    ]
    seconds = np.empty((rounds, len(contestants)))
    for i in range(rounds):
        order = range(len(contestants)) if i % 2 == 0 else reversed(range(len(contestants)))
        for k in order:
            if warm:
                contestants[k](warm)
            seconds[i, k] = contestants[k](lengths[k]) / lengths[k]
    return seconds


def ratio_line(
    section: str, what: str, m: int, seconds: np.ndarray, target: float | None = None, note: str = ""
) -> Line:
    """How many times cheaper the first contestant's step is than the second's."""
    low, median, high = np.percentile(seconds[:, 1] / seconds[:, 0], [25, 50, 75]).tolist()
    ours, theirs = np.median(seconds, axis=0).tolist()
    return Line(section, what, m, median, "x", low, high, target, ours=ours, theirs=theirs, note=note)


def cycle(run: Callable[[slice], object]) -> Contestant:
    """A contestant from a function that learns a slice of the visits; steps beyond the last visit start over."""

    def passes(steps: int) -> None:
        while steps > 0:
            run(slice(0, min(steps, VISITS)))
            steps -= VISITS

    return timed(passes)


# Models with exactly m points -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """m points that all join, and visits near them that do not."""

    points: np.ndarray
    point_targets: np.ndarray
    visits: np.ndarray
    targets: np.ndarray


def workload(m: int, visits: int = VISITS) -> Workload:
    """The same points and visits whenever it is asked."""
    generator = np.random.default_rng([SEED, m])
    points = generator.standard_normal((m, FEATURES))
    near = table1.visits(points, visits, VISIT_DISTANCE, SEED)
    noise = 0.1 * generator.standard_normal(m + visits)
    targets = np.sin(np.concatenate([points, near]).sum(axis=1)) + noise
    return Workload(points, targets[:m], near, targets[m:])


def prepared(m: int, data: Workload) -> KRLS:
    """A model whose dictionary is the points."""
    model = KRLS(kernels.RBF(LENGTH_SCALE), threshold=THRESHOLD)
    model.learn_many(data.points, data.point_targets)
    _require_size(model, m)
    return model


def _require_size(model: KRLS, m: int) -> None:
    if model.size != m:
        raise RuntimeError(
            f"the dictionary has {model.size} points, not {m}: another step was timed than the one meant"
        )


@njit(cache=True)
def _whitened_steps(table, columns, targets):  # type: ignore[no-untyped-def]
    """One step of the recursion per row of `columns`, whose last element is the self-similarity."""
    model = Model(table)
    size = columns.shape[1] - 1
    for t in range(targets.shape[0]):
        row = columns[t]
        for j in range(size + 1):
            model.column[j] = row[j]
        residual = whitened.project(model)
        model.errors[0] = targets[t] - dot(model.weights[0], model.projection, size)
        whitened.learn(model, residual, 1.0)


@njit(cache=True)
def _learn_steps(table, samples, targets):  # type: ignore[no-untyped-def]
    """`stream.learn_one` for every row of `samples`, kernel column included."""
    model = Model(table)
    for t in range(targets.shape[0]):
        model.inputs[0] = 1.0
        model.targets[0] = targets[t]
        for r in range(samples.shape[1]):
            model.x[r] = samples[t, r]
        stream.learn_one(table)


def similarity_columns(data: Workload) -> np.ndarray:
    """k(points, visit) for every visit, one row each, the self-similarity last: what both recursions are given."""
    m = len(data.points)
    columns = np.ones((len(data.visits), m + 1))
    for row, x in zip(columns, data.visits, strict=True):
        table1.rbf_column(data.points, m, x, 0.5 / LENGTH_SCALE**2, row)
    return columns


def our_recursion(m: int, data: Workload, columns: np.ndarray) -> Contestant:
    """Project and learn on precomputed columns."""
    model = prepared(m, data).recursion.model
    return cycle(lambda part: _whitened_steps(model.table, columns[part], data.targets[part]))


def table1_recursion(m: int, data: Workload, columns: np.ndarray) -> Contestant:
    """The baseline's step on precomputed columns."""
    state = table1.prepared_state(data.points, data.point_targets, LENGTH_SCALE)
    arrays = (state.inverse, state.covariance, state.coefficients, state.work)

    def run(part: slice) -> None:
        table1.table1_steps(columns[part], 1.0, data.targets[part], *arrays, m, THRESHOLD)

    return cycle(run)


def our_steps(m: int, data: Workload) -> Contestant:
    """One sample at a time, kernel column included, without leaving jitted code."""
    model = prepared(m, data).recursion.model
    return cycle(lambda part: _learn_steps(model.table, data.visits[part], data.targets[part]))


def table1_samples(m: int, data: Workload) -> Contestant:
    """The baseline, kernel column included."""
    state = table1.prepared_state(data.points, data.point_targets, LENGTH_SCALE)
    scale = 0.5 / LENGTH_SCALE**2
    return cycle(
        lambda part: table1.table1_learn_many(data.visits[part], data.targets[part], *state, m, scale, THRESHOLD)
    )


# The sections ---------------------------------------------------------------------------------------------------------


def recursion(options: Options) -> Iterator[Line]:
    """The step of the recursion alone against Table 1 with explicit inverses."""
    targets = {200: 3.0, 1000: 4.5}
    for m in options.sizes(50, 200, 500, 1000, 2000):
        data = workload(m)
        columns = similarity_columns(data)
        seconds = take_turns([our_recursion(m, data, columns), table1_recursion(m, data, columns)], options.rounds)
        yield ratio_line("recursion", "a step of the recursion vs Table 1", m, seconds, targets.get(m))


def many(options: Options) -> Iterator[Line]:
    """`KRLS.learn_many` on an array against Table 1, kernel columns included on both sides."""
    targets = {200: 4.0, 1000: 11.0}
    samples = 64 if options.quick else 1024
    for m in options.sizes(50, 200, 500, 1000, 2000):
        data = workload(m, samples)
        model = prepared(m, data)
        ours = timed(lambda steps, model=model, data=data: model.learn_many(data.visits[:steps], data.targets[:steps]))
        theirs = table1_samples(m, data)
        # A call learns all samples, because a call has a price of its own; Table 1's step costs the same in any number.
        rounds = options.rounds if m < 1000 else min(options.rounds, 21)
        seconds = take_turns([ours, theirs], rounds, [samples, max(2, chunk_steps(theirs))])
        _require_size(model, m)
        yield ratio_line("many", "learn_many vs Table 1", m, seconds, targets.get(m), f"{samples} samples a call")


def dlib(options: Options) -> Iterator[Line]:
    """One sample at a time against dlib's C++ with BLAS, kernel columns included on both sides."""
    what = "a step vs dlib + BLAS"
    reason = "compiling it takes longer than the quick form" if options.quick else dlib_krls.unavailable_reason()
    if reason is not None:
        yield Line("dlib", what, note=f"skipped: {reason}")
        return
    for relaxed in (False, True):
        program = dlib_krls.build(HERE / "__pycache__", features=FEATURES, relaxed=relaxed)
        for m in (50, 200, 1000):
            data = workload(m)
            arrays = (data.points, data.point_targets, data.visits, data.targets)
            # Only two contestants are alive at a time: more would crowd the shared cache at m = 1000.
            with dlib_krls.Driver(program, *arrays, LENGTH_SCALE, THRESHOLD) as driver:
                if driver.size != m:
                    raise RuntimeError(f"dlib keeps {driver.size} points, not {m}")
                seconds = take_turns([our_steps(m, data), driver.run], options.rounds)
                if driver.size != m:
                    raise RuntimeError(f"dlib's dictionary grew from {m} to {driver.size} points while it was timed")
            target = 8.0 if m in (200, 1000) and not relaxed else None
            note = "its sums may be reordered too" if relaxed else ""
            yield ratio_line("dlib", what + (", relaxed math" if relaxed else ""), m, seconds, target, note)


def pypi(options: Options) -> Iterator[Line]:
    """`KRLS.learn_one` against the package `krls`, where that is installed."""
    if importlib.util.find_spec("krls") is None or importlib.util.find_spec("torch") is None:
        yield Line("pypi", "learn_one vs PyPI krls", note="skipped: krls (with torch) is not installed")
        return
    from krls.krls import KRLS as Theirs

    for m in options.sizes(50, 200, 1000):
        data = workload(m)
        theirs = Theirs(nu=THRESHOLD, N=10 * m, kernel_type="Gaussian", sigma=LENGTH_SCALE)
        theirs.fit(data.points, data.point_targets)
        rounds = min(options.rounds, 11)
        seconds = take_turns(
            [
                dict_contestant(prepared(m, data), data),
                cycle(lambda part, theirs=theirs, data=data: theirs.evolve(data.visits[part], data.targets[part])),
            ],
            rounds,
        )
        yield ratio_line("pypi", "learn_one vs PyPI krls", m, seconds)


def dict_contestant(model: object, data: Workload) -> Contestant:
    """`learn_one` called from Python with feature dicts."""
    learn = model.learn_one  # type: ignore[attr-defined]
    samples = [dict(enumerate(x)) for x in data.visits.tolist()]
    pairs = list(zip(samples, data.targets.tolist(), strict=True))

    def run(part: slice) -> None:
        for x, y in pairs[part]:
            learn(x, y)

    return cycle(run)


def one(options: Options) -> Iterator[Line]:
    """`KRLS.learn_one` with a dict of ten features against river's linear regression."""
    for m in options.sizes(20, 50, 100, 200):
        data = workload(m)
        model = prepared(m, data)
        contestants = [dict_contestant(model, data), dict_contestant(linear_model.LinearRegression(), data)]
        seconds = take_turns(contestants, options.rounds)
        _require_size(model, m)
        target = 1.0 if m in (20, 50) else None
        yield ratio_line("one", "learn_one vs river's LinearRegression", m, seconds, target)


@njit(cache=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
def _schur_steps(columns, targets, inverse, coefficients, work, size, ridge):  # type: ignore[no-untyped-def]
    """Kernel ridge regression by an explicit inverse that grows: the Schur complement, one row at a time.

    With b = A⁻¹k and c = k(x, x) + α − k'b: A⁻¹ gains bb'/c, −b/c and 1/c; the coefficients gain (b, −1)·(p − y)/c.
    """
    for t in range(len(targets)):
        column = columns[t]
        complement = 1.0 + ridge
        prediction = 0.0
        for i in range(size):
            row, total = inverse[i], 0.0
            for j in range(size):
                total += row[j] * column[j]
            work[i] = total
        for i in range(size):
            complement -= column[i] * work[i]
            prediction += column[i] * coefficients[i]
        for i in range(size):
            row, scale = inverse[i], work[i] / complement
            for j in range(size):
                row[j] += scale * work[j]
            row[size] = -scale
            inverse[size, i] = -scale
        inverse[size, size] = 1.0 / complement
        error = (targets[t] - prediction) / complement
        for i in range(size):
            coefficients[i] -= error * work[i]
        coefficients[size] = error
        size += 1


def exact(options: Options) -> Iterator[Line]:
    """The exact form's step at n samples against an explicit inverse, and against fitting anew."""
    for m in options.sizes(200, 1000):
        yield from _exact_lines(m, options)


def _exact_lines(m: int, options: Options) -> Iterator[Line]:
    from sklearn.kernel_ridge import KernelRidge

    ridge, steps = 0.1, BLOCK
    data = workload(m)
    rows, targets = data.visits[:steps], data.targets[:steps]
    start = KRR(kernels.RBF(LENGTH_SCALE), ridge=ridge, threshold=None)
    start.learn_many(data.points, data.point_targets)
    state = start.recursion.__getstate__()
    state["capacity"] *= 2  # room for a block
    points = np.concatenate([data.points, rows])
    gram = kernels.RBF(LENGTH_SCALE)(points)
    inverse = np.linalg.inv(gram[:m, :m] + ridge * np.eye(m))
    grown, coefficients, work = np.zeros((m + steps, m + steps)), np.zeros(m + steps), np.zeros(m + steps)

    def many(count: int) -> float:
        start.recursion.__setstate__(dict(state))
        names = tuple(range(FEATURES))
        began = time.perf_counter()
        start.recursion.learn_many(names, rows[:count], targets[:count, None])
        return time.perf_counter() - began

    def schur(count: int) -> float:
        grown[:m, :m] = inverse
        coefficients[:m] = inverse @ data.point_targets
        began = time.perf_counter()
        _schur_steps(gram[m : m + count, : m + steps], targets[:count], grown, coefficients, work, m, ridge)
        return time.perf_counter() - began

    seconds = take_turns([many, schur], options.rounds, steps=(steps, steps), warm=1)
    expected = gram[m - 5 :, :] @ np.linalg.solve(
        gram + ridge * np.eye(m + steps), np.concatenate([data.point_targets, targets])
    )
    np.testing.assert_allclose(start.predict_many(points[m - 5 :]), expected, atol=1e-8)
    np.testing.assert_allclose(gram[m - 5 :, :] @ coefficients, expected, atol=1e-8)
    target = 5.0 if m == 1000 else None
    yield ratio_line(
        "exact", "exact form in blocks vs a growing inverse", m, seconds, target, f"{steps} samples a call"
    )
    seconds = take_turns([many, schur], options.rounds, steps=(steps // 4, steps // 4), warm=1)
    yield ratio_line("exact", "exact step vs a growing explicit inverse", m, seconds, target)

    def refit(_: int) -> float:
        model = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / LENGTH_SCALE**2)
        began = time.perf_counter()
        model.fit(points[: m + 1], np.concatenate([data.point_targets, targets[:1]]))
        return time.perf_counter() - began

    seconds = take_turns([many, refit], min(options.rounds, 11), steps=(steps // 4, 1), warm=1)
    target = 100.0 if m == 1000 else None
    yield ratio_line("exact", "exact step vs scikit-learn fitting anew", m, seconds, target)


def noise(options: Options) -> Iterator[Line]:
    """What the noise model of `HeteroscedasticKRLS` adds to a step of `KRLS`."""
    for m in options.sizes(50, 200, 1000):
        data = workload(m)
        kernel = kernels.RBF(LENGTH_SCALE)
        models = [HeteroscedasticKRLS(kernel, THRESHOLD), KRLS(kernel, THRESHOLD, ridge=0.1)]
        for model in models:
            model.learn_many(data.points, data.point_targets)
            _require_size(model, m)
        seconds = take_turns([dict_contestant(model, data) for model in models], options.rounds)
        low, median, high = np.percentile(seconds[:, 0] / seconds[:, 1], [25, 50, 75]).tolist()
        ours, theirs = np.median(seconds, axis=0).tolist()
        what = "HeteroscedasticKRLS.learn_one over KRLS"
        yield Line("noise", what, m, median, "x", low, high, at_most=2.5, ours=ours, theirs=theirs)


def filters(options: Options) -> Iterator[Line]:
    """A step of kernel least mean squares whose dictionary is full: the best of many chunks, in microseconds."""
    for m in options.sizes(200):
        data = workload(m)
        model = KLMS(kernels.RBF(LENGTH_SCALE), max_size=m)
        model.learn_many(data.points, data.point_targets)
        contestant = dict_contestant(model, data)
        steps = chunk_steps(contestant)
        seconds = [contestant(steps) / steps for _ in range(BEST_OF * (1 if options.quick else 5))]
        best, low, high = 1e6 * min(seconds), *(1e6 * np.percentile(seconds, [25, 75])).tolist()
        target = None if options.quick else 4.0
        yield Line("filters", "KLMS.learn_one", model.size, best, "us", low, high, at_most=target)


def floor(options: Options) -> Iterator[Line]:
    """A step of the recursion against the least time in which its memory traffic can pass."""
    for m in options.sizes(200, 500, 1000, 2000):
        data = workload(m)
        ours = our_recursion(m, data, similarity_columns(data))
        steps = chunk_steps(ours)
        seconds = np.empty((3 if options.quick else 9, 2))
        for pair in seconds:
            pair[0] = min(ours(steps) for _ in range(BEST_OF)) / steps
            pair[1] = bandwidth.floor_seconds(m)
        low, median, high = np.percentile(seconds[:, 0] / seconds[:, 1], [25, 50, 75]).tolist()
        step, least = np.median(seconds, axis=0).tolist()
        target = 1.3 if m >= 200 else None
        gigabytes = 12e-9 * m * m / least
        note = f"traffic at {gigabytes:.0f} GB/s"
        yield Line(
            "floor",
            "a step over its memory traffic",
            m,
            median,
            "x",
            low,
            high,
            at_most=target,
            ours=step,
            theirs=least,
            note=note,
        )


# A fresh interpreter reports seconds since it was started, by the clock that all processes share.
_STARTUP = """
import sys, time
start = float(sys.argv[1])
import json
from streamkernel import KRLS
seconds = {"import": time.monotonic() - start, "import cpu": time.process_time()}
import numpy as np
x = {i: 0.1 * i for i in range(10)}
model = KRLS()
model.learn_one(x, 1.0)
seconds["learn_one"], seconds["learn_one cpu"] = time.monotonic() - start, time.process_time()
for name in sys.argv[2:]:
    begin, begin_cpu = time.monotonic(), time.process_time()
    if name == "predict_one":
        model.predict_one(x)
    elif name == "with_dist":
        model.predict_one(x, with_dist=True)
    else:
        model.learn_many(np.zeros((2, 10)), np.zeros(2))
    seconds[name], seconds[name + " cpu"] = time.monotonic() - begin, time.process_time() - begin_cpu
print(json.dumps(seconds))
"""


def _start(cache: Path, *more: str) -> dict[str, float]:
    """Seconds of a fresh process until its imports and its first `learn_one` were done, then those of each of `more`.

    "NAME cpu" are seconds of the processor: on a busy machine they say more than the clock does.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _STARTUP, repr(time.monotonic()), *more]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(result.stdout)
    return seconds


def _cpu_note(rounds: Sequence[dict[str, float]], name: str) -> str:
    return f"{statistics.median(seconds[f'{name} cpu'] for seconds in rounds):.2f} s of the processor"


def startup(options: Options) -> Iterator[Line]:
    """Import and first call in a fresh interpreter, with an empty cache of compiled code and with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        if options.quick:  # what the bench itself compiled is in its cache: only the warm start is quick
            cache = Path(os.environ["NUMBA_CACHE_DIR"])
            _start(cache)
        else:
            rounds = [_start(Path(folder) / str(i)) for i in range(3 if options.full else 1)]
            cold = statistics.median(seconds["learn_one"] for seconds in rounds)
            note = _cpu_note(rounds, "learn_one")
            yield Line("startup", "cold: import and first learn_one", value=cold, unit=" s", at_most=6.0, note=note)
            cache = Path(folder) / "0"
            others = ("predict_one", "with_dist", "learn_many")
            compiled = _start(cache, *others)
            for name, what in zip(others, ("predict_one", "predict_one(with_dist=True)", "learn_many"), strict=True):
                note = _cpu_note([compiled], name)
                yield Line("startup", f"compiling {what}", value=compiled[name], unit=" s", note=note)
        warm = [_start(cache) for _ in range(3 if options.quick else 7)]
        for name, what, target in (
            ("import", "warm: import streamkernel", None),
            ("learn_one", "warm: import and first learn_one", 1.0),
        ):
            low, median, high = np.percentile([seconds[name] for seconds in warm], [25, 50, 75]).tolist()
            yield Line("startup", what, None, median, " s", low, high, at_most=target, note=_cpu_note(warm, name))


MAX_SIZE = 200
MODEL_BYTES = 2**20  # two packed triangles of 256 rows are 0.52 MiB, the vectors and points 0.05 MiB
GROWTH_BYTES = 2**23  # the interpreter's own arenas move by a few MiB


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _array_bytes(model: KRLS) -> int:
    """The bytes of every distinct array that the model holds."""
    owners = {}
    for item in vars(model.recursion.model).values():
        if isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            owners[id(item)] = item.nbytes
    return sum(owners.values())


def memory(options: Options) -> Iterator[Line]:
    """A long stream into a bounded dictionary: every sample is new, so nearly every one joins and drives one out."""
    count = 2_000 if options.quick else 1_000_000 if options.full else 50_000
    generator = np.random.default_rng(SEED)
    model = KRLS(kernels.RBF(LENGTH_SCALE), threshold=THRESHOLD, max_size=MAX_SIZE)
    chunk = 1000
    most, settled, resident, begin = 0, 0, 0, time.perf_counter()
    for done in range(0, count, chunk):
        xs = generator.standard_normal((chunk, FEATURES))
        ys = np.sin(xs.sum(axis=1))
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            model.learn_one(dict(enumerate(x)), y)
        most = max(most, _array_bytes(model))
        if sys.platform == "linux":
            resident = max(resident, _resident_bytes())
            settled = settled or resident  # after the first chunk: compiled, and the dictionary is full
        if done == 0:
            begin = time.perf_counter()
    step = (time.perf_counter() - begin) / max(count - chunk, 1)
    note = f"{count:.0e} samples"
    size = model.size
    yield Line(
        "memory",
        "bytes of the model's arrays, at most",
        size,
        most / 2**20,
        " MiB",
        at_most=MODEL_BYTES / 2**20,
        note=note,
    )
    if sys.platform == "linux":
        growth = (resident - settled) / 2**20
        yield Line("memory", "growth of the process", size, growth, " MiB", at_most=GROWTH_BYTES / 2**20, note=note)
    yield Line("memory", "learn_one that joins and prunes", size, 1e6 * step, " µs", ours=step)


VIEW_SIZE = 50
VIEW_SECONDS = 0.4  # a chunk with a page open: several messages


def live_view(options: Options) -> Iterator[Line]:
    """What the live view adds to a step that predicts with its variance and learns; and what an open page adds."""
    data = workload(m := 24 if options.quick else VIEW_SIZE)
    samples = [dict(enumerate(x)) for x in data.visits.tolist()]
    pairs = list(zip(samples, data.targets.tolist(), strict=True))
    model, first, second = (prepared(m, data) for _ in range(3))

    def plain(steps: int) -> None:
        for x, y in itertools.islice(itertools.cycle(pairs), steps):
            model.predict_moments(x)
            model.learn_one(x, y)

    def seen(watched: KRLS, view: live.View) -> Contestant:
        steps = live.Watch(watched, itertools.cycle(pairs), view)
        return timed(lambda count: collections.deque(itertools.islice(steps, count), maxlen=0))

    with live.View(first) as closed, live.View(second) as opened:
        seconds = take_turns([timed(plain), seen(first, closed)], options.rounds)
        low, median, high = np.percentile(1e6 * np.diff(seconds, axis=1), [25, 50, 75]).tolist()
        _, step = np.median(seconds, axis=0).tolist()
        what = "the live view adds to a step"
        yield Line("live", what, m, median, " µs", low, high, at_most=25.0, ours=step, note="no page open")
        code = f"import urllib.request as u\nfor line in u.urlopen({opened.url + 'events'!r}): pass"
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as page:
            while not opened.pages:
                time.sleep(0.05)
            steps = round((0.1 if options.quick else 1.0) * VIEW_SECONDS / step)
            seconds = take_turns(
                [seen(first, closed), seen(second, opened)], 3 if options.quick else 21, [steps, steps]
            )
            page.terminate()
    line = ratio_line("live", "a step with a page open vs none", m, seconds)
    yield dataclasses.replace(line, at_most=1.1)


STABILITY_THRESHOLD = 1e-6
STABILITY_NOISE = 0.03
STABILITY_LENGTH_SCALE = 2.0  # some hundred points, and a condition number of about 1e9
STABILITY_CHUNK = 20_000


def stability(options: Options) -> Iterator[Line]:
    """Noisy Mackey–Glass: the distance of the predictions from those of a fresh batch solve on the same dictionary."""
    count = 1_000_000 if options.full else 20_000
    what = "distance from a batch solve"
    if options.quick:
        count = 2_000
    source = datasets.MackeyGlass(tau=17, noise=STABILITY_NOISE, seed=SEED)
    xs, ys = _arrays(source, count + 1000)
    xs, ys, tests = xs[:count], ys[:count], xs[count:]
    model = KRLS(kernels.RBF(STABILITY_LENGTH_SCALE), threshold=STABILITY_THRESHOLD)
    names = tuple(range(xs.shape[1]))
    sizes = np.empty(count)
    for start in range(0, count, STABILITY_CHUNK):
        part = slice(start, start + STABILITY_CHUNK)
        *_, sizes[part] = model.recursion.learn_many(names, xs[part], ys[part, None])
    expected = batch_predictions(model, xs, ys, sizes, tests)
    online = np.array([model.predict_one(dict(enumerate(x))) for x in tests.tolist()])
    distance = float(np.max(np.abs(online - expected)) / np.max(np.abs(expected)))
    note = f"{count:.0e} samples, threshold {STABILITY_THRESHOLD:g}, {model.refused} refused"
    yield Line("stability", what, model.size, distance, "", at_most=1e-6, note=note)


def _arrays(source: datasets.MackeyGlass, count: int) -> tuple[np.ndarray, np.ndarray]:
    series = source.series(count + source.lags * source.stride)
    reach = source.lags * source.stride
    lags = [series[reach - (k + 1) * source.stride :][:count] for k in range(source.lags)]
    return np.column_stack(lags), series[reach:][:count]


def batch_predictions(model: KRLS, xs: np.ndarray, ys: np.ndarray, sizes: np.ndarray, tests: np.ndarray) -> np.ndarray:
    """Predictions of the least-squares solution (3.11) over the model's dictionary, by one QR factorization.

    A sample is represented by its projection on the dictionary of its time, which is the beginning of the final one:
    the first `sizes[t]` coordinates of L⁻¹k(D, x). The triangle R is carried from chunk to chunk.
    """
    kernel = model.recursion.effective_kernel()
    points = np.array([list(point.values()) for point in model.dictionary])
    m = len(points)
    factor = linalg.cholesky(kernel(points), lower=True)

    def project(samples: np.ndarray) -> np.ndarray:
        columns = kernel(points, samples)
        projections: np.ndarray = linalg.solve_triangular(factor, columns, lower=True).T
        return projections

    triangle = np.empty((0, m + 1))
    for start in range(0, len(xs), STABILITY_CHUNK):
        part = slice(start, start + STABILITY_CHUNK)
        rows = project(xs[part])
        rows[np.arange(m) >= sizes[part, None]] = 0.0
        triangle = linalg.qr(np.vstack([triangle, np.column_stack([rows, ys[part]])]), mode="r")[0][: m + 1]
    weights = linalg.solve_triangular(triangle[:m, :m], triangle[:m, m])
    predictions: np.ndarray = project(tests) @ weights
    return predictions


def readers(options: Options) -> Iterator[Line]:
    """How many times the lock by which threads may predict at the same time a prediction takes."""
    for m in options.sizes(20, 50):
        data = workload(m)
        model = prepared(m, data)
        samples = [dict(enumerate(x)) for x in data.visits.tolist()]
        lock, predict = model.recursion.reading, model.predict_one
        hold, release = lock.acquire, lock.release

        def take(part: slice, hold: Callable[[], bool] = hold, release: Callable[[], None] = release) -> None:
            for _ in samples[part]:  # noqa: B023 (called in this turn of the loop)
                try:  # as `Recursion.predict` does
                    hold()
                except BaseException:
                    release()
                    raise
                release()

        def ask(part: slice, predict: Callable[..., object] = predict) -> None:
            for x in samples[part]:  # noqa: B023
                predict(x)

        seconds = take_turns([cycle(take), cycle(ask)], options.rounds)
        yield ratio_line("readers", "predict_one vs the lock of its readers", m, seconds, 8.0)


STEPS, QUICK_STEPS = 4000, 200
AUTO_ROWS, QUICK_AUTO_ROWS = 6000, 60
JOIN_RIDGE, JOIN_RATIOS = 0.01, {200: 4.0, 500: 5.0}  # what a step that joins and prunes may cost, in plain ones


def single_steps(options: Options) -> Iterator[Line]:
    """Single steps and the slowest: plain ones, those that join and prune, those of automatic models."""
    count = QUICK_STEPS if options.quick else STEPS
    for m in options.sizes(20, 200, 500):
        data = workload(m)
        news = np.random.default_rng([SEED, m, 1]).standard_normal((count, FEATURES))
        free, full = (KRLS(kernels.RBF(LENGTH_SCALE), THRESHOLD, JOIN_RIDGE, max_size=limit) for limit in (None, m))
        for model in (free, full):
            model.learn_many(data.points, data.point_targets)
        near, far = ([dict(enumerate(x)) for x in rows.tolist()] for rows in (data.visits, news))
        targets = data.targets.tolist()

        def plain(t: int, model: KRLS = free, near: list[Sample] = near, targets: list[float] = targets) -> None:
            model.learn_one(near[t % VISITS], targets[t % VISITS])

        def joining(t: int, model: KRLS = full, far: list[Sample] = far, targets: list[float] = targets) -> None:
            model.learn_one(far[t], targets[t % VISITS])

        plain(0)  # compiles what is called
        joining(0)
        usual, slow = steps.in_turn(plain, joining, count)
        _require_size(free, m)
        if full.recursion.pruned < count:
            raise RuntimeError("not every sample joined: another step was timed than the one meant")
        spread = steps.Spread.of(usual)
        yield Line("steps", "learn_one, nothing joins", m, spread.p50, " µs", **spread._asdict())
        low, ratio, high = np.percentile(slow / usual.clip(1e-3), [25, 50, 75]).tolist()
        seconds = {"ours": 1e-6 * float(np.median(slow)), "theirs": 1e-6 * spread.p50}
        what = "learn_one, one joins, one leaves, over that"
        limit = JOIN_RATIOS.get(m)
        spread = steps.Spread.of(slow)
        yield Line("steps", what, m, ratio, "x", low, high, at_most=limit, **seconds, **spread._asdict())
    rows = auto.mixed(QUICK_AUTO_ROWS if options.quick else AUTO_ROWS)
    if not options.quick:
        auto.steps(auto.mixed(1300, seed=2), "medium")  # compiles
    taken, _, _ = auto.steps(rows, "medium")
    spread, note = steps.Spread.of(taken), f"eleven mixed features, {len(rows)} rows"
    for what, value, limit in (
        ("AutoKernelRegressor, mean step", float(taken.mean()), 250.0),
        ("AutoKernelRegressor, median step", spread.p50, 100.0),
        ("AutoKernelRegressor, slowest step", spread.worst, 20_000.0),
    ):
        yield Line("steps", what, None, value, " µs", at_most=limit, note=note, **spread._asdict())


STATE_SIZE = 20


def state(options: Options) -> Iterator[Line]:
    """A small model to bytes and back, in seconds of the processor."""
    data = workload(STATE_SIZE)
    model = prepared(STATE_SIZE, data)
    written = model.to_bytes()

    def per_call(call: Callable[[], object]) -> tuple[float, float, float]:
        """Quartiles of the microseconds of one."""
        call()
        count, found = 20 if options.quick else 200, []
        for _ in range(options.rounds):
            began = time.process_time()
            for _ in range(count):
                call()
            found.append(1e6 * (time.process_time() - began) / count)
        low, median, high = np.percentile(found, [25, 50, 75]).tolist()
        return low, median, high

    for what, call, target in (
        ("to_bytes", model.to_bytes, 30.0),
        ("from_bytes", lambda: KRLS.from_bytes(written), 40.0),
    ):
        low, median, high = per_call(call)
        spread = steps.Spread.of(steps.each([call] * (QUICK_STEPS if options.quick else STEPS)))
        yield Line(
            "state",
            what,
            STATE_SIZE,
            median,
            " µs",
            low,
            high,
            at_most=target,
            ours=1e-6 * median,
            note=f"{len(written)} bytes",
            **spread._asdict(),
        )


SECTIONS: dict[str, Callable[[Options], Iterator[Line]]] = {
    "recursion": recursion,
    "many": many,
    "dlib": dlib,
    "pypi": pypi,
    "one": one,
    "exact": exact,
    "noise": noise,
    "filters": filters,
    "floor": floor,
    "startup": startup,
    "memory": memory,
    "stability": stability,
    "live": live_view,
    "readers": readers,
    "steps": single_steps,
    "state": state,
}

# The report -----------------------------------------------------------------------------------------------------------

WIDTHS = (46, 6, 11, 17, 10, 9, 21, 24)
HEADERS = ("line", "m", "measured", "quartiles", "target", "verdict", "ours / theirs", "p50 / p99 / max, µs", "note")


def _significant(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _microseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{_significant(1e6 * seconds)} µs"


def format_row(cells: Sequence[str]) -> str:
    """One row of the table, cells padded to their columns."""
    padded = [cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=False)]
    return " ".join([*padded, *cells[len(WIDTHS) :]]).rstrip()


def format_line(line: Line) -> str:
    """A line of the table."""
    quartiles = (
        "" if line.low is None or line.high is None else f"[{_significant(line.low)}, {_significant(line.high)}]"
    )
    times = " / ".join(filter(None, [_microseconds(line.ours), _microseconds(line.theirs)]))
    measured = "-" if line.value is None else _significant(line.value) + line.unit
    size = "" if line.m is None else str(line.m)
    spread = " / ".join(_significant(v) for v in (line.p50, line.p99, line.worst) if v is not None)
    return format_row([line.what, size, measured, quartiles, line.target, line.verdict, times, spread, line.note])


def environment() -> dict[str, object]:
    """What a number depends on besides the code."""
    processor = platform.processor()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        processor = next((row.split(":")[1].strip() for row in file if row.startswith("model name")), processor)
    load = [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def as_record(line: Line) -> dict[str, object]:
    """A line for JSON and CSV."""
    return {**dataclasses.asdict(line), "unit": line.unit.strip(), "target": line.target, "verdict": line.verdict}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="tiny dictionaries, a few seconds: does it run")
    length.add_argument(
        "--full", action="store_true", help="more rounds, and a million samples for memory and stability"
    )
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="NAME", help=f"one of {', '.join(SECTIONS)}"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "speed.csv", help="the CSV file to write")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report. The numbers depend on the machine, so the exit code says only that the bench ran."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description="Speed, start-up, memory and stability.")
    add_arguments(parser)
    args = parser.parse_args(arguments)
    options = Options(quick=args.quick, full=args.full)
    here = environment()
    if not args.json:
        print(", ".join(f"{name} {value}" for name, value in here.items()))
        print(format_row(HEADERS))
    lines: list[Line] = []
    for name in args.only or SECTIONS:
        for line in SECTIONS[name](options):
            lines.append(line)
            if not args.json:
                print(format_line(line), flush=True)
    records = [as_record(line) for line in lines]
    if args.json:
        print(json.dumps({"environment": here, "lines": records}, indent=1))
    made = files.provenance("python -m bench.speed", f"{options.rounds} rounds that take turns, fixed seeds", ["river"])
    files.write(args.out, list(records[0]), [list(record.values()) for record in records], made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
