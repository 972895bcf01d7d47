"""Online kernel learning: exact, bounded, calibrated and fast."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` gives, for type checkers and documentation tools
    from . import batch, checkpoint, datasets, filters, kernels, live, metrics, plotting, selection
    from .anomaly import KernelAnomalyDetector, SupervisedKernelAnomalyDetector
    from .auto import AutoKernelClassifier, AutoKernelRegressor
    from .batch.pipelines import to_stream
    from .checkpoint import load, save
    from .conformal import AdaptiveConformal
    from .ensembles import KernelMixture, KernelMixtureClassifier
    from .equalization import KernelEqualizer
    from .forecasting import AutoKernelForecaster, KernelForecaster
    from .learners import CKAAR, IKAAR, KAAR, KRLS, KRR, HeteroscedasticKRLS, LSSVMClassifier, MultiTargetKRLS
    from .running import Run, run
    from .targets import TargetScaler

__version__ = "0.1.0"

# Everything is imported when it is first used: a command's `--help` or a web server's start need no compiler.
_SUBMODULES = ("batch", "checkpoint", "datasets", "filters", "kernels", "live", "metrics", "plotting", "selection")
_HOMES = {
    **dict.fromkeys(("CKAAR", "IKAAR", "KAAR", "KRLS", "KRR"), "learners"),
    **dict.fromkeys(("HeteroscedasticKRLS", "LSSVMClassifier", "MultiTargetKRLS"), "learners"),
    "Run": "running",
    "load": "checkpoint",
    "save": "checkpoint",
    "run": "running",
    "AdaptiveConformal": "conformal",
    "AutoKernelClassifier": "auto",
    "AutoKernelForecaster": "forecasting",
    "AutoKernelRegressor": "auto",
    "KernelAnomalyDetector": "anomaly",
    "KernelEqualizer": "equalization",
    "KernelForecaster": "forecasting",
    "KernelMixture": "ensembles",
    "KernelMixtureClassifier": "ensembles",
    "SupervisedKernelAnomalyDetector": "anomaly",
    "TargetScaler": "targets",
    "to_stream": "batch.pipelines",
}
# What a checkpoint may hold besides: the filters, and the state of the command line's `run`.
STORED = _HOMES | dict.fromkeys(("Session", "Standardizer"), "session")
STORED["FixedScaler"] = "scaling"
STORED |= dict.fromkeys(("KLMS", "QKLMS", "NORMA", "KNLMS", "KAPA", "ExKRLS", "FixedBudgetKRLS"), "filters")

__all__ = [
    "CKAAR",
    "IKAAR",
    "KAAR",
    "KRLS",
    "KRR",
    "AdaptiveConformal",
    "AutoKernelClassifier",
    "AutoKernelForecaster",
    "AutoKernelRegressor",
    "HeteroscedasticKRLS",
    "KernelAnomalyDetector",
    "KernelEqualizer",
    "KernelForecaster",
    "KernelMixture",
    "KernelMixtureClassifier",
    "LSSVMClassifier",
    "MultiTargetKRLS",
    "Run",
    "SupervisedKernelAnomalyDetector",
    "TargetScaler",
    "batch",
    "checkpoint",
    "datasets",
    "filters",
    "kernels",
    "live",
    "load",
    "metrics",
    "plotting",
    "run",
    "save",
    "selection",
    "to_stream",
]

if not TYPE_CHECKING:  # to a type checker it would make every name valid, misspelled ones too

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f".{name}", __name__)
        if name in _HOMES:
            return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES, *_HOMES])
