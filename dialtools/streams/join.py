"""The parts of a run joined into what one run writes, byte for byte; holds a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from dialtools.advance import Advance
from dialtools.catalog import load
from dialtools.errors import ConfigError, DataError
from dialtools.streams.bytesio import open_input, own_name
from dialtools.streams.formats import FORMATS, input_format
from dialtools.streams.parts import Whole, telling_beside
from dialtools.streams.provenance import as_metadata
from dialtools.streams.sinks import output_format, writer

BLOCK_BYTES = 1 << 20
VERBATIM = "arrow"
"""The format whose batches come back as they were written, so that others can be made of them."""


def format_of_parts(whole: Whole) -> str:
    """Return the format that the parts have, which they must have in common.

    Raises:
        DataError: if they do not, or none is joined.
    """
    kinds = {path: _format(path) for path in whole.paths}
    first = kinds[whole.paths[0]]
    for path, kind in kinds.items():
        if kind != first:
            raise DataError(f"is {kind}, other parts are {first}", where=own_name(path))
    if first not in _PAYLOADS:
        hint = f"a part is called what it is: .{', .'.join(_PAYLOADS)}"
        what = f"is {first} by its name, as no part is"
        raise DataError(what, where=own_name(whole.paths[0]), hint=hint)
    return first


def _format(path: str) -> str:
    with open_input(path) as stream:
        return input_format(path, None, stream.peek())


def join(
    whole: Whole,
    output: str,
    *,
    to: str | None,
    overwrite: bool,
    advance: Advance,
    vectors: bool = False,
) -> None:
    """Write the parts one after another.

    Args:
        advance: is told of each part.
        vectors: the parts hold these; what made them is told of every output of them.

    Raises:
        ConfigError: if the output is to be of another format than the parts.
    """
    kind = format_of_parts(whole)
    wanted = output_format(output, to, formats=tuple(FORMATS), default=kind)
    if wanted != kind and (kind != VERBATIM or FORMATS[wanted].lines):
        raise ConfigError(
            f"the parts are {kind}, and so is what one run makes of them; not {wanted}",
            hint=f"--to {kind}, and -o with its suffix",
        )
    metadata = as_metadata(whole.facts)
    mute = not FORMATS[wanted].metadata
    with (
        telling_beside(output, lambda: whole.facts) if vectors and mute else nullcontext(),
        writer(
            output, format=wanted, overwrite=overwrite, metadata=metadata, floats=vectors
        ) as write,
    ):
        for path in whole.paths:
            for payload in _PAYLOADS[kind](path):
                write(payload)
            advance(1)


def _lines(path: str) -> Iterator[bytes]:
    with open_input(path) as stream:
        while block := stream.read(BLOCK_BYTES):
            yield block


_PAYLOADS: dict[str, Callable[[str], Iterator[Any]]] = {
    "jsonl": _lines,
    "arrow": lambda path: load("dialtools.streams.tables:batches_as_written")(path),
    "parquet": lambda path: load("dialtools.streams.tables:row_groups")(path),
}
"""What a writer takes, of a part as it was written."""
