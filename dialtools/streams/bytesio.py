"""Files, stdin, gzip and zstd as one stream of bytes."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import quote, unquote

from dialtools.errors import DataError
from dialtools.streams.pipes import widen
from dialtools.streams.scraps import known_as

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([kind]) + b"\x2a\x4d\x18" for kind in range(0x50, 0x60)))
"""How frames begin: of data; and without, such as pzstd writes before each of data."""
STDIN = "<stdin>"
FOLDERS = (
    "name its files: DIR/*.jsonl; folders are read that hold Parquet or Arrow alone, or the parts "
    "of one run"
)
BUFFER_BYTES = 1 << 20
REMOTE = "dialtools.remote"
"""The folder, in a temporary one, in which copies of remote files lie."""
NO_HOST = "_"
"""The folder there of what lies on no host, as `file:///tmp/a` does."""
UNPACKED, WITHIN = "dialtools.unpacked", "="
"""The folder in which files of archives lie, and what stands there before their own names."""
LONGEST = 200
"""Letters of a folder's name; systems have room for 255."""


def display_name(path: str) -> str:
    """Return how messages and records call an input."""
    return STDIN if path == "-" else own_name(path)


def own_name(name: str) -> str:
    """Return the name of a file as text that UTF-8 can hold: other bytes become `\\xff`.

    A copy of a remote file (`streams.remote`) is called what it is a copy of, and a file of an
    archive (`corpora.unpacked`) by the archive's name and its own.
    """
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    if packed := text.partition(f"/{UNPACKED}/")[2]:
        archive, _, inner = f"{packed}/".partition(f"/{WITHIN}/")
        return f"{unquote(archive.replace('/', ''))}/{inner}".rstrip("/")
    copy = text.partition(f"/{REMOTE}/")[2]
    return copy.replace(":/", "://", 1).replace(f"://{NO_HOST}/", ":///", 1) if copy else text


def place_of_archive(path: str, folder: Path) -> Path:
    """Return where below a folder the files of an archive lie, so that `own_name` names both."""
    called = quote(own_name(path), safe="")
    parts = (called[at : at + LONGEST] for at in range(0, len(called), LONGEST))
    return folder.joinpath(UNPACKED, *parts, WITHIN)


def is_there(path: str) -> bool:
    """Tell whether a path is there; what cannot be asked of is told when it is opened."""
    with suppress(OSError, ValueError):
        return Path(path).exists()
    return True


def refuse_missing(paths: Iterable[str]) -> None:
    """Refuse inputs of which one is not there, before any is read.

    Raises:
        DataError: naming it.
    """
    for path in paths:
        if path != "-" and not is_there(path):
            raise DataError("no such file or directory", where=display_name(path))


def files_below(folder: Path, above: tuple[str, ...] = ()) -> Generator[Path]:
    """Yield the files below a folder, through links to other folders, too, in order.

    Args:
        above: the folders that this one is in; a link back to one of them is no way on.

    Raises:
        OSError: if a folder cannot be read.
    """
    inside = (*above, os.path.realpath(folder))
    if inside[-1] not in above:
        for path in sorted(folder.iterdir()):
            yield from files_below(path, inside) if path.is_dir() else (path,)


def inputs_below(folder: Path) -> Generator[Path]:
    """Yield the files below a folder, which are to be read.

    Raises:
        OSError: if a folder cannot be read.
        DataError: if one is a pipe or a device, which may wait for ever.
    """
    for path in files_below(folder):
        if path.exists() and not path.is_file():
            hint = "a pipe or a device is read if it is named itself"
            raise DataError("is no file", where=own_name(str(path)), hint=hint)
        yield path


@contextmanager
def open_input(path: str) -> Generator[io.BufferedReader]:
    """Open a file, or `-` for stdin.

    What begins like gzip or zstd is decompressed, a UTF-8 byte-order mark is stripped.

    Raises:
        DataError: if the file cannot be opened, or its compressed data is cut or damaged.
    """
    name = display_name(path)
    with nullcontext(stdin()) if path == "-" else open_file(path) as raw:
        descriptor = 0 if path == "-" else raw.fileno()  # of a stdin that is hashed, too
        widen(descriptor)
        with opened(raw, name) as stream:
            mode = os.fstat(descriptor).st_mode
            if not stream.peek() and not stat.S_ISREG(mode):
                raise _nothing_came(name, mode)
            yield stream


def open_file(path: str | Path) -> io.BufferedReader:
    """Open a file as it lies there.

    Raises:
        DataError: if it cannot be opened; or read, as where a disk or a network fails.
    """
    return io.BufferedReader(_File(str(path), str(path)), BUFFER_BYTES)


def stdin() -> BinaryIO:
    """Return stdin, of which an error is told as one of a file is; a stand-in is returned itself.

    All that read stdin take it from here: another buffer would keep what it has read ahead.
    """
    raw = getattr(sys.stdin.buffer, "raw", None)
    if type(raw) is io.FileIO:
        named = _File(os.dup(raw.fileno()), "-")  # whose stdin closes its own when it goes
        sys.stdin = io.TextIOWrapper(io.BufferedReader(named, BUFFER_BYTES))
    return sys.stdin.buffer


class _File(io.FileIO):
    def __init__(self, file: str | int, path: str) -> None:
        self.path = path
        with self._naming():
            super().__init__(file)

    def readinto(self, buffer: Any) -> Any:
        with self._naming():
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with self._naming():
            return super().readall()

    @contextmanager
    def _naming(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            hint = FOLDERS if isinstance(error, IsADirectoryError) else None
            told = (error.strerror or str(error)).lower()
            where = display_name(str(known_as(Path(self.path))))
            raise DataError(told, where=where, hint=hint) from None


def _nothing_came(name: str, mode: int) -> DataError:
    """Return the error of a pipe, or any other stdin than a file, without a byte.

    An empty file may be what somebody means: a part of a split, say. An empty pipe is what a
    command leaves that failed or was killed before its first record.
    """
    piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    hint = "the command before it in the pipe failed, or found nothing" if piped else None
    return DataError("no input", where=name, hint=hint)


@contextmanager
def opened(raw: BinaryIO, name: str) -> Generator[io.BufferedReader]:
    """Yield what an open file holds, decompressed, without a UTF-8 byte-order mark.

    Raises:
        DataError: if its compressed data is cut or damaged.
    """
    with _damage(name):
        stream = _decompressed(raw, name)
        if stream.peek(3).startswith(BOM):
            stream.read(len(BOM))
        yield stream


def _decompressed(raw: BinaryIO, name: str) -> io.BufferedReader:
    buffered = cast("io.BufferedReader", raw) if hasattr(raw, "peek") else _buffered(raw)
    head = buffered.peek(4)
    if not head.startswith((GZIP, *ZSTD)):
        return buffered
    packed: Any = gzip.GzipFile(fileobj=buffered) if head.startswith(GZIP) else _Zstd(buffered)
    stream = _buffered(packed)
    if stream.peek(4).startswith((GZIP, *ZSTD)):
        hint = "`gzip -dc FILE |` or `zstd -dc FILE |` unpacks it once"
        raise DataError("packed twice, by gzip or zstd", where=name, hint=hint)
    return stream


def _buffered(raw: Any) -> io.BufferedReader:
    """Return a reader that can peek; its type says less than it takes."""
    return io.BufferedReader(raw, BUFFER_BYTES)


WIDER = "requires too much memory"
"""What zstd says of a window that it takes only on demand."""
LONG = "`zstd -dc --long=31 FILE |` unpacks it, with up to 2 GB of memory"
COMPRESSED_AT_ONCE = 1 << 10
"""Bytes: four of zstd may be 128 KiB, so these are 32 MiB at most."""


class _Zstd(io.RawIOBase):
    """Reads frame after frame, and tells a cut frame from the end (zstandard's reader does not)."""

    def __init__(self, source: io.BufferedReader) -> None:
        self.source = source
        self.decoder: Any = None
        self.pending = memoryview(b"")
        self.inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self.pending:
            block = self.source.read1(COMPRESSED_AT_ONCE)
            if not block:
                if self.inside:
                    raise EOFError("zstd")
                return 0
            self.pending = memoryview(b"")  # lets go of what was there
            self.pending = memoryview(self._decode(block))
        n = min(len(target), len(self.pending))
        target[:n], self.pending = self.pending[:n], self.pending[n:]
        return n

    def _decode(self, block: bytes) -> bytes:
        import zstandard

        parts: list[bytes] = []
        while block:
            if not self.inside:
                self.decoder = zstandard.ZstdDecompressor().decompressobj()
            parts.append(self.decoder.decompress(block))
            self.inside, block = not self.decoder.eof, self.decoder.unused_data
        return b"".join(parts)


@contextmanager
def _damage(name: str) -> Generator[None]:
    """Turn a decompressor's error into one that names the file."""
    try:
        yield
    except EOFError as error:
        kind = "zstd" if "zstd" in str(error) else "gzip"
        raise DataError(
            f"truncated {kind}: the file ends inside compressed data", where=name
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"damaged gzip: {error}", where=name) from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            wider = WIDER in str(error)
            what = "zstd with a window of more than 128 MB" if wider else f"damaged zstd: {error}"
            raise DataError(what, where=name, hint=LONG if wider else None) from None
        raise
