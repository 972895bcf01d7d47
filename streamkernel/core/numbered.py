"""Functions that jitted code calls by their number, each compiled when it is first required.

What jitted code calls by name is compiled with it, and again with every other caller. Of many alternatives of which a
process needs one or two (the kernels of `columns`) that is most of the time to compile. So they stand in a table of
addresses under a name that the linker knows: callers hold the name, in the cache of compiled code too, and the table
is filled as functions are required. There is one copy of each, whoever calls it and wherever that comes from.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from .jit import part

Function = TypeVar("Function", bound=Callable[..., Any])
_ADDRESS = ir.IntType(64)


class Numbered:
    """Functions of one signature by their numbers.

    Parameters
    ----------
    name
        Under which the linker finds the table: different for every table of the process.
    arguments
        The numba types of their arguments; they return nothing.
    count
        Numbers are below it.

    """

    def __init__(self, name: str, arguments: tuple[Any, ...], count: int) -> None:
        self._arguments = arguments
        self._addresses = (ctypes.c_int64 * count)()
        self._functions: dict[int, Callable[..., Any]] = {}
        binding.add_symbol(name, ctypes.addressof(self._addresses))
        self.call = self._called_in_python if config.DISABLE_JIT else _caller(name, count, arguments)
        """`call(number, arguments)` in jitted code: False where the function was not required before."""

    def number(self, number: int) -> Callable[[Function], Function]:
        """A decorator that gives a function its number."""

        def register(function: Function) -> Function:
            self._functions[number] = part(function)
            return function

        return register

    def require(self, number: int) -> None:
        """Compile the function of a number, or load it from the cache, where there is one and this was not done."""
        if self._addresses[number] or number not in self._functions or config.DISABLE_JIT:
            return
        dispatcher: Any = self._functions[number]
        dispatcher.compile(self._arguments)
        (compiled,) = dispatcher.overloads.values()
        self._addresses[number] = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def _called_in_python(self, number: int, arguments: tuple[Any, ...]) -> bool:
        self._functions[number](*arguments)
        return True


def _caller(name: str, count: int, arguments: tuple[Any, ...]) -> Any:
    """What `Numbered.call` is in jitted code."""
    given = types.Tuple(arguments)

    @intrinsic
    def call(typing_context: Any, number: Any, values: Any) -> Any:
        """Call the function of a number, if its address is known; say whether it is."""

        def generate(context: Any, builder: Any, signature: Any, pair: Any) -> Any:
            number, values = pair
            kind = ir.ArrayType(_ADDRESS, count)
            table = builder.module.globals.get(name) or ir.GlobalVariable(builder.module, kind, name)
            address = builder.load(builder.gep(table, [ir.Constant(_ADDRESS, 0), number]))
            known = builder.icmp_signed("!=", address, ir.Constant(_ADDRESS, 0))
            with builder.if_then(known, likely=True):
                kind = context.call_conv.get_function_type(types.none, arguments)
                function = builder.inttoptr(address, kind.as_pointer())
                values = cgutils.unpack_tuple(builder, values)
                context.call_conv.call_function(builder, function, types.none, arguments, values)
            return known

        return types.boolean(types.int64, given), generate

    return call
