"""Jitted functions on plain arrays."""
