"""Kernels: immutable values that add, multiply, print and compile to a program for the jitted code.

A leaf is its formula, its parameters and one opcode. Expressions are built with `+`, `*` and `number *`.

>>> from streamkernel import kernels
>>> kernel = kernels.RBF(1.5) + 0.1 * kernels.Linear()
>>> kernel
RBF(1.5) + 0.1 * Linear()
>>> kernel == kernels.parse("RBF(1.5) + 0.1 * Linear()")
True
>>> kernel([[0.0, 0.0]], [[1.5, 0.0]]).round(4)
array([[0.6065]])

"""

from .base import Constant, Kernel, Leaf, Product, Sum
from .base import check as check
from .leaves import AnovaSpline, Custom, Linear, Polynomial, Spline
from .odd import Odd
from .parser import parse
from .parser import text as text
from .program import Compiled
from .program import Feature as Feature
from .program import Function as Function
from .program import fill_custom as fill_custom
from .stationary import RBF, FrozenScales, Laplacian, Matern32, Matern52, Periodic, RationalQuadratic, default
from .stationary import LengthScale as LengthScale

__all__ = [
    "RBF",
    "AnovaSpline",
    "Compiled",
    "Constant",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "Odd",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Spline",
    "Sum",
    "default",
    "parse",
]

# Kernels are known by the name of this module, so that a pickle does not depend on the files inside it.
for _class in (Kernel, Sum, Product, Odd, FrozenScales, *Leaf.kinds.values()):
    _class.__module__ = __name__
