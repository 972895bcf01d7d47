"""A kernel program evaluated: the similarities between many points and one.

A kernel expression arrives as a postfix program: one row (opcode, first parameter, setting) per node, its numbers in
`parameters`. A setting is the whole number that some leaves have: a degree, an order, the place of a column computed
outside. A small stack machine works on whole columns, so a branch costs once per node and not once per pair.
Points are stored feature-major, `points[feature, point]`, so that every loop over points is contiguous. With d
features, a stationary kernel has d length scales (equal where the user gave one number). A leaf may be mirrored: it
then gives k(z, −x), of which odd kernels are made.
"""

from __future__ import annotations

import math

from numba import types

from .jit import jit, part
from .numbered import Numbered
from .simd import LANES, exponential, load, store
from .triangular import padded
from .types import Matrix, Program, Vector

(
    ADD,
    MULTIPLY,
    CONSTANT,
    LINEAR,
    POLYNOMIAL,
    RBF,
    LAPLACIAN,
    MATERN32,
    MATERN52,
    RATIONAL_QUADRATIC,
    PERIODIC,
    SPLINE,
    ANOVA,
    CUSTOM,
) = range(OPCODES := 14)
CODE, FIRST, SETTING = range(3)  # the columns of a program
MIRRORED = 64  # added to the opcode of a leaf: it sees −x

SQRT3, SQRT5 = math.sqrt(3.0), math.sqrt(5.0)
LARGE_SHAPE = 100.0  # of a rational quadratic kernel
# Of a feature of a periodic kernel, in periods: farther away its phase is rounding error, and matrices of similarities
# are not positive definite. Of the feature itself: differences of two, times π, stay finite.
MOST_PERIODS, LARGEST_ANGLE = 1e10, 1e300

# A leaf has its setting, the sign with which it sees x, its parameters, the points and their number, x, and the stack,
# in whose first row it leaves its column.
_VECTOR, _MATRIX = types.float64[::1], types.float64[:, ::1]
LEAVES = Numbered(
    "streamkernel_leaves", (types.int64, types.float64, _VECTOR, _MATRIX, types.int64, _VECTOR, _MATRIX), OPCODES
)
call_leaf = LEAVES.call


@part
def _squared_distances(points: Matrix, count: int, x: Vector, sign: float, length_scales: Vector, out: Vector) -> None:
    """Σ_r ((x_r − z_r) / ℓ_r)² for every point z; x times `sign`, here and below."""
    for j in range(count):
        out[j] = 0.0
    for r in range(points.shape[0]):
        row, value, scale = points[r], sign * x[r], 1.0 / length_scales[r]
        for j in range(count):
            difference = (row[j] - value) * scale
            out[j] += difference * difference


@part
def _squared_sines(
    points: Matrix, count: int, x: Vector, sign: float, length_scales: Vector, period: float, out: Vector
) -> None:
    """Σ_r sin²(π (x_r − z_r) / period) / ℓ_r² for every point z; NaN where an angle is lost."""
    check = 0.0
    for r in range(points.shape[0]):
        if abs(x[r]) > min(MOST_PERIODS * period, LARGEST_ANGLE):
            check = math.nan
    for j in range(count):
        out[j] = check
    for r in range(points.shape[0]):
        row, value, scale = points[r], sign * x[r], 1.0 / length_scales[r]
        for j in range(count):
            sine = math.sin(math.pi * (row[j] - value) / period) * scale
            out[j] += sine * sine


@part
def _inner_products(points: Matrix, count: int, x: Vector, sign: float, out: Vector) -> None:
    """⟨x, z⟩ for every point z."""
    for j in range(count):
        out[j] = 0.0
    for r in range(points.shape[0]):
        row, value = points[r], sign * x[r]
        for j in range(count):
            out[j] += row[j] * value


@part
def _exponentials(out: Vector, count: int) -> None:
    """exp of every element, all at most zero.

    Requires: `out` holds padded(count) numbers.
    """
    for j in range(count, padded(count)):
        out[j] = 0.0
    for j in range(0, count, LANES):
        store(out, j, exponential(load(out, j)))


@part
def _spline(x: float, z: float) -> float:
    """1 + xz + ∫₀^min (x − t)(z − t) dt where x and z have one sign; 1 + xz where they have not."""
    value = 1.0 + x * z
    if x * z > 0.0:
        a, b = abs(x), abs(z)
        m = min(a, b)
        value += a * b * m - (a + b) * m * m / 2.0 + m * m * m / 3.0
    return value


@part
def _sided(node: Program) -> tuple[int, float]:
    """The opcode of a leaf, and the sign with which it sees x."""
    code = node[CODE]
    return (code - MIRRORED, -1.0) if code >= MIRRORED else (code, 1.0)


@LEAVES.number(LINEAR)
def linear(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """⟨x, z⟩."""
    _inner_products(points, count, x, sign, stack[0])


@LEAVES.number(POLYNOMIAL)
def polynomial(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """(own₁⟨x, z⟩ + own₀)^setting."""
    out = stack[0]
    _inner_products(points, count, x, sign, out)
    for j in range(count):
        base = own[1] * out[j] + own[0]
        value = base
        for _ in range(setting - 1):
            value *= base
        out[j] = value


@LEAVES.number(RBF)
def rbf(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """exp(−s/2), s the squared distance in units of the length scales, here and below."""
    out = stack[0]
    _squared_distances(points, count, x, sign, own, out)
    for j in range(count):
        out[j] *= -0.5
    _exponentials(out, count)


@LEAVES.number(LAPLACIAN)
def laplacian(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """exp(−√s)."""
    out = stack[0]
    _squared_distances(points, count, x, sign, own, out)
    for j in range(count):
        out[j] = -math.sqrt(out[j])
    _exponentials(out, count)


@part
def _matern(
    points: Matrix, count: int, x: Vector, sign: float, own: Vector, stack: Matrix, root: float, square: float
) -> None:
    """(1 + d + square·d²)e^−d with d = root·√s."""
    out, work = stack[0], stack[1]
    _squared_distances(points, count, x, sign, own, work)
    for j in range(count):
        work[j] = root * math.sqrt(work[j])
        out[j] = -work[j]
    _exponentials(out, count)
    for j in range(count):
        # Where the exponential is zero the polynomial may have overflowed.
        out[j] = out[j] * (1.0 + work[j] + square * work[j] * work[j]) if out[j] > 0.0 else 0.0


@LEAVES.number(MATERN32)
def matern32(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """(1 + d)e^−d with d = √(3s)."""
    _matern(points, count, x, sign, own, stack, SQRT3, 0.0)


@LEAVES.number(MATERN52)
def matern52(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """(1 + d + d²/3)e^−d with d = √(5s)."""
    _matern(points, count, x, sign, own, stack, SQRT5, 1.0 / 3.0)


@LEAVES.number(RATIONAL_QUADRATIC)
def rational_quadratic(
    setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix
) -> None:
    """(1 + s/2a)^−a, a behind the length scales."""
    out, shape = stack[0], own[points.shape[0]]
    _squared_distances(points, count, x, sign, own, out)
    for j in range(count):
        ratio = out[j] / (2.0 * shape)
        # The power magnifies the rounding of 1 + ratio by the shape.
        out[j] = (1.0 + ratio) ** -shape if shape < LARGE_SHAPE else math.exp(-shape * math.log1p(ratio))


@LEAVES.number(PERIODIC)
def periodic(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """exp(−2 Σ sin²(...)), the period behind the length scales."""
    out = stack[0]
    _squared_sines(points, count, x, sign, own, float(own[points.shape[0]]), out)
    for j in range(count):
        out[j] *= -2.0
    _exponentials(out, count)


@LEAVES.number(SPLINE)
def spline(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """The product over features of the one-dimensional spline kernels."""
    for j in range(count):
        value = 1.0
        for r in range(points.shape[0]):
            value *= _spline(sign * x[r], points[r, j])
        stack[0, j] = value


@LEAVES.number(ANOVA)
def anova(setting: int, sign: float, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """The elementary symmetric polynomial of the one-dimensional spline kernels, E_p += E_{p−1}·k_r.

    Requires: `setting` more rows of the stack.
    """
    for p in range(setting + 1):
        for j in range(count):
            stack[p, j] = 1.0 if p == 0 else 0.0
    for r in range(points.shape[0]):
        for j in range(count):
            value = _spline(sign * x[r], points[r, j])
            for p in range(setting, 0, -1):
                stack[p, j] += stack[p - 1, j] * value
    for j in range(count):
        stack[0, j] = stack[setting, j]


@part
def _leaf(node: Program, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """The column of one leaf, in the first row of the stack; `own` are its parameters."""
    setting, out = node[SETTING], stack[0]
    code, sign = _sided(node)
    if code == CONSTANT:
        for j in range(count):
            out[j] = own[0]
    elif code == CUSTOM:  # its column was computed outside
        source = stack[stack.shape[0] - 1 - setting]
        for j in range(count):
            out[j] = source[j]
    elif not call_leaf(code, (setting, sign, own, points, count, x, stack)):
        for j in range(count):
            out[j] = math.nan


def require(program: Program) -> None:
    """Compile the leaves of a program, or load them from the cache. Until then their columns are NaN."""
    for code in program[:, CODE].tolist():
        LEAVES.require(code % MIRRORED)


@jit
def column(program: Program, parameters: Vector, points: Matrix, count: int, x: Vector, stack: Matrix) -> None:
    """k(z, x) for the first `count` points z.

    Requires: `program` is well formed, its leaves are `require`d; rows of `stack` hold padded(count) numbers; x is
    finite.
    Ensures: the column is `stack[0, :count]`.
    """
    top = -1
    for node in range(program.shape[0]):
        code = program[node, CODE]
        if code == ADD or code == MULTIPLY:
            left, right = stack[top - 1], stack[top]
            if code == ADD:
                for j in range(count):
                    left[j] += right[j]
            else:
                for j in range(count):
                    left[j] *= right[j]
            top -= 1
        else:
            top += 1
            _leaf(program[node], parameters[program[node, FIRST] :], points, count, x, stack[top:])


@part
def _leaf_derivative(
    node: Program, own: Vector, points: Matrix, count: int, x: Vector, stack: Matrix, parameter: int, out: Vector
) -> None:
    """The derivative of a leaf by its parameter number `parameter`.

    Requires: the leaf's column is in the first row of the stack; two free rows follow it.
    """
    setting = node[SETTING]
    code, sign = _sided(node)
    value, work, features = stack[0], stack[1], points.shape[0]
    if code == CONSTANT:
        for j in range(count):
            out[j] = 1.0
    elif code == POLYNOMIAL:
        _inner_products(points, count, x, sign, work)
        for j in range(count):
            base = own[1] * work[j] + own[0]
            slope = float(setting)
            for _ in range(setting - 1):
                slope *= base
            out[j] = slope if parameter == 0 else slope * work[j]
    elif code == PERIODIC:
        _squared_sines(points, count, x, sign, own, float(own[features]), work)
        for j in range(count):
            out[j] = 0.0
        for r in range(features):
            for j in range(count):
                angle = math.pi * (points[r, j] - sign * x[r]) / own[features]
                if parameter == features:
                    out[j] += 2.0 * math.sin(2.0 * angle) * angle / own[features] / (own[r] * own[r])
                elif parameter == r:
                    sine = math.sin(angle)
                    out[j] += 4.0 * sine * sine / (own[r] * own[r] * own[r])
        for j in range(count):
            out[j] *= value[j]
    else:  # stationary: d f(s) / dℓ_r = f'(s) · −2 (x_r − z_r)² / ℓ_r³
        _squared_distances(points, count, x, sign, own, work)
        if code == RATIONAL_QUADRATIC and parameter == features:
            shape = own[features]
            for j in range(count):
                ratio = work[j] / (2.0 * shape)
                out[j] = value[j] * (ratio / (1.0 + ratio) - math.log1p(ratio))
            return
        scale = own[parameter]
        for j in range(count):
            distance = math.sqrt(work[j])
            if code == RBF:
                slope = -0.5 * value[j]
            elif code == LAPLACIAN:
                slope = -0.5 * value[j] / distance if distance > 0.0 else 0.0
            elif code == MATERN32:
                slope = -1.5 * math.exp(-SQRT3 * distance)
            elif code == MATERN52:
                slope = -5.0 / 6.0 * (1.0 + SQRT5 * distance) * math.exp(-SQRT5 * distance)
            else:
                slope = -0.5 * value[j] / (1.0 + work[j] / (2.0 * own[features]))
            difference = points[parameter, j] - sign * x[parameter]
            out[j] = slope * -2.0 * difference * difference / (scale * scale * scale)


@part
def _owner(program: Program, parameter: int) -> int:
    """The node that a parameter belongs to: the last leaf whose parameters begin at or before it."""
    owner = -1
    for node in range(program.shape[0]):
        if program[node, CODE] != ADD and program[node, CODE] != MULTIPLY and program[node, FIRST] <= parameter:
            owner = node
    return owner


@jit
def column_derivative(
    program: Program,
    parameters: Vector,
    points: Matrix,
    count: int,
    x: Vector,
    stack: Matrix,
    derivatives: Matrix,
    parameter: int,
) -> None:
    """∂k(z, x) / ∂parameters[parameter] for the first `count` points.

    Requires: as `column`; `derivatives` has as many rows as the expression is deep.
    Ensures: the derivative is `derivatives[0, :count]`, the column `stack[0, :count]`.
    """
    owner = _owner(program, parameter)
    top = -1
    for node in range(program.shape[0]):
        code = program[node, CODE]
        if code == ADD or code == MULTIPLY:
            left, right = stack[top - 1], stack[top]
            left_slope, right_slope = derivatives[top - 1], derivatives[top]
            for j in range(count):
                if code == ADD:
                    left_slope[j] += right_slope[j]
                    left[j] += right[j]
                else:
                    left_slope[j] = left_slope[j] * right[j] + left[j] * right_slope[j]
                    left[j] *= right[j]
            top -= 1
        else:
            top += 1
            first, slope = program[node, FIRST], derivatives[top]
            own, free = parameters[first:], stack[top:]
            _leaf(program[node], own, points, count, x, free)
            if node == owner:
                _leaf_derivative(program[node], own, points, count, x, free, parameter - first, slope)
            else:
                for j in range(count):
                    slope[j] = 0.0


@jit
def gram(
    program: Program, parameters: Vector, points: Matrix, count: int, others: Matrix, stack: Matrix, out: Matrix
) -> None:
    """out[i, j] = k(others[i], points[:, j]); `others` is sample-major.

    Requires: no CUSTOM node.
    """
    for i in range(others.shape[0]):
        column(program, parameters, points, count, others[i], stack)
        row, source = out[i], stack[0]
        for j in range(count):
            row[j] = source[j]


@jit
def diagonal(program: Program, parameters: Vector, samples: Matrix, point: Matrix, stack: Matrix, out: Vector) -> None:
    """out[i] = k(samples[i], samples[i]); `point` is workspace for one feature-major point.

    Requires: no CUSTOM node.
    """
    for i in range(samples.shape[0]):
        for r in range(samples.shape[1]):
            point[r, 0] = samples[i, r]
        column(program, parameters, point, min(1, point.shape[1]), samples[i], stack)
        out[i] = stack[0, 0]
