"""Many candidates on one stream: the pass that an actor makes over its share, and one process over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from river import base, metrics

Sample = tuple[Mapping[Any, Any], Any]
Name = Any


class Result(NamedTuple):
    """What became of a candidate."""

    metric: Any
    """The score over the stream: every sample was predicted before it was learned."""
    model: Any
    """The candidate, trained on the whole stream."""


class Contest:
    """Candidates that see the same samples in the same order, each with its own score.

    Parameters
    ----------
    models
        The candidates by name: river estimators. They are trained in place.
    metric
        A river metric; every candidate gets an empty copy.

    Examples
    --------

    >>> from river import metrics
    >>> from streamkernel import KRLS, datasets, kernels
    >>> from streamkernel.distributed.candidates import Contest

    >>> contest = Contest({scale: KRLS(kernels.RBF(scale), ridge=0.1) for scale in (0.5, 5.0)}, metrics.MAE())
    >>> contest.learn(datasets.SincLinear(seed=1).take(500))
    >>> min(contest.results, key=lambda scale: contest.results[scale].metric.get())
    5.0

    """

    def __init__(self, models: Mapping[Name, Any], metric: Any) -> None:
        self.results = {name: Result(metric.clone(), model) for name, model in models.items()}
        for name, model in models.items():
            if not metric.works_with(model):
                raise ValueError(f"metric {metric!r} does not go with candidate {name!r}: {model!r}")

    def learn(self, samples: Iterable[Sample]) -> None:
        """Predict, score and learn samples in order."""
        samples = samples if isinstance(samples, Sequence) else list(samples)
        for name, (metric, model) in self.results.items():
            predict = _predictor(model, metric)
            try:
                for x, y in samples:
                    prediction = predict(x)
                    if prediction is not None and prediction != {}:  # a model may have none yet, as in river's own loop
                        metric.update(y, prediction)
                    model.learn_one(x, y)
            except Exception as error:
                error.add_note(f"candidate {name!r}: {model!r}")
                raise

    def get_results(self) -> dict[Name, Result]:
        """The results so far, for a caller in another process."""
        return self.results


def named(models: Mapping[Name, Any] | Iterable[Any]) -> dict[Name, Any]:
    """Candidates by name; a sequence's are numbered."""
    given = dict(models) if isinstance(models, Mapping) else dict(enumerate(models))
    if not given:
        raise ValueError("models must hold at least one candidate")
    for name, model in given.items():
        if not isinstance(model, base.Estimator) or not hasattr(model, "learn_one"):
            raise TypeError(f"candidate {name!r} must be a river estimator, got {model!r}")
    return given


def _predictor(model: Any, metric: Any) -> Any:
    wants_probabilities = isinstance(metric, metrics.base.ClassificationMetric) and not metric.requires_labels
    return model.predict_proba_one if wants_probabilities else model.predict_one
