"""The ready-made records beside the project, and what of them and of a reader's is compared."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Records = list[dict[str, Any]]


def ready(path: Path, split: str | None = None) -> Records:
    """Return the records of a file, or of one split of it."""
    with gzip.open(path) as lines:
        return [record for record in map(json.loads, lines) if split in (None, record.get("split"))]


def marked(record: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """Return who says what (blanks around it apart), and label and words of each slot."""
    return [(turn["speaker"], turn["text"].strip(), words(turn)) for turn in record["turns"]]


def words(turn: dict[str, Any]) -> list[str]:
    """Return the slots of a turn as label=words."""
    return [
        f"{slot['label']}={turn['text'][slot['start'] : slot['end']]}"
        for slot in turn.get("slots", [])
    ]
