"""Utterances that the same answer followed: texts that call for the same thing, as pairs.

Answers are the same by their skeletons, what is left of them without names and numbers. Utterances
are brought together on disk, so that a corpus of any size takes the memory of a chunk, of 256 MiB
of DuckDB and of the texts drawn of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import groupby, islice
from typing import Any

import numpy as np

from dialtools.chance import share, split_of, stable_hash
from dialtools.corpora.by_dialogue import Row, by_dialogue
from dialtools.corpora.dialogues import Dialogue, uncut
from dialtools.corpora.flat import FlatTurns
from dialtools.corpora.logs import probe
from dialtools.pairs.chunk import by_part, consecutive, digests_of
from dialtools.pairs.draw import drawn
from dialtools.pairs.filters import kept, names_or_texts
from dialtools.pairs.options import PairOptions
from dialtools.pairs.render import Mined
from dialtools.pairs.windows import windowed
from dialtools.streams.chunks import ROWS, Chunk
from dialtools.streams.parallel import ordered_map
from dialtools.streams.policy import Collecting, Policy, Rejected
from dialtools.streams.tally import Tally
from dialtools.words import combining_marks

PAIRS_A_CHUNK = 4096
_OPENS = frozenset(".?!:。！？।؟\n")
"""After these a sentence begins, whose first word has a capital without being a name."""
SLOT = "#"
ALONE, BEYOND = "without another of the same answer", "beyond --per-answer"
"""Why an utterance is in no pair; one that comes again counts with the others of its answer."""


def pair_chunks(
    chunks: Iterable[Chunk], options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[Chunk]:
    """Yield chunks of pairs of utterances of two dialogues that the same answer followed.

    Of the distinct texts before an answer, case apart, twice --per-answer are drawn by --seed and
    paired one after another: none is in two pairs of an answer.
    """
    pairs = _pairs(_answered(chunks, options, policy, tally), options, tally)
    name = options.files[0]
    while held := list(islice(pairs, PAIRS_A_CHUNK)):
        yield Chunk(name, 1, ROWS, held)


def _answered(
    chunks: Iterable[Chunk], options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[Row]:
    """Yield each utterance that has an answer, in the order of the input."""
    whole = replace(options, sample=None)  # of the pairs, not of what they are made of
    work = partial(_of_chunk, options=whole)
    for rows, own, rejected in ordered_map(work, chunks, jobs=options.jobs):
        policy.replay(rejected)
        tally.merge(own)
        yield from rows


def _of_chunk(chunk: Chunk, *, options: PairOptions) -> tuple[list[Row], Tally, list[Rejected]]:
    """Return the utterances of a chunk, each under its part of the split and its answer's skeleton.

    With them come the counts of the chunk, and its bad records.
    """
    policy, tally = Collecting(), Tally()
    turns, pairs = consecutive(chunk, options, policy, tally)
    tally.sources = len(turns.sizes)
    pairs = kept(pairs, turns, options, tally)
    names, ids, texts = names_or_texts(turns), turns.ids.to_pylist(), turns.texts.to_pylist()
    probe(texts, tally, plain=chunk.plain)
    rows = []
    columns = zip(pairs.start.tolist(), pairs.response.tolist(), pairs.dialogue, strict=True)
    for said, answer, d in columns:
        key = skeleton(texts[answer])
        if key in ("", SLOT):
            tally.drop("answered by names or numbers alone")
            continue
        whole = uncut(names[d], int(turns.sessions[d]))
        part = split_of(whole, options.shares, seed=options.seed) or ""
        if options.split and not part:
            tally.drop("outside the split")
            continue
        turn = {"text": texts[said], "id": ids[d], "of": stable_hash(names[d]), "part": part}
        rows.append(Row(int(turns.lines[d]), f"{part}\n{key}", turn))
    return rows, tally, policy.rejected


def _pairs(rows: Iterator[Row], options: PairOptions, tally: Tally) -> Iterator[dict[str, Any]]:
    for _, group in groupby(by_dialogue(rows), key=lambda row: row.dialogue):
        turns, count = drawn((row.turn for row in group), 2 * options.per_answer, options.seed)
        pairs = [
            {**one, "other": other["text"]}
            for one, other in zip(turns[::2], turns[1::2], strict=False)
            if one["of"] != other["of"]
        ]
        left = BEYOND if len(turns) == 2 * options.per_answer else ALONE
        tally.drop(left, count - 2 * len(pairs))
        yield from pairs


def render_chunk(chunk: Chunk, *, options: PairOptions, lines: bool) -> Mined:
    """Return the pairs of one chunk, as they are written; runs in a worker."""
    tally = Tally()
    rows = [row for row in chunk.data if _is_sampled(row, options)]
    tally.drop("not sampled", len(chunk.data) - len(rows))
    talks = (Dialogue(row["id"], [row["text"], row["other"]], [None, None]) for row in rows)
    turns = FlatTurns.of((1, talk) for talk in talks)
    pairs = windowed(turns, (1,))
    names = [*(options.shares or ("",))]
    parts = np.array([names.index(row["part"]) for row in rows], np.int64)
    digests = digests_of(pairs, turns, named=False) if options.distinct else None
    payloads = by_part(pairs, turns, parts, options, lines=lines)
    return Mined(payloads, parts, digests, tally, [])


def _is_sampled(row: dict[str, Any], options: PairOptions) -> bool:
    known_by = f"{row['of']}\t{row['text']}\t{row['other']}"
    return not options.sample or share(known_by, seed=options.seed) < options.sample


@cache
def _piece() -> re.Pattern[str]:
    letters = rf"[^\W\d_]+(?:[{combining_marks()}]+[^\W\d_]*)*"
    return re.compile(rf"{letters}(?:['’]{letters})*|\d+|[{''.join(_OPENS)}]")


def skeleton(text: str) -> str:
    """Return the small-lettered words of a text, with one # for names and numbers in a row.

    A name is a word with a capital inside a sentence; the English I is none. Of a text in small
    letters only numbers go. Punctuation goes, too.
    """
    words: list[str] = []
    opening = True
    for piece in _piece().findall(text):
        if piece in _OPENS:
            opening = True
            continue
        word = SLOT if piece.isdigit() or (not opening and _is_name(piece)) else piece.lower()
        if not (word == SLOT and words[-1:] == [SLOT]):
            words.append(word)
        opening = False
    return " ".join(words)


def _is_name(word: str) -> bool:
    return word[0].isupper() and re.split("['’]", word)[0] != "I"
