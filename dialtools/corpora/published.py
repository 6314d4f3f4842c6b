"""Published corpora by name: which one lies at a path, and its records in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dialtools.catalog import lookup
from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.native.files import ARCHIVES, Files, ends_like
from dialtools.corpora.native.raw import Unexpected
from dialtools.errors import DataError
from dialtools.streams import nesting
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.formats import FORMATS
from dialtools.streams.policy import Policy

ROWS_A_CHUNK = 512
"""Of dialogues, as a rule: work enough for a worker, and few megabytes."""
HINT = "name it with --from; `dialtools formats` lists the corpora that can be read"


def corpus_of(path: str, chosen: str | None) -> str | None:
    """Return the name of the corpus at a path, or None if there is none.

    Args:
        chosen: a name of --from; without one the names of the files tell.

    Raises:
        DataError: for a folder or an archive of no corpus that is known.
    """
    whole = Path(path).is_dir() or path.endswith(ARCHIVES)
    if chosen in CORPORA:
        streamed = not whole and chosen in FORMATS  # single files of lines are
        return None if streamed else chosen
    if chosen or path == "-":
        return None
    if not whole:
        file = Path(path).name.removesuffix(".gz").removesuffix(".zst")
        for name, corpus in CORPORA.items():
            if any(ends_like(file, mark) for mark in corpus.alone):
                return name
        return None
    files = Files(path, Policy())
    try:
        return recognised(files)
    finally:
        files.close()


def recognised(files: Files) -> str:
    """Return the name of the first corpus of which all marks of a set are among the files.

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
                policy.reject(raw.where, str(error), raw.value)
                continue
            if nesting.too_deep(record):
                nesting.reject(policy, raw.where, raw.value)
                continue
            at = raw.where.name
            held.append(record)
            lines.append(raw.where.line)
        if held:
            yield Chunk(at, lines[0], ROWS, held, tuple(lines))
    finally:
        files.close()
