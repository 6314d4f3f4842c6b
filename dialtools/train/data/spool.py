"""Writing a token store: the pair stream goes by once, its texts are tokenised after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dialtools.chance import stable_hash
from dialtools.corpora.fields import MOST_TURNS
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.tokens import tokenise
from dialtools.errors import DataError
from dialtools.roles import not_empty
from dialtools.streams.atomic import atomic_file
from dialtools.streams.chunks import Chunk
from dialtools.streams.hash_index import HashIndex
from dialtools.streams.policy import Policy
from dialtools.train.data.pairs_of_batch import ChunkPairs
from dialtools.train.data.pairs_of_chunk import read_pairs
from dialtools.train.data.store import COLUMNS, column_file, read_counts, utterance_texts, written
from dialtools.train.data.taught import Taught

Read = Callable[[Chunk, Policy], ChunkPairs]
NOWHERE = (0, -1, 0)
"""Turn, response and first window of no pair."""
TEXTS_A_BATCH = 20_000
"""Texts tokenised at once: enough for all cores, few enough to hold."""
CHARACTERS_A_BATCH = 4 << 20
"""And no more than these, but for one text: a token takes a hundred bytes while it is made."""


class Spool:
    """Appends pairs and distinct texts to the files of a store; holds a chunk and the index."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.index = HashIndex()
        self.pairs = self.lessons = 0
        self.ends: dict[str, int] = {}
        self.last = NOWHERE
        self.last_nameless = 0
        self.columns: dict[str, BinaryIO] = {
            name: column_file(directory, name).open("wb") for name in COLUMNS
        }
        self.texts = (directory / "texts.bin").open("wb")
        self.text_ends = (directory / "text_ends.i8").open("wb")

    def add(self, chunk: ChunkPairs) -> None:
        """Append the pairs of a chunk."""
        ids = self._ids(chunk.texts)
        sizes = chunk.context.sizes
        template = chunk.template
        if len(ids):
            template = np.where(template < 0, -1, ids[template])
        values = {
            "turns": ids[chunk.context.places],
            "roles": chunk.context_roles,
            "turn_ends": self._ends("turn_ends", sizes),
            "follow": ids[chunk.follow.places],
            "follow_ends": self._ends("follow_ends", chunk.follow.sizes),
            "negatives": ids[chunk.negatives.places],
            "negative_ends": self._ends("negative_ends", chunk.negatives.sizes),
            "response": ids[chunk.response],
            "response_role": chunk.response_role,
            "window": sizes,
            "weight": chunk.weight,
            "similar": chunk.similar,
            "kind": _hashes(chunk.kind),
            "domain": _hashes(chunk.domain),
            "dialogue": self._dialogues(chunk, ids[chunk.response]),
            "turn": chunk.turn,
            "template": template,
            "teacher": self._lessons(chunk),
            "vectors": chunk.vectors.ravel(),
        }
        for name, column in values.items():
            self.columns[name].write(np.ascontiguousarray(column, COLUMNS[name]).tobytes())
        self.pairs += len(chunk)

    def _lessons(self, chunk: ChunkPairs) -> np.ndarray:
        """Return the row of each pair's vector among all that teachers tell, -1 without one."""
        if not len(chunk.vectors):
            return np.full(len(chunk), -1)
        rows = self.lessons + np.arange(len(chunk))
        self.lessons += len(chunk)
        return rows

    def _ends(self, name: str, sizes: np.ndarray) -> np.ndarray:
        """Return where ranges of these sizes end, behind those there are."""
        ends = np.cumsum(sizes, dtype=np.int64) + self.ends.get(name, 0)
        if len(ends):
            self.ends[name] = int(ends[-1])
        return ends

    def _ids(self, texts: list[str]) -> np.ndarray:
        """Return the id of each text, and write those that are new."""
        distinct: dict[str, int] = {}
        positions = np.fromiter(
            (distinct.setdefault(text, len(distinct)) for text in texts), np.int64, len(texts)
        )
        words = list(distinct)
        # Python's own hash, seeded anew in each process, serves: no key outlives the spool.
        ids, new = self.index.ids(np.fromiter(map(hash, words), np.int64, len(words)))
        fresh = [words[i].encode() for i in np.nonzero(new)[0]]
        sizes = np.fromiter(map(len, fresh), np.int64, len(fresh))
        self.texts.write(b"".join(fresh))
        self.text_ends.write(self._ends("text_ends", sizes).astype("i8").tobytes())
        return ids[positions]

    def _dialogues(self, chunk: ChunkPairs, response: np.ndarray) -> np.ndarray:
        """Return an integer for the dialogue of each pair; those of nameless ones are below zero.

        A nameless dialogue goes on for as long as its turns rise, and ends before a named one.
        dial-pairs writes all windows of a response one after another, in any order: the first of
        them again is of another dialogue, and so is another response of the same turn.

        Args:
            response: the text of each pair's response.
        """
        names, sizes = chunk.dialogue, chunk.context.sizes
        nameless = np.fromiter((name is None for name in names), bool, len(names))
        turn = np.where(nameless, chunk.turn, np.int64(MOST_TURNS))
        place_N3 = np.concatenate([[self.last], np.column_stack([turn, response, sizes])])
        another = (place_N3[1:, :2] != place_N3[:-1, :2]).any(1)
        # the row at which each run of one turn and response begins; 0 is what came before
        begun = np.where(another, np.arange(1, len(names) + 1), 0)
        first = np.maximum.accumulate(np.concatenate([[0], begun]))
        again = ~another & (sizes == place_N3[first[1:], 2])
        falls = (turn < place_N3[:-1, 0]) | ((turn == place_N3[:-1, 0]) & another)
        begins = nameless & (falls | again | (turn < 1))
        runs = self.last_nameless + np.cumsum(begins)
        self.last = (*place_N3[-1, :2].tolist(), int(place_N3[first[-1], 2]))
        self.last_nameless += int(begins.sum())
        return np.where(nameless, -1 - runs, _hashes(names))

    def close(self) -> dict[str, int]:
        """Finish the files; return the counts, which a store keeps."""
        for file in (*self.columns.values(), self.texts, self.text_ends):
            file.close()
        return {
            "utterances": self.index.size,
            "turns": self.ends.get("turn_ends", 0),
        }


def _hashes(names: list[str | None]) -> np.ndarray:
    """Return an integer for each name, the same in every process; 0 for none."""
    hashes: dict[str | None, int] = {
        name: 0 if name is None else stable_hash(name) >> 1 for name in set(names)
    }
    return np.fromiter(map(hashes.__getitem__, names), np.int64, len(names))


def spool(
    directory: Path,
    chunks: Iterable[Chunk],
    policy: Policy,
    *,
    read: Read = read_pairs,
    limit: int | None = None,
    lessons: Iterable[Chunk] | None = None,
) -> int:
    """Write the pair stream to a store and return the number of pairs.

    Args:
        lessons: a teacher's texts and vectors, which stand before the pairs and are none of them:
            a file that has none is a DataError before a long stream is read.
    """
    spooled = Spool(directory)
    skipped_before = policy.skipped
    taught = Taught()
    for chunk in lessons or ():
        spooled.add(taught(chunk, policy))
    before = spooled.pairs
    spooled.last, spooled.last_nameless = NOWHERE, 0  # a teacher changes no dialogue's number
    if lessons is not None and not before:
        raise DataError("--teacher: no text with a vector")
    last = None if limit is None else before + limit
    for chunk in chunks:
        new = read(chunk, policy)
        if last is not None and spooled.pairs + len(new) >= last:
            spooled.add(new.head(last - spooled.pairs))
            break
        spooled.add(new)
    pairs = spooled.pairs - before
    counts = spooled.close() | {
        "pairs": pairs,
        "lessons": before,
        "skipped": policy.skipped - skipped_before,
    }
    write_json(directory / "spool.json", {**counts, "files": written(directory, of="*.*")})
    return pairs


def tokenise_store(directory: Path, tokenizer: Any) -> None:
    """Tokenise the distinct utterances of a spooled store, and mark it finished."""
    end = 0
    with (
        (directory / "tokens.i4").open("wb") as tokens,
        (directory / "token_ends.i8").open("wb") as token_ends,
    ):
        for batch in _batches(map(not_empty, utterance_texts(directory))):
            ids, offsets = tokenise(tokenizer, batch)
            tokens.write(ids.astype("i4").tobytes())
            token_ends.write((offsets[1:] + end).astype("i8").tobytes())
            end += len(ids)
    counts = read_counts(directory / "spool.json")
    counts["files"] |= written(directory, of="token*")
    with atomic_file(directory / "store.json", overwrite=True) as finished:
        write_json(finished, counts | {"tokens": end})


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts by so many, fewer where they are long."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if batch and (len(batch) == TEXTS_A_BATCH or characters > CHARACTERS_A_BATCH):
            yield batch
            batch, characters = [], len(text)
        batch.append(text)
    if batch:
        yield batch
