"""Rasa's stories that have texts: test stories, and those trained end to end; a story a dialogue.

`user` says a text with its entities; `bot` answers, or `action: utter_...`, whose text is the
first in the `responses` of a domain among the files. Of a story that only names intents no turn is
left. rasa.com/docs/rasa/stories, rasa.com/docs/rasa/testing-your-assistant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.rasa_yaml import listed, needed_parts, parts, unmarked
from dialtools.corpora.native.raw import Raw, field, one_file
from dialtools.corpora.native.talk import Talk, objects

NAMES = {"stories": "story", "rules": "rule"}
DOMAIN = "responses"


def raw(files: Files) -> Iterator[Raw]:
    """Yield stories and rules, numbered from 1 in each file; `more` is their kind, and responses.

    Raises:
        DataError: if a file has another layout.
    """
    texts: dict[str, str] = {}
    if not files.single:
        for _, content in parts(files, DOMAIN):
            texts |= _responses(content[DOMAIN])
    for name, content in needed_parts(files, *NAMES):
        with one_file(files, name):
            stories = [
                (called, story)
                for key, called in NAMES.items()
                for story in objects(listed(content.get(key), key), key)
            ]
            for number, (called, story) in enumerate(stories, 1):
                yield Raw(files.where(name, number), split_of_name(name), story, (called, texts))


def _responses(responses: Any) -> dict[str, str]:
    """Return the first text of each response that has one; what is no response says nothing."""
    texts = {}
    for name, variations in responses.items() if isinstance(responses, dict) else ():
        known = variations if isinstance(variations, list) else []
        said = [each["text"] for each in known if isinstance(each, dict) and "text" in each]
        if said and isinstance(said[0], str):
            texts[name] = said[0]
    return texts


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue; its id is the name of the story."""
    called, responses = raw.more
    steps = [_first(step) for step in objects(listed(raw.value.get("steps"), "steps"), "steps")]
    talk = Talk()
    if not any("user" in step for step in steps):
        talk.leave("stories without texts")
        steps = []
    for step in steps:
        action = field(step, "action", str, default="")
        if "user" in step:
            text, slots = unmarked(field(step, "user", str))
            talk.say("user", text, slots=slots)
        elif "bot" in step:
            talk.say("system", field(step, "bot", str))
        elif action in responses:
            talk.say("system", responses[action])
        elif action:
            talk.leave("actions without text")
    return talk.record(id=field(raw.value, called, str, default=None), split=raw.split)


def _first(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step, of alternatives (`or`) the first."""
    return objects(step["or"], "or")[0] if step.get("or") else step
