"""Drift: errors that have grown, and since when."""

from __future__ import annotations

from river import drift

# The detector starts from its newest values after this many.
DRIFT_LIMIT, DRIFT_MEMORY = 2000, 500
FEWEST_AFTER_DRIFT = 40


class DriftWatch:
    """Watches errors, in units of those that were usual when the scales were learned, and says when they have grown.

    Examples
    --------

    >>> from streamkernel.auto.drift import DriftWatch
    >>> watch = DriftWatch()
    >>> newest = [watch.update(1.0 if t < 500 else 3.0, kept=500) for t in range(600)]
    >>> [(t, count) for t, count in enumerate(newest) if count]
    [(511, 64)]

    """

    def __init__(self) -> None:
        self.errors: list[float] = []
        self._detector = drift.ADWIN()

    def update(self, error: float, kept: int) -> int | None:
        """Take in an error. Where they have grown within the last `kept`: how many of the newest samples to go by."""
        before = self._detector.estimation
        self.errors.append(error)
        self._detector.update(error)
        grown = self._detector.drift_detected and self._detector.estimation > before
        if grown and self._detector.width < kept:
            return max(int(self._detector.width), FEWEST_AFTER_DRIFT)
        if len(self.errors) >= DRIFT_LIMIT:
            self.restart(self.errors[-DRIFT_MEMORY:])
        return None

    def restart(self, errors: list[float]) -> None:
        """Watch as if these errors were all so far."""
        self.errors, self._detector = errors, drift.ADWIN()
        for error in errors:
            self._detector.update(error)
