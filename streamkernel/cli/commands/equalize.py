"""A simulated nonlinear channel and an equalizer that learns it."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

from ...alphabets import ALPHABETS
from ..options import MODEL_OPTIONS, add_model, build_model, finite, model_name, natural, positive
from ..output import OK, CommandError, print_json, print_result, progress, table

# Options of one equalizer, and those of a curve, with their defaults.
ONE: dict[str, Any] = {
    "symbols": 5000,
    "train": 500,
    "lags": 2,
    "delay": 1,
    "alphabet": "bpsk",
    "taps": None,
    "noise": math.sqrt(0.2),
    "directed": False,
    "bayes": False,
    "model": None,
    **dict.fromkeys(MODEL_OPTIONS),
}
CURVE: dict[str, Any] = {"snr": "0:20:4", "channel": "cubic", "errors": 200, "most": 500_000, "plot": None}
BOUND_SYMBOLS = 100_000  # from which the least error rate is estimated

EXAMPLES = """\
  streamkernel equalize --alphabet qpsk --bayes
  streamkernel equalize --curve --channel notch --snr 7:19:4 --plot curve.png"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The channel and the equalizer."""
    parser.set_defaults(**ONE, **CURVE)
    parser.add_argument("--symbols", type=positive, help="to decide on (default %(default)s)")
    parser.add_argument("--train", type=positive, help="known symbols before (default %(default)s)")
    parser.add_argument("--lags", type=positive, help="observations that a model sees (default %(default)s)")
    parser.add_argument("--delay", type=int, help="observations after the symbol (default %(default)s)")
    parser.add_argument("--alphabet", choices=tuple(ALPHABETS), help="(default %(default)s)")
    parser.add_argument("--taps", metavar="A,B,...", help="impulse response, such as 1,0.3-0.2j (default 1.0,0.5)")
    parser.add_argument("--noise", type=finite, help="its standard deviation (default %(default).4f)")
    parser.add_argument("--directed", action="store_true", help="go on learning from decisions")
    parser.add_argument("--bayes", action="store_true", help="print the best possible error rate beside it")
    parser.add_argument("--curve", action="store_true", help="error rates of equalizers against the SNR instead")
    parser.add_argument("--snr", metavar="FROM:TO:STEP", help="dB of a curve (default %(default)s)")
    parser.add_argument(
        "--channel",
        metavar="NAME|FILE",
        help="of a curve: cubic, cubic5, notch, pam4, qpsk, qam16, satellite or a JSON file (default %(default)s)",
    )
    parser.add_argument("--errors", type=positive, help="symbol errors a point (default %(default)s)")
    parser.add_argument("--most", type=positive, help="symbols a point at most (default %(default)s)")
    parser.add_argument("--plot", metavar="PNG", help="plot the curve and the observations")
    parser.add_argument("--seed", type=natural, default=1, help="(default %(default)s)")
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train on known symbols, then decide on the others."""
    from ..plots import check_plot
    from ..writing import check_outputs

    if arguments.curve:
        _refuse(arguments, ONE, "is for one equalizer: leave --curve out")
    else:
        _refuse(arguments, CURVE, "goes with --curve: give it too, or leave this out")
    check_outputs({"--plot": arguments.plot}, {"--channel": arguments.channel})
    if arguments.plot:
        check_plot(arguments.plot)
    if arguments.curve:
        return _curves(arguments)
    channel, equalizer = _setting(arguments)
    try:
        best = _bound(channel, equalizer) if arguments.bayes else None
    except ValueError as error:
        raise CommandError(f"--bayes: {error}") from error
    try:
        seconds = _equalize(arguments, channel, equalizer)
    except (ValueError, ArithmeticError) as error:
        raise CommandError(f"the channel cannot be learned: {error}; other --taps or less --noise?") from error
    if math.isnan(equalizer.symbol_error_rate):
        known = f"--train {arguments.train} and --symbols {arguments.symbols}"
        raise CommandError(f"{known}: too few to decide on one symbol; give more")
    result = {
        "symbols": arguments.symbols,
        "symbol_error_rate": equalizer.symbol_error_rate,
        "bit_error_rate": equalizer.bit_error_rate,
        "bayes_symbol_error_rate": best,
        "symbols_per_second": arguments.symbols / seconds,
    }
    print_result(result, arguments.json)
    return OK


def _refuse(arguments: argparse.Namespace, options: dict[str, Any], reason: str) -> None:
    """Options that would be without effect are an error."""
    for option, default in options.items():
        if getattr(arguments, option) != default:
            raise CommandError(f"--{option.replace('_', '-')} {reason}")


def _equalize(arguments: argparse.Namespace, channel: Any, equalizer: Any) -> float:
    """Train, then decide; the seconds that deciding took."""
    symbols, observations = channel.sequence(arguments.train + arguments.symbols)
    pairs = list(zip(observations, symbols, strict=True))
    for y, u in progress(pairs[: arguments.train], "training"):
        equalizer.equalize_one(y, u)
    equalizer.reset_errors()
    began = time.perf_counter()
    for y, u in progress(pairs[arguments.train :], "deciding"):
        equalizer.equalize_one(y, u, train=False)
    return time.perf_counter() - began


def _bound(channel: Any, equalizer: Any) -> float:
    """The least error rate that is possible: with as many observations as a model sees, or with all so far."""
    if equalizer.model is not None:
        return float(channel.bayes_error())
    from ...equalization import BayesDetector

    symbols, observations = channel.sequence(BOUND_SYMBOLS)
    decisions = BayesDetector(channel).decide(observations)
    return float((decisions[channel.delay :] != symbols[: len(symbols) - channel.delay]).mean())


def _setting(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """The channel and the equalizer that the options describe."""
    from ...datasets import NonlinearChannel
    from ...equalization import KernelEqualizer

    try:
        options: dict[str, Any] = {} if arguments.taps is None else {"taps": _taps(arguments.taps)}
        channel = NonlinearChannel(
            alphabet=arguments.alphabet,
            noise=arguments.noise,
            lags=arguments.lags,
            delay=arguments.delay,
            seed=arguments.seed,
            **options,
        )
        equalizer = KernelEqualizer(
            None if model_name(arguments) == "auto" else build_model(arguments),
            arguments.lags,
            arguments.delay,
            alphabet=arguments.alphabet,
            directed=arguments.directed,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    return channel, equalizer


def _taps(text: str) -> tuple[complex, ...]:
    """Numbers between commas; complex ones are written like 0.3-0.2j."""
    try:
        taps = [complex(tap) for tap in text.split(",")]
    except ValueError:
        raise CommandError(f"--taps must be numbers between commas, such as 1.0,0.3-0.2j, got {text!r}") from None
    return tuple(tap if tap.imag else tap.real for tap in taps)


def _curves(arguments: argparse.Namespace) -> int:
    """Error rates of equalizers against the signal-to-noise ratio."""
    from ...datasets import named_channel, read_channel
    from ...datasets.named_channels import CHANNELS
    from ...equalization import curves
    from ..plots import plot_equalizers

    make = named_channel if arguments.channel in CHANNELS else read_channel
    if make is read_channel and not Path(arguments.channel).exists():
        raise CommandError(f"--channel must be {', '.join(CHANNELS)} or a JSON file, got {arguments.channel!r}")

    def channel(seed: int) -> Any:
        return make(arguments.channel, seed)

    try:
        snrs = curves.snr_range(arguments.snr)
        names = curves.affordable(channel(arguments.seed))
    except ValueError as error:
        raise CommandError(str(error)) from error
    simulated = curves.curve(channel, snrs, names, arguments.errors, arguments.most, arguments.seed)
    points = list(progress(simulated, "points", total=len(snrs) * len(names)))
    saved = plot_equalizers(points, channel(arguments.seed), arguments.channel, arguments.plot)
    if arguments.json:
        rows = [
            p._asdict() | {"ser": p.symbol_error_rate, "ber": p.bit_error_rate, "ser95": p.interval} for p in points
        ]
        print_json({"channel": arguments.channel, "points": rows, "plot": saved})
        return OK
    by_key = {(point.equalizer, point.snr): point for point in points}
    lines = []
    for name in names:
        cells = [by_key.get((name, snr)) for snr in snrs]
        lines.append([name, *("-" if cell is None else f"{cell.symbol_error_rate:.2g}" for cell in cells)])
    print(f"{arguments.channel}: symbol error rate after {curves.TRAINING} training symbols\n")
    print(table(["", *(f"{snr:g} dB" for snr in snrs)], lines))
    print(
        f"\nat least {arguments.errors} errors a point, or {arguments.most} symbols; 95 % intervals: --json or --plot"
    )
    if saved:
        print(f"plot: {saved}")
    return OK
