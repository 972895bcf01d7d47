"""The vector register operations against numpy, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from reference import JIT

from streamkernel.core import simd
from streamkernel.core.jit import jit

pytestmark = pytest.mark.core


@njit
def _arithmetic(a, b, c, out):  # type: ignore[no-untyped-def]
    x, y, z = simd.load(a, 0), simd.load(b, 0), simd.load(c, 0)
    simd.store(out, 0, simd.multiply_add(x, y, z))
    simd.store(out, 8, simd.multiply(x, y))
    simd.store(out, 16, simd.subtract(x, y))
    simd.store(out, 24, simd.splat(a[3]))


@njit
def _offset(a, at, out, to):  # type: ignore[no-untyped-def]
    simd.store(out, to, simd.load(a, at))


@njit
def _sums(rows, out):  # type: ignore[no-untyped-def]
    r = rows
    every = simd.totals(
        simd.load(r[0], 0),
        simd.load(r[1], 0),
        simd.load(r[2], 0),
        simd.load(r[3], 0),
        simd.load(r[4], 0),
        simd.load(r[5], 0),
        simd.load(r[6], 0),
        simd.load(r[7], 0),
    )
    simd.store(out, 0, every)
    for i in range(8):
        out[8 + i] = simd.total(simd.load(r[i], 0))
        out[16 + i] = simd.lane(simd.load(r[0], 0), i)


@njit
def _transposed(rows, out):  # type: ignore[no-untyped-def]
    r = rows
    a, b, c, d = simd.load(r[0], 0), simd.load(r[1], 0), simd.load(r[2], 0), simd.load(r[3], 0)
    e, f, g, h = simd.load(r[4], 0), simd.load(r[5], 0), simd.load(r[6], 0), simd.load(r[7], 0)
    a, b, c, d, e, f, g, h = simd.transpose(a, b, c, d, e, f, g, h)
    for i, column in enumerate((a, b, c, d, e, f, g, h)):
        simd.store(out[i], 0, column)


@njit
def _exponential(values, out):  # type: ignore[no-untyped-def]
    for i in range(0, len(values), 8):
        simd.store(out, i, simd.exponential(simd.load(values, i)))


def test_arithmetic() -> None:
    a, b, c = np.random.default_rng(0).standard_normal((3, 8))
    out = np.zeros(32)
    _arithmetic(a, b, c, out)
    np.testing.assert_allclose(out[:8], a * b + c, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(out[8:16], a * b)
    np.testing.assert_array_equal(out[16:24], a - b)
    np.testing.assert_array_equal(out[24:], np.full(8, a[3]))


@pytest.mark.parametrize("at", [0, 1, 3, 8])
def test_load_and_store_at_any_element(at: int) -> None:
    a, out = np.arange(16.0), np.full(24, -1.0)
    _offset(a, at, out, 5)
    expected = np.full(24, -1.0)
    expected[5:13] = a[at : at + 8]
    np.testing.assert_array_equal(out, expected)


def test_sums_and_lanes() -> None:
    rows = np.random.default_rng(1).standard_normal((8, 8))
    rows[2] = 0.0
    out = np.zeros(24)
    _sums(rows, out)
    np.testing.assert_allclose(out[:8], rows.sum(axis=1), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(out[8:16], rows.sum(axis=1), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(out[16:], rows[0])


def test_transpose() -> None:
    rows = np.arange(64.0).reshape(8, 8)
    out = np.zeros((8, 8))
    _transposed(rows, out)
    np.testing.assert_array_equal(out, rows.T)


def test_sums_keep_rows_apart() -> None:
    out = np.zeros(24)
    _sums(np.arange(8.0)[:, None] * np.ones(8), out)
    np.testing.assert_array_equal(out[:8], 8.0 * np.arange(8.0))


def test_exponential_is_within_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(2)
    count = 80_000 if JIT else 800
    values = -np.concatenate(
        [
            rng.uniform(0.0, 1.0, count),
            rng.uniform(0.0, 40.0, count),
            rng.uniform(0.0, 708.0, count),
            10.0 ** rng.uniform(-320.0, 2.8, count),
            # around the places where the reduction changes its integer
            (np.arange(0.5, 1000.0) * math.log(2.0)).repeat(8) * (1.0 + rng.uniform(-1e-15, 1e-15, 8000)),
        ]
    )
    values = values[values >= -708.0]
    values = values[: len(values) // 8 * 8]
    out = np.empty_like(values)
    _exponential(values, out)
    expected = np.exp(values.astype(np.longdouble))
    ulps = np.abs(out - expected) / np.spacing(expected.astype(np.float64))
    assert float(ulps.max()) <= 2.0


def test_exponential_at_the_ends() -> None:
    values = np.array([0.0, -0.0, -708.0, -708.4, -745.0, -1e4, -1e308, -np.inf])
    out = np.empty(8)
    _exponential(values, out)
    assert out[0] == out[1] == 1.0
    assert out[2] == pytest.approx(math.exp(-708.0), rel=1e-15)
    np.testing.assert_array_equal(out[3:], 0.0)


def test_exponential_passes_nan_on() -> None:
    out = np.zeros(8)
    _exponential(np.array([np.nan, -1.0, np.nan, 0.0, -2.0, -3.0, -4.0, np.nan]), out)
    np.testing.assert_array_equal(np.isnan(out), [True, False, True, False, False, False, False, True])
    assert out[1] == pytest.approx(math.exp(-1.0), rel=1e-15)


@jit
def _exponentials_as_the_core_compiles_them(a, out):  # type: ignore[no-untyped-def]
    """With reordered sums allowed, which must not undo the rounding inside."""
    for at in range(0, len(a), simd.LANES):
        simd.store(out, at, simd.exponential(simd.load(a, at)))


def test_exponential_under_the_flags_of_the_core() -> None:
    a = -np.linspace(0.0, 700.0, 800)
    out = np.zeros_like(a)
    _exponentials_as_the_core_compiles_them(a, out)
    np.testing.assert_allclose(out, np.exp(a), rtol=1e-15)
