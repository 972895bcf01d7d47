"""What the memory of this machine allows: one-core bandwidth by working-set size, and the floor of one step.

A step of the whitened recursion must read the factor L once (m²/2 doubles) and read and write half of P once (m²/2
doubles). However it is written, it cannot be faster than the time this traffic takes at the measured bandwidth.
"""

import time

import numpy as np
from numba import njit

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
CACHE_LINE = 64  # bytes
STRANDS = 4  # independent slices read together: one running sum would wait for the adder, not for the memory
ROUNDS = 15  # the best of so many: everything that disturbs a measurement makes it slower
ROUND_SECONDS = 2e-3  # long against the clock's resolution, short against a time slice of the scheduler


@njit(cache=True, fastmath=FASTMATH)
def _sum_passes(array, passes):
    """Return the sum of `array` taken `passes` times. Requires: its length is a multiple of four."""
    quarter = array.shape[0] // 4
    first = array[:quarter]
    second = array[quarter : 2 * quarter]
    third = array[2 * quarter : 3 * quarter]
    fourth = array[3 * quarter : 4 * quarter]
    total = 0.0
    for _ in range(passes):
        sum_first = 0.0
        sum_second = 0.0
        sum_third = 0.0
        sum_fourth = 0.0
        for j in range(quarter):
            sum_first += first[j]
            sum_second += second[j]
            sum_third += third[j]
            sum_fourth += fourth[j]
        total += sum_first + sum_second + sum_third + sum_fourth
    return total


@njit(cache=True, fastmath=FASTMATH)
def _scale_passes(array, passes, factor):
    """Multiply every element of `array` by `factor`, `passes` times."""
    for _ in range(passes):
        for j in range(array.shape[0]):
            array[j] *= factor
    return array[0]


def _working_set(n_bytes: int) -> np.ndarray:
    """Return at least `n_bytes` bytes of ones that start on a cache line."""
    line = CACHE_LINE // 8 * STRANDS
    length = max(1, -(-n_bytes // (8 * line))) * line
    buffer = np.ones(length + CACHE_LINE // 8)
    start = -buffer.ctypes.data % CACHE_LINE // 8
    return buffer[start : start + length]


def _best_pass_seconds(run) -> float:
    """Return the shortest time of one pass, where `run(passes)` makes that many."""
    run(1)  # compiles, and brings the working set into the cache that can hold it
    passes = 1
    while True:
        start = time.perf_counter()
        run(passes)
        if time.perf_counter() - start > ROUND_SECONDS:
            break
        passes *= 2
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run(passes)
        best = min(best, (time.perf_counter() - start) / passes)
    return best


def read_bandwidth(n_bytes: int) -> float:
    """Return bytes read per second when one core sums a working set of `n_bytes` again and again."""
    array = _working_set(n_bytes)
    return array.nbytes / _best_pass_seconds(lambda passes: _sum_passes(array, passes))


def update_bandwidth(n_bytes: int) -> float:
    """Return bytes read plus bytes written per second when one core scales a working set of `n_bytes` in place."""
    array = _working_set(n_bytes)
    # A factor of one keeps the numbers from overflowing or becoming denormal; the compiler cannot know it.
    return 2 * array.nbytes / _best_pass_seconds(lambda passes: _scale_passes(array, passes, 1.0))


def traffic_seconds(m: int, read: float, update: float) -> float:
    """Return the time of one step's traffic at bandwidths `read` and `update` in bytes per second."""
    half = 8 * m * m / 2
    return half / read + 2 * half / update


def floor_seconds(m: int) -> float:
    """Return the least time of one step with `m` dictionary points: L read once, half of P read and written once.

    The bandwidths are those of the cache level that holds both halves together, 8 m² bytes.
    """
    working_set = 8 * m * m
    return traffic_seconds(m, read_bandwidth(working_set), update_bandwidth(working_set))
