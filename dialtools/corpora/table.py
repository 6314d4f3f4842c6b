"""Chat logs as tables of one turn a row: CSV, TSV, JSONL, Parquet, Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from dialtools.corpora import delimited
from dialtools.corpora.by_dialogue import Row, by_dialogue
from dialtools.corpora.dialogues import DOMAIN, SPEAKER_KEYS, WITHOUT_TEXT, called
from dialtools.corpora.fields import json_kind
from dialtools.corpora.likely import flags
from dialtools.corpora.native.empathetic import COMMA, is_row, with_commas
from dialtools.corpora.no_dialogue import hint_on_row
from dialtools.corpora.notes import NOTED, is_marked
from dialtools.corpora.options import LogOptions
from dialtools.corpora.quotes import DATED
from dialtools.corpora.replies import ID, REPLY
from dialtools.corpora.times import OF_TEXT, OF_TIME, BadTime, Rank, by_moment, rank, seconds
from dialtools.errors import ConfigError, DataError
from dialtools.streams.bytesio import display_name
from dialtools.streams.chunks import ROWS, Chunk, read_chunks, records
from dialtools.streams.formats import FORMATS
from dialtools.streams.parts import is_in_parts, unfolded
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally

DIALOGUES_A_CHUNK = 512
TURNS_A_CHUNK = 16384
"""A chunk ends with either: a help desk's log has few dialogues of many turns."""
NAME_COLUMNS = (
    "name it with --dialogue-column, --text-column, --speaker-column, --order-column; "
    "--kind texts pairs two texts a row"
)
IDS = ("message_id", "id")
BY_ITSELF = "; naming the files of the folder reads each by itself"
LAST = "turns without a place in an order"
UNREAD = "turns in the order of texts that look like times"


class Columns(NamedTuple):
    """Which column holds what; order and speaker may be absent.

    A speaker that is not named stands where those of turns do (`SPEAKER_KEYS`), if anywhere.
    """

    dialogue: str
    text: str
    speaker: str | None = None
    order: str | None = None
    reply: str | None = None
    id: str | None = None

    @classmethod
    def named_by(cls, logs: LogOptions) -> Columns:
        """Return the columns that the options name."""
        return cls(
            logs.dialogue_column or "dialogue_id",
            logs.text_column or "text",
            logs.speaker_column,
            logs.order_column,
            logs.reply_column,
            logs.id_column,
        )

    @property
    def speakers(self) -> tuple[str, ...]:
        """Those that may tell who speaks: the first that does."""
        return (self.speaker,) if self.speaker else SPEAKER_KEYS

    @property
    def ids(self) -> tuple[str, ...]:
        """Those that may tell what a row is called by, where rows answer one another."""
        return ((self.id,) if self.id else IDS) if self.reply else ()

    def unasked(self, by: str | None) -> set[str]:
        """Return what would tell something in place of columns that say nothing of a row.

        Args:
            by: the column that tells who speaks.
        """
        instead = {"time"} if self.order else set[str]()
        instead |= {REPLY} if self.reply else set()
        return instead.union(SPEAKER_KEYS if self.speaker and not by else ())

    @property
    def named(self) -> tuple[str, ...]:
        """Those that the table must have."""
        return tuple(column for column in self if column)


def table_chunks(
    path: str,
    kind: str | None,
    logs: LogOptions,
    policy: Policy,
    tally: Tally,
    *,
    keep: bool = False,
) -> Iterator[Chunk]:
    """Yield chunks of dialogue records.

    Holds a chunk, one dialogue, and a number for each that has ended (70 bytes). A turn has
    text, speaker and, from the order column, time. A domain that all turns name is the dialogue's.

    Args:
        tally: gets the rows without text.
        keep: the other columns go along with the turn.

    Raises:
        DataError: if a column is missing, or a dialogue goes on after another has begun (but for
        --unsorted).
    """
    name = display_name(path)
    columns = Columns.named_by(logs)
    logs.check_order(name)
    rows = _turns(_rows(path, kind, columns, logs, policy), name, columns, policy, tally, keep=keep)
    rows = by_dialogue(rows) if logs.unsorted else _together(rows, path, columns)

    first = 1
    turns = 0
    held: list[dict[str, Any]] = []
    for record in dialogues_of(rows, name, logs, policy, tally):
        held.append(record)
        turns += len(record["turns"])
        if len(held) == DIALOGUES_A_CHUNK or turns >= TURNS_A_CHUNK:
            yield Chunk(name, first, ROWS, held)
            first += len(held)
            held, turns = [], 0
    if held:
        yield Chunk(name, first, ROWS, held)


def _rows(
    path: str, kind: str | None, columns: Columns, logs: LogOptions, policy: Policy
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and row of a table that has the columns; those of a folder's files go on."""

    def likely(header: Sequence[str]) -> str | None:
        found = flags(header, logs, in_part=True)
        return found and f"by its names: {found}"

    if kind in FORMATS and FORMATS[kind].columns:
        named = columns.named
        yield from delimited.rows(path, kind, named, logs, policy, hint=NAME_COLUMNS, likely=likely)
        return
    part, before, number = "", 0, 0
    for chunk in _each_part(path, kind, policy):
        if not (chunk.json or chunk.columnar):
            raise ConfigError(
                f"{chunk.name} is read as {chunk.format}, which has no columns",
                hint="--from tsv reads it as a table, as Excel's Unicode text is one",
            )
        rows = list(records(chunk, policy))
        if rows and chunk.name != part:
            part, before = chunk.name, number
            known = dict.fromkeys(key for _, row in rows for key in row)
            names = chunk.data.schema.names if chunk.columnar else list(known)
            where = Where(chunk.name, chunk.first)
            hint = hint_on_row(rows[0][1]) or NAME_COLUMNS
            delimited.check(names, columns.named, where, hint, likely)
        for place, row in rows:
            number = before + place
            yield number, row


def _each_part(path: str, kind: str | None, policy: Policy) -> Iterator[Chunk]:
    """Yield the chunks of a file, or of the parts in a folder; a damaged one is left out."""
    for part in unfolded([path]):
        with policy.one_of_many(alone=part == path) as passed:
            yield from passed(read_chunks([part], format=kind, policy=policy))


def _turns(
    rows: Iterator[tuple[int, dict[str, Any]]],
    name: str,
    columns: Columns,
    policy: Policy,
    tally: Tally,
    *,
    keep: bool,
) -> Iterator[Row]:
    """Yield the rows that are turns; those without a dialogue or with no text go to the policy."""
    for line, row in rows:
        identity = called(row.get(columns.dialogue))
        text = row.get(columns.text)
        where = Where(name, line)
        if not isinstance(text, str | None):
            message = f"{columns.text}: expected a string, got {json_kind(text)}"
            policy.reject(where, message, row)
        elif not (text or "").strip() and not (columns.reply and identity):
            # spreadsheets end in rows without anything; others may answer one without a text
            tally.drop(WITHOUT_TEXT)
        elif not identity:
            message = f"{columns.dialogue}: no dialogue id"
            policy.reject(where, message, row)
        elif columns.reply and not _first(row, columns.ids):
            names = " or ".join(columns.ids)
            message = f"{names}: no id of the row, which --reply-column needs"
            policy.reject(where, message, row, hint="--id-column NAME names its column")
        else:
            tally.facts[NOTED] += is_marked(row)
            yield Row(line, identity, _turn(row, columns, keep=keep))


def _turn(row: Mapping[str, Any], columns: Columns, *, keep: bool) -> dict[str, Any]:
    """Return the turn of a row: its text and, where there are any, speaker, time and domain."""
    turn: dict[str, Any] = {}
    by = _first(row, columns.speakers)
    if by:
        turn["speaker"] = called(row[by])
    text = row.get(columns.text)
    turn["text"] = with_commas(text) if text and COMMA in text and is_row(row) else text
    if columns.order and row.get(columns.order) is not None:
        turn["time"] = row[columns.order]
    named = _first(row, columns.ids)
    if named:
        turn[ID] = called(row[named])
    if columns.reply and (answered := called(row.get(columns.reply))):
        turn[REPLY] = answered
    if row.get(DOMAIN):
        turn[DOMAIN] = row[DOMAIN]
    if keep:
        used = {*columns.named, by, named, *columns.unasked(by)}
        turn |= {k: v for k, v in row.items() if k not in used and k not in turn}
    return turn


def _first(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Return the first of the columns that names something."""
    return next((column for column in columns if called(row.get(column))), None)


def _together(rows: Iterator[Row], path: str, columns: Columns) -> Iterator[Row]:
    """Pass rows on; refuse those of a dialogue that another has interrupted."""
    ended: set[int] = set()
    current: str | None = None
    for row in rows:
        if row.dialogue != current:
            if current is not None:
                ended.add(hash(current))
            if hash(row.dialogue) in ended:
                raise DataError(
                    f"dialogue {row.dialogue!r} goes on after another began",
                    where=Where(display_name(path), row.line),
                    hint=_gathered(columns) + (BY_ITSELF if is_in_parts(path) else ""),
                )
            current = row.dialogue
        yield row


def _gathered(columns: Columns) -> str:
    """Return what brings the rows of a dialogue together, and into order."""
    if columns.order:
        return (
            f"--unsorted gathers the rows of each dialogue; so does sorting by {columns.dialogue}"
        )
    return (
        "--unsorted gathers the rows of each dialogue in the order of the file, "
        "--order-column NAME by their time or number"
    )


def dialogues_of(
    rows: Iterator[Row], name: str, logs: LogOptions, policy: Policy, tally: Tally
) -> Iterator[dict[str, Any]]:
    """Yield a record for each dialogue of rows that are next to each other."""
    for identity, members in groupby(rows, key=attrgetter("dialogue")):
        if turns := _in_order(members, name, logs, policy, tally):
            yield {"id": identity, **_shared_domain(turns), "turns": turns}


def _shared_domain(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Take off the turns of a dialogue the domain that all of them name, and return it."""
    domain = turns[0].get(DOMAIN)
    named = isinstance(domain, str) and domain != ""
    if not named or any(turn.get(DOMAIN) != domain for turn in turns):
        return {}
    for turn in turns:
        del turn[DOMAIN]
    return {DOMAIN: domain}


def _in_order(
    rows: Iterator[Row], name: str, logs: LogOptions, policy: Policy, tally: Tally
) -> list[dict[str, Any]]:
    """Return the turns by time, or whatever else orders them; what is equal stays as it came.

    Those without a number or a time stand last, and are counted where others have one; where none
    has, those that look like times are.
    """
    if logs.order_column is None:
        return [row.turn for row in rows]
    ranks: list[Rank] = []
    turns: list[dict[str, Any]] = []
    for row in rows:
        value = row.turn.get("time")
        try:
            if logs.session_gap:  # pauses are measured, so nothing but a time will do
                ranks.append((OF_TIME, seconds(value, logs.time_format), ""))
            else:
                ranks.append(rank(value, logs.time_format))
        except BadTime as error:
            message = f"{logs.order_column}: {error}"
            policy.reject(Where(name, row.line), message, row.turn, error.hint)
        else:
            turns.append(row.turn)
    texts = [text for kind, _, text in ranks if kind == OF_TEXT]
    if len(texts) < len(ranks):
        tally.facts[LAST] += len(texts)
    elif len(texts) > 1:
        tally.facts[UNREAD] += sum(DATED.search(text) is not None for text in texts)
    places = by_moment(ranks)
    return [turns[i] for i in sorted(range(len(turns)), key=places.__getitem__)]
