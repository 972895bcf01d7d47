"""Streams that break careless recursions, with the predictions of a stable solve."""

from __future__ import annotations

import math
import os
import pathlib
from typing import Any

import numpy as np
import pytest
from reference import PIVOT_LIMIT

from streamkernel import KRLS, kernels

NAMES = sorted(
    {
        "exact_dup_nu0",
        "exact_dup_nu1e-4",
        "mg17_h0.5_warm0_bias0_seed21",
        "near_dup_nu1e-4",
        "poly3_inputs_x100",
        "sinc_nu1e-6_long",
        "sinc_target_offset1e6",
        "smooth1d_nu1e-08",
        "unscaled_feature",
        *(path.stem for path in pathlib.Path(os.environ.get("STREAMKERNEL_DATA", "")).glob("streams/*.npz")),
    }
    - {"nan_x"}
)


def model_for(fields: Any) -> KRLS:
    kernel: kernels.Kernel
    if str(fields["kernel"]) == "gauss":
        kernel = kernels.RBF(float(fields["sigma"]))
    else:
        kernel = kernels.Polynomial(int(fields["degree"]), offset=1.0)
    if float(fields["bias"]):
        kernel = kernel + float(fields["bias"])
    return KRLS(kernel, threshold=float(fields["nu"]))


def rmse(errors: Any) -> float:
    return math.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("name", NAMES)
def test_matches_the_stable_solve_or_improves_on_it(name: str, many: bool, data: Any) -> None:
    fields = np.load(data(f"streams/{name}.npz"))
    X, y, test, stable = fields["X"], fields["y"], fields["Xtest"], fields["stable_pred"]
    model = model_for(fields)
    if many:
        model.learn_many(X, y)
        predictions = model.predict_many(test)
    else:
        for x, target in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(enumerate(x)), target)
        predictions = np.array([model.predict_one(dict(enumerate(x))) for x in test.tolist()])
    assert np.isfinite(predictions).all()
    matches = np.abs(predictions - stable).max() <= 1e-6 * np.abs(stable).max()
    improves = rmse(predictions - fields["ytest"]) <= rmse(stable - fields["ytest"]) * (1.0 + 1e-9)
    assert matches or improves


@pytest.mark.parametrize("name", NAMES)
def test_predict_many_is_predict_one(name: str, data: Any) -> None:
    fields = np.load(data(f"streams/{name}.npz"))
    model = model_for(fields)
    model.learn_many(fields["X"], fields["y"])
    test = fields["Xtest"]
    one = np.array([model.predict_one(dict(enumerate(x))) for x in test.tolist()])
    # |f(x)| <= ‖w‖ √k(x, x), and a whitened column is good to ε √cond(K): what two orders of summation may differ by
    norm = np.linalg.norm(model._model.model.weights) * math.sqrt(model.kernel.diagonal(test).max())
    rounding = np.finfo(float).eps * math.sqrt(PIVOT_LIMIT) * norm
    tolerance = 1e-8 * np.abs(one).max() + (rounding if name == "poly3_inputs_x100" else 0.0)
    np.testing.assert_allclose(model.predict_many(test), one, rtol=0.0, atol=tolerance)


def test_a_sample_with_nan_is_refused_and_the_stream_goes_on(data: Any) -> None:
    fields = np.load(data("streams/nan_x.npz"))
    X, y = fields["X"], fields["y"]
    good = np.isfinite(X).all(axis=1) & np.isfinite(y)
    assert not good.all()
    model, clean = model_for(fields), model_for(fields)
    for ok, x, target in zip(good, X.tolist(), y.tolist(), strict=True):
        sample = dict(enumerate(x))
        if ok:
            model.learn_one(sample, target)
            clean.learn_one(sample, target)
        else:
            before = model.to_bytes()
            with pytest.raises(ValueError, match="is nan"):
                model.learn_one(sample, target)
            assert model.to_bytes() == before
    assert model.to_bytes() == clean.to_bytes()
    ok = np.isfinite(fields["Xtest"]).all(axis=1)
    errors = model.predict_many(fields["Xtest"][ok]) - fields["ytest"][ok]
    assert rmse(errors) < 0.5 * np.std(fields["ytest"][ok])
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"is nan in row"):
        model.learn_many(X, y)
    assert model.to_bytes() == before
