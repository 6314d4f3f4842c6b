"""CamRest676: CamRest676.json, a list of dialogues about restaurants.

Lines with # may stand before the list. https://www.repository.cam.ac.uk/handle/1810/260970 and
https://github.com/shawnwun/NNDIAL, Apache-2.0. Published: 676 dialogues, 2,744 turns of two
utterances (TOD-BERT, table 1). The copy of NNDIAL differs in a few blanks; where both lie in a
folder, one is read. Slots are the values that the user informs of (up to that turn: acts add up,
and are left out) where they stand in the text word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Raw, dialogue, field, name_and_value, occurrences, turn


def raw(files: Files) -> Iterator[Raw]:
    """Yield the dialogues of the first copy.

    Raises:
        DataError: if it is no JSON, or no list.
    """
    name = files.needed("*CamRest676.json")[0]
    try:
        content = orjson.loads(re.sub(rb"\A(?:\s*#[^\n]*\n)*", b"", files.read(name)))
    except orjson.JSONDecodeError as error:
        files.fail(name, f"not JSON: {error}")
    if not isinstance(content, list):
        files.fail(name, f"expected a list of dialogues, found {json_kind(content)}")
    yield from (Raw(files.where(name, n), None, item) for n, item in enumerate(content, 1))


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue."""
    turns = [each for entry in field(raw.value, "dial", list) for each in _turns(entry)]
    return dialogue(raw, turns, id=str(field(raw.value, "dialogue_id", int)), domain="restaurant")


def _turns(entry: Any) -> Iterator[dict[str, Any]]:
    user, system = field(entry, "usr", dict), field(entry, "sys", dict)
    text = field(user, "transcript", str)
    acts = field(user, "slu", list, default=[])
    values = dict(
        name_and_value(pair, "slots")
        for act in acts
        if field(act, "act", str) == "inform"
        for pair in field(act, "slots", list)
    )
    yield turn("user", text, slots=occurrences(text, values))
    yield turn("system", field(system, "sent", str))
