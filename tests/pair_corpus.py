"""Made-up pairs, and what a test reads from a run of dial-train."""

from __future__ import annotations

import random
import shlex
import subprocess
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

CITIES = ("paris", "rome", "oslo", "lima", "cairo", "quito", "delhi", "perth")
FOODS = ("thai", "greek", "indian", "french", "korean", "sushi")
DAYS = ("monday", "tuesday", "friday", "sunday")
Train = Callable[..., subprocess.CompletedProcess]
SMALL = (*shlex.split("--vocab-size 300 --hidden 64 --layers 1 --threads 1 --device cpu"),)


def dialogue(number: int, draw: random.Random) -> list[str]:
    """Six turns about one city, food and day; replies such as "thanks" repeat."""
    city, food, day = draw.choice(CITIES), draw.choice(FOODS), draw.choice(DAYS)
    return [
        f"i want a {food} restaurant in {city}",
        f"there are {number % 9 + 2} {food} places in {city}, which day?",
        f"on {day} please",
        f"a table in {city} on {day} is free, shall i book it?",
        draw.choice(("yes please", "yes", "sure, book it")),
        draw.choice(("done, anything else?", "your table is booked")),
    ]


def pair_records(
    dialogues: int, *, windows: Sequence[int] = (1, 2, 3), seed: int = 0
) -> list[dict[str, Any]]:
    """Return the pairs of made-up dialogues, as dial-pairs writes them."""
    draw, rows = random.Random(seed), []
    for number in range(dialogues):
        turns = dialogue(number, draw)
        speakers = ["user", "system"] * 3
        for turn in range(1, len(turns)):
            for window in (w for w in windows if w <= turn):
                rows.append(
                    {
                        "context": turns[turn - window : turn],
                        "response": turns[turn],
                        "window": window,
                        "kind": "consecutive",
                        "dialogue_id": f"d{number}",
                        "turn": turn,
                        "speakers": speakers[turn - window : turn + 1],
                    }
                )
    return rows


def as_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def weights(model: Path) -> str:
    """Return a digest: pytest takes hours to show where megabytes differ."""
    return sha256((model / "model.safetensors").read_bytes()).hexdigest()


def steps(log: Path) -> list[dict[str, Any]]:
    """Return the records of a step log."""
    return [row for line in log.read_bytes().splitlines() if "loss" in (row := orjson.loads(line))]
