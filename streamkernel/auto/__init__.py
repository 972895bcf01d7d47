"""Models that need no parameters: they learn scales, ridge, noise and pace from the stream itself.

Samples are kept in a window (`window`). At the sizes of a geometric schedule, and when drift is detected (`drift`), the
scales of all features, the ridge, a level and a trend are chosen by the evidence of the newest samples (`search`), and
experts are made anew from the window (`tuning`), a little with every sample: the learned kernel with several ways of
forgetting, a rough one with the same scales, and a straight line. They share dictionaries (`learners.bank`) and are
mixed (`mixture`) by discounted Bayesian model averaging (`ensembles.weighting`). Intervals are widened or narrowed so
that they hold what they promise (`calibration`). Gross errors among the targets are set aside (`outliers`).

Classes are learned in the same way (`base`), as columns of indicators (`classes`); the experts' estimates are linked to
probabilities (`links`), mixed (`class_mixture`) and joined with what labels alone say (`labels`, `blending`).
"""

from .classifier import AutoKernelClassifier
from .regressor import AutoKernelRegressor

__all__ = ["AutoKernelClassifier", "AutoKernelRegressor"]
