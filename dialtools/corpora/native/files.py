"""A corpus as it was published: a folder, a zip or tar archive, or a single file, as named texts.

Archives are read in place (a packed tar from an unnamed temporary file); no path found in one is
ever written to.
"""

from __future__ import annotations

import bz2
import csv
import fnmatch
import gzip
import io
import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, NoReturn, cast

import orjson

from dialtools.corpora.delimited import csv_error
from dialtools.corpora.fields import json_kind
from dialtools.corpora.splits import VALIDATION
from dialtools.errors import DataError
from dialtools.shown import first_line
from dialtools.streams import bounds, exact, full
from dialtools.streams.bytesio import (
    BOM,
    inputs_below,
    open_input,
    opened,
    own_name,
    place_of_archive,
)
from dialtools.streams.chunks import Numbered, chunks_of, decode, records
from dialtools.streams.formats import is_archive
from dialtools.streams.policy import Policy, Where
from dialtools.streams.scraps import temporary_folder

SPLITS = {"train": ("train", "trn", "training"), "val": VALIDATION, "test": ("test", "tst")}
NAMES_TOLD = 5
OPENING_BYTES = 1 << 14
"""Of a file, by which it may be told: its first record may begin with a long text."""
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,  # names that are no text
)
"""What the libraries of archives raise for one that is broken, encrypted or of an unknown kind."""
Member = tuple[str, int, Any]
"""Name and bytes of a file of an archive, and what the archive's library calls it."""
HIDDEN = re.compile(r"(^|/)\.(?!\.?/)")
"""Files of macOS, of git, and outputs on their way."""
ORDER: dict[str | None, int] = {split: place for place, split in enumerate(SPLITS)}


class Files:
    """The files of a corpus by their names below its root; holds one file at a time.

    Raises:
        DataError: if the path cannot be opened, or its archive is damaged.
    """

    def __init__(self, path: str, policy: Policy) -> None:
        self.path, self.policy = path, policy
        self._archive: zipfile.ZipFile | tarfile.TarFile | None = None
        try:
            named = self._open(path).items()
            self._names = {n: at for n, at in named if self.single or not HIDDEN.search(n)}
        except DAMAGED as error:
            if isinstance(error, OSError) and error.strerror:  # the system's; not gzip's own
                where = own_name(str(error.filename or path))
                raise DataError(error.strerror.lower(), where=where) from None
            reason = first_line(error).rstrip(":")
            raise DataError(f"damaged archive: {reason}", where=own_name(path)) from None

    def _open(self, path: str) -> dict[str, Any]:
        """Return what each name stands for: a path, or a member of the archive."""
        if Path(path).is_dir():
            return {file.relative_to(path).as_posix(): file for file in inputs_below(Path(path))}
        if is_archive(path):
            if path.lower().endswith(".zip"):
                self._archive = zipfile.ZipFile(path)
                named = [m for m in self._archive.infolist() if m.filename]
                members = [(m.filename, m.file_size, m) for m in named if not m.is_dir()]
            else:
                self._archive = tarfile.open(path)  # noqa: SIM115 - close() does
                members = ((m.name, m.size, m) for m in self._archive if m.isfile())
            within = _within_bounds(members, path)
            return {
                name.removeprefix("./"): member
                for name, _, member in sorted(within, key=lambda m: m[0])
            }
        Path(path).stat()
        return {Path(path).name: Path(path)}

    @property
    def single(self) -> bool:
        """Whether the corpus is one file, named by the user."""
        return self._archive is None and not Path(self.path).is_dir()

    @property
    def archived_bytes(self) -> int:
        """The bytes of all files of an archive, expanded."""
        members = self._names.values()
        return sum(m.file_size if isinstance(m, zipfile.ZipInfo) else m.size for m in members)

    def shown(self, name: str) -> str:
        """Return what messages call a file."""
        return own_name(self.path if self.single else f"{self.path.rstrip('/')}/{name}")

    def where(self, name: str, number: int) -> Where:
        """Return what messages call a record of a file."""
        return Where(self.shown(name), number)

    def names(self, *patterns: str) -> list[str]:
        """Return the names of which the end matches a pattern, training files first, then by name.

        The pattern `dev/*.json` matches `sgd/dev/1.json`. A single file matches every pattern: the
        user has named it.
        """
        if self.single:
            return [Path(self.path).name]
        matching = {n for p in patterns for n in self._like(p)} if patterns else self._names
        return sorted(matching, key=lambda name: (ORDER.get(split_of_name(name), len(ORDER)), name))

    @cached_property
    def _alike(self) -> dict[str, list[str]]:
        """The names that end alike, by their last part: many patterns are asked of many files."""
        alike: dict[str, list[str]] = {}
        for name in self._names:
            alike.setdefault(name.rpartition("/")[2], []).append(name)
        return alike

    def _like(self, pattern: str) -> Iterator[str]:
        """Yield the names of which the end matches a pattern."""
        for last in fnmatch.filter(self._alike, pattern.rpartition("/")[2]):
            yield from (name for name in self._alike[last] if ends_like(name, pattern))

    def needed(self, *patterns: str) -> list[str]:
        """Return the names that match.

        Raises:
            DataError: if none does, naming what is there.
        """
        matching = self.names(*patterns)
        if not matching:
            there = ", ".join(list(self._names)[:NAMES_TOLD]) or "nothing"
            more = ", ..." if len(self._names) > NAMES_TOLD else ""
            expected = " or ".join(patterns)
            raise DataError(f"expected {expected}, found {there}{more}", where=own_name(self.path))
        return matching

    def one_of_many(self) -> AbstractContextManager[object]:
        """Read one of the files in this block; under --on-error skip a broken one is left out."""
        return self.policy.one_of_many(alone=self.single)

    def beside(self, name: str, other: str) -> str | None:
        """Return the name of a file in the same folder, or None.

        Beside a single file it is looked for on disk.
        """
        if self.single:
            file = Path(self.path).with_name(other)
            if file.is_file():
                self._names[other] = file
                return other
            return None
        wanted = PurePosixPath(name).with_name(other).as_posix()
        return wanted if wanted in self._names else None

    def opening(self, name: str) -> bytes:
        """Return how a file begins."""
        with self._opened(name) as stream:
            return stream.peek(OPENING_BYTES)[:OPENING_BYTES]

    def read(self, name: str) -> bytes:
        """Return a file's bytes, decompressed, without byte-order mark."""
        most = bounds.most("file")
        with self._opened(name) as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            raise bounds.beyond("file", "larger than", where=self.shown(name))
        return content.removeprefix(BOM)

    def unpack(self, name: str, target: Path) -> None:
        """Write a file of the archive, as it is there, below a folder.

        Raises:
            DataError: if its name leads out of the folder, or it is damaged.
        """
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            self.fail(name, "a name that leads out of the archive")
        file, member = target / path, self._names[name]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with full.naming(target), file.open("xb") as out, self._member(member) as raw:
                shutil.copyfileobj(raw, out, 1 << 20)
        except DAMAGED as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            self.fail(name, f"damaged archive: {reason}")

    @contextmanager
    def within(self, name: str) -> Generator[Files]:
        """Open an archive that is one of the files, from a copy in a temporary folder.

        Raises:
            DataError: if it is damaged, or larger than bounds allow.
        """
        with temporary_folder() as folder:
            target = place_of_archive(self.path, folder)
            path = self._names[name]
            if not isinstance(path, Path):
                self.unpack(name, target)
                path = target / name
            with closing(Files(str(path), self.policy)) as files:
                yield files

    @contextmanager
    def _opened(self, name: str) -> Generator[io.BufferedReader]:
        """Open a file, wherever it lies, decompressed."""
        member, shown = self._names[name], self.shown(name)
        if isinstance(member, Path):
            with open_input(str(member)) as stream:
                yield stream
            return
        try:
            with self._member(member) as raw, opened(cast("BinaryIO", raw), shown) as stream:
                yield stream
        except DAMAGED as error:
            raise DataError(f"damaged archive: {error}", where=shown) from None

    def _member(self, member: Any) -> IO[bytes]:
        """Open a file of the archive."""
        if isinstance(self._archive, zipfile.ZipFile):
            return self._archive.open(member)
        assert self._archive is not None
        _decompress(self._archive)
        file = self._archive.extractfile(member)
        assert file is not None  # what is no file was left out when it was opened
        return file

    def json(self, name: str, *, encoding: str = "utf-8") -> Any:
        """Return a file's JSON.

        Args:
            encoding: what lines that are not UTF-8 are read as.
        """
        content = self.read(name)
        if encoding != "utf-8":
            content = b"\n".join(_as_utf8(line, encoding) for line in content.split(b"\n"))
        try:
            return exact.loads(content)
        except orjson.JSONDecodeError as error:
            if not content.strip():
                self.fail(name, "an empty file")
            refuse_other_than_utf8(content, self.shown(name))
            self.fail(name, f"not JSON: {error}")

    def json_object(self, name: str, *, of: str) -> dict[str, Any]:
        """Return a file's JSON, an object.

        Raises:
            DataError: if it is another thing; the message says of what it should be.
        """
        content = self.json(name)
        if not isinstance(content, dict):
            self.fail(name, f"expected an object of {of}, found {json_kind(content)}")
        return content

    def lines(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield number and text of the lines that are not empty.

        Those that are no text go to the policy.
        """
        shown = self.shown(name)
        for number, line in enumerate(self.read(name).split(b"\n"), 1):
            if line.strip() and (text := decode(line, Where(shown, number), self.policy, "\r")):
                yield number, text

    def json_records(self, name: str) -> Numbered:
        """Yield number and content of the records of a file, a list or one a line; holds a chunk.

        What is no record goes to the policy.
        """
        with self._opened(name) as stream:
            for chunk in chunks_of(stream, self.shown(name), "jsonl", policy=self.policy):
                yield from records(chunk, self.policy)

    def rows(
        self, name: str, delimiter: str = ",", *, quoted: bool = True
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of a table, the header among them."""
        content = self.read(name)
        refuse_other_than_utf8(content, self.shown(name))
        csv.field_size_limit(bounds.most("cell"))
        reader = csv.reader(
            io.StringIO(content.decode("utf-8"), newline=""),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        )
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
        except csv.Error as error:
            raise csv_error(error, self.where(name, reader.line_num)) from None

    def fail(self, name: str, message: str, hint: str | None = None) -> NoReturn:
        """Raise what is wrong with a file as a whole."""
        raise DataError(message, where=self.shown(name), hint=hint)

    def close(self) -> None:
        if self._archive:
            self._archive.close()


def refuse_other_than_utf8(content: bytes, name: str) -> None:
    """Refuse what is no text, naming its line and byte, counted as those of lines are.

    Raises:
        DataError: if it is none.
    """
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, at = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1)
        raise DataError(f"invalid UTF-8 at byte {at + 1}", where=Where(name, line)) from None


def _within_bounds(members: Iterable[Member], path: str) -> Iterator[Member]:
    """Yield the files of an archive.

    Raises:
        DataError: if they are more, or larger, than bounds allow: before the next is looked for.
    """
    total = 0
    for count, member in enumerate(members, 1):
        total += member[1]
        if count > bounds.most("members"):
            raise bounds.beyond("members", "more files than", where=path)
        if total > bounds.most("archive"):
            raise bounds.beyond("archive", "its files are larger than", where=path)
        yield member


def _decompress(archive: tarfile.TarFile) -> None:
    """Decompress a tar archive once, on disk.

    Files are read in any order, and a compressed stream has but one.
    """
    packed = archive.fileobj
    if isinstance(packed, gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile):
        whole = full.scratch_file()  # closed with the archive
        packed.seek(0)
        shutil.copyfileobj(packed, whole, 1 << 20)
        archive.fileobj = whole
        packed.close()


def ends_like(name: str, pattern: str) -> bool:
    """Tell whether the last parts of a path match a pattern of as many parts."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(
        fnmatch.fnmatch(p, w) for p, w in zip(parts[-len(wanted) :], wanted, strict=True)
    )


def _as_utf8(line: bytes, encoding: str) -> bytes:
    try:  # some tools wrote what is beyond U+FFFF as two surrogates
        units = line.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass")
        return units.decode("utf-16").encode()
    except UnicodeError:
        return line.decode(encoding).encode()


def split_of_name(name: str) -> str | None:
    """Return train, val or test, if the name of a file, or else of its folders, has such a word."""
    for part in reversed(name.split("/")):
        words = "".join(c.lower() if c.isalpha() else " " for c in part).split()
        for split, known in SPLITS.items():
            if set(words) & set(known):
                return split
    return None
