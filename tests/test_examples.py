"""Every example runs in its quick form and says something."""

from __future__ import annotations

import pathlib
import runpy
import sys
from typing import Any

import pytest
from reference import JIT

EXAMPLES = sorted((pathlib.Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {
    "flkl_figure1_surface": ("ripley.csv",),
    "krls_figure4_laser": ("santafe.csv",),
    "krls_table3_real_data": ("boston.csv", "cpu-small.csv"),
}
PLOTS = ("equalizer_error_rates", "kafbox_channel_switch", "krls_figure4_laser", "krls_table4_mackey_glass")

pytestmark = pytest.mark.skipif(not JIT, reason="too slow without numba")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: pathlib.Path, data: Any, monkeypatch: Any, capsys: Any, tmp_path: pathlib.Path) -> None:
    for name in NEEDS.get(path.stem, ()):
        data(name)
    plot = tmp_path / "plot.png"
    arguments = ["--plot", str(plot)] if path.stem in PLOTS else []
    if arguments:
        import matplotlib

        matplotlib.use("Agg")
    monkeypatch.setattr(sys, "argv", [str(path), "--quick", *arguments])
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 2
    assert plot.exists() == bool(arguments)
    if arguments:
        from matplotlib import pyplot

        pyplot.close("all")
