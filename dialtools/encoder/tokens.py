"""Texts to token ids, each text once; turns to sequences, with the tokenizer's special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dialtools.errors import ModelError

BERTS = ("BertNormalizer", "BertPreTokenizer", "WordPiece")
"""Parts of tokenizers that see no further than from one blank to the next."""
SPEAKER_TOKENS = {"user": "[USR]", "system": "[SYS]"}


@dataclass(frozen=True)
class SpecialTokens:
    """Ids around and between turns: prefix t1 separator t2 suffix.

    Attributes:
        earlier: a token has another vector in the turns before the newest, where id i is ~i.
    """

    prefix: np.ndarray
    suffix: np.ndarray
    separator: np.ndarray
    pad: int
    earlier: bool = False

    @classmethod
    def none(cls, pad: int, *, earlier: bool = False) -> SpecialTokens:
        """Nothing around a text and between turns; `pad` fills rows."""
        nothing = np.zeros(0, np.int32)
        return cls(prefix=nothing, suffix=nothing, separator=nothing, pad=pad, earlier=earlier)

    @classmethod
    def of(cls, tokenizer: Any) -> SpecialTokens:
        """Find what a tokenizer puts around a text, by asking it."""
        bare = _ids(tokenizer, "a", special=False)
        dressed = _ids(tokenizer, "a", special=True)
        places = range(len(dressed))
        start = next((i for i in places if dressed[i : i + len(bare)] == bare), 0)
        between = _first_of(tokenizer.sep_token_id, tokenizer.eos_token_id)
        # a tokenizer without either (some decoders') ends a line instead
        separator = _ids(tokenizer, "\n", special=False) if between is None else [between]
        return cls(
            prefix=np.asarray(dressed[:start], np.int32),
            suffix=np.asarray(dressed[start + len(bare) :], np.int32),
            separator=np.asarray(separator, np.int32),
            pad=_first_of(tokenizer.pad_token_id, tokenizer.eos_token_id) or 0,
        )


def _first_of(*ids: int | None) -> int | None:
    return next((i for i in ids if i is not None), None)


def _ids(tokenizer: Any, text: str, *, special: bool) -> list[int]:
    return list(tokenizer(text, add_special_tokens=special)["input_ids"])


def lower_cased(tokenizer: Any) -> None:
    """Let a tokenizer lower-case texts, but not what is a special token in them.

    Raises:
        ModelError: if it is one without the steps of the tokenizers library.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("do_lower_case: true, which its tokenizer cannot do")
    from tokenizers import normalizers

    before = backend.normalizer
    if before is None or before.normalize_str("A") == "A":
        steps = [normalizers.Lowercase(), *([before] if before else [])]
        backend.normalizer = normalizers.Sequence(steps)


def tokenise(tokenizer: Any, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Tokenise texts without special tokens, on all cores.

    Returns:
        flat (tokens,) int32 ids, and (N+1,) int64 offsets: text i is ids[offsets[i]:offsets[i+1]].
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return _flat([_ids(tokenizer, text, special=False) for text in texts])
    backend.no_truncation()
    backend.no_padding()
    if _words_stand_alone(backend):
        return _tokenise_words(backend, texts)
    return _encoded(backend, texts)


def _words_stand_alone(backend: Any) -> bool:
    """Tell whether what lies between two blanks is tokenised the same wherever it stands."""
    kinds = (backend.normalizer, backend.pre_tokenizer, backend.model)
    if tuple(type(part).__name__ for part in kinds) != BERTS:
        return False
    return not any(" " in token.content for token in backend.get_added_tokens_decoder().values())


def _tokenise_words(backend: Any, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Tokenise each distinct word once: the same ids, in a tenth of the time.

    Words end at blanks (U+0020) alone: what else ends one is the tokenizer's to say.
    """
    parts = [text.split(" ") for text in texts]
    words = list(chain.from_iterable(parts))
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    ids, ends = _encoded(backend, list(numbers))
    place = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
    sizes = np.diff(ends)[place]
    word_ends = np.concatenate([[0], np.cumsum(sizes)])
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    return ids[spread(ends[place], sizes)], word_ends[offsets]


def _encoded(backend: Any, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    encodings = backend.encode_batch_fast(list(texts), add_special_tokens=False)
    return _flat([encoding.ids for encoding in encodings])


def _flat(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return lists of ids one behind the other, and where each begins and the last ends."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.fromiter(chain.from_iterable(rows), np.int32, int(offsets[-1])), offsets


def assemble(
    turns: Sequence[np.ndarray],
    special: SpecialTokens,
    *,
    max_length: int,
    newest: bool = True,
    roles: Sequence[int] | None = None,
) -> tuple[np.ndarray, bool]:
    """Join turns into one sequence: [CLS] t1 [SEP] t2 [SEP].

    With roles it is [CLS] [USR] t1 [SYS] t2 [SEP].

    Args:
        turns: token ids of each turn, oldest first.
        max_length: tokens at most, special ones included.
        newest: a long context loses its oldest tokens; False: its last ones.
        roles: the id of the speaker's token of each turn, in place of separators.

    Returns:
        (tokens,) int32 ids, and whether tokens were cut.
    """
    pieces: list[np.ndarray] = []
    for i, turn in enumerate(turns):
        if roles is not None:
            pieces.append(np.asarray([roles[i]], np.int32))
        elif i:
            pieces.append(special.separator)
        pieces.append(~turn if special.earlier and i < len(turns) - 1 else turn)
    body = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    cut = len(body) > room
    if cut:
        body = body[-room:] if newest else body[:room]
    return np.concatenate([special.prefix, body, special.suffix]), cut


def join_turns(
    tokens: np.ndarray,
    starts_T: np.ndarray,
    sizes_T: np.ndarray,
    turns_N: np.ndarray,
    special: SpecialTokens,
    *,
    max_length: int,
    newest_N: np.ndarray,
    speakers_T: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Join the turns of many items, as `assemble` does those of one; return (tokens,) ids of each.

    Args:
        tokens: flat ids, of which each of the T turns is a range.
        turns_N: turns of each item, one or more.
        newest_N: whether an item that is too long loses its oldest tokens, or its last ones.
        speakers_T: the id of the speaker's token of each turn, -1 for none.
    """
    if not len(turns_N):
        return []
    first = np.roll(_last_of(turns_N), 1)
    speakers_T = np.full(len(first), -1) if speakers_T is None else speakers_T
    said = speakers_T >= 0
    apart = ~first & ~said
    lead_T = said + apart * len(special.separator)

    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    kept_T = np.minimum(sizes_T, room)  # more of a turn is cut whatever stands around it
    starts_T = starts_T + np.repeat(newest_N, turns_N) * (sizes_T - kept_T)
    ends_T = np.cumsum(lead_T + kept_T)
    begin_T = ends_T - lead_T - kept_T
    body = np.empty(ends_T[-1], np.int32)
    words = tokens[spread(starts_T, kept_T)]
    newest = np.repeat(_last_of(turns_N) | (not special.earlier), kept_T)
    body[spread(ends_T - kept_T, kept_T)] = np.where(newest, words, ~words)
    body[spread(begin_T[apart], lead_T[apart])] = np.tile(special.separator, apart.sum())
    body[begin_T[said]] = speakers_T[said]

    return _dressed(body, ends_T[_last_of(turns_N)], special, room=room, newest_N=newest_N)


def _last_of(sizes: np.ndarray) -> np.ndarray:
    """Return a mask over all members of groups of these sizes: the last of each."""
    last = np.zeros(sizes.sum(), bool)
    last[np.cumsum(sizes) - 1] = True
    return last


def _dressed(
    body: np.ndarray, ends_N: np.ndarray, special: SpecialTokens, *, room: int, newest_N: np.ndarray
) -> list[np.ndarray]:
    """Return what there is room for of each piece of `body`, between prefix and suffix."""
    whole_N = np.diff(ends_N, prepend=0)
    sizes_N = np.minimum(whole_N, room)
    body = body[spread(ends_N - np.where(newest_N, sizes_N, whole_N), sizes_N)]
    before, after = len(special.prefix), len(special.suffix)
    ends_N = np.cumsum(sizes_N + before + after)
    begin_N = ends_N - sizes_N - before - after
    whole = np.empty(ends_N[-1], np.int32)
    whole[(begin_N[:, None] + np.arange(before)).ravel()] = np.tile(special.prefix, len(sizes_N))
    whole[spread(begin_N + before, sizes_N)] = body
    last = (ends_N - after)[:, None] + np.arange(after)
    whole[last.ravel()] = np.tile(special.suffix, len(sizes_N))
    return np.split(whole, ends_N[:-1])


def spread(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the places in all ranges, one range behind the other."""
    before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - before, sizes)
