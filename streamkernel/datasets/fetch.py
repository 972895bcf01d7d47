"""Find a data file, or download it into a cache: atomic, checked, with progress."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib
import importlib.util
import os
import pathlib
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = [
    "DatasetError",
    "Original",
    "Packaged",
    "Progress",
    "cache_folder",
    "check_folder",
    "data_folders",
    "download",
]

Progress = Callable[[int, int | None], None]

CHUNK = 1 << 16
TIMEOUT = 30.0  # Seconds without a byte before a transfer counts as broken.
LONGEST = 1800.0  # Seconds after which a transfer counts as broken, however it drips.
LARGEST = 1 << 30  # Bytes, of a file as it is sent and as it is once unpacked; the largest known one has a tenth.


class DatasetError(OSError):
    """Data that cannot be had, or that is not what it should be."""


@dataclass(frozen=True)
class Original:
    """A public file: its address, its name in a folder or the cache, and its checksum where it is known."""

    url: str
    name: str
    sha256: str | None = None


@dataclass(frozen=True)
class Packaged:
    """A file inside an installed package. The package is located, not imported."""

    package: str
    path: str

    def read(self) -> bytes | None:
        """The file's bytes, or None if the package or the file is not there."""
        try:
            spec = importlib.util.find_spec(self.package)
        except (ImportError, ValueError):
            return None
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            file = pathlib.Path(folder, self.path)
            if file.is_file():
                return file.read_bytes()
        return None


def check_folder(folder: str | os.PathLike[str] | None) -> pathlib.Path | None:
    """`folder` as a path; ValueError if it is not a folder."""
    if folder is None:
        return None
    path = pathlib.Path(folder).expanduser()
    if not path.is_dir():
        raise ValueError(f"folder must be an existing folder, got {os.fspath(folder)!r}")
    return path


def data_folders(folder: pathlib.Path | None) -> list[pathlib.Path]:
    """The folders to search: the one given, then the one STREAMKERNEL_DATA names."""
    named = os.environ.get("STREAMKERNEL_DATA")
    return ([folder] if folder else []) + ([pathlib.Path(named).expanduser()] if named else [])


def cache_folder() -> pathlib.Path:
    """Where downloads are kept: STREAMKERNEL_CACHE, or the user's cache folder of the platform."""
    named = os.environ.get("STREAMKERNEL_CACHE")
    if named:
        return pathlib.Path(named).expanduser()
    home = pathlib.Path.home()
    if sys.platform == "win32":
        parent = pathlib.Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = home / "Library" / "Caches"
    else:
        parent = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return parent / "streamkernel"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def _reporter(name: str, progress: Progress | None) -> Iterator[Progress]:
    """The caller's progress function; else a bar where tqdm is installed and stderr is a terminal; else silence."""
    if progress is not None:
        yield progress
    elif sys.stderr is None or not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        yield lambda done, total: None
    else:
        tqdm = importlib.import_module("tqdm")
        with tqdm.tqdm(desc=name, unit="B", unit_scale=True, leave=False) as bar:

            def show(done: int, total: int | None) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield show


def _transfer(original: Original, progress: Progress | None) -> bytes:
    """The bytes at an address. Every failure is a DatasetError that begins with the address."""
    url = original.url
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, got {url!r}")
    request = urllib.request.Request(url, headers={"User-Agent": "streamkernel"})
    parts: list[bytes] = []
    done = 0
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, _reporter(original.name, progress) as report:
            length = answer.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            report(0, total)
            began = time.monotonic()
            while chunk := answer.read1(CHUNK):
                parts.append(chunk)
                done += len(chunk)
                report(done, total)
                if done > LARGEST:
                    raise DatasetError(f"{url}: more than {LARGEST} bytes, which is no file of this library")
                if time.monotonic() - began > LONGEST:
                    raise DatasetError(f"{url}: no end after {LONGEST:g} seconds and {done} bytes")
    except urllib.error.HTTPError as error:
        error.close()
        raise DatasetError(f"{url}: the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise DatasetError(f"{url}: no connection ({error.reason})") from error
    except DatasetError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise DatasetError(
            f"{url}: the transfer broke after {done} bytes ({str(error) or type(error).__name__})"
        ) from error
    if total is not None and done != total:
        raise DatasetError(f"{url}: the transfer broke after {done} of {total} bytes")
    return b"".join(parts)


def _check(original: Original, data: bytes, where: object) -> None:
    if original.sha256 is not None and sha256(data) != original.sha256:
        raise DatasetError(f"{where}: checksum {sha256(data)} is not the expected {original.sha256}")


def download(original: Original, progress: Progress | None = None) -> bytes:
    """The file's bytes, from the cache or else from its address.

    A file enters the cache whole or not at all: it is written beside its place and renamed, so a broken transfer leaves
    nothing behind and processes that download at once do not disturb one another. A cached file whose checksum is
    wrong is downloaded anew.
    """
    path = cache_folder() / original.name
    if path.is_file():
        data = path.read_bytes()
        with contextlib.suppress(DatasetError):
            _check(original, data, path)
            return data
    data = _transfer(original, progress)
    _check(original, data, original.url)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        os.replace(partial, path)
    except OSError:
        # The data is here; a cache that cannot be written only costs the next process a download.
        pass
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return data


def discard(original: Original) -> None:
    """Remove a file from the cache."""
    with contextlib.suppress(OSError):
        (cache_folder() / original.name).unlink(missing_ok=True)


def local(originals: tuple[Original, ...], folder: pathlib.Path) -> list[bytes] | None:
    """The original files if a folder holds every one of them, their checksums verified."""
    paths = [folder / original.name for original in originals]
    if not all(path.is_file() for path in paths):
        return None
    contents = [path.read_bytes() for path in paths]
    for original, path, data in zip(originals, paths, contents, strict=True):
        _check(original, data, path)
    return contents
