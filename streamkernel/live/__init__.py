"""A stream seen while it is learned: a page on this machine, served by the standard library alone.

`watch(model, stream)` learns a stream and shows it; a `View` shows rows that are learned elsewhere. The page has the
target with its prediction and band, errors beside those of the last value, coverage, the dictionary, drifts and
tunings, the experts' weights, relevances, and what a step takes. It needs nothing from elsewhere, and can be saved as
one file.
"""

from .view import View
from .watching import Watch, watch

__all__ = ["View", "Watch", "watch"]
