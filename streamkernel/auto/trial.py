"""Whether errors that have grown mean that the past is over: experts that know the newest samples alone are tried out.

They learn those samples one by one, as the stream gave them, and say of each what they expect before they learn it.
Where the errors grew because the stream has come to a place that it seldom visits, they are clearly worse than those
who know the past, and are dropped. Otherwise they take over.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.types import Matrix, Vector

# New experts are compared with the old ones by up to so many samples and those that come meanwhile. Of fewer than the
# second number they are believed.
MOST_JUDGED, FEWEST_JUDGED = 100, 5
# Errors of more than so many times the usual one count like that.
LARGEST_RATIO = 5.0
# New experts take over up to this ratio of errors: they have just begun, and get better. Up to the next one they are
# tried out once more when there are twice as many samples, if those are not too many to be new.
BELIEVED, DOUBTED, LONGEST_DOUBT = 1.5, 2.0, 300


def relative_error(errors: Matrix, rivals: Vector) -> float:
    """The mean error of the middling one of several experts, a column each, over that of a rival on the same samples.

    The best would not tell: where a law without noise is learned, one that was tuned to where the stream is now
    predicts the next samples well, and no other does.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.trial import relative_error
    >>> relative_error(np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 9.0]]), np.array([4.0, 4.0]))
    0.5

    """
    cap = LARGEST_RATIO * float(np.median(rivals))
    rival = float(np.minimum(rivals, cap).mean())
    middling = float(np.median(np.minimum(errors, cap).mean(axis=0)))
    return middling / rival if rival > 0.0 else math.inf


class Trial:
    """Which samples may be of a new time, and what experts say of them who learn them alone.

    Parameters
    ----------
    first
        The number of the first sample that may be of a new time.
    end
        How many samples there are so far, by their numbers.
    wait
        How many samples are learned between a prediction in the stream and its answer.

    Attributes
    ----------
    judged
        The number of the first sample that the experts say something of.
    said
        For each sample from there on what each expert said.

    """

    def __init__(self, first: int, end: int, wait: int) -> None:
        self.first, self.end, self.wait = first, end, wait
        self.judged = max(first + wait, end - min((end - first) // 2, MOST_JUDGED))
        self.said: list[Vector] = []

    def again(self, end: int, wait: int) -> Trial | None:
        """The same when there are more samples; None while there are not twice as many."""
        return Trial(self.first, end, wait) if end - self.first >= 2 * (self.end - self.first) else None

    @property
    def is_short(self) -> bool:
        """Whether more samples may tell more."""
        return self.end - self.first < LONGEST_DOUBT

    def get_state(self) -> list[Any]:
        """For a checkpoint."""
        return [self.first, self.end, self.wait, self.said]

    @classmethod
    def from_state(cls, state: list[Any]) -> Trial:
        """From a checkpoint."""
        trial = cls(*state[:-1])
        trial.said = state[-1]
        return trial
