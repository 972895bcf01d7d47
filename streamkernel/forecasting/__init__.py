"""Time series: forecasters around streaming regressors, and one that needs no parameters."""

from .auto import AutoKernelForecaster
from .lagged import KernelForecaster

__all__ = ["AutoKernelForecaster", "KernelForecaster"]
