"""The classifier itself: samples in, probabilities out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base, utils

from ..core.types import Matrix, Vector
from ..learners import reading
from ..learners.bank import Bank
from .base import AutoKernelModel
from .blending import Blend, Sources
from .class_mixture import EXPERTS, ClassMixture, new_experience
from .classes import Classes
from .labels import NAMES, Labels
from .many import like, samples_of
from .plain import PLAIN_NAMES, PlainExperts
from .tuning import Tuning

SOURCE_NAMES = ("kernel experts", "plain experts", *NAMES)
PRODUCT_NAMES = ("the product of these", "the product of all experts")
MOST_TOLD = 10


class AutoKernelClassifier(AutoKernelModel, base.Classifier):
    """A kernel classifier without parameters.

    It takes features as they come, as `AutoKernelRegressor` does: of any scale, with long tails, words, dates, gaps,
    constant ones, and ones that appear late or vanish; do not scale them on the way. It takes classes as they come:
    words, numbers or anything else that can be a key, two or hundreds of them, and new ones at any time.

    From a window of recent samples it learns a length scale for every feature, anew as the stream grows and when its
    errors show drift. Experts that forget at different paces estimate the shares of all classes at once, over one
    dictionary and one covariance. Plain experts stand beside them from the second sample on: the nearest of the newest
    samples, straight boundaries, and how the values of single columns are distributed in each class. What labels alone
    say counts too: how frequent each class is, in all and of late, and what followed the last label, which matters
    where labels persist. All of it is mixed by how well it has predicted, and the probabilities are calibrated online.

    Scales are learned a little with every sample: no step takes long. Memory is bounded but for the names and counts of
    the classes; of more than 500 classes, the kernel experts tell those apart that are most frequent, and boundaries
    and single columns the first 50.

    Parameters
    ----------
    budget
        What a step may cost, as in `AutoKernelRegressor`: `"low"`, `"medium"`, `"high"` or microseconds.

    Examples
    --------

    >>> from river import datasets, evaluate, metrics
    >>> from streamkernel import AutoKernelClassifier

    >>> model = AutoKernelClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 9...%

    Probabilities of all classes seen so far:

    >>> x, y = next(iter(datasets.Phishing()))
    >>> model.predict_proba_one(x)
    {True: 0.9..., False: 0.0...}
    >>> relevance = model.relevance
    >>> max(relevance, key=relevance.get)
    'empty_server_form_handler'

    """

    def __init__(self, budget: str | float = "medium") -> None:
        super().__init__(budget)
        self._mixture: ClassMixture | None = None
        self._labels = Labels()
        self._plain = PlainExperts()
        self._blend = Blend(EXPERTS + len(PLAIN_NAMES))

    @property
    def _multiclass(self) -> bool:
        return True

    # River's methods -------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """The probability of every class seen so far.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).

        """
        row = self._encoder.read(x)
        if not self._labels.classes:
            return {}
        shares = self._blend.shares(self._sources(row))
        return dict(zip(self._labels.classes, shares.tolist(), strict=True))

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one labeled sample.

        Parameters
        ----------
        x
            A dictionary of features: numbers, words or gaps (None, NaN).
        y
            The label.
        w
            The sample's weight, to the kernel experts; labels are counted without.

        """
        reading.check_label(y)
        reading.noise(w)
        row = self._encoder.read(x)
        is_usual = self._is_usual(row, w) and (self._mixture is None or self._mixture.is_usual(row))

        def step() -> None:
            self._take_in(self._encoder.learn(x, row), y, w)

        self._attempt(is_usual, step)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities that `predict_proba_one` gives: a data frame for a data frame, with a column a class.

        For an array it is an array, whose columns are `classes`.
        """
        samples, data = samples_of(X)
        shares = self._shares_of(samples)
        return shares if data is None else utils.dataframe.to_native_frame(shares, like=data, columns=self.classes)

    def predict_many(self, X: Any) -> Any:
        """The likeliest class of many samples: a series for a data frame, an array for an array."""
        samples, data = samples_of(X)
        if not self._labels.classes:
            return like(np.full(len(self._shares_of(samples)), None), data)
        classes = np.empty(len(self._labels.classes), dtype=object)
        classes[:] = self._labels.classes
        named = classes[np.argmax(self._shares_of(samples), axis=1)]
        return like(np.array(named.tolist()) if data is not None else named, data)

    def _shares_of(self, samples: list[dict[Hashable, Any]]) -> Matrix:
        rows = [self._encoder.read(x) for x in samples]
        if not rows or not self._labels.classes:
            return np.empty((len(rows), len(self._labels.classes)))
        return np.array([self._blend.shares(self._sources(row)) for row in rows])

    def _read_targets(self, y: Any, count: int) -> list[Any]:
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        if len(labels) != count:
            raise ValueError(f"y must have one label per row of X ({count}), got {len(labels)}")
        for label in labels:
            reading.check_label(label)
        return labels

    def _sources(self, row: Vector) -> Sources:
        """What the experts say of the classes, and what the labels do."""
        labels = self._labels.shares()
        plain = self._plain.guesses(row, labels[0])
        if self._mixture is None:
            kernel, experts = labels[-1], np.full((EXPERTS, labels.shape[1]), 1.0 / labels.shape[1])
        else:
            _, experts, kernel = self._mixture.guesses(row)
        return Sources(np.vstack([kernel, plain.mixed, labels]), np.vstack([experts, plain.shares, labels]))

    def _take_in(self, row: Vector, y: Hashable, w: float) -> None:
        """Learn an encoded sample: who predicted it how well, then the sample itself."""
        self._count += 1
        error, is_known = None, self._labels.knows(y)
        place = self._labels.place(y)
        self._plain.adopt(self._encoder.columns, self._encoder.widened(row[:0]), len(self._labels.classes))
        if is_known:
            sources = self._sources(row)
            if self._mixture is not None:
                error = 1.0 - float(self._blend.shares(sources)[place])
            self._blend.learn(sources, place)
        elif self._mixture is not None:
            self._mixture.add_class()
        if self._mixture is not None:
            self._mixture.learn(row, place, w)
        self._plain.learn(row, place, self._labels.shares()[0], is_known)
        if self._renewal is not None and not is_known:
            self._renewal.add_output()
        self._window.append(self._encoder.columns, row, [float(place), w])
        self._labels.learn(place)
        self._tend(error)

    # What is learned from the window ---------------------------------------------------------------------------------

    def _measure(self) -> Classes:
        return Classes.of(self._window.targets[:, 0], len(self._labels.classes))

    def _restored_units(self, state: list[Any]) -> Classes:
        return Classes(*state)

    def _take_over(self, tuning: Tuning, bank: Bank) -> None:
        experience = new_experience() if self._mixture is None else self._mixture.experience
        self._mixture = ClassMixture(tuning, bank, experience)

    # What it has found -----------------------------------------------------------------------------------------------

    @property
    def classes(self) -> list[Any]:
        """The classes seen so far, in the order in which they appeared."""
        return list(self._labels.classes)

    @property
    def source_weights(self) -> dict[str, float]:
        """The weight of each source of probabilities: experts, what labels alone say, and products of these."""
        return dict(zip((*SOURCE_NAMES, *PRODUCT_NAMES), self._blend.weights.tolist(), strict=True))

    def _told_of_targets(self) -> list[str]:
        counts = self._labels.shares()[0]
        order = np.argsort(-counts, kind="stable")[:MOST_TOLD].tolist()
        shares = ", ".join(f"{self._labels.classes[place]} {counts[place]:.2g}" for place in order)
        more = f", and {len(counts) - len(order)} more" if len(counts) > len(order) else ""
        return [f"Classes and their shares: {shares}{more}."]

    def _told_of_predictions(self) -> list[str]:
        if self._mixture is None:
            return ["Nothing chosen yet: predictions are what plain experts and labels say."]
        weights = sorted(self.source_weights.items(), key=lambda pair: -pair[1])
        plain = sorted(self._plain.weights.items(), key=lambda pair: -pair[1])
        exponents = zip(SOURCE_NAMES, self._blend.exponents.tolist(), strict=True)
        return [
            "Sources by weight: " + ", ".join(f"{name} {weight:.2g}" for name, weight in weights) + ".",
            "Exponents in the product: " + ", ".join(f"{name} {value:.2g}" for name, value in exponents) + ".",
            "Plain experts by weight: " + ", ".join(f"{name} {weight:.2g}" for name, weight in plain) + ".",
        ]

    # Checkpoints -----------------------------------------------------------------------------------------------------

    def _get_state(self) -> dict[str, Any]:
        parts: dict[str, Any] = {"classes": self._labels, "plain": self._plain, "blend": self._blend}
        return {name: part.get_state() for name, part in parts.items()} | super()._get_state()

    def _set_state(self, state: dict[str, Any]) -> None:
        self._labels.set_state(state["classes"])
        self._blend.set_state(state["blend"])
        super()._set_state(state)
        self._plain.set_state(state["plain"], self._encoder.columns)

    def _restore_mixture(self, state: dict[str, Any]) -> None:
        self._mixture = ClassMixture.from_state(state, self._encoder.columns)
