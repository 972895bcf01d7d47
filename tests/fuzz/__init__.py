"""Attacks as seeded programs: random learners, kernels, samples and damages, and what must hold all the same.

`python -m tests.fuzz --minutes 60` runs all areas in turn; `tests/test_fuzz.py` runs a short form of each. A finding
prints the command that repeats it. References compute in extended precision.
"""
