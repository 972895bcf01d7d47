"""The tests; `tests.fuzz` is a program of its own."""
