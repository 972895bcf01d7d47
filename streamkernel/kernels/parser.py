"""Kernels from text: what `repr` prints is read again, and nothing is evaluated as code."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Mapping
from typing import Any

from .base import Kernel, Leaf
from .leaves import Custom
from .odd import Odd
from .program import Function

Functions = Mapping[str, Function]
KEPT_TEXTS = 64


def parse(text: str, functions: Functions | None = None) -> Kernel:
    """The kernel that an expression such as `RBF(1.0) + 0.1 * Linear()` describes; nothing is evaluated as code.

    Parameters
    ----------
    text
        What `repr` of a kernel prints, or the same by hand.
    functions
        The functions that `Custom(name)` may refer to.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.parse("Matern52(length_scale=(1, 2)) * Periodic(period=12)")
    Matern52((1.0, 2.0)) * Periodic(1.0, period=12.0)

    """
    return _parsed(text) if not functions and isinstance(text, str) else _parse(text, functions or {})


@functools.lru_cache(KEPT_TEXTS)
def _parsed(text: str) -> Kernel:
    """Kernels without functions are values: one that was read is kept."""
    return _parse(text, {})


def _parse(text: str, functions: Functions) -> Kernel:
    try:
        kernel = _parse_node(ast.parse(text.strip(), mode="eval").body, text, functions)
    except SyntaxError as error:
        raise ValueError(f"cannot read kernel {text!r}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"cannot read kernel {text[:50]!r}...: the expression is nested too deeply") from None
    if not isinstance(kernel, Kernel):
        raise ValueError(f"cannot read kernel {text!r}: a number alone is no kernel, write Constant({kernel!r})")
    return kernel


def text(kernel: Kernel, functions: dict[str, Function] | None = None) -> str:
    """The expression from which `parse` makes this kernel again; an error where none does.

    Parameters
    ----------
    kernel
        The kernel.
    functions
        The functions of other kernels by name, to which those of this one are added: one name stands for one function.

    Examples
    --------

    >>> from streamkernel import kernels
    >>> kernels.text(kernels.RBF({"a": 1}) + 1)
    "RBF({'a': 1.0}) + Constant(1.0)"

    """
    kept: str | None = getattr(kernel, "_text", None)
    if kept is not None:
        return kept
    known = {} if functions is None else functions
    custom = [leaf for leaf in kernel.leaves() if isinstance(leaf, Custom)]
    for leaf in custom:
        if known.setdefault(leaf.name, leaf.function) is not leaf.function:
            raise TypeError(f"two functions of Custom kernels have the name {leaf.name!r}: give them different names")
    try:
        written = _text(kernel)
    except RecursionError:
        raise TypeError("a kernel is nested too deeply to be written") from None
    if not custom:
        object.__setattr__(kernel, "_text", written)
    return written


@functools.lru_cache(maxsize=KEPT_TEXTS)
def _text(kernel: Kernel) -> str:
    written = repr(kernel)
    try:
        again = parse(written, {leaf.name: leaf.function for leaf in kernel.leaves() if isinstance(leaf, Custom)})
    except ValueError as error:
        raise TypeError(f"a kernel that is written could not be read: {error}") from None
    if again != kernel:
        raise TypeError(f"the kernel {written} would be read as {again!r}")
    return written


def _parse_node(node: ast.expr, text: str, functions: Functions) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        left, right = _parse_node(node.left, text, functions), _parse_node(node.right, text, functions)
        if not isinstance(left, Kernel) and not isinstance(right, Kernel):
            raise ValueError(f"cannot read kernel {text!r}: {ast.unparse(node)!r} combines no kernel")
        return left + right if isinstance(node.op, ast.Add) else left * right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == Odd.__name__:
        if len(node.args) != 1 or node.keywords:
            raise ValueError(f"cannot read kernel {text!r}: Odd takes one kernel")
        try:
            return Odd(_parse_node(node.args[0], text, functions))
        except TypeError as error:
            raise ValueError(f"cannot read kernel {text!r}: {error}") from None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in Leaf.kinds:
        kind = Leaf.kinds[node.func.id]
        if kind is Custom:
            return _parse_custom(node, text, functions)
        arguments = [_literal(argument, text) for argument in node.args]
        keywords = {str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords}
        try:
            return kind(*arguments, **keywords)
        except TypeError as error:
            raise ValueError(f"cannot read kernel {text!r}: {error}") from None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    raise ValueError(
        f"cannot read kernel {text!r}: {ast.unparse(node)!r} is none of {', '.join(sorted({*Leaf.kinds, 'Odd'}))}"
    )


def _parse_custom(node: ast.Call, text: str, functions: Functions) -> Custom:
    given = node.args[0] if node.args else None
    name = str(given.value) if isinstance(given, ast.Constant) else ast.unparse(given) if given else ""
    if name not in functions:
        raise ValueError(
            f"cannot read kernel {text!r}: the function {name!r} is not known; pass it as functions={{{name!r}: ...}}"
        )
    return Custom(functions[name], **{str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords})


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(_Infinity().visit(node))
    except (TypeError, ValueError):
        raise ValueError(
            f"cannot read kernel {text!r}: {ast.unparse(node)!r} is not a number, tuple or mapping"
        ) from None


class _Infinity(ast.NodeTransformer):
    """`inf` as a number: a length scale may be infinite, and `repr` prints it so."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(math.inf), node) if node.id == "inf" else node
