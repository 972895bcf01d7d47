"""Intervals that hold what they promise: their width follows how often targets lie outside."""

from __future__ import annotations

import math

from ..distributions import LEVEL, normal_reach

# The intervals' width adapts so that `LEVEL` of the targets lie inside.
REACH, CALIBRATION_RATE = normal_reach(LEVEL), 0.07


class Calibration:
    """The factor on predicted standard deviations with which 90 % of the targets lie inside the interval of 90 %.

    It grows at a target outside and shrinks at one inside, so that in the mean neither wins.

    Examples
    --------

    >>> from streamkernel.auto.calibration import Calibration
    >>> calibration = Calibration()
    >>> for _ in range(100):
    ...     calibration.update(3.0)
    >>> 1.5 < calibration.stretch < 2.1
    True

    """

    def __init__(self) -> None:
        self.stretch = 1.0

    def update(self, error: float) -> None:
        """Take in the error of a prediction, in units of its standard deviation."""
        missed = abs(error) > REACH * self.stretch
        self.stretch *= math.exp(CALIBRATION_RATE * (missed - (1.0 - LEVEL)))
