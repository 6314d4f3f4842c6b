"""Which pairs stay: masks over the pairs of a chunk, each with the reason of what it drops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dialtools.chance import share
from dialtools.pairs.options import PairOptions
from dialtools.pairs.windows import FlatTurns, Pairs, running
from dialtools.streams.tally import Tally
from dialtools.words import count_words


def kept(pairs: Pairs, turns: FlatTurns, options: PairOptions, tally: Tally) -> Pairs:
    """Return the pairs that pass every filter; count the others by reason.

    Filters come after pairing, so that none bridges over a turn that it drops (METHODS trap 12).
    """
    for reason, keep in _masks(turns, options):
        mask = keep(pairs)
        tally.drop(reason, int(len(pairs) - mask.sum()))
        pairs = pairs.where(mask)
    return pairs


def _masks(turns: FlatTurns, options: PairOptions) -> Iterator[tuple[str, object]]:
    empty = running([not text for text in turns.texts])
    yield "empty", lambda p: ~_any(empty, p)
    if options.min_words:
        yield "short", _long_enough(turns, options)
    if options.speaker:
        theirs = np.fromiter(
            (s == options.speaker for s in turns.speakers), bool, len(turns.speakers)
        )
        yield "of another speaker", lambda p: theirs[p.response]
    if options.kind != "self":
        same = np.fromiter(
            (a == b for a, b in zip(turns.texts, turns.texts[1:], strict=False)),
            bool,
            max(0, len(turns.texts) - 1),
        )
        yield "repeated", lambda p: ~((p.window == 1) & same[p.response - 1])
    if options.sample:
        yield "not sampled", lambda p: _sampled(p, turns, options)


def _any(sums: np.ndarray, p: Pairs) -> np.ndarray:
    """Tell for each pair whether a property that `sums` counts holds of any of its texts."""
    return (sums[p.end] - sums[p.start] + sums[p.response + 1] - sums[p.response]) > 0


def _long_enough(turns: FlatTurns, options: PairOptions) -> object:
    words = np.fromiter(
        (count_words(text, options.words_by) for text in turns.texts), np.int64, len(turns.texts)
    )
    if options.words_of == "members":
        short = running(words < options.min_words)
        return lambda p: ~_any(short, p)
    total = running(words)
    return lambda p: (
        (total[p.end] - total[p.start] >= options.min_words)
        & (words[p.response] >= options.min_words)
    )


def _sampled(p: Pairs, turns: FlatTurns, options: PairOptions) -> np.ndarray:
    names = [identity(turns, d) for d in range(len(turns.sizes))]
    starts = turns.starts
    keys = zip(
        p.dialogue.tolist(),
        (p.response - starts[p.dialogue]).tolist(),
        p.window.tolist(),
        strict=True,
    )
    return np.fromiter(
        (
            share(f"{names[d]}\t{turn}\t{window}", seed=options.seed) < options.sample
            for d, turn, window in keys
        ),
        bool,
        len(p),
    )


def identity(turns: FlatTurns, dialogue: int) -> str:
    """Return a dialogue's id, or, if it has none, its text: same text, same split."""
    given = turns.ids[dialogue]
    if given is not None:
        return given
    start = int(turns.starts[dialogue])
    return "\n".join(turns.texts[start : start + turns.sizes[dialogue]])
