"""plot_intervals: what is drawn, and what is said where it cannot be."""

from __future__ import annotations

import inspect
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from river import conf, proba
from scipy import stats

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

from streamkernel import plotting
from streamkernel.equalization.curves import Point
from streamkernel.plotting import plot_intervals


def gaussians(means, sd=1.0):
    return [proba.Gaussian._from_state(n=1, m=m, var=sd**2, ddof=0) for m in means]


@pytest.fixture
def ax():
    return Figure().subplots()


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def band(collection):
    """Position -> (lowest, highest) of a filled band."""
    vertices = collection.get_paths()[0].vertices
    return {x: (vertices[vertices[:, 0] == x, 1].min(), vertices[vertices[:, 0] == x, 1].max()) for x in vertices[:, 0]}


def test_bands_points_and_outliers(ax):
    y = [0.2, 1.5, 6.0, 2.9]
    assert plot_intervals(y, gaussians(range(4)), confidence_levels=(0.5, 0.9), ax=ax) is ax
    wide, narrow = map(band, ax.collections)
    for i in range(4):
        assert wide[i] == pytest.approx(stats.norm.interval(0.9, i))
        assert narrow[i] == pytest.approx(stats.norm.interval(0.5, i))
    drawn = lines(ax)
    np.testing.assert_allclose(drawn["prediction"], [[i, i] for i in range(4)])
    np.testing.assert_allclose(drawn["inside"], [[0, 0.2], [1, 1.5], [3, 2.9]])
    np.testing.assert_allclose(drawn["outside: 1 of 4"], [[2, 6.0]])
    assert [c.get_label() for c in ax.collections] == ["90 % interval", "50 % interval"]


def test_positions_are_sorted(ax):
    plot_intervals([1.0, 2.0, 3.0], gaussians([1.0, 2.0, 3.0]), x=[30.0, 10.0, 20.0], confidence_levels=0.9, ax=ax)
    np.testing.assert_allclose(lines(ax)["prediction"], [[10, 2], [20, 3], [30, 1]])


def test_dates(ax):
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    plot_intervals([0.0, 0.0], gaussians([0.0, 0.0]), x=days, ax=ax)
    assert len(lines(ax)["prediction"]) == 2


def test_intervals_are_drawn_as_they_are(ax):
    plot_intervals([0.0, 5.0], [conf.interval.Interval(-1.0, 2.0), (0.0, 4.0)], ax=ax)
    (drawn,) = map(band, ax.collections)
    assert drawn == {0.0: (-1.0, 2.0), 1.0: (0.0, 4.0)}
    assert ax.collections[0].get_label() == "interval"
    assert "outside: 1 of 2" in lines(ax)


def test_one_interval_among_distributions_leaves_one_band(ax):
    """Which has no other level: that of the distributions is the widest."""
    plot_intervals([0.0, 0.0], [*gaussians([0.0]), (0.0, 4.0)], confidence_levels=(0.5, 0.9), ax=ax)
    (drawn,) = map(band, ax.collections)
    assert drawn[0.0] == pytest.approx((-1.645, 1.645), abs=1e-3) and drawn[1.0] == (0.0, 4.0)
    assert ax.collections[0].get_label() == "interval"


def test_new_axes_are_made():
    ax = plot_intervals([0.0], gaussians([0.0]))
    assert pyplot.fignum_exists(ax.figure.number)
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1.0]}, "y has 1 targets but dists has 2 predictions"),
        ({"x": [1.0]}, "x has 1 positions but y has 2 targets"),
        ({"confidence_levels": ()}, "confidence_levels must name at least one coverage"),
        ({"confidence_levels": 90}, "confidence_level must be a number between 0 and 1, got 90"),
        ({"confidence_levels": (0.5, 1.0)}, "confidence_level must be a number between 0 and 1, got 1.0"),
    ],
)
def test_bad_input(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_intervals(**{"y": [0.0, 1.0], "dists": gaussians([0.0, 1.0]), "ax": ax} | arguments)


def test_missing_matplotlib_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from streamkernel.plotting import plot_intervals\n"
        "try:\n    plot_intervals([], [])\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "plot_intervals needs matplotlib: pip install 'streamkernel[plot]'"


def test_errors_are_root_mean_squares_of_the_newest(ax):
    errors, other = np.random.default_rng(1).normal(size=(2, 300))
    assert plotting.plot_errors(errors, window=50, baseline=other, marks=[100, 200], ax=ax) is ax
    naive, model = (line.get_ydata() for line in ax.lines[:2])
    for t in (0, 10, 49, 50, 299):
        first = max(0, t - 49)
        assert model[t] == pytest.approx(np.sqrt(np.mean(errors[first : t + 1] ** 2)))
        assert naive[t] == pytest.approx(np.sqrt(np.mean(other[first : t + 1] ** 2)))
    assert [line.get_xdata()[0] for line in ax.lines[2:]] == [100, 200]
    assert ax.get_legend_handles_labels()[1] == ["baseline", "model", "drift"]
    assert len(plotting.plot_errors([], ax=Figure().subplots()).lines[0].get_xdata()) == 0
    with pytest.raises(ValueError, match="window"):
        plotting.plot_errors(errors, window=0)


def test_calibration_shows_intervals_that_are_too_narrow(ax):
    targets = np.random.default_rng(1).normal(size=2000)
    plotting.plot_calibration(targets, gaussians(np.zeros(2000), sd=0.5), ax=ax)
    levels, shares = ax.lines[1].get_data()
    assert levels == pytest.approx(np.arange(101) / 100.0)  # every percent
    expected = 2.0 * stats.norm.cdf(0.5 * stats.norm.ppf(0.5 + levels / 2)) - 1.0
    assert shares == pytest.approx(expected, abs=0.04) and (shares[20:-5] < levels[20:-5]).all()
    with pytest.raises(ValueError, match="dists has 1 values but y has 2"):
        plotting.plot_calibration([0.0, 1.0], gaussians([0.0]))
    with pytest.raises(TypeError, match="with_dist=True"):
        plotting.plot_calibration([0.0], [(0.0, 1.0)])


def test_relevance_over_time_draws_what_mattered_most(ax):
    history = [(10, {"a": 1.0}), (20, {"a": 0.2, "b": 0.7, "c": 0.1})]
    plotting.plot_relevance(history, most=2, ax=ax)
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    assert list(ax.lines[1].get_ydata()) == [0.0, 0.7] and list(ax.lines[1].get_xdata()) == [10, 20]
    with pytest.raises(ValueError, match="history is empty"):
        plotting.plot_relevance([])


def test_a_forecast_begins_where_the_past_ends(ax):
    bands = {0.5: [conf.Interval(3.5, 4.5)] * 2, 0.9: [conf.Interval(3.0, 5.0)] * 2}
    plotting.plot_forecast([1.0, np.nan, 3.0], [4.0, 4.0], bands, truth=[4.1], ax=ax)
    _, forecast, came = ax.lines
    assert list(forecast.get_xdata()) == [3, 4] and list(came.get_xdata()) == [3]
    assert len(ax.collections) == 2
    with pytest.raises(ValueError, match=r"intervals\[0.9\] has 1 values"):
        plotting.plot_forecast([1.0], [2.0, 3.0], {0.9: [(1.0, 3.0)]}, ax=ax)


def test_constellations_and_error_rates(ax):
    symbols = np.array([1 + 1j, -1 - 1j] * 10)
    assert plotting.plot_constellation(symbols + 0.1, symbols, "before", ax=ax) is ax
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[1.1, 1.0], [-0.9, -1.0]] * 10)
    assert ax.get_title() == "before"
    with pytest.raises(ValueError, match="values has 1 values but symbols has 2"):
        plotting.plot_constellation([1.0], [1.0, 2.0])
    points = [Point("kernel", 8.0, 1000, 100, 150, 2), Point("kernel", 10.0, 1000, 10, 12, 2)]
    rates = {
        bits: plotting.plot_error_rates(points, bits=bits, ax=Figure().subplots()).lines[0].get_ydata().tolist()
        for bits in (True, False)
    }
    assert rates == {True: [0.075, 0.006], False: [0.1, 0.01]}


@pytest.mark.parametrize("name", plotting.__all__)
def test_every_plot_takes_axes_and_says_what_it_needs(name):
    parameters = inspect.signature(getattr(plotting, name)).parameters
    assert parameters["ax"].default is None
