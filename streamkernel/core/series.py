"""Recursions of time series on plain arrays: smoothing on a grid of constants, autoregressions, records of errors."""

from __future__ import annotations

import numpy as np

from .jit import jit, part
from .types import Indices, Matrix, Vector

# What belongs together: level, trend, seasonal terms and periods of every setting; orders, units, lags and season of
# autoregressions; their coefficients, covariances and noise; mean squares, counts and bands of steps; scores, how many
# were written, miss rates of bands and their adaptation; wanted miss rate, least and largest one, slowest mean.
Smoothed = tuple[Vector, Vector, Matrix, Indices]
Lagged = tuple[Matrix, Vector, Indices, int]
Beliefs = tuple[Matrix, Matrix, Vector]
Records = tuple[Vector, Vector, Indices]
Rings = tuple[Matrix, Indices, Vector, Vector]
Pace = tuple[float, float, float, float]

# Rows of the settings' table.
ALPHA, BETA, PHI, GAIN = 0, 1, 2, 3
SMALLEST = 1e-300


@jit
def smooth(
    settings: Matrix, state: Smoothed, squares: Vector, value: float, limit: float, discount: float, time: int
) -> None:
    """Take in the next value, by every setting of the grid, in place.

    Requires: the seasonal terms have one season after the other in their columns, as long as the periods say; `limit`
    > 0 is the largest error that moves a state.
    Ensures: `squares` is the discounted sum of the squared one-step errors.
    """
    level, trend, seasonal, periods = state
    for g in range(level.shape[0]):
        step = settings[PHI, g] * trend[g]
        error = value - level[g] - step
        offset = 0
        for m in periods:
            error -= seasonal[g, offset + time % m]
            offset += m
        squares[g] = discount * squares[g] + error * error
        error = min(max(error, -limit), limit)
        level[g] += step + settings[ALPHA, g] * error
        trend[g] = step + settings[ALPHA, g] * settings[BETA, g] * error
        offset = 0
        for m in periods:
            seasonal[g, offset + time % m] += settings[GAIN, g] * error
            offset += m


@jit
def setting_weights(squares: Vector, groups: Indices, count: int, weight: float) -> Matrix:
    """Weights of the settings by the likelihood of their errors: within each group, and in the last row among all.

    Requires: `groups` has the number of each setting's group, below `count`; `weight` is how many errors were summed.
    """
    weights = np.zeros((count + 1, squares.shape[0]))
    for k in range(count + 1):
        least = np.inf
        for g in range(squares.shape[0]):
            if k == count or groups[g] == k:
                least = min(least, max(squares[g], SMALLEST))
        total = 0.0
        for g in range(squares.shape[0]):
            if k == count or groups[g] == k:
                weights[k, g] = np.exp(-0.5 * weight * np.log(max(squares[g], SMALLEST) / least))
                total += weights[k, g]
        for g in range(squares.shape[0]):
            weights[k, g] /= total
    return weights


@jit
def smooth_ahead(weights: Matrix, settings: Matrix, state: Smoothed, horizon: int, time: int) -> Matrix:
    """Forecasts of every group, one in a row; the last row has the seasonal terms alone, averaged over all settings."""
    level, trend, seasonal, periods = state
    count = weights.shape[0] - 1
    rows = np.zeros((count + 1, horizon))
    for k in range(count + 1):
        for g in range(level.shape[0]):
            w = weights[k, g]
            if w < 1e-12:
                continue
            damped, power = 0.0, 1.0
            for h in range(horizon):
                power *= settings[PHI, g]
                damped += power
                term = 0.0
                offset = 0
                for m in periods:
                    term += seasonal[g, offset + (time + h) % m]
                    offset += m
                if k < count:
                    term += level[g] + damped * trend[g]
                rows[k, h] += w * term
    return rows


@part
def differenced(values: Vector, at: int, order: int, seasonal: int, season: int) -> float:
    """(1 − B)^d (1 − B^m)^D of the values at one place, d and D 0 or 1; zero where the past is unknown."""
    if at < 0 or at - order - seasonal * season < 0:
        return 0.0
    found = values[at]
    if order == 1:
        found -= values[at - 1]
    if seasonal == 1:
        found -= values[at - season]
        if order == 1:
            found += values[at - season - 1]
    return found


@jit
def regress(
    values: Vector, models: Lagged, beliefs: Beliefs, prior: Vector, paces: Vector, largest: float, rate: float
) -> None:
    """Take in the last of the values as the target of every autoregression, in place.

    Requires: the orders are d and D of each model; lags are positive; `prior` has the coefficients' variances, the
    constant's last.
    Ensures: errors beyond `largest` standard deviations are cut; the covariance relaxes to the prior at each pace.
    """
    orders, units, lags, season = models
    coefficients, covariance, noise = beliefs
    size = coefficients.shape[1]
    last = values.shape[0] - 1
    x, gain = np.empty(size), np.empty(size)
    for k in range(coefficients.shape[0]):
        d, seasonal = int(orders[k, 0]), int(orders[k, 1])
        prediction = 0.0
        for i in range(size - 1):
            x[i] = differenced(values, last - lags[i], d, seasonal, season) / units[k]
            prediction += coefficients[k, i] * x[i]
        x[size - 1] = 1.0
        prediction += coefficients[k, size - 1]
        error = differenced(values, last, d, seasonal, season) / units[k] - prediction
        limit = largest * np.sqrt(noise[k])
        scale = 0.0
        for i in range(size):
            total = 0.0
            for j in range(size):
                total += covariance[k, i, j] * x[j]
            gain[i] = total
            scale += x[i] * total
        cut = min(max(error, -limit), limit)
        noise[k] += rate * (cut * cut - noise[k])
        scale += noise[k]
        for i in range(size):
            coefficients[k, i] += gain[i] * cut / scale
            for j in range(size):
                covariance[k, i, j] = paces[k] * (covariance[k, i, j] - gain[i] * gain[j] / scale)
            covariance[k, i, i] += (1.0 - paces[k]) * prior[i]


@jit
def regress_ahead(values: Vector, models: Lagged, coefficients: Matrix, horizon: int) -> Matrix:
    """Iterated forecasts of every autoregression, one in a row, within the range of the values and half of it more."""
    orders, units, lags, season = models
    known, size = values.shape[0], coefficients.shape[1]
    reach = min(known, lags.max() + season + 2)
    start = known - reach
    low, high = values.min(), values.max()
    margin = 0.5 * (high - low)
    rows = np.empty((coefficients.shape[0], horizon))
    path = np.empty(reach + horizon)
    for k in range(coefficients.shape[0]):
        d, seasonal = int(orders[k, 0]), int(orders[k, 1])
        path[:reach] = values[start:]
        for h in range(horizon):
            at = reach + h
            total = coefficients[k, size - 1] * units[k]
            for i in range(size - 1):
                total += coefficients[k, i] * differenced(path, at - lags[i], d, seasonal, season)
            if d == 1:
                total += path[at - 1]
            if seasonal == 1 and at - season >= 0:
                total += path[at - season]
                if d == 1 and at - season - 1 >= 0:
                    total -= path[at - season - 1]
            elif seasonal == 1 and d == 0:
                total += path[at - 1]
            path[at] = min(max(total, low - margin), high + margin)
            rows[k, h] = path[at]
    return rows


@jit
def record(
    losses: Matrix,
    counts: Vector,
    bands: Indices,
    sizes: Vector,
    steps: Indices,
    errors: Matrix,
    discount: float,
    largest: float,
) -> None:
    """Add squared errors, in units of the experts' mean one at that step, to the discounted sums of their band.

    Requires: `errors` has one expert in a row and one entry of `steps` in a column.
    """
    experts = errors.shape[0]
    for c in range(steps.shape[0]):
        unit = 0.0
        for e in range(experts):
            unit += errors[e, c] * errors[e, c]
        unit /= experts
        if not unit > 0.0:
            continue
        band = bands[steps[c]]
        keep = discount ** (1.0 / sizes[band])
        for e in range(experts):
            loss = min(errors[e, c] * errors[e, c] / unit, largest)
            losses[e, band] = keep * losses[e, band] + loss / sizes[band]
        counts[band] = keep * counts[band] + 1.0 / sizes[band]


@jit
def quantiles(scores: Matrix, counts: Indices, levels: Vector) -> Vector:
    """A quantile of each row's first entries, between neighboring ones by a straight line."""
    found = np.empty(levels.shape[0])
    for b in range(levels.shape[0]):
        ordered = np.sort(scores[b, : counts[b]])
        place = levels[b] * (counts[b] - 1)
        below = int(np.floor(place))
        above = min(below + 1, counts[b] - 1)
        found[b] = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return found


@jit
def error_scales(squares: Vector, counts: Vector, bands: Indices) -> Vector:
    """σ_h from the mean squares h steps ahead: half their own, half a straight line over the band; never falling.

    Ensures: steps of which no error is known yet err like a random walk.
    """
    size = squares.shape[0]
    found = squares.copy()
    start = 0
    while start < size:
        stop = start
        while stop < size and bands[stop] == bands[start]:
            stop += 1
        total = center = mean = 0.0
        for h in range(start, stop):
            total += counts[h]
            center += counts[h] * h
            mean += counts[h] * squares[h]
        if total > 0.0 and stop - start > 2:
            center, mean = center / total, mean / total
            spread = product = 0.0
            for h in range(start, stop):
                spread += counts[h] * (h - center) ** 2
                product += counts[h] * (h - center) * (squares[h] - mean)
            slope = product / spread if spread > 0.0 else 0.0
            for h in range(start, stop):
                found[h] = 0.5 * squares[h] + 0.5 * max(mean + slope * (h - center), 0.0)
        start = stop
    largest = 0.0
    for h in range(size):
        largest = max(largest, found[h])
        if counts[h] == 0.0 and counts[0] > 0.0:
            largest = max(largest, squares[0] * (h + 1))
        found[h] = np.sqrt(largest)
    return found


@jit
def calibrate(records: Records, rings: Rings, steps: Indices, errors: Vector, pace: Pace) -> None:
    """Take in the errors of forecasts made `steps` + 1 before: scores, adapted miss rates, mean squares, in place.

    Requires: the scores are a ring of each band's newest, of which `written` counts all; the target is the miss rate
    that is wanted.
    """
    squares, counts, bands = records
    scores, written, misses, rates = rings
    target, low, high, slowest = pace
    scales = error_scales(squares, counts, bands)
    kept = np.minimum(written, scores.shape[1])
    reaches = quantiles(scores, kept, 1.0 - misses)
    for c in range(steps.shape[0]):
        h = steps[c]
        band = bands[h]
        if scales[h] > 0.0:
            score = abs(errors[c]) / scales[h]
            missed = 1.0 if score > reaches[band] else 0.0
            misses[band] = min(max(misses[band] + rates[band] * (target - missed), low), high)
            scores[band, written[band] % scores.shape[1]] = score
            written[band] += 1
        counts[h] += 1.0
        squares[h] += max(1.0 / counts[h], slowest) * (errors[c] ** 2 - squares[h])
