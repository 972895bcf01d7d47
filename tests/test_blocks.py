"""The block operations against dense products."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference import JIT, packed, random_positive_definite, unpacked
from scipy import linalg

from streamkernel.core import blocks
from streamkernel.core.blocks import BLOCK

pytestmark = pytest.mark.core

SIZES = [1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 80, 130] if JIT else [1, 8, 17]
COUNTS = [1, 2, 5, BLOCK - 1, BLOCK]


def capacity_of(size: int) -> int:
    return 8 * ((size + 7) // 8)


@pytest.mark.parametrize("size", SIZES)
def test_solve_block(size: int) -> None:
    rng, capacity = np.random.default_rng(size), capacity_of(size)
    L = np.linalg.cholesky(random_positive_definite(rng, size))
    reciprocals = np.zeros(capacity)
    reciprocals[:size] = 1.0 / np.diag(L)
    right = rng.standard_normal((capacity, BLOCK))
    block = right.ravel().copy()
    blocks.solve_block(packed(L, capacity, symmetric=False), reciprocals, size, block)
    got = block.reshape(capacity, BLOCK)
    np.testing.assert_allclose(got[:size], linalg.solve_triangular(L, right[:size], lower=True), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(got[size:], 0.0)


@pytest.mark.parametrize("size", SIZES)
def test_multiply_block(size: int) -> None:
    rng, capacity = np.random.default_rng(size), capacity_of(size)
    P = random_positive_definite(rng, size)
    Z = np.zeros((capacity, BLOCK))
    Z[:size] = rng.standard_normal((size, BLOCK))
    out = np.full(capacity * BLOCK, 3.0)
    blocks.multiply_block(packed(P, capacity, symmetric=True), size, Z.ravel(), out)
    got = out.reshape(capacity, BLOCK)
    np.testing.assert_allclose(got[:size], P @ Z[:size], rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(got[size:], 0.0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_subtract_products(size: int, count: int) -> None:
    rng, capacity = np.random.default_rng(size), capacity_of(size)
    P = random_positive_definite(rng, size)
    rows = np.full((BLOCK, capacity), np.nan)  # rows beyond `count` must not be read
    rows[:count] = 0.0
    rows[:count, :size] = rng.standard_normal((count, size))
    matrix = packed(P, capacity, symmetric=True)
    blocks.subtract_products(matrix, size, rows, count)
    got = unpacked(matrix, size, symmetric=True)
    np.testing.assert_allclose(got, P - rows[:count, :size].T @ rows[:count, :size], rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(matrix, packed(got, capacity, symmetric=True))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_a_block_is_its_samples_one_after_the_other(size: int, count: int) -> None:
    """Errors, weights and covariance of the block step against the sequential recursion."""
    rng, capacity = np.random.default_rng(size), capacity_of(size)
    P, w = random_positive_definite(rng, size), rng.standard_normal(size)
    Z = np.zeros((capacity, BLOCK))
    Z[:size] = rng.standard_normal((size, BLOCK))
    y, noise = rng.standard_normal(BLOCK), rng.uniform(0.2, 2.0, BLOCK)
    products, cholesky, rows = np.zeros(capacity * BLOCK), np.zeros((BLOCK + 3, BLOCK)), np.zeros((BLOCK, capacity))
    blocks.multiply_block(packed(P, capacity, symmetric=True), size, Z.ravel(), products)
    blocks.innovations(Z.ravel(), products, size, noise, count, cholesky)
    blocks.pending_rows(products, size, cholesky, count, rows)
    C = np.tril(cholesky[:count, :count])
    inner = Z[:size, :count].T @ P @ Z[:size, :count] + np.diag(noise[:count])
    np.testing.assert_allclose(C @ C.T, inner, rtol=1e-10, atol=1e-11)
    normalized = linalg.solve_triangular(C, y[:count] - w @ Z[:size, :count], lower=True)
    for b in range(count):
        z = Z[:size, b]
        g = P @ z
        s = noise[b] + z @ g
        error = y[b] - w @ z
        assert normalized[b] * C[b, b] == pytest.approx(error, rel=1e-9, abs=1e-10)
        assert C[b, b] ** 2 == pytest.approx(s, rel=1e-9)
        np.testing.assert_allclose(rows[b, :size], g / math.sqrt(s), rtol=1e-8, atol=1e-10)
        w, P = w + g * error / s, P - np.outer(g, g) / s
    np.testing.assert_array_equal(rows[:count, size:], 0.0)
