"""Stored results say how they came to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import record

RESULTS = record.ROOT / "bench" / "results"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.csv")), ids=lambda path: path.stem)
def test_every_file_says_command_runs_version_and_date(path: Path) -> None:
    parts = record.made(path)
    assert parts
    for line in parts.values():
        command, *rest = line.split("; ")
        assert re.fullmatch(r"python -m bench\.\w+( .+)?", command)
        assert re.search(r"\b(runs?|rounds|seeds?|splits?)\b", rest[0])
        assert re.search(r"streamkernel \d+\.\d+\S* at .*\(\d{4}-\d\d-\d\d\)", line)
    assert record.read(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "some.csv"
    assert record.read(path) == [] and record.made(path) == {}
    made = record.provenance("python -m bench.some", "3 runs, seeds 0-2", ["river", "no-such-package"])
    assert made.startswith("python -m bench.some; 3 runs, seeds 0-2; streamkernel ")
    assert "river " in made and "no-such-package" not in made
    record.write(path, ["a", "b"], [[1.5, None], ["x, y", 0.1]], {"ours": made, "rivals": "others"})
    assert record.read(path) == [{"a": "1.5", "b": ""}, {"a": "x, y", "b": "0.1"}]
    assert record.made(path) == {"ours": made, "rivals": "others"}
    record.write(path, ["a"], [[1]], made)
    assert record.made(path) == {"all": made}
