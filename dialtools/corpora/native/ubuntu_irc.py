"""Ubuntu IRC with hand-made reply links.

NAME.ascii.txt is a log, NAME.annotation.txt has lines `1002 1003 -`.
https://github.com/jkkummerfeld/irc-disentanglement, CC BY 4.0. Published: 77,563 messages (67,463 /
2,500 / 5,000 and pilot). Lines are numbered from 0; the first 1,000 are context without links. A
message that answers another is a response: its history is the chain of messages before it, each the
latest that the one after it answers, ten at most.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from dialtools.corpora.native.files import Files, split_of_name
from dialtools.corpora.native.raw import Raw, Unexpected, each_file, stated, turn

LOG, LINKS = ".ascii.txt", ".annotation.txt"
MESSAGE = re.compile(r"\[\d\d:\d\d\] <([^>]*)> (.*)")
LONGEST = 10


@each_file(f"*{LOG}")
def raw(files: Files, name: str) -> Iterator[Raw]:
    """Yield the chain of messages that ends with each response; `more` is its id.

    Raises:
        DataError: if a log has no annotation beside it, or that is none.
    """
    stem = name.split("/")[-1].removesuffix(LOG)
    links = files.beside(name, stem + LINKS)
    if links is None:
        files.fail(name, f"no {LINKS} beside it")
    messages = {
        n - 1: message
        for n, line in files.lines(name)
        if (message := MESSAGE.fullmatch(line.rstrip("\r")))
    }
    parents = _parents(files, links)
    for at in sorted(parents.keys() & messages.keys()):
        chain = [messages[n] for n in _before(at, parents) if n in messages][:LONGEST]
        if chain:
            spoken = [message.groups() for message in (*reversed(chain), messages[at])]
            yield Raw(files.where(name, at + 1), split_of_name(name), spoken, f"{stem}#{at}")


def _parents(files: Files, name: str) -> dict[int, int]:
    """Return the latest message that each one answers."""
    latest: dict[int, int] = defaultdict(lambda: -1)
    for number, line in files.lines(name):
        parts = line.split()
        if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
            files.policy.reject(
                files.where(name, number), "expected two numbers of messages", line.encode()
            )
            continue
        first, last = sorted((int(parts[0]), int(parts[1])))
        if first < last:
            latest[last] = max(latest[last], first)
    return dict(latest)


def _before(at: int, parents: dict[int, int]) -> Iterator[int]:
    """Yield the messages that lead to one, the nearest first."""
    while at in parents:
        yield (at := parents[at])


def record(raw: Raw) -> dict[str, Any]:
    """Return history and response, with the nicknames of who said them."""
    *history, (speaker, response) = raw.value
    if not response.strip():
        raise Unexpected("a message without text")
    turns = [turn(who, text) for who, text in history]
    return stated(id=raw.more, split=raw.split, history=turns, speaker=speaker, response=response)
