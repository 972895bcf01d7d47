"""Names and orders of arguments that have changed: the former ones are understood for one release, with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def formerly(*positional: str, **renamed: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that still takes arguments as an earlier release did.

    Parameters
    ----------
    positional
        Arguments that could be given by position, in that order, behind those that still can: they are to be named now.
    renamed
        Former names and what they are called now.

    Examples
    --------

    >>> import warnings
    >>> from streamkernel.deprecation import formerly
    >>> @formerly("ridge", noise="ridge")
    ... def fit(kernel, *, ridge=0.1):
    ...     return kernel, ridge
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     fit("RBF", 0.5), fit("RBF", noise=0.2)
    (('RBF', 0.5), ('RBF', 0.2))
    >>> [str(warning.message) for warning in caught]
    ['fit: name the argument: ridge=0.5', "fit: the argument 'noise' is called 'ridge' now"]

    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        count = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
        name = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def wrapper(*arguments: Any, **named: Any) -> R:
            if len(arguments) > count or not named.keys().isdisjoint(renamed):
                arguments, named = _today(name, arguments[:count], arguments[count:], named)
            return function(*arguments, **named)

        def _today(
            name: str, kept: tuple[Any, ...], extra: tuple[Any, ...], named: dict[str, Any]
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            if len(extra) > len(positional):
                raise TypeError(f"{name} takes {count - 1} arguments by position, name the others: {positional}")
            found = dict(zip(positional, extra, strict=False))
            for argument, value in found.items():
                _warn(f"{name}: name the argument: {argument}={value!r}")
            for argument, value in named.items():
                if argument in renamed:
                    _warn(f"{name}: the argument {argument!r} is called {renamed[argument]!r} now")
                today = renamed.get(argument, argument)
                if today in found:
                    raise TypeError(f"{name} got two values for {today!r}")
                found[today] = value
            return kept, found

        wrapper.former_names = renamed  # type: ignore[attr-defined]
        return wrapper

    return decorate


def former_attribute(today: str) -> Any:
    """An attribute under its former name, which can be read.

    Examples
    --------

    >>> from streamkernel.deprecation import former_attribute
    >>> class Model:
    ...     ridge = 0.1
    ...     noise = former_attribute("ridge")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Model().noise, str(caught[0].message)
    (0.1, "Model: the attribute 'noise' is called 'ridge' now")

    """
    return _FormerAttribute(today)


class _FormerAttribute:
    """A descriptor that hands over to another name."""

    def __init__(self, today: str) -> None:
        self.today = today

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        message = f"{owner.__name__}: the attribute {self.name!r} is called {self.today!r} now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(instance, self.today)


def renamed_parameters(kind: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments that an earlier release has stored, by today's names."""
    former: dict[str, str] = getattr(kind.__init__, "former_names", {})  # type: ignore[misc]
    if former.keys().isdisjoint(parameters):
        return parameters
    return {former.get(name, name): value for name, value in parameters.items()}


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=4)
