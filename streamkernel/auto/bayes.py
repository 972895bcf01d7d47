"""Bayes' rule over classes: what the experts by single columns share."""

from __future__ import annotations

import numpy as np

from ..core.types import Matrix, Vector

# How much of what was seen of a class counts after one more sample of it.
KEPT = (0.999, 0.97)
# Something is known of the first classes and of the first columns, so many of each.
MOST_CLASSES, MOST_COLUMNS = 50, 200
LEAST_SHARE = 1e-12


def posterior(fits: Matrix, shares: Vector) -> Matrix:
    """Shares of all classes, a row for each row of logarithms p(x | k); classes beyond these keep what they have.

    Examples
    --------

    >>> import numpy as np
    >>> from streamkernel.auto.bayes import posterior
    >>> posterior(np.log([[0.3, 0.1]]), np.array([0.4, 0.4, 0.2])).round(2)
    array([[0.6, 0.2, 0.2]])

    """
    count = fits.shape[1]
    scores = fits + np.log(np.maximum(shares[:count], LEAST_SHARE))
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    result = np.empty((len(fits), len(shares)))
    result[...] = shares
    result[:, :count] = powers * (shares[:count].sum() / powers.sum(axis=1, keepdims=True))
    return result
