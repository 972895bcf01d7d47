"""Simulated chaotic series as prediction problems: a row holds lagged values, the target is the value to predict."""

from __future__ import annotations

import abc
from collections.abc import Iterator

import numpy as np
from numba import njit

from streamkernel import checks
from streamkernel.datasets.base import BLOCK, Block, Floats, Generator, check_count, check_number, embed

__all__ = ["Lorenz", "MackeyGlass"]


class _LaggedSeries(Generator, abc.ABC):
    """A generator of an endless series, embedded as it comes."""

    def __init__(self, transient: int, noise: float, lags: int, stride: int, horizon: int, seed: int | None) -> None:
        for name, value in (("lags", lags), ("stride", stride), ("horizon", horizon)):
            check_count(name, value)
        check_count("transient", transient, low=0)
        check_number("noise", noise, low=0)
        super().__init__(n_features=lags, seed=seed)
        self.transient = transient
        self.noise = noise
        self.lags = lags
        self.stride = stride
        self.horizon = horizon

    @abc.abstractmethod
    def _simulate(self) -> Iterator[Floats]:
        """The noise-free series from its start, `BLOCK` values at a time."""

    def _observe(self) -> Iterator[Floats]:
        # The noise has a random stream of its own, so that its level does not change the trajectory.
        random, skip = self._random(stream=1), self.transient
        for values in self._simulate():
            kept, skip = values[skip:], max(0, skip - len(values))
            yield kept + self.noise * random.standard_normal(kept.shape)

    def series(self, n: int) -> Floats:
        """The first `n` values of the series that the rows are cut from (after the transient, with the noise)."""
        check_count("n", n, low=0)
        parts: list[Floats] = []
        have = 0
        for values in self._observe():
            parts.append(values)
            have += len(values)
            if have >= n:
                break
        return np.concatenate(parts)[:n]

    def _blocks(self) -> Iterator[Block]:
        reach = self.lags * self.stride + self.horizon - 1
        tail = np.empty(0)
        for values in self._observe():
            tail = np.concatenate([tail, values])
            if len(tail) > reach:
                yield embed(tail, self.lags, self.stride, self.horizon)
                tail = tail[-reach:]


@njit(cache=True)
def _mackey_glass(
    delayed: Floats, position: int, value: float, a: float, b: float, step: float, steps_per_sample: int, out: Floats
) -> tuple[int, float]:
    """Fill `out` with samples of dy/dt = a y(t - tau) / (1 + y(t - tau)^10) - b y(t), one Euler step at a time.

    Requires: `delayed` is a ring of the last tau / step values, its oldest at `position`; `value` is y(t).
    Ensures: `delayed` and the returned (position, value) continue the series. The power is written out, so that the
    result is the same bit for bit on every platform.
    """
    for i in range(len(out)):
        out[i] = value
        for _ in range(steps_per_sample):
            past = delayed[position]
            delayed[position] = value
            position += 1
            if position == len(delayed):
                position = 0
            square = past * past
            fourth = square * square
            value += step * (a * past / (1.0 + fourth * fourth * square) - b * value)
    return position, value


class MackeyGlass(_LaggedSeries):
    """The Mackey-Glass series: predict it from lagged values.

    $$dy/dt = a y(t - \\tau) / (1 + y(t - \\tau)^{10}) - b y(t)$$

    with a = 0.2, b = 0.1, sampled once per time unit. It is chaotic for tau > 16.8. By default a row is the KRLS
    paper's: the target y(t) with the ten lags y(t - 4), y(t - 8), ..., y(t - 40).

    The paper gives the Euler method, y(0) uniform on [0.1, 2] and y(t) = 0 before. It leaves the rest open, decided
    here so that its table is reproduced: the Euler step is 0.1, no transient is discarded, the series begins with y(0),
    and the first row is the first with every lag inside the series (t = 40).

    Parameters
    ----------
    tau
        The delay, a multiple of `step`: 17 (weakly chaotic) and 30 in the paper.
    step
        Length of an Euler step; a whole number of them makes one time unit.
    transient
        Samples discarded from the start of the series.
    noise
        Standard deviation of Gaussian noise on the observed values, lags and target alike.
    lags
        Number of lags in a row.
    stride
        Samples between two lags, and between the target of horizon 1 and the most recent lag.
    horizon
        1 has y(t) as the target, h has y(t + h - 1). With the paper's stride of 4 the most recent lag is then h + 3
        samples back.
    seed
        Random seed number used for reproducibility.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.MackeyGlass(tau=17, seed=1)
    >>> X, y = dataset.arrays(1000)
    >>> X.shape
    (1000, 10)

    Column 0 is the most recent lag, four samples before the target:

    >>> bool((X[4:, 0] == y[:-4]).all())
    True

    >>> dataset.series(3).round(4).tolist()
    [1.4282, 1.2916, 1.1681]

    References
    ----------
    [^1]: Mackey, M.C. and Glass, L., 1977. Oscillation and chaos in physiological control systems. Science, 197(4300).
    [^2]: Engel, Y., Mannor, S. and Meir, R., 2004. The kernel recursive least-squares algorithm, section 5.2.1.

    """

    _A, _B = 0.2, 0.1

    def __init__(
        self,
        tau: float = 17,
        step: float = 0.1,
        transient: int = 0,
        noise: float = 0.0,
        lags: int = 10,
        stride: int = 4,
        horizon: int = 1,
        seed: int | None = None,
    ) -> None:
        check_number("tau", tau, low=0, open_low=True)
        check_number("step", step, low=0, open_low=True)
        checks.divisor("step", step, 1, "the sampling interval of 1")
        checks.divisor("step", step, tau, f"tau ({tau:g})")
        self._steps_per_sample = round(1 / step)
        self._delay_steps = round(tau / step)
        super().__init__(transient, noise, lags, stride, horizon, seed)
        self.tau = tau
        self.step = step

    def _simulate(self) -> Iterator[Floats]:
        value = self._random().uniform(0.1, 2)
        delayed, position = np.zeros(self._delay_steps), 0
        while True:
            out = np.empty(BLOCK)
            position, value = _mackey_glass(
                delayed, position, value, self._A, self._B, float(self.step), self._steps_per_sample, out
            )
            yield out


@njit(cache=True)
def _lorenz(
    state: Floats, sigma: float, rho: float, beta: float, step: float, steps_per_sample: int, out: Floats
) -> None:
    """Fill the rows of `out` with states of the Lorenz system, by the classical fourth-order Runge-Kutta method.

    Requires: `state` has three entries. Ensures: `state` continues the trajectory after the last row.
    """
    slope, total, point = np.empty(3), np.empty(3), np.empty(3)
    for i in range(len(out)):
        out[i] = state
        for _ in range(steps_per_sample):
            point[:] = state
            total[:] = 0.0
            for stage in range(4):
                slope[0] = sigma * (point[1] - point[0])
                slope[1] = point[0] * (rho - point[2]) - point[1]
                slope[2] = point[0] * point[1] - beta * point[2]
                total += slope if stage in (0, 3) else 2.0 * slope
                point[:] = state + (step if stage == 2 else step / 2) * slope
            state += step / 6 * total


class Lorenz(_LaggedSeries):
    """One coordinate of the Lorenz system: predict it from lagged values.

    $$dx/dt = \\sigma (y - x), dy/dt = x (\\rho - z) - y, dz/dt = x y - \\beta z$$

    with the classical sigma = 10, rho = 28, beta = 8/3 by default, integrated by the fourth-order Runge-Kutta method in
    steps of `interval` / 10. The start is uniform in the unit cube around (1, 1, 1), and the transient is discarded.

    Parameters
    ----------
    interval
        Time between two samples.
    coordinate
        Which of "x", "y", "z" is observed.
    sigma
        Prandtl number.
    rho
        Rayleigh number.
    beta
        Geometric factor.
    transient
        Samples discarded from the start of the series.
    noise
        Standard deviation of Gaussian noise on the observed values, lags and target alike.
    lags
        Number of lags in a row.
    stride
        Samples between two lags, and between the target of horizon 1 and the most recent lag.
    horizon
        1 has y(t) as the target, h has y(t + h - 1).
    seed
        Random seed number used for reproducibility.

    Examples
    --------

    >>> from streamkernel import datasets

    >>> dataset = datasets.Lorenz(seed=1)
    >>> len(dataset.series(500)), dataset.states(500).shape
    (500, (500, 3))

    References
    ----------
    [^1]: Lorenz, E.N., 1963. Deterministic nonperiodic flow. Journal of the Atmospheric Sciences, 20(2), pp.130-141.

    """

    _STEPS_PER_SAMPLE = 10

    def __init__(
        self,
        interval: float = 0.05,
        coordinate: str = "x",
        sigma: float = 10.0,
        rho: float = 28.0,
        beta: float = 8 / 3,
        transient: int = 500,
        noise: float = 0.0,
        lags: int = 6,
        stride: int = 1,
        horizon: int = 1,
        seed: int | None = None,
    ) -> None:
        check_number("interval", interval, low=0, open_low=True)
        checks.choice("coordinate", coordinate, ("x", "y", "z"))
        for name, value in (("sigma", sigma), ("rho", rho), ("beta", beta)):
            check_number(name, value)
        super().__init__(transient, noise, lags, stride, horizon, seed)
        self.interval = interval
        self.coordinate = coordinate
        self.sigma = sigma
        self.rho = rho
        self.beta = beta

    def _trajectory(self) -> Iterator[Floats]:
        state = 1 + self._random().uniform(-0.5, 0.5, 3)
        step = self.interval / self._STEPS_PER_SAMPLE
        while True:
            out = np.empty((BLOCK, 3))
            with np.errstate(over="ignore", invalid="ignore"):  # said below
                _lorenz(state, float(self.sigma), float(self.rho), float(self.beta), step, self._STEPS_PER_SAMPLE, out)
            if not np.isfinite(out).all():
                raise ValueError(f"interval must be short enough to integrate, got {self.interval!r}")
            yield out

    def _simulate(self) -> Iterator[Floats]:
        column = "xyz".index(self.coordinate)
        for states in self._trajectory():
            yield states[:, column]

    def states(self, n: int) -> Floats:
        """The first `n` noise-free states (x, y, z) after the transient, one a row."""
        check_count("n", n, low=0)
        parts: list[Floats] = []
        for states in self._trajectory():
            parts.append(states)
            if len(parts) * BLOCK >= n + self.transient:
                break
        return np.concatenate(parts)[self.transient : self.transient + n]
