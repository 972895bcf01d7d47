"""The argument checks: what passes, and errors that name the argument, the value and what is accepted."""

from __future__ import annotations

import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import linear_model, preprocessing

from streamkernel import (
    KRLS,
    AdaptiveConformal,
    AutoKernelForecaster,
    KernelForecaster,
    LSSVMClassifier,
    MultiTargetKRLS,
    SupervisedKernelAnomalyDetector,
    TargetScaler,
    checks,
    filters,
)
from streamkernel.kernels import RBF


@pytest.mark.parametrize(
    "check",
    [
        lambda: checks.number("a", 0, low=0),
        lambda: checks.number("a", np.float32(1.0), low=0, high=1),
        lambda: checks.number("a", fractions.Fraction(1, 2), low=0, high=1, open_low=True, open_high=True),
        lambda: checks.number("a", -1e300),
        lambda: checks.number("a", math.inf, low=0, finite=False),
        lambda: checks.whole("a", 1),
        lambda: checks.whole("a", np.int8(0), low=0),
        lambda: checks.whole("a", None, optional=True),
        lambda: checks.size("a", None),
        lambda: checks.size("a", 10**400),
        lambda: checks.divisor("a", 0.1, 1, "b"),
        lambda: checks.divisor("a", 0.1, 17, "b"),
        lambda: checks.boolean("a", False),
        lambda: checks.choice("a", "x", ("x", "y")),
    ],
)
def test_accepted(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: checks.number("a", -1, low=0), "a must be a number >= 0, got -1"),
        (lambda: checks.number("a", 0.0, low=0, open_low=True), "a must be a number > 0, got 0.0"),
        (lambda: checks.number("a", 2, low=0, high=1), "a must be a number >= 0 and <= 1, got 2"),
        (lambda: checks.number("a", 1, low=0, high=1, open_high=True), "a must be a number >= 0 and < 1, got 1"),
        (
            lambda: checks.number("a", 1, low=0, high=1, open_low=True, open_high=True),
            "a must be a number between 0 and 1, got 1",
        ),
        (lambda: checks.number("a", 2, high=1), "a must be a number <= 1, got 2"),
        (lambda: checks.number("a", math.nan), "a must be a number, got nan"),
        (lambda: checks.number("a", math.inf), "a must be a number, got inf"),
        (lambda: checks.number("a", math.inf, noun="a finite number"), "a must be a finite number, got inf"),
        (lambda: checks.number("a", -math.inf, low=0, finite=False), "a must be a number >= 0 or inf, got -inf"),
        (lambda: checks.number("a", math.nan, finite=False), "a must be a number or inf, got nan"),
        (lambda: checks.number("a", 10**400), f"a must be a number, got {10**400}"),
        (lambda: checks.whole("a", 0), "a must be a whole number >= 1, got 0"),
        (lambda: checks.whole("a", 1, low=2, noun="an integer"), "a must be an integer >= 2, got 1"),
        (lambda: checks.size("a", 0), "a must be a whole number >= 1 or None, got 0"),
        (
            lambda: checks.divisor("a", 0.3, 1, "the length"),
            "a must divide the length into a whole number of steps, got 0.3: 3.33333 steps",
        ),
        (
            lambda: checks.divisor("a", 3, 1, "the length"),
            "a must divide the length into a whole number of steps, got 3: 0.333333 steps",
        ),
        (lambda: checks.choice("a", "z", ("x", "y")), "a must be one of 'x', 'y', got 'z'"),
    ],
)
def test_refused_values(check: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check()
    assert str(caught.value) == message
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        *((checks.number, value, "a must be a number") for value in (True, np.bool_(True), "1", None, 1j, [1.0])),
        *((checks.whole, value, "a must be a whole number >= 1") for value in (True, "1", None, 2.0, np.float64(2))),
        *((checks.size, value, "a must be a whole number >= 1 or None") for value in (False, "1", 2.0)),
        *((checks.boolean, value, "a must be True or False") for value in (1, 0.0, "True", None, np.bool_(True))),
    ],
)
def test_refused_types(check: Callable[[str, Any], None], value: Any, message: str) -> None:
    """They are type errors, and are caught along with refused values."""
    for kind in (TypeError, ValueError):
        with pytest.raises(kind) as caught:
            check("a", value)
        assert str(caught.value) == f"{message}, got {value!r}"


@pytest.mark.parametrize(
    "wrong", [3, KRLS, LSSVMClassifier(), MultiTargetKRLS(), AutoKernelForecaster(), preprocessing.StandardScaler()]
)
@pytest.mark.parametrize(
    "around",
    [AdaptiveConformal, SupervisedKernelAnomalyDetector, TargetScaler, lambda model: KernelForecaster(model, 2)],
    ids=["conformal", "anomaly", "targets", "forecaster"],
)
def test_what_is_no_regressor_is_refused_by_what_is_built_around_one(around: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"(model|regressor) must be a (streaming )?regressor"):
        around(wrong)


@pytest.mark.parametrize("model", [filters.KLMS(RBF(1.0)), linear_model.LinearRegression()])
def test_a_detector_says_which_regressors_it_needs(model: Any) -> None:
    with pytest.raises(TypeError, match="regressor must predict distributions"):
        SupervisedKernelAnomalyDetector(model).learn_one({"a": 1.0}, 1.0)
