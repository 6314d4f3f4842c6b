"""Records of people's own logs, with --html and --drop-quotes as readers see their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import reduce
from itertools import islice
from typing import Any

from dialtools.corpora.dialogues import HISTORY, NAMED_LIKE_IDS, TURN_KEYS
from dialtools.corpora.fields import ANSWERED, ASKED, INFERRED, TURN_TEXTS, BadRecord
from dialtools.corpora.options import LogOptions
from dialtools.corpora.plain import MOST, SEVERAL, SPOKEN
from dialtools.corpora.quotes import QUOTED
from dialtools.corpora.replies import REPLIES
from dialtools.streams.chunks import Chunk, Numbered, records
from dialtools.streams.policy import Policy, Where
from dialtools.streams.tally import Tally

LOOKS = re.compile(
    r"</?(?:a|b|br|div|em|h[1-6]|i|li|ol|p|span|strong|table|td|tr|u|ul)"
    r"(?:\s+[a-z-]+=[^<>]*)?\s*/?>"
    r"|&(?:amp|gt|lt|nbsp|quot|#39);",
    re.IGNORECASE,
)
PROBED, LOOKING = "texts looked at", "texts that look like HTML"
QUOTING = "texts that quote"
NAMING = "texts that begin with a name"
FIRST_TEXTS = 100
"""So many of each chunk are looked at."""
SHARE = 0.05
"""With so many of HTML among them it is how the log is written, and not what it is about."""

Reading = tuple[Callable[[str], str], ...]
NESTED = frozenset(
    (*TURN_KEYS, *NAMED_LIKE_IDS, HISTORY, REPLIES, "context", "follow", "data", "kwargs")
)
"""Fields that hold turns, or a message."""
TEXTS = frozenset((*TURN_TEXTS, *ASKED, *ANSWERED, "value", *INFERRED))
"""Fields that hold a text, ShareGPT's among them."""


def log_records(
    chunk: Chunk,
    policy: Policy,
    logs: LogOptions,
    names: Collection[str] | None,
    *,
    texts: Collection[str] = (),
) -> Numbered:
    """Yield the records of a chunk, with --html and --drop-quotes as readers see their texts.

    Args:
        names: the fields that are wanted, None for all; other columns are not converted.
        texts: fields that hold texts beside those that are called so.
    """
    read = records(chunk, policy, names)
    return shown_records(read, chunk, policy, logs, texts) if logs.reading else read


def shown_records(
    read: Numbered, chunk: Chunk, policy: Policy, logs: LogOptions, texts: Collection[str] = ()
) -> Numbered:
    """Yield records of a chunk as readers see their texts."""
    every = TEXTS.union(texts)
    for number, record in read:
        try:
            yield number, shown(record, logs.reading, every)
        except BadRecord as error:
            policy.reject(Where(chunk.name, number), str(error), record)


def shown(
    record: dict[str, Any], reading: Reading, texts: Collection[str] = TEXTS
) -> dict[str, Any]:
    """Return a record with its texts as readers see them.

    Args:
        reading: what is made of each text; of none the record stays as it is.

    Raises:
        BadRecord: if slots mark places in a text that is another then, or one has too many tags.
    """
    if not reading:
        return record
    made = {
        key: _value(value, reading, texts) if key in texts or key in NESTED else value
        for key, value in record.items()
    }
    if made.get("slots") and any(made[key] != record[key] for key in texts if key in made):
        reason = (
            "their places are in the text as it came, not in what --html or --drop-quotes makes"
        )
        raise BadRecord(f"slots: {reason} of it")
    return made


def _value(value: Any, reading: Reading, texts: Collection[str]) -> Any:
    if isinstance(value, str):
        return reduce(lambda text, read: read(text), reading, value)
    if isinstance(value, list):
        return [_value(part, reading, texts) for part in value]
    return shown(value, reading, texts) if isinstance(value, dict) else value


def probe(texts: Iterable[Any], tally: Tally, *, plain: bool = False) -> None:
    """Count those of a chunk's first texts that look like HTML.

    Args:
        plain: they are lines of plain text; count those that begin with a name, too.
    """
    looked = list(islice(texts, max(0, FIRST_TEXTS - tally.facts[PROBED])))
    texts = [text for text in looked if isinstance(text, str)]
    looking = sum(("<" in t or "&" in t) and LOOKS.search(t) is not None for t in texts)
    naming = sum(SPOKEN.fullmatch(text) is not None for text in looked) if plain else 0
    quoting = sum(">" in text and QUOTED.search(text) is not None for text in texts)
    tally.facts.update({PROBED: len(looked), LOOKING: looking, QUOTING: quoting, NAMING: naming})


def markup_line(tally: Tally, reader: str = "dial-pairs --html") -> str:
    """Return the line on texts that look like HTML, and on what reads them, or ""."""
    return _line(tally, LOOKING, SHARE, f"are HTML: {reader} reads what people see of it")


def quoting_line(tally: Tally) -> str:
    """Return the line on texts that quote others, or ""."""
    way = "--drop-quotes leaves that out, as an answer tells less with its question in it"
    return _line(tally, QUOTING, SHARE, f"quote others (>): {way}")


def naming_line(tally: Tally) -> str:
    """Return the line on texts that begin with who speaks, or ""."""
    told = "begin with a name: --speaker-prefix takes it for who speaks"
    return _line(tally, NAMING, MOST, told, several=SEVERAL)


def _line(tally: Tally, found: str, share: float, told: str, *, several: int = 1) -> str:
    """Return what is told of texts found, if they are several, and that share of all, or ""."""
    looked, number = tally.facts[PROBED], tally.facts[found]
    enough = number >= max(several, share * looked)
    return f"{number:,} of {looked:,} texts looked at {told}" if enough else ""
