"""CSV and TSV as they come: Excel's delimiters, byte-order marks, `sep=`, line ends in fields."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice

from dialtools.corpora.likely import text_flag
from dialtools.corpora.options import LogOptions
from dialtools.errors import DataError, no_column
from dialtools.streams import bounds
from dialtools.streams.bytesio import display_name, open_input
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.hints import TO_UTF8
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import counted
from dialtools.values import WIDE

ROWS_A_CHUNK = 4096
DELIMITERS = {"csv": ",;\t|", "tsv": "\t"}
"""What may stand between fields; spreadsheets write `;` where the comma is the decimal sign."""
SEP = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)
UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
BYTES_A_LINE = 256
FEW_LINES = 10_000
"""A row may have so many lines, or as many as fill it if each has BYTES_A_LINE; else a quote is
open, and the rest of the file need not be read to tell.
"""
AFTER_QUOTES = "text after the quote that ends a field"
DOUBLED = 'a quote within a field in quotes is written twice: "" and not \\"'
NOT_UTF8 = "--encoding cp1252 reads what Excel writes on Windows (Russian cp1251, Chinese gb18030)"
NO_MARK = "--encoding utf-16-le reads UTF-16 that begins with no mark, as bcp writes it"


def row_chunks(
    path: str, kind: str, column: str | None, logs: LogOptions | None, policy: Policy
) -> Iterator[Chunk]:
    """Yield chunks of plain records, one a row.

    `first` is exact as long as no field holds a line end.

    Raises:
        DataError: if there is no such column.
    """
    name = display_name(path)
    columns = (column,) if column else ()
    first = 2  # below the header
    hint = "--field NAME names it"
    read = rows(path, kind, columns, logs, policy, hint=hint, likely=text_flag)
    while held := [row for _, row in islice(read, ROWS_A_CHUNK)]:
        yield Chunk(name, first, ROWS, held)
        first += len(held)


def rows(
    path: str,
    kind: str,
    columns: Sequence[str],
    logs: LogOptions | None,
    policy: Policy,
    *,
    hint: str,
    likely: Callable[[Sequence[str]], str | None] = lambda _: None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line where each row begins, and the row; blank lines are none.

    Args:
        columns: those that must be there.
        logs: how the file is read, of commands with such flags.
        hint: what to do if one is not.
        likely: the same of a header that tells more.

    Raises:
        DataError: if a column is missing or named twice, or a quote never closes.
    """
    name = display_name(path)
    csv.field_size_limit(bounds.most("cell"))
    with open_input(path) as stream:
        lines = _Lines(stream, name, logs, policy)
        delimiter, header = _header(lines, kind, columns, logs)
        if header is None:
            return
        check(header, columns, Where(name, lines.number), hint, likely)
        header = _apart(header)
        for number, fields in _parsed(lines, delimiter, policy):
            if len(fields) == len(header):
                yield number, dict(zip(header, fields, strict=True))
            elif fields:
                policy.reject(
                    Where(name, number),
                    f"expected {counted(len(header), 'field')}, got {len(fields)}",
                    delimiter.join(fields).encode(),
                )


def check(
    header: list[str],
    columns: Iterable[str],
    where: Where,
    hint: str,
    likely: Callable[[Sequence[str]], str | None],
) -> None:
    """Raise DataError if a column is not there, or more than once."""
    for column in columns:
        if column not in header:
            raise no_column(column, header, where=where, hint=hint, likely=likely(header))
        if header.count(column) > 1:
            raise DataError(f"{header.count(column)} columns are called {column!r}", where=where)


def _apart(header: list[str]) -> list[str]:
    """Return names of which none stands for two columns: a second `note` is `note_2`.

    Those without a name, at the end of a spreadsheet's rows, are left.
    """
    names: list[str] = []
    for name in header:
        others = (f"{name}_{n}" for n in count(2))
        free = (other for other in others if other not in header and other not in names)
        names.append(next(free) if name and name in names else name)
    return names


class _Lines:
    """The lines of a file as text, one at a time.

    Attributes:
        number: that of the last line.
        first: that of the first line of the row.
        size: characters of the row so far.
        row: its lines so far.
    """

    def __init__(
        self, stream: io.BufferedReader, name: str, logs: LogOptions | None, policy: Policy
    ) -> None:
        self.name, self.policy = name, policy
        self.number = self.size = 0
        self.most = bounds.most("line")
        self.most_lines = max(FEW_LINES, self.most // BYTES_A_LINE)
        self.first: int | None = None
        self.row: list[str] = []
        bom = stream.peek(2)[:2]
        chosen = logs.encoding if logs else None
        self.encoding = chosen or UTF16.get(bom, "utf-8")
        self.hint = None if chosen else NOT_UTF8 if logs else TO_UTF8
        self.unmarked = NO_MARK if logs and not chosen else None
        self.held: list[str] = []
        wide = codecs.lookup(self.encoding).name.startswith(WIDE)
        self.lines = self._wide(stream) if wide else self._narrow(stream)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self.held.pop() if self.held else next(self.lines)
        self.first = self.first or self.number
        self.row.append(line)
        self.size += len(line)
        lines = self.number - self.first + 1
        if self.size > self.most or lines > self.most_lines:
            where = Where(self.name, self.first)
            what = f"a quote that never closes ({lines:,} lines on), or a row longer than"
            raise bounds.beyond("line", what, where=where)
        return line

    def peek(self) -> str | None:
        """Return the next line, and leave it there."""
        if not self.held:
            self.held = list(islice(self.lines, 1))
        return self.held[0] if self.held else None

    def begin_row(self) -> None:
        """Hold the lines of the next row, and count them and their characters."""
        self.first, self.size, self.row = None, 0, []

    def _narrow(self, stream: io.BufferedReader) -> Iterator[str]:
        decode = codecs.getdecoder(self.encoding)
        for number, line in enumerate(iter(partial(stream.readline, self.most + 1), b""), 1):
            self.number = number
            if len(line) > self.most:
                where = Where(self.name, number)
                error = bounds.beyond("line", "a line is longer than", where=where)
                if self.policy.fails:
                    raise error
                beginning = line[: bounds.SHOWN]
                while line and not line.endswith(b"\n"):
                    line = stream.readline(self.most)
                self.policy.reject(where, error.message, beginning, error.hint)
                continue
            if b"\0" in line:
                where = Where(self.name, number)
                self.policy.reject(where, f"NUL at byte {line.index(0) + 1}", line, self.unmarked)
                continue
            try:
                yield decode(line)[0]
            except UnicodeDecodeError as bad:
                what = "UTF-8" if self.encoding == "utf-8" else self.encoding
                reason = f"invalid {what} at byte {bad.start + 1}"
                self.policy.reject(Where(self.name, number), reason, line, self.hint)

    def _wide(self, stream: io.BufferedReader) -> Iterator[str]:
        text = io.TextIOWrapper(stream, self.encoding, newline="\n")
        try:
            for number, line in enumerate(iter(partial(text.readline, self.most + 1), ""), 1):
                self.number = number
                yield line.lstrip("\ufeff") if number == 1 else line
        except UnicodeError as bad:  # also of a file without the mark that tells the order of bytes
            raise DataError(
                f"invalid {self.encoding}: {getattr(bad, 'reason', bad)}",
                where=Where(self.name, self.number + 1),
            ) from None
        finally:
            with suppress(ValueError):  # the file was closed first, after an error
                text.detach()


def _header(
    lines: _Lines, kind: str, columns: Sequence[str], logs: LogOptions | None
) -> tuple[str, list[str] | None]:
    """Return the delimiter (by --delimiter, sep= or the first line), and the columns' names."""
    line = lines.peek()
    by_sep = None
    if line is not None and kind == "csv" and (sep := SEP.fullmatch(line)):
        by_sep = sep[1]
        next(lines)
        line = lines.peek()
    if line is None:
        return ",", None
    by_header = max(DELIMITERS[kind], key=lambda d: _suits(line, d, columns))
    delimiter = (logs and logs.delimiter) or by_sep or by_header
    parsed = _parsed(lines, delimiter, Policy())
    return delimiter, next((fields for _, fields in parsed if fields), None)


def _suits(line: str, delimiter: str, columns: Sequence[str]) -> tuple[int, int]:
    """Return how many of the columns a delimiter finds in the header, and how many it makes."""
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # told where the row is read
        return 0, 0
    return sum(column in names for column in columns), len(names)


def _parsed(lines: _Lines, delimiter: str, policy: Policy) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each row begins, and its fields; odd quotes go to the policy.

    Raises:
        DataError: if a quote never closes.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin_row()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            bad = csv_error(error, where := Where(lines.name, lines.first or lines.number))
            if bad.message != AFTER_QUOTES:
                raise bad from None
            policy.reject(where, bad.message, "".join(lines.row).encode(), bad.hint)
            continue
        if fields is None:
            return
        yield lines.first or lines.number, fields


def csv_error(error: csv.Error, where: Where) -> DataError:
    """Return what the csv module means."""
    said = str(error)
    if said.startswith("field larger than"):
        return bounds.beyond("cell", "a cell is longer than", where=where)
    if "expected after" in said:
        return DataError(AFTER_QUOTES, where=where, hint=DOUBLED)
    if said.startswith("unexpected end"):
        said = "a quote in this row never closes"
    if said.startswith("new-line character"):
        said = (
            "a carriage return within a field without quotes, or as line end; expected LF or CR LF"
        )
    return DataError(said, where=where)
