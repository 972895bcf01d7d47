"""dlib's C++ `krls` as a competitor: compile the driver beside this file, run it as a co-process, time its steps.

dlib implements the same Table 1 (Engel, Mannor & Meir 2004), but adds the constant `HIDDEN_CONSTANT` to every kernel
value; a comparison of predictions must add it on the other side too.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

SOURCE = Path(__file__).with_name("dlib_krls.cpp")
HIDDEN_CONSTANT = 0.01  # `tau` in dlib/svm/krls.h
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG")
# To g++ what `reassoc, nsz, arcp` are to LLVM (it contracts anyway); without them it does not vectorize dlib's sums.
RELAXED_FLAGS = (
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-freciprocal-math",
    "-fno-math-errno",
)
CLOSE_SECONDS = 10.0  # the driver ends when its input does; after this it is stopped
# One thread for every BLAS the driver may have been linked with.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _compiles(source: str, *flags: str) -> bool:
    """Say whether g++ accepts and links a small program."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["g++", "-x", "c++", "-", *flags, "-o", str(Path(folder) / "program")]
        return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0


def unavailable_reason(blas: bool = True) -> str | None:
    """Return why the driver cannot be built here, or None when it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not _compiles("#if !__has_include(<dlib/svm/krls.h>)\n#error\n#endif\nint main() {}"):
        return "the dlib headers are not installed (Debian: libdlib-dev)"
    if blas and not _compiles("int main() {}", "-lopenblas"):
        return "OpenBLAS is not installed (Debian: libopenblas-dev)"
    return None


def available(blas: bool = True) -> bool:
    """Say whether g++, the dlib headers and, for `blas`, OpenBLAS are installed."""
    return unavailable_reason(blas) is None


def build(folder: str | Path, blas: bool = True, features: int = 0, relaxed: bool = False) -> Path:
    """Compile the driver into `folder` and return the program; an up-to-date one is kept.

    `features` > 0 fixes the dimension of the inputs at compile time, as dlib's examples do; 0 accepts any.
    `relaxed` lets the compiler reorder sums, as the jitted contestants may; dlib's users get the stricter default.
    Raises RuntimeError with the compiler's message, or with what is missing.
    """
    reason = unavailable_reason(blas)
    if reason is not None:
        raise RuntimeError(f"dlib_krls cannot be built: {reason}")
    program = Path(folder) / f"dlib_krls_{'blas' if blas else 'plain'}_{features}{'_relaxed' if relaxed else ''}"
    if program.exists() and program.stat().st_mtime > SOURCE.stat().st_mtime:
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    libraries = ["-lopenblas"] if blas else ["-DPLAIN_LOOPS"]
    flags = [*FLAGS, *(RELAXED_FLAGS if relaxed else ()), f"-DFEATURES={features}"]
    command = ["g++", *flags, str(SOURCE), "-o", str(program), *libraries]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"dlib_krls cannot be built: g++ said\n{result.stderr}")
    return program


class Driver:
    """One dlib model in its own process, preloaded with `points`; idle until asked to run.

    Parameters: `program` from `build`; `points` (m × d) and `targets` are learned at the start; `visits` (n × d) and
    `visit_targets` are what `run` cycles through; `tests` (t × d) is where `predict` looks; `length_scale` is the RBF
    kernel's ℓ; `tolerance` is the ALD threshold ν. `size` is the dictionary size after the last command.
    """

    def __init__(
        self,
        program: str | Path,
        points: np.ndarray,
        targets: np.ndarray,
        visits: np.ndarray,
        visit_targets: np.ndarray,
        length_scale: float,
        tolerance: float,
        tests: np.ndarray | None = None,
    ) -> None:
        n_features = points.shape[1]
        tests = np.empty((0, n_features)) if tests is None else tests
        counts = np.array([n_features, len(points), len(visits), len(tests)], dtype=np.int64)
        parameters = np.array([0.5 / length_scale**2, tolerance])
        self._process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD}
        )
        arrays = (parameters, points, targets, visits, visit_targets, tests)
        self._send(counts.tobytes() + b"".join(np.ascontiguousarray(array, np.float64).tobytes() for array in arrays))
        self.size: int = self._answer()["size"]

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _answer(self) -> dict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def _ended(self) -> RuntimeError:
        code = self._process.wait()
        return RuntimeError(f"dlib_krls ended with exit code {code}; its reason is on standard error")

    def run(self, steps: int) -> float:
        """Learn the next `steps` visits; return the seconds the driver's own clock measured."""
        self._send(b"run %d\n" % steps)
        answer = self._answer()
        self.size = answer["size"]
        return answer["seconds"]

    def predict(self) -> np.ndarray:
        """Return the predictions at the tests."""
        self._send(b"predict\n")
        return np.array(self._answer()["predictions"])

    def close(self) -> None:
        """End the process."""
        process = self._process
        if process.poll() is None:
            try:
                process.communicate(timeout=CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def __enter__(self) -> "Driver":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def time_steps(driver: Driver, steps: int, chunks: int, warmup: int = 2) -> Iterator[float]:
    """Yield the seconds per step of `chunks` chunks of `steps` steps, each run when it is asked for.

    A harness calls `next` on this and on its other contestants in turn. Before each chunk, `warmup` untimed steps bring
    the model back into the cache from which the others have driven it. Raises RuntimeError when the dictionary grew,
    because then the chunk timed another algorithm than the one at fixed size.
    """
    size = driver.size
    for _ in range(chunks):
        driver.run(warmup)
        seconds = driver.run(steps)
        if driver.size != size:
            raise RuntimeError(f"the dictionary grew from {size} to {driver.size} points during a timed chunk")
        yield seconds / steps
