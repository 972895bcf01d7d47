"""A streaming model whose noise is known at every sample: its posterior over the dictionary, solved at once.

A stream learns the noise as it goes, so that what it has learned of a table depends on the order of the rows. Where a
batch fit knows the noise already, mean and noise follow from one dense solve over the same dictionary D = LL':

    Z = L⁻¹K_Dn,   P = (ZR⁻¹Z' + αI)⁻¹,   w = PZR⁻¹y,   w_ζ = L⁻¹ζ_D,   S = (γI + ZZ'/2)⁻¹

with R the diagonal of e^ζ over the samples' weights, and the names of `core.noise`.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..core.noise import ERROR_VARIANCE
from ..core.types import Matrix, Vector
from ..learners import storage
from ..learners.recursion import Recursion


def install(
    recursion: Recursion, samples: Matrix, targets: Vector, logarithms: Vector, weights: Vector, level: float
) -> None:
    """Give a model that has learned these samples the posterior that it would have had, had it known their noise.

    Requires: `samples` have the model's features in its order; `logarithms` are ζ at the samples, `level` is s².
    """
    recursion.form.settle(recursion.model)
    model, size = recursion.model, recursion.size
    kernel, names = recursion.effective_kernel(), recursion.names
    points = np.ascontiguousarray(model.points[:, :size].T)
    factor = storage.unpack(model.factor, size)

    def whitened(columns: Matrix | Vector) -> Matrix:
        return np.asarray(linalg.solve_triangular(factor, columns, lower=True))

    projections = whitened(kernel(points, samples, features=names))
    precision = weights * np.exp(-logarithms)
    covariance = np.linalg.inv((projections * precision) @ projections.T + model.ridge * np.eye(size))
    model.weights[0, :size] = covariance @ (projections @ (precision * targets))
    # ζ at the points of the dictionary: each is one of the samples.
    places = [int(np.argmin(np.abs(samples - point).sum(axis=1))) for point in points]
    model.weights[1, :size] = whitened(logarithms[places])
    information = (projections * weights) @ projections.T / ERROR_VARIANCE
    storage.pack(covariance, model.covariance, symmetric=True)
    storage.pack(np.linalg.inv(information + model.noise_ridge * np.eye(size)), model.noise_covariance, symmetric=True)
    root = linalg.solve_triangular(factor, np.eye(size), lower=True)
    model.coefficient_variances[:size] = np.einsum("ij,ik,kj->j", root, covariance, root, optimize=True)
    model.noise_sum = level * model.noise_weight
