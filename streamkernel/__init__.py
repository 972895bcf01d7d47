"""Online kernel learning: exact, bounded, calibrated and fast."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import checkpoint, kernels
from .checkpoint import load, save
from .learners import CKAAR, IKAAR, KAAR, KRLS, KRR, HeteroscedasticKRLS, LSSVMClassifier
from .running import Run, run

if TYPE_CHECKING:  # what `__getattr__` gives, for type checkers and documentation tools
    from . import batch, datasets, filters, metrics, plotting, selection
    from .auto import AutoKernelRegressor
    from .batch.pipelines import to_stream
    from .conformal import AdaptiveConformal
    from .ensembles import KernelMixture, KernelMixtureClassifier
    from .equalization import KernelEqualizer
    from .forecasting import AutoKernelForecaster, KernelForecaster
    from .targets import TargetScaler

__version__ = "0.1.0"

# Imported when first used: what they build on takes a second to import.
_SUBMODULES = ("batch", "datasets", "filters", "metrics", "plotting", "selection")
_HOMES = {
    "AdaptiveConformal": "conformal",
    "AutoKernelForecaster": "forecasting",
    "AutoKernelRegressor": "auto",
    "KernelEqualizer": "equalization",
    "KernelForecaster": "forecasting",
    "KernelMixture": "ensembles",
    "KernelMixtureClassifier": "ensembles",
    "TargetScaler": "targets",
    "to_stream": "batch.pipelines",
}
# What a checkpoint may hold besides: the filters, and the state of the command line's `run`.
_STORED = _HOMES | dict.fromkeys(("Session", "Standardizer"), "session")
_STORED["FixedScaler"] = "scaling"
_STORED |= dict.fromkeys(("KLMS", "QKLMS", "NORMA", "KNLMS", "KAPA", "ExKRLS", "FixedBudgetKRLS"), "filters")
checkpoint.HOMES.update({name: f"{__name__}.{home}" for name, home in _STORED.items()})

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
    "TargetScaler",
    "batch",
    "datasets",
    "filters",
    "kernels",
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
