"""A few cases of every attack; `python -m tests.fuzz` goes on from there."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.areas import read_from_threads
from fuzz.around import AREAS
from fuzz.making import LEARNERS
from reference import JIT

CASES = 60  # of each area: about a minute in all


@pytest.mark.skipif(not JIT, reason="takes long without the compiler")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", AREAS)
def test_area(name: str) -> None:
    compared = 0
    for index in range(CASES):
        compared += AREAS[name](np.random.default_rng([0, list(AREAS).index(name), index]))
    assert compared > 0


@pytest.mark.skipif(not JIT, reason="takes long without the compiler")
@pytest.mark.parametrize("name", LEARNERS)
def test_threads_that_predict_get_what_one_gets(name: str) -> None:
    rng = np.random.default_rng(len(name))
    assert read_from_threads(LEARNERS[name](rng), rng, 250) == 1000
