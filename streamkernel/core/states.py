"""The whitened recursion over inputs that take few values, whose projections are a table.

`core.whitened` computes the projection z = L⁻¹k(D, x) of every sample. Where x is one of S states, all projections are
known before the first sample, and what is left of a step is the update of weights and covariance.
"""

from __future__ import annotations

from .jit import jit
from .types import Matrix, Program, Vector


@jit
def learn(
    projections: Matrix,
    states: Program,
    targets: Matrix,
    weights: Matrix,
    covariances: Matrix,
    walks: Vector,
    errors: Matrix,
    gain: Vector,
) -> None:
    """Learn samples in order with every model: w += g e'/s, P −= gg'/s, P += walk I with g = Pz and s = 1 + z'g.

    Requires: `projections[state]` is z; `weights` is (models, components, rank), `covariances` (models, rank, rank);
    `gain` holds rank numbers.
    Ensures: `errors[model, sample]` are those made before the sample was learned.
    """
    rank = projections.shape[1]
    for t in range(states.shape[0]):
        z = projections[states[t]]
        for model in range(weights.shape[0]):
            P = covariances[model]
            spread = 1.0
            for i in range(rank):
                total, row = 0.0, P[i]
                for j in range(rank):
                    total += row[j] * z[j]
                gain[i] = total
                spread += total * z[i]
            for component in range(targets.shape[1]):
                w = weights[model, component]
                error = targets[t, component]
                for i in range(rank):
                    error -= w[i] * z[i]
                errors[model, t, component] = error
                error /= spread
                for i in range(rank):
                    w[i] += gain[i] * error
            for i in range(rank):
                row, scale = P[i], gain[i] / spread
                for j in range(rank):
                    row[j] -= scale * gain[j]
                row[i] += walks[model]
