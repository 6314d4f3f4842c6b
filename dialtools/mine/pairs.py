"""The pairs that negatives are found for, and unit vectors of their distinct texts.

Records and vectors are on disk, numbers in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from dialtools.corpora.fields import PAIR, BadRecord, check, text_of_turn
from dialtools.freq.normalise import AS_WMDC, normalise
from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.hash_index import HashIndex
from dialtools.streams.making import one_space
from dialtools.streams.payloads import Kept, PayloadSpool
from dialtools.streams.policy import Policy, Where
from dialtools.streams.vector_files import embedding_parts

CONTEXT, RESPONSE = "context", "response"
COLUMNS = ("anchor", "answer", "context_row", "response_row", "candidate_row")


class Vectors(UnitVectors):
    """V vectors of D dimensions; the first that a text is given stays.

    As a response it may have another than as a context: a transform moves contexts alone, and
    models tell speakers apart.
    """

    def read(self, paths: Sequence[str]) -> None:
        """Add what embedding files hold: of `X_embedding` the text is in column X.

        Raises:
            DataError: if a file has no such column, or vectors differ in their length or model.
        """
        space: dict[str, Any] = {}
        for part in embedding_parts(paths):
            space = one_space(space, part.metadata, where=part.name)
            for name, matrix_ND in part.vectors.items():
                answers = part.column_of(name) == RESPONSE
                keys = hashes((answers, turns_of(text)) for text in part.texts(name))
                self.add(keys, matrix_ND, where=part.name)

    def of(self, turns: Sequence[tuple[str, ...]], *, answers: bool) -> np.ndarray:
        """Return the number of each text's vector, -1 without one.

        Args:
            answers: they are responses; what has a vector only as a context has that, and vice
                versa.
        """
        own = self.index.find(hashes((answers, text) for text in turns))
        other = self.index.find(hashes((not answers, text) for text in turns))
        return np.where(own < 0, other, own)


def turns_of(value: Any) -> tuple[str, ...]:
    """Return a text, or a list of turns, as turns."""
    if isinstance(value, str):
        return (value,)
    turns = tuple(map(text_of_turn, value)) if isinstance(value, list) else ()
    return turns if all(isinstance(turn, str) for turn in turns) else ()


def hashes(values: Iterable[Any]) -> np.ndarray:
    """Return a 64-bit integer for each value: Python's own, as none outlives the run."""
    return np.fromiter(map(hash, values), np.int64)


class Pairs:
    """P pairs, whose R distinct responses are each other's candidates.

    Texts are one when they are equal but for case and blanks, as dial-freq counts them; of those
    the first stands for all.

    Attributes:
        sizes: pairs of each payload of `spool`.
        anchor: (P,) which context each pair has, by its folded text.
        answer: (P,) which candidate its response is.
        context_row, response_row: (P,) their vectors.
        candidate_row: (R,) the vector of each candidate.
        texts: (R,) strings.
    """

    def __init__(self, vectors: Vectors, policy: Policy) -> None:
        self.vectors, self.policy = vectors, policy
        self.spool = PayloadSpool()
        self.sizes: list[int] = []
        self._anchors, self._answers = HashIndex(), HashIndex()
        self._columns: dict[str, list[np.ndarray]] = {
            name: [np.zeros(0, np.int32)] for name in COLUMNS
        }
        self._texts = [pa.array([], pa.large_string())]

    def read(self, chunks: Iterable[Chunk], *, limit: int | None) -> None:
        """Take the pairs of chunks, as many as are wanted; what is none goes to the policy."""
        for chunk in chunks:
            checked = self._checked(chunk)
            # what is found to have no vector makes room for others, and what comes after is unread
            while found := list(islice(checked, None if limit is None else limit - len(self))):
                self._add(chunk, found)
            if len(self) == limit:
                break
        joined = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        self.anchor, self.answer = joined["anchor"], joined["answer"]
        self.context_row, self.response_row = joined["context_row"], joined["response_row"]
        self.candidate_row = joined["candidate_row"]
        self.texts = pa.concat_arrays(self._texts)

    def __len__(self) -> int:
        return sum(self.sizes)

    def _add(self, chunk: Chunk, found: list[tuple[Any, ...]]) -> None:
        rows = {
            "context_row": self.vectors.of([pair[2] for pair in found], answers=False),
            "response_row": self.vectors.of([pair[3] for pair in found], answers=True),
        }
        kept = Kept(chunk)
        chosen: list[int] = []
        for i, (number, record, *_) in enumerate(found):
            missing = next((name for name in rows if rows[name][i] < 0), "")
            if missing:
                what = f"{missing.removesuffix('_row')}: no vector of it in --embeddings"
                self.policy.reject(Where(chunk.name, number), what, record)
            else:
                kept.keep(number, record)
                chosen.append(i)
        if chosen:
            self.spool.add(kept.payload())
            self.sizes.append(len(chosen))
            self._number([found[i] for i in chosen], {k: v[chosen] for k, v in rows.items()})

    def _number(self, found: list[tuple[Any, ...]], rows: dict[str, np.ndarray]) -> None:
        """Number contexts and responses by their folded texts."""
        anchor, _ = self._anchors.add(hashes(tuple(map(fold, pair[2])) for pair in found))
        answer, new = self._answers.add(hashes(fold(pair[3][0]) for pair in found))
        columns = {**rows, "anchor": anchor, "answer": answer}
        columns["candidate_row"] = rows["response_row"][new]
        for name, values in columns.items():
            self._columns[name].append(values)
        self._texts.append(pa.array([found[i][3][0] for i in new], pa.large_string()))

    def _checked(self, chunk: Chunk) -> Iterator[tuple[Any, ...]]:
        """Yield number, record, turns of the context and response of each pair of a chunk."""
        for number, record in records(chunk, self.policy, tuple(PAIR)):
            try:
                for name in (CONTEXT, RESPONSE):
                    if record.get(name) is None:
                        raise BadRecord(f'no "{name}": expected pairs, as dial-pairs writes them')
                check(record, PAIR)
            except BadRecord as error:
                self.policy.reject(Where(chunk.name, number), str(error), record)
                continue
            yield number, record, turns_of(record[CONTEXT]), (record[RESPONSE],)


def fold(text: str) -> str:
    """Return the text under which two texts are one."""
    return normalise(text, AS_WMDC)


def known_positives(anchor_P: np.ndarray, answer_P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the answers of each context begin and end, and the answers: (A + 1,), (K,)."""
    both = np.unique(anchor_P.astype(np.int64) << 32 | answer_P)
    anchors = int(anchor_P.max(initial=-1)) + 1
    return np.searchsorted(both >> 32, np.arange(anchors + 1)), both & 0xFFFFFFFF
