"""Inputs cut into chunks that workers can decode: whole lines, or a batch of columns.

Where a chunk ends depends on the input alone, never on the number of workers.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pickle import PickleBuffer
from typing import Any

import numpy as np
import orjson

from dialtools.catalog import load
from dialtools.errors import DataError
from dialtools.streams import bounds, exact, nesting
from dialtools.streams.array import array_lines
from dialtools.streams.bytesio import BOM, display_name, open_input
from dialtools.streams.failure import refuse_failed
from dialtools.streams.formats import FORMATS, input_format
from dialtools.streams.hints import JSON_AS_TEXT, NO_OBJECT, hint_on, of_other_kind, why_not_json
from dialtools.streams.parts import unfolded
from dialtools.streams.pipes import arrived
from dialtools.streams.policy import Policy, Where
from dialtools.streams.shards import Span
from dialtools.streams.spans import Blocks, within

CHUNK_BYTES = 1 << 20
"""Enough to drown the cost of a hundred calls of NumPy, or of handing it to a worker.

Half of it takes `dial-pairs --window 1,2,3` 1.1 times the time; twice of it 0.9, but as much more
memory, and a small corpus has fewer parts for many cores and machines.
"""
BATCH = "arrow"
"""The format of chunks that are an Arrow batch, whichever table they are of."""
ROWS_OF_BATCH = "dialtools.streams.rows:rows"  # imports pyarrow
WITH_FOLDERS = "dialtools.streams.partitioned:with_folders"  # so does this
ROWS = "rows"
"""The format of chunks whose records were decoded already."""
HINT_OF_TABLES = "dial-pairs reads tables: chat logs, and with --kind texts two texts a row"
HINT_OF_VECTORS = "it holds vectors and no texts: dial-eval and dialtools read it"
LONGEST_BORDER = len(b"\n\r\n")
Border = Callable[[bytes | bytearray, int], int]
"""Returns where the last border ends that is in bytes from a place on, or 0."""
Numbered = Iterator[tuple[int, dict[str, Any]]]
"""Records with the numbers of their lines or rows."""


@dataclass(frozen=True)
class Chunk:
    """Part of an input: `data` is whole lines, an Arrow batch, or records.

    Records that span several lines have `lines`, where each begins; else they follow one another
    from `first` on (those of a JSON array, which `of_array` tells, from 1).
    """

    name: str
    first: int
    format: str
    data: Any
    lines: tuple[int, ...] | None = None
    of_array: bool = False

    @property
    def columnar(self) -> bool:
        """Whether the data is an Arrow batch."""
        return self.format == BATCH

    @property
    def plain(self) -> bool:
        """Whether the data is lines of plain text, which are no records."""
        return self.format == "text"

    @property
    def json(self) -> bool:
        """Whether the data is lines of JSON, one a record."""
        return self.format == "jsonl"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # out of band, so that bytes cross to a worker in shared memory (streams/parallel.py)
        data = PickleBuffer(self.data) if isinstance(self.data, bytes) else self.data
        return Chunk, (self.name, self.first, self.format, data, self.lines, self.of_array)


def read_chunks(
    paths: Sequence[str],
    *,
    format: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    prompt: bool = False,
    whole_dialogues: bool = True,
    span: Span | None = None,
    policy: Policy | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of each input in turn; holds one chunk.

    Args:
        paths: files, or folders of parts; `-`, or no path at all, is stdin.
        prompt: hand on the lines that a pipe has, rather than wait for a full chunk.
        whole_dialogues: cut plain text at blank lines only, so that no dialogue is cut in two.
        span: what is wanted of a single file.
        policy: gets lines that are longer than their bound; without it, they are an error.

    Raises:
        DataError: if an input cannot be opened or is damaged.
    """
    policy = policy or Policy()
    read = partial(_of_file, chunk_bytes=chunk_bytes, prompt=prompt, blanks=whole_dialogues)
    for path in unfolded(paths):
        kind = _plain_lines(path, format) if span else None
        if span and not kind:
            # of a file nothing is dropped, and counted, before its chunks are decoded
            units = partial(read, path, format, None)
            yield from within(span, lambda own, _, units=units: units(own), policy)
        else:
            yield from read(path, kind or format, span, policy)


def _of_file(
    path: str,
    format: str | None,
    span: Span | None,
    policy: Policy,
    *,
    chunk_bytes: int,
    prompt: bool,
    blanks: bool,
) -> Iterator[Chunk]:
    """Yield the chunks of one input, or of a span of its lines."""
    name = display_name(path)
    with open_input(path) as stream:
        kind = input_format(path, format, stream.peek())
        if not FORMATS[kind].reader:
            hint = HINT_OF_TABLES if FORMATS[kind].columns else HINT_OF_VECTORS
            raise DataError(f"cannot read {kind} here", where=name, hint=hint)
        if kind == "text" and not format and _is_json(stream.peek()):
            raise DataError("lines of JSON, not of text", where=name, hint=JSON_AS_TEXT)
        yield from chunks_of(
            stream,
            path,
            kind,
            chunk_bytes=chunk_bytes,
            prompt=prompt,
            blank_lines=blanks and kind == "text",
            span=span,
            policy=policy,
        )


def _is_json(head: bytes) -> bool:
    """Tell whether bytes begin with a JSON object that ends with its line."""
    line = head.removeprefix(BOM).partition(b"\n")[0]
    if not line.startswith(b'{"'):
        return False
    try:
        return type(orjson.loads(line)) is dict
    except orjson.JSONDecodeError:
        return False


def _plain_lines(path: str, format: str | None) -> str | None:
    """Return the format of a file of lines that is not compressed; None of any other."""
    with open_input(path) as stream:
        kind = input_format(path, format, stream.peek())
        lines = FORMATS[kind].lines and not _is_array(stream, kind)
        return kind if lines and isinstance(stream.raw, io.FileIO) else None


def _is_array(stream: io.BufferedReader, kind: str) -> bool:
    """Tell whether an open input is a JSON array of records, which is read as lines of them."""
    return kind == "jsonl" and stream.peek().lstrip().startswith(b"[")


def chunks_of(
    stream: io.BufferedReader,
    path: str,
    kind: str,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    prompt: bool = False,
    blank_lines: bool = False,
    span: Span | None = None,
    policy: Policy | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of an open input of a known format; holds one chunk.

    Args:
        blank_lines: cut at these only.
        span: what is wanted of the lines of a plain file.
        policy: gets lines that are longer than their bound.
    """
    policy = policy or Policy()
    name = display_name(path)
    read = partial(arrived, stream, chunk_bytes) if prompt else partial(stream.read, chunk_bytes)
    if _is_array(stream, kind):
        numbered = array_lines(read, name)
        array = (Chunk(name, first, kind, lines, of_array=True) for first, lines in numbered)
        yield from _unfailed(array)
    elif FORMATS[kind].lines:
        border = _blank_line if blank_lines else _line_end
        if span:
            blocks = Blocks(stream, span, block_bytes=chunk_bytes, border=border)
            cutter = _Cutter(name, kind, border, policy, wanted=lambda: blocks.wanted)
            every = cutter.chunks(blocks.read, held=blocks.held, first=blocks.first)
            chunks = (chunk for chunk in every if blocks.wanted)
        else:
            chunks = _Cutter(name, kind, border, policy).chunks(read)
        yield from _unfailed(chunks) if kind == "jsonl" else chunks
    else:
        batches = load(FORMATS[kind].reader)(stream, path)
        yield from _batches(load(WITH_FOLDERS)(batches, path), name)


def _unfailed(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield chunks of JSON lines until one tells that their writer has failed."""
    for chunk in chunks:
        refuse_failed(chunk.data, chunk.name)
        yield chunk


def _batches(batches: Iterator[Any], name: str) -> Iterator[Chunk]:
    first = 1
    for batch in batches:
        if batch.num_rows:
            yield Chunk(name, first, BATCH, batch)
            first += batch.num_rows


@dataclass
class _Cutter:
    """Cuts an input after the last border of what was read.

    Attributes:
        wanted: tells whether what was read last is this part's.
    """

    name: str
    kind: str
    border: Border
    policy: Policy
    wanted: Callable[[], bool] = lambda: True

    def chunks(
        self, read: Callable[[], bytes], *, held: bytes = b"", first: int = 1
    ) -> Iterator[Chunk]:
        """Yield chunks; each byte is searched once, or twice.

        Args:
            held: what was read before, after the last border.
            first: the line at which that begins.
        """
        rest, most, of_lines = bytearray(held), bounds.most("line"), self.border is _line_end
        while block := read():
            if of_lines and len(rest) + _first_end(block) > most:
                block = self._pass_over(rest, chain([block], iter(read, b"")), first)
                rest.clear()
                first += 1
            if end := self.border(block, 0):
                data = b"".join((rest, memoryview(block)[:end]))
                rest = bytearray(memoryview(block)[end:])
            else:  # it may begin in what is held
                searched = max(0, len(rest) - LONGEST_BORDER)
                rest += block
                end = self.border(rest, searched)
                data = bytes(memoryview(rest)[:end])
                del rest[:end]
            if not of_lines and not data and len(rest) > most:
                what = "lines without a blank one between are longer than"
                raise bounds.beyond("line", what, where=Where(self.name, first))
            if data:
                yield Chunk(self.name, first, self.kind, data)
                first += _count_lines(data)
        if rest:
            yield Chunk(self.name, first, self.kind, bytes(rest))

    def _pass_over(self, begun: bytes | bytearray, blocks: Iterator[bytes], number: int) -> bytes:
        """Reject the line that begins so; return what else is in the block in which it ends."""
        where = Where(self.name, number)
        error = bounds.beyond("line", "a line is longer than", where=where)
        if self.policy.fails:
            raise error
        beginning, beyond = bytes(begun[: bounds.SHOWN]), b""
        for block in blocks:
            beginning += block[: bounds.SHOWN - len(beginning)]
            if end := block.find(b"\n") + 1:
                beyond = block[end:]
                break
        if self.wanted():
            self.policy.reject(where, error.message, beginning, error.hint)
        return beyond


def _count_lines(data: bytes) -> int:
    """Return how many lines end in some bytes, three times as fast as `count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def _first_end(block: bytes) -> int:
    """Return how many bytes are before the first line end; all, if there is none."""
    end = block.find(b"\n")
    return len(block) if end < 0 else end


def _line_end(held: bytes | bytearray, start: int) -> int:
    return held.rfind(b"\n", start) + 1


def _blank_line(held: bytes | bytearray, start: int) -> int:
    """Return where the last blank line ends, or 0."""
    found = ((held.rfind(blank, start), len(blank)) for blank in (b"\n\n", b"\n\r\n"))
    return max((place + length for place, length in found if place >= 0), default=0)


def records(chunk: Chunk, policy: Policy, names: Collection[str] | None = None) -> Numbered:
    """Yield the number and the record of each line or row; what is no record goes to the policy.

    Args:
        names: the fields that are wanted; other columns are not converted.
    """
    if chunk.columnar:
        rows: Iterator[dict[str, Any]] = load(ROWS_OF_BATCH)(chunk.data, names)
        return enumerate(rows, chunk.first)
    if chunk.format == ROWS:
        numbers = chunk.lines or range(chunk.first, chunk.first + len(chunk.data))
        return zip(numbers, chunk.data, strict=True)
    return load(FORMATS[chunk.format].reader)(chunk, policy)


def text_records(chunk: Chunk, policy: Policy) -> Numbered:
    """Yield a record of each line of text that is not blank; the policy counts those that are."""
    for number, line in enumerate(chunk.data.removesuffix(b"\n").split(b"\n"), chunk.first):
        if text := decode(line, Where(chunk.name, number), policy):
            yield number, {"text": text}
        elif text is not None:
            policy.blank += 1


def json_records(chunk: Chunk, policy: Policy) -> Numbered:
    """Yield the JSON object of each line that is not blank."""
    loads = exact.loads if exact.has_long_numbers(chunk.data) else orjson.loads
    deep = nesting.shortest()
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first):
        try:
            record = loads(line)
        except orjson.JSONDecodeError as error:
            if line.strip():
                where = Where(chunk.name, number)
                why = why_not_json(line, error)
                policy.reject(where, why, line, hint_on(line, number, why, policy.maker))
            continue
        if type(record) is not dict:
            where = Where(chunk.name, number)
            policy.reject(where, NO_OBJECT, line, hint_on(line, number, NO_OBJECT, policy.maker))
        elif len(line) >= deep and nesting.may_nest(line) and nesting.too_deep(record):
            nesting.reject(policy, Where(chunk.name, number), line)
        else:
            yield number, record


def decode(line: bytes, where: Where, policy: Policy, blanks: str | None = None) -> str | None:
    """Return a line of text without the blanks at its ends, or None if it is rejected."""
    if b"\0" in line:
        other = of_other_kind(line) if where.line == 1 else None
        policy.reject(where, f"NUL at byte {line.index(0) + 1}", line, other)
        return None
    try:
        return line.decode("utf-8").strip(blanks)
    except UnicodeDecodeError as bad:
        policy.reject(where, f"invalid UTF-8 at byte {bad.start + 1}", line)
        return None


def read_records(
    paths: Sequence[str], *, format: str | None = None, policy: Policy
) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Yield each record with its place; holds one chunk."""
    for chunk in read_chunks(paths, format=format, policy=policy):
        for number, record in records(chunk, policy):
            yield Where(chunk.name, number), record
