"""Where dialogues and utterances come from, and how people's own logs are read.

Their columns, times, sessions and speakers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import partial

from dialtools.corpora.catalog import CORPORA
from dialtools.corpora.markup import seen
from dialtools.corpora.quotes import unquoted
from dialtools.errors import ConfigError
from dialtools.options import input_option, option, restated
from dialtools.streams.formats import FORMATS, INPUT_FORMATS, RECORD_FORMATS, by_suffix
from dialtools.streams.options import InputOptions
from dialtools.values import (
    delimiter,
    either,
    encoding,
    label_list,
    part,
    seconds,
    speaker_roles,
    time_pattern,
    time_span,
)

DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
OF_TURNS = (
    "dialogue_column",
    "text_column",
    "speaker_column",
    "order_column",
    "reply_column",
    "unsorted",
)
"""Options of a table of one turn a row."""
EVERY_OTHER = "*"
TEXT = "text"

_table = partial(option, group="Tables of one turn a row")
_column = partial(_table, None, metavar="NAME")
_bytes = partial(option, group="CSV and TSV")
_spoken = partial(option, group="Times and speakers")


@dataclass
class LogOptions:
    """How own logs are read; a flag of a table says that any input has one turn a row, as CSV."""

    dialogue_column: str | None = _column(shown="dialogue_id", help="column of the dialogue's id")
    text_column: str | None = _column(
        shown="text", help="column of the text; a row without text is dropped"
    )
    speaker_column: str | None = _column(
        shown="speaker, role, author or sender, if there", help="column of the speaker"
    )
    order_column: str | None = _column(
        help="sort the turns of a dialogue by this column: numbers, times, else text; equal "
        "values keep their order"
    )
    reply_column: str | None = _column(
        help="column of the id of the row that each one answers (parent_id, reply_to): a dialogue "
        "is in that order; a second answer begins another (ID#2 of ID) with what it answers"
    )
    id_column: str | None = _column(
        shown="message_id or id", help="column of the id of each row", goes_with="reply_column"
    )
    unsorted: bool = _table(
        False,
        help="the rows of a dialogue are not next to each other: gather them (on disk); "
        "dialogues keep the order of their first rows",
    )
    delimiter: str | None = _bytes(
        None,
        metavar="CHAR",
        parse=delimiter,
        shown="tab in TSV; in CSV by sep= or the header: , ; | or tab",
        help="character between fields, or the word tab",
    )
    encoding: str | None = _bytes(
        None,
        metavar="NAME",
        parse=encoding,
        shown="UTF-8, or UTF-16 if it begins so",
        help="encoding of the text, such as cp1252 (Excel on Windows)",
    )
    time_format: str | None = _spoken(
        None,
        metavar="FORMAT",
        parse=either({DAY_FIRST: DAY_FIRST, MONTH_FIRST: MONTH_FIRST}, time_pattern),
        shown="ISO 8601, or seconds",
        help="how times are written: day-first (31/12/2024 14:05), month-first "
        "(12/31/2024 2:05 PM), or a pattern such as '%d.%m.%y %H:%M'",
        goes_with="order_column session_gap",
    )
    session_gap: str | None = _spoken(
        None,
        metavar="TIME",
        parse=time_span,
        help="start a new dialogue (ID#2 of ID) after a longer pause than this (30m; s, m, h, "
        "d), by --order-column, or by the turns' time, timestamp or created_at",
    )
    speaker_prefix: bool = _spoken(
        False,
        help="lines of plain text begin with who speaks, perhaps after a time (`[10:02] Kim: "
        "hello`, `<kim> hello`); other lines go on with the turn before",
    )
    html: bool = _spoken(
        False, help="texts are HTML, as help desks export it: read what people see, a line a block"
    )
    drop_quotes: bool = _spoken(
        False,
        help="texts are e-mails: leave out what they quote (lines that begin with >, all below "
        "-----Original Message----- or the head of another e-mail), and signatures below a line "
        "of two hyphens (--)",
    )
    speaker_map: tuple[str, ...] = _spoken(
        (),
        metavar="NAME=ROLE,...",
        parse=speaker_roles,
        help="rename speakers, for example agent=system,customer=user or "
        "*@corp.example=system,*=user; case is ignored, * stands for any letters, and alone for "
        "every other name",
    )
    drop_speaker: tuple[str, ...] = _spoken(
        (),
        metavar="NAME,...",
        parse=label_list,
        help="leave out the turns of these speakers, as the log or --speaker-map calls them, "
        "before --session-gap",
    )

    @property
    def of_turns(self) -> list[str]:
        """The flags that say that the input is a table of turns."""
        return [f"--{name.replace('_', '-')}" for name in OF_TURNS if getattr(self, name)]

    @property
    def reading(self) -> tuple[Callable[[str], str], ...]:
        """What is made of each text, one after another."""
        return (seen,) * self.html + (unquoted,) * self.drop_quotes

    @property
    def gap_seconds(self) -> float | None:
        """The longest pause within a dialogue."""
        return seconds(self.session_gap) if self.session_gap else None

    @property
    def roles(self) -> dict[str, str]:
        """Role by name, in small letters."""
        pairs = (part.partition("=") for part in self.speaker_map)
        return {name.casefold(): role for name, _, role in pairs}

    @property
    def dropped_speakers(self) -> frozenset[str]:
        """Names, in small letters, of speakers whose turns are left out."""
        return frozenset(name.casefold() for name in self.drop_speaker)

    def unmet(self, met: Set[str]) -> Iterator[tuple[str, str]]:
        """Yield each speaker that a flag names and the log does not have, with that flag."""
        named = {"--speaker-map": self.roles.keys() - {EVERY_OTHER}}
        for flag, names in (named | {"--drop-speaker": self.dropped_speakers}).items():
            yield from ((name, flag) for name in sorted(names - met))

    def format_of(self, path: str, chosen: str | None) -> str | None:
        """Return the format that is asked for: lines that begin with who speaks are plain text."""
        unknown = chosen is None and by_suffix(path) is None
        return TEXT if self.speaker_prefix and unknown else chosen

    def check_format(self, where: str, kind: str) -> None:
        """Refuse flags that say how another format is read.

        Raises:
            ConfigError: naming the input and its format.
        """
        if self.speaker_prefix and kind != TEXT:
            raise ConfigError(
                f"--speaker-prefix reads lines of plain text, and {where} is read as {kind}",
                hint="--from text reads it so",
            )
        if self.of_turns and kind not in FORMATS:
            raise ConfigError(
                f"{self.of_turns[0]} is for tables of a turn a row, and {where} is read as {kind}"
            )
        if kind in FORMATS and FORMATS[kind].columns:
            return
        is_for = f"is for CSV and TSV, and {where} is read as {kind}"
        if self.delimiter:
            raise ConfigError(f"--delimiter {is_for}", hint="--from csv reads it so")
        if self.encoding:
            hint = f"`iconv -f {self.encoding} -t utf-8` makes UTF-8 of it"
            raise ConfigError(f"--encoding {is_for}", hint=hint)

    def check_order(self, where: str) -> None:
        """Refuse to split a table by time without a column of times.

        Raises:
            ConfigError: naming the table.
        """
        if self.session_gap and not self.order_column:
            raise ConfigError(
                f"--session-gap needs the times of the turns of {where}",
                hint="--order-column NAME names their column",
            )


def _known(formats: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of formats and corpora; some are names of both, a file's and a folder's."""
    return tuple(dict.fromkeys((*formats, *CORPORA)))


OWN_TEST = "train test_share"
"""Options that say which rows are tested, so that no field of splits does."""


@dataclass
class TestShareOptions:
    """Which rows of a file without splits of its own are tested."""

    test_share: float | None = input_option(
        None,
        parse=part,
        help="use this share of each label's rows for testing, drawn by --seed, and the rest "
        "for training, whatever their split says (DSE: 0.1 of SNIPS, 0.15 of HWU64)",
    )


@dataclass
class CorpusOptions(InputOptions):
    """Inputs, among them published corpora by name."""

    from_: str | None = restated(
        InputOptions,
        "from_",
        choices=_known(INPUT_FORMATS),
        help="format of the input, or a published corpus (folder, archive, file or pipe)",
        shown="by suffix or files, else by content",
    )


@dataclass
class AnyRecordOptions(CorpusOptions):
    """Inputs of any records, published evaluation files among them."""

    from_: str | None = restated(CorpusOptions, "from_", choices=_known(RECORD_FORMATS))
