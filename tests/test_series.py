"""The recursions of time series, jitted and as plain Python: each against its formula, and all of them together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from streamkernel import AutoKernelForecaster
from streamkernel.core import series

pytestmark = pytest.mark.core
PERIODS = (3, 4)


def settings(rng: Any, count: int) -> Any:
    """Rows α, β, φ and the seasons' gain."""
    return rng.uniform(0.1, 0.9, (4, count))


def smoothed(rng: Any, count: int) -> Any:
    return rng.normal(size=count), rng.normal(size=count), rng.normal(size=(count, 7)), np.array(PERIODS)


def test_smoothing_is_holt_and_winters_with_cut_errors() -> None:
    rng = np.random.default_rng(1)
    table, (level, trend, seasonal, periods) = settings(rng, 5), smoothed(rng, 5)
    squares, limit, discount = np.zeros(5), 0.8, 0.9
    slow = [(level[g], trend[g], [list(seasonal[g, :3]), list(seasonal[g, 3:])], 0.0) for g in range(5)]
    is_cut = set()
    for time, value in enumerate(rng.normal(size=30)):
        series.smooth(table, (level, trend, seasonal, periods), squares, value, limit, discount, time)
        for g, (a, b, seasons, total) in enumerate(slow):
            alpha, beta, phi, gain = table[:, g]
            error = value - (a + phi * b + seasons[0][time % 3] + seasons[1][time % 4])
            total = discount * total + error**2
            is_cut.add(abs(error) > limit)
            error = np.clip(error, -limit, limit)
            seasons[0][time % 3] += gain * error
            seasons[1][time % 4] += gain * error
            slow[g] = a + phi * b + alpha * error, phi * b + alpha * beta * error, seasons, total
    np.testing.assert_allclose(level, [each[0] for each in slow], rtol=1e-9)
    np.testing.assert_allclose(trend, [each[1] for each in slow], rtol=1e-9)
    np.testing.assert_allclose(seasonal, [each[2][0] + each[2][1] for each in slow], rtol=1e-9)
    np.testing.assert_allclose(squares, [each[3] for each in slow], rtol=1e-9)
    assert is_cut == {True, False}


def test_settings_are_weighed_by_likelihood_within_groups_and_among_all() -> None:
    squares, groups = np.array([2.0, 1.0, 4.0, 0.5, 3.0]), np.array([0, 1, 0, 1, 1])
    found = series.setting_weights(squares, groups, 2, 6.0)
    for k, row in enumerate(found):
        wanted = squares**-3.0 * (np.ones(5) if k == 2 else groups == k)
        np.testing.assert_allclose(row, wanted / wanted.sum(), rtol=1e-12)
    squares[3] = 0.0  # without any error it has all the weight
    assert series.setting_weights(squares, groups, 2, 6.0)[1:, 3] == pytest.approx(1.0)


def test_smoothed_forecasts_are_damped_lines_and_seasons() -> None:
    rng = np.random.default_rng(2)
    table, state = settings(rng, 5), smoothed(rng, 5)
    weights, time, horizon = rng.dirichlet(np.ones(5), 3), 17, 6
    weights[0, 2] = 1e-13  # as good as nothing, and left out
    found = series.smooth_ahead(weights, table, state, horizon, time)
    level, trend, seasonal, _ = state
    wanted = np.zeros((3, horizon))
    for h in range(horizon):
        season = seasonal[:, (time + h) % 3] + seasonal[:, 3 + (time + h) % 4]
        damped = sum(table[2] ** i for i in range(1, h + 2))
        wanted[:2, h] = weights[:2] @ (level + damped * trend + season)
        wanted[2, h] = weights[2] @ season
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


ORDERS = [(0, 0), (1, 0), (0, 1), (1, 1)]


def difference(values: Any, order: int, seasonal: int, season: int) -> Any:
    """(1 − B)^d (1 − B^m)^D, zero where the past is unknown."""
    found = np.array(values)
    if order:
        found = np.append(0.0, np.diff(found))
    if seasonal:
        found = np.append(np.zeros(season), found[season:] - found[:-season])
    found[: order + seasonal * season] = 0.0
    return found


def test_autoregressions_are_kalman_filters_of_differences() -> None:
    rng = np.random.default_rng(3)
    lags, season, units = np.array([1, 2, 5]), 4, rng.uniform(0.5, 2.0, 4)
    models = (np.array(ORDERS, dtype=float), units, lags, season)
    prior, paces, largest, rate = np.array([0.5, 0.4, 0.3, 0.2]), np.array([0.9, 0.95, 0.99, 1.0]), 1.5, 0.1
    coefficients, covariance, noise = np.zeros((4, 4)), np.array([np.diag(prior)] * 4), np.ones(4)
    slow = [(np.zeros(4), np.diag(prior), 1.0) for _ in ORDERS]
    values, is_cut = rng.normal(size=40).cumsum(), set()
    for stop in range(1, 41):
        series.regress(values[:stop], models, (coefficients, covariance, noise), prior, paces, largest, rate)
        for k, (w, P, r) in enumerate(slow):
            past = np.append(np.zeros(5), difference(values[:stop], *ORDERS[k], season)) / units[k]
            x = np.append(past[-1 - lags], 1.0)
            error = past[-1] - w @ x
            limit = largest * math.sqrt(r)
            is_cut.add(int(np.sign(error)) if abs(error) > limit else 0)
            error = np.clip(error, -limit, limit)
            r += rate * (error**2 - r)
            gain = P @ x / (r + x @ P @ x)
            P = paces[k] * (P - np.outer(gain, P @ x)) + (1.0 - paces[k]) * np.diag(prior)
            slow[k] = w + gain * error, P, r
    np.testing.assert_allclose(coefficients, [each[0] for each in slow], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(covariance, [each[1] for each in slow], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(noise, [each[2] for each in slow], rtol=1e-8)
    assert is_cut == {-1, 0, 1}


@pytest.mark.parametrize("count", [3, 5, 12])
def test_autoregressions_go_on_as_iterated_differences(count: int) -> None:
    """The next value is the one whose difference is the predicted one, within the range and half of it more."""
    rng = np.random.default_rng(4)
    lags, season, units, horizon = np.array([1, 2, 5]), 4, rng.uniform(0.5, 2.0, 4), 9
    coefficients, values = rng.normal(size=(4, 4)), rng.normal(size=count)
    margin = 0.5 * np.ptp(values)
    models = (np.array(ORDERS, dtype=float), units, lags, season)
    found = series.regress_ahead(values, models, coefficients, horizon)
    for k, (order, seasonal) in enumerate(ORDERS):
        path = list(values)
        for _ in range(horizon):
            past = np.append(np.zeros(5), difference([*path, 0.0], order, seasonal, season))
            wanted = coefficients[k, :3] @ past[-1 - lags] + coefficients[k, 3] * units[k]
            at = len(path)
            if order:
                wanted += path[at - 1]
            if seasonal and at >= season:
                wanted += path[at - season] - (path[at - season - 1] if order and at > season else 0.0)
            elif seasonal and not order:
                wanted += path[at - 1]  # no season ago is known: the last value stands for it
            path.append(float(np.clip(wanted, values.min() - margin, values.max() + margin)))
        np.testing.assert_allclose(found[k], path[count:], rtol=1e-9, atol=1e-12)
    limits = {values.min() - margin, values.max() + margin}
    assert any(value in limits for value in found.ravel()) and not all(value in limits for value in found.ravel())


def test_losses_are_in_units_of_the_mean_one_and_discounted_by_band() -> None:
    rng = np.random.default_rng(5)
    bands, sizes, discount, largest = np.array([0, 1, 1, 2, 2, 2]), np.array([1.0, 2.0, 3.0]), 0.8, 1.7
    losses, counts = np.zeros((3, 3)), np.zeros(3)
    wanted, number = np.zeros((3, 3)), np.zeros(3)
    for _ in range(4):
        steps, errors = np.array([0, 2, 3, 5]), rng.normal(size=(3, 4))
        errors[:, 2] = 0.0  # nobody errs: it says nothing
        series.record(losses, counts, bands, sizes, steps, errors, discount, largest)
        for step, squares in zip(steps, (errors**2).T, strict=True):
            if squares.any():
                b = bands[step]
                keep = discount ** (1.0 / sizes[b])
                wanted[:, b] = keep * wanted[:, b] + np.minimum(squares / squares.mean(), largest) / sizes[b]
                number[b] = keep * number[b] + 1.0 / sizes[b]
    np.testing.assert_allclose(losses, wanted, rtol=1e-12)
    np.testing.assert_allclose(counts, number, rtol=1e-12)


def test_quantiles_lie_between_neighbors() -> None:
    scores = np.random.default_rng(6).normal(size=(4, 9))
    counts, levels = np.array([1, 4, 9, 6]), np.array([0.7, 0.5, 0.93, 1.0])
    wanted = [np.quantile(scores[b, : counts[b]], levels[b]) for b in range(4)]
    np.testing.assert_allclose(series.quantiles(scores, counts, levels), wanted, rtol=1e-12)


def test_scales_are_half_their_own_and_half_a_line() -> None:
    bands = np.array([0, 1, 1, 1, 1, 2, 2, 3])
    squares = np.array([1.0, 2.0, 1.5, 4.0, 2.5, 3.0, 9.0, 1.0])
    counts = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    slope, level = np.polyfit(np.arange(1, 5), squares[1:5], 1, w=np.sqrt(counts[1:5]))
    wanted = squares.copy()
    wanted[1:5] = 0.5 * squares[1:5] + 0.5 * (level + slope * np.arange(1, 5))
    wanted[7] = max(wanted[6], 8.0 * squares[0])  # no error is known: a random walk, or what is nearer
    np.testing.assert_allclose(series.error_scales(squares, counts, bands), np.sqrt(np.maximum.accumulate(wanted)))
    squares[:] = [2.0, 5.0, 0.1, 0.1, 0.1, 1.0, 1.0, 0.0]
    counts[:] = [1.0, 9.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    scales = series.error_scales(squares, counts, bands)
    assert (np.diff(scales) >= 0.0).all() and scales[-1] == pytest.approx(4.0)  # eight steps of a random walk
    np.testing.assert_array_equal(series.error_scales(np.zeros(8), np.zeros(8), bands), 0.0)
    one = np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # a single step of a band: no slope
    wanted = series.error_scales(one, (one > 0.0).astype(float), bands)
    np.testing.assert_allclose(wanted**2, [0.0, 1.5, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0])


def test_miss_rates_are_adapted_and_scores_kept_in_a_ring() -> None:
    rng = np.random.default_rng(7)
    bands, size = np.array([0, 0, 1, 1]), 6
    squares, counts = np.array([1.0, 1.2, 2.0, 0.0]), np.array([2.0, 2.0, 2.0, 0.0])
    scores, written = rng.uniform(0.5, 1.5, (2, size)), np.array([size, 3])
    misses, rates, target, low, high, slowest = np.array([0.2, 0.3]), np.array([0.1, 0.2]), 0.2, 0.15, 0.4, 0.3
    slow = [list(scores[0]), list(scores[1, :3])]  # oldest first
    m, s, n, seen = misses.tolist(), squares.tolist(), counts.tolist(), set()
    for _ in range(12):
        steps, errors = np.array([0, 1, 2, 3]), 1.5 * rng.normal(size=4)
        scales = series.error_scales(np.array(s), np.array(n), bands)
        reaches = [np.quantile(slow[b][-size:], 1.0 - m[b]) for b in (0, 1)]
        pace = (target, low, high, slowest)
        series.calibrate((squares, counts, bands), (scores, written, misses, rates), steps, errors, pace)
        for h, error in zip(steps, errors, strict=True):
            b, score = bands[h], abs(error) / scales[h]
            m[b] += rates[b] * (target - (score > reaches[b]))
            seen.add(int(m[b] > low) + int(m[b] > high))
            m[b] = min(max(m[b], low), high)
            slow[b].append(score)
            n[h] += 1.0
            s[h] += max(1.0 / n[h], slowest) * (error**2 - s[h])
        np.testing.assert_allclose(misses, m, rtol=1e-9)
        np.testing.assert_allclose(squares, s, rtol=1e-9)
        np.testing.assert_array_equal(counts, n)
        np.testing.assert_array_equal(written, [len(each) for each in slow])
        for b in (0, 1):
            np.testing.assert_allclose(np.sort(scores[b, : len(slow[b])]), np.sort(slow[b][-size:]), rtol=1e-9)
    assert seen == {0, 1, 2}  # below the least, above the largest, and between


def test_a_seasonal_line_is_continued_with_and_without_the_compiler() -> None:
    values = [100.0 + i + 10.0 * math.sin(math.pi * i / 2.0) for i in range(36)]
    model = AutoKernelForecaster(season=4)
    for value in values[:32]:
        model.learn_one(value)
    assert model.forecast(4) == pytest.approx(values[32:], abs=3.0)
    for interval, value in zip(model.forecast(4, with_interval=True), values[32:], strict=True):
        assert interval.lower <= interval.upper
        assert abs(0.5 * (interval.lower + interval.upper) - value) < 10.0
