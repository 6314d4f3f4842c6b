"""The texts of a chunk that are to be counted, as one Arrow column; columns of the input are taken whole.

T texts of a chunk; a record may hold several (the turns of a dialogue).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from dialtools.corpora.dialogues import TEXT_KEYS, TURN_KEYS, BadDialogue, dialogue, json_kind
from dialtools.errors import DataError, nearest
from dialtools.streams.chunks import Chunk, decode, records
from dialtools.streams.policy import Policy, Where

if TYPE_CHECKING:
    import pyarrow as pa

RESPONSE, TEXT, COUNT = "response", "text", "count"
PLACE = ("window", "dialogue_id", "turn")
NO_FREQUENCY = "expected frequency records, as dial-freq writes them"
LARGEST = 1 << 62


class BadField(ValueError):
    """A record without the field that is counted, or with something else than text in it."""


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
        payload: what to re-emit, JSON lines or an Arrow batch of T records; None if nothing was
            asked for.
    """

    source: int
    name: str
    texts: pa.Array
    counts: pa.Array | None = None
    dialogue: pa.Array | None = None
    turn: pa.Array | None = None
    payload: bytes | pa.RecordBatch | None = None


@dataclass
class Extractor:
    """Takes the texts out of chunks; records that have none go to the policy.

    Attributes:
        field: the field counted; None is the response of a pair, the turns of a dialogue, the text
            of an utterance.
        merge: the records are frequency records.
        places: tell which turn a response is.
        keep: keep what is to be re-emitted; a record must then hold one text.
    """

    field: str | None
    policy: Policy
    merge: bool = False
    places: bool = True
    keep: bool = False
    windows: Windows = field(default_factory=lambda: Windows())

    def __call__(self, chunk: Chunk, source: int) -> Texts:
        """Return the texts of a chunk."""
        if chunk.format == "text" and not self.merge:
            return self._lines(chunk, source)
        whole = self._columns(chunk, source) if chunk.format == "arrow" else None
        return whole or self._records(chunk, source)

    def _lines(self, chunk: Chunk, source: int) -> Texts:
        import pyarrow as pa
        import pyarrow.compute as pc

        data = chunk.data.replace(b"\r\n", b"\n") if b"\r" in chunk.data else chunk.data
        offsets = pa.array([0, len(data)], pa.int32()).buffers()[1]
        whole = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(data))  # no copy
        if b"\0" in data or not _is_utf8(whole):
            lines = enumerate(data.split(b"\n"), chunk.first)
            texts = [
                text
                for n, line in lines
                if (text := decode(line, Where(chunk.name, n), self.policy))
            ]
            column = pa.array(texts, pa.string())
        else:
            column = pc.split_pattern(whole, "\n").values
        if not self.keep:
            return Texts(source, chunk.name, column)
        column = column.filter(pc.not_equal(pc.utf8_trim_whitespace(column), ""))
        payload = b"".join(
            [orjson.dumps({TEXT: t}, option=orjson.OPT_APPEND_NEWLINE) for t in column.to_pylist()]
        )
        return Texts(source, chunk.name, column, payload=payload)

    def _columns(self, chunk: Chunk, source: int) -> Texts | None:
        """Take whole columns, or return None if this batch must be read row by row."""
        import pyarrow as pa

        batch, names = chunk.data, set(chunk.data.schema.names)
        wanted = (
            TEXT
            if self.merge
            else self.field
            or next((n for n in (RESPONSE, TEXT) if n in names and not names & set(TURN_KEYS)), "")
        )
        texts = _strings(batch, wanted)
        counts = _integers(batch, COUNT) if self.merge else None
        if texts is None or (
            self.merge and (counts is None or (pa.compute.min(counts).as_py() or 1) < 1)
        ):
            return None
        if not _is_utf8(texts):
            raise DataError(f"column {wanted!r} is not UTF-8", where=Where(chunk.name, chunk.first))
        found = Texts(source, chunk.name, texts, counts, payload=batch if self.keep else None)
        if self.places and wanted == RESPONSE and {"window", "turn"} <= names:
            found.dialogue, found.turn = _strings(batch, "dialogue_id"), _integers(batch, "turn")
            if found.dialogue is None or found.turn is None:
                found.dialogue, found.turn = self.windows.column(batch)
        return found

    def _records(self, chunk: Chunk, source: int) -> Texts:
        import pyarrow as pa

        texts: list[str] = []
        counts: list[int] = []
        dialogues: list[str | None] = []
        turns: list[int] = []
        kept: list[bytes] = []
        lines = chunk.data.split(b"\n") if self.keep and chunk.format == "jsonl" else None
        told, rows = False, []
        for number, record in records(chunk, self.policy):
            try:
                found = self.texts_of(record)
                if self.merge:
                    counts.append(_count(record))
            except (BadField, BadDialogue) as error:
                self.policy.reject(
                    Where(chunk.name, number),
                    str(error),
                    orjson.dumps(record, default=str),
                    self._hint(record),
                )
                continue
            texts += found
            if self.places:
                place = self.windows.place(record, self.field)
                told = told or place is not None
                for _ in found:
                    identity, turn = place or (None, self.windows.next())
                    dialogues.append(identity)
                    turns.append(turn)
            if self.keep and lines:
                kept.append(lines[number - chunk.first].rstrip() + b"\n")
            elif self.keep:
                kept.append(orjson.dumps(record, default=str, option=orjson.OPT_APPEND_NEWLINE))
                rows.append(number - chunk.first)
        payload: Any = b"".join(kept) if self.keep else None
        if self.keep and chunk.format == "arrow":  # stays a batch, less the rows that were rejected
            payload = (
                chunk.data
                if len(rows) == chunk.data.num_rows
                else chunk.data.take(pa.array(rows, pa.int64()))
            )
        return Texts(
            source,
            chunk.name,
            pa.array(texts, pa.string()),
            pa.array(counts, pa.int64()) if self.merge else None,
            pa.array(dialogues, pa.string()) if told else None,
            pa.array(turns, pa.int64()) if told else None,
            payload,
        )

    def texts_of(self, record: dict[str, Any]) -> list[str]:
        """Return the texts of a record.

        Raises:
            BadField: if it has no such field, or that is no text, or several where one is needed.
            BadDialogue: if its turns are none.
        """
        found = _texts(record, TEXT if self.merge else self.field)
        if self.keep and len(found) != 1:
            raise BadField(f"holds {len(found)} texts; --annotate weighs records of one")
        return found

    def _hint(self, record: dict[str, Any]) -> str | None:
        if self.merge:
            return NO_FREQUENCY
        if self.field:
            return None if self.field in record else nearest(self.field, list(record))
        return (
            None
            if {RESPONSE, TEXT, *TURN_KEYS} & set(record)
            else "--field NAME counts another field"
        )


def _texts(record: dict[str, Any], name: str | None) -> list[str]:
    if name is None:
        if RESPONSE in record:
            name = RESPONSE
        elif any(key in record for key in TURN_KEYS):
            return dialogue(record).texts
        elif TEXT in record:
            name = TEXT
        else:
            raise BadField(f'no "response", "turns" or "text"; there are {_names(record)}')
    if name not in record:
        raise BadField(f"no field {name!r}; there are {_names(record)}")
    value = record[name]
    return (
        [_text(v, f"{name}[{i}]") for i, v in enumerate(value)]
        if type(value) is list
        else [_text(value, name)]
    )


def _names(record: dict[str, Any]) -> str:
    return ", ".join(record) or "no fields"


def _text(value: Any, where: str) -> str:
    if type(value) is dict:
        value = next((value[key] for key in TEXT_KEYS if key in value), value)
    if type(value) is str:
        return value
    raise BadField(f"{where}: expected text, got {json_kind(value)}")


def _count(record: dict[str, Any]) -> int:
    count = record.get(COUNT)
    if type(count) is not int or not 0 < count < LARGEST:
        raise BadField('"count" must be a whole number above 0')
    return count


class Windows:
    """Which turn a response is: by dialogue id, or, without one, by the pairs that stand one after another."""

    def __init__(self) -> None:
        self.number, self.same, self.seen = 0, None, set()

    def next(self) -> int:
        """Return a number that no turn has yet."""
        self.number, self.same = self.number + 1, None
        return self.number

    def place(
        self, record: dict[str, Any], name: str | None = None
    ) -> tuple[str | None, int] | None:
        """Return dialogue and turn of a pair's response; None if the record is no pair."""
        if name not in (None, RESPONSE) or RESPONSE not in record or "window" not in record:
            return None
        identity, turn, window = record.get("dialogue_id"), record.get("turn"), record["window"]
        if type(turn) is not int or abs(turn) >= LARGEST:
            return None
        if identity is not None:
            return str(identity), turn
        if self.same != (turn, record[RESPONSE]) or window in self.seen:
            self.next()
            self.same, self.seen = (turn, record[RESPONSE]), set()
        self.seen.add(window)
        return None, self.number

    def column(self, batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
        """Return (T,) dialogues and turns of a batch of pairs of which some have no id."""
        import pyarrow as pa

        names = [name for name in (RESPONSE, *PLACE) if name in batch.schema.names]
        places = [self.place(row) or (None, self.next()) for row in batch.select(names).to_pylist()]
        return pa.array([d for d, _ in places], pa.string()), pa.array(
            [t for _, t in places], pa.int64()
        )


def _strings(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column as strings if it is one without gaps."""
    import pyarrow as pa

    if batch.schema.names.count(name) != 1 or batch[name].null_count:
        return None
    column = batch[name]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    return column.cast(pa.string())


def _integers(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    import pyarrow as pa

    if (
        batch.schema.names.count(name) != 1
        or batch[name].null_count
        or not pa.types.is_integer(batch[name].type)
    ):
        return None
    return batch[name].cast(pa.int64())


def _is_utf8(texts: pa.Array) -> bool:
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def empties(texts: pa.Array) -> int:
    """Return how many texts hold nothing."""
    import pyarrow.compute as pc

    return pc.sum(pc.equal(pc.binary_length(texts), 0)).as_py() or 0
