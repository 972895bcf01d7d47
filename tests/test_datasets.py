"""Generators: the facts the papers state, and what every data set promises."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, metrics, preprocessing, stream
from river.datasets import base

from streamkernel import datasets
from streamkernel.datasets import timeseries

GENERATORS = [
    datasets.SincLinear(seed=3),
    datasets.Friedman1(seed=3),
    datasets.Friedman2(seed=3),
    datasets.Friedman3(unit_cube=False, seed=3),
    datasets.MexicanHat(seed=3),
    datasets.MexicanHat(grid=True, seed=3),
    datasets.Heteroscedastic(seed=3),
    datasets.Step(seed=3),
    datasets.Step(size=2000, seed=3),
    datasets.MackeyGlass(seed=3),
    datasets.MackeyGlass(tau=30, step=0.5, transient=1500, noise=0.1, lags=3, stride=2, horizon=5, seed=3),
    datasets.Lorenz(seed=3),
    datasets.NonlinearChannel(seed=3),
    datasets.NonlinearChannel("qpsk", taps=(1, 0.4j, 0.1), lags=3, delay=1, seed=3),
    datasets.SincLinear(),  # no seed: drawn once
]
REGRESSIONS = [dataset for dataset in GENERATORS if hasattr(dataset, "sd")]
names = lambda dataset: type(dataset).__name__  # noqa: E731


@pytest.mark.parametrize("dataset", GENERATORS, ids=names)
def test_iteration_and_arrays_are_the_same_rows(dataset):
    n = dataset.n_samples or 2500  # more than two blocks
    X, y = dataset.arrays(n)
    assert X.dtype == np.float64 and X.shape == (n, dataset.n_features) and y.shape == (n,)
    assert np.isfinite(X).all() and np.isfinite(y).all()
    rows = list(dataset.take(n))
    assert all(tuple(x) == dataset.features for x, _ in rows)
    assert np.array_equal([list(x.values()) for x, _ in rows], X)
    assert np.array_equal([target for _, target in rows], y)
    assert list(dataset.take(n)) == rows
    assert np.array_equal(dataset.arrays(n - 7)[0], X[:-7])
    assert dataset.arrays(0)[0].shape == (0, dataset.n_features)


@pytest.mark.parametrize("dataset", GENERATORS, ids=names)
def test_river_conventions(dataset):
    assert isinstance(dataset, base.SyntheticDataset)
    assert type(dataset).__name__ in repr(dataset) and "seed" in repr(dataset)
    same = pickle.loads(pickle.dumps(copy.deepcopy(dataset)))
    assert list(same.take(3)) == list(dataset.take(3))
    x, _ = next(iter(dataset))
    assert all(type(value) is float for value in x.values())


@pytest.mark.parametrize("dataset", REGRESSIONS, ids=names)
def test_noise_has_the_stated_mean_and_deviation(dataset):
    X, y = dataset.arrays(dataset.n_samples or 20_000)
    score = (y - dataset.mean(X)) / dataset.sd(X)
    assert abs(score.mean()) < 4 / math.sqrt(len(y))
    assert abs(score.std() - 1) < 4 / math.sqrt(2 * len(y))
    with pytest.raises(ValueError, match="X must have shape"):
        dataset.mean(np.zeros((2, 99)))


def test_seeds_differ():
    first, second = (datasets.SincLinear(seed=seed).arrays(5)[0] for seed in (1, 2))
    assert not np.array_equal(first, second)
    assert not np.array_equal(datasets.SincLinear().arrays(5)[0], datasets.SincLinear().arrays(5)[0])


def test_a_river_pipeline_learns():
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    metric = metrics.R2()
    for x, y in datasets.Friedman1(seed=1).take(2000):
        metric.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert metric.get() > 0.4
    X, y = datasets.Friedman1(seed=1).arrays(3)
    assert [x for x, _ in stream.iter_array(X, y)] == [x for x, _ in datasets.Friedman1(seed=1).take(3)]


def test_sinc_linear_function():
    mean = datasets.SincLinear().mean(np.array([[0.0, 0.0], [math.pi, 5.0], [2.0, -1.0]]))
    assert mean == pytest.approx([1.0, 0.5, math.sin(2) / 2 - 0.1])


def test_friedman_moments():
    # Friedman 1 in closed form: 10 sin(pi u v) by quadrature, the rest by the moments of a uniform.
    grid = (np.arange(2000) + 0.5) / 2000
    product = 10 * np.sin(math.pi * np.outer(grid, grid))
    variance = product.var() + 400 * (1 / 80 - 1 / 144) + 100 / 12 + 25 / 12 + 0.01
    _, y = datasets.Friedman1(seed=0).arrays(200_000)
    assert y.var() == pytest.approx(variance, rel=0.01)
    assert y.mean() == pytest.approx(product.mean() + 20 / 12 + 5 + 2.5, rel=0.005)
    _, y = datasets.Friedman2(seed=0).arrays(200_000)
    assert y.std() == pytest.approx(380, rel=0.02)  # the target is not rescaled
    _, y = datasets.Friedman3(seed=0).arrays(200_000)
    assert abs(y.mean() - 1.32) < 0.01 and y.max() < math.pi / 2 + 0.6


@pytest.mark.parametrize("kind", [datasets.Friedman2, datasets.Friedman3])
def test_friedman_unit_cube_is_the_same_problem(kind):
    X, y = kind(seed=5).arrays(500)
    natural, same = kind(unit_cube=False, seed=5).arrays(500)
    assert X.min() >= 0 and X.max() <= 1
    assert y == pytest.approx(same)
    low, high = np.array([0, 40 * math.pi, 0, 1]), np.array([100, 560 * math.pi, 1, 11])
    assert natural == pytest.approx(low + X * (high - low))
    x = natural[0]
    reactance = x[1] * x[2] - 1 / (x[1] * x[3])
    expected = math.hypot(x[0], reactance) if kind is datasets.Friedman2 else math.atan(reactance / x[0])
    assert kind(unit_cube=False).mean(natural)[0] == pytest.approx(expected)


def test_mexican_hat_grid():
    X, _ = datasets.MexicanHat(grid=True).arrays()
    assert len(X) == 100 and 0 not in X and np.array_equal(X[:, 0], np.unique(X)) and X[49, 0] == -0.2
    assert datasets.MexicanHat().mean(np.array([[-2.0], [0.0]])) == pytest.approx([math.sin(2) / 2, 1])


def test_williams_formula():
    dataset = datasets.Heteroscedastic(seed=0)
    x = 0.7
    assert dataset.mean(np.array([[x]]))[0] == pytest.approx(math.sin(2.5 * x) * math.sin(1.5 * x))
    assert dataset.sd(np.array([[x]]))[0] ** 2 == pytest.approx(0.01 + 0.25 * (1 - math.sin(2.5 * x)) ** 2)
    X, y = dataset.arrays(100_000)
    near = np.abs(X[:, 0] - 1.9) < 0.01  # the noise is largest near 3 pi / 5
    assert y[near].std() == pytest.approx(dataset.sd(X[near]).mean(), rel=0.1) and y[near].std() > 0.9


def test_step():
    X, y = datasets.Step(noise=0).arrays()
    assert X[0, 0] == -1 and X[-1, 0] == 1 and np.allclose(np.diff(X[:, 0]), 2 / 99)
    assert np.array_equal(y, X[:, 0] > 0)


# Time series


def slow_mackey_glass(start, tau, step, n):
    """The definition, with the whole history in a list."""
    history, delay, per_sample = [start], round(tau / step), round(1 / step)
    for i in range(n * per_sample):
        past = history[i - delay] if i >= delay else 0.0
        square = past * past
        fourth = square * square
        history.append(history[i] + step * (0.2 * past / (1.0 + fourth * fourth * square) - 0.1 * history[i]))
    return history[::per_sample][:n]


@pytest.mark.parametrize(("tau", "step"), [(17, 0.1), (17, 0.5), (30, 0.25), (0.5, 0.5)])
def test_mackey_glass_is_the_definition_bit_for_bit(tau, step):
    series = datasets.MackeyGlass(tau=tau, step=step, seed=4).series(300)
    assert series.tolist() == slow_mackey_glass(series[0], tau, step, 300)


def test_mackey_glass_rows():
    dataset = datasets.MackeyGlass(seed=4)
    series = dataset.series(1300)
    assert 0.1 <= series[0] <= 2
    X, y = dataset.arrays(1200)
    for i in (0, 1, 1199):
        assert y[i] == series[40 + i]
        assert X[i].tolist() == [series[40 + i - 4 * k] for k in range(1, 11)]
    X, y = datasets.MackeyGlass(lags=3, stride=1, horizon=7, seed=4).arrays(10)
    assert X[0].tolist() == series[[2, 1, 0]].tolist() and y[0] == series[9]


def test_mackey_glass_transient_and_noise():
    clean = datasets.MackeyGlass(seed=4).series(5000)
    assert np.array_equal(datasets.MackeyGlass(transient=3000, seed=4).series(2000), clean[3000:])
    noise = datasets.MackeyGlass(noise=0.1, seed=4).series(5000) - clean
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    attractor = datasets.MackeyGlass(transient=1000, seed=4).series(20_000)
    assert 0.2 < attractor.min() < 0.5 and 1.25 < attractor.max() < 1.45


def test_lorenz_attractor():
    dataset = datasets.Lorenz(seed=1)
    states = dataset.states(20_000)
    assert np.array_equal(states[:3000, 0], dataset.series(3000))
    assert np.array_equal(datasets.Lorenz(coordinate="z", seed=1).series(3000), states[:3000, 2])
    assert states[:, 2].mean() == pytest.approx(23.55, abs=0.3)
    assert states[:, 0].std() == pytest.approx(7.93, abs=0.15)
    # d(x^2 / 2 sigma - z)/dt has mean zero on the attractor: beta <z> = <x^2>.
    assert (states[:, 0] ** 2).mean() == pytest.approx(8 / 3 * states[:, 2].mean(), rel=0.02)


def test_lorenz_step_is_fourth_order():
    def after(steps):
        state, out = np.array([1.0, 2.0, 3.0]), np.empty((2, 3))
        timeseries._lorenz(state, 10.0, 28.0, 8 / 3, 0.2 / steps, steps, out)
        return out[1]

    exact = after(10_000)
    coarse, fine = (np.abs(after(steps) - exact).max() for steps in (20, 40))
    assert 12 < coarse / fine < 20


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 40), st.booleans())
@settings(max_examples=60, deadline=None)
def test_embed_is_its_definition(lags, stride, horizon, n, pad):
    series = np.arange(1.0, n + 1)
    X, y = datasets.embed(series, lags, stride, horizon, pad)
    value = lambda t: series[t] if t >= 0 else 0.0  # noqa: E731
    first = 0 if pad else lags * stride
    times = range(first, n - horizon + 1)
    assert X.shape == (max(0, len(times)), lags)
    assert y.tolist() == [series[t + horizon - 1] for t in times]
    assert X.tolist() == [[value(t - stride * k) for k in range(1, lags + 1)] for t in times]


# Channel


def test_paper_channel():
    channel = datasets.NonlinearChannel(noise=0, seed=2)
    u, y = channel.sequence(3000)
    filtered = u[1:] + 0.5 * u[:-1]
    assert y[1:] == pytest.approx(filtered - 0.9 * filtered**3)
    noisy = datasets.NonlinearChannel(seed=2).sequence(3000)
    assert np.array_equal(noisy[0], u)
    assert (noisy[1] - y).var() == pytest.approx(0.2, rel=0.1)
    assert set(u.tolist()) == {-1.0, 1.0} and abs(u.mean()) < 0.1


@pytest.mark.parametrize("alphabet", ["bpsk", "qpsk"])
@pytest.mark.parametrize(("lags", "delay"), [(2, 0), (2, 1), (2, 2), (1, 0), (5, 1), (2, 1500)])
def test_channel_rows(alphabet, lags, delay):
    channel = datasets.NonlinearChannel(alphabet, lags=lags, delay=delay, seed=2)
    u, y = channel.sequence(4000)
    X, target = channel.arrays(1200)
    first = max(0, lags - 1 - delay)
    assert np.array_equal(target, u[first : first + 1200])
    for row in (0, 1, 1199):
        window = [y[first + row + delay - k] for k in range(lags)]
        parts = window if alphabet == "bpsk" else [part for value in window for part in (value.real, value.imag)]
        assert X[row].tolist() == parts


def test_channel_by_your_own_parts():
    impulse = datasets.NonlinearChannel(taps=(1, 2, 3), nonlinearity=None, noise=0).transmit([1, 0, 0, 0])
    assert impulse.tolist() == [1, 2, 3, 0]
    laplace = datasets.NonlinearChannel(
        (0, 1, 2, 3), nonlinearity=np.tanh, noise=lambda random, n: random.laplace(size=n), seed=1
    )
    assert laplace.task == base.MULTI_CLF and laplace.n_classes == 4
    assert set(laplace.arrays(200)[1].tolist()) == {0, 1, 2, 3}
    qpsk = datasets.NonlinearChannel("qpsk", seed=1)
    u, y = qpsk.sequence(20_000)
    assert np.abs(u) == pytest.approx(1) and np.iscomplexobj(y)
    clean = datasets.NonlinearChannel("qpsk", noise=0, seed=1).sequence(20_000)[1]
    assert np.mean(np.abs(y - clean) ** 2) == pytest.approx(0.2, rel=0.05)
    assert np.array_equal(qpsk.transmit(u[:50], seed=9), qpsk.transmit(u[:50], seed=9))


def quadrature_bayes_error(delay):
    """The paper's channel at two observations, by a sum over a grid of the plane."""
    distort = lambda x: x - 0.9 * x**3  # noqa: E731
    grid = np.linspace(-6, 6, 801)
    density = {-1: np.zeros((801, 801)), 1: np.zeros((801, 801))}
    for u in itertools.product((-1, 1), repeat=3):
        late = np.exp(-((grid - distort(u[2] + 0.5 * u[1])) ** 2) / 0.4)
        early = np.exp(-((grid - distort(u[1] + 0.5 * u[0])) ** 2) / 0.4)
        density[u[2 - delay]] += np.outer(late, early)
    total = density[-1].sum() + density[1].sum()
    return 1 - np.maximum(density[-1], density[1]).sum() / total


@pytest.mark.parametrize(("delay", "published"), [(0, 0.154), (1, 0.055), (2, 0.038)])
def test_bayes_error_of_the_paper_channel(delay, published):
    channel = datasets.NonlinearChannel(delay=delay)
    exact = quadrature_bayes_error(delay)
    assert channel.bayes_error() == pytest.approx(exact, abs=0.001)
    assert exact == pytest.approx(published, abs=0.0015)


def test_bayes_error_limits():
    assert datasets.NonlinearChannel(noise=1e-3, delay=1).bayes_error(1000) == pytest.approx(0, abs=1e-9)
    assert datasets.NonlinearChannel(noise=100.0).bayes_error(10_000) == pytest.approx(0.5, abs=0.01)
    assert datasets.NonlinearChannel("qpsk", delay=9).bayes_error() == 0.75
    # Without memory and nonlinearity: the Gaussian tail beyond one standard deviation.
    plain = datasets.NonlinearChannel(taps=(1,), nonlinearity=None, noise=1.0, lags=1)
    assert plain.bayes_error() == pytest.approx(math.erfc(1 / math.sqrt(2)) / 2, abs=0.001)


BAD = [
    (lambda: datasets.SincLinear(noise=-1), r"noise must be a finite number >= 0, got -1"),
    (lambda: datasets.SincLinear(noise=math.nan), "noise must be .*nan"),
    (lambda: datasets.SincLinear(noise="a"), "noise must be .*'a'"),
    (lambda: datasets.SincLinear(seed=-1), "seed must be an integer >= 0, got -1"),
    (lambda: datasets.SincLinear(seed=1.5), "seed must be .*1.5"),
    (lambda: datasets.SincLinear().arrays(), "n must be given: SincLinear is endless"),
    (lambda: datasets.SincLinear().arrays(-1), "n must be an integer >= 0, got -1"),
    (lambda: datasets.Step().arrays(101), "n must be at most the 100 rows of Step, got 101"),
    (lambda: datasets.Step(size=1), "size must be an integer >= 2, got 1"),
    (lambda: datasets.MackeyGlass(tau=0), "tau must be a finite number > 0, got 0"),
    (lambda: datasets.MackeyGlass(step=0.3), "step must divide the sampling interval of 1"),
    (lambda: datasets.MackeyGlass(tau=17.3, step=0.5), r"step must divide tau \(17.3\)"),
    (lambda: datasets.MackeyGlass(step=2), "step must divide"),
    (lambda: datasets.MackeyGlass(lags=0), "lags must be an integer >= 1, got 0"),
    (lambda: datasets.MackeyGlass(stride=True), "stride must be .*True"),
    (lambda: datasets.MackeyGlass(horizon=0), "horizon must be .*got 0"),
    (lambda: datasets.MackeyGlass(transient=-1), "transient must be .*got -1"),
    (lambda: datasets.MackeyGlass().series(-1), "n must be .*got -1"),
    (lambda: datasets.Lorenz(coordinate="w"), "coordinate must be .*'w'"),
    (lambda: datasets.Lorenz(interval=50.0).series(5), "interval must be short enough"),
    (lambda: datasets.embed([[1.0]], 1), "series must be one-dimensional"),
    (lambda: datasets.NonlinearChannel("9psk"), "alphabet must be 'bpsk', 'qpsk'.* or .*'9psk'"),
    (lambda: datasets.NonlinearChannel([1, 1]), "alphabet must be a sequence of distinct"),
    (lambda: datasets.NonlinearChannel([1.0]), "alphabet must hold at least two"),
    (lambda: datasets.NonlinearChannel(taps=()), "taps must be a non-empty"),
    (lambda: datasets.NonlinearChannel(taps=(1, math.inf)), "taps must be finite"),
    (lambda: datasets.NonlinearChannel(delay=-1), "delay must be .*got -1"),
    (lambda: datasets.NonlinearChannel(noise=-0.1), "noise must be .*-0.1"),
    (lambda: datasets.NonlinearChannel(nonlinearity=lambda x: x[1:]).arrays(5), "nonlinearity must keep the shape"),
    (lambda: datasets.NonlinearChannel(nonlinearity=lambda x: 1j * x).arrays(5), "must be real"),
    (lambda: datasets.NonlinearChannel(noise=lambda random, n: [0.0]).arrays(5), "noise must return"),
    (lambda: datasets.NonlinearChannel().transmit([]), "symbols must be a non-empty"),
    (lambda: datasets.NonlinearChannel().transmit([1j]), "symbols must be real"),
    (lambda: datasets.NonlinearChannel(noise=0).bayes_error(), "noise must be a positive number"),
    (lambda: datasets.NonlinearChannel(lags=30).bayes_error(), "lags must leave at most"),
    (lambda: datasets.SantaFeLaser(part="B"), "part must be one of .*'B'"),
    (lambda: datasets.SantaFeLaser(rows=(0, 5)), "rows must be .*got 0"),
    (lambda: datasets.SantaFeLaser(rows=(1, 1001)), r"rows must be .*within 1 to 1000 of part 'A'.*\(1, 1001\)"),
    (lambda: datasets.SantaFeLaser(rows=7), r"rows must be \(first, last\), got 7"),
    (lambda: datasets.Ripley("validation"), "part must be .*'validation'"),
    (lambda: datasets.Raetsch("apple"), "name must be one of .*'apple'"),
    (lambda: datasets.Abalone(folder="/no/such/folder"), "folder must be an existing folder, got '/no/such/folder'"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
