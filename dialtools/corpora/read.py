"""Any chat log to chunks, and any chunk to dialogues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.delimited import row_chunks
from dialtools.corpora.dialogues import (
    DIALOGUE_FIELDS,
    DOMAIN,
    NO_TURNS,
    NULL_TURNS,
    WITHOUT_TEXT,
    Dialogue,
    dialogue,
    key_of_turns,
    whose,
)
from dialtools.corpora.fields import TEXT_KEYS, BadRecord
from dialtools.corpora.going_on import going_on
from dialtools.corpora.logs import log_records, shown_records
from dialtools.corpora.native.files import OPENING_BYTES
from dialtools.corpora.no_dialogue import hint_on_record, is_utterance
from dialtools.corpora.notes import with_marks_counted
from dialtools.corpora.options import LogOptions
from dialtools.corpora.plain import plain_dialogues, spoken_records
from dialtools.corpora.published import corpus_chunks, corpus_of, each_file, that_begin_so
from dialtools.corpora.replies import PROMPT, is_tree
from dialtools.corpora.shape import OF_CHATS, Session, Shaper
from dialtools.corpora.table import table_chunks
from dialtools.errors import DataError
from dialtools.streams.bytesio import display_name
from dialtools.streams.chunks import Chunk, Numbered, read_chunks, records
from dialtools.streams.formats import FORMATS, input_format, is_archive
from dialtools.streams.parts import is_in_parts
from dialtools.streams.policy import Policy, Where
from dialtools.streams.shards import Shard, Span
from dialtools.streams.spans import spans, within
from dialtools.streams.tally import Tally


def dialogue_chunks(
    paths: Sequence[str],
    *,
    format: str | None,
    logs: LogOptions,
    policy: Policy,
    tally: Tally,
    prompt: bool = False,
    keep: bool = False,
    shard: Shard | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of every input, whatever its format.

    Args:
        tally: gets the rows of tables that have no text.
        keep: the other columns of a table go along with its turns.
        shard: the part of the inputs that is wanted.
    """
    files = each_file(paths, format, whole=bool(logs.of_turns))
    mine = list(spans(files, shard))
    read = partial(_dialogue_chunks, format=format, logs=logs, prompt=prompt, keep=keep)
    chunks = _each_input(mine, paths, read, policy, tally)
    if len(files) > 1:
        chunks = going_on(chunks, logs, tally, partial(_next_file, files, mine, read))
    yield from chunks


def _each_input(
    mine: Iterable[tuple[str, Span | None]],
    paths: Sequence[str],
    read: Callable[..., Iterator[Chunk]],
    policy: Policy,
    tally: Tally,
) -> Iterator[Chunk]:
    for path, span in mine:
        with policy.one_of_many(alone=path in (*paths, "-")) as passed:
            yield from passed(read(path, span, policy, tally))


def _next_file(
    files: Sequence[str],
    mine: Sequence[tuple[str, Span | None]],
    read: Callable[..., Iterator[Chunk]],
) -> Chunk | None:
    """Return the first chunk of the file behind those that a part reads, if there is one."""
    last = files[::-1].index(mine[-1][0])
    with suppress(DataError):  # told by the part that has it
        return next(read(files[-last], None, Policy("skip"), Tally()), None) if last else None


def _dialogue_chunks(
    path: str,
    span: Span | None,
    policy: Policy,
    tally: Tally,
    *,
    format: str | None,
    logs: LogOptions,
    prompt: bool,
    keep: bool,
) -> Iterator[Chunk]:
    told = logs.of_turns and format is None and not is_archive(path)
    is_table = told and (Path(path).is_file() or is_in_parts(path))
    corpus = None if is_table else corpus_of(path, format)
    chosen = logs.format_of(path, format) if not corpus else format
    kind = input_format(path, chosen)
    logs.check_format(display_name(path), corpus or kind)
    if corpus:
        yield from within(span, partial(corpus_chunks, path, corpus), policy, tally)
    elif FORMATS[kind].columns or logs.of_turns:
        kind = kind if FORMATS[kind].columns else chosen
        yield from within(span, partial(table_chunks, path, kind, logs, keep=keep), policy, tally)
    else:
        chunks = read_chunks([path], format=chosen, prompt=prompt, span=span, policy=policy)
        yield from with_marks_counted(chunks, tally)


def record_chunks(
    paths: Sequence[str],
    *,
    format: str | None,
    policy: Policy,
    column: str | None = "text",
    prompt: bool = False,
    shard: Shard | None = None,
    logs: LogOptions | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of every input: of a published corpus, of records, lines, or rows.

    Args:
        column: that rows of CSV and TSV must have.
        logs: how these are read, of commands with such flags.
        prompt: hand on the lines that a pipe has, rather than wait for a full chunk.
        shard: the part of the inputs that is wanted.
    """
    read = partial(_record_chunks, format=format, column=column, prompt=prompt, logs=logs)
    yield from _each_input(spans(each_file(paths, format), shard), paths, read, policy, Tally())


def _record_chunks(
    path: str,
    span: Span | None,
    policy: Policy,
    tally: Tally,
    *,
    format: str | None,
    column: str | None,
    prompt: bool,
    logs: LogOptions | None,
) -> Iterator[Chunk]:
    kind, corpus = input_format(path, format), corpus_of(path, format)
    if logs:
        logs.check_format(display_name(path), corpus or kind)
    if corpus:
        yield from within(span, partial(corpus_chunks, path, corpus), policy, tally)
    elif FORMATS[kind].columns:
        rows = partial(row_chunks, path, kind, column, logs)
        yield from within(span, lambda policy, _: rows(policy), policy, tally)
    else:
        yield from read_chunks(
            [path], format=format, prompt=prompt, span=span, policy=policy, whole_dialogues=False
        )


def read_records(
    paths: Sequence[str], *, format: str | None, policy: Policy
) -> Iterator[tuple[Where, dict[str, Any]]]:
    """Yield each record of the inputs with its place; holds one chunk."""
    for chunk in record_chunks(paths, format=format, policy=policy, column=None):
        for number, record in records(chunk, policy):
            yield Where(chunk.name, number), record


def dialogues(
    chunk: Chunk, policy: Policy, logs: LogOptions, tally: Tally, *, utterances: bool = False
) -> Iterator[tuple[int, Dialogue]]:
    """Yield each dialogue with the number of its line or row; what is none goes to the policy.

    Args:
        tally: gets the turns that are left out.
        utterances: a record of a text is a dialogue of one turn.
    """
    if chunk.plain and not (logs.speaker_prefix or logs.reading):
        yield from plain_dialogues(chunk, policy)
        return
    shape = Shaper(logs, tally)
    columns = chunk.data.schema.names if chunk.columnar else ()
    silent = {key: None for key in TEXT_KEYS if key in columns}  # a row lacks what is null
    read = _read(chunk, policy, logs, (*DIALOGUE_FIELDS, PROMPT))
    for number, record in read:
        try:
            alone = utterances and is_utterance(record.keys() | silent)
            found = _of_one_turn(silent | record) if alone else record
            if shape.idle and OF_CHATS.isdisjoint(found) and not is_tree(found):
                talk = dialogue(found)
                said = talk.spoken()
                tally.drop(WITHOUT_TEXT, len(talk.texts) - len(said.texts))
                yield number, said
            else:
                parts = [(dialogue(part.record), part.number) for part in shape(found)]
                yield from [(number, talk._replace(session=session)) for talk, session in parts]
        except BadRecord as error:
            _reject(policy, chunk, number, error, record)


def dialogue_records(
    chunk: Chunk, policy: Policy, logs: LogOptions, tally: Tally
) -> Iterator[tuple[int, Session]]:
    """Yield each dialogue record in one shape, with its other fields, and its line or row."""
    if chunk.plain and not (logs.speaker_prefix or logs.reading):
        for number, talk in plain_dialogues(chunk, policy):
            yield number, Session({"turns": [{"text": text} for text in talk.texts]})
        return
    shape = Shaper(logs, tally)
    read = _read(chunk, policy, logs)
    for number, record in read:
        try:
            yield from [(number, part) for part in shape(record)]
        except BadRecord as error:
            _reject(policy, chunk, number, error, record)


def _read(
    chunk: Chunk, policy: Policy, logs: LogOptions, names: Collection[str] | None = None
) -> Numbered:
    if not chunk.plain:
        return log_records(chunk, policy, logs, names)
    if logs.speaker_prefix:
        read = spoken_records(chunk, policy)
    else:
        read = ((line, {"turns": talk.texts}) for line, talk in plain_dialogues(chunk, policy))
    return shown_records(read, chunk, policy, logs) if logs.reading else read


def _of_one_turn(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an utterance as a dialogue, of its domain."""
    return {"id": whose(record), DOMAIN: record.get(DOMAIN), "turns": [record]}


def _reject(
    policy: Policy, chunk: Chunk, number: int, error: BadRecord, record: Mapping[str, Any]
) -> None:
    names = chunk.data.schema.names if chunk.columnar else list(record)
    reason = str(error)
    key = key_of_turns(names) if chunk.columnar and reason == NO_TURNS else None
    if key and record.get(key) is None:
        reason = NULL_TURNS.format(key)  # a row has no field of what is null
    hint = hint_on_record(names, reason, record, of_array=chunk.of_array)
    if reason == NO_TURNS and number == 1 and not chunk.columnar:  # on stdin it is not looked for
        opening = orjson.dumps(record, default=str)[:OPENING_BYTES]
        if named := next(that_begin_so(opening), None):
            hint = f"--from {named} reads it: {CORPORA[named].summary}"
    policy.reject(Where(chunk.name, number), reason, record, hint)
