"""The check of stored results: what agrees passes, what was changed is named."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from reference import JIT

from bench import check, record

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_stored_rows_agree_and_a_changed_one_is_named(tmp_path: Path, capsys: Any) -> None:
    assert check.main(["--only", "krls", "--json"]) == 0
    assert not any(row["stale"] for row in json.loads(capsys.readouterr().out))
    copy = shutil.copy(record.ROOT / "bench" / "results" / "krls.csv", tmp_path)
    rows = record.read(copy)
    changed = [row | {"ours": "0.2"} if row["quantity"] == "Friedman-3 RMSE" else row for row in rows]
    record.write(copy, list(rows[0]), [list(row.values()) for row in changed], record.made(copy))
    assert check.main(["--only", "krls", "--results", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert "Friedman-3 RMSE" in text and "5 of 6 rows agree" in text


@pytest.mark.parametrize(
    ("now", "stale"), [(1.0, False), (1.1, False), (1.11, True), (math.nan, True), (math.inf, True)]
)
def test_noise(now: float, stale: bool) -> None:
    assert check.Row("file", "row", "RMSE", 1.0, now, 0.1 + 1e-12).stale is stale


def test_every_stored_file_is_checked_or_says_why_not() -> None:
    stored = {path.stem for path in (record.ROOT / "bench" / "results").glob("*.csv")}
    assert stored == {*check.CHECKS, *check.UNCHECKED} and not set(check.CHECKS) & set(check.UNCHECKED)
    for name in stored:
        lines = record.made(record.ROOT / "bench" / "results" / f"{name}.csv").values()
        assert lines and all("python -m bench." in line and "streamkernel" in line for line in lines), name
