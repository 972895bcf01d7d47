"""Models in files: `model.save(path)` and `streamkernel.load(path)`."""

from __future__ import annotations

import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from river import compose, preprocessing

import streamkernel
from streamkernel import KRLS, kernels
from streamkernel.checkpoint import CheckpointError


def samples(n: int) -> list[tuple[dict[str, float], float]]:
    return [({"x": 100.0 + 7.0 * (i * 0.37 % 3.0)}, math.sin(i * 0.37 % 3.0)) for i in range(n)]


def learned(model: Any, n: int = 40) -> Any:
    for x, y in samples(n):
        model.learn_one(x, y)
    return model


def test_a_saved_model_continues_bit_for_bit(tmp_path: pathlib.Path) -> None:
    model = learned(KRLS(kernels.RBF(3.0), ridge=0.1))
    model.save(tmp_path / "model.skm")
    same = streamkernel.load(str(tmp_path / "model.skm"))
    assert isinstance(same, KRLS)
    for x, y in samples(60):
        assert same.predict_learn_one(x, y) == model.predict_learn_one(x, y)
    assert os.listdir(tmp_path) == ["model.skm"]


def test_models_that_are_imported_late_are_loaded(tmp_path: pathlib.Path) -> None:
    learned(streamkernel.AutoKernelRegressor()).save(tmp_path / "model.skm")
    code = f"import streamkernel; print(type(streamkernel.load({str(tmp_path / 'model.skm')!r})).__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "AutoKernelRegressor\n"


def test_functions_of_custom_kernels_are_given(tmp_path: pathlib.Path) -> None:
    def overlap(x: Any, z: Any) -> float:
        return float(min(x.sum(), z.sum()))

    learned(KRLS(kernels.Custom(overlap), ridge=0.1), 3).save(tmp_path / "model.skm")
    with pytest.raises(CheckpointError, match="overlap"):
        streamkernel.load(tmp_path / "model.skm")
    assert streamkernel.load(tmp_path / "model.skm", functions={"overlap": overlap}).size


def test_what_is_no_model_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(CheckpointError, match=r"rows\.csv: not a streamkernel checkpoint"):
        streamkernel.load(path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        streamkernel.load(tmp_path / "nothing.skm")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.skm"
    model = learned(KRLS(ridge=0.1))
    model.save(path)
    before = path.read_bytes()
    learned(model)

    def fail(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.skm"]


def test_a_link_stays_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "latest.skm").symlink_to(tmp_path / "model.skm")
    learned(KRLS(ridge=0.1)).save(tmp_path / "latest.skm")
    assert (tmp_path / "latest.skm").is_symlink()
    assert streamkernel.load(tmp_path / "model.skm").size


def many_parts() -> Any:
    numbers = compose.Select("x") | preprocessing.StandardScaler()
    words = compose.Select("word") | preprocessing.OneHotEncoder()
    return (numbers + words) | streamkernel.TargetScaler(KRLS(ridge=0.1))


PIPELINES: dict[str, Any] = {
    "standard": preprocessing.StandardScaler() | KRLS(ridge=0.1),
    "range": preprocessing.MinMaxScaler() | KRLS(ridge=0.1),
    "largest": preprocessing.MaxAbsScaler() | KRLS(ridge=0.1),
    "normalizer": preprocessing.Normalizer() | KRLS(ridge=0.1),
    "ordinal": preprocessing.OrdinalEncoder() | KRLS(ridge=0.1),
    "imputed": preprocessing.PreviousImputer() | preprocessing.StandardScaler() | KRLS(ridge=0.1),
    "without": compose.Discard("word") | streamkernel.KAAR(),
    "wrapped": streamkernel.TargetScaler(preprocessing.StandardScaler() | KRLS(ridge=0.1)),
    "parts": many_parts(),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_saved_without_pickle(name: str, tmp_path: pathlib.Path) -> None:
    model = PIPELINES[name].clone()
    rows = samples(60)
    if name in ("ordinal", "without", "parts"):
        rows = [(x | {"word": "abc"[i % 3]}, y) for i, (x, y) in enumerate(rows)]
    for x, y in rows[:30]:
        model.learn_one(x, y)
    streamkernel.save(model, tmp_path / "model.skm")
    assert b"pickle" not in (tmp_path / "model.skm").read_bytes()
    same = streamkernel.load(tmp_path / "model.skm")
    for x, y in rows[30:]:
        assert same.predict_one(x) == model.predict_one(x)
        same.learn_one(x, y)
        model.learn_one(x, y)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (compose.FuncTransformer(dict), "FuncTransformer"),
        (preprocessing.StandardScaler(window_size=5), "Rolling"),
        (preprocessing.RobustScaler(), "RobustScaler"),
        (preprocessing.AdaptiveStandardScaler(), "AdaptiveStandardScaler"),
    ],
)
def test_what_cannot_be_saved_is_named(part: Any, message: str, tmp_path: pathlib.Path) -> None:
    model = learned(part.clone() | KRLS(ridge=0.1), 5)
    with pytest.raises(TypeError, match=f"{message}.*pickle a pipeline of others"):
        streamkernel.save(model, tmp_path / "model.skm")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("scale", [True, False])
def test_a_checkpoint_of_the_command_line_opens_in_python(tmp_path: pathlib.Path, scale: bool) -> None:
    rows = samples(50)
    (tmp_path / "rows.csv").write_text("x,y\n" + "".join(f"{x['x']},{y}\n" for x, y in rows))
    command = [sys.executable, "-m", "streamkernel", "run", "rows.csv", "--target", "y", "--model", "krls"]
    options = ["--ridge", "0.1", "--save", "model.skm", *([] if scale else ["--no-scale"])]
    subprocess.run([*command, *options], check=True, cwd=tmp_path, capture_output=True)
    model = streamkernel.load(tmp_path / "model.skm")
    assert isinstance(model, compose.Pipeline if scale else KRLS)
    if scale:  # unscaled features are far from each other to the default kernel
        assert sum(abs(model.predict_one(x) - y) for x, y in rows) < 0.1 * len(rows)
    assert model.predict_one({"x": 107.0}, with_dist=True).sigma > 0.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: pathlib.Path) -> None:
    """A device such as /dev/null, which root could replace, is like a pipe here."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, ""):
        with pytest.raises(OSError, match="not a regular file"):
            streamkernel.save(KRLS(), path)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_number_is_no_path(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "model.skm"
    KRLS().save(file)
    with open(file, "rb") as opened, pytest.raises(TypeError, match="not int"):
        streamkernel.load(opened.fileno())  # type: ignore[arg-type]


def test_a_path_may_be_bytes(tmp_path: pathlib.Path) -> None:
    streamkernel.save(KRLS(), os.fsencode(tmp_path / "model.skm"))  # type: ignore[arg-type]
    assert (tmp_path / "model.skm").exists()


@pytest.mark.parametrize("data", [None, 3, "text"])
def test_a_checkpoint_is_bytes(data: Any) -> None:
    with pytest.raises(TypeError, match="data must be the bytes of a checkpoint"):
        KRLS.from_bytes(data)
