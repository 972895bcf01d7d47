"""What the parameters of a kernel are chosen by: the evidence and the leave-one-out error, with analytic slopes.

With A = K + ρI, Q = A⁻¹ and coefficients α = Qy, both criteria are functions of A alone, and their slope in every
parameter is Σ_ij M_ij ∂A_ij for one matrix M:

    evidence       ½n ln(y'α/n) + ½ ln det A          M = ½Q − ½n αα'/y'α
    leave one out  ½n ln(Σe²/n), e_i = α_i/Q_ii       M = n/Σe² · (Q diag(e²/Q_ii) Q − Q(e/Q_ii) α')

The amplitude of the kernel does not appear: the evidence is at its maximum over it, the leave-one-out error does not
depend on it. Both are logarithms of a likelihood, so that a prior can be added: Rasmussen & Williams (2006), "Gaussian
Processes for Machine Learning", §5.4. Several targets share the kernel: their sums replace those above.

A kernel on given samples is a `Family`, a function of a point of logarithms, and `descend` follows the slope of any
such criterion over the point and ln ρ. The batch algorithms search in the same way, with a bias in the model and for
the squared error itself, without a logarithm or a prior: `batch.cross_validation`.
"""

from __future__ import annotations

from .dictionary import fit_dictionary
from .drifting import Drift, Drifting, fit_drift
from .families import Expression, Family, Gaussian, gaussian, weighted_squares
from .search import (
    HOPELESS,
    RIDGE_CENTER,
    RIDGE_RANGE,
    RIDGE_SPREAD,
    Fit,
    Prior,
    descend,
    fit,
    least,
    limits_of,
    objective_of,
    prior_of,
    starts_of,
)
from .values import Criterion, evidence, leave_one_out, left_out

__all__ = [
    "HOPELESS",
    "RIDGE_CENTER",
    "RIDGE_RANGE",
    "RIDGE_SPREAD",
    "Criterion",
    "Drift",
    "Drifting",
    "Expression",
    "Family",
    "Fit",
    "Gaussian",
    "Prior",
    "descend",
    "evidence",
    "fit",
    "fit_dictionary",
    "fit_drift",
    "gaussian",
    "least",
    "leave_one_out",
    "left_out",
    "limits_of",
    "objective_of",
    "prior_of",
    "starts_of",
    "weighted_squares",
]
