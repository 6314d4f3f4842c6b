"""DSTC2, calls to a restaurant line, as published or in WOZ's layout.

As published they are data/<session>/<call>/{log,label}.json. As published
(https://github.com/matthen/dstc, GPL-3.0) scripts/config/dstc2_{train,dev,test}.flist name the
calls of each split: 1,612 / 506 / 1,117. In WOZ's layout (dstc2_{train,validate,test}_en.json) the
acts lie beside it, in acts_{train,valid,test}_data: blocks of acts with values, acts, and the
system's text, on which they are joined; a text that stands there with several acts ("Sorry, I can't
hear you") tells none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native import woz
from dialtools.corpora.native.files import ORDER, Files, ends_like, split_of_name
from dialtools.corpora.native.raw import (
    Raw,
    Unexpected,
    dialogue,
    field,
    items,
    name_and_value,
    occurrences,
    turn,
)

WOZ_LIKE, LOG, PARTS = "dstc2_*_en.json", "log.json", ("train", "valid", "test")
UNSAID = ("slot", "this")  # what is requested, or meant without its name: no values of a slot


def raw(files: Files) -> Iterator[Raw]:
    """Yield calls: (log, label), or dialogues of WOZ's layout with the acts by text."""
    logs = [name for name in files.needed(WOZ_LIKE, LOG) if ends_like(name, LOG)]
    if not logs:
        acts = _acts(files)
        yield from (each._replace(more=acts) for each in items(WOZ_LIKE)(files))
        return
    lists = [] if files.single else files.names("*.flist")
    splits = {line.strip(): split_of_name(name) for name in lists for _, line in files.lines(name)}
    calls = {"/".join(name.split("/")[-3:-1]): name for name in logs}
    for call, name in sorted(
        calls.items(), key=lambda item: (ORDER.get(splits.get(item[0]), len(ORDER)), item)
    ):
        with files.one_of_many():
            label = files.beside(name, "label.json")
            more = (call, files.json(label) if label else None)
            yield Raw(files.where(name, 1), splits.get(call), files.json(name), more)


def _acts(files: Files) -> dict[str, list[str]]:
    """Return the acts of each system text that stands for one list of them."""
    acts_by_text: dict[str, list[str]] = {}
    unsure: set[str] = set()
    first = files.needed(WOZ_LIKE)[0]
    names = [files.beside(first, f"acts_{part}_data") for part in PARTS]
    for name in filter(None, names):
        for block in files.read(name).decode("utf-8", "replace").split("\n\n"):
            _, _, rest = block.strip().partition("\n")
            acts, _, text = rest.partition("\n")
            kinds = dict.fromkeys(act.partition("(")[0] for act in acts.split())
            known = acts_by_text.setdefault(text.strip(), list(kinds))
            if set(known) != set(kinds):
                unsure.add(text.strip())
    return {text: acts for text, acts in acts_by_text.items() if text not in unsure}


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; acts are such as welcomemsg."""
    if isinstance(raw.more, dict):
        return woz.record(raw, raw.more)
    call, label = raw.more
    if label is None:
        raise Unexpected("no label.json beside log.json")
    log_turns, label_turns = field(raw.value, "turns", list), field(label, "turns", list)
    if len(log_turns) != len(label_turns):
        raise Unexpected(f"{len(log_turns)} turns in log.json but {len(label_turns)} in label.json")
    pairs = zip(log_turns, label_turns, strict=True)
    turns = [each for log, user in pairs for each in _turns(log, user)]
    return dialogue(raw, turns, id=call or None, domain="restaurant")


def _turns(log: Any, user: Any) -> Iterator[dict[str, Any]]:
    output, text = field(log, "output", dict), field(user, "transcription", str)
    if (prompt := field(output, "transcript", str)).strip():
        yield turn("system", prompt, acts=_names(field(output, "dialog-acts", list)))
    if text.strip():
        acts = field(field(user, "semantics", dict), "json", list)
        pairs = [
            name_and_value(pair, "slots") for act in acts for pair in field(act, "slots", list)
        ]
        slots = occurrences(text, [pair for pair in pairs if pair[0] not in UNSAID])
        yield turn("user", text, slots=slots, acts=_names(acts))


def _names(acts: list[Any]) -> list[str]:
    return list(dict.fromkeys(field(act, "act", str) for act in acts))
