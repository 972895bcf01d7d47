"""Arrays and numbers under one name: a table of addresses at the boundary, named fields inside.

A jitted function that Python calls with nine arrays spends longer on unpacking them than a small model takes to learn a
sample. So it takes one array of integers, the *table* of where everything lies, and makes a value with named fields:

    @jit
    def learn_one(table):
        model = Model(table)
        ... model.factor[at] ... model.ridge ... model.size += 1

The fields are declared once, by the annotations of a class: `Vector` and `Matrix` (C-contiguous arrays of float64),
`Program` (a matrix of int64), `float` and `int`. Views borrow: they count no references, so an access is a load that
the compiler may hoist. What makes that safe: the table and all that it points to belong to one object, which `build`
makes and nobody changes but in the contents of its arrays.

In Python, and so in every jitted function under `NUMBA_DISABLE_JIT=1`, the same class reads the same table.
"""

from __future__ import annotations

import ctypes
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from .types import Table

# An annotation's numpy type, and for arrays how many dimensions they have.
NUMBERS = {"float": np.float64, "int": np.int64}
ARRAYS = {"Vector": (np.float64, 1), "Matrix": (np.float64, 2), "Program": (np.int64, 2)}


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Where the arrays of a value lie: most of them in one piece of memory, which every value has for itself."""

    parts: dict[str, tuple[int, int, tuple[int, ...]]]
    """The first element, the one behind the last, and the shape of each array in the memory."""
    others: dict[str, NDArray[Any]]
    """Arrays that lie elsewhere, and that all values with this layout have in common."""
    table: Table
    """What the table of a value would be if its memory began at zero."""
    inside: Table
    """1 where an entry of the table is the address of a part of the memory, 0 elsewhere."""


class Views:
    """Named fields over a table of addresses; a subclass declares them.

    Parameters
    ----------
    table
        Where everything lies, as `build` arranges it. It must outlive the views, and so must what it points to.

    """

    table: Table
    cells: NDArray[np.int64]
    """The numbers, in the order of their declaration."""
    number_fields: ClassVar[dict[str, tuple[int, Any]]] = {}
    """The cell and the type of each number."""
    array_fields: ClassVar[dict[str, tuple[int, Any, int]]] = {}
    """The first entry in the table, the type and the number of dimensions of each array."""

    def __init_subclass__(cls) -> None:
        cls.number_fields, cls.array_fields = {}, {}
        entry = 1  # the first is the address of the numbers
        for name, kind in cls.__annotations__.items():
            if kind in NUMBERS:
                cls.number_fields[name] = len(cls.number_fields), NUMBERS[kind]
                setattr(cls, name, _number(len(cls.number_fields) - 1, kind))
            else:
                dtype, dimensions = ARRAYS[kind]
                cls.array_fields[name] = entry, dtype, dimensions
                entry += 1 + dimensions
        _register(cls)

    def __init__(self, table: Table) -> None:
        entries = table.tolist()
        arrays = {
            name: _borrowed(entries[entry], tuple(entries[entry + 1 : entry + 1 + dimensions]), dtype)
            for name, (entry, dtype, dimensions) in self.array_fields.items()
        }
        self._hold(table, _borrowed(entries[0], (len(self.number_fields),), np.int64), arrays)

    @classmethod
    def build(cls, numbers: NDArray[np.int64], **arrays: NDArray[Any]) -> Self:
        """A value that owns its arrays and its table.

        Requires: C-contiguous arrays of the declared types, and as many cells of numbers as there are.
        """
        entries = [address(numbers)]
        for name in cls.array_fields:
            entries += cls._entries(name, arrays[name])
        views = cls.__new__(cls)
        views._hold(np.array(entries, dtype=np.int64), numbers, arrays)
        return views

    @classmethod
    def _entries(cls, name: str, array: NDArray[Any]) -> tuple[int, ...]:
        """What the table says of an array."""
        _, dtype, dimensions = cls.array_fields[name]
        if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
            raise TypeError(f"{cls.__name__}.{name} must be a contiguous {dimensions}-d array of {dtype.__name__}")
        return address(array), *array.shape

    @classmethod
    def layout(cls, places: Mapping[str, tuple[int, tuple[int, ...]]], **others: NDArray[Any]) -> Layout:
        """A layout for `carve`: the place and the shape of each array of float64 in a piece of memory, and the others.

        Requires: contiguous arrays of the declared types, one for each field.
        """
        parts, table, inside = {}, [0], [0]
        for name, (_, _, dimensions) in cls.array_fields.items():
            if name in others:
                table += cls._entries(name, others[name])
                inside += [0] * (1 + dimensions)
                continue
            start, shape = places[name]
            length = math.prod(shape)
            start = start if length else 0  # numpy lets an empty part point to the beginning
            parts[name] = start, start + length, shape
            table += (np.dtype(np.float64).itemsize * start, *shape)
            inside += (1, *[0] * dimensions)
        return Layout(parts, others, np.array(table, dtype=np.int64), np.array(inside, dtype=np.int64))

    @classmethod
    def carve(cls, numbers: NDArray[np.int64], memory: NDArray[np.float64], first: int, layout: Layout) -> Self:
        """A value whose arrays are parts of one piece of memory; each is made when Python first asks for it.

        Requires: `first` is the memory's address.
        """
        table = layout.inside * first
        table += layout.table
        table[0] = address(numbers)
        views = cls.__new__(cls)
        views._hold(table, numbers, layout.others)
        vars(views).update(_memory=memory, _parts=layout.parts)
        return views

    def __getattr__(self, name: str) -> Any:
        """Cut an array out of the memory: it was not asked for before."""
        own = vars(self)
        if name not in own.get("_parts", ()):
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        start, stop, shape = own["_parts"][name]
        array = own["_memory"][start:stop]
        own[name] = array = array if len(shape) == 1 else array.reshape(shape)
        return array

    def _hold(self, table: Table, numbers: NDArray[np.int64], arrays: dict[str, NDArray[Any]]) -> None:
        cells = numbers.data.cast("B")
        vars(self).update(arrays, table=table, cells=numbers, _float=cells.cast("d"), _int=cells.cast("q"))

    @classmethod
    def new_numbers(cls) -> NDArray[np.int64]:
        """Cells for all numbers, which are zero."""
        return np.zeros(len(cls.number_fields), dtype=np.int64)

    @property
    def numbers(self) -> dict[str, float]:
        """All numbers by name."""
        floats, integers = vars(self)["_float"], vars(self)["_int"]
        fields = self.number_fields.items()
        return {name: (floats if kind is np.float64 else integers)[cell] for name, (cell, kind) in fields}

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.number_fields:
            raise AttributeError(f"{name} cannot be replaced: the table would still hold the old address")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds addresses: copy what built it")


def address(array: NDArray[Any]) -> int:
    """Where an array's elements begin: what `array.ctypes.data` says, in a third of the time."""
    return int(array.__array_interface__["data"][0])


def _number(cell: int, kind: str) -> property:
    """A property that reads and writes one cell."""
    cells = f"_{kind}"

    def get(views: Any) -> Any:
        return vars(views)[cells][cell]

    def put(views: Any, value: Any) -> None:
        vars(views)[cells][cell] = value

    return property(get, put)


def _borrowed(address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """The array that lies at an address, which it does not own."""
    count = int(np.prod(shape))
    memory = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address) if count else b""
    return np.frombuffer(memory, dtype=dtype, count=count).reshape(shape)


# The same in jitted code ----------------------------------------------------------------------------------------------


class ViewsType(types.Type):
    """The numba type of the views of one class."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)


_CLASSES: dict[str, type[Views]] = {}
_TABLE = types.Array(types.int64, 1, "C")
_CELL = ir.IntType(64)


@register_model(ViewsType)
class ViewsModel(models.PrimitiveModel):
    """A value is the address of its table."""

    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _CELL.as_pointer())


def _register(views: type[Views]) -> None:
    """Let jitted code call `views(table)`."""
    kind = ViewsType(views.__name__)
    _CLASSES[views.__name__] = views

    @type_callable(views)
    def typed(context: Any) -> Any:
        return lambda table: kind if table == _TABLE else None

    @lower_builtin(views, _TABLE)
    def opened(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data


@typeof_impl.register(Views)
def _type_of(views: Views, context: Any) -> ViewsType:
    """A jitted function takes the value itself too; that is slower than the table, for what happens rarely."""
    return ViewsType(type(views).__name__)


@unbox(ViewsType)
def _unbox(kind: ViewsType, views: Any, context: Any) -> Any:
    table = context.pyapi.object_getattr_string(views, "table")
    native = context.unbox(_TABLE, table)
    address = context.context.make_array(_TABLE)(context.context, context.builder, native.value).data
    # Both references that were taken are given back: the value, which the caller holds, keeps the table alive.
    context.context.nrt.decref(context.builder, _TABLE, native.value)
    context.pyapi.decref(table)
    return NativeValue(address, is_error=native.is_error)


@infer_getattr
class ViewsAttributes(AttributeTemplate):
    """The types of the fields."""

    key = ViewsType

    def generic_resolve(self, kind: ViewsType, name: str) -> Any:
        """The type of one field."""
        views = _CLASSES[kind.name]
        if name in views.number_fields:
            return types.float64 if views.number_fields[name][1] is np.float64 else types.int64
        if name in views.array_fields:
            _, dtype, dimensions = views.array_fields[name]
            return types.Array(types.float64 if dtype is np.float64 else types.int64, dimensions, "C")
        return None


def _entry(builder: Any, table: Any, entry: int) -> Any:
    """An entry of the table, which does not change while a jitted function runs."""
    value = builder.load(builder.gep(table, [ir.Constant(_CELL, entry)]))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _cell(builder: Any, kind: ViewsType, table: Any, name: str) -> Any:
    """The address of a number."""
    cell, dtype = _CLASSES[kind.name].number_fields[name]
    llvm = ir.DoubleType() if dtype is np.float64 else _CELL
    numbers = builder.inttoptr(_entry(builder, table, 0), llvm.as_pointer())
    return builder.gep(numbers, [ir.Constant(_CELL, cell)])


@lower_getattr_generic(ViewsType)
def _get_field(context: Any, builder: Any, kind: ViewsType, table: Any, name: str) -> Any:
    views = _CLASSES[kind.name]
    if name in views.number_fields:
        return builder.load(_cell(builder, kind, table, name))
    entry, dtype, dimensions = views.array_fields[name]
    array_type = types.Array(types.float64 if dtype is np.float64 else types.int64, dimensions, "C")
    array = context.make_array(array_type)(context, builder)
    shape = [_entry(builder, table, entry + 1 + i) for i in range(dimensions)]
    item = ir.Constant(_CELL, np.dtype(dtype).itemsize)
    strides = [builder.mul(shape[1], item), item] if dimensions == 2 else [item]
    data = builder.inttoptr(_entry(builder, table, entry), array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()


@lower_setattr_generic(ViewsType)
def _set_field(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    table, value = arguments
    builder.store(value, _cell(builder, signature.args[0], table, name))
