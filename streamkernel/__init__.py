"""Online kernel learning: exact, bounded, calibrated and fast."""

from . import datasets, kernels
from .learners import KRLS

__all__ = ["KRLS", "datasets", "kernels"]
