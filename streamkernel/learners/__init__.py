"""Streaming learners with river's interface, one paper family per file."""

from .krls import KRLS

__all__ = ["KRLS"]
