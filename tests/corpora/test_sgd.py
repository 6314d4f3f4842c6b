"""Schema-Guided Dialogue on the real files: the development part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from corpora.conftest import counts
from corpora.ready import marked, ready


@pytest.mark.shared
def test_the_real_development_part_agrees_with_the_ready_made_dialogues(read, shared: Path):
    found = read(shared / "data/raw/sgd.tar.gz")
    expected = ready(shared / "data/corpus/sgd.jsonl.gz", "dev")
    assert counts(found) == (2482, 48726)
    assert [record["id"].replace("val", "dev") for record in found] == [
        record["id"] for record in expected
    ]
    for record, same in zip(found, expected, strict=True):
        assert (record["domain"].replace(" ", ","), in_order(record)) == (
            same["domain"],
            in_order(same),
        )


def in_order(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return what is marked in each turn, slots and acts sorted: the readers differ in order."""
    acts = [
        sorted(turn.get("acts", [])) if turn["speaker"] == "system" else []
        for turn in record["turns"]
    ]
    return [
        (who, text, sorted(slots), said)
        for (who, text, slots), said in zip(marked(record), acts, strict=True)
    ]
