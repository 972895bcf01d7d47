"""The papers' batch algorithms with the scikit-learn interface (`pip install "streamkernel[batch]"`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` gives, for type checkers and documentation tools
    from .auto import AutoKernelRegressor
    from .coker import CoKER, CoKERClassifier
    from .flkl import FLKL, FLKLRegressor
    from .hkrr import HKRR
    from .kernel_ridge import KernelRidge
    from .loohkrr import LOOHKRR
    from .lssvm import LSSVM
    from .nlpd_search import select

_HOMES = {
    "AutoKernelRegressor": "auto",
    "KernelRidge": "kernel_ridge",
    "CoKER": "coker",
    "CoKERClassifier": "coker",
    "HKRR": "hkrr",
    "LOOHKRR": "loohkrr",
    "select": "nlpd_search",
    "LSSVM": "lssvm",
    "FLKL": "flkl",
    "FLKLRegressor": "flkl",
}

__all__ = [
    "FLKL",
    "HKRR",
    "LOOHKRR",
    "LSSVM",
    "AutoKernelRegressor",
    "CoKER",
    "CoKERClassifier",
    "FLKLRegressor",
    "KernelRidge",
    "select",
]

if not TYPE_CHECKING:  # to a type checker it would make every name valid, misspelled ones too

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("sklearn"):
                raise
            raise ImportError("the batch algorithms need scikit-learn: pip install 'streamkernel[batch]'") from error


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
