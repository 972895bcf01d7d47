"""plot_intervals: what is drawn, and what is said where it cannot be."""

from __future__ import annotations

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
    assert plot_intervals(y, gaussians(range(4)), levels=(0.5, 0.9), ax=ax) is ax
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
    plot_intervals([1.0, 2.0, 3.0], gaussians([1.0, 2.0, 3.0]), x=[30.0, 10.0, 20.0], levels=0.9, ax=ax)
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


def test_new_axes_are_made():
    ax = plot_intervals([0.0], gaussians([0.0]))
    assert pyplot.fignum_exists(ax.figure.number)
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1.0]}, "y has 1 targets but dists has 2 predictions"),
        ({"x": [1.0]}, "x has 1 positions but y has 2 targets"),
        ({"levels": ()}, "levels must name at least one coverage"),
        ({"levels": 90}, "level must be a number between 0 and 1, got 90"),
        ({"levels": (0.5, 1.0)}, "level must be a number between 0 and 1, got 1.0"),
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
