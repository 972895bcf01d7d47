"""Equalizers: the symbols that were sent, from what a channel made of them."""

from ..alphabets import ALPHABETS
from .bayes import BayesDetector
from .equalizer import KernelEqualizer
from .linear import LinearEqualizer

__all__ = ["ALPHABETS", "BayesDetector", "KernelEqualizer", "LinearEqualizer"]
