"""The papers' experiments, one module a paper; `python -m bench.papers NAME` runs one."""
