"""What Rasa's YAML files share: every scalar is its text, and values are marked in the text.

`[Rome](city)` and `[Rome]{"entity": "city", "role": "to"}` are the value Rome of the entity city,
if each part behind the value has fewer than 1,000 characters: Rasa's own expression has no bound,
and takes hours of a text of brackets. Aliases (`*name`) are refused: a few lines of them can stand
for more than any memory holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from dialtools.corpora.fields import json_kind
from dialtools.corpora.native.files import Files
from dialtools.corpora.native.raw import Unexpected, slot
from dialtools.errors import DataError
from dialtools.streams import bounds

YAML = ("*.yml", "*.yaml")
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
MARKED = re.compile(
    r"\[([^][]+)\]"
    r"(?:\(([^:)]{1,999})(?::[^)]{0,999})?\)|(\{[^}]{1,999}\})|\[(\{[^}]{1,999}\})[^]]{0,999}\])"
)


def parts(files: Files, *keys: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and contents of the files that have one of some keys on their first level.

    Raises:
        DataError: if such a file is no YAML, has an alias, or nests deeper than is allowed.
    """
    begins = re.compile(rf"^[\"']?({'|'.join(keys)})[\"']?\s*:".encode(), re.MULTILINE)
    for name in files.needed(*YAML):
        with files.one_of_many():
            content = files.read(name)
            if files.single or begins.search(content):
                loaded = _loaded(files, name, content)
                if isinstance(loaded, dict) and not set(keys).isdisjoint(loaded):
                    yield name, loaded
                elif files.single:
                    found = ", ".join(loaded) if isinstance(loaded, dict) else json_kind(loaded)
                    files.fail(name, f"expected {' or '.join(keys)}, found {found[:80]}")


def needed_parts(files: Files, *keys: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the same of a corpus that has such a file.

    Raises:
        DataError: as `parts`, and if no file has one of the keys.
    """
    found = None
    for found in parts(files, *keys):
        yield found
    if not found:
        files.fail(files.names(*YAML)[0], f"no file has {': or '.join(keys)}:")


def _loaded(files: Files, name: str, content: bytes) -> Any:
    """Return what a file holds; scalars are strings."""
    try:
        level = 0
        for event in yaml.parse(content, Loader=LOADER):
            level += isinstance(event, yaml.CollectionStartEvent)
            level -= isinstance(event, yaml.CollectionEndEvent)
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent):
                raise DataError("aliases (*name) are not read", where=files.where(name, line))
            if level > bounds.most("nesting"):
                where = files.where(name, line)
                raise bounds.beyond("nesting", "nested deeper than", where=where, of="levels")
        return yaml.load(content, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = files.where(name, mark.line + 1 if mark else 1)
        raise DataError(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.YAMLError as error:
        files.fail(name, f"not YAML: {str(error).splitlines()[0]}")


def listed(value: Any, name: str) -> list[Any]:
    """Return the items under a key; none where nothing stands.

    Raises:
        Unexpected: if it is another thing.
    """
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise Unexpected(f"{name}: expected a list, found {json_kind(value)}")
    return value


def unmarked(text: str) -> tuple[str, list[dict[str, Any]]]:
    """Return a text without its marks, and its slots.

    Raises:
        Unexpected: if a mark is no JSON, or names no entity.
    """
    text = text.strip()
    said, slots, end = "", [], 0
    for match in MARKED.finditer(text):
        said += text[end : match.start()]
        value, entity, *facts = match.groups()
        entity = entity or _entity(facts[0] or facts[1])
        slots.append(slot(len(said), len(said) + len(value), entity.strip()))
        said, end = said + value, match.end()
    return said + text[end:], slots


def _entity(facts: str) -> str:
    try:
        entity = json.loads(facts)["entity"]
    except (ValueError, KeyError, RecursionError):
        entity = None
    if not isinstance(entity, str):
        raise Unexpected(f'expected {{"entity": ...}}, found {facts[:80]}')
    return entity
