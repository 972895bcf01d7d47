"""The commands as a user meets them: examples that work, raw tables, saved models, and errors of one line."""

from __future__ import annotations

import csv
import datetime
import importlib
import io
import json
import math
import shlex
import subprocess
import sys

import numpy as np
import pytest

import streamkernel
from streamkernel import KRLS, AutoKernelRegressor, KernelMixtureClassifier, cli
from streamkernel.cli.commands import COMMANDS
from streamkernel.session import Session


def write(path, names, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the examples of the help name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sensors = []
    for t in range(120):
        pressure, wind = float(rng.normal(1000, 5)), str(rng.choice(["north", "south", ""]))
        temperature = 20 + 5 * math.sin(2 * math.pi * t / 24) + (wind == "south") + 0.1 * float(rng.normal())
        shown = "" if t % 17 == 3 else round(pressure, 2)
        sensors.append(
            [f"2024-05-{t // 24 + 1:02}T{t % 24:02}:00", shown, wind, round(temperature, 3), temperature > 20]
        )
    write("sensors.csv", ["time", "pressure", "wind", "temperature", "alarm"], sensors)
    write("feed.csv", ["x", "y"], [[i / 10, math.sin(i / 10)] for i in range(60)])
    flowers = [
        [float(rng.normal(k, 0.5)), float(rng.normal(-k, 0.5)), name] for k, name in enumerate("abc") for _ in range(25)
    ]
    rng.shuffle(flowers)
    write("flowers.csv", ["length", "width", "species"], flowers)
    write("sales.csv", ["shop", "sold"], [[shop, 10 + t % 7 + k] for k, shop in enumerate("AB") for t in range(42)])
    write("new.csv", ["x"], [[i / 7] for i in range(20)])
    assert cli.main(["run", "feed.csv", "--target", "y", "--save", "model.skm"]) == 0
    return tmp_path


def examples():
    for name in COMMANDS:
        lines = importlib.import_module(f"streamkernel.cli.commands.{name}").EXAMPLES.splitlines()
        assert len(lines) >= 2
        yield from (line.strip() for line in lines)


@pytest.mark.parametrize("example", list(examples()))
def test_the_examples_of_the_help_work(folder, capsys, monkeypatch, example):
    feed, _, command = example.rpartition("| ")
    if feed:
        assert feed.startswith("tail -n +1 -f feed.csv")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "feed.csv").read_bytes())))
    program, *arguments = shlex.split(command)
    assert program == "streamkernel"
    shorter = {
        "demo": ["--samples", "300"],
        "forecast": ["--backtest", "1"],
        "equalize": ["--errors", "20", "--most", "3000"] if "--curve" in arguments else ["--symbols", "500"],
    }
    assert cli.main([*arguments, *shorter.get(arguments[0], [])]) == 0
    assert capsys.readouterr().out or (folder / "predicted.csv").read_text()
    with pytest.raises(SystemExit):
        cli.main([arguments[0], "--help"])
    assert example in capsys.readouterr().out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_that_takes_long(command):
    code = f"""
import sys
from streamkernel.cli import main
try:
    main([*{[command] if command else []!r}, "--help"])
except SystemExit:
    pass
assert not {{"numpy", "numba", "river", "scipy", "tqdm"}} & set(sys.modules), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def test_words_gaps_and_dates_go_to_the_automatic_model_as_they_are(folder, capsys):
    assert cli.main(["run", "sensors.csv", "--target", "temperature", "--save", "s.skm", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["model"], result["learned"], result["skipped"]) == ("AutoKernelRegressor", 120, 0)
    model = AutoKernelRegressor()
    with open("sensors.csv") as file:
        rows = list(csv.DictReader(file))
    errors = []
    for row in rows:
        y = float(row.pop("temperature"))
        x = row | {"pressure": float(row["pressure"]) if row["pressure"] else None, "wind": row["wind"] or None}
        errors.append(y - model.predict_learn_one(x, y))
    assert result["rmse"] == pytest.approx(math.sqrt(np.mean(np.square(errors))), rel=1e-12)
    assert streamkernel.load("s.skm").to_bytes() == model.to_bytes()


def test_rows_without_a_target_are_predicted_and_not_learned(folder, capsys):
    (folder / "t.csv").write_text("x,y\n1,1\n2,\n3,3\n4,NA\n5,5\n")
    (folder / "u.csv").write_text("x,y\n1,1\n3,3\n5,5\n")
    options = ["--target", "y", "--model", "krls", "--ridge", "0.1", "--json"]
    assert cli.main(["run", "t.csv", *options, "--predictions", "t.out"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["rows"], result["learned"], result["without_target"]) == (5, 3, 2)
    assert cli.main(["run", "u.csv", *options]) == 0
    assert json.loads(capsys.readouterr().out)["rmse"] == result["rmse"]
    lines = (folder / "t.out").read_text().splitlines()
    assert lines[0] == "row,target,prediction,lower,upper"
    assert [line.split(",")[1] for line in lines[1:]] == ["1.0", "", "3.0", "", "5.0"]
    for line in lines[1:]:
        prediction, lower, upper = map(float, line.split(",")[2:])
        assert lower < prediction < upper


def test_a_target_of_words_is_a_class(folder, capsys):
    assert (
        cli.main(["run", "flowers.csv", "--target", "species", "--predictions", "p.csv", "--save", "c.skm", "--json"])
        == 0
    )
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert "classes are learned" in printed.err
    assert result["accuracy"] > 0.7 > result["naive_accuracy"]
    assert cli.main(["classify", "flowers.csv", "--target", "species", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == result["accuracy"]
    assert cli.main(["predict", "c.skm", "flowers.csv", "--json"]) == 0
    predicted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    with open("flowers.csv") as file:
        truth = [row["species"] for row in csv.DictReader(file)]
    assert np.mean([p["prediction"] == t for p, t in zip(predicted, truth, strict=True)]) > 0.85
    assert all(1 / 3 < p["probability"] <= 1 for p in predicted)
    assert streamkernel.load("c.skm").predict_one({"length": 0.0, "width": 0.0}) == "a"
    assert cli.main(["run", "flowers.csv", "--target", "species", "--model", "krls"]) == 2
    assert "not a number" in capsys.readouterr().err
    assert cli.main(["run", "flowers.csv", "--target", "species", "--plot", "p.png"]) == 2


def test_a_resumed_classifier_continues_bit_for_bit(folder, capsys):
    lines = (folder / "flowers.csv").read_text().splitlines(keepends=True)
    (folder / "part.csv").write_text("".join(lines[:40]))
    options = ["--target", "species", "--json"]
    assert cli.main(["classify", "flowers.csv", *options, "--save", "whole.skm", "--predictions", "whole.csv"]) == 0
    assert cli.main(["classify", "part.csv", *options, "--save", "m.skm", "--predictions", "p.csv"]) == 0
    (folder / "part.csv").write_text("".join(lines))
    assert cli.main(["run", "part.csv", *options, "--save", "m.skm", "--predictions", "p.csv", "--resume"]) == 0
    assert (folder / "m.skm").read_bytes() == (folder / "whole.skm").read_bytes()
    assert (folder / "p.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def test_a_session_of_the_former_classifier_goes_on(folder, capsys):
    """Classes were learned by a mixture of standardized numbers; such checkpoints are resumed as they are."""
    names = (folder / "flowers.csv").read_text().splitlines()[0].split(",")
    features = [name for name in names if name != "species"]
    session = Session(KernelMixtureClassifier(), scale=True, encode=True, target="species", features=features)
    session.save(folder / "m.skm")
    assert cli.main(["classify", "flowers.csv", "--target", "species", "--save", "m.skm", "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "KernelMixtureClassifier"
    assert cli.main(["classify", "flowers.csv", "--target", "species", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "AutoKernelClassifier"


def test_decimal_commas_are_not_guessed(folder, capsys):
    (folder / "d.csv").write_text("x;y\n1,5;2,5\n2,5;3,5\n")
    assert cli.main(["run", "d.csv", "--target", "y"]) == 2
    assert "--decimal ," in capsys.readouterr().err
    assert cli.main(["run", "d.csv", "--target", "y", "--decimal", ",", "--predictions", "-"]) == 0
    assert "2,3.5," in capsys.readouterr().out


def test_names_that_look_like_numbers(folder, capsys):
    (folder / "z.csv").write_text("zip,y\n" + "".join(f"{8000 + i % 3},{i % 3}\n" for i in range(30)) + "CH-9,1\n")
    assert cli.main(["run", "z.csv", "--target", "y"]) == 2
    assert (
        "row 31: column 'zip' is 'CH-9', not a number; if they are names, give --words zip" in capsys.readouterr().err
    )
    assert cli.main(["run", "z.csv", "--target", "y", "--words", "zip", "--save", "z.skm", "--json"]) == 0
    capsys.readouterr()
    assert cli.main(["info", "z.skm"]) == 0
    assert "zip (word)" in capsys.readouterr().out


def test_predictions_of_a_saved_model_are_those_of_python(folder, capsys):
    assert cli.main(["predict", "model.skm", "new.csv", "--confidence-level", "0.5"]) == 0
    model = streamkernel.load("model.skm")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "row,prediction,lower,upper"
    assert len(lines) == 21
    for i, line in enumerate(lines[1:]):
        interval = model.predict_one({"x": i / 7}, with_interval=True, interval_level=0.5)
        assert line == f"{i + 1},{model.predict_one({'x': i / 7})!r},{interval.lower!r},{interval.upper!r}"


def test_a_model_saved_from_python_predicts_and_is_explained(folder, capsys):
    model = KRLS(ridge=0.1)
    for i in range(30):
        model.learn_one({"x": i / 10}, i / 10)
    model.save("python.skm")
    assert cli.main(["predict", "python.skm", "new.csv", "--predictions", "out.csv"]) == 0
    assert float((folder / "out.csv").read_text().splitlines()[3].split(",")[1]) == model.predict_one({"x": 2 / 7})
    assert cli.main(["predict", "python.skm", "flowers.csv"]) == 2
    assert "no column 'x'" in capsys.readouterr().err
    assert cli.main(["info", "python.skm", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["model"], facts["features"], facts["settings"]["ridge"]) == ("KRLS", ["x"], 0.1)
    assert facts["dictionary"] == model.size > 1
    streamkernel.AutoKernelForecaster().save("series.skm")
    assert cli.main(["predict", "series.skm", "new.csv"]) == 2
    assert "does not predict rows" in capsys.readouterr().err
    assert cli.main(["info", "series.skm"]) == 0


def test_info_tells_what_a_run_learned(folder, capsys):
    assert cli.main(["info", "model.skm"]) == 0
    text = capsys.readouterr().out
    for word in ("AutoKernelRegressor", "target", "features", "rmse", "60 samples learned", "Experts by weight"):
        assert word in text
    assert cli.main(["info", "feed.csv"]) == 2
    assert cli.main(["info", "nothing.skm"]) == 2


def test_predict_skips_or_stops(folder, capsys):
    (folder / "new.csv").write_text("x\n1\n1e300\n2\n")
    assert cli.main(["predict", "model.skm", "new.csv"]) == 2
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "row 2: column 'x' is '1e300'" in printed.err
    assert cli.main(["predict", "model.skm", "new.csv", "--on-error", "skip"]) == 0
    assert [line[:2] for line in capsys.readouterr().out.splitlines()[1:]] == ["1,", "3,"]


def test_json_has_no_numbers_that_json_does_not_have(folder, capsys):
    (folder / "c.csv").write_text("x,y\n1,2\n2,2\n")
    assert cli.main(["run", "c.csv", "--target", "y", "--model", "krls", "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name))["r2"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "feed.csv", "--target", "y", "--features", "x,y"], "which is the target"),
        (["run", "feed.csv", "--target", "y", "--kernel", "Polynomial(99999999999999999999)"], "--kernel"),
        (["run", "feed.csv", "--target", "y", "--kernel", "AnovaSpline(100000000000)"], "--kernel"),
        (["run", "feed.csv", "--target", "y", "--kernel", f"RBF(1{'0' * 400})"], "length_scale"),
        (["run", "feed.csv", "--target", "y", "--kernel", "+".join(["RBF(1.0)"] * 20_000)], "--kernel"),
        (["run", "feed.csv", "--target", "y", "--model", "auto", "--ridge", "1"], "--model auto takes no --ridge"),
        (["run", "feed.csv", "--target", "y", "--model", "krls", "--words", "x"], "only --model auto takes words"),
        (["run", "feed.csv", "--target", "y", "--words", "q"], "--words q: not among the features"),
        (["forecast", "feed.csv", "--column", "y", "--lags", "3", "--group", "x"], "--group is for the automatic"),
        (["forecast", "feed.csv", "--column", "y", "--ridge", "1", "--season", "3"], "--season is for the automatic"),
        (["forecast", "feed.csv", "--column", "y", "--stride", "2"], "--stride goes with a model of your own"),
        (["demo", "--noise", "-1"], "noise"),
        (["demo", "--samples", "50", "--noise", "1e200"], "--noise 1e+200"),
        (["equalize", "--symbols", "50", "--train", "50", "--noise", "1e300"], "less --noise"),
        (["equalize", "--curve", "--snr", "0:1e9:1e-9"], "1000 points at most"),
        (["equalize", "--lags", "20", "--bayes", "--kernel", "RBF(1.0)"], "--bayes"),
        (["equalize", "--curve", "--plot", "nowhere/curve.png"], "cannot write"),
        (["demo", "--plot", "nowhere/demo.png"], "cannot write"),
        (["forecast", "feed.csv", "--column", "y", "--plot", "nowhere/f.png"], "cannot write"),
        (["forecast", "feed.csv", "--column", "y", "--save", "feed.csv"], "would overwrite the input"),
        (
            ["forecast", "wild.csv", "--column", "y", "--lags", "3", "--kernel", "Polynomial(3)", "--horizon", "40"],
            "wild",
        ),
    ],
)
def test_errors_are_one_line(folder, capsys, arguments, said):
    (folder / "wild.csv").write_text("y\n" + "".join(f"{(-3.0) ** i}\n" for i in range(60)))
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("streamkernel: ") and said in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--seed", "-1"],
        ["demo", "--noise", "nan"],
        ["run", "x", "--confidence-level", "1"],
        ["run", "x", "--max-size", "9" * 20],
    ],
)
def test_arguments_are_checked(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "error: argument" in capsys.readouterr().err


def test_a_forecaster_with_lags_is_saved(folder, capsys):
    assert cli.main(["forecast", "feed.csv", "--column", "y", "--lags", "3", "--save", "f.skm", "--json"]) == 0
    means = [step["mean"] for step in json.loads(capsys.readouterr().out)["forecast"]]
    assert streamkernel.load("f.skm").forecast(10) == means


def test_a_forecast_of_huge_numbers(folder, capsys):
    (folder / "huge.csv").write_text("y\n" + "1e99\n-1e99\n" * 30)
    assert cli.main(["forecast", "huge.csv", "--column", "y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast"][0]["mean"] is not None


def test_a_result_that_cannot_be_written(folder):
    command = [sys.executable, "-m", "streamkernel", "info", "model.skm"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == "streamkernel: cannot write the result: No space left on device\n"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.wait() == 141
        assert process.stderr.read() == ""


def test_warmup_tells_what_it_compiles(capsys):
    assert cli.main(["warmup"]) == 0
    text = capsys.readouterr().out
    for part in ("streaming learners", "kernels", "automatic regressor", "automatic forecaster", "classifiers"):
        assert part in text


def test_warmup_times_every_function_that_it_compiles():
    """Those that Python calls, each with all that it calls in turn."""
    code = """
from streamkernel import cli
from streamkernel.cli.commands import warmup
import numba

@numba.njit
def inner(x):
    return x + 1

@numba.njit
def outer(x):
    return inner(x)

warmup.PARTS = {"a part": lambda: outer(1.0)}
cli.main(["warmup", "--json"])
cli.main(["warmup"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line, *text = result.stdout.splitlines()
    ((name, seconds),) = json.loads(line)["functions"]["a part"].items()
    assert name == "__main__.outer"
    assert 0.0 < seconds <= json.loads(line)["parts"]["a part"]
    assert text[-1].endswith(" s, 0 functions compiled; the next time everything comes from the cache")


def test_after_warmup_nothing_is_compiled(folder):
    """Neither by the command line nor by learners of any kind: all that they call was there."""
    code = """
import sys
from numba.core.dispatcher import Dispatcher
from streamkernel import cli

def compiled():
    return {f"{m}.{n}": len(v.overloads) for m, module in list(sys.modules.items()) if m.startswith("streamkernel")
            for n, v in vars(module).items() if isinstance(v, Dispatcher)}

cli.main(["warmup"])
before = compiled()
assert cli.main(["run", "sensors.csv", "--target", "temperature", "--predictions", "p.csv"]) == 0
assert cli.main(["run", "feed.csv", "--target", "y", "--model", "krls"]) == 0
assert cli.main(["classify", "flowers.csv", "--target", "species"]) == 0
assert cli.main(["forecast", "feed.csv", "--column", "y"]) == 0
import streamkernel as sk
stream = [({"a": t % 7 / 3.0, "b": t % 5 / 2.0}, float(t % 3)) for t in range(60)]
for model in (sk.KRLS(max_size=5), sk.KRR(ridge=0.1, threshold=None), sk.HeteroscedasticKRLS(), sk.KernelMixture(),
              sk.AutoKernelRegressor(), sk.AutoKernelClassifier(), sk.LSSVMClassifier()):
    for x, y in stream:
        model.predict_one(x)
        model.learn_one(x, y)
leaves = [sk.core.columns.LEAVES._addresses[code] for code in sk.core.columns.LEAVES._functions]
assert leaves and all(leaves)
later = {name: count for name, count in compiled().items() if count > before.get(name, 0)}
assert not later, later
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture
def noise_csv(tmp_path):
    """Two hundred days of noise, and three days that are to come."""
    values = [*np.random.default_rng(1).normal(size=200).round(6), "", "", ""]
    days = [str(np.datetime64("2024-01-01") + i) for i in range(len(values))]
    write(tmp_path / "n.csv", ["t", "y"], list(zip(days, values, strict=True)))
    return str(tmp_path / "n.csv")


def refused(capsys, *arguments):
    assert cli.main([str(argument) for argument in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(("option", "names"), [("--features", "t,y"), ("--features", "y"), ("--group", "y")])
def test_a_forecast_is_not_made_from_the_series_itself(noise_csv, capsys, option, names):
    said = refused(capsys, "forecast", noise_csv, "--column", "y", option, names)
    assert f"{option} has 'y', which is the series" in said


def test_a_forecast_tells_of_a_season_that_was_not_seen(noise_csv, capsys):
    command = ["forecast", noise_csv, "--column", "y", "--horizon", "2"]
    assert cli.main([*command, "--season", "300"]) == 0
    assert "a season of 300 steps was not seen twice: forecasts are made without it" in capsys.readouterr().err
    assert cli.main([*command, "--season", "7"]) == 0
    assert "seen twice" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ([*range(60), 62], "the last two dates of 't' are 3 days apart, most others 1 day"),
        ([*range(60), 59], "the dates of 't' do not increase"),
        ([*range(60)], ""),
        ([0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305], ""),  # months
    ],
)
def test_a_forecast_tells_how_it_is_dated(tmp_path, capsys, days, said):
    path = tmp_path / "dates.csv"
    begin = datetime.date(2024, 1, 1)
    lines = [f"{begin + datetime.timedelta(day)},{day % 7}" for day in days]
    path.write_text("\n".join(["t,y", *lines]) + "\n")
    assert cli.main(["forecast", str(path), "--column", "y", "--features", "t", "--horizon", "2"]) == 0
    found = capsys.readouterr().err
    assert said in found
    assert said or "dates" not in found


def test_a_horizon_takes_the_first_rows_of_the_future(noise_csv, capsys):
    command = ["forecast", noise_csv, "--column", "y", "--features", "t"]
    assert cli.main([*command, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)["forecast"]
    assert cli.main([*command, "--json", "--horizon", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast"] == whole[:1]
    assert "the horizon is 4, but 3 rows" in refused(capsys, *command, "--horizon", 4)


def test_backtests_end_where_the_series_does(noise_csv, capsys):
    """All of a huge number were counted through."""
    command = ["forecast", noise_csv, "--column", "y", "--horizon", "25", "--json", "--backtest"]
    found = []
    for count in ("1000", str(sys.maxsize)):
        assert cli.main([*command, count]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


CURVE_ONLY = [("--channel", "nonexistent"), ("--snr", "0:4:4"), ("--errors", "7"), ("--most", "7"), ("--plot", "a.png")]
EQUALIZER_ONLY = [
    *(["--taps", "1,2"], ["--noise", "1"], ["--symbols", "7"], ["--train", "7"], ["--alphabet", "qpsk"]),
    *(["--directed"], ["--bayes"], ["--lags", "7"], ["--delay", "0"], ["--model", "krls"], ["--max-size", "7"]),
]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(([option, value], f"{option} goes with --curve") for option, value in CURVE_ONLY),
        *((["--curve", *option], f"{option[0]} is for one equalizer") for option in EQUALIZER_ONLY),
        (["--taps", ""], "--taps must be numbers"),
        (["--symbols", "1", "--train", "1"], "--train 1 and --symbols 1: too few to decide"),
    ],
)
def test_options_of_equalize_without_effect_are_errors(capsys, options, said):
    assert said in refused(capsys, "equalize", *options)
