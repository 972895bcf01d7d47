"""Eight float64 at a time, as a value that jitted code can hold in a register.

LLVM vectorizes the simple loops of `core` by itself. The triangular solve and the covariance sweep need more: eight
rows at once, running sums in registers, no tail. They are written with the few operations below, which are portable
vector code (two or four narrower registers on machines without AVX-512). With `NUMBA_DISABLE_JIT=1` the same names are
plain numpy, so the tests run every line of `core` both ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

LANES = 8

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SMALLEST_EXPONENT = -708.0  # below it exp(x) leaves the normal numbers; it is rounded to zero
ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
EXP_TAYLOR = [1.0 / float(np.prod(np.arange(1.0, k + 1.0))) for k in range(14)]  # remainder < 1e-17 on |x| <= ln(2)/2


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of eight float64 in a vector register."""

    def __init__(self) -> None:
        super().__init__(name="float64x8")


lanes = Lanes()
_DOUBLE, _INT32, _INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, LANES)


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """A vector register is one LLVM value."""

    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _VECTOR)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _constant(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _shuffle(builder: Any, first: Any, second: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT32, len(order)), order))


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    signature = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, "llvm.fmuladd.v8f64"), [a, b, c])


def _fence(builder: Any, value: Any) -> Any:
    signature = ir.FunctionType(_VECTOR, [_VECTOR])
    name = "llvm.arithmetic.fence.v8f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [value])


def _exp(builder: Any, x: Any) -> Any:
    # Without a fused operation the subtraction below would cancel this addition: a fence keeps them apart.
    shifted = _fence(builder, _multiply_add(builder, x, _constant(LOG2_E), _constant(ROUND_TO_INTEGER)))
    power = builder.fsub(shifted, _constant(ROUND_TO_INTEGER))
    rest = _multiply_add(builder, power, _constant(-LN2_HIGH), x)
    rest = _multiply_add(builder, power, _constant(-LN2_LOW), rest)
    series = _constant(EXP_TAYLOR[-1])
    for coefficient in reversed(EXP_TAYLOR[:-1]):
        series = _multiply_add(builder, series, rest, _constant(coefficient))
    integers = ir.VectorType(_INT64, LANES)
    exponent = builder.shl(builder.bitcast(shifted, integers), ir.Constant(integers, [52] * LANES))
    result = builder.bitcast(builder.add(builder.bitcast(series, integers), exponent), _VECTOR)
    tiny = builder.fcmp_ordered("<", x, _constant(SMALLEST_EXPONENT))
    return builder.select(tiny, _constant(0.0), result)


if not config.DISABLE_JIT:

    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, array: Any, index: Any) -> Any:
        """The eight numbers `array[index:index + 8]`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(_address(context, builder, signature.args[0], arguments[0], arguments[1]))
            value.align = 8
            return value

        return lanes(array, types.intp), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        """Write the eight numbers to `array[index:index + 8]`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _address(context, builder, signature.args[0], arguments[0], arguments[1])
            builder.store(arguments[2], address).align = 8
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def splat(typing_context: Any, number: Any) -> Any:
        """One number in all eight lanes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            undefined = ir.Constant(_VECTOR, ir.Undefined)
            first = builder.insert_element(undefined, arguments[0], ir.Constant(_INT32, 0))
            return _shuffle(builder, first, undefined, [0] * LANES)

        return lanes(types.float64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        """a * b + c, lane by lane, rounded once where the machine can."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _multiply_add(builder, *arguments)

        return lanes(lanes, lanes, lanes), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply(typing_context: Any, a: Any, b: Any) -> Any:
        """a * b, lane by lane."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.fmul(*arguments)

        return lanes(lanes, lanes), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def subtract(typing_context: Any, a: Any, b: Any) -> Any:
        """a - b, lane by lane."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.fsub(*arguments)

        return lanes(lanes, lanes), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def lane(typing_context: Any, value: Any, index: Any) -> Any:
        """The number in one lane."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.extract_element(arguments[0], builder.trunc(arguments[1], _INT32))

        return types.float64(lanes, types.intp), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def total(typing_context: Any, value: Any) -> Any:
        """The sum of the eight lanes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value, width = arguments[0], LANES
            while width > 1:
                width //= 2
                low = _shuffle(builder, value, value, list(range(width)))
                high = _shuffle(builder, value, value, list(range(width, 2 * width)))
                value = builder.fadd(low, high)
            return builder.extract_element(value, ir.Constant(_INT32, 0))

        return types.float64(lanes), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def totals(typing_context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        """The sums of eight registers as one register: lane i is the total of argument i."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows = list(arguments)
            # Each pass adds neighbors and halves the rows: three shuffled additions in place of eight separate totals.
            pairs = [
                builder.fadd(
                    _shuffle(builder, x, y, [0, 8, 2, 10, 4, 12, 6, 14]),
                    _shuffle(builder, x, y, [1, 9, 3, 11, 5, 13, 7, 15]),
                )
                for x, y in zip(rows[0::2], rows[1::2], strict=True)
            ]
            fours = [
                builder.fadd(
                    _shuffle(builder, x, y, [0, 1, 8, 9, 4, 5, 12, 13]),
                    _shuffle(builder, x, y, [2, 3, 10, 11, 6, 7, 14, 15]),
                )
                for x, y in zip(pairs[0::2], pairs[1::2], strict=True)
            ]
            return builder.fadd(
                _shuffle(builder, fours[0], fours[1], [0, 1, 2, 3, 8, 9, 10, 11]),
                _shuffle(builder, fours[0], fours[1], [4, 5, 6, 7, 12, 13, 14, 15]),
            )

        return lanes(*[lanes] * LANES), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def transpose(typing_context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        """Rows to columns: lane i of result j is lane j of argument i."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows = list(arguments)
            # Pairs, fours and halves change places, in three rounds of eight shuffles.
            for distance, low in ((1, [0, 8, 2, 10, 4, 12, 6, 14]), (2, [0, 1, 8, 9, 4, 5, 12, 13])):
                high = [position + distance for position in low]
                for i in range(LANES):
                    if not i & distance:
                        x, y = rows[i], rows[i + distance]
                        rows[i], rows[i + distance] = _shuffle(builder, x, y, low), _shuffle(builder, x, y, high)
            for i in range(LANES // 2):
                x, y = rows[i], rows[i + 4]
                rows[i] = _shuffle(builder, x, y, [0, 1, 2, 3, 8, 9, 10, 11])
                rows[i + 4] = _shuffle(builder, x, y, [4, 5, 6, 7, 12, 13, 14, 15])
            return context.make_tuple(builder, signature.return_type, rows)

        result = types.UniTuple(lanes, LANES)  # type: ignore[attr-defined]
        return result(*[lanes] * LANES), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def exponential(typing_context: Any, value: Any) -> Any:
        """exp(x) lane by lane for x <= 0, within 2 units in the last place."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _exp(builder, arguments[0])

        return lanes(lanes), generate

else:

    def load(array: Any, index: int) -> Any:
        """The eight numbers `array[index:index + 8]`."""
        assert index + LANES <= len(array), "a vector load must stay inside its array"
        return array[index : index + LANES].copy()

    def store(array: Any, index: int, value: Any) -> None:
        """Write the eight numbers to `array[index:index + 8]`."""
        array[index : index + LANES] = value

    def splat(number: float) -> Any:
        """One number in all eight lanes."""
        return np.full(LANES, number)

    def multiply_add(a: Any, b: Any, c: Any) -> Any:
        """a * b + c, lane by lane."""
        return a * b + c

    def multiply(a: Any, b: Any) -> Any:
        """a * b, lane by lane."""
        return a * b

    def subtract(a: Any, b: Any) -> Any:
        """a - b, lane by lane."""
        return a - b

    def lane(value: Any, index: int) -> float:
        """The number in one lane."""
        return float(value[index])

    def total(value: Any) -> float:
        """The sum of the eight lanes."""
        return float(np.sum(value))

    def totals(*rows: Any) -> Any:
        """The sums of eight registers as one register: lane i is the total of argument i."""
        return np.array([np.sum(row) for row in rows])

    def transpose(*rows: Any) -> Any:
        """Rows to columns: lane i of result j is lane j of argument i."""
        return tuple(np.array(rows).T.copy())

    def exponential(value: Any) -> Any:
        """exp(x) lane by lane for x <= 0."""
        return np.where(value < SMALLEST_EXPONENT, 0.0, np.exp(value))
