"""The smallest case that still fails in the same way: fewer words, files, records, bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fuzz.cases import Case
from fuzz.mutate import places

Part = TypeVar("Part")
Fails = Callable[[Case], bool]
SMALL = 2000
"""Bytes of which a file's bytes are tried one by one, so to speak."""
PLAIN = ("a", 0, [], {})


class Spent(Exception):
    """No more time is left for this case."""


def minimised(case: Case, fails: Fails, seconds: float) -> Case:
    """Return a case that fails as this one does, and is as small as is found in some seconds.

    Args:
        fails: whether a case fails in the same way; runs it.
    """
    search = Search(case, fails, time.monotonic() + seconds)
    try:
        while search.round():
            pass
    except Spent:
        pass
    return search.best


class Search:
    """The best case so far."""

    def __init__(self, case: Case, fails: Fails, end: float) -> None:
        self.best, self.fails, self.end = case, fails, end

    def round(self) -> bool:
        """Try every way once; tell whether one of them made the case smaller."""
        before = self.best
        for name in sorted(self.best.files):
            self.lines(name)
        self.words()
        for name in list(self.best.files):
            self.attempt(replace(self.best, files=without(self.best.files, name)))
        for name in sorted(self.best.environment):
            self.attempt(replace(self.best, environment=without(self.best.environment, name)))
        for name in sorted(self.best.files):
            self.fields(name)
            self.bytes(name)
        return self.best is not before

    def attempt(self, case: Case) -> bool:
        """Keep a case if it fails in the same way."""
        if time.monotonic() > self.end:
            raise Spent
        if self.fails(case):
            self.best = case
            return True
        return False

    def words(self) -> None:
        for at in reversed(range(1, len(self.best.words))):
            words = self.best.words[:at] + self.best.words[at + 1 :]
            self.attempt(replace(self.best, words=words))

    def lines(self, name: str) -> None:
        content = self.best.files[name]
        if b"\n" in content[:-1]:
            self.parts(name, content.splitlines(keepends=True))

    def bytes(self, name: str) -> None:
        content = self.best.files[name]
        if 8 < len(content) <= SMALL and not is_json(content):
            self.parts(name, [content[at : at + 1] for at in range(len(content))])

    def parts(self, name: str, parts: Sequence[bytes]) -> None:
        """Leave out halves, quarters, ... of a file."""
        size = (len(parts) + 1) // 2
        while size:
            at = 0
            while at < len(parts):
                fewer = [*parts[:at], *parts[at + size :]]
                if self.attempt(self.with_file(name, b"".join(fewer))):
                    parts = fewer
                else:
                    at += size
            size //= 2

    def fields(self, name: str) -> None:
        """Leave out fields of a record, and put plain values in their place."""
        content = self.best.files[name]
        if len(content) > SMALL * 10 or not is_json(content):
            return
        again = True
        while again:
            value = json.loads(self.best.files[name])
            again = any(self.attempt(self.with_file(name, text)) for text in simpler(value))

    def with_file(self, name: str, content: bytes) -> Case:
        return replace(self.best, files=self.best.files | {name: content})


def simpler(value: Any) -> Iterator[bytes]:
    """Yield the texts of a value with a part of it gone, or plain."""
    before = json.dumps(value)
    for number in range(len(places([value]))):
        for plain in (None, *PLAIN):
            held = [json.loads(before)]
            container, key = places(held)[number]
            if plain is None:
                del container[key]
            elif isinstance(container[key], type(plain)) and container[key] != plain:
                container[key] = plain
            else:
                continue
            if held and len(text := json.dumps(held[0])) < len(before):
                yield text.encode()


def is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def without(mapping: dict[str, Part], name: str) -> dict[str, Part]:
    return {key: value for key, value in mapping.items() if key != name}
