"""Functions that jitted code calls by their number."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba import config, types

from streamkernel.core import columns
from streamkernel.core.jit import jit
from streamkernel.core.numbered import Numbered

pytestmark = pytest.mark.core

FUNCTIONS = Numbered("streamkernel_test_functions", (types.float64, types.float64[::1]), 3)
call = FUNCTIONS.call


@FUNCTIONS.number(0)
def fill(value: float, out: np.ndarray) -> None:
    """All elements become the value."""
    for i in range(len(out)):
        out[i] = value


@FUNCTIONS.number(1)
def add(value: float, out: np.ndarray) -> None:
    """The value is added to all elements."""
    for i in range(len(out)):
        out[i] += value


@jit
def run(numbers: np.ndarray, value: float, out: np.ndarray) -> int:
    """Call the functions in this order; return how many of them were known."""
    known = 0
    for i in range(len(numbers)):
        known += call(numbers[i], (value, out))
    return known


def test_functions_are_called_in_the_order_of_their_numbers() -> None:
    for number in (0, 1, 1):
        FUNCTIONS.require(number)
    out = np.zeros(5)
    assert run(np.array([0, 1, 1]), 2.5, out) == 3
    np.testing.assert_array_equal(out, 7.5)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="Python calls what it knows")
def test_what_was_not_required_is_not_called() -> None:
    out = np.zeros(3)
    FUNCTIONS.require(2)  # which has no function
    assert run(np.array([2]), 1.0, out) == 0
    np.testing.assert_array_equal(out, 0.0)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_model_compiles_the_leaves_of_its_kernel_alone() -> None:
    code = (
        "from streamkernel import KRLS, kernels\n"
        "from streamkernel.core import columns\n"
        "KRLS(kernels.Odd(kernels.RBF(1.0)) + 2.0 * kernels.Linear()).learn_one({'a': 1.0}, 1.0)\n"
        "print(*[code for code, address in enumerate(columns.LEAVES._addresses) if address])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [int(number) for number in result.stdout.split()] == [columns.LINEAR, columns.RBF]
