"""The token store: each distinct utterance tokenised once, pairs as integers, all in memory-mapped files.

P pairs; a context is a range of the flat list of turn ids. Files of a finished store:

    texts.bin text_ends.i64          the distinct utterances, in order of first occurrence
    tokens.i32 token_ends.i64        their token ids
    turns.i32 roles.u8 turn_ends.i64 the turns of each context, and who spoke
    follow.i4 follow_ends.i8         the turns after each response; likewise negatives
    response.i32 response_role.u8 window.i16 weight.f32 dialogue.i64 turn.i32
    template.i4                      of a response, -1 without one
    store.json                       counts; written last, so a store without it is not finished
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dialtools.chance import share, stable_hash
from dialtools.encoder.tokens import tokenise
from dialtools.roles import not_empty
from dialtools.streams.atomic import atomic_file
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Policy
from dialtools.train.data.pairs_of_chunk import ChunkPairs, read_pairs

COLUMNS = {
    "turns": "i4",
    "roles": "u1",
    "turn_ends": "i8",
    "follow": "i4",
    "follow_ends": "i8",
    "negatives": "i4",
    "negative_ends": "i8",
    "response": "i4",
    "response_role": "u1",
    "window": "i2",
    "weight": "f4",
    "dialogue": "i8",
    "turn": "i4",
    "template": "i4",
}
TEXTS_A_BATCH = 20_000


class HashIndex:
    """Ids of 64-bit keys in sorted runs, merged as they grow: 12 bytes a key, lookups in bulk."""

    def __init__(self) -> None:
        self.runs: list[tuple[np.ndarray, np.ndarray]] = []
        self.size = 0

    def ids(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the id of each key, new ones numbered in order, and the mask of the new; keys are distinct."""
        found = np.full(len(keys), -1, np.int32)
        for known, ids in self.runs:
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            hit = known[at] == keys
            found[hit] = ids[at[hit]]
        new = found < 0
        found[new] = np.arange(self.size, self.size + int(new.sum()), dtype=np.int32)
        self._insert(keys[new], found[new])
        return found, new

    def _insert(self, keys: np.ndarray, ids: np.ndarray) -> None:
        if not len(keys):
            return
        self.size += len(keys)
        self.runs.append((keys, ids))
        while len(self.runs) > 1 and len(self.runs[-2][0]) < 4 * len(self.runs[-1][0]):
            (a, b), (c, d) = self.runs.pop(), self.runs.pop()
            self.runs.append((np.concatenate([a, c]), np.concatenate([b, d])))
        keys, ids = self.runs[-1]
        order = np.argsort(keys)
        self.runs[-1] = (keys[order], ids[order])


class Spool:
    """Appends pairs and distinct texts to the files of a store; holds one chunk and the hash index."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.index, self.pairs, self.longest_window = directory, HashIndex(), 0, 1
        self.files: dict[str, BinaryIO] = {
            n: (directory / f"{n}.{t}").open("wb") for n, t in COLUMNS.items()
        }
        self.texts = (directory / "texts.bin").open("wb")
        self.text_ends = (directory / "text_ends.i8").open("wb")
        self.bytes = self.turns = self.follow = self.negatives = self.place = self.nameless = 0

    def add(self, chunk: ChunkPairs) -> None:
        """Append the pairs of a chunk."""
        local: dict[str, int] = {}
        positions = np.fromiter(
            (local.setdefault(t, len(local)) for t in chunk.texts), np.int64, len(chunk.texts)
        )
        ids = self._ids(list(local))[positions]
        sizes = np.asarray(chunk.context_sizes, np.int64)
        ends = {}
        for name, own in (
            ("turns", sizes),
            ("follow", chunk.follow_sizes),
            ("negatives", chunk.negative_sizes),
        ):
            ends[name] = np.cumsum(own, dtype=np.int64) + getattr(self, name)
            setattr(self, name, int(ends[name][-1]) if len(own) else getattr(self, name))
        values = {
            "turns": ids[chunk.context],
            "roles": chunk.roles,
            "turn_ends": ends["turns"],
            "follow": ids[chunk.follow],
            "follow_ends": ends["follow"],
            "negatives": ids[chunk.negatives],
            "negative_ends": ends["negatives"],
            "response": ids[chunk.response],
            "response_role": chunk.response_role,
            "window": sizes,
            "weight": chunk.weight,
            "dialogue": self._dialogues(chunk),
            "turn": chunk.turn,
            "template": np.where(chunk.template < 0, -1, ids[chunk.template])
            if len(ids)
            else chunk.template,
        }
        for name, column in values.items():
            self.files[name].write(np.ascontiguousarray(column, COLUMNS[name]).tobytes())
        self.pairs += len(sizes)
        self.longest_window = max(self.longest_window, int(sizes.max(initial=1)))

    def _ids(self, texts: list[str]) -> np.ndarray:
        ids, new = self.index.ids(np.fromiter(map(hash, texts), np.int64, len(texts)))
        fresh = [texts[i].encode("utf-8", "surrogatepass") for i in np.nonzero(new)[0]]
        ends = np.cumsum([len(t) for t in fresh], dtype=np.int64) + self.bytes
        self.texts.write(b"".join(fresh))
        self.text_ends.write(ends.astype("i8").tobytes())
        self.bytes = int(ends[-1]) if len(ends) else self.bytes
        return ids

    def _dialogues(self, chunk: ChunkPairs) -> np.ndarray:
        """Return an integer for the dialogue of each pair; those of nameless ones are below zero.

        A nameless dialogue goes on for as long as turn and window do: dial-pairs writes 1 1, 2 1, 2
        2, 3 1 ...
        """
        hashes = {None: 0} | {
            name: stable_hash(name) >> 1 for name in set(chunk.dialogue) if name is not None
        }
        named = np.fromiter(map(hashes.__getitem__, chunk.dialogue), np.int64, len(chunk.dialogue))
        nameless = np.fromiter((name is None for name in chunk.dialogue), bool, len(chunk.dialogue))
        place = np.asarray(chunk.turn, np.int64) << 16 | np.minimum(chunk.context_sizes, 0xFFFF)
        before = np.concatenate([[self.place], place[:-1]])
        begins = ~nameless | (place <= before) | (np.asarray(chunk.turn) < 1)
        runs = self.nameless + np.cumsum(begins)
        if len(place):
            self.place, self.nameless = (int(place[-1]) if nameless[-1] else 0), int(runs[-1])
        return np.where(nameless, -1 - runs, named)

    def close(self) -> None:
        for file in (*self.files.values(), self.texts, self.text_ends):
            file.close()
        counts = {
            "pairs": self.pairs,
            "utterances": self.index.size,
            "turns": self.turns,
            "longest_window": self.longest_window,
        }
        _write_json(self.directory / "spool.json", counts)


def spool(
    directory: Path, chunks: Iterable[Chunk], policy: Policy, *, limit: int | None = None
) -> int:
    """Write the pair stream to a store and return the number of pairs."""
    spooled = Spool(directory)
    for chunk in chunks:
        pairs = read_pairs(chunk, policy)
        if limit is not None and spooled.pairs + len(pairs.response) >= limit:
            spooled.add(pairs.head(limit - spooled.pairs))
            break
        spooled.add(pairs)
    spooled.close()
    return spooled.pairs


def texts(directory: Path, *, every: int = 1) -> Iterator[str]:
    """Yield the distinct utterances of a spooled store, or each `every`-th one."""
    ends = _column(directory / "text_ends.i8", "i8")
    data = _column(directory / "texts.bin", "u1")
    for i in range(0, len(ends), every):
        start = int(ends[i - 1]) if i else 0
        yield (
            data[start : int(ends[i])]
            .tobytes()
            .decode("utf-8", "surrogatepass")
            .encode("utf-8", "replace")
            .decode()
        )


PLACEHOLDER = re.compile(r"\{[^{}\s]+\}")


def placeholders(directory: Path) -> list[str]:
    """Return what stands for values in the templates of a spooled store, such as {SLOT}."""
    wanted = set(
        np.unique(
            _column(directory / f"template.{COLUMNS['template']}", COLUMNS["template"])
        ).tolist()
    )
    found = (
        word
        for i, text in enumerate(texts(directory))
        if i in wanted
        for word in PLACEHOLDER.findall(text)
    )
    return sorted(set(found))


def tokenise_store(directory: Path, tokenizer: Any) -> None:
    """Tokenise the distinct utterances of a spooled store, and mark it finished."""
    batch: list[str] = []
    end = 0
    with (
        (directory / "tokens.i4").open("wb") as tokens,
        (directory / "token_ends.i8").open("wb") as ends,
    ):

        def flush() -> None:
            nonlocal end
            ids, offsets = tokenise(tokenizer, batch)
            tokens.write(ids.astype("i4").tobytes())
            ends.write((offsets[1:] + end).astype("i8").tobytes())
            end += len(ids)
            batch.clear()

        for text in texts(directory):
            batch.append(not_empty(text))
            if len(batch) == TEXTS_A_BATCH:
                flush()
        if batch:
            flush()
    counts = json.loads((directory / "spool.json").read_text()) | {"tokens": end}
    _write_json(directory / "store.json", counts)


def is_finished(directory: Path) -> bool:
    return (directory / "store.json").is_file()


class Store:
    """A finished store, mapped into memory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.counts: dict[str, int] = json.loads((directory / "store.json").read_text())
        for name, kind in COLUMNS.items():
            setattr(self, name, _column(directory / f"{name}.{kind}", kind))
        self.tokens = _column(directory / "tokens.i4", "i4")
        self.token_ends = _column(directory / "token_ends.i8", "i8")

    turns: np.ndarray
    roles: np.ndarray
    turn_ends: np.ndarray
    follow: np.ndarray
    follow_ends: np.ndarray
    negatives: np.ndarray
    negative_ends: np.ndarray
    response: np.ndarray
    response_role: np.ndarray
    window: np.ndarray
    weight: np.ndarray
    dialogue: np.ndarray
    turn: np.ndarray
    template: np.ndarray

    def __len__(self) -> int:
        return len(self.response)

    def utterance(self, i: int) -> np.ndarray:
        """Return the (tokens,) ids of an utterance."""
        return self.tokens[int(self.token_ends[i - 1]) if i else 0 : int(self.token_ends[i])]

    def context(self, pair: int) -> slice:
        """Return the range of a pair's context turns in `turns` and `roles`."""
        return _range(self.turn_ends, pair)

    def after(self, pair: int) -> slice:
        """Return the range of the turns after a pair's response in `follow`."""
        return _range(self.follow_ends, pair)

    def negative(self, pair: int) -> slice:
        """Return the range of the negatives that a pair names in `negatives`."""
        return _range(self.negative_ends, pair)

    def text(self, utterances: Sequence[int]) -> list[str]:
        """Return the texts of utterances."""
        ends, data = (
            _column(self.directory / "text_ends.i8", "i8"),
            _column(self.directory / "texts.bin", "u1"),
        )
        spans = [(int(ends[i - 1]) if i else 0, int(ends[i])) for i in utterances]
        return [data[a:b].tobytes().decode("utf-8", "replace") for a, b in spans]

    def record(self, pair: int) -> dict[str, Any]:
        """Return a pair as the record it came from."""
        context = self.text(self.turns[self.context(pair)].tolist())
        return {"context": context, "response": self.text([int(self.response[pair])])[0]}

    def held_out(self, part: float, *, seed: int) -> np.ndarray:
        """Return the (P,) mask of the pairs whose dialogue falls into a share, by stable hash."""
        if not part:
            return np.zeros(len(self), bool)
        known, position = np.unique(np.asarray(self.dialogue), return_inverse=True)
        return np.fromiter((share(str(d), seed=seed) < part for d in known), bool, len(known))[
            position
        ]


def _range(ends: np.ndarray, pair: int) -> slice:
    return slice(int(ends[pair - 1]) if pair else 0, int(ends[pair]))


def _column(path: Path, kind: str) -> np.ndarray:
    return np.memmap(path, kind, "r") if path.stat().st_size else np.zeros(0, kind)


def _write_json(path: Path, value: dict[str, int]) -> None:
    with atomic_file(path, overwrite=True) as temporary:
        temporary.write_text(json.dumps(value))
