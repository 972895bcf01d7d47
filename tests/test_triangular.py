"""The packed triangle against dense linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import JIT, packed, random_positive_definite, unpacked
from scipy import linalg

from streamkernel.core import rotations, triangular

pytestmark = pytest.mark.core

SIZES = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 70] if JIT else [1, 3, 8, 9, 17]
row_start = getattr(triangular.row_start, "py_func", triangular.row_start)
row_width = getattr(triangular.row_width, "py_func", triangular.row_width)
padded = getattr(triangular.padded, "py_func", triangular.padded)


def factored(size: int, capacity: int | None = None) -> tuple[Any, Any, Any, Any]:
    """A dense K with its factor, dense and packed, and the reciprocals of the diagonal."""
    capacity = capacity or padded(size + 1)
    K = random_positive_definite(np.random.default_rng(size), size)
    L = np.linalg.cholesky(K)
    reciprocals = np.zeros(capacity)
    reciprocals[:size] = 1.0 / np.diag(L)
    return K, L, packed(L, capacity, symmetric=False), reciprocals


def test_rows_follow_each_other_without_a_gap() -> None:
    at = 0
    for row in range(100):
        assert row_start(row) == at
        assert row_width(row) == 8 * (row // 8 + 1) > row
        at += row_width(row)
        if (row + 1) % 8 == 0:
            assert triangular.packed_length(row + 1) == at
    assert [padded(n) for n in (0, 1, 7, 8, 9)] == [0, 8, 8, 8, 16]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("in_place", [False, True])
def test_solve(size: int, in_place: bool) -> None:
    _, L, factor, reciprocals = factored(size)
    right = np.zeros(padded(size))
    right[:size] = np.random.default_rng(1).standard_normal(size)
    expected = linalg.solve_triangular(L, right[:size], lower=True)
    out = right if in_place else np.full(padded(size), 7.0)
    triangular.solve(factor, reciprocals, size, right, out)
    np.testing.assert_allclose(out[:size], expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(out[size:], 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_solve_ignores_what_stands_behind_the_column(size: int) -> None:
    """A column's next element is the self-similarity: it must not leak into the solution."""
    _, L, factor, reciprocals = factored(size)
    right = np.random.default_rng(1).standard_normal(padded(size + 1))
    out = np.zeros(padded(size + 1))
    triangular.solve(factor, reciprocals, size, right, out)
    np.testing.assert_allclose(out[:size], linalg.solve_triangular(L, right[:size], lower=True), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(out[size : padded(size)], 0.0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("in_place", [False, True])
def test_solve_transposed(size: int, in_place: bool) -> None:
    _, L, factor, reciprocals = factored(size)
    right = np.random.default_rng(1).standard_normal(padded(size))
    expected = linalg.solve_triangular(L, right[:size], lower=True, trans=1)
    out = right if in_place else np.full(padded(size), 7.0)
    triangular.solve_transposed(factor, reciprocals, size, right, out)
    np.testing.assert_allclose(out[:size], expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(out[size:], 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_solve_transposed_of_two_and_of_eight(size: int) -> None:
    _, L, factor, reciprocals = factored(size)
    right = np.zeros((8, padded(size)))
    right[:, :size] = np.random.default_rng(1).standard_normal((8, size))
    expected = linalg.solve_triangular(L, right[:, :size].T, lower=True, trans=1).T
    one, other = right[:2].copy()
    triangular.solve_transposed_pair(factor, reciprocals, size, one, other)
    block = right.T.ravel().copy()
    triangular.solve_transposed_block(factor, reciprocals, size, block)
    for got in (np.array([one, other]), block.reshape(-1, 8).T):
        np.testing.assert_allclose(got[:, :size], expected[: len(got)], rtol=1e-11, atol=1e-12)
        np.testing.assert_array_equal(got[:, size:], 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_inverse_column(size: int) -> None:
    _, L, factor, reciprocals = factored(size)
    expected = linalg.solve_triangular(L, np.eye(size), lower=True)
    for index in range(size):
        out = np.full(padded(size), 7.0)
        triangular.inverse_column(factor, reciprocals, size, index, out)
        np.testing.assert_allclose(out[:size], expected[:, index], rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(out[size:], 0.0)


def test_append_builds_the_factor_row_by_row() -> None:
    size = SIZES[-1]
    _, L, expected, expected_reciprocals = factored(size, padded(size))
    factor, reciprocals = np.zeros_like(expected), np.zeros_like(expected_reciprocals)
    for i in range(size):
        row = np.full(padded(size), 9.0)
        row[:i] = L[i, :i]
        triangular.append_row(factor, reciprocals, i, row, L[i, i])
    np.testing.assert_array_equal(factor, expected)
    np.testing.assert_allclose(reciprocals, expected_reciprocals, rtol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_delete_row_and_its_rotations(size: int) -> None:
    for index in sorted({0, min(7, size - 1), min(8, size - 1), size // 2, max(size - 2, 0), size - 1}):
        K, L, factor, reciprocals = factored(size)
        capacity = len(reciprocals)
        rng = np.random.default_rng(3)
        symmetric = random_positive_definite(rng, size)
        matrix = packed(symmetric, capacity, symmetric=True)
        vector = np.zeros(capacity)
        vector[:size] = rng.standard_normal(size)
        values, covariance = L @ vector[:size], L @ symmetric @ L.T
        cosines, sines = np.zeros(capacity), np.zeros(capacity)
        rotations.delete_row(factor, reciprocals, size, index, cosines, sines)
        rotations.rotate(vector, size, index, cosines, sines)
        rotations.rotate_symmetric(matrix, size, index, cosines, sines)
        keep = [i for i in range(size) if i != index]
        smaller = unpacked(factor, size - 1, symmetric=False)
        np.testing.assert_allclose(smaller @ smaller.T, K[np.ix_(keep, keep)], rtol=1e-12, atol=1e-13)
        assert (np.diag(smaller) > 0.0).all()
        np.testing.assert_allclose(reciprocals[: size - 1], 1.0 / np.diag(smaller), rtol=1e-14)
        # f_D = Lu: what u says about the function at the remaining points is unchanged
        np.testing.assert_allclose(smaller @ vector[: size - 1], values[keep], rtol=1e-11, atol=1e-12)
        rotated = unpacked(matrix, size - 1, symmetric=True)
        np.testing.assert_allclose(
            smaller @ rotated @ smaller.T, covariance[np.ix_(keep, keep)], rtol=1e-11, atol=1e-12
        )
        # the rest is padding again, and the mirrored halves of the tiles agree exactly
        assert vector[size - 1] == reciprocals[size - 1] == 0.0
        np.testing.assert_array_equal(factor, packed(smaller, capacity, symmetric=False))
        np.testing.assert_array_equal(matrix, packed(rotated, capacity, symmetric=True))


@pytest.mark.parametrize("size", SIZES)
def test_mirror(size: int) -> None:
    symmetric = random_positive_definite(np.random.default_rng(size), size)
    expected = packed(symmetric, padded(size), symmetric=True)
    half = packed(np.tril(symmetric), padded(size), symmetric=True)
    triangular.mirror(half, size, 0)
    np.testing.assert_array_equal(half, expected)


@pytest.mark.parametrize("size", [0, *SIZES])
def test_dot(size: int) -> None:
    a, b = np.zeros((2, padded(size) + 8))
    a[:size], b[:size] = np.random.default_rng(size).standard_normal((2, size))
    assert triangular.dot(a, b, size) == pytest.approx(a[:size] @ b[:size], rel=1e-12, abs=1e-14)
