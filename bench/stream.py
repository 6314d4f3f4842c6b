"""A stream of dialogues of any size, made as it is written: one block, renumbered for each copy.

The block is some 16 MB of dialogues put together from the turns of a corpus. In each copy of it
the ids of the dialogues are new, and so is a number that one turn of N begins with (four, if not
said otherwise); the other turns are the same in each copy, as greetings and signatures are. So
what a command remembers of ids and of distinct texts grows with the stream, by an N-th of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from itertools import cycle

import numpy as np
from inputs import DIALOGUES, read_texts

BLOCK_BYTES = 16_000_000
TURNS = 8
NUMBER = b"0000000000"
CITIES = ("Leeds", "York", "Bath", "Ely", "Derby", "Truro", "Wells")
SHAPES = {"chat": (0, 0), "mail": (1000, 2000)}
"""Characters of a turn: at least the first, and less than the second; chats are as they come."""
PIPE_BYTES = 1 << 20


def turn_texts(shape: str) -> Iterator[str]:
    """Yield turns of a shape for ever; a mail is as many turns of the corpus as fill it."""
    least, most = SHAPES[shape]
    texts = cycle(read_texts(DIALOGUES))
    for number, text in enumerate(texts):
        length = least + number * 7919 % max(1, most - least)
        while len(text) < length:
            text = f"{text} {next(texts)}"
        yield text


def numbered(number: int, text: str) -> dict[str, object]:
    """Return a turn that begins with a number and a place, which is its slot."""
    city = CITIES[number % len(CITIES)]
    start = len("No. 0000000000 from ")
    slot = {"start": start, "end": start + len(city), "label": "city"}
    return {"text": f"No. {NUMBER.decode()} from {city}: {text}", "slots": [slot]}


def dialogue(number: int, texts: Iterator[str], *, every: int) -> bytes:
    """Return the line of a dialogue; one turn of `every` begins with a number."""
    places = range(number * TURNS, (number + 1) * TURNS)
    turns = [
        {
            **({"text": text} if place % every else numbered(number, text)),
            "speaker": ("user", "system")[place % 2],
        }
        for place, text in zip(places, texts, strict=False)
    ]
    line = {"id": f"{number:06d}-{NUMBER.decode()}", "turns": turns}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


class Block:
    """A block of dialogues whose numbers can be replaced.

    Attributes:
        dialogues: lines in it.
    """

    def __init__(self, shape: str, *, every: int = 4) -> None:
        texts, lines, size = turn_texts(shape), [], 0
        while size < BLOCK_BYTES:
            lines.append(dialogue(len(lines), texts, every=every))
            size += len(lines[-1])
        self.dialogues = len(lines)
        self.bytes = bytearray(b"".join(lines))
        starts = [found.start() for found in re.finditer(NUMBER, self.bytes)]
        self.places = np.array(starts)[:, None] + np.arange(len(NUMBER))
        self.view = np.frombuffer(self.bytes, np.uint8)

    def __len__(self) -> int:
        return len(self.bytes)

    def copy(self, number: int) -> memoryview:
        """Return the block with this number in it; the next call overwrites it."""
        self.view[self.places] = np.frombuffer(f"{number:0{len(NUMBER)}d}".encode(), np.uint8)
        return memoryview(self.bytes)


def write(block: Block, copies: int, pipe: int) -> Iterator[int]:
    """Write copies of a block to a pipe; yield the bytes written so far."""
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    written = 0
    for number in range(copies):
        rest = block.copy(number)
        while rest:
            sent = os.write(pipe, rest)
            written += sent
            rest = rest[sent:]
            yield written
