"""Models as bytes: versioned, checksummed, without pickle.

Layout: magic, format version, digest of the version and all that follows; then the length of a JSON header, the header,
and the raw arrays that it refers to. The header is a tree of plain values; kernels stand in it as the expression that
`kernels.parse` reads, models as the name of their class, its parameters and its state. Nothing in it is executed.
"""

from __future__ import annotations

import abc
import errno
import functools
import hashlib
import importlib
import json
import math
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from . import display, kernels, rivers
from .checks import constructor_arguments
from .deprecation import renamed_parameters

MAGIC = b"SKM\x00"
VERSION = 3
OLDEST_VERSION = 1  # still read
_PREFIX = struct.Struct("<4sH16s")
_LENGTH = struct.Struct("<Q")
_ARRAY_TYPES = ("<f8", "<i8", "|u1", "|b1")

Functions = Mapping[str, Callable[..., Any]]


class CheckpointError(ValueError):
    """The bytes are not a model that this version can restore."""


class Checkpointed(abc.ABC):
    """A model that can be written to bytes and restored to continue bit for bit.

    A subclass says what it holds besides its constructor's arguments.
    """

    _registry: ClassVar[dict[str, type[Checkpointed]]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        Checkpointed._registry[cls.__name__] = cls
        cls._repr_html_ = Checkpointed._repr_html_  # type: ignore[method-assign]  # river's bases come first

    def _parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return constructor_arguments(self)

    @abc.abstractmethod
    def _get_state(self) -> dict[str, Any]:
        """What was learned, as plain values, arrays, kernels and models."""

    @abc.abstractmethod
    def _set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `_get_state` gave."""

    def _recent_errors(self) -> Sequence[float]:
        """The newest errors, in whatever unit, of a model that remembers some."""
        return ()

    def _repr_html_(self) -> str:
        """How notebooks show the model."""
        return display.as_html(self, self._parameters(), self._recent_errors())

    def to_bytes(self) -> bytes:
        """The model as bytes, for `from_bytes`."""
        return dumps(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, for `streamkernel.load`; the old file is there until the new one is complete."""
        write(path, self.to_bytes())

    def _opened(self) -> Any:
        """What `load` gives for this: the model itself, unless it only carries one."""
        return self

    @classmethod
    def from_bytes(cls, data: bytes, functions: Functions | None = None) -> Self:
        """The model that `to_bytes` wrote; it continues bit for bit.

        Parameters
        ----------
        data
            What `to_bytes` returned.
        functions
            The functions of `Custom` kernels by name: code is not stored.

        """
        model = loads(data, functions)
        if not isinstance(model, cls):
            raise CheckpointError(f"the checkpoint holds a {type(model).__name__}, not a {cls.__name__}")
        return model


def dumps(model: Any) -> bytes:
    """Any model of this library, or a river pipeline that ends in one, as bytes."""
    arrays = _Arrays()
    header = _to_json(_encode(model, arrays)).encode()
    body = b"".join([_LENGTH.pack(len(header)), header, *arrays])
    return _PREFIX.pack(MAGIC, VERSION, _digest(body)) + body


def loads(data: bytes, functions: Functions | None = None) -> Any:
    """The model, of whatever class, that `dumps` wrote."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data must be the bytes of a checkpoint, got {data!r} ({type(data).__name__})")
    data = bytes(data)
    if len(data) < _PREFIX.size + _LENGTH.size or data[:4] != MAGIC:
        raise CheckpointError(f"not a streamkernel checkpoint: {len(data)} bytes that start with {data[:4]!r}")
    _, version, digest = _PREFIX.unpack_from(data)
    if not OLDEST_VERSION <= version <= VERSION:
        raise CheckpointError(
            f"the checkpoint has format version {version}; this release reads {OLDEST_VERSION} to {VERSION}: "
            "restore it with the release that wrote it"
        )
    body = memoryview(data)[_PREFIX.size :]
    if _digest(body, version) != digest:
        raise CheckpointError("the checkpoint is damaged: its checksum does not match (truncated or altered)")
    try:
        end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
        text = bytes(body[_LENGTH.size : end])
        header = _header(text) if len(text) <= LONGEST_KEPT_HEADER else json.loads(text)
        return _decode(header, body[end:], functions or {})
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise CheckpointError(f"cannot restore the checkpoint: {error}") from error


def load(path: str | os.PathLike[str], functions: Functions | None = None) -> Any:
    """The model in a file that `model.save(path)` or the command line's `--save` wrote.

    It continues where it was saved. The checkpoint of a command that scaled the features gives a river pipeline: the
    scaler with the statistics that it had, and the model.

    Parameters
    ----------
    path
        The file.
    functions
        The functions of `Custom` kernels by name: code is not stored.

    Examples
    --------

    >>> import os, tempfile
    >>> import streamkernel
    >>> model = streamkernel.KRLS(ridge=0.1)
    >>> model.learn_one({"x": 1.0}, 2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.skm")
    ...     model.save(path)
    ...     same = streamkernel.load(path)
    >>> same.predict_one({"x": 1.0}) == model.predict_one({"x": 1.0})
    True

    """
    with open(os.fspath(path), "rb") as file:  # a number would be a descriptor: that of the terminal has no end
        data = file.read()
    try:
        model = loads(data, functions)
    except CheckpointError as error:
        raise CheckpointError(f"{os.fspath(path)}: {error}") from error
    return model._opened() if isinstance(model, Checkpointed) else model


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, or a whole river pipeline, to a file for `load`.

    The old file is there until the new one is complete.

    Parameters
    ----------
    model
        A model of this library, alone or in a river pipeline with river's scalers and encoders. Nothing is pickled, so
        a pipeline with other parts is refused; an error names the part.
    path
        The file.

    Examples
    --------

    >>> import os, tempfile
    >>> import streamkernel
    >>> from river import preprocessing
    >>> model = preprocessing.StandardScaler() | streamkernel.KRLS(ridge=0.1)
    >>> model.learn_one({"x": 1.0}, 2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.skm")
    ...     streamkernel.save(model, path)
    ...     same = streamkernel.load(path)
    >>> same.predict_one({"x": 1.0}) == model.predict_one({"x": 1.0})
    True

    """
    if not isinstance(model, Checkpointed) and rivers.describe(model) is None:
        raise TypeError(f"model must be a model of this library or a river pipeline that ends in one, got {model!r}")
    write(path, dumps(model))


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole: who reads it meanwhile, or after a crash, sees the old one or the new one, never a part."""
    path = os.fsdecode(path)
    if not path or (os.path.exists(path) and not os.path.isfile(path)):  # a device or pipe would be replaced for good
        raise OSError(errno.EINVAL, "not a regular file", path)
    target = os.path.realpath(path)  # a link stays a link
    partial = f"{target}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise


_to_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
# Models of one kind and size have equal headers: what was read is kept, and nobody changes it.
KEPT_HEADERS, LONGEST_KEPT_HEADER = 256, 4096
_header = functools.lru_cache(KEPT_HEADERS)(json.loads)
# Types of the tree that are more than a value.
_BRANCHES = frozenset({dict, list})
# Types whose values stand in the header as they are; a float does too where it is finite.
_AS_THEY_ARE = frozenset({type(None), bool, int, str})


def _digest(body: bytes | memoryview, version: int = VERSION) -> bytes:
    """The checksum; since version 3 it tells one version from another."""
    return hashlib.blake2b(body, digest_size=16, person=b"" if version < 3 else b"%d" % version).digest()


class _Arrays(list[bytes]):
    """The arrays of a checkpoint, and the functions by the names that its kernels have for them."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self.length = 0


def _encode(value: Any, arrays: _Arrays) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE or (kind is float and math.isfinite(value)):  # most are
        return value
    if kind is dict:
        return {
            "items": [
                [k if type(k) is str else _encode(k, arrays), v if type(v) in _AS_THEY_ARE else _encode(v, arrays)]
                for k, v in value.items()
            ]
        }
    if isinstance(value, np.ndarray):
        code = _array_code(value.dtype)
        offset = arrays.length
        arrays.append(value.astype(code, copy=False).tobytes())
        arrays.length += value.nbytes
        return {"array": [code, [*value.shape], offset]}
    if isinstance(value, tuple):
        return {"tuple": [item if type(item) in _AS_THEY_ARE else _encode(item, arrays) for item in value]}
    if isinstance(value, list):
        return [item if type(item) in _AS_THEY_ARE else _encode(item, arrays) for item in value]
    if isinstance(value, kernels.Kernel):
        return {"kernel": kernels.text(value, arrays.functions)}
    if isinstance(value, Checkpointed):
        parts = [_encode(value._parameters(), arrays), _encode(value._get_state(), arrays)]
        return {"model": [type(value).__name__, *parts]}
    return _encode_rare(value, arrays)


def _encode_rare(value: Any, arrays: _Arrays) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, Mapping):
        return _encode(dict(value), arrays)
    if (described := rivers.describe(value)) is not None:
        return {"river": [_encode(part, arrays) for part in described]}
    raise TypeError(
        f"cannot write {value!r} ({type(value).__name__}) to a checkpoint: it holds models of this library and river's "
        f"{', '.join(rivers.known())}; pickle a pipeline of others"
    )


@functools.cache
def _array_code(dtype: np.dtype[Any]) -> str:
    """How an array of this type stands in a checkpoint."""
    code: str = dtype.newbyteorder("<").str
    if code not in _ARRAY_TYPES:
        raise TypeError(f"cannot write an array of {dtype} to a checkpoint")
    return code


def _decode(value: Any, arrays: memoryview, functions: Functions) -> Any:
    kind = type(value)
    if kind is list:
        return [_decode(item, arrays, functions) for item in value]
    if kind is not dict:
        return value
    ((tag, content),) = value.items()
    if tag == "items":
        return {
            k if type(k) is str else _decode(k, arrays, functions): (
                _decode(v, arrays, functions) if type(v) in _BRANCHES else v
            )
            for k, v in content
        }
    if tag == "array":
        kind, shape, offset = content
        array = np.frombuffer(arrays, kind, math.prod(shape), offset)
        return (array if len(shape) == 1 else array.reshape(shape)).copy()
    if tag == "kernel":
        return kernels.parse(content, functions)
    if tag == "tuple":
        return tuple([_decode(item, arrays, functions) if type(item) in _BRANCHES else item for item in content])
    if tag == "float":
        return float(content)
    if tag == "river":
        return rivers.restore(*(_decode(part, arrays, functions) for part in content))
    name, parameters, state = content
    kind = _class(name)
    model = kind(**renamed_parameters(kind, _decode(parameters, arrays, functions)))
    model._set_state(_decode(state, arrays, functions))
    return model


def _class(name: str) -> type[Checkpointed]:
    """The class of a stored model."""
    known = Checkpointed._registry
    if name not in known:
        package: Any = sys.modules[__package__]
        if name in package.STORED:  # it lists the modules of its classes
            importlib.import_module(f".{package.STORED[name]}", __package__)
    if name not in known:
        raise CheckpointError(f"the checkpoint holds a {name}, which this release does not have")
    return known[name]
