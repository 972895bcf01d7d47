"""A series learned and continued, with intervals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..options import add_file, add_model, build_model, positive
from ..output import OK, CommandError, print_json, progress, shown, table
from ..plots import plot_forecast
from ..rows import read_rows


def add_options(parser: argparse.ArgumentParser) -> None:
    """The series, what a step sees of it, and how far to forecast."""
    add_file(parser)
    parser.add_argument("--column", required=True, metavar="COLUMN", help="the series, oldest value first")
    parser.add_argument("--horizon", type=positive, default=10, help="steps to forecast (default %(default)s)")
    parser.add_argument("--lags", type=positive, default=10, help="past values that a step sees (default %(default)s)")
    parser.add_argument("--stride", type=positive, default=1, help="steps between two of them (default %(default)s)")
    parser.add_argument("--rollout", type=positive, default=1, help="also learn from forecasts this many steps deep")
    parser.add_argument("--seed", type=int, default=0, help="of the sampled paths (default %(default)s)")
    parser.add_argument("--plot", metavar="PNG", help="plot the series, the forecast and its intervals")
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Forecast, with intervals, after a check on the series' own end."""
    values = [y for _, y in progress(read_rows(arguments.file, arguments.column, []), arguments.file)]
    horizon = arguments.horizon
    needed = arguments.lags * arguments.stride + horizon + 1
    if len(values) < needed:
        raise CommandError(
            f"{arguments.file}: {len(values)} values; {needed} are needed for these lags and this horizon"
        )
    held = np.array(values[-horizon:])
    check = np.array(_learned(values[:-horizon], arguments).forecast(horizon))
    rmse, naive = (float(np.sqrt(np.mean((held - guess) ** 2))) for guess in (check, values[-horizon - 1]))
    model = _learned(values, arguments)
    means, intervals = model.forecast(horizon), model.forecast(horizon, with_interval=True)
    steps = [
        {"step": i + 1, "mean": m, "lower": v.lower, "upper": v.upper} for i, (m, v) in enumerate(zip(means, intervals))
    ]
    plot = plot_forecast(values, steps, arguments.plot) if arguments.plot else None
    if arguments.json:
        print_json({"values": len(values), "rmse": rmse, "naive_rmse": naive, "forecast": steps, "plot": plot})
        return OK
    print(f"{len(values)} values; a forecast of the last {horizon} from those before had RMSE {rmse:.6g}")
    print(f"(the last value repeated: {naive:.6g}). What follows, with {model.confidence_level:.0%} intervals:\n")
    print(
        table(
            ["step", "forecast", "lower", "upper"],
            [[str(s["step"]), *(shown(s[k]) for k in ("mean", "lower", "upper"))] for s in steps],
        )
    )
    if plot:
        print(f"\nplot: {plot}")
    return OK


def _learned(series: Sequence[float], arguments: argparse.Namespace) -> Any:
    """A forecaster that has learned a series."""
    from ...forecasting import KernelForecaster

    model = KernelForecaster(
        build_model(arguments), arguments.lags, arguments.stride, rollout=arguments.rollout, seed=arguments.seed
    )
    try:
        model.learn_series(progress(series, "learning", len(series)))
    except (TypeError, ValueError) as error:
        raise CommandError(f"{arguments.file}, column {arguments.column!r}: {error}") from error
    return model
