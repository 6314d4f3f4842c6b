"""What to do with a record that cannot be used: fail, skip, or put it aside."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import orjson

from dialtools.errors import DataError
from dialtools.streams.atomic import atomic_file
from dialtools.streams.full import naming
from dialtools.streams.together import before_outputs

T = TypeVar("T")
Passing = Callable[[Iterable[T]], Iterator[T]]


class Where(NamedTuple):
    """A place in an input; line 0 is the whole of it."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name


class Rejected(NamedTuple):
    """A record that cannot be used, and why."""

    where: Where
    message: str
    raw: bytes
    hint: str | None = None


class Policy:
    """--on-error: `fail` raises, `skip` counts, `quarantine=FILE` counts and puts aside.

    What is put aside: file, line, error and raw text, as JSON lines; in a `dry` run nothing. The
    file gets its name before the output does, or when the block of the policy ends well.

    Attributes:
        skipped: records that could not be used.
        blank: lines of plain text that hold nothing, which are no records.
        tell: gets the line on a file that is left out as a whole.
        maker: what makes files of this kind, where --from does not name their format.
    """

    def __init__(
        self,
        on_error: str = "fail",
        *,
        dry: bool = False,
        tell: Callable[[str], None] = lambda _: None,
        maker: str | None = None,
    ) -> None:
        self.fails = on_error == "fail"
        self.tell = tell
        self.maker = maker
        self.skipped = self.blank = 0
        word, _, file = on_error.partition("=")
        self.path = Path(file) if word == "quarantine" and not dry else None
        self._file: BinaryIO | None = None
        self._named = False
        self._aside = ExitStack()

    def reject(
        self, where: Where, message: str, raw: object = b"", hint: str | None = None
    ) -> None:
        """Deal with one bad record.

        Args:
            raw: its bytes, or the record that was read.

        Raises:
            DataError: under `fail`.
        """
        if self.fails:
            raise DataError(message, where=where, hint=hint)
        self.skipped += 1
        if not where.line:
            self.tell(f"{where}: {message}; left out")
        if self.path:
            row = {
                "file": where.name,
                "line": where.line or None,
                "error": message,
                "raw": _raw_bytes(raw).decode("utf-8", "replace"),
            }
            with naming(self.path):
                self._open(self.path).write(orjson.dumps(row) + b"\n")

    @contextmanager
    def one_of_many(self, *, alone: bool = False) -> Generator[Passing[T]]:
        """Read a file of many in this block: if it cannot be read, it is a bad record as a whole.

        Args:
            alone: it is the only one, so that the run ends.

        Yields:
            what passes on what is read of the file before it breaks off, so that this is told.
        """
        some = False

        def passed(items: Iterable[T]) -> Iterator[T]:
            nonlocal some
            for item in items:
                some = True
                yield item

        try:
            yield passed
        except DataError as error:
            if self.fails or alone:
                raise
            name = re.sub(r":\d+$", "", error.where or "")  # of a line, too: the file goes
            kept = " (what was read before that is kept)" if some else ""
            self.reject(Where(name, 0), f"{error.message}{kept}", b"", error.hint)

    def replay(self, rejected: list[Rejected]) -> None:
        """Deal with the bad records that a worker collected."""
        for bad in rejected:
            self.reject(*bad)

    def _open(self, path: Path) -> BinaryIO:
        if self._file is None:
            temporary = self._aside.enter_context(atomic_file(path, overwrite=True))
            if self._named and temporary != path:
                shutil.copyfile(path, temporary)
            self._file = self._aside.enter_context(temporary.open("ab"))
            self._aside.enter_context(before_outputs(self._settle))
        return self._file

    def _settle(self) -> None:
        """Give the file its name."""
        self._aside.close()
        self._file, self._named = None, True

    def __enter__(self) -> Policy:
        return self

    def __exit__(self, *error: Any) -> None:
        self._aside.__exit__(*error)


class Collecting(Policy):
    """Keeps bad records for the parent process; used in workers."""

    def __init__(self) -> None:
        super().__init__("skip")
        self.rejected: list[Rejected] = []

    def reject(
        self, where: Where, message: str, raw: object = b"", hint: str | None = None
    ) -> None:
        self.rejected.append(Rejected(where, message, _raw_bytes(raw), hint))


def _raw_bytes(raw: object) -> bytes:
    """Return bytes as they are, and a record as JSON, if it can be written as such."""
    if isinstance(raw, bytes):
        return raw
    try:
        return orjson.dumps(raw, default=str)
    except TypeError:  # it nests too deep, or has keys that are no texts
        return b""
