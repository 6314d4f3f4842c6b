#!/usr/bin/env python3
"""Make log.csv.gz: the 1,000 dialogues of MultiWOZ's development set, as a help desk exports them.

    python examples/excerpt.py multiwoz22_text/ multiwoz21/val.json > examples/log.csv.gz

Texts are those of MultiWOZ 2.2 as text (dev_dialogues_*.txt, without the brackets around values).
The topic of a visitor's message is the domain of the acts that MultiWOZ 2.1 has for the same words,
if it is one of five and no other. log.LICENSE tells who holds the rights.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WHO = ("visitor", "desk")
TOPICS = {"attraction", "hotel", "restaurant", "taxi", "train"}


def letters(text: str) -> str:
    """Return what two ways to set blanks, capitals and commas have in common."""
    return re.sub(r"[\W_]", "", text.lower())


def topics(annotated: Path) -> dict[str, str]:
    """Return the topic of each text of a visitor that has always the same one."""
    found: dict[str, set[str]] = {}
    for talk in json.loads(annotated.read_text()).values():
        for turn in talk["log"][::2]:
            domains = {act.split("-")[0].lower() for act in turn["dialog_act"]}
            found.setdefault(letters(turn["text"]), set()).update(domains or {""})
    return {text: min(each) for text, each in found.items() if len(each) == 1 and each <= TOPICS}


def rows(texts: Path, topic: dict[str, str]) -> Iterator[list]:
    """Yield the messages, each with its chat, number and topic."""
    chat = 0
    for part in sorted(texts.glob("dev_dialogues_*.txt")):
        for talk in re.split(r"\n\n+", part.read_text().strip()):
            chat += 1
            for number, line in enumerate(talk.split("\n")):
                text = re.sub(r"[\[\]]", "", line)
                about = "" if number % 2 else topic.get(letters(text), "")
                yield [f"chat-{chat:04}", number + 1, WHO[number % 2], text, about]


def main() -> None:
    """Write the table to stdout, the same bytes each time."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["chat", "number", "who", "message", "topic"])
    table.writerows(rows(Path(sys.argv[1]), topics(Path(sys.argv[2]))))
    sys.stdout.buffer.write(gzip.compress(text.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
