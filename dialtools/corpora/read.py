"""Any chat log to chunks, and any chunk to dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from dialtools.corpora.delimited import Columns, delimited_chunks
from dialtools.corpora.dialogues import BadDialogue, Dialogue, dialogue
from dialtools.corpora.plain import plain_dialogues
from dialtools.streams.chunks import Chunk, input_format, read_chunks, records
from dialtools.streams.policy import Policy, Where


def dialogue_chunks(paths: Sequence[str], *, format: str | None, columns: Columns, policy: Policy,
                    prompt: bool = False) -> Iterator[Chunk]:  # fmt: skip
    """Yield the chunks of every input, whatever its format."""
    for path in paths or ("-",):
        kind = input_format(path, format)
        if kind in ("csv", "tsv"):
            yield from delimited_chunks(path, kind, columns, policy)
        else:
            yield from read_chunks([path], format=format, prompt=prompt)


def dialogues(chunk: Chunk, policy: Policy) -> Iterator[tuple[int, Dialogue]]:
    """Yield line (or row) number and dialogue; what is no dialogue goes to the policy."""
    if chunk.format == "text":
        yield from plain_dialogues(chunk, policy)
        return
    for number, record in records(chunk, policy):
        try:
            yield number, dialogue(record)
        except BadDialogue as error:
            policy.reject(Where(chunk.name, number), str(error), orjson.dumps(record, default=str))
