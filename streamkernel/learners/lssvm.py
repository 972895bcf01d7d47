"""Least-squares support vector classification, on line.

Suykens & Vandewalle's LS-SVM is regularized least squares on class indicators; over the whitened dictionary it is
`KRLS` with one target per class. The batch form with kernel learning is in `batch.lssvm` and `batch.flkl` (Cawley &
Talbot). Paper -> code: λ `ridge`, b the constant added to the kernel, y the indicators.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from river import base, utils

from .. import checks, kernels
from ..checkpoint import Checkpointed
from ..core import softmaxes
from ..core.forgetting import RULES
from ..core.types import Matrix, Vector
from ..kernels import Feature
from . import reading
from .kernel_learning import KernelLearning, check_kernel_learning, thetas
from .recursion import Recursion
from .widening import warn_of_strangers

# The probabilities' temperature moves by at most this share of itself per sample.
LARGEST_STEP = 0.1


class LSSVMClassifier(base.Classifier, Checkpointed):
    """Least-squares support vector classifier, binary or multiclass.

    Learns f_k(x), the regularized least-squares estimate of the indicator of class k, for all classes at once: they
    share the dictionary and the covariance, so a further class costs O(m). A step costs O(m²) for m points in the
    dictionary. Classes may appear at any time; a class that is new was absent from every sample so far, which the
    indicators know without a second pass.

    Probabilities are a softmax of the f_k, whose temperature is learned from decisions made before the label was known.

    Parameters
    ----------
    kernel
        As in `KRLS`; None is `RBF(√d)` for d features.
    threshold
        ν, as in `KRLS`.
    ridge
        λ, the weight of ‖f‖².
    bias
        The prior variance of the constant term: `Constant(bias)` is added to the kernel. 0 leaves it out.
    forgetting
        As in `KRLS`.
    forget
        As in `KRLS`.
    max_size
        As in `KRLS`.
    kernel_learning
        As in `KRLS`.

    Examples
    --------

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from streamkernel import LSSVMClassifier

    >>> model = preprocessing.StandardScaler() | LSSVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.6...%

    References
    ----------
    [^1]: Suykens, J.A.K. and Vandewalle, J., 1999. Least squares support vector machine classifiers. Neural Processing
        Letters, 9(3), pp.293-300.

    """

    def __init__(
        self,
        kernel: kernels.Kernel | None = None,
        threshold: float = 1e-2,
        ridge: float = 0.1,
        bias: float = 1.0,
        forgetting: float = 1.0,
        forget: str = RULES[0],
        max_size: int | None = 500,
        kernel_learning: str | None = None,
    ) -> None:
        kernels.check(kernel)
        checks.number("threshold", threshold, low=0.0)
        checks.number("ridge", ridge, low=0.0, open_low=True)
        checks.number("bias", bias, low=0.0)
        checks.number("forgetting", forgetting, low=0.0, high=1.0, open_low=True)
        checks.choice("forget", forget, RULES)
        checks.size("max_size", max_size)
        check_kernel_learning(kernel_learning, kernel)
        self.kernel = kernel
        self.threshold = threshold
        self.ridge = ridge
        self.bias = bias
        self.forgetting = forgetting
        self.forget = forget
        self.max_size = max_size
        self.kernel_learning = kernel_learning
        self._learning = KernelLearning(kernel_learning, forgetting == 1.0) if kernel_learning else None
        self._classes: list[Hashable] = []
        self._temperature = 4.0  # softmax(4 f) is about right where f is 0 or 1 with probability one half
        self._curvature = 1.0
        self._model = Recursion(kernel, threshold, ridge, forgetting, forget, max_size, constant=bias)

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Mapping[Feature, Any], y: Hashable, w: float = 1.0) -> None:
        """Learn one labeled sample.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            The label.
        w
            The sample's weight.

        """
        reading.check_label(y)
        known = y in self._classes
        if not known:
            self._knowing(x).check(x, w)
            before = copy.deepcopy(self._get_state())
            self.know([y])
            try:
                self._learn(x, y, w)
            except Exception:
                self._set_state(before)
                raise
            return
        self._calibrate(*self._learn(x, y, w))

    def _learn(self, x: Mapping[Feature, Any], y: Hashable, w: float) -> tuple[list[float], Vector]:
        """Learn a sample of a class that is known; the targets, and the errors made before."""
        targets = [float(label == y) for label in self._classes]
        model = self._model
        if self._learning is None:
            model.learn(x, targets, w)
        else:
            self._model = self._learning.learn(model, x, targets, w)
        return targets, model.errors

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn labeled samples in order, as `learn_one` would one after the other; none where one of them is bad.

        Parameters
        ----------
        X
            A data frame, or an array whose columns are the features 0, 1, ...
        y
            The labels.
        w
            Weights, one for each sample.

        """
        names, rows, _ = reading.frame(X)
        labels = reading.labels(y, len(rows))
        weights = None if w is None else reading.column("w", w, len(rows))
        begins = new_classes(self._classes, labels)
        is_simple = self._learning is None and not begins
        before = None if is_simple else copy.deepcopy(self._get_state())
        try:
            if self._learning is not None:
                each = np.ones(len(rows)) if weights is None else weights
                for row, label, weight in zip(rows, labels, each.tolist(), strict=True):
                    self.learn_one(reading.sample(names, row), label, weight)
                return
            for start, stop in itertools.pairwise([0, *begins, len(rows)]):
                part = slice(start, stop)
                if start < stop:
                    self.learn_rows(names, rows[part], labels[part], None if weights is None else weights[part])
        except Exception:
            if before is not None:
                self._set_state(before)
            raise

    def learn_rows(
        self, names: tuple[Feature, ...], rows: Matrix, labels: list[Hashable], weights: Vector | None = None
    ) -> Matrix:
        """Learn samples of classes that are known, but perhaps for the first one's; the probabilities before each.

        A row for each sample whose class was known, a column for each class. Not where the kernel is learned.
        """
        is_new = labels[0] not in self._classes
        self.know(labels[:1])
        place = {label: k for k, label in enumerate(self._classes)}
        indices = [place[label] for label in labels]
        targets = np.zeros((len(rows), len(self._classes)))
        targets[np.arange(len(rows)), indices] = 1.0
        errors, _, _ = self._model.learn_many(names, rows, targets, weights)
        record, scores = np.array([self._temperature, self._curvature]), (targets - errors)[is_new:]
        shares = np.empty_like(scores)
        softmaxes.calibrate(scores, np.array(indices[is_new:], dtype=np.int64), LARGEST_STEP, record, shares)
        self._temperature, self._curvature = record.tolist()
        return shares

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of every class seen so far, a column each: a frame for a frame, an array for an array."""
        names, rows, data = reading.frame(X)
        warn_of_strangers(self._model.names, names)
        scores = self._knowing(dict.fromkeys(names, 0.0)).predict_many(names, rows)[:, : len(self._classes)]
        if self._classes:
            scores = np.exp(self._temperature * (scores - scores.max(axis=1, keepdims=True)))
            scores /= scores.sum(axis=1, keepdims=True)
        if data is None:
            return scores
        columns = dict(zip(self._classes, scores.T, strict=True))
        return utils.dataframe.to_native_frame(columns, like=data)

    def predict_many(self, X: Any) -> Any:
        """The most probable class of every sample: a series for a frame, an array for an array; None before any."""
        _, rows, data = reading.frame(X)
        return best_labels(self._classes, np.asarray(self.predict_proba_many(rows if data is None else X)), data)

    def _calibrate(self, targets: list[float], errors: Vector) -> None:
        """A Newton step of the temperature on the log loss of the decision that was made before learning."""
        scores = [target - float(error) for target, error in zip(targets, errors, strict=True)]
        shares = softmax([self._temperature * score for score in scores])
        mean = sum(p * s for p, s in zip(shares, scores, strict=True))
        slope = mean - scores[targets.index(1.0)]
        self._curvature += sum(p * (s - mean) ** 2 for p, s in zip(shares, scores, strict=True))
        step = max(-LARGEST_STEP, min(LARGEST_STEP, slope / self._curvature / self._temperature))
        self._temperature *= 1.0 - step

    def predict_proba_one(self, x: Mapping[Feature, Any]) -> dict[Any, float]:
        """The probability of every class seen so far."""
        if not self._classes:
            self._knowing(x).predict(x)  # an error for a bad sample, as ever
            return {}
        shares = softmax([self._temperature * score for score in self.decision_function_one(x).values()])
        return dict(zip(self._classes, shares, strict=True))

    def decision_function_one(self, x: Mapping[Feature, Any]) -> dict[Any, float]:
        """f_k(x) for every class k seen so far: the least-squares estimate of its indicator."""
        return dict(zip(self._classes, self._knowing(x).predict_all(x), strict=False))

    def _knowing(self, x: Mapping[Feature, Any]) -> Recursion:
        """The model; where it learns its kernel, one that has scales for all features of x."""
        return self._model if self._learning is None else self._learning.knowing(self._model, x)

    @property
    def recursion(self) -> Recursion:
        """What was learned: the least-squares model behind the decisions."""
        return self._model

    @property
    def classes(self) -> list[Any]:
        """The classes seen so far, in the order in which they appeared."""
        return list(self._classes)

    def know(self, classes: Sequence[Hashable]) -> None:
        """Take note of classes of which no sample was learned yet."""
        for label in classes:
            reading.check_label(label)
        for label in classes:
            if label not in self._classes:
                if self._classes:
                    self._model.add_output()
                    if self._learning is not None:
                        self._learning.window.add_output()
                self._classes.append(label)

    @property
    def size(self) -> int:
        """The number of points in the dictionary."""
        return self._model.size

    @property
    def dictionary(self) -> list[dict[Feature, float]]:
        """The points of the dictionary as feature dicts, in the order in which they joined."""
        return self._model.points

    @property
    def coefficients(self) -> dict[Any, Vector]:
        """α̃ of every class."""
        return dict(zip(self._classes, self._model.coefficients, strict=False))

    @property
    def relevance(self) -> dict[Feature, float]:
        """θ_r = 1/(2ℓ_r²) of every feature: how much it matters to the Gaussian part of the kernel."""
        return thetas(self._model.effective_kernel(), self._model.names)

    def _get_state(self) -> dict[str, Any]:
        calibration = [self._temperature, self._curvature]
        state = {"classes": list(self._classes), "calibration": calibration, "model": self._model.__getstate__()}
        return state if self._learning is None else state | {"learning": self._learning.get_state()}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._classes = state["classes"]
        self._temperature, self._curvature = state["calibration"]
        self._model.__setstate__(state["model"])
        if self._learning is not None:
            self._learning.set_state(state["learning"])


def new_classes(known: Sequence[Hashable], labels: Sequence[Hashable]) -> list[int]:
    """The places of labels that are new there: where one more target begins."""
    seen, places = set(known), []
    for i, label in enumerate(labels):
        if label not in seen:
            seen.add(label)
            places.append(i)
    return places


def best_labels(classes: Sequence[Hashable], shares: Matrix, like: Any) -> Any:
    """The most probable class of each row: a series where `like` is a frame, an array otherwise; None before any."""
    best = [classes[k] for k in shares.argmax(axis=1)] if classes else [None] * len(shares)
    if like is not None:
        return utils.dataframe.to_native_series(best, name=None, like=like)
    kinds = {type(label) for label in best}
    return np.array(best) if len(kinds) == 1 and kinds <= {bool, int, float, str} else _objects(best)


def _objects(values: list[Any]) -> Any:
    """Labels of any kind as an array, each as it is."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def softmax(scores: list[float]) -> list[float]:
    """exp(s_k) / Σ exp(s_j)."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]
