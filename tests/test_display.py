"""How models look in a notebook."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from river import preprocessing

import streamkernel
from streamkernel import KRLS, AdaptiveConformal, AutoKernelRegressor, datasets, filters, kernels

MODELS = [
    getattr(streamkernel, name)
    for name in ("KRLS", "KRR", "KAAR", "IKAAR", "CKAAR", "HeteroscedasticKRLS", "LSSVMClassifier", "KernelMixture")
]


def shown(model: Any) -> ElementTree.Element:
    return ElementTree.fromstring(model._repr_html_())


@pytest.mark.parametrize("model", [*(kind() for kind in MODELS), filters.KLMS(), AutoKernelRegressor()], ids=repr)
def test_every_parameter_is_there(model: Any) -> None:
    names = {cell.text for cell in shown(model).iter("th")}
    assert set(model._get_params()) <= names
    assert shown(model).find("b").text == type(model).__name__  # type: ignore[union-attr]


def test_numbers_are_the_models_own() -> None:
    model = KRLS(kernels.RBF(4.4) + kernels.Constant(1.0), ridge=0.1)
    for x, y in datasets.SincLinear(seed=1).take(200):
        model.learn_one(x, y)
    rows = {row.find("th").text: row.find("td").text for row in shown(model).iter("tr")}  # type: ignore[union-attr]
    assert rows["points in the dictionary"] == str(model.size) and rows["features"] == "0, 1"
    assert rows["kernel"] == "RBF(4.4) + Constant(1.0)"


@pytest.mark.parametrize("model", [AutoKernelRegressor("low"), AdaptiveConformal(KRLS(ridge=0.1))])
def test_recent_errors_are_a_chart(model: Any) -> None:
    assert shown(model).find("svg") is None
    for x, y in datasets.SincLinear(seed=1).take(300):
        model.learn_one(x, y)
    chart = shown(model).find("svg")
    assert chart is not None
    path = chart.find("path").get("d")  # type: ignore[union-attr]
    assert path is not None and path.count("M") == 120
    width, height = float(chart.get("width", 0)), float(chart.get("height", 0))
    bars = [[float(number) for number in re.split("[ V]", bar)] for bar in path.split("M")[1:]]
    assert [x for x, *_ in bars] == pytest.approx([(i + 0.5) * width / 120 for i in range(120)], abs=0.051)
    assert all(bottom == height and 0.0 <= top <= height for _, bottom, top in bars)
    assert min(top for *_, top in bars) == 0.0  # the largest error is as high as the chart


def test_names_of_features_cannot_break_it() -> None:
    model = KRLS()
    model.learn_one({"<script>alert(1)</script>": 1.0, "x" * 500: 2.0}, 1.0)
    assert "<script>" not in model._repr_html_() and len(model._repr_html_()) < 3000


def test_rivers_display_of_pipelines_works() -> None:
    model = preprocessing.StandardScaler() | AutoKernelRegressor()
    assert "AutoKernelRegressor" in model._repr_html_() and "<table>" not in model._repr_html_()
