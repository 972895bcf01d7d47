"""Whether a series follows from its own past without visible noise, as chaotic series do.

A kernel learner without ridge learns most of a window and predicts the rest: on a noisy series it predicts worse than
the straight line that stands beside it, on one without noise its errors are smaller by orders of magnitude.
"""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..core.types import Vector
from ..learners import KRLS

# Values that are looked at, the fewest, and the part that is predicted.
WINDOW, FEWEST, HELD_OUT = 400, 100, 0.2
# Numbers of past values and the steps between them: a smooth series shows its law at longer steps only.
EMBEDDINGS = ((3, 1), (8, 3))
# Squared errors in units of the mean square of the series' changes over as many steps: the law's are below the first,
# and a straight line on the same values errs this many times as much.
SURE, BETTER = 1e-2, 30.0


def is_deterministic(values: Vector) -> bool:
    """Whether the next value is predicted nearly without error, and by a curved function only."""
    values = values[-WINDOW:]
    if len(values) < FEWEST or not np.ptp(values) > 0.0:
        return False
    return any(_follows(values, count, stride) for count, stride in EMBEDDINGS)


def _follows(values: Vector, count: int, stride: int) -> bool:
    scaled = (values - values.mean()) / values.std()
    ends = np.arange(count * stride, len(scaled))
    rows = scaled[ends[:, None] - stride * np.arange(1, count + 1)]
    targets = scaled[ends]
    split = len(rows) - int(HELD_OUT * len(rows))
    errors = []
    for kernel, ridge in ((kernels.RBF(np.sqrt(count)), 1e-8), (kernels.Linear() + 1.0, 1e-8)):
        model = KRLS(kernel, threshold=1e-8, ridge=ridge)
        model.learn_many(rows[:split], targets[:split])
        errors.append(float(np.mean((model.predict_many(rows[split:]) - targets[split:]) ** 2)))
    curved, straight = errors
    unit = float(np.mean((scaled[stride:] - scaled[:-stride]) ** 2))
    return curved < SURE * unit and straight > BETTER * curved
