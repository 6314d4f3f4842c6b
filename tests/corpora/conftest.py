"""Readers of published corpora, as commands use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialtools.corpora.published import corpus_chunks, corpus_of
from dialtools.streams.policy import Policy

Records = list[dict[str, Any]]


@pytest.fixture
def read() -> Callable[..., Records]:
    """Return the records of the corpus at a path: told by its files, or as named."""

    def records(path: Path, name: str | None = None, on_error: str = "fail") -> Records:
        found = corpus_of(str(path), name)
        assert found is not None, f"{path} is not recognised"
        return [
            record
            for chunk in corpus_chunks(str(path), found, Policy(on_error))
            for record in chunk.data
        ]

    return records


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes files {name: content} (what is no text, as JSON) below a folder, and returns it."""

    def write(files: dict[str, Any], folder: str = "corpus") -> Path:
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(
                    content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
                )
        return tmp_path / folder

    return write


def counts(records: Records) -> tuple[int, int]:
    """Return dialogues and utterances, those without text apart."""
    return len(records), sum(
        bool(turn["text"].strip()) for record in records for turn in record["turns"]
    )
