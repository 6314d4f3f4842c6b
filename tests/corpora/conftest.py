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
        corpus = corpus_of(str(path), name)
        assert corpus is not None, f"{path} is not recognised"
        chunks = corpus_chunks(str(path), corpus, Policy(on_error))
        return [record for chunk in chunks for record in chunk.data]

    return records


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes files {name: content} below a folder, and returns it.

    Content that is neither text nor bytes is written as JSON.
    """

    def write(files: dict[str, Any], folder: str = "corpus") -> Path:
        for name, content in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(content, str | bytes):
                content = json.dumps(content)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / folder

    return write


def counts(records: Records) -> tuple[int, int]:
    """Return dialogues and utterances, those without text apart."""
    texts = [turn["text"] for record in records for turn in record["turns"]]
    return len(records), sum(bool(text.strip()) for text in texts)
