"""Frozen workloads: speed, and the papers' experiments."""
