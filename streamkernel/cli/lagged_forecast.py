"""`forecast` with a model, its parameters and its lags given."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from .columns import as_number
from .options import build_model
from .output import OK, CommandError, print_json, progress, shown, table
from .plots import plot_forecast
from .records import read_records
from .writing import save


def forecast_lagged(arguments: argparse.Namespace, seen: Any = None) -> int:
    """Forecast, with intervals, after a check on the series' own end."""
    values = [
        _number(arguments, number, row[arguments.column])
        for number, row in enumerate(read_records(arguments, [arguments.column]), start=1)
    ]
    horizon, lags = arguments.horizon or 10, arguments.lags or 10
    needed = (lags if isinstance(lags, int) else max(lags)) * arguments.stride + horizon + 1
    if len(values) < needed:
        raise CommandError(
            f"{arguments.file}: {len(values)} values; {needed} are needed for these lags and this horizon"
        )
    held = np.array(values[-horizon:])
    try:
        check = np.array(_learned(values[:-horizon], arguments).forecast(horizon))
        model = _learned(values, arguments, seen)
        means, intervals = model.forecast(horizon), model.forecast(horizon, with_interval=True)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CommandError(f"{arguments.file}, column {arguments.column!r}: {error}") from error
    with np.errstate(over="ignore"):  # an error that is infinite is one, too
        rmse, naive = (float(np.sqrt(np.mean((held - guess) ** 2))) for guess in (check, values[-horizon - 1]))
    steps = [
        {"step": i + 1, "mean": m, "lower": v.lower, "upper": v.upper} for i, (m, v) in enumerate(zip(means, intervals))
    ]
    if seen is not None:
        seen.foresee(steps)
    save(model, arguments.save)
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


def _number(arguments: argparse.Namespace, row: int, cell: Any) -> float:
    value = as_number(cell)
    if value is None:
        raise CommandError(f"{arguments.file}, row {row}: column {arguments.column!r} is {cell!r}, not a number")
    return value


def _learned(series: Sequence[float], arguments: argparse.Namespace, seen: Any = None) -> Any:
    """A forecaster that has learned a series, seen on the way where that is asked for."""
    from ..forecasting import KernelForecaster

    model = KernelForecaster(
        build_model(arguments),
        arguments.lags or 10,
        arguments.stride,
        rollout=arguments.rollout,
        confidence_level=arguments.confidence_level,
        seed=arguments.seed,
    )
    values = progress(series, "learning", len(series))
    if seen is None:
        model.learn_series(values)
    else:
        for value in values:
            seen.learn(model, value, None)
    return model
