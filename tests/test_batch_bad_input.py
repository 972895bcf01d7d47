"""What the batch algorithms refuse: by an error that names the argument, never by a warning of numpy or a NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from streamkernel import kernels
from streamkernel.batch import FLKL, HKRR, LOOHKRR, LSSVM, AutoKernelRegressor, CoKER, FLKLRegressor, KernelRidge

REGRESSORS = [KernelRidge, CoKER, HKRR, LOOHKRR, FLKLRegressor]


def problem(n: int = 24) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("model", REGRESSORS)
@pytest.mark.parametrize("value", [1e160, -1e300])
def test_targets_whose_squares_overflow(model: Any, value: float) -> None:
    X, y = problem()
    y[3] = value
    with pytest.raises(ValueError, match=r"y\[3\] is -?1e\+(160|300): it must be at most 1e\+100"):
        model().fit(X, y)


@pytest.mark.parametrize("model", [KernelRidge, CoKER, FLKLRegressor, FLKL, LSSVM])
def test_features_from_which_no_width_can_be_chosen(model: Any) -> None:
    X, y = problem()
    X[5, 1] = 1e160
    with pytest.raises(ValueError, match=r"X\[5, 1\] is 1e\+160: it must be at most 1e\+100"):
        model().fit(X, (y > 0.0).astype(int))


@pytest.mark.parametrize("model", [*REGRESSORS, AutoKernelRegressor])
def test_words_are_no_targets(model: Any) -> None:
    X, _ = problem()
    with pytest.raises((ValueError, TypeError), match=r"y (must hold numbers|is 'a')"):
        model().fit(X, np.array(["a", "b"] * 12))


def test_similarities_that_overflow() -> None:
    X, y = problem()
    with pytest.raises(ValueError, match="no finite similarity to row 0"):
        KernelRidge(kernels.Polynomial(3), ridge=0.1).fit(1e80 * X, y)
    for model in (KernelRidge(kernels.Linear(), ridge=0.1), CoKER([kernels.Linear()], ridge=1.0)):
        model.fit(X, y)
        with pytest.raises(ValueError, match="no finite similarity to row 1"):
            model.predict([[0.0, 0.0, 0.0], [1e308, 1e308, 1e308]])


def test_a_ridge_among_rounding_errors() -> None:
    X, y = problem(60)
    with pytest.raises(ValueError, match="the ridge, 1e-12 of a sample, is lost among the rounding errors"):
        KernelRidge(kernels.Polynomial(3), ridge=1e-12).fit(100.0 * X, y)


@pytest.mark.parametrize("model", [HKRR, LOOHKRR])
def test_float32_becomes_a_stream(model: Any) -> None:
    X, y = problem()
    fitted = model().fit(X.astype(np.float32), y.astype(np.float32))
    assert math.isfinite(fitted.to_stream().predict_one(dict(enumerate(X[0].tolist()))))


def test_the_mean_without_a_sample_that_outweighs_all_others() -> None:
    X, y = problem()
    weights = np.ones(24)
    weights[4] = 1e30
    model = KernelRidge(kernels.RBF(1e-6), ridge=0.1).fit(X, y, sample_weight=weights)
    others = np.arange(24) != 4
    assert model.leave_one_out_residuals_[4] == pytest.approx(y[4] - y[others].mean())
    assert np.isfinite(model.predict(X, return_std=True)[1]).all()


def test_noise_that_diverges_is_named() -> None:
    X, y = problem()
    with pytest.raises(ValueError, match=r"the noise diverges with sample_weight from 1e-40 to 1e\+40"):
        HKRR().fit(X, y, sample_weight=np.r_[1e-40, 1e40, np.ones(22)])
