"""What a run leaves behind: checkpoints and predictions that agree, whatever ended it; files that stay as they were."""

from __future__ import annotations

import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import streamkernel
from streamkernel import cli
from streamkernel.checkpoint import loads
from streamkernel.cli import following, writing

KRLS = ["--model", "krls", "--ridge", "0.05", "--kernel", "RBF(1.0)"]


def table(count, seed=0, header="a,b,y"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=count)
    lines = [f"{a:.6f},{b:.6f},{t:.6f}" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join([header, *lines]) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day1.csv").write_text(table(150, 1))
    (tmp_path / "day2.csv").write_text("".join(table(120, 2).splitlines(keepends=True)[:91]))
    return tmp_path


def run(capsys, *arguments, code=0):
    """The result of a run, or what it said."""
    assert cli.main(["run", *map(str, arguments), "--target", "y", "--json"]) == code
    printed = capsys.readouterr()
    return json.loads(printed.out) if code == 0 else printed.err


# Which rows are new ---------------------------------------------------------------------------------------------------


def test_another_file_is_learned_whole_and_the_same_one_continued(folder, capsys):
    both = folder / "both.csv"
    both.write_text((folder / "day1.csv").read_text() + (folder / "day2.csv").read_text().partition("\n")[2])
    expected = run(capsys, "both.csv", *KRLS)
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    second = run(capsys, "day2.csv", "--save", "m.skm", "--resume")
    assert (second["resumed_at"], second["rows"]) == (150, 240)
    assert second["rmse"] == expected["rmse"]
    (folder / "day2.csv").write_text(table(120, 2))  # it has grown
    third = run(capsys, "day2.csv", "--save", "m.skm", "--resume")
    assert (third["resumed_at"], third["rows"]) == (240, 270)
    assert run(capsys, "day2.csv", "--save", "m.skm", "--resume")["rows"] == 270
    assert run(capsys, "day2.csv", "--save", "m.skm", "--resume", "--again")["rows"] == 390


def test_a_last_line_without_end_is_continued(folder, capsys):
    lines = (folder / "day1.csv").read_text().splitlines()
    (folder / "day1.csv").write_text("\n".join(lines[:100]))
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    (folder / "day1.csv").write_bytes("\r\n".join(lines).encode())
    assert run(capsys, "day1.csv", "--save", "m.skm", "--resume")["rows"] == 150


def test_a_file_that_changed_or_was_cut_is_an_error(folder, capsys):
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    lines = (folder / "day1.csv").read_text().splitlines()
    for kept in (30, 120):
        (folder / "day1.csv").write_text("\n".join(lines[: kept + 1]) + "\n")
        said = run(capsys, "day1.csv", "--save", "m.skm", "--resume", code=2)
        assert "150 rows were learned" in said and "--again" in said
    lines[100] = "0,0,0"
    (folder / "day1.csv").write_text("\n".join(lines) + "\n")
    assert "have changed since" in run(capsys, "day1.csv", "--save", "m.skm", "--resume", code=2)
    assert loads((folder / "m.skm").read_bytes()).rows == 150


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--features", "a"], "--features a,b, not a"),
        (["--model", "auto"], "KRLS, not --model auto"),
        (["--model", "krr"], "KRLS, not --model krr"),
        (["--ridge", "0.1"], "--ridge 0.05, not 0.1"),
        (["--kernel", "RBF(2.0)"], "--kernel RBF(1.0), not RBF(2.0)"),
        (["--no-scale"], "scaled features"),
    ],
)
def test_another_model_is_an_error_that_says_what_differs(folder, capsys, options, said):
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    before = (folder / "m.skm").read_bytes()
    assert said in run(capsys, "day2.csv", "--save", "m.skm", "--resume", *options, code=2)
    assert cli.main(["run", "day2.csv", "--target", "a", "--save", "m.skm", "--resume"]) == 2
    assert "--target y, not a" in capsys.readouterr().err
    assert cli.main(["classify", "day2.csv", "--target", "y", "--save", "m.skm", "--resume"]) == 2
    assert "not a classifier" in capsys.readouterr().err
    assert (folder / "m.skm").read_bytes() == before


def test_other_columns_are_an_error(folder, capsys):
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    (folder / "less.csv").write_text("a,y\n1,2\n")
    (folder / "more.csv").write_text("a,b,c,y\n1,2,3,4\n")
    assert "no column 'b'" in run(capsys, "less.csv", "--save", "m.skm", "--resume", code=2)
    assert "does not know the column 'c'" in run(capsys, "more.csv", "--save", "m.skm", "--resume", code=2)
    assert run(capsys, "more.csv", "--save", "m.skm", "--resume", "--features", "b,a")["rows"] == 151


def test_a_bad_target_that_is_mended_leaves_no_trace(folder, capsys):
    expected = run(capsys, "day1.csv", *KRLS, "--save", "whole.skm")
    lines = (folder / "day1.csv").read_text().splitlines()
    good, lines[100] = lines[100], lines[100].rpartition(",")[0] + ",1e200"
    (folder / "day1.csv").write_text("\n".join(lines) + "\n")
    assert "row 100" in run(capsys, "day1.csv", *KRLS, "--save", "m.skm", code=2)
    lines[100] = good
    (folder / "day1.csv").write_text("\n".join(lines) + "\n")
    result = run(capsys, "day1.csv", "--save", "m.skm", "--resume")
    assert (result["resumed_at"], result["rmse"]) == (99, expected["rmse"])
    assert (folder / "m.skm").read_bytes() == (folder / "whole.skm").read_bytes()


def test_a_checkpoint_of_an_earlier_release_does_not_skip_rows(folder, capsys):
    fixture = os.path.join(os.path.dirname(__file__), "fixtures", "v1", "session.skm")
    with open(fixture, "rb") as file:
        (folder / "old.skm").write_bytes(file.read())
    assert "--again" in run(capsys, "day1.csv", "--save", "old.skm", "--resume", code=2)


# What ends a run ------------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process ends here."""


def crash_at(monkeypatch, place):
    """Let the place-th operation on the disk be the last one."""
    count = 0
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def counted(*arguments, real=real):
            nonlocal count
            count += 1
            if count == place:
                raise Crash
            return real(*arguments)

        monkeypatch.setattr(os, name, counted)


@pytest.mark.parametrize(("options", "places"), [(KRLS, range(1, 25)), ([], range(1, 25, 6))], ids=["krls", "auto"])
def test_predictions_and_checkpoint_agree_after_a_crash_anywhere(folder, capsys, options, places):
    every = ["--checkpoint-every", "20", "--resume"]
    run(capsys, "day1.csv", *options, *every, "--predictions", "whole.csv", "--save", "whole.skm")
    for place in places:
        for name in ("p.csv", "m.skm"):
            (folder / name).unlink(missing_ok=True)
        arguments = ["run", "day1.csv", "--target", "y", *options, *every, "--predictions", "p.csv", "--save", "m.skm"]
        crashes = 0
        while True:
            with pytest.MonkeyPatch.context() as patch:
                if crashes < 2:
                    crash_at(patch, place)
                try:
                    assert cli.main(arguments) == 0
                    break
                except Crash:
                    crashes += 1
        assert crashes
        assert (folder / "p.csv").read_bytes() == (folder / "whole.csv").read_bytes(), place
        assert (folder / "m.skm").read_bytes() == (folder / "whole.skm").read_bytes(), place
    capsys.readouterr()


def start(*options):
    command = [sys.executable, "-m", "streamkernel", "run", *map(str, options), "--target", "y"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # Under `nohup` a child would inherit that SIGHUP is ignored.
    return subprocess.Popen(
        command, **pipes, text=True, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)
    )


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not get there"
        time.sleep(0.02)


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
def test_a_feed_that_is_asked_to_end_saves_at_once(folder, capsys, kind):
    """Also while it waits for a row that may never come; every prediction is there as soon as its row."""
    run(capsys, "day1.csv", *KRLS, "--predictions", "whole.csv", "--save", "whole.skm")
    lines = (folder / "day1.csv").read_text().splitlines(keepends=True)
    with start("-", *KRLS, "--predictions", "-", "--save", "m.skm") as process:
        process.stdin.write(lines[0] + lines[1])
        process.stdin.flush()
        assert process.stdout.readline() == "row,target,prediction,lower,upper\n"
        predictions = [process.stdout.readline()]
        for line in lines[2:61]:
            process.stdin.write(line)
            process.stdin.flush()
            predictions.append(process.stdout.readline())
        process.send_signal(kind)
        assert process.wait(timeout=60) == 128 + kind
        said = process.stderr.read()
        assert "interrupted after row 60; continue with --save m.skm --resume" in said
    assert "".join(predictions) == "".join((folder / "whole.csv").read_text().splitlines(keepends=True)[1:61])
    assert run(capsys, "day1.csv", "--save", "m.skm", "--resume")["resumed_at"] == 60


def test_a_reader_that_goes_away_is_quiet(folder):
    (folder / "big.csv").write_text(table(3000))
    with start("big.csv", *KRLS, "--predictions", "-", "--save", "m.skm") as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""
        process.stdin.close()
    assert 0 < loads((folder / "m.skm").read_bytes()).rows < 3000


def test_interruptions_as_a_bench():
    from bench import interruptions

    assert interruptions.trial(interruptions.PLAIN, 4000, [signal.SIGKILL, signal.SIGINT], seed=0) >= 1


# Files that cannot be written -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--predictions", "--save", "--plot"])
@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_no_output_destroys_an_input(folder, capsys, option, link):
    before = (folder / "day1.csv").read_bytes()
    name = "day1.csv"
    if link:
        name = "link.png"
        link("day1.csv", name)
    assert f"{option} {name} would overwrite the input" in run(capsys, "day1.csv", option, name, code=2)
    assert (folder / "day1.csv").read_bytes() == before


def test_outputs_differ(folder, capsys):
    assert "--save out would overwrite --predictions out" in run(
        capsys, "day1.csv", "--predictions", "out", "--save", "out", code=2
    )
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm")
    assert cli.main(["predict", "m.skm", "day1.csv", "--predictions", "m.skm"]) == 2
    assert "would overwrite MODEL" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--predictions", "--save", "--plot"])
@pytest.mark.parametrize("name", ["nowhere/file.png", "."])
def test_what_cannot_be_written_is_found_at_the_start(folder, capsys, monkeypatch, option, name):
    monkeypatch.setattr(following.Following, "run", lambda self: pytest.fail("rows were read"))
    assert f"cannot write {name}" in run(capsys, "day1.csv", option, name, code=2)


def test_plots_that_cannot_be_made_and_devices(folder, capsys):
    assert "plots end with" in run(capsys, "day1.csv", "--plot", "plot.xyz", code=2)
    os.mkfifo("pipe")  # not a device of this machine, which a failure would replace
    assert "not a regular file" in run(capsys, "day1.csv", "--save", "pipe", code=2)
    os.remove("pipe")
    assert run(capsys, "day1.csv", *KRLS, "--predictions", os.devnull)["rows"] == 150
    assert sorted(os.listdir(folder)) == ["day1.csv", "day2.csv"]


@pytest.mark.parametrize("fails_at", [3, 40, 151])
def test_a_full_disk_loses_nothing(folder, capsys, monkeypatch, fails_at):
    run(capsys, "day1.csv", *KRLS, "--predictions", "whole.csv", "--save", "whole.skm")
    monkeypatch.setattr(writing, "PENDING", 0)
    real, count = writing.PredictionLog.flush, 0

    def full(self, to_disk=False):
        nonlocal count
        count += 1
        if count == fails_at:
            self._file.write(b"a part of a li")
            self._file.truncate(self.bytes)  # as `flush` itself does
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, to_disk)

    monkeypatch.setattr(writing.PredictionLog, "flush", full)
    said = run(capsys, "day1.csv", *KRLS, "--predictions", "p.csv", "--save", "m.skm", code=2)
    assert "cannot write p.csv: No space left on device" in said and "--resume" in said
    monkeypatch.undo()
    os.chdir(folder)
    run(capsys, "day1.csv", "--predictions", "p.csv", "--save", "m.skm", "--resume")
    assert (folder / "p.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert (folder / "m.skm").read_bytes() == (folder / "whole.skm").read_bytes()


@pytest.mark.parametrize("left", [0, 10])
def test_predictions_that_wait_go_to_whatever_file_comes_next(folder, capsys, monkeypatch, left):
    """The disk was full from the start, or the file was moved away to make room."""
    run(capsys, "day1.csv", *KRLS, "--predictions", "whole.csv")
    real = writing.PredictionLog.flush
    monkeypatch.setattr(writing, "PENDING", 0)

    def full(self, to_disk=False):
        if "".join(self._pending).startswith(f"{left}," if left else "row"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, to_disk)

    monkeypatch.setattr(writing.PredictionLog, "flush", full)
    if not left:  # lines wait for a while
        monkeypatch.setattr(writing, "PENDING", 1000)
    assert "--resume" in run(capsys, "day1.csv", *KRLS, "--predictions", "p.csv", "--save", "m.skm", code=2)
    monkeypatch.undo()
    os.chdir(folder)
    lines = (folder / "whole.csv").read_text().splitlines(keepends=True)
    assert (folder / "p.csv").read_text() == "".join(lines[:left])
    run(capsys, "day1.csv", "--save", "m.skm", "--resume", "--predictions", "q.csv")
    assert (folder / "q.csv").read_text() == lines[0] + "".join(lines[max(left, 1) :])


def test_another_file_is_not_mixed_with_predictions_that_wait(folder, capsys, monkeypatch):
    """The disk was full from the start, so that no byte tells the file."""
    run(capsys, "day1.csv", *KRLS, "--predictions", "whole.csv")
    whole = (folder / "whole.csv").read_bytes()

    def full(self, to_disk=False):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(writing.PredictionLog, "flush", full)
        run(capsys, "day1.csv", *KRLS, "--predictions", "p.csv", "--save", "m.skm", code=2)
    checkpoint = (folder / "m.skm").read_bytes()
    again = ["day1.csv", "--save", "m.skm", "--resume", "--predictions", "q.csv"]
    for other in (b"my notes\n" * 400, b"my notes\n", whole + b"my notes\n"):
        (folder / "q.csv").write_bytes(other)
        said = run(capsys, *again, code=2)
        assert "q.csv is not the file of the predictions before: remove it, or give another name" in said
        assert (folder / "q.csv").read_bytes() == other
        assert (folder / "m.skm").read_bytes() == checkpoint
    for begun in (b"", whole[:100], whole):  # the last ones by a run that ended before its checkpoint was there
        (folder / "q.csv").write_bytes(begun)
        (folder / "m.skm").write_bytes(checkpoint)
        run(capsys, *again)
        assert (folder / "q.csv").read_bytes() == whole


def test_a_limit_of_the_file_s_size(folder, capsys):
    """The system's own error, in a process of its own."""
    run(capsys, "day1.csv", *KRLS, "--predictions", "whole.csv")
    code = f"""
import resource, sys
from streamkernel import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
sys.exit(cli.main(["run", "-", "--target", "y", *{KRLS!r}, "--predictions", "p.csv", "--save", "m.skm"]))
"""
    (folder / "big.csv").write_text(table(3000, 1))
    with open("big.csv") as file:
        result = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "cannot write p.csv: File too large" in result.stderr and "Traceback" not in result.stderr
    lines = (folder / "p.csv").read_text().splitlines()
    session = loads((folder / "m.skm").read_bytes())
    assert (folder / "p.csv").stat().st_size == session.facts["log"]["bytes"] <= 150_000
    assert len(lines) + session.facts["log"]["pending"].count("\n") == session.rows + 1


def test_a_checkpoint_through_a_link_keeps_the_link(folder, capsys):
    (folder / "models").mkdir()
    os.symlink("models/m.skm", "latest.skm")
    run(capsys, "day1.csv", *KRLS, "--save", "latest.skm")
    assert os.path.islink("latest.skm")
    assert os.listdir("models") == ["m.skm"]
    assert streamkernel.load("models/m.skm")


def test_a_second_run_on_a_checkpoint_is_refused_at_the_start(folder, capsys):
    with start("-", *KRLS, "--save", "m.skm") as process:
        process.stdin.write("a,b,y\n1,2,3\n")
        process.stdin.flush()
        wait_for((folder / "m.skm.lock").exists)
        os.symlink("m.skm", "link.skm")
        for name in ("m.skm", "link.skm"):
            said = run(capsys, "day1.csv", "--save", name, "--resume", "--predictions", "p.csv", code=2)
            assert "in use by another run" in said
        assert not (folder / "p.csv").exists()
        process.kill()
        process.wait()
        process.stdin.close()
    assert run(capsys, "day1.csv", *KRLS, "--save", "m.skm", "--resume")["rows"] == 150  # a kill leaves no lock
    assert not (folder / "m.skm.lock").exists()


def test_predictions_of_another_run_are_not_overwritten_by_a_resumed_one(folder, capsys):
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm", "--predictions", "p.csv")
    (folder / "q.csv").write_text("my notes\n")
    assert "not the file of the predictions before" in run(
        capsys, "day2.csv", "--save", "m.skm", "--resume", "--predictions", "q.csv", code=2
    )
    run(capsys, "day2.csv", "--save", "m.skm", "--resume", "--predictions", "p.csv")
    lines = (folder / "p.csv").read_text().splitlines()
    assert len(lines) == 241
    assert [line.split(",")[0] for line in lines[1:]] == [str(row) for row in range(1, 241)]


def test_a_run_without_predictions_leaves_those_before_alone(folder, capsys):
    options = ["--save", "m.skm", "--resume"]
    run(capsys, "day1.csv", *KRLS, *options, "--predictions", "p.csv")
    run(capsys, "day2.csv", *options)
    (folder / "day3.csv").write_text(table(10, 3))
    run(capsys, "day3.csv", *options, "--predictions", "p.csv")
    rows = [line.split(",")[0] for line in (folder / "p.csv").read_text().splitlines()[1:]]
    assert rows == [str(row) for row in [*range(1, 151), *range(241, 251)]]


def test_a_new_file_of_predictions_is_known_from_its_first_line(folder, capsys, monkeypatch):
    run(capsys, "day1.csv", *KRLS, "--save", "m.skm", "--predictions", "p.csv")
    monkeypatch.setattr(writing, "PENDING", 0)
    monkeypatch.setattr(following.Following, "_take", lambda *_: os._exit(9))
    if (child := os.fork()) == 0:  # a crash at the first row
        cli.main(["run", "day2.csv", "--target", "y", "--save", "m.skm", "--resume", "--predictions", "q.csv"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    os.chdir(folder)
    run(capsys, "day2.csv", "--save", "m.skm", "--resume", "--predictions", "q.csv")
    assert (folder / "q.csv").read_text().count("\n") == 91


def test_a_file_that_is_called_like_a_lock_stays(folder, capsys):
    for name, said in (("m.skm.lock", "is not a lock of a run"), ("day1.csv", "")):
        os.rename("day1.csv", "m.skm.lock") if said else os.rename("m.skm.lock", "day1.csv")
        before = (folder / name).read_bytes()
        assert said in str(run(capsys, name, *KRLS, "--save", "m.skm", code=2 if said else 0))
        assert (folder / name).read_bytes() == before
    said = run(capsys, "day1.csv", *KRLS, "--save", "m.skm", "--predictions", "m.skm.lock", code=2)
    assert "would overwrite the lock of --save" in said


@pytest.mark.parametrize("place", ["os.path.exists", "fcntl.flock"])
def test_a_lock_that_the_other_run_removes_in_between(folder, capsys, monkeypatch, place):
    (folder / "m.skm.lock").touch()
    owner, _, name = place.rpartition(".")
    owner = importlib.import_module(owner)
    real = getattr(owner, name)

    def removed(what, *rest):
        result = real(what, *rest)
        if name == "flock" or str(what).endswith(".lock"):
            monkeypatch.undo()
            os.chdir(folder)
            (folder / "m.skm.lock").unlink()
        return result

    monkeypatch.setattr(owner, name, removed)
    assert run(capsys, "day1.csv", *KRLS, "--save", "m.skm")["rows"] == 150
    assert not (folder / "m.skm.lock").exists()


def test_plots_are_where_they_were_asked_for(folder, capsys):
    for name in ("./plot", "-"):
        assert run(capsys, "day1.csv", *KRLS, "--plot", name)["plot"] == name
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert not os.path.exists("plot.png")


def test_signals_are_left_alone_in_threads(folder, capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(cli.main(["run", "day1.csv", "--target", "y", *KRLS])))
    thread.start()
    thread.join()
    assert codes == [0]
