"""SNIPS and ATIS as they are published: folders of seq.in, seq.out (IOB tags) and label, a line each an utterance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dialtools.errors import DataError
from dialtools.streams.chunks import Chunk, decode
from dialtools.streams.policy import Policy, Where

TEXTS, TAGS, LABELS = "seq.in", "seq.out", "label"
SPLITS = {"train": "train", "valid": "valid", "dev": "valid", "validation": "valid", "test": "test"}
ROWS_A_CHUNK = 4096


def is_iob(path: str) -> bool:
    """Tell whether a path is such a folder, or one of train, valid and test of them."""
    return Path(path).is_dir() and (bool(_folders(Path(path))))


def _folders(path: Path) -> list[tuple[Path, str | None]]:
    if (path / TEXTS).is_file():
        return [(path, SPLITS.get(path.name))]
    return [(path / name, split) for name, split in SPLITS.items() if (path / name / TEXTS).is_file()]


def iob_chunks(path: str, policy: Policy) -> Iterator[Chunk]:
    """Yield chunks of utterance records with slots, the splits one after another.

    Raises:
        DataError: if the path is no such folder, or its files have not the same number of lines.
    """
    folders = _folders(Path(path))
    if not folders:
        raise DataError(f"expected a folder with {TEXTS} and {TAGS}, or train, valid and test of them", where=path)
    for folder, split in folders:
        first, held = 1, []
        for number, record in _records(folder, split, policy):
            held.append(record)
            if len(held) == ROWS_A_CHUNK:
                yield Chunk(str(folder / TEXTS), first, "rows", held)
                first, held = number + 1, []
        if held:
            yield Chunk(str(folder / TEXTS), first, "rows", held)


def _records(folder: Path, split: str | None, policy: Policy) -> Iterator[tuple[int, dict[str, Any]]]:
    names = [name for name in (TEXTS, TAGS, LABELS) if (folder / name).is_file()]
    if TAGS not in names:
        raise DataError(f"no {TAGS} beside {TEXTS}", where=folder)
    lines = [(folder / name).read_bytes().splitlines() for name in names]
    if len({len(part) for part in lines}) > 1:
        raise DataError(f"{', '.join(f'{n} has {len(part):,} lines' for n, part in zip(names, lines, strict=True))}", where=folder)  # fmt: skip
    for number, row in enumerate(zip(*lines, strict=True), 1):
        where = Where(str(folder / TEXTS), number)
        texts = [decode(line, where, policy) for line in row]
        if texts[0] is None or texts[1] is None:
            continue
        words, tags = texts[0].split(), texts[1].split()
        if len(words) != len(tags):
            policy.reject(where, f"{len(words)} words but {len(tags)} tags", row[0])
            continue
        record: dict[str, Any] = {"text": " ".join(words), "slots": spans_of(words, tags)}
        yield number, record | ({"label": texts[2]} if len(texts) > 2 and texts[2] else {}) | ({"split": split} if split else {})  # fmt: skip


def spans_of(words: list[str], tags: list[str]) -> list[dict[str, Any]]:
    """Return the slots of words joined by a blank; an I- that follows no slot of its type begins one."""
    found: list[dict[str, Any]] = []
    at, before = 0, "O"
    for word, tag in zip_longest(words, tags):
        kind, _, label = tag.partition("-")
        if kind == "I" and before.partition("-")[2] == label:
            found[-1]["end"] = at + len(word)
        elif kind in ("B", "I"):
            found.append({"start": at, "end": at + len(word), "label": label})
        at, before = at + len(word) + 1, tag
    return found
