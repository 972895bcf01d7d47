"""`--live` on the command line: a page that shows what is learned, and a file that keeps it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from typing import Any

import pytest

from streamkernel import cli


def state_of(path: Any) -> Any:
    return json.loads(path.read_text().split('id="state">')[1].split("</script>")[0])


@pytest.fixture
def table(tmp_path: Any) -> Any:
    path = tmp_path / "table.csv"
    rows = [f"{t % 17},{math.sin(t % 17) + 0.01 * (t % 5)}" for t in range(200)]
    path.write_text("\n".join(["a,y", *rows]) + "\n")
    return path


@pytest.mark.parametrize("model", ["auto", "krls"])
def test_the_saved_page_holds_what_was_predicted(table: Any, tmp_path: Any, capsys: Any, model: str) -> None:
    page, log = tmp_path / "page.html", tmp_path / "log.csv"
    options = ["--model", model, "--confidence-level", "0.8", "--predictions", str(log), "--json"]
    assert cli.main(["run", str(table), "--target", "y", "--live", "--live-save", str(page), *options]) == 0
    said = capsys.readouterr()
    assert re.search(r"live at http://127\.0\.0\.1:\d+/", said.err)
    state, result = state_of(page), json.loads(said.out)
    predicted = [line.split(",") for line in log.read_text().splitlines()[1:]]
    assert state["rows"][1] == pytest.approx([float(line[2]) for line in predicted])
    assert state["rows"][2] == pytest.approx([float(line[3]) for line in predicted])
    assert state["numbers"]["rows"] == result["rows"] == 200 and state["numbers"]["size"] == result["dictionary"]
    assert state["level"] == 0.8 and state["ended"] and state["title"].endswith("table.csv: y")


@pytest.mark.parametrize("own", [[], ["--model", "krls", "--lags", "4"]])
def test_a_series_is_seen_with_what_follows(table: Any, tmp_path: Any, capsys: Any, own: list[str]) -> None:
    page = tmp_path / "page.html"
    options = ["--horizon", "7", "--json", "--live", "--live-save", str(page), *own]
    assert cli.main(["forecast", str(table), "--column", "y", *options]) == 0
    forecast = json.loads(capsys.readouterr().out)["forecast"]
    state = state_of(page)
    assert len(state["rows"][0]) == 200
    assert state["ahead"][1] == pytest.approx([step["mean"] for step in forecast])
    without = [option for option in options if option not in ("--live", "--live-save", str(page))]
    assert cli.main(["forecast", str(table), "--column", "y", *without]) == 0
    same = json.loads(capsys.readouterr().out)["forecast"]
    assert [step["mean"] for step in forecast] == pytest.approx([step["mean"] for step in same])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "8000"], "--port needs --live"),
        (["--live-save", "page.html"], "--live-save needs --live"),
        (["--live", "--port", "70000"], "not a port"),
        (["--live", "--live-save", "no/such/folder/page.html"], "cannot write"),
    ],
)
def test_what_cannot_be_is_said(table: Any, capsys: Any, options: list[str], said: str) -> None:
    with contextlib.suppress(SystemExit):  # options that are no numbers end in argparse
        assert cli.main(["run", str(table), "--target", "y", *options]) == 2
    assert said in capsys.readouterr().err


def test_classes_and_groups_are_refused(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "words.csv"
    path.write_text("a,y\n1,red\n2,blue\n")
    assert cli.main(["run", str(path), "--target", "y", "--live"]) == 2
    assert "--live shows numbers" in capsys.readouterr().err
    assert cli.main(["forecast", str(path), "--column", "a", "--group", "y", "--live"]) == 2
    assert "leave --group out" in capsys.readouterr().err


def test_it_is_served_while_rows_come_and_ends_with_a_signal(tmp_path: Any) -> None:
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "streamkernel", "run", "-", "--target", "y", "--model", "krls", "--live"]
    with subprocess.Popen(
        [*command, "--live-save", str(page)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write("a,y\n" + "".join(f"{t},{t % 3}\n" for t in range(50)))
        process.stdin.flush()
        said = re.search(r"http://\S+/", process.stderr.readline())
        assert said
        count = 0  # the first row may compile for a while, in which nothing is answered
        while count < 50:
            with urllib.request.urlopen(said[0] + "state", timeout=120) as answer:
                count = json.load(answer)["numbers"]["rows"]
        time.sleep(0.5)  # a signal just before the run waits for input is noticed with the next row
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        process.stdin.close()
    assert state_of(page)["numbers"]["rows"] == 50
