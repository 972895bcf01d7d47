"""A series, or one for every group, learned and continued, with intervals."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..options import MODEL_OPTIONS, add_confidence_level, add_file, add_model, column_names, natural, positive
from ..output import OK, CommandError, print_json, progress, shown, table
from ..watching import add_live

if TYPE_CHECKING:
    from ..watching import SeriesView

# Options that mean a model of one's own, those that go with it, and those that the automatic one has.
OWN = ("lags", "model", *MODEL_OPTIONS)
WITH_OWN = {"stride": 1, "rollout": 1, "seed": 0}
AUTOMATIC = {"season": None, "backtest": 5, "features": None, "group": None}

EXAMPLES = """\
  streamkernel forecast sensors.csv --column temperature --horizon 24 --plot forecast.png
  streamkernel forecast sales.csv --column sold --group shop --json"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The series, what is known of it, and how far to forecast."""
    parser.set_defaults(**WITH_OWN, **AUTOMATIC)
    add_file(parser)
    parser.add_argument(
        "--column", required=True, metavar="COLUMN", help="the series, oldest value first; empty is a gap"
    )
    parser.add_argument(
        "--horizon", type=positive, help="steps to forecast (default: the rows that follow, one season, or 10)"
    )
    parser.add_argument("--season", type=positive, help="steps of a season (default: found in the series)")
    add_confidence_level(parser, "of the intervals")
    parser.add_argument("--backtest", type=natural, help="forecasts of its own end (default %(default)s)")
    parser.add_argument(
        "--features",
        metavar="A,B,...",
        help="dates, and columns known ahead: rows with an empty series cell are the future",
    )
    parser.add_argument("--group", metavar="COLUMN", help="forecast the series of every value of this column")
    parser.add_argument("--save", metavar="FILE", help="write the learned forecaster")
    parser.add_argument("--plot", metavar="PNG", help="plot the series, the backtest, the forecast and its intervals")
    parser.add_argument("--lags", type=_lags, metavar="N|A,B,...", help="with a model of your own: past values it sees")
    parser.add_argument("--stride", type=positive, help="steps between two of them (default %(default)s)")
    parser.add_argument("--rollout", type=positive, help="also learn from forecasts this many steps deep")
    parser.add_argument("--seed", type=natural, help="of the sampled paths (default %(default)s)")
    add_model(parser)
    add_live(parser)


def _lags(text: str) -> int | list[int]:
    """A number of lags, or several lags."""
    return [positive(part) for part in text.split(",")] if "," in text else positive(text)


def run(arguments: argparse.Namespace) -> int:
    """Forecast, with intervals, after forecasts of the series' own end."""
    from ..lagged_forecast import forecast_lagged
    from ..plots import check_plot
    from ..watching import check_live, series_view
    from ..writing import check_outputs

    check_live(arguments)
    outputs = {"--save": arguments.save, "--plot": arguments.plot, "--live-save": arguments.live_save}
    check_outputs(outputs, {"the input": arguments.file})
    if arguments.plot:
        check_plot(arguments.plot)
    if any(getattr(arguments, name) is not None for name in OWN):
        _refuse(arguments, AUTOMATIC, "is for the automatic forecaster: leave --lags and options of the model out")
        arguments.model = arguments.model or "krls"
        with series_view(arguments) as seen:
            return forecast_lagged(arguments, seen)
    _refuse(arguments, WITH_OWN, "goes with a model of your own: give --lags, or leave it out")
    for option in ("save", "live"):
        if getattr(arguments, option) and arguments.group:
            raise CommandError(f"--{option} is for one series: leave --group out")
    with series_view(arguments) as seen:
        return _forecast(arguments, seen)


def _refuse(arguments: argparse.Namespace, options: dict[str, Any], reason: str) -> None:
    """Options that would be without effect are an error."""
    for option, default in options.items():
        if getattr(arguments, option) != default:
            raise CommandError(f"--{option} {reason}")


def _forecast(arguments: argparse.Namespace, seen: SeriesView | None) -> int:
    from ..plots import plot_forecasts
    from ..writing import save

    outcomes = _outcomes(arguments, seen)
    plot = plot_forecasts(outcomes, arguments.plot) if arguments.plot else None
    if arguments.save:
        ((_, outcome),) = outcomes.values()
        save(outcome.model, arguments.save)
    if arguments.json:
        records = [_record(group, past, outcome, plot) for group, (past, outcome) in outcomes.items()]
        print_json(records if arguments.group else records[0])
        return OK
    for group, (past, outcome) in outcomes.items():
        _show(group, past, outcome)
    if plot:
        print(f"\nplot: {plot}")
    return OK


def _outcomes(arguments: argparse.Namespace, seen: SeriesView | None) -> dict[str | None, tuple[Any, Any]]:
    """The past and the forecast of every group."""
    from ...forecasting import report
    from ..records import read_records
    from ..telling import tell_of_dates, tell_of_season

    features = column_names(arguments.features) or []
    for option, names in (("features", features), ("group", [arguments.group])):
        if arguments.column in names:
            raise CommandError(f"--{option} has {arguments.column!r}, which is the series")
    try:
        rows = list(read_records(arguments, [arguments.column, *features]))
        if not rows:
            raise ValueError("no rows")
        outcomes = {}
        for group, part in report.groups_of(rows, arguments.group).items():
            past = report.past_of(part, arguments.column, features)
            outcome = report.forecast_series(
                past,
                arguments.horizon,
                arguments.season,
                arguments.confidence_level,
                arguments.backtest,
                progress,
                None if seen is None else seen.learn,
            )
            tell_of_season(arguments.file, group, arguments.season, outcome)
            tell_of_dates(arguments.file, group, past, arguments.column)
            if seen is not None:
                seen.foresee(outcome.steps)
            outcomes[group] = past, outcome
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CommandError(f"{arguments.file}: {error}") from error
    return outcomes


def _record(group: str | None, past: Any, outcome: Any, plot: str | None) -> dict[str, Any]:
    backtest = outcome.backtest
    return {
        **({} if group is None else {"group": group}),
        "values": len(past.values),
        "gaps": _gaps(past),
        "seasons": list(outcome.model.seasons),
        "rmse": None if backtest is None else backtest.rmse,
        "naive_rmse": None if backtest is None else backtest.naive_rmse,
        "coverage": None if backtest is None else backtest.coverage,
        "forecast": outcome.steps,
        "plot": plot,
    }


def _show(group: str | None, past: Any, outcome: Any) -> None:
    model, backtest = outcome.model, outcome.backtest
    season = " and ".join(map(str, model.seasons))
    count, gaps = len(past.values), _gaps(past)
    said = f"{count} value{'s' if count != 1 else ''}" + (
        f", of which {gaps} gap{'s' if gaps > 1 else ''}" if gaps else ""
    )
    print(f"{'' if group is None else f'{group}: '}{said}; season {season or 'none'}.")
    if backtest is not None:
        print(
            f"{len(backtest.origins)} forecasts of its own end had RMSE {backtest.rmse:.6g} "
            f"(naive: {backtest.naive_rmse:.6g}); {backtest.coverage:.0%} of the values were in their intervals."
        )
    print(f"What follows, with {model.confidence_level:.0%} intervals:\n")
    time = ["time"] if "time" in outcome.steps[0] else []
    rows = [
        [str(s["step"]), *(s[k] for k in time), *(shown(s[k]) for k in ("mean", "lower", "upper"))]
        for s in outcome.steps
    ]
    print(table(["step", *time, "forecast", "lower", "upper"], rows) + "\n")


def _gaps(past: Any) -> int:
    return sum(value != value for value in past.values)
