"""The command line as a user meets it: what it prints, how it fails, and what survives an interruption."""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import streamkernel
from streamkernel import cli
from streamkernel.checkpoint import loads
from streamkernel.cli import commands
from streamkernel.cli.commands import warmup
from streamkernel.cli.options import MODELS
from streamkernel.cli.output import INTERRUPTED


@pytest.fixture
def stream_csv(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
    path = tmp_path / "stream.csv"
    lines = [f"{a!r},{b!r},{t!r}" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def run_json(capsys, *arguments):
    assert cli.main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("model", MODELS)
def test_run_learns_a_table(stream_csv, capsys, model):
    options = [] if model == "auto" else ["--ridge", "0.05", "--kernel", "RBF(1.0)"]
    result = run_json(capsys, "run", stream_csv, "--target", "y", "--model", model, *options)
    assert result["rows"] == 400
    assert result["r2"] > 0.6
    assert 0 < result["dictionary"] < 200


def test_run_reads_parquet_and_standard_input_alike(stream_csv, tmp_path, capsys, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    parquet = tmp_path / "stream.parquet"
    rows = np.array([line.split(",") for line in stream_csv.read_text().splitlines()[1:]], dtype=float)
    writer.write_table(pyarrow.table(dict(zip("aby", rows.T, strict=True))), parquet)
    expected = run_json(capsys, "run", stream_csv, "--target", "y")
    assert run_json(capsys, "run", parquet, "--target", "y")["rmse"] == expected["rmse"]
    with open(stream_csv) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert run_json(capsys, "run", "-", "--target", "y")["rmse"] == expected["rmse"]


def test_run_prints_a_table_and_plots(stream_csv, tmp_path, capsys):
    picture = tmp_path / "run.png"
    assert cli.main(["run", str(stream_csv), "--target", "y", "--features", "a, b", "--plot", str(picture)]) == 0
    printed = capsys.readouterr()
    assert "rmse" in printed.out
    assert "400" in printed.out
    assert printed.err == ""
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z"], "no column 'z'"),
        (["--target", "y", "--features", "a,q"], "no column 'q'"),
        (["--target", "y", "--kernel", "open('x')"], "cannot read kernel"),
        (["--target", "y", "--kernel", "RBF(-1)"], "length_scale"),
        (["--target", "y", "--ridge", "-1"], "ridge"),
        (["--target", "y", "--model", "kaar", "--forgetting", "0.9"], "--model kaar"),
        (["--target", "y", "--resume"], "--save"),
        (["--target", "y", "--plot", "nowhere/run.png"], "cannot write"),
        (["--target", "y", "--save", "nowhere/m.skm"], "cannot write"),
        (["--target", "y", "--predictions", "nowhere/p.csv"], "cannot write"),
    ],
)
def test_run_fails_in_one_line(stream_csv, capsys, arguments, message):
    assert cli.main(["run", str(stream_csv), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("streamkernel: ")
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("a,y\n", "no rows"),
        ("a,y\n1,2\nred,3\n", "row 2: column 'a' is 'red'"),
        ("a,y\n1,2\nnan,3\n", "row 2: column 'a' is 'nan', a gap, which only --model auto takes"),
        ("a,y\n1,2\n1e160,3\n", "row 2: column 'a' is '1e160': numbers up to 1e+100 are taken"),
        ("a,y\n1,2\n1_0,3\n", "row 2: column 'a' is '1_0', not a number"),
        ("a,y\n1,2\n1,inf\n", "row 2: column 'y', the target, is 'inf': every value must be finite"),
        ("a,y\n1,2\n1,red\n", "row 2: column 'y', the target, is 'red', not a number"),
        ("a,y\n1,2\n1\n", "row 2: 1 cell instead of 2"),
        ("a,y\n1,2\n1,2,3\n", "row 2: 3 cells instead of 2"),
        ('a,y\n1,2\n"1"2,3\n', "row 2: ',' expected after"),
    ],
)
def test_run_names_the_bad_row(tmp_path, capsys, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert cli.main(["run", str(path), "--target", "y", "--model", "krls"]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_or_foreign_file_is_an_error(tmp_path, capsys, stream_csv):
    assert cli.main(["run", str(tmp_path / "none.csv"), "--target", "y"]) == 2
    assert cli.main(["run", str(tmp_path / "none.parquet"), "--target", "y"]) == 2
    foreign = tmp_path / "foreign.skm"
    foreign.write_bytes(b"not a model")
    assert cli.main(["run", str(stream_csv), "--target", "y", "--save", str(foreign), "--resume"]) == 2
    assert "not a streamkernel checkpoint" in capsys.readouterr().err


def test_resume_continues_bit_for_bit(stream_csv, tmp_path, capsys):
    whole = tmp_path / "whole.csv"
    expected = run_json(capsys, "run", stream_csv, "--target", "y", "--predictions", whole)
    lines = stream_csv.read_text().splitlines(keepends=True)
    stream_csv.write_text("".join(lines[:151]))
    options = ["run", stream_csv, "--target", "y", "--predictions", tmp_path / "p.csv", "--save", tmp_path / "m.skm"]
    run_json(capsys, *options)
    stream_csv.write_text("".join(lines))
    resumed = run_json(capsys, *options, "--resume")
    assert resumed["resumed_at"] == 150
    assert (tmp_path / "p.csv").read_text() == whole.read_text()
    assert (resumed["rmse"], resumed["dictionary"]) == (expected["rmse"], expected["dictionary"])


def slow_run(folder, lines, *options):
    """A run whose input arrives slowly, so that it can be interrupted in the middle; returns the process."""
    command = [sys.executable, "-m", "streamkernel.cli", "run", "-", "--target", "y", *options]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("".join(lines))
    process.stdin.flush()
    return process


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the run did not get there"
        time.sleep(0.05)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_resumes_from_its_checkpoint(stream_csv, tmp_path, capsys, kind):
    whole = tmp_path / "whole.csv"
    run_json(capsys, "run", stream_csv, "--target", "y", "--predictions", whole)
    lines = stream_csv.read_text().splitlines(keepends=True)
    saved, predictions = tmp_path / "m.skm", tmp_path / "p.csv"
    options = ["--save", str(saved), "--predictions", str(predictions), "--checkpoint-every", "100"]
    process = slow_run(tmp_path, lines[:351], *options)
    wait_for(lambda: saved.exists() and loads(saved.read_bytes()).rows >= 300)
    process.send_signal(kind)
    if kind == signal.SIGINT:
        process.stdin.write(lines[351])  # Ctrl-C is heeded between two rows
    process.stdin.close()
    process.wait(timeout=60)
    if kind == signal.SIGINT:
        assert process.returncode == INTERRUPTED
        assert "--resume" in process.stderr.read()
    process.stderr.close()
    reached = loads(saved.read_bytes()).rows
    assert 300 <= reached <= (351 if kind == signal.SIGINT else 300)
    result = run_json(capsys, "run", stream_csv, "--target", "y", *options, "--resume")
    assert result["resumed_at"] == reached
    assert predictions.read_text() == whole.read_text()


@pytest.fixture
def series_csv(tmp_path):
    values = np.sin(np.arange(300) / 5.0) + 0.3 * np.sin(np.arange(300) / 3.0)
    path = tmp_path / "series.csv"
    path.write_text("day,y\n" + "".join(f"d{i},{value!r}\n" for i, value in enumerate(values.tolist())))
    return path


def test_forecast(series_csv, tmp_path, capsys):
    picture = tmp_path / "forecast.png"
    options = ["forecast", series_csv, "--column", "y", "--horizon", "8", "--lags", "6", "--kernel", "RBF(2.0)"]
    options += ["--threshold", "1e-6", "--ridge", "1e-6", "--rollout", "2"]
    result = run_json(capsys, *options, "--plot", picture)
    truth = np.sin(np.arange(300, 308) / 5.0) + 0.3 * np.sin(np.arange(300, 308) / 3.0)
    np.testing.assert_allclose([step["mean"] for step in result["forecast"]], truth, atol=0.02)
    assert result["rmse"] < 0.02 < result["naive_rmse"]
    assert all(step["lower"] <= step["upper"] for step in result["forecast"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert cli.main([*map(str, options), "--plot", str(picture)]) == 0
    assert "step" in capsys.readouterr().out
    assert run_json(capsys, *options)["forecast"] == result["forecast"]


def test_forecast_fails_in_one_line(series_csv, capsys):
    for options, message in (
        (["--column", "z"], "no column 'z'"),
        (["--column", "day"], "row 1: column 'day' is 'd0'"),
        (["--column", "y", "--lags", "400"], "300 values; 411 are needed"),
    ):
        assert cli.main(["forecast", str(series_csv), *options]) == 2
        assert message in capsys.readouterr().err
    series_csv.write_text("y\n" + "1.0\n" * 30 + "inf\n" + "1.0\n" * 30)
    assert cli.main(["forecast", str(series_csv), "--column", "y"]) == 2
    assert "row 31: column 'y' is 'inf'" in capsys.readouterr().err


def test_forecast_says_how_many_gaps(series_csv, capsys):
    series_csv.write_text("y\n" + "1.0\n" * 30 + "nan\nNA\n" + "1.0\n" * 30)
    assert run_json(capsys, "forecast", str(series_csv), "--column", "y")["gaps"] == 2
    assert cli.main(["forecast", str(series_csv), "--column", "y"]) == 0
    assert "62 values, of which 2 gaps; season none." in capsys.readouterr().out


@pytest.mark.parametrize("alphabet", ["bpsk", "qpsk"])
def test_equalize(alphabet, capsys):
    options = ["equalize", "--alphabet", alphabet, "--symbols", "1500", "--kernel", "RBF(0.5)", "--ridge", "1.0"]
    options += ["--threshold", "0.05", "--taps", "1.0,0.3", "--noise", "0.2", "--train", "3000"]
    result = run_json(capsys, *options, "--bayes")
    assert -0.02 < result["symbol_error_rate"] - result["bayes_symbol_error_rate"] < 0.05
    assert cli.main([*options, "--directed"]) == 0
    assert "bit_error_rate" in capsys.readouterr().out


def test_equalize_learns_the_channel_by_default(capsys):
    options = ["equalize", "--alphabet", "qpsk", "--taps", "1,0.4-0.3j", "--noise", "0.4", "--symbols", "3000"]
    ours, model = (run_json(capsys, *options, "--bayes", *more) for more in ([], ["--model", "krls"]))
    assert ours["symbol_error_rate"] < 0.5 * model["symbol_error_rate"]
    # A window of two observations knows less than all of them.
    assert ours["bayes_symbol_error_rate"] < model["bayes_symbol_error_rate"]
    assert 0.8 < ours["symbol_error_rate"] / ours["bayes_symbol_error_rate"] < 1.5


def test_equalize_fails_in_one_line(capsys):
    for options, message in (
        (["--taps", "a,b"], "--taps must be numbers"),
        (["--delay", "-1"], "delay"),
        (["--noise", "-1"], "noise"),
    ):
        assert cli.main(["equalize", *options]) == 2
        assert message in capsys.readouterr().err


def test_demo(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_json(capsys, "demo", "--samples", "600")
    ours = result["models"].pop("streamkernel KRLS")
    assert all(ours["rmse"] < other["rmse"] for other in result["models"].values())
    assert os.path.exists("demo.png")
    assert cli.main(["demo", "--samples", "300"]) == 0
    assert "river KNNRegressor" in capsys.readouterr().out


def test_warmup_and_version(capsys):
    assert run_json(capsys, "warmup")["seconds"] > 0.0
    assert cli.main(["warmup"]) == 0
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert "streamkernel" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["streamkernel", "streamkernel.cli"])
def test_the_command_line_as_a_module(module):
    shown = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"streamkernel {streamkernel.__version__}\n"


def test_every_file_of_commands_is_a_command_with_help(capsys):
    assert set(commands.COMMANDS) == {module.name for module in pkgutil.iter_modules(commands.__path__)}
    for name, text in commands.COMMANDS.items():
        with pytest.raises(SystemExit) as stop:
            cli.main([name, "--help"])
        assert stop.value.code == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert f"usage: streamkernel {name} " in printed and text in printed and "--json" in printed


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_option_says_what_it_does(name):
    parser = commands.build_parser([name])
    (choices,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    assert not [action.dest for action in choices[name]._actions if not action.help]


def test_help_imports_no_command():
    code = """
import sys
from streamkernel.cli import main
try:
    main(["--help"])
finally:
    loaded = [name for name in sys.modules if name.startswith("streamkernel.cli.commands.")]
    assert not loaded, loaded
"""
    assert "warmup" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("arguments", [[], ["fly"], ["demo", "--samples", "0"], ["run"]])
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2


def test_ctrl_c_elsewhere_is_quiet(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(warmup, "run", interrupt)
    assert cli.main(["warmup"]) == INTERRUPTED
    assert capsys.readouterr().err == "streamkernel: interrupted\n"


def test_a_model_without_parameters(tmp_path, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2)) * [1.0, 1e6]
    rows = ["a,b,y"] + [f"{a},{b},{np.sin(a) + b / 1e6}" for a, b in X]
    path = tmp_path / "stream.csv"
    path.write_text("\n".join(rows))
    saved = tmp_path / "model.skm"
    assert cli.main(["run", str(path), "--target", "y", "--model", "auto", "--json", "--save", str(saved)]) == 0
    assert json.loads(capsys.readouterr().out)["rmse"] < 0.4
    assert cli.main(["run", str(path), "--target", "y", "--save", str(saved), "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resumed_at"] == 200
    assert cli.main(["run", str(path), "--target", "y", "--model", "auto", "--ridge", "1"]) == 2
    assert "--model auto" in capsys.readouterr().err


def test_equalizer_curves(tmp_path, capsys):
    plot = tmp_path / "curve.png"
    options = ["equalize", "--curve", "--snr", "8:12:4", "--errors", "20", "--most", "4000"]
    assert cli.main([*options, "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    assert "Volterra RLS" in text and "Bayes" in text and "12 dB" in text
    assert plot.stat().st_size > 10_000
    channel = tmp_path / "channel.json"
    channel.write_text(
        '{"alphabet": "qpsk", "taps": [1.0, [0.2, -0.1]], "nonlinearity": "tanh", "lags": 3, "delay": 1}'
    )
    assert cli.main([*options, "--channel", str(channel), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert {point["snr"] for point in points} == {8.0, 12.0}
    assert all(point["ser95"][0] <= point["ser"] <= point["ser95"][1] for point in points)


def test_equalizer_curves_fail_in_one_line(tmp_path, capsys):
    bad = tmp_path / "bad.json"
    bad.write_text('{"taps": [1.0], "nonlinearity": "none"}')
    for options in (["--snr", "5:1:1"], ["--snr", "a"], ["--channel", "nowhere"], ["--channel", str(bad)]):
        assert cli.main(["equalize", "--curve", *options]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
