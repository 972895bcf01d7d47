"""Arrays in, arrays out: a stream run through a model, for scripts that have no use for feature dicts."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .core.types import Matrix, Vector
from .kernels import Feature
from .learners import reading


class Run(NamedTuple):
    """What `run` returns, one number for each sample."""

    predictions: Vector
    """Made before the sample was learned."""
    errors: Vector
    """Target minus prediction."""
    sizes: Vector
    """The dictionary's size after the sample was learned."""


class Runnable(Protocol):
    """A regressor that can learn arrays and say what it would have predicted before each sample."""

    def learn_rows(self, names: tuple[Feature, ...], rows: Matrix, targets: Vector) -> tuple[Vector, Vector]:
        """Learn samples in order: the predictions made before each was learned, and the sizes after each."""


def run(model: Runnable, X: ArrayLike, y: ArrayLike) -> Run:
    """Predict, then learn, every sample in order.

    The model is trained in place, exactly as by `predict_one` and `learn_one` one sample after the other, but several
    times faster.

    Parameters
    ----------
    model
        A streaming regressor or filter of this library.
    X
        The inputs, one row a sample; the columns are the features 0, 1, ... A vector is one feature.
    y
        The targets.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel import KRLS, kernels, run
    >>> t = np.arange(500) * 0.1
    >>> signal = np.sin(t) + np.sin(1.7 * t)
    >>> X = np.lib.stride_tricks.sliding_window_view(signal, 4)[:-1]
    >>> predictions, errors, sizes = run(KRLS(kernels.RBF(2.0), threshold=1e-6), X, signal[4:])
    >>> bool(abs(errors[-100:]).max() < 2e-3)
    True

    """
    samples: Any = np.asarray(X)
    samples = samples[:, None] if samples.ndim == 1 else samples
    names, rows, _ = reading.frame(samples)
    targets = reading.column("y", y, len(rows))
    predictions, sizes = model.learn_rows(names, rows, targets)
    return Run(predictions, targets - predictions, sizes)
