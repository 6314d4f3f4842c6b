"""Texts to token ids, each text once; turns to sequences, with the tokenizer's special tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder import panic
from dialtools.encoder.scripts import reads_any
from dialtools.encoder.sidefile import write_json
from dialtools.errors import ModelError, short_of
from dialtools.ranges import places_in
from dialtools.shown import first_line

Flat = tuple[np.ndarray, np.ndarray]
"""(tokens,) int32 ids of N sequences, one behind the other, and (N+1,) int64 where each begins and
the last ends."""
BERTS = ["BertNormalizer", "BertPreTokenizer"]
"""Steps of tokenizers that see no further than from one blank to the next."""
RARE = "\ua66e"
"""A letter of one manuscript: a word that a tokenizer does not know."""
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


def strange(tokenizer: Any, flat: Flat) -> np.ndarray:
    """Return (N,) whether a fifth of a sequence's tokens or more are of what a tokenizer lacks.

    A model of English lacks half of Chinese; of English chats it lacks emoji, a twentieth.

    Args:
        tokenizer: of transformers, or of the tokenizers library.
    """
    ids, ends = flat
    if hasattr(tokenizer, "unk_token_id"):
        lacks = tokenizer.unk_token_id
    else:
        token = getattr(tokenizer.model, "unk_token", None)
        lacks = tokenizer.token_to_id(token) if token else None
    if lacks is None:
        return np.zeros(len(ends) - 1, bool)
    lacking_N = np.diff(np.append(0, np.cumsum((ids == lacks) | (ids == ~lacks)))[ends])
    return (lacking_N > 0) & (5 * lacking_N >= np.diff(ends))


def strange_line(model: str, count: int, texts: int) -> str:
    """Return the line on texts that are strange to a model, empty if they are few."""
    if count * 5 < texts or not count:
        return ""
    many = f"{count:,} of {texts:,} texts have many words that {model} does not know"
    return f"{many}: is it of another language?"


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


def tokenise(tokenizer: Any, texts: Sequence[str]) -> Flat:
    """Tokenise texts without special tokens, on all cores."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "encode_batch_fast"):  # a tokenizer in Python
        return _flat([_ids(tokenizer, text, special=False) for text in texts])
    backend.no_truncation()
    backend.no_padding()
    if _words_stand_alone(backend):
        return _tokenise_words(backend, texts)
    return _encoded(backend, texts)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write a tokenizer into a folder, of no class that transformers 4 does not know."""
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get("tokenizer_class") == "TokenizersBackend":
        write_json(path, config | {"tokenizer_class": "PreTrainedTokenizerFast"})


def _words_stand_alone(backend: Any) -> bool:
    """Tell whether what lies between two blanks is tokenised the same wherever it stands."""
    kinds = [type(part).__name__ for part in (backend.normalizer, backend.pre_tokenizer)]
    if type(backend.model).__name__ != "WordPiece" or not (kinds == BERTS or reads_any(backend)):
        return False
    return not any(" " in token.content for token in backend.get_added_tokens_decoder().values())


def _tokenise_words(backend: Any, texts: Sequence[str]) -> Flat:
    """Tokenise each distinct word once: the same ids, in a tenth of the time.

    Words end at blanks (U+0020) alone: what else ends one is the tokenizer's to say.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # pyarrow.compute makes its functions when it is imported
    parts = pc.split_pattern(pa.array(texts, pa.large_string()), " ")  # pyright: ignore
    words = parts.values.dictionary_encode()
    ids, ends = _encoded(backend, words.dictionary.to_pylist())
    place = words.indices.to_numpy()
    sizes = np.diff(ends)[place]
    word_ends = np.concatenate([[0], np.cumsum(sizes)])
    return ids[places_in(ends[place], sizes)], word_ends[parts.offsets.to_numpy()]


def _encoded(backend: Any, texts: Sequence[str]) -> Flat:
    try:
        encodings = backend.encode_batch_fast(list(texts), add_special_tokens=False)
    except BaseException as error:  # whatever tokenizers raises
        if not (isinstance(error, Exception) or panic.is_one(error)):
            raise
        _refuse_want(error)
        raise ModelError(f"its tokenizer does not work: {first_line(error)}") from None
    return _flat([encoding.ids for encoding in encodings])


def _refuse_want(error: BaseException) -> None:
    """Tell of threads or memory that are not to be had: no fault of the tokenizer."""
    if short_of(error):
        raise RuntimeError(first_line(error)) from None


def _flat(rows: Sequence[Sequence[int]]) -> Flat:
    """Return lists of ids one behind the other, and where each begins and the last ends."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.fromiter(chain.from_iterable(rows), np.int32, int(offsets[-1])), offsets


def join_turns(*turns: Any, **settings: Any) -> list[np.ndarray]:
    """Return the (tokens,) ids of each of many items, of the arguments of `join_flat`."""
    return split(join_flat(*turns, **settings))


def split(flat: Flat) -> list[np.ndarray]:
    """Return each of the N sequences."""
    ids, ends = flat
    return [ids[begin:end] for begin, end in pairwise(ends.tolist())]


def join_flat(
    tokens: np.ndarray,
    starts_T: np.ndarray,
    sizes_T: np.ndarray,
    turns_N: np.ndarray,
    special: SpecialTokens,
    *,
    max_length: int,
    newest_N: np.ndarray,
    speakers_T: np.ndarray | None = None,
) -> Flat:
    """Join the turns of many items: [CLS] t1 [SEP] t2 [SEP], or [CLS] [USR] t1 [SYS] t2 [SEP].

    Args:
        tokens: flat ids, of which each of the T turns is a range.
        turns_N: turns of each item, one or more.
        newest_N: whether an item that is too long loses its oldest tokens, or its last ones.
        speakers_T: the id of the speaker's token of each turn, -1 for none.
    """
    if not len(turns_N):
        return np.zeros(0, np.int32), np.zeros(1, np.int64)
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
    words = tokens[places_in(starts_T, kept_T)]
    newest = np.repeat(_last_of(turns_N) | (not special.earlier), kept_T)
    body[places_in(ends_T - kept_T, kept_T)] = np.where(newest, words, ~words)
    body[places_in(begin_T[apart], lead_T[apart])] = np.tile(special.separator, apart.sum())
    body[begin_T[said]] = speakers_T[said]

    return _dressed(body, ends_T[_last_of(turns_N)], special, room=room, newest_N=newest_N)


def _last_of(sizes: np.ndarray) -> np.ndarray:
    """Return a mask over all members of groups of these sizes: the last of each."""
    last = np.zeros(sizes.sum(), bool)
    last[np.cumsum(sizes) - 1] = True
    return last


def _dressed(
    body: np.ndarray, ends_N: np.ndarray, special: SpecialTokens, *, room: int, newest_N: np.ndarray
) -> Flat:
    """Return what there is room for of each piece of `body`, between prefix and suffix."""
    whole_N = np.diff(ends_N, prepend=0)
    sizes_N = np.minimum(whole_N, room)
    body = body[places_in(ends_N - np.where(newest_N, sizes_N, whole_N), sizes_N)]
    before, after = len(special.prefix), len(special.suffix)
    ends_N = np.cumsum(sizes_N + before + after)
    begin_N = ends_N - sizes_N - before - after
    whole = np.empty(ends_N[-1], np.int32)
    whole[(begin_N[:, None] + np.arange(before)).ravel()] = np.tile(special.prefix, len(sizes_N))
    whole[places_in(begin_N + before, sizes_N)] = body
    last = (ends_N - after)[:, None] + np.arange(after)
    whole[last.ravel()] = np.tile(special.suffix, len(sizes_N))
    return whole, np.append(0, ends_N)


MOST_PADDED = 512
"""Rows without a token that any model may have: ByT5 has 125 for its 259."""


def check_ids(
    vocabulary: Callable[[], Mapping[str, int]],
    encode: Callable[[str], Sequence[int]],
    *,
    rows: int,
    pad: int,
    where: Path,
    least: float = 0.8,
) -> None:
    """Refuse a tokenizer that is broken, or whose ids are not those of a model of so many rows.

    Args:
        least: the share of the rows that it has tokens for: models pad their tables, by a few.

    Raises:
        ModelError: with what is wrong.
    """
    try:
        highest = max(vocabulary().values(), default=-1)
        with panic.as_error():
            ids = encode(f"a b {RARE}")
    except Exception as error:  # whatever tokenizers raises
        _refuse_want(error)
        message = f"its tokenizer does not work: {first_line(error)}"
        raise ModelError(message, where=where) from None
    if highest < 0:
        raise ModelError("its tokenizer has no tokens", where=where)
    highest = max([highest, *ids, pad])
    few = highest + 1 < least * rows and rows - highest - 1 > MOST_PADDED
    if highest >= rows or few:
        message = f"the tokenizer has {highest + 1:,} tokens, the model knows {rows:,}"
        hint = "is the tokenizer that of another model?"
        raise ModelError(message, where=where, hint=hint)
