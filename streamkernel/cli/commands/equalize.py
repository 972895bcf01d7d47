"""A simulated nonlinear channel and an equalizer that learns it."""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

from ..options import add_model, build_model, positive
from ..output import OK, CommandError, print_result, progress


def add_options(parser: argparse.ArgumentParser) -> None:
    """The channel and the equalizer."""
    parser.add_argument("--symbols", type=positive, default=5000, help="to decide on (default %(default)s)")
    parser.add_argument("--train", type=positive, default=500, help="known symbols before (default %(default)s)")
    parser.add_argument("--lags", type=positive, default=2, help="observations a decision sees (default %(default)s)")
    parser.add_argument("--delay", type=int, default=1, help="observations after the symbol (default %(default)s)")
    parser.add_argument("--alphabet", choices=("bpsk", "qpsk"), default="bpsk", help="(default %(default)s)")
    parser.add_argument("--taps", metavar="A,B,...", help="impulse response of the channel (default 1.0,0.5)")
    parser.add_argument(
        "--noise", type=float, default=math.sqrt(0.2), help="its standard deviation (default %(default).4f)"
    )
    parser.add_argument("--directed", action="store_true", help="go on learning from decisions")
    parser.add_argument("--bayes", action="store_true", help="print the best possible error rate beside it")
    parser.add_argument("--seed", type=int, default=1, help="(default %(default)s)")
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train on known symbols, then decide on the others."""
    channel, equalizer = _setting(arguments)
    symbols, observations = channel.sequence(arguments.train + arguments.symbols)
    pairs = list(zip(observations, symbols, strict=True))
    for y, u in progress(pairs[: arguments.train], "training"):
        equalizer.equalize_one(y, u)
    equalizer.reset_errors()
    began = time.perf_counter()
    for y, u in progress(pairs[arguments.train :], "deciding"):
        equalizer.equalize_one(y, u, train=False)
    seconds = time.perf_counter() - began
    result = {
        "symbols": arguments.symbols,
        "symbol_error_rate": equalizer.symbol_error_rate,
        "bit_error_rate": equalizer.bit_error_rate,
        "bayes_symbol_error_rate": channel.bayes_error() if arguments.bayes else None,
        "symbols_per_second": arguments.symbols / seconds,
    }
    print_result(result, arguments.json)
    return OK


def _setting(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """The channel and the equalizer that the options describe."""
    from ...datasets import NonlinearChannel
    from ...equalization import KernelEqualizer

    try:
        options: dict[str, Any] = (
            {"taps": tuple(float(tap) for tap in arguments.taps.split(","))} if arguments.taps else {}
        )
        channel = NonlinearChannel(
            alphabet=arguments.alphabet,
            noise=arguments.noise,
            lags=arguments.lags,
            delay=arguments.delay,
            seed=arguments.seed,
            **options,
        )
        equalizer = KernelEqualizer(
            build_model(arguments),
            arguments.lags,
            arguments.delay,
            alphabet=arguments.alphabet,
            directed=arguments.directed,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    return channel, equalizer
