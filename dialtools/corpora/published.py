"""Published corpora by name: which one lies at a path, and its records in chunks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from dialtools.catalog import lookup
from dialtools.corpora.catalog import CORPORA, Corpus
from dialtools.corpora.fields import BadRecord
from dialtools.corpora.native.files import OPENING_BYTES, Files, ends_like
from dialtools.corpora.native.raw import BAD, FACTS, LEFT_OUT, Unexpected
from dialtools.errors import DataError
from dialtools.streams import full, nesting
from dialtools.streams.bytesio import (
    STDIN,
    open_input,
    own_name,
    place_of_archive,
    refuse_missing,
)
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.formats import DEFAULT, FORMATS, by_suffix, is_archive
from dialtools.streams.job_files import BESIDE
from dialtools.streams.parts import is_in_parts, unfolded
from dialtools.streams.policy import Policy, Where
from dialtools.streams.scraps import temporary_folder
from dialtools.streams.tally import Tally

ROWS_A_CHUNK = 512
"""Of dialogues, as a rule: work enough for a worker, and few megabytes."""
LOOKED_AT = 5
"""Files of a mark: one of them may be empty."""
HINT = "name it with --from; `dialtools formats` lists the corpora that can be read"


def corpus_of(path: str, chosen: str | None) -> str | None:
    """Return the name of the corpus at a path, or None if there is none.

    Args:
        chosen: a name of --from; without one the names of the files tell.

    Raises:
        DataError: for a folder or an archive of no corpus that is known.
    """
    whole = Path(path).is_dir() or is_archive(path)
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
        return _by_opening(path)
    with closing(Files(path, Policy())) as files:
        return recognised(files)


def each_file(paths: Sequence[str], chosen: str | None, *, whole: bool = False) -> list[str]:
    """Return inputs with the files of a folder of your own in its place, those of splits in order.

    A folder that is a corpus, or is read as one by --from, stays.

    Args:
        whole: so does one of parts, for a reader to whom it matters that they are of one table.

    Raises:
        DataError: if an input is not there, or a file in such a folder cannot be read.
    """
    every = (paths or ("-",)) if whole else unfolded(paths)
    each = ([path] if whole and is_in_parts(path) else _own_files(path, chosen) for path in every)
    return [file for files in each for file in files]


def _own_files(path: str, chosen: str | None) -> list[str]:
    if path == "-" or not Path(path).is_dir() or chosen in CORPORA:
        return [path]
    files = Files(path, Policy())
    names = [name for name in files.names() if not _is_note(name)]
    if any(lies_in(files, corpus) for corpus in CORPORA.values()):
        return [path]
    found = [f"{path.rstrip('/')}/{name}" for name in names]
    unknown = [file for file in found if not (chosen or _is_known(file))]
    if len(unknown) == len(found):
        return [path]
    refuse_missing(found)  # as a link is to what has gone
    if unknown:
        hint = "name the files that are to be read, or with --from the format of all"
        raise DataError(
            "not a format that is known by its name", where=own_name(unknown[0]), hint=hint
        )
    return found


def _is_note(name: str) -> bool:
    """Tell whether a file is about others: a README, a licence, what tells of an output.

    Spark says with `_SUCCESS`, Databricks with `_committed_1`, that the others are whole.
    """
    file = name.rpartition("/")[2]
    if file.startswith("_") and not by_suffix(file):
        return True
    return file.upper().startswith(("README", "LICEN")) or file.endswith(BESIDE)


def _is_known(file: str) -> bool:
    """Tell whether the name of a file, or how it begins, says how it is read."""
    if not Path(file).is_file():
        return False
    return bool(by_suffix(file) or is_archive(file) or corpus_of(file, None))


def _by_opening(path: str) -> str | None:
    """Return the corpus that a file of lines is by how it begins; a pipe is opened once, later.

    A table has a name of that corpus, too: its header may be anybody's.
    """
    format = FORMATS[by_suffix(path) or DEFAULT]
    if not format.lines or not Path(path).is_file():
        return None
    with open_input(path) as stream:
        opening = stream.peek(OPENING_BYTES)[:OPENING_BYTES]
    opened = that_begin_so(opening)
    return next((n for n in opened if not format.columns or _is_named(path, CORPORA[n])), None)


def that_begin_so(opening: bytes) -> Iterator[str]:
    """Yield the names of the corpora whose files begin like this."""
    return (name for name, corpus in CORPORA.items() if _opens(corpus, opening))


def _is_named(path: str, corpus: Corpus) -> bool:
    return any(ends_like(Path(path).name, mark) for marks in corpus.marks for mark in marks)


def _opens(corpus: Corpus, opening: bytes) -> bool:
    if not corpus.opening:
        return False
    text = opening.lstrip().decode("utf-8", "ignore")
    return re.match(corpus.opening, text, re.DOTALL | re.MULTILINE) is not None


def recognised(files: Files) -> str:
    """Return the name of the first corpus of which all marks of a set are among the files.

    Raises:
        DataError: if none is.
    """
    for name, corpus in CORPORA.items():
        if lies_in(files, corpus):
            return name
    names = files.names()
    own = any(map(by_suffix, names))
    some = ", ".join(names[:4]) or "none at all"
    hint = f"{HINT}; files of your own are read from a folder: unpack it" if own else HINT
    raise DataError(f"the files of no known corpus: {some}", where=own_name(files.path), hint=hint)


def lies_in(files: Files, corpus: Corpus) -> bool:
    """Tell whether files are those of a corpus: by their names, and by how a first one begins."""
    for together in (*((mark,) for mark in corpus.alone), *corpus.marks):
        found = [files.names(pattern) for pattern in together]
        if all(found) and (not corpus.opening or _begins(files, found[0][:LOOKED_AT], corpus)):
            return True
    return False


def _begins(files: Files, names: Sequence[str], corpus: Corpus) -> bool:
    for name in names:
        with suppress(DataError):  # who reads the file tells what is wrong with it
            if _opens(corpus, files.opening(name)):
                return True
    return False


def corpus_chunks(
    path: str, name: str, policy: Policy, tally: Tally | None = None
) -> Iterator[Chunk]:
    """Yield chunks of a corpus's records; records of another layout go to the policy.

    Holds one file of the corpus, and a chunk.

    Args:
        tally: gets what is no turn.

    Raises:
        DataError: if the files are not those of the corpus.
    """
    reader = lookup(CORPORA, name, kind="corpus")
    held: list[dict[str, Any]] = []
    lines: list[int] = []
    at = ""
    with _as_file(path) as file, closing(Files(file, policy)) as files:
        for where, record in _records(reader, files, Tally() if tally is None else tally):
            if held and (where.name != at or len(held) == ROWS_A_CHUNK):
                yield Chunk(at, lines[0], ROWS, held, tuple(lines))
                held, lines = [], []
            at = where.name
            held.append(record)
            lines.append(where.line)
        if held:
            yield Chunk(at, lines[0], ROWS, held, tuple(lines))


@contextmanager
def _as_file(path: str) -> Generator[str]:
    """Give a file of what comes on stdin: readers of corpora look at one more than once."""
    if path != "-":
        yield path
        return
    with temporary_folder() as folder:
        file = place_of_archive(STDIN, folder)
        file.parent.mkdir(parents=True)
        with open_input(path) as stream, full.naming(folder.parent), file.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        yield str(file)


def _records(reader: Any, files: Files, tally: Tally) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Yield each record with its place; what cannot be read goes to the policy."""
    policy = files.policy
    for raw in reader.raw(files):
        try:
            record = reader.record(raw)
        except (Unexpected, BadRecord) as error:
            policy.reject(raw.where, str(error), raw.value)
            continue
        if nesting.too_deep(record):
            nesting.reject(policy, raw.where, raw.value)
            continue
        for reason, number in record.pop(LEFT_OUT, {}).items():
            tally.drop(reason, number)
        tally.facts.update(record.pop(FACTS, {}))
        for reason, part in record.pop(BAD, ()):
            policy.reject(raw.where, reason, part)
        yield raw.where, record
