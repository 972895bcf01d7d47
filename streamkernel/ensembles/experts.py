"""The experts of a mixture that is given none: a spread of length scales about that of `kernels.default`."""

from __future__ import annotations

import math

from .. import kernels
from ..learners.base import StreamingRegressor
from ..learners.krls import KRLS
from ..learners.lssvm import LSSVMClassifier

# Length scales relative to √d, and how the experts of the middle one forget.
WIDTHS = (0.25, 0.5, 1.0, 2.0)
MAX_SIZE = 100
PACES = ((0.999, "walk"), (0.99, "walk"), (0.99, "prior"))


def default_experts(n_features: int) -> list[StreamingRegressor]:
    """A spread of length scales, a rough kernel, and ways of forgetting that share one dictionary."""
    middle = math.sqrt(max(n_features, 1))
    smooth = [KRLS(kernels.RBF(width * middle) + 1.0, 1e-3, 0.01, max_size=MAX_SIZE) for width in WIDTHS]
    rough = KRLS(kernels.Laplacian(2.0 * middle) + 1.0, threshold=0.03, ridge=0.1, max_size=MAX_SIZE)
    kernel = kernels.RBF(middle) + 1.0
    forgetful = [KRLS(kernel, 1e-3, 0.01, pace, way, max_size=MAX_SIZE) for pace, way in PACES]
    return [*smooth, rough, *forgetful]


def default_classifiers(n_features: int) -> list[LSSVMClassifier]:
    """A spread of length scales."""
    middle = math.sqrt(max(n_features, 1))
    return [LSSVMClassifier(kernels.RBF(width * middle), max_size=MAX_SIZE) for width in WIDTHS]
