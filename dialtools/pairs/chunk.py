"""One chunk of dialogues to its pairs: what a worker does."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from dialtools.chance import share, split_of
from dialtools.corpora.block import read_block
from dialtools.corpora.dialogues import DOMAIN, WITHOUT_TEXT, Dialogue, known_by, uncut
from dialtools.corpora.flat import FlatTurns, running
from dialtools.corpora.logs import FIRST_TEXTS, probe
from dialtools.corpora.read import dialogues
from dialtools.pairs import labelled, labels
from dialtools.pairs.filters import kept, names_or_texts, same_as_next
from dialtools.pairs.options import KINDS, PairOptions
from dialtools.pairs.reader import READERS
from dialtools.pairs.render import Mined, ahead, as_batch, as_lines
from dialtools.pairs.windows import Pairs, selves, windowed
from dialtools.roles import SYSTEM, USER, is_user, role_of
from dialtools.streams import bounds
from dialtools.streams.chunks import Chunk
from dialtools.streams.policy import Collecting, Policy, Where
from dialtools.streams.tally import Tally
from dialtools.streams.text_columns import lengths
from dialtools.words import lowered

FEW_TURNS = 16
"""Windows up to this multiply an input by no more than it is worth to measure."""
FEW_ANSWERS = 2
"""Turns of either side: of a dialogue with no more, the last turn of the system is the response."""
WITH_DOMAIN = "dialogues with a domain"
WITH_USER = "dialogues with a user"
PUNCTUATION = 4
"""Bytes of a turn beside its text and speaker: quotes, commas."""


def mine_chunk(chunk: Chunk, *, options: PairOptions, lines: bool) -> Mined:
    """Return the pairs of one chunk; runs in a worker."""
    policy = Collecting()
    tally = Tally()
    turns, pairs = _PAIRS[options.kind](chunk, options, policy, tally)
    probe(turns.texts[:FIRST_TEXTS].to_pylist(), tally, plain=chunk.plain)
    if not KINDS[options.kind].gathers:
        tally.sources += len(turns.sizes)  # beside those dropped by their labels
    if options.summary:
        _count(turns, pairs, tally)
    pairs = _within_bounds(pairs, turns, chunk, options, policy)
    pairs = kept(pairs, turns, options, tally)

    pairs, parts = _within_split(pairs, turns, options, tally)
    digests = None
    if options.distinct or options.kind == "self":
        digests = digests_of(pairs, turns, named=KINDS[options.kind].names_negative)
    payloads = by_part(pairs, turns, parts, options, lines=lines)
    before = ahead(policy.rejected, turns.lines[pairs.dialogue])
    return Mined(payloads, parts, digests, tally, policy.rejected, before)


def _count(turns: FlatTurns, pairs: Pairs, tally: Tally) -> None:
    """Count what --summary tells of a corpus beside what was kept and dropped."""
    inside = np.diff(turns.dialogue) == 0
    tally.facts.update(
        turns=len(turns),
        neighbours=int(inside.sum()),
        same_speaker=int((inside & same_as_next(turns.speakers)).sum()),
        pairs=len(pairs),
    )


def _within_bounds(
    pairs: Pairs, turns: FlatTurns, chunk: Chunk, options: PairOptions, policy: Policy
) -> Pairs:
    """Reject dialogues whose pairs would fill memory: of n turns, whole histories hold n² / 2."""
    if 0 not in options.window and max((*options.window, options.follow)) <= FEW_TURNS:
        return pairs
    size = running(lengths(turns.texts) + lengths(turns.speakers) + PUNCTUATION)
    ends = (turns.starts + turns.sizes)[pairs.dialogue]
    after = np.minimum(pairs.response + 1 + options.follow, ends)
    of_pair = size[pairs.end] - size[pairs.start] + size[after] - size[pairs.response]
    of_dialogue = np.bincount(pairs.dialogue, of_pair, len(turns.sizes))
    over = of_dialogue > bounds.most("pairs")
    for d in np.flatnonzero(over).tolist():
        what = f"pairs of {turns.sizes[d]:,} turns take {of_dialogue[d] / 2**30:.1f} GB, more than"
        error = bounds.beyond("pairs", what, where=None)
        record = {"turns": turns.texts_of(d)}
        policy.reject(Where(chunk.name, int(turns.lines[d])), error.message, record, error.hint)
    return pairs.where(~over[pairs.dialogue])


def _within_split(
    pairs: Pairs, turns: FlatTurns, options: PairOptions, tally: Tally
) -> tuple[Pairs, np.ndarray]:
    """Return the P pairs that are of a part of the split, and (P,) the number of each one's part.

    Without a split all are of one.
    """
    if not options.split:
        return pairs, np.zeros(len(pairs), np.int64)
    numbers = {name: number for number, name in enumerate(options.shares)}
    dialogues = map(uncut, names_or_texts(turns), turns.sessions.tolist())
    names = (split_of(name, options.shares, seed=options.seed) for name in dialogues)
    of_dialogue = np.array([numbers.get(name or "", -1) for name in names], np.int64)
    parts = of_dialogue[pairs.dialogue]
    inside = parts >= 0
    tally.drop("outside the split", int((~inside).sum()))
    return pairs.where(inside), parts[inside]


def by_part(
    pairs: Pairs, turns: FlatTurns, parts: np.ndarray, options: PairOptions, *, lines: bool
) -> dict[str, Any]:
    """Return the pairs of each part of the split (one, "", without), as they are written.

    Args:
        parts: (P,) the number of each pair's part.
    """
    render = as_lines if lines else as_batch
    return {
        name: render(pairs.where(parts == number), turns, options.kind, options.follow)
        for number, name in enumerate(options.shares or ("",))
    }


def digests_of(pairs: Pairs, turns: FlatTurns, *, named: bool) -> list[bytes]:
    """Return 16 bytes of each pair that are equal for pairs of equal texts.

    Args:
        named: the turn after a response is its negative, and one of the texts.
    """
    # texts may hold what stands between them: one NUL is written so that two are never of a text
    texts = [text.replace("\0", "\0\1") for text in turns.texts.to_pylist()]
    columns = zip(pairs.start.tolist(), pairs.end.tolist(), pairs.response.tolist(), strict=True)
    joined = ("\0\0".join([*texts[s:e], *texts[r : r + 1 + named]]) for s, e, r in columns)
    return [blake2b(key.encode(), digest_size=16).digest() for key in joined]


def consecutive(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return the turns of the dialogues of a chunk, and every window of them with its response."""
    block = read_block(chunk) if options.as_they_are else None
    if block is not None:
        turns = block.spoken()
        tally.drop(WITHOUT_TEXT, len(block) - len(turns))
    else:
        turns = FlatTurns.of(_shaped(chunk, options, policy, tally), domain=options.domain)
        about = turns.facts.get(DOMAIN)
        tally.facts[WITH_DOMAIN] += 0 if about is None else len(about) - about.null_count
    if options.min_turns:
        long = turns.sizes >= options.min_turns
        lost = turns.sizes[~long] - (options.kind != "self")
        tally.drop("in dialogues of too few turns", int(lost.clip(0).sum()))
        turns = turns.only(np.flatnonzero(long))
    if options.kind == "self":
        return turns, selves(turns)
    window = (0,) if options.kind == "random-split" else options.window
    return turns, windowed(turns, window, short=options.short_windows)


def _shaped(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> Iterator[tuple[int, Dialogue]]:
    """Yield each dialogue as the options want it, and its line."""
    reader = READERS[options.reader]
    utterances = options.kind == "self"
    for line, dialogue in dialogues(chunk, policy, options, tally, utterances=utterances):
        read = known_by(dialogue.id, dialogue.texts)
        if options.users:
            tally.facts[WITH_USER] += any(map(is_user, dialogue.speakers))
        dialogue = reader(dialogue)
        if options.merges:
            dialogue = merged(dialogue)
        if options.lower:
            dialogue = dialogue._replace(texts=[lowered(text) for text in dialogue.texts])
        yield line, dialogue._replace(read=read)


def merged(dialogue: Dialogue) -> Dialogue:
    """Join consecutive turns of one speaker with a blank (DialogueCSE 5.1.1).

    Turns of unknown speakers stay apart.
    """
    runs: list[list[str]] = []
    speakers: list[str | None] = []
    for text, speaker in zip(dialogue.texts, dialogue.speakers, strict=True):
        if speakers and speaker is not None and speakers[-1] == speaker:
            runs[-1].append(text)
        else:
            runs.append([text])
            speakers.append(speaker)
    texts = [" ".join(filter(None, run)) for run in runs]
    return dialogue._replace(texts=texts, speakers=speakers)


def _split_at_random(
    chunk: Chunk, options: PairOptions, policy: Policy, tally: Tally
) -> tuple[FlatTurns, Pairs]:
    """Return a pair a dialogue: what was said before a turn of the system, and that turn."""
    turns, whole = consecutive(chunk, options, policy, tally)
    cuts: list[int] = []
    for start, talk in zip(turns.starts.tolist(), turns.dialogues(), strict=True):
        if at := _drawn_response(talk, seed=options.seed):
            cuts.append(start + at)
    tally.drop("without a response of the system", len(turns.sizes) - len(cuts))
    return turns, whole.where(np.isin(whole.response, cuts))


def _drawn_response(dialogue: Dialogue, *, seed: int) -> int | None:
    """Return the turn before which a dialogue is cut; None if the system never answers.

    The k-th turn of the system, k drawn from 1 to the fewer of both sides' turns less one, counted
    from 0, as TOD-BERT draws it. The draw depends on the dialogue and the seed alone.
    """
    roles = [role_of(speaker) for speaker in dialogue.speakers]
    answers = [turn for turn, role in enumerate(roles) if role == SYSTEM]
    if not answers:
        return None
    fewer = min(len(answers), roles.count(USER))
    at = answers[-1]
    if fewer > FEW_ANSWERS:
        name = known_by(dialogue.id, dialogue.texts)
        at = answers[1 + int(share(f"{name}\tcut", seed=seed) * (fewer - 1))]
    return at or None


_PAIRS = {
    "consecutive": consecutive,
    "self": consecutive,
    "random-split": _split_at_random,
    "texts": labelled.coupled,
    "entailment": labelled.entailed,
    "nli": labelled.entailed,
    "triple": labelled.triples,
    "same-label": labels.of_one_label,
}
