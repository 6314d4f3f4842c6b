"""MetaLWOZ: dialogues/<DOMAIN>.txt, a JSON object a line.

tasks.txt lies beside the folder. The bot speaks first. There are no splits: a domain may be called
`train`.
https://www.microsoft.com/en-us/research/project/metalwoz, Microsoft Research Data License: no
redistribution. Published: 37,884 dialogues, 432,036 utterances (TOD-BERT, table 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, dialogue, field, lines, stated, strings, turn

SPEAKERS = ("system", "user")


def raw(files: Files) -> Iterator[Raw]:
    """Yield the dialogues of each domain."""
    yield from (each._replace(split=None) for each in lines("dialogues/*.txt")(files))


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; even turns are the bot's, odd ones the user's."""
    field(raw.value, "turns", list)  # which `strings` does without
    spoken = [turn(SPEAKERS[i % 2], text) for i, text in enumerate(strings(raw.value, "turns"))]
    fields = {name: field(raw.value, name, str, default=None) for name in ("id", "domain")}
    return dialogue(raw, spoken, **fields) | stated(
        task=field(raw.value, "task_id", str, default=None)
    )
