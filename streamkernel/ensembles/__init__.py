"""Mixtures of kernel learners: which kernel is right is learned along with the function."""

from .classifier import KernelMixtureClassifier
from .regressor import KernelMixture
from .weighting import coupled_weights

__all__ = ["KernelMixture", "KernelMixtureClassifier", "coupled_weights"]
