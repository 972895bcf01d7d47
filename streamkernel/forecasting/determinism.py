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
# Numbers of past values.
EMBEDDINGS = (3, 8)
# Squared errors in units of the variance of the series' changes: below the first it is a law; below the second it is if
# a straight line on the same values errs this many times as much.
SURE, LIKELY, BETTER = 1e-3, 1e-2, 30.0


def is_deterministic(values: Vector) -> bool:
    """Whether the next value is predicted nearly without error, and by a curved function only."""
    values = values[-WINDOW:]
    changes = float(np.diff(values).var()) if len(values) > 1 else 0.0
    if len(values) < FEWEST or not changes > 0.0:
        return False
    return any(_follows(values, changes, count) for count in EMBEDDINGS)


def _follows(values: Vector, changes: float, count: int) -> bool:
    scaled = (values - values.mean()) / values.std()
    rows = np.stack([scaled[count - k : len(scaled) - k] for k in range(1, count + 1)], axis=1)
    targets = scaled[count:]
    split = len(rows) - int(HELD_OUT * len(rows))
    errors = []
    for kernel, ridge in ((kernels.RBF(np.sqrt(count)), 1e-8), (kernels.Linear() + 1.0, 1e-8)):
        model = KRLS(kernel, threshold=1e-8, ridge=ridge)
        model.learn_many(rows[:split], targets[:split])
        errors.append(float(np.mean((model.predict_many(rows[split:]) - targets[split:]) ** 2)))
    unit = changes / float(values.var())
    curved, straight = errors[0] / unit, errors[1] / unit
    return curved < SURE or (curved < LIKELY and straight > BETTER * curved)
