"""Which pairs stay: masks over the pairs of a chunk, each with the reason of what it drops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialtools.chance import share
from dialtools.corpora.dialogues import known_by
from dialtools.corpora.flat import FlatTurns, running
from dialtools.pairs.options import KINDS, OTHER_SPEAKER, PairOptions
from dialtools.pairs.windows import Pairs
from dialtools.streams.tally import Tally
from dialtools.streams.text_columns import lengths
from dialtools.words import count_words

Mask = Callable[[Pairs], np.ndarray]
"""Returns (P,) which of P pairs stay."""


def kept(pairs: Pairs, turns: FlatTurns, options: PairOptions, tally: Tally) -> Pairs:
    """Return the pairs that pass every filter; count the others by reason.

    Filters come after pairing, so that none bridges over a turn that it drops.
    """
    for reason, mask in _masks(turns, options):
        stays = mask(pairs)
        if not stays.all():
            tally.drop(reason, int(len(pairs) - stays.sum()))
            pairs = pairs.where(stays)
    return pairs


def _masks(turns: FlatTurns, options: PairOptions) -> Iterator[tuple[str, Mask]]:
    named = KINDS[options.kind].names_negative
    empty = lengths(turns.texts) == 0
    if empty.any():
        yield "empty", _without(empty, named=named)
    if options.min_words:
        yield "short", _long_enough(turns, options)
    if options.speaker:
        yield OTHER_SPEAKER, _said_by(options.speaker, turns)
    if options.inner:
        yield "last in their dialogue", _followed(turns)
    if options.kind != "self":
        yield "repeated", _not_repeated(turns)
    if options.sample:
        yield "not sampled", _sampled(options.sample, turns, options)


def _without(fault: np.ndarray, *, named: bool) -> Mask:
    """Keep the pairs of which no text has a fault.

    Args:
        named: the turn after a response is its negative, and one of the texts.
    """
    faults = running(fault)

    def mask(pairs: Pairs) -> np.ndarray:
        in_context = faults[pairs.end] - faults[pairs.start]
        behind = faults[pairs.response + 1 + named] - faults[pairs.response]
        return in_context + behind == 0

    return mask


def _long_enough(turns: FlatTurns, options: PairOptions) -> Mask:
    """Keep the pairs whose texts have --min-words, the context turn by turn or joined."""
    counts = (count_words(text, options.words_by) for text in turns.texts.to_pylist())
    words = np.fromiter(counts, np.int64, len(turns))
    named = KINDS[options.kind].names_negative
    if options.words_of == "members":
        return _without(words < options.min_words, named=named)
    total, short = running(words), running(words < options.min_words)

    def mask(pairs: Pairs) -> np.ndarray:
        joined = total[pairs.end] - total[pairs.start]
        behind = short[pairs.response + 1 + named] - short[pairs.response]
        return (joined >= options.min_words) & (behind == 0)

    return mask


def _said_by(speaker: str, turns: FlatTurns) -> Mask:
    """Keep the responses of one speaker."""
    named = turns.speakers if speaker.isascii() else pc.utf8_normalize(turns.speakers, "NFC")
    theirs = np.asarray(pc.equal(named, speaker).fill_null(False))
    return lambda pairs: theirs[pairs.response]


def _followed(turns: FlatTurns) -> Mask:
    """Keep the responses that a turn of their dialogue follows."""
    last = turns.starts + turns.sizes - 1
    return lambda pairs: pairs.response < last[pairs.dialogue]


def _not_repeated(turns: FlatTurns) -> Mask:
    """Keep the pairs whose response does more than repeat its only context turn."""
    same = same_as_next(turns.texts)
    return lambda pairs: ~((pairs.window == 1) & same[pairs.response - 1])


def same_as_next(texts: pa.StringArray) -> np.ndarray:
    """Return (T-1,) whether each text is the one after it; null is none."""
    return np.asarray(pc.equal(texts[:-1], texts[1:]).fill_null(False))


def _sampled(size: float, turns: FlatTurns, options: PairOptions) -> Mask:
    """Keep a share of the pairs, drawn by a name of each; what comes again shares its lot."""
    once = options.distinct or options.kind in ("self", "same-label")
    names, seed = _texts_joined if once else _places, options.seed
    return lambda pairs: np.fromiter(
        (share(name, seed=seed) < size for name in names(pairs, turns)), bool
    )


def _places(pairs: Pairs, turns: FlatTurns) -> Iterator[str]:
    """Return where each pair stands: dialogue, turn and window."""
    names = names_or_texts(turns)
    turn = pairs.response - turns.starts[pairs.dialogue]
    columns = (pairs.dialogue.tolist(), turn.tolist(), pairs.window.tolist())
    return (f"{names[d]}\t{t}\t{window}" for d, t, window in zip(*columns, strict=True))


def _texts_joined(pairs: Pairs, turns: FlatTurns) -> Iterator[str]:
    texts = turns.texts.to_pylist()
    columns = (pairs.start.tolist(), pairs.end.tolist(), pairs.response.tolist())
    return ("\n".join([*texts[s:e], texts[r]]) for s, e, r in zip(*columns, strict=True))


def names_or_texts(turns: FlatTurns) -> list[str]:
    """Return what each dialogue is known by."""
    names = pc.coalesce(turns.ids, turns.read).to_pylist()
    return [known_by(name, turns.texts_of(d)) for d, name in enumerate(names)]
