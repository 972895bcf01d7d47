"""Kernels in scikit-learn's grids: `kernel__length_scale` and its like, though a kernel never changes."""

from __future__ import annotations

from typing import Any, Self

from ..kernels import Kernel


class KernelParameters:
    """An estimator whose kernels' parameters can be set by name: it gets another kernel, the old one stays as it was.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> from streamkernel.batch import KernelRidge
    >>> kernel = kernels.RBF(1.0) + 0.5
    >>> KernelRidge(kernel).set_params(kernel__left__length_scale=3.0).kernel
    RBF(3.0) + Constant(0.5)
    >>> kernel
    RBF(1.0) + Constant(0.5)

    """

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn; those of a kernel are `kernel__NAME`."""
        plain: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, separator, inner = key.partition("__")
            current = params.get(name, getattr(self, name, None))
            if separator and isinstance(current, Kernel):
                nested.setdefault(name, {})[inner] = value
            elif separator and name.endswith("kernel") and current is None:
                raise ValueError(f"{key} cannot be set: {name} is None, give a kernel, such as kernels.RBF(1.0)")
            else:
                plain[key] = value
        super().set_params(**plain)  # type: ignore[misc]
        for name, changes in nested.items():
            setattr(self, name, getattr(self, name).with_params(**changes))
        return self
