"""Mutants of the package: small wrong changes, each of which some test should notice."""
