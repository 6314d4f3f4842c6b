"""Records of people's own logs, with --html as readers see their texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from dialtools.corpora.dialogues import HISTORY, NAMED_LIKE_IDS, TURN_KEYS
from dialtools.corpora.fields import ANSWERED, ASKED, INFERRED, TEXT_KEYS, BadRecord
from dialtools.corpora.markup import seen
from dialtools.corpora.options import LogOptions
from dialtools.corpora.plain import MOST, SEVERAL, SPOKEN
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
NAMING = "texts that begin with a name"
FIRST_TEXTS = 100
"""So many of each chunk are looked at."""
SHARE = 0.05
"""With so many of HTML among them it is how the log is written, and not what it is about."""

NESTED = frozenset((*TURN_KEYS, *NAMED_LIKE_IDS, HISTORY, "context", "follow", "data", "kwargs"))
"""Fields that hold turns, or a message."""
TEXTS = frozenset((*TEXT_KEYS, *ASKED, *ANSWERED, "value", *INFERRED))
"""Fields that hold a text, ShareGPT's among them."""


def log_records(
    chunk: Chunk,
    policy: Policy,
    logs: LogOptions,
    names: Collection[str] | None,
    *,
    texts: Collection[str] = (),
) -> Numbered:
    """Yield the records of a chunk, with --html as readers see their texts.

    Args:
        names: the fields that are wanted, None for all; other columns are not converted.
        texts: fields that hold texts beside those that are called so.
    """
    read = records(chunk, policy, names)
    return shown_records(read, chunk, policy, texts) if logs.html else read


def shown_records(
    read: Numbered, chunk: Chunk, policy: Policy, texts: Collection[str] = ()
) -> Numbered:
    """Yield records of a chunk as readers see their texts."""
    every = TEXTS.union(texts)
    for number, record in read:
        try:
            yield number, shown(record, every)
        except BadRecord as error:
            policy.reject(Where(chunk.name, number), str(error), record)


def shown(record: dict[str, Any], texts: Collection[str] = TEXTS) -> dict[str, Any]:
    """Return a record with its texts as readers see them.

    Raises:
        BadRecord: if slots mark places in a text that is another then, or one has too many tags.
    """
    made = {
        key: _value(value, texts) if key in texts or key in NESTED else value
        for key, value in record.items()
    }
    if made.get("slots") and any(made[key] != record[key] for key in texts if key in made):
        raise BadRecord("slots: their places are in the HTML, not in what --html makes of it")
    return made


def _value(value: Any, texts: Collection[str]) -> Any:
    if isinstance(value, str):
        return seen(value)
    if isinstance(value, list):
        return [_value(part, texts) for part in value]
    return shown(value, texts) if isinstance(value, dict) else value


def probe(texts: Iterable[Any], tally: Tally, *, plain: bool = False) -> None:
    """Count those of a chunk's first texts that look like HTML.

    Args:
        plain: they are lines of plain text; count those that begin with a name, too.
    """
    looked = list(islice(texts, max(0, FIRST_TEXTS - tally.facts[PROBED])))
    marked = [t for t in looked if isinstance(t, str) and ("<" in t or "&" in t)]
    looking = sum(LOOKS.search(text) is not None for text in marked)
    naming = sum(SPOKEN.fullmatch(text) is not None for text in looked) if plain else 0
    tally.facts.update({PROBED: len(looked), LOOKING: looking, NAMING: naming})


def markup_line(tally: Tally) -> str:
    """Return the line on texts that look like HTML, or ""."""
    looked, looking = tally.facts[PROBED], tally.facts[LOOKING]
    if not looking or looking < SHARE * looked:
        return ""
    return f"{looking:,} of {looked:,} texts looked at are HTML: --html reads what people see of it"


def naming_line(tally: Tally) -> str:
    """Return the line on texts that begin with who speaks, or ""."""
    looked, naming = tally.facts[PROBED], tally.facts[NAMING]
    if naming < max(SEVERAL, MOST * looked):
        return ""
    told = f"{naming:,} of {looked:,} texts looked at begin with a name"
    return f"{told}: --speaker-prefix takes it for who speaks"
