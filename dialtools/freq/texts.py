"""The texts of a chunk that are to be counted, as one Arrow column.

Columns of the input are taken whole. T texts of a chunk; a record may hold several (the turns of a
dialogue).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dialtools.corpora.block import has_blank, read_block
from dialtools.corpora.dialogues import key_of_turns
from dialtools.corpora.fields import BadRecord, text
from dialtools.corpora.pair_columns import pair_columns
from dialtools.corpora.shape import holds_turns
from dialtools.errors import nearest
from dialtools.freq.columns import integers, strings
from dialtools.freq.fields import COUNT, RESPONSE, TEXT, count_of, field_texts
from dialtools.freq.places import Place, Places, columns_of
from dialtools.streams.chunks import BATCH, Chunk, decode, records
from dialtools.streams.payloads import Kept, Payload
from dialtools.streams.policy import Policy, Where
from dialtools.streams.sinks import json_line
from dialtools.streams.sound import is_utf8, one_text
from dialtools.streams.tally import Tally

NO_FREQUENCY = "expected frequency records, as dial-freq writes them"
OF_FREQUENCY = frozenset((TEXT, COUNT, "share", "weight"))
"""The fields that frequency records have, and no others do."""
UNMERGED = "frequency records taken for texts"


@dataclass
class Texts:
    """T texts of a chunk.

    Attributes:
        source: the place of their input among the inputs.
        name: its name.
        texts: (T,) strings.
        counts: (T,) how often each was counted before, or None: once.
        dialogue: (T,) of a pair's response, the dialogue's id; None if these are no pairs.
        turn: (T,) its turn there; without an id, a number that the windows of one response share.
        window: (T,) the window of the pair, null where it is not known.
        payload: what to re-emit, JSON lines or an Arrow batch of T records; None if nothing was
            asked for.
    """

    source: int
    name: str
    texts: pa.Array
    counts: pa.Array | None = None
    dialogue: pa.Array | None = None
    turn: pa.Array | None = None
    window: pa.Array | None = None
    payload: Payload | None = None

    def first(self, rows: int) -> Texts:
        """Return the first texts, and of what is to be re-emitted their records."""
        payload = self.payload
        if isinstance(payload, bytes):
            payload = b"".join([line + b"\n" for line in payload.split(b"\n")[:-1][:rows]])
        elif payload is not None:
            payload = payload.slice(0, rows)
        return Texts(self.source, self.name, self.texts[:rows], payload=payload)


@dataclass
class Extractor:
    """Takes the texts out of chunks; records that have none go to the policy.

    Attributes:
        field: the field counted; None is the response of a pair, the turns of a dialogue, the text
            of an utterance.
        merge: the records are frequency records.
        tell_places: tell which turn a response is.
        tally: gets the messages of chats that are no turns, and `UNMERGED`.
        keep: keep what is to be re-emitted; a record must then hold one text.
    """

    field: str | None
    policy: Policy
    tally: Tally = dataclasses.field(default_factory=Tally)
    merge: bool = False
    tell_places: bool = True
    keep: bool = False
    places: Places = dataclasses.field(default_factory=Places)

    def __call__(self, chunk: Chunk, source: int) -> Texts:
        """Return the texts of a chunk."""
        if chunk.plain and not self.merge:
            return self._lines(chunk, source)
        whole = self._columns(chunk, source) if chunk.columnar else self._plain(chunk, source)
        return whole or self._records(chunk, source)

    def _lines(self, chunk: Chunk, source: int) -> Texts:
        """Take the lines of plain text."""
        column = self._split_lines(chunk)
        if not self.keep:
            return Texts(source, chunk.name, column)
        column = column.filter(pc.not_equal(pc.utf8_trim_whitespace(column), ""))
        rows = [json_line({TEXT: text}) for text in column.to_pylist()]
        return Texts(source, chunk.name, column, payload=b"".join(rows))

    def _split_lines(self, chunk: Chunk) -> pa.Array:
        data = chunk.data.replace(b"\r\n", b"\n") if b"\r" in chunk.data else chunk.data
        whole = one_text(data)
        if b"\0" not in data and is_utf8(whole):
            return pc.split_pattern(whole, "\n").values
        lines = enumerate(data.split(b"\n"), chunk.first)
        sound = (
            line for n, line in lines if decode(line, Where(chunk.name, n), self.policy) is not None
        )
        return pa.array([line.decode() for line in sound if line], pa.string())

    def _plain(self, chunk: Chunk, source: int) -> Texts | None:
        """Take the responses of pairs or the turns of dialogues in lines of JSON.

        None if they must be read one by one.
        """
        if self.field or self.merge or self.keep:
            return None
        if (batch := pair_columns(chunk)) is not None:
            return self._columns(replace(chunk, format=BATCH, data=batch), source)
        block = read_block(chunk, but=RESPONSE)
        return None if block is None else Texts(source, chunk.name, block.texts)

    def _columns(self, chunk: Chunk, source: int) -> Texts | None:
        """Take whole columns, or return None if this batch must be read row by row."""
        batch = chunk.data
        names = set(batch.schema.names)
        wanted = self._column_name(names)
        column = strings(batch, wanted) if wanted else None
        counts = integers(batch, COUNT) if self.merge else None
        if column is None or (self.merge and not _are_counts(counts)):
            return None
        if not self.merge and wanted == TEXT and names >= OF_FREQUENCY:
            self.tally.facts[UNMERGED] += len(column)
        payload = batch if self.keep else None
        texts = Texts(source, chunk.name, column, counts, payload=payload)
        if self.tell_places and wanted == RESPONSE and "turn" in names:
            texts.dialogue = strings(batch, "dialogue_id")
            texts.turn, texts.window = integers(batch, "turn"), integers(batch, "window")
            found = (texts.dialogue, texts.turn, texts.window)
            if any(column is None for column in found) or has_blank(texts.dialogue):
                try:
                    texts.dialogue, texts.turn, texts.window = self.places.columns(batch)
                except BadRecord:  # the rows tell which
                    return None
        return texts

    def _column_name(self, names: set[str]) -> str:
        """Return the column to count, or "" where that depends on the row."""
        if self.merge:
            return TEXT
        if self.field:
            return self.field
        if key_of_turns(names):
            return ""
        return next((name for name in (RESPONSE, TEXT) if name in names), "")

    def _records(self, chunk: Chunk, source: int) -> Texts:
        """Take the texts record by record."""
        kept = Kept(chunk)
        texts: list[str] = []
        counts: list[int] = []
        places: list[Place] = []
        of_pairs = False
        for number, record in records(chunk, self.policy):
            try:
                own = self.texts_of(record)
                count = count_of(record) if self.merge else 1
                place = self.places.place(record, self.field) if self.tell_places else None
            except BadRecord as error:
                where = Where(chunk.name, number)
                self.policy.reject(where, str(error), record, self._hint(record))
                continue
            texts += own
            if self.merge:
                counts.append(count)
            elif self.field in (None, TEXT) and record.keys() >= OF_FREQUENCY:
                self.tally.facts[UNMERGED] += 1
            if self.tell_places:  # what is no pair has turns of its own
                of_pairs = of_pairs or place is not None
                places += [place or Place(None, self.places.next()) for _ in own]
            if self.keep:
                kept.keep(number, record)

        return Texts(
            source,
            chunk.name,
            pa.array(texts, pa.string()),
            pa.array(counts, pa.int64()) if self.merge else None,
            *(columns_of(places) if of_pairs else ()),
            payload=kept.payload() if self.keep else None,
        )

    def texts_of(self, record: dict[str, Any]) -> list[str]:
        """Return the texts of a record.

        Raises:
            BadRecord: if it has no such field, or that is no text, or several where one is needed.
        """
        if self.merge:
            text(record.get(TEXT), TEXT)
        texts = field_texts(record, TEXT if self.merge else self.field, self.tally)
        if self.keep and len(texts) != 1:
            raise BadRecord(f"holds {len(texts)} texts; --annotate weighs records of one")
        return texts

    def _hint(self, record: dict[str, Any]) -> str | None:
        """Return what to do about a record without texts."""
        if self.merge:
            return NO_FREQUENCY
        if self.field:
            return None if self.field in record else nearest(self.field, list(record))
        is_known = holds_turns(record) or RESPONSE in record or TEXT in record
        return None if is_known else "--field NAME counts another field"


def _are_counts(column: pa.Array | None) -> bool:
    """Tell whether a column holds counts, which are above 0."""
    return column is not None and (not len(column) or pc.min(column).as_py() > 0)


def count_empty(texts: pa.Array) -> int:
    """Return how many texts hold nothing."""
    return pc.sum(pc.equal(pc.binary_length(texts), 0)).as_py() or 0
