"""A part embeds its own shards, and tells what is its own alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from dialtools.embed.model import load_model
from dialtools.embed.options import EmbedOptions
from dialtools.embed.own_shards import OwnShards
from dialtools.streams.policy import Collecting

Made = tuple[OwnShards, Collecting]


@pytest.fixture
def glove(tmp_path: Path) -> str:
    (tmp_path / "glove.txt").write_text("a 3 0\nb 0 4\n")
    return str(tmp_path / "glove.txt")


def own(glove: str, path: Path, **options: Any) -> Made:
    chosen = EmbedOptions(model=glove, inputs=(str(path),), output="x.parquet", **options)
    policy = Collecting()
    return OwnShards(load_model(chosen), chosen, policy, lambda _: None), policy


@pytest.mark.parametrize("of", [1, 2, 3, 9])
@pytest.mark.parametrize("size", [3, 4])
def test_what_is_left_out_is_told_by_one_part(glove: str, tmp_path: Path, of: int, size: int):
    turns = ({"turns": ["a", "", f"b {i}", {"text": " "}, "a b"]} for i in range(7))
    lines = [*turns, {"turns": 5}]  # a bad record after the last shard
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    parts = [f"{i}/{of}" for i in range(1, of + 1)]
    told = [own(glove, path, per="turn", shard_rows=size, shard=part) for part in parts]
    rows = [sum(map(len, part.shards())) for part, _ in told]
    dropped = [part.embedder.tally.dropped for part, _ in told]
    assert sum(rows) == 21 and sum(dropped, Counter[str]()) == {"turns without text": 14}
    assert sum(len(policy.rejected) for _, policy in told) == 1
    assert all(n or not left for n, left in zip(rows, dropped, strict=True))


def test_blank_lines_are_told_by_one_part(glove: str, tmp_path: Path):
    path = tmp_path / "t.txt"
    path.write_text("a\n\nb\n\n\na b\n\n")
    told = [own(glove, path, shard_rows=1, shard=f"{i}/5")[0] for i in range(1, 6)]
    assert sum(len(list(part.shards())) for part in told) == 3
    assert sum(part.policy.blank for part in told) == 4


def test_a_file_that_shrinks_between_the_passes_ends_early(
    glove: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a"}\n' * 4)
    part, _ = own(glove, path, shard_rows=1, shard="2/2")
    count = part._count()
    path.write_text('{"text": "a"}\n' * 3)
    monkeypatch.setattr(part, "_count", lambda: count)
    assert sum(map(len, part.shards())) == 1
