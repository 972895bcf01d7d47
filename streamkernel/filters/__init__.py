"""Kernel adaptive filters of the signal-processing literature, with river's interface.

They are here for comparison and for whom O(m²) a step is too much: `KLMS`, `QKLMS`, `NORMA`, `KNLMS` and `KAPA` cost
O(m). Of the least-squares family, `KRLS(forget="prior", max_size=M)` is the KRLS tracker (KRLS-T) and
`KRR(threshold=None, max_size=M)` is sliding-window KRLS; `ExKRLS` and `FixedBudgetKRLS` are the two others.
`run` takes all of them through arrays, and `learning_curve` says in dB how fast they learn.
"""

from .ex_krls import ExKRLS
from .fixed_budget import FixedBudgetKRLS
from .kapa import KAPA, KNLMS
from .klms import KLMS, QKLMS
from .learning_curves import LearningCurve, decibels, learning_curve
from .norma import NORMA

__all__ = [
    "KAPA",
    "KLMS",
    "KNLMS",
    "NORMA",
    "QKLMS",
    "ExKRLS",
    "FixedBudgetKRLS",
    "LearningCurve",
    "decibels",
    "learning_curve",
]
