"""The command line among closed streams, pipes, and encodings that lack a letter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

COMMAND = f"{sys.executable} -m streamkernel"
KRLS = "--target y --model krls --json"


@pytest.fixture
def folder(tmp_path: Any, monkeypatch: Any) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("größe,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(30)))
    (tmp_path / "classes.csv").write_text("a,y\n" + "".join(f"{i % 7},{('röt', 'grün')[i % 2]}\n" for i in range(20)))
    return tmp_path


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What bash makes of a line, within a minute, and without a traceback."""
    result = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
        check=False,
    )
    assert "Traceback" not in result.stderr
    return result


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("run - {krls} <&-", 2, "standard input is closed"),
        ("run in.csv {krls} >&-", 2, "standard output is closed"),
        ("run in.csv {krls} --predictions - >&-", 2, "standard output is closed"),
        ("run in.csv {krls} 2>&-", 0, ""),
        ("run nowhere.csv {krls} 2>&-", 2, ""),
        ("run nowhere.csv {krls} 2>/dev/full", 2, ""),
    ],
)
def test_closed_streams(folder: Any, line: str, code: int, said: str) -> None:
    result = shell(f"{COMMAND} {line.format(krls=KRLS)}")
    assert (result.returncode, said in result.stderr) == (code, True)
    assert result.stdout.startswith('{"rows": 30') == (code == 0)


def test_what_an_encoding_lacks_is_escaped_in_tables_and_an_error_in_data(folder: Any) -> None:
    assert shell(f"{COMMAND} run in.csv --target y --model krls --save m.skm").returncode == 0
    said = shell(f"{COMMAND} info m.skm", PYTHONIOENCODING="ascii")
    assert (said.returncode, "gr\\xf6\\xdfe" in said.stdout) == (0, True)
    for line in ("classify classes.csv --target y --save c.skm --predictions -", "predict c.skm classes.csv"):
        said = shell(f"{COMMAND} {line}", PYTHONIOENCODING="ascii")
        assert said.returncode == 2
        assert "PYTHONIOENCODING=utf-8" in said.stderr
        assert "\\x" not in said.stdout
    assert "röt" in shell(f"{COMMAND} {line}", PYTHONIOENCODING="utf-8").stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize(
    "line",
    [
        "mkfifo pipe; cat pipe > out.csv & {run} --predictions pipe || {{ code=$?; kill $!; exit $code; }}",
        "{run} --predictions >(cat > out.csv)",
    ],
)
def test_predictions_go_through_a_pipe(folder: Any, line: str) -> None:
    result = shell(line.format(run=f"{COMMAND} run in.csv {KRLS}"))
    assert result.returncode == 0, result.stderr
    out, deadline = folder / "out.csv", time.monotonic() + 30.0
    while not (out.exists() and out.read_text().count("\n") >= 31) and time.monotonic() < deadline:
        time.sleep(0.05)  # whoever reads the pipe may end after the run
    assert out.read_text().count("\n") == 31


def test_a_pipe_that_nobody_reads_is_left_by_a_signal(folder: Any) -> None:
    os.mkfifo("pipe")
    assert shell(f"timeout -k 9 10 {COMMAND} run in.csv {KRLS} --predictions pipe").returncode == 124


def test_standard_output_is_not_written_from_two_ends(folder: Any) -> None:
    for name, rest in (("/dev/stdout", "> out.csv"), ("out.csv", "> out.csv"), ("/dev/stdout", "| cat > out.csv")):
        said = shell(f"{COMMAND} run in.csv {KRLS} --predictions {name} {rest}").stderr
        assert f"--predictions {name} is standard output" in said
        assert (folder / "out.csv").read_text() == ""
    assert shell(f"{COMMAND} run in.csv {KRLS} --predictions /dev/null > /dev/null").returncode == 0
