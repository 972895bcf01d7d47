"""How time passes between two samples: the rules of forgetting, each a line of `passing`.

With λ = `keep` and α the ridge, so that the prior variance of a weight is 1/α:

    prior   P ← λP + (1−λ)/α I,  w ← √λ w     the posterior returns to the prior: an exponential window
    walk    P ← P + (1−λ)/α I                 the function drifts like a random walk; the mean stays

Van Vaerenbergh, Lázaro-Gredilla & Santamaría (2012) call the first "back to the prior".
"""

from __future__ import annotations

import math

from .jit import inline

RULES = ("prior", "walk")
PRIOR, WALK = range(len(RULES))


@inline
def passing(rule: int, keep: float, ridge: float) -> tuple[float, float, float]:
    """(a, b, c) with P ← aP + bI and w ← cw.

    Requires: `ridge` > 0.
    """
    scale, diagonal, shrinkage = keep, (1.0 - keep) / ridge, math.sqrt(keep)
    if rule == WALK:
        scale, shrinkage = 1.0, 1.0
    return scale, diagonal, shrinkage
