"""The bench of the automatic regressor runs."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from bench import auto


@pytest.mark.parametrize("options", [[], ["--spikes"]])
def test_quick(options: list[str], tmp_path: pathlib.Path, capsys: Any) -> None:
    assert auto.main([*options, "--quick", "--budget", "low", "--json", "--out", str(tmp_path)]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert lines and len(list(tmp_path.glob("auto*.csv"))) == 1
    if options:
        assert lines[0]["10^1"] < 1.5
    else:
        assert [line["clock"] for line in lines] == ["processor", "wall"]
        assert lines[0]["p50 µs"] <= lines[0]["p99 µs"] <= lines[0]["worst µs"]


def test_rows_are_of_mixed_kinds() -> None:
    rows = auto.mixed(400)
    assert all(len(x) == 11 for x, _ in rows)
    kinds = {type(value) for x, _ in rows for value in x.values()}
    assert kinds == {float, int, str, bool, type(None)}
