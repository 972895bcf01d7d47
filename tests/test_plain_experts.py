"""The plain experts of the automatic classifier against slow references, and how they are kept."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bench import targets
from streamkernel.auto import boundaries, neighbors, profiles, tables
from streamkernel.auto.confidence import Confidence
from streamkernel.auto.plain import PLAIN_NAMES, PlainExperts
from streamkernel.auto.units import FARTHEST_STANDARDIZED, RunningUnits

SHARES = np.array([0.5, 0.3, 0.2])


def data(count: int, columns: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    places = random.integers(3, size=count)
    return random.normal(size=(count, columns)) + places[:, None], places


def test_units_are_means_and_deviations_of_what_was_there() -> None:
    rows, _ = data(60)
    rows[::4, 1] = np.nan
    units = RunningUnits()
    units.widen(np.full(3, np.nan))
    for row in rows:
        units.learn(row)
    np.testing.assert_allclose(1.0 / units.inverse, np.nanstd(rows, axis=0))
    np.testing.assert_allclose(1.0 / units.common, np.sqrt(np.nanvar(rows, axis=0).mean()))
    expected = (rows[1] - np.nanmean(rows, axis=0)) / np.nanstd(rows, axis=0)
    np.testing.assert_allclose(units.standardized(rows[1]), expected)
    assert units.standardized(rows[0])[1] == 0.0  # a gap
    assert units.standardized(np.array([1e300, 0.0, 0.0]))[0] == FARTHEST_STANDARDIZED


def test_a_word_that_is_new_was_absent_before() -> None:
    units = RunningUnits()
    for _ in range(3):
        units.learn(np.empty(0))
    units.widen(np.array([0.0, np.nan]))
    for row in ([1.0, 5.0], [0.0, 7.0]):
        units.learn(np.array(row))
    np.testing.assert_allclose(1.0 / units.inverse, [np.std([0, 0, 0, 1, 0]), 1.0])


def test_the_nearest_vote_and_of_equal_ones_the_newest() -> None:
    rows, places = data(2600)
    rows = rows.round(0)  # many are equal
    found = neighbors.Neighbors()
    found.widen(np.full(3, np.nan))
    for row, place in zip(rows, places, strict=True):
        found.learn(row, int(place))
    unit = np.array([1.0, 0.5, 2.0])
    estimates = found.estimates(rows[7], [unit, 1.0], SHARES)
    expected = []
    for scale in (unit, np.ones(3)):
        distances = (((rows - rows[7]) * scale) ** 2).sum(axis=1)
        for count, newest in neighbors.VOTES:
            order = sorted(range(len(rows) - newest, len(rows)), key=lambda i: (distances[i], -i))[:count]
            votes = np.bincount(places[order], minlength=3)
            expected.append((votes + SHARES) / (count + 1.0))
    np.testing.assert_allclose(estimates, expected)


def test_gaps_of_older_samples_are_no_distance() -> None:
    found = neighbors.Neighbors()
    found.widen(np.array([np.nan]))
    for t in range(5):
        found.learn(np.array([float(t)]), 0)
    found.widen(np.array([np.nan, 0.0]))
    found.learn(np.array([5.0, 1000.0, 1.0]), 1)
    assert found.get_state()[0][:, 1:].tolist() == [[1000.0, 0.0]] * 5 + [[1000.0, 1.0]]


def test_boundaries_step_down_the_slope_of_the_log_loss() -> None:
    rows, places = data(40, columns=2)
    model = boundaries.Boundaries()
    model.widen(columns=2, classes=3)
    weights = np.zeros((len(boundaries.RATES), 3, 3))
    for row, place in zip(rows, places, strict=True):
        estimates = model.estimates(row, SHARES)
        sample = np.append(1.0, row)
        for i, rate in enumerate(boundaries.RATES):
            chances = np.exp(weights[i] @ sample)
            chances /= chances.sum()
            np.testing.assert_allclose(estimates[i], chances)
            weights[i] -= rate * np.outer(chances - np.eye(3)[place], sample)
        model.learn(row, int(place), estimates)


def test_profiles_are_naive_bayes_with_gaussians() -> None:
    rows, places = data(200)
    model = profiles.Profiles()
    model.widen(columns=3, classes=3)
    for row, place in zip(rows, places, strict=True):
        model.learn(row, int(place))
    for i, kept in enumerate(profiles.KEPT):
        scores = np.log(SHARES)
        for k in range(3):
            mean, variance, count = np.zeros(3), np.ones(3), 0.0
            for row in rows[places == k]:
                count = kept * count + 1.0
                rate = 1.0 / (count + profiles.PRIOR)
                change = row - mean
                mean, variance = mean + rate * change, (1.0 - rate) * (variance + rate * change**2)
            scores[k] += (-0.5 * (rows[0] - mean) ** 2 / variance - 0.5 * np.log(variance)).sum()
        expected = np.exp(scores - scores.max())
        np.testing.assert_allclose(model.estimates(rows[0], SHARES)[i], expected / expected.sum(), rtol=1e-9)


def test_tables_are_naive_bayes_with_counts() -> None:
    rows, places = data(200)
    model = tables.Tables()
    model.widen(columns=3, classes=3)
    for row, place in zip(rows, places, strict=True):
        model.learn(row, int(place))
    parts = np.searchsorted(tables.CUTS, rows)
    for i, kept in enumerate(tables.KEPT):
        counts, totals = np.zeros((3, 3)), np.zeros(3)  # of the parts of the first row, by class and column
        for k in range(3):
            for part in parts[places == k]:
                counts[k], totals[k] = kept * counts[k] + (part == parts[0]), kept * totals[k] + 1.0
        common = (counts.sum(axis=0) + 1.0 / tables.PARTS) / (totals.sum() + 1.0)
        chances = SHARES * ((counts + tables.PRIOR * common) / (totals + tables.PRIOR)[:, None]).prod(axis=1)
        np.testing.assert_allclose(model.estimates(rows[0], SHARES)[i], chances / chances.sum())


@pytest.mark.parametrize("kind", [boundaries.Boundaries, profiles.Profiles, tables.Tables])
def test_classes_and_columns_beyond_the_limits_keep_what_they_have(kind: type) -> None:
    model = kind()
    model.widen(columns=300, classes=60)
    shares = np.full(60, 1.0 / 60.0)
    row = np.linspace(-1.0, 1.0, 300)
    for place in (3, 55):
        estimates = model.estimates(row, shares)
        model.learn(row, place, estimates) if kind is boundaries.Boundaries else model.learn(row, place)
    estimates = model.estimates(row, shares)
    np.testing.assert_allclose(estimates.sum(axis=1), 1.0)
    assert (estimates[:, 50:] == 1.0 / 60.0).all()
    assert (estimates.argmax(axis=1) == 3).all()


def test_the_order_of_columns_after_a_checkpoint_changes_no_bit() -> None:
    rows, places = data(80)
    models = PlainExperts(), PlainExperts()
    names, other = ["c", "a", "b"], [1, 2, 0]
    blank = np.full(3, np.nan)
    for t, (row, place) in enumerate(zip(rows, places, strict=True)):
        if t == 40:
            models[1].set_state(copy.deepcopy(models[0].get_state()), sorted(names))
        models[0].adopt(names, blank, 3)
        models[0].learn(row, int(place), SHARES, is_known=True)
        if t >= 40:
            models[1].learn(row[other], int(place), SHARES, is_known=True)
    first, second = models[0].guesses(rows[0], SHARES), models[1].guesses(rows[0][other], SHARES)
    np.testing.assert_array_equal(first.mixed, second.mixed)
    assert models[0].weights == models[1].weights and tuple(models[0].weights) == PLAIN_NAMES


@pytest.mark.parametrize("wrong", [0.0, 0.1, 0.2])
def test_confidence_holds_where_labels_come_regardless(wrong: float) -> None:
    """The mixture knows on which side a sample lies, but not how many labels are wrong everywhere."""
    random = np.random.default_rng(1)
    confidence, even = Confidence(), np.array([0.5, 0.5])
    scores = random.normal(scale=2.0, size=4000)
    chances = 1.0 / (1.0 + np.exp(-scores))
    labels = (random.random(4000) < (1.0 - wrong) * (1.0 / (1.0 + np.exp(-3.0 * scores))) + wrong / 2.0).astype(int)
    said = np.zeros(4000)
    for t in range(4000):
        mixed = np.array([1.0 - chances[t], chances[t]])
        said[t] = confidence.shares(mixed, even)[1]
        confidence.learn(mixed, even, int(labels[t]))
    true = (1.0 - wrong) / (1.0 + np.exp(-3.0 * scores)) + wrong / 2.0
    assert np.abs(said - true)[2000:].mean() < np.abs(chances - true)[2000:].mean() / 3.0


def test_eight_targets_bench_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert targets.main(["--quick"]) == 0
    assert "eight targets over one, m = 20" in capsys.readouterr().out
