"""Tables as people have them: dialects, encodings, compression, damage. No cell ends up in another column."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import math
import re
import sys

import numpy as np
import pytest

from streamkernel import cli
from streamkernel.cli import options, tables
from streamkernel.cli.columns import BadCell, Columns, is_separated
from streamkernel.cli.output import CommandError
from streamkernel.cli.tables import BadRow, Table

ROWS = [(1.5, "Zürich", 2.0), (-0.25, "Genf", 3.5), (3.0, "a, b", 4.0), (1.0, 'the "best"', -1e-3)] * 6


def text(rows=ROWS, delimiter=",", names=("a", "place", "y"), end="\n"):
    quoted = [(a, '"' + place.replace('"', '""') + '"', y) for a, place, y in rows]
    lines = [delimiter.join(names), *(delimiter.join((repr(a), place, repr(y))) for a, place, y in quoted)]
    return end.join(lines) + end


def read(path, numbers_only=False, wanted=("y",), **options):
    """What the reader makes of a file: samples and targets, None for a row that is refused."""
    with contextlib.closing(Table(str(path), list(wanted), **options)) as table:
        features = [name for name in table.names if name != "y"]
        columns = Columns(table.names, "y", features, {}, numbers_only)
        found = []
        for _, row in table:
            try:
                found.append(columns.read(row))
            except BadCell:
                found.append(None)
        return found


EXPECTED = [({"a": a, "place": place}, y) for a, place, y in ROWS]

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_delimiter_and_encoding_are_found(tmp_path, delimiter, encoding):
    path = tmp_path / "table.csv"
    path.write_bytes(text(delimiter=delimiter, end="\r\n").encode(encoding))
    assert read(path) == EXPECTED
    assert read(path, delimiter=delimiter, encoding=encoding) == EXPECTED


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_compression_is_found(tmp_path, pack):
    path = tmp_path / "table.csv"  # by its bytes, not its name
    path.write_bytes(pack(text().encode("utf-16")))
    assert read(path) == EXPECTED
    path.write_bytes(pack(text(ROWS * 50).encode())[:-40])
    with pytest.raises(CommandError, match="cannot read"):
        read(path)


def test_zstd_is_read_where_pyarrow_is(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "table.csv.zst"
    with pyarrow.CompressedOutputStream(str(path), "zstd") as file:
        file.write(text().encode())
    assert read(path) == EXPECTED


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_parquet_and_arrow_are_read(tmp_path, kind, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table(dict(zip(("a", "place", "y"), map(list, zip(*ROWS, strict=True)), strict=True)))
    path = tmp_path / "table"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        new = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
        with pyarrow.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table)
    assert read(path) == EXPECTED
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    if kind == "stream":
        assert read("-") == EXPECTED
    else:
        with pytest.raises(CommandError, match="pipe"):
            read("-")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2 :] = b"\x00" * (len(damaged) - len(damaged) // 2)
    path.write_bytes(damaged)
    with contextlib.suppress(CommandError):
        read(path)


def test_spaces_around_names_and_cells(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(' a , "place" ,y \n 1.5 , "Basel" , 2 \n')
    with pytest.raises(CommandError, match="no column 'y'"):
        read(path, delimiter=";")
    path.write_text(' a , "place",y \n 1.5 , "Basel", 2 \n\n  \n')
    assert read(path) == [({"a": 1.5, "place": "Basel"}, 2.0), None]


def test_the_wanted_column_tells_the_delimiter(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("time, s;level, m;y\n1,5;2\n1;2;3\n")
    assert read(path) == [None, ({"time, s": 1.0, "level, m": 2.0}, 3.0)]
    path.write_text("a;b,c\n1;2,3\n")
    with pytest.raises(CommandError, match="say which with --delimiter"):
        read(path, wanted=())


@pytest.mark.parametrize("name", ["PAR1", "ARROW1", "BZh", "BZh9"])
def test_names_of_columns_are_no_magic_bytes(tmp_path, name):
    path = tmp_path / "table.csv"
    path.write_text(f"{name},y\n1,2\n")
    assert read(path) == [({name: 1.0}, 2.0)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,a,y\n1,2,3\n", "two columns have the name 'a'"),
        (b",,y\n1,2,3\n", "two columns have the name ''"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"SKM\x00rest", "checkpoint"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no column 'y'"),
        (b"y" * 100, "no column 'y'"),
        (b"\x1f\x8bnonsense", "cannot read"),
        (b"a,y\n" + b"1,2\n" * 30000 + b"\xfc,2\n", "another --encoding"),
    ],
)
def test_what_is_no_table_is_an_error(tmp_path, content, said):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=re.escape(said)):
        read(path)


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    from streamkernel.cli import opening

    monkeypatch.setattr(opening, "LONGEST_LINE", 1000)
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "1" * 5000)
    with pytest.raises(CommandError, match="longer than 1000 characters"):
        read(path)


def test_folders_and_unknown_encodings(tmp_path):
    with pytest.raises(CommandError, match="folder"):
        Table(str(tmp_path))
    (tmp_path / "t.csv").write_text("y\n1\n")
    with pytest.raises(CommandError, match="--encoding nonsense: unknown"):
        Table(str(tmp_path / "t.csv"), encoding="nonsense")


def test_what_a_column_holds_is_what_its_first_cell_holds(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("n,w,y\n,17,1\n1,A,2\nred,B,3\nNA,,4\n2,18,\n")
    with contextlib.closing(Table(str(path))) as table:
        columns = Columns(table.names, "y", ["n", "w"], {"w": "word"}, numbers_only=False)
        rows = [row for _, row in table]
    assert columns.read(rows[0]) == ({"n": None, "w": "17"}, 1.0)
    assert columns.read(rows[1]) == ({"n": 1.0, "w": "A"}, 2.0)
    with pytest.raises(BadCell, match="column 'n' is 'red', not a number; if they are names, give --words n"):
        columns.read(rows[2])
    assert columns.read(rows[3]) == ({"n": None, "w": None}, 4.0)
    assert columns.read(rows[4]) == ({"n": 2.0, "w": "18"}, None)
    assert columns.kinds == {"n": "number", "w": "word"}


def test_a_column_of_dates_takes_no_words(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("when,y\n2024-01-31T12:00,1\n,2\nyesterday,3\n2024-02-30,4\n2024-02-28,5\n")
    dates = [row if row is None else row[0]["when"] for row in read(path)]
    assert dates == ["2024-01-31T12:00", None, None, None, "2024-02-28"]
    assert [row is None for row in read(path)] == [False, False, True, True, False]


# Damage ---------------------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def records(data, delimiter):
    """A strict reading of a table, character by character: records, None for a line that begins none."""
    found, cells, cell, state = [], [], "", "start"
    position = begin = 0
    while position <= len(data):
        mark = data[position] if position < len(data) else None
        position += 1
        if (state == "quoted" and mark is None) or (
            state == "closed" and mark not in (None, "\r", "\n", '"', delimiter)
        ):
            found.append(None)
            position = line_end(data, begin)
            if position >= len(data):
                break
            begin, cells, cell, state = position, [], "", "start"
        elif state == "quoted":
            if mark == '"':
                state = "closed"
            else:
                cell += mark
        elif state == "closed" and mark == '"':
            cell, state = cell + '"', "quoted"
        elif mark is None or mark in "\r\n":
            if cells or cell or state != "start":
                found.append([*cells, cell])
            elif mark is not None:
                found.append([])
            if mark == "\r" and data[position : position + 1] == "\n":
                position += 1
            begin, cells, cell, state = position, [], "", "start"
        elif mark == delimiter:
            cells, cell, state = [*cells, cell], "", "next"
        elif state in ("start", "next") and mark == '"':
            state = "quoted"
        elif state in ("start", "next") and mark == " ":
            state = "next"
        else:
            cell, state = cell + mark, "plain"
    return found


def line_end(data, begin):
    """Where the line after the one that begins here begins."""
    return begin + re.match(r"[^\r\n]*(\r\n|\r|\n|$)", data[begin:]).end()


def strict_rows(data, delimiter):
    """Names and rows of numbers as the strict reading has them; None for a row that is not good."""
    found = [record for record in records(data, delimiter) if record is None or record]
    if not found or found[0] is None:
        return None, []
    names = [name.strip() for name in found[0]]
    rows = []
    for record in found[1:]:
        if record is None or len(record) != len(names):
            rows.append(None)
            continue
        values = [float(cell) if NUMBER.fullmatch(cell.strip()) else None for cell in record]
        good = all(value is not None and abs(value) <= 1e100 for value in values)
        rows.append(dict(zip(names, values, strict=True)) if good else None)
    return names, rows


def damaged(rng):
    """A table of numbers with some of its characters gone wrong, and its delimiter."""
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    count = int(rng.integers(1, 12))
    lines = [delimiter.join(["a", "b", "y"])]
    for _ in range(count):
        cells = [f"{value:.4g}" for value in rng.normal(size=3) * 10.0 ** rng.integers(-3, 4)]
        lines.append(delimiter.join(f'"{cell}"' if rng.random() < 0.1 else cell for cell in cells))
    data = "\n".join(lines) + "\n" * int(rng.integers(0, 2))
    pieces = [
        '"',
        '""',
        "\n",
        "\r",
        "\r\n",
        "\x00",
        " ",
        "ü",
        "_",
        "e",
        "-",
        "1",
        ",",
        ";",
        "\t",
        "|",
        "\ufeff",
        "٣",
        "'",
    ]
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(0, 4))
        kind = rng.integers(0, 4)
        if kind == 0:
            data = data[:at] + data[at + length :]
        elif kind == 1:
            data = data[:at] + str(rng.choice(pieces)) + data[at:]
        elif kind == 2:
            data = data[:at] + str(rng.choice(pieces)) + data[at + length :]
        else:
            data = data[:at] + data[at // 2 : at] + data[at:]
    return data, delimiter


def test_no_damage_puts_a_number_into_another_column(tmp_path):
    rng = np.random.default_rng(20240611)
    path = tmp_path / "damaged.csv"
    outcomes = {"refused": 0, "rows": 0, "bad rows": 0}
    for case in range(2000):
        data, delimiter = damaged(rng)
        encoding = str(rng.choice(["utf-8", "utf-8", "utf-16"]))
        path.write_bytes(data.encode(encoding))
        try:
            found = read(path, numbers_only=True, wanted=("a", "b", "y"))
        except CommandError:
            outcomes["refused"] += 1
            continue
        names, rows = strict_rows(data.removeprefix("\ufeff") if encoding == "utf-8" else data, delimiter)
        assert names is not None and {"a", "b", "y"} <= set(names), (case, data)
        assert len(found) == len(rows), (case, data, found, rows)
        for got, expected in zip(found, rows, strict=True):
            outcomes["rows" if got else "bad rows"] += 1
            if got is None or got[1] is None:  # refused, or without a target
                assert expected is None, (case, data, got, expected)
            else:
                assert got[0] | {"y": got[1]} == expected, (case, data, got, expected)
    assert min(outcomes.values()) > 150, outcomes


@pytest.mark.parametrize("closed_in", [None, 9, 40])
def test_a_quote_that_is_not_closed_takes_no_other_row_along(tmp_path, closed_in):
    rows = [f"{i}.5,red,{2 * i}" for i in range(50)]
    rows[5] = rows[5].replace("red", '"red')
    if closed_in is not None:
        rows[closed_in] = rows[closed_in].replace("red", '"red"')
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,word,y", *rows]))
    found = list(Table(str(path)))
    assert len(found) == 50
    assert [i for i, (_, row) in enumerate(found) if isinstance(row, BadRow)] == [5]
    assert found[5][1].message.startswith("a quote in line 7 of the file is not closed, or closed too early: ")

    marks = [mark for mark, _ in found]
    assert len(set(marks)) == 50  # a session goes on from any of them


def test_a_quote_too_many_in_every_line_is_looked_for_in_few(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_LINES", 20)
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,y", *['1","2","3'] * 300]))
    table = Table(str(path))
    rows = 0
    for _, row in table:
        rows += isinstance(row, BadRow)
        assert len(table._lines._again) + len(table._lines._row) <= 20
    assert rows == 300


def test_damaged_files_through_the_command(tmp_path, capsys):
    rng = np.random.default_rng(7)
    path, predictions = tmp_path / "damaged.csv", tmp_path / "p.csv"
    codes = set()
    for _ in range(100):
        data = bytearray(damaged(rng)[0].encode())
        for _ in range(int(rng.integers(0, 4))):
            data[int(rng.integers(0, len(data)))] = int(rng.integers(0, 256))
        path.write_bytes(data)
        options = ["--target", "y", "--model", "krls", "--ridge", "0.1", "--predictions", str(predictions), "--json"]
        code = cli.main(["run", str(path), *options, "--on-error", str(rng.choice(["stop", "skip"]))])
        printed = capsys.readouterr()
        codes.add(code)
        if code == 0:
            result = json.loads(printed.out)
            assert result["rows"] == result["learned"] + result["skipped"] + result["without_target"]
            assert len(predictions.read_text().splitlines()) == 1 + result["rows"] - result["skipped"]
        else:
            assert code == 2
            assert printed.err.splitlines()[-1].startswith("streamkernel: ")
    assert codes == {0, 2}


@pytest.mark.parametrize("cell", ["nan", "inf", "1e160", ""])
def test_one_bad_cell_spoils_nothing(tmp_path, capsys, cell):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    lines = [f"{a:.5f},{b:.5f},{math.sin(2 * a) + b:.5f}" for a, b in X]
    clean, bad = tmp_path / "clean.csv", tmp_path / "bad.csv"
    clean.write_text("\n".join(["a,b,y", *lines]) + "\n")
    bad.write_text("\n".join(["a,b,y", *lines[:50], f"{cell},1,2", *lines[50:]]) + "\n")
    options = ["--target", "y", "--model", "krls", "--ridge", "0.01", "--json"]
    assert cli.main(["run", str(clean), *options]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert cli.main(["run", str(bad), *options]) == 2
    assert "row 51: column 'a'" in capsys.readouterr().err
    assert cli.main(["run", str(bad), *options, "--on-error", "skip"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert (result["rmse"], result["skipped"], result["learned"]) == (expected["rmse"], 1, 300)
    assert "row 51: skipped" in printed.err


@pytest.mark.parametrize(
    ("cell", "point"), [("1,5", "."), ("1,234", "."), ("1,234.5", "."), ("12 345", "."), ("1.5", ","), ("1.234,5", ",")]
)
def test_numbers_with_other_separators_are_no_words(tmp_path, capsys, cell, point):
    """Neither in the first cell of a feature nor in the first target."""
    path = tmp_path / "t.csv"
    for header in ("a;y", "y;a"):
        path.write_text(f"{header}\n" + f"{cell};7\n" * 20)
        assert cli.main(["run", str(path), "--target", "y", "--decimal", point]) == 2
        said = capsys.readouterr().err
        assert f"is {cell!r}" in said and "--decimal" in said and "thousands must not be separated" in said
    path.write_text("a;y\n" + f"{cell};7\n" * 20)
    assert cli.main(["run", str(path), "--target", "y", "--decimal", point, "--words", "a", "--json"]) == 0


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (",", "there is none"),
        ("", "'': there is none"),  # a variable of the shell that is not set
        (" ", "there is none"),
        ("a,,b", "one is empty"),
        ("a,b,", "one is empty"),
        ("a,b,a", "'a' is there twice"),
        ("a\nb", "a\\nb"),
    ],
)
def test_lists_of_names_without_sense_are_errors(tmp_path, capsys, names, said):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,3\n")
    for option in ("--features", "--words"):
        assert cli.main(["run", str(path), "--target", "y", option, names]) == 2
        assert said in capsys.readouterr().err


def test_names_of_columns_are_given_as_a_csv_file_has_them_and_advised_as_a_shell_takes_them() -> None:
    assert options.column_names(' a, "b, c" ,d') == ["a", "b, c", "d"]
    assert options.column_names(None) is None
    columns = Columns(["two words", "y"], "y", ["two words"], {}, numbers_only=False)
    columns.read(["1", "2"])
    with pytest.raises(BadCell, match=r"give --words 'two words'$"):
        columns.read(["red", "2"])


@pytest.mark.parametrize("cell", ["5.1%", "5 %", "\u22125", "€5", "-$1,000.5", "5 €"])
def test_numbers_with_signs_are_no_words(tmp_path, capsys, cell):
    path = tmp_path / "t.csv"
    for header in ("a;y", "y;a"):
        path.write_text(f"{header}\n" + f"{cell};7\n" * 20)
        assert cli.main(["run", str(path), "--target", "y"]) == 2
        assert "numbers have no percent or currency sign, and an ordinary minus (-)" in capsys.readouterr().err
    assert not [word for word in ("%", "€", "5$5", "--5", "0x1A", "\u2212", "5%-6%") if is_separated(word, ".")]


def test_numbers_after_a_first_word_are_said_once(capsys):
    def said(cells, kinds=()):
        columns = Columns(["x", "y"], "y", ["x"], dict(kinds), numbers_only=False)
        for cell in cells:
            columns.read([cell, "1"])
        return capsys.readouterr().err

    numbers = [str(i) for i in range(60)]
    told = said(["?", "", *numbers])
    assert told.count("column 'x' is taken for words, as it begins with '?', but 19 of its first 20 cells are") == 1
    assert "--words x" in told
    assert said(["?", *numbers], {"x": "word"}) == said(["red", "4", "blue"] * 20) == said(numbers) == ""


def test_a_target_that_turns_out_to_be_a_word_names_the_command_for_classes(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,\n" * 100 + "2,red\n")
    assert cli.main(["run", str(path), "--target", "y"]) == 2
    assert "is 'red', not a number; for classes use 'streamkernel classify'" in capsys.readouterr().err
