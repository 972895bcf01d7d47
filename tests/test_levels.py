"""The probability of an interval has one name: `confidence_level`, and `interval_level` beside `with_interval`."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from river import proba

import streamkernel
from streamkernel import KRLS, AdaptiveConformal, AutoKernelForecaster, checkpoint, cli, distributions, live, metrics
from streamkernel.plotting import plot_intervals

V1 = pathlib.Path(__file__).parent / "fixtures" / "v1"
GAUSSIAN = proba.Gaussian._from_state(n=1, m=1.0, var=4.0, ddof=0)
MIXTURE = distributions.GaussianMixture([1.0], [0.0], [1.0])
# Levels that are no interval's: that of a quantile, those of a nominal column.
OTHERS = {"streamkernel.distributions.quantile", "streamkernel.datasets.catalog.Entry.__init__"}


def public_callables() -> Iterator[tuple[str, Any]]:
    """Every exported function and every method of an exported class, with its name."""
    for found in pkgutil.walk_packages(streamkernel.__path__, "streamkernel."):
        if ".core" in found.name or ".cli" in found.name or found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing):
                methods = inspect.getmembers(thing, inspect.isfunction)
                yield from (
                    (f"{thing.__module__}.{name}.{key}", m)
                    for key, m in methods
                    if not key.startswith("_") or key == "__init__"
                )
            elif inspect.isfunction(thing):
                yield f"{thing.__module__}.{name}", thing


def test_one_name() -> None:
    seen = dict(public_callables())
    assert len(seen) > 200
    levels = {}
    for name, function in seen.items():
        parameters = [p for p in inspect.signature(function).parameters if p.endswith(("level", "levels"))]
        if parameters and name.startswith("streamkernel.") and name not in OTHERS:
            levels[name] = parameters
            (parameter,) = parameters
            beside = "with_interval" in inspect.signature(function).parameters
            assert (
                parameter == "interval_level" if beside else parameter in ("confidence_level", "confidence_levels")
            ), name
    assert len(levels) > 12


@pytest.mark.parametrize(
    "make", [lambda **named: AdaptiveConformal(KRLS(), **named), metrics.Coverage, metrics.IntervalScore]
)
def test_the_former_name_is_understood(make: Any) -> None:
    with pytest.warns(DeprecationWarning, match="the argument 'level' is called 'confidence_level' now"):
        model = make(level=0.7)
    assert model.confidence_level == 0.7 and model.clone().confidence_level == 0.7
    with pytest.warns(DeprecationWarning, match="the attribute 'level' is called 'confidence_level' now"):
        assert model.level == 0.7
    with pytest.warns(DeprecationWarning, match="is called"), pytest.raises(TypeError, match="confidence_level"):
        make(level=0.7, confidence_level=0.7)


@pytest.mark.parametrize(
    ("function", "former"),
    [
        (lambda **named: distributions.central_interval(GAUSSIAN, **named), "level"),
        (distributions.normal_reach, "level"),
        (lambda **named: repr(MIXTURE.interval(**named)), "level"),
        (lambda **named: plot_intervals([1.0], [GAUSSIAN], **named).get_legend_handles_labels()[1], "levels"),
    ],
)
def test_functions_understand_it_too(function: Any, former: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"the argument '{former}' is called 'confidence_{former}' now"):
        found = function(**{former: 0.6})
    assert found == function(**{f"confidence_{former}": 0.6})


def test_forecasts_and_pages_understand_it_too() -> None:
    model = AutoKernelForecaster()
    model.learn_one(1.0)
    with pytest.warns(DeprecationWarning, match="the argument 'levels' is called 'confidence_levels' now"):
        found = model.forecast_intervals(2, levels=(0.3,))
    assert repr(found) == repr(model.forecast_intervals(2, confidence_levels=(0.3,)))
    with pytest.warns(DeprecationWarning, match="View: the argument 'level' is called 'confidence_level' now"):
        view = live.View(level=0.7)
    view.close()


def test_checkpoints_with_the_former_name_are_restored(recwarn: pytest.WarningsRecorder) -> None:
    model = AdaptiveConformal(KRLS(ridge=0.1), confidence_level=0.8)
    for i in range(30):
        model.learn_one({"x": i / 7.0}, float(i % 5))
    today = model.to_bytes()
    former = _with_header(today, lambda text: text.replace('"confidence_level"', '"level"'))
    assert len(former) < len(today)
    assert AdaptiveConformal.from_bytes(former).to_bytes() == today
    written = [path for path in V1.glob("*.skm") if b'"AdaptiveConformal"' in path.read_bytes()]
    assert written
    for path in written:
        assert b'"level"' in path.read_bytes()
        assert b'"confidence_level"' in checkpoint.loads(path.read_bytes()).to_bytes()
    assert not [warning for warning in recwarn if warning.category is DeprecationWarning]


def _with_header(data: bytes, change: Any) -> bytes:
    """A checkpoint whose header is another text, with the checksum that belongs to it."""
    body = data[checkpoint._PREFIX.size :]
    (length,) = checkpoint._LENGTH.unpack_from(body)
    start = checkpoint._LENGTH.size
    header = change(body[start : start + length].decode()).encode()
    json.loads(header)
    body = checkpoint._LENGTH.pack(len(header)) + header + body[start + length :]
    return checkpoint._PREFIX.pack(checkpoint.MAGIC, checkpoint.VERSION, checkpoint._digest(body)) + body


def test_the_command_line(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text("x,y\n" + "".join(f"{i / 9},{i % 5}\n" for i in range(40)))
    written = {}
    for option in ("--confidence-level", "--level"):
        log = tmp_path / f"{option}.csv"
        command = ["run", str(table), "--target", "y", "--model", "krls", option, "0.6", "--predictions", str(log)]
        assert cli.main(command) == 0
        written[option] = log.read_text()
        said = capsys.readouterr()
        assert ("--level is called --confidence-level now" in said.err) == (option == "--level")
    assert written["--level"] == written["--confidence-level"]
    assert cli.main(["run", str(table), "--target", "y", "--model", "krls", "--predictions", str(log)]) == 0
    assert log.read_text() != written["--level"]
    for command in ("run", "predict", "forecast"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        said = capsys.readouterr().out
        assert "--confidence-level P" in said and " --level" not in said
