"""The recursions of time series, jitted and as plain Python."""

from __future__ import annotations

import math

import pytest

from streamkernel import AutoKernelForecaster

pytestmark = pytest.mark.core


def test_a_seasonal_line_is_continued_with_and_without_the_compiler() -> None:
    values = [100.0 + i + 10.0 * math.sin(math.pi * i / 2.0) for i in range(36)]
    model = AutoKernelForecaster(season=4)
    for value in values[:32]:
        model.learn_one(value)
    assert model.forecast(4) == pytest.approx(values[32:], abs=3.0)
    for interval, value in zip(model.forecast(4, with_interval=True), values[32:], strict=True):
        assert interval.lower <= interval.upper
        assert abs(0.5 * (interval.lower + interval.upper) - value) < 10.0
