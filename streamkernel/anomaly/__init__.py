"""What is unusual: inputs unlike those seen before, and targets unlike those predicted; scores are probabilities."""

from .detectors import KernelAnomalyDetector, SupervisedKernelAnomalyDetector

__all__ = ["KernelAnomalyDetector", "SupervisedKernelAnomalyDetector"]
