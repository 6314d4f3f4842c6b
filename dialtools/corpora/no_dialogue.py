"""What may be done about a record that is no dialogue, by its fields and their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dialtools.corpora.chat import CALL, CALLS
from dialtools.corpora.dialogues import (
    IDS,
    NO_TURNS,
    RESPONSE,
    SPEAKER_KEYS,
    key_of_speaker,
    key_of_turns,
)
from dialtools.corpora.fields import ANSWERED, ASKED, LABELS, TEXT_KEYS, TURN_TEXTS
from dialtools.corpora.likely import flags, text_name
from dialtools.corpora.options import LogOptions
from dialtools.shown import listed
from dialtools.streams.hints import OF_TURNS

OF_A_RECORD = re.compile(r"`jq -[cr] '(?!\{)")
"""How what to do begins; of an array, each record has to be taken out first, unless it is turns."""
DEPTH = 3
"""So deep within objects a record's turns are looked for: `fields.comment.comments`."""
HINT_OF_TEXTS = (
    "two texts are no dialogue: --kind texts pairs them, --kind utterance writes them as they are"
)
HINT_OF_ALL = "{0} is a list of records: `jq -c '.{0}[]'` writes each on a line of its own"
HINT_BY_NAME = (
    "each name has a dialogue: `jq -c '{0}to_entries[] | {{id: .key}} + {1}'` writes each on a line"
)
HINT_OF_TURNS = "{0} may be its turns: `jq -c '.turns = .{0}'` calls them so"
HINT_OF_OTHERS = "{0} may be its turns: `jq -c '.turns = (.{0} | map(.text = .{1}))'` calls them so"
HINT_OF_A_NAME = "`jq -c '.{0} |= map(.text = .{1})'` calls the texts of its turns so"
HINT_OF_CALLS = (
    "a call of a model is given again what was said before: --from model-calls takes of each "
    "session the longest"
)
HINT_WITHIN = (
    "{0} is a list of records, whose turns {1} may be: `jq -c '.{0}[] | .turns = .{1}'` writes "
    "each on a line"
)
HINT_OF_DIALOGUES = (
    "each record has its turns, in order: flags of columns are for tables of one turn a row; "
    "`jq -c '.{0} |= sort_by(.time)'` sorts them"
)
HINT_OF_LINES = (
    "{0} is lines of who speaks: `jq -r '.{0} | {1}. + \"\\n\"'` makes plain text of them, which "
    "--from text --speaker-prefix reads"
)
CLOSE = 'ltrimstr("\\n\\n") | gsub("\\n\\n"; "\\n") | '
"""Of lines with blank ones between them, at which plain text has its dialogues end."""
SPOKEN_LINES = re.compile(r"\s*[^\n:：]{1,40}(?:: |：)[^\n]*(\n+)[^\n:：]{1,40}(?:: |：)")
"""Two lines that begin with a name."""
BY_WHOM = frozenset(
    (
        *("user", "human", "customer", "client", "visitor", "caller", *ASKED),
        *("system", "assistant", "bot", "agent", "ai", "model", "gpt", *ANSWERED),
    )
)
"""What the two texts of an exchange are called."""
HINT_OF_TEXT = "`jq -c '.{0} |= fromjson'` reads the JSON that is written as text there"
HINT_OF_LISTS = "`jq -c '.{0} |= map({{speaker: .[0], text: .[1]}})'` names the parts of each turn"
HINT_OF_TWO = (
    'each has two turns: `jq -c \'.{0} |= map({{speaker: "{1}", text: .{1}}}, '
    '{{speaker: "{2}", text: .{2}}})\'` takes them apart'
)
HINT_OF_NAMES = (
    "there are {}; --dialogue-column and --text-column name those of a turn a row, --from names a "
    "published corpus (`dialtools formats`); a list of turns is called turns"
)


def hint_on_record(
    names: Collection[str], error: str, record: Mapping[str, Any], *, of_array: bool
) -> str | None:
    """Return what may be done about a record of these fields that an error says is no dialogue."""
    if error.endswith(CALL):
        return HINT_OF_CALLS
    hint = _hint_of_wrapper(record) or (None if error == NO_TURNS else _hint_of_turns(record))
    if hint is None and error == NO_TURNS:
        hint = _hint_of_values(record)
    hint = hint or _hint_of_names(names, error, record)
    return OF_A_RECORD.sub(r"\g<0>.[] | ", hint) if hint and of_array else hint


def hint_on_row(row: Mapping[str, Any]) -> str | None:
    """Return what may be done about a row that lacks a column, if it is a dialogue itself."""
    key = key_of_turns(row)
    return HINT_OF_DIALOGUES.format(key) if key and isinstance(row[key], list) else None


def is_utterance(names: Collection[str]) -> bool:
    """Tell whether a record of these fields is a text, not a dialogue."""
    return any(key in names for key in TEXT_KEYS) and not key_of_turns(names)


def _hint_of_wrapper(record: Mapping[str, Any]) -> str | None:
    """Return what takes out the dialogues that a record holds: in a list, or each by its name."""
    for key, value in {"": record, **record}.items():
        if key and not key.isidentifier():
            continue
        if isinstance(value, list) and value and _has_turns(value[0]):
            return HINT_OF_ALL.format(key)
        within = f".{key} | " if key else ""
        parts = list(value.values()) if isinstance(value, Mapping) else []
        if len(parts) > bool(key) and all(map(_has_turns, parts)):
            return HINT_BY_NAME.format(within, ".value")
        is_own = any(name in record for name in IDS)  # a dialogue, with its turns within
        if key and not is_own and parts and all(map(_are_turns, parts)) and not _has_turns(value):
            return HINT_BY_NAME.format(within, "{turns: .value}")
    return None


def _has_turns(value: Any) -> bool:
    key = key_of_turns(value) if isinstance(value, dict) else None
    return key is not None and not isinstance(value[key], str)


def _are_turns(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    said = [first.get(name) for name in TURN_TEXTS] if isinstance(first, dict) else []
    return any(isinstance(text, str | list) for text in said)  # a text, or parts of one


def _hint_of_values(record: Mapping[str, Any]) -> str | None:
    """Return what calls a record's turns of another name so, or makes turns of its lines."""
    for path, value in sorted(_values(record, DEPTH), key=_is_of_words):
        if _are_turns(value):
            is_call = any(path.split(".")[0] == given and a in record for given, a in CALLS)
            return HINT_OF_CALLS if is_call else HINT_OF_TURNS.format(path)
        if name := _other_text(value):
            return HINT_OF_OTHERS.format(path, name)
        if isinstance(value, str) and (lines := SPOKEN_LINES.match(value)):
            return HINT_OF_LINES.format(path, CLOSE if lines[1] == "\n\n" else "")
    for key, value in record.items():
        first = value[0] if isinstance(value, list) and value else None
        inner = _values(first, DEPTH) if key.isidentifier() and isinstance(first, Mapping) else ()
        for path, found in inner:
            if _are_turns(found):
                return HINT_WITHIN.format(key, path)
    return None


def _hint_of_turns(record: Mapping[str, Any]) -> str | None:
    """Return what makes turns of a list in another layout, or of one that is written as text."""
    key = key_of_turns(record) or ""
    turns = record.get(key)
    if isinstance(turns, str) and turns.lstrip().startswith("["):
        return HINT_OF_TEXT.format(key)
    first = turns[0] if isinstance(turns, list) and turns else None
    if isinstance(first, list) and len(first) == 2:
        return HINT_OF_LISTS.format(key)
    if name := _other_text(turns):
        return HINT_OF_A_NAME.format(key, name)
    said = [name for name in first if name in BY_WHOM] if isinstance(first, dict) else []
    return HINT_OF_TWO.format(key, *said) if len(said) == 2 else None


def _other_text(turns: Any) -> str | None:
    """Return what the text of the first turn of a list is probably called, if it is another name.

    Somebody says it: a list of objects may be of anything.
    """
    first = turns[0] if isinstance(turns, list) and turns else None
    if not isinstance(first, dict) or key_of_speaker(first) is None:
        return None
    name = text_name([key for key, value in first.items() if isinstance(value, str)])
    return None if name in TURN_TEXTS else name


def _is_of_words(value: tuple[str, Any]) -> bool:
    """Tell whether a path leads to the words of a recording, which its turns repeat."""
    return value[0].rpartition(".")[2] == "words"


def _values(record: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    """Yield what is in a record, under its path, and then what is within its objects."""
    here = [(key, value) for key, value in record.items() if key.isidentifier()]
    yield from here
    for key, value in here if depth > 1 else ():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{path}", found) for path, found in _values(value, depth - 1))


def _hint_of_names(names: Collection[str], error: str, record: Mapping[str, Any]) -> str | None:
    """Return what its fields say of a record, and which flags may read it."""
    if all(any(key in names for key in keys) for keys in (ASKED, ANSWERED)):
        return HINT_OF_TEXTS
    likely = flags(names, LogOptions())
    as_rows = f"{likely or '--dialogue-column NAME'} reads a turn a row"
    if is_utterance(names):
        there = "" if likely else f": there are {listed(names)}"
        if not likely and any(key in names for key in SPEAKER_KEYS):
            there += f"; {OF_TURNS}"
        is_labelled = any(key in names for key in LABELS)
        labelled = ", --kind same-label of those of one label" if is_labelled else ""
        return f"--kind self makes pairs of utterances{labelled}; {as_rows}{there}"
    if {"context", RESPONSE} <= set(names):
        return "these are pairs already, which dial-train reads"
    if error != NO_TURNS:
        return None
    if likely:
        return as_rows
    texts = (key for key in record if key.isidentifier() and _are_texts(record[key]))
    called = HINT_OF_NAMES.format(listed(names) or "no fields")
    return next(map(HINT_OF_TURNS.format, texts), called)


def _are_texts(value: Any) -> bool:
    """Tell whether a value is a list of texts, the first of them more than a word."""
    several = isinstance(value, list) and len(value) > 1
    return several and all(isinstance(part, str) for part in value) and " " in value[0]
