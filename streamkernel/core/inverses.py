"""Steps of kernel adaptive filters that keep an inverse of the kernel matrix: O(m²) for m points.

Arguments are those of `lms`, and `inverse`, m rows of as many numbers as there is room for.
"""

from __future__ import annotations

import math

from .jit import jit, part
from .lms import BAD, COEFFICIENTS, COUNT, DONE, ERROR, LIMIT, NO_ROOM, RHO, SETTING, SIZE, STACK, STEP, join, surprise
from .types import Matrix, Program, Vector


@part
def _remove(points: Matrix, vectors: Matrix, scalars: Vector, inverse: Matrix, index: int) -> None:
    """Remove a point: the inverse becomes that of the matrix without it, by the Schur complement."""
    size = int(scalars[SIZE])
    pivot = inverse[index, index]
    for i in range(size):
        if i != index:
            factor = inverse[i, index] / pivot
            for j in range(size):
                if j != index:
                    inverse[i, j] -= factor * inverse[index, j]
    for i in range(size - 1):
        source = i if i < index else i + 1
        for j in range(size - 1):
            inverse[i, j] = inverse[source, j if j < index else j + 1]
    for r in range(points.shape[0]):
        for j in range(index, size - 1):
            points[r, j] = points[r, j + 1]
    for r in range(STACK):
        for j in range(index, size - 1):
            vectors[r, j] = vectors[r, j + 1]
    scalars[SIZE] = size - 1


@part
def _bordered(inverse: Matrix, size: int, solved: Vector, residual: float, scale: float) -> None:
    """scale · [[Q + zz'/r, −z/r], [−z'/r, 1/r]]."""
    for i in range(size):
        factor = solved[i] / residual
        for j in range(size):
            inverse[i, j] = scale * (inverse[i, j] + factor * solved[j])
        inverse[i, size] = inverse[size, i] = -scale * factor
    inverse[size, size] = scale / residual


@part
def _times(inverse: Matrix, size: int, vector: Vector, out: Vector) -> None:
    """Qk."""
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += inverse[i, j] * vector[j]
        out[i] = total


@jit
def learn_exkrls(
    program: Program,
    parameters: Vector,
    points: Matrix,
    vectors: Matrix,
    scalars: Vector,
    inputs: Vector,
    own: tuple[Matrix, Vector, Vector],
) -> int:
    """Extended KRLS for tracking (Liu, Park, Wang & Principe 2009, Algorithm 2).

    The first ρ is λ/(α² + βλq), as its recursion gives and the algorithm in the input space has it; the paper prints
    λβ/(α²β + λq), which is the same for β = 1.

    The filter's own arrays are the inverse, a workspace, and the settings α (of the state), β (of the data), λ and q.
    RHO is ρ, which begins at λ; COUNT is the time. Where the dictionary is full the oldest point is eliminated.
    """
    inverse, solved, settings = own
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    state, data, ridge, wander = settings[0], settings[1], settings[2], settings[3]
    size, similarities, coefficients = int(scalars[SIZE]), vectors[STACK], vectors[COEFFICIENTS]
    own, time = similarities[size], scalars[COUNT] + 1.0
    rho = ridge if scalars[COUNT] == 0.0 else scalars[RHO]
    forgotten = data**time
    _times(inverse, size, similarities, solved)
    residual = forgotten * rho + own
    for j in range(size):
        residual -= similarities[j] * solved[j]
    if not residual > 0.0:
        return BAD
    scalars[ERROR], scalars[COUNT], scalars[RHO] = error, time, rho
    for j in range(size):
        coefficients[j] = state * (coefficients[j] - solved[j] * error / residual)
    spread = state * state + forgotten * wander * scalars[RHO]
    scalars[RHO] /= spread
    _bordered(inverse, size, solved, residual, state * state / spread)
    join(points, vectors, scalars, state * error / residual, False)
    if size + 1 > scalars[LIMIT]:
        gone, pivot = coefficients[0], inverse[0, 0]
        for j in range(1, size + 1):
            coefficients[j] -= inverse[j, 0] / pivot * gone
        _remove(points, vectors, scalars, inverse, 0)
    return DONE


@jit
def learn_fixed_budget(
    program: Program,
    parameters: Vector,
    points: Matrix,
    vectors: Matrix,
    scalars: Vector,
    inputs: Vector,
    own: tuple[Matrix, Vector, Vector],
) -> int:
    """Fixed-budget KRLS (Van Vaerenbergh, Santamaria, Liu & Principe 2010): eqs. 4-7; SETTING is λ, STEP μ.

    A sample joins; all labels move toward the new one by STEP times their similarity; beyond the budget the point with
    the smallest error after the fact |a_j|/(K⁻¹)_jj leaves. Its own arrays are the inverse, a workspace and the labels.
    """
    inverse, solved, targets = own
    if scalars[SIZE] + 1 >= points.shape[1]:
        return NO_ROOM
    error = surprise(program, parameters, points, vectors, scalars, inputs)
    if not math.isfinite(error):
        return BAD
    size, similarities, coefficients = int(scalars[SIZE]), vectors[STACK], vectors[COEFFICIENTS]
    _times(inverse, size, similarities, solved)
    residual = similarities[size] + scalars[SETTING]
    for j in range(size):
        residual -= similarities[j] * solved[j]
    if not residual > 0.0:
        return BAD
    scalars[ERROR] = error
    for j in range(size):
        targets[j] -= scalars[STEP] * similarities[j] * (targets[j] - inputs[0])
    targets[size] = inputs[0]
    _bordered(inverse, size, solved, residual, 1.0)
    join(points, vectors, scalars, 0.0, False)
    _times(inverse, size + 1, targets, coefficients)
    if size + 1 > scalars[LIMIT]:
        least, smallest = 0, math.inf
        for j in range(size + 1):
            after = abs(coefficients[j]) / inverse[j, j]
            if after < smallest:
                least, smallest = j, after
        for j in range(least, size):
            targets[j] = targets[j + 1]
        _remove(points, vectors, scalars, inverse, least)
        _times(inverse, size, targets, coefficients)
    return DONE
