"""Predictions beyond the targets seen so far: how far they are believed, and how uncertain they are."""

from __future__ import annotations

from typing import NamedTuple

# A prediction is believed as far outside the targets seen so far as this part of their range. Where all experts agree
# it may be a trend, and is believed up to the second part.
MARGIN, AGREED_MARGIN = 0.5, 2.0
# Experts agree whose opinions spread by no more than this part of their distance from the middle of the targets.
AGREEMENT = 0.05
# A prediction outside the targets is uncertain by this part of its distance from them, if it is believed.
DOUBT = 0.03


class Bounds(NamedTuple):
    """The least and the largest target so far.

    Examples
    --------

    >>> from streamkernel.auto.bounds import Bounds
    >>> bounds = Bounds(0.0, 100.0)
    >>> bounds.tempered(90.0, 1.0, line=20.0, spread=500.0)
    (90.0, 1.0)

    A trend goes on:

    >>> mean, variance = bounds.tempered(180.0, 1.0, line=179.0, spread=1.0)
    >>> mean, round(variance, 2)
    (180.0, 6.76)

    What only some experts say, far from all targets, is not believed, and nothing is certain there:

    >>> mean, variance = bounds.tempered(-5000.0, 1.0, line=20.0, spread=500.0)
    >>> mean, round(variance**0.5)
    (20.0, 70)

    """

    low: float
    high: float

    def clipped(self, value: float, margin: float) -> float:
        """A value, or the nearest one within the range that is extended by this part of it on both sides."""
        reach = margin * (self.high - self.low)
        return min(max(value, self.low - reach), self.high + reach)

    def tempered(self, mean: float, variance: float, line: float, spread: float) -> tuple[float, float]:
        """What to believe of a prediction, and its variance.

        Parameters
        ----------
        mean
            The prediction.
        variance
            Its own variance.
        line
            What a straight line predicts.
        spread
            The standard deviation of the experts' opinions.

        """
        agreed = spread <= AGREEMENT * abs(mean - 0.5 * (self.low + self.high))
        believed = self.clipped(mean, AGREED_MARGIN if agreed else MARGIN)
        doubt, gap = DOUBT, 0.0
        if believed != mean:
            # The farther away, the more the straight line counts instead.
            gap = self.clipped(line, MARGIN) - believed
            believed += gap * min(1.0, abs(mean - believed) / (self.high - self.low)) if self.high > self.low else gap
            doubt = 1.0
        outside = believed - self.clipped(believed, 0.0)
        return believed, variance + (doubt * outside) ** 2 + gap**2
