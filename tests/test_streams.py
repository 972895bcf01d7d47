"""Streams that break careless recursions: predictions are those of an orthogonal solve over the same dictionary.

Streams of the same kinds from elsewhere, with predictions that were computed by others, are a further check where the
data folder holds them.
"""

from __future__ import annotations

import math
import os
import pathlib
from typing import Any

import numpy as np
import pytest
import reference
from hard_streams import STREAMS, HardStream, sinc

from streamkernel import KRLS, kernels

FILES = sorted(
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
# Their solve kept points that double precision cannot tell apart: another dictionary, and no better for it.
OTHER_DICTIONARY = {"exact_dup_nu0", "poly3_inputs_x100"}


def read(path: pathlib.Path) -> tuple[HardStream, Any]:
    """A stream from a file, and the predictions that stand there."""
    fields = np.load(path)
    kernel: kernels.Kernel
    if str(fields["kernel"]) == "gauss":
        kernel = kernels.RBF(float(fields["sigma"]))
    else:
        kernel = kernels.Polynomial(int(fields["degree"]), offset=1.0)
    if float(fields["bias"]):
        kernel = kernel + float(fields["bias"])
    stable = fields.get("stable_pred")
    stream = HardStream(*(fields[name] for name in ("X", "y", "Xtest", "ytest")), kernel, float(fields["nu"]))
    return stream, stable


def rmse(errors: Any) -> float:
    return math.sqrt(np.mean(np.square(errors)))


def learned(stream: HardStream, many: bool) -> tuple[KRLS, Any]:
    """A model that has learned the stream, and its predictions."""
    model = KRLS(stream.kernel, stream.threshold)
    if many:
        model.learn_many(stream.X, stream.y)
        return model, model.predict_many(stream.test)
    for x, target in zip(stream.X.tolist(), stream.y.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), target)
    return model, np.array([model.predict_one(dict(enumerate(x))) for x in stream.test.tolist()])


def rounding(model: KRLS, stream: HardStream) -> float:
    """|f(x)| <= ‖w‖ √k(x, x), and a whitened column is good to ε √cond(K): what two orders of summation differ by."""
    norm = np.linalg.norm(model._model.model.weights) * math.sqrt(stream.kernel.diagonal(stream.test).max())
    return float(np.finfo(float).eps * math.sqrt(reference.PIVOT_LIMIT) * norm)


def solve(stream: HardStream) -> tuple[list[int], Any]:
    """The dictionary, and the predictions of least squares over the projections, by orthogonal factorization."""
    slow = reference.Projection(stream.kernel(stream.X), stream.threshold)
    weights = reference.least_squares(slow.Z, stream.y)
    return slow.indices, slow.whiten(stream.kernel(stream.X[slow.indices], stream.test)) @ weights


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("name", STREAMS)
def test_the_solution_is_that_of_an_orthogonal_solve(name: str, many: bool) -> None:
    stream = STREAMS[name]()
    model, predictions = learned(stream, many)
    indices, wanted = solve(stream)
    np.testing.assert_array_equal(model.recursion.point_matrix, stream.X[indices])
    tolerance = 1e-7 * np.abs(wanted).max() + (rounding(model, stream) if name == "polynomial" else 0.0)
    np.testing.assert_allclose(predictions, wanted, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("name", ["exact duplicates, no threshold", "near duplicates, no threshold", "polynomial"])
def test_the_recursion_as_printed_fails_on_them(name: str) -> None:
    """Which is what makes the streams hard."""
    stream = STREAMS[name]()
    printed = reference.Table1(lambda a, b: stream.kernel(np.array(a), np.array(b)), stream.threshold)
    with np.errstate(all="ignore"):
        for x, y in zip(stream.X, stream.y, strict=True):
            printed.learn(x, float(y))
        found = printed.predict(stream.test)
    wanted = solve(stream)[1]
    assert not np.abs(found - wanted).max() < 0.01 * np.abs(wanted).max()


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("name", FILES)
def test_predictions_that_others_computed(name: str, many: bool, data: Any) -> None:
    stream, stable = read(data(f"streams/{name}.npz"))
    _, predictions = learned(stream, many)
    if name in OTHER_DICTIONARY:
        assert rmse(predictions - stream.truth) <= rmse(stable - stream.truth) * (1.0 + 1e-9)
    else:
        np.testing.assert_allclose(predictions, stable, rtol=0.0, atol=1e-6 * np.abs(stable).max())


def check_many_is_one(stream: HardStream, is_polynomial: bool) -> None:
    model, many = learned(stream, many=True)
    one = np.array([model.predict_one(dict(enumerate(x))) for x in stream.test.tolist()])
    tolerance = 1e-8 * np.abs(one).max() + (rounding(model, stream) if is_polynomial else 0.0)
    np.testing.assert_allclose(many, one, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("name", STREAMS)
def test_predict_many_is_predict_one(name: str) -> None:
    check_many_is_one(STREAMS[name](), name == "polynomial")


@pytest.mark.parametrize("name", FILES)
def test_predict_many_is_predict_one_on_files(name: str, data: Any) -> None:
    check_many_is_one(read(data(f"streams/{name}.npz"))[0], name == "poly3_inputs_x100")


def check_that_nan_is_refused(stream: HardStream) -> None:
    X, y = stream.X, stream.y
    good = np.isfinite(X).all(axis=1) & np.isfinite(y)
    assert not good.all()
    model, clean = (KRLS(stream.kernel, stream.threshold) for _ in range(2))
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
    ok = np.isfinite(stream.test).all(axis=1)
    errors = model.predict_many(stream.test[ok]) - stream.truth[ok]
    assert rmse(errors) < 0.5 * np.std(stream.truth[ok])
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"is nan in row"):
        model.learn_many(X, y)
    assert model.to_bytes() == before


def test_a_sample_with_nan_is_refused_and_the_stream_goes_on() -> None:
    stream = sinc(500, 1e-3)
    stream.X[250, 0] = stream.y[300] = math.nan
    check_that_nan_is_refused(stream)


def test_a_file_with_nan(data: Any) -> None:
    check_that_nan_is_refused(read(data("streams/nan_x.npz"))[0])
