"""Files that are continued, or cannot be: no rows, changed rows, other kinds of cells; the checkpoint stays right."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from streamkernel import cli
from streamkernel.checkpoint import loads

ROWS = "".join(f"{i % 7},{i % 7 * 2 + 1}\n" for i in range(100))
KRLS = ["--model", "krls", "--ridge", "0.05"]


@pytest.fixture
def folder(tmp_path: Any, monkeypatch: Any, capsys: Any) -> Any:
    """A table, a model that learned it, and its predictions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(f"x,y\n{ROWS}")
    assert run("t.csv", *KRLS, "--save", "m.skm", "--predictions", "p.csv") == 0
    capsys.readouterr()
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["run", *arguments, "--target", "y", "--json"])


@pytest.mark.parametrize(
    ("content", "said"), [("", "no rows"), ("\n", "no rows"), ("x,y\n", "no rows"), ("x,y\n1,2,3\n", "row 1: 3 cells")]
)
@pytest.mark.parametrize("model", [KRLS, []], ids=["krls", "auto"])
def test_a_run_without_a_row_replaces_nothing(
    folder: Any, capsys: Any, content: str, said: str, model: list[str]
) -> None:
    before = [(folder / name).read_bytes() for name in ("m.skm", "p.csv")]
    (folder / "e.csv").write_text(content)
    assert run("e.csv", *model, "--save", "m.skm", "--predictions", "p.csv") == 2
    assert said in capsys.readouterr().err
    assert [(folder / name).read_bytes() for name in ("m.skm", "p.csv")] == before
    assert run("e.csv", *model, "--save", "new.skm", "--predictions", "-") == 2
    assert capsys.readouterr().out == ""
    assert not (folder / "new.skm").exists()


@pytest.mark.parametrize("content", ["", "x,y\n"])
def test_a_file_that_was_emptied_is_still_known(folder: Any, capsys: Any, content: str) -> None:
    before = (folder / "m.skm").read_bytes()
    (folder / "t.csv").write_text(content)
    for predictions in ("p.csv", "q.csv"):
        assert run("t.csv", "--save", "m.skm", "--resume", "--predictions", predictions) == 2
        assert capsys.readouterr().err == "streamkernel: t.csv: no rows\n"
        assert (folder / "m.skm").read_bytes() == before
    (folder / "t.csv").write_text(f"x,y\n{ROWS}1,3\n")
    assert run("t.csv", "--save", "m.skm", "--resume", "--predictions", "p.csv") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 101


@pytest.mark.parametrize("content", ["", "\n", "x\n", "x\n1,2\n"])
def test_predictions_of_no_row_replace_nothing(folder: Any, capsys: Any, content: str) -> None:
    (folder / "e.csv").write_text(content)
    (folder / "out.csv").write_text("old")
    assert cli.main(["predict", "m.skm", "e.csv", "--predictions", "out.csv"]) == 2
    said = capsys.readouterr().err
    assert "no rows" in said or "row 1: 2 cells" in said
    assert (folder / "out.csv").read_text() == "old"


def test_predictions_take_the_place_of_longer_ones(folder: Any) -> None:
    (folder / "out.csv").write_text("old\n" * 1000)
    (folder / "new.csv").write_text("x\n1\n")
    assert cli.main(["predict", "m.skm", "new.csv", "--predictions", "out.csv"]) == 0
    assert [line[:2] for line in (folder / "out.csv").read_text().splitlines()] == ["ro", "1,"]
    assert run("t.csv", *KRLS, "--predictions", "out.csv") == 0
    assert (folder / "out.csv").read_bytes() == (folder / "p.csv").read_bytes()
    assert loads((folder / "m.skm").read_bytes()).rows == 100


@pytest.mark.parametrize("whole", [3, 70])
def test_a_last_line_that_was_read_half_is_an_error(folder: Any, capsys: Any, whole: int) -> None:
    """In a short file, too: its rows would be learned twice."""
    rows = "".join(f"{i},{i + 1}\n" for i in range(whole))
    (folder / "h.csv").write_text(f"x,y\n{rows}5,1")
    assert run("h.csv", *KRLS, "--save", "h.skm") == 0
    before = (folder / "h.skm").read_bytes()
    (folder / "h.csv").write_text(f"x,y\n{rows}5,19\n6,10\n")
    assert run("h.csv", "--save", "h.skm", "--resume") == 2
    assert "the rows up to there have changed since" in capsys.readouterr().err
    assert (folder / "h.skm").read_bytes() == before


def test_another_file_may_begin_like_the_one_before(folder: Any, capsys: Any) -> None:
    (folder / "other.csv").write_text("x,y\n0,1\n1,3\n5,5\n")
    assert run("other.csv", "--save", "m.skm", "--resume") == 0
    said = capsys.readouterr()
    assert "is another file than the one before" in said.err
    assert json.loads(said.out)["rows"] == 103


@pytest.fixture
def automatic(folder: Any, capsys: Any) -> Any:
    """A model that takes words, and has learned numbers."""
    assert run("t.csv", "--save", "a.skm") == 0
    capsys.readouterr()
    return folder


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--words", "x"], "--words x: the model has learned numbers there"),
        (["--words", "nothere"], "--words nothere: not among the features, which are x"),
        (["--features", "k"], "the model does not know the column 'k'; it was learned with x"),
    ],
)
def test_predictions_refuse_what_the_model_would_not_see(
    automatic: Any, capsys: Any, options: list[str], said: str
) -> None:
    (automatic / "new.csv").write_text("x,k\n1,2\n")
    assert cli.main(["predict", "a.skm", "new.csv", *options]) == 2
    printed = capsys.readouterr()
    assert said in printed.err and printed.out == ""
    assert cli.main(["predict", "a.skm", "new.csv", "--features", "x"]) == 0
    capsys.readouterr()
    assert cli.main(["predict", "m.skm", "new.csv", "--words", "x"]) == 2
    assert "KRLS takes no words" in capsys.readouterr().err


def test_numbers_that_were_learned_do_not_become_words(automatic: Any, capsys: Any) -> None:
    before = (automatic / "a.skm").read_bytes()
    (automatic / "t.csv").write_text(f"x,y\n{ROWS}red,3\n")
    assert run("t.csv", "--save", "a.skm", "--resume") == 2
    assert "if they are names, learn a new model with --words x" in capsys.readouterr().err
    assert run("t.csv", "--save", "a.skm", "--resume", "--words", "x") == 2
    assert "--words x: the model has learned numbers there; for words learn a new one" in capsys.readouterr().err
    assert (automatic / "a.skm").read_bytes() == before


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        ("a,b", "choose with --features a,b\n"),
        ('"a, b",c', "choose with --features '\"a, b\",c'\n"),
        (",x", "remove it"),
    ],
)
def test_advice_can_be_followed(folder: Any, capsys: Any, names: str, advice: str) -> None:
    (folder / "s.csv").write_text(f"{names},y\n1,2,3\n")
    (folder / "more.csv").write_text(f"{names},more,y\n1,2,3,4\n")
    assert run("s.csv", *KRLS, "--save", "s.skm") == 0
    assert run("more.csv", "--save", "s.skm", "--resume") == 2
    said = capsys.readouterr().err
    assert advice in said
    if "--features" in said:
        assert run("more.csv", "--save", "s.skm", "--resume", *shlex.split(said[said.index("--features") :])) == 0
