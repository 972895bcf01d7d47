"""Streaming learners with river's interface, one paper family per file."""

from .heteroscedastic import HeteroscedasticKRLS
from .kaar import CKAAR, IKAAR, KAAR, KRR
from .krls import KRLS
from .lssvm import LSSVMClassifier
from .multi_target import MultiTargetKRLS

__all__ = ["CKAAR", "IKAAR", "KAAR", "KRLS", "KRR", "HeteroscedasticKRLS", "LSSVMClassifier", "MultiTargetKRLS"]
