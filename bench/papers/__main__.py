"""`python -m bench.papers NAME`: one paper's tables and figures, its print beside ours."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

# One thread: results and times then do not depend on the machine's load.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

PAPERS = {
    "krls": "Engel, Mannor & Meir: kernel recursive least squares",
    "kaar": "KRR, KAAR, IKAAR and CKAAR",
    "hkrr": "Cawley et al.: heteroscedastic kernel ridge regression",
    "coker": "Wornyo, Ocquaye & Bediako-Kyeremeh: coupled kernel ensemble regression",
    "kaf": "Van Vaerenbergh & Santamaria: the demos of the kernel adaptive filtering toolbox",
    "flkl": "Cawley & Talbot: kernel learning at the first level of inference",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the experiment that the first argument names."""
    parser = argparse.ArgumentParser(prog="python -m bench.papers", description=__doc__)
    commands = parser.add_subparsers(dest="paper", required=True, metavar="NAME")
    chosen = (arguments if arguments is not None else sys.argv[1:])[:1]
    for name, text in PAPERS.items():
        command = commands.add_parser(name, help=text, description=text)
        if chosen == [name]:
            importlib.import_module(f"bench.papers.{name}").add_arguments(command)
    parsed = parser.parse_args(arguments)
    return int(importlib.import_module(f"bench.papers.{parsed.paper}").main(parsed))


if __name__ == "__main__":
    sys.exit(main())
