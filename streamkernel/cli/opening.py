"""From a path or standard input to lines of text: compression and encoding are found in the first bytes, or given.

Everything is read as it comes, in constant memory; a line arrives when it was written, also through a pipe.
"""

from __future__ import annotations

import codecs
import functools
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from .output import CommandError

HEAD = 1 << 16  # bytes that compression and encoding are found in
LONGEST_LINE = 1 << 24  # characters; a file without line ends is no table

_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_BZIP2 = re.compile(rb"BZh[1-9](\x31\x41\x59\x26\x53\x59|\x17\x72\x45\x38\x50\x90)")  # a block, or the end
_FOREIGN = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet): unpack it, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet: save it as CSV",
    b"SKM\x00": "a streamkernel checkpoint: 'streamkernel info' tells what is in it",
}
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")

# In this order: the mark of UTF-32 begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# What the libraries raise where the bytes are not what they seemed to be.
READ_ERRORS = (OSError, EOFError, ValueError, NotImplementedError, zlib.error, lzma.LZMAError)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = head, rest
        self._read = getattr(rest, "read1", rest.read)  # what has arrived, without waiting for more

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        chunk = chunk or self._read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        if not self.closed and self._rest is not getattr(sys.stdin, "buffer", None):
            self._rest.close()
        super().close()


class Bytes:
    """The bytes of a file or of standard input (`-`), decompressed, and how far they were read."""

    def __init__(self, path: str) -> None:
        self.path = path
        if path == "-" and sys.stdin is None:
            raise CommandError("cannot read -: standard input is closed")
        try:
            self._raw: Any = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
            self.size = None if path == "-" else os.fstat(self._raw.fileno()).st_size or None
            self.head, self.file = _joined(self._raw)
            self.note = ""
            if opened := _decompressor(self.head):
                name, open_compressed = opened
                self.head, self.file = _joined(open_compressed(self.file))
                self.note = name
        except IsADirectoryError:
            raise CommandError(f"cannot read {path}: it is a folder") from None
        except READ_ERRORS as error:
            raise CommandError(f"cannot read {path}: {error}") from error
        for magic, what in _FOREIGN.items():
            if self.head.startswith(magic):
                self.close()
                raise CommandError(f"cannot read {path}: it is {what}")

    def position(self) -> int:
        """The bytes read of the file as it lies on the disk."""
        return 0 if self.size is None else int(self._raw.tell())

    def close(self) -> None:
        """Let go of the file; standard input stays open."""
        self.file.close()


def _joined(raw: Any) -> tuple[bytes, io.BufferedReader]:
    """The first bytes, up to the end of a line at least, and all of them."""
    read, head = getattr(raw, "read1", raw.read), b""
    while len(head) < HEAD and (b"\n" not in head) and (chunk := read(HEAD)):
        head += chunk
    return head, io.BufferedReader(_Joined(head, raw), HEAD)


def is_typed(head: bytes) -> bool:
    """Whether the first bytes are those of a Parquet or Arrow file, and not of a column with such a name."""
    if head.startswith((PARQUET, ARROW_FILE)):
        return _NO_TEXT.search(head, 0, 64) is not None
    return head.startswith(ARROW_STREAM)


def _decompressor(head: bytes) -> tuple[str, Callable[[Any], Any]] | None:
    if head.startswith(_GZIP):
        import gzip

        return "gzip", lambda raw: gzip.GzipFile(fileobj=raw)
    if _BZIP2.match(head):
        import bz2

        return "bzip2", bz2.BZ2File
    if head.startswith(_XZ):
        return "xz", lzma.LZMAFile
    return ("zstd", _open_zstd) if head.startswith(_ZSTD) else None


def _open_zstd(raw: Any) -> Any:
    """Python reads it from 3.14 on; pyarrow always does."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return zstd.ZstdFile(raw)
    except ImportError:
        pass
    try:
        import pyarrow
    except ImportError:
        raise CommandError("zstd files need Python 3.14 or pyarrow: pip install 'streamkernel[frames]'") from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")


class Lines:
    """The lines of a text, as they are in the file, and a checksum of those that were given out.

    Parameters
    ----------
    source
        The bytes.
    encoding
        Of the text; None is found: UTF-8, UTF-16 (also without a mark), or Latin-1.

    """

    def __init__(self, source: Bytes, encoding: str | None = None) -> None:
        self.mark = 0
        self.path = source.path
        self.encoding = encoding or _encoding_of(source.head)
        try:
            self._file = io.TextIOWrapper(source.file, encoding=self.encoding, newline="")
        except LookupError:
            raise CommandError(f"--encoding {encoding}: unknown; for example utf-8, utf-16, latin-1, cp1252") from None

    def __iter__(self) -> Iterator[str]:
        crc = zlib.crc32
        try:
            for line in iter(functools.partial(self._file.readline, LONGEST_LINE), ""):
                if len(line) == LONGEST_LINE:
                    raise CommandError(f"cannot read {self.path}: a line is longer than {LONGEST_LINE} characters")
                # The end of a line is left out: the last one may still be to come.
                self.mark = crc(line.rstrip("\r\n").encode("utf-8", "surrogatepass"), self.mark)
                yield line
        except UnicodeError as error:
            raise CommandError(
                f"cannot read {self.path} as {self.encoding}: {error}; another --encoding? (for example latin-1)"
            ) from error
        except READ_ERRORS as error:
            raise CommandError(f"cannot read {self.path}: {error}") from error


def _encoding_of(head: bytes) -> str:
    """What the text seems to be written in.

    Examples
    --------

    >>> from streamkernel.cli.opening import _encoding_of
    >>> [_encoding_of("Zürich,y".encode(name)) for name in ("utf-8", "utf-16", "utf-16-be", "latin-1")]
    ['utf-8', 'utf-16', 'utf-16-be', 'latin-1']

    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 4:  # Latin letters and digits have one zero byte each
        return "utf-16-be" if even > odd else "utf-16-le"
    if _decodes(head, "utf-8"):
        return "utf-8"
    # Windows' own characters stand where Latin-1 has none that are used.
    return "cp1252" if re.search(rb"[\x80-\x9f]", head) and _decodes(head, "cp1252") else "latin-1"


def _decodes(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True
