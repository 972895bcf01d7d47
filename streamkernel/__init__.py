"""Online kernel learning: exact, bounded, calibrated and fast."""

from __future__ import annotations

import importlib
from typing import Any

from . import kernels
from .learners import CKAAR, IKAAR, KAAR, KRLS, KRR, HeteroscedasticKRLS, LSSVMClassifier
from .running import Run, run

__version__ = "0.1.0"

# Imported when first used: what they build on takes a second to import.
_SUBMODULES = ("batch", "datasets", "metrics", "plotting", "selection")
_HOMES = {
    "AdaptiveConformal": "conformal",
    "AutoKernelForecaster": "forecasting",
    "AutoKernelRegressor": "auto",
    "KernelEqualizer": "equalization",
    "KernelForecaster": "forecasting",
    "KernelMixture": "ensembles",
    "KernelMixtureClassifier": "ensembles",
}

__all__ = [
    "CKAAR",
    "IKAAR",
    "KAAR",
    "KRLS",
    "KRR",
    "AdaptiveConformal",
    "AutoKernelForecaster",
    "AutoKernelRegressor",
    "HeteroscedasticKRLS",
    "KernelEqualizer",
    "KernelForecaster",
    "KernelMixture",
    "KernelMixtureClassifier",
    "LSSVMClassifier",
    "Run",
    "batch",
    "datasets",
    "kernels",
    "metrics",
    "plotting",
    "run",
    "selection",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES, *_HOMES])
