"""Published corpora by name: what tells one from another, and their records in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from dialtools.catalog import lookup
from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.native.files import ARCHIVES, Files, ends_like
from dialtools.corpora.native.raw import Unexpected
from dialtools.errors import DataError
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.formats import FORMATS
from dialtools.streams.policy import Policy

ROWS_A_CHUNK = 512
HINT = "name it with --from; `dialtools formats` lists the corpora that can be read"


def corpus_of(path: str, given: str | None) -> str | None:
    """Return the name of the corpus at a path, or None if there is none.

    Args:
        given: a name of --from; without one the names of the files tell.

    Raises:
        DataError: for a folder or an archive of no corpus that is known.
    """
    whole = Path(path).is_dir() or path.endswith(ARCHIVES)
    if given in CORPORA:
        streamed = not whole and given in FORMATS  # single files of lines are
        return None if streamed else given
    if given or path == "-":
        return None
    if not whole:
        name = Path(path).name.removesuffix(".gz").removesuffix(".zst")
        for corpus, about in CORPORA.items():
            if any(ends_like(name, mark) for mark in about.alone):
                return corpus
        return None
    files = Files(path, Policy())
    try:
        return recognised(files)
    finally:
        files.close()


def recognised(files: Files) -> str:
    """Return the first corpus of the table of which all marks of a kind are among the files.

    Raises:
        DataError: if none is.
    """
    for name, corpus in CORPORA.items():
        marks = (*((mark,) for mark in corpus.alone), *corpus.marks)
        if any(all(files.names(pattern) for pattern in together) for together in marks):
            return name
    some = ", ".join(files.names()[:4])
    raise DataError(
        f"the files of no known corpus: {some or 'none at all'}", where=files.path, hint=HINT
    )


def corpus_chunks(path: str, name: str, policy: Policy) -> Iterator[Chunk]:
    """Yield chunks of a corpus's records; records of another layout go to the policy.

    Holds one file of the corpus, and a chunk.

    Raises:
        DataError: if the files are not those of the corpus.
    """
    reader, files = lookup(CORPORA, name, kind="corpus"), Files(path, policy)
    held: list[dict[str, Any]] = []
    lines: list[int] = []
    at = ""
    try:
        for raw in reader.raw(files):
            if held and (raw.where.name != at or len(held) == ROWS_A_CHUNK):
                yield Chunk(at, lines[0], ROWS, held, tuple(lines))
                held, lines = [], []
            try:
                record = reader.record(raw)
            except Unexpected as error:
                policy.reject(raw.where, str(error), orjson.dumps(raw.value, default=str))
                continue
            at = raw.where.name
            held.append(record)
            lines.append(raw.where.line)
        if held:
            yield Chunk(at, lines[0], ROWS, held, tuple(lines))
    finally:
        files.close()
